// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events are asked as they come, in any order; those whose stacks are keys, and intervals, come
 * from the timeline, in the order of time. The event that begins an interval is kept until it ends.
 */
#include "analyze/question.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/question_offer.h"
#include "base/diag.h"
#include "symbol/frame_kind.h"

#define MAX_BINDINGS (1u << 16)
#define MAX_HELD     (64u << 20) /* bytes of events that began intervals */

/* The programs of a question for events of one probe. */
struct binding {
	struct tapir_program *programs; /* condition, values, keys; NULL: not its event */
};

/* A question as it is evaluated: what a person wrote, parsed, and its programs by probe. */
struct compiled_question {
	struct tapir_question question;
	struct tapir_question_opts opts;
	struct tapir_expression *where;
	struct tapir_expression *values[TAPIR_FOLD_MAX_VALUES];
	struct tapir_expression *key_values[TAPIR_FOLD_MAX_KEYS]; /* NULL: a stack */
	struct tapir_vec(char *) texts;				  /* owned, of columns and keys */
	struct tapir_map by_probe; /* probe, of intervals of both ends -> idx + 1 of bindings */
	struct tapir_vec(struct binding) bindings;
	struct tapir_vec(uint8_t) has_kind; /* by kind: + 1; 0: not decided yet */
	bool wants_stack;
};

/*
 * The probes of the intervals of one kind that the kernel adds up. A begin that is kept there needs
 * an end that looks for it: so ends are offered first, and the others later.
 */
struct pairing {
	uint32_t kind;	  /* TAPIR_NO_KIND: none yet */
	uint32_t seen_id; /* of probes: they have numbers in the order of their coming */
	bool is_refused;
	struct tapir_vec(uint32_t) probes[2]; /* of begins; ends */
	size_t offered[2];		      /* of them */
	bool is_made;
	struct tapir_hit_question made[2]; /* the first of both: others must be as they are */
	uint64_t begun, rejected, undefined;
};

struct tapir_questions {
	struct tapir_vec(struct compiled_question *) all;
	struct tapir_question_sink sink;
	struct tapir_pairs pairs;
	struct tapir_timeline *tl; /* NULL: no question needs one, or nothing has come */
	const struct tapir_catalog *catalog;
	struct tapir_hit_names names;
	struct tapir_event_fields begin_fields, end_fields;
	struct tapir_hit_values where_values, values, keys[TAPIR_FOLD_MAX_KEYS];
	struct tapir_str key_names[TAPIR_FOLD_MAX_KEYS];
	struct tapir_map text_idxs; /* number in keys of the kernel -> idx + 1 of texts */
	struct tapir_vec(struct tapir_sums_text *) texts;
	struct tapir_map nodes; /* of stacks in events: number in keys of the kernel -> node */
	size_t held_bytes;
	uint64_t counted, counted_before; /* hits that the kernel added up, now and last time */
	struct pairing pairing;
	uint64_t interval; /* of the reading */
	bool is_last;	   /* no event comes after it */
	int err;	   /* of a callback; reported */
};

/* ---- what a person wrote --------------------------------------------------------------------- */

static const char *const options[] = {"--sum", "--avg", "--min", "--max", "--hist", "--lhist"};

static char *keep_text(struct compiled_question *a, const char *text, size_t len)
{
	char *copy = strndup(text, len);

	if (copy && tapir_vec__push(&a->texts, copy))
		return copy;
	free(copy);
	return NULL;
}

/* The last comma outside parentheses and quotes before text[len]; SIZE_MAX: there is none. */
static size_t last_comma(const char *text, size_t len)
{
	size_t found = SIZE_MAX, at = tapir_expression__part_len(text, ',');

	while (at < len) {
		found = at++;
		at += tapir_expression__part_len(text + at, ',');
	}
	return found;
}

/* "10", "5ms" at text: what --lhist is bounded by. */
static bool parse_bound(const char *text, size_t len, int64_t *out, bool *is_time)
{
	char word[40];

	snprintf(word, sizeof(word), "%.*s", (int)(len < 39 ? len : 39), text);
	return tapir_expression__constant(word, out, is_time);
}

static int fail_lhist(const char *text)
{
	return tapir_diag__fail(
		-EINVAL,
		"--lhist: '%s' is not X,MIN,MAX,STEP with at most %d steps, such as took,0ms,100ms,5ms",
		text, TAPIR_FOLD_MAX_STEPS);
}

static int parse_lhist(const char *text, size_t *len, struct tapir_fold_column *column)
{
	int64_t bounds[3];
	bool is_time[3];
	size_t all = strlen(text);
	__int128 range;

	for (int i = 2; i >= 0; i--) {
		size_t comma = last_comma(text, all);

		if (comma == SIZE_MAX ||
		    !parse_bound(text + comma + 1, all - comma - 1, &bounds[i], &is_time[i]))
			return fail_lhist(text);
		all = comma;
	}
	*len = all;
	range = (__int128)bounds[1] - bounds[0];
	if (bounds[2] <= 0 || range <= 0 || range / bounds[2] > TAPIR_FOLD_MAX_STEPS)
		return fail_lhist(text);
	*column = (struct tapir_fold_column){TAPIR_FOLD_LINEAR, bounds[0], bounds[1], bounds[2]};
	return 0;
}

/*
 * The column of the kernel for the idx-th column: one has the sum, least, most and histogram of a
 * value, whichever of them are shown.
 */
static uint8_t find_sum(struct tapir_question *q, unsigned idx)
{
	for (unsigned i = 0; i < idx; i++)
		if (!strcmp(q->columns[i].text, q->columns[idx].text))
			return q->columns[i].sum_idx;
	return (uint8_t)q->sum_cnt++;
}

/*
 * The expression is parsed here and bound later, for each probe: its fields are known only when an
 * event arrives.
 */
static int add_column(struct compiled_question *a, enum tapir_aggregate aggregate, const char *text)
{
	unsigned idx = a->question.fold.column_cnt;
	struct tapir_fold_column *column = &a->question.fold.columns[idx];
	size_t len = strlen(text);
	char *copy;
	int err;

	if (idx == TAPIR_FOLD_MAX_VALUES)
		return tapir_diag__fail(-EINVAL, "%s: a question has at most %d values",
					options[aggregate], TAPIR_FOLD_MAX_VALUES);
	if (aggregate == TAPIR_AGGREGATE_HIST)
		column->scale = TAPIR_FOLD_LOG;
	err = aggregate == TAPIR_AGGREGATE_LHIST ? parse_lhist(text, &len, column) : 0;
	copy = err ? NULL : keep_text(a, text, len);
	if (!err && !copy)
		err = -ENOMEM;
	if (!err)
		err = tapir_expression__parse(options[aggregate], copy, &a->values[idx]);
	if (err)
		return err;
	a->question.columns[idx] =
		(struct tapir_question_column){.aggregate = aggregate, .text = copy};
	a->question.columns[idx].sum_idx = find_sum(&a->question, idx);
	a->question.fold.column_cnt++;
	return 0;
}

/* "stack", "ustack(N)", "kstack(N)". */
static bool parse_stack_key(const char *text, struct tapir_question_key *key)
{
	uint64_t frames = 0;
	char number[8];
	int len = 0;

	key->kind = *text == 's'   ? TAPIR_KEY_STACK
		    : *text == 'u' ? TAPIR_KEY_USER
				   : TAPIR_KEY_KERNEL;
	if (!strcmp(text, "stack") || !strcmp(text, "ustack") || !strcmp(text, "kstack"))
		return true;
	if (sscanf(text, "%*1[uk]stack(%7[0-9])%n", number, &len) != 1 || !len || text[len] ||
	    !tapir_str__to_u64(number, 1, TAPIR_MAX_FRAMES, &frames))
		return false;
	key->frames = (unsigned)frames;
	return true;
}

static int add_key(struct compiled_question *a, const char *text, size_t len)
{
	unsigned idx = a->question.fold.key_cnt;
	struct tapir_question_key *key = &a->question.keys[idx];
	char *copy;
	int err = 0;

	if (idx == TAPIR_FOLD_MAX_KEYS)
		return tapir_diag__fail(-EINVAL, "--by: a question has at most %d keys",
					TAPIR_FOLD_MAX_KEYS);
	while (len && *text == ' ') {
		text++;
		len--;
	}
	copy = keep_text(a, text, len);
	if (!copy)
		return -ENOMEM;
	key->text = copy;
	if (parse_stack_key(copy, key)) {
		a->wants_stack = true;
	} else if (!strncmp(copy, "ustack(", 7) || !strncmp(copy, "kstack(", 7)) {
		/* The parser of expressions would report an unknown function. */
		err = tapir_diag__fail(-EINVAL, "--by: '%s' is not %.6s(N) with 1 to %d frames",
				       copy, copy, TAPIR_MAX_FRAMES);
	} else {
		key->kind = TAPIR_KEY_VALUE;
		err = tapir_expression__parse("--by", copy, &a->key_values[idx]);
	}
	a->question.fold.key_cnt += !err;
	return err;
}

static int add_keys(struct compiled_question *a, const char *text)
{
	size_t len = tapir_expression__part_len(text, ',');
	int err = add_key(a, text, len);

	while (!err && text[len]) {
		text += len + 1;
		len = tapir_expression__part_len(text, ',');
		err = add_key(a, text, len);
	}
	return err;
}

static int parse_question(struct compiled_question *a)
{
	const struct tapir_question_opts *o = &a->opts;
	const char *const *word;
	int err = 0;

	if (o->where)
		err = tapir_expression__parse("--where", o->where, &a->where);
	for (int i = 0; !err && i < TAPIR_AGGREGATE_CNT; i++)
		for (size_t w = 0; !err && w < o->aggregates[i].cnt; w++)
			err = add_column(a, (enum tapir_aggregate)i, o->aggregates[i].data[w]);
	tapir_vec_for_each (word, &o->by)
		if (!err)
			err = add_keys(a, *word);
	a->question.is_table =
		o->wants_count || a->question.fold.column_cnt || a->question.fold.key_cnt;
	return err;
}

static void clear_bindings(struct compiled_question *a)
{
	struct binding *b;

	tapir_vec_for_each (b, &a->bindings)
		free(b->programs);
	a->bindings.cnt = 0;
	tapir_map__clear(&a->by_probe);
}

static void free_compiled(struct compiled_question *a)
{
	char **text;

	clear_bindings(a);
	tapir_vec_for_each (text, &a->texts)
		free(*text);
	tapir_expression__free(a->where);
	for (int i = 0; i < TAPIR_FOLD_MAX_VALUES; i++)
		tapir_expression__free(a->values[i]);
	for (int i = 0; i < TAPIR_FOLD_MAX_KEYS; i++)
		tapir_expression__free(a->key_values[i]);
	tapir_vec__fini(&a->texts);
	tapir_vec__fini(&a->bindings);
	tapir_vec__fini(&a->has_kind);
	tapir_map__fini(&a->by_probe);
	tapir_fold__fini(&a->question.fold);
	free(a);
}

int tapir_questions__add(struct tapir_questions *qs, const struct tapir_question_opts *opts)
{
	struct compiled_question *a = calloc(1, sizeof(*a));
	int err;

	if (!a)
		return -ENOMEM;
	a->opts = *opts;
	a->question.text = opts->text;
	a->question.is_of_intervals = opts->is_of_intervals;
	a->question.fold.max_bytes =
		opts->table_bytes ? opts->table_bytes : (size_t)TAPIR_QUESTION_TABLE_MB << 20;
	err = parse_question(a);
	if (!err && !tapir_vec__push(&qs->all, a))
		err = -ENOMEM;
	if (err)
		free_compiled(a);
	return err;
}

/* ---- binding --------------------------------------------------------------------------------- */

static int bind_value(struct compiled_question *a, unsigned idx, const struct tapir_scope *scope,
		      struct tapir_program *out)
{
	struct tapir_question_column *column = &a->question.columns[idx];
	int err = tapir_expression__value(a->values[idx], scope, out);

	if (err)
		return err;
	if (out->class == TAPIR_CLASS_TEXT)
		return tapir_diag__fail(-EINVAL, "%s: '%s' of %s is a text, which has no number",
					options[column->aggregate], column->text, scope->subject);
	if (column->unit_ns && out->unit_ns && column->unit_ns != out->unit_ns)
		return tapir_diag__fail(-EINVAL, "%s: '%s' has another unit in %s than elsewhere",
					options[column->aggregate], column->text, scope->subject);
	column->unit_ns = out->unit_ns;
	return 0;
}

static int bind_all(struct compiled_question *a, const struct tapir_scope *scope,
		    struct tapir_program *p)
{
	int err = a->where ? tapir_expression__condition(a->where, scope, p) : 0;

	for (unsigned i = 0; !err && i < a->question.fold.column_cnt; i++)
		err = bind_value(a, i, scope, &p[1 + i]);
	for (unsigned i = 0; !err && i < a->question.fold.key_cnt; i++) {
		struct tapir_program *key = &p[1 + a->question.fold.column_cnt + i];

		err = a->key_values[i] ? tapir_expression__value(a->key_values[i], scope, key) : 0;
		if (!err && a->key_values[i])
			a->question.keys[i].unit_ns = key->unit_ns;
	}
	return err;
}

static bool has_event(const struct compiled_question *a, const struct tapir_hit *hit)
{
	return a->question.is_of_intervals || !a->opts.has_event ||
	       a->opts.has_event(a->opts.ctx, &hit->begin.probe);
}

bool tapir_questions__may_offer(const struct tapir_questions *qs)
{
	const struct compiled_question *a = qs->all.cnt == 1 ? qs->all.data[0] : NULL;

	return a && (a->question.is_table || (a->where && !a->question.is_of_intervals));
}

/* Once for each probe. */
static void offer_to_kernel(const struct tapir_questions *qs, struct compiled_question *a,
			    const struct tapir_hit *hit, const struct tapir_program *programs,
			    const char *subject)
{
	const struct tapir_offer o = {.question = &a->question,
				      .hit = hit,
				      .names = &qs->names,
				      .has_condition = a->where,
				      .programs = programs};
	struct tapir_hit_question question;
	const char *reason;

	if (!qs->sink.offer || a->question.is_of_intervals || !tapir_questions__may_offer(qs))
		return;
	if (tapir_offer__make(&o, &question, &reason))
		qs->sink.offer(qs->sink.ctx, hit->begin.probe.rec->probe_id, &question);
	if (!question.adds_up && a->question.is_table && reason && qs->sink.decline)
		qs->sink.decline(qs->sink.ctx, subject, reason);
}

void tapir_questions__add_rejected(struct tapir_questions *qs, uint64_t cnt)
{
	struct tapir_question_counts *counts = &qs->all.data[0]->question.counts;

	counts->hits += cnt;
	counts->rejected += cnt;
	qs->pairing.rejected += cnt;
}

void tapir_questions__add_begun(struct tapir_questions *qs, uint64_t cnt)
{
	qs->pairing.begun += cnt;
}

/* *out NULL: the question is not about such events. */
static int bind_probe(struct tapir_questions *qs, struct compiled_question *a,
		      const struct tapir_hit *hit, const struct tapir_program **out)
{
	uint64_t key = hit->begin.probe.rec->probe_id |
		       (uint64_t)(hit->end ? hit->end->probe.rec->probe_id : 0) << 32;
	const uint64_t *idx = tapir_map__get(&a->by_probe, key);
	struct tapir_hit_scope names;
	struct tapir_scope scope;
	struct binding b = {};
	uint64_t *entry;
	int err = 0;

	if (idx) {
		*out = a->bindings.data[*idx - 1].programs;
		return 0;
	}
	*out = NULL;
	/*
	 * Processes that come and go have probes of new ids: programs are made again when they are
	 * needed, so that the memory has a bound.
	 */
	if (a->bindings.cnt == MAX_BINDINGS)
		clear_bindings(a);
	/*
	 * An event that the question is not about gets a binding without programs: SPECs are
	 * matched once for each probe, not for each hit.
	 */
	if (has_event(a, hit)) {
		b.programs = calloc(1 + a->question.fold.column_cnt + a->question.fold.key_cnt,
				    sizeof(*b.programs));
		scope = tapir_hit_scope__init(&names, hit, &qs->names);
		err = b.programs ? bind_all(a, &scope, b.programs) : -ENOMEM;
		if (!err)
			offer_to_kernel(qs, a, hit, b.programs, scope.subject);
	}
	entry = err ? NULL : tapir_map__put(&a->by_probe, key, NULL);
	if (!entry || !tapir_vec__push(&a->bindings, b)) {
		tapir_map__del(&a->by_probe, key);
		free(b.programs);
		return err ? err : -ENOMEM;
	}
	*entry = a->bindings.cnt;
	*out = b.programs;
	return 0;
}

/* The id may be another probe's from now on. */
static void unbind_probe(struct tapir_questions *qs, uint32_t probe_id)
{
	struct compiled_question **a;

	tapir_vec_for_each (a, &qs->all) {
		if ((*a)->question.is_of_intervals)
			clear_bindings(*a);
		else
			tapir_map__del(&(*a)->by_probe, probe_id);
	}
}

/* ---- hits ------------------------------------------------------------------------------------ */

static struct tapir_fold_number fold_number(const struct tapir_program *p, uint64_t value)
{
	if (p->class == TAPIR_CLASS_FLOAT)
		return tapir_fold__real(tapir_program__float_of(value));
	return tapir_fold__whole(p->class == TAPIR_CLASS_INT ? (__int128)(int64_t)value
							     : (__int128)value);
}

static struct tapir_fold_part text_part(const struct tapir_question_slot *slot, uint32_t max_bytes)
{
	bool is_truncated = slot->len > max_bytes;

	return (struct tapir_fold_part){.kind = is_truncated || slot->state == TAPIR_STATE_TRUNCATED
							? TAPIR_FOLD_TRUNCATED
							: TAPIR_FOLD_TEXT,
					.len = is_truncated ? max_bytes : slot->len,
					.text = (const char *)(uintptr_t)slot->number};
}

static struct tapir_fold_part text_key_part(const struct tapir_str *text)
{
	return (struct tapir_fold_part){
		.kind = TAPIR_FOLD_TEXT, .len = (uint32_t)text->len, .text = text->data};
}

static struct tapir_fold_part number_part(const struct tapir_program *p, uint64_t value)
{
	struct tapir_fold_part part = {.kind = TAPIR_FOLD_UINT, .u64 = value};

	if (p->class == TAPIR_CLASS_FLOAT) {
		part.kind = TAPIR_FOLD_FLOAT;
		part.f64 = tapir_program__float_of(value);
	} else if (p->class == TAPIR_CLASS_INT && (int64_t)value < 0) {
		part.kind = TAPIR_FOLD_INT;
	}
	return part;
}

/* A number that has a name is that name. */
static struct tapir_fold_part key_part(struct tapir_questions *qs, unsigned idx,
				       const struct tapir_hit *hit, const struct tapir_program *p)
{
	struct tapir_hit_values *values = &qs->keys[idx];
	struct tapir_str *name = &qs->key_names[idx];
	const struct tapir_question_slot *slot = &values->slots[p->which];
	uint32_t max_bytes = p->slots[p->which].max_bytes;
	uint64_t value;

	tapir_hit__fill(hit, &qs->names, p, values);
	if (!p->is_register && slot->state >= TAPIR_STATE_NULL)
		return (struct tapir_fold_part){.kind = slot->state == TAPIR_STATE_NULL
								? TAPIR_FOLD_NULL
								: TAPIR_FOLD_ABSENT};
	if (p->class == TAPIR_CLASS_TEXT)
		return text_part(slot, max_bytes ? max_bytes : TAPIR_QUESTION_KEY_TEXT);
	tapir_str__clear(name);
	if (!p->is_register &&
	    tapir_hit__add_value_name(hit, &qs->names, &p->slots[p->which], name) && name->len)
		return text_key_part(name);
	if (!tapir_program__number(p, values->slots, &value))
		return (struct tapir_fold_part){.kind = TAPIR_FOLD_ABSENT};
	return number_part(p, value);
}

static void add_key_frames(const struct tapir_stack_tree *tree, uint32_t node, unsigned max,
			   bool only_kernel, const char *between, struct tapir_str *out)
{
	for (unsigned cnt = 0; node && (!max || cnt < max); cnt++) {
		if (only_kernel && tree->nodes.data[node].kind != TAPIR_FRAME_KERNEL)
			return;
		if (cnt)
			tapir_str__adds(out, between);
		tapir_stack_tree__add_label(out, tree, node);
		node = tree->nodes.data[node].parent;
	}
}

void tapir_question__add_stack(const struct tapir_questions *qs, uint64_t node, unsigned max,
			       const char *between, struct tapir_str *out)
{
	const struct tapir_stack_tree *tree = qs->tl ? tapir_timeline__stacks(qs->tl) : NULL;

	if (tree && node < tree->nodes.cnt)
		add_key_frames(tree, (uint32_t)node, max, false, between, out);
}

/* A complete stack is its node; a part of it the text of its frames: others may have the same. */
static struct tapir_fold_part stack_part(struct tapir_questions *qs, unsigned idx, uint32_t node,
					 const struct tapir_question_key *key)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(qs->tl);
	struct tapir_str *text = &qs->key_names[idx];

	tapir_str__clear(text);
	if (node == TAPIR_NO_NODE || node >= tree->nodes.cnt)
		return (struct tapir_fold_part){.kind = TAPIR_FOLD_ABSENT};
	if (key->kind == TAPIR_KEY_STACK)
		return (struct tapir_fold_part){.kind = TAPIR_FOLD_UINT, .u64 = node};
	if (key->kind == TAPIR_KEY_USER)
		node = tapir_stack_tree__user_leaf(tree, node);
	add_key_frames(tree, node, key->frames, key->kind == TAPIR_KEY_KERNEL, " < ", text);
	return text->len ? text_key_part(text)
			 : (struct tapir_fold_part){.kind = TAPIR_FOLD_ABSENT};
}

/* False: a value is undefined. */
static bool add_up(struct tapir_questions *qs, struct compiled_question *a,
		   const struct tapir_program *p, const struct tapir_hit *hit, uint32_t node)
{
	struct tapir_fold_number values[TAPIR_FOLD_MAX_VALUES];
	struct tapir_fold_part key[TAPIR_FOLD_MAX_KEYS];
	uint64_t value;

	for (unsigned i = 0; i < a->question.fold.column_cnt; i++, p++) {
		tapir_hit__fill(hit, &qs->names, p, &qs->values);
		if (!tapir_program__number(p, qs->values.slots, &value))
			return false;
		values[i] = fold_number(p, value);
	}
	for (unsigned i = 0; i < a->question.fold.key_cnt; i++, p++)
		key[i] = a->key_values[i] ? key_part(qs, i, hit, p)
					  : stack_part(qs, i, node, &a->question.keys[i]);
	tapir_fold__add(&a->question.fold, key, values);
	return true;
}

static int evaluate_hit(struct tapir_questions *qs, struct compiled_question *a,
			const struct tapir_hit *hit, uint32_t node)
{
	const struct tapir_program *p;
	int verdict = TAPIR_QUESTION_ACCEPT, err = bind_probe(qs, a, hit, &p);

	if (err || !p)
		return err;
	a->question.counts.hits++;
	if (a->where) {
		tapir_hit__fill(hit, &qs->names, p, &qs->where_values);
		verdict = tapir_program__decide(p, qs->where_values.slots);
	}
	if (verdict == TAPIR_QUESTION_REJECT)
		a->question.counts.rejected++;
	else if (verdict == TAPIR_QUESTION_UNDEFINED ||
		 (a->question.is_table && !add_up(qs, a, p + 1, hit, node)))
		a->question.counts.undefined++;
	else if (!a->question.is_table && qs->sink.hit)
		qs->sink.hit(qs->sink.ctx, &a->question, hit);
	return 0;
}

/* The first hit with a stack was recorded: its node is that of all. */
static void keep_first_stack(struct tapir_questions *qs, const struct compiled_question *a,
			     const struct tapir_event_view *event, uint32_t node)
{
	const struct tapir_sums_stack stack = {
		.user = event->rec->stack_id, .kernel = event->kstack_id, .tgid = event->rec->tgid};
	uint64_t id, *entry;
	bool is_new;

	for (unsigned i = 0; i < a->question.fold.key_cnt; i++) {
		if (a->question.keys[i].kind == TAPIR_KEY_VALUE)
			continue;
		id = tapir_sums__stack_id(&stack, tapir_offer__stack_part(&a->question.keys[i]));
		entry = id ? tapir_map__put(&qs->nodes, id, &is_new) : NULL;
		if (entry && (is_new || *entry == TAPIR_NO_NODE))
			*entry = node;
	}
}

static int evaluate_for_event(struct tapir_questions *qs, const struct tapir_probe_view *probe,
			      const struct tapir_event_view *event, bool with_stacks, uint32_t node)
{
	struct tapir_hit hit = {
		.catalog = qs->catalog,
		.begin = {.probe = *probe, .event = *event, .fields = &qs->begin_fields}};
	bool is_decoded = false;
	struct compiled_question **a;
	int err = 0;

	tapir_vec_for_each (a, &qs->all) {
		if (err || (*a)->question.is_of_intervals || (*a)->wants_stack != with_stacks)
			continue;
		if (!is_decoded)
			tapir_event_fields__decode(&qs->begin_fields, qs->catalog, probe, event);
		is_decoded = true;
		if (with_stacks && qs->sink.offer)
			keep_first_stack(qs, *a, event, node);
		err = evaluate_hit(qs, *a, &hit, node);
	}
	return err;
}

/* ---- what the kernel has added up ------------------------------------------------------------ */

/* NULL: it has not come. */
static const struct tapir_sums_text *known_text(const struct tapir_questions *qs, uint64_t id)
{
	const uint64_t *idx = tapir_map__get(&qs->text_idxs, id);

	return idx ? qs->texts.data[*idx - 1] : NULL;
}

static struct tapir_fold_part read_text(const struct tapir_questions *qs, uint64_t id)
{
	const struct tapir_sums_text *text = known_text(qs, id);

	if (!text || text->state == TAPIR_STATE_NULL)
		return (struct tapir_fold_part){.kind = TAPIR_FOLD_NULL};
	return (struct tapir_fold_part){
		.kind = text->state == TAPIR_STATE_TRUNCATED ? TAPIR_FOLD_TRUNCATED
							     : TAPIR_FOLD_TEXT,
		.len = text->len < TAPIR_SUMS_TEXT ? text->len : TAPIR_SUMS_TEXT,
		.text = text->text};
}

/* A number of a field has its name, as in an event; namer: the probe, 0: it has none. */
static struct tapir_fold_part read_part(struct tapir_questions *qs, struct compiled_question *a,
					unsigned idx, const struct tapir_sums_key *key)
{
	const struct tapir_rec_probe *rec =
		key->probe_id ? tapir_catalog__probe(qs->catalog, key->probe_id) : NULL;
	const uint64_t *bound = rec ? tapir_map__get(&a->by_probe, key->probe_id) : NULL;
	const struct tapir_program *p = bound ? a->bindings.data[*bound - 1].programs : NULL;
	struct tapir_fold_part part = {.kind = key->kinds[idx], .u64 = key->parts[idx]};
	struct tapir_hit hit = {.catalog = qs->catalog};
	struct tapir_str *name = &qs->key_names[idx];

	if (part.kind == TAPIR_SUMS_TEXT_ID)
		return read_text(qs, part.u64);
	if (part.kind == TAPIR_SUMS_STACK_ID) {
		const uint64_t *node = tapir_map__get(&qs->nodes, part.u64);

		return stack_part(qs, idx, node ? (uint32_t)*node : TAPIR_NO_NODE,
				  &a->question.keys[idx]);
	}
	if (!p || part.kind > TAPIR_FOLD_INT)
		return part;
	p += 1 + a->question.fold.column_cnt + idx;
	tapir_probe_view__of(&rec->h, &hit.begin.probe);
	tapir_str__clear(name);
	if (tapir_hit__name_number(&hit, &qs->names, &p->slots[p->which], part.u64, name))
		return text_key_part(name);
	return part;
}

/* False: a text or a stack of it has not come yet. */
static bool read_key(struct tapir_questions *qs, struct compiled_question *a,
		     const struct tapir_sums_key *key,
		     struct tapir_fold_part out[TAPIR_FOLD_MAX_KEYS])
{
	for (unsigned i = 0; i < a->question.fold.key_cnt; i++) {
		if (key->kinds[i] == TAPIR_SUMS_TEXT_ID && !known_text(qs, key->parts[i]))
			return false;
		if (key->kinds[i] == TAPIR_SUMS_STACK_ID && !qs->is_last &&
		    !tapir_map__get(&qs->nodes, key->parts[i]))
			return false;
		out[i] = read_part(qs, a, i, key);
	}
	return true;
}

void tapir_questions__add_text(struct tapir_questions *qs, uint64_t id,
			       const struct tapir_sums_text *text)
{
	struct tapir_sums_text *copy;
	uint64_t *entry = known_text(qs, id) ? NULL : tapir_map__put(&qs->text_idxs, id, NULL);

	if (!entry)
		return;
	copy = malloc(sizeof(*copy));
	if (!copy || !tapir_vec__push(&qs->texts, copy)) {
		free(copy);
		tapir_map__del(&qs->text_idxs, id);
		return;
	}
	*copy = *text;
	*entry = qs->texts.cnt;
}

void tapir_questions__begin_reading(struct tapir_questions *qs, uint64_t interval, bool is_last)
{
	qs->is_last = is_last;
	tapir_fold__begin_reading(&qs->all.data[0]->question.fold);
	qs->interval = interval;
	qs->counted = 0;
}

void tapir_questions__add_row(struct tapir_questions *qs, const struct tapir_sums_key *key,
			      const struct tapir_sums_row *rows, size_t stride, unsigned cpu_cnt)
{
	struct compiled_question *a = qs->all.data[0];
	struct tapir_fold_part parts[TAPIR_FOLD_MAX_KEYS];
	struct tapir_fold_counted counted;

	tapir_offer__read_row(&a->question, rows, stride, cpu_cnt, qs->interval, &counted);
	if (!counted.cnt || !read_key(qs, a, key, parts))
		return;
	tapir_fold__add_counted(&a->question.fold, parts, &counted);
	qs->counted += counted.cnt;
}

void tapir_questions__add_step(struct tapir_questions *qs, const struct tapir_sums_key *key,
			       uint64_t cnt)
{
	struct compiled_question *a = qs->all.data[0];
	struct tapir_fold_part parts[TAPIR_FOLD_MAX_KEYS];
	unsigned idx = key->step - 1u;

	if (!key->step || !read_key(qs, a, key, parts))
		return;
	for (unsigned i = 0; i < a->question.fold.column_cnt; i++)
		if (a->question.columns[i].sum_idx == idx / TAPIR_STEP_CNT &&
		    a->question.fold.columns[i].scale == TAPIR_FOLD_LOG)
			tapir_fold__add_counted_step(&a->question.fold, parts, i,
						     idx % TAPIR_STEP_CNT, cnt);
}

/* Begins that were kept and met no end, since their threads are gone or others came after them. */
static void count_unended(struct tapir_questions *qs, struct tapir_question_counts *counts)
{
	const struct pairing *p = &qs->pairing;
	uint64_t ended = qs->counted + p->rejected + p->undefined;

	if (qs->is_last && p->begun > ended)
		counts->unended += p->begun - ended;
}

void tapir_questions__end_reading(struct tapir_questions *qs, const struct tapir_sums_state *state)
{
	struct compiled_question *a = qs->all.data[0];
	uint64_t undefined = state->undefined - qs->pairing.undefined;

	tapir_fold__add_unkeyed(&a->question.fold, state->unkeyed);
	qs->counted += state->unkeyed;
	a->question.counts.hits += qs->counted - qs->counted_before + undefined;
	a->question.counts.undefined += undefined;
	qs->pairing.undefined = state->undefined;
	qs->counted_before = qs->counted;
	count_unended(qs, &a->question.counts);
}

uint64_t tapir_questions__counted(const struct tapir_questions *qs)
{
	const struct pairing *p = &qs->pairing;

	return qs->counted_before + p->begun + (p->begun ? p->rejected + p->undefined : 0);
}

/* ---- the timeline ---------------------------------------------------------------------------- */

/* Decided once per kind: the names of all known intervals are compared. */
static bool has_kind(const struct tapir_questions *qs, struct compiled_question *a, uint32_t idx)
{
	const struct tapir_interval_kind *kind = &qs->pairs.kinds.data[idx];

	if (!a->question.is_of_intervals)
		return false;
	while (a->has_kind.cnt <= idx)
		if (!tapir_vec__add(&a->has_kind))
			return a->opts.has_kind(a->opts.ctx, kind);
	if (!a->has_kind.data[idx])
		a->has_kind.data[idx] = 1 + a->opts.has_kind(a->opts.ctx, kind);
	return a->has_kind.data[idx] - 1;
}

static bool is_requested_kind(const struct tapir_questions *qs, uint32_t kind)
{
	struct compiled_question *const *a;

	tapir_vec_for_each (a, &qs->all)
		if (has_kind(qs, *a, kind))
			return true;
	return false;
}

/*
 * Refuses events without the key of --pair or --key: which of them belong together is not known.
 * A key of pairs that tapir knows is there, or its events are left out.
 */
static int check_keys(struct tapir_questions *qs, const struct tapir_probe_view *probe,
		      const struct tapir_event_view *event)
{
	const struct tapir_roles *roles = tapir_pairs__roles(&qs->pairs, probe);
	const struct tapir_user_pair *user;

	for (uint32_t i = 0; i < roles->cnt; i++) {
		const struct tapir_interval_kind *kind =
			&qs->pairs.kinds.data[roles->roles[i].kind];

		if (!kind->lacks_key || !is_requested_kind(qs, roles->roles[i].kind))
			continue;
		tapir_event_fields__decode(&qs->begin_fields, qs->catalog, probe, event);
		tapir_vec_for_each (user, &qs->pairs.user)
			if (user->key && !strcmp(user->key, kind->key) &&
			    !strcmp(user->kind, kind->name) &&
			    !tapir_event_fields__may_have(&qs->begin_fields, user->key,
							  strlen(user->key)))
				return tapir_diag__fail(
					-EINVAL, "--pair, --key: %.*s:%.*s has no field '%s'",
					(int)probe->provider.len, probe->provider.data,
					(int)probe->event.len, probe->event.data, user->key);
	}
	return 0;
}

static void question_on_event(void *ctx, struct tapir_tl_thread *thread,
			      const struct tapir_probe_view *probe,
			      const struct tapir_event_view *event)
{
	struct tapir_questions *qs = ctx;
	struct tapir_stack_ref ref = {.tgid = thread->tgid,
				      .time_ns = event->rec->h.time_ns,
				      .stack_id = event->rec->stack_id,
				      .kstack_id = event->kstack_id};
	bool has_stack = ref.stack_id || ref.kstack_id;

	if (!qs->err)
		qs->err = check_keys(qs, probe, event);
	if (!qs->err)
		qs->err = evaluate_for_event(qs, probe, event, true,
					     has_stack ? tapir_timeline__node(qs->tl, &ref)
						       : TAPIR_NO_NODE);
}

/* Keeps the event that begins it. */
static void question_on_open(void *ctx, struct tapir_interval *interval)
{
	struct tapir_questions *qs = ctx;
	const struct tapir_event_view *event;
	const struct tapir_probe_view *probe;
	size_t size;

	if (!is_requested_kind(qs, interval->kind) ||
	    !tapir_timeline__current(qs->tl, &probe, &event))
		return;
	size = event->rec->h.size;
	if (qs->held_bytes + size > MAX_HELD)
		return;
	interval->details = malloc(size);
	if (!interval->details)
		return;
	memcpy(interval->details, event->rec, size);
	qs->held_bytes += size;
}

/*
 * The begin is what the timeline has kept of the interval, the end is the record that is being
 * added. An interval that lacks one of the two counts as undefined.
 */
static int evaluate_for_interval(struct tapir_questions *qs, struct compiled_question *a,
				 const struct tapir_interval *interval)
{
	const struct tapir_rec_event *begin = interval->details;
	const struct tapir_rec_probe *begin_probe =
		begin ? tapir_catalog__probe(qs->catalog, begin->probe_id) : NULL;
	const struct tapir_probe_view *end_probe;
	const struct tapir_event_view *end_event;
	struct tapir_hit_end end;
	struct tapir_hit hit = {.catalog = qs->catalog,
				.end = &end,
				.took_ns = interval->until_ns - interval->from_ns};

	if (!begin_probe || !tapir_timeline__current(qs->tl, &end_probe, &end_event)) {
		a->question.counts.hits++;
		a->question.counts.undefined++;
		return 0;
	}
	tapir_probe_view__of(&begin_probe->h, &hit.begin.probe);
	tapir_event_view__of(&begin->h, &hit.begin.event);
	tapir_event_fields__decode(&qs->begin_fields, qs->catalog, &hit.begin.probe,
				   &hit.begin.event);
	hit.begin.fields = &qs->begin_fields;
	end = (struct tapir_hit_end){*end_probe, *end_event, &qs->end_fields};
	tapir_event_fields__decode(&qs->end_fields, qs->catalog, end_probe, end_event);
	return evaluate_hit(qs, a, &hit, interval->node);
}

static void question_on_close(void *ctx, struct tapir_interval *interval)
{
	struct tapir_questions *qs = ctx;
	struct compiled_question **a;

	tapir_vec_for_each (a, &qs->all) {
		if (qs->err || !has_kind(qs, *a, interval->kind))
			continue;
		(*a)->question.counts.unended += !!(interval->flags & TAPIR_INTERVAL_NO_END);
		(*a)->question.counts.unbegun += !!(interval->flags & TAPIR_INTERVAL_NO_BEGIN);
		if (!(interval->flags & (TAPIR_INTERVAL_NO_END | TAPIR_INTERVAL_NO_BEGIN)))
			qs->err = evaluate_for_interval(qs, *a, interval);
	}
	if (interval->details)
		qs->held_bytes -= ((const struct tapir_rec *)interval->details)->size;
	free(interval->details);
	interval->details = NULL;
}

static const struct tapir_timeline_fns fns = {
	.event = question_on_event, .open = question_on_open, .close = question_on_close};

static bool needs_timeline(const struct tapir_questions *qs)
{
	struct compiled_question *const *a;

	tapir_vec_for_each (a, &qs->all)
		if ((*a)->question.is_of_intervals || (*a)->wants_stack)
			return true;
	return false;
}

static int begin_timeline(struct tapir_questions *qs, const struct tapir_catalog *catalog)
{
	struct tapir_timeline_opts opts = {.wants_stacks = tapir_questions__want_stacks(qs)};

	if (qs->catalog)
		return 0;
	qs->catalog = catalog;
	if (!needs_timeline(qs))
		return 0;
	qs->tl = tapir_timeline__new(catalog, &qs->pairs, &opts);
	return qs->tl ? tapir_timeline__listen(qs->tl, &fns, qs) : -ENOMEM;
}

/* ---- intervals in the kernel ----------------------------------------------------------------- */

/* An event of zeros, with which a question is bound to a probe that is known by its description. */
struct blank {
	struct tapir_rec_event rec;
	uint64_t slots[TAPIR_QUESTION_SLOTS];
};

/* False: it is not a probe's. */
static bool fill_blank(struct tapir_questions *qs, uint32_t probe_id, struct blank *blank,
		       struct tapir_event_fields *fields, struct tapir_hit_end *out)
{
	const struct tapir_rec_probe *rec = tapir_catalog__probe(qs->catalog, probe_id);

	if (!rec || rec->encoding != TAPIR_ENCODING_SLOTS || rec->field_cnt > TAPIR_QUESTION_SLOTS)
		return false;
	*blank = (struct blank){.rec.probe_id = probe_id};
	blank->rec.payload_bytes = (uint16_t)(rec->field_cnt * sizeof(blank->slots[0]));
	blank->rec.h.size = (uint16_t)(sizeof(blank->rec) + blank->rec.payload_bytes);
	tapir_probe_view__of(&rec->h, &out->probe);
	tapir_event_view__of(&blank->rec.h, &out->event);
	tapir_event_fields__decode(fields, qs->catalog, &out->probe, &out->event);
	out->fields = fields;
	return true;
}

static void refuse_pairs(struct tapir_questions *qs, const char *reason)
{
	const struct tapir_interval_kind *kind = &qs->pairs.kinds.data[qs->pairing.kind];
	struct tapir_str name = {};

	qs->pairing.is_refused = true;
	if (kind->provider && *kind->provider)
		tapir_str__addf(&name, "%s:", kind->provider);
	tapir_str__adds(&name, kind->name ? kind->name : "");
	if (qs->sink.decline && !name.failed)
		qs->sink.decline(qs->sink.ctx, name.data, reason);
	tapir_str__fini(&name);
}

/* False: the kernel cannot, or as the first pair of probes it would be another question. */
static bool make_pair(struct tapir_questions *qs, uint32_t begin_id, uint32_t end_id,
		      struct tapir_hit_question out[2], const char **reason)
{
	struct compiled_question *a = qs->all.data[0];
	struct blank blanks[2];
	struct tapir_hit_end end;
	struct tapir_hit hit = {.catalog = qs->catalog, .end = &end};
	const struct tapir_program *programs = NULL;
	int mark = tapir_diag__cnt(), err;

	*reason = "its events are not those of a probe";
	if (!fill_blank(qs, begin_id, &blanks[0], &qs->begin_fields, &hit.begin) ||
	    !fill_blank(qs, end_id, &blanks[1], &qs->end_fields, &end))
		return false;
	*reason = NULL;
	err = bind_probe(qs, a, &hit, &programs);
	if (err || !programs) { /* a mistake only if such an interval comes */
		tapir_diag__rewind(mark);
		return false;
	}
	return tapir_offer__make_pair(&(struct tapir_offer){.question = &a->question,
							    .hit = &hit,
							    .names = &qs->names,
							    .has_condition = a->where,
							    .programs = programs},
				      &qs->pairs.kinds.data[qs->pairing.kind], out, reason);
}

static bool is_same_question(const struct tapir_hit_question *first,
			     struct tapir_hit_question other)
{
	other.key_slot = first->key_slot;
	return !memcmp(first, &other, sizeof(other));
}

/* Offers what has come of begins, or of ends. */
static void offer_side(struct tapir_questions *qs, int side)
{
	struct pairing *p = &qs->pairing;
	struct tapir_hit_question made[2];
	const char *reason;

	while (!p->is_refused && p->probes[!side].cnt && p->offered[side] < p->probes[side].cnt) {
		uint32_t id = p->probes[side].data[p->offered[side]++];
		uint32_t other = p->probes[!side].data[0];

		if (!make_pair(qs, side ? other : id, side ? id : other, made, &reason)) {
			if (reason && !p->is_made)
				refuse_pairs(qs, reason);
			continue;
		}
		if (!p->is_made)
			memcpy(p->made, made, sizeof(made));
		p->is_made = true;
		if (is_same_question(&p->made[0], made[0]) &&
		    is_same_question(&p->made[1], made[1]))
			qs->sink.offer(qs->sink.ctx, id, &made[side]);
	}
}

/* A probe that is one end of what is asked for, and of nothing else. */
static void add_pair_probe(struct tapir_questions *qs, const struct tapir_rec_probe *rec)
{
	struct pairing *p = &qs->pairing;
	const struct tapir_roles *roles;
	struct tapir_probe_view probe;
	struct tapir_role role = {};
	unsigned cnt = 0;

	tapir_probe_view__of(&rec->h, &probe);
	roles = tapir_pairs__roles(&qs->pairs, &probe);
	for (uint32_t i = 0; i < roles->cnt; i++)
		if (has_kind(qs, qs->all.data[0], roles->roles[i].kind)) {
			role = roles->roles[i];
			cnt++;
		}
	if (!cnt || (p->kind != TAPIR_NO_KIND && p->kind != role.kind) || p->is_refused)
		return;
	p->kind = role.kind;
	if (cnt > 1) {
		refuse_pairs(qs, "an event is an end of several intervals");
		return;
	}
	if (!tapir_vec__push(&p->probes[!role.is_begin], rec->probe_id))
		p->is_refused = true;
}

void tapir_questions__offer_pairs(struct tapir_questions *qs)
{
	struct pairing *p = &qs->pairing;
	const struct tapir_rec_probe *rec;

	if (!qs->sink.offer || !qs->catalog || !tapir_questions__may_offer(qs) ||
	    !qs->all.data[0]->question.is_of_intervals)
		return;
	if (p->is_made) /* those that were known before: their ends have been offered */
		offer_side(qs, 0);
	while ((rec = tapir_catalog__probe(qs->catalog, p->seen_id + 1))) {
		p->seen_id++;
		add_pair_probe(qs, rec);
	}
	offer_side(qs, 1);
}

/* ---- records --------------------------------------------------------------------------------- */

static int evaluate_event(struct tapir_questions *qs, const struct tapir_rec *rec)
{
	const struct tapir_rec_event *ev = (const void *)rec;
	const struct tapir_rec_probe *rec_probe = tapir_catalog__probe(qs->catalog, ev->probe_id);
	struct tapir_probe_view probe;
	struct tapir_event_view event;

	if (!rec_probe)
		return 0;
	tapir_probe_view__of(&rec_probe->h, &probe);
	tapir_event_view__of(rec, &event);
	return evaluate_for_event(qs, &probe, &event, false, TAPIR_NO_NODE);
}

/* A loss without a probe may be of any question's events. */
static void count_loss(struct tapir_questions *qs, const struct tapir_rec_loss *loss)
{
	const struct tapir_rec_probe *rec =
		loss->probe_id ? tapir_catalog__probe(qs->catalog, loss->probe_id) : NULL;
	struct tapir_probe_view probe;
	struct compiled_question **a;

	if (tapir_loss__kind(loss->cause) != TAPIR_LOSS_KIND_EVENT)
		return;
	if (rec)
		tapir_probe_view__of(&rec->h, &probe);
	tapir_vec_for_each (a, &qs->all) {
		if (rec && !(*a)->question.is_of_intervals && (*a)->opts.has_event &&
		    !(*a)->opts.has_event((*a)->opts.ctx, &probe))
			continue;
		(*a)->question.counts.lost += loss->count;
		(*a)->question.counts.hits += (*a)->question.is_of_intervals ? 0 : loss->count;
	}
}

/*
 * Binds the question to a probe that is known by its description, so that the kernel answers from
 * the first hit on. A question that does not fit is a mistake only if such an event comes.
 */
static void bind_early(struct tapir_questions *qs, uint32_t probe_id)
{
	struct tapir_hit hit = {.catalog = qs->catalog};
	const struct tapir_program *p;
	int mark = tapir_diag__cnt();
	struct blank blank;

	if (!qs->sink.offer || !tapir_questions__may_offer(qs) ||
	    qs->all.data[0]->question.is_of_intervals)
		return;
	if (!fill_blank(qs, probe_id, &blank, &qs->begin_fields, &hit.begin) ||
	    hit.begin.probe.rec->lane != TAPIR_LANE_PROBE)
		return;
	if (bind_probe(qs, qs->all.data[0], &hit, &p))
		tapir_diag__rewind(mark);
}

int tapir_questions__take(struct tapir_questions *qs, const struct tapir_catalog *catalog,
			  const struct tapir_rec *rec)
{
	int err = qs->err ? qs->err : begin_timeline(qs, catalog);

	if (err)
		return err;
	if (rec->type == TAPIR_REC_PROBE) {
		unbind_probe(qs, ((const struct tapir_rec_probe *)rec)->probe_id);
		bind_early(qs, ((const struct tapir_rec_probe *)rec)->probe_id);
	} else if (rec->type == TAPIR_REC_EVENT) {
		tapir_questions__offer_pairs(qs);
		err = evaluate_event(qs, rec);
	} else if (rec->type == TAPIR_REC_LOSS) {
		count_loss(qs, (const void *)rec);
	}
	if (!err && qs->tl)
		err = tapir_timeline__add(qs->tl, rec);
	return err ? err : qs->err;
}

int tapir_questions__finish(struct tapir_questions *qs)
{
	int err = qs->tl && !qs->err ? tapir_timeline__finish(qs->tl) : 0;

	return qs->err ? qs->err : err;
}

/* ---- lifecycle ------------------------------------------------------------------------------- */

struct tapir_questions *tapir_questions__new(const struct tapir_question_sink *sink)
{
	struct tapir_questions *qs = calloc(1, sizeof(*qs));

	if (qs && sink)
		qs->sink = *sink;
	if (qs)
		qs->pairing.kind = TAPIR_NO_KIND;
	return qs;
}

void tapir_questions__free(struct tapir_questions *qs)
{
	struct tapir_sums_text **text;
	struct compiled_question **a;

	if (!qs)
		return;
	tapir_timeline__free(qs->tl);
	tapir_vec_for_each (a, &qs->all)
		free_compiled(*a);
	tapir_vec__fini(&qs->all);
	tapir_vec_for_each (text, &qs->texts)
		free(*text);
	tapir_vec__fini(&qs->texts);
	tapir_map__fini(&qs->text_idxs);
	tapir_map__fini(&qs->nodes);
	tapir_vec__fini(&qs->pairing.probes[0]);
	tapir_vec__fini(&qs->pairing.probes[1]);
	tapir_pairs__fini(&qs->pairs);
	tapir_hit_names__fini(&qs->names);
	tapir_event_fields__fini(&qs->begin_fields);
	tapir_event_fields__fini(&qs->end_fields);
	tapir_hit_values__fini(&qs->where_values);
	tapir_hit_values__fini(&qs->values);
	for (int i = 0; i < TAPIR_FOLD_MAX_KEYS; i++) {
		tapir_hit_values__fini(&qs->keys[i]);
		tapir_str__fini(&qs->key_names[i]);
	}
	free(qs);
}

struct tapir_pairs *tapir_questions__pairs(struct tapir_questions *qs)
{
	return &qs->pairs;
}

bool tapir_questions__want_stacks(const struct tapir_questions *qs)
{
	struct compiled_question *const *a;

	tapir_vec_for_each (a, &qs->all)
		if ((*a)->wants_stack)
			return true;
	return false;
}

size_t tapir_questions__cnt(const struct tapir_questions *qs)
{
	return qs->all.cnt;
}

struct tapir_question *tapir_questions__at(struct tapir_questions *qs, size_t idx)
{
	return &qs->all.data[idx]->question;
}

void tapir_questions__begin_interval(struct tapir_questions *qs)
{
	struct compiled_question **a;

	tapir_vec_for_each (a, &qs->all) {
		tapir_fold__begin_interval(&(*a)->question.fold);
		(*a)->question.before = (*a)->question.counts;
	}
}
