// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arguments of SPECs are stored one after the other, each text once: SPECs of one command often
 * differ in the provider alone, and the control file has room for 256 KB.
 */
#include "attach/rings/ring_request.h"

#include <string.h>

#include "base/str.h"

void tapir_ring_request__clear(struct tapir_ring_request *request)
{
	memset(request->all, 0, sizeof(request->all));
	request->text_bytes = 0;
}

const char *tapir_ring_request__args(const struct tapir_ring_request *request,
				     const struct tapir_ring_selection *selection)
{
	return selection->args_bytes ? request->text + selection->args_off : "";
}

/* The offset at which the text is, or would be appended. */
static uint32_t text_offset(const struct tapir_ring_request *request, const char *text)
{
	uint32_t at = 0;

	while (at < request->text_bytes && strcmp(request->text + at, text) != 0)
		at += (uint32_t)strlen(request->text + at) + 1;
	return at;
}

static bool add_selected_text(struct tapir_ring_request *request, const struct tapir_str *text,
			      struct tapir_ring_selection *selection)
{
	uint32_t at = text_offset(request, text->data);

	if (text->len >= TAPIR_RING_ARGS_BYTES)
		return false;
	if (at == request->text_bytes) {
		if (text->len >= TAPIR_RING_TEXT_BYTES - at)
			return false;
		memcpy(request->text + at, text->data, text->len + 1);
		request->text_bytes += (uint32_t)text->len + 1;
	}
	selection->args_off = at;
	selection->args_bytes = (uint32_t)text->len;
	return true;
}

bool tapir_ring_request__add_args(struct tapir_ring_request *request, const struct tapir_spec *spec,
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
		is_added = text.data && add_selected_text(request, &text, selection);
	tapir_str__fini(&text);
	return is_added;
}
