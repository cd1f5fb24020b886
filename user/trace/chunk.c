// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads chunks of an untrusted file, by pread, never mapped: the file may shrink while it is read.
 */
#include "trace/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <libdeflate.h>
#include <zstd.h>

#include "base/diag.h"
#include "trace/record.h"

/* A plain chunk has raw_bytes of them, zstd's bound for a chunk is a little above. */
#define STORED_MAX_BYTES (TAPIR_CHUNK_MAX_BYTES + 64u * 1024u)
#define SEARCH_BYTES	 65536

/* len bytes at off, or fewer at the file's end. */
static ssize_t read_chunk_bytes(int fd, void *data, size_t len, uint64_t off)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = pread(fd, (char *)data + got, len - got, (off_t)(off + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return tapir_diag__fail(-errno,
						"cannot read the recording at byte %llu: %s",
						(unsigned long long)(off + got), strerror(errno));
		if (!n)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

/* Valid, with its complete chunk in the file; off: its offset. */
static bool header_ok(const struct tapir_chunk_walk *walk, uint64_t off,
		      const struct tapir_chunk_header *h)
{
	struct tapir_chunk_header copy = *h;

	if (h->magic != TAPIR_CHUNK_MAGIC || off + sizeof(*h) + h->stored_bytes > walk->file_bytes)
		return false;
	copy.header_crc = 0;
	return libdeflate_crc32(0, &copy, sizeof(copy)) == h->header_crc;
}

/* The offset of the first valid header in len bytes at walk->off; len: none. */
static size_t find_header(const struct tapir_chunk_walk *walk, const char *window, size_t len)
{
	static const uint32_t magic = TAPIR_CHUNK_MAGIC;
	size_t at = 0;

	while (len - at >= sizeof(struct tapir_chunk_header)) {
		const char *hit = memmem(window + at, len - at, &magic, sizeof(magic));
		struct tapir_chunk_header h;

		if (!hit || (size_t)(window + len - hit) < sizeof(h))
			return len;
		at = (size_t)(hit - window);
		memcpy(&h, hit, sizeof(h));
		if (header_ok(walk, walk->off + at, &h))
			return at;
		at++;
	}
	return len;
}

/*
 * Moves walk->off to the next valid header after it. 1 found, 0 none, -errno. The window starts
 * small and grows: many short stretches of damage must not cost a large read each.
 */
static int search_chunk(struct tapir_chunk_walk *walk)
{
	const size_t overlap = sizeof(struct tapir_chunk_header) - 1;
	char window[SEARCH_BYTES];

	walk->off++;
	walk->bytes_skipped++;
	for (size_t want = 512;; want = want < SEARCH_BYTES ? want * 2 : want) {
		ssize_t n = read_chunk_bytes(walk->fd, window, want, walk->off);
		size_t at;

		if (n < 0)
			return (int)n;
		at = find_header(walk, window, (size_t)n);
		if (at == (size_t)n && n == (ssize_t)want)
			at -= overlap; /* a header may begin in this window and end after it */
		walk->off += at;
		walk->bytes_skipped += at;
		if (n < (ssize_t)want && at == (size_t)n)
			return 0;
		if (at + overlap != want)
			return 1;
	}
}

int tapir_chunk_walk__start(struct tapir_chunk_walk *walk, int fd)
{
	struct tapir_file_header h = {};
	struct stat st;
	ssize_t n = fstat(fd, &st) ? -errno : read_chunk_bytes(fd, &h, sizeof(h), 0);

	if (n < 0)
		return (int)n;
	*walk = (struct tapir_chunk_walk){
		.fd = fd, .off = sizeof(h), .file_bytes = (uint64_t)st.st_size};
	if (h.header_bytes > sizeof(h))
		walk->off = h.header_bytes;
	return 0;
}

int tapir_chunk_walk__next(struct tapir_chunk_walk *walk, struct tapir_chunk_ref *out)
{
	for (;;) {
		struct tapir_chunk_header h;
		ssize_t n = read_chunk_bytes(walk->fd, &h, sizeof(h), walk->off);
		int found;

		if (n < (ssize_t)sizeof(h)) {
			walk->bytes_skipped += n > 0 ? (uint64_t)n : 0;
			walk->off += n > 0 ? (uint64_t)n : 0;
			return n < 0 ? (int)n : 0;
		}
		if (header_ok(walk, walk->off, &h)) {
			*out = (struct tapir_chunk_ref){walk->off, h};
			walk->off += sizeof(h) + h.stored_bytes;
			return 1;
		}
		found = search_chunk(walk);
		if (found <= 0)
			return found;
	}
}

/* ---- one chunk ------------------------------------------------------------------------------ */

void tapir_chunk__fini(struct tapir_chunk *chunk)
{
	free(chunk->raw);
	free(chunk->stored);
	free(chunk->order);
	free(chunk->spare);
	ZSTD_freeDCtx(chunk->unpacker);
	*chunk = (struct tapir_chunk){};
}

static bool make_chunk_room(char **data, size_t *cap, size_t bytes)
{
	if (bytes <= *cap)
		return true;
	free(*data);
	*data = malloc(bytes);
	*cap = *data ? bytes : 0;
	return *data;
}

static bool grow_order(struct tapir_chunk *chunk)
{
	size_t want = chunk->order_cap ? chunk->order_cap * 2 : 4096;
	void *order = realloc(chunk->order, want * sizeof(*chunk->order));

	if (!order)
		return false;
	chunk->order = order;
	chunk->order_cap = want;
	free(chunk->spare);
	chunk->spare = NULL;
	return true;
}

/* Lists the well-formed records. *sorted: they come in the order of their times. */
static bool list_records(struct tapir_chunk *chunk, bool *sorted)
{
	uint64_t before = 0;

	*sorted = true;
	chunk->order_cnt = chunk->malformed = 0;
	for (size_t at = 0; at < chunk->len;) {
		const struct tapir_rec *rec = (const struct tapir_rec *)(chunk->raw + at);
		size_t left = chunk->len - at;

		/*
		 * Without a size that can be right it is unknown where the next record is; one with
		 * a wrong content has a neighbor.
		 */
		if (left < sizeof(*rec) || rec->size < sizeof(*rec) || rec->size > left ||
		    rec->size % 8) {
			chunk->malformed++;
			break;
		}
		if (!tapir_record__ok(rec, left)) {
			chunk->malformed++;
			at += rec->size;
			continue;
		}
		if (chunk->order_cnt == chunk->order_cap && !grow_order(chunk))
			return false;
		*sorted &= rec->time_ns >= before;
		before = rec->time_ns;
		chunk->order[chunk->order_cnt++] =
			(struct tapir_chunk_order){rec->time_ns, (uint32_t)at, 0};
		at += rec->size;
	}
	return true;
}

/* Length of the ascending run at from. */
static size_t run_end(const struct tapir_chunk_order *o, size_t from, size_t cnt)
{
	while (++from < cnt && o[from].time_ns >= o[from - 1].time_ns)
		;
	return from;
}

static void merge_runs(const struct tapir_chunk_order *from, struct tapir_chunk_order *to,
		       size_t left, size_t mid, size_t end)
{
	size_t right = mid, at = left;

	while (at < end)
		to[at++] = left < mid && (right >= end || from[left].time_ns <= from[right].time_ns)
				   ? from[left++]
				   : from[right++];
}

/* Natural merge sort: a chunk is a few runs, one a ring and drain, each nearly sorted. */
static bool sort_records(struct tapir_chunk *chunk)
{
	size_t cnt = chunk->order_cnt;

	if (!chunk->spare)
		chunk->spare = malloc(chunk->order_cap * sizeof(*chunk->spare));
	if (!chunk->spare)
		return false;
	while (run_end(chunk->order, 0, cnt) < cnt) {
		struct tapir_chunk_order *merged = chunk->spare;

		for (size_t at = 0; at < cnt;) {
			size_t mid = run_end(chunk->order, at, cnt);
			size_t end = mid < cnt ? run_end(chunk->order, mid, cnt) : cnt;

			merge_runs(chunk->order, merged, at, mid, end);
			at = end;
		}
		chunk->spare = chunk->order;
		chunk->order = merged;
	}
	return true;
}

static bool is_packed(const struct tapir_chunk_ref *ref)
{
	return ref->h.flags & TAPIR_CHUNK_ZSTD;
}

int tapir_chunk__prepare(struct tapir_chunk *chunk, const struct tapir_chunk_ref *ref)
{
	const struct tapir_chunk_header *h = &ref->h;

	chunk->len = chunk->order_cnt = chunk->malformed = 0;
	if (h->raw_bytes > TAPIR_CHUNK_MAX_BYTES || h->stored_bytes > STORED_MAX_BYTES ||
	    (!is_packed(ref) && h->stored_bytes != h->raw_bytes))
		return 0;
	if (is_packed(ref) && !chunk->unpacker)
		chunk->unpacker = ZSTD_createDCtx();
	if (!make_chunk_room(&chunk->raw, &chunk->raw_cap, h->raw_bytes) ||
	    (is_packed(ref) &&
	     (!chunk->unpacker ||
	      !make_chunk_room(&chunk->stored, &chunk->stored_cap, h->stored_bytes))))
		return -ENOMEM;
	return 1;
}

int tapir_chunk__unpack(struct tapir_chunk *chunk, int fd, const struct tapir_chunk_ref *ref)
{
	const struct tapir_chunk_header *h = &ref->h;
	char *stored = is_packed(ref) ? chunk->stored : chunk->raw;
	ssize_t n = read_chunk_bytes(fd, stored, h->stored_bytes, ref->off + sizeof(*h));

	if (n < 0)
		return (int)n;
	if ((size_t)n < h->stored_bytes ||
	    libdeflate_crc32(0, stored, h->stored_bytes) != h->data_crc)
		return 0;
	if (is_packed(ref)) {
		size_t raw = ZSTD_decompressDCtx(chunk->unpacker, chunk->raw, h->raw_bytes, stored,
						 h->stored_bytes);

		if (ZSTD_isError(raw) || raw != h->raw_bytes)
			return 0;
	}
	chunk->len = h->raw_bytes;
	return 1;
}

int tapir_chunk__list(struct tapir_chunk *chunk)
{
	bool sorted;

	return list_records(chunk, &sorted) && (sorted || sort_records(chunk)) ? 1 : -ENOMEM;
}

int tapir_chunk__load(struct tapir_chunk *chunk, int fd, const struct tapir_chunk_ref *ref)
{
	int loaded = tapir_chunk__prepare(chunk, ref);

	if (loaded == 1)
		loaded = tapir_chunk__unpack(chunk, fd, ref);
	return loaded == 1 ? tapir_chunk__list(chunk) : loaded;
}
