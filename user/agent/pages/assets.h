/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * assets.h - style sheets and scripts of the pages (user/agent/assets), as the build embeds them.
 * Constant; any thread.
 */
#ifndef TAPIR_USER_ASSETS_H
#define TAPIR_USER_ASSETS_H

#include <stddef.h>
#include <stdint.h>

struct tapir_asset {
	const char *name; /* "tapir.css"; NULL ends the table */
	const char *data;
	size_t len;
};

extern const struct tapir_asset tapir_assets[];

/* NULL: no such file. */
const struct tapir_asset *tapir_asset__find(const char *name);
/*
 * Returns a text that differs where the content does: browsers may keep what they fetched under it.
 */
uint32_t tapir_asset__version(const struct tapir_asset *asset);

#endif
