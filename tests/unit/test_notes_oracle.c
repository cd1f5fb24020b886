// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The notes of real programs, compared with what bcc's tplist reads from the same files:
 * probes, sites in order, semaphores, and for every argument size, sign and place.
 *
 * tplist knows no symbols, no indexed memory and no floats: what it calls unrecognized is
 * compared by size and sign only (tests of those forms: test_operand, test_compiled_notes).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "elf/image.h"
#include "elf/notes.h"

#define TPLIST "tplist-bpfcc"

struct comparison {
	struct tapir_usdt_notes notes;
	size_t note_cnt, arg_cnt, unknown_cnt; /* as tplist has them */
	char provider[256], name[512];
	uint64_t semaphore_va;
	size_t next;			    /* where the search for the name's next site begins */
	const struct tapir_usdt_note *note; /* of the last location line */
};

/* "postgresql:query__start [sema 0x885936]" */
static void take_probe_line(struct comparison *c, const char *line)
{
	if (sscanf(line, "%255[^:]:%511s [sema %" SCNx64 "]", c->provider, c->name,
		   &c->semaphore_va) != 3)
		fail_msg("tplist says: %s", line);
	c->next = 0;
}

/* "  location #2 /usr/bin/program 0x1ec240" */
static void take_location_line(struct comparison *c, const char *line)
{
	uint64_t site_va = strtoull(strrchr(line, ' ') + 1, NULL, 16);

	c->note = NULL;
	for (; c->next < c->notes.cnt && !c->note; c->next++)
		if (strcmp(c->notes.data[c->next].name, c->name) == 0 &&
		    strcmp(c->notes.data[c->next].provider, c->provider) == 0)
			c->note = &c->notes.data[c->next];
	if (!c->note)
		fail_msg("%s:%s: a site is missing: %s", c->provider, c->name, line);
	assert_int_equal(c->note->site_va, site_va);
	assert_int_equal(c->note->semaphore_va, c->semaphore_va);
	c->note_cnt++;
}

static const char *register_name(uint8_t reg)
{
	static const char *const names[TAPIR_REG_CNT] = {
		"r15", "r14", "r13", "r12", "bp", "bx", "r11", "r10", "r9", "r8",
		"ax",  "cx",  "dx",  "si",  "di", NULL, "ip",  NULL,  NULL, "sp",
	};

	return reg < TAPIR_REG_CNT && names[reg] ? names[reg] : "?";
}

/* In tplist's words. It prints a constant as it is written: 4@$-1 as -1, not 4294967295. */
static void describe(const struct tapir_operand *op, char *text, size_t len)
{
	const char *sign = op->value < 0 ? "-" : "+";

	if (op->kind == TAPIR_OPERAND_CONST)
		snprintf(text, len, "%" PRId64, op->size == 4 ? (int32_t)op->value : op->value);
	else if (op->kind == TAPIR_OPERAND_REG)
		snprintf(text, len, "%s", register_name(op->reg));
	else if (op->kind == TAPIR_OPERAND_MEM && op->index_reg == TAPIR_REG_NONE)
		snprintf(text, len, "*(%s %s %" PRId64 ")", register_name(op->reg), sign,
			 op->value < 0 ? -op->value : op->value);
	else
		snprintf(text, len, "kind %u", op->kind);
}

/* "    argument #1 4 signed   bytes @ *(sp + 112)" */
static void take_argument_line(struct comparison *c, const char *line)
{
	unsigned idx, size;
	char sign[16], want[128], got[128];
	const struct tapir_operand *op;

	if (sscanf(line, " argument #%u %u %15s bytes @ %127[^\n]", &idx, &size, sign, want) != 4)
		fail_msg("tplist says: %s", line);
	if (!c->note || !idx || idx > c->note->arg_cnt)
		fail_msg("%s:%s has no argument %u", c->provider, c->name, idx);
	op = &c->note->args[idx - 1];
	assert_int_equal(op->size, size);
	assert_int_equal(op->is_signed, strcmp(sign, "signed") == 0);
	c->arg_cnt++;
	if (strncmp(want, "unrecognized", 12) == 0) {
		c->unknown_cnt++;
		return;
	}
	describe(op, got, sizeof(got));
	if (strcmp(got, want) != 0)
		fail_msg("%s:%s #%u in \"%s\": %s instead of %s", c->provider, c->name, idx,
			 c->note->args_text, got, want);
}

static void compare_lines(struct comparison *c, FILE *tplist)
{
	char line[4096];

	while (fgets(line, sizeof(line), tplist)) {
		if (strncmp(line, "    argument", 12) == 0)
			take_argument_line(c, line);
		else if (strncmp(line, "  location", 10) == 0)
			take_location_line(c, line);
		else
			take_probe_line(c, line);
	}
}

static void compare_file(const char *path)
{
	struct comparison c = {};
	struct tapir_elf *elf = NULL;
	const struct tapir_usdt_note *note;
	size_t arg_cnt = 0, unread_cnt = 0;
	char command[PATH_MAX + 64];
	FILE *tplist;

	assert_int_equal(tapir_elf__open(path, &elf), 0);
	assert_true(tapir_usdt_notes__read(elf, &c.notes) > 0);
	snprintf(command, sizeof(command), TPLIST " -vv -l '%s'", path);
	tplist = popen(command, "re");
	assert_non_null(tplist);
	compare_lines(&c, tplist);
	assert_int_equal(pclose(tplist), 0);
	tapir_vec_for_each (note, &c.notes) {
		arg_cnt += note->arg_cnt;
		for (unsigned i = 0; i < note->arg_cnt; i++)
			unread_cnt += note->reasons[i] != TAPIR_OPERAND_OK;
	}
	assert_int_equal(c.notes.bad_cnt, 0);
	assert_int_equal(c.note_cnt, c.notes.cnt);
	assert_int_equal(c.arg_cnt, arg_cnt);
	print_message("%s: %zu notes, %zu arguments; unread: %zu by tapir, %zu by tplist\n", path,
		      c.note_cnt, arg_cnt, unread_cnt, c.unknown_cnt);
	tapir_usdt_notes__fini(&c.notes);
	tapir_elf__free(elf);
}

static void notes_equal_the_oracle_when_both_read_a_file(void **state)
{
	const char *pattern = *state;
	glob_t found = {};

	if (system("command -v " TPLIST " >/dev/null") != 0) {
		print_message("no " TPLIST " (package bpfcc-tools)\n");
		skip();
	}
	if (glob(pattern, 0, NULL, &found) || !found.gl_pathc) {
		print_message("not installed: %s\n", pattern);
		globfree(&found);
		skip();
	}
	for (size_t i = 0; i < found.gl_pathc; i++)
		compare_file(found.gl_pathv[i]);
	globfree(&found);
}

#define ORACLE(program, pattern)                                                                   \
	{                                                                                          \
		"notes_equal_the_oracle_when_file_is_" program,                                    \
			notes_equal_the_oracle_when_both_read_a_file, NULL, NULL,                  \
			(void *)(pattern)                                                          \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ORACLE("openjdk", "/usr/lib/jvm/*-[1-9][0-9]-*jdk*/lib/server/libjvm.so"),
		ORACLE("postgresql", "/usr/lib/postgresql/*/bin/postgres"),
		ORACLE("ruby", "/usr/lib/*/libruby-3.*.so.*.*.*"),
		ORACLE("php", "/usr/bin/php[0-9].[0-9]"),
		ORACLE("python", "/usr/bin/python3.[0-9]*[0-9]"),
		ORACLE("libstdcxx", "/usr/lib/*/libstdc++.so.6.*.*"),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
