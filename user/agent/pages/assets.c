// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of embedded files. A file's version is a hash of its content, so that a new agent's
 * pages never meet an old script.
 */
#include "agent/pages/assets.h"

#include <string.h>

#include "base/map.h"
#include "assets.gen.h"

#define ASSET(name, text)                                                                          \
	{                                                                                          \
		name, text, sizeof(text) - 1                                                       \
	}

const struct tapir_asset tapir_assets[] = {
	ASSET("icon.svg", asset_icon_svg), ASSET("tapir.css", asset_tapir_css),
	ASSET("tapir.js", asset_tapir_js), ASSET("uPlot.css", asset_uPlot_css),
	ASSET("uPlot.js", asset_uPlot_js), {},
};

const struct tapir_asset *tapir_asset__find(const char *name)
{
	const struct tapir_asset *a = tapir_assets;

	while (a->name && strcmp(a->name, name) != 0)
		a++;
	return a->name ? a : NULL;
}

uint32_t tapir_asset__version(const struct tapir_asset *asset)
{
	return (uint32_t)tapir_hash__bytes(1, asset->data, asset->len);
}
