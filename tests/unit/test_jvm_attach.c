// SPDX-License-Identifier: GPL-2.0-or-later
/* Attaching to JVMs that are none (fake_jvm.h). Real ones are in tests/e2e/case_jvm.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "fake_jvm.h"
#include "runtime/jvm/jvm.h"
#include "runtime/jvm/jvm_attach.h"

#define MS     TAPIR_NS_PER_MS
#define NOBODY 65534

/* ---- asking it ---------------------------------------------------------------------------------- */

static int ask_within(const struct fake_jvm *f, uint64_t timeout_ns, struct tapir_str *reply)
{
	struct tapir_jvm_opts opts = {
		.tgid = (uint32_t)f->pid, .cancel_fd = -1, .timeout_ns = timeout_ns};
	const char *const args[] = {"VM.version", "two", NULL};

	return tapir_jvm__command(&opts, "jcmd", args, reply);
}

static int ask(const struct fake_jvm *f)
{
	struct tapir_str reply = {};
	int err = ask_within(f, 2000 * MS, &reply);

	assert_int_equal(reply.len, 0); /* on failure there is none */
	tapir_str__fini(&reply);
	return err;
}

static bool is_alive(const struct fake_jvm *f)
{
	return waitpid(f->pid, NULL, WNOHANG) == 0;
}

static void a_command_is_sent_and_its_text_comes_back(void **state)
{
	static const char expected[] = "1\0jcmd\0VM.version\0two\0";
	struct fake_jvm *f = *state;
	struct tapir_str reply = {};
	tapir_autofree char *request = NULL;
	size_t len = 0;

	fake_jvm__start(f);
	assert_int_equal(ask_within(f, 0, &reply), 0);
	assert_string_equal(reply.data, "hello\n");
	assert_int_equal(tapir_file__read(f->request_path, FAKE_REQUEST_MAX, &request, &len), 0);
	assert_int_equal(len, sizeof(expected));
	assert_memory_equal(request, expected, len);
	tapir_str__fini(&reply);
}

static void a_failure_is_reported_with_its_first_line(void **state)
{
	struct fake_jvm *f = *state;

	f->reply = "1\njava.lang.IllegalArgumentException: \x1b[31mno\nmore";
	fake_jvm__start(f);
	assert_int_equal(ask(f), -EREMOTEIO);
	line_has("result 1: java.lang.IllegalArgumentException: \\x1b[31mno");
}

static void another_version_is_refused(void **state)
{
	struct fake_jvm *f = *state;

	f->reply = "101\n";
	fake_jvm__start(f);
	assert_int_equal(ask(f), -EPROTO);
	line_has("another version");
}

static void an_answer_is_refused_when_it_is_no_answer(void **state)
{
	static const char *const replies[] = {"0", "hello\n", "\n", "-\n", "0 \n", "1234567890\n"};
	struct fake_jvm *f = *state;

	for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
		f->reply = replies[i];
		fake_jvm__start(f);
		assert_int_equal(ask(f), -EPROTO);
		kill(f->pid, SIGKILL);
		waitpid(f->pid, NULL, 0);
		fake_jvm__unlink(f, ".java_pid", "");
		unlink(f->lib);
	}
	f->pid = 0;
}

static void an_answer_without_end_is_refused_at_64_kb(void **state)
{
	struct fake_jvm *f = *state;

	f->reply = "0\n0123456789abcdef0123456789abcdef";
	f->reply_repeat = 1u << 30;
	fake_jvm__start(f);
	assert_int_equal(ask(f), -EFBIG);
	assert_true(is_alive(f));
}

static void one_that_hangs_up_is_reported(void **state)
{
	struct fake_jvm *f = *state;

	f->hangs_up = true;
	fake_jvm__start(f);
	assert_int_equal(ask(f), -ECONNRESET);
}

static void a_silent_one_times_out(void **state)
{
	struct fake_jvm *f = *state;
	struct tapir_str reply = {};
	uint64_t from_ns = tapir_clock__now_ns(), took_ns;

	f->reply = NULL;
	fake_jvm__start(f);
	assert_int_equal(ask_within(f, 500 * MS, &reply), -ETIMEDOUT);
	took_ns = tapir_clock__now_ns() - from_ns;
	assert_in_range(took_ns / MS, 490, 20000);
	assert_true(is_alive(f));
}

static void a_stopped_one_is_named_and_asked_nothing(void **state)
{
	struct fake_jvm *f = *state;
	struct tapir_str reply = {};
	uint64_t from_ns;

	fake_jvm__start(f);
	kill(f->pid, SIGSTOP);
	assert_int_equal(waitpid(f->pid, NULL, WUNTRACED), f->pid); /* it has stopped by now */
	from_ns = tapir_clock__now_ns();
	assert_int_equal(ask_within(f, 60000 * MS, &reply), -EAGAIN);
	/* A stop may be short, so it waits for its end, but not for all of its own time. */
	assert_in_range((tapir_clock__now_ns() - from_ns) / MS, 1490, 20000);
	line_has("it is stopped");
	kill(f->pid, SIGCONT);
	assert_int_equal(ask_within(f, 0, &reply), 0);
	tapir_str__fini(&reply);
}

static void a_cancel_ends_it_at_once(void **state)
{
	struct fake_jvm *f = *state;
	struct tapir_jvm_opts opts = {.cancel_fd = eventfd(1, EFD_CLOEXEC)};
	struct tapir_str reply = {};
	uint64_t from_ns = tapir_clock__now_ns();

	f->listens = false; /* nobody would answer */
	fake_jvm__start(f);
	opts.tgid = (uint32_t)f->pid;
	assert_int_equal(tapir_jvm__command(&opts, "jcmd", NULL, &reply), -ECANCELED);
	assert_true(tapir_clock__now_ns() - from_ns < 20000 * MS);
	close(opts.cancel_fd);
}

/* ---- whom it listens to, and who is asked ---------------------------------------------------------- */

static bool has_trigger(const struct fake_jvm *f)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/.attach_pid%d", f->dir, f->pid);
	return !access(path, F_OK);
}

static void one_that_sleeps_is_woken_and_nothing_is_left(void **state)
{
	struct fake_jvm *f = *state;
	struct tapir_str reply = {};

	f->listens = false;
	f->wakes = true;
	fake_jvm__start(f);
	assert_int_equal(ask_within(f, 0, &reply), 0);
	assert_string_equal(reply.data, "hello\n");
	assert_false(has_trigger(f));
	tapir_str__fini(&reply);
}

static void one_that_does_not_wake_times_out_and_nothing_is_left(void **state)
{
	struct fake_jvm *f = *state;
	struct tapir_str reply = {};

	f->listens = false;
	fake_jvm__start(f);
	assert_int_equal(ask_within(f, 700 * MS, &reply), -ETIMEDOUT);
	line_has("did not start listening");
	assert_false(has_trigger(f));
	assert_true(is_alive(f));
}

static void on_interrupt(int signal)
{
	(void)signal;
}

/* A terminal sends Ctrl-C to the helper too, which has a file to remove. */
static void an_interrupt_of_the_group_does_not_end_the_helper(void **state)
{
	struct fake_jvm *f = *state;
	struct sigaction action = {.sa_handler = on_interrupt}, before;
	struct tapir_str reply = {};
	pid_t sender;

	f->listens = false;
	fake_jvm__start(f);
	setpgid(0, 0);
	sigaction(SIGINT, &action, &before);
	sender = fork();
	if (!sender) {
		usleep(200000);
		kill(0, SIGINT);
		_exit(0);
	}
	assert_int_equal(ask_within(f, 700 * MS, &reply), -ETIMEDOUT);
	line_has("did not start listening");
	assert_false(has_trigger(f));
	waitpid(sender, NULL, 0);
	sigaction(SIGINT, &before, NULL);
}

static void trigger_goes_though_we_are_killed_while_it_is_there(void **state)
{
	struct fake_jvm *f = *state;
	pid_t pid;

	f->listens = false;
	fake_jvm__start(f);
	pid = fork();
	if (!pid) {
		struct tapir_str reply = {};

		_exit(ask_within(f, 1500 * MS, &reply) == 0);
	}
	for (int i = 0; i < 2000 && !has_trigger(f); i++)
		usleep(5000);
	assert_true(has_trigger(f));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (int i = 0; i < 3000 && has_trigger(f); i++)
		usleep(10000);
	assert_false(has_trigger(f));
	assert_true(is_alive(f));
}

static void one_that_would_die_of_the_signal_gets_none(void **state)
{
	struct fake_jvm *f = *state;

	f->listens = f->catches = false;
	fake_jvm__start(f);
	assert_int_equal(ask(f), -EOPNOTSUPP);
	line_has("SIGQUIT would end it");
	assert_true(is_alive(f));
	assert_false(has_trigger(f));
}

static void one_without_a_dispatcher_gets_no_signal(void **state)
{
	struct fake_jvm *f = *state;

	f->listens = false;
	f->dispatcher = NULL;
	f->wakes = true; /* it would answer if it got one */
	fake_jvm__start(f);
	assert_int_equal(ask(f), -EOPNOTSUPP);
	line_has("does not handle SIGQUIT");
}

static void dispatcher_has_a_shortened_name_in_jdk_27(void **state)
{
	struct fake_jvm *f = *state;
	struct tapir_str reply = {};

	f->listens = false;
	f->dispatcher = "Signal ..atcher";
	f->wakes = true;
	fake_jvm__start(f);
	assert_int_equal(ask_within(f, 0, &reply), 0);
	assert_string_equal(reply.data, "hello\n");
	tapir_str__fini(&reply);
}

static void a_libjvm_that_is_not_hotspots_is_refused(void **state)
{
	struct fake_jvm *f = *state;
	struct tapir_jvm_info info;

	f->is_hotspot = false;
	fake_jvm__start(f);
	assert_int_equal(ask(f), -ENOEXEC);
	assert_int_equal(tapir_jvm__inspect((uint32_t)f->pid, &info), 0);
	assert_true(access(f->request_path, F_OK));
}

static void what_is_no_jvm_is_refused(void **state)
{
	struct tapir_jvm_opts opts = {.tgid = (uint32_t)getpid(), .cancel_fd = -1};
	struct tapir_str reply = {};

	(void)state;
	assert_int_equal(tapir_jvm__command(&opts, "jcmd", NULL, &reply), -ENOEXEC);
	opts.tgid = 0x3ffffff;
	assert_int_equal(tapir_jvm__command(&opts, "jcmd", NULL, &reply), -ESRCH);
}

static void a_socket_of_another_user_is_refused(void **state)
{
	struct fake_jvm *f = *state;

	if (geteuid())
		skip();
	f->socket_uid = NOBODY;
	fake_jvm__start(f);
	assert_int_equal(ask(f), -EPERM);
	line_has("not a socket of its user");
}

/* Another process of the same user has put its own socket there. */
static void a_socket_another_process_listens_on_is_refused(void **state)
{
	struct fake_jvm *f = *state;
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	tapir_autofd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	f->listens = false;
	fake_jvm__start(f);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/tmp/.java_pid%d", f->pid);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 5), 0);
	assert_int_equal(ask(f), -EPERM);
	line_has("another process listens");
}

static void what_is_no_socket_is_refused_and_not_followed(void **state)
{
	struct fake_jvm *f = *state;
	char path[64];

	f->listens = false;
	fake_jvm__start(f);
	snprintf(path, sizeof(path), "/tmp/.java_pid%d", f->pid);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(ask(f), -EPERM);
	unlink(path);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(ask(f), -EPERM);
	line_has("not a socket of its user");
}

static void arguments_that_are_too_long_are_refused(void **state)
{
	struct fake_jvm *f = *state;
	struct tapir_jvm_opts opts = {.cancel_fd = -1};
	char text[TAPIR_JVM_MAX_ARG_BYTES + 2];
	const char *const args[] = {text, NULL};
	struct tapir_str reply = {};

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	fake_jvm__start(f);
	opts.tgid = (uint32_t)f->pid;
	assert_int_equal(tapir_jvm__command(&opts, "jcmd", args, &reply), -EINVAL);
	assert_int_equal(tapir_jvm__command(&opts, "seventeen_bytes_x", NULL, &reply), -EINVAL);
	assert_true(access(f->request_path, F_OK));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(a_command_is_sent_and_its_text_comes_back),
		FAKE_TEST(a_failure_is_reported_with_its_first_line),
		FAKE_TEST(another_version_is_refused),
		FAKE_TEST(an_answer_is_refused_when_it_is_no_answer),
		FAKE_TEST(an_answer_without_end_is_refused_at_64_kb),
		FAKE_TEST(one_that_hangs_up_is_reported),
		FAKE_TEST(a_silent_one_times_out),
		FAKE_TEST(a_stopped_one_is_named_and_asked_nothing),
		FAKE_TEST(a_cancel_ends_it_at_once),
		FAKE_TEST(one_that_sleeps_is_woken_and_nothing_is_left),
		FAKE_TEST(one_that_does_not_wake_times_out_and_nothing_is_left),
		FAKE_TEST(an_interrupt_of_the_group_does_not_end_the_helper),
		FAKE_TEST(trigger_goes_though_we_are_killed_while_it_is_there),
		FAKE_TEST(one_that_would_die_of_the_signal_gets_none),
		FAKE_TEST(one_without_a_dispatcher_gets_no_signal),
		FAKE_TEST(dispatcher_has_a_shortened_name_in_jdk_27),
		FAKE_TEST(a_libjvm_that_is_not_hotspots_is_refused),
		cmocka_unit_test(what_is_no_jvm_is_refused),
		FAKE_TEST(a_socket_of_another_user_is_refused),
		FAKE_TEST(a_socket_another_process_listens_on_is_refused),
		FAKE_TEST(what_is_no_socket_is_refused_and_not_followed),
		FAKE_TEST(arguments_that_are_too_long_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
