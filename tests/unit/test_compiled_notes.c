// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Operands with symbols, held against the linker and the loader: a program is compiled with
 * notes of every such form beside the instructions that read the same variables. It runs,
 * and prints for each argument what it is and where it lies; the notes must lead there.
 *
 * One program, linked in each way that changes the answer: PIE, fixed, static, with copy
 * relocations, with an aligned TLS block, with packed relocations, stripped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/image.h"
#include "elf/notes.h"
#include "elf/operand.h"

/*
 * Prints lines "NAME BASE ADDRESS": BASE is the site's address or the thread pointer. The
 * notes are written by hand, with the operand texts that gcc and clang were seen to print.
 */
static const char program_source[] =
	"#include <stdio.h>\n"
	"#include <stdint.h>\n"
	"int glob[4] = {1, 2, 3, 4};\n"
	"static int hidden __attribute__((used)) = 7;\n"
	"__thread char before[3] = {1};\n"
	"__thread int tls[5] __attribute__((aligned(64))) = {9};\n"
	"__thread int tbss;\n"
	"extern char **environ;\n" /* of libc: by copy relocation or by the GOT */
	"#define NOTE(name, operand) \\\n"
	"  __asm__ volatile(\"990: nop\\n.pushsection .note.stapsdt,\\\"\\\",\\\"note\\\"\\n\" \\\n"
	"    \".balign 4\\n.4byte 992f-991f,994f-993f,3\\n991: .asciz \\\"stapsdt\\\"\\n\" \\\n"
	"    \"992: .balign 4\\n993: .8byte 990b,_.stapsdt.base,0\\n\" \\\n"
	"    \".asciz \\\"p\\\",\\\"\" name \"\\\",\\\"\" operand \"\\\"\\n994: .balign 4\\n\" \\\n"
	"    \".popsection\\n\" \\\n"
	"    \".ifndef _.stapsdt.base\\n.pushsection .stapsdt.base,\\\"aG\\\",\\\"progbits\\\",\" "
	"\\\n"
	"    \".stapsdt.base,comdat\\n.weak _.stapsdt.base\\n.hidden _.stapsdt.base\\n\" \\\n"
	"    \"_.stapsdt.base: .space 1\\n.popsection\\n.endif\\nlea 990b(%%rip), %0\" \\\n"
	"    : \"=r\"(site))\n"
	"#define SHOW(name, base, address) \\\n"
	"  printf(name \" %#lx %#lx\\n\", (long)(base), (long)(address))\n"
	"int main(void)\n"
	"{\n"
	"  uintptr_t site, tp, slot;\n"
	"  __asm__(\"mov %%fs:0, %0\" : \"=r\"(tp));\n"
	"  NOTE(\"variable\", \"-4@glob(%%rip)\"); SHOW(\"variable\", site, glob);\n"
	"  NOTE(\"plus\", \"-4@8+glob(%%rip)\"); SHOW(\"plus\", site, glob + 2);\n"
	"  NOTE(\"tail\", \"-4@glob+12(%%rip)\"); SHOW(\"tail\", site, glob + 3);\n"
	"  NOTE(\"hidden\", \"-4@hidden(%%rip)\"); SHOW(\"hidden\", site, &hidden);\n"
	"  NOTE(\"tls\", \"-4@%%fs:tls@tpoff\"); SHOW(\"tls\", tp, tls);\n"
	"  NOTE(\"tls_plus\", \"-4@%%fs:tls@tpoff+8\"); SHOW(\"tls_plus\", tp, tls + 2);\n"
	"  NOTE(\"tls_before\", \"1@%%fs:before@tpoff\"); SHOW(\"tls_before\", tp, before);\n"
	"  NOTE(\"tbss\", \"-4@%%fs:tbss@tpoff\"); SHOW(\"tbss\", tp, &tbss);\n"
	"#ifdef WITH_GOT\n"
	"  __asm__(\"lea environ@GOTPCREL(%%rip), %0\" : \"=r\"(slot));\n"
	"  NOTE(\"got\", \"8@environ@GOTPCREL(%%rip)\"); SHOW(\"got\", site, slot);\n"
	"  __asm__(\"lea glob@GOTPCREL(%%rip), %0\" : \"=r\"(slot));\n"
	"  NOTE(\"own_got\", \"8@glob@GOTPCREL(%%rip)\"); SHOW(\"own_got\", site, slot);\n"
	"#endif\n"
	"#ifdef WITH_COPY\n"
	"  __asm__(\"lea environ(%%rip), %0\" : \"=r\"(slot));\n"
	"  NOTE(\"copy\", \"8@environ(%%rip)\"); SHOW(\"copy\", site, slot);\n"
	"#endif\n"
	"  return !environ;\n"
	"}\n";

struct link_mode {
	const char *flags;
	size_t line_cnt;
	const char *unread; /* the probe whose symbol is gone */
};

static const struct link_mode modes[] = {
	{"gcc -O2 -fPIE -pie -DWITH_GOT", 10, NULL},
	{"gcc -O0 -fPIE -pie -DWITH_GOT", 10, NULL},
	{"gcc -O2 -fPIE -pie -DWITH_GOT -Wl,-z,now,-z,pack-relative-relocs", 10, NULL},
	{"gcc -O2 -fPIE -pie -DWITH_COPY", 9, NULL},
	{"gcc -O2 -fno-pie -no-pie -DWITH_COPY", 9, NULL},
	{"gcc -O2 -fno-pie -no-pie -DWITH_GOT", 10, NULL},
	{"gcc -O2 -static -DWITH_GOT", 10, NULL},
	{"gcc -O2 -static-pie -fPIE -DWITH_GOT", 10, NULL},
	{"gcc -O2 -fPIE -pie -DWITH_GOT -rdynamic -s", 10, "hidden"},
	{"clang -O2 -fPIE -pie -DWITH_GOT", 10, NULL},
	{"clang -O2 -fPIE -pie -DWITH_GOT -fuse-ld=lld", 10, NULL},
};

struct fixture {
	char dir[32], source[64], program[64];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	strcpy(f->dir, "/tmp/tapir-notes-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->source, sizeof(f->source), "%s/program.c", f->dir);
	snprintf(f->program, sizeof(f->program), "%s/program", f->dir);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	unlink(f->source);
	unlink(f->program);
	rmdir(f->dir);
	free(f);
	return 0;
}

static void write_source(const struct fixture *f, const char *text)
{
	FILE *source = fopen(f->source, "we");

	assert_non_null(source);
	assert_true(fputs(text, source) >= 0);
	assert_int_equal(fclose(source), 0);
}

static bool is_installed(const char *tool)
{
	char command[128];

	snprintf(command, sizeof(command), "command -v %s >/dev/null", tool);
	return system(command) == 0;
}

static bool compile(const struct fixture *f, const struct link_mode *mode)
{
	char command[512];

	if (strncmp(mode->flags, "clang", 5) == 0 && !is_installed("clang"))
		return false;
	if (strstr(mode->flags, "lld") && !is_installed("ld.lld"))
		return false;
	snprintf(command, sizeof(command), "%s %s -o %s 2>&1", mode->flags, f->source, f->program);
	assert_int_equal(system(command), 0);
	return true;
}

static const struct tapir_usdt_note *find_note(const struct tapir_usdt_notes *notes,
					       const char *name)
{
	const struct tapir_usdt_note *note;

	tapir_vec_for_each (note, notes) {
		if (strcmp(note->name, name) == 0)
			return note;
	}
	fail_msg("no note: %s", name);
	return NULL;
}

/* base: what is in the operand's register when the site fires. */
static void check_place(const struct link_mode *mode, const struct tapir_usdt_note *note,
			uint64_t base, uint64_t want)
{
	const struct tapir_operand *op = &note->args[0];

	if (mode->unread && strcmp(mode->unread, note->name) == 0) {
		assert_int_equal(note->reasons[0], TAPIR_OPERAND_NO_SYMBOL);
		return;
	}
	if (note->reasons[0])
		fail_msg("%s: %s: %s", mode->flags, note->args_text,
			 tapir_operand_reason__text(note->reasons[0]));
	if (strstr(note->args_text, "tpoff")) {
		assert_int_equal(op->kind, TAPIR_OPERAND_TLS);
	} else {
		assert_int_equal(op->kind, TAPIR_OPERAND_MEM);
		assert_int_equal(op->reg, TAPIR_REG_IP);
	}
	if (base + (uint64_t)op->value != want)
		fail_msg("%s: %s: %#" PRIx64 " instead of %#" PRIx64, mode->flags, note->args_text,
			 base + (uint64_t)op->value, want);
}

static void check_mode(const struct fixture *f, const struct link_mode *mode)
{
	struct tapir_usdt_notes notes;
	struct tapir_elf *elf = NULL;
	uint64_t base, want;
	size_t line_cnt = 0;
	char name[64];
	FILE *run;

	assert_int_equal(tapir_elf__open(f->program, &elf), 0);
	assert_true(tapir_usdt_notes__read(elf, &notes) > 0);
	assert_int_equal(notes.bad_cnt, 0);
	run = popen(f->program, "re");
	assert_non_null(run);
	for (; fscanf(run, "%63s %" SCNx64 " %" SCNx64, name, &base, &want) == 3; line_cnt++)
		check_place(mode, find_note(&notes, name), base, want);
	assert_int_equal(pclose(run), 0);
	assert_int_equal(line_cnt, mode->line_cnt);
	tapir_usdt_notes__fini(&notes);
	tapir_elf__free(elf);
}

static void operands_lead_to_variables_when_a_program_runs(void **state)
{
	write_source(*state, program_source);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (compile(*state, &modes[i]))
			check_mode(*state, &modes[i]);
		else
			print_message("not installed: %s\n", modes[i].flags);
}

/* ---- include/tapir/usdt.h ---------------------------------------------------------------- */

static const char usdt_source[] =
	"#include <stdbool.h>\n"
	"#include <tapir/usdt.h>\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"  volatile unsigned long big = 1ul << 63; volatile short small = -2;\n"
	"  volatile bool flag = true; volatile char letter = 'x'; volatile double half = 0.5;\n"
	"  TAPIR_PROBE(shop, order, argc, big, small, argv[0], argv, flag, letter, half);\n"
	"  TAPIR_PROBE(shop, empty);\n"
	"  return 0;\n"
	"}\n";

static void kinds_are_known_when_usdt_h_made_the_probe(void **state)
{
	const struct link_mode mode = {.flags = "gcc -O2 -Iinclude"};
	static const int sizes[] = {-4, 8, -2, 8, 8, 1, -1, 8}; /* as a note has them */
	const struct tapir_usdt_note *order;
	struct tapir_usdt_notes notes;
	struct fixture *f = *state;
	struct tapir_elf *elf = NULL;

	write_source(f, usdt_source);
	assert_true(compile(f, &mode));
	assert_int_equal(tapir_elf__open(f->program, &elf), 0);
	assert_int_equal(tapir_usdt_notes__read(elf, &notes), 2);
	assert_int_equal(notes.bad_cnt, 0);
	assert_string_equal(find_note(&notes, "empty")->kinds, "");
	order = find_note(&notes, "order");
	assert_string_equal(order->kinds, "iuispbcf");
	assert_int_equal(order->arg_cnt, 8);
	for (size_t i = 0; i < 8; i++) {
		assert_int_equal(order->reasons[i], TAPIR_OPERAND_OK);
		assert_int_equal(order->args[i].size, abs(sizes[i]));
		assert_int_equal(order->args[i].is_signed, sizes[i] < 0);
	}
	tapir_usdt_notes__fini(&notes);
	tapir_elf__free(elf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(kinds_are_known_when_usdt_h_made_the_probe, setup,
						teardown),
		cmocka_unit_test_setup_teardown(operands_lead_to_variables_when_a_program_runs,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
