// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Raw system calls where libbpf 1.1 (Debian 12) has none: it knows neither uprobe_multi links
 * nor uprobe perf events on an fd's path.
 */
#include "attach/links.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/unkillable_call.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/str.h"
#include "base/foreign/file_system.h"
#include "base/foreign/foreign_file.h"

/* ---- the calls -------------------------------------------------------------------------------- */

int tapir_link__try_multi(int prog_fd, const char *path, const struct tapir_link_sites *sites,
			  uint32_t tgid)
{
	/* link_create of union bpf_attr, with the uprobe_multi part of Linux 6.6 */
	struct {
		uint32_t prog_fd, target_fd, attach_type, flags;
		uint64_t path, offsets, ref_ctr_offsets, cookies;
		uint32_t cnt, multi_flags, pid, pad;
	} attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type =
			sites->is_session ? TAPIR_TRACE_UPROBE_SESSION : TAPIR_TRACE_UPROBE_MULTI,
		.path = (uint64_t)(uintptr_t)path,
		.offsets = (uint64_t)(uintptr_t)sites->offs,
		.ref_ctr_offsets = (uint64_t)(uintptr_t)sites->semaphore_offs,
		.cookies = (uint64_t)(uintptr_t)sites->cookies,
		.cnt = (uint32_t)sites->cnt,
		.multi_flags = sites->is_return, /* BPF_F_UPROBE_MULTI_RETURN */
		.pid = tgid,
	};
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : (int)fd;
}

/* One number of a small sysfs file, or a bit position "config:0". */
static int read_sysfs_number(const char *path, uint64_t *out)
{
	tapir_autofree char *text = NULL;
	char *digits;
	int err = tapir_file__read(path, 64, &text, NULL);

	if (err)
		return err;
	digits = strrchr(text, ':');
	digits = digits ? digits + 1 : text;
	digits[strcspn(digits, "\n-")] = '\0';
	return tapir_str__to_u64(digits, 0, UINT32_MAX, out) ? 0 : -EINVAL;
}

#define UPROBE_PMU "/sys/bus/event_source/devices/uprobe/"

int tapir_link__perf_type(uint64_t *type)
{
	return read_sysfs_number(UPROBE_PMU "type", type);
}

int tapir_link__open_kernel_function(const char *name, bool is_return)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	uint64_t type, return_shift;
	int err = read_sysfs_number(TAPIR_KPROBE_PMU "type", &type), fd;

	if (!err)
		err = read_sysfs_number(TAPIR_KPROBE_PMU "format/retprobe", &return_shift);
	if (err)
		return err == -ENOENT ? -ENODEV : err;
	attr.type = (uint32_t)type;
	attr.config = (uint64_t)is_return << return_shift;
	attr.kprobe_func = (uint64_t)(uintptr_t)name;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

struct event_request {
	struct perf_event_attr attr;
	char path[32];
	uint32_t tgid;
};

static int prepare_event(struct event_request *rq, const struct tapir_link_sites *sites, size_t idx,
			 uint32_t tgid)
{
	uint64_t type, ref_ctr_shift, return_shift = 0;
	int err = tapir_link__perf_type(&type);

	if (!err)
		err = read_sysfs_number(UPROBE_PMU "format/ref_ctr_offset", &ref_ctr_shift);
	if (!err && sites->is_return)
		err = read_sysfs_number(UPROBE_PMU "format/retprobe", &return_shift);
	if (err)
		return err == -ENOENT ? -ENODEV : err;
	*rq = (struct event_request){.attr.size = sizeof(rq->attr), .tgid = tgid};
	snprintf(rq->path, sizeof(rq->path), "/proc/self/fd/%d", sites->file_fd);
	rq->attr.type = (uint32_t)type;
	rq->attr.config = sites->semaphore_offs[idx] << ref_ctr_shift | (uint64_t)sites->is_return
										<< return_shift;
	rq->attr.uprobe_path = (uint64_t)(uintptr_t)rq->path;
	rq->attr.probe_offset = sites->offs[idx];
	return 0;
}

static long open_event(const void *ctx)
{
	const struct event_request *rq = ctx;
	long fd = syscall(SYS_perf_event_open, &rq->attr, rq->tgid ? (int)rq->tgid : -1,
			  rq->tgid ? -1 : 0, -1, PERF_FLAG_FD_CLOEXEC);

	return fd >= 0 ? fd : -errno;
}

/* The event of site idx, without its program and without a line. -ENODEV: the kernel has none. */
static int try_perf(const struct tapir_link_sites *sites, size_t idx, uint32_t tgid)
{
	struct event_request rq;
	int err = prepare_event(&rq, sites, idx, tgid);

	return err ? err : (int)open_event(&rq);
}

/*
 * ---- in a helper ------------------------------------------------------------------------------
 *
 * The kernel reads the pages of a file when a probe is placed in it, and may wait for its server.
 * So the call is made by the helper of a foreign file system (base/foreign/file_system.h), which
 * first makes sure that the pages are in memory: the kernel waits for a page with the traced
 * process's address space locked. Sites travel in a memfd: offsets, semaphores, cookies, one array
 * after the other.
 */

#define MAX_SITES 65536
/*
 * The time within which attaching ends after the pages were read: from then on the kernel waits
 * only for itself. While it removes hundreds of perf events, at 0.1 s each, it creates none.
 */
#define ATTACH_NS (10 * TAPIR_NS_PER_SEC)

struct helper_request {
	uint32_t tgid;
	uint32_t cnt;
	bool is_return, is_session;
};

/* fds there: the file (O_PATH), the sites and the program. */

/* A byte of each page that is to get a probe. */
static int touch_pages(int path_fd, const uint64_t *offs, size_t cnt)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	tapir_autofd int fd = -1;
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < cnt; i++) {
		uint64_t from = offs[i] & ~(page - 1);
		volatile const char *at = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, (off_t)from);

		if (at == MAP_FAILED)
			return -errno;
		(void)*at; /* beyond the end of the file: SIGBUS, and this helper's end */
		munmap((void *)(uintptr_t)at, page);
	}
	return 0;
}

static int map_sites(const struct helper_request *r, const int *fds, struct tapir_link_sites *out)
{
	size_t bytes = 3 * sizeof(uint64_t) * r->cnt;
	const uint64_t *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fds[1], 0);

	if (at == MAP_FAILED)
		return -errno;
	*out = (struct tapir_link_sites){
		.file_fd = fds[0],
		.cnt = r->cnt,
		.offs = at,
		.semaphore_offs = at + r->cnt,
		.cookies = at + 2 * (size_t)r->cnt,
		.is_return = r->is_return,
		.is_session = r->is_session,
	};
	return 0;
}

static void unmap_sites(const struct tapir_link_sites *sites)
{
	munmap((void *)(uintptr_t)sites->offs, 3 * sizeof(uint64_t) * sites->cnt);
}

static int read_pages(const void *in, const int *fds, uint64_t *value, int *out_fd)
{
	struct tapir_link_sites sites;
	int err = map_sites(in, fds, &sites);

	(void)value, (void)out_fd;
	if (err)
		return err;
	err = touch_pages(fds[0], sites.offs, sites.cnt);
	unmap_sites(&sites);
	return err;
}

static int attach_there(const struct helper_request *r, const int *fds, bool is_multi)
{
	struct tapir_link_sites sites;
	char path[32];
	int err = map_sites(r, fds, &sites);

	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
	err = is_multi ? tapir_link__try_multi(fds[2], path, &sites, r->tgid)
		       : try_perf(&sites, 0, r->tgid);
	unmap_sites(&sites);
	return err;
}

static int attach_multi(const void *in, const int *fds, uint64_t *value, int *out_fd)
{
	int fd = attach_there(in, fds, true);

	(void)value;
	*out_fd = fd < 0 ? -1 : fd;
	return fd < 0 ? fd : 0;
}

static int attach_perf(const void *in, const int *fds, uint64_t *value, int *out_fd)
{
	int fd = attach_there(in, fds, false);

	(void)value;
	*out_fd = fd < 0 ? -1 : fd;
	return fd < 0 ? fd : 0;
}

static int write_sites(const struct tapir_link_sites *sites, size_t from, size_t cnt, int *out)
{
	const uint64_t *arrays[] = {sites->offs, sites->semaphore_offs, sites->cookies};
	tapir_autofd int fd = memfd_create("tapir-sites", MFD_CLOEXEC);
	int err = fd < 0 ? -errno : 0;

	for (size_t i = 0; i < 3 && !err; i++)
		err = tapir_file__write_all(fd, arrays[i] + from, cnt * sizeof(uint64_t));
	if (err)
		return err;
	*out = fd;
	fd = -1;
	return 0;
}

/* fds: the first two are the file and the sites. */
static int run_in_helper(struct tapir_fs *fs, tapir_helper_fn fn, const int *fds, int fd_cnt,
			 const struct helper_request *request)
{
	struct tapir_helper_call call = {
		.fn = read_pages, .in = request, .in_bytes = sizeof(*request), .fd_cnt = 2};
	int err;

	memcpy(call.fds, fds, sizeof(*fds) * (size_t)fd_cnt);
	err = fs ? tapir_fs__call(fs, &call) : -ETIMEDOUT;
	if (err)
		return err;
	call.fn = fn;
	call.fd_cnt = fd_cnt;
	call.limit_ns = ATTACH_NS;
	err = tapir_fs__call(fs, &call);
	if (!err && call.out_fd < 0)
		err = -EMFILE;
	return err ? err : call.out_fd;
}

static int multi_in_helper(struct tapir_fs *fs, int prog_fd, const struct tapir_link_sites *sites,
			   uint32_t tgid)
{
	const struct helper_request request = {.tgid = tgid,
					       .cnt = (uint32_t)sites->cnt,
					       .is_return = sites->is_return,
					       .is_session = sites->is_session};
	tapir_autofd int sites_fd = -1;
	int err = sites->cnt > MAX_SITES ? -E2BIG : write_sites(sites, 0, sites->cnt, &sites_fd);

	if (err)
		return err;
	return run_in_helper(fs, attach_multi, (const int[]){sites->file_fd, sites_fd, prog_fd}, 3,
			     &request);
}

static int perf_in_helper(struct tapir_fs *fs, const struct tapir_link_sites *sites, size_t idx,
			  uint32_t tgid)
{
	const struct helper_request request = {
		.tgid = tgid, .cnt = 1, .is_return = sites->is_return};
	tapir_autofd int sites_fd = -1;
	int err = write_sites(sites, idx, 1, &sites_fd);

	return err ? err
		   : run_in_helper(fs, attach_perf, (const int[]){sites->file_fd, sites_fd}, 2,
				   &request);
}

/* ---- attaching ------------------------------------------------------------------------------- */

static int attach_error(int err, const char *label, uint32_t tgid)
{
	const char *hint = err == -EPERM || err == -EACCES ? " (requires CAP_BPF and CAP_PERFMON)"
			   : err == -EMFILE		   ? " (raise ulimit -n)"
			   : err == -EINVAL
				   ? " (the file changed, or a probe is not at an instruction)"
				   : "";
	const char *why =
		err == -ETIMEDOUT ? "its file system does not answer" : tapir_errno__text(err);

	if (!tgid)
		return tapir_diag__fail(err, "cannot attach %s: %s%s", label, why, hint);
	return tapir_diag__fail(err, "cannot attach %s to process %u: %s%s", label, tgid, why,
				hint);
}

struct attaching {
	int prog_fd;
	const struct tapir_link_sites *sites;
	uint32_t tgid;
};

static long link_multi(const void *ctx)
{
	const struct attaching *a = ctx;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", a->sites->file_fd);
	return tapir_link__try_multi(a->prog_fd, path, a->sites, a->tgid);
}

int tapir_link__multi(int prog_fd, const struct tapir_link_sites *sites, uint32_t tgid)
{
	struct tapir_fs *fs;
	int fd;

	if (tapir_foreign__is_foreign(sites->file_fd, &fs))
		fd = multi_in_helper(fs, prog_fd, sites, tgid);
	else
		fd = (int)tapir_unkillable__call(link_multi,
						 &(struct attaching){prog_fd, sites, tgid});
	return fd >= 0 ? fd : attach_error(fd, "probes", tgid);
}

static int open_unkillable(const struct tapir_link_sites *sites, size_t idx, uint32_t tgid)
{
	struct event_request rq;
	int err = prepare_event(&rq, sites, idx, tgid);

	return err ? err : (int)tapir_unkillable__call(open_event, &rq);
}

static int open_uprobe_event(const struct tapir_link_sites *sites, size_t idx, uint32_t tgid)
{
	struct tapir_fs *fs;
	int fd = tapir_foreign__is_foreign(sites->file_fd, &fs)
			 ? perf_in_helper(fs, sites, idx, tgid)
			 : open_unkillable(sites, idx, tgid);

	if (fd == -ENODEV)
		return tapir_diag__fail(-EOPNOTSUPP,
					"cannot attach probes: the kernel has no uprobe events "
					"(CONFIG_UPROBE_EVENTS)");
	return fd >= 0 ? fd : attach_error(fd, "probe", tgid);
}

int tapir_link__perf(int prog_fd, const struct tapir_link_sites *sites, size_t idx, uint32_t tgid)
{
	tapir_autofd int fd = open_uprobe_event(sites, idx, tgid);
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = sites->cookies[idx]);
	int link;

	if (fd < 0)
		return fd;
	link = bpf_link_create(prog_fd, fd, BPF_PERF_EVENT, &opts);
	/* The link holds the event: its own fd is no longer needed. */
	return link >= 0 ? link : attach_error(link, "probe", tgid);
}

/*
 * ---- the key of a file ------------------------------------------------------------------------
 *
 * The file is mapped, and the program run, which finds the mapping in the process that runs it:
 * this one, or the helper of a foreign file system.
 */

/* Maps it with no rights: nothing of the file is read, and no probe gets into the mapping. */
static int ask_file(int prog_fd, int fd, struct tapir_file_key *key)
{
	struct tapir_file_question question = {};
	/* The kernel writes the answer to the place of the question. */
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &question, .ctx_size_in = sizeof(question));
	void *at = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE, fd, 0);
	int err;

	if (at == MAP_FAILED)
		return -errno;
	question.va = (uintptr_t)at;
	err = bpf_prog_test_run_opts(prog_fd, &run);
	munmap(at, 1);
	if (err)
		return err;
	*key = question.key;
	return key->inode ? 0 : -ENODATA;
}

/* A tapir_helper_fn. fds there: the file (O_PATH), the program, and where the answer goes. */
static int ask_there(const void *in, const int *fds, uint64_t *value, int *out_fd)
{
	tapir_autofd int fd = -1;
	struct tapir_file_key key;
	char link[32];
	int err;

	(void)in, (void)value, (void)out_fd;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fds[0]);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	err = fd < 0 ? -errno : ask_file(fds[1], fd, &key);
	return err ? err : tapir_file__write_all(fds[2], &key, sizeof(key));
}

static int ask_in_helper(struct tapir_fs *fs, int prog_fd, int handle, struct tapir_file_key *key)
{
	tapir_autofd int answer_fd = memfd_create("tapir-file-key", MFD_CLOEXEC);
	struct tapir_helper_call call = {
		.fn = ask_there, .fds = {handle, prog_fd, answer_fd}, .fd_cnt = 3};
	int err = answer_fd < 0 ? -errno : tapir_fs__call(fs, &call);

	if (err)
		return err;
	return pread(answer_fd, key, sizeof(*key), 0) == sizeof(*key) ? 0 : -ENODATA;
}

int tapir_link__file_key(int prog_fd, int handle, struct tapir_file_key *key)
{
	struct tapir_fs *fs;

	if (!tapir_foreign__is_foreign(handle, &fs))
		return ask_file(prog_fd, handle, key);
	return fs ? ask_in_helper(fs, prog_fd, handle, key) : -ETIMEDOUT;
}
