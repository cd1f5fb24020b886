// SPDX-License-Identifier: GPL-2.0-or-later
/* The bytes of .NET's diagnostics messages, each field at its place; replies whole and cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/dotnet/dotnet_ipc.h"

#define HEADER(size, set, id) "DOTNET_IPC_V1\0" size "\0" set id "\0\0"

/* ---- requests ------------------------------------------------------------------------------- */

static void is_bytes(struct tapir_str *s, int err, const char *expected, size_t len)
{
	assert_int_equal(err, 0);
	assert_int_equal(s->len, len);
	assert_memory_equal(s->data, expected, len);
}
#define IS(err, expected) is_bytes(&s, err, expected, sizeof(expected) - 1)

static void requests_without_payload(void **state)
{
	static const enum tapir_dotnet_command with_payload[] = {
		TAPIR_DOTNET_STOP_TRACING,    TAPIR_DOTNET_COLLECT_TRACING2,
		TAPIR_DOTNET_ATTACH_PROFILER, TAPIR_DOTNET_SET_ENVIRONMENT_VARIABLE,
		TAPIR_DOTNET_ENABLE_PERF_MAP, TAPIR_DOTNET_APPLY_STARTUP_HOOK,
		TAPIR_DOTNET_STARTUP_PROFILER};
	struct tapir_str s = {};

	(void)state;
	IS(tapir_dotnet__put_plain(&s, TAPIR_DOTNET_PROCESS_INFO), HEADER("\x14", "\x04", "\x00"));
	IS(tapir_dotnet__put_plain(&s, TAPIR_DOTNET_RESUME_RUNTIME),
	   HEADER("\x14", "\x04", "\x01"));
	IS(tapir_dotnet__put_plain(&s, TAPIR_DOTNET_PROCESS_INFO2), HEADER("\x14", "\x04", "\x04"));
	IS(tapir_dotnet__put_plain(&s, TAPIR_DOTNET_DISABLE_PERF_MAP),
	   HEADER("\x14", "\x04", "\x06"));
	IS(tapir_dotnet__put_plain(&s, TAPIR_DOTNET_PROCESS_INFO3), HEADER("\x14", "\x04", "\x08"));
	/* a runtime that gets one of these without its payload crashes: there is no such message */
	for (size_t i = 0; i < sizeof(with_payload) / sizeof(with_payload[0]); i++) {
		assert_int_equal(tapir_dotnet__put_plain(&s, with_payload[i]), -EINVAL);
		assert_int_equal(s.len, 0);
	}
	tapir_str__fini(&s);
}

static void requests_with_payload(void **state)
{
	static const uint8_t clsid[16] = "0123456789abcdef";
	struct tapir_str s = {};

	(void)state;
	IS(tapir_dotnet__put_enable_perf_map(&s, TAPIR_DOTNET_PERF_MAP_PERF_MAP),
	   HEADER("\x18", "\x04", "\x05") "\x03\0\0\0");
	IS(tapir_dotnet__put_attach_profiler(&s, 5, clsid, "/p", "xyz", 3),
	   HEADER("\x39", "\x03", "\x01") "\x05\0\0\0"
					  "0123456789abcdef"
					  "\x03\0\0\0/\0p\0\0\0\x03\0\0\0xyz");
	IS(tapir_dotnet__put_attach_profiler(&s, 5, clsid, "/p", NULL, 0),
	   HEADER("\x36", "\x03", "\x01") "\x05\0\0\0"
					  "0123456789abcdef"
					  "\x03\0\0\0/\0p\0\0\0\0\0\0\0");
	IS(tapir_dotnet__put_attach_profiler(&s, 5, clsid, "b\xc3\xa9", NULL, 0),
	   HEADER("\x36", "\x03", "\x01") "\x05\0\0\0"
					  "0123456789abcdef"
					  "\x03\0\0\0b\0\xe9\0\0\0\0\0\0\0");
	/* outside the first plane: two units */
	IS(tapir_dotnet__put_attach_profiler(&s, 5, clsid, "\xf0\x9f\x90\xbe", NULL, 0),
	   HEADER("\x36", "\x03", "\x01") "\x05\0\0\0"
					  "0123456789abcdef"
					  "\x03\0\0\0\x3d\xd8\x3e\xdc\0\0\0\0\0\0");
	IS(tapir_dotnet__put_stop(&s, 0x1122334455667788),
	   HEADER("\x1c", "\x02", "\x01") "\x88\x77\x66\x55\x44\x33\x22\x11");
	tapir_str__fini(&s);
}

#define PROVIDER	"\x34\x12\0\0\0\0\0\0\x04\0\0\0\x02\0\0\0P\0\0\0\x04\0\0\0k\0=\0v\0\0\0"
#define PLAIN_PROVIDER	"\xff\0\0\0\0\0\0\0\x05\0\0\0\x02\0\0\0Q\0\0\0\0\0\0\0"
#define RUNDOWN_KEYWORD "\x39\x01\x02\x80\0\0\0\0"

static void sessions(void **state)
{
	static const uint32_t ids[] = {7, 9};
	struct tapir_dotnet_provider providers[] = {
		{.name = "P", .filter = "k=v", .keywords = 0x1234, .level = 4},
		{.name = "Q", .keywords = 0xff, .level = 5}};
	struct tapir_dotnet_session session = {.buffer_mb = 256,
					       .rundown_keyword = TAPIR_DOTNET_RUNDOWN_KEYWORD,
					       .has_stacks = true,
					       .providers = providers,
					       .provider_cnt = 2};
	struct tapir_str s = {};

	(void)state;
	IS(tapir_dotnet__put_collect(&s, TAPIR_DOTNET_COLLECT_TRACING, &session),
	   HEADER("\x58", "\x02", "\x02") "\0\x01\0\0\x01\0\0\0\x02\0\0\0" PROVIDER PLAIN_PROVIDER);
	IS(tapir_dotnet__put_collect(&s, TAPIR_DOTNET_COLLECT_TRACING2, &session),
	   HEADER("\x59", "\x02",
		  "\x03") "\0\x01\0\0\x01\0\0\0\x01\x02\0\0\0" PROVIDER PLAIN_PROVIDER);
	session.has_stacks = false;
	IS(tapir_dotnet__put_collect(&s, TAPIR_DOTNET_COLLECT_TRACING3, &session),
	   HEADER("\x5a", "\x02",
		  "\x04") "\0\x01\0\0\x01\0\0\0\x01\0\x02\0\0\0" PROVIDER PLAIN_PROVIDER);
	IS(tapir_dotnet__put_collect(&s, TAPIR_DOTNET_COLLECT_TRACING4, &session),
	   HEADER("\x61", "\x02", "\x05") "\0\x01\0\0\x01\0\0\0" RUNDOWN_KEYWORD
					  "\0\x02\0\0\0" PROVIDER PLAIN_PROVIDER);
	providers[0].has_event_filter = providers[0].is_allow_list = true;
	providers[0].event_ids = ids;
	providers[0].event_id_cnt = 2;
	IS(tapir_dotnet__put_collect(&s, TAPIR_DOTNET_COLLECT_TRACING5, &session),
	   HEADER("\x77", "\x02",
		  "\x06") "\0\0\0\0\0\x01\0\0\x01\0\0\0" RUNDOWN_KEYWORD "\0\x02\0\0\0" PROVIDER
			  "\x01\x02\0\0\0\x07\0\0\0\x09\0\0\0" PLAIN_PROVIDER "\0\0\0\0\0");
	/* what an older command cannot say is refused, not dropped */
	assert_int_equal(tapir_dotnet__put_collect(&s, TAPIR_DOTNET_COLLECT_TRACING4, &session),
			 -EINVAL);
	tapir_str__fini(&s);
}

static void what_cannot_be_sent_is_refused(void **state)
{
	static const uint8_t clsid[16] = {0};
	struct tapir_dotnet_provider provider = {.name = "P", .level = 6};
	struct tapir_dotnet_session session = {
		.buffer_mb = 1, .has_stacks = true, .providers = &provider, .provider_cnt = 1};
	struct tapir_str s = {};
	char *big = malloc(40001);

	(void)state;
	memset(big, 'a', 40000);
	big[40000] = '\0';
	assert_int_equal(tapir_dotnet__put_attach_profiler(&s, 5, clsid, big, NULL, 0), -EMSGSIZE);
	assert_int_equal(tapir_dotnet__put_attach_profiler(&s, 5, clsid, "bad \xff", NULL, 0),
			 -EINVAL);
	assert_int_equal(tapir_dotnet__put_attach_profiler(&s, 5, clsid, "", NULL, 0), -EINVAL);
	assert_int_equal(tapir_dotnet__put_enable_perf_map(&s, 0), -EINVAL);
	assert_int_equal(tapir_dotnet__put_enable_perf_map(&s, 4), -EINVAL);
	assert_int_equal(tapir_dotnet__put_collect(&s, TAPIR_DOTNET_COLLECT_TRACING2, &session),
			 -EINVAL);
	provider.level = 5;
	session.buffer_mb = 0;
	assert_int_equal(tapir_dotnet__put_collect(&s, TAPIR_DOTNET_COLLECT_TRACING2, &session),
			 -EINVAL);
	session.buffer_mb = 1;
	session.provider_cnt = 0;
	assert_int_equal(tapir_dotnet__put_collect(&s, TAPIR_DOTNET_COLLECT_TRACING2, &session),
			 -EINVAL);
	assert_int_equal(s.len, 0);
	free(big);
	tapir_str__fini(&s);
}

/* ---- replies -------------------------------------------------------------------------------- */

static size_t reply_of(uint8_t *out, uint8_t id, const void *payload, size_t len)
{
	memcpy(out, "DOTNET_IPC_V1\0", 14);
	out[14] = (uint8_t)(20 + len);
	out[15] = (uint8_t)((20 + len) >> 8);
	out[16] = 0xff;
	out[17] = id;
	out[18] = out[19] = 0;
	memcpy(out + 20, payload, len);
	return 20 + len;
}

/* As .NET 10.0.12 answered, with a shorter command line. */
static const char info3[] =
	"\x01\0\0\0\x9a\x23\0\0\0\0\0\0\xfd\x26\xdd\x38\x49\xf2\x9b\x49\x92\xe2"
	"\x38\x45\0\xd4\x57\xb3\x03\0\0\0/\0x\0\0\0\x06\0\0\0L\0i\0n\0u\0x\0\0\0"
	"\x04\0\0\0x\0\x36\0\x34\0\0\0\x04\0\0\0H\0o\0t\0\0\0\x08\0\0\0"
	"1\0\x30\0.\0\x30\0.\0\x31\0\x32\0\0\0\x0a\0\0\0l\0i\0n\0u\0x\0-\0x\0\x36\0"
	"\x34\0\0\0";
#define INFO3_BYTES (sizeof(info3) - 1)

static int parse_info(const void *payload, size_t len, enum tapir_dotnet_command command,
		      struct tapir_dotnet_process *out)
{
	struct tapir_dotnet_reply reply = {.payload = payload, .len = len};

	return tapir_dotnet__parse_process(&reply, command, out);
}

static void process_infos_are_read(void **state)
{
	struct tapir_dotnet_process p;

	(void)state;
	assert_int_equal(parse_info(info3, INFO3_BYTES, TAPIR_DOTNET_PROCESS_INFO3, &p), 0);
	assert_int_equal(p.pid, 9114);
	assert_int_equal(p.cookie[0], 0xfd);
	assert_string_equal(p.cmdline, "/x");
	assert_string_equal(p.os, "Linux");
	assert_string_equal(p.arch, "x64");
	assert_string_equal(p.entry_assembly, "Hot");
	assert_string_equal(p.version, "10.0.12");
	assert_string_equal(p.rid, "linux-x64");
	tapir_dotnet_process__fini(&p);
	assert_int_equal(
		parse_info(info3 + 4, INFO3_BYTES - 4 - 24, TAPIR_DOTNET_PROCESS_INFO2, &p), 0);
	assert_string_equal(p.version, "10.0.12");
	assert_string_equal(p.rid, "");
	tapir_dotnet_process__fini(&p);
}

static void process_info_cut_or_longer_is_none(void **state)
{
	struct tapir_dotnet_process p;
	uint8_t *copy;

	(void)state;
	for (size_t len = 0; len < INFO3_BYTES; len++) {
		copy = malloc(len + 1); /* its end is the end of what may be read */
		memcpy(copy, info3, len);
		assert_int_equal(parse_info(copy, len, TAPIR_DOTNET_PROCESS_INFO3, &p), -EPROTO);
		free(copy);
	}
	copy = calloc(1, INFO3_BYTES + 1);
	memcpy(copy, info3, INFO3_BYTES);
	assert_int_equal(parse_info(copy, INFO3_BYTES + 1, TAPIR_DOTNET_PROCESS_INFO3, &p),
			 -EPROTO);
	memset(copy + 28, 0xff, 4); /* a text of 4 G units */
	assert_int_equal(parse_info(copy, INFO3_BYTES, TAPIR_DOTNET_PROCESS_INFO3, &p), -EPROTO);
	free(copy);
}

static void messages_are_whole_or_none(void **state)
{
	struct tapir_dotnet_reply reply;
	uint8_t bytes[64];
	size_t len = reply_of(bytes, 0, "\x2a\0\0\0\0\0\0\0", 8);
	uint64_t session;
	uint32_t code;

	(void)state;
	assert_int_equal(tapir_dotnet__parse_reply(bytes, len, &reply), 0);
	assert_int_equal(tapir_dotnet__parse_session(&reply, &session), 0);
	assert_int_equal(session, 42);
	assert_int_equal(tapir_dotnet__parse_hresult(&reply, &code), -EPROTO);
	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(tapir_dotnet__parse_reply(bytes, cut, &reply), -EPROTO);
	assert_int_equal(tapir_dotnet__parse_reply(bytes, len + 1, &reply), -EPROTO);
	for (size_t i = 0; i < 18; i++) { /* each byte of the header that is looked at */
		uint8_t before = bytes[i];

		bytes[i] ^= 0x41;
		assert_int_equal(tapir_dotnet__parse_reply(bytes, len, &reply), -EPROTO);
		bytes[i] = before;
	}
	len = reply_of(bytes, 0xff, "\x85\x13\x13\x80", 4);
	assert_int_equal(tapir_dotnet__parse_reply(bytes, len, &reply), 0);
	assert_true(reply.is_error && reply.hresult == TAPIR_DOTNET_UNKNOWN_COMMAND);
	assert_int_equal(tapir_dotnet__parse_session(&reply, &session), -EPROTO);
	len = reply_of(bytes, 0xff, "\x85\x13\x13", 3);
	assert_int_equal(tapir_dotnet__parse_reply(bytes, len, &reply), -EPROTO);
}

static void an_advertisement_is_complete_or_none(void **state)
{
	char bytes[TAPIR_DOTNET_ADVERT_BYTES + 1] = "ADVR_V1";

	(void)state;
	assert_int_equal(tapir_dotnet__parse_advert(bytes, TAPIR_DOTNET_ADVERT_BYTES), 0);
	assert_int_equal(tapir_dotnet__parse_advert(bytes, TAPIR_DOTNET_ADVERT_BYTES - 1), -EPROTO);
	assert_int_equal(tapir_dotnet__parse_advert(bytes, TAPIR_DOTNET_ADVERT_BYTES + 1), -EPROTO);
	assert_int_equal(tapir_dotnet__parse_advert(bytes, 0), -EPROTO);
	bytes[7] = ' ';
	assert_int_equal(tapir_dotnet__parse_advert(bytes, TAPIR_DOTNET_ADVERT_BYTES), -EPROTO);
}

static void lone_surrogates_are_replaced(void **state)
{
	static const char info[] = "\x2a\0\0\0\0\0\0\0" /* pid, cookie, command line, OS, machine */
				   "0123456789abcdef"
				   "\x04\0\0\0\x3d\xd8\x41\0\x3e\xdc\0\0"
				   "\x01\0\0\0\0\0"
				   "\x01\0\0\0\0";
	struct tapir_dotnet_process p;

	(void)state;
	assert_int_equal(parse_info(info, sizeof(info), TAPIR_DOTNET_PROCESS_INFO, &p), 0);
	assert_string_equal(p.cmdline, "\xef\xbf\xbd"
				       "A\xef\xbf\xbd");
	tapir_dotnet_process__fini(&p);
}

static void every_error_has_words(void **state)
{
	(void)state;
	assert_string_equal(tapir_dotnet__error_text(TAPIR_DOTNET_PROFILER_ACTIVE),
			    "the limit of profilers is reached (32, or 1 in an older runtime)");
	assert_string_equal(tapir_dotnet__error_text(1), "unknown error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_without_payload),
		cmocka_unit_test(requests_with_payload),
		cmocka_unit_test(sessions),
		cmocka_unit_test(what_cannot_be_sent_is_refused),
		cmocka_unit_test(process_infos_are_read),
		cmocka_unit_test(process_info_cut_or_longer_is_none),
		cmocka_unit_test(messages_are_whole_or_none),
		cmocka_unit_test(lone_surrogates_are_replaced),
		cmocka_unit_test(every_error_has_words),
		cmocka_unit_test(an_advertisement_is_complete_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
