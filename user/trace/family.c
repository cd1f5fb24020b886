// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The family of a record, and the threads that it names. trace/schema.c has their offsets, so that
 * a new type of record needs no line here.
 */
#include "trace/family.h"

#include <string.h>

#include "trace/schema.h"

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

static uint64_t read_record_number(const struct tapir_rec *rec, uint16_t off, size_t bytes)
{
	uint64_t value = 0; /* little-endian, as every record */

	if (off)
		memcpy(&value, (const char *)rec + off, bytes);
	return value;
}

static const struct tapir_schema_ids *ids_of(const struct tapir_rec *rec, int which)
{
	return &tapir_schema__of(rec->type)->ids[which];
}

uint32_t tapir_rec__tgid(const struct tapir_rec *rec, int which)
{
	return (uint32_t)read_record_number(rec, ids_of(rec, which)->tgid_off, sizeof(uint32_t));
}

uint32_t tapir_rec__tid(const struct tapir_rec *rec, int which)
{
	return (uint32_t)read_record_number(rec, ids_of(rec, which)->tid_off, sizeof(uint32_t));
}

int tapir_rec__counted_thread(const struct tapir_rec *rec)
{
	return !tapir_rec__tid(rec, 0) && tapir_rec__tid(rec, 1);
}

uint64_t tapir_rec__weight(const struct tapir_rec *rec)
{
	const struct tapir_rec_calls *calls = (const void *)rec;

	if (rec->type == TAPIR_REC_KERNEL)
		return ((const struct tapir_rec_kernel *)rec)->cnt;
	if (rec->type != TAPIR_REC_CALLS)
		return 1;
	return calls->kind == TAPIR_CALLS_OF_THREAD ? calls->cnt + calls->unbegun_cnt : 0;
}

uint64_t tapir_rec__stack_id(const struct tapir_rec *rec)
{
	return read_record_number(rec, ids_of(rec, 0)->stack_id_off, sizeof(uint64_t));
}

uint64_t tapir_rec__kstack_id(const struct tapir_rec *rec)
{
	const struct tapir_rec_event *ev = (const void *)rec;

	if (rec->type == TAPIR_REC_EVENT)
		return ev->flags & TAPIR_EVENT_KSTACK ? *(const uint64_t *)(ev + 1) : 0;
	return read_record_number(rec, ids_of(rec, 0)->kstack_id_off, sizeof(uint64_t));
}

bool tapir_rec__is_snapshot(const struct tapir_rec *rec)
{
	const struct tapir_rec_switch *sw = (const void *)rec;

	return rec->type == TAPIR_REC_SWITCH && sw->flags & TAPIR_SWITCH_SNAPSHOT;
}
