/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * condition.h - "FIELD OP VALUE" of a trigger: parsed once, compared with decoded values. A parsed
 * condition is constant; any thread.
 */
#ifndef TAPIR_USER_CONDITION_H
#define TAPIR_USER_CONDITION_H

#include <stdbool.h>

#include "decode/fields.h"

enum tapir_comparison {
	TAPIR_IS,
	TAPIR_IS_NOT,
	TAPIR_ABOVE,
	TAPIR_AT_LEAST,
	TAPIR_BELOW,
	TAPIR_AT_MOST
};

struct tapir_condition {
	char *field; /* NULL: there is no condition */
	enum tapir_comparison op;
	char *text; /* what it is compared with */
	double number;
	bool is_number;
};

/* text: "FIELD OP VALUE", spaces around OP are optional. False: it is not one, or out of memory. */
bool tapir_condition__parse(const char *text, struct tapir_condition *out);
void tapir_condition__fini(struct tapir_condition *c);

/* Compares a decoded value, or a number. False also if the value is not of the condition's type. */
bool tapir_condition__holds(const struct tapir_condition *c, const struct tapir_value *value);
bool tapir_condition__holds_number(const struct tapir_condition *c, double value);

#endif
