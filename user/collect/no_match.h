/* SPDX-License-Identifier: GPL-2.0-or-later */
/* no_match.h - what to say when nothing that was asked for is there. */
#ifndef TAPIR_USER_NO_MATCH_H
#define TAPIR_USER_NO_MATCH_H

#include "collect/dotnet_streams.h"
#include "collect/images.h"
#include "collect/ring_reader.h"

/* What was asked for, and where it was looked for; all borrowed. */
struct tapir_no_match {
	const struct tapir_spec_list *specs;
	bool specs_are_defaults;
	const struct tapir_images *images;    /* NULL: no probes were looked at */
	struct tapir_ring_reader *rings;      /* NULL: no ring lanes were */
	struct tapir_dotnet_streams *streams; /* NULL: no event streams were */
	bool may_be_silent;		      /* .NET's providers show only when they fire */
	bool is_unprivileged;		      /* probes were not looked for */
};

/*
 * -ENOENT, and a line a SPEC with the nearest event that was seen, if one is near. -EPERM: what
 * there may be needs privileges.
 */
int tapir_no_match__fail(const struct tapir_no_match *m);

/* Some SPECs matched: a warning for each that did not. */
void tapir_no_match__warn(const struct tapir_no_match *m);

#endif
