// SPDX-License-Identifier: GPL-2.0-or-later
/* Arguments are stored one after the other, each text once. */
#include "attach/rings/ring_ask.h"

#include <string.h>

#include "base/str.h"

void tapir_ring_ask__clear(struct tapir_ring_ask *ask)
{
	memset(ask->all, 0, sizeof(ask->all));
	ask->text_bytes = 0;
}

const char *tapir_ring_ask__args(const struct tapir_ring_ask *ask,
				 const struct tapir_ring_selection *selection)
{
	return selection->args_bytes ? ask->text + selection->args_off : "";
}

/* Where the text is, or would begin. */
static uint32_t place_of(const struct tapir_ring_ask *ask, const char *text)
{
	uint32_t at = 0;

	while (at < ask->text_bytes && strcmp(ask->text + at, text) != 0)
		at += (uint32_t)strlen(ask->text + at) + 1;
	return at;
}

static bool add_text(struct tapir_ring_ask *ask, const struct tapir_str *text,
		     struct tapir_ring_selection *selection)
{
	uint32_t at = place_of(ask, text->data);

	if (text->len >= TAPIR_RING_ARGS_BYTES)
		return false;
	if (at == ask->text_bytes) {
		if (text->len >= TAPIR_RING_TEXT_BYTES - at)
			return false;
		memcpy(ask->text + at, text->data, text->len + 1);
		ask->text_bytes += (uint32_t)text->len + 1;
	}
	selection->args_off = at;
	selection->args_bytes = (uint32_t)text->len;
	return true;
}

bool tapir_ring_ask__add_args(struct tapir_ring_ask *ask, const struct tapir_spec *spec,
			      struct tapir_ring_selection *selection)
{
	const struct tapir_spec_arg *arg;
	struct tapir_str text = {};
	bool is_added = true;

	tapir_vec_for_each (arg, &spec->args) {
		if (text.len)
			tapir_str__addc(&text, ';');
		tapir_str__adds(&text, arg->key);
		tapir_str__addc(&text, '=');
		tapir_str__adds(&text, arg->value);
	}
	if (spec->args.cnt)
		is_added = text.data && add_text(ask, &text, selection);
	tapir_str__fini(&text);
	return is_added;
}
