/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_condition.h - which conditions over the events of a probe the kernel can decide
 * (bpf/question.bpf.h): those that compare numbers of the event, as a probe's arguments are, with
 * numbers. Pure.
 */
#ifndef TAPIR_USER_KERNEL_CONDITION_H
#define TAPIR_USER_KERNEL_CONDITION_H

#include "decode/question_hit.h"

/* Returns why events of this probe reach tapir without a program of the kernel, or NULL. */
const char *tapir_kernel_condition__refuse_lane(const struct tapir_hit_end *end);

/*
 * Finds where the kernel has the number: an argument of the hit's event, or TAPIR_HIT_TOOK, how
 * long an interval took. False: nowhere.
 */
bool tapir_kernel_condition__slot(const struct tapir_hit *hit, const struct tapir_hit_names *names,
				  const struct tapir_question_operand *operand, uint32_t *out);

/* Fills the condition of out by that of p. False: the kernel cannot decide it. */
bool tapir_kernel_condition__make(const struct tapir_hit *hit, const struct tapir_hit_names *names,
				  const struct tapir_program *p, struct tapir_hit_question *out);

#endif
