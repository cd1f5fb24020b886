// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Turns a request into a recording's options. Profiles overlap and are merged; mistakes that can be
 * found without a process are reported before anything is attached.
 */
#include "record/request.h"

#include <errno.h>
#include <string.h>

#include "attach/sampler.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "decode/profiles.h"
#include "decode/record_where.h"
#include "runtime/event_ops.h"
#include "spec/runtime_db/lore.h"
#include "trace/kernel_work.h"
#include "trace/native_memory.h"
#include "trace/system_calls.h"

#define DEFAULT_HZ	999 /* not in step with what happens every millisecond */
#define ALL_HZ		99
#define HEAP_WAIT_MS	2000
#define CALL_KEYS	16384u /* 1 KB of the kernel's memory each */
#define MANY_CALL_KEYS	65536u
#define CALL_FILES	8192u /* 1.5 KB each, with their names, and twice 0.9 KB */
#define MANY_CALL_FILES 32768u
#define WAITING		8192 /* threads whose waits are summed, at a time */
#define MANY_WAITING	32768
#define LONG_CALL_NS	(10 * TAPIR_NS_PER_MS) /* view syscalls says so, too */

const char *tapir_lane__name(size_t i)
{
	static const char *const names[] = {"auto", "probe", "ring", "stream"};

	return i < sizeof(names) / sizeof(names[0]) ? names[i] : NULL;
}

const char *tapir_publish__name(size_t i)
{
	return i ? NULL : "usdt";
}

/* ---- SPECs -------------------------------------------------------------------------------- */

static int add_spec(struct tapir_recording_plan *p, const char *text)
{
	struct tapir_spec *spec;
	int err = tapir_spec__parse(text, &spec);

	if (err)
		return err;
	if (tapir_vec__push(&p->specs, spec))
		return 0;
	tapir_spec__free(spec);
	return -ENOMEM;
}

static int add_machine_source(struct tapir_recording_plan *p, const char *text)
{
	struct tapir_machine_source *source;
	int err = tapir_machine_source__parse(text, &source);

	if (err)
		return err;
	p->opts.machine = &p->machine;
	if (tapir_vec__push(&p->machine, source))
		return 0;
	tapir_machine_source__free(source);
	return -ENOMEM;
}

/* Profiles overlap. */
static bool has_spec(const struct tapir_recording_plan *p, const char *text)
{
	struct tapir_spec *const *spec;

	tapir_vec_for_each (spec, &p->specs)
		if (!strcmp((*spec)->text, text))
			return true;
	return false;
}

/* Each runtime is asked for its own events only. */
static int add_silent(struct tapir_recording_plan *p, const char *text)
{
	int err;

	if (has_spec(p, text))
		return 0;
	err = add_spec(p, text);
	if (!err)
		p->specs.data[p->specs.cnt - 1]->is_silent = true;
	return err;
}

static int add_profile(struct tapir_recording_plan *p, const char *name)
{
	const struct tapir_profile *profile = tapir_profile__find(name);
	const char *text;
	int err = 0;

	if (!profile)
		return tapir_diag__fail(-EINVAL,
					"no profile '%s' ('tapir help profiles' lists them)", name);
	for (size_t i = 0; !err && (text = tapir_profile__spec(profile, i)); i++)
		err = add_silent(p, text);
	return err;
}

static int add_activities(struct tapir_recording_plan *p)
{
	int err = 0;

	tapir_lore_for_each (lore)
		for (const char *const *text = lore->activities; text && *text && !err; text++)
			err = add_silent(p, *text);
	return err;
}

/* The keywords and names that the event sources of the named processes declare. */
static int resolve_names(struct tapir_recording_plan *p, const struct tapir_pids *pids)
{
	p->opts.sources = &p->sources;
	return tapir_event_specs__resolve(&p->specs, pids, p->opts.lanes != TAPIR_LANES_PROBE,
					  &p->sources);
}

static int add_counters(struct tapir_recording_plan *p, const struct tapir_request *q)
{
	const char *const *glob;
	int err = 0;

	if (!q->has_counters)
		return q->interval_ns ? tapir_diag__fail(-EINVAL, "--interval requires --counters")
				      : 0;
	tapir_vec_for_each (glob, &q->counters) {
		err = tapir_counter_choice__add(&p->counters, *glob);
		if (err)
			return err;
	}
	if (!p->counters.globs.cnt)
		err = tapir_counter_choice__add(&p->counters, TAPIR_COUNTER_DEFAULT);
	p->counters.interval_ns = q->interval_ns ? q->interval_ns : TAPIR_COUNTER_INTERVAL_NS;
	p->opts.counters = &p->counters;
	return err ? err : tapir_counter_choice__add_specs(&p->counters, &p->specs);
}

static int add_specs(struct tapir_recording_plan *p, const struct tapir_request *q)
{
	const char *const *text;
	int err = 0;

	tapir_vec_for_each (text, &q->specs)
		if (!err)
			err = tapir_machine_source__is_one(*text) ? add_machine_source(p, *text)
								  : add_spec(p, *text);
	p->opts.specs_are_defaults = !q->specs.cnt && !q->has_no_default;
	p->opts.wants_events = p->opts.specs_are_defaults && q->profiles.cnt;
	tapir_vec_for_each (text, &q->profiles) {
		err = err ? err : add_profile(p, *text);
		p->opts.wants_events &=
			strcmp(*text, "cpu") != 0 && strcmp(*text, TAPIR_PROFILE_DEFAULT) != 0;
	}
	if (!err && p->opts.specs_are_defaults && !q->profiles.cnt)
		err = add_profile(p, TAPIR_PROFILE_DEFAULT);
	tapir_vec_for_each (text, &q->more_specs)
		if (!err && !has_spec(p, *text))
			err = add_spec(p, *text);
	if (!err && q->activities)
		err = add_activities(p);
	if (!err)
		err = add_counters(p, q);
	return err ? err : resolve_names(p, &q->rules.pids);
}

/*
 * A few awaits are recorded with the default profile: a profile or a SPEC for them says how many.
 */
static bool wants_budgeted_awaits(const struct tapir_recording_plan *p,
				  const struct tapir_request *q)
{
	struct tapir_spec *const *spec;
	const char *const *name;
	bool has_default = !q->profiles.cnt;

	tapir_vec_for_each (name, &q->profiles)
		has_default |= !strcmp(*name, TAPIR_PROFILE_DEFAULT);
	tapir_vec_for_each (spec, &p->specs)
		if (tapir_glob__match((*spec)->provider, TAPIR_LORE_TASK_EVENTS))
			return false;
	return p->opts.specs_are_defaults && p->opts.with_switches && has_default;
}

/*
 * The contents of a heap come in one burst, from a thread that has stopped all others: of what does
 * not fit into its ring most would be lost, and with it what the rest means.
 */
static bool asks_for_heap(const struct tapir_recording_plan *p)
{
	struct tapir_spec *const *spec;

	tapir_vec_for_each (spec, &p->specs)
		if (tapir_event_specs__list_heap(*spec))
			return true;
	return false;
}

/* ---- lanes -------------------------------------------------------------------------------- */

static int choose_lane(struct tapir_recording_plan *p, const struct tapir_request *q)
{
	const char *name;
	size_t i = 0;

	while (q->lane && (name = tapir_lane__name(i)) && strcmp(q->lane, name))
		i++;
	if (!tapir_lane__name(i))
		return tapir_diag__fail(-EINVAL, "no lane '%s' ('tapir help record' lists them)",
					q->lane);
	p->opts.lanes = (enum tapir_lanes)i;
	if (!q->publish)
		return 0;
	if (strcmp(q->publish, tapir_publish__name(0)))
		return tapir_diag__fail(-EINVAL, "--publish: '%s' is not usdt", q->publish);
	if (p->opts.lanes == TAPIR_LANES_PROBE || p->opts.lanes == TAPIR_LANES_STREAM)
		return tapir_diag__fail(-EINVAL,
					"--publish excludes --lane probe and --lane stream");
	p->opts.publishes = true;
	return 0;
}

/* ---- samples and switches ------------------------------------------------------------------ */

/* The kernel lowers what it allows when its own sampling took too long. */
static unsigned default_hz(bool all)
{
	unsigned wanted = all ? ALL_HZ : DEFAULT_HZ, max = tapir_sampler__max_hz();

	if (max >= wanted)
		return wanted;
	tapir_info(
		"%u CPU samples per second: the kernel allows no more (/proc/sys/kernel/perf_event_max_sample_rate)",
		max);
	return max;
}

static int choose_samples(struct tapir_recording_plan *p, const struct tapir_request *q)
{
	struct tapir_sampling *out = &p->opts.sampling;
	bool is_requested = q->sample_hz || q->sample_event;

	if (q->no_samples)
		return is_requested ? tapir_diag__fail(-EINVAL, "--no-samples excludes -F and -e")
				    : 0;
	out->event = tapir_sample_event__find(q->sample_event ? q->sample_event
							      : tapir_sample_events[0].name);
	if (!out->event)
		return tapir_diag__fail(-EINVAL, "no sample event '%s'", q->sample_event);
	if (q->sample_hz > TAPIR_SAMPLER_MAX_HZ)
		return tapir_diag__fail(-EINVAL, "more than %u samples per second",
					TAPIR_SAMPLER_MAX_HZ);
	out->is_a_default = !is_requested;
	out->hz = q->sample_hz ? (unsigned)q->sample_hz : default_hz(q->rules.all);
	return 0;
}

static uint8_t file_flag(unsigned nr)
{
	static const uint8_t flags[] = {
		[TAPIR_SYSTEM_CALL_FILE_IS_ARG] = TAPIR_CALL_FILE_IS_ARG,
		[TAPIR_SYSTEM_CALL_PATH_IS_FIRST] = TAPIR_CALL_PATH_IS_FIRST,
		[TAPIR_SYSTEM_CALL_PATH_IS_SECOND] = TAPIR_CALL_PATH_IS_SECOND,
		[TAPIR_SYSTEM_CALL_OPENS_FIRST] =
			TAPIR_CALL_FILE_IS_RESULT | TAPIR_CALL_PATH_IS_FIRST,
		[TAPIR_SYSTEM_CALL_OPENS_SECOND] =
			TAPIR_CALL_FILE_IS_RESULT | TAPIR_CALL_PATH_IS_SECOND,
	};

	return flags[tapir_system_call__file(nr)];
}

/*
 * Other numbers, and calls of 32-bit programs, are in no list. A call that ends its thread is
 * counted where it is named alone: it would be one that has not returned, for each thread that
 * ends.
 */
static int choose_calls(struct tapir_recording_plan *p, const struct tapir_request *q)
{
	bool chosen[TAPIR_SYSTEM_CALL_CNT] = {};
	const char *const *list;

	tapir_vec_for_each (list, &q->syscalls)
		if (tapir_system_calls__choose(*list, chosen))
			return -EINVAL;
	for (unsigned nr = 0; nr < TAPIR_CALL_NUMBERS; nr++)
		if (q->syscalls.cnt ? nr < TAPIR_SYSTEM_CALL_CNT && chosen[nr]
				    : tapir_system_call__returns(nr))
			p->calls.flags[nr] = TAPIR_CALL_IS_COUNTED | file_flag(nr);
	p->calls.key_cap = q->rules.all ? MANY_CALL_KEYS : CALL_KEYS;
	if (q->syscall_files)
		p->calls.file_cap = q->rules.all ? MANY_CALL_FILES : CALL_FILES;
	p->calls.long_ns = LONG_CALL_NS;
	p->calls.with_stacks = true;
	p->opts.calls = &p->calls;
	return 0;
}

const char *tapir_sched__name(size_t i)
{
	static const char *const names[] = {"all", "sums"};

	return i < sizeof(names) / sizeof(names[0]) ? names[i] : NULL;
}

bool tapir_sched__sums(const char *name)
{
	return name && !strcmp(name, "sums");
}

static void choose_native(struct tapir_recording_plan *p, const struct tapir_request *q)
{
	p->native = q->native;
	if (!p->native.mean_bytes)
		p->native.mean_bytes = TAPIR_NATIVE_MEAN_BYTES;
	p->opts.native = &p->native;
}

static int choose_kernel(struct tapir_recording_plan *p, const struct tapir_request *q)
{
	const char *const *list;

	p->opts.kernel_kinds = q->kernel.cnt ? 0 : TAPIR_KERNEL_HAS_ALL;
	tapir_vec_for_each (list, &q->kernel)
		if (tapir_kernel_work__choose(*list, &p->opts.kernel_kinds))
			return -EINVAL;
	return 0;
}

static int choose_cpu_data(struct tapir_recording_plan *p, const struct tapir_request *q)
{
	if (q->sched && q->no_sched)
		return tapir_diag__fail(-EINVAL, "--sched excludes --no-sched");
	p->opts.with_jvm_locks = q->jvm_locks;
	p->opts.with_switches = q->sched || (!q->no_sched && !q->rules.all);
	if (q->sum_waits && p->opts.with_switches)
		p->opts.wait_sum_cap = q->rules.all ? MANY_WAITING : WAITING;
	memcpy(p->opts.captures, q->captures, sizeof(q->captures));
	if (q->captures[TAPIR_FAMILY_CALLS] && choose_calls(p, q))
		return -EINVAL;
	if (q->captures[TAPIR_FAMILY_KERNEL] && choose_kernel(p, q))
		return -EINVAL;
	if (q->captures[TAPIR_FAMILY_NATIVE])
		choose_native(p, q);
	return choose_samples(p, q);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static bool has_target(const struct tapir_target_rules *rules)
{
	return rules->pids.cnt || !tapir_target_rules__are_named(rules);
}

static void add_command_line(struct tapir_recording_plan *p)
{
	tapir_autofree char *text = NULL;
	size_t len = 0;

	if (tapir_file__read("/proc/self/cmdline", 65536, &text, &len))
		return;
	for (size_t i = 0; i + 1 < len; i++)
		tapir_str__addc(&p->command_line, text[i] ? text[i] : ' ');
	p->opts.command_line = p->command_line.data;
}

int tapir_request__plan(const struct tapir_request *q, struct tapir_recording_plan *p)
{
	int err;

	*p = (struct tapir_recording_plan){
		.opts =
			{
				.sz = sizeof(p->opts),
				.rules = q->rules,
				.specs = &p->specs,
				.program = q->program,
				.program_is_workload = q->program && has_target(&q->rules),
				.with_stack = q->stack,
				.no_ring_stacks = q->no_stack,
				.frames = q->frames,
				.no_command_lines = q->no_command_lines,
				.duration_ns = q->duration_ns,
				.rate_hz = (uint32_t)q->rate_hz,
				.where = q->where,
				.with_questions = q->where,
			},
	};
	if (!q->program && !has_target(&q->rules))
		return tapir_diag__fail(-EINVAL, "a target is required: processes or a program");
	if (q->frames > TAPIR_MAX_FRAMES)
		return tapir_diag__fail(-EINVAL, "a stack has at most %u frames",
					(unsigned)TAPIR_MAX_FRAMES);
	err = tapir_where__check_text(q->where);
	if (!err)
		err = choose_lane(p, q);
	if (!err)
		err = choose_cpu_data(p, q);
	if (!err)
		err = add_specs(p, q);
	p->opts.with_budgeted_awaits = wants_budgeted_awaits(p, q);
	/* A dump of the heap is worthless with a gap (heap/heap_record.c). */
	p->opts.ring_wait_ms = asks_for_heap(p) ? HEAP_WAIT_MS : 0;
	add_command_line(p);
	return err;
}

void tapir_recording_plan__fini(struct tapir_recording_plan *p)
{
	struct tapir_machine_source **source;
	struct tapir_spec **spec;

	tapir_vec_for_each (spec, &p->specs)
		tapir_spec__free(*spec);
	tapir_vec__fini(&p->specs);
	tapir_vec_for_each (source, &p->machine)
		tapir_machine_source__free(*source);
	tapir_vec__fini(&p->machine);
	tapir_event_sources__fini(&p->sources);
	tapir_counter_choice__fini(&p->counters);
	tapir_str__fini(&p->command_line);
}
