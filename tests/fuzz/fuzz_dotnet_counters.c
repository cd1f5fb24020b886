// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events that carry counters, whatever is in them: a byte for the event, two for the length of its
 * metadata blob, the blob, the payload. Each value has texts of bounded length.
 */
#include <stdlib.h>
#include <string.h>

#include "decode/dotnet_counters.h"
#include "decode/event_layout.h"
#include "trace/recbuf.h"

#define FIELDS 24u

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void on_value(void *ctx, const struct tapir_dotnet_counter *v)
{
	const struct tapir_sv texts[] = {v->provider, v->name, v->unit, v->tags};

	(void)ctx;
	if (!v->name.len || v->kind > TAPIR_COUNTER_SUM)
		abort();
	for (unsigned i = 0; i < 4; i++) {
		char *copy = malloc(texts[i].len + 1);

		if (texts[i].len > 4096)
			abort();
		memcpy(copy, texts[i].len ? texts[i].data : "", texts[i].len);
		free(copy);
	}
}

static void on_problem(void *ctx, struct tapir_sv provider, const char *problem)
{
	(void)ctx;
	(void)provider;
	if (strlen(problem) > 8192)
		abort();
}

static void read_event(const char *provider, const char *event, struct tapir_sv blob,
		       const uint8_t *payload, size_t len)
{
	struct tapir_rec_probe fixed = {.probe_id = 9, .encoding = TAPIR_ENCODING_PACKED};
	struct tapir_rec_metadata metadata = {.probe_id = 9, .format = 1};
	struct tapir_rec_event ev = {};
	struct tapir_event_view view = {.rec = &ev, .payload = payload, .payload_bytes = len};
	struct tapir_dotnet_counters c = {.on_value = on_value, .on_problem = on_problem};
	struct tapir_recbuf a = {}, b = {};
	struct tapir_event_layout *layout;
	struct tapir_value values[FIELDS];
	struct tapir_probe_view probe;

	tapir_probe_view__of(tapir_recbuf__probe(&a, &fixed, tapir_sv__of(provider),
						 tapir_sv__of(event), tapir_sv__of(""),
						 tapir_sv__of(""), NULL, NULL, 0),
			     &probe);
	if (!tapir_dotnet_counters__are_in(&probe) ||
	    tapir_event_layout__new(
		    &probe, (const void *)tapir_recbuf__metadata(&b, &metadata, blob), &layout))
		abort();
	tapir_dotnet_counters__read(&c, &probe, values,
				    tapir_event_layout__decode(layout, &view, values, FIELDS));
	tapir_event_layout__free(layout);
	tapir_recbuf__fini(&a);
	tapir_recbuf__fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	static const char *const events[][2] = {
		{"My", "EventCounters"},
		{"My", "EventSourceMessage"},
		{TAPIR_DOTNET_METRICS, "CollectionStart"},
		{TAPIR_DOTNET_METRICS, "CounterRateValuePublished"},
		{TAPIR_DOTNET_METRICS, "UpDownCounterRateValuePublished"},
		{TAPIR_DOTNET_METRICS, "GaugeValuePublished"},
		{TAPIR_DOTNET_METRICS, "HistogramValuePublished"},
		{TAPIR_DOTNET_METRICS, "Base2ExponentialHistogramValuePublished"},
		{TAPIR_DOTNET_METRICS, "Error"},
	};
	const char *const *event;
	size_t blob_len;
	uint8_t *payload;

	if (len < 3)
		return 0;
	event = events[input[0] % (sizeof(events) / sizeof(events[0]))];
	blob_len = (size_t)(input[1] | input[2] << 8);
	input += 3;
	len -= 3;
	if (blob_len > len)
		blob_len = len;
	payload = malloc(len - blob_len + 1);
	if (!payload)
		abort();
	memcpy(payload, input + blob_len, len - blob_len);
	read_event(event[0], event[1], (struct tapir_sv){(const char *)input, blob_len}, payload,
		   len - blob_len);
	free(payload);
	return 0;
}
