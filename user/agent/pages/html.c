// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Escaped text, and JSON members as cells. The few conversions of printf that pages need are done
 * here, because %s must escape: a page with one plain printf would be a hole.
 */
#include "agent/pages/html.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "output/render/human_units.h"

static void add_html_text(struct tapir_str *out, const char *text)
{
	if (text)
		tapir_str__add_markup(out, text, strlen(text));
}

/* One conversion, at format; returns what follows it. */
static const char *convert(struct tapir_str *out, const char *format, va_list *args)
{
	int decimals = 0;

	if (!strncmp(format, "%llu", 4)) {
		tapir_str__addf(out, "%llu", va_arg(*args, unsigned long long));
		return format + 4;
	}
	switch (format[1]) {
	case 's':
		add_html_text(out, va_arg(*args, const char *));
		return format + 2;
	case 'u':
		tapir_str__addf(out, "%u", va_arg(*args, unsigned));
		return format + 2;
	case '%':
		tapir_str__addc(out, '%');
		return format + 2;
	default:
		assert(format[1] == '.' && format[3] == 'f');
		decimals = format[2] - '0';
		tapir_str__addf(out, "%.*f", decimals, va_arg(*args, double));
		return format + 4;
	}
}

void tapir_html__add(struct tapir_str *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	while (*format) {
		size_t len = strcspn(format, "%");

		tapir_str__add(out, format, len);
		format += len;
		if (*format)
			format = convert(out, format, &args);
	}
	va_end(args);
}

/* ---- members -------------------------------------------------------------------------------- */

const char *tapir_member__text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

uint64_t tapir_member__u64(const json_t *object, const char *key)
{
	double value = json_number_value(json_object_get(object, key));

	if (json_is_integer(json_object_get(object, key)))
		return value > 0 ? (uint64_t)json_integer_value(json_object_get(object, key)) : 0;
	return value >= 0x1p64 ? UINT64_MAX : value > 0 ? (uint64_t)value : 0;
}

double tapir_member__f64(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

bool tapir_member__is_true(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

bool tapir_member__is(const json_t *object, const char *key, const char *text)
{
	return !strcmp(tapir_member__text(object, key), text);
}

void tapir_html__add_utc(struct tapir_str *out, const json_t *object, const char *key)
{
	const char *text = tapir_member__text(object, key), *t = strchr(text, 'T');
	size_t len = strlen(text);

	tapir_str__add_markup(out, text, t ? (size_t)(t - text) : len);
	if (!t)
		return;
	tapir_str__addc(out, ' ');
	len -= (size_t)(t + 1 - text);
	tapir_str__add_markup(out, t + 1, len && t[len] == 'Z' ? len - 1 : len);
}

void tapir_html__add_times(struct tapir_str *out, const json_t *object, const char *key)
{
	uint64_t times = tapir_member__u64(object, key);

	if (times == 1)
		tapir_str__adds(out, "once");
	else
		tapir_human__add_count(out, times);
	if (times != 1)
		tapir_str__adds(out, " times");
}

/* ---- tables --------------------------------------------------------------------------------- */

void tapir_html__begin_table(struct tapir_str *out, const char *id, const char *titles)
{
	tapir_str__adds(out, "<div class=\"wide\"><table");
	if (id)
		tapir_html__add(out, " id=\"%s\"", id);
	tapir_str__adds(out, ">\n<thead><tr>");
	for (const char *title = titles; *title;) {
		bool is_number = *title == '>', is_hidden = *title == '-';
		size_t len;

		title += is_number || is_hidden;
		len = strcspn(title, "|");
		tapir_str__adds(out, is_number	 ? "<th class=\"n\">"
				     : is_hidden ? "<th><span class=\"hidden\">"
						 : "<th>");
		tapir_str__add(out, title, len);
		tapir_str__adds(out, is_hidden ? "</span></th>" : "</th>");
		title += len + (title[len] == '|');
	}
	tapir_str__adds(out, "</tr></thead>\n<tbody>\n");
}

void tapir_html__end_table(struct tapir_str *out)
{
	tapir_str__adds(out, "</tbody></table></div>\n");
}

/* ---- cells ---------------------------------------------------------------------------------- */

static void add_html_number(struct tapir_str *out, double value)
{
	if (value >= 1e15 || value <= -1e15 || (value < 0.01 && value > -0.01 && value != 0))
		tapir_str__addf(out, "%.3g", value);
	else if (value >= 1000)
		tapir_human__add_count(out, (uint64_t)(value + 0.5));
	else if (value == (double)(int64_t)value)
		tapir_str__addf(out, "%lld", (long long)value);
	else
		tapir_str__addf(out, "%.2f", value);
}

void tapir_html__cell(struct tapir_str *out, const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (json_is_number(value)) {
		tapir_str__adds(out, "<td class=\"n\">");
		add_html_number(out, json_number_value(value));
		tapir_str__adds(out, "</td>");
	} else {
		tapir_html__add(out, "<td class=\"t\">%s</td>", json_string_value(value));
	}
}

static void cell(struct tapir_str *out, const json_t *object, const char *key,
		 void (*add)(struct tapir_str *out, uint64_t value))
{
	tapir_str__adds(out, "<td class=\"n\">");
	if (json_is_number(json_object_get(object, key)))
		add(out, tapir_member__u64(object, key));
	tapir_str__adds(out, "</td>");
}

void tapir_html__cell_count(struct tapir_str *out, const json_t *object, const char *key)
{
	cell(out, object, key, tapir_human__add_count);
}

void tapir_html__cell_ns(struct tapir_str *out, const json_t *object, const char *key)
{
	cell(out, object, key, tapir_human__add_duration);
}

void tapir_html__cell_bytes(struct tapir_str *out, const json_t *object, const char *key)
{
	cell(out, object, key, tapir_human__add_bytes);
}
