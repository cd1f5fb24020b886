// SPDX-License-Identifier: GPL-2.0-or-later
/* The shape of every record type, once: what is fixed, which lengths follow. */
#include "trace/record.h"

#include <ctype.h>
#include <string.h>

#include "trace/family.h"

struct tapir_sv tapir_sv__of(const char *text)
{
	return (struct tapir_sv){text, text ? strlen(text) : 0};
}

bool tapir_sv__is(struct tapir_sv sv, const char *text)
{
	return sv.len == strlen(text) && !memcmp(sv.data, text, sv.len);
}

int tapir_sv__compare(struct tapir_sv a, struct tapir_sv b)
{
	int order = a.len && b.len ? memcmp(a.data, b.data, a.len < b.len ? a.len : b.len) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
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

/* Sizes of records that describe; those that are captured have a row in trace/family.c. */
static const uint16_t description_bytes[TAPIR_REC_TYPE_CNT] = {
	[TAPIR_REC_PROBE] = sizeof(struct tapir_rec_probe),
	[TAPIR_REC_METADATA] = sizeof(struct tapir_rec_metadata),
	[TAPIR_REC_STACK] = sizeof(struct tapir_rec_stack),
	[TAPIR_REC_THREAD] = sizeof(struct tapir_rec_thread),
	[TAPIR_REC_PROCESS] = sizeof(struct tapir_rec_process),
	[TAPIR_REC_MAPPING] = sizeof(struct tapir_rec_mapping),
	[TAPIR_REC_SYMBOL] = sizeof(struct tapir_rec_symbol),
	[TAPIR_REC_JIT] = sizeof(struct tapir_rec_jit),
	[TAPIR_REC_COUNTER] = sizeof(struct tapir_rec_counter),
	[TAPIR_REC_LOSS] = sizeof(struct tapir_rec_loss),
	[TAPIR_REC_GAP] = sizeof(struct tapir_rec_gap),
	[TAPIR_REC_CLOCK] = sizeof(struct tapir_rec_clock),
	[TAPIR_REC_META] = sizeof(struct tapir_rec_meta),
	[TAPIR_REC_WAIT] = sizeof(struct tapir_rec_wait),
	[TAPIR_REC_RESOURCE] = sizeof(struct tapir_rec_resource),
	[TAPIR_REC_INLINED] = sizeof(struct tapir_rec_jit),
	[TAPIR_REC_LOOK] = sizeof(struct tapir_rec_look),
};

static size_t fixed_bytes(unsigned type)
{
	int family = tapir_family__of(type);

	return family < 0 ? description_bytes[type] : tapir_families[family].bytes;
}

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

/* The variable bytes that a record claims to have. The largest sum is far from wrapping 64 bits. */
static uint64_t variable_bytes(const struct tapir_rec *rec, size_t room)
{
	const union {
		const struct tapir_rec *h;
		const struct tapir_rec_probe *probe;
		const struct tapir_rec_metadata *metadata;
		const struct tapir_rec_stack *stack;
		const struct tapir_rec_process *process;
		const struct tapir_rec_mapping *mapping;
		const struct tapir_rec_symbol *symbol;
		const struct tapir_rec_jit *jit;
		const struct tapir_rec_counter *counter;
		const struct tapir_rec_gap *gap;
		const struct tapir_rec_meta *meta;
		const struct tapir_rec_wait *wait;
		const struct tapir_rec_resource *resource;
	} r = {rec};

	switch (rec->type) {
	case TAPIR_REC_PROBE:
		return probe_bytes(r.probe, room);
	case TAPIR_REC_METADATA:
		return r.metadata->blob_bytes;
	case TAPIR_REC_STACK:
		return r.stack->frame_cnt * (uint64_t)sizeof(uint64_t);
	case TAPIR_REC_PROCESS:
		return (uint64_t)r.process->comm_len + r.process->exe_len + r.process->cmdline_len +
		       r.process->cgroup_len;
	case TAPIR_REC_MAPPING:
		return r.mapping->path_len;
	case TAPIR_REC_SYMBOL:
		return r.symbol->name_len;
	case TAPIR_REC_JIT:
	case TAPIR_REC_INLINED:
		return r.jit->name_len;
	case TAPIR_REC_COUNTER:
		return (uint64_t)r.counter->provider_len + r.counter->name_len +
		       r.counter->unit_len + r.counter->tags_len;
	case TAPIR_REC_GAP:
		return r.gap->path_len;
	case TAPIR_REC_META:
		return (uint64_t)r.meta->key_len + r.meta->value_len;
	case TAPIR_REC_WAIT:
		return r.wait->text_len;
	case TAPIR_REC_RESOURCE:
		return r.resource->payload_bytes;
	default:
		return 0;
	}
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
	size_t fixed;

	if (rec->type >= TAPIR_REC_TYPE_CNT)
		return true;
	fixed = fixed_bytes(rec->type);
	if (!fixed || rec->size < fixed)
		return false;
	return variable_bytes(rec, rec->size - fixed) <= rec->size - fixed && values_ok(rec);
}

bool tapir_rec_type__describes(unsigned type)
{
	return type < TAPIR_REC_TYPE_CNT &&
	       (1u << type &
		(1u << TAPIR_REC_PROBE | 1u << TAPIR_REC_METADATA | 1u << TAPIR_REC_STACK |
		 1u << TAPIR_REC_THREAD | 1u << TAPIR_REC_PROCESS | 1u << TAPIR_REC_MAPPING |
		 1u << TAPIR_REC_SYMBOL | 1u << TAPIR_REC_JIT | 1u << TAPIR_REC_CLOCK |
		 1u << TAPIR_REC_META | 1u << TAPIR_REC_RESOURCE | 1u << TAPIR_REC_INLINED));
}

/* ---- views ------------------------------------------------------------------------------- */

/* The next len bytes at *at, which moves past them. */
static struct tapir_sv cut(const char **at, size_t len)
{
	struct tapir_sv sv = {*at, len};

	*at += len;
	return sv;
}

static bool has_trace_ids(const struct tapir_rec *rec)
{
	const struct tapir_rec_event *ev = (const struct tapir_rec_event *)rec;
	int family = tapir_family__of(rec->type);

	if (family < 0 || family == TAPIR_FAMILY_EVENT)
		return family == TAPIR_FAMILY_EVENT && ev->flags & TAPIR_EVENT_TRACE_IDS;
	return rec->size >= tapir_families[family].bytes + sizeof(struct tapir_trace_ids);
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
	view->provider = cut(&at, p->provider_len);
	view->event = cut(&at, p->event_len);
	view->file = cut(&at, p->file_len);
	view->build_id = cut(&at, p->build_id_bytes);
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
	view->comm = cut(&at, p->comm_len);
	view->exe = cut(&at, p->exe_len);
	view->cmdline = cut(&at, p->cmdline_len);
	view->cgroup = cut(&at, p->cgroup_len);
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
	view->provider = cut(&at, c->provider_len);
	view->name = cut(&at, c->name_len);
	view->unit = cut(&at, c->unit_len);
	view->tags = cut(&at, c->tags_len);
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

void tapir_meta_view__of(const struct tapir_rec *rec, struct tapir_meta_view *view)
{
	const struct tapir_rec_meta *m = (const struct tapir_rec_meta *)rec;
	const char *at = (const char *)(m + 1);

	view->rec = m;
	view->key = cut(&at, m->key_len);
	view->value = cut(&at, m->value_len);
}

/* ---- names ------------------------------------------------------------------------------- */

const char *tapir_rec_type__name(unsigned type)
{
	static const char *const names[TAPIR_REC_TYPE_CNT] = {
		[TAPIR_REC_NONE] = "unknown",	   [TAPIR_REC_PROBE] = "probe",
		[TAPIR_REC_METADATA] = "metadata", [TAPIR_REC_STACK] = "stack",
		[TAPIR_REC_THREAD] = "thread",	   [TAPIR_REC_PROCESS] = "process",
		[TAPIR_REC_MAPPING] = "mapping",   [TAPIR_REC_SYMBOL] = "symbol",
		[TAPIR_REC_JIT] = "jit",	   [TAPIR_REC_COUNTER] = "counter",
		[TAPIR_REC_LOSS] = "loss",	   [TAPIR_REC_GAP] = "gap",
		[TAPIR_REC_CLOCK] = "clock",	   [TAPIR_REC_META] = "meta",
		[TAPIR_REC_WAIT] = "wait",	   [TAPIR_REC_RESOURCE] = "resource",
		[TAPIR_REC_INLINED] = "inlined",   [TAPIR_REC_LOOK] = "look",
	};
	int family = tapir_family__of(type);

	if (family >= 0)
		return tapir_families[family].one;
	return type < TAPIR_REC_TYPE_CNT ? names[type] : "unknown";
}

uint64_t tapir_switch__futex_va(const struct tapir_rec_switch *rec)
{
	uint64_t va = 0;

	if (rec->flags & TAPIR_SWITCH_HAS_FUTEX && rec->h.size >= sizeof(*rec) + sizeof(va))
		memcpy(&va, rec + 1, sizeof(va));
	return va;
}

const char *tapir_switch__state_name(const struct tapir_rec_switch *rec)
{
	static const struct {
		unsigned bit;
		const char *name;
	} states[] = {
		{TAPIR_STATE_DEAD, "dead"},
		{TAPIR_STATE_STOPPED, "stopped"},
		{TAPIR_STATE_TRACED, "traced"},
		{TAPIR_STATE_UNINTERRUPTIBLE, "uninterruptible"},
		{TAPIR_STATE_SLEEPING, "sleeping"},
		{TAPIR_STATE_PARKED, "parked"},
	};

	if (rec->flags & TAPIR_SWITCH_PREEMPTED)
		return "preempted";
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (rec->out_state & states[i].bit)
			return states[i].name;
	return rec->out_state ? "waiting" : "runnable";
}

struct loss_entry {
	const char *upper; /* as the enum spells it */
	const char *text;
	int kind;
};

static const struct loss_entry losses[TAPIR_LOSS_CAUSE_CNT] = {
#define TAPIR_X(name, kind, text) {#name, text, TAPIR_LOSS_KIND_##kind},
	TAPIR_LOSS_CAUSES(TAPIR_X)
#undef TAPIR_X
};

/* Lower-case copies, made before main so that no caller needs a lock. */
static char loss_names[TAPIR_LOSS_CAUSE_CNT][32];

__attribute__((constructor)) static void make_loss_names(void)
{
	for (unsigned i = 0; i < TAPIR_LOSS_CAUSE_CNT; i++)
		for (unsigned j = 0; losses[i].upper[j] && j < sizeof(loss_names[i]) - 1; j++)
			loss_names[i][j] = (char)tolower((unsigned char)losses[i].upper[j]);
}

const char *tapir_loss__name(unsigned cause)
{
	return cause < TAPIR_LOSS_CAUSE_CNT ? loss_names[cause] : "unknown";
}

const char *tapir_loss__text(unsigned cause)
{
	return cause < TAPIR_LOSS_CAUSE_CNT ? losses[cause].text : "unknown";
}

bool tapir_loss__is_whole(unsigned cause)
{
	int kind = tapir_loss__kind(cause);

	return kind == TAPIR_LOSS_KIND_EVENT || kind == TAPIR_LOSS_KIND_SAMPLE ||
	       kind == TAPIR_LOSS_KIND_SWITCH;
}

int tapir_loss__kind(unsigned cause)
{
	return cause < TAPIR_LOSS_CAUSE_CNT ? losses[cause].kind : -1;
}

bool tapir_loss__hides_events(unsigned cause)
{
	return cause == TAPIR_LOSS_PROCESS_RING_FULL || cause == TAPIR_LOSS_PERF_LOST ||
	       cause == TAPIR_LOSS_PROCESS_MAP_FULL;
}

const char *tapir_gap__name(unsigned reason)
{
	return reason == TAPIR_GAP_NOT_READ	    ? "not_read"
	       : reason == TAPIR_GAP_SECOND_MAPPING ? "second_mapping"
	       : reason == TAPIR_GAP_ATTACH_FAILED  ? "attach_failed"
						    : "attach_late";
}

const char *tapir_gap__text(unsigned reason)
{
	return reason == TAPIR_GAP_NOT_READ
		       ? "not read (no answer from its file system, not permitted, or too large):"
	       : reason == TAPIR_GAP_SECOND_MAPPING
		       ? "mapped a second time, where the kernel turns no guarded probe on:"
	       : reason == TAPIR_GAP_ATTACH_FAILED ? "no probes could be attached to"
						   : "probes were attached late to";
}
