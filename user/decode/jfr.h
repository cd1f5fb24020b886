/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jfr.h - a JDK Flight Recorder file in memory: its events of one type, and values within them.
 *
 * The format, as JDK 17 and 25 write it (version 2.x). A file is chunks. A chunk: "FLR\0", u16
 * major and minor, then 64-bit big-endian numbers: size, offsets of the last constant pool and of
 * the metadata, times; u32 features, whose bit 0 says that numbers are compressed (7 bits a byte,
 * the least significant first, a ninth byte whole). Events follow: size, type, fields. Type 0 is
 * the metadata: strings, and a tree of elements whose "class" has an id, a name and fields; a field
 * has a class, is an array (dimension 1), or a key of a constant pool. Type 1 is constant pools:
 * class, count, and for each value a key. A class without fields is a number, a text, or nothing.
 *
 * A hostile file: nothing is read outside its bytes, each step is counted (JFR_STEPS), nesting is
 * bounded; what is wrong ends the chunk. One thread.
 */
#ifndef TAPIR_USER_JFR_H
#define TAPIR_USER_JFR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/keyed.h"
#include "base/str.h"
#include "base/vec.h"
#include "trace/record.h"

#define TAPIR_JFR_MAX_BYTES (64u << 20)

struct tapir_jfr_field {
	struct tapir_sv name;
	uint64_t class_id;
	bool is_pool, is_array;
};

struct tapir_jfr_class {
	uint64_t id;
	struct tapir_sv name;
	size_t first, cnt; /* in fields */
};

struct tapir_jfr {
	const uint8_t *data; /* of the chunk, borrowed */
	size_t len;
	uint64_t steps_left;
	bool is_bad;
	bool failed; /* no memory */
	struct tapir_vec(struct tapir_sv) texts;
	struct tapir_keyed(struct tapir_jfr_class) classes; /* by id */
	struct tapir_vec(struct tapir_jfr_field) fields;
	struct tapir_map pool; /* class and key -> offset of the value */
};

/* A value in the chunk. at 0: there is none. */
struct tapir_jfr_value {
	size_t at;
	uint64_t class_id;
	bool is_pool, is_array;
};

typedef void (*tapir_jfr_fn)(void *ctx, struct tapir_jfr *j, struct tapir_jfr_value event);

/*
 * Calls fn for each event of the type, of all chunks. 0; -EPROTO: what followed could not be read
 * (fn was called for what came before), -ENOMEM.
 */
int tapir_jfr__each(const void *data, size_t len, const char *type, tapir_jfr_fn fn, void *ctx);

/*
 * Returns a member of a value, its constant looked up. at 0: it has none of that name, or it is
 * null.
 */
struct tapir_jfr_value tapir_jfr__field(struct tapir_jfr *j, struct tapir_jfr_value of,
					const char *name);
/* Elements of an array: returns how many, and then one per call of __next. */
uint64_t tapir_jfr__elements(struct tapir_jfr *j, struct tapir_jfr_value *array);
struct tapir_jfr_value tapir_jfr__next(struct tapir_jfr *j, struct tapir_jfr_value *array);
/* Returns a text in the chunk; empty where it is no text, or one of UTF-16 units beyond ASCII. */
struct tapir_sv tapir_jfr__text(struct tapir_jfr *j, struct tapir_jfr_value v);

#endif
