// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line: tables in, values or one teaching line out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/duration.h"
#include "base/diag.h"
#include "base/duration.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/target_options.h"

struct args {
	struct tapir_target_args target;
	const char *output;
	uint64_t depth, top, cooldown;
	uint64_t every_ns;
	bool json;
	struct tapir_words_or_default counters;
	const char *how;
};

static const char *how_at(size_t i)
{
	static const char *const names[] = {"plain", "fancy"};

	return i < 2 ? names[i] : NULL;
}

static const struct tapir_option own_options[] = {
	TAPIR_STRING("output", 'o', "FILE", "write here", struct args, output),
	TAPIR_U64("depth", 0, "N", "frames", struct args, depth, 1, 127),
	TAPIR_TOP("rows", struct args, top),
	TAPIR_U64("cooldown", 0, "N", "its former name is distance", struct args, cooldown, 1, 9),
	TAPIR_DURATION("every", 'e', "TIME", "how often", struct args, every_ns, 1, UINT64_MAX),
	TAPIR_FLAG("json", 'j', "as JSON", struct args, json),
	TAPIR_LIST_OR_DEFAULT("counters", 0, "[GLOB]", "which", struct args, counters),
	TAPIR_CHOICE_OR_DEFAULT("how", 0, "[=HOW]", "in which way", struct args, how, how_at),
	{}};

static int run_nothing(struct tapir_cli *cli)
{
	(void)cli;
	return 0;
}

static const struct tapir_command watch = {
	.name = "watch",
	.summary = "a command of this test",
	.synopsis = "[SPEC...] [-- CMD]",
	.groups = (const struct tapir_option_group[]){{"Whom", tapir_target_options,
						       offsetof(struct args, target)},
						      {NULL, own_options, 0},
						      {}},
	.positionals =
		(const struct tapir_positional[]){{.name = "SPEC", .help = "events", .many = true},
						  {}},
	.examples = (const struct tapir_example[]){{"watch -a", "all of 'it'\\n"}, {}},
	.takes_program = true,
	.args_bytes = sizeof(struct args),
	.defaults = &(const struct args){.depth = 64},
	.run = run_nothing,
};

static const struct tapir_command show = {
	.name = "show",
	.summary = "another",
	.synopsis = "FILE",
	.positionals =
		(const struct tapir_positional[]){
			{.name = "FILE", .help = "what to show", .required = true}, {}},
	.run = run_nothing,
};

static const struct tapir_command *const commands[] = {&watch, &show, NULL};

static struct tapir_cli cli;

static int setup(void **state)
{
	(void)state;
	cli = (struct tapir_cli){.commands = commands};
	tapir_diag__clear();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tapir_cli__fini(&cli);
	return 0;
}

/* Words up to NULL, as main() gets them. */
static int parse(char **argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	return tapir_cli__parse(&cli, argc, argv);
}
#define PARSE(...) parse((char *[]){"tapir", __VA_ARGS__, NULL})

static struct args *parsed(void)
{
	return cli.args;
}

static void assert_usage(const char *part)
{
	assert_int_equal(tapir_diag__cnt(), 1);
	if (!strstr(tapir_diag__line(0), part))
		fail_msg("'%s' is not in '%s'", part, tapir_diag__line(0));
}

static void choice_is_attached_or_the_first(void **state)
{
	(void)state;
	assert_int_equal(PARSE("watch", "--how", "fancy"), 0);
	assert_string_equal(parsed()->how, "plain");
	assert_int_equal(cli.words.cnt, 1); /* the next word is no value of it */
	tapir_cli__fini(&cli);
	cli = (struct tapir_cli){.commands = commands};
	assert_int_equal(PARSE("watch", "--how=fancy"), 0);
	assert_string_equal(parsed()->how, "fancy");
	tapir_cli__fini(&cli);
	cli = (struct tapir_cli){.commands = commands};
	assert_int_equal(PARSE("watch", "--how=odd"), TAPIR_CLI_USAGE);
	assert_usage("odd");
}

static void value_that_may_be_missing_is_no_option_and_no_spec(void **state)
{
	const struct tapir_words_or_default *counters;

	(void)state;
	assert_int_equal(PARSE("watch", "--counters", "--counters", "a*/b", "--counters", "p:e",
			       "--counters=x:y", "w", "--counters"),
			 0);
	counters = &parsed()->counters;
	assert_true(counters->is_given);
	assert_int_equal(counters->words.cnt, 2);
	assert_string_equal(counters->words.data[0], "a*/b");
	assert_string_equal(counters->words.data[1], "x:y");
	assert_int_equal(cli.words.cnt, 2);
	assert_string_equal(cli.words.data[0], "p:e");
	assert_string_equal(cli.words.data[1], "w");
}

/* --distance of tapir record was renamed: scripts that have it go on working for a version. */
static void former_name_of_an_option_is_the_option_when_given(void **state)
{
	(void)state;
	assert_int_equal(PARSE("watch", "--distance", "3", "w"), 0);
	assert_int_equal(parsed()->cooldown, 3);
	assert_int_equal(cli.words.cnt, 1);
	tapir_cli__fini(&cli);
	cli = (struct tapir_cli){.commands = commands};
	assert_int_equal(PARSE("watch", "--distance=5"), 0);
	assert_int_equal(parsed()->cooldown, 5);
	tapir_cli__fini(&cli);
	cli = (struct tapir_cli){.commands = commands};
	assert_int_equal(PARSE("watch", "--distanc=5"), TAPIR_CLI_USAGE);
	tapir_diag__clear();
	tapir_cli__fini(&cli);
	cli = (struct tapir_cli){.commands = commands};
	assert_int_equal(PARSE("show", "--distance=5", "f"), TAPIR_CLI_USAGE);
	assert_usage("show: no option '--distance'");
}

static void every_type_is_filled_when_given(void **state)
{
	(void)state;
	assert_int_equal(PARSE("watch", "-p", "1,2", "--pid=3", "-p4", "--comm", "a*", "--comm=b",
			       "-o", "f", "--depth", "0x10", "--every=1m0.5s", "-j", "x:y"),
			 0);
	assert_int_equal(parsed()->target.pids.cnt, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(parsed()->target.pids.data[i], i + 1);
	assert_int_equal(parsed()->target.comms.cnt, 2);
	assert_string_equal(parsed()->target.comms.data[1], "b");
	assert_string_equal(parsed()->output, "f");
	assert_int_equal(parsed()->depth, 16);
	assert_int_equal(parsed()->every_ns, 60500000000ull);
	assert_true(parsed()->json);
	assert_int_equal(cli.words.cnt, 1);
	assert_string_equal(cli.words.data[0], "x:y");
	assert_null(cli.program);
}

/* tapir-agent has a default command: its words may name the command, or leave it out. */
static void default_command_runs_unless_a_word_names_one(void **state)
{
	cli.default_command = "watch";
	assert_int_equal(PARSE("--depth", "7", "-v"), 0);
	assert_ptr_equal(cli.command, &watch);
	assert_int_equal(parsed()->depth, 7);
	teardown(state);
	setup(state);
	cli.default_command = "watch";
	assert_int_equal(PARSE("-v", "watch", "--comm", "show", "x:y"), 0);
	assert_ptr_equal(cli.command, &watch);
	assert_int_equal(cli.words.cnt, 1);
	teardown(state);
	setup(state);
	cli.default_command = "watch";
	assert_int_equal(PARSE("--comm", "watch", "show", "file"), 0); /* that comm is forgotten */
	assert_ptr_equal(cli.command, &show);
	teardown(state);
	setup(state);
	cli.default_command = "watch";
	assert_int_equal(PARSE("shwo"), TAPIR_CLI_USAGE);
	assert_usage("the nearest is 'tapir show'");
}

static void defaults_stand_when_nothing_is_given(void **state)
{
	(void)state;
	assert_int_equal(PARSE("watch"), 0);
	assert_int_equal(parsed()->depth, 64);
	assert_null(parsed()->output);
	assert_false(parsed()->json);
}

static void globals_work_before_and_behind_the_command(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-v", "watch", "-qj"), 0);
	assert_true(cli.is_verbose && cli.is_quiet && parsed()->json);
}

static void no_rows_are_all_rows(void **state)
{
	(void)state;
	assert_int_equal(PARSE("watch", "x:y"), 0);
	assert_int_equal(parsed()->top, 0);
	teardown(state);
	setup(state);
	assert_int_equal(PARSE("watch", "--top", "0", "x:y"), 0);
	assert_int_equal(parsed()->top, UINT32_MAX);
	teardown(state);
	setup(state);
	assert_int_equal(PARSE("watch", "-n", "7", "x:y"), 0);
	assert_int_equal(parsed()->top, 7);
}

static void program_is_kept_whole_when_behind_dashes(void **state)
{
	(void)state;
	assert_int_equal(PARSE("watch", "-j", "--", "ls", "-o", "--json"), 0);
	assert_non_null(cli.program);
	assert_string_equal(cli.program[0], "ls");
	assert_string_equal(cli.program[2], "--json");
	assert_null(cli.program[3]);
	assert_null(parsed()->output);
}

static void dashes_make_words_when_no_program_is_taken(void **state)
{
	(void)state;
	assert_int_equal(PARSE("show", "--", "-odd-name"), 0);
	assert_string_equal(cli.words.data[0], "-odd-name");
}

static void help_needs_no_arguments_when_asked_for(void **state)
{
	(void)state;
	assert_int_equal(PARSE("show", "--help"), 0);
	assert_true(cli.want_help);
	assert_ptr_equal(cli.command, &show);
}

static void mistakes_teach_in_one_line(void **state)
{
	static const struct {
		char *argv[6];
		const char *expected;
	} cases[] = {
		{{"tapir", "wacht"}, "no command 'wacht'; the nearest is 'tapir watch'"},
		{{"tapir", "zz"}, "no command 'zz'; 'tapir help' lists them"},
		{{"tapir", "--jsno"}, "no option '--jsno'; 'tapir help' lists them"},
		{{"tapir", "watch", "--jsno"},
		 "watch: no option '--jsno'; the nearest is '--json'"},
		{{"tapir", "watch", "--dep=3"}, "the nearest is '--depth'"},
		{{"tapir", "watch", "--cmom", "x"}, "the nearest is '--comm'"},
		{{"tapir", "watch", "--xyzzy"}, "'tapir help watch' lists them"},
		{{"tapir", "watch", "-Z"}, "no option '-Z'"},
		{{"tapir", "watch", "-p"}, "--pid requires a value: --pid PID"},
		{{"tapir", "watch", "-p", "0"}, "'0' is not a process id"},
		{{"tapir", "watch", "-p", "12,"}, "'12,' is not a process id"},
		{{"tapir", "watch", "-p", "99999999999"}, "is not a process id"},
		{{"tapir", "watch", "--depth", "128"}, "'128' is not a number from 1 to 127"},
		{{"tapir", "watch", "--depth", "-1"}, "'-1' is not a number"},
		{{"tapir", "watch", "--every", "5x"}, "500ms, 1m30s"},
		{{"tapir", "watch", "--every", "0"}, "not long enough"},
		{{"tapir", "watch", "--json=1"}, "--json takes no value"},
		{{"tapir", "watch", "--"}, "a program is required after '--'"},
		{{"tapir", "--", "ls"}, "a command is required before '--'"},
		{{"tapir", "show"}, "show: FILE is required: what to show"},
		{{"tapir", "show", "a", "b"},
		 "unexpected argument 'b' ('tapir help show' shows the usage)"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setup(state);
		assert_int_equal(parse((char **)cases[i].argv), TAPIR_CLI_USAGE);
		assert_usage(cases[i].expected);
		teardown(state);
	}
}

static void durations_are_exact_when_right_and_refused_when_not(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {{"5", 5000000000ull},
		    {"0.1", 100000000},
		    {".5s", 500000000},
		    {"500ms", 500000000},
		    {"1.5ms", 1500000},
		    {"1m30s", 90000000000ull},
		    {"2h", 7200000000000ull},
		    {"0.000000001", 1},
		    {"0", 0},
		    {"1h1m1s1ms", 3661001000000ull},
		    {"00:01:30", 90000000000ull},
		    {"90:00:00", 324000000000000ull},
		    {"1:02:03:04", 93784000000000ull}};
	static const char *const bad[] = {
		"",
		"s",
		"-1",
		"1d",
		"1..2",
		"1.2.3",
		"1 s",
		".",
		"1e3",
		"0x10",
		"1234567890s",
		"999999999h999999999h999999999h999999999h999999999h999999999h",
		"5m5x",
		"1:30",
		"1:2:3:4:5",
		"00:60:00",
		"00:00:60",
		"1:24:00:00",
		"::",
		"0:0:0:",
		"00:00:1.5",
		"99999:00:00"};
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(tapir_duration__parse(good[i].text, &ns));
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ns = 77;
		if (tapir_duration__parse(bad[i], &ns))
			fail_msg("'%s' was taken for %llu ns", bad[i], (unsigned long long)ns);
		assert_int_equal(ns, 77);
	}
}

static void targets_are_of_one_kind(void **state)
{
	static const struct {
		char *argv[8];
		const char *expected; /* NULL: right */
	} cases[] = {
		{{"tapir", "watch"}, "a target is required: -p PID"},
		{{"tapir", "watch", "-a"}, NULL},
		{{"tapir", "watch", "-p", "1", "-p", "2"}, NULL},
		{{"tapir", "watch", "--", "ls"}, NULL},
		{{"tapir", "watch", "-a", "-p", "1"}, "-a already traces every process"},
		{{"tapir", "watch", "-p", "1", "--", "ls"}, NULL}, /* while ls runs */
		{{"tapir", "watch", "-a", "--comm", "x", "--", "ls"}, "-a already traces"},
		{{"tapir", "watch", "--comm", "x", "--cgroup", "/"}, "only one kind of target"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int expected = cases[i].expected ? TAPIR_CLI_USAGE : 0;

		setup(state);
		assert_int_equal(parse((char **)cases[i].argv), 0);
		assert_int_equal(tapir_target_args__check(&parsed()->target, &cli), expected);
		if (expected)
			assert_usage(cases[i].expected);
		teardown(state);
	}
}

static void exit_codes_tell_kinds_of_failure(void **state)
{
	static const struct {
		int err, exit;
	} cases[] = {{0, 0},	  {3, 0},	{-ENOENT, 1},  {-EINVAL, 1}, {TAPIR_CLI_USAGE, 2},
		     {-EPERM, 3}, {-EACCES, 3}, {-ENOTSUP, 3}, {-ENOSYS, 3}, {-524, 3}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(tapir_cli__exit_code(cases[i].err), cases[i].exit);
}

static void every_option_is_in_help_man_and_completion(void **state)
{
	static const char *const names[] = {"pid",   "comm", "cgroup",	"all",	 "output", "depth",
					    "every", "json", "verbose", "quiet", "help"};
	static const struct tapir_palette plain = {"", "", "", "", "", ""};
	struct tapir_str help = {}, man = {}, bash = {}, name = {};
	char word[32];

	(void)state;
	tapir_help__command(&watch, &plain, &help);
	for (size_t i = 0; tapir_manpage__name(&cli, i, &name); i++)
		if (!strcmp(name.data, "tapir.1") || !strcmp(name.data, "tapir-watch.1"))
			tapir_manpage__write(&cli, i, &man);
	tapir_completion__write(&cli, &bash);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(word, sizeof(word), "--%s", names[i]);
		assert_non_null(strstr(help.data, word));
		assert_non_null(strstr(bash.data, word));
		snprintf(word, sizeof(word), "\\-\\-%s", names[i]);
		assert_non_null(strstr(man.data, word));
	}
	assert_non_null(strstr(man.data, "all of \\(aqit\\(aq\\en")); /* roff's own characters */
	tapir_str__fini(&name);
	tapir_str__fini(&help);
	tapir_str__fini(&man);
	tapir_str__fini(&bash);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(every_type_is_filled_when_given),
		CASE(former_name_of_an_option_is_the_option_when_given),
		CASE(defaults_stand_when_nothing_is_given),
		CASE(default_command_runs_unless_a_word_names_one),
		CASE(globals_work_before_and_behind_the_command),
		CASE(no_rows_are_all_rows),
		CASE(choice_is_attached_or_the_first),
		CASE(program_is_kept_whole_when_behind_dashes),
		CASE(dashes_make_words_when_no_program_is_taken),
		CASE(help_needs_no_arguments_when_asked_for),
		CASE(mistakes_teach_in_one_line),
		CASE(durations_are_exact_when_right_and_refused_when_not),
		CASE(value_that_may_be_missing_is_no_option_and_no_spec),
		CASE(targets_are_of_one_kind),
		CASE(exit_codes_tell_kinds_of_failure),
		CASE(every_option_is_in_help_man_and_completion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
