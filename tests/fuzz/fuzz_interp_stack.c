// SPDX-License-Identifier: GPL-2.0-or-later
/* A record of a stack with what an interpreter runs, as a BPF program sends it: of any bytes. */
#include <stdlib.h>
#include <string.h>

#include "record/names/interp_stacks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Each record that comes back is a STACK of the frames that were handed in. */
static void take(void *ctx, const struct tapir_rec *rec)
{
	const struct tapir_rec_stack *in = ctx, *out = (const void *)rec;

	if (rec->type != TAPIR_REC_STACK || out->frame_cnt != in->frame_cnt || !out->stack_id ||
	    memcmp(out + 1, in + 1, 8u * in->frame_cnt) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct tapir_catalog *catalog = tapir_catalog__new(TAPIR_CATALOG_LIVE, NULL);
	struct tapir_rec *rec = malloc(bytes + sizeof(*rec));
	struct tapir_interp_stacks *stacks = tapir_interp_stacks__new(catalog, take, rec);

	if (bytes >= sizeof(*rec)) {
		memcpy(rec, data, bytes);
		rec->size = (uint32_t)bytes & ~7u;
		(void)tapir_interp_stacks__on_stack(stacks, rec);
	}
	tapir_interp_stacks__free(stacks);
	tapir_catalog__free(catalog);
	free(rec);
	return 0;
}
