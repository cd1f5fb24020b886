// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables of an OTLP profile: names, functions, locations, stacks, which rows refer to by index.
 * Only what rows that are written use has a place; each function has one location.
 */
#include "output/render/otlp_dictionary.h"

#include <errno.h>
#include <string.h>

#include "output/render/messages.h"

struct builder {
	struct tapir_otlp_dictionary *d;
	struct tapir_arena *arena;
	const struct tapir_otlp_samples *samples;
	const struct tapir_stack_tree *tree;
	int32_t *name_idx; /* of a name, in the tables of functions and locations; 0: not used */
	int32_t *stack_of; /* of a node; 0: not used */
	uint32_t *node_of; /* of a stack */
	size_t name_cnt, stack_cnt; /* with the empty ones */
};

/* The node and the names from it to the root get places, unless they have them. */
static void take_node(struct builder *b, uint32_t node)
{
	if (node == TAPIR_OTLP_NO_NODE || b->stack_of[node])
		return;
	b->node_of[b->stack_cnt] = node;
	b->stack_of[node] = (int32_t)b->stack_cnt++;
	for (; node != TAPIR_STACK_TREE_ROOT; node = b->tree->nodes.data[node].parent) {
		uint32_t name = b->tree->nodes.data[node].name;

		if (!b->name_idx[name])
			b->name_idx[name] = (int32_t)b->name_cnt++;
	}
}

static int take_rows(struct builder *b, bool (*is_wanted)(const struct tapir_otlp_samples *samples,
							  enum tapir_otlp_kind kind))
{
	size_t nodes = b->tree->nodes.cnt + 1, rows = b->samples->rows.cnt;

	b->name_cnt = b->stack_cnt = 1;
	b->name_idx = tapir_arena__alloc(b->arena, (b->tree->names.cnt + 1) * sizeof(int32_t));
	b->stack_of = tapir_arena__alloc(b->arena, nodes * sizeof(int32_t));
	b->node_of = tapir_arena__alloc(b->arena, (nodes + 1) * sizeof(uint32_t));
	b->d->stack_idx = tapir_arena__alloc(b->arena, (rows + 1) * sizeof(int32_t));
	if (!b->name_idx || !b->stack_of || !b->node_of || !b->d->stack_idx)
		return -ENOMEM;
	for (size_t i = 0; i < rows; i++) {
		const struct tapir_otlp_row *row = &b->samples->rows.data[i];

		if (!is_wanted(b->samples, row->kind))
			continue;
		take_node(b, row->node);
		if (row->node != TAPIR_OTLP_NO_NODE)
			b->d->stack_idx[i] = b->stack_of[row->node];
	}
	return 0;
}

/* The text of function i is at TAPIR_OTLP_TEXT_NAMES + i - 1. */
static int add_texts(struct builder *b, const char *cpu)
{
	size_t cnt = TAPIR_OTLP_TEXT_NAMES + b->name_cnt - 1;
	char **texts = tapir_arena__alloc(b->arena, cnt * sizeof(*texts));

	if (!texts)
		return -ENOMEM;
	/* Each table of the dictionary begins with the entry that means "none" (profiles.proto). */
	texts[TAPIR_OTLP_TEXT_NONE] = (char *)"";
	texts[TAPIR_OTLP_TEXT_CPU] = tapir_messages__text(b->arena, cpu, strlen(cpu));
	texts[TAPIR_OTLP_TEXT_OFFCPU] = (char *)"off_cpu";
	texts[TAPIR_OTLP_TEXT_EVENTS] = (char *)"events";
	texts[TAPIR_OTLP_TEXT_SAMPLES] = (char *)"samples";
	texts[TAPIR_OTLP_TEXT_FINDING] = (char *)"tapir.finding";
	texts[TAPIR_OTLP_TEXT_NANOSECONDS] = (char *)"nanoseconds";
	texts[TAPIR_OTLP_TEXT_COUNT] = (char *)"count";
	for (size_t i = 0; i < b->tree->names.cnt; i++) {
		const char *name = b->tree->names.data[i];

		if (b->name_idx[i])
			texts[TAPIR_OTLP_TEXT_NAMES + b->name_idx[i] - 1] =
				tapir_messages__text(b->arena, name, strlen(name));
	}
	for (size_t i = 0; i < cnt; i++)
		if (!texts[i])
			return -ENOMEM;
	b->d->message.string_table = texts;
	b->d->message.n_string_table = cnt;
	return 0;
}

/*
 * The entry 0 of each table is empty: an index of 0 means that there is none (OpenTelemetry
 * profiles).
 */
static int add_otlp_functions(struct builder *b)
{
	size_t cnt = b->name_cnt;
	void **functions, **locations, **lines;
	Tapir__Otlp__Function *f = tapir_messages__alloc(b->arena, cnt, sizeof(*f), &functions);
	Tapir__Otlp__Location *l = tapir_messages__alloc(b->arena, cnt, sizeof(*l), &locations);
	Tapir__Otlp__Line *line = tapir_messages__alloc(b->arena, cnt, sizeof(*line), &lines);

	if (!f || !l || !line)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		tapir__otlp__function__init(&f[i]);
		tapir__otlp__location__init(&l[i]);
		tapir__otlp__line__init(&line[i]);
		if (!i)
			continue;
		f[i].name_strindex = (int32_t)(TAPIR_OTLP_TEXT_NAMES + i - 1);
		line[i].function_index = (int32_t)i;
		l[i].lines = (Tapir__Otlp__Line **)&lines[i];
		l[i].n_lines = 1;
	}
	b->d->message.function_table = (Tapir__Otlp__Function **)functions;
	b->d->message.location_table = (Tapir__Otlp__Location **)locations;
	b->d->message.n_function_table = b->d->message.n_location_table = cnt;
	return 0;
}

static int add_stacks(struct builder *b)
{
	void **stacks;
	Tapir__Otlp__Stack *s = tapir_messages__alloc(b->arena, b->stack_cnt, sizeof(*s), &stacks);

	if (!s)
		return -ENOMEM;
	for (size_t i = 0; i < b->stack_cnt; i++) {
		const struct tapir_tree_node *node;

		tapir__otlp__stack__init(&s[i]);
		if (!i) /* the empty one; there may be no other, and no node */
			continue;
		node = &b->tree->nodes.data[b->node_of[i]];
		s[i].location_indices = tapir_arena__alloc(
			b->arena, (node->depth + 1u) * sizeof(*s[i].location_indices));
		if (!s[i].location_indices)
			return -ENOMEM;
		for (; node != b->tree->nodes.data; node = &b->tree->nodes.data[node->parent])
			s[i].location_indices[s[i].n_location_indices++] = b->name_idx[node->name];
	}
	b->d->message.stack_table = (Tapir__Otlp__Stack **)stacks;
	b->d->message.n_stack_table = b->stack_cnt;
	return 0;
}

/* Receivers want 16 and 8 bytes also of the empty one. */
static int add_links(struct builder *b)
{
	static struct tapir_trace_ids none;
	size_t cnt = b->samples->links.cnt + 1;
	void **links;
	Tapir__Otlp__Link *l = tapir_messages__alloc(b->arena, cnt, sizeof(*l), &links);

	if (!l)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		struct tapir_trace_ids *ids = i ? &b->samples->links.data[i - 1] : &none;

		tapir__otlp__link__init(&l[i]);
		l[i].trace_id = (ProtobufCBinaryData){sizeof(ids->trace_id), ids->trace_id};
		l[i].span_id = (ProtobufCBinaryData){sizeof(ids->span_id), ids->span_id};
	}
	b->d->message.link_table = (Tapir__Otlp__Link **)links;
	b->d->message.n_link_table = cnt;
	return 0;
}

/* The table of mappings has its empty entry alone. */
static int add_mappings(struct builder *b)
{
	void **mappings;
	Tapir__Otlp__Mapping *m = tapir_messages__alloc(b->arena, 1, sizeof(*m), &mappings);

	if (!m)
		return -ENOMEM;
	tapir__otlp__mapping__init(m);
	b->d->message.mapping_table = (Tapir__Otlp__Mapping **)mappings;
	b->d->message.n_mapping_table = 1;
	return 0;
}

static int add_attributes(struct builder *b, const char *finding)
{
	size_t cnt = finding && *finding ? TAPIR_OTLP_ATTRIBUTE_FINDING + 1 : 1;
	void **attributes;
	Tapir__Otlp__TableAttribute *a =
		tapir_messages__alloc(b->arena, cnt, sizeof(*a), &attributes);
	Tapir__Otlp__Value *value = tapir_arena__alloc(b->arena, sizeof(*value));

	if (!a || !value)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		tapir__otlp__table_attribute__init(&a[i]);
	b->d->message.attribute_table = (Tapir__Otlp__TableAttribute **)attributes;
	b->d->message.n_attribute_table = cnt;
	if (cnt == 1)
		return 0;
	tapir__otlp__value__init(value);
	value->value_case = TAPIR__OTLP__VALUE__VALUE_STRING_VALUE;
	value->string_value = tapir_messages__text(b->arena, finding, strlen(finding));
	a[TAPIR_OTLP_ATTRIBUTE_FINDING].key_strindex = TAPIR_OTLP_TEXT_FINDING;
	a[TAPIR_OTLP_ATTRIBUTE_FINDING].value = value;
	return value->string_value ? 0 : -ENOMEM;
}

int tapir_otlp_dictionary__make(struct tapir_otlp_dictionary *d, struct tapir_arena *arena,
				const struct tapir_otlp_samples *samples,
				bool (*is_wanted)(const struct tapir_otlp_samples *samples,
						  enum tapir_otlp_kind kind),
				const char *cpu, const char *finding)
{
	struct builder b = {.d = d, .arena = arena, .samples = samples, .tree = &samples->tree};
	int err;

	tapir__otlp__dictionary__init(&d->message);
	err = take_rows(&b, is_wanted);
	if (!err)
		err = add_texts(&b, cpu);
	if (!err)
		err = add_otlp_functions(&b);
	if (!err)
		err = add_stacks(&b);
	if (!err)
		err = add_links(&b);
	if (!err)
		err = add_attributes(&b, finding);
	return err ? err : add_mappings(&b);
}
