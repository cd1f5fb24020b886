/* SPDX-License-Identifier: GPL-2.0-or-later */
/* no_match.h - what to say when nothing that was asked for is there. */
#ifndef TAPIR_USER_NO_MATCH_H
#define TAPIR_USER_NO_MATCH_H

#include "collect/images.h"

/* -ENOENT, and a line a SPEC with the nearest probe that was seen, if one is near. */
int tapir_no_match__fail(const struct tapir_spec_list *specs, bool specs_are_defaults,
			 const struct tapir_images *images);

/* Some SPECs matched: a warning for each that did not. */
void tapir_no_match__warn(const struct tapir_spec_list *specs, const struct tapir_images *images);

#endif
