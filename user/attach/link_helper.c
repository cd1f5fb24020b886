// SPDX-License-Identifier: GPL-2.0-or-later
/* Sites travel in a memfd: offsets, semaphores, cookies, one array after the other. */
#include "attach/link_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "foreign/file_system.h"
#include "foreign/foreign_file.h"

#define MAX_SITES 65536
/*
 * Of attaching after the pages were read: then the kernel waits for itself, and where it removes
 * hundreds of perf events at 0.1 s each, it makes none meanwhile.
 */
#define ATTACH_NS (10 * TAPIR_NS_PER_SEC)

struct request {
	uint32_t tgid;
	uint32_t cnt;
};

/* ---- in the helper: fds are the file (O_PATH), the sites and the program --------------------- */

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

static int map_sites(const struct request *r, const int *fds, struct tapir_link_sites *out)
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

static int attach(const struct request *r, const int *fds, bool is_multi)
{
	struct tapir_link_sites sites;
	char path[32];
	int err = map_sites(r, fds, &sites);

	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
	err = is_multi ? tapir_link__try_multi(fds[2], path, &sites, r->tgid)
		       : tapir_link__try_perf(&sites, 0, r->tgid);
	unmap_sites(&sites);
	return err;
}

static int attach_multi(const void *in, const int *fds, uint64_t *value, int *out_fd)
{
	int fd = attach(in, fds, true);

	(void)value;
	*out_fd = fd < 0 ? -1 : fd;
	return fd < 0 ? fd : 0;
}

static int attach_perf(const void *in, const int *fds, uint64_t *value, int *out_fd)
{
	int fd = attach(in, fds, false);

	(void)value;
	*out_fd = fd < 0 ? -1 : fd;
	return fd < 0 ? fd : 0;
}

/* ---- here ------------------------------------------------------------------------------------ */

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
static int run(struct tapir_fs *fs, tapir_helper_fn fn, const int *fds, int fd_cnt,
	       const struct request *request)
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

int tapir_link_helper__multi(struct tapir_fs *fs, int prog_fd, const struct tapir_link_sites *sites,
			     uint32_t tgid)
{
	const struct request request = {.tgid = tgid, .cnt = (uint32_t)sites->cnt};
	tapir_autofd int sites_fd = -1;
	int err = sites->cnt > MAX_SITES ? -E2BIG : write_sites(sites, 0, sites->cnt, &sites_fd);

	if (err)
		return err;
	return run(fs, attach_multi, (const int[]){sites->file_fd, sites_fd, prog_fd}, 3, &request);
}

int tapir_link_helper__perf(struct tapir_fs *fs, const struct tapir_link_sites *sites, size_t idx,
			    uint32_t tgid)
{
	const struct request request = {.tgid = tgid, .cnt = 1};
	tapir_autofd int sites_fd = -1;
	int err = write_sites(sites, idx, 1, &sites_fd);

	return err ? err
		   : run(fs, attach_perf, (const int[]){sites->file_fd, sites_fd}, 2, &request);
}
