// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the name for (provider, event id, version) in the tables, and builds the PROBE record again
 * with it.
 */
#include "decode/probe_name.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "decode/dotnet_tables.h"
#include "trace/record.h"

/* Empty: there is nothing to complete. */
static struct tapir_sv name_for(const struct tapir_probe_view *view, char *numbered)
{
	bool is_numbered = tapir_sv__starts_with(view->event, "EventID(");
	struct tapir_sv name;

	if (view->event.len && !is_numbered)
		return (struct tapir_sv){};
	name = tapir_dotnet_event__name(view->provider, view->rec->event_id, view->rec->version,
					numbered);
	/* no number either, or the one it has already */
	if (name.data == numbered && (is_numbered || !view->rec->event_id))
		return (struct tapir_sv){};
	return name;
}

const struct tapir_rec *tapir_probe_name__complete(struct tapir_recbuf *buf,
						   const struct tapir_rec *probe)
{
	tapir_autofree struct tapir_sv *names = NULL;
	char numbered[TAPIR_EVENT_ID_TEXT_BYTES];
	struct tapir_probe_view view;
	struct tapir_sv name;

	tapir_probe_view__of(probe, &view);
	name = name_for(&view, numbered);
	if (!name.len)
		return probe;
	names = calloc(view.rec->field_cnt + 1u, sizeof(*names));
	if (!names)
		return NULL;
	for (unsigned i = 0; i < view.rec->field_cnt; i++)
		names[i] = tapir_probe_view__name(&view, i);
	return tapir_recbuf__probe(buf, view.rec, view.provider, name, view.file, view.build_id,
				   view.fields, names, view.rec->field_cnt);
}
