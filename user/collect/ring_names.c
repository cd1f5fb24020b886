// SPDX-License-Identifier: GPL-2.0-or-later
/* From (provider, event id, version) to a name. */
#include "collect/ring_names.h"

#include <stdlib.h>

#include "base/file.h"
#include "decode/dotnet_tables.h"
#include "trace/record.h"

const struct tapir_rec *tapir_ring_names__complete(struct tapir_recbuf *buf,
						   const struct tapir_rec *probe)
{
	tapir_autofree struct tapir_sv *names = NULL;
	struct tapir_probe_view view;
	char numbered[TAPIR_EVENT_ID_TEXT_BYTES];
	struct tapir_sv name;

	tapir_probe_view__of(probe, &view);
	if (view.event.len)
		return probe;
	name = tapir_dotnet_event__name(view.provider, view.rec->event_id, view.rec->version,
					numbered);
	if (!view.rec->event_id && name.data == numbered)
		return probe; /* no number either */
	names = calloc(view.rec->field_cnt + 1u, sizeof(*names));
	if (!names)
		return NULL;
	for (unsigned i = 0; i < view.rec->field_cnt; i++)
		names[i] = tapir_probe_view__name(&view, i);
	return tapir_recbuf__probe(buf, view.rec, view.provider, name, view.file, view.build_id,
				   view.fields, names, view.rec->field_cnt);
}
