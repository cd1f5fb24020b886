// SPDX-License-Identifier: GPL-2.0-or-later
/* The table, and the members of records whose places trace/schema.c has. */
#include "trace/family.h"

#include <string.h>

#include "trace/schema.h"

const struct tapir_family tapir_families[TAPIR_FAMILY_CNT] = {
	[TAPIR_FAMILY_EVENT] = {.type = TAPIR_REC_EVENT,
				.one = "event",
				.many = "events",
				.thing = "event",
				.things = "events",
				.is_default = true,
				.title = ">EVENTS",
				.loss_kind = TAPIR_LOSS_KIND_EVENT,
				.disk_cause = TAPIR_LOSS_DISK,
				.skipped_cause = TAPIR_LOSS_RECURSION},
	[TAPIR_FAMILY_SAMPLE] = {.type = TAPIR_REC_SAMPLE,
				 .one = "sample",
				 .many = "samples",
				 .thing = "CPU sample",
				 .things = "CPU samples",
				 .is_default = true,
				 .programs = {"tapir_sample"},
				 .title = ">SAMPLES",
				 .loss_kind = TAPIR_LOSS_KIND_SAMPLE,
				 .disk_cause = TAPIR_LOSS_SAMPLE_DISK,
				 .skipped_cause = TAPIR_LOSS_SAMPLE_SKIPPED},
	[TAPIR_FAMILY_SWITCH] = {.type = TAPIR_REC_SWITCH,
				 .one = "switch",
				 .many = "switches",
				 .thing = "context switch",
				 .things = "context switches",
				 .is_default = true,
				 /* The first switch may already contain its waker. */
				 .programs = {"tapir_waking", "tapir_wake_new", "tapir_switch"},
				 .meta = "switches",
				 .title = ">SWITCHES",
				 .loss_kind = TAPIR_LOSS_KIND_SWITCH,
				 .disk_cause = TAPIR_LOSS_SWITCH_DISK,
				 .skipped_cause = TAPIR_LOSS_SWITCH_SKIPPED},
	[TAPIR_FAMILY_IO] = {.type = TAPIR_REC_IO,
			     .one = "block request",
			     .many = "block requests",
			     .thing = "block request",
			     .things = "block requests",
			     /* The end comes first: what is begun has one. */
			     .programs = {"tapir_io_done", "tapir_io_issue", "tapir_io_make"},
			     .maps = {"io_makers", "io_requests", "io_scratches"},
			     .meta = "io",
			     .key = "io",
			     .title = ">DISK",
			     .loss_kind = TAPIR_LOSS_KIND_IO,
			     .disk_cause = TAPIR_LOSS_IO_DISK,
			     .skipped_cause = TAPIR_LOSS_IO_SKIPPED},
};

int tapir_family__of(unsigned rec_type)
{
	for (int i = 0; i < TAPIR_FAMILY_CNT; i++)
		if (tapir_families[i].type == rec_type)
			return i;
	return -1;
}

const char *tapir_loss_kind__thing(int kind, bool is_many)
{
	const struct tapir_family *family = &tapir_families[TAPIR_FAMILY_EVENT];

	for (int i = 0; i < TAPIR_FAMILY_CNT; i++)
		if (tapir_families[i].loss_kind == kind)
			family = &tapir_families[i];
	return is_many ? family->things : family->thing;
}

static uint64_t read_at(const struct tapir_rec *rec, uint16_t off, size_t bytes)
{
	uint64_t value = 0; /* little-endian, as every record */

	if (off)
		memcpy(&value, (const char *)rec + off, bytes);
	return value;
}

static const struct tapir_schema_who *who_of(const struct tapir_rec *rec, int which)
{
	return &tapir_schema__of(rec->type)->who[which];
}

uint32_t tapir_rec__tgid(const struct tapir_rec *rec, int which)
{
	return (uint32_t)read_at(rec, who_of(rec, which)->tgid_off, sizeof(uint32_t));
}

uint32_t tapir_rec__tid(const struct tapir_rec *rec, int which)
{
	return (uint32_t)read_at(rec, who_of(rec, which)->tid_off, sizeof(uint32_t));
}

int tapir_rec__whose(const struct tapir_rec *rec)
{
	return !tapir_rec__tid(rec, 0) && tapir_rec__tid(rec, 1);
}

uint64_t tapir_rec__stack_id(const struct tapir_rec *rec)
{
	return read_at(rec, who_of(rec, 0)->stack_id_off, sizeof(uint64_t));
}

uint64_t tapir_rec__kstack_id(const struct tapir_rec *rec)
{
	const struct tapir_rec_event *ev = (const void *)rec;

	if (rec->type == TAPIR_REC_EVENT)
		return ev->flags & TAPIR_EVENT_KSTACK ? *(const uint64_t *)(ev + 1) : 0;
	return read_at(rec, who_of(rec, 0)->kstack_id_off, sizeof(uint64_t));
}

bool tapir_rec__is_snapshot(const struct tapir_rec *rec)
{
	const struct tapir_rec_switch *sw = (const void *)rec;

	return rec->type == TAPIR_REC_SWITCH && sw->flags & TAPIR_SWITCH_SNAPSHOT;
}
