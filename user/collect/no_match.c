// SPDX-License-Identifier: GPL-2.0-or-later
/* Near misses. */
#include "collect/no_match.h"

#include <errno.h>

#include "base/diag.h"

int tapir_no_match__fail(const struct tapir_spec_list *specs, bool specs_are_defaults,
			 const struct tapir_images *images)
{
	size_t seen_cnt;
	const char *const *seen = tapir_images__seen(images, &seen_cnt);

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
		const char *near = tapir_spec__suggest(specs->data[i], seen, seen_cnt);

		if (near)
			tapir_diag__add("No probe matches %s: did you mean %s?",
					specs->data[i]->text, near);
		else
			tapir_diag__add("No probe matches %s: the process has %zu others "
					"(`tapir list -p PID` shows them)",
					specs->data[i]->text, seen_cnt);
	}
	return -ENOENT;
}
