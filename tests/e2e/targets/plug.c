/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plug - the shared object that dlopener loads while it runs; a tracer cannot know of it
 * before. Fires plug:hit(i, text).
 */
// build: -shared -fPIC
#include "tapir/usdt.h"

void plug_fire(long cnt);

void plug_fire(long cnt)
{
	for (long i = 0; i < cnt; i++)
		TAPIR_PROBE(plug, hit, i, "from the plug");
}
