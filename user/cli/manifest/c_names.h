/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * c_names.h - a provider as C code names it: identifiers of the provider, its events, their
 * parameters and structures. The input of everything that emits C. One thread.
 */
#ifndef TAPIR_MANIFEST_C_NAMES_H
#define TAPIR_MANIFEST_C_NAMES_H

#include "base/arena.h"
#include "base/str.h"
#include "decode/manifest.h"

/* A field as a parameter of a function or a member of a structure. */
struct c_field {
	const struct tapir_layout_field *layout;
	const char *id;
	const char *struct_id; /* STRUCT: its type, "P_Event_Field"; else NULL */
	struct c_field *members;
};

struct c_event {
	const struct tapir_layout_event *layout;
	const struct tapir_manifest_event *more;
	const char *id; /* the symbol, or name and version */
	struct c_field *fields;
};

struct c_provider {
	const struct tapir_layout_provider *layout;
	const struct tapir_manifest_extra *extra;
	const char *id;
	struct c_event *events;
	bool is_coreclr; /* structures are packed bytes and their size, as CoreCLR passes them */
	struct tapir_arena arena;
};

/*
 * Names everything of a provider. 0 or -errno with a diagnostic line. What it names is borrowed
 * from the manifest.
 */
int c_provider__init(struct c_provider *p, const struct tapir_manifest *manifest, unsigned idx,
		     bool is_coreclr);
void c_provider__fini(struct c_provider *p);

/* Appends an identifier of any text: what cannot be in one is '_'. */
void c_id__add(struct tapir_str *out, const char *text);
/* Appends a C string literal, also for asm: visible ASCII and octal escapes. */
void c_text__add(struct tapir_str *out, const char *text);
/* Appends text inside a comment: nothing that ends it. */
void c_comment__add(struct tapir_str *out, const char *text);

/* Returns "uint8_t" of a number's enum tapir_layout_type; NULL: it is not one. */
const char *c_type__of_number(unsigned type);
/* Returns "const uint8_t *", with what a name can follow. */
const char *c_field__type(const struct c_field *f);
/* Returns its bytes if they are always the same; 0: they are not. */
unsigned c_field__fixed_bytes(const struct tapir_layout_field *f);
/* Appends "uint32_t Count, const char *Name" or "void". */
void c_event__add_params(const struct c_provider *p, const struct c_event *ev,
			 struct tapir_str *out);
/* Appends "Count, Name". */
void c_event__add_args(const struct c_provider *p, const struct c_event *ev, struct tapir_str *out);

#endif
