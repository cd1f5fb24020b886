// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel counts microseconds, and its averages are left out: a reader makes any of its own. */
#include "record/pressure_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "trace/recbuf.h"

#define TEXT_BYTES 1024u

static const struct {
	const char *path, *line, *name;
} pressures[TAPIR_PRESSURES] = {{"/proc/pressure/cpu", "some", "cpu some"},
				{"/proc/pressure/cpu", "full", "cpu full"},
				{"/proc/pressure/memory", "some", "memory some"},
				{"/proc/pressure/memory", "full", "memory full"},
				{"/proc/pressure/io", "some", "io some"},
				{"/proc/pressure/io", "full", "io full"}};

bool tapir_pressure__parse(const char *text, const char *line, uint64_t *total_us)
{
	size_t len = strlen(line);

	for (; text; text = strchr(text, '\n')) {
		const char *total, *end;
		char number[32];

		text += *text == '\n';
		if (strncmp(text, line, len) != 0 || text[len] != ' ')
			continue;
		total = strstr(text, " total=");
		end = strchrnul(text, '\n');
		if (!total || total > end)
			return false;
		total += strlen(" total=");
		snprintf(number, sizeof(number), "%.*s", (int)(end - total < 24 ? end - total : 24),
			 total);
		return tapir_str__to_u64(number, 0, UINT64_MAX, total_us);
	}
	return false;
}

static bool read_total(unsigned i, uint64_t *total_us)
{
	tapir_autofree char *text = NULL;
	size_t len = 0;

	return !tapir_file__read(pressures[i].path, TEXT_BYTES, &text, &len) &&
	       tapir_pressure__parse(text, pressures[i].line, total_us);
}

static void post(struct tapir_queue *queue, unsigned i, uint64_t added_us, uint64_t interval_ns,
		 uint64_t now_ns)
{
	struct tapir_rec_counter fixed = {.kind = TAPIR_COUNTER_RATE,
					  .value = (double)added_us / 1e3,
					  .interval_ns = interval_ns};
	struct tapir_recbuf buf = {};
	const struct tapir_rec *rec;

	tapir_rec__init(&fixed.h, TAPIR_REC_COUNTER, sizeof(fixed), now_ns);
	rec = tapir_recbuf__counter(&buf, &fixed, tapir_sv__of("pressure"),
				    tapir_sv__of(pressures[i].name), tapir_sv__of("ms"),
				    (struct tapir_sv){});
	if (rec)
		(void)tapir_queue__post(queue, rec, -1);
	tapir_recbuf__fini(&buf);
}

void tapir_pressure_watch__poll(struct tapir_pressure_watch *w, struct tapir_queue *queue,
				uint64_t now_ns, bool must)
{
	bool is_any = false;

	if (!must && w->last_ns && now_ns - w->last_ns < TAPIR_NS_PER_SEC)
		return;
	for (unsigned i = 0; i < TAPIR_PRESSURES; i++) {
		uint64_t total_us, before_us = w->total_us[i];

		if (!read_total(i, &total_us))
			continue;
		is_any = true;
		w->total_us[i] = total_us;
		if (w->last_ns && total_us >= before_us)
			post(queue, i, total_us - before_us, now_ns - w->last_ns, now_ns);
	}
	if (!is_any && !w->has_warned)
		tapir_info("this kernel does not measure pressure (/proc/pressure: boot with "
			   "psi=1)");
	w->has_warned = true;
	w->last_ns = now_ns;
}
