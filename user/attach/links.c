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
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/link_helper.h"
#include "attach/undisturbed.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/str.h"
#include "foreign/foreign_file.h"

static int attach_error(int err, const char *what, uint32_t tgid)
{
	const char *hint = err == -EPERM || err == -EACCES ? " (requires CAP_BPF and CAP_PERFMON)"
			   : err == -EMFILE		   ? " (raise ulimit -n)"
			   : err == -EINVAL
				   ? " (the file changed, or a probe is not at an instruction)"
				   : "";
	const char *why =
		err == -ETIMEDOUT ? "its file system does not answer" : tapir_errno__text(err);

	if (!tgid)
		return tapir_diag__fail(err, "cannot attach %s: %s%s", what, why, hint);
	return tapir_diag__fail(err, "cannot attach %s to process %u: %s%s", what, tgid, why, hint);
}

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
		.attach_type = TAPIR_TRACE_UPROBE_MULTI,
		.path = (uint64_t)(uintptr_t)path,
		.offsets = (uint64_t)(uintptr_t)sites->offs,
		.ref_ctr_offsets = (uint64_t)(uintptr_t)sites->semaphore_offs,
		.cookies = (uint64_t)(uintptr_t)sites->cookies,
		.cnt = (uint32_t)sites->cnt,
		.pid = tgid,
	};
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : (int)fd;
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
		fd = tapir_link_helper__multi(fs, prog_fd, sites, tgid);
	else
		fd = (int)tapir_undisturbed__call(link_multi,
						  &(struct attaching){prog_fd, sites, tgid});
	return fd >= 0 ? fd : attach_error(fd, "probes", tgid);
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

struct event_request {
	struct perf_event_attr attr;
	char path[32];
	uint32_t tgid;
};

static int prepare_event(struct event_request *rq, const struct tapir_link_sites *sites, size_t idx,
			 uint32_t tgid)
{
	uint64_t type, ref_ctr_shift;
	int err = tapir_link__perf_type(&type);

	if (!err)
		err = read_sysfs_number(UPROBE_PMU "format/ref_ctr_offset", &ref_ctr_shift);
	if (err)
		return err == -ENOENT ? -ENODEV : err;
	*rq = (struct event_request){.attr.size = sizeof(rq->attr), .tgid = tgid};
	snprintf(rq->path, sizeof(rq->path), "/proc/self/fd/%d", sites->file_fd);
	rq->attr.type = (uint32_t)type;
	rq->attr.config = sites->semaphore_offs[idx] << ref_ctr_shift;
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

int tapir_link__try_perf(const struct tapir_link_sites *sites, size_t idx, uint32_t tgid)
{
	struct event_request rq;
	int err = prepare_event(&rq, sites, idx, tgid);

	return err ? err : (int)open_event(&rq);
}

static int open_undisturbed(const struct tapir_link_sites *sites, size_t idx, uint32_t tgid)
{
	struct event_request rq;
	int err = prepare_event(&rq, sites, idx, tgid);

	return err ? err : (int)tapir_undisturbed__call(open_event, &rq);
}

static int open_uprobe_event(const struct tapir_link_sites *sites, size_t idx, uint32_t tgid)
{
	struct tapir_fs *fs;
	int fd = tapir_foreign__is_foreign(sites->file_fd, &fs)
			 ? tapir_link_helper__perf(fs, sites, idx, tgid)
			 : open_undisturbed(sites, idx, tgid);

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
	/* The link holds the event: its own fd is not needed any more. */
	return link >= 0 ? link : attach_error(link, "probe", tgid);
}
