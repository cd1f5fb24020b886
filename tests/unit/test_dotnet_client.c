// SPDX-License-Identifier: GPL-2.0-or-later
/* Asking fake .NET processes (fake_dotnet.h). Real ones: tests/e2e/case_dotnet.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "fake_dotnet.h"
#include "runtime/dotnet/dotnet_config.h"
#include "runtime/dotnet/dotnet_client.h"
#include "runtime/dotnet/dotnet_facts.h"
#include "runtime/dotnet/dotnet_snapshot.h"
#include "runtime/peer/peer_ability.h"

#define MS TAPIR_NS_PER_MS

/* ---- replies -------------------------------------------------------------------------------- */

static void answer(struct fake_dotnet *f, uint8_t id, const void *payload, size_t len)
{
	size_t size = 20 + len;

	memcpy(f->reply, "DOTNET_IPC_V1\0", 14);
	f->reply[14] = (uint8_t)size;
	f->reply[15] = (uint8_t)(size >> 8);
	f->reply[16] = 0xff;
	f->reply[17] = id;
	f->reply[18] = f->reply[19] = 0;
	memcpy(f->reply + 20, payload, len);
	f->reply_len = size;
}

/* ProcessInfo3 of version 1: pid 7, cookie, and six texts of one letter. */
static void answer_process(struct fake_dotnet *f)
{
	uint8_t payload[4 + 8 + 16 + 6 * 8] = {1};

	payload[4] = 7;
	for (unsigned i = 0; i < 6; i++) {
		uint8_t *text = payload + 28 + 8 * i;

		text[0] = 2;
		text[4] = (uint8_t)('a' + i);
	}
	answer(f, 0, payload, sizeof(payload));
}

static struct tapir_dotnet_opts opts_of(const struct fake_dotnet *f, uint64_t timeout_ns)
{
	return (struct tapir_dotnet_opts){
		.tgid = (uint32_t)f->pid, .cancel_fd = -1, .timeout_ns = timeout_ns};
}

static int ask(const struct fake_dotnet *f, uint64_t timeout_ns, struct tapir_dotnet_process *out)
{
	struct tapir_dotnet_opts opts = opts_of(f, timeout_ns);

	return tapir_dotnet__ask_process(&opts, out);
}

static void line_has(const char *text)
{
	const char *line = tapir_diag__cnt() ? tapir_diag__line(tapir_diag__cnt() - 1) : "none";

	if (!strstr(line, text))
		fail_msg("no \"%s\" in the line: %s", text, line);
	tapir_diag__clear();
}

static void fails(const struct fake_dotnet *f, int err, const char *text)
{
	struct tapir_dotnet_process process;

	/* Only what never answers is waited for until the end. */
	assert_int_equal(ask(f, (err == -ETIMEDOUT ? 400 : 10000) * MS, &process), err);
	line_has(text);
}

/* ---- cases ---------------------------------------------------------------------------------- */

static void a_good_one_says_who_it_is(void **state)
{
	struct fake_dotnet *f = *state;
	struct tapir_dotnet_process process;

	answer_process(f);
	f->stale_cnt = 3; /* left by dead ones with its pid, newer */
	fake_dotnet__start(f);
	assert_int_equal(ask(f, 10000 * MS, &process), 0);
	assert_int_equal(process.pid, 7);
	assert_string_equal(process.cmdline, "a");
	assert_string_equal(process.version, "e");
	assert_string_equal(process.rid, "f");
	tapir_dotnet_process__fini(&process);
}

static void refusal_is_reported_with_its_code(void **state)
{
	static const uint8_t code[] = {0x15, 0x15, 0x13, 0x80};
	struct fake_dotnet *f = *state;
	struct tapir_dotnet_opts opts;
	struct tapir_str request = {};
	uint32_t hresult = 0;

	answer(f, 0xff, code, sizeof(code));
	fake_dotnet__start(f);
	opts = opts_of(f, 10000 * MS);
	assert_int_equal(tapir_dotnet__put_plain(&request, TAPIR_DOTNET_DISABLE_PERF_MAP), 0);
	assert_int_equal(tapir_dotnet__command(&opts, &request, &hresult), -EREMOTEIO);
	assert_int_equal(hresult, TAPIR_DOTNET_NOT_SUPPORTED);
	line_has("0x80131515");
	tapir_str__fini(&request);
}

static void older_commands_are_tried_when_the_newest_is_unknown(void **state)
{
	static const uint8_t code[] = {0x85, 0x13, 0x13, 0x80};
	struct fake_dotnet *f = *state;
	tapir_autofree char *requests = NULL;
	size_t len = 0;

	answer(f, 0xff, code, sizeof(code));
	fake_dotnet__start(f);
	fails(f, -EREMOTEIO, "does not know the command");
	assert_int_equal(tapir_file__read(f->request_path, FAKE_REQUEST_MAX, &requests, &len), 0);
	assert_int_equal(len, 60);
	assert_int_equal(requests[17], 8);
	assert_int_equal(requests[37], 4);
	assert_int_equal(requests[57], 0);
}

static void reply_cut_at_any_byte_is_no_answer(void **state)
{
	struct fake_dotnet *f = *state;
	size_t whole;

	answer_process(f);
	whole = f->reply_len;
	for (f->reply_len = 0; f->reply_len < whole; f->reply_len++) {
		fake_dotnet__start(f);
		fails(f, -ECONNRESET, "closed the connection early");
		kill(f->pid, SIGKILL);
		waitpid(f->pid, NULL, 0);
		f->pid = 0;
	}
}

static void silent_one_times_out(void **state)
{
	struct fake_dotnet *f = *state;
	uint64_t begin = tapir_clock__now_ns();

	f->is_silent = true;
	fake_dotnet__start(f);
	fails(f, -ETIMEDOUT, "it does not answer");
	assert_true(tapir_clock__now_ns() - begin < 20000 * MS);
}

static void stopped_one_is_sent_nothing(void **state)
{
	struct fake_dotnet *f = *state;

	answer_process(f);
	fake_dotnet__start(f);
	kill(f->pid, SIGSTOP);
	waitpid(f->pid, NULL, WUNTRACED);
	fails(f, -EAGAIN, "it is stopped");
	assert_int_equal(access(f->request_path, F_OK), -1);
	kill(f->pid, SIGCONT);
}

static void one_stop_is_waited_for_once(void **state)
{
	struct fake_dotnet *f = *state;
	uint64_t begin_ns;

	answer_process(f);
	fake_dotnet__start(f);
	kill(f->pid, SIGSTOP);
	waitpid(f->pid, NULL, WUNTRACED);
	fails(f, -EAGAIN, "it is stopped");
	begin_ns = tapir_clock__now_ns();
	fails(f, -EAGAIN, "it is stopped");
	assert_true(tapir_clock__now_ns() - begin_ns < TAPIR_PEER_PATIENCE_NS);
	kill(f->pid, SIGCONT);
}

static void stop_is_the_reason_when_a_cancel_ends_the_waiting(void **state)
{
	struct fake_dotnet *f = *state;
	struct tapir_dotnet_process process;
	struct tapir_dotnet_opts opts;

	answer_process(f);
	fake_dotnet__start(f);
	kill(f->pid, SIGSTOP);
	waitpid(f->pid, NULL, WUNTRACED);
	opts = opts_of(f, 5000 * MS);
	opts.cancel_fd = eventfd(1, EFD_CLOEXEC);
	assert_int_equal(tapir_dotnet__ask_process(&opts, &process), -EAGAIN);
	close(opts.cancel_fd);
	kill(f->pid, SIGCONT);
}

static void one_that_hangs_up_is_reported(void **state)
{
	struct fake_dotnet *f = *state;

	f->hangs_up = true;
	fake_dotnet__start(f);
	fails(f, -ECONNRESET, "");
}

static void foreign_protocol_is_no_answer(void **state)
{
	struct fake_dotnet *f = *state;

	memset(f->reply, 'x', sizeof(f->reply));
	f->reply_len = sizeof(f->reply); /* more than a message can have, too */
	fake_dotnet__start(f);
	fails(f, -EPROTO, "its reply has no valid header");
}

static void diagnostics_off_is_the_reason(void **state)
{
	struct fake_dotnet *f = *state;

	f->is_off = f->is_absent = true;
	fake_dotnet__start(f);
	fails(f, -ENOENT, "DOTNET_EnableDiagnostics=0");
}

static void one_without_a_socket_is_waited_for_only_while_it_is_young(void **state)
{
	struct fake_dotnet *f = *state;
	struct tapir_dotnet_process process;
	uint64_t begin = tapir_clock__now_ns();

	f->is_absent = true;
	fake_dotnet__start(f);
	assert_int_equal(ask(f, 8000 * MS, &process), -ENOENT);
	line_has("no socket");
	assert_true(tapir_clock__now_ns() - begin < 7000 * MS);
	begin = tapir_clock__now_ns();
	assert_int_equal(ask(f, 8000 * MS, &process), -ENOENT);
	assert_true(tapir_clock__now_ns() - begin < 7000 * MS);
}

static void cancel_ends_the_waiting(void **state)
{
	struct fake_dotnet *f = *state;
	struct tapir_dotnet_process process;
	struct tapir_dotnet_opts opts;

	f->is_silent = true;
	fake_dotnet__start(f);
	opts = opts_of(f, 5000 * MS);
	opts.cancel_fd = eventfd(1, EFD_CLOEXEC);
	assert_int_equal(tapir_dotnet__ask_process(&opts, &process), -ECANCELED);
	close(opts.cancel_fd);
}

/* ---- snapshots ------------------------------------------------------------------------------ */

static void dump_path(const struct fake_dotnet *f, char *out, size_t bytes)
{
	snprintf(out, bytes, "%s/jit-%d.dump", f->dir, f->pid);
}

static void snapshot_is_switched_on_read_switched_off_and_removed(void **state)
{
	static const uint8_t expected[] = "DOTNET_IPC_V1\0\x18\0\x04\x05\0\0\x02\0\0\0"
					  "DOTNET_IPC_V1\0\x14\0\x04\x06\0";
	struct fake_dotnet *f = *state;
	struct tapir_jitdump_answer snapshot;
	struct tapir_dotnet_opts opts;
	tapir_autofree char *requests = NULL;
	char path[96], text[16] = "";
	size_t len = 0;

	f->writes_dump = true;
	answer(f, 0, "\0\0\0", 4);
	fake_dotnet__start(f);
	opts = opts_of(f, 3000 * MS);
	assert_int_equal(tapir_dotnet__snapshot(&opts, &snapshot), 0);
	assert_int_equal(read(snapshot.fd, text, sizeof(text)), 9);
	assert_string_equal(text, "a jitdump");
	assert_true(snapshot.begin_ns <= snapshot.end_ns);
	dump_path(f, path, sizeof(path));
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(tapir_file__read(f->request_path, FAKE_REQUEST_MAX, &requests, &len), 0);
	assert_int_equal(len, sizeof(expected));
	assert_memory_equal(requests, expected, len);
	tapir_dotnet_snapshot__fini(&snapshot);
	tapir_dotnet_snapshot__fini(&snapshot);
}

/* Instead, the events have the names; without them, what it wrote has some. */
static void file_that_ends_within_a_record_is_not_all(void **state)
{
	struct fake_dotnet *f = *state;
	struct tapir_jitdump_answer snapshot;
	struct tapir_dotnet_opts opts;
	tapir_autofree char *requests = NULL;
	bool has_asked_for_events = false;
	size_t len = 0;
	struct stat st;

	f->writes_dump = f->cuts_dump = true;
	answer(f, 0, "\0\0\0", 4);
	fake_dotnet__start(f);
	opts = opts_of(f, 3000 * MS);
	assert_int_equal(tapir_dotnet__snapshot(&opts, &snapshot), 0);
	assert_int_equal(fstat(snapshot.fd, &st), 0);
	assert_int_equal(st.st_size, 99);
	assert_false(snapshot.is_rundown);
	assert_int_equal(tapir_diag__cnt(), 0);
	assert_int_equal(tapir_file__read(f->request_path, FAKE_REQUEST_MAX, &requests, &len), 0);
	for (size_t at = 0; at + 18 <= len;
	     at += (uint8_t)requests[at + 14] | (size_t)(uint8_t)requests[at + 15] << 8)
		has_asked_for_events |= requests[at + 16] == 2;
	assert_true(has_asked_for_events);
	tapir_dotnet_snapshot__fini(&snapshot);
}

static void file_that_was_there_before_stays(void **state)
{
	struct fake_dotnet *f = *state;
	struct tapir_jitdump_answer snapshot;
	struct tapir_dotnet_opts opts;
	char path[96];

	f->writes_dump = true;
	answer(f, 0, "\0\0\0", 4);
	fake_dotnet__start(f);
	dump_path(f, path, sizeof(path));
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	opts = opts_of(f, 3000 * MS);
	assert_int_equal(tapir_dotnet__snapshot(&opts, &snapshot), 0);
	assert_int_equal(access(path, F_OK), 0);
	tapir_dotnet_snapshot__fini(&snapshot);
}

/* The rundown, instead of a file. */
static void assert_asked_for_events_alone(const struct fake_dotnet *f)
{
	tapir_autofree char *requests = NULL;
	size_t len = 0;

	assert_int_equal(tapir_file__read(f->request_path, FAKE_REQUEST_MAX, &requests, &len), 0);
	assert_true(len >= 20);
	for (size_t at = 0; at + 18 <= len;
	     at += (uint8_t)requests[at + 14] | (size_t)(uint8_t)requests[at + 15] << 8)
		assert_int_equal(requests[at + 16], 2);
}

static void link_in_the_files_place_is_not_followed(void **state)
{
	struct fake_dotnet *f = *state;
	struct tapir_jitdump_answer snapshot;
	struct tapir_dotnet_opts opts;
	char path[96];

	f->writes_dump = true;
	answer(f, 0, "\0\0\0", 4);
	fake_dotnet__start(f);
	dump_path(f, path, sizeof(path));
	assert_int_equal(symlink("/etc/passwd", path), 0);
	opts = opts_of(f, 3000 * MS);
	assert_int_equal(tapir_dotnet__snapshot(&opts, &snapshot), -EPERM);
	line_has("not a plain file of its user");
	assert_asked_for_events_alone(f);
}

static void no_link_can_take_the_files_place_once_it_is_asked_for(void **state)
{
	struct fake_dotnet *f = *state;
	struct tapir_jitdump_answer snapshot;
	struct tapir_dotnet_opts opts;
	char path[96];
	struct stat st;

	if (geteuid())
		skip();
	f->writes_dump = f->is_attacked = true;
	answer(f, 0, "\0\0\0", 4);
	assert_int_equal(chmod(f->dir, 01777), 0);
	fake_dotnet__start(f);
	opts = opts_of(f, 3000 * MS);
	assert_int_equal(tapir_dotnet__snapshot(&opts, &snapshot), 0);
	tapir_dotnet_snapshot__fini(&snapshot);
	snprintf(path, sizeof(path), "%s/redirected", f->dir);
	assert_int_equal(lstat(path, &st), -1);
	dump_path(f, path, sizeof(path));
	assert_int_equal(lstat(path, &st), -1);
}

static bool comes_to(const char *path, bool is_there)
{
	struct stat st;

	for (int i = 0; i < 10000 && !lstat(path, &st) != is_there; i++)
		usleep(10000);
	return !lstat(path, &st) == is_there;
}

static void file_keeps_its_name_while_the_runtime_may_write_it(void **state)
{
	struct fake_dotnet *f = *state;
	struct tapir_jitdump_answer snapshot;
	struct tapir_dotnet_opts opts;
	char path[96];

	f->is_silent = true; /* it reads the request and never answers */
	fake_dotnet__start(f);
	opts = opts_of(f, 700 * MS);
	dump_path(f, path, sizeof(path));
	assert_int_equal(tapir_dotnet__snapshot(&opts, &snapshot), -ETIMEDOUT);
	assert_int_equal(access(f->request_path, F_OK), 0);
	assert_int_equal(access(path, F_OK), 0);
	kill(f->pid, SIGKILL);
	assert_int_equal(waitpid(f->pid, NULL, 0), f->pid);
	assert_true(comes_to(path, false));
}

static void nothing_is_written_where_others_replace_files(void **state)
{
	static const mode_t modes[] = {0777, 0770, 0707};
	struct fake_dotnet *f = *state;
	struct tapir_jitdump_answer snapshot;
	struct tapir_dotnet_opts opts;

	f->writes_dump = true;
	answer(f, 0, "\0\0\0", 4);
	fake_dotnet__start(f);
	opts = opts_of(f, 3000 * MS);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod(f->dir, modes[i]), 0);
		assert_int_equal(tapir_dotnet__snapshot(&opts, &snapshot), -EPERM);
		line_has("other users can replace files there");
	}
	assert_asked_for_events_alone(f);
}

static void off_is_sent_also_when_on_was_not_answered(void **state)
{
	struct fake_dotnet *f = *state;
	struct tapir_jitdump_answer snapshot;
	struct tapir_dotnet_opts opts;
	tapir_autofree char *requests = NULL;
	char path[96];
	size_t len = 0;

	f->writes_dump = true;
	f->reply_len = 0; /* it closes the connection instead */
	fake_dotnet__start(f);
	opts = opts_of(f, 1000 * MS);
	assert_int_equal(tapir_dotnet__snapshot(&opts, &snapshot), -ECONNRESET);
	assert_int_equal(tapir_file__read(f->request_path, FAKE_REQUEST_MAX, &requests, &len), 0);
	assert_int_equal(len, 44);
	assert_int_equal(requests[24 + 17], 6);
	dump_path(f, path, sizeof(path));
	assert_int_equal(access(path, F_OK), -1);
}

static void file_of_one_that_is_killed_meanwhile_is_removed(void **state)
{
	struct fake_dotnet *f = *state;
	struct tapir_jitdump_answer snapshot;
	struct tapir_dotnet_opts opts;
	char path[96];

	f->writes_dump = f->dies = true;
	fake_dotnet__start(f);
	opts = opts_of(f, 1000 * MS);
	dump_path(f, path, sizeof(path));
	assert_true(tapir_dotnet__snapshot(&opts, &snapshot) < 0);
	assert_int_equal(access(f->request_path, F_OK), 0); /* it was asked, and wrote it */
	assert_int_equal(access(path, F_OK), -1);
}

static void one_that_says_it_wrote_but_did_not_is_reported(void **state)
{
	struct fake_dotnet *f = *state;
	struct tapir_jitdump_answer snapshot;
	struct tapir_dotnet_opts opts;

	answer(f, 0, "\0\0\0", 4);
	fake_dotnet__start(f);
	opts = opts_of(f, 2000 * MS);
	assert_int_equal(tapir_dotnet__snapshot(&opts, &snapshot), -EIO);
	line_has("but the file is empty");
}

/* ---- facts ---------------------------------------------------------------------------------- */

static void environment_says_where_and_whether(void **state)
{
	static const char text[] = "TMPDIR=/var/x\0COMPlus_PerfMapJitDumpPath=/d\0"
				   "DOTNET_PerfMapEnabled=1\0COMPlus_EnableDiagnostics_IPC=00\0";
	static const char harmless[] = "TMPDIR=relative\0DOTNET_PerfMapEnabled=0\0"
				       "DOTNET_EnableDiagnostics=1\0DOTNET_PerfMapEnabledX=1\0";
	struct tapir_dotnet_facts facts = {};

	(void)state;
	tapir_dotnet_facts__read_environ(&facts, text, sizeof(text) - 1);
	assert_string_equal(facts.tmp_dir, "/var/x");
	assert_string_equal(facts.dump_dir, "/d");
	assert_true(facts.writes_maps && facts.is_off);
	facts = (struct tapir_dotnet_facts){};
	tapir_dotnet_facts__read_environ(&facts, harmless, sizeof(harmless) - 1);
	assert_string_equal(facts.tmp_dir, "/tmp");
	assert_string_equal(facts.dump_dir, "/tmp");
	assert_false(facts.writes_maps || facts.is_off);
}

/* Ports suspend where they do not say otherwise. */
static void environment_says_whether_it_waits_at_its_start(void **state)
{
	static const struct {
		const char *text;
		bool waits;
	} cases[] = {
		{"DOTNET_DefaultDiagnosticPortSuspend=1", true},
		{"COMPlus_DefaultDiagnosticPortSuspend=0", false},
		{"DOTNET_DefaultDiagnosticPortSuspend=", false},
		{"DOTNET_DiagnosticPorts=/tmp/port", true},
		{"DOTNET_DiagnosticPorts=/tmp/port,connect,nosuspend", false},
		{"DOTNET_DiagnosticPorts=/a,nosuspend;/b,suspend", true},
		{"DOTNET_DiagnosticPorts=/a,nosuspend;", false},
		{"DOTNET_DiagnosticPorts=", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tapir_dotnet_facts facts = {};

		tapir_dotnet_facts__read_environ(&facts, cases[i].text, strlen(cases[i].text) + 1);
		if (facts.waits_at_start != cases[i].waits)
			fail_msg("%s", cases[i].text);
	}
}

static void config_says_whether_event_sources_are_on(void **state)
{
	static const struct {
		const char *text;
		bool is_off;
	} cases[] = {
		{"", false},
		{"{\"configProperties\":{\"" TAPIR_DOTNET_EVENT_SOURCES "\": false}}", true},
		{"{\"" TAPIR_DOTNET_EVENT_SOURCES "\":\"False\"}", true},
		{"{\"" TAPIR_DOTNET_EVENT_SOURCES "\": true}", false},
		{"{\"" TAPIR_DOTNET_EVENT_SOURCES "\"", false},
		{"{\"" TAPIR_DOTNET_EVENT_SOURCES "\": fals", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (tapir_dotnet_config__switches_off(cases[i].text, strlen(cases[i].text)) !=
		    cases[i].is_off)
			fail_msg("%s", cases[i].text);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fake_dotnet__setup, fake_dotnet__teardown)
		CASE(a_good_one_says_who_it_is),
		CASE(refusal_is_reported_with_its_code),
		CASE(older_commands_are_tried_when_the_newest_is_unknown),
		CASE(reply_cut_at_any_byte_is_no_answer),
		CASE(silent_one_times_out),
		CASE(stopped_one_is_sent_nothing),
		CASE(one_stop_is_waited_for_once),
		CASE(stop_is_the_reason_when_a_cancel_ends_the_waiting),
		CASE(one_that_hangs_up_is_reported),
		CASE(foreign_protocol_is_no_answer),
		CASE(diagnostics_off_is_the_reason),
		CASE(one_without_a_socket_is_waited_for_only_while_it_is_young),
		CASE(cancel_ends_the_waiting),
		CASE(snapshot_is_switched_on_read_switched_off_and_removed),
		CASE(file_of_one_that_is_killed_meanwhile_is_removed),
		CASE(file_that_ends_within_a_record_is_not_all),
		CASE(file_that_was_there_before_stays),
		CASE(link_in_the_files_place_is_not_followed),
		CASE(no_link_can_take_the_files_place_once_it_is_asked_for),
		CASE(file_keeps_its_name_while_the_runtime_may_write_it),
		CASE(nothing_is_written_where_others_replace_files),
		CASE(off_is_sent_also_when_on_was_not_answered),
		CASE(one_that_says_it_wrote_but_did_not_is_reported),
		cmocka_unit_test(environment_says_where_and_whether),
		cmocka_unit_test(config_says_whether_event_sources_are_on),
		cmocka_unit_test(environment_says_whether_it_waits_at_its_start),
	};

	if (argc == 2 && !strcmp(argv[1], "fake"))
		return fake_dotnet__main();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
