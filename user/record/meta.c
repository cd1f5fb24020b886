// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Facts of the machine and the session. A recording is read elsewhere and later, so everything that
 * its interpretation depends on is in the file: the kernel, the number of CPUs, the clock, what was
 * requested.
 */
#include "record/meta.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "trace/catalog.h"
#include "trace/recbuf.h"

#define SPECS_MAX_BYTES 16384

int tapir_meta__post_one(struct tapir_queue *queue, const char *key, const char *value)
{
	struct tapir_recbuf buf = {};
	const struct tapir_rec *rec = tapir_recbuf__meta(&buf, tapir_clock__now_ns(),
							 tapir_sv__of(key), tapir_sv__of(value));
	int err = rec ? tapir_queue__post(queue, rec, -1) : -ENOMEM;

	tapir_recbuf__fini(&buf);
	return err;
}

/* Writes how exact the clock is, as the kernel says. */
static void clock_text(char *text, size_t len)
{
	struct timex clock = {};
	int state = adjtimex(&clock);

	if (state < 0)
		*text = '\0';
	else if (state == TIME_ERROR || clock.status & STA_UNSYNC)
		snprintf(text, len, "unsynchronized");
	else
		snprintf(text, len, "%ld us", clock.maxerror);
}

int tapir_meta__post(struct tapir_queue *queue, const char *command_line)
{
	struct utsname uts = {};
	char cpus[16], clock[32];
	tapir_autofree char *boot = NULL;
	size_t len;
	int err = 0;

	uname(&uts);
	clock_text(clock, sizeof(clock));
	/* Recordings of one boot have the same clock: `tapir merge` compares the ids. */
	if (!tapir_file__read("/proc/sys/kernel/random/boot_id", 64, &boot, &len))
		boot[strcspn(boot, "\n")] = '\0';
	snprintf(cpus, sizeof(cpus), "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	const char *const pairs[][2] = {
		{"tapir.version", TAPIR_VERSION},
		{"kernel", uts.release},
		{"machine", uts.machine},
		{"host", uts.nodename},
		{"cpus", cpus},
		{"command", command_line},
		{TAPIR_META_BOOT, boot},
		{TAPIR_META_SYNC, *clock ? clock : NULL},
	};

	for (size_t i = 0; !err && i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (pairs[i][1])
			err = tapir_meta__post_one(queue, pairs[i][0], pairs[i][1]);
	return err;
}

int tapir_meta__post_specs(struct tapir_queue *queue, const struct tapir_spec_list *specs)
{
	struct tapir_str text = {};
	int err;

	for (size_t i = 0; i < specs->cnt; i++) {
		const char *one = specs->data[i]->text;

		bool is_all = text.len + strlen(one) > SPECS_MAX_BYTES || !strcmp(one, "*");

		tapir_str__adds(&text, i ? "\n" : "");
		for (; *one && !is_all; one++) /* one per line; arguments may have several */
			tapir_str__addc(&text, *one == '\n' ? ' ' : *one);
		if (is_all)
			tapir_str__adds(&text, "*");
		if (is_all)
			break; /* all there is */
	}
	err = text.failed
		      ? -ENOMEM
		      : tapir_meta__post_one(queue, TAPIR_META_SPECS, text.data ? text.data : "");
	tapir_str__fini(&text);
	return err;
}
