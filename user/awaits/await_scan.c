// SPDX-License-Identifier: GPL-2.0-or-later
#include "awaits/await_scan.h"

#include <errno.h>

#include "awaits/await_code.h"

#define OTHER	   1u
#define OF_BUFFERS 2u

static bool is_of_buffers(struct tapir_map *probes, const struct tapir_catalog *catalog,
			  uint32_t probe_id)
{
	uint64_t *kind = tapir_map__put(probes, probe_id, NULL);

	if (kind && !*kind)
		*kind = tapir_await_code__is_of_buffers(catalog, probe_id) ? OF_BUFFERS : OTHER;
	return kind && *kind == OF_BUFFERS;
}

static bool add(struct tapir_await_runs *r, const struct tapir_rec_event *ev)
{
	struct tapir_event_view view;
	const uint8_t *bytes;
	size_t len;

	tapir_event_view__of(&ev->h, &view);
	if (tapir_async_buffer__in(view.payload, view.payload_bytes, &bytes, &len))
		return tapir_await_runs__add(r, ev->tgid, ev->h.time_ns, bytes, len);
	r->refused[TAPIR_ASYNC_CUT]++;
	return true;
}

int tapir_await_scan__run(struct tapir_await_runs *r, const struct tapir_reader *reader)
{
	const struct tapir_catalog *catalog;
	const struct tapir_rec *rec;
	struct tapir_map probes = {};
	struct tapir_reader *again;
	bool ok = true;

	if (tapir_reader__open_fd(tapir_reader__fd(reader), "the recording", &again))
		return -ENOMEM;
	catalog = tapir_reader__catalog(again);
	while (ok && tapir_reader__next(again, &rec) == 1)
		if (rec->type == TAPIR_REC_EVENT &&
		    is_of_buffers(&probes, catalog,
				  ((const struct tapir_rec_event *)rec)->probe_id))
			ok = add(r, (const struct tapir_rec_event *)rec);
	tapir_map__fini(&probes);
	tapir_reader__close(again);
	return ok && tapir_await_runs__seal(r) ? 0 : -ENOMEM;
}
