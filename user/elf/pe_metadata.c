// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The schema of all tables up to the last that is wanted. Rows have no size of their own: it
 * follows from the row counts of other tables and the sizes of the heaps, so every table before a
 * wanted one has to be understood (ECMA-335, II.24.2.6).
 */
#include "elf/pe_metadata.h"

#include <errno.h>
#include <string.h>

#define MAGIC	     0x424a5342u /* "BSJB" */
#define STREAMS_MAX  16
#define TABLES_KNOWN 0x2a

/*
 * A column: '2' and '4' bytes; 's', 'g', 'b' an index into the heap of strings, GUIDs, blobs; 'T'
 * and a letter: a row of a table ('A' + its number); 'C' and a letter: of one of several (coded
 * below).
 */
static const char *const schema[TABLES_KNOWN] = {
	[0x00] = "2sggg",     [0x01] = "Clss",	 [0x02] = "4ssCaTETG", [0x03] = "TE",
	[0x04] = "2sb",	      [0x05] = "TG",	 [0x06] = "422sbTI",   [0x07] = "TI",
	[0x08] = "22s",	      [0x09] = "TCCa",	 [0x0a] = "Cfsb",      [0x0b] = "2Cbb",
	[0x0c] = "CcCkb",     [0x0d] = "Cdb",	 [0x0e] = "2Ceb",      [0x0f] = "24TC",
	[0x10] = "4TE",	      [0x11] = "b",	 [0x12] = "TCTU",      [0x13] = "TU",
	[0x14] = "2sCa",      [0x15] = "TCTX",	 [0x16] = "TX",	       [0x17] = "2sb",
	[0x18] = "2TGCg",     [0x19] = "TCChCh", [0x1a] = "s",	       [0x1b] = "b",
	[0x1c] = "2CisT[",    [0x1d] = "4TE",	 [0x1e] = "44",	       [0x1f] = "4",
	[0x20] = "422224bss", [0x21] = "4",	 [0x22] = "444",       [0x23] = "22224bssb",
	[0x24] = "4Td",	      [0x25] = "444Td",	 [0x26] = "4sb",       [0x27] = "44ssCj",
	[0x28] = "44sCj",     [0x29] = "TCTC",
};

#define NONE 0xff

static const struct {
	uint8_t bits, cnt, tables[22];
} coded[] = {
	{2, 3, {0x02, 0x01, 0x1b}}, /* a TypeDefOrRef */
	{2, 3, {0x04, 0x08, 0x17}}, /* b HasConstant */
	{5,
	 22,
	 {0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x00, 0x0e, 0x17, 0x14, 0x11,
	  0x1a, 0x1b, 0x20, 0x23, 0x26, 0x27, 0x28, 0x2a, 0x2c, 0x2b}}, /* c HasCustomAttribute */
	{1, 2, {0x04, 0x08}},						/* d HasFieldMarshal */
	{2, 3, {0x02, 0x06, 0x20}},					/* e HasDeclSecurity */
	{3, 5, {0x02, 0x01, 0x1a, 0x06, 0x1b}},				/* f MemberRefParent */
	{1, 2, {0x14, 0x17}},						/* g HasSemantics */
	{1, 2, {0x06, 0x0a}},						/* h MethodDefOrRef */
	{1, 2, {0x04, 0x06}},						/* i MemberForwarded */
	{2, 3, {0x26, 0x23, 0x27}},					/* j Implementation */
	{3, 5, {NONE, NONE, 0x06, 0x0a, NONE}},				/* k CustomAttributeType */
	{2, 4, {0x00, 0x1a, 0x23, 0x01}},				/* l ResolutionScope */
};

struct reader {
	const uint8_t *at;
	size_t left;
};

static bool read_bytes(struct reader *r, void *out, size_t bytes)
{
	if (bytes > r->left)
		return false;
	memcpy(out, r->at, bytes);
	r->at += bytes;
	r->left -= bytes;
	return true;
}

static bool skip_metadata(struct reader *r, size_t bytes)
{
	if (bytes > r->left)
		return false;
	r->at += bytes;
	r->left -= bytes;
	return true;
}

/* ---- the size of rows ------------------------------------------------------------------------- */

static uint8_t coded_width(const struct tapir_metadata *m, unsigned kind)
{
	uint32_t limit = 1u << (16 - coded[kind].bits);

	for (unsigned i = 0; i < coded[kind].cnt; i++)
		if (coded[kind].tables[i] != NONE &&
		    m->tables[coded[kind].tables[i]].row_cnt >= limit)
			return 4;
	return 2;
}

/* Reads the column at *p and advances *p to the next. */
static uint8_t width_of(const struct tapir_metadata *m, uint8_t heaps, const char **p)
{
	char c = *(*p)++;

	if (c == '2' || c == '4')
		return (uint8_t)(c - '0');
	if (c == 's' || c == 'g' || c == 'b')
		return heaps & (c == 's' ? 1 : c == 'g' ? 2 : 4) ? 4 : 2;
	if (c == 'C')
		return coded_width(m, (unsigned)(*(*p)++ - 'a'));
	return m->tables[*(*p)++ - 'A'].row_cnt >= 65536 ? 4 : 2;
}

static void lay_out_table(struct tapir_metadata *m, unsigned table, uint8_t heaps)
{
	struct tapir_md_layout *t = &m->tables[table];
	const char *p = schema[table];

	for (unsigned i = 0; *p; i++) {
		t->offs[i] = (uint8_t)t->row_bytes;
		t->widths[i] = width_of(m, heaps, &p);
		t->row_bytes = (uint16_t)(t->row_bytes + t->widths[i]);
	}
}

static int read_tables(struct tapir_metadata *m, struct reader r)
{
	uint8_t head[8];
	uint64_t valid, sorted;

	if (!read_bytes(&r, head, sizeof(head)) || !read_bytes(&r, &valid, 8) ||
	    !read_bytes(&r, &sorted, 8))
		return -EPROTO;
	for (unsigned i = 0; i < TAPIR_MD_TABLES; i++)
		if (valid >> i & 1 && !read_bytes(&r, &m->tables[i].row_cnt, 4))
			return -EPROTO;
	if (head[6] & 0x40 && !skip_metadata(&r, 4)) /* extra data */
		return -EPROTO;
	for (unsigned i = 0; i < TABLES_KNOWN; i++) {
		struct tapir_md_layout *t = &m->tables[i];

		lay_out_table(m, i, head[6]);
		t->rows = r.at;
		if (!skip_metadata(&r, (size_t)t->row_cnt * t->row_bytes))
			return -EPROTO;
	}
	return 0;
}

/* ---- streams ------------------------------------------------------------------------------------ */

/* Padded to 4 bytes with its NUL, 32 at most. */
static bool take_name(struct reader *r, char name[33])
{
	size_t len = strnlen((const char *)r->at, r->left < 32 ? r->left : 32);

	memcpy(name, r->at, len);
	name[len] = '\0';
	return skip_metadata(r, (len + 4) & ~(size_t)3);
}

static int read_streams(struct tapir_metadata *m, struct reader r, const uint8_t *bytes, size_t len,
			uint16_t cnt)
{
	struct reader tables = {};

	for (uint16_t i = 0; i < cnt && i < STREAMS_MAX; i++) {
		uint32_t off, size;
		char name[33];

		if (!read_bytes(&r, &off, 4) || !read_bytes(&r, &size, 4) || !take_name(&r, name) ||
		    off > len || size > len - off)
			return -EPROTO;
		if (!strcmp(name, "#~") || !strcmp(name, "#-")) {
			tables = (struct reader){bytes + off, size};
		} else if (!strcmp(name, "#Strings")) {
			m->strings = bytes + off;
			m->string_bytes = size;
		} else if (!strcmp(name, "#Blob")) {
			m->blobs = bytes + off;
			m->blob_bytes = size;
		}
	}
	return read_tables(m, tables);
}

int tapir_metadata__init(struct tapir_metadata *m, const uint8_t *bytes, size_t len)
{
	struct reader r = {bytes, len};
	uint32_t magic, version_bytes;
	uint16_t flags, cnt;

	memset(m, 0, sizeof(*m));
	if (!read_bytes(&r, &magic, 4) || magic != MAGIC || !skip_metadata(&r, 8) ||
	    !read_bytes(&r, &version_bytes, 4) || !skip_metadata(&r, version_bytes) ||
	    !read_bytes(&r, &flags, 2) || !read_bytes(&r, &cnt, 2))
		return -EPROTO;
	return read_streams(m, r, bytes, len, cnt);
}

/* ---- what can be asked -------------------------------------------------------------------------- */

uint32_t tapir_metadata__number(const struct tapir_metadata *m, enum tapir_md_table table,
				uint32_t row, unsigned column)
{
	const struct tapir_md_layout *t = &m->tables[table];
	uint32_t value = 0;

	if (row && row <= t->row_cnt && column < TAPIR_MD_COLUMNS && t->widths[column])
		memcpy(&value, t->rows + (size_t)(row - 1) * t->row_bytes + t->offs[column],
		       t->widths[column]);
	return value;
}

const char *tapir_metadata__string(const struct tapir_metadata *m, enum tapir_md_table table,
				   uint32_t row, unsigned column)
{
	uint32_t at = tapir_metadata__number(m, table, row, column);

	if (at >= m->string_bytes || !memchr(m->strings + at, '\0', m->string_bytes - at))
		return "";
	return (const char *)m->strings + at;
}

struct tapir_md_blob tapir_metadata__blob(const struct tapir_metadata *m, enum tapir_md_table table,
					  uint32_t row, unsigned column)
{
	uint32_t at = tapir_metadata__number(m, table, row, column), len;
	struct tapir_md_blob blob = {};

	if (!at || at >= m->blob_bytes)
		return blob;
	blob = (struct tapir_md_blob){m->blobs + at, m->blob_bytes - at};
	if (!tapir_md_blob__take_length(&blob, &len) || len > blob.len)
		return (struct tapir_md_blob){};
	blob.len = len;
	return blob;
}

/* The letter after the C of that column; 0: not such a column. */
static unsigned coded_kind(enum tapir_md_table table, unsigned column)
{
	for (const char *p = schema[table]; *p; p++) {
		bool is_long = *p == 'C' || *p == 'T';

		if (!column--)
			return *p == 'C' ? (unsigned)p[1] : 0;
		p += is_long;
	}
	return 0;
}

struct tapir_md_ref tapir_metadata__ref(const struct tapir_metadata *m, enum tapir_md_table table,
					uint32_t row, unsigned column)
{
	uint32_t value = tapir_metadata__number(m, table, row, column);
	unsigned letter = coded_kind(table, column), kind = letter - 'a', which;

	if (!letter)
		return (struct tapir_md_ref){};
	which = value & ((1u << coded[kind].bits) - 1);
	if (which >= coded[kind].cnt || coded[kind].tables[which] == NONE)
		return (struct tapir_md_ref){};
	return (struct tapir_md_ref){coded[kind].tables[which], value >> coded[kind].bits};
}

uint32_t tapir_metadata__last_upto(const struct tapir_metadata *m, enum tapir_md_table table,
				   unsigned column, uint32_t number)
{
	uint32_t low = 1, high = tapir_metadata__rows(m, table) + 1;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (tapir_metadata__number(m, table, middle, column) <= number)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

/* Each type's begin where the last one's ended. */
uint32_t tapir_metadata__type_of(const struct tapir_metadata *m, uint32_t method)
{
	if (!method || method > tapir_metadata__rows(m, TAPIR_MD_METHOD))
		return 0;
	return tapir_metadata__last_upto(m, TAPIR_MD_TYPE_DEF, TAPIR_MD_TYPE_METHODS, method);
}

bool tapir_md_blob__take(struct tapir_md_blob *blob, void *out, size_t bytes)
{
	struct reader r = {blob->data, blob->len};

	if (!read_bytes(&r, out, bytes))
		return false;
	*blob = (struct tapir_md_blob){r.at, r.left};
	return true;
}

bool tapir_md_blob__take_length(struct tapir_md_blob *blob, uint32_t *out)
{
	uint8_t b[4];

	if (!tapir_md_blob__take(blob, b, 1))
		return false;
	if (!(b[0] & 0x80)) {
		*out = b[0];
	} else if (!(b[0] & 0x40)) {
		if (!tapir_md_blob__take(blob, b + 1, 1))
			return false;
		*out = (uint32_t)(b[0] & 0x3f) << 8 | b[1];
	} else if (!(b[0] & 0x20)) {
		if (!tapir_md_blob__take(blob, b + 1, 3))
			return false;
		*out = (uint32_t)(b[0] & 0x1f) << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 |
		       b[3];
	} else {
		return false;
	}
	return true;
}
