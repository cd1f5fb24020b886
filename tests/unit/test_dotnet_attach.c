// SPDX-License-Identifier: GPL-2.0-or-later
/* A library placed in, and attached to, .NET processes that are none (fake_dotnet.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <glob.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "fake_dotnet.h"
#include "runtime/dotnet/dotnet_attach.h"
#include "tapir/coreclr.h"

#define MS	      TAPIR_NS_PER_MS
#define LIBRARY_BYTES 100000 /* several pages, not a whole number of them */
#define KEY	      0x1234567890abcdefull

static uint8_t library[LIBRARY_BYTES];

static void answer(struct fake_dotnet *f, uint8_t id, uint32_t code)
{
	static const uint8_t head[] = "DOTNET_IPC_V1\0\x18\0\xff";

	memcpy(f->reply, head, 17);
	f->reply[17] = id;
	f->reply[18] = f->reply[19] = 0;
	memcpy(f->reply + 20, &code, sizeof(code));
	f->reply_len = 24;
}

static int attach(const struct fake_dotnet *f)
{
	const struct tapir_dotnet_opts opts = {
		.tgid = (uint32_t)f->pid, .cancel_fd = -1, .timeout_ns = 800 * MS};
	const struct tapir_dotnet_profiler profiler = {library, LIBRARY_BYTES, KEY};

	return tapir_dotnet__attach_profiler(&opts, &profiler);
}

static void line_has(const char *text)
{
	const char *line = tapir_diag__cnt() ? tapir_diag__line(0) : "none";

	assert_int_equal(tapir_diag__cnt(), 1);
	if (!strstr(line, text))
		fail_msg("no \"%s\" in the line: %s", text, line);
	tapir_diag__clear();
}

static void nothing_is_left(const struct fake_dotnet *f)
{
	static const char *const dirs[] = {"/dev/shm", "/tmp", "/var/tmp", "/run"};
	char pattern[128];
	glob_t found = {};

	for (size_t i = 0; i < 5; i++) {
		snprintf(pattern, sizeof(pattern), "%s/libtapir-coreclr-%llx.so",
			 i < 4 ? dirs[i] : f->dir, KEY);
		assert_int_equal(glob(pattern, 0, NULL, &found), GLOB_NOMATCH);
	}
}

static void refused(struct fake_dotnet *f, uint32_t hresult, int err, const char *text)
{
	answer(f, 0xff, hresult);
	fake_dotnet__start(f);
	assert_int_equal(attach(f), err);
	line_has(text);
	nothing_is_left(f);
}

/* ---- cases ---------------------------------------------------------------------------------- */

static void library_is_there_while_it_is_loaded_and_gone_then(void **state)
{
	struct fake_dotnet *f = *state;
	tapir_autofree char *copy = NULL, *request = NULL;
	struct tapir_coreclr_client client;
	char path[96];
	size_t len = 0;

	f->loads = true;
	answer(f, 0, 0);
	fake_dotnet__start(f);
	assert_int_equal(attach(f), 0);
	snprintf(path, sizeof(path), "%s/loaded", f->dir);
	assert_int_equal(tapir_file__read(path, 1 << 20, &copy, &len), 0);
	assert_int_equal(len, LIBRARY_BYTES);
	assert_memory_equal(copy, library, LIBRARY_BYTES);
	assert_int_equal(tapir_file__read(f->request_path, FAKE_REQUEST_MAX, &request, &len), 0);
	assert_int_equal(request[16] << 8 | request[17], TAPIR_DOTNET_ATTACH_PROFILER);
	memcpy(&client, request + len - sizeof(client), sizeof(client));
	assert_int_equal(client.magic, TAPIR_CORECLR_MAGIC);
	assert_true(client.key == KEY);
	nothing_is_left(f);
	assert_false(tapir_dotnet__has_profiler((uint32_t)f->pid, KEY)); /* it mapped nothing */
}

static void refusals_say_what_can_be_done(void **state)
{
	refused(*state, TAPIR_DOTNET_NOT_SUPPORTED, -EOPNOTSUPP, "NativeAOT");
}

static void full_slots_are_too_many_users(void **state)
{
	refused(*state, TAPIR_DOTNET_PROFILER_ACTIVE, -EUSERS, "limit of profilers");
}

static void starting_runtime_is_to_be_asked_again(void **state)
{
	refused(*state, TAPIR_DOTNET_NOT_YET_AVAILABLE, -EAGAIN, "starting");
}

static void library_that_does_not_load_is_tried_in_every_directory(void **state)
{
	struct fake_dotnet *f = *state;
	tapir_autofree char *requests = NULL;
	size_t len = 0, cnt = 0;

	refused(f, TAPIR_DOTNET_MODULE_NOT_FOUND, -EACCES, "could not load");
	assert_int_equal(tapir_file__read(f->request_path, FAKE_REQUEST_MAX, &requests, &len), 0);
	for (size_t at = 0; at + 20 <= len; cnt++)
		at += (uint8_t)requests[at + 14] | (size_t)(uint8_t)requests[at + 15] << 8;
	assert_true(cnt >= 3);
}

static void silent_one_times_out(void **state)
{
	struct fake_dotnet *f = *state;
	uint64_t begin = tapir_clock__now_ns();

	f->is_silent = true;
	fake_dotnet__start(f);
	assert_int_equal(attach(f), -ETIMEDOUT);
	assert_true(tapir_clock__now_ns() - begin < 20000 * MS);
	line_has("it does not answer");
	nothing_is_left(f);
}

static void one_that_ends_meanwhile_is_reported(void **state)
{
	struct fake_dotnet *f = *state;

	f->dies = true;
	fake_dotnet__start(f);
	assert_int_equal(attach(f), -ECONNRESET);
	line_has("closed the connection");
	nothing_is_left(f);
}

static void stopped_one_is_sent_nothing(void **state)
{
	struct fake_dotnet *f = *state;

	fake_dotnet__start(f);
	kill(f->pid, SIGSTOP);
	waitpid(f->pid, NULL, WUNTRACED);
	assert_int_equal(attach(f), -EAGAIN);
	line_has("it is stopped");
	assert_int_equal(access(f->request_path, F_OK), -1);
	nothing_is_left(f);
	kill(f->pid, SIGCONT);
}

static void diagnostics_off_is_the_reason(void **state)
{
	struct fake_dotnet *f = *state;

	f->is_off = f->is_absent = true;
	fake_dotnet__start(f);
	assert_int_equal(attach(f), -ENOENT);
	line_has("DOTNET_EnableDiagnostics=0");
}

/* However far it comes before there is no descriptor: with which the file is removed, too. */
static void nothing_is_left_when_we_run_out_of_descriptors(void **state)
{
	struct fake_dotnet *f = *state;
	struct rlimit all, few;
	unsigned done_cnt = 0;

	f->loads = true;
	answer(f, 0, 0);
	fake_dotnet__start(f);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	few = all;
	for (few.rlim_cur = 3; few.rlim_cur < 48; few.rlim_cur++) {
		int err;

		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		err = attach(f);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
		tapir_diag__clear();
		nothing_is_left(f);
		done_cnt += !err;
	}
	assert_in_range(done_cnt, 5, 44); /* it is enough at the end, and was not at first */
}

static void file_of_that_name_is_not_written_to(void **state)
{
	struct fake_dotnet *f = *state;
	char path[96];
	struct stat st;
	int fd;

	f->loads = true;
	answer(f, 0, 0);
	snprintf(path, sizeof(path), "/dev/shm/libtapir-coreclr-%llx.so", KEY);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	fake_dotnet__start(f);
	assert_int_equal(attach(f), 0); /* from the next directory */
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(st.st_nlink, 1);
	close(fd);
	unlink(path);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fake_dotnet__setup, fake_dotnet__teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		CASE(library_is_there_while_it_is_loaded_and_gone_then),
		CASE(refusals_say_what_can_be_done),
		CASE(full_slots_are_too_many_users),
		CASE(starting_runtime_is_to_be_asked_again),
		CASE(library_that_does_not_load_is_tried_in_every_directory),
		CASE(silent_one_times_out),
		CASE(one_that_ends_meanwhile_is_reported),
		CASE(stopped_one_is_sent_nothing),
		CASE(diagnostics_off_is_the_reason),
		CASE(nothing_is_left_when_we_run_out_of_descriptors),
		CASE(file_of_that_name_is_not_written_to),
	};

	if (argc == 2 && !strcmp(argv[1], "fake"))
		return fake_dotnet__main();
	for (size_t i = 0; i < sizeof(library); i++)
		library[i] = (uint8_t)(i * 31 + i / 251);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
