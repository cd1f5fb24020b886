// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A frame's class and its function are one number, which the frame memo remembers. An async method
 * that was begun by a call has its caller next to it; one that was continued has what continued it.
 */
#include "record/async_stacks/await_frames.h"

#include "base/str.h"
#include "spec/runtime_db/lore.h"
#include "symbol/dotnet_name.h"
#include "symbol/frame.h"

#define STUBS_MAX 2 /* of the runtime's, between a method and what continues it */

enum frame_class {
	CLASS_OTHER,
	CLASS_ASYNC,	  /* an async method's own code */
	CLASS_CONTINUER,  /* continues async methods */
	CLASS_RUNNER,	  /* the same, and begins other tasks */
	CLASS_DISPATCHER, /* continues methods that the runtime suspended */
	CLASS_MASK = 7
};
#define CLASS_BITS 3

static bool matches(const char *const *globs, const char *name)
{
	for (; globs && *globs; globs++)
		if (tapir_glob__match(*globs, name))
			return true;
	return false;
}

static enum frame_class class_of(const char *name)
{
	tapir_lore_for_each (lore) {
		if (matches(lore->async_methods, name))
			return CLASS_ASYNC;
		if (matches(lore->async_dispatchers, name))
			return CLASS_DISPATCHER;
		if (matches(lore->task_start_functions, name))
			return CLASS_RUNNER;
		if (matches(lore->continuation_functions, name))
			return CLASS_CONTINUER;
	}
	return CLASS_OTHER;
}

static uint64_t frame_number(void *ctx, const struct tapir_frame *frame)
{
	struct tapir_str name = {};
	struct tapir_sv tier;
	uint64_t number = CLASS_OTHER;

	(void)ctx;
	if (frame->is_jit || frame->name.len) {
		if (!tapir_dotnet_name__add(&name, frame->name, &tier))
			tapir_str__add(&name, frame->name.data, frame->name.len);
		if (name.data && !name.failed)
			number = tapir_hash__bytes(23, name.data, name.len) << CLASS_BITS |
				 class_of(name.data);
	}
	tapir_str__fini(&name);
	return number;
}

/* At most that many frames are of one stack. */
static uint64_t number_at(struct tapir_await_frames *f, const struct tapir_catalog *catalog,
			  const struct tapir_stack_ref *ref, const struct tapir_stack_view *view,
			  unsigned idx)
{
	struct tapir_name_span span = TAPIR_NAME_SPAN_ALL;

	return tapir_frame_cache__number(&f->memo, catalog, ref, view, idx, frame_number, NULL,
					 &span);
}

bool tapir_await_frames__find(struct tapir_await_frames *f, const struct tapir_catalog *catalog,
			      const struct tapir_stack_ref *ref,
			      const struct tapir_stack_view *view, struct tapir_await_location *out)
{
	enum frame_class inner = CLASS_OTHER;
	uint64_t inner_number = 0;

	*out = (struct tapir_await_location){};
	for (unsigned i = 0; i < view->rec->frame_cnt; i++) {
		uint64_t number = number_at(f, catalog, ref, view, i);
		enum frame_class class = number & CLASS_MASK;
		bool is_begin = i && ((class == CLASS_RUNNER && inner < CLASS_CONTINUER) ||
				      (class == CLASS_CONTINUER && inner == CLASS_ASYNC));

		if (is_begin && !out->cnt++) {
			out->idx = i - 1;
			out->function = inner_number | CLASS_MASK;
		}
		inner = class;
		inner_number = number;
	}
	return out->cnt;
}

bool tapir_await_frames__awaiting(struct tapir_await_frames *f, const struct tapir_catalog *catalog,
				  const struct tapir_stack_ref *ref,
				  const struct tapir_stack_view *view,
				  struct tapir_await_location *out)
{
	*out = (struct tapir_await_location){};
	for (unsigned i = 0; i < view->rec->frame_cnt; i++) {
		uint64_t number = number_at(f, catalog, ref, view, i);

		if ((number & CLASS_MASK) != CLASS_ASYNC)
			continue;
		out->idx = i;
		out->function = number | CLASS_MASK;
		return true;
	}
	return false;
}

/* The number of the method that continues at va when what it awaits has ended. */
static uint64_t number_of_va(struct tapir_await_frames *f, const struct tapir_catalog *catalog,
			     const struct tapir_stack_ref *ref, uint64_t va)
{
	const uint64_t frames[] = {va, va}; /* the second one is a return address */
	struct tapir_rec_stack rec = {.frame_cnt = 2};
	const struct tapir_stack_view view = {.rec = &rec, .frames_va = frames};

	return number_at(f, catalog, ref, &view, 1);
}

bool tapir_await_frames__find_continued(struct tapir_await_frames *f,
					const struct tapir_catalog *catalog,
					const struct tapir_stack_ref *ref,
					const struct tapir_stack_view *view, uint64_t va,
					bool *is_continued, unsigned *idx)
{
	uint64_t number = number_of_va(f, catalog, ref, va);
	unsigned i;

	for (i = 0; i < view->rec->frame_cnt; i++)
		if ((number_at(f, catalog, ref, view, i) & CLASS_MASK) == CLASS_DISPATCHER)
			break;
	*is_continued = i && i < view->rec->frame_cnt;
	if (!*is_continued)
		return false;
	for (unsigned stubs = 0; i-- && stubs <= STUBS_MAX; stubs++) {
		if (number_at(f, catalog, ref, view, i) != number)
			continue;
		*idx = i;
		return true;
	}
	return false;
}

bool tapir_await_frames__is_between(struct tapir_await_frames *f,
				    const struct tapir_catalog *catalog,
				    const struct tapir_stack_ref *ref,
				    const struct tapir_stack_view *view)
{
	for (unsigned i = 0; i < view->rec->frame_cnt; i++)
		if ((number_at(f, catalog, ref, view, i) & CLASS_MASK) >= CLASS_CONTINUER)
			return true;
	return false;
}

void tapir_await_frames__fini(struct tapir_await_frames *f)
{
	tapir_frame_cache__fini(&f->memo);
}
