// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Members of any record as values, with the names that the catalog has for their ids. The table of
 * trace/schema.h says which member is what, so a new type of record needs no line here.
 */
#include <string.h>

#include "decode/io_text.h"
#include "decode/net_text.h"
#include "output/export/event_lines_impl.h"

static uint32_t id_at(const struct tapir_rec *rec, unsigned offset)
{
	uint32_t id;

	memcpy(&id, (const char *)rec + offset, sizeof(id));
	return id;
}

static struct tapir_member_value of_cpu(const struct tapir_rec *rec)
{
	return (struct tapir_member_value){
		.kind = rec->cpu == TAPIR_CPU_UNKNOWN ? TAPIR_MEMBER_IS_NULL : TAPIR_MEMBER_IS_U64,
		.u64 = rec->cpu};
}

static struct tapir_member_value of_thread(const struct tapir_event_lines *l, uint32_t tid,
					   uint64_t time_ns)
{
	const struct tapir_rec_thread *thread =
		tid ? tapir_catalog__thread(l->catalog, tid, time_ns) : NULL;

	return tapir_member_value__of_text(
		thread ? (struct tapir_sv){thread->comm,
					   strnlen(thread->comm, sizeof(thread->comm))}
		       : (struct tapir_sv){});
}

static struct tapir_member_value of_probe(const struct tapir_event_lines *l, uint32_t id,
					  enum tapir_member_type member_type)
{
	const struct tapir_rec_probe *probe = tapir_catalog__probe(l->catalog, id);
	struct tapir_probe_view view;

	if (!probe)
		return (struct tapir_member_value){};
	tapir_probe_view__of(&probe->h, &view);
	return tapir_member_value__of_text(member_type == TAPIR_MEMBER_PROVIDER ? view.provider
					   : member_type == TAPIR_MEMBER_EVENT	? view.event
					   : probe->lane == TAPIR_LANE_RING
						   ? tapir_sv__of("ring")
						   : tapir_sv__of("probe"));
}

static struct tapir_member_value of_trace(const struct tapir_rec *rec, bool is_span,
					  struct tapir_str *room)
{
	const struct tapir_trace_ids *ids = tapir_rec__trace_ids(rec);
	char text[TAPIR_TRACE_ID_TEXT];

	if (!ids)
		return (struct tapir_member_value){};
	tapir_str__adds(room,
			is_span ? tapir_span_id__text(ids, text) : tapir_trace_id__text(ids, text));
	return tapir_member_value__of_text((struct tapir_sv){room->data, room->len});
}

static struct tapir_member_value of_bytes(const struct tapir_member *member,
					  const struct tapir_rec *rec, struct tapir_str *room)
{
	const uint8_t *at = (const uint8_t *)rec;

	tapir_str__add_hex(room, at + member->offset, at[member->aux]);
	return tapir_member_value__of_text((struct tapir_sv){room->data, room->len});
}

static struct tapir_member_value of_io(const struct tapir_rec *rec, bool is_file,
				       struct tapir_str *room)
{
	struct tapir_io_view io;

	tapir_io_view__of(rec, &io);
	if (is_file)
		tapir_io__add_file(room, &io);
	else
		tapir_io__add_flags(room, io.rec);
	return tapir_member_value__of_text((struct tapir_sv){room->data, room->len});
}

static struct tapir_member_value of_address(const struct tapir_member *member,
					    const struct tapir_rec *rec, struct tapir_str *room)
{
	uint16_t port;

	memcpy(&port, (const char *)rec + member->aux, sizeof(port));
	tapir_net__add_address(room, (const uint8_t *)rec + member->offset, port);
	return tapir_member_value__of_text((struct tapir_sv){room->data, room->len});
}

struct tapir_member_value tapir_event_lines__read(const struct tapir_event_lines *l,
						  const struct tapir_rec *rec,
						  const struct tapir_member *member,
						  struct tapir_str *room)
{
	tapir_str__clear(room);
	switch (member->type) {
	case TAPIR_MEMBER_CPU:
		return of_cpu(rec);
	case TAPIR_MEMBER_COMM:
		return tapir_member_value__of_text(tapir_line__comm(
			l, id_at(rec, member->offset), id_at(rec, member->aux), rec->time_ns));
	case TAPIR_MEMBER_THREAD:
		return of_thread(l, id_at(rec, member->offset), rec->time_ns);
	case TAPIR_MEMBER_PROVIDER:
	case TAPIR_MEMBER_EVENT:
	case TAPIR_MEMBER_LANE:
		return of_probe(l, id_at(rec, member->offset), member->type);
	case TAPIR_MEMBER_TRACE_ID:
	case TAPIR_MEMBER_SPAN_ID:
		return of_trace(rec, member->type == TAPIR_MEMBER_SPAN_ID, room);
	case TAPIR_MEMBER_IO_FILE:
	case TAPIR_MEMBER_IO_FLAGS:
		return of_io(rec, member->type == TAPIR_MEMBER_IO_FILE, room);
	case TAPIR_MEMBER_ADDRESS:
		return of_address(member, rec, room);
	case TAPIR_MEMBER_BYTES:
		return of_bytes(member, rec, room);
	default:
		return tapir_member__read(member, rec);
	}
}
