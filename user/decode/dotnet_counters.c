// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Values of EventCounters and of System.Diagnostics.Metrics, by the names that .NET gives the
 * fields: they are a contract with dotnet-counters, so they are stable, but .NET 8 added some.
 * Metrics sends numbers as text, formatted invariantly.
 */
#include "decode/dotnet_counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "decode/packed.h"
#include "decode/value_packed.h"

#define NAME_BYTES	512
#define TAGS_BYTES	2048
#define PROBLEM_BYTES	512
#define MAX_QUANTILES	16
#define MAX_INTERVAL_NS (24 * 3600 * 1000000000ull)

static bool is_metrics(const struct tapir_probe_view *probe)
{
	return tapir_sv__is(probe->provider, TAPIR_DOTNET_METRICS);
}

static bool is_source_error(const struct tapir_probe_view *probe)
{
	return !probe->rec->event_id && tapir_sv__is(probe->event, TAPIR_DOTNET_SOURCE_ERROR);
}

bool tapir_dotnet_counters__are_in(const struct tapir_probe_view *probe)
{
	return probe->rec->encoding == TAPIR_ENCODING_PACKED &&
	       (tapir_sv__is(probe->event, TAPIR_DOTNET_EVENTCOUNTERS) || is_metrics(probe) ||
		is_source_error(probe));
}

/* ---- fields -------------------------------------------------------------------------------- */

/* The fields of an event, or those of a struct in it. */
struct fields {
	const struct tapir_value *values;
	unsigned cnt;
};

/* NULL: there is no field of that name, or it is empty. */
static const struct tapir_value *find_field(const struct fields *f, const char *name)
{
	for (unsigned i = 0; i < f->cnt; i++)
		if (tapir_sv__is(f->values[i].name, name))
			return f->values[i].flags & TAPIR_VALUE_ABSENT ? NULL : &f->values[i];
	return NULL;
}

/* The field as UTF-8, cut; empty if it is not text. */
static struct tapir_sv counter_field_text(const struct fields *f, const char *name, char *buf,
					  size_t bytes)
{
	const struct tapir_value *v = find_field(f, name);
	size_t len = v && v->type == TAPIR_FIELD_UTF16 && v->bytes ? v->len : 0;
	struct tapir_sv out = {.data = buf};

	if (len > bytes / 3 * 2)
		len = bytes / 3 * 2;
	if (len)
		out.len = tapir_utf16__to_utf8(v->bytes, len & ~(size_t)1, buf);
	return out;
}

static bool counter_number(const struct fields *f, const char *name, double *out)
{
	const struct tapir_value *v = find_field(f, name);

	if (!v)
		return false;
	switch (v->type) {
	case TAPIR_FIELD_FLOAT:
		*out = v->f64;
		return true;
	case TAPIR_FIELD_INT:
		*out = (double)v->i64;
		return true;
	case TAPIR_FIELD_UINT:
		*out = (double)v->u64;
		return true;
	default:
		return false;
	}
}

/* All of text, as .NET formats numbers invariantly. false: it is empty or not a number. */
static bool to_number(const char *text, size_t len, double *out)
{
	char copy[64], *end;

	if (!len || len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	*out = strtod(copy, &end);
	return end == copy + len;
}

static bool written_number(const struct fields *f, const char *name, double *out)
{
	char buf[3 * 72]; /* what is cut there is too long to be a number */
	struct tapir_sv text = counter_field_text(f, name, buf, sizeof(buf));

	return to_number(text.data, text.len, out);
}

/* A value with a tag more, as dotnet-counters has it. */
static void give_percentile(struct tapir_dotnet_counters *c, struct tapir_dotnet_counter counter,
			    double percent, double value)
{
	char tags[TAGS_BYTES + 64];
	int len = snprintf(tags, sizeof(tags), "%.*s%sPercentile=%.10g", (int)counter.tags.len,
			   counter.tags.data, counter.tags.len ? "," : "", percent);

	counter.tags = (struct tapir_sv){tags, (size_t)len};
	counter.kind = TAPIR_COUNTER_GAUGE;
	counter.value = value;
	c->on_value(c->ctx, &counter);
}

/* ---- EventCounters --------------------------------------------------------------------------- */

#define COUNTER_FIELDS 24u /* of its Payload: there are 9 to 15 */

static uint64_t seconds_to_ns(double seconds)
{
	double ns = seconds * 1e9;

	return ns > 0 && ns < (double)MAX_INTERVAL_NS ? (uint64_t)ns : 0;
}

/* Reads the percentiles of libtapir's histograms (tapir/counter.h). */
static void read_percentiles(struct tapir_dotnet_counters *c,
			     const struct tapir_dotnet_counter *counter, const struct fields *f)
{
	static const struct {
		const char *field;
		double percent;
	} known[] = {{"P50", 50}, {"P95", 95}, {"P99", 99}};
	double value;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (counter_number(f, known[i].field, &value))
			give_percentile(c, *counter, known[i].percent, value);
}

static void read_payload(struct tapir_dotnet_counters *c, const struct tapir_probe_view *probe,
			 const struct fields *f)
{
	char name[NAME_BYTES], unit[NAME_BYTES], tags[TAGS_BYTES];
	struct tapir_dotnet_counter counter = {
		.provider = probe->provider,
		.name = counter_field_text(f, "Name", name, sizeof(name)),
		.unit = counter_field_text(f, "DisplayUnits", unit, sizeof(unit)),
		.tags = counter_field_text(f, "Metadata", tags, sizeof(tags)),
	};
	double seconds = 0;

	if (counter_number(f, "IntervalSec", &seconds))
		counter.interval_ns = seconds_to_ns(seconds);
	if (counter_number(f, "Increment", &counter.value))
		counter.kind = TAPIR_COUNTER_RATE;
	else if (!counter_number(f, "Mean", &counter.value))
		return;
	if (!counter.name.len)
		return;
	c->on_value(c->ctx, &counter);
	read_percentiles(c, &counter, f);
}

static void read_event_counters(struct tapir_dotnet_counters *c,
				const struct tapir_probe_view *probe, const struct fields *event)
{
	const struct tapir_value *payload = find_field(event, "Payload");
	struct tapir_value inside[COUNTER_FIELDS];
	struct fields f = {.values = inside};
	struct tapir_packed_iter iter;

	if (!payload || payload->type != TAPIR_FIELD_STRUCT)
		return;
	tapir_packed_iter__init(&iter, payload);
	while (f.cnt < COUNTER_FIELDS && tapir_packed_iter__next(&iter, &inside[f.cnt]))
		f.cnt++;
	read_payload(c, probe, &f);
}

/* ---- System.Diagnostics.Metrics ---------------------------------------------------------------- */

/* A value of an instrument, and room for its texts. */
struct published {
	struct tapir_dotnet_counters *c;
	const struct fields *f;
	struct tapir_dotnet_counter counter;
	char meter[NAME_BYTES], name[NAME_BYTES], unit[NAME_BYTES], tags[TAGS_BYTES];
};

static void publish_value(struct published *p, enum tapir_counter_kind kind, double value)
{
	p->counter.kind = kind;
	p->counter.value = value;
	p->c->on_value(p->c->ctx, &p->counter);
}

/* The same as "name.suffix", with another unit if it is not NULL. */
static void publish_part(struct published *p, const char *suffix, const char *unit,
			 enum tapir_counter_kind kind, double value)
{
	struct tapir_dotnet_counter whole = p->counter;
	char name[NAME_BYTES + 16];
	int len = snprintf(name, sizeof(name), "%.*s.%s", (int)whole.name.len, whole.name.data,
			   suffix);

	p->counter.name = (struct tapir_sv){name, (size_t)len};
	if (unit)
		p->counter.unit = tapir_sv__of(unit);
	publish_value(p, kind, value);
	p->counter = whole;
}

/* The increment, except in the first report; from .NET 8 on also the sum. */
static void read_counter(struct published *p)
{
	double value;

	if (written_number(p->f, "rate", &value))
		publish_value(p, TAPIR_COUNTER_RATE, value);
	if (written_number(p->f, "value", &value))
		publish_value(p, TAPIR_COUNTER_SUM, value);
}

/* A value that rises and falls: the value, or its change if only that is reported. */
static void read_up_down(struct published *p)
{
	double value;

	if (written_number(p->f, "value", &value))
		publish_value(p, TAPIR_COUNTER_GAUGE, value);
	else if (written_number(p->f, "rate", &value))
		publish_value(p, TAPIR_COUNTER_RATE, value);
}

static void read_gauge(struct published *p)
{
	double value;

	if (written_number(p->f, "lastValue", &value))
		publish_value(p, TAPIR_COUNTER_GAUGE, value);
}

/* "0.95=39" */
static void publish_quantile(struct published *p, const char *text, size_t len)
{
	const char *equals = memchr(text, '=', len);
	size_t key_len = equals ? (size_t)(equals - text) : 0;
	double quantile, value;

	if (equals && to_number(text, key_len, &quantile) &&
	    to_number(equals + 1, len - key_len - 1, &value) && quantile >= 0 && quantile <= 1)
		give_percentile(p->c, p->counter, quantile * 100, value);
}

static void publish_count_and_sum(struct published *p)
{
	double value;

	if (counter_number(p->f, "count", &value))
		publish_part(p, "count", "", TAPIR_COUNTER_RATE, value);
	if (counter_number(p->f, "sum", &value))
		publish_part(p, "sum", NULL, TAPIR_COUNTER_RATE, value);
}

static void read_histogram(struct published *p)
{
	char buf[NAME_BYTES];
	struct tapir_sv text = counter_field_text(p->f, "quantiles", buf, sizeof(buf));
	size_t at = 0;

	publish_count_and_sum(p);
	for (unsigned i = 0; i < MAX_QUANTILES && at < text.len; i++) {
		const char *end = memchr(text.data + at, ';', text.len - at);
		size_t len = end ? (size_t)(end - text.data) - at : text.len - at;

		publish_quantile(p, text.data + at, len);
		at += len + 1;
	}
}

static void read_exponential_histogram(struct published *p)
{
	double value;

	publish_count_and_sum(p);
	if (counter_number(p->f, "minimum", &value))
		publish_part(p, "min", NULL, TAPIR_COUNTER_GAUGE, value);
	if (counter_number(p->f, "maximum", &value))
		publish_part(p, "max", NULL, TAPIR_COUNTER_GAUGE, value);
}

/* "meter.version=2.0,colour=red" */
static struct tapir_sv tags_of(const struct fields *f, char *buf, size_t bytes)
{
	static const char key[] = "meter.version=";
	const size_t key_len = sizeof(key) - 1;
	struct tapir_sv version = counter_field_text(f, "meterVersion", buf + key_len, NAME_BYTES),
			tags;
	size_t len = version.len ? key_len + version.len : 0;

	if (len)
		memcpy(buf, key, key_len);
	tags = counter_field_text(f, "tags", buf + len + (len != 0), bytes - len - 1);
	if (len && tags.len)
		buf[len++] = ',';
	return (struct tapir_sv){buf, len + tags.len};
}

static void read_published(struct tapir_dotnet_counters *c, const struct fields *f,
			   void (*read)(struct published *))
{
	struct published p = {.c = c, .f = f};
	double instrument;

	p.counter.provider = counter_field_text(f, "meterName", p.meter, sizeof(p.meter));
	p.counter.name = counter_field_text(f, "instrumentName", p.name, sizeof(p.name));
	p.counter.unit = counter_field_text(f, "unit", p.unit, sizeof(p.unit));
	p.counter.tags = tags_of(f, p.tags, sizeof(p.tags));
	if (counter_number(f, "instrumentId", &instrument) && instrument > 0)
		p.counter.instrument = (uint64_t)instrument;
	p.counter.interval_ns = c->interval_ns;
	if (p.counter.name.len)
		read(&p);
}

/* Times in hundreds of nanoseconds. */
static void read_start(struct tapir_dotnet_counters *c, const struct fields *f)
{
	const struct tapir_value *from = find_field(f, "intervalStartTime");
	const struct tapir_value *until = find_field(f, "intervalEndTime");

	if (!from || !until || from->type != TAPIR_FIELD_TIME || until->type != TAPIR_FIELD_TIME ||
	    until->u64 <= from->u64 || until->u64 - from->u64 > MAX_INTERVAL_NS / 100)
		return;
	c->interval_ns = (until->u64 - from->u64) * 100;
}

/* ---- what went wrong ---------------------------------------------------------------------------- */

static void report_problem(struct tapir_dotnet_counters *c, const struct tapir_probe_view *probe,
			   const struct fields *f, const char *words, const char *field)
{
	char buf[PROBLEM_BYTES];
	struct tapir_sv text = counter_field_text(f, field, buf, sizeof(buf));
	struct tapir_str problem = {};

	tapir_str__adds(&problem, words);
	tapir_str__add_printable(&problem, text.data, text.len);
	if (problem.data && c->on_problem)
		c->on_problem(c->ctx, probe->provider, problem.data);
	tapir_str__fini(&problem);
}

static bool read_problem(struct tapir_dotnet_counters *c, const struct tapir_probe_view *probe,
			 const struct fields *f)
{
	/*
	 * Events of System.Diagnostics.Metrics, the source of the metrics session, and their
	 * fields.
	 */
	static const struct {
		const char *event, *words, *field;
	} problems[] = {
		{"TimeSeriesLimitReached",
		 "more time series (instruments with their tags) than the 1,000 of a metrics "
		 "session: the excess is missing; name the instruments that are needed, as "
		 "METER/INSTRUMENT",
		 ""},
		{"HistogramLimitReached",
		 "more histograms than the 20 of a metrics session: the excess is missing; name "
		 "the instruments that are needed, as METER/INSTRUMENT",
		 ""},
		{"ObservableInstrumentCallbackError",
		 "an instrument's callback threw: ", "errorMessage"},
		{"Error", "error: ", "errorMessage"},
		{"MultipleSessionsNotSupportedError",
		 "another tool has a metrics session, and a process has only one: ",
		 "runningSessionId"},
		{"MultipleSessionsConfiguredIncorrectlyError",
		 "another tool has a metrics session with a different interval: use the same "
		 "--interval, in seconds: ",
		 "expectedRefreshInterval"},
	};

	for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++) {
		if (!tapir_sv__is(probe->event, problems[i].event))
			continue;
		report_problem(c, probe, f, problems[i].words, problems[i].field);
		return true;
	}
	return false;
}

static bool is_of_session(const struct tapir_dotnet_counters *c, const struct fields *f)
{
	char buf[NAME_BYTES];

	return !c->session ||
	       tapir_sv__is(counter_field_text(f, "sessionId", buf, sizeof(buf)), c->session);
}

static void read_metrics(struct tapir_dotnet_counters *c, const struct tapir_probe_view *probe,
			 const struct fields *f)
{
	static const struct {
		const char *event;
		void (*read)(struct published *);
	} readers[] = {
		{"CounterRateValuePublished", read_counter},
		{"UpDownCounterRateValuePublished", read_up_down},
		{"GaugeValuePublished", read_gauge},
		{"HistogramValuePublished", read_histogram},
		{"Base2ExponentialHistogramValuePublished", read_exponential_histogram},
	};

	if (read_problem(c, probe, f) || !is_of_session(c, f))
		return;
	if (tapir_sv__is(probe->event, "CollectionStart")) {
		read_start(c, f);
		return;
	}
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		if (tapir_sv__is(probe->event, readers[i].event))
			read_published(c, f, readers[i].read);
}

void tapir_dotnet_counters__read(struct tapir_dotnet_counters *c,
				 const struct tapir_probe_view *probe,
				 const struct tapir_value *values, unsigned cnt)
{
	const struct fields f = {.values = values, .cnt = cnt};

	if (is_source_error(probe))
		report_problem(c, probe, &f, "", "message");
	else if (is_metrics(probe) && !tapir_sv__is(probe->event, TAPIR_DOTNET_EVENTCOUNTERS))
		read_metrics(c, probe, &f);
	else if (tapir_sv__is(probe->event, TAPIR_DOTNET_EVENTCOUNTERS))
		read_event_counters(c, probe, &f);
}
