// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Facts of processes and threads from /proc. Each is read from a file that may disappear between
 * two reads, and an id may then be another process's: all files of one process are opened below one
 * descriptor of its directory, which does not pass over to the next.
 */
#include "attach/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/proc_text.h"
#include "base/str.h"

#define PF_KTHREAD	 0x00200000  /* include/linux/sched.h: since 2.6.27 where it is */
#define PID_NS_INIT_INO	 0xEFFFFFFCu /* PROC_PID_INIT_INO, include/linux/proc_ns.h */
#define STATUS_MAX_BYTES 65536	     /* its lists of CPUs and groups can be long */
#define CGROUP_MAX_BYTES 65536
#define CLOCK_TRIES	 16
#define CLOCK_SOON_NS	 20000

/* ---- small files ------------------------------------------------------------------------ */

static int read_file_at(int dir_fd, const char *name, size_t max_bytes, char **out, size_t *len)
{
	tapir_autofd int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	return fd < 0 ? -errno : tapir_file__read_fd(fd, max_bytes, out, len);
}

/* At most max_bytes of what there is. */
static int read_start_at(int dir_fd, const char *name, size_t max_bytes, char **out, size_t *len)
{
	tapir_autofd int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	tapir_autofree char *data = malloc(max_bytes + 1);
	size_t got = 0;
	ssize_t n = 1;

	if (fd < 0 || !data)
		return fd < 0 ? -errno : -ENOMEM;
	while (got < max_bytes && n > 0) {
		n = read(fd, data + got, max_bytes - got);
		if (n < 0 && errno != EINTR)
			return -errno;
		got += n > 0 ? (size_t)n : 0;
		n = n < 0 ? 1 : n;
	}
	data[got] = '\0';
	*out = data;
	*len = got;
	data = NULL;
	return 0;
}

/* ---- /proc/PID/stat ---------------------------------------------------------------------- */

/*
 * stat counts from boot and through suspend: CLOCK_BOOTTIME, which is never earlier. Between the
 * two readings the thread may have waited for a CPU: the least of several differences is right.
 */
static uint64_t boottime_ahead_ns(void)
{
	uint64_t least_ns = UINT64_MAX;

	for (int i = 0; i < CLOCK_TRIES; i++) {
		uint64_t mono_ns = tapir_clock__now_ns();
		uint64_t ahead_ns = tapir_clock__ns(CLOCK_BOOTTIME) - mono_ns;

		least_ns = ahead_ns < least_ns ? ahead_ns : least_ns;
		if (tapir_clock__now_ns() - mono_ns < CLOCK_SOON_NS)
			break;
	}
	return least_ns;
}

static uint64_t ticks_to_monotonic_ns(unsigned long long ticks)
{
	uint64_t per_sec = (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t boot_ns =
		ticks / per_sec * TAPIR_NS_PER_SEC + ticks % per_sec * TAPIR_NS_PER_SEC / per_sec;
	uint64_t ahead_ns = boottime_ahead_ns();

	return boot_ns > ahead_ns ? boot_ns - ahead_ns : 0;
}

static int read_stat(int dir_fd, struct tapir_proc_stat *out)
{
	tapir_autofree char *text = NULL;
	int err = read_file_at(dir_fd, "stat", 8192, &text, NULL);

	return err ? err : tapir_proc_stat__parse(text, out);
}

/* ---- a process -------------------------------------------------------------------------- */

static int no_process(uint32_t tgid)
{
	return tapir_diag__fail(-ESRCH, "process %u does not exist", tgid);
}

static int read_status(int dir_fd, struct tapir_proc *proc)
{
	tapir_autofree char *text = NULL;
	uint32_t leader = 0;
	int err = read_file_at(dir_fd, "status", STATUS_MAX_BYTES, &text, NULL);

	if (err)
		return err;
	if (!tapir_proc_status__number(text, "Tgid", 0, &leader) ||
	    !tapir_proc_status__number(text, "PPid", 0, &proc->parent_tgid) ||
	    !tapir_proc_status__number(text, "Uid", 1, &proc->uid))
		return -EPROTO;
	if (!tapir_proc_status__number(text, "NSpid", TAPIR_PROC_LAST_WORD, &proc->ns_tgid))
		proc->ns_tgid = proc->tgid;
	if (leader != proc->tgid)
		return tapir_diag__fail(-EINVAL, "%u is a thread of process %u: use -p %u",
					proc->tgid, leader, leader);
	return 0;
}

static char *read_exe(int dir_fd)
{
	char path[PATH_MAX];
	ssize_t len = readlinkat(dir_fd, "exe", path, sizeof(path));

	return len > 0 && len < (ssize_t)sizeof(path) ? strndup(path, (size_t)len) : NULL;
}

/* The line of the v2 hierarchy is "0::/path". */
static char *read_cgroup(int dir_fd)
{
	tapir_autofree char *text = NULL;
	const char *line;

	if (read_file_at(dir_fd, "cgroup", CGROUP_MAX_BYTES, &text, NULL))
		return strdup("");
	line = !strncmp(text, "0::", 3) ? text : strstr(text, "\n0::");
	if (!line)
		return strdup("");
	line += *line == '\n' ? 4 : 3;
	return strndup(line, strcspn(line, "\n"));
}

static int read_program(int dir_fd, struct tapir_proc *proc)
{
	int err = read_start_at(dir_fd, "cmdline", TAPIR_PROC_MAX_CMDLINE_BYTES, &proc->cmdline,
				&proc->cmdline_len);

	if (err)
		return err;
	while (proc->cmdline_len && !proc->cmdline[proc->cmdline_len - 1])
		proc->cmdline_len--;
	proc->exe = read_exe(dir_fd);
	proc->cgroup = read_cgroup(dir_fd);
	return proc->cgroup ? 0 : -ENOMEM;
}

static int read_facts(int dir_fd, struct tapir_proc *proc)
{
	struct tapir_proc_stat stat;
	int err = read_status(dir_fd, proc);

	if (!err)
		err = read_stat(dir_fd, &stat);
	if (!err)
		err = read_program(dir_fd, proc);
	if (err)
		return err;
	memcpy(proc->comm, stat.comm, sizeof(proc->comm));
	proc->start_ns = ticks_to_monotonic_ns(stat.start_ticks);
	proc->is_zombie = stat.is_zombie;
	proc->is_kernel_thread = stat.flags & PF_KTHREAD;
	return 0;
}

/* The directory of a process: its fd, or -1. path: what it is called. */
static int open_dir(uint32_t tgid, char path[32])
{
	snprintf(path, 32, "/proc/%u", tgid);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int read_parts(uint32_t tgid, int (*read_of)(int dir_fd, struct tapir_proc *proc),
		      struct tapir_proc *out)
{
	struct tapir_proc proc = {.tgid = tgid};
	char path[32];
	tapir_autofd int dir_fd = open_dir(tgid, path);
	int err;

	if (dir_fd < 0)
		return errno == ENOENT ? no_process(tgid)
				       : tapir_diag__fail(-errno, "cannot read %s: %s", path,
							  tapir_errno__text(errno));
	err = read_of(dir_fd, &proc);
	if (err) {
		tapir_proc__fini(&proc);
		if (err == -ESRCH || err == -ENOENT) /* ended in the meantime */
			return no_process(tgid);
		return err == -EINVAL ? err
				      : tapir_diag__fail(err, "cannot read %s: %s", path,
							 tapir_errno__text(err));
	}
	*out = proc;
	return 0;
}

int tapir_proc__read(uint32_t tgid, struct tapir_proc *out)
{
	return read_parts(tgid, read_facts, out);
}

int tapir_proc__read_program(uint32_t tgid, struct tapir_proc *out)
{
	return read_parts(tgid, read_program, out);
}

char *tapir_proc__read_cgroup(uint32_t tgid)
{
	char path[32];
	tapir_autofd int dir_fd = open_dir(tgid, path);

	return dir_fd < 0 ? NULL : read_cgroup(dir_fd);
}

char *tapir_proc__read_exe(uint32_t tgid)
{
	char path[32];
	tapir_autofd int dir_fd = open_dir(tgid, path);

	return dir_fd < 0 ? NULL : read_exe(dir_fd);
}

int tapir_proc__read_running(uint32_t tgid, struct tapir_proc *out)
{
	struct tapir_proc proc;
	int err = tapir_proc__read(tgid, &proc);

	if (err)
		return err;
	if (proc.is_zombie) {
		err = tapir_diag__fail(-ESRCH,
				       "process %u (%s) has exited: it is a zombie that its "
				       "parent %u has not reaped",
				       tgid, proc.comm, proc.parent_tgid);
		tapir_proc__fini(&proc);
		return err;
	}
	*out = proc;
	return 0;
}

static int read_stat_of(uint32_t tgid, struct tapir_proc_stat *out)
{
	tapir_autofree char *text = NULL;
	char path[32];
	int err;

	snprintf(path, sizeof(path), "/proc/%u/stat", tgid);
	err = tapir_file__read(path, 8192, &text, NULL);
	return err ? err : tapir_proc_stat__parse(text, out);
}

bool tapir_proc__has_ended(uint32_t tgid)
{
	struct tapir_proc_stat stat;
	int err = read_stat_of(tgid, &stat);

	return err ? err == -ENOENT || err == -ESRCH : stat.is_zombie;
}

uint64_t tapir_proc__start_ticks(uint32_t tgid)
{
	struct tapir_proc_stat stat;

	return read_stat_of(tgid, &stat) || stat.is_zombie ? UINT64_MAX : stat.start_ticks;
}

int tapir_proc__mapped_pages(uint32_t tgid, uint64_t *pages)
{
	tapir_autofree char *text = NULL;
	char path[32], *end;
	uint64_t value;
	int err;

	snprintf(path, sizeof(path), "/proc/%u/statm", tgid);
	err = tapir_file__read(path, 256, &text, NULL);
	if (err)
		return err;
	value = strtoull(text, &end, 10);
	if (end == text)
		return -EINVAL;
	*pages = value;
	return 0;
}

int tapir_proc__read_cpu(uint32_t tgid, char comm[TAPIR_COMM_BYTES], uint64_t *cpu_ns)
{
	struct tapir_proc_stat stat;
	int err = read_stat_of(tgid, &stat);

	if (err)
		return err;
	memcpy(comm, stat.comm, TAPIR_COMM_BYTES);
	*cpu_ns = stat.cpu_ticks * (TAPIR_NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	return 0;
}

int tapir_proc__read_usage(uint32_t tgid, char comm[TAPIR_COMM_BYTES], uint64_t *cpu_ns,
			   uint64_t *resident_bytes)
{
	struct tapir_proc_stat stat;
	int err = read_stat_of(tgid, &stat);

	if (!err && (stat.is_zombie || stat.flags & PF_KTHREAD))
		err = -ESRCH;
	if (err)
		return err;
	memcpy(comm, stat.comm, TAPIR_COMM_BYTES);
	*cpu_ns = stat.cpu_ticks * (TAPIR_NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	*resident_bytes = stat.resident_pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

void tapir_proc__fini(struct tapir_proc *proc)
{
	free(proc->exe);
	free(proc->cmdline);
	free(proc->cgroup);
	*proc = (struct tapir_proc){};
}

bool tapir_proc__sees_kernel_pids(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == PID_NS_INIT_INO;
}

bool tapir_proc__is_open(uint32_t tgid)
{
	tapir_autofd int fd = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/maps", tgid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 || (errno != EACCES && errno != EPERM);
}

int tapir_thread__read(uint32_t tgid, uint32_t tid, struct tapir_thread *out)
{
	struct tapir_thread thread = {.tid = tid, .ns_tid = tid};
	tapir_autofree char *status = NULL;
	tapir_autofd int dir_fd = -1;
	struct tapir_proc_stat stat;
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%u/task/%u", tgid, tid);
	dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = dir_fd < 0 ? -errno : read_stat(dir_fd, &stat);
	if (!err)
		err = read_file_at(dir_fd, "status", STATUS_MAX_BYTES, &status, NULL);
	if (err)
		return err == -ENOENT ? -ESRCH : err;
	(void)tapir_proc_status__number(status, "NSpid", TAPIR_PROC_LAST_WORD, &thread.ns_tid);
	memcpy(thread.comm, stat.comm, sizeof(thread.comm));
	thread.start_ns = ticks_to_monotonic_ns(stat.start_ticks);
	*out = thread;
	return 0;
}

int tapir_thread__read_file(uint32_t tgid, uint32_t tid, const char *name, char *out, size_t bytes)
{
	tapir_autofd int fd = -1;
	char path[80];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/%s", tgid, tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	n = fd < 0 ? -1 : read(fd, out, bytes - 1);
	if (n < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	out[n] = '\0';
	return (int)n;
}

/* ---- walks ------------------------------------------------------------------------------ */

static int each_number(const char *path, tapir_pid_fn fn, void *ctx)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int err = 0;

	if (!dir)
		return -errno;
	while (!err && (entry = readdir(dir))) {
		uint64_t pid;

		if (tapir_str__to_u64(entry->d_name, 1, INT32_MAX, &pid))
			err = fn((uint32_t)pid, ctx);
	}
	closedir(dir);
	return err;
}

int tapir_proc__check(void)
{
	tapir_autofd int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? tapir_diag__fail(-errno, "cannot read /proc: %s (mount -t proc proc /proc)",
					 tapir_errno__text(errno))
		      : 0;
}

int tapir_proc__each(tapir_pid_fn fn, void *ctx)
{
	return each_number("/proc", fn, ctx);
}

int tapir_proc__each_thread(uint32_t tgid, tapir_pid_fn fn, void *ctx)
{
	char path[32];
	int err;

	snprintf(path, sizeof(path), "/proc/%u/task", tgid);
	err = each_number(path, fn, ctx);
	return err == -ENOENT ? no_process(tgid) : err;
}

/* An fd of /proc/PID/maps, or -errno with a line. */
static int open_maps(uint32_t tgid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/maps", tgid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	if (errno == ENOENT || errno == ESRCH)
		return no_process(tgid);
	return tapir_diag__fail(-errno, "cannot read %s: %s (requires its user or CAP_SYS_PTRACE)",
				path, tapir_errno__text(errno));
}

int tapir_proc__each_fd_link(DIR *dir, unsigned max, tapir_fd_link_fn fn, void *ctx)
{
	int result = dir ? 0 : -errno;
	const struct dirent *entry;
	char target[1024];

	while (dir && !result && max-- && (entry = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		if (len <= 0)
			continue;
		target[len] = '\0';
		result = fn(entry->d_name, target, ctx);
	}
	if (dir)
		closedir(dir);
	return result;
}

int tapir_proc__each_mapping(uint32_t tgid, tapir_mapping_fn fn, void *ctx)
{
	tapir_autofd int fd = open_maps(tgid);

	return fd < 0 ? fd : tapir_maps__each(fd, fn, ctx, NULL);
}

/* ---- a copy of mappings -------------------------------------------------------------------- */

#define IS_TOO_MUCH 1

static int keep_mapping(const struct tapir_mapping_line *line, void *ctx)
{
	struct tapir_mappings *m = ctx;

	if (m->lines.cnt == TAPIR_MAPPINGS_MAX ||
	    m->paths.len + line->path_len >= TAPIR_MAPPINGS_MAX_BYTES)
		return IS_TOO_MUCH;
	tapir_str__add(&m->paths, line->path, line->path_len + 1);
	return !m->paths.failed && tapir_vec__push(&m->lines, *line) ? 0 : -ENOMEM;
}

int tapir_mappings__read(uint32_t tgid, struct tapir_mappings *m)
{
	struct tapir_mapping_line *line;
	const char *path;
	int err;

	tapir_str__clear(&m->paths);
	m->lines.cnt = 0;
	m->tgid = tgid;
	err = tapir_proc__each_mapping(tgid, keep_mapping, m);
	m->is_truncated = err == IS_TOO_MUCH;
	if (err < 0 || m->is_truncated)
		m->lines.cnt = 0;
	path = m->paths.data; /* which no longer moves */
	tapir_vec_for_each (line, &m->lines) {
		line->path = path;
		path += line->path_len + 1;
	}
	return err < 0 ? err : 0;
}

int tapir_mappings__each(const struct tapir_mappings *m, tapir_mapping_fn fn, void *ctx)
{
	const struct tapir_mapping_line *line;
	int err = 0;

	if (m->is_truncated)
		return tapir_proc__each_mapping(m->tgid, fn, ctx);
	tapir_vec_for_each (line, &m->lines) {
		err = fn(line, ctx);
		if (err)
			break;
	}
	return err;
}

void tapir_mappings__fini(struct tapir_mappings *m)
{
	tapir_vec__fini(&m->lines);
	tapir_str__fini(&m->paths);
}

/* ---- one mapping ------------------------------------------------------------------------- */

struct only {
	uint64_t va;
	tapir_mapping_fn fn;
	void *ctx;
};

static int hand_out_only(const struct tapir_mapping_line *line, void *ctx)
{
	const struct only *only = ctx;

	return line->start_va == only->va ? only->fn(line, only->ctx) : 0;
}

int tapir_proc__mapping_at(uint32_t tgid, uint64_t va, tapir_mapping_fn fn, void *ctx)
{
	tapir_autofd int fd = open_maps(tgid);
	struct only only = {va, fn, ctx};
	char path[TAPIR_MAPPING_PATH_BYTES];
	struct tapir_mapping_line line;
	int found;

	if (fd < 0)
		return fd;
	found = tapir_maps__at(fd, va, path, &line);
	if (found > 0)
		return fn(&line, ctx);
	return found == 0 ? 0 : tapir_maps__each(fd, hand_out_only, &only, NULL);
}
