// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One routine lays out the records of every type; the others fill in the lengths of their parts.
 * Padding is zeroed, because records are compared byte by byte and written to files.
 */
#include "trace/recbuf.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

void tapir_recbuf__fini(struct tapir_recbuf *b)
{
	free(b->data);
	*b = (struct tapir_recbuf){};
}

static bool reserve(struct tapir_recbuf *b, size_t bytes)
{
	void *grown;

	if (bytes <= b->cap_bytes)
		return true;
	bytes = bytes < 4096 ? 4096 : bytes;
	grown = realloc(b->data, bytes);
	if (!grown)
		return false;
	b->data = grown;
	b->cap_bytes = bytes;
	return true;
}

/* Cuts to max bytes, and not inside a UTF-8 sequence. */
static struct tapir_sv truncate_to(struct tapir_sv sv, size_t max)
{
	if (sv.len <= max)
		return sv;
	sv.len = max;
	while (sv.len && ((unsigned char)sv.data[sv.len] & 0xc0) == 0x80 && max - sv.len < 4)
		sv.len--;
	return sv;
}

/* fixed, then the parts, then zeros up to a multiple of 8. */
static struct tapir_rec *build(struct tapir_recbuf *b, enum tapir_rec_type type, const void *fixed,
			       size_t fixed_bytes, const struct tapir_sv *parts, unsigned part_cnt)
{
	size_t bytes = fixed_bytes, size;
	struct tapir_rec *rec;
	char *at;

	for (unsigned i = 0; i < part_cnt; i++)
		bytes += parts[i].len;
	size = (bytes + 7) & ~(size_t)7;
	if (size > TAPIR_MAX_RECORD_BYTES || !reserve(b, size))
		return NULL;
	rec = (struct tapir_rec *)b->data;
	memcpy(rec, fixed, fixed_bytes);
	rec->type = (uint16_t)type;
	rec->size = (uint32_t)size;
	at = (char *)rec + fixed_bytes;
	for (unsigned i = 0; i < part_cnt; at += parts[i].len, i++)
		if (parts[i].len)
			memcpy(at, parts[i].data, parts[i].len);
	memset(at, 0, size - bytes);
	return rec;
}

#define STR(sv) truncate_to(sv, TAPIR_RECBUF_STR_BYTES)

const struct tapir_rec *tapir_recbuf__probe(struct tapir_recbuf *b,
					    const struct tapir_rec_probe *fixed,
					    struct tapir_sv provider, struct tapir_sv event,
					    struct tapir_sv file, struct tapir_sv build_id,
					    const struct tapir_field *fields,
					    const struct tapir_sv *names, unsigned field_cnt)
{
	struct tapir_sv parts[5 + TAPIR_RECBUF_FIELD_CNT];
	struct tapir_rec_probe p = *fixed;
	struct tapir_field *built;

	if (field_cnt > TAPIR_RECBUF_FIELD_CNT)
		return NULL;
	parts[0] = (struct tapir_sv){(const char *)fields, field_cnt * sizeof(*fields)};
	parts[1] = truncate_to(provider, TAPIR_RECBUF_PROBE_STR_BYTES);
	parts[2] = truncate_to(event, TAPIR_RECBUF_PROBE_STR_BYTES);
	parts[3] = truncate_to(file, TAPIR_RECBUF_PROBE_STR_BYTES);
	parts[4] = (struct tapir_sv){build_id.data, build_id.len > 255 ? 0 : build_id.len};
	for (unsigned i = 0; i < field_cnt; i++)
		parts[5 + i] = names ? truncate_to(names[i], TAPIR_RECBUF_FIELD_NAME_BYTES)
				     : (struct tapir_sv){"", 0};
	p.field_cnt = (uint16_t)field_cnt;
	p.provider_len = (uint16_t)parts[1].len;
	p.event_len = (uint16_t)parts[2].len;
	p.file_len = (uint16_t)parts[3].len;
	p.build_id_bytes = (uint8_t)parts[4].len;
	/*
	 * The fields are copied with the lengths that their layout has; those of the names, some of
	 * them cut, are set where they are now.
	 */
	if (!build(b, TAPIR_REC_PROBE, &p, sizeof(p), parts, 5 + field_cnt))
		return NULL;
	built = (struct tapir_field *)((struct tapir_rec_probe *)b->data + 1);
	for (unsigned i = 0; i < field_cnt; i++)
		built[i].name_len = (uint16_t)parts[5 + i].len;
	return (const struct tapir_rec *)b->data;
}

const struct tapir_rec *tapir_recbuf__process(struct tapir_recbuf *b,
					      const struct tapir_rec_process *fixed,
					      struct tapir_sv comm, struct tapir_sv exe,
					      struct tapir_sv cmdline, struct tapir_sv cgroup)
{
	struct tapir_sv parts[] = {STR(comm), STR(exe), STR(cmdline), STR(cgroup)};
	struct tapir_rec_process p = *fixed;

	p.comm_len = (uint16_t)parts[0].len;
	p.exe_len = (uint16_t)parts[1].len;
	p.cmdline_len = (uint16_t)parts[2].len;
	p.cgroup_len = (uint16_t)parts[3].len;
	p.flags |= parts[2].len < cmdline.len ? TAPIR_PROCESS_CMDLINE_CUT : 0;
	return build(b, TAPIR_REC_PROCESS, &p, sizeof(p), parts, 4);
}

const struct tapir_rec *tapir_recbuf__mapping(struct tapir_recbuf *b,
					      const struct tapir_rec_mapping *fixed,
					      struct tapir_sv path)
{
	struct tapir_rec_mapping m = *fixed;

	path = STR(path);
	m.path_len = (uint16_t)path.len;
	return build(b, TAPIR_REC_MAPPING, &m, sizeof(m), &path, 1);
}

const struct tapir_rec *tapir_recbuf__symbol(struct tapir_recbuf *b,
					     const struct tapir_rec_symbol *fixed,
					     struct tapir_sv name)
{
	struct tapir_rec_symbol s = *fixed;

	name = STR(name);
	s.name_len = (uint16_t)name.len;
	return build(b, TAPIR_REC_SYMBOL, &s, sizeof(s), &name, 1);
}

static const struct tapir_rec *build_jit(struct tapir_recbuf *b, uint16_t type,
					 const struct tapir_rec_jit *fixed, struct tapir_sv name)
{
	struct tapir_rec_jit j = *fixed;

	name = STR(name);
	j.name_len = (uint16_t)name.len;
	return build(b, type, &j, sizeof(j), &name, 1);
}

const struct tapir_rec *tapir_recbuf__jit(struct tapir_recbuf *b, const struct tapir_rec_jit *fixed,
					  struct tapir_sv name)
{
	return build_jit(b, TAPIR_REC_JIT, fixed, name);
}

const struct tapir_rec *tapir_recbuf__inlined(struct tapir_recbuf *b,
					      const struct tapir_rec_jit *fixed,
					      struct tapir_sv names)
{
	return build_jit(b, TAPIR_REC_INLINED, fixed, names);
}

const struct tapir_rec *tapir_recbuf__counter(struct tapir_recbuf *b,
					      const struct tapir_rec_counter *fixed,
					      struct tapir_sv provider, struct tapir_sv name,
					      struct tapir_sv unit, struct tapir_sv tags)
{
	struct tapir_sv parts[] = {STR(provider), STR(name), STR(unit), STR(tags)};
	struct tapir_rec_counter c = *fixed;

	c.provider_len = (uint16_t)parts[0].len;
	c.name_len = (uint16_t)parts[1].len;
	c.unit_len = (uint16_t)parts[2].len;
	c.tags_len = (uint16_t)parts[3].len;
	return build(b, TAPIR_REC_COUNTER, &c, sizeof(c), parts, 4);
}

const struct tapir_rec *tapir_recbuf__gap(struct tapir_recbuf *b, const struct tapir_rec_gap *fixed,
					  struct tapir_sv path)
{
	struct tapir_rec_gap g = *fixed;

	path = STR(path);
	g.path_len = (uint16_t)path.len;
	return build(b, TAPIR_REC_GAP, &g, sizeof(g), &path, 1);
}

const struct tapir_rec *tapir_recbuf__io(struct tapir_recbuf *b, const struct tapir_rec_io *fixed,
					 struct tapir_sv path_start, struct tapir_sv path_rest)
{
	const struct tapir_sv parts[] = {STR(path_start), STR(path_rest)};
	struct tapir_rec_io io = *fixed;

	io.path_len = (uint16_t)(parts[0].len + parts[1].len);
	return build(b, TAPIR_REC_IO, &io, sizeof(io), parts, 2);
}

const struct tapir_rec *tapir_recbuf__wait(struct tapir_recbuf *b,
					   const struct tapir_wait_view *view)
{
	static const struct tapir_sv zero = {"", 1};
	struct tapir_rec_wait w = *view->rec;
	struct tapir_sv parts[] = {STR(view->text),
				   STR(view->object),
				   zero,
				   STR(view->statement),
				   zero,
				   STR(view->holder_statement),
				   zero,
				   STR(view->session),
				   zero,
				   STR(view->holder_session)};

	w.text_len = (uint16_t)parts[0].len;
	return build(b, TAPIR_REC_WAIT, &w, sizeof(w), parts, 10);
}

const struct tapir_rec *tapir_recbuf__meta(struct tapir_recbuf *b, uint64_t time_ns,
					   struct tapir_sv key, struct tapir_sv value)
{
	struct tapir_sv parts[] = {STR(key), STR(value)};
	struct tapir_rec_meta m = {.h = {.cpu = TAPIR_CPU_UNKNOWN, .time_ns = time_ns},
				   .key_len = (uint16_t)parts[0].len,
				   .value_len = (uint16_t)parts[1].len};

	return build(b, TAPIR_REC_META, &m, sizeof(m), parts, 2);
}

const struct tapir_rec *tapir_recbuf__metadata(struct tapir_recbuf *b,
					       const struct tapir_rec_metadata *fixed,
					       struct tapir_sv blob)
{
	struct tapir_rec_metadata m = *fixed;

	if (blob.len > TAPIR_MAX_RECORD_BYTES)
		return NULL;
	m.blob_bytes = (uint32_t)blob.len;
	return build(b, TAPIR_REC_METADATA, &m, sizeof(m), &blob, 1);
}

const struct tapir_rec *tapir_recbuf__resource(struct tapir_recbuf *b,
					       const struct tapir_rec_resource *fixed,
					       struct tapir_sv payload)
{
	struct tapir_rec_resource r = *fixed;

	if (payload.len > TAPIR_RESOURCE_MAX_BYTES)
		return NULL;
	r.payload_bytes = (uint32_t)payload.len;
	return build(b, TAPIR_REC_RESOURCE, &r, sizeof(r), &payload, 1);
}

const struct tapir_rec *tapir_recbuf__stack(struct tapir_recbuf *b,
					    const struct tapir_rec_stack *fixed,
					    const uint64_t *frames_va, unsigned frame_cnt)
{
	struct tapir_rec_stack s = *fixed;
	struct tapir_sv frames;

	if (frame_cnt > TAPIR_MAX_FRAMES) {
		frame_cnt = TAPIR_MAX_FRAMES;
		s.flags |= TAPIR_STACK_MORE;
		s.end = TAPIR_STACK_END_MORE;
	}
	s.frame_cnt = (uint16_t)frame_cnt;
	frames = (struct tapir_sv){(const char *)frames_va, frame_cnt * sizeof(*frames_va)};
	return build(b, TAPIR_REC_STACK, &s, sizeof(s), &frames, 1);
}

const struct tapir_rec *tapir_recbuf__event(struct tapir_recbuf *b,
					    const struct tapir_event_view *view)
{
	static const char padding[8];
	struct tapir_rec_event ev = *view->rec;
	struct tapir_sv parts[6];
	unsigned cnt = 0;

	if (ev.flags & TAPIR_EVENT_KSTACK)
		parts[cnt++] = (struct tapir_sv){(const char *)&view->kstack_id, 8};
	if (ev.flags & TAPIR_EVENT_ACTIVITY)
		parts[cnt++] = (struct tapir_sv){(const char *)view->activity_id, 16};
	if (ev.flags & TAPIR_EVENT_RELATED)
		parts[cnt++] = (struct tapir_sv){(const char *)view->related_id, 16};
	parts[cnt++] = (struct tapir_sv){(const char *)view->payload, view->payload_bytes};
	if (view->payload_bytes > TAPIR_MAX_RECORD_BYTES)
		return NULL;
	ev.payload_bytes = (uint32_t)view->payload_bytes;
	if (ev.flags & TAPIR_EVENT_TRACE_IDS) {
		parts[cnt++] = (struct tapir_sv){padding, -view->payload_bytes & 7};
		parts[cnt++] = (struct tapir_sv){(const char *)view->trace, sizeof(*view->trace)};
	}
	return build(b, TAPIR_REC_EVENT, &ev, sizeof(ev), parts, cnt);
}

void tapir_rec__init(struct tapir_rec *rec, enum tapir_rec_type type, size_t bytes,
		     uint64_t time_ns)
{
	*rec = (struct tapir_rec){.type = (uint16_t)type,
				  .cpu = TAPIR_CPU_UNKNOWN,
				  .size = (uint32_t)bytes,
				  .time_ns = time_ns};
}

void tapir_rec_clock__now(struct tapir_rec_clock *clock)
{
	tapir_rec__init(&clock->h, TAPIR_REC_CLOCK, sizeof(*clock), tapir_clock__now_ns());
	clock->utc_ns = tapir_clock__ns(CLOCK_REALTIME);
	clock->boot_ns = tapir_clock__ns(CLOCK_BOOTTIME);
}
