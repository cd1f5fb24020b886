// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks and activity ids are written once and then referred to by number, until a sequence point,
 * at which readers forget them: one is written whenever names may have changed.
 */
#include <string.h>

#include "output/export/nettrace_impl.h"
#include "symbol/frame.h"
#include "symbol/stack_end.h"
#include "trace/rehost.h"

#define LABELS_MAX (1u << 16)

bool tapir_nettrace__must_renew(struct tapir_nettrace *n)
{
	bool renewed = tapir_stack_cache__renew(&n->stack_cache, n->catalog);

	if (!renewed && n->label_by_ids.cnt < LABELS_MAX)
		return false;
	tapir_stack_cache__fini(&n->stack_cache);
	(void)tapir_stack_cache__renew(&n->stack_cache, n->catalog);
	tapir_map__clear(&n->label_by_ids);
	return true;
}

static uint32_t next_id(struct tapir_nettrace_list *list)
{
	return list->first_id + list->cnt++;
}

void tapir_nettrace_list__flush(struct tapir_nettrace_list *list, enum tapir_nettrace_block kind,
				struct tapir_str *out)
{
	out->failed |= list->bytes.failed;
	if (list->cnt) {
		tapir_nettrace__put_block(out, kind, 2 * sizeof(uint32_t) + list->bytes.len);
		tapir_nettrace__put_u32(out, list->first_id);
		tapir_nettrace__put_u32(out, list->cnt);
		tapir_str__add(out, list->bytes.data, list->bytes.len);
	}
	list->first_id += list->cnt;
	list->cnt = 0;
	tapir_str__clear(&list->bytes);
}

/* ---- stacks --------------------------------------------------------------------------------- */

/* The memo has one answer for all processes; for readers it must be written in each of them. */
static uint64_t assign_kernel_va(struct tapir_nettrace *n, const struct tapir_stack_ref *ref,
				 const struct tapir_stack_view *view, unsigned idx)
{
	struct tapir_frame frame = tapir_frame__of(n->catalog, ref->tgid, ref->time_ns, view, idx);

	return tapir_nettrace__assign_va(n, &frame);
}

/* Addresses that no process has, for frames that are not code of this moment. */
#define MADE_ROOM     (1ull << 32)
#define MADE_VA	      (TAPIR_NETTRACE_MOVED_VA - MADE_ROOM)
#define MADE_DISTANCE 16u

static uint64_t assign_invented_va(struct tapir_nettrace *n, struct tapir_sv name)
{
	struct tapir_frame frame = {.name = name,
				    .va = MADE_VA + tapir_hash__bytes(11, name.data, name.len) %
							    (MADE_ROOM / MADE_DISTANCE) *
							    MADE_DISTANCE};

	n->naming.is_caller = false;
	return tapir_nettrace__assign_va(n, &frame);
}

/* A method that awaits is not where its code is: there it runs. */
static uint64_t assign_user_va(void *ctx, const struct tapir_frame *frame)
{
	struct tapir_nettrace *n = ctx;
	struct tapir_str text = {};
	uint64_t va;

	if (!frame->awaits || !frame->name.len)
		return tapir_nettrace__assign_va(n, frame);
	va = assign_invented_va(n, tapir_frame__shown_name(frame, &text, NULL));
	n->failed |= text.failed;
	tapir_str__fini(&text);
	return va;
}

/* Returns the number of frames that stand for lost callers: 1 where some are missing. */
static unsigned assign_lost_callers_va(struct tapir_nettrace *n, const struct tapir_stack_ref *ref,
				       const struct tapir_rec_stack *rec, uint64_t *va)
{
	struct tapir_str text = {};
	bool are_lost;

	tapir_str__addc(&text, '[');
	are_lost = tapir_stack_end__add_of(&text, n->catalog, ref->tgid, ref->time_ns, rec);
	tapir_str__addc(&text, ']');
	if (are_lost && !text.failed)
		*va = assign_invented_va(n, (struct tapir_sv){text.data, text.len});
	n->failed |= text.failed;
	tapir_str__fini(&text);
	return are_lost && *va;
}

/*
 * Fills vas, with room for TAPIR_MAX_FRAMES + 1, and returns how many there are: a frame of its own
 * stands for callers that are missing.
 */
static unsigned assign_stack_vas(struct tapir_nettrace *n, const struct tapir_stack_ref *ref,
				 uint64_t stack_id, uint64_t *vas, struct tapir_name_span *span)
{
	const struct tapir_rec_stack *rec =
		stack_id ? tapir_catalog__stack(n->catalog, stack_id) : NULL;
	struct tapir_stack_view view;
	bool is_kernel;

	if (!rec)
		return 0;
	tapir_stack_view__of(&rec->h, &view);
	is_kernel = rec->flags & TAPIR_STACK_KERNEL;
	if (is_kernel)
		tapir_nettrace__write_kernel(n, ref->tgid);
	n->naming.tgid = ref->tgid;
	n->naming.owner = is_kernel ? tapir_host__kernel_of(ref->tgid) : ref->tgid;
	n->naming.time_ns = ref->time_ns;
	for (unsigned i = 0; i < rec->frame_cnt; i++) {
		n->naming.is_caller = i > 0;
		vas[i] = is_kernel ? assign_kernel_va(n, ref, &view, i)
				   : tapir_frame_cache__number(&n->frame_cache, n->catalog, ref,
							       &view, i, assign_user_va, n, span);
	}
	vas[rec->frame_cnt] = 0;
	return rec->frame_cnt + assign_lost_callers_va(n, ref, rec, vas + rec->frame_cnt);
}

uint32_t tapir_nettrace__stack(struct tapir_nettrace *n, const struct tapir_stack_ref *ref)
{
	struct tapir_name_span span = TAPIR_NAME_SPAN_ALL;
	const struct tapir_stack_cache_entry *known;
	uint64_t vas[2 * TAPIR_MAX_FRAMES + 2];
	uint32_t id;
	unsigned cnt;

	if (!ref->stack_id && !ref->kstack_id)
		return 0;
	known = tapir_stack_cache__find(&n->stack_cache, ref);
	if (known)
		return (uint32_t)known->value;
	cnt = assign_stack_vas(n, ref, ref->kstack_id, vas, &span);
	cnt += assign_stack_vas(n, ref, ref->stack_id, vas + cnt, &span);
	if (!cnt)
		return 0;
	id = next_id(&n->stacks);
	tapir_nettrace__put_u32(&n->stacks.bytes, cnt * (uint32_t)sizeof(*vas));
	tapir_nettrace__put(&n->stacks.bytes, vas, cnt * sizeof(*vas));
	n->failed |= !tapir_stack_cache__add(&n->stack_cache, ref, span, id);
	return id;
}

/* ---- activity, trace and span ids ------------------------------------------------------------ */

enum label {
	LABEL_ACTIVITY = 1,
	LABEL_RELATED = 2,
	LABEL_TRACE = 3,
	LABEL_SPAN = 4,
	LABEL_CNT,
	LABEL_LAST = 0x80
};

struct labels {
	struct tapir_sv values[LABEL_CNT];
	unsigned last; /* 0: there are none */
};

static void add_nettrace_label(struct labels *labels, enum label kind, const uint8_t *id,
			       size_t bytes)
{
	for (size_t i = 0; id && i < bytes; i++) {
		if (!id[i])
			continue;
		labels->values[kind] = (struct tapir_sv){(const char *)id, bytes};
		labels->last = kind;
		return;
	}
}

static void put_labels(struct tapir_str *out, const struct labels *labels)
{
	for (unsigned kind = 1; kind <= labels->last; kind++) {
		struct tapir_sv value = labels->values[kind];

		if (!value.len)
			continue;
		tapir_nettrace__put_u8(out,
				       (uint8_t)(kind | (kind == labels->last ? LABEL_LAST : 0)));
		tapir_nettrace__put(out, value.data, value.len);
	}
}

/* The format has a span id as a number: the one whose hexadecimal digits W3C writes. */
static uint64_t span_number(const struct tapir_trace_ids *ids)
{
	uint64_t number;

	memcpy(&number, ids->span_id, sizeof(number));
	return be64toh(number);
}

uint32_t tapir_nettrace__label(struct tapir_nettrace *n, const struct tapir_event_view *view)
{
	uint64_t span = view->trace ? span_number(view->trace) : 0;
	struct labels labels = {};
	uint64_t key = 7, *id;
	bool is_new = false;

	add_nettrace_label(&labels, LABEL_ACTIVITY, view->activity_id, 16);
	add_nettrace_label(&labels, LABEL_RELATED, view->related_id, 16);
	if (view->trace) {
		add_nettrace_label(&labels, LABEL_TRACE, view->trace->trace_id,
				   sizeof(view->trace->trace_id));
		add_nettrace_label(&labels, LABEL_SPAN, (const uint8_t *)&span, sizeof(span));
	}
	if (!labels.last)
		return 0;
	/* A hash of 64 bits stands for the list: equal lists share an id. */
	for (unsigned kind = 1; kind < LABEL_CNT; kind++)
		if (labels.values[kind].len)
			key = tapir_hash__bytes(tapir_hash__mix(key, kind),
						labels.values[kind].data, labels.values[kind].len);
	id = tapir_map__put(&n->label_by_ids, key, &is_new);
	n->failed |= !id;
	if (!id || !is_new)
		return id ? (uint32_t)*id : 0;
	put_labels(&n->labels.bytes, &labels);
	*id = next_id(&n->labels);
	return (uint32_t)*id;
}
