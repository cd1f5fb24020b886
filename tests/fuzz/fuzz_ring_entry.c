// SPDX-License-Identifier: GPL-2.0-or-later
/* The catalog of a lane as the process wrote it: entries, then the bytes they name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/ring_entry.h"
#include "decode/counter_text.h"
#include "decode/probe_name.h"

#define ENTRIES	    8u
#define CATALOG_OFF (sizeof(struct tapir_ring_data) + ENTRIES * sizeof(struct tapir_ring_entry))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* ring_entry.c can walk processes as well; here it never does. */
int tapir_ring_lanes__find(uint32_t tgid, struct tapir_ring_lanes *out)
{
	(void)tgid;
	(void)out;
	return -ESRCH;
}

void tapir_ring_lanes__fini(struct tapir_ring_lanes *lanes)
{
	(void)lanes;
}

bool tapir_ring_lane__is_abandoned(const struct tapir_ring_lane *lane)
{
	(void)lane;
	return false;
}

struct tapir_ring_published tapir_ring_lane__published(const struct tapir_ring_lane *lane)
{
	(void)lane;
	return (struct tapir_ring_published){};
}

static void read_counter(struct tapir_rec *rec, size_t bytes)
{
	struct tapir_counter_text text;

	if (!tapir_ring_entry__is_counter(rec, bytes) ||
	    tapir_counter_text__read(tapir_ring_entry__metadata(rec, bytes), &text))
		return;
	if (text.tags.data + text.tags.len > (const char *)rec + bytes)
		abort();
}

static void look_at(const struct tapir_ring_lane *lane, uint32_t idx)
{
	struct tapir_recbuf buf = {};
	struct tapir_probe_view view;
	const struct tapir_rec *named;
	struct tapir_rec *rec;
	size_t rec_bytes;

	if (tapir_ring_entry__read(lane, idx, &rec, &rec_bytes) <= 0)
		return;
	if (!tapir_record__ok(rec, rec_bytes) || rec->size > rec_bytes)
		abort();
	read_counter(rec, rec_bytes);
	named = tapir_probe_name__complete(&buf, rec);
	if (!named || !tapir_record__ok(named, named->size))
		abort();
	tapir_probe_view__of(named, &view);
	if (!view.event.len && view.rec->event_id)
		abort();
	tapir_recbuf__fini(&buf);
	free(rec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static int fd = -1;
	struct tapir_ring_lane lane = {.ctl_fd = -1};
	struct tapir_ring_data *h = &lane.data[0];

	if (fd < 0)
		fd = memfd_create("fuzz", 0);
	if (ftruncate(fd, 0) || pwrite(fd, data, bytes, sizeof(*h)) != (ssize_t)bytes ||
	    ftruncate(fd, (off_t)(CATALOG_OFF + bytes)))
		return 0;
	lane.data_fds[0] = fd;
	h->entries_off = sizeof(*h);
	h->catalog_off = CATALOG_OFF;
	h->catalog_bytes = bytes; /* ends with the file */
	for (uint32_t i = 0; i < ENTRIES; i++)
		look_at(&lane, i);
	return 0;
}
