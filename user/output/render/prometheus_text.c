// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A line at a time: "# HELP NAME TEXT", "# TYPE NAME TYPE", NAME{KEY="VALUE",...} NUMBER. The text
 * is tapir's own or that of another exporter, so a line that cannot be read is skipped, and texts
 * that are not UTF-8 are escaped.
 */
#include "output/render/prometheus_text.h"

#include <string.h>

#include "base/map.h"
#include "output/render/messages.h"

#define MAX_NUMBER 64

void tapir_metric_list__fini(struct tapir_metric_list *f)
{
	tapir_vec__fini(&f->families);
	tapir_vec__fini(&f->all);
	tapir_arena__fini(&f->arena);
}

static bool is_utf8(const char *text, size_t len)
{
	for (size_t at = 0, step; at < len; at += step) {
		step = tapir_utf8__len((const unsigned char *)text + at, len - at);
		if (!step)
			return false;
	}
	return true;
}

/* Keeps the text; one that is not UTF-8, which messages require, is replaced by an escaped form. */
static const char *keep_text(struct tapir_metric_list *f, const char *text, size_t len)
{
	const char *copy = is_utf8(text, len) ? tapir_arena__text(&f->arena, text, len)
					      : tapir_messages__text(&f->arena, text, len);

	f->failed |= !copy;
	return copy ? copy : "";
}

static size_t name_len(const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:");
}

/* The newest, if it has this name; else another one. */
static struct tapir_figure_family *family_of(struct tapir_metric_list *f, const char *name,
					     size_t len)
{
	struct tapir_figure_family *last =
		f->families.cnt ? &f->families.data[f->families.cnt - 1] : NULL;

	if (last && strlen(last->name) == len && !memcmp(last->name, name, len))
		return last;
	name = keep_text(f, name, len);
	last = tapir_vec__add(&f->families);
	f->failed |= !last;
	if (last)
		*last = (struct tapir_figure_family){.name = name, .help = "", .first = f->all.cnt};
	return last;
}

static bool take_comment(struct tapir_metric_list *f, const char *line, const char *end)
{
	bool is_help = !strncmp(line, "# HELP ", 7), is_type = !strncmp(line, "# TYPE ", 7);
	struct tapir_figure_family *family;
	size_t len;

	if (!is_help && !is_type)
		return true; /* any other is allowed, and says nothing */
	line += 7;
	len = name_len(line);
	if (!len || line[len] != ' ')
		return false;
	family = family_of(f, line, len);
	line += len + 1;
	if (!family)
		return false;
	if (is_help)
		family->help = keep_text(f, line, (size_t)(end - line));
	family->is_counter |= is_type && !strncmp(line, "counter", 7);
	family->is_histogram |= is_type && !strncmp(line, "histogram", 9);
	return true;
}

/* Reads a quoted value; *at moves behind it. NULL: the quotes do not end. */
static const char *take_value(struct tapir_metric_list *f, const char **at, const char *end)
{
	struct tapir_str value = {};
	const char *p = *at, *copy;

	for (; p < end && *p != '"'; p++) {
		bool is_escaped = *p == '\\' && p + 1 < end;

		p += is_escaped;
		tapir_str__addc(&value, is_escaped && *p == 'n' ? '\n' : *p);
	}
	*at = p + 1;
	copy = p < end ? keep_text(f, value.data ? value.data : "", value.len) : NULL;
	f->failed |= value.failed;
	tapir_str__fini(&value);
	return copy;
}

static bool to_number(const char *text, size_t len, double *out)
{
	char copy[MAX_NUMBER], *rest;

	if (!len || len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	*out = strtod(copy, &rest);
	return rest != copy && !*rest;
}

static bool add_prometheus_label(struct tapir_metric_list *f, struct tapir_figure *figure,
				 const struct tapir_figure_label *label)
{
	if (!strcmp(label->key, "le") && figure->part == TAPIR_FIGURE_BUCKET)
		return to_number(label->value, strlen(label->value), &figure->bound);
	if (!figure->labels)
		figure->labels = tapir_arena__alloc(&f->arena, TAPIR_FIGURE_MAX_LABELS *
								       sizeof(*figure->labels));
	f->failed |= !figure->labels;
	if (!figure->labels || figure->label_cnt == TAPIR_FIGURE_MAX_LABELS)
		return false;
	figure->labels[figure->label_cnt++] = *label;
	figure->key =
		tapir_hash__bytes(tapir_hash__mix(figure->key, 1), label->key, strlen(label->key));
	figure->key = tapir_hash__bytes(tapir_hash__mix(figure->key, 2), label->value,
					strlen(label->value));
	return true;
}

/* *at: behind '{', then behind '}'. */
static bool take_labels(struct tapir_metric_list *f, struct tapir_figure *figure, const char **at,
			const char *end)
{
	while (*at < end && **at != '}') {
		struct tapir_figure_label label;
		size_t len = name_len(*at);

		if (!len || *at + len + 2 > end || (*at)[len] != '=' || (*at)[len + 1] != '"')
			return false;
		label.key = keep_text(f, *at, len);
		*at += len + 2;
		label.value = take_value(f, at, end);
		if (!label.value || !add_prometheus_label(f, figure, &label))
			return false;
		*at += *at < end && **at == ',';
	}
	return *at < end && *(*at)++ == '}';
}

/* "NAME_sum" is a part of the histogram NAME, if that is the current family. */
static enum tapir_figure_part part_of(const struct tapir_metric_list *f, const char *name,
				      size_t *len)
{
	static const char *const ends[] = {"", "_bucket", "_sum", "_count"};
	const struct tapir_figure_family *last =
		f->families.cnt ? &f->families.data[f->families.cnt - 1] : NULL;
	size_t of = last && last->is_histogram ? strlen(last->name) : 0;

	for (unsigned i = 1; of && i < 4; i++) {
		if (*len != of + strlen(ends[i]) || memcmp(name, last->name, of) != 0 ||
		    memcmp(name + of, ends[i], strlen(ends[i])) != 0)
			continue;
		*len = of;
		return (enum tapir_figure_part)i;
	}
	return TAPIR_FIGURE_VALUE;
}

static bool take_figure(struct tapir_metric_list *f, const char *line, const char *end)
{
	size_t len = name_len(line);
	const char *at = line + len;
	struct tapir_figure_family *family;
	struct tapir_figure figure = {};

	if (!len || at >= end)
		return false;
	figure.part = part_of(f, line, &len);
	if (*at == '{') {
		at++;
		if (!take_labels(f, &figure, &at, end))
			return false;
	}
	if (at >= end || *at != ' ' || !to_number(at + 1, (size_t)(end - at - 1), &figure.value))
		return false;
	family = family_of(f, line, len);
	if (!family || (family->is_histogram && figure.part == TAPIR_FIGURE_VALUE))
		return false;
	family->cnt++;
	f->failed |= !tapir_vec__push(&f->all, figure);
	return true;
}

void tapir_metric_list__parse(struct tapir_metric_list *f, const char *text)
{
	for (const char *line = text, *end; *line && !f->failed; line = end + (*end != '\0')) {
		end = line + strcspn(line, "\n");
		if (end == line)
			continue;
		if (!(*line == '#' ? take_comment(f, line, end) : take_figure(f, line, end)))
			f->malformed_cnt++;
	}
}
