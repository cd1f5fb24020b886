// SPDX-License-Identifier: GPL-2.0-or-later
/* The list of held processes lies in memory shared with the child. */
#include "attach/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "bpf/control.h"

#define HELD_CNT 1024

struct tapir_guardian {
	pid_t child;
	int life_fd;	/* the child reads its end: end of file when we are gone */
	uint32_t *held; /* HELD_CNT tgids, 0 free; shared with the child */
};

/* What else we have open must not stay open in the child: a pipe's reader waits for its end. */
static int keep_only(int fd)
{
	int null_fd = open("/dev/null", O_RDWR);

	for (int std = 0; null_fd >= 0 && std < 3; std++)
		dup2(null_fd, std);
	if (dup2(fd, 3) != 3)
		return -1;
	syscall(SYS_close_range, 4u, ~0u, 0u);
	return 3;
}

void tapir_guardian__release_unread(struct tapir_bpf_ring *ring)
{
	const struct tapir_rec_held *rec;
	uint32_t len;

	while ((rec = tapir_bpf_ring__next(ring, &len)))
		if (len >= sizeof(*rec) && rec->h.type == TAPIR_REC_HELD)
			kill((pid_t)rec->tgid, SIGCONT);
}

/* A child of a larger program: system calls only, no allocation. The ring is mapped already. */
static void watch_over(int life_fd, struct tapir_bpf_ring *ring, const uint32_t *held)
{
	struct timespec settle = {.tv_nsec = 200 * 1000 * 1000};
	ssize_t n;
	char byte;

	prctl(PR_SET_NAME, "tapir-guardian");
	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	life_fd = keep_only(life_fd);
	while ((n = read(life_fd, &byte, 1)) < 0 && errno == EINTR)
		;
	if (n > 0)
		_exit(0); /* said goodbye: everything was let go */
	ring->pos = *ring->consumer_pos;
	/* The kernel takes our parent's links away a moment after it closed this socket. */
	for (int round = 0; round < 2; round++) {
		for (unsigned i = 0; i < HELD_CNT; i++)
			if (held[i])
				kill((pid_t)held[i], SIGCONT);
		tapir_guardian__release_unread(ring);
		nanosleep(&settle, NULL);
	}
	_exit(0);
}

static int start(struct tapir_guardian *g, struct tapir_bpf_ring *ring)
{
	int fds[2];

	g->held = mmap(NULL, HELD_CNT * sizeof(*g->held), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (g->held == MAP_FAILED) {
		g->held = NULL;
		return -ENOMEM;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return -errno;
	g->child = fork();
	if (g->child == 0) {
		close(fds[1]);
		watch_over(fds[0], ring, g->held);
	}
	close(fds[0]);
	g->life_fd = fds[1];
	return g->child < 0 ? -errno : 0;
}

int tapir_guardian__start(int control_ring_fd, struct tapir_guardian **out)
{
	struct tapir_guardian *g = calloc(1, sizeof(*g));
	struct tapir_bpf_ring ring = {};
	int err;

	if (!g)
		return -ENOMEM;
	g->life_fd = -1;
	err = tapir_bpf_ring__open(control_ring_fd, &ring);
	if (!err)
		err = start(g, &ring);
	tapir_bpf_ring__close(&ring);
	if (err) {
		tapir_diag__add("Cannot start the guardian of held processes: err=-%s",
				tapir_errno__name(err));
		tapir_guardian__stop(g);
		return err;
	}
	*out = g;
	return 0;
}

static uint32_t *find(struct tapir_guardian *g, uint32_t tgid)
{
	for (unsigned i = 0; i < HELD_CNT; i++)
		if (g->held[i] == tgid)
			return &g->held[i];
	return NULL;
}

void tapir_guardian__hold(struct tapir_guardian *g, uint32_t tgid)
{
	uint32_t *slot = find(g, tgid);

	if (!slot)
		slot = find(g, 0);
	if (slot)
		*slot = tgid;
}

void tapir_guardian__release(struct tapir_guardian *g, uint32_t tgid)
{
	uint32_t *slot = find(g, tgid);

	kill((pid_t)tgid, SIGCONT);
	if (slot)
		*slot = 0;
}

void tapir_guardian__stop(struct tapir_guardian *g)
{
	if (!g)
		return;
	for (unsigned i = 0; g->held && i < HELD_CNT; i++)
		if (g->held[i])
			tapir_guardian__release(g, g->held[i]);
	/* A child that somebody killed reads nothing: no SIGPIPE for that, and no fd left. */
	if (g->life_fd >= 0)
		(void)send(g->life_fd, "", 1, MSG_NOSIGNAL);
	tapir_guard__fd(&g->life_fd);
	if (g->child > 0)
		waitpid(g->child, NULL, 0);
	if (g->held)
		munmap(g->held, HELD_CNT * sizeof(*g->held));
	free(g);
}
