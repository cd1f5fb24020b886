// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A SPEC's items become one selection each, or where there are too many one a provider; what
 * they leave out is left to the judgement.
 */
#include "attach/rings/ring_select.h"

#include <string.h>

#include "base/str.h"

/* A set of characters is any one character; what does not fit ends in a star. */
static void fill_glob(char *out, size_t out_bytes, const char *glob)
{
	size_t n = 0;

	while (*glob) {
		size_t len = tapir_glob__element_len(glob);
		char c = len == 1 ? *glob : len == 2 && *glob == '\\' ? glob[1] : '?';

		if (n + 1 >= out_bytes) {
			out[out_bytes - 2] = '*';
			break;
		}
		/* \* means a literal star; '?' lets it through as well */
		out[n++] = len == 2 && (c == '*' || c == '?') ? '?' : c;
		glob += len;
	}
	out[n] = '\0';
}

static void fill_one(const struct tapir_spec *spec, const struct tapir_spec_item *item,
		     struct tapir_ring_selection *out)
{
	*out = (struct tapir_ring_selection){.used = 1};
	out->level = spec->level > 0 ? (uint8_t)spec->level : 0;
	fill_glob(out->provider, sizeof(out->provider), spec->provider);
	if (item && item->kind == TAPIR_SPEC_MASK)
		out->keywords = item->mask;
	else if (item)
		fill_glob(out->event, sizeof(out->event), item->text);
}

/* kw=NAME: only the runtime's own records know names; none of its events is requested here. */
static bool is_positive(const struct tapir_spec_item *item)
{
	return !item->negated && item->kind != TAPIR_SPEC_KEYWORD;
}

/* Takes what is requested; false: it has no room for it. */
typedef bool (*take_fn)(struct tapir_ring_request *out, const struct tapir_ring_selection *one);

static bool select_item(const struct tapir_spec *spec, const struct tapir_spec_item *item,
			struct tapir_ring_request *out, take_fn take)
{
	struct tapir_ring_selection one;

	fill_one(spec, item, &one);
	return tapir_ring_request__add_args(out, spec, &one) && take(out, &one);
}

/*
 * Each positive item of each SPEC, and each SPEC that only excludes, or names no events. One with a
 * PATH requests probes: events that the process selected itself would be in no recording.
 */
static bool take_each(const struct tapir_spec_list *specs, struct tapir_ring_request *out,
		      take_fn take)
{
	bool all_fit = true;

	tapir_ring_request__clear(out);
	for (size_t i = 0; i < specs->cnt; i++) {
		const struct tapir_spec *spec = specs->data[i];
		const struct tapir_spec_item *item;
		bool wants_some = false;

		if (spec->path)
			continue;
		tapir_vec_for_each (item, &spec->items) {
			wants_some |= !item->negated;
			if (is_positive(item))
				all_fit &= select_item(spec, item, out, take);
		}
		if (!wants_some)
			all_fit &= select_item(spec, NULL, out, take);
	}
	return all_fit;
}

/* A separate entry. */
static bool append_selection(struct tapir_ring_request *out, const struct tapir_ring_selection *one)
{
	for (unsigned i = 0; i < TAPIR_RING_SELECTIONS; i++) {
		if (out->all[i].used)
			continue;
		out->all[i] = *one;
		return true;
	}
	return false;
}

/* into takes in what more asks for: of one provider, with the same arguments. */
static void widen_selection(struct tapir_ring_selection *into,
			    const struct tapir_ring_selection *more)
{
	into->keywords = into->keywords && more->keywords ? into->keywords | more->keywords : 0;
	if (!more->level || (into->level && more->level > into->level))
		into->level = more->level;
	if (strcmp(into->event, more->event) != 0)
		into->event[0] = '\0';
}

/* One a provider: what it lets through too much is judged by us. */
static bool fold_selection(struct tapir_ring_request *out, const struct tapir_ring_selection *more)
{
	for (unsigned i = 0; i < TAPIR_RING_SELECTIONS; i++) {
		struct tapir_ring_selection *one = &out->all[i];

		if (!one->used) {
			*one = *more;
			return true;
		}
		if (!strcmp(one->provider, more->provider) &&
		    !strcmp(tapir_ring_request__args(out, one),
			    tapir_ring_request__args(out, more))) {
			widen_selection(one, more);
			return true;
		}
	}
	return false;
}

bool tapir_ring_select__fill(const struct tapir_spec_list *specs, struct tapir_ring_request *out)
{
	return take_each(specs, out, append_selection) || take_each(specs, out, fold_selection);
}

/* ---- one event -------------------------------------------------------------------------- */

/* Names as strings, which SPECs are compared with. Longer names are cut to these sizes. */
struct names {
	char provider[256], event[256], file[4096];
};

bool tapir_ring_select__classify(const struct tapir_spec_list *specs, enum tapir_spec_zero zero,
				 const struct tapir_probe_view *probe, bool *matched)
{
	struct names names;
	bool is_requested = false;

	tapir_sv__copy(probe->provider, names.provider, sizeof(names.provider));
	tapir_sv__copy(probe->event, names.event, sizeof(names.event));
	tapir_sv__copy(probe->file, names.file, sizeof(names.file));
	for (size_t i = 0; i < specs->cnt; i++) {
		if (!tapir_spec__selects(specs->data[i], zero, names.file, names.provider,
					 names.event, probe->rec->level, probe->rec->keywords))
			continue;
		is_requested = true;
		if (matched)
			matched[i] = true;
	}
	return is_requested;
}
