// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One pass over the recording: events that hold buffers of .NET's async profiler are handed on,
 * descriptions are read because those events need them, and all other records are passed over.
 */
#include "record/async_stacks/await_scan.h"

#include <errno.h>

#include "record/async_stacks/await_code.h"

static bool add_scanned(struct tapir_await_runs *r, const struct tapir_rec_event *ev)
{
	struct tapir_event_view view;
	const uint8_t *bytes;
	size_t len;

	tapir_event_view__of(&ev->h, &view);
	if (tapir_async_buffer__in(view.payload, view.payload_bytes, &bytes, &len))
		return tapir_await_runs__add(r, ev->tgid, ev->h.time_ns, bytes, len);
	r->refused[TAPIR_ASYNC_TRUNCATED]++;
	return true;
}

int tapir_await_scan__run(struct tapir_await_runs *r, const struct tapir_reader *reader)
{
	const struct tapir_rec *rec;
	struct tapir_reader *again;
	bool ok = true;

	if (tapir_reader__open_fd(tapir_reader__fd(reader), "the recording", &again))
		return -ENOMEM;
	while (ok && tapir_reader__next(again, &rec) == 1) {
		const struct tapir_rec_event *ev = (const void *)rec;
		const struct tapir_rec_probe *probe =
			rec->type == TAPIR_REC_EVENT
				? tapir_catalog__probe(tapir_reader__catalog(again), ev->probe_id)
				: NULL;

		if (probe && tapir_await_code__is_of_buffers(probe))
			ok = add_scanned(r, ev);
	}
	tapir_reader__close(again);
	return ok && tapir_await_runs__seal(r) ? 0 : -ENOMEM;
}
