/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * manifest.h - an ETW manifest (XML) as providers, keywords, maps and event layouts.
 *
 * Used by tapir-manifest when tapir is built and by --manifest when it runs. A manifest is input
 * like any other: at most 8 MB, no document type (so no entities of its own), nothing is loaded
 * from anywhere, names and counts are bounded. libxml2 is loaded when the first manifest is read; a
 * program that reads none does not need it. One thread.
 *
 * An error is one line, "FILE:LINE:COLUMN: attribute level of <event> is 'Loud': expected ...". An
 * attribute that ETW does not know is a line of its own and no error.
 *
 * Beyond ETW's own elements: tapir:mask on a <map> of a <bitMap> (the bits that must equal the
 * value), and tapir:namedBy on a win:Binary <data> (its bytes are the <struct> inside it that has
 * the name in that field).
 */
#ifndef TAPIR_USER_MANIFEST_H
#define TAPIR_USER_MANIFEST_H

#include "decode/layout.h"

struct tapir_manifest;

/* A task, an opcode or a level that the manifest defines. */
struct tapir_manifest_name {
	const char *name;    /* without "win:" */
	const char *symbol;  /* "": none */
	const char *message; /* in full; "": none */
	uint32_t value;	     /* TAPIR_MANIFEST_NO_VALUE: known by its name only */
};

#define TAPIR_MANIFEST_NO_VALUE UINT32_MAX

/* The parts of an event in addition to its layout. */
struct tapir_manifest_event {
	const char *message; /* "": none */
	uint32_t task;	     /* 0: none */
	uint8_t opcode;
};

/* The parts of a provider that a code generator needs in addition to its layouts. */
struct tapir_manifest_extra {
	const char *symbol; /* "": none */
	const struct tapir_manifest_name *levels, *tasks, *opcodes;
	const struct tapir_layout_map *const *maps;
	const struct tapir_manifest_event *events; /* one for each of the provider's, in order */
	unsigned level_cnt, task_cnt, opcode_cnt, map_cnt;
};

/*
 * Read a file, or bytes that are called path in diagnostics. *out is the caller's to free. 0 or
 * -errno with a diagnostic line.
 */
int tapir_manifest__read(const char *path, struct tapir_manifest **out);
int tapir_manifest__parse(const char *path, const void *bytes, size_t len,
			  struct tapir_manifest **out);
void tapir_manifest__free(struct tapir_manifest *manifest);

/* The number of providers in the manifest. */
unsigned tapir_manifest__provider_cnt(const struct tapir_manifest *manifest);
/* The idx-th provider, and what a code generator needs of it; borrowed from the manifest. */
const struct tapir_layout_provider *tapir_manifest__provider(const struct tapir_manifest *manifest,
							     unsigned idx);
const struct tapir_manifest_extra *tapir_manifest__extra(const struct tapir_manifest *manifest,
							 unsigned idx);

#endif
