// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See event_layout.h. The event's own description goes before the tables, which know only the
 * events of their versions. A blob may fit in two ways (event_blob.h): the payload decides.
 */
#include "decode/event_layout.h"

#include <errno.h>
#include <stdlib.h>

#include "decode/dotnet_tables.h"
#include "decode/event_blob.h"
#include "decode/field_list.h"
#include "decode/packed.h"

#define FORMAT_EVENTPIPE 1

struct tapir_event_layout {
	/* Owned, whichever describes the event; both NULL: the fields belong to the tables. */
	struct tapir_event_blob *blob;
	struct tapir_field_list *list;
	struct tapir_packed_layout packed;
	struct tapir_packed_layout other; /* see event_blob.h; no fields: none */
	bool is_known;
	struct tapir_layout_mismatches mismatches;
};

static int parse_metadata(const struct tapir_rec_metadata *rec, struct tapir_event_layout *layout)
{
	struct tapir_metadata_view view;
	int err = 0;

	if (!rec)
		return 0;
	tapir_metadata_view__of(&rec->h, &view);
	if (rec->format == FORMAT_EVENTPIPE)
		err = tapir_event_blob__parse(view.blob.data, view.blob.len, &layout->blob);
	else if (rec->format == TAPIR_METADATA_FIELD_LIST)
		err = tapir_field_list__parse(view.blob.data, view.blob.len, &layout->list);
	return err == -EINVAL ? 0 : err;
}

static void use_tables(struct tapir_event_layout *layout, const struct tapir_probe_view *probe)
{
	const struct tapir_layout_event *ev = tapir_dotnet_event__find(
		probe->provider, probe->rec->event_id, probe->rec->version);

	if (!ev)
		return;
	layout->packed =
		(struct tapir_packed_layout){.fields = ev->fields, .field_cnt = ev->field_cnt};
	layout->is_known = true;
}

int tapir_event_layout__new(const struct tapir_probe_view *probe,
			    const struct tapir_rec_metadata *metadata,
			    struct tapir_event_layout **out)
{
	struct tapir_event_layout *layout = calloc(1, sizeof(*layout));
	int err = layout ? parse_metadata(metadata, layout) : -ENOMEM;

	if (err) {
		tapir_event_layout__free(layout);
		return err;
	}
	if (layout->list) {
		layout->packed = layout->list->layout;
		layout->packed.is_exact = layout->is_known = true;
	} else if (layout->blob && layout->blob->layout.field_cnt) {
		layout->packed = layout->blob->layout;
		layout->other = layout->blob->other;
		layout->packed.is_exact = layout->other.is_exact = layout->is_known = true;
	} else {
		use_tables(layout, probe);
	}
	*out = layout;
	return 0;
}

void tapir_event_layout__free(struct tapir_event_layout *layout)
{
	if (!layout)
		return;
	tapir_event_blob__free(layout->blob);
	tapir_field_list__free(layout->list);
	free(layout);
}

unsigned tapir_event_layout__max(const struct tapir_event_layout *layout)
{
	return layout->packed.field_cnt + 1u;
}

struct tapir_sv tapir_event_layout__name(const struct tapir_event_layout *layout, unsigned idx)
{
	return tapir_sv__of(layout->packed.fields[idx].name);
}

const struct tapir_layout_field *tapir_event_layout__field(const struct tapir_event_layout *layout,
							   unsigned idx)
{
	return &layout->packed.fields[idx];
}

/* An event without fields and without a payload is complete under any description. */
static unsigned unknown(struct tapir_event_layout *layout, const struct tapir_event_view *event,
			struct tapir_value *out, unsigned max)
{
	if (!max || !event->payload_bytes)
		return 0;
	layout->mismatches.unknown_cnt++;
	out[0] = (struct tapir_value){.name = {"payload", 7},
				      .type = TAPIR_FIELD_BLOB,
				      .bytes = event->payload,
				      .len = event->payload_bytes};
	return 1;
}

/* Is it the other way of writing the same fields? Then that is the one from now on. */
static void choose_way(struct tapir_event_layout *layout, const struct tapir_event_view *event,
		       struct tapir_value *out, unsigned max)
{
	/* Their lengths alone decide: a NUL inside of a string is no proof of either. */
	struct tapir_packed_layout packed = layout->packed, other = layout->other;
	unsigned faults;

	packed.is_exact = other.is_exact = false;
	tapir_packed__decode(&packed, event->payload, event->payload_bytes, out, max, &faults);
	if (!faults)
		return;
	tapir_packed__decode(&other, event->payload, event->payload_bytes, out, max, &faults);
	if (faults)
		return;
	other = layout->packed;
	layout->packed = layout->other;
	layout->other = other;
}

unsigned tapir_event_layout__decode(struct tapir_event_layout *layout,
				    const struct tapir_event_view *event, struct tapir_value *out,
				    unsigned max)
{
	bool is_truncated = event->rec->flags & TAPIR_EVENT_CUT;
	unsigned faults, cnt;

	if (!layout->is_known) {
		cnt = unknown(layout, event, out, max);
	} else {
		if (layout->other.field_cnt)
			choose_way(layout, event, out, max);
		cnt = tapir_packed__decode(&layout->packed, event->payload, event->payload_bytes,
					   out, max, &faults);
		layout->mismatches.short_cnt += faults & TAPIR_PACKED_SHORT && !is_truncated;
		layout->mismatches.long_cnt += !!(faults & TAPIR_PACKED_LONG);
	}
	if (is_truncated && cnt && out[cnt - 1].type == TAPIR_FIELD_BLOB)
		out[cnt - 1].flags |= TAPIR_VALUE_TRUNCATED;
	return cnt;
}

const struct tapir_layout_mismatches *
tapir_event_layout__mismatches(const struct tapir_event_layout *layout)
{
	return &layout->mismatches;
}
