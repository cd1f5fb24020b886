/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jfr.h - a JDK Flight Recorder file in memory, chunk by chunk: its events, and values within them.
 *
 * The format, as JDK 17 and 25 write it (version 2.x). A file is chunks. A chunk: "FLR\0", u16
 * major and minor, then 64-bit big-endian numbers: size, offsets of the last constant pool and of
 * the metadata, times; u32 features, whose bit 0 says that numbers are compressed (7 bits a byte,
 * the least significant first, a ninth byte whole). Events follow: size, type, fields. Type 0 is
 * the metadata: strings, and a tree of elements whose "class" has an id, a name and fields; a field
 * has a class, is an array (dimension 1), or a key of a constant pool, and is annotated with its
 * unit (Timespan, Timestamp: "TICKS", "MILLISECONDS") or as Unsigned. Type 1 is constant pools:
 * class, count, and for each value a key. A class without fields is a number, a text, or nothing.
 *
 * A hostile file: nothing is read outside its bytes, there are 64 steps for each byte at most,
 * nesting is bounded; what is wrong ends the chunk. One thread.
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

#define TAPIR_JFR_MAX_BYTES  (64u << 20)
#define TAPIR_JFR_HEAD_BYTES 68u

enum tapir_jfr_unit {
	TAPIR_JFR_UNIT_NONE,
	TAPIR_JFR_UNIT_TICKS_SINCE, /* a point of time */
	TAPIR_JFR_UNIT_TICKS,	    /* a length of time */
	TAPIR_JFR_UNIT_MS,	    /* a length of time, in milliseconds */
};

/* The kind of a value, by its class. */
enum tapir_jfr_kind {
	TAPIR_JFR_NOTHING,
	TAPIR_JFR_LONG,
	TAPIR_JFR_INT,
	TAPIR_JFR_SHORT,
	TAPIR_JFR_CHAR,
	TAPIR_JFR_BOOLEAN,
	TAPIR_JFR_BYTE,
	TAPIR_JFR_FLOAT,
	TAPIR_JFR_DOUBLE,
	TAPIR_JFR_TEXT,
	TAPIR_JFR_MEMBERS
};

struct tapir_jfr_field {
	struct tapir_sv name;
	uint64_t class_id;
	bool is_pool, is_array, is_unsigned;
	enum tapir_jfr_unit unit;
};

struct tapir_jfr_annotation {
	size_t field; /* its index in fields */
	uint64_t class_id;
	struct tapir_sv value;
};

struct tapir_jfr_class {
	uint64_t id;
	struct tapir_sv name;
	size_t first, cnt; /* in fields */
};

struct tapir_jfr {
	const uint8_t *data; /* of the chunk, borrowed */
	size_t len;
	uint64_t utc_ns, ticks, ticks_per_sec; /* the chunk's beginning, twice, and its clock */
	uint64_t steps_left;
	bool is_bad;
	bool failed; /* no memory */
	struct tapir_vec(struct tapir_sv) texts;
	struct tapir_keyed(struct tapir_jfr_class) classes; /* by id */
	struct tapir_vec(struct tapir_jfr_field) fields;
	struct tapir_vec(struct tapir_jfr_annotation) annotations;
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
 * Returns the bytes of the chunk whose first 16 bytes these are; 0: it is none, or is being
 * written.
 */
uint64_t tapir_jfr_chunk__bytes(const uint8_t *head);
/*
 * Reads what describes a whole chunk of len bytes, which stay until __close. 0; -EPROTO: it cannot
 * be read; -ENOMEM. __close frees in each case.
 */
int tapir_jfr_chunk__open(struct tapir_jfr *j, const void *data, size_t len);
void tapir_jfr_chunk__close(struct tapir_jfr *j);
/*
 * Calls fn for each event of the type, or for each at all if that is NULL, in the order of the
 * chunk, which is not that of time. is_bad says afterwards that the rest could not be read.
 */
void tapir_jfr_chunk__each(struct tapir_jfr *j, const char *type, tapir_jfr_fn fn, void *ctx);

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
/* The class of a value, borrowed until __close; NULL: there is no value, or no such class. */
const struct tapir_jfr_class *tapir_jfr__class(const struct tapir_jfr *j, struct tapir_jfr_value v);
enum tapir_jfr_kind tapir_jfr__kind(const struct tapir_jfr_class *cls);
/*
 * Returns the member that the field describes, which is at *at, and moves *at behind it. *at begins
 * at that of the value whose class has the fields, the first of them first.
 */
struct tapir_jfr_value tapir_jfr__take_member(struct tapir_jfr *j,
					      const struct tapir_jfr_field *field, size_t *at);
/*
 * Returns a number's 64 bits: those of a float are its own 32, a smaller integer is extended by its
 * sign, or by zeros if is_unsigned. 0 where it is none.
 */
uint64_t tapir_jfr__number(struct tapir_jfr *j, struct tapir_jfr_value v, bool is_unsigned);
/* Returns a text in the chunk; empty where it is no text, or one of UTF-16 units beyond ASCII. */
struct tapir_sv tapir_jfr__text(struct tapir_jfr *j, struct tapir_jfr_value v);
/*
 * Returns the text of a member that is a symbol of the JVM, as the names of classes and methods
 * are: a value whose member "string" is the text. A member that is a text itself is returned as it
 * is. As __text.
 */
struct tapir_sv tapir_jfr__symbol(struct tapir_jfr *j, struct tapir_jfr_value of, const char *name);

#endif
