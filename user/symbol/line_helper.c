// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first half runs in the helper, the second in tapir; they share one block of memory, in which
 * the helper writes an answer that tapir checks (tapir_lines_answer__is_valid) before it uses it.
 */
#include "symbol/line_helper.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/foreign/helper.h"

#define MAX_PROCESSES 8u
#define MEMORY_BYTES  (4ull << 30)
#define OPEN_S	      10u /* of CPU time: other programs may use the CPUs */
#define FIND_S	      2u
#define WALL_PER_CPU  8u /* the caller's limit, for a process that does not even run */
#define NOBODY	      65534

struct request {
	uint64_t va;
	uint32_t slot;
	bool is_open; /* fds: the file, the answer's memory, maybe what dwz took out */
	bool has_alt;
};

/* ---- in the helper ------------------------------------------------------------------------ */

static struct tapir_dwarf_lines *opened[TAPIR_LINE_HELPER_FILES];
static struct tapir_lines_answer *answer;

/* Whatever a file does to libdw, it does without privileges, and ends the process at worst. */
static void confine(void)
{
	const struct rlimit none = {};
#ifndef __SANITIZE_ADDRESS__ /* whose own tables are larger */
	const struct rlimit memory = {MEMORY_BYTES, MEMORY_BYTES};

	(void)setrlimit(RLIMIT_AS, &memory);
#endif
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!geteuid()) {
		(void)!setgroups(0, NULL);
		(void)!setresgid(NOBODY, NOBODY, NOBODY);
		(void)!setresuid(NOBODY, NOBODY, NOBODY);
	}
}

/* libdw opens what a file names, by any path; none, as long as there may be no descriptors. */
static void set_max_fds(rlim_t cnt)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = cnt < limit.rlim_max ? cnt : limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int map_answer(int fd)
{
	void *at = mmap(NULL, sizeof(*answer), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	answer = at;
	confine();
	return 0;
}

static int open_debug_file(const struct request *request, const int *fds)
{
	int err = answer ? 0 : map_answer(fds[1]);
	int fd = dup(fds[0]), alt_fd = request->has_alt ? dup(fds[2]) : -1;

	if (!err && fd < 0)
		err = -errno;
	set_max_fds(0);
	if (!err)
		err = tapir_dwarf_lines__open(fd, alt_fd, &opened[request->slot]);
	return err;
}

/* SIGPROF ends the process; 0: no limit. */
static void limit_cpu(unsigned seconds)
{
	const struct itimerval limit = {.it_value.tv_sec = seconds};

	(void)setitimer(ITIMER_PROF, &limit, NULL);
}

static int serve_lines(const void *in, const int *fds, uint64_t *value, int *out_fd)
{
	const struct request *request = in;
	int err = 0;

	(void)value;
	(void)out_fd;
	limit_cpu(request->is_open ? OPEN_S : FIND_S);
	set_max_fds(RLIM_INFINITY);
	if (request->is_open)
		err = open_debug_file(request, fds);
	set_max_fds(0);
	if (!request->is_open)
		tapir_dwarf_lines__find(opened[request->slot], request->va, answer);
	set_max_fds(RLIM_INFINITY); /* for those that come with the next request */
	limit_cpu(0);
	return err;
}

/* ---- in tapir ----------------------------------------------------------------------------- */

struct tapir_line_helper {
	struct tapir_helper helper;
	uint32_t generation;
	int shared_fd;
	struct tapir_lines_answer *shared;
	struct tapir_lines_answer copy; /* which the process can no longer change */
};

static int share_memory(struct tapir_line_helper *h)
{
	void *at;

	h->shared_fd = memfd_create("tapir-lines", MFD_CLOEXEC);
	if (h->shared_fd < 0 || ftruncate(h->shared_fd, sizeof(*h->shared)))
		return -errno;
	at = mmap(NULL, sizeof(*h->shared), PROT_READ | PROT_WRITE, MAP_SHARED, h->shared_fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	h->shared = at;
	return 0;
}

int tapir_line_helper__new(struct tapir_line_helper **out)
{
	struct tapir_line_helper *h = calloc(1, sizeof(*h));
	int err;

	if (!h)
		return -ENOMEM;
	h->helper = TAPIR_HELPER_NONE;
	err = share_memory(h);
	if (err) {
		tapir_line_helper__free(h);
		return tapir_diag__fail(err, "cannot create a file in memory: %s",
					tapir_errno__text(err));
	}
	*out = h;
	return 0;
}

void tapir_line_helper__free(struct tapir_line_helper *h)
{
	if (!h)
		return;
	tapir_helper__leave(&h->helper);
	if (h->shared)
		munmap(h->shared, sizeof(*h->shared));
	tapir_guard__fd(&h->shared_fd);
	free(h);
}

static int start_helper(struct tapir_line_helper *h)
{
	int err;

	if (h->helper.sock >= 0)
		return 0;
	if (h->generation == MAX_PROCESSES)
		return -ELOOP;
	err = tapir_helper__start(&h->helper);
	h->generation += !err;
	return err;
}

static int call(struct tapir_line_helper *h, const struct request *request, const int *fds,
		int fd_cnt)
{
	struct tapir_helper_call helper_call = {
		.fn = serve_lines, .in = request, .in_bytes = sizeof(*request), .fd_cnt = fd_cnt};
	uint64_t limit_ns = (request->is_open ? OPEN_S : FIND_S) * WALL_PER_CPU * TAPIR_NS_PER_SEC;
	int err;

	for (int i = 0; i < fd_cnt; i++)
		helper_call.fds[i] = fds[i];
	err = tapir_helper__call(&h->helper, &helper_call, tapir_clock__now_ns() + limit_ns);
	tapir_guard__fd(&helper_call.out_fd);
	if (err && err != -ENODATA)
		tapir_helper__leave(&h->helper);
	return err;
}

static int open_in_process(struct tapir_line_helper *h, struct tapir_line_file *file)
{
	const struct request request = {
		.slot = file->slot, .is_open = true, .has_alt = file->alt_fd >= 0};
	const int fds[] = {file->fd, h->shared_fd, file->alt_fd};
	int err = start_helper(h);

	if (err || file->generation == h->generation)
		return err;
	err = call(h, &request, fds, request.has_alt ? 3 : 2);
	if (!err)
		file->generation = h->generation;
	return err;
}

int tapir_line_helper__find(struct tapir_line_helper *h, struct tapir_line_file *file, uint64_t va,
			    const struct tapir_lines_answer **out)
{
	const struct request request = {.slot = file->slot, .va = va};
	int err = open_in_process(h, file);

	if (!err)
		err = call(h, &request, NULL, 0);
	if (err)
		return err;
	h->copy = *h->shared;
	if (!tapir_lines_answer__is_valid(&h->copy)) {
		tapir_helper__leave(&h->helper);
		return -EPIPE;
	}
	*out = &h->copy;
	return 0;
}
