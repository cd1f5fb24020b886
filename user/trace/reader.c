// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Segments: descriptions first, then records. Chunks and their damage are chunk.c's.
 *
 * The chunks of a segment are listed before any of them is read, because its descriptions may
 * follow records that need them: a writer flushes the two buffers as they fill.
 */
#include "trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <libdeflate.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/vec.h"
#include "trace/chunk.h"
#include "trace/chunk_ahead.h"
#include "trace/recbuf.h"

/*
 * A writer makes some 200 chunks a segment; one that never ends is taken in parts, so that
 * the list stays small. The catalog keeps what the earlier part described.
 */
#define SEGMENT_CHUNKS_MAX 4096

/* The number of descriptions that are read before what is known of one is there. */
#define DESCRIPTIONS_FAR   8
#define DESCRIPTIONS_NEAR  4

#define AHEAD_MIN_BYTES	   (16u << 20) /* smaller files are read before a thread has begun */

enum stage { STAGE_DESCRIPTIONS, STAGE_RECORDS };

struct tapir_reader {
	int fd;
	bool deliver_descriptions, leaves_descriptions, saw_end, has_pending;
	uint64_t part_cnt, counted_part; /* of segments, listed; of which damage is counted */
	int (*on_part)(void *ctx);
	void *part_ctx;
	struct tapir_chunk_walk walk;
	struct tapir_chunk_ref pending; /* the first chunk of the segment after this one */
	struct tapir_vec(struct tapir_chunk_ref) refs; /* of this segment */
	enum stage stage;
	size_t ref_idx, order_idx; /* next chunk, next record in the loaded one */
	uint32_t next_seq;
	uint64_t chunks_end; /* where the last one that was found ends */
	struct tapir_chunk chunk;
	struct tapir_chunk_ahead *ahead; /* NULL: a small file, or there is no thread */
	bool was_ahead_tried;
	struct tapir_catalog *catalog;
	const struct tapir_rec *(*complete)(struct tapir_recbuf *buf, const struct tapir_rec *rec);
	struct tapir_recbuf completed;
	struct tapir_reader_stage between;
	struct tapir_reader_stats stats;
};

/* ---- opening --------------------------------------------------------------------------------- */

static int not_a_recording(const char *path)
{
	return tapir_diag__fail(-EINVAL, "%s is not a .tapir recording", path);
}

/* The first bytes decide, before an endless device fills the disk. */
static bool may_be_recording(int file, size_t len)
{
	uint64_t magic;

	return len < sizeof(magic) || (pread(file, &magic, sizeof(magic), 0) == sizeof(magic) &&
				       magic == TAPIR_FILE_MAGIC);
}

/* Copies a pipe to a file without a name; *fd becomes that file. */
static int spool(int *fd, const char *path)
{
	const char *dir = getenv("TMPDIR");
	tapir_autofd int file = tapir_file__temporary();
	tapir_autofree char *block = malloc(1 << 16);
	bool is_checked = false;
	size_t len = 0;
	int err = 0;

	if (!block)
		return -ENOMEM;
	if (file < 0)
		return tapir_diag__fail(file,
					"cannot create a temporary file in %s for the pipe: %s",
					dir && *dir ? dir : "/tmp", tapir_errno__text(-file));
	while (!err) {
		ssize_t n = read(*fd, block, 1 << 16);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			err = n < 0 ? -errno : 0;
			break;
		}
		err = tapir_file__write_all(file, block, (size_t)n);
		len += (size_t)n;
		/*
		 * Judged by the first bytes: an endless pipe that is no recording would fill the
		 * disk.
		 */
		if (!err && !is_checked && !may_be_recording(file, len))
			return not_a_recording(path);
		is_checked = len >= sizeof(uint64_t);
	}
	if (err)
		return tapir_diag__fail(err, "cannot copy the pipe to a temporary file: %s",
					tapir_errno__text(err));
	close(*fd);
	*fd = file;
	file = -1;
	return 0;
}

/* fd: what to read instead of path; -1: path. */
static int open_input(struct tapir_reader *r, int fd, const char *path)
{
	struct stat st;
	int err = 0;

	fd = !strcmp(path, "-") ? STDIN_FILENO : fd;
	r->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3)
			: open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (r->fd < 0 || fstat(r->fd, &st))
		return tapir_diag__fail(-errno, "cannot open %s: %s", path,
					tapir_errno__text(errno));
	if (S_ISDIR(st.st_mode))
		return tapir_diag__fail(-EISDIR, "%s is a directory, not a recording", path);
	if (S_ISREG(st.st_mode) && !st.st_size)
		return tapir_diag__fail(-EINVAL, "%s is empty, not a recording", path);
	if (!S_ISREG(st.st_mode))
		err = spool(&r->fd, path);
	if (!err && fstat(r->fd, &st))
		err = -errno;
	r->stats.file_bytes = err ? 0 : (uint64_t)st.st_size;
	return err;
}

/* The file header: a file with another magic or version is not read at all. */
static int read_file_header(struct tapir_reader *r, const char *path)
{
	struct tapir_file_header h = {}, copy;
	ssize_t n = pread(r->fd, &h, sizeof(h), 0);

	if (n < 0)
		return tapir_diag__fail(-errno, "cannot read %s: %s", path,
					tapir_errno__text(errno));
	if (n < (ssize_t)sizeof(h) || h.magic != TAPIR_FILE_MAGIC)
		return not_a_recording(path);
	copy = h;
	copy.crc = 0;
	r->chunks_end = sizeof(h);
	r->walk = (struct tapir_chunk_walk){
		.fd = r->fd, .off = sizeof(h), .file_bytes = r->stats.file_bytes};
	if (libdeflate_crc32(0, &copy, sizeof(copy)) != h.crc)
		return 0; /* damaged: the chunks carry CRCs of their own */
	if (h.version != TAPIR_FILE_VERSION)
		return tapir_diag__fail(
			-EPROTONOSUPPORT,
			"%s has format version %u, this tapir reads version %u only", path,
			h.version, TAPIR_FILE_VERSION);
	if (h.header_bytes > sizeof(h))
		r->walk.off = r->chunks_end = h.header_bytes;
	r->stats.created_utc_ns = h.created_utc_ns;
	r->stats.created_ns = h.created_ns;
	return 0;
}

static int open_reader(int fd, const char *path, struct tapir_reader **out)
{
	struct tapir_reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->fd = -1;
	r->stats.is_truncated = true;
	r->stage = STAGE_RECORDS;
	r->catalog = tapir_catalog__new(TAPIR_CATALOG_READ, NULL);
	err = r->catalog ? open_input(r, fd, path) : -ENOMEM;
	if (!err)
		err = read_file_header(r, path);
	if (err) {
		tapir_reader__close(r);
		return err;
	}
	*out = r;
	return 0;
}

int tapir_reader__open(const char *path, struct tapir_reader **out)
{
	return open_reader(-1, path, out);
}

int tapir_reader__open_fd(int fd, const char *name, struct tapir_reader **out)
{
	return open_reader(fd, name, out);
}

int tapir_reader__open_again(const struct tapir_reader *r, struct tapir_reader **out)
{
	return open_reader(r->fd, "the recording", out);
}

void tapir_reader__close(struct tapir_reader *r)
{
	if (!r)
		return;
	tapir_chunk_ahead__stop(r->ahead);
	if (r->fd >= 0)
		close(r->fd);
	tapir_chunk__fini(&r->chunk);
	tapir_vec__fini(&r->refs);
	tapir_catalog__free(r->catalog);
	tapir_recbuf__fini(&r->completed);
	free(r);
}

void tapir_reader__deliver_descriptions(struct tapir_reader *r, bool on)
{
	r->deliver_descriptions = on;
}

void tapir_reader__leave_descriptions(struct tapir_reader *r, int (*on_part)(void *ctx), void *ctx)
{
	r->leaves_descriptions = true;
	r->on_part = on_part;
	r->part_ctx = ctx;
}

/* ---- segments ---------------------------------------------------------------------------------
 */

/* Counts what its header shows to be missing. A sequence number that goes back shows nothing. */
static void account(struct tapir_reader *r, const struct tapir_chunk_ref *ref)
{
	if (ref->h.seq > r->next_seq)
		r->stats.missing_chunks += ref->h.seq - r->next_seq;
	r->next_seq = ref->h.seq + 1;
	r->chunks_end = ref->off + sizeof(ref->h) + ref->h.stored_bytes;
	if (ref->h.type == TAPIR_CHUNK_END) {
		r->saw_end = true;
		r->stats.chunks++;
	}
}

/* Lists the chunks of the next segment. 1: there are some, 0: the end, -errno. */
static int list_segment(struct tapir_reader *r)
{
	int more = 1;

	r->refs.cnt = 0;
	while (r->refs.cnt < SEGMENT_CHUNKS_MAX) {
		struct tapir_chunk_ref ref = r->pending;

		if (!r->has_pending && (more = tapir_chunk_walk__next(&r->walk, &ref)) <= 0)
			break;
		if (!r->has_pending)
			account(r, &ref);
		/*
		 * The first chunk of the next segment ends this one; it is kept for the next call.
		 */
		if (!r->has_pending && r->refs.cnt && ref.h.flags & TAPIR_CHUNK_SEGMENT) {
			r->pending = ref;
			r->has_pending = true;
			break;
		}
		r->has_pending = false;
		r->stats.segments += ref.h.flags & TAPIR_CHUNK_SEGMENT ? 1 : 0;
		if (!tapir_vec__push(&r->refs, ref))
			return -ENOMEM;
	}
	r->stats.bytes_skipped = r->walk.bytes_skipped;
	r->stats.is_truncated = !r->saw_end;
	if (!more && r->stats.file_bytes > r->chunks_end)
		r->stats.tail_bytes = r->stats.file_bytes - r->chunks_end;
	if (more < 0)
		return more;
	r->part_cnt++;
	return r->refs.cnt > 0;
}

static uint8_t chunk_type_of_stage(enum stage stage)
{
	return stage == STAGE_RECORDS ? TAPIR_CHUNK_RECORDS : TAPIR_CHUNK_DESCRIPTIONS;
}

/* The chunk of this segment that will be loaded after the present one; NULL: there is none. */
static const struct tapir_chunk_ref *next_ref(const struct tapir_reader *r)
{
	const struct tapir_chunk_ref *refs = r->refs.data;

	for (size_t i = r->ref_idx; i < r->refs.cnt; i++)
		if (refs[i].h.type == chunk_type_of_stage(r->stage))
			return &refs[i];
	for (size_t i = 0; r->stage == STAGE_DESCRIPTIONS && i < r->refs.cnt; i++)
		if (refs[i].h.type == chunk_type_of_stage(STAGE_RECORDS))
			return &refs[i];
	return NULL;
}

/* Loads a chunk, and begins with the next one. 1, 0: it is damaged, -errno. */
static int load_chunk(struct tapir_reader *r, const struct tapir_chunk_ref *ref)
{
	const struct tapir_chunk_ref *next = next_ref(r);
	bool is_there;

	if (!r->was_ahead_tried && r->stats.file_bytes >= AHEAD_MIN_BYTES)
		r->ahead = tapir_chunk_ahead__start(r->fd);
	r->was_ahead_tried = true;
	if (!r->ahead)
		return tapir_chunk__load(&r->chunk, r->fd, ref);
	is_there = tapir_chunk_ahead__take(r->ahead, ref, &r->chunk);
	if (next)
		tapir_chunk_ahead__want(r->ahead, next);
	return is_there ? tapir_chunk__list(&r->chunk) : tapir_chunk__load(&r->chunk, r->fd, ref);
}

/* Loads the next chunk of the stage's type. 1: loaded, 0: no more of it, -errno. */
static int load_next(struct tapir_reader *r)
{
	uint8_t type = chunk_type_of_stage(r->stage);

	while (r->ref_idx < r->refs.cnt) {
		const struct tapir_chunk_ref *ref = &r->refs.data[r->ref_idx++];
		int loaded;

		if (ref->h.type != type)
			continue;
		loaded = load_chunk(r, ref);
		r->stats.read_bytes = ref->off;
		if (loaded < 0)
			return loaded;
		r->stats.chunks += loaded == 1;
		r->stats.bad_chunks += loaded == 0;
		r->stats.malformed_records += r->chunk.malformed;
		r->order_idx = 0;
		if (loaded)
			return 1;
	}
	r->chunk.order_cnt = r->order_idx = 0;
	return 0;
}

/* The stages follow each other: descriptions, records, then the next segment's descriptions. */
static int next_stage(struct tapir_reader *r)
{
	int more = 1;

	if (r->stage == STAGE_DESCRIPTIONS) {
		r->stage = STAGE_RECORDS;
	} else {
		more = list_segment(r);
		if (more <= 0)
			return more;
		if (r->refs.data[0].h.flags & TAPIR_CHUNK_SEGMENT && r->stats.segments > 1)
			tapir_catalog__new_segment(r->catalog);
		r->stage = r->leaves_descriptions ? STAGE_RECORDS : STAGE_DESCRIPTIONS;
	}
	r->ref_idx = 0;
	if (r->leaves_descriptions && r->on_part) {
		int err = r->on_part(r->part_ctx);

		return err ? err : more;
	}
	return more;
}

/* Loads a chunk that holds something. 1, 0 at the end, -errno. */
static int advance_chunk(struct tapir_reader *r)
{
	for (;;) {
		int loaded = load_next(r);

		if (loaded)
			return loaded;
		loaded = next_stage(r);
		if (loaded <= 0)
			return loaded;
	}
}

/* NULL: out of memory. */
static const struct tapir_rec *completed(struct tapir_reader *r, const struct tapir_rec *rec)
{
	return r->complete && rec->type == TAPIR_REC_PROBE ? r->complete(&r->completed, rec) : rec;
}

static void count_record(struct tapir_reader_stats *stats, const struct tapir_rec *rec)
{
	int family = tapir_family__of(rec->type);

	if (family < 0)
		return;
	stats->captured[family] += tapir_rec__weight(rec);
	if (rec->time_ns > stats->last_ns)
		stats->last_ns = rec->time_ns;
}

const struct tapir_rec *tapir_reader__peek(const struct tapir_reader *r, size_t ahead)
{
	return r->order_idx + ahead < r->chunk.order_cnt
		       ? tapir_chunk__record(&r->chunk, r->order_idx + ahead)
		       : NULL;
}

/* Stacks that are known are at random in megabytes of memory: it is read ahead. */
static void expect_description(const struct tapir_reader *r)
{
	const struct tapir_rec *far = tapir_reader__peek(r, DESCRIPTIONS_FAR);
	const struct tapir_rec *near = far ? tapir_reader__peek(r, DESCRIPTIONS_NEAR) : NULL;

	if (!far || !near)
		return;
	tapir_catalog__expect(r->catalog, far, false);
	tapir_catalog__expect(r->catalog, near, true);
}

int tapir_reader__take(struct tapir_reader *r, const struct tapir_rec **rec)
{
	for (;;) {
		const struct tapir_rec *next;
		int err;

		if (r->order_idx == r->chunk.order_cnt) {
			err = advance_chunk(r);
			if (err <= 0)
				return err;
			continue;
		}
		next = tapir_chunk__record(&r->chunk, r->order_idx++);
		r->stats.records++;
		/*
		 * A chunk's descriptions come before the records that refer to them. One that is
		 * known already (0) or finds no room (-ENOSPC) is not delivered.
		 */
		if (r->stage == STAGE_DESCRIPTIONS) {
			expect_description(r);
			next = completed(r, next);
			err = next ? tapir_catalog__describe(r->catalog, next) : -ENOMEM;
			if (err == -ENOMEM)
				return err;
			if (err != 1 || !r->deliver_descriptions)
				continue;
		}
		count_record(&r->stats, next);
		*rec = next;
		return 1;
	}
}

int tapir_reader__next(struct tapir_reader *r, const struct tapir_rec **rec)
{
	const struct tapir_reader_stage *stage = &r->between;

	return stage->next ? stage->next(stage->ctx, rec) : tapir_reader__take(r, rec);
}

void tapir_reader__use_stage(struct tapir_reader *r, const struct tapir_reader_stage *stage)
{
	r->between = *stage;
}

int tapir_reader__describe(struct tapir_reader *r, const struct tapir_rec *rec)
{
	return tapir_catalog__describe(r->catalog, rec);
}

void tapir_reader__complete_probes(struct tapir_reader *r,
				   const struct tapir_rec *(*complete)(struct tapir_recbuf *buf,
								       const struct tapir_rec *rec))
{
	r->complete = complete;
}

void tapir_reader__use_source(struct tapir_reader *r, const struct tapir_offline_source *source)
{
	tapir_catalog__use_source(r->catalog, source);
}

void tapir_reader__use_lines(struct tapir_reader *r, const struct tapir_line_source *source)
{
	tapir_catalog__use_lines(r->catalog, source);
}

int tapir_reader__next_part(struct tapir_reader *r)
{
	r->chunk.order_cnt = r->order_idx = 0;
	r->stage = STAGE_RECORDS;
	return next_stage(r);
}

int tapir_reader__put_descriptions(struct tapir_reader *r, struct tapir_chunk *room,
				   int (*put)(void *ctx, const struct tapir_rec *rec), void *ctx)
{
	bool is_first = r->counted_part != r->part_cnt;
	int err = 0;

	r->counted_part = r->part_cnt;
	for (size_t i = 0; i < r->refs.cnt && !err; i++) {
		int loaded = 0;

		if (r->refs.data[i].h.type != TAPIR_CHUNK_DESCRIPTIONS)
			continue;
		loaded = tapir_chunk__load(room, r->fd, &r->refs.data[i]);
		if (loaded < 0)
			return loaded;
		r->stats.chunks += is_first && loaded;
		r->stats.bad_chunks += is_first && !loaded;
		r->stats.malformed_records += is_first ? room->malformed : 0;
		for (size_t k = 0; loaded && k < room->order_cnt && !err; k++)
			err = put(ctx, tapir_chunk__record(room, k));
	}
	return err;
}

bool tapir_reader__is_segment_end(const struct tapir_reader *r)
{
	if (r->stage != STAGE_RECORDS || r->order_idx != r->chunk.order_cnt)
		return false;
	for (size_t i = r->ref_idx; i < r->refs.cnt; i++)
		if (r->refs.data[i].h.type == TAPIR_CHUNK_RECORDS)
			return false;
	return true;
}

int tapir_reader__fd(const struct tapir_reader *r)
{
	return r->fd;
}

const struct tapir_catalog *tapir_reader__catalog(const struct tapir_reader *r)
{
	return r->catalog;
}

const struct tapir_reader_stats *tapir_reader__stats(const struct tapir_reader *r)
{
	return &r->stats;
}
