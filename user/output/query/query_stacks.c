// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Three levels, each of which spares what is below it: the text of a stack, that of a frame with
 * the calls that the compiler inlined in it, and that of its innermost function. All are kept once,
 * by their contents; when they take too much memory, all are forgotten.
 */
#include "output/query/query_stacks.h"

#include <string.h>

#include "trace/family.h"

#define TEXTS_MAX	(1u << 18) /* functions, frames and stacks */
#define TEXTS_BYTES_MAX (32u << 20)

void tapir_query_frame__add_name(struct tapir_str *out, const struct tapir_frame *function,
				 struct tapir_str *buf)
{
	struct tapir_sv tier, name;

	tapir_str__clear(buf);
	name = tapir_frame__shown_name(function, buf, &tier);
	if (name.len)
		tapir_str__add(out, name.data, name.len);
	else
		tapir_frame__add_location(out, function, tapir_str__add);
}

/* ---- texts ------------------------------------------------------------------------------------- */

static void forget_all(struct tapir_query_stacks *s)
{
	tapir_frame_cache__fini(&s->innermost);
	tapir_frame_cache__fini(&s->frames);
	tapir_stack_cache__fini(&s->whole);
	tapir_map__clear(&s->by_text);
	tapir_arena__fini(&s->arena);
	s->arena = (struct tapir_arena){.max_bytes = TEXTS_BYTES_MAX};
	s->texts.cnt = 0;
}

void tapir_query_stacks__fini(struct tapir_query_stacks *s)
{
	forget_all(s);
	tapir_map__fini(&s->by_text);
	tapir_vec__fini(&s->texts);
	tapir_str__fini(&s->text);
	tapir_str__fini(&s->name);
	*s = (struct tapir_query_stacks){};
}

/* Returns the number of s->text, idx + 1; 0: there is no room, or another text has its hash. */
static uint64_t number_of_text(struct tapir_query_stacks *s)
{
	uint64_t hash = tapir_hash__bytes(0, s->text.data, s->text.len), *number;
	struct tapir_query_text kept = {.len = s->text.len};
	bool is_new = false;

	if (s->text.failed || !s->text.len)
		return 0;
	number = tapir_map__get(&s->by_text, hash);
	if (number) {
		kept = s->texts.data[*number - 1];
		return kept.len == s->text.len && !memcmp(kept.text, s->text.data, kept.len)
			       ? *number
			       : 0;
	}
	if (s->texts.cnt < TEXTS_MAX)
		kept.text = tapir_arena__text(&s->arena, s->text.data, s->text.len);
	if (!kept.text || !tapir_vec__push(&s->texts, kept))
		return 0;
	number = tapir_map__put(&s->by_text, hash, &is_new);
	if (number)
		*number = s->texts.cnt;
	return s->texts.cnt;
}

static struct tapir_sv stack_text(const struct tapir_query_stacks *s, uint64_t number)
{
	const struct tapir_query_text *kept = number ? &s->texts.data[number - 1] : NULL;

	return kept ? (struct tapir_sv){kept->text, kept->len}
		    : (struct tapir_sv){s->text.data, s->text.len};
}

/* Makes room when there was none for the text of the row before. */
static void make_texts_room(struct tapir_query_stacks *s)
{
	if (!s->arena.max_bytes || s->texts.cnt >= TEXTS_MAX ||
	    s->arena.bytes > TEXTS_BYTES_MAX / 16 * 15)
		forget_all(s);
}

/* ---- frames ------------------------------------------------------------------------------------- */

/*
 * Adds the calls of a frame, the outermost first: a frame has one, and those inlined in it. In a
 * stack, ';' separates functions, so that a name has none.
 */
static void add_frame(struct tapir_query_stacks *s, struct tapir_str *out,
		      const struct tapir_frame *frame, bool is_complete)
{
	for (unsigned k = is_complete ? tapir_frame__function_cnt(frame) : 1; k--;) {
		struct tapir_frame function = tapir_frame__function(frame, k);
		size_t at;

		if (out->len)
			tapir_str__addc(out, ';');
		at = out->len;
		tapir_query_frame__add_name(out, &function, &s->name);
		for (; is_complete && at < out->len; at++)
			if (out->data[at] == ';')
				out->data[at] = ':';
	}
}

static uint64_t number_of_function(void *ctx, const struct tapir_frame *frame)
{
	struct tapir_query_stacks *s = ctx;

	tapir_str__clear(&s->text);
	add_frame(s, &s->text, frame, false);
	return number_of_text(s);
}

static uint64_t number_of_frame(void *ctx, const struct tapir_frame *frame)
{
	struct tapir_query_stacks *s = ctx;

	tapir_str__clear(&s->text);
	add_frame(s, &s->text, frame, true);
	return number_of_text(s);
}

struct tapir_sv tapir_query_stacks__function(struct tapir_query_stacks *s,
					     const struct tapir_catalog *catalog,
					     const struct tapir_rec *rec, uint64_t id)
{
	const struct tapir_rec_stack *stack = id ? tapir_catalog__stack(catalog, id) : NULL;
	const struct tapir_stack_ref ref = {.tgid = tapir_rec__tgid(rec, 0),
					    .time_ns = rec->time_ns};
	struct tapir_name_span span = TAPIR_NAME_SPAN_ALL;
	struct tapir_stack_view view;
	struct tapir_frame frame;
	uint64_t number;

	if (!stack || !stack->frame_cnt)
		return (struct tapir_sv){};
	make_texts_room(s);
	tapir_stack_view__of(&stack->h, &view);
	number = tapir_frame_cache__number(&s->innermost, catalog, &ref, &view, 0,
					   number_of_function, s, &span);
	if (!number) {
		frame = tapir_frame__of(catalog, ref.tgid, ref.time_ns, &view, 0);
		(void)number_of_function(s, &frame);
	}
	return stack_text(s, number);
}

/* ---- stacks ------------------------------------------------------------------------------------- */

static void add_query_stack(struct tapir_query_stacks *s, const struct tapir_catalog *catalog,
			    const struct tapir_stack_ref *ref, uint64_t id, struct tapir_str *out,
			    struct tapir_name_span *span)
{
	const struct tapir_rec_stack *stack = id ? tapir_catalog__stack(catalog, id) : NULL;
	struct tapir_stack_view view;

	if (!stack)
		return;
	tapir_stack_view__of(&stack->h, &view);
	for (unsigned n = stack->frame_cnt; n--;) {
		uint64_t number = tapir_frame_cache__number(&s->frames, catalog, ref, &view, n,
							    number_of_frame, s, span);
		struct tapir_frame frame;
		struct tapir_sv text;

		if (!number) {
			frame = tapir_frame__of(catalog, ref->tgid, ref->time_ns, &view, n);
			(void)number_of_frame(s, &frame);
		}
		text = stack_text(s, number);
		if (out->len)
			tapir_str__addc(out, ';');
		tapir_str__add(out, text.data, text.len);
	}
}

struct tapir_sv tapir_query_stacks__whole(struct tapir_query_stacks *s,
					  const struct tapir_catalog *catalog,
					  const struct tapir_rec *rec)
{
	const struct tapir_stack_ref ref = {.tgid = tapir_rec__tgid(rec, 0),
					    .time_ns = rec->time_ns,
					    .stack_id = tapir_rec__stack_id(rec),
					    .kstack_id = tapir_rec__kstack_id(rec)};
	struct tapir_name_span span = TAPIR_NAME_SPAN_ALL;
	const struct tapir_stack_cache_entry *known;
	struct tapir_str made = {};
	uint64_t number;

	if (!ref.stack_id && !ref.kstack_id)
		return (struct tapir_sv){};
	make_texts_room(s);
	(void)tapir_stack_cache__renew(&s->whole, catalog);
	known = tapir_stack_cache__find(&s->whole, &ref);
	if (known)
		return stack_text(s, known->value);
	add_query_stack(s, catalog, &ref, ref.stack_id, &made, &span);
	add_query_stack(s, catalog, &ref, ref.kstack_id, &made, &span);
	tapir_str__fini(&s->text);
	s->text = made;
	number = number_of_text(s);
	/* A stack that is not described may be, later. */
	if (number)
		(void)tapir_stack_cache__add(&s->whole, &ref, span, number);
	return stack_text(s, number);
}
