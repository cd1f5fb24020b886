// SPDX-License-Identifier: GPL-2.0-or-later
/* Stack by stack, frame by frame; a symbol that is known costs a lookup. */
#include "collect/namer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "symbol/symbolizer.h"
#include "trace/recbuf.h"

struct tapir_namer {
	struct tapir_catalog *catalog;
	struct tapir_symbolizer *symbolizer;
	struct tapir_recbuf recbuf;
};

int tapir_namer__new(struct tapir_catalog *catalog, struct tapir_namer **out)
{
	struct tapir_namer *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return -ENOMEM;
	n->catalog = catalog;
	err = tapir_symbolizer__new(&n->symbolizer);
	if (err) {
		free(n);
		return err;
	}
	*out = n;
	return 0;
}

void tapir_namer__free(struct tapir_namer *n)
{
	if (!n)
		return;
	tapir_symbolizer__free(n->symbolizer);
	tapir_recbuf__fini(&n->recbuf);
	free(n);
}

void tapir_namer__add_file(struct tapir_namer *n, const struct tapir_rec_mapping *mapping, int fd)
{
	struct tapir_mapping_view view;
	char path[4096];

	if (!mapping->file_id)
		return;
	tapir_mapping_view__of(&mapping->h, &view);
	snprintf(path, sizeof(path), "%.*s", (int)view.path.len, view.path.data);
	tapir_symbolizer__add_file(n->symbolizer, mapping->file_id, fd, path);
}

/* Callers are return addresses: the call is the instruction before, maybe of another function. */
static int name_frame(struct tapir_namer *n, uint32_t tgid, uint64_t va, uint64_t time_ns)
{
	const struct tapir_rec_mapping *mapping =
		tapir_catalog__mapping(n->catalog, tgid, va, time_ns);
	struct tapir_symbol_name found;
	struct tapir_rec_symbol fixed = {};
	const struct tapir_rec *rec;
	uint64_t off;

	if (!mapping || !mapping->file_id)
		return 0;
	off = va - mapping->start_va + mapping->file_off;
	if (tapir_catalog__symbol(n->catalog, mapping->file_id, off))
		return 0;
	if (!tapir_symbolizer__name(n->symbolizer, mapping->file_id, off, &found))
		return 0;
	fixed.file_id = mapping->file_id;
	fixed.start_off = found.start_off;
	fixed.size = found.size;
	tapir_rec__init(&fixed.h, TAPIR_REC_SYMBOL, sizeof(fixed), tapir_clock__now_ns());
	rec = tapir_recbuf__symbol(&n->recbuf, &fixed, tapir_sv__of(found.name));
	return rec ? tapir_catalog__describe(n->catalog, rec) : -ENOMEM;
}

int tapir_namer__name_new_stacks(struct tapir_namer *n)
{
	struct tapir_unnamed unnamed;

	while (tapir_catalog__next_unnamed(n->catalog, &unnamed)) {
		const uint64_t *frames = (const uint64_t *)(unnamed.stack + 1);
		unsigned frame_cnt = unnamed.stack->frame_cnt;
		uint64_t copy[TAPIR_MAX_FRAMES];

		/* Describing a symbol may move the stack. */
		if (frame_cnt > TAPIR_MAX_FRAMES)
			frame_cnt = TAPIR_MAX_FRAMES;
		memcpy(copy, frames, frame_cnt * sizeof(copy[0]));
		for (unsigned i = 0; i < frame_cnt; i++) {
			int err = name_frame(n, unnamed.tgid, copy[i] - (i > 0), unnamed.time_ns);

			if (err < 0 && err != -ENOSPC)
				return err;
		}
	}
	return 0;
}
