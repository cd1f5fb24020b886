// SPDX-License-Identifier: GPL-2.0-or-later
/* Any text as figures; what is made of it can be read again. */
#include <stdlib.h>
#include <string.h>

#include "otlp.pb-c.h"
#include "output/render/otlp_metrics.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct tapir_otlp_metrics_opts opts = {.host = "h", .utc_ns = 1};
	char *text = strndup((const char *)data, size);
	struct tapir_str out = {};
	Tapir__Otlp__MetricsData *message;
	uint64_t malformed_cnt;

	if (!text || tapir_otlp_metrics__write(text, &opts, &out, &malformed_cnt))
		abort();
	message = tapir__otlp__metrics_data__unpack(NULL, out.len, (const uint8_t *)out.data);
	if (!message || message->n_resource_metrics != 1)
		abort();
	tapir__otlp__metrics_data__free_unpacked(message, NULL);
	tapir_str__fini(&out);
	free(text);
	return 0;
}
