/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * schema.h - every type of record, described once: its size, what follows its fixed part, which
 * thread it is about, its members. Checks of records, lines of text and JSON, tables of SQL and the
 * page of the format read this table, and no other list of members exists.
 *
 * A record of a new type has a struct in abi.h and a row here. It then has a line of text
 * ("NAME key=value ...", the stack below), one of JSON and, where .table names one, a table of SQL,
 * with its members in the order of the row.
 */
#ifndef TAPIR_USER_SCHEMA_H
#define TAPIR_USER_SCHEMA_H

#include "trace/record.h"

enum tapir_member_type {
	TAPIR_MEMBER_UINT,   /* 1, 2, 4 or 8 bytes; or .value has it */
	TAPIR_MEMBER_INT,    /* 4 or 8 bytes */
	TAPIR_MEMBER_REAL,   /* a double */
	TAPIR_MEMBER_CHARS,  /* an array of char, NUL-padded */
	TAPIR_MEMBER_HIDDEN, /* not shown */
	TAPIR_MEMBER_FLAG,   /* of a UINT, the bits of .aux */
	TAPIR_MEMBER_HEX,    /* an address, for people */
	TAPIR_MEMBER_WORD,   /* .word has it; NULL: it has none */
	/* Texts after the fixed part. */
	TAPIR_MEMBER_TEXT, /* the member is the length of a part */
	TAPIR_MEMBER_LIST, /* the same: texts that are separated by NUL */
	TAPIR_MEMBER_TAIL, /* after all parts, up to a NUL each: the one that .aux counts */
	/* Found by what the record holds, in output/. */
	TAPIR_MEMBER_BYTES,    /* as hex; the number of bytes is at .aux, one byte */
	TAPIR_MEMBER_CPU,      /* of the header */
	TAPIR_MEMBER_COMM,     /* name of the process of this id, of which .aux is the thread */
	TAPIR_MEMBER_THREAD,   /* name of the thread of this id */
	TAPIR_MEMBER_PROVIDER, /* of the probe of this id */
	TAPIR_MEMBER_EVENT,
	TAPIR_MEMBER_LANE,
	TAPIR_MEMBER_ARGS, /* values of the event's fields */
	TAPIR_MEMBER_TRACE_ID,
	TAPIR_MEMBER_SPAN_ID,
	TAPIR_MEMBER_STACK,    /* frames of the stack of this id */
	TAPIR_MEMBER_KSTACK,   /* of tapir_rec__kstack_id */
	TAPIR_MEMBER_FUNCTION, /* innermost function of both */
	TAPIR_MEMBER_FUNCTIONS,
	TAPIR_MEMBER_SESSION,  /* a TAIL: decode/postgresql_text.h */
	TAPIR_MEMBER_RESOURCE, /* a TEXT: decode/otel_resource.h */
	TAPIR_MEMBER_IO_FILE,  /* of a block request: decode/io_text.h */
	TAPIR_MEMBER_IO_FLAGS,
	TAPIR_MEMBER_ADDRESS, /* 16 bytes, IPv6; the port is at .aux: decode/net_text.h */
};

#define TAPIR_MEMBER_0_IS_NULL (1u << 0) /* 0: not known */
#define TAPIR_MEMBER_JSON_0    (1u << 1) /* with the above: JSON has 0 as a number */
#define TAPIR_MEMBER_OPTIONAL  (1u << 2) /* JSON has no member for NULL, 0 or false */
#define TAPIR_MEMBER_NS	       (1u << 3) /* a duration */

struct tapir_member {
	const char *name;	 /* in the struct of abi.h; NULL: it is made */
	const char *description; /* also the column's description */
	uint16_t offset, bytes;
	uint16_t aux;
	uint8_t type;  /* enum tapir_member_type */
	uint8_t flags; /* TAPIR_MEMBER_* */
	/* The member has these names in JSON and SQL, and this before it in text; NULL: it is not
	 * there. */
	const char *key, *column, *lead;
	const char *(*word)(const struct tapir_rec *rec);
	uint64_t (*value)(const struct tapir_rec *rec);
	bool (*is_there)(const struct tapir_rec *rec); /* NULL: always */
};

/* A part after the fixed one: the member at the offset has its length in units. */
struct tapir_schema_part {
	uint16_t offset;
	uint8_t bytes; /* of the member; 0: there is no more */
	uint8_t unit;
};

#define TAPIR_SCHEMA_PARTS 4

/* A process and thread that a record names: where its fixed part says so. 0: it does not. */
struct tapir_schema_ids {
	uint16_t tgid_off, tid_off, stack_id_off, kstack_id_off;
};

struct tapir_schema {
	const char *name;	 /* "switch" */
	const char *description; /* "a context switch" */
	const char *after;	 /* what follows its fixed part, for people; NULL: nothing */
	uint16_t bytes;		 /* of its fixed part; 0: there is no such type */
	bool describes;		 /* what ids mean: it is in DESCRIPTIONS chunks (trace_format.h) */
	bool has_line;		 /* of text and JSON; of a type that describes, JSON alone */
	bool has_trace_ids;	 /* its last 24 bytes, if it is that much larger than its parts */
	const char *title;	 /* of its line of text; NULL: the name */
	/* A table of SQL; NULL: there is none. SQLite plans with usual_rows. */
	const char *table, *table_description;
	uint32_t usual_rows;
	struct tapir_schema_part parts[TAPIR_SCHEMA_PARTS];
	/* The thread that caused the record, and another one that needs a name as well. */
	struct tapir_schema_ids ids[2];
	const struct tapir_member *members; /* ended by one without key, column and name */
};

extern const struct tapir_schema tapir_schemas[TAPIR_REC_TYPE_CNT];

/* Returns that of an unknown type, which has no bytes and no members, beyond the table. */
static inline const struct tapir_schema *tapir_schema__of(unsigned type)
{
	return &tapir_schemas[type < TAPIR_REC_TYPE_CNT ? type : TAPIR_REC_NONE];
}

static inline bool tapir_member__ends(const struct tapir_member *member)
{
	return !member->key && !member->column && !member->name;
}

/* The bytes that the lengths of a record say follow its fixed part, which is there. */
uint64_t tapir_schema__part_bytes(const struct tapir_schema *schema, const struct tapir_rec *rec);

enum tapir_member_kind {
	TAPIR_MEMBER_IS_NULL,
	TAPIR_MEMBER_IS_U64,
	TAPIR_MEMBER_IS_I64,
	TAPIR_MEMBER_IS_F64,
	TAPIR_MEMBER_IS_BOOL,
	TAPIR_MEMBER_IS_TEXT, /* not empty; borrowed from the record, or static */
};

struct tapir_member_value {
	uint8_t kind; /* enum tapir_member_kind */
	union {
		uint64_t u64;
		int64_t i64;
		double f64;
		struct tapir_sv text;
	};
};

/* Reads a member of a well-formed record. NULL: it is not there, not known, or of a type that
 * output/ finds. */
struct tapir_member_value tapir_member__read(const struct tapir_member *member,
					     const struct tapir_rec *rec);
struct tapir_member_value tapir_member_value__of_text(struct tapir_sv text); /* empty: NULL */

#endif
