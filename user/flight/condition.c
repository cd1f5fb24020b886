// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers compare as numbers, texts as globs; a text is neither above nor below anything. An event
 * without the field never holds.
 */
#include "flight/condition.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decode/event_fields.h"

#define MAX_TEXT_BYTES 4096 /* of a value that is compared */

static const struct {
	const char *text;
	enum tapir_comparison op;
} operators[] = {
	{">=", TAPIR_AT_LEAST}, {"<=", TAPIR_AT_MOST}, {"!=", TAPIR_IS_NOT}, {"==", TAPIR_IS},
	{">", TAPIR_ABOVE},	{"<", TAPIR_BELOW},    {"=", TAPIR_IS},
};

#define OPERATOR_CNT (sizeof(operators) / sizeof(operators[0]))

static char *trimmed(const char *text, size_t len)
{
	while (len && isspace((unsigned char)*text)) {
		text++;
		len--;
	}
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	return len ? strndup(text, len) : NULL;
}

bool tapir_condition__parse(const char *text, struct tapir_condition *out)
{
	size_t at = strcspn(text, "<>=!"), i = 0;
	struct tapir_condition c = {};
	const char *value;
	char *end;

	while (i < OPERATOR_CNT &&
	       strncmp(text + at, operators[i].text, strlen(operators[i].text)) != 0)
		i++;
	if (i == OPERATOR_CNT)
		return false;
	value = text + at + strlen(operators[i].text);
	c.field = trimmed(text, at);
	c.op = operators[i].op;
	c.text = trimmed(value, strlen(value));
	if (c.text) {
		c.number = strtod(c.text, &end);
		c.is_number = !*end && isfinite(c.number);
	}
	if (!c.field || !c.text || (!c.is_number && c.op != TAPIR_IS && c.op != TAPIR_IS_NOT)) {
		tapir_condition__fini(&c);
		return false;
	}
	*out = c;
	return true;
}

void tapir_condition__fini(struct tapir_condition *c)
{
	free(c->field);
	free(c->text);
	*c = (struct tapir_condition){};
}

bool tapir_condition__holds_number(const struct tapir_condition *c, double value)
{
	if (!c->is_number)
		return false;
	switch (c->op) {
	case TAPIR_IS:
		return value == c->number;
	case TAPIR_IS_NOT:
		return value != c->number;
	case TAPIR_ABOVE:
		return value > c->number;
	case TAPIR_AT_LEAST:
		return value >= c->number;
	case TAPIR_BELOW:
		return value < c->number;
	case TAPIR_AT_MOST:
		return value <= c->number;
	}
	return false;
}

static bool value_as_double(const struct tapir_value *v, double *out)
{
	if (v->bytes || v->type == TAPIR_VALUE_ARRAY || v->type == TAPIR_VALUE_DECIMAL)
		return false;
	if (v->type == TAPIR_FIELD_INT)
		*out = (double)v->i64;
	else if (v->type == TAPIR_FIELD_FLOAT)
		*out = v->f64;
	else
		*out = (double)v->u64;
	return true;
}

bool tapir_condition__holds(const struct tapir_condition *c, const struct tapir_value *value)
{
	struct tapir_str text = {};
	double number;
	bool is_equal;

	if (c->is_number && value_as_double(value, &number))
		return tapir_condition__holds_number(c, number);
	if (c->op != TAPIR_IS && c->op != TAPIR_IS_NOT)
		return false;
	tapir_event_fields__add_value(value, MAX_TEXT_BYTES, &text);
	is_equal = !fnmatch(c->text, text.data ? text.data : "", 0);
	tapir_str__fini(&text);
	return is_equal == (c->op == TAPIR_IS);
}
