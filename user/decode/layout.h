/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout.h - the layout of a PACKED payload: one field after the other, as a runtime's manifest or
 * its metadata blob describes them.
 *
 * Only data. Three makers: the tables compiled in (made by tapir-manifest from usdt/manifests), a
 * manifest read at run time (manifest.h) and an EventPipe metadata blob (event_blob.h). One reader:
 * packed.h. Names are NUL-terminated UTF-8; everything is borrowed from its maker. Constant once it
 * is made: any thread.
 */
#ifndef TAPIR_USER_LAYOUT_H
#define TAPIR_USER_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

/* Order as in tapir_layout_type__name and in the generated tables. */
#define TAPIR_LAYOUT_TYPES(X)                                                                      \
	X(U8, 1)                                                                                   \
	X(I8, 1)                                                                                   \
	X(U16, 2)                                                                                  \
	X(I16, 2)                                                                                  \
	X(U32, 4)                                                                                  \
	X(I32, 4)                                                                                  \
	X(U64, 8)                                                                                  \
	X(I64, 8)                                                                                  \
	X(F32, 4)                                                                                  \
	X(F64, 8)                                                                                  \
	X(PTR, 8)                                                                                  \
	X(BOOL32, 4)                                                                               \
	X(BOOL8, 1)                                                                                \
	X(CHAR16, 2)                                                                               \
	X(GUID, 16)                                                                                \
	X(FILETIME, 8)                                                                             \
	X(SYSTEMTIME, 16)                                                                          \
	X(DECIMAL, 16)                                                                             \
	X(UTF16, 0)  /* NUL-terminated */                                                          \
	X(UTF8, 0)   /* NUL-terminated */                                                          \
	X(UTF16N, 0) /* repeat gives the number of characters */                                   \
	X(UTF8N, 0)                                                                                \
	X(BINARY, 0) /* repeat gives the number of bytes */                                        \
	X(STRUCT, 0)

enum tapir_layout_type {
#define TAPIR_X(name, bytes) TAPIR_LAYOUT_##name,
	TAPIR_LAYOUT_TYPES(TAPIR_X)
#undef TAPIR_X
		TAPIR_LAYOUT_TYPE_CNT
};

/* The number of times that a field occurs (for UTF16N, UTF8N and BINARY: its length). */
enum tapir_layout_repeat {
	TAPIR_REPEAT_ONCE,
	TAPIR_REPEAT_FIXED, /* count times */
	TAPIR_REPEAT_FIELD, /* as often as the value of the earlier sibling with index count */
	TAPIR_REPEAT_U16,   /* a number before it gives the count */
	TAPIR_REPEAT_U32
};

/* Only that many first fields of a level can be referred to by others. */
#define TAPIR_LAYOUT_REFERABLE 128
#define TAPIR_LAYOUT_DEPTH     12 /* levels below the payload */

/* The name of a value; in a bit map, of the bits of value under mask (or under value). */
struct tapir_layout_value {
	const char *name;
	uint32_t value;
	uint32_t mask; /* bit maps: the bits that must be equal */
};

struct tapir_layout_map {
	const char *name;
	const struct tapir_layout_value *values;
	uint16_t value_cnt;
	uint8_t is_bits;
};

struct tapir_layout_field {
	const char *name;
	const struct tapir_layout_map *map; /* NULL: a number is a number */
	/* STRUCT: its fields. BINARY with named_by: what it may be, STRUCTs by their names */
	const struct tapir_layout_field *members;
	uint16_t member_cnt;
	uint16_t count;	    /* see tapir_layout_repeat */
	uint16_t min_bytes; /* minimum size of an element; 0: it may be empty */
	uint8_t type;	    /* enum tapir_layout_type */
	uint8_t repeat;	    /* enum tapir_layout_repeat */
	uint8_t named_by;   /* BINARY: 1 + the number of the sibling (a string) that names it */
};

struct tapir_layout_event {
	const char *name; /* public: the symbol without _Vn */
	const char *symbol;
	const char *task;   /* "": none */
	const char *opcode; /* "Start"; "": none */
	const struct tapir_layout_field *fields;
	uint64_t keywords;
	uint16_t field_cnt;
	uint16_t id;
	uint8_t version;
	uint8_t level;
};

struct tapir_layout_keyword {
	const char *name;
	uint64_t mask;
};

struct tapir_layout_provider {
	const char *name;
	uint8_t guid[16]; /* as on the wire */
	const struct tapir_layout_keyword *keywords;
	const struct tapir_layout_event *events; /* by id, then version */
	uint16_t keyword_cnt;
	uint16_t event_cnt;
};

/* "U32"; static. NULL: no such type. */
const char *tapir_layout_type__name(unsigned type);
/* Returns the bytes of one value; 0: it depends on the payload. */
unsigned tapir_layout_type__bytes(unsigned type);

#endif
