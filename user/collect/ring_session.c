// SPDX-License-Identifier: GPL-2.0-or-later
/* Stores and loads of shared words, in the order of the page. */
#include "collect/ring_session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"

static int lock(int fd, unsigned session, short type)
{
	struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = session, .l_len = 1};

	return fcntl(fd, F_OFD_SETLK, &range) ? -errno : 0;
}

static int take_session(struct tapir_ring_control *c)
{
	for (unsigned s = 0; s < TAPIR_RING_SESSIONS; s++) {
		int err = lock(c->fd, s, F_WRLCK);

		if (!err) {
			c->session = s;
			return 0;
		}
		if (err != -EAGAIN && err != -EACCES)
			return err;
	}
	return -EBUSY;
}

/* Only words that have the bits are written: the others' cache lines stay with the process. */
static void clear_words(struct tapir_ring_control *c)
{
	uint64_t bits = TAPIR_RING_SESSION_BITS(c->session);

	for (uint32_t i = 0; i < TAPIR_RING_EVENTS; i++)
		if (__atomic_load_n(&c->map->words[i], __ATOMIC_SEQ_CST) & bits)
			__atomic_fetch_and(&c->map->words[i], ~bits, __ATOMIC_SEQ_CST);
}

static struct tapir_ring_session *session_of(const struct tapir_ring_control *c)
{
	return &c->map->sessions[c->session];
}

static void set_state(struct tapir_ring_control *c, uint32_t state)
{
	__atomic_store_n(&session_of(c)->state, state, __ATOMIC_SEQ_CST);
}

static void read_comm(char comm[TAPIR_COMM_BYTES])
{
	tapir_autofree char *text = NULL;
	size_t len = 0;

	if (tapir_file__read("/proc/self/comm", 64, &text, &len))
		return;
	len = strcspn(text, "\n");
	memcpy(comm, text, len < TAPIR_COMM_BYTES ? len : TAPIR_COMM_BYTES - 1);
}

static void fill_session(struct tapir_ring_control *c, const struct tapir_ring_session_opts *opts)
{
	struct tapir_ring_session *s = session_of(c);

	c->bits = 1ull << (TAPIR_RING_WANT_SHIFT + c->session);
	c->bits |= opts->with_stack ? 1ull << (TAPIR_RING_STACK_SHIFT + c->session) : 0;
	c->bits |= opts->rate_hz ? 1ull << (TAPIR_RING_RATE_SHIFT + c->session) : 0;
	s->flags = (opts->with_stack ? TAPIR_RING_WANTS_STACKS : 0) |
		   (opts->with_probes ? TAPIR_RING_WANTS_PROBES : 0);
	s->session_id = opts->session_id;
	s->tracer_tgid = (uint32_t)getpid();
	s->rate_hz = opts->rate_hz;
	s->beat = 1;
	memset(s->tracer_comm, 0, sizeof(s->tracer_comm));
	read_comm(s->tracer_comm);
	memcpy(s->selections, opts->selections, sizeof(s->selections));
}

int tapir_ring_control__take(struct tapir_ring_control *c, int fd,
			     const struct tapir_ring_session_opts *opts)
{
	void *map = mmap(NULL, sizeof(*c->map), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int err;

	*c = (struct tapir_ring_control){.fd = fd};
	if (map == MAP_FAILED)
		return -errno;
	/* A mapping holds the file's description, and with it the lock: not in a child that
	   outlives us. */
	madvise(map, sizeof(*c->map), MADV_DONTFORK);
	c->map = map;
	err = take_session(c);
	if (err) {
		munmap(map, sizeof(*c->map));
		c->map = NULL;
		return err;
	}
	set_state(c, TAPIR_RING_FREE);
	/* Its last owner died; or an event was registered just while it closed. */
	clear_words(c);
	fill_session(c, opts);
	return 0;
}

void tapir_ring_control__open(struct tapir_ring_control *c, void (*fill)(void *ctx), void *ctx)
{
	set_state(c, TAPIR_RING_OPENING);
	fill(ctx);
	set_state(c, TAPIR_RING_OPEN);
	fill(ctx);
	__atomic_fetch_add(&c->map->epoch, 1, __ATOMIC_SEQ_CST);
}

void tapir_ring_control__want(struct tapir_ring_control *c, uint32_t event, bool on)
{
	if (on)
		__atomic_fetch_or(&c->map->words[event], c->bits, __ATOMIC_SEQ_CST);
	else if (__atomic_load_n(&c->map->words[event], __ATOMIC_SEQ_CST) &
		 TAPIR_RING_SESSION_BITS(c->session))
		__atomic_fetch_and(&c->map->words[event], ~TAPIR_RING_SESSION_BITS(c->session),
				   __ATOMIC_SEQ_CST);
}

void tapir_ring_control__want_nothing(struct tapir_ring_control *c)
{
	if (c->map)
		clear_words(c);
}

void tapir_ring_control__announce(struct tapir_ring_control *c)
{
	c->announced = __atomic_add_fetch(&c->map->generation, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &c->map->generation, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool tapir_ring_control__is_followed(const struct tapir_ring_control *c)
{
	return (int32_t)(__atomic_load_n(&c->map->applied, __ATOMIC_ACQUIRE) - c->announced) >= 0;
}

void tapir_ring_control__published(const struct tapir_ring_control *c,
				   struct tapir_ring_published *out)
{
	out->cnt = __atomic_load_n(&c->map->published_cnt, __ATOMIC_RELAXED);
	out->left_cnt = __atomic_load_n(&c->map->unpublished_cnt, __ATOMIC_RELAXED);
	out->err = __atomic_load_n(&c->map->publish_errno, __ATOMIC_RELAXED);
}

void tapir_ring_control__set_tail(struct tapir_ring_control *c, uint32_t slot, uint64_t tail)
{
	__atomic_store_n(&c->map->tails[slot][c->session], tail, __ATOMIC_RELEASE);
}

void tapir_ring_control__beat(struct tapir_ring_control *c)
{
	__atomic_fetch_add(&session_of(c)->beat, 1, __ATOMIC_RELAXED);
}

bool tapir_ring_control__is_ended(const struct tapir_ring_control *c)
{
	return __atomic_load_n(&session_of(c)->state, __ATOMIC_ACQUIRE) == TAPIR_RING_ENDED;
}

void tapir_ring_control__close(struct tapir_ring_control *c)
{
	if (!c->map)
		return;
	/* An event registered a moment ago, or a process that writes what it likes. */
	clear_words(c);
	set_state(c, TAPIR_RING_FREE);
	tapir_ring_control__announce(c);
	lock(c->fd, c->session, F_UNLCK);
	munmap(c->map, sizeof(*c->map));
	c->map = NULL;
}
