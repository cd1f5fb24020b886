// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The texts and remedies of each end, and the names of functions that no one calls: where a stack
 * ends in one of them it is complete, whatever the unwinder says.
 */
#include "symbol/stack_end.h"

#include <string.h>

#include "symbol/frame.h"

static const struct {
	const char *id, *text, *remedy;
} ends[TAPIR_STACK_END_CNT] = {
	[TAPIR_STACK_END_UNKNOWN] = {.id = "unknown"},
	[TAPIR_STACK_END_WHOLE] = {.id = "whole"},
	[TAPIR_STACK_END_NO_TABLE] =
		{.id = "no_table",
		 .remedy = "build the file with -fasynchronous-unwind-tables (Rust: -C "
			   "force-unwind-tables) and keep .eh_frame"},
	[TAPIR_STACK_END_NOT_YET] = {.id = "not_yet",
				     .remedy = "tables are built during the recording: record "
					       "longer"},
	[TAPIR_STACK_END_JIT_NO_FP] = {.id = "jit_no_fp",
				       .remedy =
					       "start the runtime with frame pointers for the code "
					       "it generates ('tapir doctor -p PID')"},
	[TAPIR_STACK_END_NOT_CODE] = {.id = "not_code"},
	[TAPIR_STACK_END_FAULT] = {.id = "fault"},
	[TAPIR_STACK_END_MORE] = {.id = "more", .remedy = "record with --frames N, 512 at most"},
	[TAPIR_STACK_END_UNSUPPORTED] = {.id = "unsupported"},
	[TAPIR_STACK_END_NO_PROGRESS] = {.id = "no_progress"},
	[TAPIR_STACK_END_FP_END] = {.id = "fp_end"},
	[TAPIR_STACK_END_FP_START] = {.id = "fp_start"},
	[TAPIR_STACK_END_IN_HEAP] = {.id = "in_heap",
				     .remedy = "'jcmd PID Thread.dump_to_file FILE' lists virtual "
					       "threads with all of their callers"},
};

static const char *const texts[TAPIR_STACK_END_CNT] = {
#define TAPIR_X(name, text) [TAPIR_STACK_END_##name] = text,
	TAPIR_STACK_ENDS(TAPIR_X)
#undef TAPIR_X
};

bool tapir_stack_end__is_start(const char *function, size_t len)
{
	static const char *const starts[] = {"_start",
					     "_dl_start_user",
					     "__libc_start_main",
					     "__libc_start_main_impl",
					     "__libc_start_call_main",
					     "start_thread",
					     "thread_start",
					     "clone",
					     "clone3",
					     "__clone",
					     "__clone3",
					     "ret_from_fork",
					     NULL};
	const char *version = memchr(function, '@', len);

	if (version)
		len = (size_t)(version - function);
	for (const char *const *start = starts; *start; start++)
		if (len == strlen(*start) && !memcmp(function, *start, len))
			return true;
	return false;
}

static struct tapir_frame last_frame(const struct tapir_catalog *catalog, uint32_t tgid,
				     uint64_t time_ns, const struct tapir_rec_stack *stack)
{
	struct tapir_stack_view view;

	tapir_stack_view__of(&stack->h, &view);
	return tapir_frame__of(catalog, tgid, time_ns, &view, stack->frame_cnt - 1u);
}

enum tapir_stack_end tapir_stack_end__of(const struct tapir_catalog *catalog, uint32_t tgid,
					 uint64_t time_ns, const struct tapir_rec_stack *stack)
{
	struct tapir_frame last;

	if (stack->flags & TAPIR_STACK_KERNEL || stack->end >= TAPIR_STACK_END_CNT)
		return TAPIR_STACK_END_UNKNOWN;
	if (!stack->frame_cnt || stack->end != TAPIR_STACK_END_FP_END ||
	    !(stack->flags & TAPIR_STACK_CALLED))
		return (enum tapir_stack_end)stack->end;
	last = last_frame(catalog, tgid, time_ns, stack);
	return tapir_stack_end__is_start(last.name.data, last.name.len)
		       ? TAPIR_STACK_END_FP_START
		       : (enum tapir_stack_end)stack->end;
}

bool tapir_stack_end__at_start(enum tapir_stack_end end)
{
	return end == TAPIR_STACK_END_WHOLE || end == TAPIR_STACK_END_FP_START;
}

bool tapir_stack_end__lost_callers(enum tapir_stack_end end)
{
	return end != TAPIR_STACK_END_UNKNOWN && !tapir_stack_end__at_start(end);
}

const char *tapir_stack_end__id(enum tapir_stack_end end)
{
	return end < TAPIR_STACK_END_CNT ? ends[end].id : "unknown";
}

const char *tapir_stack_end__text(enum tapir_stack_end end)
{
	return end < TAPIR_STACK_END_CNT ? texts[end] : "not recorded";
}

const char *tapir_stack_end__remedy(enum tapir_stack_end end)
{
	return end < TAPIR_STACK_END_CNT ? ends[end].remedy : NULL;
}

struct tapir_sv tapir_stack_end__module(const struct tapir_catalog *catalog, uint32_t tgid,
					uint64_t time_ns, const struct tapir_rec_stack *stack)
{
	struct tapir_frame last;

	if (!stack->frame_cnt)
		return (struct tapir_sv){};
	last = last_frame(catalog, tgid, time_ns, stack);
	return last.is_jit ? tapir_sv__of("generated code") : tapir_frame__module_name(&last);
}

/* "callers lost in libfoo.so: no unwind table". */
static void add_end(struct tapir_str *out, enum tapir_stack_end end, struct tapir_sv module)
{
	tapir_str__adds(out, "callers lost");
	if (module.len && end != TAPIR_STACK_END_JIT_NO_FP) {
		tapir_str__adds(out, " in ");
		tapir_str__add_printable(out, module.data, module.len);
	}
	tapir_str__addf(out, ": %s", tapir_stack_end__text(end));
}

bool tapir_stack_end__add_of(struct tapir_str *out, const struct tapir_catalog *catalog,
			     uint32_t tgid, uint64_t time_ns, const struct tapir_rec_stack *stack)
{
	enum tapir_stack_end end = tapir_stack_end__of(catalog, tgid, time_ns, stack);

	if (!tapir_stack_end__lost_callers(end))
		return false;
	add_end(out, end, tapir_stack_end__module(catalog, tgid, time_ns, stack));
	return true;
}
