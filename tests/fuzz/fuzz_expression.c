// SPDX-License-Identifier: GPL-2.0-or-later
/* Any text as an expression: parsed or refused with a line, bound and decided without harm. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "spec/expression.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A name's first letter tells what it is. */
static bool find(void *ctx, const char *name, size_t len, bool is_field,
		 struct tapir_question_operand *out)
{
	static const char classes[] = "xuift";
	const char *at = len ? memchr(classes, *name, sizeof(classes) - 1) : NULL;

	(void)ctx;
	(void)is_field;
	if (!at)
		return false;
	out->class = (uint8_t)(at - classes);
	out->unit_ns = len > 1 && name[1] == 'm' ? 1000000 : len > 1 && name[1] == 'n';
	out->wants_unit = len > 2;
	out->id = (uint32_t)(out->class + len * 8);
	return true;
}

static bool enumerator(void *ctx, const struct tapir_question_operand *of, const char *name,
		       size_t len, uint64_t *out)
{
	(void)ctx;
	(void)of;
	*out = 3;
	return len == 1 && *name == 'R';
}

static void list(void *ctx, struct tapir_str *out)
{
	(void)ctx;
	tapir_str__adds(out, "u, i, f, t");
}

static void use(const struct tapir_program *p, bool is_condition)
{
	static const char text[] = "/cart";
	struct tapir_question_slot slots[TAPIR_QUESTION_SLOTS] = {};
	uint64_t number;

	for (uint32_t state = 0; state <= TAPIR_STATE_ABSENT; state++) {
		for (unsigned i = 0; i < p->slot_cnt; i++) {
			bool is_text = p->slots[i].class == TAPIR_CLASS_TEXT;

			slots[i] = (struct tapir_question_slot){
				.number = is_text ? (uintptr_t)text : i * 0x9e3779b97f4a7c15ull,
				.state = is_text || state == TAPIR_STATE_ABSENT ? state : 0,
				.len = is_text ? sizeof(text) - 1 : 0};
		}
		if (is_condition)
			(void)tapir_program__decide(p, slots);
		else if (p->class != TAPIR_CLASS_TEXT)
			(void)tapir_program__number(p, slots, &number);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct tapir_scope scope = {"a:b", find, enumerator, list, NULL};
	struct tapir_expression *e = NULL;
	char *text = malloc(size + 1);
	struct tapir_program p;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	tapir_diag__clear();
	if (!tapir_expression__parse("--where", text, &e)) {
		if (!tapir_expression__condition(e, &scope, &p))
			use(&p, true);
		else if (!tapir_diag__cnt())
			abort(); /* refused without a word */
		tapir_diag__clear();
		if (!tapir_expression__value(e, &scope, &p))
			use(&p, false);
		else if (!tapir_diag__cnt())
			abort();
	} else if (!tapir_diag__cnt() || e) {
		abort();
	}
	tapir_expression__free(e);
	free(text);
	return 0;
}
