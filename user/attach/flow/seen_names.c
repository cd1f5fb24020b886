// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of probes that exist, from which an error suggests the nearest. A list keeps them in order,
 * a set of their hashes states if one is new. Both are bounded: beyond that a suggestion may be
 * missing, nothing else.
 */
#include "attach/flow/seen_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEN_MAX       20000
#define SEEN_BYTES_MAX (4u << 20)
#define NAME_MAX_BYTES 255 /* of each half: longer ones are never meant */

void tapir_seen_names__add(struct tapir_seen_names *seen, struct tapir_sv provider,
			   struct tapir_sv event)
{
	uint64_t hash = tapir_hash__bytes(tapir_hash__bytes(0, provider.data, provider.len),
					  event.data, event.len);
	bool is_new = false;
	char *text;

	if (provider.len > NAME_MAX_BYTES || event.len > NAME_MAX_BYTES ||
	    seen->bytes >= SEEN_BYTES_MAX)
		return;
	if (seen->all.cnt >= SEEN_MAX || !tapir_map__put(&seen->hashes, hash, &is_new) || !is_new)
		return;
	seen->bytes += provider.len + event.len;
	if (asprintf(&text, "%.*s:%.*s", (int)provider.len, provider.data, (int)event.len,
		     event.data) > 0 &&
	    !tapir_vec__push(&seen->all, text))
		free(text);
}

void tapir_seen_names__add_all(struct tapir_seen_names *seen, const struct tapir_seen_names *from)
{
	for (size_t i = 0; i < from->all.cnt; i++) {
		const char *text = from->all.data[i];
		size_t len = strcspn(text, ":");
		struct tapir_sv provider = {text, len};

		tapir_seen_names__add(seen, provider, tapir_sv__of(text + len + 1));
	}
}

void tapir_seen_names__fini(struct tapir_seen_names *seen)
{
	for (size_t i = 0; i < seen->all.cnt; i++)
		free((char *)seen->all.data[i]);
	tapir_vec__fini(&seen->all);
	tapir_map__fini(&seen->hashes);
}
