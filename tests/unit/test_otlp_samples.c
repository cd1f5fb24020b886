// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows, spans and times of observations, up to the limits and beyond; the shapes of samples, of
 * which readers refuse others. End to end: case_export.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "otlp.pb-c.h"
#include "output/render/otlp_profiles.h"
#include "output/render/otlp_samples.h"

static struct tapir_catalog *catalog;
static uint64_t period;
static struct tapir_otlp_samples s;

static int setup(void **state)
{
	(void)state;
	period = 10;
	catalog = tapir_catalog__new(TAPIR_CATALOG_READ, NULL);
	return catalog ? tapir_otlp_samples__init(&s, catalog, 1000, 5000000) : -1;
}

static int teardown(void **state)
{
	(void)state;
	tapir_otlp_samples__fini(&s);
	tapir_catalog__free(catalog);
	return 0;
}

/* span 0: in none */
static void sample(uint64_t time_ns, uint32_t tgid, uint64_t span)
{
	struct {
		struct tapir_rec_sample rec;
		struct tapir_trace_ids ids;
	} r = {.rec = {.h = {.type = TAPIR_REC_SAMPLE, .size = sizeof(r.rec), .time_ns = time_ns},
		       .tgid = tgid,
		       .tid = tgid,
		       .period = period}};

	if (span) {
		r.rec.h.size = sizeof(r);
		memcpy(r.ids.trace_id, "0123456789abcdef", 16);
		memcpy(r.ids.span_id, &span, sizeof(span));
	}
	assert_int_equal(tapir_otlp_samples__add(&s, &r.rec.h), 0);
}

static void sw(uint64_t time_ns, uint32_t out, uint32_t in, uint64_t span)
{
	struct {
		struct tapir_rec_switch rec;
		struct tapir_trace_ids ids;
	} r = {.rec = {.h = {.type = TAPIR_REC_SWITCH, .size = sizeof(r), .time_ns = time_ns},
		       .out_tgid = out,
		       .out_tid = out,
		       .out_state = out ? 1 : 0,
		       .in_tgid = in,
		       .in_tid = in}};

	memcpy(r.ids.trace_id, "0123456789abcdef", 16);
	memcpy(r.ids.span_id, &span, sizeof(span));
	assert_int_equal(tapir_otlp_samples__add(&s, &r.rec.h), 0);
}

static void samples_of_a_stack_add_up_by_process_and_span(void **state)
{
	(void)state;
	sample(2000, 7, 0);
	sample(3000, 7, 1);
	sample(4000, 7, 1);
	sample(5000, 8, 1);
	assert_int_equal(tapir_otlp_samples__finish(&s), 0);
	assert_int_equal(s.owners.cnt, 2);
	assert_int_equal(s.rows.cnt, 3);
	assert_int_equal(s.links.cnt, 1);
	assert_int_equal(s.points.cnt, 4);
	assert_int_equal(s.rows.data[0].link, 0);
	assert_int_equal(s.rows.data[1].link, 1);
	assert_int_equal(s.rows.data[1].sum, 20);
	assert_int_equal(s.rows.data[1].cnt, 2);
	assert_int_equal(s.owners.data[0].sums[TAPIR_OTLP_CPU], 30);
	assert_int_equal(s.first_utc_ns, 5001000);
	assert_int_equal(s.end_utc_ns, 5004001);
	assert_int_equal(s.skipped_cnt + s.untied, 0);
}

static void wait_belongs_to_the_span_in_which_it_began(void **state)
{
	(void)state;
	sw(2000, 7, 0, 1);
	sw(2500, 8, 7, 2); /* the ids are of the thread that leaves */
	sw(9000, 0, 8, 3);
	sw(9500, 7, 0, 1); /* it does not come back */
	assert_int_equal(tapir_otlp_samples__finish(&s), 0);
	assert_int_equal(s.rows.cnt, 2);
	assert_int_equal(s.links.cnt, 2);
	assert_int_equal(s.rows.data[0].kind, TAPIR_OTLP_OFFCPU);
	assert_int_equal(s.rows.data[0].sum, 500);
	assert_int_equal(s.rows.data[0].link, 1);
	assert_int_equal(s.rows.data[1].sum, 6500);
	assert_int_equal(s.rows.data[1].link, 2);
	assert_int_equal(s.points.data[0].utc_ns, 5001000);
}

static void times_are_left_out_when_there_are_too_many(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < TAPIR_OTLP_MAX_POINTS; i++)
		sample(2000 + i, 7, 0);
	assert_false(s.has_no_times);
	sample(1u << 30, 7, 0);
	sample(1u << 30, 8, 0);
	assert_true(s.has_no_times);
	assert_int_equal(s.points.cnt, 0);
	assert_int_equal(s.rows.data[0].sum, 10ull * (TAPIR_OTLP_MAX_POINTS + 1));
	assert_int_equal(s.rows.data[1].sum, 10);
	assert_int_equal(s.skipped_cnt, 0);
}

static void spans_are_left_out_before_samples_when_there_are_too_many(void **state)
{
	(void)state;
	sample(2000, 7, 0);
	for (uint32_t i = 1; i < TAPIR_OTLP_MAX_ROWS; i++)
		sample(2000, 7, i);
	assert_int_equal(s.untied, 0);
	sample(2000, 7, 3); /* is known */
	assert_int_equal(s.untied, 0);
	sample(2000, 7, TAPIR_OTLP_MAX_ROWS);
	assert_int_equal(s.untied, 1);
	assert_int_equal(s.skipped_cnt, 0);
	assert_int_equal(s.rows.data[0].sum, 20);
	assert_int_equal(s.links.cnt, TAPIR_OTLP_MAX_ROWS - 1);
	sample(2000, 8, 3); /* of another process: there is no row */
	assert_int_equal(s.skipped_cnt, 1);
	assert_int_equal(s.rows.cnt, TAPIR_OTLP_MAX_ROWS);
}

static void processes_are_limited(void **state)
{
	(void)state;
	for (uint32_t i = 0; i <= TAPIR_OTLP_MAX_OWNERS; i++)
		sample(2000, 1 + i, 0);
	assert_int_equal(s.owners.cnt, TAPIR_OTLP_MAX_OWNERS);
	assert_int_equal(s.skipped_cnt, 1);
	sample(2000, 1, 0);
	assert_int_equal(s.skipped_cnt, 1);
}

/* ---- what is written ------------------------------------------------------------------------ */

static Tapir__Otlp__ProfilesData *written(const struct tapir_otlp_opts *opts)
{
	Tapir__Otlp__ProfilesData *data;
	struct tapir_str out = {};

	assert_int_equal(tapir_otlp_samples__finish(&s), 0);
	assert_int_equal(tapir_otlp_profiles__write(&s, opts, &out), 0);
	data = tapir__otlp__profiles_data__unpack(NULL, out.len, (const uint8_t *)out.data);
	assert_non_null(data);
	assert_int_equal(data->n_resource_profiles, 1);
	assert_int_equal(data->resource_profiles[0]->n_scope_profiles, 1);
	tapir_str__fini(&out);
	return data;
}

static const Tapir__Otlp__Profile *profile_in(const Tapir__Otlp__ProfilesData *data, size_t idx,
					      size_t cnt)
{
	const Tapir__Otlp__ScopeProfiles *scope = data->resource_profiles[0]->scope_profiles[0];

	assert_int_equal(scope->n_profiles, cnt);
	return scope->profiles[idx];
}

static void assert_type(const Tapir__Otlp__ProfilesData *data, const Tapir__Otlp__ValueType *type,
			const char *name, const char *unit)
{
	assert_non_null(type);
	assert_string_equal(data->dictionary->string_table[type->type_strindex], name);
	assert_string_equal(data->dictionary->string_table[type->unit_strindex], unit);
}

static void samples_have_times_and_no_values(void **state)
{
	const struct tapir_otlp_opts opts = {.finding = "all is well"};
	const Tapir__Otlp__TableAttribute *finding;
	Tapir__Otlp__ProfilesData *data;
	const Tapir__Otlp__Profile *p;

	(void)state;
	sample(2000, 7, 0);
	sample(3000, 7, 0);
	sw(4000, 7, 0, 1);
	sw(4500, 0, 7, 1);
	data = written(&opts);
	p = profile_in(data, 0, 2);
	assert_type(data, p->sample_type, "samples", "count");
	assert_type(data, p->period_type, "cpu", "nanoseconds");
	assert_int_equal(p->period, 10);
	assert_int_equal(p->n_samples, 1);
	assert_int_equal(p->samples[0]->n_values, 0);
	assert_int_equal(p->samples[0]->n_timestamps_unix_nano, 2);
	p = profile_in(data, 1, 2);
	assert_type(data, p->sample_type, "off_cpu", "nanoseconds");
	assert_null(p->period_type);
	assert_int_equal(p->period, 0);
	assert_int_equal(p->samples[0]->n_values, 1);
	assert_int_equal(p->samples[0]->values[0], 500);
	assert_int_equal(p->samples[0]->n_timestamps_unix_nano, 1);
	assert_int_equal(p->n_attribute_indices, 1);
	finding = data->dictionary->attribute_table[p->attribute_indices[0]];
	assert_string_equal(finding->value->string_value, "all is well");
	tapir__otlp__profiles_data__free_unpacked(data, NULL);
}

/* As with -e cycles, where the kernel adapts them. */
static void samples_whose_periods_differ_are_sums(void **state)
{
	const struct tapir_otlp_opts opts = {.event = "cycles"};
	Tapir__Otlp__ProfilesData *data;
	const Tapir__Otlp__Profile *p;

	(void)state;
	sample(2000, 7, 0);
	period = 30;
	sample(3000, 7, 0);
	sample(4000, 7, 1);
	data = written(&opts);
	p = profile_in(data, 0, 1);
	assert_type(data, p->sample_type, "cycles", "count");
	assert_type(data, p->period_type, "cycles", "count");
	assert_int_equal(p->period, 70 / 3);
	assert_int_equal(p->n_samples, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(p->samples[i]->n_values, 1);
		assert_int_equal(p->samples[i]->n_timestamps_unix_nano, 0);
	}
	assert_int_equal(p->samples[0]->values[0], 40);
	assert_int_equal(p->samples[1]->values[0], 30);
	assert_int_equal(p->n_attribute_indices, 0);
	tapir__otlp__profiles_data__free_unpacked(data, NULL);
}

static void samples_without_times_are_counts(void **state)
{
	const struct tapir_otlp_opts opts = {};
	Tapir__Otlp__ProfilesData *data;
	const Tapir__Otlp__Profile *p;

	(void)state;
	for (uint32_t i = 0; i <= TAPIR_OTLP_MAX_POINTS; i++)
		sample(2000 + i, 7, 0);
	data = written(&opts);
	p = profile_in(data, 0, 1);
	assert_type(data, p->sample_type, "samples", "count");
	assert_int_equal(p->n_samples, 1);
	assert_int_equal(p->samples[0]->n_values, 1);
	assert_int_equal(p->samples[0]->values[0], TAPIR_OTLP_MAX_POINTS + 1);
	assert_int_equal(p->samples[0]->n_timestamps_unix_nano, 0);
	tapir__otlp__profiles_data__free_unpacked(data, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(samples_of_a_stack_add_up_by_process_and_span),
		CASE(wait_belongs_to_the_span_in_which_it_began),
		CASE(times_are_left_out_when_there_are_too_many),
		CASE(spans_are_left_out_before_samples_when_there_are_too_many),
		CASE(processes_are_limited),
		CASE(samples_have_times_and_no_values),
		CASE(samples_whose_periods_differ_are_sums),
		CASE(samples_without_times_are_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
