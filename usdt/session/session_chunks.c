/* SPDX-License-Identifier: MIT */
/*
 * session_chunks.c - a .tapir file as it is written: chunks with their CRCs, appended and never
 * changed. A write that fails cuts the file back to its last complete chunk.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "../ring/ring_sys.h"
#include "session_impl.h"

#define LOSSES_MAX  2u
#define FIRST_BYTES 65536u
/* Bytes of a limit that are reserved for the end: losses and END. */
#define END_BYTES                                                                                  \
	(2 * sizeof(struct tapir_chunk_header) + LOSSES_MAX * sizeof(struct tapir_rec_loss))

/* zlib's CRC, four bits at a time: a small table, as this runs next to the program's work. */
static uint32_t crc_of(const void *bytes, size_t len)
{
	static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
					   0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
					   0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
					   0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
	const uint8_t *at = bytes;
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < len; i++) {
		crc ^= at[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return ~crc;
}

static int write_chunk_bytes(int fd, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	while (len) {
		ssize_t done = write(fd, at, len);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done ? -errno : -EIO;
		at += done;
		len -= (size_t)done;
	}
	return 0;
}

/* If that fails readers use the file up to there. */
static void truncate_back(const struct session_file *f)
{
	if (!ftruncate(f->fd, (off_t)f->written))
		lseek(f->fd, (off_t)f->written, SEEK_SET);
}

/* Writes a chunk; returns 0 if that fails, and nothing of it is in the file. */
static int write_chunk(struct session_file *f, uint8_t type, const struct session_chunk *c)
{
	struct tapir_chunk_header h = {
		.magic = TAPIR_CHUNK_MAGIC,
		.type = type,
		.flags = f->is_segment_new ? TAPIR_CHUNK_SEGMENT : 0,
		.stored_bytes = (uint32_t)c->used,
		.raw_bytes = (uint32_t)c->used,
		.record_cnt = c->record_cnt,
		.data_crc = crc_of(c->bytes, c->used),
		.first_ns = c->first_ns,
		.last_ns = c->last_ns,
		.seq = f->seq,
	};
	int err;

	/*
	 * Over the header with this member zero, as readers compute it
	 * (include/tapir/trace_format.h).
	 */
	h.header_crc = crc_of(&h, sizeof(h));
	err = write_chunk_bytes(f->fd, &h, sizeof(h));
	if (!err)
		err = write_chunk_bytes(f->fd, c->bytes, c->used);
	if (err) {
		f->err = f->err ? f->err : err;
		/* A part of a chunk at the end would be read as damage. */
		truncate_back(f);
		return 0;
	}
	f->written += sizeof(h) + h.stored_bytes;
	f->seq++;
	f->is_segment_new = 0;
	return 1;
}

/*
 * The path may be one in a directory that others may write to: only a new file is taken, never a
 * link.
 */
int session_file__open(struct session_file *f, const char *path, uint64_t max_bytes)
{
	struct tapir_file_header h = {
		.magic = TAPIR_FILE_MAGIC,
		.version = TAPIR_FILE_VERSION,
		.header_bytes = sizeof(h),
		.created_utc_ns = session_clock_ns(CLOCK_REALTIME),
		.created_ns = session_clock_ns(CLOCK_MONOTONIC),
	};

	*f = (struct session_file){.max_bytes = max_bytes, .is_segment_new = 1};
	if (!ring_sys_file_may_have(sizeof(h) +
				    END_BYTES)) /* this thread's SIGXFSZ is the program's */
		return -EFBIG;
	f->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (f->fd < 0)
		return -errno;
	h.crc = crc_of(&h, sizeof(h));
	f->err = write_chunk_bytes(f->fd, &h, sizeof(h));
	f->written = sizeof(h);
	if (!f->err)
		return 0;
	unlink(path);
	close(f->fd);
	return f->err;
}

/* Returns 1 if max_bytes has room after what is put and what is reserved for the end. */
static int fits_session_limit(const struct session_file *f, size_t bytes)
{
	uint64_t pending = f->descriptions.used + f->records.used + bytes;

	return !f->max_bytes ||
	       f->written + pending + 2 * sizeof(struct tapir_chunk_header) + END_BYTES <=
		       f->max_bytes;
}

void *session_file__put(struct session_file *f, int is_description, uint16_t type, size_t bytes,
			uint64_t time_ns)
{
	struct session_chunk *c = is_description ? &f->descriptions : &f->records;
	struct tapir_rec *rec;

	/*
	 * Flushing writes descriptions before records: whatever is in a chunk has been described.
	 */
	if (c->used + bytes > TAPIR_CHUNK_MAX_BYTES)
		session_file__flush(f);
	if (!f->err && !fits_session_limit(f, bytes)) {
		session_file__flush(f);
		f->err = f->err ? f->err : -EFBIG;
	}
	if (f->err || bytes > TAPIR_MAX_RECORD_BYTES ||
	    !provider_make_room((void **)&c->bytes, &c->room, c->used + bytes, 1, FIRST_BYTES)) {
		f->unwritten += type == TAPIR_REC_EVENT;
		return NULL;
	}
	rec = (struct tapir_rec *)(void *)(c->bytes + c->used);
	memset(rec, 0, bytes);
	rec->type = type;
	rec->cpu = TAPIR_CPU_UNKNOWN;
	rec->size = (uint32_t)bytes;
	rec->time_ns = time_ns;
	/*
	 * Threads come here in any order, with times that they took before: records of a chunk are
	 * not sorted, and its header says what it spans.
	 */
	c->first_ns = c->record_cnt && c->first_ns < time_ns ? c->first_ns : time_ns;
	c->last_ns = c->record_cnt && c->last_ns > time_ns ? c->last_ns : time_ns;
	c->record_cnt++;
	c->used += bytes;
	return rec;
}

/* Counts its events and the losses that it records. */
static uint64_t events_of(const struct session_chunk *c)
{
	const struct tapir_rec *rec;
	uint64_t cnt = 0;

	for (size_t at = 0; at < c->used; at += rec->size) {
		rec = (const struct tapir_rec *)(const void *)(c->bytes + at);
		cnt += rec->type == TAPIR_REC_EVENT;
		if (rec->type == TAPIR_REC_LOSS)
			cnt += ((const struct tapir_rec_loss *)(const void *)rec)->count;
	}
	return cnt;
}

static void flush_one(struct session_file *f, uint8_t type, struct session_chunk *c)
{
	if (c->used && (f->err || !write_chunk(f, type, c)))
		f->unwritten += events_of(c);
	c->used = c->record_cnt = 0;
}

void session_file__flush(struct session_file *f)
{
	flush_one(f, TAPIR_CHUNK_DESCRIPTIONS, &f->descriptions);
	flush_one(f, TAPIR_CHUNK_RECORDS, &f->records);
}

void session_file__begin_segment(struct session_file *f)
{
	session_file__flush(f);
	f->is_segment_new = 1;
}

/* Works also after a write that failed: that was larger. */
static int write_losses(struct session_file *f, const struct tapir_rec_loss *losses, uint32_t cnt)
{
	struct tapir_rec_loss recs[LOSSES_MAX];
	struct session_chunk c = {.bytes = (uint8_t *)recs};

	for (uint32_t i = 0; i < cnt && i < LOSSES_MAX; i++)
		if (losses[i].count)
			recs[c.record_cnt++] = losses[i];
	c.used = c.record_cnt * sizeof(*recs);
	c.first_ns = c.last_ns = cnt ? losses[0].h.time_ns : 0;
	return !c.used || write_chunk(f, TAPIR_CHUNK_RECORDS, &c);
}

int session_file__close(struct session_file *f, const struct tapir_rec_loss *losses, uint32_t cnt)
{
	static const struct session_chunk nothing;

	if (losses && write_losses(f, losses, cnt)) {
		f->is_segment_new = 0;
		write_chunk(f, TAPIR_CHUNK_END, &nothing);
	}
	close(f->fd);
	free(f->descriptions.bytes);
	free(f->records.bytes);
	return f->err;
}
