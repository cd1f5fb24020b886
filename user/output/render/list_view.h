/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * list_view.h - how `tapir list` shows probes: collected once, rendered in two ways. Main thread.
 */
#ifndef TAPIR_USER_LIST_VIEW_H
#define TAPIR_USER_LIST_VIEW_H

#include "attach/discover.h"
#include "base/str.h"
#include "output/render/screen.h"

#define TAPIR_LIST_MAX_COLUMNS 64 /* of a table's column: names may have any length */

/* In the order they are shown; the sites are borrowed from their discovery. */
struct tapir_chosen_sites tapir_vec(struct tapir_site_info);

/* The same sites as a table for a person, and as JSON. */
void tapir_list__write_table(const struct tapir_chosen_sites *chosen, const struct tapir_palette *p,
			     struct tapir_str *out);
void tapir_list__write_json(const struct tapir_chosen_sites *chosen, struct tapir_str *out);

#endif
