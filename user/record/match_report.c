// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Near misses. A SPEC without events is not always a mistake: an event may come later, or only
 * under a condition; so a warning is given only where what was seen shows that it cannot come.
 */
#include "record/match_report.h"

#include <errno.h>
#include <string.h>

#include "base/diag.h"
#include "base/exhaustion.h"
#include "base/log.h"
#include "base/str.h"
#include "runtime/event_ops.h"

static void collect_seen(const struct tapir_match_report *m, struct tapir_seen_names *out)
{
	if (m->images)
		tapir_seen_names__add_all(out, tapir_images__seen(m->images));
	if (m->rings)
		tapir_ring_reader__add_seen(m->rings, out);
	tapir_event_lanes__add_seen(m->events, out);
}

static bool is_matched(const struct tapir_match_report *m, size_t spec_idx)
{
	return (m->images && tapir_images__spec_matched(m->images, spec_idx)) ||
	       (m->rings && tapir_ring_reader__spec_matched(m->rings, spec_idx)) ||
	       tapir_event_lanes__spec_matched(m->events, spec_idx);
}

/* SPECs that need no report if nothing matches. */
static bool is_silent(const struct tapir_match_report *m, const struct tapir_spec *spec)
{
	return spec->is_silent || (m->may_be_silent && tapir_event_specs__are_known(spec));
}

static void suggest(const struct tapir_match_report *m, const struct tapir_spec *spec,
		    const struct tapir_seen_names *seen, struct tapir_str *out)
{
	const char *near;

	tapir_event_specs__add_nearest(spec, m->sources, out);
	if (out->len)
		return;
	near = tapir_spec__suggest(spec, seen->all.data, seen->all.cnt);
	tapir_str__adds(out, near ? near : "");
}

/* Why there is nothing, where that is known. */
static const char *why(const struct tapir_match_report *m, const struct tapir_spec *spec)
{
	if (tapir_exhaustion__err())
		return "memory or file descriptors ran out";
	if (m->is_waiting && tapir_event_specs__are_for(spec))
		return "the .NET process does not answer";
	if (m->undeclared_cnt && !m->may_be_silent && tapir_event_specs__are_for(spec))
		return "no process has such a probe, or declares such an event source (with -p PID, tapir waits for one that is made at run time)";
	if (!m->rings && !m->has_streams && tapir_event_specs__are_defined(spec, m->sources))
		return ".NET events require --lane auto, ring or stream";
	return NULL;
}

static void describe_spec(const struct tapir_match_report *m, const struct tapir_spec *spec,
			  const struct tapir_seen_names *seen, struct tapir_str *out)
{
	const char *noun = m->images ? "probe" : "ring event", *reason = why(m, spec);
	bool may_come = m->may_be_silent || m->is_waiting;
	struct tapir_str near = {};

	tapir_str__clear(out);
	if (!reason)
		suggest(m, spec, seen, &near);
	if (may_come)
		tapir_str__addf(out, "no event matched %s: ", spec->text);
	else
		tapir_str__addf(out, "no %s matches %s: ", noun, spec->text);
	if (reason)
		tapir_str__adds(out, reason);
	/*
	 * The name is there as it was written, so that the SPEC is right, and the reason is
	 * elsewhere.
	 */
	else if (near.len && !strcmp(near.data, spec->text))
		tapir_str__adds(out, "it was found, but could not be attached");
	else if (near.len)
		tapir_str__addf(out, "the nearest is %s", near.data);
	else if (may_come && strpbrk(spec->provider, "*?["))
		tapir_str__adds(
			out,
			"it did not fire, or no assembly declares its EventSource: use the exact name ('tapir list -p PID' shows declared ones)");
	else if (may_come)
		tapir_str__adds(
			out,
			"it did not fire, or has another name ('tapir list -p PID' shows what there is)");
	else
		tapir_str__addf(out, "%zu others exist ('tapir list -p PID' shows them)",
				seen->all.cnt);
	tapir_str__fini(&near);
}

/* All that was requested: a SPEC of the command line is not silent. */
static bool is_counters_only(const struct tapir_match_report *m)
{
	for (size_t i = 0; i < m->specs->cnt; i++)
		if (!m->specs->data[i]->is_silent)
			return false;
	return m->specs->cnt && !m->specs_are_defaults;
}

static int fail_without_any(const struct tapir_match_report *m)
{
	int err = tapir_exhaustion__err();

	if (err)
		return tapir_diag__fail(err,
					"no probe was found: memory or file descriptors ran out");
	if (!m->images && !m->rings)
		return tapir_diag__fail(
			-ENOENT,
			"no .NET event stream ('tapir doctor -p PID' shows the lanes of a process)");
	if (!m->images)
		return tapir_diag__fail(
			-ENOENT,
			"no ring events: the process has no ring lane, or ended before it was open ('tapir doctor -p PID' shows its lanes)");
	return tapir_diag__fail(
		-ENOENT,
		"the process maps no file with USDT probes ('tapir ps' lists processes that do)");
}

/* A line a SPEC of the command line; those of a profile are many, and for several runtimes. */
static void fail_with_others(const struct tapir_match_report *m,
			     const struct tapir_seen_names *seen)
{
	struct tapir_str line = {};
	size_t said_cnt = 0;

	for (size_t i = 0; !m->specs_are_defaults && i < m->specs->cnt; i++) {
		if (m->specs->data[i]->is_silent)
			continue;
		describe_spec(m, m->specs->data[i], seen, &line);
		tapir_diag__add("%s", line.data ? line.data : "out of memory");
		said_cnt++;
	}
	if (!said_cnt)
		tapir_diag__add(
			"none of the %zu probes is in %s: name some ('tapir list -p PID' shows them)",
			seen->all.cnt,
			m->specs_are_defaults ? "the default profile" : "this profile");
	tapir_str__fini(&line);
}

int tapir_match_report__fail(const struct tapir_match_report *m)
{
	struct tapir_seen_names seen = {};
	int err = -ENOENT;

	collect_seen(m, &seen);
	if (is_counters_only(m) && !tapir_exhaustion__err())
		tapir_diag__add(
			"the process has no such counters: it runs neither .NET nor a program with libtapir ('tapir list -p PID' shows counters)");
	else if (seen.all.cnt)
		fail_with_others(m, &seen);
	else if (m->is_unprivileged)
		err = tapir_diag__fail(
			-EPERM,
			"the process has neither .NET nor a ring lane; probes require CAP_BPF and CAP_PERFMON (run as root), outside a container's pid namespace");
	else
		err = fail_without_any(m);
	tapir_seen_names__fini(&seen);
	return err;
}

/* Nothing matched any SPEC, and by the assemblies nothing ever will. */
static bool matched_nothing(const struct tapir_match_report *m)
{
	bool is_vain = false;

	if (!m->are_named || !m->sources || !m->sources->all.cnt || m->is_waiting)
		return false;
	for (size_t i = 0; i < m->specs->cnt; i++) {
		const struct tapir_spec *spec = m->specs->data[i];

		if (is_matched(m, i) ||
		    (!spec->is_silent && tapir_event_specs__are_defined(spec, m->sources)))
			return false;
		is_vain |= !spec->is_silent;
	}
	return is_vain;
}

/*
 * No SPEC of the command line has a match, although processes that were chosen have probes: it is
 * misspelt. Where processes are chosen by name, the one with the probe may not have started.
 */
static bool are_all_unknown(const struct tapir_match_report *m, const struct tapir_seen_names *seen)
{
	bool is_typed = false;

	if (m->specs_are_defaults || m->may_be_silent || m->is_waiting || !seen->all.cnt)
		return false;
	for (size_t i = 0; i < m->specs->cnt; i++) {
		if (is_matched(m, i))
			return false;
		is_typed |= !m->specs->data[i]->is_silent;
	}
	return is_typed;
}

/* Nor of what is to come: no process that was named has answered until the end. */
static bool is_all_unanswered(const struct tapir_match_report *m)
{
	bool is_requested = false;

	if (!m->are_named || !m->is_waiting || m->may_be_silent)
		return false;
	for (size_t i = 0; i < m->specs->cnt; i++) {
		if (is_matched(m, i))
			return false;
		is_requested |= !m->specs->data[i]->is_silent;
	}
	return is_requested;
}

int tapir_match_report__check(const struct tapir_match_report *m)
{
	struct tapir_seen_names seen = {};
	struct tapir_str line = {};
	bool is_vain = matched_nothing(m) || is_all_unanswered(m);

	collect_seen(m, &seen);
	is_vain = is_vain || are_all_unknown(m, &seen);
	for (size_t i = 0; i < m->specs->cnt; i++) {
		if (is_matched(m, i) || is_silent(m, m->specs->data[i]))
			continue;
		describe_spec(m, m->specs->data[i], &seen, &line);
		if (is_vain)
			tapir_diag__add("%s", line.data ? line.data : "out of memory");
		else
			tapir_warn("%s", line.data ? line.data : "out of memory");
	}
	tapir_str__fini(&line);
	tapir_seen_names__fini(&seen);
	return is_vain ? -ENOENT : 0;
}
