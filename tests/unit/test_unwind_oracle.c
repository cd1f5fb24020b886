// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Unwind tables of 20 real files, row by row as elfutils reads them: each row of libdw's is one row
 * of tapir's, in all of its bytes, and holds the same rules.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "elf/image.h"
#include "attach/unwind/unwind_table.h"

#define FILES	    20
#define GAP_STEP    16 /* bytes: no function is shorter and begins elsewhere */
#define MAX_PADDING 63

/* ---- what libdw says ------------------------------------------------------------------------- */

static bool is_plt(const Dwarf_Op *ops, size_t cnt)
{
	static const uint8_t atoms[] = {DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, 0,
					DW_OP_ge,    DW_OP_lit3,   DW_OP_shl,	DW_OP_plus};

	if (cnt != sizeof(atoms) || ops[0].number != 8 || ops[1].number)
		return false;
	for (size_t i = 0; i < cnt; i++)
		if (atoms[i] && ops[i].atom != atoms[i])
			return false;
	return true;
}

static bool is_breg(const Dwarf_Op *ops, unsigned reg)
{
	return ops[0].atom == DW_OP_breg0 + reg;
}

static bool words_fit(int64_t off, int64_t min, int64_t max)
{
	return off % 8 == 0 && off / 8 >= min && off / 8 <= max;
}

static struct tapir_unwind_row with_cfa(uint8_t rule, int64_t off)
{
	return (struct tapir_unwind_row){.rule = rule, .cfa = (uint16_t)(off / 8)};
}

/* The CFA alone. */
static struct tapir_unwind_row cfa_row(const Dwarf_Op *ops, size_t cnt)
{
	struct tapir_unwind_row bad = {.rule = TAPIR_UNWIND_UNSUPPORTED};
	int64_t off;

	if (is_plt(ops, cnt))
		return (struct tapir_unwind_row){.rule = TAPIR_UNWIND_PLT,
						 .cfa = (uint16_t)(ops[4].atom - DW_OP_lit0)};
	if (cnt == 1 && ops[0].atom == DW_OP_bregx) {
		off = (int64_t)ops[0].number2;
		if (ops[0].number == 7 && words_fit(off, 1, UINT16_MAX))
			return with_cfa(TAPIR_UNWIND_SP, off);
		if (ops[0].number == 6 && words_fit(off, INT16_MIN, INT16_MAX))
			return with_cfa(TAPIR_UNWIND_FP, off);
		return bad;
	}
	off = (int64_t)ops[0].number;
	if (cnt == 2 && is_breg(ops, 6) && ops[1].atom == DW_OP_deref)
		return with_cfa(TAPIR_UNWIND_FP_DEREF, off);
	if (cnt == 3 && is_breg(ops, 7) && ops[1].atom == DW_OP_deref &&
	    ops[2].atom == DW_OP_plus_uconst && ops[2].number == 8)
		return with_cfa(TAPIR_UNWIND_SP_DEREF, off);
	return bad;
}

static bool is_at_cfa(const Dwarf_Op *ops, size_t cnt, int64_t *off)
{
	if (!cnt || ops[0].atom != DW_OP_call_frame_cfa ||
	    (cnt == 2 && ops[1].atom != DW_OP_plus_uconst) || cnt > 2)
		return false;
	*off = cnt == 2 ? (int64_t)ops[1].number : 0;
	return true;
}

/* An expression for a register begins with the CFA on its stack: "register + off" leaves it there.
 */
static bool is_at_breg(const Dwarf_Op *ops, size_t cnt, unsigned reg, uint64_t off)
{
	return cnt == 2 && ops[0].atom == DW_OP_call_frame_cfa && is_breg(ops + 1, reg) &&
	       ops[1].number == off;
}

static uint8_t fp_of(Dwarf_Frame *frame)
{
	Dwarf_Op memory[3], *ops = memory;
	size_t cnt = 0;
	int64_t off = 0;

	assert_int_equal(dwarf_frame_register(frame, 6, memory, &ops, &cnt), 0);
	if (!cnt)
		return TAPIR_UNWIND_FP_SAME;
	if (is_at_cfa(ops, cnt, &off) && off < 0 && words_fit(off, -253, -1))
		return (uint8_t)(-off / 8);
	return is_at_breg(ops, cnt, 6, 0) ? TAPIR_UNWIND_FP_AT_FP : TAPIR_UNWIND_FP_LOST;
}

static struct tapir_unwind_row row_of(Dwarf_Frame *frame)
{
	struct tapir_unwind_row row, bad = {.rule = TAPIR_UNWIND_UNSUPPORTED};
	Dwarf_Op memory[3], *ops = memory, *cfa;
	size_t cnt = 0, cfa_cnt = 0;
	int64_t off = 0;

	assert_int_equal(dwarf_frame_register(frame, 16, memory, &ops, &cnt), 0);
	if (!cnt)
		return (struct tapir_unwind_row){.rule = TAPIR_UNWIND_END};
	assert_int_equal(dwarf_frame_cfa(frame, &cfa, &cfa_cnt), 0);
	if (is_at_breg(ops, cnt, 7, 168) && cfa_cnt == 2 && is_breg(cfa, 7) &&
	    cfa[0].number == 160 && cfa[1].atom == DW_OP_deref)
		return (struct tapir_unwind_row){.rule = TAPIR_UNWIND_SIGNAL};
	row = cfa_row(cfa, cfa_cnt);
	if (!is_at_cfa(ops, cnt, &off) || off != -8 || row.rule == TAPIR_UNWIND_UNSUPPORTED)
		return bad;
	row.fp = fp_of(frame);
	return row;
}

/* ---- the comparison -------------------------------------------------------------------------- */

#define START_CONTEXT_BYTES 26

struct comparison {
	const char *path;
	Dwarf_CFI *theirs;
	struct tapir_unwind_table *ours;
	uint64_t bias; /* va - pc */
	unsigned row_cnt;
	uint64_t described_end;
};

static void compare_row(struct comparison *c, uint64_t start, uint64_t end, Dwarf_Frame *frame)
{
	struct tapir_unwind_row want = row_of(frame);
	const struct tapir_unwind_row *got =
		tapir_unwind_table__find(c->ours, (uint32_t)(start - c->bias));
	const struct tapir_unwind_row *last =
		tapir_unwind_table__find(c->ours, (uint32_t)(end - 1 - c->bias));

	assert_non_null(got);
	assert_non_null(last);
	/* __start_context is described as if it had been called: nobody does. */
	if (got->rule == TAPIR_UNWIND_END && want.rule == TAPIR_UNWIND_SP && want.cfa == 1 &&
	    end - start == START_CONTEXT_BYTES)
		return;
	if (got->pc != last->pc)
		fail_msg("%s %#lx: libdw has one row up to %#lx, we another from %#lx on", c->path,
			 (unsigned long)start, (unsigned long)end,
			 (unsigned long)(last->pc + c->bias));
	if (got->rule != want.rule || got->cfa != want.cfa || got->fp != want.fp)
		fail_msg("%s %#lx: rule %u cfa %u fp %u, libdw has rule %u cfa %u fp %u", c->path,
			 (unsigned long)start, got->rule, got->cfa, got->fp, want.rule, want.cfa,
			 want.fp);
	c->row_cnt++;
}

/*
 * Where libdw has nothing, we have a gap, what holds before padding, or (V8's built-in functions)
 * the rule for code that nothing describes.
 */
static void compare_gap(struct comparison *c, uint64_t va)
{
	const struct tapir_unwind_row *row =
		tapir_unwind_table__find(c->ours, (uint32_t)(va - c->bias));

	if (row && row->rule != TAPIR_UNWIND_GAP && row->rule != TAPIR_UNWIND_FRAME &&
	    va - c->described_end > MAX_PADDING)
		fail_msg("%s %#lx: rule %u, libdw has nothing", c->path, (unsigned long)va,
			 row->rule);
}

static void compare_segment(struct comparison *c, uint64_t from_va, uint64_t until_va)
{
	uint64_t va = from_va;

	while (va < until_va) {
		Dwarf_Frame *frame = NULL;
		Dwarf_Addr start, end;

		if (dwarf_cfi_addrframe(c->theirs, va, &frame)) {
			compare_gap(c, va);
			va = (va & -GAP_STEP) + GAP_STEP;
			continue;
		}
		assert_true(dwarf_frame_info(frame, &start, &end, NULL) >= 0);
		compare_row(c, start > va ? start : va, end, frame);
		free(frame);
		c->described_end = va = end;
	}
}

/* Stubs, entry points and trampolines that libdw has no rows for are added to the gaps. */
static bool is_described(struct tapir_elf *elf)
{
	const Elf64_Shdr *eh = tapir_elf__section(elf, ".eh_frame");

	return eh && eh->sh_size > 4096 && tapir_elf__machine(elf) == EM_X86_64;
}

static bool compare_file(const char *path)
{
	struct comparison c = {.path = path};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct tapir_elf *elf = NULL;
	const Elf64_Phdr *ph;
	uint64_t began_ns;
	Elf *other;

	if (fd < 0 || tapir_elf__open_fd(fd, &elf) || !is_described(elf)) {
		tapir_elf__free(elf);
		close(fd);
		return false;
	}
	began_ns = tapir_clock__cpu_ns();
	assert_int_equal(tapir_unwind_table__build(elf, &c.ours), 0);
	began_ns = tapir_clock__cpu_ns() - began_ns;
	assert_true(tapir_unwind_table__is_sound(c.ours));
	elf_version(EV_CURRENT);
	other = elf_begin(fd, ELF_C_READ, NULL);
	c.theirs = dwarf_getcfi_elf(other);
	assert_non_null(c.theirs);
	for (size_t i = 0; (ph = tapir_elf__phdr_at_idx(elf, i)); i++) {
		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		c.bias = ph->p_vaddr - ph->p_offset;
		compare_segment(&c, ph->p_vaddr, ph->p_vaddr + ph->p_filesz);
	}
	print_message("%s: %u rows are equal, %u of ours, %u kB, %u unsupported, %.1f ms\n", path,
		      c.row_cnt, c.ours->shape.row_cnt, c.ours->shape.block_cnt * 4,
		      c.ours->shape.unsupported_cnt, (double)began_ns / 1e6);
	assert_true(c.row_cnt > 100);
	/* 8 bytes a row, and what the index takes. */
	assert_true(c.ours->shape.block_cnt * 4096ull <=
		    c.ours->shape.row_cnt * 9ull + c.ours->shape.granule_cnt * 4ull + 3 * 4096);
	assert_true(began_ns < 4000000000);
	dwarf_cfi_end(c.theirs);
	elf_end(other);
	tapir_unwind_table__free(c.ours);
	tapir_elf__free(elf);
	close(fd);
	return true;
}

static unsigned compare_matches(const char *pattern, unsigned want_cnt)
{
	unsigned cnt = 0;
	glob_t found;

	if (glob(pattern, 0, NULL, &found))
		return 0;
	for (size_t i = 0; i < found.gl_pathc && cnt < want_cnt; i++)
		cnt += compare_file(found.gl_pathv[i]);
	globfree(&found);
	return cnt;
}

static void rows_are_libdws_in_20_real_files(void **state)
{
	static const char *const patterns[] = {
		"/proc/self/exe",
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib64/ld-linux-x86-64.so.2",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libz.so.1",
		"/usr/lib/x86_64-linux-gnu/libbpf.so.1",
		"/usr/lib/jvm/java-17-openjdk-*/lib/server/libjvm.so",
		"/usr/lib/jvm/temurin-*/lib/server/libjvm.so",
		"/usr/lib/postgresql/*/bin/postgres",
		"/usr/bin/node",
		"/usr/bin/python3.11",
		"/usr/bin/bash",
		"/usr/bin/perl",
		"/usr/bin/git",
		"/usr/bin/gdb",
		"/usr/bin/php8.2",
		"/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1",
		"/usr/lib/x86_64-linux-gnu/libsqlite3.so.0",
		"/usr/lib/x86_64-linux-gnu/libm.so.6",
		"/usr/lib/x86_64-linux-gnu/libpthread.so.0",
		"/usr/share/dotnet/shared/Microsoft.NETCore.App/*/libcoreclr.so",
		"/usr/share/dotnet/shared/Microsoft.NETCore.App/*/libclrjit.so",
		"/usr/lib/x86_64-linux-gnu/lib[a-g]*.so.[0-9]",
		"/usr/lib/x86_64-linux-gnu/lib*.so.*",
	};
	unsigned cnt = 0, again;

	(void)state;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		again = cnt < FILES ? FILES - cnt : 0;
		cnt += compare_matches(patterns[i], again);
	}
	assert_true(cnt >= FILES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_libdws_in_20_real_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
