// SPDX-License-Identifier: GPL-2.0-or-later
/* nettrace files as recordings: a stream of .NET's own, cut and damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import_case.h"

#define REAL "tests/data/dotnet/fire-v4.nettrace"

/* The events of a recording by name. */
static void read_events(const struct made *made, struct tapir_str *out)
{
	const struct tapir_rec *rec;
	struct tapir_reader *r;

	assert_int_equal(tapir_reader__open_fd(made->fd, "made", &r), 0);
	while (tapir_reader__next(r, &rec) > 0) {
		const struct tapir_rec_event *event = (const void *)rec;
		const struct tapir_rec_probe *probe =
			rec->type == TAPIR_REC_EVENT
				? tapir_catalog__probe(tapir_reader__catalog(r), event->probe_id)
				: NULL;
		struct tapir_probe_view view;

		if (!probe)
			continue;
		tapir_probe_view__of(&probe->h, &view);
		tapir_str__addf(out, "%.*s:%.*s;", (int)view.provider.len, view.provider.data,
				(int)view.event.len, view.event.data);
	}
	assert_false(tapir_reader__stats(r)->is_truncated);
	tapir_reader__close(r);
}

static unsigned times(const char *text, const char *word)
{
	unsigned cnt = 0;

	while ((text = strstr(text, word))) {
		text += strlen(word);
		cnt++;
	}
	return cnt;
}

static void a_stream_of_dotnet_has_its_events(void **state)
{
	struct tapir_str seen = {};
	struct made made;
	size_t len;
	char *bytes;

	(void)state;
	assert_int_equal(tapir_file__read(REAL, 1 << 20, &bytes, &len), 0);
	assert_int_equal(import_bytes(bytes, len, &made), 0);
	read_events(&made, &seen);
	assert_string_equal(made.result.format, "nettrace");
	assert_int_equal(made.result.captured[TAPIR_FAMILY_EVENT], 22);
	assert_int_equal(made.result.tail_bytes, 0);
	assert_int_equal(times(seen.data, "MyCompany-Demo:OrderPlaced;"), 20);
	assert_int_equal(times(seen.data, "MyCompany-Demo:StockLow;"), 1);
	assert_int_equal(times(seen.data, "Microsoft-DotNETCore-EventPipe:ProcessInfo;"), 1);
	tapir_str__fini(&seen);
	close(made.fd);
	free(bytes);
}

static void every_cut_is_a_recording_or_one_line(void **state)
{
	(void)state;
	check_cuts(REAL, 0, 1);
}

static void a_damaged_byte_makes_no_unreadable_recording(void **state)
{
	(void)state;
	check_damage(REAL, 0, 1, read_events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_of_dotnet_has_its_events),
		cmocka_unit_test(every_cut_is_a_recording_or_one_line),
		cmocka_unit_test(a_damaged_byte_makes_no_unreadable_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
