// SPDX-License-Identifier: GPL-2.0-or-later
/* Sources of the machine: how they are written, the formats of the kernel's, and what matches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/tracepoints.h"
#include "base/diag.h"
#include "base/str.h"
#include "decode/tracepoint_format.h"
#include "elf/function.h"
#include "elf/image.h"
#include "spec/machine_source.h"
#include "trace/record.h"

#define CNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- words ---------------------------------------------------------------------------------- */

static bool matches(const char *text, const char *provider, const char *event)
{
	struct tapir_machine_source *s = NULL;
	bool is_match;

	assert_int_equal(tapir_machine_source__parse(text, &s), 0);
	assert_string_equal(s->text, text);
	is_match = tapir_machine_source__matches(s, provider, event);
	tapir_machine_source__free(s);
	return is_match;
}

static void source_means_events_by_their_names(void **state)
{
	(void)state;
	assert_true(matches("tracepoint:sched:sched_switch", "tracepoint:sched", "sched_switch"));
	assert_false(matches("tracepoint:sched:sched_switch", "tracepoint:sched", "sched_waking"));
	assert_false(matches("tracepoint:sched:*", "tracepoint:task", "task_rename"));
	assert_false(matches("tracepoint:sched:*", "sched", "sched_switch"));
	assert_true(matches("uprobe:libc:malloc", "uprobe:libc", "malloc"));
	assert_false(matches("uprobe:libc:malloc", "uretprobe:libc", "malloc"));
	assert_true(matches("uprobe:/a\\:b:ns::f(int)", "uprobe:/a:b", "ns::f(int)"));
	assert_true(matches("uretprobe:x:operator new", "uretprobe:x", "operator new"));
	assert_true(matches("tracepoint:*:task_*", "tracepoint:task", "task_rename"));
	assert_true(matches("perf:*-faults@5", "perf", "page-faults"));
	assert_false(matches("perf:page-faults", "timer", "page-faults"));
	assert_true(matches("timer:99", "timer", "99"));
	assert_false(matches("timer:99", "timer", "100"));
	assert_true(matches("kprobe:vfs_*", "kprobe", "vfs_read"));
	assert_false(matches("kprobe:vfs_read", "kretprobe", "vfs_read"));
	assert_true(matches("kretprobe:vfs_read,vfs_write", "kretprobe", "vfs_write"));
	assert_true(matches("kfunc:vfs_*", "kretprobe", "vfs_write"));
	assert_true(matches("kfunc:vfs_*", "kprobe", "vfs_read"));
	assert_false(matches("kfunc:vfs_*", "kprobe", "do_exit"));
	assert_true(matches("ufunc:x:f(int)", "ufunc:x", "f(int)"));
	assert_true(matches("ufunc:x:f", "ufunc:x", "f return"));
	assert_false(matches("ufunc:x:f", "ufunc:x", "f returned"));
	assert_false(matches("uprobe:x:f", "uprobe:x", "f return"));
	assert_true(matches("syscall:openat,getp*", "syscall", "getppid"));
	assert_true(matches("syscall:openat,getp*", "syscall", "openat"));
	assert_false(matches("syscall:openat", "syscall", "open"));
	assert_false(matches("syscall:*", "tracepoint:syscall", "open"));
}

static void mistakes_in_sources_are_one_line(void **state)
{
	static const char *const texts[] = {"timer:",
					    "timer:0",
					    "timer:x",
					    "timer:20001",
					    "timer:9@9",
					    "perf:",
					    "perf:@1",
					    "perf:a@",
					    "perf:a@0",
					    "perf:a@1@2",
					    "perf:a@-1",
					    "perf:a b",
					    "tracepoint:",
					    "tracepoint:sched",
					    "tracepoint::sched_switch",
					    "tracepoint:sched:",
					    "tracepoint:sched:a:b",
					    "tracepoint:../etc:passwd",
					    "syscall:",
					    "syscall:openat/../x",
					    "syscall:open at",
					    "syscall:a:b",
					    "kprobe:",
					    "kfunc:",
					    "ufunc:libc",
					    "ufunc::f",
					    "kprobe:vfs_read+0x1",
					    "kretprobe:a b",
					    "uprobe:libc",
					    "uprobe::malloc",
					    "uprobe:libc:",
					    "uretprobe:a:\033[2J",
					    "tracepoint:a/b:c",
					    "syscall:\033[2J"};

	(void)state;
	for (size_t i = 0; i < CNT(texts); i++) {
		struct tapir_machine_source *s = NULL;

		tapir_diag__clear();
		assert_true(tapir_machine_source__is_one(texts[i]));
		assert_int_equal(tapir_machine_source__parse(texts[i], &s), -EINVAL);
		assert_null(s);
		assert_int_equal(tapir_diag__cnt(), 1);
	}
	assert_false(tapir_machine_source__is_one("tracepoint"));
	assert_false(tapir_machine_source__is_one("usdt:tracepoint:a"));
	assert_false(tapir_machine_source__is_one("hotspot:gc__begin"));
	tapir_diag__clear();
}

/* ---- formats -------------------------------------------------------------------------------- */

#define COMMON                                                                                     \
	"name: x\nID: 7\nformat:\n"                                                                \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define END "\nprint fmt: \"field:%s;\", REC->x\n"

/* Linux 6.1 has comm in place where 6.18 has it elsewhere in the record. */
static void both_kinds_of_texts_are_known(void **state)
{
	struct tapir_tracepoint_format f;

	(void)state;
	assert_int_equal(tapir_tracepoint_format__parse(
				 COMMON
				 "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
				 "\tfield:__data_loc char[] file;\toffset:24;\tsize:4;\tsigned:0;\n"
				 "\tfield:__rel_loc char[] what;\toffset:28;\tsize:4;\tsigned:0;\n"
				 "\tfield:pid_t pid;\toffset:32;\tsize:4;\tsigned:1;\n"
				 "\tfield:unsigned long args[6];\toffset:40;\tsize:48;\tsigned:0;\n"
				 "\tfield:const char * name;\toffset:88;\tsize:8;\tsigned:0;\n"
				 "\tfield:bool is;\toffset:96;\tsize:1;\tsigned:0;\n" END,
				 &f),
			 0);
	assert_int_equal(f.field_cnt, 7);
	assert_string_equal(f.fields[0].name, "comm");
	assert_int_equal(f.fields[0].machine_field.read, TAPIR_MACHINE_AT);
	assert_int_equal(f.fields[0].field_type, TAPIR_FIELD_STR);
	assert_int_equal(f.fields[0].machine_field.size, 16);
	assert_string_equal(f.fields[1].name, "file");
	assert_int_equal(f.fields[1].machine_field.read, TAPIR_MACHINE_AT_LOC);
	assert_int_equal(f.fields[1].field_type, TAPIR_FIELD_STR);
	assert_int_equal(f.fields[2].machine_field.read, TAPIR_MACHINE_AT_REL_LOC);
	assert_int_equal(f.fields[3].field_type, TAPIR_FIELD_INT);
	assert_string_equal(f.fields[3].type, "pid_t");
	assert_int_equal(f.fields[4].field_type, TAPIR_FIELD_BLOB);
	assert_int_equal(f.fields[5].field_type, TAPIR_FIELD_PTR);
	assert_int_equal(f.fields[5].machine_field.read, TAPIR_MACHINE_NUMBER);
	assert_int_equal(f.fields[6].field_type, TAPIR_FIELD_BOOL);
	assert_int_equal(f.skipped_cnt, 0);
}

static void fields_beyond_the_last_place_are_counted(void **state)
{
	struct tapir_tracepoint_format f;
	char text[8192] = COMMON;

	(void)state;
	for (int i = 0; i < 20; i++)
		sprintf(text + strlen(text), "\tfield:u64 f%d;\toffset:%d;\tsize:8;\tsigned:0;\n",
			i, 8 + 8 * i);
	assert_int_equal(tapir_tracepoint_format__parse(text, &f), 0);
	assert_int_equal(f.field_cnt, TAPIR_MACHINE_FIELDS);
	assert_int_equal(f.skipped_cnt, 20 - TAPIR_MACHINE_FIELDS);
	assert_string_equal(f.fields[15].name, "f15");
}

static void text_that_is_no_format_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"name: x\n",
		COMMON "\tfield:u64 x;\n",
		COMMON "\tfield:u64 x;\toffset:8;\tsize:8;\n",
		COMMON "\tfield:u64 x;\toffset:;\tsize:8;\tsigned:0;\n",
		COMMON "\tfield:u64 x;\toffset:99999999999;\tsize:8;\tsigned:0;\n",
		COMMON "\tfield:u64 x;\toffset:70000;\tsize:8;\tsigned:0;\n",
		COMMON "\tfield:u64 x;\toffset:8;\tsize:8;\tsigned:7;\n",
		COMMON "\tfield:x;\toffset:8;\tsize:8;\tsigned:0;\n",
		COMMON "\tfield:;\toffset:8;\tsize:8;\tsigned:0;\n",
		COMMON "\tfield:u64 [4];\toffset:8;\tsize:8;\tsigned:0;\n",
		COMMON
		"\tfield:u64 "
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa;"
		"\toffset:8;\tsize:8;\tsigned:0;\n",
		COMMON "\tfield:u64 x",
	};
	struct tapir_tracepoint_format f;

	(void)state;
	for (size_t i = 0; i < CNT(texts); i++)
		assert_int_equal(tapir_tracepoint_format__parse(texts[i], &f), -EINVAL);
	/* A size of nothing is a field that cannot be read. */
	assert_int_equal(tapir_tracepoint_format__parse(
				 COMMON "\tfield:u64 x;\toffset:8;\tsize:0;\tsigned:0;\n", &f),
			 0);
	assert_int_equal(f.field_cnt, 0);
	assert_int_equal(f.skipped_cnt, 1);
}

/* ---- functions ------------------------------------------------------------------------------ */

static bool is_of_file(const char *text, const char *path)
{
	struct tapir_machine_source *s = NULL;
	bool is_it;

	assert_int_equal(tapir_machine_source__parse(text, &s), 0);
	assert_true(tapir_machine_source__is_function(s));
	is_it = tapir_machine_source__is_of_file(s, path);
	tapir_machine_source__free(s);
	return is_it;
}

static void file_is_meant_by_its_path_or_the_beginning_of_its_name(void **state)
{
	(void)state;
	assert_true(is_of_file("uprobe:libc:f", "/usr/lib/libc.so.6"));
	assert_true(is_of_file("uprobe:libc:f", "/usr/lib/libc-2.31.so"));
	assert_false(is_of_file("uprobe:libc:f", "/usr/lib/libcrypto.so"));
	assert_true(is_of_file("uprobe:postgres:f", "/usr/lib/postgresql/15/bin/postgres"));
	assert_true(is_of_file("uprobe:/bin/x:f", "/bin/x"));
	assert_false(is_of_file("uprobe:/bin/x:f", "/usr/bin/x"));
}

__attribute__((noinline, used)) static int machine_function(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

static void functions_are_found_by_their_names(void **state)
{
	uint64_t off = 0, again = 0;
	struct tapir_elf *elf;

	(void)state;
	assert_int_equal(tapir_elf__open("/proc/self/exe", &elf), 0);
	assert_int_equal(tapir_elf_function__find(elf, "machine_function", &off, NULL), 0);
	assert_int_equal(tapir_elf_function__find(elf, "machine_function", &again, NULL), 0);
	assert_true(off && off == again);
	assert_int_equal(tapir_elf_function__find(elf, "machine_functio", &off, NULL), -ENOENT);
	assert_int_equal(tapir_elf_function__find(elf, "machine_function2", &off, NULL), -ENOENT);
	assert_int_equal(tapir_elf_function__find(elf, "", &off, NULL), -ENOENT);
	tapir_elf__free(elf);
}

/* Functions of C++ by the names that its compiler gives them. */
#define CXX(name, symbol)                                                                          \
	__attribute__((noinline, used)) int name(int n) __asm__(symbol);                           \
	int name(int n)                                                                            \
	{                                                                                          \
		__asm__ volatile("" : "+r"(n));                                                    \
		return n;                                                                          \
	}

CXX(cxx_one, "_ZN6tapirs3oneEiPKc")
CXX(cxx_int, "_ZN6tapirs4manyEi")
CXX(cxx_long, "_ZN6tapirs4manyEl")
CXX(cxx_many_const, "_ZNK6tapirs4manyEv")
CXX(cxx_global, "_Z11tapir_plaini")
CXX(cxx_template, "_ZN6tapirs7biggestIiEET_S1_S1_")
CXX(cxx_deleting, "_ZN6tapirsD0Ev")
CXX(cxx_complete, "_ZN6tapirsD2Ev")

static void functions_of_cxx_are_found_without_and_with_parameters(void **state)
{
	static const struct {
		const char *name;
		int err;
		const char *like;
	} cases[] = {
		{"tapirs::one", 0, NULL},
		{"tapirs::one(int, char const*)", 0, NULL},
		{"tapirs::one(int,char const *)", 0, NULL},
		{"_ZN6tapirs3oneEiPKc", 0, NULL},
		{"tapirs::one(int)", -ENOENT, "tapirs::one(int, char const*)"},
		{"tapirs::many(int)", 0, NULL},
		{"tapirs::many(long)", 0, NULL},
		{"tapirs::many() const", 0, NULL},
		{"tapirs::many", -EEXIST, "tapirs::many(long)"},
		{"tapirs::many(char)", -ENOENT, "tapirs::many() const"},
		{"tapir_plain", 0, NULL},
		{"tapir_plain(int)", 0, NULL},
		{"tapirs::biggest<int>", 0, NULL},
		{"tapirs::biggest<int>(int, int)", 0, NULL},
		{"tapirs::~tapirs()", -EEXIST, "_ZN6tapirsD0Ev"},
		{"_ZN6tapirsD0Ev", 0, NULL},
		{"tapirs::on", -ENOENT, NULL},
		{"tapirs::one(", -ENOENT, NULL},
		{"tapirs::one)", -ENOENT, NULL},
		{"(", -ENOENT, NULL},
		{" ", -ENOENT, NULL},
	};
	struct tapir_elf *elf;

	(void)state;
	assert_int_equal(tapir_elf__open("/proc/self/exe", &elf), 0);
	for (size_t i = 0; i < CNT(cases); i++) {
		struct tapir_str like = {};
		uint64_t off = 0;
		int err = tapir_elf_function__find(elf, cases[i].name, &off, &like);

		if (err != cases[i].err)
			fail_msg("%s: %d", cases[i].name, err);
		assert_true(!off == !!err);
		if (err && cases[i].like)
			assert_non_null(strstr(like.data, cases[i].like));
		else if (err)
			assert_int_equal(like.len, 0);
		tapir_str__fini(&like);
	}
	tapir_elf__free(elf);
}

/* ---- system calls --------------------------------------------------------------------------- */

static void find(const char *text, struct tapir_tracepoint_list *out)
{
	struct tapir_machine_source *s = NULL;

	assert_int_equal(tapir_machine_source__parse(text, &s), 0);
	assert_int_equal(tapir_tracepoints__find(s, out), 0);
	tapir_machine_source__free(s);
}

static void system_calls_are_found_by_name_without_privileges(void **state)
{
	struct tapir_tracepoint_list list = {};

	(void)state;
	find("syscall:getppid,read", &list);
	assert_int_equal(list.cnt, 2);
	assert_string_equal(list.data[0].name, "getppid");
	assert_int_equal(list.data[0].nr, 110);
	assert_null(list.data[0].category);
	assert_string_equal(list.data[1].name, "read");
	assert_int_equal(list.data[1].nr, 0);
	find("syscall:no_such_call", &list);
	assert_int_equal(list.cnt, 2);
	tapir_tracepoint_list__fini(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(source_means_events_by_their_names),
		cmocka_unit_test(mistakes_in_sources_are_one_line),
		cmocka_unit_test(both_kinds_of_texts_are_known),
		cmocka_unit_test(fields_beyond_the_last_place_are_counted),
		cmocka_unit_test(text_that_is_no_format_is_refused),
		cmocka_unit_test(file_is_meant_by_its_path_or_the_beginning_of_its_name),
		cmocka_unit_test(functions_are_found_by_their_names),
		cmocka_unit_test(functions_of_cxx_are_found_without_and_with_parameters),
		cmocka_unit_test(system_calls_are_found_by_name_without_privileges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
