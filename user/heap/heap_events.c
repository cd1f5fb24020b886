// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Puts payloads of GCBulk events into the graph: objects, references, roots, types. An ephemeral
 * collection within a background one has no objects and ends nothing; a text or count that does not
 * fit its payload refuses the event.
 */
#include "heap/heap_events.h"

#include <string.h>

#include "base/little_endian.h"
#include "base/str.h"
#include "decode/byte_input.h"
#include "decode/value_packed.h"

#define ROOT_STACK	0u
#define ROOT_FINALIZER	1u
#define ROOT_HANDLE	2u
#define ROOT_PINNED	0x1u /* flags of a root */
#define ROOT_WEAK	0x2u
#define OBJECT_BYTES	32u
#define EDGE_BYTES	12u
#define ROOT_BYTES	21u
#define DEPENDENT_BYTES 24u
#define NAME_UNITS_MAX	8192u
#define NAME_BYTES_MAX	1024u
#define NAMES_BYTES	(64u << 20)

/* UTF-16 up to its NUL, as UTF-8; false: none, or too long. */
static bool read_utf16_name(struct tapir_byte_input *in, char text[NAME_UNITS_MAX * 3 + 1])
{
	const uint8_t *from = in->at;
	size_t units = 0;

	while (units <= NAME_UNITS_MAX && tapir_byte_input__le(in, 2))
		units++;
	if (in->is_bad || units > NAME_UNITS_MAX)
		return false;
	text[tapir_utf16__to_utf8(from, units * 2, text)] = '\0';
	return true;
}

/* ---- one event each; false: malformed ---------------------------------------------------------- */

static bool on_start(struct tapir_heap_events *e, struct tapir_byte_input *in, uint64_t time_ns)
{
	uint32_t number = (uint32_t)tapir_byte_input__le(in, 4);

	if (in->is_bad || e->walk == TAPIR_HEAP_AFTER || e->graph.va.cnt)
		return !in->is_bad;
	tapir_heap_graph__clear(&e->graph);
	memset(e->next_idx, 0, sizeof(e->next_idx));
	e->walk = TAPIR_HEAP_IN_GC;
	e->gc_number = number;
	e->start_ns = time_ns;
	e->promised_edges = 0;
	return true;
}

/* An ephemeral collection within a background one has no objects, and ends nothing. */
static bool on_end(struct tapir_heap_events *e, struct tapir_byte_input *in, uint64_t time_ns)
{
	uint32_t number = (uint32_t)tapir_byte_input__le(in, 4);

	if (in->is_bad || e->walk != TAPIR_HEAP_IN_GC || number != e->gc_number)
		return !in->is_bad;
	e->walk = e->graph.va.cnt ? TAPIR_HEAP_AFTER : TAPIR_HEAP_BEFORE;
	e->end_ns = time_ns;
	return true;
}

static void name_type(struct tapir_heap_graph *g, uint64_t id, const char *text);

/* u64 id, u64 module, u32 token, u32 flags, u8 kind, name, u32 parameters, u64 each. */
static bool take_type(struct tapir_heap_graph *g, struct tapir_byte_input *in)
{
	char text[NAME_UNITS_MAX * 3 + 1];
	uint64_t id = tapir_byte_input__le(in, 8), params;

	tapir_byte_input__take(in, 8 + 4 + 4 + 1);
	if (!read_utf16_name(in, text))
		return false;
	params = tapir_byte_input__le(in, 4);
	tapir_byte_input__take(in, params * 8);
	if (!in->is_bad)
		name_type(g, id, text);
	return !in->is_bad;
}

static bool on_types(struct tapir_heap_events *e, struct tapir_byte_input *in, uint64_t time_ns)
{
	uint32_t cnt = (uint32_t)tapir_byte_input__le(in, 4);

	(void)time_ns;
	tapir_byte_input__take(in, 2);
	for (uint32_t i = 0; i < cnt && !in->is_bad; i++)
		if (!take_type(&e->graph, in))
			return false;
	return !in->is_bad;
}

/* u32 number, u32 count, u16 runtime: the values that follow, or NULL. A gap is counted. */
static const uint8_t *take_values(struct tapir_heap_events *e, struct tapir_byte_input *in,
				  unsigned id, unsigned bytes, uint32_t *cnt)
{
	uint32_t idx = (uint32_t)tapir_byte_input__le(in, 4);

	*cnt = (uint32_t)tapir_byte_input__le(in, 4);
	tapir_byte_input__take(in, 2);
	if (in->is_bad || *cnt > in->left / bytes)
		return NULL;
	if (idx >= e->next_idx[id])
		e->lost_cnt += idx - e->next_idx[id];
	else
		e->lost_cnt++; /* out of order: which one this is cannot be known */
	e->next_idx[id] = idx + 1;
	return tapir_byte_input__take(in, (size_t)*cnt * bytes);
}

static bool on_objects(struct tapir_heap_events *e, struct tapir_byte_input *in, uint64_t time_ns)
{
	uint32_t cnt;
	const uint8_t *at = take_values(e, in, TAPIR_HEAP_OBJECTS, OBJECT_BYTES, &cnt);

	(void)time_ns;
	for (uint32_t i = 0; at && i < cnt; i++, at += OBJECT_BYTES) {
		uint64_t edges = tapir_le__u64(at + 24);

		if (!tapir_heap_graph__add_object(&e->graph, tapir_le__u64(at),
						  tapir_le__u64(at + 8), tapir_le__u64(at + 16),
						  edges))
			break;
		e->promised_edges += edges;
	}
	return at != NULL;
}

static bool on_edges(struct tapir_heap_events *e, struct tapir_byte_input *in, uint64_t time_ns)
{
	uint32_t cnt;
	const uint8_t *at = take_values(e, in, TAPIR_HEAP_EDGES, EDGE_BYTES, &cnt);

	(void)time_ns;
	for (uint32_t i = 0; at && i < cnt; i++, at += EDGE_BYTES)
		if (!tapir_heap_graph__add_edge(&e->graph, tapir_le__u64(at)))
			break;
	return at != NULL;
}

static enum tapir_heap_root_kind root_kind(unsigned kind, uint32_t flags)
{
	if (kind == ROOT_STACK)
		return TAPIR_HEAP_ROOT_STACK;
	if (kind == ROOT_FINALIZER)
		return TAPIR_HEAP_ROOT_FINALIZER;
	if (kind == ROOT_HANDLE)
		return flags & ROOT_PINNED ? TAPIR_HEAP_ROOT_PINNED : TAPIR_HEAP_ROOT_HANDLE;
	return TAPIR_HEAP_ROOT_OTHER;
}

/* A weak handle holds nothing. */
static bool on_roots(struct tapir_heap_events *e, struct tapir_byte_input *in, uint64_t time_ns)
{
	uint32_t cnt;
	const uint8_t *at = take_values(e, in, TAPIR_HEAP_ROOTS, ROOT_BYTES, &cnt);

	(void)time_ns;
	for (uint32_t i = 0; at && i < cnt; i++, at += ROOT_BYTES) {
		uint32_t flags = tapir_le__u32(at + 9);

		if (!(flags & ROOT_WEAK) &&
		    !tapir_heap_graph__add_root(&e->graph, tapir_le__u64(at),
						root_kind(at[8], flags), NULL))
			break;
	}
	return at != NULL;
}

static bool on_dependents(struct tapir_heap_events *e, struct tapir_byte_input *in,
			  uint64_t time_ns)
{
	uint32_t cnt;
	const uint8_t *at = take_values(e, in, TAPIR_HEAP_DEPENDENTS, DEPENDENT_BYTES, &cnt);

	(void)time_ns;
	for (uint32_t i = 0; at && i < cnt; i++, at += DEPENDENT_BYTES) {
		struct tapir_heap_dependent pair = {tapir_le__u64(at), tapir_le__u64(at + 8)};

		if (e->graph.dependents.cnt >= TAPIR_HEAP_MAX_OBJECTS ||
		    !tapir_vec__push(&e->graph.dependents, pair)) {
			e->graph.is_full = true;
			break;
		}
	}
	return at != NULL;
}

static bool on_statics(struct tapir_heap_events *e, struct tapir_byte_input *in, uint64_t time_ns)
{
	char text[NAME_UNITS_MAX * 3 + 1];
	uint32_t cnt = (uint32_t)tapir_byte_input__le(in, 4);

	(void)time_ns;
	tapir_byte_input__take(in, 8 + 2);
	for (uint32_t i = 0; i < cnt && !in->is_bad; i++) {
		uint64_t object_va;

		tapir_byte_input__take(in, 8);
		object_va = tapir_byte_input__le(in, 8);
		tapir_byte_input__take(in, 8 + 4);
		if (!read_utf16_name(in, text))
			return false;
		if (object_va &&
		    !tapir_heap_graph__add_root(&e->graph, object_va, TAPIR_HEAP_ROOT_STATIC, text))
			break;
	}
	return !in->is_bad;
}

/* ---- names ------------------------------------------------------------------------------------ */

/* After the brackets of an array, "[]" or "[,]"; at itself: it is something else. */
static const char *after_rank(const char *at)
{
	const char *end = at + 1;

	while (*end == ',' || *end == '*')
		end++;
	return *end == ']' ? end + 1 : at;
}

void tapir_heap_type__add_name(struct tapir_str *out, const char *text)
{
	unsigned open = 0;

	while (*text) {
		const char *end = *text == '[' ? after_rank(text) : text;

		if (end > text) {
			tapir_str__add(out, text, (size_t)(end - text));
			text = end;
		} else if (*text == '`' && text[1] >= '0' && text[1] <= '9') {
			text += 1 + strspn(text + 1, "0123456789");
		} else if (*text == '[') {
			open++;
			tapir_str__addc(out, '<');
			text++;
		} else if (*text == ']' && open) {
			open--;
			tapir_str__addc(out, '>');
			text++;
		} else {
			tapir_str__addc(out, *text);
			if (*text++ == ',' && open)
				tapir_str__addc(out, ' ');
		}
	}
}

static void name_type(struct tapir_heap_graph *g, uint64_t id, const char *text)
{
	uint32_t type = tapir_heap_graph__type(g, id);
	struct tapir_str name = {};

	if (type == TAPIR_HEAP_NO_OBJECT || g->types.data[type].name)
		return;
	tapir_heap_type__add_name(&name, text);
	g->names.max_bytes = NAMES_BYTES;
	if (!name.failed && name.len)
		g->types.data[type].name =
			tapir_arena__text(&g->names, name.data,
					  name.len < NAME_BYTES_MAX ? name.len : NAME_BYTES_MAX);
	tapir_str__fini(&name);
}

/* ---- all --------------------------------------------------------------------------------------- */

static bool (*reader_of(uint16_t id))(struct tapir_heap_events *, struct tapir_byte_input *,
				      uint64_t)
{
	switch (id) {
	case TAPIR_HEAP_GC_START:
		return on_start;
	case TAPIR_HEAP_GC_END:
		return on_end;
	case TAPIR_HEAP_TYPES:
		return on_types;
	case TAPIR_HEAP_ROOTS:
		return on_roots;
	case TAPIR_HEAP_DEPENDENTS:
		return on_dependents;
	case TAPIR_HEAP_OBJECTS:
		return on_objects;
	case TAPIR_HEAP_EDGES:
		return on_edges;
	case TAPIR_HEAP_STATICS:
		return on_statics;
	default:
		return NULL;
	}
}

bool tapir_heap_event__is_content(uint16_t id)
{
	return (id >= TAPIR_HEAP_ROOTS && id <= TAPIR_HEAP_EDGES) || id == TAPIR_HEAP_STATICS;
}

void tapir_heap_events__add(struct tapir_heap_events *e, uint16_t id, uint64_t time_ns,
			    const void *payload, size_t len)
{
	bool (*read)(struct tapir_heap_events *, struct tapir_byte_input *, uint64_t) =
		reader_of(id);
	struct tapir_byte_input in = {payload, len, false};

	if (!read || (tapir_heap_event__is_content(id) && e->walk != TAPIR_HEAP_IN_GC))
		return;
	e->malformed_cnt += !read(e, &in, time_ns);
}

bool tapir_heap_events__are_complete(const struct tapir_heap_events *e)
{
	return e->walk == TAPIR_HEAP_AFTER && !e->lost_cnt && !e->malformed_cnt &&
	       !e->graph.is_full && e->promised_edges == e->graph.edge_va.cnt;
}

void tapir_heap_events__fini(struct tapir_heap_events *e)
{
	tapir_heap_graph__fini(&e->graph);
}
