// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Describes the code of awaiting methods. The catalog knows what a segment has, so nothing is
 * written twice.
 */
#include "record/async_stacks/await_code.h"

#include <errno.h>

#include "spec/runtime_db/lore.h"
#include "tapir/stack_walk.h"
#include "trace/record.h"

#define ID_SALT		 0x636f6465ull
#define BUFFERS_EVENT_ID 1

_Static_assert(TAPIR_ASYNC_MAX_FRAMES <= TAPIR_MAX_FRAMES, "frames of a stack");

struct describing {
	struct tapir_await_code *a;
	struct tapir_catalog *catalog;
	uint32_t tgid;
	int err;
};

bool tapir_await_code__is_of_buffers(const struct tapir_rec_probe *rec)
{
	struct tapir_probe_view probe;

	if (rec->event_id != BUFFERS_EVENT_ID)
		return false;
	tapir_probe_view__of(&rec->h, &probe);
	return tapir_sv__is(probe.provider, TAPIR_LORE_ASYNC_BUFFERS);
}

/* An id may be another probe's later. */
void tapir_await_code__learn(struct tapir_await_code *a, const struct tapir_rec *rec)
{
	const struct tapir_rec_probe *probe = (const void *)rec;

	if (tapir_await_code__is_of_buffers(probe))
		(void)tapir_map__put(&a->probes, probe->probe_id, NULL);
	else
		tapir_map__del(&a->probes, probe->probe_id);
}

/* NULL: out of memory, or too many. */
static struct tapir_async_layout *layout_of(struct tapir_await_code *a, uint32_t tgid)
{
	size_t before = a->layouts.cnt;
	struct tapir_async_layout *layout = tapir_keyed__add(
		&a->layouts, tgid, TAPIR_AWAIT_CODE_MAX_PROCESSES, (struct tapir_async_layout){});

	if (a->layouts.cnt > before)
		tapir_async_layout__init(layout);
	return layout;
}

static void describe_code(void *ctx, const struct tapir_async_header *header,
			  const struct tapir_async_event *event)
{
	struct tapir_rec_stack fixed = {
		.h.time_ns = event->ticks, .stack_id = ID_SALT, .end = TAPIR_STACK_END_WHOLE};
	struct describing *d = ctx;
	struct tapir_use use = {.tgid = d->tgid, .time_ns = event->ticks};
	const struct tapir_rec *rec;

	(void)header;
	if (event->id != TAPIR_ASYNC_RUNTIME_RESUME_STACK || !event->frame_cnt || d->err)
		return;
	for (unsigned i = 0; i < event->frame_cnt; i++)
		fixed.stack_id = tapir_walk__hash(fixed.stack_id, event->frames[i]);
	fixed.stack_id += !fixed.stack_id;
	if (!tapir_catalog__stack(d->catalog, fixed.stack_id)) {
		rec = tapir_recbuf__stack(&d->a->recbuf, &fixed, event->frames, event->frame_cnt);
		d->err = rec ? tapir_catalog__describe(d->catalog, rec) : -ENOMEM;
	}
	use.stack_id = fixed.stack_id;
	if (d->err >= 0)
		d->err = tapir_catalog__use(d->catalog, &use);
}

int tapir_await_code__on_event(struct tapir_await_code *a, struct tapir_catalog *catalog,
			       const struct tapir_rec_event *ev)
{
	struct describing d = {.a = a, .catalog = catalog, .tgid = ev->tgid};
	struct tapir_async_layout *layout;
	struct tapir_event_view view;
	const uint8_t *bytes;
	size_t len;

	if (!a->probes.cnt || !tapir_map__get(&a->probes, ev->probe_id))
		return 0;
	tapir_event_view__of(&ev->h, &view);
	layout = layout_of(a, ev->tgid);
	if (layout && tapir_async_buffer__in(view.payload, view.payload_bytes, &bytes, &len))
		(void)tapir_async_buffer__read(layout, bytes, len, NULL, describe_code, &d);
	return d.err < 0 && d.err != -ENOSPC ? d.err : 0;
}

void tapir_await_code__fini(struct tapir_await_code *a)
{
	tapir_map__fini(&a->probes);
	tapir_keyed__fini(&a->layouts);
	tapir_recbuf__fini(&a->recbuf);
}
