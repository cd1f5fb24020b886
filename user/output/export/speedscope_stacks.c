// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers stacks and frames: frames are one where name and module are, stacks are one where their
 * frames are. Callers that are missing are a frame of their own, so that a reader does not take the
 * last known one for the thread's start.
 */
#include "output/export/speedscope_stacks.h"

#include "base/json.h"
#include "symbol/frame.h"
#include "symbol/stack_end.h"

#define STACK_BYTES	64 /* per stack, in addition to its frames: its position and hash entry */
#define NAMES_MAX_BYTES (32u << 20)

/* One for a name in a file, which may be empty, at a line of it (0: unknown). */
static uint64_t frame_number(struct tapir_speedscope_stacks *s, const struct tapir_str *name,
			     struct tapir_sv file, uint32_t line)
{
	struct tapir_json json = tapir_json__to(&s->frames_json);
	bool is_new = false;
	uint64_t *number =
		tapir_map__put(&s->frame_by_name,
			       tapir_hash__bytes(tapir_hash__bytes(1 + line, name->data, name->len),
						 file.data, file.len),
			       &is_new);

	s->failed |= !number;
	if (number && is_new) {
		*number = s->frame_cnt++;
		if (*number)
			tapir_str__addc(&s->frames_json, ',');
		tapir_json__open(&json, NULL, '{');
		tapir_json__strn(&json, "name", name->data, name->len);
		if (file.len)
			tapir_json__strn(&json, "file", file.data, file.len);
		if (line)
			tapir_json__u64(&json, "line", line);
		tapir_json__close(&json, '}');
	}
	return number ? *number : 0;
}

static uint64_t function_number(void *ctx, const struct tapir_frame *frame)
{
	struct tapir_speedscope_stacks *s = ctx;
	struct tapir_sv file = frame->source.file ? tapir_sv__of(frame->source.file)
			       : frame->is_jit	  ? tapir_sv__of("[jit]")
						  : frame->module;
	struct tapir_str name = {}, buf = {};
	struct tapir_sv shown = tapir_frame__shown_name(frame, &buf, NULL);
	uint64_t number;

	if (s->frames_json.len > NAMES_MAX_BYTES)
		tapir_str__adds(&name, "[functions beyond the limit]");
	else if (frame->name.len)
		tapir_str__add(&name, shown.data, shown.len);
	else
		tapir_frame__add_location(&name, frame, tapir_str__add);
	number = frame_number(s, &name, file, frame->source.line);
	s->failed |= name.failed || buf.failed;
	tapir_str__fini(&buf);
	tapir_str__fini(&name);
	return number;
}

static uint64_t frame_numbers(void *ctx, const struct tapir_frame *frame)
{
	struct tapir_speedscope_stacks *s = ctx;

	return tapir_frame_chains__number(&s->chains, frame, function_number, s);
}

/* A frame in the place of callers that are missing. */
static void add_lost_callers(struct tapir_speedscope_stacks *s, const struct tapir_stack_ref *ref,
			     const struct tapir_rec_stack *rec)
{
	struct tapir_str name = {};
	uint32_t number;

	tapir_str__addc(&name, '[');
	if (tapir_stack_end__add_of(&name, s->catalog, ref->tgid, ref->time_ns, rec)) {
		tapir_str__addc(&name, ']');
		number = (uint32_t)frame_number(s, &name, (struct tapir_sv){}, 0);
		s->failed |= name.failed || !tapir_vec__push(&s->frames, number);
	}
	tapir_str__fini(&name);
}

/* Adds the frames of a stack after s->frames, innermost first. */
static void add_speedscope_frames(struct tapir_speedscope_stacks *s,
				  const struct tapir_stack_ref *ref, uint64_t stack_id,
				  struct tapir_name_span *span)
{
	const struct tapir_rec_stack *rec =
		stack_id ? tapir_catalog__stack(s->catalog, stack_id) : NULL;
	struct tapir_stack_view view;

	if (!rec)
		return;
	tapir_stack_view__of(&rec->h, &view);
	for (unsigned i = 0; i < rec->frame_cnt; i++) {
		uint64_t number = tapir_frame_cache__number(&s->frame_cache, s->catalog, ref, &view,
							    i, frame_numbers, s, span);
		const uint64_t *numbers;
		unsigned cnt = tapir_frame_chains__get(&s->chains, &number, &numbers);

		for (unsigned k = 0; k < cnt; k++)
			s->failed |= !tapir_vec__push(&s->frames, (uint32_t)numbers[k]);
	}
	add_lost_callers(s, ref, rec);
}

/* The number of the stack whose frames begin at first, which are removed again if it is known. */
static uint32_t number_frames(struct tapir_speedscope_stacks *s, size_t first)
{
	struct tapir_speedscope_stack stack = {first, (uint32_t)(s->frames.cnt - first)};
	bool is_new = false;
	uint64_t *number;

	if (!stack.cnt)
		return TAPIR_SPEEDSCOPE_NO_STACK;
	number = tapir_map__put(
		&s->stack_by_frames,
		tapir_hash__bytes(2, s->frames.data + first, stack.cnt * sizeof(uint32_t)),
		&is_new);
	if (number && is_new) {
		*number = s->stacks.cnt;
		s->failed |= !tapir_vec__push(&s->stacks, stack);
	} else {
		s->frames.cnt = first;
	}
	s->failed |= !number;
	return number ? (uint32_t)*number : TAPIR_SPEEDSCOPE_NO_STACK;
}

uint32_t tapir_speedscope_stacks__number(struct tapir_speedscope_stacks *s,
					 const struct tapir_stack_ref *ref)
{
	struct tapir_name_span span = TAPIR_NAME_SPAN_ALL;
	const struct tapir_stack_cache_entry *known;
	size_t first = s->frames.cnt;
	uint32_t number;

	(void)tapir_stack_cache__renew(&s->stack_cache, s->catalog);
	known = tapir_stack_cache__find(&s->stack_cache, ref);
	if (known)
		return (uint32_t)known->value;
	add_speedscope_frames(s, ref, ref->kstack_id, &span);
	add_speedscope_frames(s, ref, ref->stack_id, &span);
	number = number_frames(s, first);
	if (number == TAPIR_SPEEDSCOPE_NO_STACK)
		return number;
	s->failed |= !tapir_stack_cache__add(&s->stack_cache, ref, span, number);
	return number;
}

size_t tapir_speedscope_stacks__bytes(const struct tapir_speedscope_stacks *s)
{
	return s->frames.cnt * sizeof(*s->frames.data) + s->stacks.cnt * STACK_BYTES;
}

void tapir_speedscope_stacks__fini(struct tapir_speedscope_stacks *s)
{
	tapir_map__fini(&s->frame_by_name);
	tapir_map__fini(&s->stack_by_frames);
	tapir_frame_cache__fini(&s->frame_cache);
	tapir_frame_chains__fini(&s->chains);
	tapir_stack_cache__fini(&s->stack_cache);
	tapir_str__fini(&s->frames_json);
	tapir_vec__fini(&s->frames);
	tapir_vec__fini(&s->stacks);
}
