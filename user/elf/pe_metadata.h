/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pe_metadata.h - the metadata of a .NET assembly (ECMA-335, partition II, 22 to 24) as tables
 * of numbers, names and blobs. Only what can be asked of it is here; what it means is
 * dotnet_assembly.h's.
 *
 * Files are untrusted: every access is checked, and what is outside the file reads as 0, "" or no
 * blob. Pure.
 */
#ifndef TAPIR_USER_PE_METADATA_H
#define TAPIR_USER_PE_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tapir_md_table {
	TAPIR_MD_MODULE = 0x00,
	TAPIR_MD_TYPE_REF = 0x01,
	TAPIR_MD_TYPE_DEF = 0x02,
	TAPIR_MD_FIELD = 0x04,
	TAPIR_MD_METHOD = 0x06,
	TAPIR_MD_MEMBER_REF = 0x0a,
	TAPIR_MD_CONSTANT = 0x0b,
	TAPIR_MD_CUSTOM_ATTRIBUTE = 0x0c,
	TAPIR_MD_ASSEMBLY_REF = 0x23,
	TAPIR_MD_NESTED_CLASS = 0x29,
};

/* Columns of some of them, by ECMA-335 II.22. */
enum { TAPIR_MD_MODULE_NAME = 1 };
enum {
	TAPIR_MD_TYPE_FLAGS,
	TAPIR_MD_TYPE_NAME,
	TAPIR_MD_TYPE_SPACE,
	TAPIR_MD_TYPE_BASE,
	TAPIR_MD_TYPE_FIELDS,
	TAPIR_MD_TYPE_METHODS,
};
enum { TAPIR_MD_METHOD_NAME = 3, TAPIR_MD_METHOD_SIG = 4 };
enum { TAPIR_MD_MEMBER_NAME = 1, TAPIR_MD_MEMBER_SIG = 2 };
enum { TAPIR_MD_ASSEMBLY_NAME = 6 };

#define TAPIR_MD_TABLES	 64
#define TAPIR_MD_COLUMNS 9

struct tapir_md_layout {
	const uint8_t *rows;
	uint32_t row_cnt;
	uint16_t row_bytes; /* 0: beyond the tables that are understood */
	uint8_t offs[TAPIR_MD_COLUMNS], widths[TAPIR_MD_COLUMNS];
};

struct tapir_metadata {
	const uint8_t *strings, *blobs;
	size_t string_bytes, blob_bytes;
	struct tapir_md_layout tables[TAPIR_MD_TABLES];
};

/* A row of a table; row 0 means none. */
struct tapir_md_ref {
	uint8_t table;
	uint32_t row;
};

struct tapir_md_blob {
	const uint8_t *data;
	size_t len;
};

/* Reads the table's layout; bytes are borrowed. 0 or -EPROTO without a line. */
int tapir_metadata__init(struct tapir_metadata *m, const uint8_t *bytes, size_t len);

static inline uint32_t tapir_metadata__rows(const struct tapir_metadata *m,
					    enum tapir_md_table table)
{
	return m->tables[table].row_cnt;
}

/*
 * Return a number, a string, a blob. Rows count from 1, columns from 0; 0, "" or an empty blob:
 * there is no such. Borrowed.
 */
uint32_t tapir_metadata__number(const struct tapir_metadata *m, enum tapir_md_table table,
				uint32_t row, unsigned column);
const char *tapir_metadata__string(const struct tapir_metadata *m, enum tapir_md_table table,
				   uint32_t row, unsigned column);
struct tapir_md_blob tapir_metadata__blob(const struct tapir_metadata *m, enum tapir_md_table table,
					  uint32_t row, unsigned column);
/* Returns the row that a column refers to which may refer to one of several tables. */
struct tapir_md_ref tapir_metadata__ref(const struct tapir_metadata *m, enum tapir_md_table table,
					uint32_t row, unsigned column);

/*
 * Returns the last row whose number in a column that is sorted is at most that; 0: there is none.
 */
uint32_t tapir_metadata__last_upto(const struct tapir_metadata *m, enum tapir_md_table table,
				   unsigned column, uint32_t number);
/* Returns the type a method belongs to; 0: there is no such method. */
uint32_t tapir_metadata__type_of(const struct tapir_metadata *m, uint32_t method);

/* Takes a number of at most 29 bits, or bytes, from the start of a blob; false: malformed. */
bool tapir_md_blob__take_length(struct tapir_md_blob *blob, uint32_t *out);
bool tapir_md_blob__take(struct tapir_md_blob *blob, void *out, size_t bytes);

#endif
