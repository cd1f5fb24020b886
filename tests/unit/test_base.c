// SPDX-License-Identifier: GPL-2.0-or-later
/* user/base: strings, globs, maps, JSON, diagnostics, vectors, files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/json.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

#define CNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- str ------------------------------------------------------------------------------------- */

static void numbers_are_written_whole_at_their_limits(void **state)
{
	struct tapir_str s = {};

	(void)state;
	tapir_str__addu(&s, 0);
	tapir_str__addc(&s, ' ');
	tapir_str__addu(&s, UINT64_MAX);
	tapir_str__addc(&s, ' ');
	tapir_str__addd(&s, INT64_MIN);
	tapir_str__addc(&s, ' ');
	tapir_str__addx(&s, 0);
	tapir_str__addc(&s, ' ');
	tapir_str__addx(&s, UINT64_MAX);
	tapir_str__addf(&s, " %s-%d ", "x", 5);
	tapir_str__add_zeros(&s, 7, 3);
	tapir_str__addc(&s, ' ');
	tapir_str__add_zeros(&s, 1234, 3);
	tapir_str__addc(&s, ' ');
	tapir_str__add_zeros(&s, UINT64_MAX, 99);
	assert_string_equal(s.data, "0 18446744073709551615 -9223372036854775808 0 "
				    "ffffffffffffffff x-5 007 1234 18446744073709551615");
	assert_int_equal(s.len, strlen(s.data));
	tapir_str__clear(&s);
	assert_string_equal(s.data, "");
	tapir_str__fini(&s);
}

static void bytes_are_two_digits_each(void **state)
{
	const uint8_t bytes[] = {0x00, 0x0f, 0xa0, 0xff};
	struct tapir_str s = {};

	(void)state;
	tapir_str__add_hex(&s, bytes, 0);
	assert_int_equal(s.len, 0);
	tapir_str__adds(&s, "id ");
	tapir_str__add_hex(&s, bytes, sizeof(bytes));
	assert_string_equal(s.data, "id 000fa0ff");
	assert_int_equal(s.len, strlen(s.data));
	tapir_str__add_hex(&s, bytes, SIZE_MAX / 2 + 2); /* twice that is 2 */
	assert_true(s.failed);
	assert_string_equal(s.data, "id 000fa0ff");
	tapir_str__fini(&s);
}

static void string_grows_and_fails_without_losing_what_it_has(void **state)
{
	struct tapir_str s = {};

	(void)state;
	for (int i = 0; i < 5000; i++)
		tapir_str__add(&s, "abc", 3);
	assert_int_equal(s.len, 15000);
	assert_int_equal(s.data[15000], 0);
	assert_false(tapir_str__reserve(&s, SIZE_MAX - 100)); /* must not wrap or spin */
	assert_true(s.failed);
	assert_int_equal(s.len, 15000);
	assert_int_equal(s.data[14999], 'c');
	tapir_str__fini(&s);
}

static void nothing_is_added_when_there_is_nothing(void **state)
{
	struct tapir_str s = {};

	(void)state;
	tapir_str__add(&s, NULL, 0);
	tapir_str__add_printable(&s, NULL, 0);
	assert_int_equal(s.len, 0);
	assert_string_equal(s.data, "");
	tapir_str__fini(&s);
}

static void only_shown_characters_are_shown_when_text_is_hostile(void **state)
{
	struct tapir_str s = {};

	(void)state;
	/* U+009B is CSI to a terminal; then bytes that are no UTF-8: lone, overlong, surrogate, cut
	 */
	tapir_str__add_printable(&s, "\xc2\x9b[2J\xc2\xa0\xff\xc0\xaf\xed\xa0\x80\xe2\x82", 15);
	assert_string_equal(s.data,
			    "\\xc2\\x9b[2J\xc2\xa0\\xff\\xc0\\xaf\\xed\\xa0\\x80\\xe2\\x82");
	tapir_str__fini(&s);
}

static void text_that_turns_around_is_escaped(void **state)
{
	struct tapir_str s = {};

	(void)state;
	/* U+202E, U+2066, U+061C, U+FEFF, U+FFFE; then an accent, a CJK sign and an emoji that stay
	 */
	tapir_str__add_printable(
		&s, "\xe2\x80\xae|\xe2\x81\xa6|\xd8\x9c|\xef\xbb\xbf|\xef\xbf\xbe|", 19);
	assert_string_equal(s.data, "\\xe2\\x80\\xae|\\xe2\\x81\\xa6|\\xd8\\x9c|\\xef\\xbb\\xbf|"
				    "\\xef\\xbf\\xbe|");
	s.len = 0;
	tapir_str__add_printable(&s, "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80", 9);
	assert_string_equal(s.data, "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80");
	tapir_str__fini(&s);
}

static void text_is_safe_for_a_terminal(void **state)
{
	struct tapir_str s = {};

	(void)state;
	tapir_str__add_printable(&s, "a\n\t\x1b[2J\\\x7f\0\xc3\xa9", 12);
	assert_string_equal(s.data, "a\\n\\t\\x1b[2J\\\\\\x7f\\x00\xc3\xa9");
	tapir_str__fini(&s);
}

static void glob_matches_as_a_shell_does(void **state)
{
	static const struct {
		const char *glob, *text;
		bool match;
	} cases[] = {
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "abc", true},
		{"gc__*", "gc__begin", true},
		{"gc__*", "xgc__b", false},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"*b*d", "abcd", true},
		{"*b*d", "abcde", false},
		{"[a-c]x", "bx", true},
		{"[a-c]x", "dx", false},
		{"[!a-c]x", "dx", true},
		{"[!a-c]x", "ax", false},
		{"[]]", "]", true},
		{"[]a]", "a", true},
		{"[a", "[a", true},
		{"[a", "a", false},
		{"\\*", "*", true},
		{"\\*", "a", false},
		{"a\\", "a\\", true},
		{"**a**", "xax", true},
		{"[a-]", "-", true},
		{"a*", "b", false},
		{"\xc3*", "\xc3\xa9", true},
		{"[\x80-\xff]", "\xc3", true},
		{"[a-\xff]", "z", true},
	};

	(void)state;
	for (size_t i = 0; i < CNT(cases); i++)
		if (tapir_glob__match(cases[i].glob, cases[i].text) != cases[i].match)
			fail_msg("glob '%s' on '%s'", cases[i].glob, cases[i].text);
	assert_true(tapir_glob__is_plain("gc__begin"));
	assert_false(tapir_glob__is_plain("gc\\*"));
}

static void glob_ends_soon_when_it_is_hostile(void **state)
{
	static char glob[2001], text[20001];

	(void)state;
	for (size_t i = 0; i < sizeof(glob) - 1; i += 2)
		memcpy(glob + i, "*a", 2);
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 2] = 'b';
	assert_false(tapir_glob__match(glob, text));
}

static void numbers_are_read_whole_or_not_at_all(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t value;
	} cases[] = {
		{"0", true, 0},	    {"42", true, 42},	{"0x1F", true, 31},
		{"007", true, 7},   {"", false, 0},	{"-1", false, 0},
		{"+1", false, 0},   {" 1", false, 0},	{"1 ", false, 0},
		{"0x", false, 0},   {"1k", false, 0},	{"18446744073709551615", true, UINT64_MAX},
		{"0xg", false, 0},  {"0x-1", false, 0}, {"18446744073709551616", false, 0},
		{"0x 1", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < CNT(cases); i++) {
		uint64_t value = 77;

		if (tapir_str__to_u64(cases[i].text, 0, UINT64_MAX, &value) != cases[i].ok)
			fail_msg("'%s'", cases[i].text);
		assert_int_equal(value, cases[i].ok ? cases[i].value : 77);
	}
	assert_false(tapir_str__to_u64("5", 6, 9, &(uint64_t){0}));
	assert_false(tapir_str__to_u64("10", 6, 9, &(uint64_t){0}));
}

static void distance_counts_edits_up_to_its_limit(void **state)
{
	char longest[200];

	(void)state;
	memset(longest, 'x', sizeof(longest));
	longest[199] = '\0';
	assert_int_equal(tapir_str__distance("", "", 3), 0);
	assert_int_equal(tapir_str__distance("gc__begin", "gc_begin", 3), 1);
	assert_int_equal(tapir_str__distance("kitten", "sitting", 3), 3);
	assert_int_equal(tapir_str__distance("kitten", "sitting", 2), 3);
	assert_int_equal(tapir_str__distance("abc", "", 3), 3);
	assert_int_equal(tapir_str__distance("abcd", "", 3), 4);
	assert_int_equal(tapir_str__distance("x", longest, 3), 4);
	assert_int_equal(tapir_str__distance(longest, longest, 3), 0);
}

/* ---- map, vec ----------------------------------------------------------------------------------
 */

static void pairs_of_small_numbers_have_hashes_of_their_own(void **state)
{
	struct tapir_map m = {};
	bool is_new;

	(void)state;
	for (uint64_t a = 0; a < 300; a++)
		for (uint64_t b = 0; b < 300; b++) {
			tapir_map__put(&m, tapir_hash__mix(a, b), &is_new);
			assert_true(is_new);
		}
	tapir_map__fini(&m);
}

static void map_agrees_with_a_model_over_random_work(void **state)
{
	enum { KEYS = 500 };
	static uint64_t model[KEYS];
	static bool in[KEYS];
	struct tapir_map m = {};
	size_t cnt = 0;

	(void)state;
	srand(3);
	for (int step = 0; step < 200000; step++) {
		unsigned k = (unsigned)rand() % KEYS;
		uint64_t key = k == 0 ? UINT64_MAX : (uint64_t)k << 40, *place;
		bool is_new;

		switch (rand() % 3) {
		case 0:
			place = tapir_map__put(&m, key, &is_new);
			assert_non_null(place);
			assert_int_equal(is_new, !in[k]);
			assert_int_equal(*place, in[k] ? model[k] : 0);
			cnt += is_new;
			in[k] = true;
			*place = model[k] = (uint64_t)step;
			break;
		case 1:
			assert_int_equal(tapir_map__del(&m, key), in[k]);
			cnt -= in[k];
			in[k] = false;
			break;
		default:
			place = tapir_map__get(&m, key);
			assert_int_equal(place != NULL, in[k]);
			assert_true(!place || *place == model[k]);
		}
		assert_int_equal(m.cnt, cnt);
	}
	tapir_map__clear(&m);
	assert_null(tapir_map__get(&m, 1ull << 40));
	tapir_map__fini(&m);
	assert_false(tapir_map__del(&m, 1));
}

static void vector_zeroes_and_keeps_its_elements(void **state)
{
	struct tapir_vec(uint64_t) v = {};
	uint64_t *it, want = 0;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		assert_true(tapir_vec__push(&v, i));
	assert_int_equal(*tapir_vec__add(&v), 0);
	v.cnt--;
	tapir_vec_for_each (it, &v)
		assert_int_equal(*it, want++);
	assert_int_equal(want, 1000);
	tapir_vec__fini(&v);
	assert_int_equal(v.cnt + v.cap, 0);
}

static void first_behind_a_key_is_found_when_there_is_one(void **state)
{
	const struct {
		uint64_t start;
	} elems[] = {{10}, {20}, {20}, {30}};
	static const struct {
		uint64_t key;
		size_t want;
	} cases[] = {{0, 0}, {9, 0}, {10, 1}, {19, 1}, {20, 3}, {29, 3}, {30, 4}, {UINT64_MAX, 4}};

	(void)state;
	for (size_t i = 0; i < CNT(cases); i++)
		assert_int_equal(tapir_sorted__upper_bound(elems, CNT(elems), start, cases[i].key),
				 cases[i].want);
	assert_int_equal(tapir_sorted__upper_bound(elems, 0, start, 5), 0);
}

static void hashes_differ_by_value_length_and_order(void **state)
{
	(void)state;
	assert_int_not_equal(tapir_hash__bytes(0, "a", 1), tapir_hash__bytes(0, "a\0", 2));
	assert_int_not_equal(tapir_hash__bytes(0, "", 0), tapir_hash__bytes(0, "\0", 1));
	assert_int_not_equal(tapir_hash__bytes(0, "12345678ab", 10),
			     tapir_hash__bytes(0, "ab12345678", 10));
	assert_int_equal(tapir_hash__bytes(0, "same", 4), tapir_hash__bytes(0, "same", 4));
}

/* ---- json ---------------------------------------------------------------------------------------
 */

static void json_nests_and_separates(void **state)
{
	struct tapir_str s = {};
	struct tapir_json j = tapir_json__to(&s);

	(void)state;
	tapir_json__open(&j, NULL, '{');
	tapir_json__u64(&j, "u", UINT64_MAX);
	tapir_json__i64(&j, "i", INT64_MIN);
	tapir_json__f64(&j, "f", 0.5);
	tapir_json__f64(&j, "nan", NAN);
	tapir_json__bool(&j, "b", true);
	tapir_json__str(&j, "none", NULL);
	tapir_json__open(&j, "a", '[');
	tapir_json__open(&j, NULL, '{');
	tapir_json__close(&j, '}');
	tapir_json__null(&j, NULL);
	tapir_json__close(&j, ']');
	tapir_json__str(&j, "k\"", "v");
	tapir_json__close(&j, '}');
	assert_string_equal(s.data, "{\"u\":18446744073709551615,\"i\":-9223372036854775808,"
				    "\"f\":0.5,\"nan\":null,\"b\":true,\"none\":null,"
				    "\"a\":[{},null],\"k\\\"\":\"v\"}");
	tapir_str__fini(&s);
}

static void json_strings_parse_whatever_bytes_they_hold(void **state)
{
#define BAD "\xef\xbf\xbd"
	static const struct {
		const char *bytes;
		size_t len;
		const char *want;
	} cases[] = {
		{"", 0, ""},
		{"a\"b\\c", 5, "a\\\"b\\\\c"},
		{"\b\t\n\v\f\r\x1f\x7f", 8, "\\b\\t\\n\\u000b\\f\\r\\u001f\\u007f"},
		{"\0", 1, "\\u0000"},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"\xc3", 1, BAD},
		{"\xc3x", 2, BAD "x"},
		{"\xc0\x80", 2, BAD BAD},		  /* overlong NUL */
		{"\xe0\x80\x80", 3, BAD BAD BAD},	  /* overlong */
		{"\xed\xa0\x80", 3, BAD BAD BAD},	  /* a surrogate */
		{"\xf4\x90\x80\x80", 4, BAD BAD BAD BAD}, /* above U+10FFFF */
		{"\xff\xfe", 2, BAD BAD},
		{"\xe2\x82", 2, BAD BAD},
		/* What controls a terminal, turns or breaks text, or is no character. */
		{"\xc2\x9b"
		 "31mx",
		 6, "\\u009b31mx"},
		{"\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8f", 9, "\\u202e\\u2066\\u200f"},
		{"\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf", 9, "\\u2028\\u2029\\ufeff"},
		{"\xef\xbf\xbe\xf0\x9f\xbf\xbf", 7, "\\ufffe\\ud83f\\udfff"},
	};

	(void)state;
	for (size_t i = 0; i < CNT(cases); i++) {
		struct tapir_str s = {};
		struct tapir_json j = tapir_json__to(&s);

		tapir_json__strn(&j, NULL, cases[i].bytes, cases[i].len);
		assert_int_equal(s.len, strlen(cases[i].want) + 2);
		assert_memory_equal(s.data + 1, cases[i].want, strlen(cases[i].want));
		tapir_str__fini(&s);
	}
}

static void json_of_others_is_escaped_as_ours(void **state)
{
	static const char text[] =
		"{\"n\": \"a\xc2\x9b\xe2\x80\xae\x7f\xc3\xa9\xf0\x9f\x98\x80\\n\"}";
	struct tapir_str s = {};

	(void)state;
	tapir_json__add_document(&s, text, sizeof(text) - 1);
	assert_string_equal(s.data,
			    "{\"n\": \"a\\u009b\\u202e\\u007f\xc3\xa9\xf0\x9f\x98\x80\\n\"}");
	tapir_str__fini(&s);
}

/* ---- diag, file ---------------------------------------------------------------------------------
 */

static void diag_keeps_the_first_lines_and_travels(void **state)
{
	char longest[3000];
	struct tapir_diag *diag;

	(void)state;
	memset(longest, 'x', sizeof(longest));
	longest[2999] = '\0';
	tapir_diag__clear();
	assert_int_equal(tapir_diag__fail(-EPERM, "first: n=%d", 1), -EPERM);
	tapir_diag__add("%s", longest);
	for (int i = 0; i < 50; i++)
		tapir_diag__add("more");
	assert_int_equal(tapir_diag__cnt(), 32);
	assert_string_equal(tapir_diag__line(0), "first: n=1");
	assert_int_equal(strlen(tapir_diag__line(1)), 1023);
	assert_null(tapir_diag__line(32));
	assert_null(tapir_diag__line(-1));
	diag = tapir_diag__take();
	assert_int_equal(tapir_diag__cnt(), 0);
	tapir_diag__give(diag);
	assert_int_equal(tapir_diag__cnt(), 32);
	tapir_diag__give(NULL);
	tapir_diag__clear();
	assert_string_equal(tapir_errno__name(-ENOENT), "ENOENT");
	assert_string_equal(tapir_errno__name(ENOENT), "ENOENT");
	assert_string_equal(tapir_errno__name(99999), "unknown error");
	assert_string_equal(tapir_errno__name(INT32_MIN), "unknown error");
}

static void files_are_read_up_to_their_bound(void **state)
{
	char path[] = "/tmp/tapir-base-XXXXXX", block[10000] = {}, *data = NULL;
	int fd = mkstemp(path);
	size_t len = 0;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(tapir_file__write_all(fd, block, sizeof(block)), 0);
	close(fd);
	assert_int_equal(tapir_file__read(path, sizeof(block) - 1, &data, &len), -EFBIG);
	assert_null(data);
	assert_int_equal(tapir_file__read(path, sizeof(block), &data, &len), 0);
	assert_int_equal(len, sizeof(block));
	assert_int_equal(data[len], 0);
	free(data);
	unlink(path);
	assert_int_equal(tapir_file__read(path, 1, &data, &len), -ENOENT);
	assert_int_equal(tapir_file__read("/tmp", 10, &data, &len), -EISDIR);
	assert_int_equal(tapir_file__read("/proc/self/stat", 65536, &data, NULL), 0);
	assert_true(strlen(data) > 10);
	free(data);
}

/* A FIFO without a writer reads as empty; one that a writer keeps open must not block either. */
static void fifo_never_blocks_a_read(void **state)
{
	char path[] = "/tmp/tapir-fifo-XXXXXX", *data = NULL;
	int writer, err;
	size_t len = 1;

	(void)state;
	close(mkstemp(path));
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(tapir_file__read(path, 100, &data, &len), 0);
	assert_int_equal(len, 0);
	free(data);
	writer = open(path, O_RDWR);
	assert_true(writer >= 0);
	err = tapir_file__read(path, 100, &data, &len);
	assert_int_equal(err, -EAGAIN);
	close(writer);
	unlink(path);
}

static void guard_leaves_no_number_of_a_closed_file(void **state)
{
	int kept = open("/dev/null", O_RDONLY | O_CLOEXEC), next;

	(void)state;
	assert_true(kept >= 0);
	tapir_guard__fd(&kept);
	assert_int_equal(kept, -1);
	next = open("/dev/null", O_RDONLY | O_CLOEXEC); /* has its number */
	tapir_guard__fd(&kept);
	assert_int_not_equal(fcntl(next, F_GETFD), -1);
	assert_int_equal(close(next), 0);
}

static void last_quarter_of_descriptors_is_given_back(void **state)
{
	struct rlimit before, limit;
	int low = open("/dev/null", O_RDONLY | O_CLOEXEC), high;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = (struct rlimit){.rlim_cur = 400, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(tapir_file__keep_unless_scarce(-1), -1);
	assert_int_equal(tapir_file__keep_unless_scarce(low), low);
	high = fcntl(low, F_DUPFD_CLOEXEC, 299);
	assert_int_equal(high, 299);
	assert_int_equal(tapir_file__keep_unless_scarce(high), 299);
	assert_int_equal(close(high), 0);
	high = fcntl(low, F_DUPFD_CLOEXEC, 300);
	assert_int_equal(high, 300);
	assert_int_equal(tapir_file__keep_unless_scarce(high), -1);
	assert_int_equal(fcntl(high, F_GETFD), -1); /* it was closed */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(close(low), 0);
}

static void room_for_descriptors_is_counted_and_given_back(void **state)
{
	int first = open("/dev/null", O_RDONLY | O_CLOEXEC), next;
	struct rlimit before, limit;
	unsigned room = 0;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = (struct rlimit){.rlim_cur = 100, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	while (room < 100 && !tapir_file__check_room(room + 1))
		room++;
	assert_in_range(room, 2, 99);
	assert_int_equal(tapir_file__check_room(room + 1), -EMFILE);
	next = fcntl(first, F_DUPFD_CLOEXEC, 0); /* nothing of the above was left open */
	assert_true(next >= 0);
	assert_int_equal(tapir_file__check_room(room), -EMFILE);
	assert_int_equal(tapir_file__check_room(room - 1), 0);
	assert_int_equal(tapir_file__check_room(0), 0);
	assert_int_equal(close(next), 0);
	assert_int_equal(tapir_file__check_room(room), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(close(first), 0);
}

/* ---- clock ------------------------------------------------------------------------------------ */

static void one_time_is_once(void **state)
{
	char text[TAPIR_TIMES_TEXT_BYTES];

	(void)state;
	assert_string_equal(tapir_times__text(0, text), "0 times");
	assert_string_equal(tapir_times__text(1, text), "once");
	assert_string_equal(tapir_times__text(UINT64_MAX, text), "18446744073709551615 times");
}

static void utc_text_is_the_calendar_s(void **state)
{
	const uint64_t last = UINT64_MAX / TAPIR_NS_PER_SEC; /* the year 2554 */
	char text[TAPIR_UTC_TEXT_BYTES], expected[TAPIR_UTC_TEXT_BYTES];

	(void)state;
	for (uint64_t sec = 0; sec < last; sec += 86399 * 3 + sec % 7) {
		time_t when = (time_t)sec;
		struct tm tm;

		assert_non_null(gmtime_r(&when, &tm));
		strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%S", &tm);
		tapir_clock__utc_text(sec * TAPIR_NS_PER_SEC + 999999999, text);
		assert_string_equal(text, expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_shown_characters_are_shown_when_text_is_hostile),
		cmocka_unit_test(numbers_are_written_whole_at_their_limits),
		cmocka_unit_test(bytes_are_two_digits_each),
		cmocka_unit_test(string_grows_and_fails_without_losing_what_it_has),
		cmocka_unit_test(nothing_is_added_when_there_is_nothing),
		cmocka_unit_test(text_that_turns_around_is_escaped),
		cmocka_unit_test(text_is_safe_for_a_terminal),
		cmocka_unit_test(glob_matches_as_a_shell_does),
		cmocka_unit_test(glob_ends_soon_when_it_is_hostile),
		cmocka_unit_test(numbers_are_read_whole_or_not_at_all),
		cmocka_unit_test(distance_counts_edits_up_to_its_limit),
		cmocka_unit_test(pairs_of_small_numbers_have_hashes_of_their_own),
		cmocka_unit_test(map_agrees_with_a_model_over_random_work),
		cmocka_unit_test(vector_zeroes_and_keeps_its_elements),
		cmocka_unit_test(first_behind_a_key_is_found_when_there_is_one),
		cmocka_unit_test(hashes_differ_by_value_length_and_order),
		cmocka_unit_test(json_nests_and_separates),
		cmocka_unit_test(json_strings_parse_whatever_bytes_they_hold),
		cmocka_unit_test(json_of_others_is_escaped_as_ours),
		cmocka_unit_test(diag_keeps_the_first_lines_and_travels),
		cmocka_unit_test(files_are_read_up_to_their_bound),
		cmocka_unit_test(fifo_never_blocks_a_read),
		cmocka_unit_test(guard_leaves_no_number_of_a_closed_file),
		cmocka_unit_test(last_quarter_of_descriptors_is_given_back),
		cmocka_unit_test(room_for_descriptors_is_counted_and_given_back),
		cmocka_unit_test(one_time_is_once),
		cmocka_unit_test(utc_text_is_the_calendar_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
