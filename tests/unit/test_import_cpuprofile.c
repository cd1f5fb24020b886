// SPDX-License-Identifier: GPL-2.0-or-later
/* CPU profiles of V8 as recordings: whole, cut and strange ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import_case.h"
#include "trace/family.h"

#define FRAME(name)                                                                                \
	"\"callFrame\":{\"functionName\":\"" name "\",\"url\":\"file:///shop.js\","                \
	"\"lineNumber\":3,\"columnNumber\":1}"
#define NODES                                                                                      \
	"{\"nodes\":[{\"id\":1," FRAME(                                                            \
		"(root)") ",\"children\":[2,4]},"                                                  \
			  "{\"id\":2," FRAME(                                                      \
				  "sell") ",\"children\":[3]},"                                    \
					  "{\"id\":3," FRAME("price") "},{\"id\":4," FRAME(        \
						  "(idle)") "}]"
#define TIMES ",\"startTime\":1000,\"endTime\":9000"

static void read_samples(const struct made *made, struct tapir_str *out)
{
	const struct tapir_rec *rec;
	struct tapir_reader *r;

	assert_int_equal(tapir_reader__open_fd(made->fd, "made", &r), 0);
	while (tapir_reader__next(r, &rec) > 0) {
		const struct tapir_rec_sample *sample = (const void *)rec;
		const struct tapir_rec_stack *stack =
			rec->type == TAPIR_REC_SAMPLE
				? tapir_catalog__stack(tapir_reader__catalog(r), sample->stack_id)
				: NULL;

		if (rec->type == TAPIR_REC_SAMPLE)
			tapir_str__addf(
				out, "%llu+%llu frames %u;", (unsigned long long)rec->time_ns,
				(unsigned long long)sample->period, stack ? stack->frame_cnt : 0);
	}
	tapir_reader__close(r);
}

static void expect(const char *json, int err, const char *text)
{
	struct tapir_str seen = {};
	struct made made;

	assert_int_equal(import_bytes(json, strlen(json), &made), err);
	assert_int_equal(tapir_diag__cnt(), err != 0);
	if (!err) {
		read_samples(&made, &seen);
		assert_string_equal(seen.data ? seen.data : "", text);
	}
	tapir_diag__clear();
	tapir_str__fini(&seen);
	close(made.fd);
}

static void samples_have_their_times_and_stacks_and_idle_ones_are_left_out(void **state)
{
	(void)state;
	expect(NODES TIMES ",\"samples\":[3,2,4,3],\"timeDeltas\":[500,1000,1000,2000]}", 0,
	       "1500000+1000000 frames 2;2500000+1000000 frames 1;5500000+0 frames 2;");
}

static void strange_profiles_are_no_crash(void **state)
{
	(void)state;
	expect(NODES TIMES ",\"samples\":[3,99,\"x\",null],\"timeDeltas\":[500]}", 0,
	       "1500000+0 frames 2;");
	expect(NODES TIMES ",\"samples\":[2],\"timeDeltas\":[1e300]}", 0, "1000000+0 frames 1;");
	expect("{\"nodes\":[{\"id\":1," FRAME("a") ",\"children\":[2]},{\"id\":2," FRAME(
		       "b") ",\"children\":[1]}]" TIMES ",\"samples\":[1],\"timeDeltas\":[1]}",
	       0, "1001000+0 frames 512;");
	expect("{\"nodes\":[]}", -EBADMSG, "");
	expect("{\"nodes\":3,\"samples\":[]}", -EBADMSG, "");
	expect(NODES, -EBADMSG, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_have_their_times_and_stacks_and_idle_ones_are_left_out),
		cmocka_unit_test(strange_profiles_are_no_crash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
