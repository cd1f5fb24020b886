// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stores and loads of shared words, in the order of the page in tapir/ring.h, whose comment is the
 * protocol: which word is released after which. The order is the whole content of this file; no
 * store may be moved.
 */
#include "attach/rings/ring_session.h"

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
#include "bpf/control.h"

#define WANT_TRIES 1000u

TAPIR_STATIC_ASSERT(TAPIR_CTL_SESSIONS == TAPIR_RING_SESSIONS &&
			    TAPIR_CTL_SESSION_BYTES == sizeof(struct tapir_ring_session) &&
			    TAPIR_CTL_SESSION_ID_OFF ==
				    offsetof(struct tapir_ring_ctl, sessions) +
					    offsetof(struct tapir_ring_session, session_id),
		    "sessions as BPF programs read them");

static int lock_session(int fd, unsigned session, short type)
{
	struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = session, .l_len = 1};

	return fcntl(fd, F_OFD_SETLK, &range) ? -errno : 0;
}

/*
 * Returns true for a session inherited from a parent that this tapir traces: a child made the lane
 * and waits for us (ring.h, FORK).
 */
static bool is_inherited(const struct tapir_ring_session *s, uint64_t session_id)
{
	return __atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == TAPIR_RING_INHERITED &&
	       (!session_id || __atomic_load_n(&s->session_id, __ATOMIC_RELAXED) == session_id);
}

/*
 * Returns true if this session may be locked in this round: first an inherited session of our own,
 * then a free one, at last another tracer's inherited one.
 */
static bool is_choice(const struct tapir_ring_session *s, unsigned choice, uint64_t session_id)
{
	if (choice == 0)
		return session_id && is_inherited(s, session_id);
	return is_inherited(s, 0) == (choice == 2);
}

static int take_session(struct tapir_ring_control *c, uint64_t session_id)
{
	for (unsigned choice = 0; choice < 3; choice++) {
		for (unsigned s = 0; s < TAPIR_RING_SESSIONS; s++) {
			int err;

			if (!is_choice(&c->map->sessions[s], choice, session_id))
				continue;
			err = lock_session(c->fd, s, F_WRLCK);
			if (err && err != -EAGAIN && err != -EACCES)
				return err;
			if (err)
				continue;
			c->session = s;
			c->is_inherited = choice == 0;
			return 0;
		}
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

	s->flags = (opts->with_stack ? TAPIR_RING_WANTS_STACKS : 0) |
		   (opts->with_probes ? TAPIR_RING_WANTS_PROBES : 0) |
		   (opts->with_children ? TAPIR_RING_WANTS_CHILDREN : 0) |
		   (opts->has_probes ? TAPIR_RING_HAS_PROBES : 0);
	s->session_id = opts->session_id;
	s->tracer_tgid = (uint32_t)getpid();
	s->rate_hz = opts->rate_hz;
	s->wait_ms = opts->wait_ms;
	s->beat = 1;
	memset(s->tracer_comm, 0, sizeof(s->tracer_comm));
	read_comm(s->tracer_comm);
	memcpy(c->map->selections[c->session], opts->request->all, sizeof(opts->request->all));
	memcpy(c->map->text[c->session], opts->request->text, opts->request->text_bytes);
}

static void choose_bits(struct tapir_ring_control *c, const struct tapir_ring_session_opts *opts)
{
	c->bits = 1ull << (TAPIR_RING_WANT_SHIFT + c->session);
	c->bits |= opts->with_stack ? 1ull << (TAPIR_RING_STACK_SHIFT + c->session) : 0;
	c->bits |= opts->rate_hz ? 1ull << (TAPIR_RING_RATE_SHIFT + c->session) : 0;
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
	c->child_cnt = __atomic_load_n(&c->map->child_cnt, __ATOMIC_RELAXED);
	err = take_session(c, opts->session_id);
	if (err) {
		munmap(map, sizeof(*c->map));
		c->map = NULL;
		return err;
	}
	choose_bits(c, opts);
	if (c->is_inherited)
		return 0;
	set_state(c, TAPIR_RING_FREE);
	/*
	 * Words may be set: the last owner died, or an event was registered just while it closed.
	 */
	clear_words(c);
	fill_session(c, opts);
	return 0;
}

/* The child has filled it and knows our tails, which are 0. false: it waited too long. */
static bool open_inherited(struct tapir_ring_control *c)
{
	uint32_t inherited = TAPIR_RING_INHERITED;

	return __atomic_compare_exchange_n(&session_of(c)->state, &inherited, TAPIR_RING_OPEN,
					   false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void tapir_ring_control__open(struct tapir_ring_control *c, void (*fill)(void *ctx), void *ctx)
{
	if (c->is_inherited && open_inherited(c))
		return;
	c->is_inherited = false;
	set_state(c, TAPIR_RING_OPENING);
	fill(ctx);
	set_state(c, TAPIR_RING_OPEN);
	fill(ctx);
	__atomic_fetch_add(&c->map->epoch, 1, __ATOMIC_SEQ_CST);
}

/* An entry that has changed hands since we read it has another generation. */
void tapir_ring_control__want(struct tapir_ring_control *c, uint32_t event, uint32_t generation,
			      bool on, bool has_stack)
{
	uint64_t *word = &c->map->words[event], all = TAPIR_RING_SESSION_BITS(c->session);
	uint64_t seen = __atomic_load_n(word, __ATOMIC_SEQ_CST), wanted;
	uint64_t stack = has_stack ? 0 : 1ull << (TAPIR_RING_STACK_SHIFT + c->session);

	/* Bounded: a hostile process may write there for ever. */
	for (unsigned i = 0; i < WANT_TRIES; i++) {
		wanted = (seen & ~all) | (on ? c->bits & ~stack : 0);
		if (seen >> TAPIR_RING_GENERATION_SHIFT != generation || wanted == seen ||
		    __atomic_compare_exchange_n(word, &seen, wanted, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return;
	}
}

void tapir_ring_control__drop(struct tapir_ring_control *c, const char *provider)
{
	struct tapir_ring_selection *all = c->map->selections[c->session];

	for (unsigned i = 0; i < TAPIR_RING_SELECTIONS; i++)
		if (!strncmp(all[i].provider, provider, sizeof(all[i].provider)))
			__atomic_store_n(&all[i].used, 0, __ATOMIC_SEQ_CST);
}

void tapir_ring_control__want_nothing(struct tapir_ring_control *c)
{
	if (c->map)
		clear_words(c);
}

void tapir_ring_control__set_has_probes(struct tapir_ring_control *c, bool has)
{
	if (has)
		__atomic_fetch_or(&session_of(c)->flags, TAPIR_RING_HAS_PROBES, __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_and(&session_of(c)->flags, ~TAPIR_RING_HAS_PROBES, __ATOMIC_SEQ_CST);
}

void tapir_ring_control__announce(struct tapir_ring_control *c)
{
	c->announced = __atomic_add_fetch(&c->map->generation, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &c->map->generation, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool tapir_ring_control__has_follower(const struct tapir_ring_control *c)
{
	return __atomic_load_n(&c->map->flags, __ATOMIC_ACQUIRE) & TAPIR_RING_CTL_FOLLOWS;
}

bool tapir_ring_control__is_applied(const struct tapir_ring_control *c)
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

uint32_t tapir_ring_control__unserved_cnt(const struct tapir_ring_control *c)
{
	return __atomic_load_n(&c->map->unserved_cnt, __ATOMIC_RELAXED);
}

void tapir_ring_control__set_tail(struct tapir_ring_control *c, uint32_t slot, uint64_t tail)
{
	__atomic_store_n(&c->map->tails[slot][c->session], tail, __ATOMIC_RELEASE);
}

void tapir_ring_control__beat(struct tapir_ring_control *c)
{
	__atomic_fetch_add(&session_of(c)->beat, 1, __ATOMIC_RELAXED);
}

void tapir_ring_control__drained(struct tapir_ring_control *c)
{
	__atomic_fetch_add(&session_of(c)->drains, 1, __ATOMIC_RELEASE);
}

bool tapir_ring_control__is_for_us(int fd, uint64_t session_id)
{
	struct tapir_ring_session all[TAPIR_RING_SESSIONS];

	if (pread(fd, all, sizeof(all), offsetof(struct tapir_ring_ctl, sessions)) !=
	    (ssize_t)sizeof(all))
		return false;
	for (unsigned s = 0; s < TAPIR_RING_SESSIONS; s++)
		if (is_inherited(&all[s], session_id))
			return true;
	return false;
}

uint64_t tapir_ring_control__child_fired(const struct tapir_ring_control *c)
{
	return __atomic_load_n(&c->map->child_fired[c->session], __ATOMIC_RELAXED);
}

unsigned tapir_ring_control__children(struct tapir_ring_control *c, uint32_t *pids, unsigned max)
{
	uint64_t cnt = __atomic_load_n(&c->map->child_cnt, __ATOMIC_ACQUIRE);
	uint64_t from =
		cnt - c->child_cnt > TAPIR_RING_CHILDREN ? cnt - TAPIR_RING_CHILDREN : c->child_cnt;
	unsigned n = 0;

	for (; from < cnt && n < max; from++)
		pids[n++] = __atomic_load_n(&c->map->children[from % TAPIR_RING_CHILDREN],
					    __ATOMIC_RELAXED);
	c->child_cnt = from;
	return n;
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
	lock_session(c->fd, c->session, F_UNLCK);
	munmap(c->map, sizeof(*c->map));
	c->map = NULL;
}
