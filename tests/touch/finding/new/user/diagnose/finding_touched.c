// SPDX-License-Identifier: GPL-2.0-or-later
/* CPU samples of the recording: a finding about what others have counted. */
#include <inttypes.h>

#include "diagnose/finding_impl.h"

void tapir_finding_touched__list(struct tapir_finding *f, struct tapir_found_list *list)
{
	struct tapir_str text = {};

	if (!tapir_found_list__admits(list, TAPIR_FOUND_TOUCHED, (double)f->cpu.samples,
				      TAPIR_NO_CHECKS))
		return;
	tapir_str__addf(&text, "%" PRIu64 " samples were taken", f->cpu.samples);
	tapir_found_list__add(list, TAPIR_FOUND_TOUCHED, (double)f->cpu.samples, NULL, &text, NULL,
			      NULL);
}
