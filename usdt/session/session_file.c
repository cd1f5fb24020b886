/* SPDX-License-Identifier: MIT */
/*
 * session_file.c - a session whose events go into a file: a polled listener, and a thread that
 * polls it and writes the file. Its signals are blocked, so that a limit of size is an error of
 * write(2). A segment names everything it uses: what is described is described again in the next.
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "../ring/ring_sys.h"
#include "session_impl.h"

#define STACK_BYTES   (256ul * 1024)
#define BUFFER_BYTES  (1u << 20)
#define POLL_NS	      10000000
#define FLUSH_NS      1000000000ull
#define FLUSH_BYTES   (256u * 1024u)
#define SEGMENT_NS    TAPIR_SEGMENT_MAX_NS
#define SEGMENT_BYTES (8u << 20)

struct tapir_session {
	struct tapir_listener *listener;
	struct session_file file;
	pthread_t thread;
	pid_t pid;
	uint32_t is_stopping;
	int result; /* once the thread has ended */
	uint64_t flushed_ns, segment_ns, segment_from, reported_lost;
	uint8_t *kinds; /* by idx, 1: described in this segment */
	size_t kind_room, tid_cnt, tid_room;
	uint32_t *tids;
};

static size_t round8(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

/* ---- descriptions ----------------------------------------------------------------------------- */

static void read_comm(uint32_t tid, char comm[TAPIR_COMM_BYTES])
{
	char path[64];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%u/comm", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd >= 0 ? read(fd, comm, TAPIR_COMM_BYTES - 1) : 0;
	if (fd >= 0)
		close(fd);
	comm[len > 0 ? len : 0] = '\0';
	if (len > 0 && comm[len - 1] == '\n')
		comm[len - 1] = '\0';
}

static void describe_process(struct tapir_session *s, uint64_t time_ns)
{
	struct tapir_rec_process *p;
	struct tapir_rec_clock *clock;
	char comm[TAPIR_COMM_BYTES], exe[PATH_MAX];
	ssize_t exe_len = readlink("/proc/self/exe", exe, sizeof(exe));
	size_t comm_len;

	exe_len = exe_len > 0 ? exe_len : 0;
	read_comm((uint32_t)s->pid, comm);
	comm_len = strlen(comm);
	/*
	 * Read one after the other, and without a system call in between: what passes from the
	 * first to the last is the error of all times that are converted.
	 */
	clock = session_file__put(&s->file, 1, TAPIR_REC_CLOCK, sizeof(*clock), time_ns);
	if (clock) {
		clock->h.time_ns = session_clock_ns(CLOCK_MONOTONIC);
		clock->utc_ns = session_clock_ns(CLOCK_REALTIME);
		clock->boot_ns = session_clock_ns(CLOCK_BOOTTIME);
	}
	p = session_file__put(&s->file, 1, TAPIR_REC_PROCESS,
			      round8(sizeof(*p) + comm_len + (size_t)exe_len), time_ns);
	if (!p)
		return;
	p->tgid = p->ns_tgid = (uint32_t)s->pid;
	p->parent_tgid = (uint32_t)getppid();
	p->uid = (uint32_t)getuid();
	p->comm_len = (uint16_t)comm_len;
	p->exe_len = (uint16_t)exe_len;
	memcpy(p + 1, comm, comm_len);
	memcpy((char *)(p + 1) + comm_len, exe, (size_t)exe_len);
}

static void begin_segment(struct tapir_session *s, uint64_t time_ns)
{
	session_file__begin_segment(&s->file);
	if (s->kinds)
		memset(s->kinds, 0, s->kind_room);
	s->tid_cnt = 0;
	s->segment_ns = time_ns;
	s->segment_from = s->file.written;
	describe_process(s, time_ns);
}

static int is_thread_known(const struct tapir_session *s, uint32_t tid)
{
	for (size_t i = s->tid_cnt; i; i--)
		if (s->tids[i - 1] == tid)
			return 1;
	return 0;
}

static void describe_thread(struct tapir_session *s, uint32_t tid, uint64_t time_ns)
{
	struct tapir_rec_thread *t;

	if (is_thread_known(s, tid))
		return;
	if (!provider_make_room((void **)&s->tids, &s->tid_room, s->tid_cnt + 1, sizeof(*s->tids),
				64))
		return;
	t = session_file__put(&s->file, 1, TAPIR_REC_THREAD, sizeof(*t), time_ns);
	if (!t)
		return;
	t->tgid = t->ns_tgid = (uint32_t)s->pid;
	t->tid = t->ns_tid = tid;
	read_comm(tid, t->comm);
	read_comm((uint32_t)s->pid, t->leader_comm);
	s->tids[s->tid_cnt++] = tid;
}

static void put_probe(struct tapir_session *s, const struct tapir_event_kind *kind,
		      uint64_t time_ns)
{
	const struct tapir_event_about *about = kind->about;
	size_t provider = strlen(kind->provider), event = strlen(about->name);
	struct tapir_rec_probe *p = session_file__put(
		&s->file, 1, TAPIR_REC_PROBE, round8(sizeof(*p) + provider + event), time_ns);

	if (!p)
		return;
	p->probe_id = kind->idx + 1;
	p->event_id = about->id;
	p->version = about->version;
	p->level = about->level;
	p->keywords = about->keywords;
	p->encoding = TAPIR_ENCODING_PACKED;
	p->lane = TAPIR_LANE_RING;
	p->provider_len = (uint16_t)provider;
	p->event_len = (uint16_t)event;
	memcpy(p + 1, kind->provider, provider);
	memcpy((char *)(p + 1) + provider, about->name, event);
}

static void put_metadata(struct tapir_session *s, const struct tapir_event_kind *kind,
			 uint64_t time_ns)
{
	struct tapir_rec_metadata *m;
	uint32_t bytes;
	void *blob;

	if (provider_metadata__make(kind->about, &blob, &bytes))
		return;
	m = session_file__put(&s->file, 1, TAPIR_REC_METADATA, round8(sizeof(*m) + bytes), time_ns);
	if (m) {
		m->probe_id = kind->idx + 1;
		m->format = 2;
		m->blob_bytes = bytes;
		memcpy(m + 1, blob, bytes);
	}
	free(blob);
}

static void describe_kind(struct tapir_session *s, const struct tapir_event_kind *kind,
			  uint64_t time_ns)
{
	const size_t before = s->kind_room;

	if (!provider_make_room((void **)&s->kinds, &s->kind_room, kind->idx + 1, 1, 256))
		return;
	memset(s->kinds + before, 0, s->kind_room - before);
	if (s->kinds[kind->idx])
		return;
	s->kinds[kind->idx] = 1;
	put_probe(s, kind, time_ns);
	put_metadata(s, kind, time_ns);
}

/* ---- events ----------------------------------------------------------------------------------- */

static uint8_t *put_id(uint8_t *at, const uint8_t *id)
{
	return id ? (uint8_t *)memcpy(at, id, 16) + 16 : at;
}

/*
 * A segment begins with what its ids mean: it can be read alone when the file is cut or damaged
 * elsewhere.
 */
static void put_event(const struct tapir_event_record *r, void *ctx)
{
	struct tapir_session *s = ctx;
	size_t bytes = sizeof(struct tapir_rec_event) + (r->activity ? 16 : 0) +
		       (r->related ? 16 : 0) + r->payload_bytes;
	struct tapir_rec_event *e;
	uint8_t *at;

	if (!s->segment_ns || s->file.written - s->segment_from > SEGMENT_BYTES ||
	    (r->time_ns > s->segment_ns && r->time_ns - s->segment_ns > SEGMENT_NS))
		begin_segment(s, r->time_ns);
	describe_kind(s, r->kind, r->time_ns);
	describe_thread(s, r->tid, r->time_ns);
	e = session_file__put(&s->file, 0, TAPIR_REC_EVENT, round8(bytes), r->time_ns);
	if (!e)
		return;
	e->probe_id = r->kind->idx + 1;
	e->tgid = (uint32_t)s->pid;
	e->tid = r->tid;
	e->lane = TAPIR_LANE_RING;
	e->flags = (uint16_t)((r->activity ? TAPIR_EVENT_ACTIVITY : 0) |
			      (r->related ? TAPIR_EVENT_RELATED : 0));
	e->payload_bytes = r->payload_bytes;
	at = put_id(put_id((uint8_t *)(e + 1), r->activity), r->related);
	if (r->payload_bytes)
		memcpy(at, r->payload, r->payload_bytes);
}

static struct tapir_rec_loss loss_of(const struct tapir_session *s, uint32_t cause, uint64_t cnt)
{
	uint64_t time_ns = session_clock_ns(CLOCK_MONOTONIC);

	return (struct tapir_rec_loss){.h = {.type = TAPIR_REC_LOSS,
					     .cpu = TAPIR_CPU_UNKNOWN,
					     .size = sizeof(struct tapir_rec_loss),
					     .time_ns = time_ns},
				       .cause = cause,
				       .count = cnt,
				       .from_ns = s->flushed_ns,
				       .until_ns = time_ns};
}

static void put_loss(struct tapir_session *s)
{
	const uint64_t lost = tapir_listener__lost(s->listener, NULL);
	const struct tapir_rec_loss loss =
		loss_of(s, TAPIR_LOSS_RING_LANE_DROP, lost - s->reported_lost);
	void *rec = loss.count ? session_file__put(&s->file, 0, TAPIR_REC_LOSS, sizeof(loss),
						   loss.h.time_ns)
			       : NULL;

	if (!rec)
		return;
	memcpy(rec, &loss, sizeof(loss));
	s->reported_lost = lost;
}

static void flush_if_due(struct tapir_session *s)
{
	uint64_t time_ns = session_clock_ns(CLOCK_MONOTONIC);

	if (time_ns - s->flushed_ns < FLUSH_NS && s->file.records.used < FLUSH_BYTES)
		return;
	put_loss(s);
	session_file__flush(&s->file);
	s->flushed_ns = time_ns;
}

/* ---- the session ------------------------------------------------------------------------------ */

static void *run_session(void *arg)
{
	const struct timespec step = {.tv_nsec = POLL_NS};
	struct tapir_session *s = arg;
	struct tapir_rec_loss lost[2];

	ring_sys4(SYS_prctl, PR_SET_NAME, "tapir-session", 0, 0);
	while (!prov_load_acquire(&s->is_stopping)) {
		tapir_listener__poll(s->listener);
		flush_if_due(s);
		ring_sys4(SYS_futex, &s->is_stopping, FUTEX_WAIT_PRIVATE, 0, &step);
	}
	tapir_listener__poll(s->listener);
	lost[0] = loss_of(s, TAPIR_LOSS_RING_LANE_DROP,
			  tapir_listener__lost(s->listener, NULL) - s->reported_lost);
	tapir_listener__close(s->listener); /* delivers what a thread was slow to finish */
	session_file__flush(&s->file);
	lost[1] = loss_of(s, TAPIR_LOSS_DISK, s->file.unwritten);
	s->result = session_file__close(&s->file, lost, 2);
	return NULL;
}

static void free_session(struct tapir_session *s)
{
	free(s->kinds);
	free(s->tids);
	free(s);
}

static int open_all(struct tapir_session *s, const char *path,
		    const struct tapir_selection *selections, uint32_t cnt,
		    const struct tapir_session_opts *opts)
{
	const struct tapir_listener_opts polled = {
		.size = sizeof(polled),
		.buffer_bytes = opts && opts->buffer_bytes ? opts->buffer_bytes : BUFFER_BYTES,
		.flags = TAPIR_LISTENER_POLLED};
	int err = session_file__open(&s->file, path, opts ? opts->max_bytes : 0);

	if (err)
		return err;
	s->flushed_ns = session_clock_ns(CLOCK_MONOTONIC);
	err = tapir_listener__open(selections, cnt, put_event, s, &polled, &s->listener);
	if (!err) {
		err = provider_thread__start(&s->thread, STACK_BYTES, NULL, run_session, s);
		if (err)
			tapir_listener__close(s->listener);
	}
	if (err) {
		session_file__close(&s->file, NULL, 0);
		unlink(path);
	}
	return err;
}

int tapir_session__to_file(const char *path, const struct tapir_selection *selections, uint32_t cnt,
			   const struct tapir_session_opts *opts, struct tapir_session **out)
{
	int saved = errno, err;
	struct tapir_session *s;

	if (!path || !out || (opts && opts->size < sizeof(*opts)))
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	err = s ? 0 : -ENOMEM;
	if (!err) {
		s->pid = getpid();
		err = open_all(s, path, selections, cnt, opts);
	}
	if (err && s)
		free_session(s);
	if (!err)
		*out = s;
	errno = saved;
	return err;
}

int tapir_session__close(struct tapir_session *session)
{
	int saved = errno, err;

	if (!session)
		return 0;
	if (session->pid == getpid()) {
		prov_store_release(&session->is_stopping, 1);
		ring_sys4(SYS_futex, &session->is_stopping, FUTEX_WAKE_PRIVATE, INT_MAX, 0);
		pthread_join(session->thread, NULL);
		err = session->result;
	} else {
		tapir_listener__close(session->listener);
		err = session_file__close(&session->file, NULL, 0);
	}
	free_session(session);
	errno = saved;
	return err;
}
