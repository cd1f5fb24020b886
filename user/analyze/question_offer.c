// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Only numbers that the kernel has as they are: a probe's arguments, and who ran where. Programs of
 * the kernel have two paths of equal meaning for each hit, so that what is left out here costs time
 * and nothing else.
 */
#include "analyze/question_offer.h"

#include <string.h>

#include "decode/kernel_condition.h"

/* Finds the probe's argument that a slot stands for: it must be a number, as the kernel has it. */
static bool find_argument(const struct tapir_offer *o, const struct tapir_question_operand *slot,
			  uint32_t *out)
{
	return tapir_kernel_condition__slot(o->hit, o->names, slot, out) && *out != TAPIR_HIT_TOOK;
}

/* ---- the condition --------------------------------------------------------------------------- */

static bool make_condition(const struct tapir_offer *o, struct tapir_hit_question *out,
			   const char **reason)
{
	*reason = "--where needs more than numbers of the event";
	return tapir_kernel_condition__make(o->hit, o->names, &o->programs[0], out);
}

/* ---- adding up ------------------------------------------------------------------------------- */

/* A row has the values of all probes: they are all signed, or none is. */
static bool make_value(const struct tapir_offer *o, unsigned idx, const struct tapir_program *p,
		       struct tapir_hit_question *out, const char **reason)
{
	uint8_t sign = p->class == TAPIR_CLASS_INT ? TAPIR_SIGN_SOME : TAPIR_SIGN_NONE;
	uint8_t *known = &o->question->columns[idx].sign;
	struct tapir_hit_value *value = &out->values[o->question->columns[idx].sum_idx];
	uint32_t slot;

	*reason = o->question->fold.columns[idx].scale == TAPIR_FOLD_LINEAR ? "--lhist"
		  : p->is_register					    ? "arithmetic"
				   : "a value is no number of the event";
	if (o->question->fold.columns[idx].scale == TAPIR_FOLD_LINEAR || p->is_register ||
	    !tapir_kernel_condition__slot(o->hit, o->names, &p->slots[p->which], &slot))
		return false;
	*reason = "a value is signed in some of the events";
	if (*known && *known != sign)
		return false;
	*known = sign;
	value->slot = (uint8_t)slot;
	value->is_signed = sign == TAPIR_SIGN_SOME;
	value->has_steps |= o->question->fold.columns[idx].scale == TAPIR_FOLD_LOG;
	out->value_slots |= 1ull << slot;
	out->needs_slots |= slot != TAPIR_HIT_TOOK;
	return true;
}

/*
 * A text that an argument points to. Those of the machine's sources are elsewhere in the kernel,
 * and of the names of C++ types something else is shown.
 */
static bool make_text_key(const struct tapir_offer *o, const struct tapir_question_operand *operand,
			  struct tapir_hit_key *key, struct tapir_hit_question *out)
{
	const struct tapir_event_fields *fields = o->hit->begin.fields;
	const struct tapir_value *v = tapir_hit__value(o->hit, o->names, operand);
	uint32_t max = operand->max_bytes ? operand->max_bytes : TAPIR_QUESTION_KEY_TEXT;

	if (!v || v->type != TAPIR_FIELD_STR || v->size == TAPIR_STR_CXX_TYPE ||
	    max > TAPIR_SUMS_TEXT || !o->hit->begin.probe.file.len ||
	    v - fields->values >= TAPIR_MAX_ARGS)
		return false;
	key->source = TAPIR_HIT_TEXT;
	key->slot = (uint8_t)(v - fields->values);
	key->max_bytes = (uint8_t)max;
	out->needs_slots = 1;
	return true;
}

uint8_t tapir_offer__stack_part(const struct tapir_question_key *key)
{
	return key->kind == TAPIR_KEY_STACK  ? TAPIR_SUMS_STACK
	       : key->kind == TAPIR_KEY_USER ? TAPIR_SUMS_STACK_USER
					     : TAPIR_SUMS_STACK_KERNEL;
}

static bool make_key(const struct tapir_offer *o, unsigned idx, const struct tapir_program *p,
		     struct tapir_hit_question *out, const char **reason)
{
	struct tapir_hit_key *key = &out->keys[idx];
	const struct tapir_question_operand *operand = &p->slots[p->which];
	uint32_t slot;

	if (o->question->keys[idx].kind != TAPIR_KEY_VALUE) {
		key->source = TAPIR_HIT_STACK;
		key->slot = tapir_offer__stack_part(&o->question->keys[idx]);
		out->needs_slots = out->needs_stack = 1;
		return true;
	}
	/* *reason is set before each step that may fail, and read only if one did. */
	*reason = p->is_register ? "arithmetic"
				 : "a key is neither a number nor a short text of the event";
	if (p->is_register)
		return false;
	if (tapir_hit__is_in_kernel(operand, key)) {
		/* The row holds a number, and the probe's id by which its name is found later. */
		if (key->source == TAPIR_HIT_CONSTANT)
			out->namer = (uint16_t)o->hit->begin.probe.rec->probe_id;
		return true;
	}
	if (p->class == TAPIR_CLASS_TEXT)
		return make_text_key(o, operand, key, out);
	if (!find_argument(o, operand, &slot))
		return false;
	key->slot = (uint8_t)slot;
	key->is_signed = p->class == TAPIR_CLASS_INT;
	out->needs_slots = 1;
	if (tapir_hit__has_value_names(o->hit, o->names, operand))
		out->namer = (uint16_t)o->hit->begin.probe.rec->probe_id;
	return true;
}

static bool make_sums(const struct tapir_offer *o, struct tapir_hit_question *out,
		      const char **reason)
{
	const struct tapir_program *p = &o->programs[1];

	if (!o->question->is_table)
		return false;
	for (unsigned i = 0; i < o->question->fold.column_cnt; i++, p++)
		if (!make_value(o, i, p, out, reason))
			return false;
	for (unsigned i = 0; i < o->question->fold.key_cnt; i++, p++)
		if (!make_key(o, i, p, out, reason))
			return false;
	return true;
}

bool tapir_offer__make(const struct tapir_offer *offer, struct tapir_hit_question *out,
		       const char **reason)
{
	*out = (struct tapir_hit_question){};
	*reason = tapir_kernel_condition__refuse_lane(&offer->hit->begin);
	if (*reason)
		return false;
	if (offer->has_condition && !make_condition(offer, out, reason))
		return false;
	out->adds_up = make_sums(offer, out, reason);
	return out->adds_up || offer->has_condition;
}

/* ---- intervals ------------------------------------------------------------------------------- */

static bool find_key(const struct tapir_hit_end *end, const char *key, uint8_t *out)
{
	const struct tapir_value *v = tapir_event_fields__named(end->fields, key, strlen(key));

	if (!v || (v->type != TAPIR_FIELD_INT && v->type != TAPIR_FIELD_UINT &&
		   v->type != TAPIR_FIELD_PTR))
		return false;
	*out = (uint8_t)(v - end->fields->values);
	return *out < TAPIR_MAX_ARGS;
}

/* Makes an end find its begin as the timeline does. Returns why the kernel cannot, or NULL. */
static const char *make_scope(const struct tapir_hit *hit, const struct tapir_interval_kind *kind,
			      struct tapir_hit_question out[2])
{
	if (kind->nesting == TAPIR_NESTS_AS_ONE)
		return "of intervals in each other one counts";
	if (kind->scope == TAPIR_PAIR_THREAD && !kind->key) {
		out[0].scope = out[1].scope = kind->nesting == TAPIR_NESTS_IN_NONE
						      ? TAPIR_HIT_OF_LAST
						      : TAPIR_HIT_OF_THREAD;
		return NULL;
	}
	if (kind->scope != TAPIR_PAIR_KEY || !kind->key)
		return "its intervals are neither of a thread nor of a key";
	if (!find_key(&hit->begin, kind->key, &out[0].key_slot) ||
	    !find_key(hit->end, kind->key, &out[1].key_slot))
		return "its key is no number of the events";
	out[0].scope = out[1].scope = TAPIR_HIT_OF_KEY;
	out[0].needs_slots = out[1].needs_slots = 1;
	return NULL;
}

bool tapir_offer__make_pair(const struct tapir_offer *o, const struct tapir_interval_kind *kind,
			    struct tapir_hit_question out[2], const char **reason)
{
	struct tapir_hit_question both = {};

	*reason = tapir_kernel_condition__refuse_lane(&o->hit->begin);
	if (!*reason)
		*reason = tapir_kernel_condition__refuse_lane(o->hit->end);
	if (!*reason && (!o->hit->begin.probe.file.len || !o->hit->end->probe.file.len))
		*reason = "its events are not those of programs";
	if (*reason || (o->has_condition && !make_condition(o, &both, reason)) ||
	    !make_sums(o, &both, reason))
		return false;
	*reason = both.needs_stack ? "a key is the stack of an interval"
		  : both.namer	   ? "a key is the name of a number or event"
				   : NULL;
	out[0] = out[1] = (struct tapir_hit_question){.adds_up = 1};
	if (!*reason)
		*reason = make_scope(o->hit, kind, out);
	if (*reason)
		return false;
	/*
	 * The begin makes the key, because its arguments are gone at the end; the end, which has
	 * the duration, decides and adds up.
	 */
	out[0].role = TAPIR_HIT_BEGIN;
	out[0].needs_slots |= both.needs_slots;
	memcpy(out[0].keys, both.keys, sizeof(both.keys));
	out[1].role = TAPIR_HIT_END;
	out[1].term_cnt = both.term_cnt;
	out[1].value_slots = both.value_slots;
	memcpy(out[1].terms, both.terms, sizeof(both.terms));
	memcpy(out[1].values, both.values, sizeof(both.values));
	return true;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static __int128 whole_of(uint64_t biased, bool is_signed)
{
	return is_signed ? (__int128)(int64_t)(biased ^ 1ull << 63) : (__int128)biased;
}

/* A range: nothing as long as both are 0, which no value makes. */
struct range {
	uint64_t max, least;
};

static void widen_range(struct range *r, uint64_t max, uint64_t least)
{
	r->max = max > r->max ? max : r->max;
	r->least = least > r->least ? least : r->least;
}

/* False: the row has no values of that interval. */
static bool widen_by_interval(const struct tapir_sums_row *row, unsigned idx, uint64_t interval,
			      struct range *r)
{
	const struct tapir_sums_column *c = &row->columns[idx];
	uint32_t slot = interval & 1;

	if (row->intervals[slot] != 2 * interval || (!c->max[slot] && !c->least[slot]))
		return false;
	widen_range(r, c->max[slot], c->least[slot]);
	return true;
}

/* Reads a column of all CPUs. Hits of the next interval may have been counted in this one. */
static void read_column(const struct tapir_sums_row *rows, size_t stride, unsigned cpu_cnt,
			uint64_t interval, const struct tapir_question_column *column,
			struct tapir_fold_counted_column *out)
{
	bool is_signed = column->sign == TAPIR_SIGN_SOME;
	unsigned idx = column->sum_idx;
	struct range ever = {}, now = {}, late = {}, *r = &now;

	for (unsigned cpu = 0; cpu < cpu_cnt; cpu++) {
		const struct tapir_sums_row *row =
			(const void *)((const uint8_t *)rows + cpu * stride);
		const struct tapir_sums_column *c = &row->columns[idx];

		out->sum += ((__int128)(int64_t)c->high << 32) + c->low;
		out->below += c->below;
		out->unbinned += c->unbinned;
		widen_range(&ever, c->max_ever, c->least_ever);
		if (!widen_by_interval(row, idx, interval, &now))
			widen_by_interval(row, idx, interval + 1, &now);
		widen_by_interval(row, idx, interval - 1, &late);
	}
	out->is_late = !now.max && !now.least;
	if (out->is_late)
		r = &late;
	out->has_range = r->max || r->least;
	out->least = whole_of(~r->least, is_signed);
	out->max = whole_of(r->max, is_signed);
	out->least_ever = whole_of(~ever.least, is_signed);
	out->max_ever = whole_of(ever.max, is_signed);
}

void tapir_offer__read_row(const struct tapir_question *q, const struct tapir_sums_row *rows,
			   size_t stride, unsigned cpu_cnt, uint64_t interval,
			   struct tapir_fold_counted *out)
{
	*out = (struct tapir_fold_counted){};
	for (unsigned cpu = 0; cpu < cpu_cnt; cpu++)
		out->cnt += ((const struct tapir_sums_row *)(const void *)((const uint8_t *)rows +
									   cpu * stride))
				    ->cnt;
	for (unsigned i = 0; i < q->fold.column_cnt; i++)
		read_column(rows, stride, cpu_cnt, interval, &q->columns[i], &out->columns[i]);
}
