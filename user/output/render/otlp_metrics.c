// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prometheus's families as OTLP metrics. When a counter began is not known, so its points have no
 * start time; buckets that count what is in those before them become buckets that count their own.
 */
#include "output/render/otlp_metrics.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "otlp.pb-c.h"
#include "output/render/messages.h"
#include "output/render/prometheus_text.h"

#define CUMULATIVE 2

struct builder {
	struct tapir_metric_list list;
	struct tapir_arena *arena;
	const struct tapir_otlp_metrics_opts *opts;
};

static int set_attributes(struct builder *b, const struct tapir_figure_label *labels, unsigned cnt,
			  Tapir__Otlp__Attribute ***out, size_t *out_cnt)
{
	void **pointers, **ignored;
	Tapir__Otlp__Attribute *a = tapir_messages__alloc(b->arena, cnt, sizeof(*a), &pointers);
	Tapir__Otlp__Value *values =
		tapir_messages__alloc(b->arena, cnt, sizeof(*values), &ignored);

	if (!a || !values)
		return -ENOMEM;
	for (unsigned i = 0; i < cnt; i++) {
		tapir__otlp__attribute__init(&a[i]);
		tapir__otlp__value__init(&values[i]);
		a[i].key = (char *)labels[i].key;
		a[i].value = &values[i];
		values[i].value_case = TAPIR__OTLP__VALUE__VALUE_STRING_VALUE;
		values[i].string_value = (char *)labels[i].value;
	}
	*out = (Tapir__Otlp__Attribute **)pointers;
	*out_cnt = cnt;
	return 0;
}

/* ---- counters and gauges --------------------------------------------------------------------- */

static int add_numbers(struct builder *b, const struct tapir_figure_family *family,
		       Tapir__Otlp__NumberPoint ***out, size_t *out_cnt)
{
	const struct tapir_figure *list = b->list.all.data + family->first;
	void **points;
	Tapir__Otlp__NumberPoint *p =
		tapir_messages__alloc(b->arena, family->cnt, sizeof(*p), &points);
	int err = p ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < family->cnt; i++) {
		tapir__otlp__number_point__init(&p[i]);
		p[i].time_unix_nano = b->opts->utc_ns;
		p[i].value_case = TAPIR__OTLP__NUMBER_POINT__VALUE_AS_DOUBLE;
		p[i].as_double = list[i].value;
		err = set_attributes(b, list[i].labels, list[i].label_cnt, &p[i].attributes,
				     &p[i].n_attributes);
	}
	*out = (Tapir__Otlp__NumberPoint **)points;
	*out_cnt = family->cnt;
	return err;
}

static int add_gauge(struct builder *b, const struct tapir_figure_family *family,
		     Tapir__Otlp__Metric *metric)
{
	Tapir__Otlp__Gauge *gauge = tapir_arena__alloc(b->arena, sizeof(*gauge));

	if (!gauge)
		return -ENOMEM;
	tapir__otlp__gauge__init(gauge);
	metric->data_case = TAPIR__OTLP__METRIC__DATA_GAUGE;
	metric->gauge = gauge;
	return add_numbers(b, family, &gauge->data_points, &gauge->n_data_points);
}

static int add_sum(struct builder *b, const struct tapir_figure_family *family,
		   Tapir__Otlp__Metric *metric)
{
	Tapir__Otlp__Sum *sum = tapir_arena__alloc(b->arena, sizeof(*sum));

	if (!sum)
		return -ENOMEM;
	tapir__otlp__sum__init(sum);
	sum->aggregation_temporality = CUMULATIVE;
	sum->is_monotonic = true;
	metric->data_case = TAPIR__OTLP__METRIC__DATA_SUM;
	metric->sum = sum;
	return add_numbers(b, family, &sum->data_points, &sum->n_data_points);
}

/* ---- histograms ------------------------------------------------------------------------------ */

static uint64_t whole(double value)
{
	return value >= 1 && value < 1e19 ? (uint64_t)value : 0;
}

/* Buckets that count what is in those before them become buckets that count their own. */
static int fill_point(struct builder *b, const struct tapir_figure *list, size_t cnt,
		      Tapir__Otlp__HistogramPoint *p)
{
	uint64_t before = 0;

	tapir__otlp__histogram_point__init(p);
	p->time_unix_nano = b->opts->utc_ns;
	p->bucket_counts = tapir_arena__alloc(b->arena, (cnt + 1) * sizeof(*p->bucket_counts));
	p->explicit_bounds = tapir_arena__alloc(b->arena, (cnt + 1) * sizeof(*p->explicit_bounds));
	if (!p->bucket_counts || !p->explicit_bounds)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		const struct tapir_figure *f = &list[i];
		uint64_t value = whole(f->value);

		if (f->part == TAPIR_FIGURE_SUM) {
			p->has_sum_case = TAPIR__OTLP__HISTOGRAM_POINT__HAS_SUM_SUM;
			p->sum = f->value;
		} else if (f->part == TAPIR_FIGURE_COUNT) {
			p->count = value;
		} else {
			p->bucket_counts[p->n_bucket_counts++] =
				value > before ? value - before : 0;
			before = value > before ? value : before;
			if (isfinite(f->bound))
				p->explicit_bounds[p->n_explicit_bounds++] = f->bound;
		}
	}
	if (p->n_bucket_counts && p->n_bucket_counts == p->n_explicit_bounds)
		p->n_bucket_counts++; /* without +Inf: nothing is known to be there */
	return set_attributes(b, list->labels, list->label_cnt, &p->attributes, &p->n_attributes);
}

static int add_histogram(struct builder *b, const struct tapir_figure_family *family,
			 Tapir__Otlp__Metric *metric)
{
	const struct tapir_figure *list = b->list.all.data + family->first;
	Tapir__Otlp__Histogram *h = tapir_arena__alloc(b->arena, sizeof(*h));
	void **points;
	Tapir__Otlp__HistogramPoint *p =
		tapir_messages__alloc(b->arena, family->cnt, sizeof(*p), &points);
	int err = h && p ? 0 : -ENOMEM;

	if (err)
		return err;
	tapir__otlp__histogram__init(h);
	h->aggregation_temporality = CUMULATIVE;
	for (size_t i = 0, cnt; !err && i < family->cnt; i += cnt) {
		for (cnt = 1; i + cnt < family->cnt && list[i + cnt].key == list[i].key;)
			cnt++;
		err = fill_point(b, list + i, cnt, &p[h->n_data_points++]);
	}
	h->data_points = (Tapir__Otlp__HistogramPoint **)points;
	metric->data_case = TAPIR__OTLP__METRIC__DATA_HISTOGRAM;
	metric->histogram = h;
	return err;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int add_metrics(struct builder *b, Tapir__Otlp__ScopeMetrics *scope)
{
	const struct tapir_figure_family *family;
	void **metrics;
	Tapir__Otlp__Metric *m =
		tapir_messages__alloc(b->arena, b->list.families.cnt, sizeof(*m), &metrics);
	int err = m ? 0 : -ENOMEM;

	tapir_vec_for_each (family, &b->list.families) {
		Tapir__Otlp__Metric *metric;

		if (err || !family->cnt)
			continue;
		metric = &m[scope->n_metrics];
		metrics[scope->n_metrics++] = metric;
		tapir__otlp__metric__init(metric);
		metric->name = (char *)family->name;
		metric->description = (char *)family->help;
		err = family->is_histogram ? add_histogram(b, family, metric)
		      : family->is_counter ? add_sum(b, family, metric)
					   : add_gauge(b, family, metric);
	}
	scope->metrics = (Tapir__Otlp__Metric **)metrics;
	return err;
}

static int write_message(struct builder *b, struct tapir_str *out)
{
	const struct tapir_figure_label labels[] = {
		{"service.name", "tapir"},
		{"service.version", TAPIR_VERSION},
		{"host.name", b->opts->host},
	};
	Tapir__Otlp__MetricsData data = TAPIR__OTLP__METRICS_DATA__INIT;
	Tapir__Otlp__ResourceMetrics of = TAPIR__OTLP__RESOURCE_METRICS__INIT, *all_of = &of;
	Tapir__Otlp__ScopeMetrics scope = TAPIR__OTLP__SCOPE_METRICS__INIT, *scopes = &scope;
	Tapir__Otlp__Resource resource = TAPIR__OTLP__RESOURCE__INIT;
	Tapir__Otlp__Scope name = TAPIR__OTLP__SCOPE__INIT;
	int err = set_attributes(b, labels, b->opts->host && *b->opts->host ? 3 : 2,
				 &resource.attributes, &resource.n_attributes);

	name.name = (char *)"tapir";
	name.version = (char *)TAPIR_VERSION;
	scope.scope = &name;
	of.resource = &resource;
	of.scope_metrics = &scopes;
	of.n_scope_metrics = 1;
	data.resource_metrics = &all_of;
	data.n_resource_metrics = 1;
	if (!err)
		err = add_metrics(b, &scope);
	return err ? err : tapir_messages__pack(&data.base, out);
}

int tapir_otlp_metrics__write(const char *text, const struct tapir_otlp_metrics_opts *opts,
			      struct tapir_str *out, uint64_t *malformed_cnt)
{
	struct builder b = {.opts = opts};
	int err;

	b.arena = &b.list.arena;
	tapir_metric_list__parse(&b.list, text);
	*malformed_cnt = b.list.malformed_cnt;
	err = b.list.failed ? -ENOMEM : write_message(&b, out);
	tapir_metric_list__fini(&b.list);
	return err;
}
