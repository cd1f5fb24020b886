// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The slots of a program are those of the expression; the kernel's are the probe's arguments, by
 * their place.
 */
#include "decode/kernel_condition.h"

const char *tapir_kernel_condition__refuse_lane(const struct tapir_hit_end *end)
{
	const struct tapir_rec_probe *probe = end->probe.rec;

	if (probe->lane != TAPIR_LANE_PROBE)
		return "its process sends the events itself, without a probe";
	return probe->encoding != TAPIR_ENCODING_SLOTS || end->fields->cnt != probe->field_cnt ||
			       probe->probe_id > UINT16_MAX
		       ? "its events are not those of a probe"
		       : NULL;
}

bool tapir_kernel_condition__slot(const struct tapir_hit *hit, const struct tapir_hit_names *names,
				  const struct tapir_question_operand *operand, uint32_t *out)
{
	const struct tapir_value *v;

	if (tapir_hit__is_took(operand)) {
		*out = TAPIR_HIT_TOOK;
		return true;
	}
	v = tapir_hit__value(hit, names, operand);
	if (!v || (v->type != TAPIR_FIELD_INT && v->type != TAPIR_FIELD_UINT &&
		   v->type != TAPIR_FIELD_PTR))
		return false;
	*out = (uint32_t)(v - hit->begin.fields->values);
	return *out < TAPIR_QUESTION_SLOTS;
}

bool tapir_kernel_condition__make(const struct tapir_hit *hit, const struct tapir_hit_names *names,
				  const struct tapir_program *p, struct tapir_hit_question *out)
{
	if (p->step_cnt)
		return false;
	for (unsigned i = 0; i < p->term_cnt; i++) {
		struct tapir_question_term *t = &out->terms[i];

		*t = p->terms[i];
		if (t->source != TAPIR_TERM_SLOT || t->compare > TAPIR_COMPARE_ANY_BIT ||
		    !tapir_kernel_condition__slot(hit, names, &p->slots[t->which], &t->which))
			return false;
		out->needs_slots |= t->which != TAPIR_HIT_TOOK;
	}
	out->term_cnt = p->term_cnt;
	return p->term_cnt > 0;
}
