// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The findings of a recording, from the JSON of `tapir report`. Numbers of more than 63 bits are in
 * it: read as real ones, they are no error.
 */
#include "flight/judge.h"

#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "base/child/child_run.h"

bool tapir_flight__judge(void *ctx, int fd, double severity, struct tapir_str *why)
{
	static const char *const argv[] = {"report", "--json", "-", NULL};
	const json_t *list, *f;
	struct tapir_str out = {};
	json_t *report = NULL;
	size_t i;

	(void)ctx;
	/*
	 * A child reads the file: what a recording holds comes from other processes, and a reader
	 * that it makes crash must not be the recorder.
	 */
	if (lseek(fd, 0, SEEK_SET) >= 0 && !tapir_child_run__capture(argv, fd, 0, &out) && out.data)
		report = json_loadb(out.data, out.len, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL,
				    NULL);
	list = json_object_get(report, "findings");
	json_array_foreach(list, i, f)
	{
		const char *text = json_string_value(json_object_get(f, "text"));

		/* Findings are ranked: the first that is severe enough is the reason. */
		if (why->len || !text ||
		    json_number_value(json_object_get(f, "severity")) < severity)
			continue;
		tapir_str__adds(why, "finding (");
		tapir_str__add_printable(why, text, strlen(text));
		tapir_str__adds(why, ")");
	}
	json_decref(report);
	tapir_str__fini(&out);
	return why->len > 0;
}
