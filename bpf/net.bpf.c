// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * net.bpf.c - requests and their answers on TCP connections (EXCHANGE), by the direction of the
 * bytes alone: nothing of them is read, so encrypted ones count as well.
 *
 *   sock_send_length, sock_recv_length  a thread has sent or received, in its own context
 *   inet_sock_set_state                 a connection is made, and ends; often in an interrupt
 *   an iterator over open files         which requests have no answer when the recording ends
 *
 * On a connection that the process opened, what is sent is a request and what is received its
 * answer; on an accepted one the reverse. The time is from a request's last byte to the answer's
 * first. The sequence numbers of the socket show whether a request is not answered yet: a thread
 * may receive an answer before the one that sent the request comes here.
 */
#include "bpf/common.bpf.h"
#include "bpf/io_logic.bpf.h"
#include "bpf/sent.bpf.h"
#include "bpf/socket_ends.bpf.h"
#include "bpf/wanted.bpf.h"

/* Records per second and CPU; the rest is counted. Set before load. */
const volatile __u64 net_rate_limit = 20000;

#define TCP_SYN_SENT 2
#define TCP_CLOSE    7
#define MSG_PEEK     2
/* Parts of a request that are further apart may be two requests. */
#define APART_NS     1000000ull

struct connection {
	__u64 id;
	__u64 ask_ns; /* when the last part of the request passed; 0: none is open */
	__u64 nr;     /* exchanges so far */
	__u64 sent_bytes;
	__u64 received_bytes;
	__u32 answered_seq; /* of what asks: up to where it is answered */
	__u32 sent_seq;	    /* where those bytes begin */
	__u32 received_seq;
	__u32 tgid; /* who used it last */
	__u32 tid;
	__u32 ask_tid;
	__u8 is_opened;
	__u8 has_seq;
	__u8 overlaps; /* of the open exchange */
	__u8 pad0[1];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct connection);
} connections SEC(".maps");

struct net_scratch {
	struct sender sender;
	struct tapir_rec_thread thread;
	struct tapir_rec_exchange rec;
	struct tapir_io_rate rate;
};

enum net_user { BY_SEND, BY_RECEIVE, BY_STATE, BY_END, NET_USERS };

/* A program of its kind interrupts none: the kernel skips it. So each has a place of its own. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NET_USERS);
	__type(key, __u32);
	__type(value, struct net_scratch);
} net_scratches SEC(".maps");

/*
 * Returns true if more bytes passed than were seen, by the sequence numbers; the end of a direction
 * counts as one. Where several threads share a connection, some may be on their way here.
 */
static __always_inline int has_unseen(const struct connection *c, const struct tcp_sock *tp)
{
	__u32 sent = BPF_CORE_READ(tp, write_seq) - c->sent_seq - (__u32)c->sent_bytes;
	__u32 received = BPF_CORE_READ(tp, copied_seq) - c->received_seq - (__u32)c->received_bytes;

	return c->has_seq && !c->overlaps && (sent > 1 || received > 1);
}

/*
 * Sends the EXCHANGE that the connection holds. kind: enum tapir_exchange_kind, and
 * TAPIR_EXCHANGE_* flags above its 8 bits. user chooses the scratch, since an interrupt may come
 * within a call.
 */
static __noinline int send_exchange(struct connection *c, const struct sock *sk, __u32 kind,
				    enum net_user user)
{
	struct net_scratch *s;
	struct tapir_live *now = tapir_live();
	__u32 key = user;

	s = bpf_map_lookup_elem(&net_scratches, &key);
	if (!s || !now || !c || !sk)
		return 0;
	if (!tapir_io_rate__take(&s->rate, bpf_ktime_get_ns(), net_rate_limit)) {
		tapir_lose(&zero_key, TAPIR_LOSS_EXCHANGE_LIMITED);
		return 0;
	}
	__builtin_memset(&s->rec, 0, sizeof(s->rec));
	s->rec.h.type = TAPIR_REC_EXCHANGE;
	s->rec.h.size = sizeof(s->rec);
	s->rec.h.cpu = bpf_get_smp_processor_id();
	s->rec.h.time_ns = bpf_ktime_get_ns();
	s->rec.tgid = c->tgid;
	s->rec.tid = c->tid;
	s->rec.ask_tid = c->ask_tid;
	s->rec.connection = c->id;
	s->rec.begin_ns = c->ask_ns;
	s->rec.nr = c->nr;
	s->rec.sent_bytes = c->sent_bytes;
	s->rec.received_bytes = c->received_bytes;
	s->rec.retransmits = BPF_CORE_READ((struct tcp_sock *)sk, total_retrans);
	s->rec.kind = kind & 0xff;
	s->rec.flags = kind >> 8;
	s->rec.error = BPF_CORE_READ(sk, sk_err);
	if (c->is_opened)
		s->rec.flags |= TAPIR_EXCHANGE_OPENED;
	if (c->overlaps)
		s->rec.flags |= TAPIR_EXCHANGE_OVERLAPS;
	if (has_unseen(c, (const struct tcp_sock *)sk))
		s->rec.flags |= TAPIR_EXCHANGE_UNSEEN;
	fill_socket_ends((struct tapir_socket_ends *)&s->rec.netns, sk);
	/*
	 * A state may change in an interrupt, and the iterator runs in tapir: the thread that is
	 * current there did not use the connection.
	 */
	if (user < BY_STATE &&
	    tapir_announce(now, &s->sender, &s->thread, bpf_get_current_task_btf(), &s->rec.h))
		tapir_lose(&zero_key, TAPIR_LOSS_THREAD_RING_FULL);
	if (tapir_send(now, &s->sender, &s->rec, sizeof(s->rec)))
		tapir_lose(&zero_key, TAPIR_LOSS_EXCHANGE_RING_FULL);
	return 0;
}

/*
 * Returns true if the process opened a connection that it had before it was seen: bind(2) and so
 * what is accepted leave 0 or 1 here, connect(2) that chooses a port -1.
 */
static __always_inline int was_opened(const struct tcp_sock *tp)
{
	signed char reuse = 0;
	struct inet_bind_bucket *bucket = BPF_CORE_READ(tp, inet_conn.icsk_bind_hash);

	bpf_core_read(&reuse, sizeof(reuse), &bucket->fastreuse);
	return reuse < 0;
}

static __always_inline void see_request(struct connection *c, __u32 seq, __u32 unread, __u32 tid)
{
	__u64 time_ns = bpf_ktime_get_ns();

	if ((__s32)(seq - c->answered_seq) <= 0)
		return; /* another thread has received the answer by now */
	if (c->ask_ns ? time_ns - c->ask_ns > APART_NS || tid != c->ask_tid : unread != 0)
		c->overlaps = 1;
	c->ask_ns = time_ns;
	c->ask_tid = tid;
}

static __always_inline void see_answer(struct connection *c, const struct sock *sk, __u32 seq,
				       enum net_user user)
{
	if (seq == c->answered_seq)
		return; /* more of an answer, or of no request */
	c->answered_seq = seq;
	c->nr++;
	send_exchange(c, sk, TAPIR_EXCHANGE_ANSWERED, user);
	c->ask_ns = 0;
	c->overlaps = 0;
	c->sent_bytes = c->received_bytes = 0;
	c->sent_seq = BPF_CORE_READ((const struct tcp_sock *)sk, write_seq);
	c->received_seq = BPF_CORE_READ((const struct tcp_sock *)sk, copied_seq);
}

static __always_inline int transfer(struct sock *sk, int bytes, enum net_user user)
{
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);
	struct task_struct *task = bpf_get_current_task_btf();
	struct tapir_live *now = tapir_live();
	struct connection *c;
	struct tcp_sock *tp;
	__u32 seq, is_ask;

	if (bytes <= 0 || !f || !now || !now->enabled || !is_traced(f, task))
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	c = bpf_sk_storage_get(&connections, tp, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!c) {
		tapir_lose(&zero_key, TAPIR_LOSS_EXCHANGE_NO_ROOM);
		return 0;
	}
	if (!c->id) {
		c->id = bpf_get_socket_cookie(sk);
		c->is_opened = was_opened(tp);
	}
	/*
	 * The client's requests are what it sends, the server's what it receives; seq is the end of
	 * those bytes, before which everything belongs to this request or to an earlier one.
	 */
	is_ask = (user == BY_SEND) == c->is_opened;
	seq = c->is_opened ? tp->write_seq : tp->copied_seq;
	/*
	 * The kernel has counted these bytes before it comes here; what was there before them
	 * counts as answered, since it was not seen.
	 */
	if (!c->has_seq) {
		c->has_seq = 1;
		c->answered_seq = is_ask ? seq - bytes : seq;
		c->sent_seq = tp->write_seq - (user == BY_SEND ? bytes : 0);
		c->received_seq = tp->copied_seq - (user == BY_RECEIVE ? bytes : 0);
	}
	c->tgid = task->tgid;
	c->tid = task->pid;
	if (user == BY_SEND)
		c->sent_bytes += bytes;
	else
		c->received_bytes += bytes;
	if (is_ask)
		see_request(c, seq, c->is_opened ? tp->rcv_nxt - tp->copied_seq : 0, task->pid);
	else
		see_answer(c, sk, seq, user);
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(tapir_net_send, struct sock *sk, int bytes, int flags)
{
	return transfer(sk, bytes, BY_SEND);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(tapir_net_recv, struct sock *sk, int bytes, int flags)
{
	return flags & MSG_PEEK ? 0 : transfer(sk, bytes, BY_RECEIVE);
}

static __always_inline int begin_connection(struct sock *sk)
{
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);
	struct task_struct *task = bpf_get_current_task_btf();
	struct connection *c;

	if (!f || !is_traced(f, task))
		return 0;
	c = bpf_sk_storage_get(&connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!c) {
		tapir_lose(&zero_key, TAPIR_LOSS_EXCHANGE_NO_ROOM);
		return 0;
	}
	c->id = bpf_get_socket_cookie(sk);
	c->is_opened = 1;
	c->tgid = task->tgid;
	c->tid = task->pid;
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(tapir_net_state, struct sock *sk, int before, int after)
{
	struct tapir_live *now = tapir_live();
	struct connection *c;

	if (!now || !now->enabled)
		return 0;
	if (after == TCP_SYN_SENT)
		return begin_connection(sk);
	if (after != TCP_CLOSE)
		return 0;
	c = bpf_sk_storage_get(&connections, sk, 0, 0);
	if (!c || !c->id)
		return 0;
	send_exchange(c, sk,
		      TAPIR_EXCHANGE_CLOSED |
			      (before == TCP_SYN_SENT ? TAPIR_EXCHANGE_REFUSED << 8 : 0),
		      BY_STATE);
	c->ask_ns = 0;
	return 0;
}

/* Requests that the iterator has sent, by connection: ask_ns. Several files may be one socket. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, __u64);
} net_sent_open SEC(".maps");

/* Storages of one socket, of all programs of the machine. */
#define MAX_STORAGES 16

/*
 * Copies the connection of a socket that the verifier does not trust, as struct socket's since some
 * builds of 6.18 (their BTF has no socket__safe_trusted_or_null): bpf_sk_storage_get refuses it.
 * The list is that of bpf_local_storage (include/linux/bpf_local_storage.h).
 */
static __always_inline int read_connection(const struct sock *sk, struct connection *c)
{
	__u32 map_id = ((struct bpf_map *)&connections)->id;
	struct bpf_local_storage *storage = BPF_CORE_READ(sk, sk_bpf_storage);
	struct hlist_node *node = storage ? BPF_CORE_READ(storage, list.first) : NULL;
	const struct bpf_local_storage_elem *elem;

	for (int i = 0; node && i < MAX_STORAGES; i++) {
		elem = (const void *)node -
		       bpf_core_field_offset(struct bpf_local_storage_elem, snode);
		if (BPF_CORE_READ(elem, sdata.smap, map.id) == map_id)
			return bpf_probe_read_kernel(
				c, sizeof(*c),
				(const void *)elem +
					bpf_core_field_offset(struct bpf_local_storage_elem,
							      sdata) +
					bpf_core_field_offset(struct bpf_local_storage_data, data));
		node = BPF_CORE_READ(node, next);
	}
	return -1;
}

/*
 * The connections are found by the files of all tasks: a socket in any network namespace is one of
 * them, which an iterator over sockets would not show. Some kernels refuse an iterator over the
 * elements of a map (EPERM). Several tasks and descriptors may have a socket.
 */
SEC("iter/task_file")
int tapir_net_open(struct bpf_iter__task_file *ctx)
{
	struct file *file = ctx->file;
	struct connection c;
	struct socket *sock;
	struct sock *sk;
	__u64 *sent_ns;

	sock = file ? bpf_sock_from_file(file) : NULL;
	sk = sock ? BPF_CORE_READ(sock, sk) : NULL;
	if (!sk || read_connection(sk, &c) || !c.ask_ns)
		return 0;
	sent_ns = bpf_map_lookup_elem(&net_sent_open, &c.id);
	if (sent_ns && *sent_ns == c.ask_ns)
		return 0;
	bpf_map_update_elem(&net_sent_open, &c.id, &c.ask_ns, BPF_ANY);
	send_exchange(&c, sk, TAPIR_EXCHANGE_OPEN, BY_END);
	return 0;
}
