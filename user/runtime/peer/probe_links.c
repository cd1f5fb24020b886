// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The links of published probes below /run/tapir. Several tapirs may work on the directory: what is
 * gone already is not a failure, and what another one has made, and is alive, stays.
 */
#include "runtime/peer/probe_links.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/trusted_dir.h"
#include "tapir/coreclr.h"
#include "tapir/ring.h"
#include "base/str.h"

#define SAME_NAME_MAX  64 /* tapirs that publish one provider of one process */
#define FAULT_BYTES    64
#define GUARD_ROUNDS   20 /* of 0.25 s: the library leaves within 2 s of us */
#define GUARD_START_NS (2 * TAPIR_NS_PER_SEC)

/*
 * Checks that no other user has created the directory or can write to it: "" if so, else the fault.
 */
static void find_fault(const struct stat *st, char out[FAULT_BYTES])
{
	out[0] = '\0';
	if (S_ISLNK(st->st_mode))
		snprintf(out, FAULT_BYTES, "is a symbolic link");
	else if (!S_ISDIR(st->st_mode))
		snprintf(out, FAULT_BYTES, "is not a directory");
	else if (st->st_uid != geteuid())
		snprintf(out, FAULT_BYTES, "belongs to user %u", (unsigned)st->st_uid);
	else if (st->st_mode & (S_IWGRP | S_IWOTH))
		snprintf(out, FAULT_BYTES, "is writable by others (mode %03o)",
			 (unsigned)st->st_mode & 0777);
}

static int open_dir(int at_fd, const char *path, char fault[FAULT_BYTES])
{
	struct stat st;
	int fd = openat(at_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
	    err = fd < 0 ? -errno : 0;

	if (err && fstatat(at_fd, path, &st, AT_SYMLINK_NOFOLLOW))
		return err;
	if (!err && fstat(fd, &st))
		err = -errno;
	else
		find_fault(&st, fault);
	/* one errno, whatever it is that others have prepared */
	if (*fault)
		err = -EPERM;
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

/* -EPERM: fault has the reason, where that is known. */
static int enter_directory(int at_fd, const char *path, char fault[FAULT_BYTES])
{
	int fd;

	fault[0] = '\0';
	if (mkdirat(at_fd, path, 0755) && errno != EEXIST)
		return -errno;
	fd = open_dir(at_fd, path, fault);
	/* whatever the umask is */
	if (fd >= 0 && fchmod(fd, 0755)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

static int enter_process(int dir_fd, uint32_t tgid, char fault[FAULT_BYTES])
{
	char name[16];

	snprintf(name, sizeof(name), "%u", tgid);
	return enter_directory(dir_fd, name, fault);
}

static void leave_process(int dir_fd, uint32_t tgid)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", tgid);
	unlinkat(dir_fd, name, AT_REMOVEDIR); /* not while there are links in it */
}

/* ---- what is dead ------------------------------------------------------------------------------ */

/*
 * The number may belong to another process by now, which maps something else there. Anything that
 * is not a link was not made by tapir.
 */
static bool is_alive(int fd, const char *name)
{
	char target[96], file[4096];
	ssize_t len = readlinkat(fd, name, target, sizeof(target) - 1);

	if (len <= 0)
		return true;
	target[len] = '\0';
	len = readlink(target, file, sizeof(file) - 1);
	if (len <= 0)
		return false;
	file[len] = '\0';
	return strstr(file, "/memfd:" TAPIR_RING_PROBES_NAME) ||
	       strstr(file, "/" TAPIR_CORECLR_FILE_NAME);
}

static bool clear_link(void *unused, int fd, const char *name)
{
	(void)unused;
	if (!is_alive(fd, name))
		unlinkat(fd, name, 0);
	return true;
}

static bool clear_process(void *unused, int dir_fd, const char *name)
{
	if (isdigit((unsigned char)name[0])) {
		(void)tapir_file__each_name(dir_fd, name, clear_link, unused);
		unlinkat(dir_fd, name, AT_REMOVEDIR);
	}
	return true;
}

/* System calls and the stack only: also in the guard. */
static void clear_dead(int dir_fd)
{
	(void)tapir_file__each_name(dir_fd, ".", clear_process, NULL);
}

/* ---- when we are killed ------------------------------------------------------------------------ */

/* The library takes a moment to leave its process; what of other tapirs is alive stays. */
static void clear_as_guard(const struct tapir_peer_helper *job,
			   const struct tapir_peer_answer *answer, int fd)
{
	const struct timespec interval = {.tv_nsec = 250 * 1000 * 1000};

	(void)answer;
	(void)fd;
	for (unsigned i = 0; i < GUARD_ROUNDS; i++) {
		clear_dead(job->dir_fd);
		nanosleep(&interval, NULL);
	}
}

void tapir_probe_links__guard(int dir_fd, struct tapir_peer_guard *out)
{
	const struct tapir_peer_helper job = {
		.last_act = clear_as_guard,
		.pidfd = -1,
		.proc_fd = -1,
		.dir_fd = dir_fd,
		.cancel_fd = -1,
		.deadline_ns = tapir_clock__now_ns() + GUARD_START_NS,
	};
	struct tapir_peer_answer answer;

	(void)tapir_peer_helper__try_guarded(&job, &answer, NULL, out);
}

static int open_run(char fault[FAULT_BYTES])
{
	const struct tapir_trust trust = {.owners = {0, geteuid(), geteuid()},
					  .allows_sticky = true};
	tapir_autofd int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = root_fd < 0 ? -errno
			     : tapir_trusted_dir__open(root_fd, TAPIR_PROBE_LINKS_PARENT, &trust);

	if (fd == -EPERM)
		snprintf(fault, FAULT_BYTES,
			 "is in a directory where other users can replace files");
	return fd;
}

int tapir_probe_links__open(void)
{
	char fault[FAULT_BYTES] = "";
	tapir_autofd int run_fd = open_run(fault);
	int fd = run_fd < 0 ? run_fd : enter_directory(run_fd, TAPIR_PROBE_LINKS_NAME, fault);

	if (fd < 0 && *fault)
		return tapir_diag__fail(
			fd,
			"cannot publish in %s: it %s; remove it, or make it a directory that only root can write to",
			TAPIR_PROBE_LINKS_DIR, fault);
	if (fd < 0)
		return tapir_diag__fail(fd, "cannot publish in %s: %s%s", TAPIR_PROBE_LINKS_DIR,
					tapir_errno__text(fd), geteuid() ? " (run as root)" : "");
	clear_dead(fd);
	return fd;
}

/* ---- one link ------------------------------------------------------------------------------------ */

static void plain_name(const char *name, char *out, size_t room)
{
	size_t len = 0;

	for (; *name && len + 1 < room; name++) {
		unsigned char c = (unsigned char)*name;

		if ((c & 0xc0) == 0x80) /* one '_' a character */
			continue;
		out[len] = c < 0x80 && (isalnum(c) || strchr("-_.", c)) ? (char)c : '_';
		len++;
	}
	if (!len)
		out[len++] = '_';
	if (out[0] == '.')
		out[0] = '_';
	out[len] = '\0';
}

static int link_as(int fd, const char *target, const char *name)
{
	if (!symlinkat(target, fd, name))
		return 0;
	if (errno != EEXIST || is_alive(fd, name))
		return -errno;
	unlinkat(fd, name, 0);
	return symlinkat(target, fd, name) ? -errno : 0;
}

void tapir_probe_links__plain(const char *name, char out[TAPIR_PROBE_LINK_BYTES])
{
	plain_name(name, out, TAPIR_PROBE_LINK_BYTES - 4);
}

/* Another tapir may remove the directory just while it is empty. */
static int add_once(int dir_fd, uint32_t tgid, const char *target, const char *name,
		    char out[TAPIR_PROBE_LINK_BYTES], char fault[FAULT_BYTES])
{
	tapir_autofd int fd = enter_process(dir_fd, tgid, fault);
	int err = fd < 0 ? fd : -EEXIST;

	for (unsigned i = 1; err == -EEXIST && i <= SAME_NAME_MAX; i++) {
		tapir_probe_links__plain(name, out);
		if (i > 1)
			snprintf(out + strlen(out), 4, ".%u", i);
		err = link_as(fd, target, out);
	}
	return err;
}

int tapir_probe_links__add(int dir_fd, uint32_t tgid, uint64_t start_va, uint64_t end_va,
			   const char *name, char out[TAPIR_PROBE_LINK_BYTES])
{
	char target[96], fault[FAULT_BYTES] = "";
	int err = -ENOENT;

	snprintf(target, sizeof(target), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, tgid, start_va,
		 end_va);
	tapir_probe_links__plain(name, out);
	for (int try = 0; err == -ENOENT && try < 8; try++)
		err = add_once(dir_fd, tgid, target, name, out, fault);
	if (err && *fault)
		return tapir_diag__fail(err, "cannot link %s/%u/%s: %s/%u %s",
					TAPIR_PROBE_LINKS_DIR, tgid, out, TAPIR_PROBE_LINKS_DIR,
					tgid, fault);
	if (err)
		return tapir_diag__fail(err, "cannot link %s/%u/%s: %s", TAPIR_PROBE_LINKS_DIR,
					tgid, out, tapir_errno__text(err));
	return 0;
}

void tapir_probe_links__remove(int dir_fd, uint32_t tgid, const char *name)
{
	char path[16 + TAPIR_PROBE_LINK_BYTES];

	snprintf(path, sizeof(path), "%u/%s", tgid, name);
	unlinkat(dir_fd, path, 0);
	leave_process(dir_fd, tgid);
}

static bool leads_to(int fd, const char *name, const char *target)
{
	char found[96];
	ssize_t len = readlinkat(fd, name, found, sizeof(found));

	return len > 0 && (size_t)len == strlen(target) && !memcmp(found, target, (size_t)len);
}

char *tapir_probe_links__find(uint32_t tgid, const char *target)
{
	char path[32], *found = NULL;
	const struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), TAPIR_PROBE_LINKS_DIR "/%u", tgid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir)))
		if (leads_to(dirfd(dir), entry->d_name, target) &&
		    asprintf(&found, "%s/%s", path, entry->d_name) < 0)
			found = NULL;
	if (dir)
		closedir(dir);
	return found;
}
