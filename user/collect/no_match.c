// SPDX-License-Identifier: GPL-2.0-or-later
/* Near misses. */
#include "collect/no_match.h"

#include <errno.h>

#include "base/diag.h"
#include "base/log.h"
#include "base/str.h"
#include "collect/dotnet_specs.h"

static void collect_seen(const struct tapir_no_match *m, struct tapir_seen_names *out)
{
	if (m->images)
		tapir_seen_names__add_all(out, tapir_images__seen(m->images));
	if (m->rings)
		tapir_ring_reader__add_seen(m->rings, out);
	tapir_dotnet_streams__add_seen(m->streams, out);
}

static bool is_matched(const struct tapir_no_match *m, size_t spec_idx)
{
	return (m->images && tapir_images__spec_matched(m->images, spec_idx)) ||
	       (m->rings && tapir_ring_reader__spec_matched(m->rings, spec_idx)) ||
	       tapir_dotnet_streams__spec_matched(m->streams, spec_idx);
}

static bool is_silent(const struct tapir_no_match *m, size_t spec_idx)
{
	const struct tapir_spec *spec = m->specs->data[spec_idx];

	return spec->is_silent || (m->may_be_silent && tapir_dotnet_specs__is_known(spec));
}

static void describe(const struct tapir_no_match *m, const struct tapir_spec *spec,
		     const struct tapir_seen_names *seen, struct tapir_str *out)
{
	const char *near = tapir_spec__suggest(spec, seen->all.data, seen->all.cnt);
	const char *what = m->images ? "probe" : "event of a ring lane";

	if (m->may_be_silent)
		tapir_str__addf(out, "Nothing came of %s: ", spec->text);
	else
		tapir_str__addf(out, "No %s matches %s: ", what, spec->text);
	if (near)
		tapir_str__addf(out, "did you mean %s?", near);
	else if (m->may_be_silent)
		tapir_str__adds(out, "it fired nothing, or is called otherwise (`tapir list -p "
				     "PID` shows what is there)");
	else
		tapir_str__addf(out, "there are %zu others (`tapir list -p PID` shows them)",
				seen->all.cnt);
}

static int fail_without_any(const struct tapir_no_match *m)
{
	if (!m->images && !m->rings)
		return tapir_diag__fail(-ENOENT, "No event stream of .NET (`tapir doctor -p PID` "
						 "says which lanes a process has)");
	if (!m->images)
		return tapir_diag__fail(-ENOENT, "No event of a ring lane: the process offers none "
						 "(`tapir doctor -p PID` says which lanes it has)");
	return tapir_diag__fail(-ENOENT, "The process maps no file with USDT probes: "
					 "`tapir list --all` shows who does");
}

int tapir_no_match__fail(const struct tapir_no_match *m)
{
	struct tapir_seen_names seen = {};
	struct tapir_str line = {};

	collect_seen(m, &seen);
	if (!seen.all.cnt && m->is_unprivileged)
		return tapir_diag__fail(-EPERM, "Neither .NET nor a ring lane there; probes need "
						"CAP_BPF and CAP_PERFMON, or root (run with sudo)");
	if (!seen.all.cnt)
		fail_without_any(m);
	else if (m->specs_are_defaults)
		tapir_diag__add("%zu probes, but of no runtime with a default profile: name some "
				"(`tapir list -p PID` shows them)",
				seen.all.cnt);
	for (size_t i = 0; seen.all.cnt && !m->specs_are_defaults && i < m->specs->cnt; i++) {
		tapir_str__clear(&line);
		describe(m, m->specs->data[i], &seen, &line);
		tapir_diag__add("%s", line.data ? line.data : "Out of memory");
	}
	tapir_str__fini(&line);
	tapir_seen_names__fini(&seen);
	return -ENOENT;
}

void tapir_no_match__warn(const struct tapir_no_match *m)
{
	struct tapir_seen_names seen = {};
	struct tapir_str line = {};

	collect_seen(m, &seen);
	for (size_t i = 0; i < m->specs->cnt; i++) {
		if (is_matched(m, i) || is_silent(m, i))
			continue;
		tapir_str__clear(&line);
		describe(m, m->specs->data[i], &seen, &line);
		tapir_warn("%s", line.data ? line.data : "out of memory");
	}
	tapir_str__fini(&line);
	tapir_seen_names__fini(&seen);
}
