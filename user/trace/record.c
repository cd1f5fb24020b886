// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records are checked here, and cut into their parts. The check of a type is that its fixed part
 * fits and that its lengths add up to no more than its size; after it no view checks a length
 * again.
 *
 * Wrong values that every consumer would have to guard against (a division by a period of 0) are
 * refused here as well.
 */
#include "trace/record.h"

#include <string.h>

#include "trace/schema.h"

struct tapir_sv tapir_sv__of(const char *text)
{
	return (struct tapir_sv){text, text ? strlen(text) : 0};
}

bool tapir_sv__is(struct tapir_sv sv, const char *text)
{
	return sv.len == strlen(text) && (!sv.len || !memcmp(sv.data, text, sv.len));
}

int tapir_sv__compare(struct tapir_sv a, struct tapir_sv b)
{
	int order = a.len && b.len ? memcmp(a.data, b.data, a.len < b.len ? a.len : b.len) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

struct tapir_sv tapir_sv__next_line(struct tapir_sv *text)
{
	const char *end = text->len ? memchr(text->data, '\n', text->len) : NULL;
	struct tapir_sv line = {text->data, end ? (size_t)(end - text->data) : text->len};
	size_t used = line.len + (end != NULL);

	text->data += used;
	text->len -= used;
	return line;
}

char *tapir_sv__dup(struct tapir_sv text)
{
	return strndup(text.len ? text.data : "", text.len);
}

void tapir_sv__copy(struct tapir_sv text, char *out, size_t out_bytes)
{
	size_t len = text.len < out_bytes ? text.len : out_bytes - 1;

	if (len)
		memcpy(out, text.data, len);
	out[len] = '\0';
}

bool tapir_sample_event__is_clock(struct tapir_sv event)
{
	return !event.len || tapir_sv__starts_with(event, "cpu-clock") ||
	       tapir_sv__starts_with(event, "task-clock");
}

bool tapir_sv__starts_with(struct tapir_sv text, const char *start)
{
	size_t len = strlen(start);

	return text.len >= len && !memcmp(text.data, start, len);
}

bool tapir_sv__starts_with_any(struct tapir_sv text, const char *const *starts)
{
	for (; starts && *starts; starts++)
		if (tapir_sv__starts_with(text, *starts))
			return true;
	return false;
}

bool tapir_sv__ends_with(struct tapir_sv text, const char *end)
{
	size_t len = strlen(end);

	return text.len >= len && !memcmp(text.data + text.len - len, end, len);
}

struct tapir_sv tapir_sv__base_name(struct tapir_sv path)
{
	const char *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;

	if (!slash)
		return path;
	return (struct tapir_sv){slash + 1, (size_t)(path.data + path.len - slash - 1)};
}

/* ---- checking ---------------------------------------------------------------------------- */

/* Variable bytes of a PROBE. The fields must fit before their name lengths are read. */
static uint64_t probe_bytes(const struct tapir_rec_probe *p, size_t room)
{
	const struct tapir_field *fields = (const struct tapir_field *)(p + 1);
	uint64_t bytes = (uint64_t)p->field_cnt * sizeof(*fields);

	if (bytes > room)
		return bytes;
	for (unsigned i = 0; i < p->field_cnt; i++)
		bytes += fields[i].name_len;
	return bytes + p->provider_len + p->event_len + p->file_len + p->build_id_bytes;
}

/* Checks values that each consumer would otherwise have to check before it copies or divides. */
static bool values_ok(const struct tapir_rec *rec)
{
	if (rec->type == TAPIR_REC_STACK) {
		const struct tapir_rec_stack *s = (const struct tapir_rec_stack *)rec;

		return s->stack_id && s->frame_cnt <= TAPIR_MAX_FRAMES;
	}
	if (rec->type == TAPIR_REC_MAPPING) {
		const struct tapir_rec_mapping *m = (const struct tapir_rec_mapping *)rec;

		return m->start_va < m->end_va && m->build_id_bytes <= TAPIR_BUILD_ID_BYTES;
	}
	return true;
}

bool tapir_record__fits(const struct tapir_rec *rec)
{
	const struct tapir_schema *schema = tapir_schema__of(rec->type);
	uint64_t bytes;

	if (rec->type >= TAPIR_REC_TYPE_CNT)
		return true;
	if (!schema->bytes || rec->size < schema->bytes)
		return false;
	bytes = rec->type == TAPIR_REC_PROBE
			? probe_bytes((const void *)rec, rec->size - schema->bytes)
			: tapir_schema__part_bytes(schema, rec);
	return bytes <= rec->size - schema->bytes && values_ok(rec);
}

bool tapir_rec_type__describes(unsigned type)
{
	return tapir_schema__of(type)->describes;
}

/* ---- views ------------------------------------------------------------------------------- */

/* The next len bytes at *at, which moves past them. */
static struct tapir_sv take_bytes(const char **at, size_t len)
{
	struct tapir_sv sv = {*at, len};

	*at += len;
	return sv;
}

static bool has_trace_ids(const struct tapir_rec *rec)
{
	const struct tapir_rec_event *ev = (const struct tapir_rec_event *)rec;
	const struct tapir_schema *schema = tapir_schema__of(rec->type);

	if (rec->type == TAPIR_REC_EVENT)
		return ev->flags & TAPIR_EVENT_TRACE_IDS;
	return schema->has_trace_ids &&
	       rec->size >= schema->bytes + sizeof(struct tapir_trace_ids) &&
	       rec->size - schema->bytes - sizeof(struct tapir_trace_ids) >=
		       tapir_schema__part_bytes(schema, rec);
}

const struct tapir_trace_ids *tapir_rec__trace_ids(const struct tapir_rec *rec)
{
	return has_trace_ids(rec)
		       ? (const struct tapir_trace_ids *)((const char *)rec + rec->size) - 1
		       : NULL;
}

static const char *hex(const uint8_t *bytes, size_t cnt, char *text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < cnt; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	text[2 * cnt] = '\0';
	return text;
}

const char *tapir_trace_id__text(const struct tapir_trace_ids *ids, char text[TAPIR_TRACE_ID_TEXT])
{
	return hex(ids->trace_id, sizeof(ids->trace_id), text);
}

const char *tapir_span_id__text(const struct tapir_trace_ids *ids, char text[TAPIR_TRACE_ID_TEXT])
{
	return hex(ids->span_id, sizeof(ids->span_id), text);
}

void tapir_event_view__of(const struct tapir_rec *rec, struct tapir_event_view *view)
{
	const struct tapir_rec_event *ev = (const struct tapir_rec_event *)rec;
	const uint8_t *at = (const uint8_t *)(ev + 1);

	*view = (struct tapir_event_view){.rec = ev, .payload_bytes = ev->payload_bytes};
	if (ev->flags & TAPIR_EVENT_KSTACK) {
		memcpy(&view->kstack_id, at, sizeof(view->kstack_id));
		at += sizeof(view->kstack_id);
	}
	if (ev->flags & TAPIR_EVENT_ACTIVITY) {
		view->activity_id = at;
		at += 16;
	}
	if (ev->flags & TAPIR_EVENT_RELATED) {
		view->related_id = at;
		at += 16;
	}
	view->payload = at;
	view->trace = tapir_rec__trace_ids(rec);
}

void tapir_probe_view__of(const struct tapir_rec *rec, struct tapir_probe_view *view)
{
	const struct tapir_rec_probe *p = (const struct tapir_rec_probe *)rec;
	const struct tapir_field *fields = (const struct tapir_field *)(p + 1);
	const char *at = (const char *)(fields + p->field_cnt);

	view->rec = p;
	view->fields = fields;
	view->provider = take_bytes(&at, p->provider_len);
	view->event = take_bytes(&at, p->event_len);
	view->file = take_bytes(&at, p->file_len);
	view->build_id = take_bytes(&at, p->build_id_bytes);
	view->names = at;
}

struct tapir_sv tapir_probe_view__name(const struct tapir_probe_view *view, unsigned idx)
{
	const char *at = view->names;

	if (idx >= view->rec->field_cnt)
		return (struct tapir_sv){"", 0};
	for (unsigned i = 0; i < idx; i++)
		at += view->fields[i].name_len;
	return (struct tapir_sv){at, view->fields[idx].name_len};
}

void tapir_metadata_view__of(const struct tapir_rec *rec, struct tapir_metadata_view *view)
{
	view->rec = (const struct tapir_rec_metadata *)rec;
	view->blob = (struct tapir_sv){(const char *)(view->rec + 1), view->rec->blob_bytes};
}

void tapir_stack_view__of(const struct tapir_rec *rec, struct tapir_stack_view *view)
{
	view->rec = (const struct tapir_rec_stack *)rec;
	view->frames_va = (const uint64_t *)(view->rec + 1);
}

void tapir_thread_view__of(const struct tapir_rec *rec, struct tapir_thread_view *view)
{
	const struct tapir_rec_thread *t = (const struct tapir_rec_thread *)rec;

	view->rec = t;
	view->comm = (struct tapir_sv){t->comm, strnlen(t->comm, sizeof(t->comm))};
	view->leader_comm =
		(struct tapir_sv){t->leader_comm, strnlen(t->leader_comm, sizeof(t->leader_comm))};
}

void tapir_process_view__of(const struct tapir_rec *rec, struct tapir_process_view *view)
{
	const struct tapir_rec_process *p = (const struct tapir_rec_process *)rec;
	const char *at = (const char *)(p + 1);

	view->rec = p;
	view->comm = take_bytes(&at, p->comm_len);
	view->exe = take_bytes(&at, p->exe_len);
	view->cmdline = take_bytes(&at, p->cmdline_len);
	view->cgroup = take_bytes(&at, p->cgroup_len);
}

void tapir_resource_view__of(const struct tapir_rec *rec, struct tapir_resource_view *view)
{
	view->rec = (const struct tapir_rec_resource *)rec;
	view->payload = (struct tapir_sv){(const char *)(view->rec + 1), view->rec->payload_bytes};
}

void tapir_mapping_view__of(const struct tapir_rec *rec, struct tapir_mapping_view *view)
{
	const struct tapir_rec_mapping *m = (const struct tapir_rec_mapping *)rec;

	view->rec = m;
	view->path = (struct tapir_sv){(const char *)(m + 1), m->path_len};
	view->build_id = (struct tapir_sv){(const char *)m->build_id, m->build_id_bytes};
}

void tapir_symbol_view__of(const struct tapir_rec *rec, struct tapir_symbol_view *view)
{
	view->rec = (const struct tapir_rec_symbol *)rec;
	view->name = (struct tapir_sv){(const char *)(view->rec + 1), view->rec->name_len};
}

void tapir_jit_view__of(const struct tapir_rec *rec, struct tapir_jit_view *view)
{
	view->rec = (const struct tapir_rec_jit *)rec;
	view->name = (struct tapir_sv){(const char *)(view->rec + 1), view->rec->name_len};
}

void tapir_counter_view__of(const struct tapir_rec *rec, struct tapir_counter_view *view)
{
	const struct tapir_rec_counter *c = (const struct tapir_rec_counter *)rec;
	const char *at = (const char *)(c + 1);

	view->rec = c;
	view->provider = take_bytes(&at, c->provider_len);
	view->name = take_bytes(&at, c->name_len);
	view->unit = take_bytes(&at, c->unit_len);
	view->tags = take_bytes(&at, c->tags_len);
}

void tapir_gap_view__of(const struct tapir_rec *rec, struct tapir_gap_view *view)
{
	view->rec = (const struct tapir_rec_gap *)rec;
	view->path = (struct tapir_sv){(const char *)(view->rec + 1), view->rec->path_len};
}

static struct tapir_sv up_to_zero(const char **at, const char *end)
{
	struct tapir_sv text = {*at, strnlen(*at, (size_t)(end - *at))};

	*at += text.len + (*at + text.len < end);
	return text;
}

void tapir_wait_view__of(const struct tapir_rec *rec, struct tapir_wait_view *view)
{
	const char *at, *end = (const char *)rec + rec->size;

	view->rec = (const struct tapir_rec_wait *)rec;
	view->text = (struct tapir_sv){(const char *)(view->rec + 1), view->rec->text_len};
	at = view->text.data + view->text.len;
	view->object = up_to_zero(&at, end);
	view->statement = up_to_zero(&at, end);
	view->holder_statement = up_to_zero(&at, end);
	view->session = up_to_zero(&at, end);
	view->holder_session = up_to_zero(&at, end);
}

void tapir_io_view__of(const struct tapir_rec *rec, struct tapir_io_view *view)
{
	view->rec = (const struct tapir_rec_io *)rec;
	view->disk = (struct tapir_sv){view->rec->disk,
				       strnlen(view->rec->disk, sizeof(view->rec->disk))};
	view->path = (struct tapir_sv){(const char *)(view->rec + 1), view->rec->path_len};
}

void tapir_meta_view__of(const struct tapir_rec *rec, struct tapir_meta_view *view)
{
	const struct tapir_rec_meta *m = (const struct tapir_rec_meta *)rec;
	const char *at = (const char *)(m + 1);

	view->rec = m;
	view->key = take_bytes(&at, m->key_len);
	view->value = take_bytes(&at, m->value_len);
}

const char *tapir_rec_type__name(unsigned type)
{
	return tapir_schema__of(type)->name;
}
