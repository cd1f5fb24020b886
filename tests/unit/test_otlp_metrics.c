// SPDX-License-Identifier: GPL-2.0-or-later
/* Figures as text become messages: each type, labels, and lines that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "otlp.pb-c.h"
#include "output/render/otlp_metrics.h"
#include "output/render/prometheus_text.h"

static Tapir__Otlp__MetricsData *message_of(const char *text, uint64_t *malformed_cnt)
{
	const struct tapir_otlp_metrics_opts opts = {.host = "node1", .utc_ns = 7};
	Tapir__Otlp__MetricsData *message;
	struct tapir_str out = {};

	assert_int_equal(tapir_otlp_metrics__write(text, &opts, &out, malformed_cnt), 0);
	message = tapir__otlp__metrics_data__unpack(NULL, out.len, (const uint8_t *)out.data);
	assert_non_null(message);
	tapir_str__fini(&out);
	return message;
}

static void types_and_labels_stay(void **state)
{
	static const char text[] = "# HELP a_total What it\nis\n# TYPE a_total counter\n"
				   "a_total{pid=\"1\",process=\"x\\\"\\\\n\\ny\"} 5\na_total 0\n"
				   "# TYPE g gauge\ng -1.5\nbare 1e3\n";
	uint64_t malformed_cnt;
	Tapir__Otlp__MetricsData *data = message_of(text, &malformed_cnt);
	Tapir__Otlp__ScopeMetrics *scope = data->resource_metrics[0]->scope_metrics[0];
	Tapir__Otlp__NumberPoint **points;

	(void)state;
	assert_int_equal(malformed_cnt, 1); /* "is" */
	assert_int_equal(data->resource_metrics[0]->resource->n_attributes, 3);
	assert_int_equal(scope->n_metrics, 3);
	assert_string_equal(scope->metrics[0]->name, "a_total");
	assert_string_equal(scope->metrics[0]->description, "What it");
	assert_int_equal(scope->metrics[0]->data_case, TAPIR__OTLP__METRIC__DATA_SUM);
	assert_true(scope->metrics[0]->sum->is_monotonic);
	assert_int_equal(scope->metrics[0]->sum->aggregation_temporality, 2);
	points = scope->metrics[0]->sum->data_points;
	assert_true(points[0]->as_double == 5);
	assert_int_equal(points[0]->time_unix_nano, 7);
	assert_int_equal(points[0]->n_attributes, 2);
	assert_string_equal(points[0]->attributes[1]->key, "process");
	assert_string_equal(points[0]->attributes[1]->value->string_value, "x\"\\n\ny");
	/* 0 is a value, not the lack of one. */
	assert_int_equal(points[1]->value_case, TAPIR__OTLP__NUMBER_POINT__VALUE_AS_DOUBLE);
	assert_int_equal(scope->metrics[1]->data_case, TAPIR__OTLP__METRIC__DATA_GAUGE);
	assert_true(scope->metrics[1]->gauge->data_points[0]->as_double == -1.5);
	assert_int_equal(scope->metrics[2]->data_case, TAPIR__OTLP__METRIC__DATA_GAUGE);
	tapir__otlp__metrics_data__free_unpacked(data, NULL);
}

static void buckets_count_their_own(void **state)
{
	static const char text[] =
		"# TYPE h histogram\n"
		"h_bucket{pid=\"1\",le=\"0.1\"} 2\nh_bucket{pid=\"1\",le=\"1\"} 2\n"
		"h_bucket{pid=\"1\",le=\"+Inf\"} 5\nh_sum{pid=\"1\"} 9.5\n"
		"h_count{pid=\"1\"} 5\nh_bucket{pid=\"2\",le=\"+Inf\"} 1\n"
		"h_count{pid=\"2\"} 1\nh 3\n";
	uint64_t malformed_cnt;
	Tapir__Otlp__MetricsData *data = message_of(text, &malformed_cnt);
	Tapir__Otlp__Metric *metric = data->resource_metrics[0]->scope_metrics[0]->metrics[0];
	Tapir__Otlp__HistogramPoint **points = metric->histogram->data_points;

	(void)state;
	assert_int_equal(malformed_cnt, 1); /* "h 3" */
	assert_int_equal(metric->data_case, TAPIR__OTLP__METRIC__DATA_HISTOGRAM);
	assert_int_equal(metric->histogram->n_data_points, 2);
	assert_int_equal(points[0]->n_bucket_counts, 3);
	assert_int_equal(points[0]->n_explicit_bounds, 2);
	assert_int_equal(points[0]->bucket_counts[0], 2);
	assert_int_equal(points[0]->bucket_counts[1], 0);
	assert_int_equal(points[0]->bucket_counts[2], 3);
	assert_true(points[0]->explicit_bounds[1] == 1);
	assert_int_equal(points[0]->count, 5);
	assert_true(points[0]->sum == 9.5);
	assert_int_equal(points[1]->count, 1);
	assert_int_equal(points[1]->n_explicit_bounds, 0);
	assert_string_equal(points[1]->attributes[0]->value->string_value, "2");
	tapir__otlp__metrics_data__free_unpacked(data, NULL);
}

static void malformed_lines_are_counted(void **state)
{
	static const char *const lines[] = {
		"a",	  "a ",		 "a x",		  "a{ 1",      "a{b} 1",     "a{b=} 1",
		"a{b=\"", "a{b=\"} 1",	 "a{b=\"\\\"} 1", "a{b=\"c\"", "a{b=\"c\"}", "a{b=\"c\"}1",
		" a 1",	  "{b=\"c\"} 1", "a 1 2",	  "# TYPE a",  "# HELP  a",  "a{=\"c\"} 1"};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct tapir_metric_list f = {};

		tapir_metric_list__parse(&f, lines[i]);
		assert_int_equal(f.malformed_cnt, 1);
		assert_int_equal(f.all.cnt, 0);
		assert_false(f.failed);
		tapir_metric_list__fini(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_and_labels_stay),
		cmocka_unit_test(buckets_count_their_own),
		cmocka_unit_test(malformed_lines_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
