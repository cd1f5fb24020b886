// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * AttachProfiler has no counterpart for unloading and its answer may be late, so the library itself
 * decides when it leaves, and its file is removed by a guard even if tapir dies while it waits. A
 * directory that does not work out is followed by the next one: policies (SELinux, noexec) differ
 * between them.
 */
#include "runtime/dotnet/dotnet_attach.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "runtime/dotnet/dotnet_inject.h"
#include "tapir/coreclr.h"

/*
 * Milliseconds or seconds, depending on the runtime: either is long enough and no reason to wait.
 */
#define RUNTIME_TIMEOUT	  10000
#define ENVIRON_MAX_BYTES (4u << 20)
#define FIND_NS		  (500 * TAPIR_NS_PER_MS)
#define ATTACH_FDS	  16u /* with fewer than 2 the runtime aborts in AttachProfiler (10.0.12) */

static int put_request(struct tapir_str *out, const char *path, uint64_t key)
{
	static const uint8_t clsid[16] = TAPIR_CORECLR_CLSID_BYTES;
	const struct tapir_coreclr_client client = {
		.magic = TAPIR_CORECLR_MAGIC,
		.version = TAPIR_CORECLR_VERSION,
		.key = key,
	};

	return tapir_dotnet__put_attach_profiler(out, RUNTIME_TIMEOUT, clsid, path, &client,
						 sizeof(client));
}

/*
 * Turns the runtime's answer into an error that the caller can act on; the line was added before.
 */
static int meaning(int err, uint32_t hresult)
{
	if (err != -EREMOTEIO)
		return err;
	switch (hresult) {
	case TAPIR_DOTNET_NOT_YET_AVAILABLE:
	case TAPIR_DOTNET_UNINITIALIZED:
		return -EAGAIN;
	case TAPIR_DOTNET_NOT_SUPPORTED:
	case TAPIR_DOTNET_UNKNOWN_COMMAND:
		return -EOPNOTSUPP;
	case TAPIR_DOTNET_PROFILER_ACTIVE:
		return -EUSERS;
	case TAPIR_DOTNET_MODULE_NOT_FOUND:
		return -EACCES;
	default:
		return err;
	}
}

static int load_profiler(struct tapir_dotnet_talk *talk, const char *path, uint64_t key)
{
	struct tapir_str request = {};
	uint32_t hresult = 0;
	int err = put_request(&request, path, key);

	if (err)
		tapir_diag__add("cannot attach to .NET process %u: %s: library path %s",
				talk->job.tgid, tapir_errno__text(err), path);
	else
		err = tapir_dotnet_talk__command(talk, &request, &hresult);
	tapir_str__fini(&request);
	return meaning(err, hresult);
}

static int no_directory(const struct tapir_dotnet_talk *talk, int err, const struct tapir_str *why)
{
	return tapir_diag__fail(
		err == -ENOENT ? -EACCES : err,
		"cannot attach to .NET process %u: no directory can hold the library: %s",
		talk->job.tgid, why->data ? why->data : "out of memory");
}

/* A policy we cannot see (SELinux, a seccomp filter) may hold for one directory and not another. */
static int attach(struct tapir_dotnet_talk *talk, const struct tapir_dotnet_profiler *profiler)
{
	const struct tapir_dotnet_library library = {profiler->bytes, profiler->byte_cnt,
						     profiler->key};
	struct tapir_dotnet_injected placed = TAPIR_DOTNET_NOT_INJECTED;
	struct tapir_str why = {};
	int line_cnt = tapir_diag__cnt(), err = -EACCES;
	bool was_loadable = false;

	for (unsigned dir_idx = 0; err == -EACCES && dir_idx < TAPIR_DOTNET_INJECT_DIRS;
	     dir_idx = placed.dir_idx + 1) {
		int made = tapir_dotnet_inject__make(talk, &library, dir_idx, &placed, &why);

		if (made) {
			err = was_loadable ? err : no_directory(talk, made, &why);
			break;
		}
		tapir_diag__rewind(line_cnt);
		was_loadable = true;
		err = load_profiler(talk, placed.path, profiler->key);
		tapir_dotnet_inject__remove(&placed);
	}
	tapir_str__fini(&why);
	return err;
}

static int check_runtime(const struct tapir_dotnet_talk *talk)
{
	if (talk->facts.is_off)
		return tapir_dotnet_talk__no_diagnostics(talk);
	/* Before a file is created that would stay until the process runs again. */
	return tapir_dotnet_talk__check_runs(talk, 0);
}

int tapir_dotnet__attach_profiler(const struct tapir_dotnet_opts *opts,
				  const struct tapir_dotnet_profiler *profiler)
{
	struct tapir_dotnet_talk talk;
	int err = tapir_dotnet_talk__init(&talk, opts);

	if (err)
		return err;
	talk.job.task = "attach to .NET";
	talk.job.needed_fds = ATTACH_FDS;
	err = check_runtime(&talk);
	if (!err)
		err = attach(&talk, profiler);
	tapir_dotnet_talk__fini(&talk);
	return err;
}

/* ---- is it still there? ------------------------------------------------------------------- */

static int is_ours(const struct tapir_mapping_line *line, void *name)
{
	return line->path && strstr(line->path, name) != NULL;
}

bool tapir_dotnet__has_profiler(uint32_t tgid, uint64_t key)
{
	int line_cnt = tapir_diag__cnt();
	char name[sizeof(TAPIR_CORECLR_FILE_NAME) + 16];
	bool has;

	snprintf(name, sizeof(name), TAPIR_CORECLR_FILE_NAME "%016" PRIx64, key);
	has = tapir_proc__each_mapping(tgid, is_ours, name) == 1;
	tapir_diag__rewind(line_cnt);
	return has;
}

/* ---- from the start ------------------------------------------------------------------------ */

static void put_key(struct tapir_str *out, uint64_t key)
{
	tapir_str__addf(out, TAPIR_CORECLR_KEY_ENV "=%016" PRIx64, key);
}

int tapir_dotnet__put_start_environment(struct tapir_str *out, const char *path, uint64_t key,
					const char *existing)
{
	tapir_str__adds(out, "CORECLR_ENABLE_NOTIFICATION_PROFILERS=1");
	tapir_str__addc(out, '\0');
	/* runtimes before 10 drop an entry that does not end with a semicolon */
	tapir_str__addf(out, "CORECLR_NOTIFICATION_PROFILERS=%s%s%s=" TAPIR_CORECLR_CLSID_TEXT ";",
			existing ? existing : "",
			existing && *existing && existing[strlen(existing) - 1] != ';' ? ";" : "",
			path);
	tapir_str__addc(out, '\0');
	put_key(out, key);
	tapir_str__addc(out, '\0');
	return out->failed ? -ENOMEM : 0;
}

static bool have_one_link(uint32_t tgid, const char *name)
{
	char own[64], path[48], ours[PATH_MAX], theirs[PATH_MAX];
	ssize_t our_len, their_len;

	snprintf(own, sizeof(own), "/proc/self/%s", name);
	snprintf(path, sizeof(path), "/proc/%u/%s", tgid, name);
	our_len = readlink(own, ours, sizeof(ours));
	their_len = readlink(path, theirs, sizeof(theirs));
	return our_len > 0 && our_len == their_len && !memcmp(ours, theirs, (size_t)our_len);
}

static bool finds(uint32_t tgid, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct tapir_peer_facts facts;
	struct tapir_peer_answer answer = {};
	struct tapir_peer_helper job = {
		.act = tapir_peer_child__find, .dir_fd = -1, .cancel_fd = -1};
	struct stat st;
	int err;

	if (!slash || stat(path, &st) || tapir_peer_facts__read(tgid, "find", &facts))
		return true;
	job.tgid = tgid;
	job.pidfd = facts.pidfd;
	job.proc_fd = facts.proc_fd;
	job.deadline_ns = tapir_clock__now_ns() + FIND_NS;
	job.dev = st.st_dev;
	job.inode = st.st_ino;
	snprintf(job.dir, sizeof(job.dir), "%.*s", (int)(slash - path), path);
	snprintf(job.name, sizeof(job.name), "%s", slash + 1);
	err = tapir_peer_helper__try(&job, &answer, NULL);
	tapir_peer_facts__fini(&facts);
	return err || answer.found;
}

bool tapir_dotnet__sees(uint32_t tgid, const char *path)
{
	int line_cnt = tapir_diag__cnt();
	bool sees =
		(have_one_link(tgid, "ns/mnt") && have_one_link(tgid, "root")) || finds(tgid, path);

	tapir_diag__rewind(line_cnt);
	return sees;
}

bool tapir_dotnet__was_started_with(uint32_t tgid, uint64_t key)
{
	tapir_autofree char *environ_text = NULL;
	struct tapir_str wanted = {};
	char path[32];
	size_t len = 0;
	bool was = false;

	snprintf(path, sizeof(path), "/proc/%u/environ", tgid);
	put_key(&wanted, key);
	if (wanted.data && !tapir_file__read(path, ENVIRON_MAX_BYTES, &environ_text, &len))
		was = memmem(environ_text, len, wanted.data, wanted.len) != NULL;
	tapir_str__fini(&wanted);
	return was;
}
