/* SPDX-License-Identifier: MIT */
/*
 * counter_entry.c - a counter as tools outside see it: an entry of the lane's catalog whose
 * metadata has its type and its texts. It is there as long as the counter is, so that tools can
 * list counters before any has a value.
 */
#include <stdlib.h>

#include "counter_impl.h"

#define TEXT_CNT    4u
#define FIXED_BYTES (2 + 2 * TEXT_CNT)

static size_t write_texts(const struct tapir_counter *c, uint8_t *to)
{
	const char *const texts[TEXT_CNT] = {c->name, c->display_name, c->unit, c->tags};
	size_t bytes = FIXED_BYTES;

	for (uint32_t i = 0; i < TEXT_CNT; i++) {
		uint16_t len = (uint16_t)strlen(texts[i]); /* 1,024 at most */

		if (to) {
			memcpy(to + 2 + 2 * (size_t)i, &len, sizeof(len));
			memcpy(to + bytes, texts[i], len);
		}
		bytes += len;
	}
	return bytes;
}

void counter_entry__open(struct tapir_counter *c)
{
	size_t bytes = write_texts(c, NULL);
	uint8_t *metadata = calloc(1, bytes);

	if (!metadata)
		return;
	metadata[0] = (uint8_t)c->type;
	write_texts(c, metadata);
	c->metadata = metadata;
	c->about = (struct tapir_ring_about){
		.provider = counter_group__provider(c->group),
		.event = c->name,
		.encoding = TAPIR_ENCODING_PACKED,
		.metadata = metadata,
		.metadata_bytes = (uint32_t)bytes,
		.metadata_format = TAPIR_METADATA_COUNTER,
	};
	provider_lock();
	tapir_ring__register(&c->entry, &c->about);
	provider_unlock();
}

void counter_entry__close(struct tapir_counter *c)
{
	if (c->metadata) {
		provider_lock();
		tapir_ring__unregister(&c->entry);
		provider_unlock();
	}
	free(c->metadata);
	c->metadata = NULL;
}
