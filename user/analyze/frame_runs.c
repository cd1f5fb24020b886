// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Joins neighbouring frames of one kind to a run and gives it a text. The innermost function
 * decides what a run does; the outermost one that has a name shows how the kernel or a runtime was
 * entered.
 */
#include "analyze/frame_runs.h"

#include <inttypes.h>
#include <string.h>

#include "analyze/app_code.h"
#include "analyze/runtime_work.h"
#include "analyze/wait_reason.h"
#include "spec/runtime_db/lore.h"
#include "symbol/frame_kind.h"
#include "symbol/unnamed_frames.h"

/* ---- which frames are of a run ---------------------------------------------------------------- */

/* The runtime whose library has this method for any caller, as tapir_frame__runtime; 0: none. */
static uint8_t runtime_of_glue(const char *name)
{
	uint8_t idx = 0;

	tapir_lore_for_each (lore) {
		idx++;
		if (tapir_sv__starts_with_any(tapir_sv__of(name), lore->framework_glue))
			return idx;
	}
	return 0;
}

/* Returns the run that the frame would begin. */
static struct tapir_frame_run run_of(const struct tapir_run_frame *frame)
{
	struct tapir_frame_run run = {.file = tapir_unnamed_frame__module(frame->name),
				      .runtime = frame->runtime};

	if (frame->kind == TAPIR_FRAME_JIT && !run.file.len)
		run.runtime = runtime_of_glue(frame->name);
	run.of = frame->kind == TAPIR_FRAME_KERNEL ? TAPIR_RUN_OF_KERNEL
		 : run.runtime			   ? TAPIR_RUN_OF_RUNTIME
		 : run.file.len			   ? TAPIR_RUN_OF_FILE
						   : TAPIR_RUN_OF_FRAME;
	return run;
}

static bool is_same_run(const struct tapir_frame_run *a, const struct tapir_frame_run *b)
{
	return a->of == b->of && a->of != TAPIR_RUN_OF_FRAME && a->runtime == b->runtime &&
	       (a->of != TAPIR_RUN_OF_FILE || !tapir_sv__compare(a->file, b->file));
}

/* ---- what they do ----------------------------------------------------------------------------- */

static bool is_of_purpose(const struct tapir_lore_purpose *purpose, const char *name)
{
	return *purpose->of == '*' ? strstr(name, purpose->of + 1) != NULL
				   : tapir_sv__starts_with(tapir_sv__of(name), purpose->of);
}

static const char *purpose_of(const char *name, uint8_t runtime)
{
	const struct tapir_lore *lore = tapir_lore_all[runtime - 1];
	const char *work = tapir_work__purpose_of(name, lore);

	for (const struct tapir_lore_purpose *p = lore->purposes; !work && p && p->of; p++)
		if (is_of_purpose(p, name))
			work = p->activity;
	if (!work && tapir_sv__starts_with_any(tapir_sv__of(name), lore->exception_functions))
		work = "exception dispatch";
	return work;
}

static void see_kernel(struct tapir_frame_run *run, const char *name)
{
	const struct tapir_lore_wait *wait = tapir_wait_reason__of_function(name, true);
	const char *call =
		strstr(name, tapir_sv__starts_with(tapir_sv__of(name), "ksys_") ? "sys_" : "_sys_");

	run->is_wait |= !strcmp(name, "schedule") || !strcmp(name, "__schedule");
	if (!run->wait && wait)
		run->wait = wait->reason;
	if (call)
		run->entry = strstr(call, "sys_") + strlen("sys_");
	else if (!strcmp(name, "asm_exc_page_fault"))
		run->entry = "page fault";
	else if (tapir_sv__starts_with(tapir_sv__of(name), "asm_sysvec_") ||
		 !strcmp(name, "asm_common_interrupt"))
		run->entry = "interrupt";
}

static void see_runtime(struct tapir_frame_run *run, const char *name, bool has_name)
{
	const struct tapir_lore_wait *wait = tapir_wait_reason__of_function(name, false);

	if (wait && (!run->wait || (run->is_common && !wait->is_common))) {
		run->wait = wait->reason;
		run->is_common = wait->is_common;
	}
	if (!run->activity)
		run->activity = purpose_of(name, run->runtime);
	if (has_name)
		run->entry = name;
}

bool tapir_frame_run__take(struct tapir_frame_run *run, const struct tapir_run_frame *frame)
{
	struct tapir_frame_run own = run_of(frame);

	if (!run->cnt) {
		*run = own;
		run->first = frame->name;
	} else if (!is_same_run(run, &own)) {
		/* A method of the library that asked for it. */
		if (run->of == TAPIR_RUN_OF_RUNTIME && !run->activity)
			run->activity = purpose_of(frame->name, run->runtime);
		return false;
	}
	run->cnt++;
	run->unnamed_cnt += own.file.len != 0;
	if (run->of == TAPIR_RUN_OF_KERNEL)
		see_kernel(run, frame->name);
	else if (run->of == TAPIR_RUN_OF_RUNTIME)
		see_runtime(run, frame->name, !own.file.len);
	return true;
}

uint32_t tapir_frame_run__of_node(struct tapir_frame_run *run, const struct tapir_stack_tree *tree,
				  uint32_t node)
{
	*run = (struct tapir_frame_run){};
	for (; node; node = tree->nodes.data[node].parent) {
		const struct tapir_tree_node *n = &tree->nodes.data[node];

		if (!tapir_frame_run__take(
			    run, &(struct tapir_run_frame){.name = tree->names.data[n->name],
							   .kind = n->kind,
							   .runtime = n->runtime}))
			break;
	}
	return node;
}

/* ---- text --------------------------------------------------------------------------------------- */

/* "futex wait"; of some reasons the word says that already. */
static void add_wait_purpose(const char *reason, struct tapir_str *out)
{
	static const char *const whole[] = {"sleep", "stopped", "start of a process"};

	tapir_str__adds(out, reason);
	for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++)
		if (!strcmp(reason, whole[i]))
			return;
	tapir_str__adds(out, " wait");
}

/* Memory has names in brackets: "[jit]", "[unknown]". */
static struct tapir_sv without_brackets(struct tapir_sv file)
{
	if (file.len > 2 && *file.data == '[' && file.data[file.len - 1] == ']')
		return (struct tapir_sv){file.data + 1, file.len - 2};
	return file;
}

void tapir_frame_run__add(const struct tapir_frame_run *run, const char *purpose, bool with_cnt,
			  struct tapir_str *out)
{
	bool is_kernel = run->of == TAPIR_RUN_OF_KERNEL;
	const struct tapir_sv file = without_brackets(run->file);
	const char *activity = run->entry;

	tapir_str__addc(out, '[');
	/*
	 * The functions by which the kernel lets a thread sleep are the same for all waits: only
	 * what it waits for is said.
	 */
	if (is_kernel && run->is_wait) {
		add_wait_purpose(run->wait ? run->wait : run->entry ? run->entry : run->first, out);
		tapir_str__addc(out, ']');
		return;
	}
	if (is_kernel)
		activity = run->entry ? run->entry : run->first;
	else if (run->activity || run->wait || purpose)
		activity = run->activity ? run->activity : run->wait ? run->wait : purpose;
	if (is_kernel)
		tapir_str__adds(out, "kernel");
	else if (run->of == TAPIR_RUN_OF_RUNTIME)
		tapir_str__adds(out, tapir_lore_all[run->runtime - 1]->name);
	else
		tapir_str__add(out, file.data, file.len);
	if (activity)
		tapir_str__addf(out, ": %s", activity);
	if (with_cnt)
		tapir_str__addf(out, ", %" PRIu32 " frame%s", run->cnt, run->cnt == 1 ? "" : "s");
	tapir_str__addc(out, ']');
}
