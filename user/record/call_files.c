// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A word says which table is added to: the programs read it once each time they run. When it has
 * changed, those that still have the old value are in a read-side section of RCU, whose end
 * membarrier(2) waits for.
 */
#include "record/call_files.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "decode/net_text.h"
#include "trace/recbuf.h"

#define AT_ONCE	  256u /* rows */
#define PERIOD_NS TAPIR_NS_PER_SEC
#define SHARE	  50u /* of the time, reading takes at most one part */
#define GRACE_NS  50000000

struct tapir_call_files {
	struct tapir_call_file_tables tables;
	tapir_call_files_fn fn;
	void *ctx;
	uint64_t last_ns, next_ns;
	struct tapir_call_file_key keys[AT_ONCE];
	struct tapir_call_file_count counts[AT_ONCE];
	struct tapir_call_file_name name;
	struct tapir_str text;
	bool has_warned;
	union tapir_call_file_rec out;
};

/* ---- names ---------------------------------------------------------------------------------- */

static void add_protocol(struct tapir_str *out, unsigned protocol)
{
	switch (protocol) {
	case IPPROTO_TCP:
	case IPPROTO_MPTCP:
		tapir_str__adds(out, "tcp");
		return;
	case IPPROTO_UDP:
		tapir_str__adds(out, "udp");
		return;
	default:
		tapir_str__addf(out, "ip %u", protocol);
	}
}

static void add_ends(struct tapir_str *out, const struct tapir_call_file_name *name)
{
	static const uint8_t v4_none[16] = {[10] = 0xff, [11] = 0xff}, none[16];
	const struct tapir_socket_ends *ends = &name->ends;

	add_protocol(out, name->protocol);
	tapir_str__addc(out, ' ');
	tapir_net__add_address(out, ends->local, ends->local_port);
	if (!ends->peer_port &&
	    (!memcmp(ends->peer, none, sizeof(none)) || !memcmp(ends->peer, v4_none, sizeof(none))))
		return;
	tapir_str__adds(out, " to ");
	tapir_net__add_address(out, ends->peer, ends->peer_port);
}

static struct tapir_sv path_of(const struct tapir_call_file_name *name)
{
	size_t len = name->path_len < sizeof(name->path) ? name->path_len : sizeof(name->path);

	return (struct tapir_sv){name->path, strnlen(name->path, len)};
}

static void add_socket(struct tapir_str *out, const struct tapir_call_file_id *id,
		       const struct tapir_call_file_name *name)
{
	struct tapir_sv path = path_of(name);

	if (name->family == AF_INET || name->family == AF_INET6)
		add_ends(out, name);
	else if (name->family == AF_UNIX && path.len)
		tapir_str__addf(out, "unix %.*s", (int)path.len, path.data);
	else
		tapir_str__addf(out, "%s socket:[%llu]",
				name->family == AF_UNIX	     ? "unix"
				: name->family == AF_NETLINK ? "netlink"
							     : "other",
				(unsigned long long)id->inode);
}

static void add_path(struct tapir_str *out, const struct tapir_call_file_name *name,
		     struct tapir_sv path)
{
	if (name->flags & TAPIR_CALL_FILE_PATH_CUT)
		tapir_str__adds(out, "...");
	else if (*path.data == '[')
		tapir_str__adds(out, "anon_inode:");
	tapir_str__add(out, path.data, path.len);
	if (*path.data == '/' && name->flags & TAPIR_CALL_FILE_DELETED)
		tapir_str__adds(out, " (deleted)");
}

void tapir_call_file__add_name(struct tapir_str *out, const struct tapir_call_file_id *id,
			       const struct tapir_call_file_name *name)
{
	struct tapir_sv path = path_of(name);

	if (name->flags & TAPIR_CALL_FILE_IS_PATH)
		tapir_str__addf(out, "%.*s%s", (int)path.len, path.data,
				name->flags & TAPIR_CALL_FILE_PATH_CUT ? "..." : "");
	else if (S_ISSOCK(name->mode))
		add_socket(out, id, name);
	else if (path.len)
		add_path(out, name, path);
	else if (S_ISFIFO(name->mode))
		tapir_str__addf(out, "pipe:[%llu]", (unsigned long long)id->inode);
	else if (S_ISDIR(name->mode))
		tapir_str__addc(out, '/');
}

/* ---- records -------------------------------------------------------------------------------- */

bool tapir_call_file__fill(union tapir_call_file_rec *out, const struct tapir_call_file_key *key,
			   const struct tapir_call_file_count *count, const struct tapir_str *name)
{
	struct tapir_rec_calls *rec = &out->rec;
	struct tapir_call_step *steps = (struct tapir_call_step *)(rec + 1);
	size_t len =
		name->len < TAPIR_CALL_FILE_NAME_BYTES ? name->len : TAPIR_CALL_FILE_NAME_BYTES;
	bool is_path = key->file.dev == TAPIR_CALL_PATH_DEV;
	size_t bytes;

	memset(out, 0, sizeof(*out));
	*rec = (struct tapir_rec_calls){.tgid = key->tgid,
					.nr = key->nr,
					.err = key->err,
					.kind = is_path ? TAPIR_CALLS_OF_PATH : TAPIR_CALLS_OF_FILE,
					.inode = is_path ? 0 : key->file.inode,
					.dev = is_path ? 0 : key->file.dev,
					.sum_ns = count->sum_ns,
					.max_ns = count->max_ns,
					.text_len = (uint16_t)len};
	for (uint32_t i = 0; i < TAPIR_CALL_STEPS; i++) {
		if (!count->steps[i])
			continue;
		steps[rec->step_cnt++] = (struct tapir_call_step){i, count->steps[i]};
		rec->cnt += count->steps[i];
	}
	if (len)
		memcpy(steps + rec->step_cnt, name->data, len);
	bytes = sizeof(*rec) + rec->step_cnt * sizeof(*steps) + len;
	tapir_rec__init(&rec->h, TAPIR_REC_CALLS, (uint32_t)((bytes + 7) & ~(size_t)7), 0);
	return rec->cnt > 0;
}

/*
 * If the kernel has forgotten the name, or memory is short for it, the file has its numbers
 * without one.
 */
static void write_row(struct tapir_call_files *f, const struct tapir_call_file_key *key,
		      const struct tapir_call_file_count *count, uint64_t now_ns)
{
	struct tapir_rec_calls *rec = &f->out.rec;

	tapir_str__clear(&f->text);
	if (!bpf_map_lookup_elem(f->tables.names_fd, &key->file, &f->name))
		tapir_call_file__add_name(&f->text, &key->file, &f->name);
	if (f->text.failed)
		tapir_str__clear(&f->text);
	if (!tapir_call_file__fill(&f->out, key, count, &f->text))
		return;
	if (rec->dev == f->tables.anonymous_dev)
		rec->inode = 0;
	rec->since_ns = f->last_ns < now_ns ? f->last_ns : now_ns;
	rec->h.time_ns = now_ns;
	f->fn(f->ctx, &rec->h);
}

/* Reads and empties a table that is not added to. 0 or -errno. */
static int take_rows(struct tapir_call_files *f, int fd, uint64_t now_ns)
{
	uint64_t position = 0; /* of the kernel: at least 4 bytes, or a key's */
	bool is_first = true;

	for (;;) {
		uint32_t cnt = AT_ONCE;
		int err = bpf_map_lookup_and_delete_batch(fd, is_first ? NULL : &position,
							  &position, f->keys, f->counts, &cnt, NULL)
				  ? -errno
				  : 0;

		if (err && err != -ENOENT)
			return err;
		for (size_t i = 0; i < cnt; i++)
			write_row(f, &f->keys[i], &f->counts[i], now_ns);
		if (err)
			return 0;
		is_first = false;
	}
}

static void wait_for_programs(void)
{
	const struct timespec grace = {.tv_nsec = GRACE_NS};

	/* A kernel with nohz_full has no barrier for all. */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		nanosleep(&grace, NULL);
}

void tapir_call_files__poll(struct tapir_call_files *f, uint64_t now_ns, bool must)
{
	uint32_t turn;
	uint64_t took_ns, begin_ns;
	int err;

	if (!f || (!must && now_ns < f->next_ns))
		return;
	begin_ns = tapir_clock__now_ns();
	turn = *f->tables.turn;
	*f->tables.turn = !turn;
	wait_for_programs();
	err = take_rows(f, f->tables.counts_fds[turn & 1], now_ns);
	took_ns = tapir_clock__now_ns() - begin_ns;
	if (err && !f->has_warned)
		tapir_warn("cannot read the numbers of system calls by file: %s",
			   tapir_errno__text(err));
	f->has_warned |= err != 0;
	f->last_ns = now_ns;
	f->next_ns = now_ns + (took_ns * SHARE > PERIOD_NS ? took_ns * SHARE : PERIOD_NS);
}

/* ---- lifecycle ------------------------------------------------------------------------------ */

struct tapir_call_files *tapir_call_files__new(const struct tapir_call_file_tables *tables,
					       tapir_call_files_fn fn, void *ctx)
{
	struct tapir_call_files *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->tables = *tables;
	f->fn = fn;
	f->ctx = ctx;
	f->last_ns = tapir_clock__now_ns();
	f->next_ns = f->last_ns + PERIOD_NS;
	return f;
}

void tapir_call_files__free(struct tapir_call_files *f)
{
	if (!f)
		return;
	tapir_str__fini(&f->text);
	free(f);
}
