/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * manifest.h - an ETW manifest (XML) as providers, keywords, maps and event layouts.
 *
 * Used by tapir-manifest when tapir is built and by --manifest when it runs. A manifest is input
 * like any other: at most 8 MB, no document type (so no entities of its own), nothing is loaded
 * from anywhere, names and counts are bounded. libxml2 is loaded when the first manifest is read; a
 * program that reads none does not need it.
 *
 * Beyond ETW's own elements: tapir:mask on a <map> of a <bitMap> (the bits that must equal the
 * value), and tapir:namedBy on a win:Binary <data> (its bytes are the <struct> inside it that has
 * the name in that field).
 */
#ifndef TAPIR_USER_MANIFEST_H
#define TAPIR_USER_MANIFEST_H

#include "decode/layout.h"

struct tapir_manifest;

/* path is named in diagnostics. *out is yours. 0 or -errno with a diagnostic line. */
int tapir_manifest__read(const char *path, struct tapir_manifest **out);
int tapir_manifest__parse(const char *path, const void *bytes, size_t len,
			  struct tapir_manifest **out);
void tapir_manifest__free(struct tapir_manifest *manifest);

unsigned tapir_manifest__provider_cnt(const struct tapir_manifest *manifest);
/* Borrowed from the manifest. */
const struct tapir_layout_provider *tapir_manifest__provider(const struct tapir_manifest *manifest,
							     unsigned idx);

#endif
