// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Values in .NET's events: recorded ones (tests/data/dotnet/counters.tsv), the same cut at each
 * byte, and made-up fields that say nonsense. What a choice of counters asks for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/str.h"
#include "record/counter_choice.h"
#include "decode/dotnet_counters.h"
#include "decode/event_layout.h"
#include "trace/recbuf.h"

#define RECORDED "tests/data/dotnet/counters.tsv" /* tests run at the root of the tree */
#define MAX	 24

/* ---- what is heard -------------------------------------------------------------------------- */

static struct tapir_str heard;

static void on_value(void *ctx, const struct tapir_dotnet_counter *v)
{
	static const char *const kinds[] = {"gauge", "rate", "sum"};

	(void)ctx;
	tapir_str__addf(&heard, "%.*s:%.*s [%.*s] %s %.10g %.*s in %.3f\n", (int)v->provider.len,
			v->provider.data, (int)v->name.len, v->name.data, (int)v->tags.len,
			v->tags.data, kinds[v->kind], v->value, (int)v->unit.len, v->unit.data,
			(double)v->interval_ns / 1e9);
}

static void on_problem(void *ctx, struct tapir_sv provider, const char *problem)
{
	(void)ctx;
	tapir_str__addf(&heard, "%.*s: %s\n", (int)provider.len, provider.data, problem);
}

static struct tapir_dotnet_counters listener(void)
{
	tapir_str__clear(&heard);
	return (struct tapir_dotnet_counters){.on_value = on_value, .on_problem = on_problem};
}

static int forget(void **state)
{
	(void)state;
	tapir_str__fini(&heard);
	heard = (struct tapir_str){};
	return 0;
}

/* ---- recorded events -------------------------------------------------------------------------- */

struct recorded {
	const char *provider, *event;
	unsigned id, version;
	uint8_t blob[2048], payload[2048];
	size_t blob_len, payload_len;
};

static size_t from_hex(const char *hex, uint8_t *out, size_t max)
{
	size_t len = 0;
	unsigned byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2) {
		assert_true(len < max);
		out[len++] = (uint8_t)byte;
	}
	return len;
}

/* len bytes of the payload, in memory of that size: a byte too far is seen by sanitizers. */
static void hear(const struct recorded *r, size_t len, struct tapir_dotnet_counters *c)
{
	struct tapir_rec_probe fixed = {.probe_id = 9,
					.event_id = (uint16_t)r->id,
					.version = (uint8_t)r->version,
					.encoding = TAPIR_ENCODING_PACKED};
	struct tapir_rec_metadata metadata = {.probe_id = 9, .format = 1};
	struct tapir_rec_event ev = {};
	uint8_t *payload = malloc(len + 1);
	struct tapir_event_view event = {.rec = &ev, .payload = payload, .payload_bytes = len};
	struct tapir_recbuf a = {}, b = {};
	struct tapir_event_layout *layout;
	struct tapir_value values[MAX];
	struct tapir_probe_view probe;

	tapir_probe_view__of(tapir_recbuf__probe(&a, &fixed, tapir_sv__of(r->provider),
						 tapir_sv__of(r->event), tapir_sv__of(""),
						 tapir_sv__of(""), NULL, NULL, 0),
			     &probe);
	assert_int_equal(tapir_event_layout__new(
				 &probe,
				 (const void *)tapir_recbuf__metadata(
					 &b, &metadata,
					 (struct tapir_sv){(const char *)r->blob, r->blob_len}),
				 &layout),
			 0);
	assert_true(tapir_dotnet_counters__are_in(&probe));
	memcpy(payload, r->payload, len);
	tapir_dotnet_counters__read(c, &probe, values,
				    tapir_event_layout__decode(layout, &event, values, MAX));
	tapir_event_layout__free(layout);
	tapir_recbuf__fini(&a);
	tapir_recbuf__fini(&b);
	free(payload);
}

static void each_recorded(void (*fn)(const struct recorded *r, void *ctx), void *ctx)
{
	tapir_autofree char *text = NULL;
	char *rest, *line;
	size_t len;

	assert_int_equal(tapir_file__read(RECORDED, 1 << 20, &text, &len), 0);
	for (rest = text; (line = strsep(&rest, "\n"));) {
		struct recorded r = {};

		if (!*line || *line == '#')
			continue;
		r.provider = strsep(&line, "\t");
		r.event = strsep(&line, "\t");
		r.id = (unsigned)atoi(strsep(&line, "\t"));
		r.version = (unsigned)atoi(strsep(&line, "\t"));
		r.blob_len = from_hex(strsep(&line, "\t"), r.blob, sizeof(r.blob));
		r.payload_len = from_hex(line, r.payload, sizeof(r.payload));
		fn(&r, ctx);
	}
}

static void hear_whole(const struct recorded *r, void *ctx)
{
	hear(r, r->payload_len, ctx);
}

static void recorded_events_give_their_values(void **state)
{
	static const char expected[] =
		"MyCompany-Counting:latency [] gauge 12.695 ms in 0.999\n"
		"MyCompany-Counting:orders [] rate 960 orders in 0.985\n"
		"MyCompany-Counting:depth [queue:main] gauge 57 items in 0.999\n"
		"MyCompany.Meter:sold [meter.version=1.2,colour=red] rate 200 {item} in 1.000\n"
		"MyCompany.Meter:sold [meter.version=1.2,colour=red] sum 360 {item} in 1.000\n"
		"MyCompany.Meter:open [meter.version=1.2] gauge 36 {order} in 1.000\n"
		"MyCompany.Meter:temperature [meter.version=1.2] gauge 38.5 Cel in 1.000\n"
		"MyCompany.Meter:took.count [meter.version=1.2,route=/a,b=c] rate 320  in 1.000\n"
		"MyCompany.Meter:took.sum [meter.version=1.2,route=/a,b=c] rate 6560 ms in 1.000\n"
		"MyCompany.Meter:took [meter.version=1.2,route=/a,b=c,Percentile=50] gauge 21 ms in 1.000\n"
		"MyCompany.Meter:took [meter.version=1.2,route=/a,b=c,Percentile=95] gauge 39 ms in 1.000\n"
		"MyCompany.Meter:took [meter.version=1.2,route=/a,b=c,Percentile=99] gauge 40 ms in 1.000\n"
		"MyCompany-Broken: ERROR: Exception in Command Processing for EventSource "
		"MyCompany-Broken: no such luck\n";
	struct tapir_dotnet_counters c = listener();

	(void)state;
	each_recorded(hear_whole, &c);
	assert_string_equal(heard.data, expected);
}

static void values_of_another_session_are_left_out(void **state)
{
	struct tapir_dotnet_counters c = listener();

	(void)state;
	c.session = "mine";
	each_recorded(hear_whole, &c);
	assert_null(strstr(heard.data, "MyCompany.Meter"));
	assert_non_null(strstr(heard.data, "MyCompany-Counting:depth"));
	assert_int_equal(c.interval_ns, 0);
}

static void hear_cut(const struct recorded *r, void *ctx)
{
	(void)ctx;
	for (size_t len = 0; len < r->payload_len; len++) {
		struct tapir_dotnet_counters c = listener();

		hear(r, len, &c);
	}
}

static void hear_changed(const struct recorded *r, void *ctx)
{
	struct recorded changed = *r;

	(void)ctx;
	for (size_t at = 0; at < r->payload_len; at++) {
		struct tapir_dotnet_counters c = listener();

		changed.payload[at] ^= 0xff;
		hear(&changed, changed.payload_len, &c);
		changed.payload[at] = r->payload[at];
	}
}

static void cut_and_changed_events_give_less_and_harm_nobody(void **state)
{
	(void)state;
	each_recorded(hear_cut, NULL);
	each_recorded(hear_changed, NULL);
}

/* ---- made-up fields ------------------------------------------------------------------------------ */

struct made {
	struct tapir_value values[MAX];
	uint8_t text[MAX][8192];
	unsigned cnt;
};

static void add_text(struct made *m, const char *name, const char *text)
{
	uint8_t *out = m->text[m->cnt];
	size_t len = strlen(text);

	assert_true(2 * len <= sizeof(m->text[0]));
	for (size_t i = 0; i < len; i++)
		out[2 * i] = (uint8_t)text[i];
	m->values[m->cnt++] = (struct tapir_value){.name = tapir_sv__of(name),
						   .type = TAPIR_FIELD_UTF16,
						   .bytes = out,
						   .len = 2 * len};
}

static void hear_made(const struct made *m, const char *event)
{
	struct tapir_dotnet_counters c = listener();
	struct tapir_rec_probe fixed = {.encoding = TAPIR_ENCODING_PACKED, .event_id = 4};
	struct tapir_probe_view probe = {.rec = &fixed,
					 .provider = tapir_sv__of(TAPIR_DOTNET_METRICS),
					 .event = tapir_sv__of(event)};

	tapir_str__adds(&heard, "");
	tapir_dotnet_counters__read(&c, &probe, m->values, m->cnt);
}

static void make_instrument(struct made *m, const char *name)
{
	memset(m, 0, sizeof(*m));
	add_text(m, "meterName", "M");
	add_text(m, "instrumentName", name);
}

static void numbers_that_are_none_are_left_out(void **state)
{
	static const char *const none[] = {"",
					   "x",
					   "1x",
					   "1 2",
					   "1,5",
					   "--1",
					   "1e",
					   "11111111111111111111111111111111111"
					   "11111111111111111111111111111111"};
	static struct made m;

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		make_instrument(&m, "n");
		add_text(&m, "lastValue", none[i]);
		hear_made(&m, "GaugeValuePublished");
		assert_int_equal(heard.len, 0);
	}
	make_instrument(&m, "n");
	add_text(&m, "lastValue", "-1.5E+20");
	hear_made(&m, "GaugeValuePublished");
	assert_string_equal(heard.data, "M:n [] gauge -1.5e+20  in 0.000\n");
}

static void quantiles_that_are_none_are_left_out(void **state)
{
	static struct made m;

	(void)state;
	make_instrument(&m, "n");
	add_text(&m, "quantiles", ";=;0.5;0.5=;=7;2=1;x=1;0.25=0.75;nan=1;0.999=9;");
	hear_made(&m, "HistogramValuePublished");
	assert_string_equal(heard.data, "M:n [Percentile=25] gauge 0.75  in 0.000\n"
					"M:n [Percentile=99.9] gauge 9  in 0.000\n");
}

static void first_versions_of_the_events_give_what_they_have(void **state)
{
	static struct made m;

	(void)state;
	make_instrument(&m, "n");
	add_text(&m, "rate", "-3");
	hear_made(&m, "UpDownCounterRateValuePublished");
	assert_string_equal(heard.data, "M:n [] rate -3  in 0.000\n");
	hear_made(&m, "CounterRateValuePublished");
	assert_string_equal(heard.data, "M:n [] rate -3  in 0.000\n");
}

static void long_texts_are_cut_and_others_missing(void **state)
{
	static struct made m;
	static char name[4096];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	make_instrument(&m, name);
	add_text(&m, "tags", name);
	add_text(&m, "quantiles", "0.5=1");
	hear_made(&m, "HistogramValuePublished");
	assert_true(heard.len > 300 && heard.len < 4096);
	assert_non_null(strstr(heard.data, ",Percentile=50] gauge 1"));
	m.cnt = 0;
	add_text(&m, "lastValue", "1");
	hear_made(&m, "GaugeValuePublished"); /* of no instrument */
	assert_int_equal(heard.len, 0);
	hear_made(&m, "EventCounters"); /* without a Payload */
	assert_int_equal(heard.len, 0);
}

static void meters_of_one_name_are_told_apart(void **state)
{
	static struct made m;

	(void)state;
	make_instrument(&m, "n");
	add_text(&m, "meterVersion", "2.0");
	add_text(&m, "tags", "a=b");
	add_text(&m, "lastValue", "30");
	hear_made(&m, "GaugeValuePublished");
	assert_string_equal(heard.data, "M:n [meter.version=2.0,a=b] gauge 30  in 0.000\n");
	make_instrument(&m, "n");
	add_text(&m, "meterVersion", "1.0");
	add_text(&m, "lastValue", "10");
	hear_made(&m, "GaugeValuePublished");
	assert_string_equal(heard.data, "M:n [meter.version=1.0] gauge 10  in 0.000\n");
}

static void what_went_wrong_is_reported_in_words(void **state)
{
	static struct made m;

	(void)state;
	m.cnt = 0;
	add_text(&m, "errorMessage", "bad\nluck");
	hear_made(&m, "ObservableInstrumentCallbackError");
	assert_non_null(strstr(heard.data, "callback threw: bad\\nluck"));
	hear_made(&m, "TimeSeriesLimitReached");
	assert_non_null(strstr(heard.data, "more time series"));
	hear_made(&m, "HistogramLimitReached");
	assert_non_null(strstr(heard.data, "more histograms"));
	hear_made(&m, "MultipleSessionsNotSupportedError");
	assert_non_null(strstr(heard.data, "another tool has"));
}

/* ---- choices ------------------------------------------------------------------------------------ */

static void choice_becomes_specs_and_judges_values(void **state)
{
	static const struct {
		const char *provider, *rest;
	} expected[] = {
		{"System.Runtime", "*:ev=Event?ou*:Error:EventCounterIntervalSec=0.5"},
		{"My*pany", "*:ev=Event?ou*:Error:EventCounterIntervalSec=0.5"},
		{"System.Diagnostics.Metrics",
		 "System.Diagnostics.Metrics:0x2:Informational:SessionId=SHARED;RefreshInterval="
		 "0.5;Metrics=System.Runtime,My*"},
	};
	struct tapir_counter_choice choice = {.interval_ns = 500000000};
	struct tapir_spec_list specs = {};

	(void)state;
	assert_int_equal(tapir_counter_choice__add(&choice, "System.Runtime/gc-*"), 0);
	assert_int_equal(tapir_counter_choice__add(&choice, "My*pany"), 0);
	assert_int_equal(tapir_counter_choice__add(&choice, "System.Runtime/cpu-usage"), 0);
	assert_int_equal(tapir_counter_choice__add_specs(&choice, &specs), 0);
	assert_int_equal(specs.cnt, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_string_equal(specs.data[i]->provider, expected[i].provider);
		assert_string_equal(specs.data[i]->text, expected[i].rest);
		assert_true(specs.data[i]->is_silent);
		tapir_spec__free(specs.data[i]);
	}
	tapir_vec__fini(&specs);
#define FIND(p, c) tapir_counter_choice__find(&choice, tapir_sv__of(p), tapir_sv__of(c))
	assert_int_equal(FIND("System.Runtime", "gc-heap-size"), 0);
	assert_int_equal(FIND("System.Runtime", "cpu-usage"), 2);
	assert_int_equal(FIND("System.Runtime", "alloc-rate"), -1);
	assert_int_equal(FIND("MyCompany", "anything"), 1);
	tapir_counter_choice__fini(&choice);
}

/* Names as programs choose them: blanks, and a '/' that is written '\\/'. */
static void meters_with_blanks_and_slashes_can_be_named(void **state)
{
	struct tapir_counter_choice choice = {.interval_ns = 500000000};
	struct tapir_spec_list specs = {};

	(void)state;
	assert_int_equal(tapir_counter_choice__add(&choice, "My Meter"), 0);
	assert_int_equal(tapir_counter_choice__add(&choice, "a\\/b/c"), 0);
	assert_int_equal(tapir_counter_choice__add_specs(&choice, &specs), 0);
	assert_int_equal(specs.cnt, 3);
	assert_string_equal(specs.data[0]->provider, "My Meter");
	assert_true(tapir_glob__match(specs.data[1]->provider, "a/b"));
	assert_non_null(strstr(specs.data[2]->args.data[2].value, "My Meter,a*"));
	assert_int_equal(FIND("My Meter", "x"), 0);
	assert_int_equal(FIND("a/b", "c"), 1);
	assert_int_equal(FIND("a", "b/c"), -1);
	for (size_t i = 0; i < specs.cnt; i++)
		tapir_spec__free(specs.data[i]);
	tapir_vec__fini(&specs);
	tapir_counter_choice__fini(&choice);
}

/* So that other instruments do not use up the session's limits. */
static void instruments_are_requested_by_name(void **state)
{
	static const char *const globs[] = {"M/a", "M/took.count", "N/x", "N/y*"};
	struct tapir_counter_choice choice = {.interval_ns = 500000000};
	struct tapir_spec_list specs = {};

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(tapir_counter_choice__add(&choice, globs[i]), 0);
	assert_int_equal(tapir_counter_choice__add_specs(&choice, &specs), 0);
	assert_string_equal(specs.data[2]->args.data[2].value, "M\\a,M\\took.count,M\\took,N");
	for (size_t i = 0; i < specs.cnt; i++)
		tapir_spec__free(specs.data[i]);
	tapir_vec__fini(&specs);
	tapir_counter_choice__fini(&choice);
}

static void choices_that_are_none_are_refused(void **state)
{
	static const char *const bad[] = {"", "/x", "a/", "a:b", "a;b", "a,b", "a=b"};
	struct tapir_counter_choice choice = {};
	char name[200] = {};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(tapir_counter_choice__add(&choice, bad[i]), -EINVAL);
	memset(name, 'x', sizeof(name) - 1);
	assert_int_equal(tapir_counter_choice__add(&choice, name), -EINVAL);
	assert_int_equal(choice.globs.cnt, 0);
	tapir_diag__clear();
}

int main(void)
{
#define CASE(f) cmocka_unit_test_teardown(f, forget)
	const struct CMUnitTest tests[] = {
		CASE(recorded_events_give_their_values),
		CASE(values_of_another_session_are_left_out),
		CASE(cut_and_changed_events_give_less_and_harm_nobody),
		CASE(numbers_that_are_none_are_left_out),
		CASE(quantiles_that_are_none_are_left_out),
		CASE(first_versions_of_the_events_give_what_they_have),
		CASE(long_texts_are_cut_and_others_missing),
		CASE(what_went_wrong_is_reported_in_words),
		CASE(choice_becomes_specs_and_judges_values),
		CASE(meters_with_blanks_and_slashes_can_be_named),
		CASE(instruments_are_requested_by_name),
		CASE(meters_of_one_name_are_told_apart),
		CASE(choices_that_are_none_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
