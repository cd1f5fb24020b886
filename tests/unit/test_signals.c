// SPDX-License-Identifier: GPL-2.0-or-later
/* Signals in words, lives of processes, and the views "signals" and "tree" of made-up recordings.
 */
#include "view_fixture.h"

#include <signal.h>
#include <string.h>

#include "analyze/process_lives.h"
#include "trace/signals.h"

#define KILLED_BY(number) (number)
#define EXITED(status)	  ((status) << 8)

/* ---- words ----------------------------------------------------------------------------------- */

static void names_are_those_of_the_c_library(void **state)
{
	(void)state;
	for (unsigned i = 1; i < 32; i++) {
		char name[32];
		const char *known = sigabbrev_np((int)i);

		snprintf(name, sizeof(name), "SIG%s", known ? known : "?");
		if (i == SIGPOLL)
			snprintf(name, sizeof(name), "SIGIO"); /* one number, two names */
		assert_string_equal(tapir_signal__name(i), name);
	}
	assert_string_equal(tapir_signal__name(32), "SIGRT0");
	assert_string_equal(tapir_signal__name(64), "SIGRT32");
	assert_null(tapir_signal__name(0));
	assert_null(tapir_signal__name(65));
	assert_null(tapir_signal__name(255));
}

/* A process that does nothing about them is ended by those, and only by those. */
static void defaults_are_those_of_the_kernel(void **state)
{
	static const uint8_t harmless[] = {SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP,
					   SIGTTIN, SIGTTOU, SIGURG,  SIGWINCH};

	(void)state;
	for (unsigned i = 1; i <= 64; i++)
		assert_int_equal(tapir_signal__ends_by_default(i),
				 !memchr(harmless, (int)i, sizeof(harmless)));
	assert_false(tapir_signal__ends_by_default(0));
	assert_false(tapir_signal__ends_by_default(200));
}

static void ways_are_told_by_their_code(void **state)
{
	(void)state;
	assert_string_equal(tapir_signal__way(SIGTERM, SI_USER), "kill");
	assert_string_equal(tapir_signal__way(SIGTERM, SI_TKILL), "tgkill");
	assert_string_equal(tapir_signal__way(SIGTERM, SI_QUEUE), "sigqueue");
	assert_string_equal(tapir_signal__way(SIGALRM, SI_TIMER), "timer");
	assert_string_equal(tapir_signal__way(SIGKILL, SI_KERNEL), "kernel");
	assert_string_equal(tapir_signal__way(SIGCHLD, CLD_EXITED), "child");
	assert_string_equal(tapir_signal__way(SIGSEGV, SEGV_MAPERR), "fault");
	assert_string_equal(tapir_signal__way(SIGTERM, 77), "other");
	assert_string_equal(tapir_signal__result(200), "not known");
}

static void expect_command(const char *args, size_t len, size_t room, const char *text)
{
	char out[16];

	assert_int_equal(tapir_command_text__copy(out, room, (struct tapir_sv){args, len}),
			 strlen(text));
	assert_memory_equal(out, text, strlen(text));
}

static void commands_are_one_line(void **state)
{
	(void)state;
	expect_command("sh\0-c\0true\0", 11, 16, "sh -c true");
	expect_command("sh\0-c\0true\0", 11, 4, "sh -"); /* cut */
	expect_command("sh\0-c\0true\0", 11, 3, "sh");
	expect_command("sh \0\0\0", 6, 16, "sh");
	expect_command("\0\0", 2, 16, "");
	expect_command(NULL, 0, 16, "");
	expect_command("sh", 2, 0, "");
}

static void expect_end(int status, bool is_oom_victim, const char *text)
{
	struct tapir_str out = {};

	tapir_signal__add_end(&out, status, is_oom_victim);
	assert_string_equal(out.data, text);
	tapir_str__fini(&out);
}

static void ends_have_words(void **state)
{
	(void)state;
	expect_end(EXITED(0), false, "exit 0");
	expect_end(EXITED(255), false, "exit 255");
	expect_end(KILLED_BY(SIGSEGV) | 0x80, false, "SIGSEGV, core dumped");
	expect_end(KILLED_BY(SIGKILL), true, "SIGKILL, out of memory");
	expect_end(KILLED_BY(0x7f), false, "signal 127"); /* of a damaged file */
}

/* ---- made-up recordings ---------------------------------------------------------------------- */

struct made {
	uint32_t pid, parent;
	enum tapir_process_kind kind;
	uint64_t ms;
	int status;
	uint8_t flags;
	const char *comm, *command;
};

static void feed_process(struct made m)
{
	struct tapir_rec_process rec = {.h = {.time_ns = m.ms * MS},
					.tgid = m.pid,
					.parent_tgid = m.parent,
					.kind = (uint8_t)m.kind,
					.exit_status = m.status,
					.flags = m.flags};

	feeder_add(&f, tapir_recbuf__process(&f.buf, &rec, feeder_sv(m.comm), feeder_sv(""),
					     feeder_sv(m.command ? m.command : ""), feeder_sv("")));
}

static void feed_signal(uint32_t from, uint32_t to, uint8_t number, uint64_t ms, uint8_t answer)
{
	struct tapir_rec_signal rec = {.tgid = from,
				       .tid = from,
				       .to_tgid = to,
				       .to_tid = to,
				       .number = number,
				       .code = from ? SI_USER : SI_KERNEL,
				       .result = answer};

	tapir_rec__init(&rec.h, TAPIR_REC_SIGNAL, sizeof(rec), ms * MS);
	feeder_add(&f, &rec.h);
}

/* The sample makes the recording last, and gives the others a time to lie in. */
static void feed_sample(uint32_t pid, uint64_t ms)
{
	struct tapir_rec_sample rec = {.tgid = pid, .tid = pid, .period = 1};

	tapir_rec__init(&rec.h, TAPIR_REC_SAMPLE, sizeof(rec), ms * MS);
	feeder_add(&f, &rec.h);
}

static const char *text_of(const char *key, size_t row, const char *column)
{
	return cell(table(key, 0), row, column)->text;
}

static void killer_is_the_last_who_sent_what_ended_it(void **state)
{
	(void)state;
	ask("tree", 0);
	feed_process((struct made){1, 0, TAPIR_PROCESS_EXISTING, 1, .comm = "sh"});
	feed_sample(1, 1);
	feed_process((struct made){2, 1, TAPIR_PROCESS_FORK, 10, .comm = "sh"});
	feed_process(
		(struct made){2, 1, TAPIR_PROCESS_EXEC, 11, .comm = "sleep", .command = "sleep 9"});
	feed_signal(7, 2, SIGKILL, 5, TAPIR_SIGNAL_DELIVERED); /* the id's former owner got it */
	feed_signal(3, 2, SIGTERM, 20, TAPIR_SIGNAL_DELIVERED);
	feed_signal(1, 2, SIGKILL, 30, TAPIR_SIGNAL_DELIVERED);
	feed_process(
		(struct made){2, 1, TAPIR_PROCESS_EXIT, 31, KILLED_BY(SIGKILL), .comm = "sleep"});
	feed_signal(9, 2, SIGKILL, 40, TAPIR_SIGNAL_DELIVERED);
	feed_sample(1, 50);
	assert_int_equal(answer(), 0);
	assert_int_equal(tapir_view_result_table__rows(table("killed", 0)), 1);
	assert_string_equal(text_of("killed", 0, "end"), "SIGKILL by ? (1)");
	assert_string_equal(text_of("killed", 0, "command"), "sleep 9");
	assert_int_equal(cell(table("killed", 0), 0, "killer_pid")->u64, 1);
	assert_int_equal(cell(table("killed", 0), 0, "lived_ns")->u64, 21 * MS);
	assert_string_equal(text_of("processes", 0, "process"), "sh (1)");
	assert_string_equal(text_of("processes", 1, "process"), "  sleep (2)");
	assert_false(cell(table("processes", 0), 0, "began_ns")->is_there);
	assert_false(cell(table("processes", 0), 0, "end")->is_there);
	assert_string_equal(result.headline.data, "2 processes: 1 began, 1 ended, 1 by a signal");
}

/* As findings have them, which show none. */
static void commands_are_copied_where_they_are_wanted(void **state)
{
	struct tapir_lives lives = {};

	(void)state;
	ask("tree", 0);
	lives.tl = f.tl;
	assert_int_equal(tapir_timeline__listen(f.tl, &tapir_lives_fns, &lives), 0);
	feed_process((struct made){2, 1, TAPIR_PROCESS_EXEC, 11, .comm = "a", .command = "a b"});
	assert_int_equal(answer(), 0);
	assert_string_equal(text_of("processes", 0, "command"), "a b");
	assert_int_equal(lives.all.cnt, 1);
	assert_null(lives.all.data[0].command);
	tapir_lives__fini(&lives);
}

static void an_id_that_is_used_again_is_another_life(void **state)
{
	(void)state;
	ask("tree", 0);
	feed_process((struct made){1, 0, TAPIR_PROCESS_EXISTING, 1, .comm = "sh"});
	feed_sample(1, 1);
	for (unsigned i = 0; i < 3; i++) {
		feed_process((struct made){2, 1, TAPIR_PROCESS_FORK, 10 + 10 * i, .comm = "sh"});
		feed_process((struct made){2, 1, TAPIR_PROCESS_EXIT, 12 + 10 * i, EXITED(i),
					   .comm = "sh"});
		feed_process(
			(struct made){2, 1, TAPIR_PROCESS_EXISTING, 13 + 10 * i, .comm = "sh"});
	}
	feed_sample(1, 50);
	assert_int_equal(answer(), 0);
	assert_int_equal(fact("begun"), 3);
	assert_int_equal(fact("ended"), 3);
	assert_int_equal(fact("failed_count"), 2);
	assert_string_equal(text_of("processes", 1, "end"), "exit 0");
	assert_string_equal(text_of("processes", 3, "end"), "exit 2");
}

static void siblings_that_are_alike_share_a_row(void **state)
{
	(void)state;
	ask("tree", 0);
	feed_process((struct made){1, 0, TAPIR_PROCESS_EXISTING, 1, .comm = "make"});
	feed_sample(1, 1);
	for (unsigned i = 0; i < 60; i++) {
		feed_process((struct made){100 + i, 1, TAPIR_PROCESS_FORK, 10 + i, .comm = "cc1"});
		feed_process((struct made){100 + i, 1, TAPIR_PROCESS_EXIT, 12 + i, EXITED(i == 59),
					   .comm = "cc1"});
	}
	feed_sample(1, 90);
	assert_int_equal(answer(), 0);
	assert_int_equal(tapir_view_result_table__rows(table("processes", 0)), 3);
	assert_string_equal(text_of("processes", 1, "process"), "  cc1 \u00d759");
	assert_int_equal(cell(table("processes", 0), 1, "lived_ns")->u64, 59 * 2 * MS);
	assert_string_equal(text_of("processes", 2, "end"), "exit 1");
}

/* A damaged file: processes that are each other's parents, and a chain of a hundred. */
static void parents_of_a_hostile_file_have_an_end(void **state)
{
	(void)state;
	ask("tree", 500);
	for (unsigned i = 0; i < 100; i++)
		feed_process(
			(struct made){1000 + i, 1001 + i, TAPIR_PROCESS_EXISTING, 1, .comm = "x"});
	feed_process((struct made){1, 2, TAPIR_PROCESS_EXISTING, 1, .comm = "a"});
	feed_process((struct made){2, 1, TAPIR_PROCESS_EXISTING, 1, .comm = "b"});
	feed_process((struct made){3, 3, TAPIR_PROCESS_EXISTING, 1, .comm = "c\x1b[2J"});
	assert_int_equal(answer(), 0);
	assert_int_equal(tapir_view_result_table__rows(table("processes", 0)), 103);
}

static void processes_beyond_the_bound_are_counted(void **state)
{
	(void)state;
	ask("tree", 1);
	for (unsigned i = 0; i <= TAPIR_LIVES_MAX; i++)
		feed_process((struct made){1 + i, 0, TAPIR_PROCESS_FORK, 1, .comm = "x"});
	assert_int_equal(answer(), 0);
	assert_int_equal(fact("begun"), TAPIR_LIVES_MAX);
	assert_int_equal(result.notes.cnt, 1);
	assert_string_equal(result.notes.data[0], "1 records found no room in the tables");
}

static void signals_are_counted_by_sender_and_receiver(void **state)
{
	(void)state;
	ask("signals", 0);
	feed_sample(1, 1);
	for (unsigned i = 0; i < 5; i++)
		feed_signal(1, 2, SIGUSR1, 2 + i,
			    i ? TAPIR_SIGNAL_PENDING : TAPIR_SIGNAL_DELIVERED);
	feed_signal(2, 1, SIGUSR1, 3, TAPIR_SIGNAL_IGNORED);
	feed_signal(0, 1, SIGALRM, 4, TAPIR_SIGNAL_DELIVERED);
	assert_int_equal(answer(), 0);
	assert_int_equal(fact("count"), 7);
	assert_int_equal(tapir_view_result_table__rows(table("signals", 0)), 3);
	assert_int_equal(cell(table("signals", 0), 0, "count")->u64, 5);
	assert_int_equal(cell(table("signals", 0), 0, "pending")->u64, 4);
	assert_string_equal(text_of("signals", 0, "to"), "? (2)");
	assert_string_equal(result.headline.data,
			    "7 signals, 4 of them dropped: an equal one was pending");
}

static void nothing_is_said_where_there_is_nothing(void **state)
{
	(void)state;
	ask("signals", 0);
	assert_int_equal(answer(), 0);
	assert_true(result.has_nothing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_those_of_the_c_library),
		cmocka_unit_test(defaults_are_those_of_the_kernel),
		cmocka_unit_test(ways_are_told_by_their_code),
		cmocka_unit_test(ends_have_words),
		cmocka_unit_test(commands_are_one_line),
		cmocka_unit_test_setup_teardown(commands_are_copied_where_they_are_wanted, setup,
						teardown),
		cmocka_unit_test_setup_teardown(killer_is_the_last_who_sent_what_ended_it, setup,
						teardown),
		cmocka_unit_test_setup_teardown(an_id_that_is_used_again_is_another_life, setup,
						teardown),
		cmocka_unit_test_setup_teardown(siblings_that_are_alike_share_a_row, setup,
						teardown),
		cmocka_unit_test_setup_teardown(parents_of_a_hostile_file_have_an_end, setup,
						teardown),
		cmocka_unit_test_setup_teardown(processes_beyond_the_bound_are_counted, setup,
						teardown),
		cmocka_unit_test_setup_teardown(signals_are_counted_by_sender_and_receiver, setup,
						teardown),
		cmocka_unit_test_setup_teardown(nothing_is_said_where_there_is_nothing, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
