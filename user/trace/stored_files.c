// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The list is made of the first bytes of each FILE chunk; content is read when a file is unpacked.
 * Parts of one build ID that are there twice count once: the first that begins where the last
 * ended.
 */
#include "trace/stored_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/keyed.h"
#include "trace/chunk.h"
#include "trace/writer.h"

#define MAX_PARTS	 65536u /* ten times those of TAPIR_STORED_MAX_BYTES */
#define ZSTD_LEVEL	 3
#define MEMORY_MAX_BYTES (512ull << 20) /* of files unpacked into memory */

struct part {
	struct tapir_chunk_ref ref;
	struct tapir_file_part h;
	uint8_t build_id[UINT8_MAX];
};

struct file {
	size_t first; /* part */
	uint64_t stored_bytes;
};

struct tapir_stored_files {
	int fd;
	struct tapir_vec(struct part) parts;
	struct tapir_keyed(struct file) files; /* by the hash of a build ID, the last one */
	struct tapir_chunk chunk;
	uint64_t unpacked_bytes, memory_bytes;
};

/* The compressed bytes follow after these. */
static size_t head_bytes(const struct tapir_file_part *h)
{
	return sizeof(*h) + (h->build_id_bytes + 7u) / 8 * 8;
}

static bool is_sound(const struct tapir_file_part *h, size_t len)
{
	return h->build_id_bytes && len >= head_bytes(h) &&
	       h->part_bytes <= TAPIR_FILE_PART_MAX_BYTES &&
	       h->file_bytes <= TAPIR_STORED_FILE_MAX_BYTES && h->off <= h->file_bytes &&
	       h->part_bytes <= h->file_bytes - h->off;
}

static bool has_id(const struct part *part, const uint8_t *build_id, size_t len)
{
	return part->h.build_id_bytes == len && !memcmp(part->build_id, build_id, len);
}

/* ---- the list ---------------------------------------------------------------------------- */

/* Reads the beginning of a FILE chunk; false: it makes no sense. */
static bool read_part(int fd, const struct tapir_chunk_ref *ref, struct part *out)
{
	uint64_t off = ref->off + sizeof(ref->h);

	out->ref = *ref;
	if (pread(fd, &out->h, sizeof(out->h), (off_t)off) != sizeof(out->h) ||
	    !is_sound(&out->h, ref->h.stored_bytes))
		return false;
	return pread(fd, out->build_id, out->h.build_id_bytes, (off_t)(off + sizeof(out->h))) ==
	       out->h.build_id_bytes;
}

/* NULL: there is no file of that build ID. */
static struct file *find_stored_file(const struct tapir_stored_files *files,
				     const uint8_t *build_id, size_t len)
{
	struct file *file = tapir_keyed__get(&files->files, tapir_hash__bytes(0, build_id, len));

	return file && has_id(&files->parts.data[file->first], build_id, len) ? file : NULL;
}

static int add_file(struct tapir_stored_files *files, const struct part *part)
{
	const struct file file = {.first = files->parts.cnt};
	uint64_t hash = tapir_hash__bytes(0, part->build_id, part->h.build_id_bytes);

	tapir_keyed__forget(&files->files, hash);
	return tapir_keyed__add(&files->files, hash, UINT32_MAX, file) ? 0 : -ENOMEM;
}

/* A part without a first one is none of a file. */
static int add_part(struct tapir_stored_files *files, const struct part *part)
{
	struct file *file = find_stored_file(files, part->build_id, part->h.build_id_bytes);
	int err = 0;

	if (files->parts.cnt == MAX_PARTS || (!file && part->h.off))
		return 0;
	if (!file)
		err = add_file(files, part);
	if (err)
		return err;
	file = file ? file : &files->files.data[files->files.cnt - 1];
	file->stored_bytes += part->ref.h.stored_bytes;
	return tapir_vec__push(&files->parts, *part) ? 0 : -ENOMEM;
}

static int list(struct tapir_stored_files *files)
{
	struct tapir_chunk_walk walk;
	struct tapir_chunk_ref ref;
	struct part part;
	int more, err = tapir_chunk_walk__start(&walk, files->fd);

	while (!err && (more = tapir_chunk_walk__next(&walk, &ref)) != 0) {
		if (more < 0)
			return more;
		if (ref.h.type == TAPIR_CHUNK_FILE && read_part(files->fd, &ref, &part))
			err = add_part(files, &part);
	}
	return err;
}

int tapir_stored_files__open(int fd, struct tapir_stored_files **out)
{
	struct tapir_stored_files *files = calloc(1, sizeof(*files));
	int err;

	if (!files)
		return -ENOMEM;
	files->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	err = files->fd < 0 ? tapir_diag__fail(-errno, "cannot read the recording: %s",
					       tapir_errno__text(-errno))
			    : list(files);
	if (err)
		tapir_stored_files__close(files);
	else
		*out = files;
	return err;
}

void tapir_stored_files__close(struct tapir_stored_files *files)
{
	if (!files)
		return;
	tapir_vec__fini(&files->parts);
	tapir_keyed__fini(&files->files);
	tapir_chunk__fini(&files->chunk);
	tapir_guard__fd(&files->fd);
	free(files);
}

bool tapir_stored_files__get(const struct tapir_stored_files *files, size_t idx,
			     struct tapir_stored_file *out)
{
	const struct part *first;

	if (idx >= files->files.cnt)
		return false;
	first = &files->parts.data[files->files.data[idx].first];
	*out = (struct tapir_stored_file){.build_id = first->build_id,
					  .build_id_bytes = first->h.build_id_bytes,
					  .bytes = first->h.file_bytes,
					  .stored_bytes = files->files.data[idx].stored_bytes};
	return true;
}

bool tapir_stored_files__has(const struct tapir_stored_files *files, const uint8_t *build_id,
			     size_t build_id_bytes)
{
	return find_stored_file(files, build_id, build_id_bytes);
}

/* ---- a file ------------------------------------------------------------------------------ */

/* Loads a chunk by its CRC; what it holds may still be nonsense. 1, 0: it is damaged, -errno. */
static int load(struct tapir_chunk *chunk, int fd, const struct tapir_chunk_ref *ref)
{
	int loaded = ref->h.flags & TAPIR_CHUNK_ZSTD ? 0 : tapir_chunk__prepare(chunk, ref);

	return loaded == 1 ? tapir_chunk__unpack(chunk, fd, ref) : loaded;
}

/* Unpacks a part into room for one. The header may have changed since the file was listed. */
static int unpack_part(struct tapir_stored_files *files, const struct part *part, char *room)
{
	size_t head = head_bytes(&part->h), n;
	int loaded = load(&files->chunk, files->fd, &part->ref);

	if (loaded < 0)
		return loaded;
	if (!loaded || files->chunk.len < head ||
	    memcmp(files->chunk.raw, &part->h, sizeof(part->h)) != 0)
		return -EBADMSG;
	n = ZSTD_decompress(room, part->h.part_bytes, files->chunk.raw + head,
			    files->chunk.len - head);
	return !ZSTD_isError(n) && n == part->h.part_bytes ? 0 : -EBADMSG;
}

static int unpack_parts(struct tapir_stored_files *files, const struct part *first, char *room,
			int fd)
{
	const struct part *part;
	uint64_t done = 0;
	int err = 0;

	tapir_vec_for_each (part, &files->parts) {
		if (err || part->h.off != done || part->h.file_bytes != first->h.file_bytes ||
		    !has_id(part, first->build_id, first->h.build_id_bytes))
			continue;
		err = unpack_part(files, part, room);
		if (!err)
			err = tapir_file__write_all(fd, room, part->h.part_bytes);
		done += part->h.part_bytes;
	}
	return !err && done != first->h.file_bytes ? -EBADMSG : err;
}

/* Files go to memory if there is no directory for temporary ones: a root with tapir alone. */
static int new_file(struct tapir_stored_files *files, uint64_t bytes)
{
	int fd = tapir_file__temporary();

	if (fd >= 0)
		return fd;
	if (bytes > MEMORY_MAX_BYTES - files->memory_bytes)
		return -ENOSPC;
	files->memory_bytes += bytes;
	fd = memfd_create("tapir-stored", MFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int unpack(struct tapir_stored_files *files, const struct part *first)
{
	tapir_autofree char *room = malloc(TAPIR_FILE_PART_MAX_BYTES);
	int fd, err;

	if (first->h.file_bytes > TAPIR_STORED_MAX_BYTES - files->unpacked_bytes)
		return -EFBIG;
	files->unpacked_bytes += first->h.file_bytes;
	fd = room ? new_file(files, first->h.file_bytes) : -ENOMEM;
	if (fd < 0)
		return fd;
	err = unpack_parts(files, first, room, fd);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int tapir_stored_files__unpack(struct tapir_stored_files *files, const uint8_t *build_id,
			       size_t build_id_bytes)
{
	const struct file *file = find_stored_file(files, build_id, build_id_bytes);
	int mark = tapir_diag__cnt();
	int fd = file ? unpack(files, &files->parts.data[file->first]) : -ENOENT;

	tapir_diag__rewind(mark);
	return fd;
}

/* ---- writing ----------------------------------------------------------------------------- */

/* Room for one part, not compressed and as it is put. */
struct packing {
	char *plain, *packed;
	size_t packed_cap;
	struct tapir_file_part *h; /* in packed */
};

static int put_part(struct tapir_writer *w, const struct tapir_stored_source *source,
		    struct packing *p)
{
	size_t want = source->bytes - p->h->off < TAPIR_FILE_PART_MAX_BYTES
			      ? source->bytes - p->h->off
			      : TAPIR_FILE_PART_MAX_BYTES;
	size_t head = head_bytes(p->h), n;
	ssize_t got = pread(source->fd, p->plain, want, (off_t)p->h->off);
	int err;

	if (got <= 0)
		return tapir_diag__fail(got < 0 ? -errno : -EIO, "cannot read a debug file: %s",
					got < 0 ? tapir_errno__text(-errno) : "it became shorter");
	p->h->part_bytes = (uint32_t)got;
	n = ZSTD_compress(p->packed + head, p->packed_cap - head, p->plain, (size_t)got,
			  ZSTD_LEVEL);
	if (ZSTD_isError(n))
		return -EIO;
	err = tapir_writer__put_file(w, p->packed, head + n);
	p->h->off += p->h->part_bytes;
	return err;
}

static int put_parts(struct tapir_writer *w, const struct tapir_stored_source *source,
		     struct packing *p, const struct tapir_stored_check *check)
{
	uint64_t done = 0;
	int err = 0;

	p->h = (struct tapir_file_part *)p->packed;
	*p->h = (struct tapir_file_part){.file_bytes = source->bytes,
					 .build_id_bytes = (uint8_t)source->build_id_bytes};
	memset(p->h + 1, 0, head_bytes(p->h) - sizeof(*p->h));
	memcpy(p->h + 1, source->build_id, source->build_id_bytes);
	while (!err && done < source->bytes) {
		err = check->check(check->ctx);
		err = err ? err : put_part(w, source, p);
		done = p->h->off;
	}
	return err;
}

int tapir_stored_files__put(struct tapir_writer *w, const struct tapir_stored_source *source,
			    const struct tapir_stored_check *check)
{
	struct packing p = {.packed_cap = ZSTD_compressBound(TAPIR_FILE_PART_MAX_BYTES) +
					  sizeof(struct tapir_file_part) + UINT8_MAX + 1};
	int err = -ENOMEM;

	p.plain = malloc(TAPIR_FILE_PART_MAX_BYTES);
	p.packed = malloc(p.packed_cap);
	if (p.plain && p.packed)
		err = put_parts(w, source, &p, check);
	free(p.plain);
	free(p.packed);
	return err;
}

static int copy_part(struct tapir_stored_files *files, const struct part *part,
		     struct tapir_writer *w, struct tapir_map *have)
{
	uint64_t hash = tapir_hash__mix(part->h.off, part->h.file_bytes);
	int loaded = load(&files->chunk, files->fd, &part->ref);
	bool is_new = false;

	hash = tapir_hash__bytes(hash, part->build_id, part->h.build_id_bytes);
	if (loaded <= 0)
		return loaded;
	if (!tapir_map__put(have, hash, &is_new))
		return -ENOMEM;
	return is_new ? tapir_writer__put_file(w, files->chunk.raw, files->chunk.len) : 0;
}

int tapir_stored_files__copy(int fd, struct tapir_writer *w, struct tapir_map *have,
			     const struct tapir_stored_check *check)
{
	struct tapir_stored_files *files;
	const struct part *part;
	int err = tapir_stored_files__open(fd, &files);

	if (err)
		return err;
	tapir_vec_for_each (part, &files->parts) {
		err = err ? err : check->check(check->ctx);
		err = err ? err : copy_part(files, part, w, have);
	}
	tapir_stored_files__close(files);
	return err;
}
