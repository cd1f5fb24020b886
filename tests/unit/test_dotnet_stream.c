// SPDX-License-Identifier: GPL-2.0-or-later
/* What a stream is asked for, and asking one that is no runtime (fake_dotnet.h). Real ones:
 * tests/e2e/case_dotnet_stream.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "base/clock.h"
#include "runtime/dotnet/lanes/dotnet_specs.h"
#include "runtime/dotnet/lanes/dotnet_streams.h"
#include "runtime/dotnet/lanes/stream_providers.h"
#include "fake_dotnet.h"
#include "runtime/dotnet/dotnet_stream.h"

#define MS TAPIR_NS_PER_MS

/* ---- providers ------------------------------------------------------------------------------- */

static struct tapir_ring_request ask;
static struct tapir_ring_selection *const selections = ask.all;
static struct tapir_stream_providers providers;

static struct tapir_ring_selection *ask_for(unsigned idx, const char *provider, uint64_t keywords,
					    uint8_t level)
{
	struct tapir_ring_selection *s = &selections[idx];

	*s = (struct tapir_ring_selection){.used = 1, .keywords = keywords, .level = level};
	snprintf(s->provider, sizeof(s->provider), "%s", provider);
	return s;
}

static void give_args(struct tapir_ring_selection *s, const char *spec_text)
{
	struct tapir_spec *spec;

	assert_int_equal(tapir_spec__parse(spec_text, &spec), 0);
	assert_true(tapir_ring_request__add_args(&ask, spec, s));
	tapir_spec__free(spec);
}

static const struct tapir_dotnet_provider *find(const char *name)
{
	for (uint32_t i = 0; i < providers.cnt; i++)
		if (!strcmp(providers.all[i].name, name))
			return &providers.all[i];
	return NULL;
}

static void a_provider_has_one_place_with_all_that_is_asked(void **state)
{
	(void)state;
	tapir_ring_request__clear(&ask);
	ask_for(0, "A", 0x1, 2);
	give_args(ask_for(3, "A", 0x10, 4), "A:::Key=Value");
	ask_for(4, "B", 0, 0);
	tapir_stream_providers__fill(&providers, &ask, NULL, 0);
	assert_int_equal(providers.cnt, 2);
	assert_int_equal(find("A")->keywords, 0x11);
	assert_int_equal(find("A")->level, 4);
	assert_string_equal(find("A")->filter, "Key=Value");
	assert_true(find("B")->keywords == UINT64_MAX);
	assert_int_equal(find("B")->level, 5);
	assert_null(find("B")->filter);
	assert_false(tapir_stream_providers__need_names(&ask));
}

static void a_collection_is_not_forced_by_all_keywords(void **state)
{
	(void)state;
	tapir_ring_request__clear(&ask);
	ask_for(0, "Microsoft-Windows-DotNETRuntime", 0, 0);
	tapir_stream_providers__fill(&providers, &ask, NULL, 0);
	assert_true(providers.all[0].keywords == ~TAPIR_DOTNET_HEAP_COLLECT);
	ask_for(0, "Microsoft-Windows-DotNETRuntime", TAPIR_DOTNET_HEAP_COLLECT, 0);
	tapir_stream_providers__fill(&providers, &ask, NULL, 0);
	assert_true(providers.all[0].keywords == TAPIR_DOTNET_HEAP_COLLECT);
}

/* Not the runtime's own: each of those has a selection with what is asked of it. */
static void a_glob_becomes_what_is_known_by_name(void **state)
{
	const struct tapir_layout_provider sources[] = {{.name = "My-One"}, {.name = "Other"}};

	(void)state;
	tapir_ring_request__clear(&ask);
	ask_for(0, "My-*", 0, 3);
	assert_true(tapir_stream_providers__need_names(&ask));
	tapir_stream_providers__fill(&providers, &ask, sources, 2);
	assert_int_equal(providers.cnt, 1);
	assert_int_equal(find("My-One")->level, 3);
	ask_for(0, "*", 0, 3);
	tapir_stream_providers__fill(&providers, &ask, sources, 2);
	assert_non_null(find("Other"));
	assert_non_null(find("System.Threading.Tasks.TplEventSource"));
	assert_null(find("Microsoft-Windows-DotNETRuntime"));
}

/* ---- the port -------------------------------------------------------------------------------- */

static void reply(struct fake_dotnet *f, uint8_t id, const void *payload, size_t len)
{
	memcpy(f->reply, "DOTNET_IPC_V1\0", 14);
	f->reply[14] = (uint8_t)(20 + len);
	f->reply[16] = 0xff;
	f->reply[17] = id;
	memcpy(f->reply + 20, payload, len);
	f->reply_len = 20 + len;
}

static int open_stream(const struct fake_dotnet *f, struct tapir_dotnet_stream *out)
{
	const struct tapir_dotnet_opts opts = {
		.tgid = (uint32_t)f->pid, .cancel_fd = -1, .timeout_ns = 800 * MS};
	const struct tapir_dotnet_provider one = {.name = "A", .keywords = 1, .level = 5};
	const struct tapir_dotnet_session session = {
		.buffer_mb = 1, .providers = &one, .provider_cnt = 1};
	int err = tapir_dotnet_stream__open(&opts, &session, out);

	tapir_diag__clear();
	return err;
}

/* The ids of the commands that came, in their order. */
static void assert_asked(const struct fake_dotnet *f, const char *ids)
{
	tapir_autofree char *bytes = NULL;
	size_t len, at = 0;

	assert_int_equal(tapir_file__read(f->request_path, 1 << 20, &bytes, &len), 0);
	for (; *ids; ids++) {
		assert_true(at + 20 <= len);
		assert_int_equal(bytes[at + 16], 2);
		assert_int_equal(bytes[at + 17], *ids);
		at += (uint8_t)bytes[at + 14] | (size_t)(uint8_t)bytes[at + 15] << 8;
	}
	assert_int_equal(at, len);
}

static void what_comes_behind_the_reply_is_the_stream(void **state)
{
	static const uint8_t id[8] = {7, 0, 0, 0, 0, 0, 0, 1};
	struct tapir_dotnet_stream stream = {.fd = -1};
	struct fake_dotnet *f = *state;
	char bytes[16];

	reply(f, 0, id, sizeof(id));
	memcpy(f->reply + f->reply_len, "Nettrace", 8);
	f->reply_len += 8;
	fake_dotnet__start(f);
	assert_int_equal(open_stream(f, &stream), 0);
	assert_true(stream.session_id == 0x0100000000000007ull);
	assert_false(stream.has_stacks);
	usleep(20000);
	assert_int_equal(read(stream.fd, bytes, sizeof(bytes)), 8);
	assert_memory_equal(bytes, "Nettrace", 8);
	close(stream.fd);
	assert_asked(f, "\x06");
}

static void an_old_runtime_is_asked_by_older_commands(void **state)
{
	static const uint8_t unknown[4] = {0x85, 0x13, 0x13, 0x80};
	struct tapir_dotnet_stream stream;
	struct fake_dotnet *f = *state;

	reply(f, 0xff, unknown, sizeof(unknown));
	fake_dotnet__start(f);
	assert_int_equal(open_stream(f, &stream), -EREMOTEIO);
	assert_asked(f, "\x06\x05\x04\x03\x02");
}

static void a_refusal_is_not_asked_again(void **state)
{
	static const uint8_t failed[4] = {0x05, 0x40, 0x00, 0x80};
	struct tapir_dotnet_stream stream;
	struct fake_dotnet *f = *state;

	reply(f, 0xff, failed, sizeof(failed));
	fake_dotnet__start(f);
	assert_int_equal(open_stream(f, &stream), -EREMOTEIO);
	assert_asked(f, "\x06");
}

static void one_that_does_not_answer_is_given_up(void **state)
{
	struct tapir_dotnet_stream stream;
	struct fake_dotnet *f = *state;

	f->is_silent = true;
	fake_dotnet__start(f);
	assert_int_equal(open_stream(f, &stream), -ETIMEDOUT);
}

static void start_streaming(struct fake_dotnet *f)
{
	static const uint8_t id[8] = {7};

	reply(f, 0, id, sizeof(id));
	f->keeps_open = true;
	fake_dotnet__start(f);
}

/* 0 when a stream has ended whose place it gets. */
static int open_when_free(struct tapir_dotnet_streams *all, uint32_t tgid)
{
	int err = -EUSERS;

	for (int i = 0; err == -EUSERS && i < 100; i++) {
		usleep(20000);
		err = tapir_dotnet_streams__open(all, tgid, -1);
		tapir_diag__clear();
	}
	return err;
}

static void streams_over_the_limit_are_refused_until_one_ends(void **state)
{
	struct tapir_dotnet_streams_opts opts = {.sz = sizeof(opts), .request = &ask};
	struct tapir_dotnet_streams *all;
	struct tapir_spec_list specs = {};
	struct fake_dotnet *f = *state;
	struct tapir_queue *queue;

	ask_for(0, "My-Shop", 1, 4);
	assert_int_equal(tapir_queue__new(8, &queue), 0);
	opts.queue = queue;
	opts.specs = &specs;
	assert_int_equal(tapir_dotnet_streams__new(&opts, &all), 0);
	start_streaming(f);
	for (unsigned i = 0; i < TAPIR_DOTNET_STREAMS_MAX; i++)
		assert_int_equal(tapir_dotnet_streams__open(all, (uint32_t)f->pid, -1), 0);
	assert_int_equal(tapir_dotnet_streams__open(all, (uint32_t)f->pid, -1), -EUSERS);
	assert_non_null(strstr(tapir_diag__line(0), "the limit of 64 streams is reached"));
	tapir_diag__clear();
	fake_dotnet__teardown(state);
	assert_int_equal(fake_dotnet__setup(state), 0);
	start_streaming(*state);
	f = *state;
	assert_int_equal(open_when_free(all, (uint32_t)f->pid), 0);
	assert_int_equal(tapir_dotnet_streams__process_cnt(all), TAPIR_DOTNET_STREAMS_MAX + 1);
	kill(f->pid, SIGKILL); /* ends its stream */
	tapir_dotnet_streams__free(all);
	tapir_queue__free(queue);
}

#define WITH_FAKE(test)                                                                            \
	cmocka_unit_test_setup_teardown(test, fake_dotnet__setup, fake_dotnet__teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_provider_has_one_place_with_all_that_is_asked),
		cmocka_unit_test(a_collection_is_not_forced_by_all_keywords),
		cmocka_unit_test(a_glob_becomes_what_is_known_by_name),
		WITH_FAKE(what_comes_behind_the_reply_is_the_stream),
		WITH_FAKE(an_old_runtime_is_asked_by_older_commands),
		WITH_FAKE(a_refusal_is_not_asked_again),
		WITH_FAKE(one_that_does_not_answer_is_given_up),
		WITH_FAKE(streams_over_the_limit_are_refused_until_one_ends),
	};

	if (argc > 1 && !strcmp(argv[1], "fake"))
		return fake_dotnet__main();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
