// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A type's signature is read by one walk, whether it is to be named or skipped: out is NULL then.
 */
#include "symbol/dotnet_r2r_name.h"

#include <string.h>

#include "trace/record.h"

#define NAME_MAX_BYTES 4096u
#define DEPTH_MAX      16u
#define NESTED_MAX     8u

/* Flags of a method's signature; the others are about how it is called, not which method it is. */
#define HAS_ARGS       0x04u
#define HAS_SLOT       0x08u /* instead of a row */
#define IS_MEMBER_REF  0x10u
#define IS_CONSTRAINED 0x20u
#define HAS_OWNER      0x40u
#define HAS_MODULE     0x80u /* its rows are of another file */

enum {
	TYPE_PTR = 0x0f,
	TYPE_BYREF = 0x10,
	TYPE_VALUE = 0x11,
	TYPE_CLASS = 0x12,
	TYPE_VAR = 0x13,
	TYPE_ARRAY = 0x14,
	TYPE_INSTANCE = 0x15,
	TYPE_FUNCTION = 0x1b,
	TYPE_VECTOR = 0x1d,
	TYPE_METHOD_VAR = 0x1e,
	TYPE_REQUIRED = 0x1f,
	TYPE_OPTIONAL = 0x20,
	TYPE_OF_MODULE = 0x3f,
	TYPE_PINNED = 0x45,
};

/* Flags of the signature with which a method is declared. */
#define IS_GENERIC   0x10u
#define HAS_INSTANCE 0x20u

/*
 * The type a method belongs to is written as reflection does it, Box`1+Inner[System.Int32]; types
 * in its signature as IL has them, class [Module]Box`1/Inner<int32>.
 */
struct spelling {
	const char *const *primitives; /* PRIMITIVES of them, by their bytes */
	const char *open, *close, *nest;
	bool is_il;
};

#define PRIMITIVES 0x3fu

static const struct spelling reflection = {
	.primitives =
		(const char *const[PRIMITIVES]){
			[0x01] = "System.Void",		  [0x02] = "System.Boolean",
			[0x03] = "System.Char",		  [0x04] = "System.SByte",
			[0x05] = "System.Byte",		  [0x06] = "System.Int16",
			[0x07] = "System.UInt16",	  [0x08] = "System.Int32",
			[0x09] = "System.UInt32",	  [0x0a] = "System.Int64",
			[0x0b] = "System.UInt64",	  [0x0c] = "System.Single",
			[0x0d] = "System.Double",	  [0x0e] = "System.String",
			[0x16] = "System.TypedReference", [0x18] = "System.IntPtr",
			[0x19] = "System.UIntPtr",	  [0x1c] = "System.Object",
			[0x3e] = "System.__Canon",
		},
	.open = "[",
	.close = "]",
	.nest = "+",
};

static const struct spelling il = {
	.primitives =
		(const char *const[PRIMITIVES]){
			[0x01] = "void",
			[0x02] = "bool",
			[0x03] = "char",
			[0x04] = "int8",
			[0x05] = "uint8",
			[0x06] = "int16",
			[0x07] = "uint16",
			[0x08] = "int32",
			[0x09] = "uint32",
			[0x0a] = "int64",
			[0x0b] = "uint64",
			[0x0c] = "float32",
			[0x0d] = "float64",
			[0x0e] = "string",
			[0x16] = "typedref",
			[0x18] = "native int",
			[0x19] = "native uint",
			[0x1c] = "object",
			[0x3e] = "class System.__Canon",
		},
	.open = "<",
	.close = ">",
	.nest = "/",
	.is_il = true,
};

/* ---- names of types -------------------------------------------------------------------------- */

/* Hostile files have long names, and many of them. */
static bool is_full(const struct tapir_str *out)
{
	return !out || out->len >= NAME_MAX_BYTES;
}

static void add_piece(struct tapir_str *out, const char *text)
{
	if (!is_full(out))
		tapir_str__adds(out, text);
}

static void add_column(struct tapir_str *out, const struct tapir_metadata *m,
		       enum tapir_md_table table, uint32_t row, unsigned column)
{
	const char *text;

	if (is_full(out)) /* looking it up takes time, too */
		return;
	text = tapir_metadata__string(m, table, row, column);
	tapir_str__add(out, text, strnlen(text, NAME_MAX_BYTES));
}

static void add_namespace(struct tapir_str *out, const struct tapir_metadata *m,
			  enum tapir_md_table table, uint32_t row)
{
	size_t before = out ? out->len : 0;

	add_column(out, m, table, row, TAPIR_MD_TYPE_SPACE);
	if (out && out->len > before)
		add_piece(out, ".");
}

/* The type it is nested in; 0: none. The table is sorted by its first column. */
static uint32_t outer_of(const struct tapir_metadata *m, uint32_t type)
{
	uint32_t row = tapir_metadata__last_upto(m, TAPIR_MD_NESTED_CLASS, 0, type);

	return tapir_metadata__number(m, TAPIR_MD_NESTED_CLASS, row, 0) == type
		       ? tapir_metadata__number(m, TAPIR_MD_NESTED_CLASS, row, 1)
		       : 0;
}

static void add_type_def(struct tapir_str *out, const struct tapir_metadata *m, uint32_t type,
			 const struct spelling *spelling)
{
	uint32_t types[NESTED_MAX] = {type};
	unsigned cnt = 1;

	while (cnt < NESTED_MAX && (types[cnt] = outer_of(m, types[cnt - 1])))
		cnt++;
	add_namespace(out, m, TAPIR_MD_TYPE_DEF, types[cnt - 1]);
	while (cnt--) {
		add_column(out, m, TAPIR_MD_TYPE_DEF, types[cnt], TAPIR_MD_TYPE_NAME);
		add_piece(out, cnt ? spelling->nest : "");
	}
}

/* Name and namespace are in the same columns as those of a defined type. */
static void add_type_ref(struct tapir_str *out, const struct tapir_metadata *m, uint32_t type,
			 const struct spelling *spelling, unsigned depth)
{
	struct tapir_md_ref scope = tapir_metadata__ref(m, TAPIR_MD_TYPE_REF, type, 0);

	if (scope.table == TAPIR_MD_TYPE_REF && scope.row && depth < NESTED_MAX) {
		add_type_ref(out, m, scope.row, spelling, depth + 1);
		add_piece(out, spelling->nest);
	} else {
		if (spelling->is_il && scope.table == TAPIR_MD_ASSEMBLY_REF) {
			add_piece(out, "[");
			add_column(out, m, TAPIR_MD_ASSEMBLY_REF, scope.row,
				   TAPIR_MD_ASSEMBLY_NAME);
			add_piece(out, "]");
		}
		add_namespace(out, m, TAPIR_MD_TYPE_REF, type);
	}
	add_column(out, m, TAPIR_MD_TYPE_REF, type, TAPIR_MD_TYPE_NAME);
}

/* ---- types ----------------------------------------------------------------------------------- */

struct walk {
	const struct tapir_metadata *m;
	const struct spelling *spelling;
	struct tapir_md_blob left;
};

static bool take_type(struct walk *w, struct tapir_str *out, unsigned depth);

static bool take_types(struct walk *w, uint32_t cnt, struct tapir_str *out, unsigned depth)
{
	for (uint32_t i = 0; i < cnt; i++) {
		add_piece(out, i ? "," : "");
		if (!take_type(w, out, depth + 1))
			return false;
	}
	return true;
}

static bool take_token(struct walk *w, struct tapir_str *out)
{
	uint32_t token;

	if (!tapir_md_blob__take_length(&w->left, &token))
		return false;
	if (out && !(token & 3))
		add_type_def(out, w->m, token >> 2, w->spelling);
	else if (out && (token & 3) == 1)
		add_type_ref(out, w->m, token >> 2, w->spelling, 0);
	return true;
}

/* Each number of a list that its length begins. */
static bool skip_list(struct walk *w)
{
	uint32_t cnt, number;

	if (!tapir_md_blob__take_length(&w->left, &cnt))
		return false;
	while (cnt--)
		if (!tapir_md_blob__take_length(&w->left, &number))
			return false;
	return true;
}

static bool take_array(struct walk *w, struct tapir_str *out, unsigned depth)
{
	uint32_t rank;

	if (!take_type(w, out, depth + 1) || !tapir_md_blob__take_length(&w->left, &rank))
		return false;
	if (rank && (!skip_list(w) || !skip_list(w))) /* sizes and lower bounds */
		return false;
	add_piece(out, "[");
	for (uint32_t i = 1; i < rank && !is_full(out); i++)
		add_piece(out, ",");
	add_piece(out, "]");
	return true;
}

static bool take_instance(struct walk *w, struct tapir_str *out, unsigned depth)
{
	uint32_t cnt;

	if (!take_type(w, out, depth + 1) || !tapir_md_blob__take_length(&w->left, &cnt))
		return false;
	add_piece(out, w->spelling->open);
	if (!take_types(w, cnt, out, depth))
		return false;
	add_piece(out, w->spelling->close);
	return true;
}

/* Skips a function's return type and parameters, which are not shown. */
static bool take_function(struct walk *w, struct tapir_str *out, unsigned depth)
{
	uint8_t convention;
	uint32_t cnt;

	if (!tapir_md_blob__take(&w->left, &convention, 1) ||
	    (convention & IS_GENERIC && !tapir_md_blob__take_length(&w->left, &cnt)) ||
	    !tapir_md_blob__take_length(&w->left, &cnt))
		return false;
	add_piece(out, "method");
	return take_types(w, cnt + 1, NULL, depth);
}

static bool take_with_suffix(struct walk *w, struct tapir_str *out, unsigned depth,
			     const char *suffix)
{
	if (!take_type(w, out, depth + 1))
		return false;
	add_piece(out, suffix);
	return true;
}

/* Shown instead of types of another file. */
static bool take_foreign(struct walk *w, struct tapir_str *out, unsigned depth)
{
	uint32_t module;

	add_piece(out, "?");
	return tapir_md_blob__take_length(&w->left, &module) && take_type(w, NULL, depth + 1);
}

static bool take_var(struct walk *w, struct tapir_str *out, const char *prefix)
{
	uint32_t idx;

	if (!tapir_md_blob__take_length(&w->left, &idx))
		return false;
	if (!is_full(out))
		tapir_str__addf(out, "%s%u", prefix, idx);
	return true;
}

/* "int32 modreq(System.Runtime.CompilerServices.IsVolatile)": a token, the type, said last. */
static bool take_modified(struct walk *w, struct tapir_str *out, unsigned depth, uint8_t kind)
{
	struct walk modifier = *w;

	if (!take_token(w, NULL) || !take_type(w, out, depth + 1))
		return false;
	add_piece(out, kind == TYPE_REQUIRED ? " modreq(" : " modopt(");
	(void)take_token(&modifier, out);
	add_piece(out, ")");
	return true;
}

static bool take_type(struct walk *w, struct tapir_str *out, unsigned depth)
{
	uint8_t kind;

	if (depth > DEPTH_MAX || !tapir_md_blob__take(&w->left, &kind, 1))
		return false;
	if (kind < PRIMITIVES && w->spelling->primitives[kind]) {
		add_piece(out, w->spelling->primitives[kind]);
		return true;
	}
	/*
	 * The encoding is that of signatures (ECMA-335, II.23.2.12); types of another module are an
	 * addition of ReadyToRun.
	 */
	switch (kind) {
	case TYPE_VALUE:
	case TYPE_CLASS:
		if (w->spelling->is_il)
			add_piece(out, kind == TYPE_VALUE ? "valuetype " : "class ");
		return take_token(w, out);
	case TYPE_VAR:
	case TYPE_METHOD_VAR:
		return take_var(w, out, kind == TYPE_VAR ? "!" : "!!");
	case TYPE_PTR:
		return take_with_suffix(w, out, depth, "*");
	case TYPE_BYREF:
		return take_with_suffix(w, out, depth, "&");
	case TYPE_VECTOR:
		return take_with_suffix(w, out, depth, "[]");
	case TYPE_PINNED:
		return take_with_suffix(w, out, depth, "");
	case TYPE_REQUIRED:
	case TYPE_OPTIONAL:
		return take_modified(w, out, depth, kind);
	case TYPE_ARRAY:
		return take_array(w, out, depth);
	case TYPE_INSTANCE:
		return take_instance(w, out, depth);
	case TYPE_FUNCTION:
		return take_function(w, out, depth);
	case TYPE_OF_MODULE:
		return take_foreign(w, out, depth);
	default:
		return false;
	}
}

/* ---- methods --------------------------------------------------------------------------------- */

/*
 * A method's row is of the file that defines its type: of this one if the type is an instance of
 * what this one defines.
 */
static bool is_defined_here(struct tapir_md_blob owner)
{
	uint8_t kinds[2];
	uint32_t token;

	return tapir_md_blob__take(&owner, kinds, 2) && kinds[0] == TYPE_INSTANCE &&
	       (kinds[1] == TYPE_CLASS || kinds[1] == TYPE_VALUE) &&
	       tapir_md_blob__take_length(&owner, &token) && !(token & 3);
}

static bool take_owner(struct walk *w, struct tapir_md_blob *owner)
{
	struct tapir_md_blob begin = w->left;

	if (!take_type(w, NULL, 0))
		return false;
	*owner = (struct tapir_md_blob){begin.data, begin.len - w->left.len};
	return true;
}

bool tapir_r2r_sig__parse(struct tapir_md_blob bytes, struct tapir_r2r_sig *out)
{
	struct tapir_r2r_sig sig = {.method.table = TAPIR_MD_METHOD};
	struct walk w = {.spelling = &reflection, .left = bytes};
	uint32_t flags, number;

	if (!tapir_md_blob__take_length(&w.left, &flags) ||
	    (flags & HAS_MODULE && !tapir_md_blob__take_length(&w.left, &number)) ||
	    (flags & HAS_OWNER && !take_owner(&w, &sig.owner)) ||
	    !tapir_md_blob__take_length(&w.left, &sig.method.row) ||
	    (flags & HAS_ARGS &&
	     (!tapir_md_blob__take_length(&w.left, &number) || !take_types(&w, number, NULL, 0))) ||
	    (flags & IS_CONSTRAINED && !take_type(&w, NULL, 0)))
		return false;
	if (flags & IS_MEMBER_REF)
		sig.method.table = TAPIR_MD_MEMBER_REF;
	if (flags & (HAS_SLOT | HAS_MODULE) || (flags & IS_MEMBER_REF && !(flags & HAS_OWNER)) ||
	    (!(flags & IS_MEMBER_REF) && flags & HAS_OWNER && !is_defined_here(sig.owner)))
		sig.method.row = 0;
	sig.bytes = bytes.len - w.left.len;
	*out = sig;
	return true;
}

static void add_module(struct tapir_str *out, const struct tapir_metadata *m)
{
	struct tapir_sv name =
		tapir_sv__of(tapir_metadata__string(m, TAPIR_MD_MODULE, 1, TAPIR_MD_MODULE_NAME));

	if (tapir_sv__ends_with(name, ".dll"))
		name.len -= strlen(".dll");
	if (name.len > NAME_MAX_BYTES)
		name.len = NAME_MAX_BYTES;
	tapir_str__addf(out, "[%.*s] ", (int)name.len, name.data);
}

static void add_owner(struct tapir_str *out, const struct tapir_metadata *m, uint32_t row,
		      const struct tapir_r2r_sig *sig)
{
	struct walk w = {.m = m, .spelling = &reflection};

	if (sig && sig->owner.len) {
		w.left = sig->owner;
		(void)take_type(&w, out, 0); /* it could be parsed */
	} else {
		add_type_def(out, m, tapir_metadata__type_of(m, row), &reflection);
	}
}

/* Reads the method's declaration: writes "instance void " and leaves w at the parameters. */
static bool take_declared(struct walk *w, struct tapir_str *out, uint32_t *param_cnt)
{
	uint8_t convention;

	if (!tapir_md_blob__take(&w->left, &convention, 1) ||
	    (convention & IS_GENERIC && !tapir_md_blob__take_length(&w->left, param_cnt)) ||
	    !tapir_md_blob__take_length(&w->left, param_cnt))
		return false;
	add_piece(out, convention & HAS_INSTANCE ? "instance " : "");
	if (!take_type(w, out, 0))
		return false;
	add_piece(out, " ");
	return true;
}

void tapir_r2r_name__add(struct tapir_str *out, const struct tapir_metadata *m, uint32_t row,
			 const struct tapir_r2r_sig *sig)
{
	bool is_member = sig && sig->method.table == TAPIR_MD_MEMBER_REF;
	enum tapir_md_table table = is_member ? TAPIR_MD_MEMBER_REF : TAPIR_MD_METHOD;
	struct walk w = {.m = m,
			 .spelling = &il,
			 .left = tapir_metadata__blob(m, table, row,
						      is_member ? TAPIR_MD_MEMBER_SIG
								: TAPIR_MD_METHOD_SIG)};
	uint32_t param_cnt;
	bool is_declared = take_declared(&w, out, &param_cnt);

	add_module(out, m);
	add_owner(out, m, row, sig);
	add_piece(out, "::");
	add_column(out, m, table, row, is_member ? TAPIR_MD_MEMBER_NAME : TAPIR_MD_METHOD_NAME);
	tapir_str__adds(out, "(");
	if (!is_declared || !take_types(&w, param_cnt, out, 0))
		tapir_str__adds(out, "...");
	tapir_str__adds(out, ")[PreJIT]");
}
