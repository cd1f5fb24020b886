// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chunks: collect, compress, append. A chunk is written after the last complete one or not at
 * all, as far as the file can be cut back.
 */
#include "trace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <libdeflate.h>
#include <zstd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/atomic_file.h"
#include "tapir/trace_format.h"
#include "trace/family.h"
#include "trace/record.h"

/* A chunk is written when its buffer holds this much; one more record always fits after it. */
#define FLUSH_BYTES   (1024u * 1024u)
#define BUF_BYTES     (FLUSH_BYTES + TAPIR_MAX_RECORD_BYTES)

/* Room kept below max_bytes for the last LOSS records and the END chunk. */
#define RESERVE_BYTES 8192

/* Kept for repeating descriptions and for batches, so that a segment stays below its limit. */
#define SEGMENT_BYTES (TAPIR_SEGMENT_MAX_BYTES - 2 * TAPIR_CHUNK_MAX_BYTES)

/*
 * Levels compared (tests/bench/trace_file.c, 112-byte events, ns and bytes a record): plain 55,
 * 112; -3: 104, 23; -1: 116, 17; 1: 134, 16; 2: 147, 16.
 */
#define ZSTD_LEVEL    (-1)

struct chunk_buf {
	char *data;
	size_t used;
	uint32_t record_cnt;
	uint64_t first_ns, last_ns;
	uint8_t type; /* enum tapir_chunk_type */
};

struct tapir_writer {
	struct tapir_atomic_file file;
	atomic_uint_least64_t stop_ns; /* see tapir_file__write_until */
	int err;		       /* of the write that failed; after it only close writes */
	atomic_bool is_kept;
	bool plain, closed, is_truncated;
	bool was_truncated_back; /* of a partial chunk, though it was not created here */
	bool has_data;		 /* chunks were written before any failure */
	bool is_moved;
	bool is_between_segments; /* files: what comes is lost */
	bool segment_begins;	  /* the next chunk is the first of its segment */
	uint64_t max_bytes;
	uint64_t bytes, records, lost_records;
	uint64_t lost[TAPIR_REC_TYPE_CNT];  /* of them, by type */
	uint64_t segment_bytes, segment_ns; /* raw bytes so far, when it began */
	uint32_t seq;
	struct chunk_buf rec_buf, desc_buf;
	ZSTD_CCtx *zstd;
	char *stored;
	size_t stored_cap;
};

/* ---- opening ------------------------------------------------------------------------------ */

/* Not created here: it is never cut back, renamed or removed. */
static int open_fd(struct tapir_atomic_file *file, int fd, const char *name)
{
	file->path = strdup(name);
	file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (file->fd < 0)
		return tapir_diag__fail(-errno, "cannot write to %s: %s", name,
					tapir_errno__text(errno));
	return file->path ? 0 : -ENOMEM;
}

static int open_stdout(struct tapir_atomic_file *file)
{
	if (isatty(STDOUT_FILENO))
		return tapir_diag__fail(-EINVAL, "a recording is binary and cannot be written to a "
						 "terminal: use -o FILE, or a pipe");
	return open_fd(file, STDOUT_FILENO, "standard output");
}

/*
 * Stdout may be a file that others append to: it is never cut back, and -o /dev/stdout means the
 * same file, not its name.
 */
bool tapir_writer__is_stdout(const char *path)
{
	return !strcmp(path, "-") || !strcmp(path, "/dev/stdout");
}

static int open_output(struct tapir_writer *w, const struct tapir_writer_opts *opts)
{
	const struct tapir_atomic_file_opts file = {
		.path = opts->path,
		.mode = 0600,
		.force = opts->force,
		.at_once = !opts->is_complete,
		.has_owner = opts->has_owner,
		.uid = opts->uid,
		.gid = opts->gid,
	};

	if (opts->has_fd)
		return open_fd(&w->file, opts->fd, opts->path);
	return tapir_writer__is_stdout(opts->path) ? open_stdout(&w->file)
						   : tapir_atomic_file__open(&file, &w->file);
}

static int write_bytes(struct tapir_writer *w, const void *data, size_t len)
{
	return w->file.is_regular ? tapir_file__write_all(w->file.fd, data, len)
				  : tapir_file__write_until(w->file.fd, data, len, &w->stop_ns);
}

static int write_file_header(struct tapir_writer *w, const struct tapir_writer_opts *opts)
{
	struct tapir_file_header h = {.magic = TAPIR_FILE_MAGIC,
				      .version = TAPIR_FILE_VERSION,
				      .header_bytes = sizeof(h),
				      .created_utc_ns = tapir_clock__ns(CLOCK_REALTIME),
				      .created_ns = tapir_clock__now_ns()};
	int err;

	if (opts->created_ns) {
		h.created_utc_ns = opts->created_utc_ns;
		h.created_ns = opts->created_ns;
	}
	h.crc = libdeflate_crc32(0, &h, sizeof(h));
	err = write_bytes(w, &h, sizeof(h));
	if (err)
		return tapir_diag__fail(
			err, "cannot write %s: %s%s", w->file.path, tapir_errno__text(err),
			w->file.temp_name ? "; the existing file is unchanged" : "");
	w->bytes = sizeof(h);
	w->segment_ns = h.created_ns;
	return 0;
}

static bool alloc_buffers(struct tapir_writer *w)
{
	w->rec_buf.data = malloc(BUF_BYTES);
	w->desc_buf.data = malloc(BUF_BYTES);
	if (!w->rec_buf.data || !w->desc_buf.data)
		return false;
	if (w->plain)
		return true;
	w->stored_cap = ZSTD_compressBound(BUF_BYTES);
	w->stored = malloc(w->stored_cap);
	w->zstd = ZSTD_createCCtx();
	return w->stored && w->zstd &&
	       !ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL));
}

int tapir_writer__open(const struct tapir_writer_opts *opts, struct tapir_writer **out)
{
	struct tapir_writer *w = calloc(1, sizeof(*w));
	struct stat st;
	int err;

	if (!w)
		return -ENOMEM;
	*w = (struct tapir_writer){.file = {.fd = -1, .dir_fd = -1},
				   .plain = opts->plain,
				   .is_truncated = opts->is_truncated,
				   .max_bytes = opts->max_bytes,
				   .segment_begins = true,
				   .rec_buf.type = TAPIR_CHUNK_RECORDS,
				   .desc_buf.type = TAPIR_CHUNK_DESCRIPTIONS};
	err = alloc_buffers(w) ? open_output(w, opts) : -ENOMEM;
	w->was_truncated_back =
		opts->has_fd && !err && !fstat(w->file.fd, &st) && S_ISREG(st.st_mode);
	if (!err)
		err = write_file_header(w, opts);
	if (err) {
		tapir_atomic_file__discard(&w->file);
		tapir_writer__free(w);
		return err;
	}
	*out = w;
	return 0;
}

void tapir_writer__free(struct tapir_writer *w)
{
	if (!w)
		return;
	(void)tapir_atomic_file__close(&w->file);
	ZSTD_freeCCtx(w->zstd);
	free(w->stored);
	free(w->rec_buf.data);
	free(w->desc_buf.data);
	free(w);
}

/* ---- chunks ------------------------------------------------------------------------------- */

static void buf_reset(struct chunk_buf *buf)
{
	buf->used = 0;
	buf->record_cnt = 0;
}

static void lose(struct tapir_writer *w, const struct tapir_rec *rec)
{
	/*
	 * The losses of captured records are counted here; those of a snapshot are not, as its
	 * records are not counted as captured either.
	 */
	if (rec->type < TAPIR_REC_TYPE_CNT && !tapir_rec__is_snapshot(rec))
		w->lost[rec->type] += tapir_rec__weight(rec);
}

static void lose_all(struct tapir_writer *w, const char *data, size_t len)
{
	for (size_t at = 0; at < len; at += ((const struct tapir_rec *)(data + at))->size)
		lose(w, (const struct tapir_rec *)(data + at));
}

static const char *salvage_note(const struct tapir_writer *w, int err)
{
	if (err == -EFBIG)
		return "the size limit is reached";
	if (err == -ETIMEDOUT)
		return "its reader stalled, and the rest was dropped";
	if (err == -ENOENT)
		return "it was deleted, and nothing of the recording is left";
	if (w->has_data || !w->file.is_regular)
		return "what was written is readable";
	return w->file.temp_name ? "no recording was written; the existing file is unchanged"
				 : "no recording was written";
}

/* Nothing more will be written: what is buffered now and comes later is lost. */
static int fail_writer(struct tapir_writer *w, int err)
{
	w->err = err;
	w->lost_records += w->rec_buf.record_cnt;
	lose_all(w, w->rec_buf.data, w->rec_buf.used);
	buf_reset(&w->rec_buf);
	buf_reset(&w->desc_buf);
	return tapir_diag__fail(err, "cannot continue writing %s after %llu bytes: %s (%s)",
				w->file.path, (unsigned long long)w->bytes, tapir_errno__text(err),
				salvage_note(w, err));
}

/* Header and body in one call, where the file takes them so. */
static int write_both(struct tapir_writer *w, const struct tapir_chunk_header *h, const void *body)
{
	struct iovec iov[2] = {{(void *)h, sizeof(*h)}, {(void *)body, h->stored_bytes}};
	size_t done;
	ssize_t n;
	int err = 0;

	if (!w->file.is_regular) {
		err = write_bytes(w, h, sizeof(*h));
		return err ? err : write_bytes(w, body, h->stored_bytes);
	}
	do
		n = writev(w->file.fd, iov, 2);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if ((size_t)n < sizeof(*h))
		err = write_bytes(w, (const char *)h + n, sizeof(*h) - (size_t)n);
	done = (size_t)n > sizeof(*h) ? (size_t)n - sizeof(*h) : 0;
	return err ? err
		   : write_bytes(w, done ? (const char *)body + done : body,
				 h->stored_bytes - done);
}

/* A whole chunk, or nothing. */
static int append_chunk(struct tapir_writer *w, const struct tapir_chunk_header *h,
			const void *body)
{
	int err = write_both(w, h, body);

	if (!err) {
		w->bytes += sizeof(*h) + h->stored_bytes;
		return 0;
	}
	if ((w->file.is_regular || w->was_truncated_back) &&
	    (ftruncate(w->file.fd, (off_t)w->bytes) ||
	     lseek(w->file.fd, (off_t)w->bytes, SEEK_SET) < 0))
		tapir_diag__add("cannot cut a partial chunk off %s: %s", w->file.path,
				tapir_errno__text(errno));
	return err;
}

/* The stored form of buf: *body is borrowed until the next chunk. Sets stored_bytes, flags. */
static int store(struct tapir_writer *w, const struct chunk_buf *buf, struct tapir_chunk_header *h,
		 const void **body)
{
	size_t n;

	*body = buf->data;
	h->stored_bytes = (uint32_t)buf->used;
	if (w->plain || !buf->used || buf->type == TAPIR_CHUNK_FILE)
		return 0;
	n = ZSTD_compress2(w->zstd, w->stored, w->stored_cap, buf->data, buf->used);
	if (ZSTD_isError(n))
		return tapir_diag__fail(-EIO, "cannot compress: %s", ZSTD_getErrorName(n));
	*body = w->stored;
	h->stored_bytes = (uint32_t)n;
	h->flags |= TAPIR_CHUNK_ZSTD;
	return 0;
}

/* Whatever happens, max_bytes is kept; the reserve is for what close writes. */
static bool has_room(const struct tapir_writer *w, size_t len, bool is_last)
{
	uint64_t reserve = is_last ? 0 : RESERVE_BYTES;

	return !w->max_bytes || w->bytes + len + reserve <= w->max_bytes;
}

static int write_chunk(struct tapir_writer *w, struct chunk_buf *buf, bool is_last)
{
	struct tapir_chunk_header h = {.magic = TAPIR_CHUNK_MAGIC,
				       .type = buf->type,
				       .flags = w->segment_begins ? TAPIR_CHUNK_SEGMENT : 0,
				       .raw_bytes = (uint32_t)buf->used,
				       .record_cnt = buf->record_cnt,
				       .first_ns = buf->first_ns,
				       .last_ns = buf->last_ns,
				       .seq = w->seq};
	const void *body;
	int err = store(w, buf, &h, &body);

	if (err)
		return err;
	if (!has_room(w, sizeof(h) + h.stored_bytes, is_last))
		return -EFBIG;
	/*
	 * Over what is stored, so that a chunk can be judged without decompressing it; the header's
	 * own is made with this member zero.
	 */
	h.data_crc = libdeflate_crc32(0, body, h.stored_bytes);
	h.header_crc = libdeflate_crc32(0, &h, sizeof(h));
	err = append_chunk(w, &h, body);
	if (err)
		return err;
	/*
	 * Nothing counts as written before it is: a chunk that found no room is still in the
	 * buffer.
	 */
	w->records += buf->record_cnt;
	w->seq++;
	w->segment_begins = false;
	buf_reset(buf);
	return 0;
}

static int flush_buf(struct tapir_writer *w, struct chunk_buf *buf)
{
	int err = buf->record_cnt && !w->err ? write_chunk(w, buf, false) : 0;

	return err ? fail_writer(w, err) : 0;
}

/* ---- records ------------------------------------------------------------------------------ */

static void buf_add(struct chunk_buf *buf, const void *data, size_t len, uint32_t record_cnt,
		    uint64_t first_ns, uint64_t last_ns)
{
	if (!buf->record_cnt || first_ns < buf->first_ns)
		buf->first_ns = first_ns;
	if (!buf->record_cnt || last_ns > buf->last_ns)
		buf->last_ns = last_ns;
	memcpy(buf->data + buf->used, data, len);
	buf->used += len;
	buf->record_cnt += record_cnt;
}

/* After a failure: keeps what explains it, counts the rest. */
static void put_after_error(struct tapir_writer *w, const struct tapir_rec *rec)
{
	bool explains = rec->type == TAPIR_REC_LOSS || rec->type == TAPIR_REC_GAP;

	if (explains && w->rec_buf.used + rec->size <= RESERVE_BYTES / 2)
		buf_add(&w->rec_buf, rec, rec->size, 1, rec->time_ns, rec->time_ns);
	else if (!tapir_rec_type__describes(rec->type))
		w->lost_records++;
	lose(w, rec);
}

int tapir_writer__put(struct tapir_writer *w, const struct tapir_rec *rec)
{
	struct chunk_buf *buf = tapir_rec_type__describes(rec->type) ? &w->desc_buf : &w->rec_buf;

	if (w->err) {
		put_after_error(w, rec);
		return 0;
	}
	buf_add(buf, rec, rec->size, 1, rec->time_ns, rec->time_ns);
	w->segment_bytes += rec->size;
	return buf->used >= FLUSH_BYTES ? tapir_writer__flush(w) : 0;
}

/* A span that does not fit in one go is taken record by record. */
static int put_each(struct tapir_writer *w, const char *data, size_t len)
{
	int err = 0;

	for (size_t at = 0; at < len; at += ((const struct tapir_rec *)(data + at))->size) {
		int e = tapir_writer__put(w, (const struct tapir_rec *)(data + at));

		err = err ? err : e;
	}
	return err;
}

int tapir_writer__put_span(struct tapir_writer *w, const void *data, size_t len,
			   uint32_t record_cnt, uint64_t first_ns, uint64_t last_ns)
{
	struct chunk_buf *buf = &w->rec_buf;

	if (w->err || len > BUF_BYTES - buf->used)
		return put_each(w, data, len);
	buf_add(buf, data, len, record_cnt, first_ns, last_ns);
	w->segment_bytes += len;
	return buf->used >= FLUSH_BYTES ? tapir_writer__flush(w) : 0;
}

/* The data that was written is worth the file that it replaces. */
static int create_named(struct tapir_writer *w)
{
	int err = w->seq && atomic_load(&w->is_kept) ? tapir_atomic_file__commit(&w->file) : 0;

	if (err)
		return fail_writer(w, err);
	w->has_data |= w->seq > 0;
	return 0;
}

/* Descriptions first: where the file ends permanently, what it holds has its names. */
int tapir_writer__flush(struct tapir_writer *w)
{
	int err = w->err ? 0 : tapir_atomic_file__check(&w->file);

	if (err == -ENOENT)
		return fail_writer(w, err);
	err = flush_buf(w, &w->desc_buf);
	if (!err)
		err = flush_buf(w, &w->rec_buf);
	return err || w->err ? err : create_named(w);
}

int tapir_writer__put_file(struct tapir_writer *w, const void *part, size_t len)
{
	struct chunk_buf buf = {.data = (char *)part, .used = len, .type = TAPIR_CHUNK_FILE};
	int err = tapir_writer__flush(w);

	if (err || w->err)
		return err;
	err = write_chunk(w, &buf, false);
	return err ? fail_writer(w, err) : 0;
}

/* ---- segments, closing ---------------------------------------------------------------------- */

bool tapir_writer__segment_due(const struct tapir_writer *w, uint64_t now_ns)
{
	return w->segment_bytes >= SEGMENT_BYTES ||
	       (now_ns > w->segment_ns && now_ns - w->segment_ns >= TAPIR_SEGMENT_MAX_NS);
}

int tapir_writer__begin_segment(struct tapir_writer *w)
{
	int err = tapir_writer__flush(w);

	w->segment_begins = true;
	w->segment_bytes = 0;
	w->segment_ns = tapir_clock__now_ns();
	return err;
}

/* The END chunk, and before it the records that explain a failure. */
static int write_end_chunk(struct tapir_writer *w)
{
	struct chunk_buf end = {.type = TAPIR_CHUNK_END};
	int err;

	if (w->is_between_segments)
		return 0;
	err = w->rec_buf.record_cnt ? write_chunk(w, &w->rec_buf, true) : 0;

	return err || w->is_truncated ? err : write_chunk(w, &end, true);
}

void tapir_writer__keep(struct tapir_writer *w)
{
	atomic_store(&w->is_kept, true);
}

void tapir_writer__abandon(struct tapir_writer *w)
{
	tapir_atomic_file__discard(&w->file);
	w->closed = true;
}

void tapir_writer__stop_waiting(struct tapir_writer *w)
{
	atomic_store(&w->stop_ns, tapir_clock__now_ns());
}

static int close_file(struct tapir_writer *w)
{
	int err = tapir_atomic_file__check(&w->file);

	w->is_moved = err == -ESTALE;
	if (err == -ENOENT && !w->err)
		return fail_writer(w, err);
	if (w->err && !w->has_data) { /* its losses alone are not worth a file */
		tapir_atomic_file__discard(&w->file);
		return 0;
	}
	err = tapir_atomic_file__commit(&w->file);
	if (err)
		return err;
	err = tapir_atomic_file__close(&w->file);
	if (err)
		tapir_diag__add("cannot close the output file: %s", tapir_errno__text(err));
	return err;
}

int tapir_writer__close(struct tapir_writer *w)
{
	int err;

	if (w->closed)
		return w->err;
	tapir_writer__flush(w);
	err = write_end_chunk(w);
	if (err && !w->err)
		err = fail_writer(w, err);
	err = close_file(w);
	w->err = w->err ? w->err : err;
	w->closed = true;
	return w->err;
}

int tapir_writer__end_file(struct tapir_writer *w)
{
	int err = tapir_writer__flush(w), last_err = write_end_chunk(w);

	if (last_err && !w->err)
		err = fail_writer(w, last_err);
	w->err = w->err ? w->err : -EPIPE;
	w->is_between_segments = true;
	return err;
}

int tapir_writer__continue_in(struct tapir_writer *w, int fd, const char *name)
{
	struct tapir_atomic_file next = {.fd = -1, .dir_fd = -1};
	int err = open_fd(&next, fd, name);

	if (err) {
		(void)tapir_atomic_file__close(&next);
		return err;
	}
	(void)tapir_atomic_file__close(&w->file);
	w->file = next;
	w->err = 0;
	w->has_data = w->is_between_segments = false;
	w->seq = 0;
	w->segment_begins = true;
	w->segment_bytes = 0;
	err = write_file_header(w, &(struct tapir_writer_opts){});
	return err ? fail_writer(w, err) : 0;
}

bool tapir_writer__is_moved(const struct tapir_writer *w)
{
	return w->is_moved;
}

uint64_t tapir_writer__bytes_written(const struct tapir_writer *w)
{
	return w->bytes;
}

uint64_t tapir_writer__records(const struct tapir_writer *w)
{
	return w->records;
}

uint64_t tapir_writer__lost_records(const struct tapir_writer *w)
{
	return w->lost_records;
}

uint64_t tapir_writer__lost(const struct tapir_writer *w, unsigned type)
{
	return type < TAPIR_REC_TYPE_CNT ? w->lost[type] : 0;
}
