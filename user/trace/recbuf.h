/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recbuf.h - builds records in user space, one at a time, in a buffer that is reused.
 *
 * The caller fills the fixed part (times, ids, cpu); the builder sets type, size, the lengths and
 * the padding and appends the strings. A string that is longer than the record allows is cut, at a
 * character's edge. The result is borrowed until the next use of the buffer; NULL: out of memory,
 * or more fields than a record holds. One thread for each buffer; a buffer of zeros is empty.
 */
#ifndef TAPIR_USER_RECBUF_H
#define TAPIR_USER_RECBUF_H

#include "trace/record.h"

struct tapir_recbuf {
	uint64_t *data;
	size_t cap_bytes;
};

/* Frees the buffer, and with it the record that was built last. */
void tapir_recbuf__fini(struct tapir_recbuf *b);

/* Strings are cut at this many bytes; a PROBE's at fewer, since it has more of them. */
#define TAPIR_RECBUF_STR_BYTES	      28672
#define TAPIR_RECBUF_PROBE_STR_BYTES  4096
#define TAPIR_RECBUF_FIELD_NAME_BYTES 64
#define TAPIR_RECBUF_FIELD_CNT	      1024

/* fields[i].name_len is set from names[i]; names may be NULL. */
const struct tapir_rec *tapir_recbuf__probe(struct tapir_recbuf *b,
					    const struct tapir_rec_probe *fixed,
					    struct tapir_sv provider, struct tapir_sv event,
					    struct tapir_sv file, struct tapir_sv build_id,
					    const struct tapir_field *fields,
					    const struct tapir_sv *names, unsigned field_cnt);
/*
 * Strings of these are cut at TAPIR_RECBUF_STR_BYTES each, so that the record stays below
 * TAPIR_MAX_RECORD_BYTES.
 */
const struct tapir_rec *tapir_recbuf__process(struct tapir_recbuf *b,
					      const struct tapir_rec_process *fixed,
					      struct tapir_sv comm, struct tapir_sv exe,
					      struct tapir_sv cmdline, struct tapir_sv cgroup);
/* payload: at most TAPIR_RESOURCE_MAX_BYTES, not cut: NULL if it is longer. */
const struct tapir_rec *tapir_recbuf__resource(struct tapir_recbuf *b,
					       const struct tapir_rec_resource *fixed,
					       struct tapir_sv payload);
const struct tapir_rec *tapir_recbuf__mapping(struct tapir_recbuf *b,
					      const struct tapir_rec_mapping *fixed,
					      struct tapir_sv path);
const struct tapir_rec *tapir_recbuf__symbol(struct tapir_recbuf *b,
					     const struct tapir_rec_symbol *fixed,
					     struct tapir_sv name);
const struct tapir_rec *tapir_recbuf__inlined(struct tapir_recbuf *b,
					      const struct tapir_rec_jit *fixed,
					      struct tapir_sv names);
const struct tapir_rec *tapir_recbuf__jit(struct tapir_recbuf *b, const struct tapir_rec_jit *fixed,
					  struct tapir_sv name);
const struct tapir_rec *tapir_recbuf__counter(struct tapir_recbuf *b,
					      const struct tapir_rec_counter *fixed,
					      struct tapir_sv provider, struct tapir_sv name,
					      struct tapir_sv unit, struct tapir_sv tags);
const struct tapir_rec *tapir_recbuf__gap(struct tapir_recbuf *b, const struct tapir_rec_gap *fixed,
					  struct tapir_sv path);
/*
 * The path in two parts, which are stored one after the other: where a file system is mounted, and
 * the path below that.
 */
const struct tapir_rec *tapir_recbuf__io(struct tapir_recbuf *b, const struct tapir_rec_io *fixed,
					 struct tapir_sv path_start, struct tapir_sv path_rest);
const struct tapir_rec *tapir_recbuf__wait(struct tapir_recbuf *b,
					   const struct tapir_wait_view *view);
/* key and value, each cut like a path: what and how was recorded (record/meta.h). */
const struct tapir_rec *tapir_recbuf__meta(struct tapir_recbuf *b, uint64_t time_ns,
					   struct tapir_sv key, struct tapir_sv value);
/* blob: at most TAPIR_MAX_RECORD_BYTES less the fixed part, not cut: NULL if it is longer. */
const struct tapir_rec *tapir_recbuf__metadata(struct tapir_recbuf *b,
					       const struct tapir_rec_metadata *fixed,
					       struct tapir_sv blob);
/* frames_va: frame_cnt addresses, the innermost first. */
const struct tapir_rec *tapir_recbuf__stack(struct tapir_recbuf *b,
					    const struct tapir_rec_stack *fixed,
					    const uint64_t *frames_va, unsigned frame_cnt);
/* fixed->flags says which of kstack_id, activity_id, related_id and trace are present. */
const struct tapir_rec *tapir_recbuf__event(struct tapir_recbuf *b,
					    const struct tapir_event_view *view);

/* Records without a variable part need no buffer: type and size are filled in. */
void tapir_rec__init(struct tapir_rec *rec, enum tapir_rec_type type, size_t bytes,
		     uint64_t time_ns);
/* A CLOCK record of this moment. */
void tapir_rec_clock__now(struct tapir_rec_clock *clock);

#endif
