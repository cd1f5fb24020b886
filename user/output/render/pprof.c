// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * profile.proto of pprof. Names become functions, each with one location; nodes of the tree that
 * count become samples, and their parts in traces become samples with labels.
 */
#include "output/render/pprof.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/keyed.h"
#include "output/render/messages.h"
#include "pprof.pb-c.h"

/* The first texts of every profile. */
enum text {
	TEXT_EMPTY,
	TEXT_COUNTS,
	TEXT_COUNT,
	TEXT_CPU,
	TEXT_NANOSECONDS,
	TEXT_TRACE_ID,
	TEXT_SPAN_ID,
	TEXT_NAMES
};

#define LABELS 2 /* of a sample in a span */

struct builder {
	const struct tapir_stack_tree *tree;
	const struct tapir_pprof_spans *spans;
	const struct tapir_pprof_opts *opts;
	struct tapir_arena arena;
	Tapir__Pprof__Profile profile;
	Tapir__Pprof__ValueType types[2];
	size_t spans_text; /* in string_table: of the first span's ids */
};

/* ---- spans ----------------------------------------------------------------------------------- */

void tapir_pprof_spans__add(struct tapir_pprof_spans *spans, uint32_t node,
			    const struct tapir_trace_ids *ids)
{
	struct tapir_pprof_span *row;

	if (!ids)
		return;
	row = tapir_keyed__add(&spans->rows, tapir_hash__bytes(node, ids, sizeof(*ids)),
			       TAPIR_PPROF_MAX_SPANS,
			       ((struct tapir_pprof_span){.ids = *ids, .node = node}));
	if (row)
		row->cnt++;
}

void tapir_pprof_spans__fini(struct tapir_pprof_spans *spans)
{
	tapir_keyed__fini(&spans->rows);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static size_t count_lines(const char *lines)
{
	size_t cnt = 0;

	for (; lines && *lines; lines++)
		cnt += *lines == '\n';
	return cnt;
}

/* Behind the names. */
static int add_comments(struct builder *b, char **texts, size_t first)
{
	const char *line = b->opts->lines;
	size_t cnt = count_lines(line), len;
	int64_t *comments = tapir_arena__alloc(&b->arena, cnt ? cnt * sizeof(*comments) : 1);

	if (!comments)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++, line += len + 1) {
		len = strcspn(line, "\n");
		texts[first + i] = tapir_arena__text(&b->arena, line, len);
		if (!texts[first + i])
			return -ENOMEM;
		comments[i] = (int64_t)(first + i);
	}
	b->profile.comment = comments;
	b->profile.n_comment = cnt;
	return 0;
}

/* Behind the comments. */
static int add_ids(struct builder *b, char **texts)
{
	const struct tapir_pprof_span *span;
	char text[TAPIR_TRACE_ID_TEXT];
	size_t at = b->spans_text;

	tapir_vec_for_each (span, &b->spans->rows) {
		tapir_trace_id__text(&span->ids, text);
		texts[at++] = tapir_arena__text(&b->arena, text, strlen(text));
		tapir_span_id__text(&span->ids, text);
		texts[at++] = tapir_arena__text(&b->arena, text, strlen(text));
		if (!texts[at - 2] || !texts[at - 1])
			return -ENOMEM;
	}
	return 0;
}

/* The first text is empty, as the format requires; an index of 0 means that there is none. */
static int add_texts(struct builder *b)
{
	size_t names_end = TEXT_NAMES + b->tree->names.cnt;
	size_t cnt = names_end + count_lines(b->opts->lines) + LABELS * b->spans->rows.cnt;
	char **texts = tapir_arena__alloc(&b->arena, cnt * sizeof(*texts));

	if (!texts)
		return -ENOMEM;
	texts[TEXT_EMPTY] = (char *)"";
	texts[TEXT_COUNTS] = (char *)b->opts->counts;
	texts[TEXT_COUNT] = (char *)"count";
	texts[TEXT_CPU] = (char *)"cpu";
	texts[TEXT_NANOSECONDS] = (char *)"nanoseconds";
	texts[TEXT_TRACE_ID] = (char *)"trace_id";
	texts[TEXT_SPAN_ID] = (char *)"span_id";
	b->spans_text = cnt - LABELS * b->spans->rows.cnt;
	for (size_t i = 0; i < b->tree->names.cnt; i++) {
		const char *name = b->tree->names.data[i];

		texts[TEXT_NAMES + i] = tapir_messages__text(&b->arena, name, strlen(name));
		if (!texts[TEXT_NAMES + i])
			return -ENOMEM;
	}
	b->profile.string_table = texts;
	b->profile.n_string_table = cnt;
	return add_comments(b, texts, names_end) || add_ids(b, texts) ? -ENOMEM : 0;
}

static int add_pprof_functions(struct builder *b)
{
	size_t cnt = b->tree->names.cnt;
	void **functions, **locations, **lines;
	Tapir__Pprof__Function *f = tapir_messages__alloc(&b->arena, cnt, sizeof(*f), &functions);
	Tapir__Pprof__Location *l = tapir_messages__alloc(&b->arena, cnt, sizeof(*l), &locations);
	Tapir__Pprof__Line *line = tapir_messages__alloc(&b->arena, cnt, sizeof(*line), &lines);

	if (!f || !l || !line)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		tapir__pprof__function__init(&f[i]);
		tapir__pprof__location__init(&l[i]);
		tapir__pprof__line__init(&line[i]);
		f[i].id = l[i].id = line[i].function_id = i + 1;
		f[i].name = f[i].system_name = (int64_t)(TEXT_NAMES + i);
		l[i].line = (Tapir__Pprof__Line **)&lines[i];
		l[i].n_line = 1;
	}
	b->profile.function = (Tapir__Pprof__Function **)functions;
	b->profile.location = (Tapir__Pprof__Location **)locations;
	b->profile.n_function = b->profile.n_location = cnt;
	return 0;
}

/* value: how many of what the node counts. */
static int fill_sample(struct builder *b, uint32_t idx, uint64_t value, Tapir__Pprof__Sample *s)
{
	const struct tapir_tree_node *node = &b->tree->nodes.data[idx];
	size_t cnt = 0;

	tapir__pprof__sample__init(s);
	s->location_id = tapir_arena__alloc(&b->arena, (node->depth + 1) * sizeof(uint64_t));
	s->value = tapir_arena__alloc(&b->arena, 2 * sizeof(int64_t));
	if (!s->location_id || !s->value)
		return -ENOMEM;
	for (uint32_t at = idx; at != TAPIR_STACK_TREE_ROOT; at = b->tree->nodes.data[at].parent)
		s->location_id[cnt++] = b->tree->nodes.data[at].name + 1;
	s->n_location_id = cnt;
	s->value[0] = (int64_t)value;
	s->value[1] = (int64_t)(value * b->opts->period_ns);
	s->n_value = b->profile.n_sample_type;
	return 0;
}

static int label(struct builder *b, size_t span, Tapir__Pprof__Sample *s)
{
	void **labels;
	Tapir__Pprof__Label *l = tapir_messages__alloc(&b->arena, LABELS, sizeof(*l), &labels);

	if (!l)
		return -ENOMEM;
	for (unsigned i = 0; i < LABELS; i++) {
		tapir__pprof__label__init(&l[i]);
		l[i].key = TEXT_TRACE_ID + i;
		l[i].str = (int64_t)(b->spans_text + LABELS * span + i);
	}
	s->label = (Tapir__Pprof__Label **)labels;
	s->n_label = LABELS;
	return 0;
}

/* The counts of each node outside spans. */
static uint64_t *untied_of(struct builder *b)
{
	size_t cnt = b->tree->nodes.cnt;
	uint64_t *untied = tapir_arena__alloc(&b->arena, cnt ? cnt * sizeof(*untied) : 1);
	const struct tapir_pprof_span *span;

	for (size_t i = 0; untied && i < cnt; i++)
		untied[i] = tapir_stack_tree__self(b->tree, (uint32_t)i);
	if (untied)
		tapir_vec_for_each (span, &b->spans->rows)
			untied[span->node] -= span->cnt;
	return untied;
}

static int add_samples(struct builder *b)
{
	const uint64_t *untied = untied_of(b);
	size_t cnt = b->spans->rows.cnt, at = 0;
	Tapir__Pprof__Sample *s;
	void **samples;
	int err = 0;

	for (uint32_t i = 1; untied && i < b->tree->nodes.cnt; i++)
		cnt += untied[i] > 0;
	s = tapir_messages__alloc(&b->arena, cnt, sizeof(*s), &samples);
	if (!s || !untied)
		return -ENOMEM;
	for (uint32_t i = 1; !err && i < b->tree->nodes.cnt; i++)
		if (untied[i])
			err = fill_sample(b, i, untied[i], &s[at++]);
	for (size_t i = 0; !err && i < b->spans->rows.cnt; i++, at++) {
		const struct tapir_pprof_span *span = &b->spans->rows.data[i];

		err = fill_sample(b, span->node, span->cnt, &s[at]);
		if (!err)
			err = label(b, i, &s[at]);
	}
	b->profile.sample = (Tapir__Pprof__Sample **)samples;
	b->profile.n_sample = cnt;
	return err;
}

static void set_type(Tapir__Pprof__ValueType *type, enum text type_text, enum text unit)
{
	tapir__pprof__value_type__init(type);
	type->type = type_text;
	type->unit = unit;
}

static int add_types(struct builder *b)
{
	void **types = tapir_arena__alloc(&b->arena, 2 * sizeof(*types));

	if (!types)
		return -ENOMEM;
	types[0] = &b->types[0];
	types[1] = &b->types[1];
	set_type(&b->types[0], TEXT_COUNTS, TEXT_COUNT);
	set_type(&b->types[1], TEXT_CPU, TEXT_NANOSECONDS);
	b->profile.sample_type = (Tapir__Pprof__ValueType **)types;
	b->profile.n_sample_type = b->opts->period_ns ? 2 : 1;
	b->profile.time_nanos = (int64_t)b->opts->utc_ns;
	if (b->opts->period_ns) {
		b->profile.period_type = &b->types[1];
		b->profile.period = (int64_t)b->opts->period_ns;
	}
	return 0;
}

static int pack(const struct builder *b, struct tapir_str *out)
{
	struct tapir_str packed = {};
	int err = tapir_messages__pack(&b->profile.base, &packed);

	if (!err)
		err = tapir_messages__gzip(packed.data, packed.len, out);
	tapir_str__fini(&packed);
	return err;
}

int tapir_pprof__write(const struct tapir_stack_tree *tree, const struct tapir_pprof_spans *spans,
		       const struct tapir_pprof_opts *opts, struct tapir_str *out)
{
	struct builder b = {.tree = tree, .spans = spans, .opts = opts};
	int err;

	tapir__pprof__profile__init(&b.profile);
	err = add_texts(&b);
	if (!err)
		err = add_pprof_functions(&b);
	if (!err)
		err = add_types(&b);
	if (!err)
		err = add_samples(&b);
	if (!err)
		err = pack(&b, out);
	tapir_arena__fini(&b.arena);
	return err;
}
