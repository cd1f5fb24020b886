// SPDX-License-Identifier: GPL-2.0-or-later
/* Near misses. */
#include "collect/no_match.h"

#include <errno.h>

#include "base/diag.h"
#include "base/log.h"
#include "base/str.h"

static void describe(const struct tapir_spec *spec, const struct tapir_images *images,
		     struct tapir_str *out)
{
	size_t seen_cnt;
	const char *const *seen = tapir_images__seen(images, &seen_cnt);
	const char *near = tapir_spec__suggest(spec, seen, seen_cnt);

	if (near)
		tapir_str__addf(out, "No probe matches %s: did you mean %s?", spec->text, near);
	else
		tapir_str__addf(out,
				"No probe matches %s: there are %zu others (`tapir list -p PID` "
				"shows them)",
				spec->text, seen_cnt);
}

int tapir_no_match__fail(const struct tapir_spec_list *specs, bool specs_are_defaults,
			 const struct tapir_images *images)
{
	struct tapir_str line = {};
	size_t seen_cnt;

	tapir_images__seen(images, &seen_cnt);
	if (!seen_cnt)
		return tapir_diag__fail(-ENOENT, "The process maps no file with USDT probes: "
						 "`tapir list --all` shows who does");
	if (specs_are_defaults)
		return tapir_diag__fail(
			-ENOENT,
			"%zu probes, but of no runtime with a default profile: name some "
			"(`tapir list -p PID` shows them)",
			seen_cnt);
	for (size_t i = 0; i < specs->cnt; i++) {
		tapir_str__clear(&line);
		describe(specs->data[i], images, &line);
		tapir_diag__add("%s", line.data ? line.data : "Out of memory");
	}
	tapir_str__fini(&line);
	return -ENOENT;
}

void tapir_no_match__warn(const struct tapir_spec_list *specs, const struct tapir_images *images)
{
	struct tapir_str line = {};

	for (size_t i = 0; i < specs->cnt; i++) {
		if (tapir_images__spec_matched(images, i))
			continue;
		tapir_str__clear(&line);
		describe(specs->data[i], images, &line);
		tapir_warn("%s", line.data ? line.data : "out of memory");
	}
	tapir_str__fini(&line);
}
