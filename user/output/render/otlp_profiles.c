// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * OTLP profiles, one for each process and kind of sample. Processes with the most CPU time come
 * first, because readers show the first profile. Each observation counts 1, and stands for a
 * period.
 */
#include "output/render/otlp_profiles.h"

#include <errno.h>
#include <string.h>

#include "attach/cgroup.h"
#include "decode/otel_resource.h"
#include "output/render/messages.h"
#include "output/render/otlp_dictionary.h"

#define MAX_ATTRIBUTES 64

struct builder {
	const struct tapir_otlp_samples *s;
	const struct tapir_otlp_opts *opts;
	struct tapir_arena arena;
	struct tapir_otlp_dictionary dictionary;
	Tapir__Otlp__ProfilesData data;
	Tapir__Otlp__Scope scope;
	Tapir__Otlp__ValueType types[TAPIR_OTLP_KIND_CNT], period_type;
	int32_t finding_idx; /* in the table of attributes */
	uint32_t *order;     /* rows by owner, then by kind */
	size_t *group_end;   /* of owner * KIND_CNT + kind, in order */
	size_t *row_begin;   /* of its values and times */
	int64_t *sums;	     /* of each row */
	int64_t *values;     /* of all rows */
	uint64_t *times_ns;
};

/* Each observation counts 1, and stands for a period. */
static bool is_counted(const struct tapir_otlp_samples *s, enum tapir_otlp_kind kind)
{
	return kind == TAPIR_OTLP_EVENTS || (kind == TAPIR_OTLP_CPU && !s->periods_differ);
}

static bool has_times(const struct tapir_otlp_samples *s, enum tapir_otlp_kind kind)
{
	return !s->has_no_times && (kind == TAPIR_OTLP_OFFCPU || is_counted(s, kind));
}

/* Events are for files without samples. */
static bool is_wanted_otlp_kind(const struct tapir_otlp_samples *s, enum tapir_otlp_kind kind)
{
	return kind != TAPIR_OTLP_EVENTS || !s->has_samples;
}

/* ---- rows and points in order --------------------------------------------------------------- */

static size_t group_of(const struct tapir_otlp_row *row)
{
	return (size_t)row->owner * TAPIR_OTLP_KIND_CNT + row->kind;
}

static int order_rows(struct builder *b)
{
	size_t groups = b->s->owners.cnt * TAPIR_OTLP_KIND_CNT, sum = 0;

	b->order = tapir_arena__alloc(&b->arena, (b->s->rows.cnt + 1) * sizeof(*b->order));
	b->group_end = tapir_arena__alloc(&b->arena, (groups + 1) * sizeof(*b->group_end));
	if (!b->order || !b->group_end)
		return -ENOMEM;
	for (size_t i = 0; i < groups; i++) {
		b->group_end[i] = sum; /* its begin, until its rows are there */
		sum += b->s->owners.data[i / TAPIR_OTLP_KIND_CNT].row_cnts[i % TAPIR_OTLP_KIND_CNT];
	}
	for (size_t i = 0; i < b->s->rows.cnt; i++)
		b->order[b->group_end[group_of(&b->s->rows.data[i])]++] = (uint32_t)i;
	return 0;
}

static int64_t otlp_row_sum(const struct tapir_otlp_samples *s, const struct tapir_otlp_row *row)
{
	uint64_t unit = row->kind == TAPIR_OTLP_CPU && is_counted(s, row->kind) ? s->period : 1;

	return (int64_t)(row->sum / unit);
}

/* One value for each row, and one for each of its points. */
static int order_points(struct builder *b)
{
	size_t rows = b->s->rows.cnt, cnt = b->s->points.cnt, sum = 0;
	const struct tapir_otlp_point *point;

	b->row_begin = tapir_arena__alloc(&b->arena, (rows + 1) * sizeof(*b->row_begin));
	b->sums = tapir_arena__alloc(&b->arena, (rows + 1) * sizeof(*b->sums));
	b->values = tapir_arena__alloc(&b->arena, (cnt + 1) * sizeof(*b->values));
	b->times_ns = tapir_arena__alloc(&b->arena, (cnt + 1) * sizeof(*b->times_ns));
	if (!b->row_begin || !b->sums || !b->values || !b->times_ns)
		return -ENOMEM;
	for (size_t i = 0; i < rows; i++) {
		b->row_begin[i] = sum;
		b->sums[i] = otlp_row_sum(b->s, &b->s->rows.data[i]);
		sum += b->s->rows.data[i].cnt;
	}
	if (b->s->has_no_times)
		return 0;
	tapir_vec_for_each (point, &b->s->points) {
		/* A counting sort: row_begin[] moves to the row's end, and is put back below. */
		size_t at = b->row_begin[point->row]++;

		b->values[at] = (int64_t)point->value;
		b->times_ns[at] = point->utc_ns;
	}
	for (size_t i = 0; i < rows; i++)
		b->row_begin[i] -= b->s->rows.data[i].cnt;
	return 0;
}

/* ---- profiles ------------------------------------------------------------------------------- */

static void set_type(Tapir__Otlp__ValueType *type, enum tapir_otlp_text type_text,
		     enum tapir_otlp_text unit)
{
	tapir__otlp__value_type__init(type);
	type->type_strindex = (int32_t)type_text;
	type->unit_strindex = (int32_t)unit;
}

static void set_types(struct builder *b)
{
	enum tapir_otlp_text unit =
		b->opts->event ? TAPIR_OTLP_TEXT_COUNT : TAPIR_OTLP_TEXT_NANOSECONDS;

	set_type(&b->period_type, TAPIR_OTLP_TEXT_CPU, unit);
	b->types[TAPIR_OTLP_CPU] = b->period_type;
	if (is_counted(b->s, TAPIR_OTLP_CPU))
		set_type(&b->types[TAPIR_OTLP_CPU], TAPIR_OTLP_TEXT_SAMPLES, TAPIR_OTLP_TEXT_COUNT);
	set_type(&b->types[TAPIR_OTLP_OFFCPU], TAPIR_OTLP_TEXT_OFFCPU, TAPIR_OTLP_TEXT_NANOSECONDS);
	set_type(&b->types[TAPIR_OTLP_EVENTS], TAPIR_OTLP_TEXT_EVENTS, TAPIR_OTLP_TEXT_COUNT);
}

static void fill_sample(const struct builder *b, uint32_t row_idx, Tapir__Otlp__Sample *sample)
{
	const struct tapir_otlp_row *row = &b->s->rows.data[row_idx];

	tapir__otlp__sample__init(sample);
	sample->stack_index = b->dictionary.stack_idx[row_idx];
	sample->link_index = (int32_t)row->link;
	if (!has_times(b->s, row->kind)) {
		sample->n_values = 1;
		sample->values = b->sums + row_idx;
		return;
	}
	if (!is_counted(b->s, row->kind)) {
		sample->n_values = row->cnt;
		sample->values = b->values + b->row_begin[row_idx];
	}
	sample->timestamps_unix_nano = b->times_ns + b->row_begin[row_idx];
	sample->n_timestamps_unix_nano = row->cnt;
}

/* A thread that has left and never came back has a row without a point. */
static int add_samples(struct builder *b, size_t group, size_t cnt, Tapir__Otlp__Profile *profile)
{
	const uint32_t *rows = b->order + b->group_end[group] - cnt;
	void **samples;
	Tapir__Otlp__Sample *s = tapir_messages__alloc(&b->arena, cnt, sizeof(*s), &samples);

	if (!s)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		if (b->s->rows.data[rows[i]].sum)
			fill_sample(b, rows[i], &s[profile->n_samples++]);
	profile->samples = (Tapir__Otlp__Sample **)samples;
	return 0;
}

/* The period of samples whose periods differ is the mean one. Waits are not samples. */
static void set_period(struct builder *b, enum tapir_otlp_kind kind, Tapir__Otlp__Profile *profile)
{
	uint64_t sum = 0;

	if (kind == TAPIR_OTLP_OFFCPU)
		return;
	profile->period_type = kind == TAPIR_OTLP_CPU ? &b->period_type : &b->types[kind];
	profile->period = kind == TAPIR_OTLP_CPU ? (int64_t)b->s->period : 1;
	if (is_counted(b->s, kind) || !b->s->sample_cnt)
		return;
	for (size_t i = 0; i < b->s->owners.cnt; i++)
		sum += b->s->owners.data[i].sums[kind];
	profile->period = (int64_t)(sum / b->s->sample_cnt);
}

static int fill_profile(struct builder *b, size_t owner, enum tapir_otlp_kind kind,
			Tapir__Otlp__Profile *profile)
{
	uint64_t begin =
		b->s->begin_utc_ns < b->s->first_utc_ns ? b->s->begin_utc_ns : b->s->first_utc_ns;

	tapir__otlp__profile__init(profile);
	profile->sample_type = &b->types[kind];
	profile->time_unix_nano = begin;
	profile->duration_nano = b->s->end_utc_ns > begin ? b->s->end_utc_ns - begin : 0;
	profile->attribute_indices = &b->finding_idx;
	profile->n_attribute_indices = b->dictionary.message.n_attribute_table > 1;
	set_period(b, kind, profile);
	return add_samples(b, owner * TAPIR_OTLP_KIND_CNT + kind,
			   b->s->owners.data[owner].row_cnts[kind], profile);
}

static int add_profiles(struct builder *b, size_t owner, Tapir__Otlp__ScopeProfiles *scope)
{
	void **profiles;
	Tapir__Otlp__Profile *p =
		tapir_messages__alloc(&b->arena, TAPIR_OTLP_KIND_CNT, sizeof(*p), &profiles);
	int err = p ? 0 : -ENOMEM;

	for (int kind = 0; !err && kind < TAPIR_OTLP_KIND_CNT; kind++)
		if (b->s->owners.data[owner].sums[kind] && is_wanted_otlp_kind(b->s, kind))
			err = fill_profile(b, owner, kind, &p[scope->n_profiles++]);
	scope->profiles = (Tapir__Otlp__Profile **)profiles;
	return err;
}

/* ---- resources ------------------------------------------------------------------------------ */

struct attributes {
	Tapir__Otlp__Attribute all[MAX_ATTRIBUTES];
	Tapir__Otlp__Value values[MAX_ATTRIBUTES];
	Tapir__Otlp__Attribute *pointers[MAX_ATTRIBUTES];
	size_t cnt;
};

static Tapir__Otlp__Value *add_attribute(struct attributes *a, const char *key)
{
	size_t i = a->cnt++;

	tapir__otlp__attribute__init(&a->all[i]);
	tapir__otlp__value__init(&a->values[i]);
	a->all[i].key = (char *)key;
	a->all[i].value = &a->values[i];
	a->pointers[i] = &a->all[i];
	return &a->values[i];
}

/* text NULL or "": not known, and left out. */
static int add_otlp_text(struct builder *b, struct attributes *a, const char *key, const char *text)
{
	Tapir__Otlp__Value *value;

	if (!text || !*text)
		return 0;
	value = add_attribute(a, key);
	value->value_case = TAPIR__OTLP__VALUE__VALUE_STRING_VALUE;
	value->string_value = tapir_messages__text(&b->arena, text, strlen(text));
	return value->string_value ? 0 : -ENOMEM;
}

struct said {
	struct builder *b;
	struct attributes *to;
	int err;
};

/* Attributes that tapir knows itself are not taken from the process. */
static void add_said(void *ctx, const struct tapir_otel_attribute *attribute)
{
	struct said *said = ctx;
	char *key = tapir_messages__text(&said->b->arena, attribute->key.data, attribute->key.len);
	struct tapir_sv text;
	Tapir__Otlp__Value *value;

	if (!key)
		said->err = -ENOMEM;
	if (!key || said->to->cnt == MAX_ATTRIBUTES ||
	    !tapir_otel_value__text(attribute->value, &text))
		return;
	for (size_t i = 0; i < said->to->cnt; i++)
		if (!strcmp(said->to->all[i].key, key))
			return;
	value = add_attribute(said->to, key);
	value->value_case = TAPIR__OTLP__VALUE__VALUE_STRING_VALUE;
	value->string_value = tapir_messages__text(&said->b->arena, text.data, text.len);
	if (!value->string_value)
		said->err = -ENOMEM;
}

static int add_resource(struct builder *b, const struct tapir_otlp_owner *owner,
			Tapir__Otlp__ResourceProfiles *out)
{
	struct attributes *a = tapir_arena__alloc(&b->arena, sizeof(*a));
	Tapir__Otlp__Resource *resource = tapir_arena__alloc(&b->arena, sizeof(*resource));
	const char *slash = owner->exe ? strrchr(owner->exe, '/') : NULL;
	struct tapir_container_path of = {};
	struct said said = {.b = b, .to = a};
	Tapir__Otlp__Value *pid;

	if (!a || !resource)
		return -ENOMEM;
	if (owner->cgroup)
		tapir_container_path__of(owner->cgroup, &of);
	tapir__otlp__resource__init(resource);
	pid = add_attribute(a, "process.pid");
	pid->value_case = TAPIR__OTLP__VALUE__VALUE_INT_VALUE;
	pid->int_value = owner->tgid;
	if (add_otlp_text(b, a, "process.executable.name", slash ? slash + 1 : owner->exe) ||
	    add_otlp_text(b, a, "process.executable.path", slash ? owner->exe : NULL) ||
	    add_otlp_text(b, a, "process.title", owner->comm) ||
	    add_otlp_text(b, a, "container.id", of.id) ||
	    add_otlp_text(b, a, "k8s.pod.uid", of.pod_uid) ||
	    add_otlp_text(b, a, "host.name", b->opts->host))
		return -ENOMEM;
	/* The attributes that the process published come last, after those known from outside. */
	(void)tapir_otel_resource__each(owner->resource, add_said, &said);
	if (said.err)
		return said.err;
	resource->attributes = a->pointers;
	resource->n_attributes = a->cnt;
	out->resource = resource;
	return 0;
}

static int add_owner(struct builder *b, size_t owner, Tapir__Otlp__ResourceProfiles *out)
{
	void **scopes;
	Tapir__Otlp__ScopeProfiles *scope =
		tapir_messages__alloc(&b->arena, 1, sizeof(*scope), &scopes);
	int err = scope ? add_resource(b, &b->s->owners.data[owner], out) : -ENOMEM;

	if (err)
		return err;
	tapir__otlp__scope_profiles__init(scope);
	scope->scope = &b->scope;
	out->scope_profiles = (Tapir__Otlp__ScopeProfiles **)scopes;
	out->n_scope_profiles = 1;
	return add_profiles(b, owner, scope);
}

static int by_sum(const void *a, const void *b, void *ctx)
{
	const struct tapir_otlp_samples *s = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	for (int kind = 0; kind < TAPIR_OTLP_KIND_CNT; kind++) {
		uint64_t of_x = s->owners.data[x].sums[kind], of_y = s->owners.data[y].sums[kind];

		if (of_x != of_y)
			return of_x < of_y ? 1 : -1;
	}
	return x < y ? -1 : 1;
}

static bool has_sums(const struct tapir_otlp_samples *s, const struct tapir_otlp_owner *owner)
{
	for (int kind = 0; kind < TAPIR_OTLP_KIND_CNT; kind++)
		if (owner->sums[kind] && is_wanted_otlp_kind(s, kind))
			return true;
	return false;
}

static int add_owners(struct builder *b)
{
	size_t cnt = 0;
	uint32_t *order = tapir_arena__alloc(&b->arena, (b->s->owners.cnt + 1) * sizeof(*order));
	void **resources;
	Tapir__Otlp__ResourceProfiles *r =
		tapir_messages__alloc(&b->arena, b->s->owners.cnt, sizeof(*r), &resources);
	int err = 0;

	if (!order || !r)
		return -ENOMEM;
	for (size_t i = 0; i < b->s->owners.cnt; i++)
		if (has_sums(b->s, &b->s->owners.data[i]))
			order[cnt++] = (uint32_t)i;
	qsort_r(order, cnt, sizeof(*order), by_sum, (void *)b->s);
	for (size_t i = 0; !err && i < cnt; i++) {
		tapir__otlp__resource_profiles__init(&r[i]);
		err = add_owner(b, order[i], &r[i]);
	}
	b->data.resource_profiles = (Tapir__Otlp__ResourceProfiles **)resources;
	b->data.n_resource_profiles = cnt;
	return err;
}

int tapir_otlp_profiles__write(const struct tapir_otlp_samples *samples,
			       const struct tapir_otlp_opts *opts, struct tapir_str *out)
{
	struct builder b = {
		.s = samples, .opts = opts, .finding_idx = TAPIR_OTLP_ATTRIBUTE_FINDING};
	int err = tapir_otlp_dictionary__make(&b.dictionary, &b.arena, samples, is_wanted_otlp_kind,
					      opts->event ? opts->event : "cpu", opts->finding);

	tapir__otlp__profiles_data__init(&b.data);
	b.data.dictionary = &b.dictionary.message;
	tapir__otlp__scope__init(&b.scope);
	b.scope.name = (char *)"tapir";
	b.scope.version = (char *)TAPIR_VERSION;
	set_types(&b);
	if (!err)
		err = order_rows(&b);
	if (!err)
		err = order_points(&b);
	if (!err)
		err = add_owners(&b);
	if (!err)
		err = tapir_messages__pack(&b.data.base, out);
	tapir_arena__fini(&b.arena);
	return err;
}
