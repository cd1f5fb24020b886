// SPDX-License-Identifier: GPL-2.0-or-later
/* user/decode/counter_text.h: descriptions as libtapir writes them, cut and malformed. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <string.h>

#include "decode/counter_text.h"

struct described {
	struct tapir_rec_metadata rec;
	uint8_t blob[64];
};

/* A histogram "took" (shown as "Took"), of ms, tagged "a:1". */
static struct described make(void)
{
	static const uint16_t lens[] = {4, 4, 2, 3};
	struct described d = {.rec = {.format = TAPIR_METADATA_COUNTER, .blob_bytes = 10 + 13},
			      .blob = {5}};

	memcpy(d.blob + 2, lens, sizeof(lens));
	memcpy(d.blob + 10, "tookTookmsa:1", 13);
	return d;
}

static bool is(struct tapir_sv text, const char *right)
{
	return text.len == strlen(right) && !memcmp(text.data, right, text.len);
}

static void texts_and_type_are_read(void **state)
{
	struct described d = make();
	struct tapir_counter_text text;

	(void)state;
	assert_int_equal(tapir_counter_text__read(&d.rec, &text), 0);
	assert_string_equal(text.type, "histogram");
	assert_true(is(text.name, "took") && is(text.display_name, "Took") && is(text.unit, "ms") &&
		    is(text.tags, "a:1"));
	d.blob[0] = 200; /* of a later version */
	assert_int_equal(tapir_counter_text__read(&d.rec, &text), 0);
	assert_string_equal(text.type, "?");
}

static void malformed_descriptions_are_refused(void **state)
{
	struct described d = make();
	struct tapir_counter_text text = {.type = "untouched"};

	(void)state;
	for (uint32_t bytes = 0; bytes < 10 + 13; bytes++) {
		d.rec.blob_bytes = bytes;
		assert_int_equal(tapir_counter_text__read(&d.rec, &text), -EBADMSG);
	}
	for (size_t i = 0; i < 4; i++) {
		d = make();
		d.blob[2 + 2 * i + 1] = 0xff;
		assert_int_equal(tapir_counter_text__read(&d.rec, &text), -EBADMSG);
	}
	d = make();
	d.rec.format = 2;
	assert_int_equal(tapir_counter_text__read(&d.rec, &text), -EBADMSG);
	assert_string_equal(text.type, "untouched");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_and_type_are_read),
		cmocka_unit_test(malformed_descriptions_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
