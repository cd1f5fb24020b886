// SPDX-License-Identifier: GPL-2.0-or-later
/* The operand grammar: every form seen in real files or emitted by compilers, and what is not one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>

#include "elf/operand.h"
#include "elf/resolve.h"
#include "elf_builder.h"

#define SITE_VA	   (TEXT_VA + 0x100)
#define GLOBAL_VA  (DATA_VA + 0x40)
#define STATIC_VA  (DATA_VA + 0x80)
#define COPIED_VA  (DATA_VA + 0xc0)
#define GOT_OFF	   (DATA_OFF + 0x200)
#define GOT_VA	   (LOAD_BIAS + GOT_OFF)
#define TLS_BYTES  0x34
#define TLS_ALIGN  16
#define TLS_END	   0x40 /* TLS_BYTES rounded up to TLS_ALIGN */
#define FROM_IP(x) ((int64_t)((x)-SITE_VA))

#define R(name)	   TAPIR_REG_##name
#define CONST(size_, sign, value_)                                                                 \
	{                                                                                          \
		.value = (int64_t)(value_), .kind = TAPIR_OPERAND_CONST, .reg = R(NONE),           \
		.index_reg = R(NONE), .size = size_, .is_signed = sign                             \
	}
#define REG(size_, sign, reg_, shift)                                                              \
	{                                                                                          \
		.kind = TAPIR_OPERAND_REG, .reg = R(reg_), .index_reg = R(NONE),                   \
		.reg_shift = shift, .size = size_, .is_signed = sign                               \
	}
#define FREG(size_, reg_)                                                                          \
	{                                                                                          \
		.kind = TAPIR_OPERAND_REG, .reg = R(reg_), .index_reg = R(NONE), .size = size_,    \
		.is_float = 1                                                                      \
	}
#define MEM(size_, sign, disp, base, index, shift)                                                 \
	{                                                                                          \
		.value = (int64_t)(disp), .kind = TAPIR_OPERAND_MEM, .reg = R(base),               \
		.index_reg = R(index), .scale_shift = shift, .size = size_, .is_signed = sign      \
	}
#define FMEM(size_, disp, base)                                                                    \
	{                                                                                          \
		.value = (int64_t)(disp), .kind = TAPIR_OPERAND_MEM, .reg = R(base),               \
		.index_reg = R(NONE), .size = size_, .is_float = 1                                 \
	}
#define TLS(size_, sign, disp, base, index, shift)                                                 \
	{                                                                                          \
		.value = (int64_t)(disp), .kind = TAPIR_OPERAND_TLS, .reg = R(base),               \
		.index_reg = R(index), .scale_shift = shift, .size = size_, .is_signed = sign      \
	}

struct row {
	const char *text;
	struct tapir_operand want;
};

struct refused {
	const char *text;
	enum tapir_operand_reason want;
};

/* ---- without symbols -------------------------------------------------------------------- */

static const struct row plain_rows[] = {
	/* registers of all widths */
	{"8@%rax", REG(8, 0, AX, 0)},
	{"8@%rbx", REG(8, 0, BX, 0)},
	{"8@%rcx", REG(8, 0, CX, 0)},
	{"-8@%rdx", REG(8, 1, DX, 0)},
	{"8@%rsi", REG(8, 0, SI, 0)},
	{"8@%rdi", REG(8, 0, DI, 0)},
	{"8@%rbp", REG(8, 0, BP, 0)},
	{"8@%rsp", REG(8, 0, SP, 0)},
	{"8@%r8", REG(8, 0, R8, 0)},
	{"8@%r9", REG(8, 0, R9, 0)},
	{"8@%r10", REG(8, 0, R10, 0)},
	{"8@%r11", REG(8, 0, R11, 0)},
	{"-8@%r12", REG(8, 1, R12, 0)},
	{"8@%r13", REG(8, 0, R13, 0)},
	{"8@%r14", REG(8, 0, R14, 0)},
	{"8@%r15", REG(8, 0, R15, 0)},
	{"8@%rip", REG(8, 0, IP, 0)},
	{"-4@%eax", REG(4, 1, AX, 0)},
	{"4@%ebp", REG(4, 0, BP, 0)},
	{"-4@%r13d", REG(4, 1, R13, 0)},
	{"4@%r8d", REG(4, 0, R8, 0)},
	{"2@%ax", REG(2, 0, AX, 0)},
	{"-2@%r9w", REG(2, 1, R9, 0)},
	{"2@%si", REG(2, 0, SI, 0)},
	{"1@%al", REG(1, 0, AX, 0)},
	{"-1@%bl", REG(1, 1, BX, 0)},
	{"1@%dil", REG(1, 0, DI, 0)},
	{"1@%sil", REG(1, 0, SI, 0)},
	{"1@%bpl", REG(1, 0, BP, 0)},
	{"1@%spl", REG(1, 0, SP, 0)},
	{"1@%r8b", REG(1, 0, R8, 0)},
	{"-1@%r15b", REG(1, 1, R15, 0)},
	{"1@%ah", REG(1, 0, AX, 8)},
	{"1@%bh", REG(1, 0, BX, 8)},
	{"-1@%ch", REG(1, 1, CX, 8)},
	{"1@%dh", REG(1, 0, DX, 8)},
	/* a note's size may differ from its register's */
	{"1@%edi", REG(1, 0, DI, 0)},
	{"-4@%rax", REG(4, 1, AX, 0)},
	{"8@%eax", REG(4, 0, AX, 0)},
	{"4@%al", REG(1, 0, AX, 0)},
	/* constants: the value is one of the argument's type */
	{"-4@$0", CONST(4, 1, 0)},
	{"-4@$-5", CONST(4, 1, -5)},
	{"4@$-5", CONST(4, 0, 0xfffffffbu)},
	{"4@$4294967291", CONST(4, 0, 0xfffffffbu)},
	{"-4@$4294967291", CONST(4, 1, -5)},
	{"1@$-1", CONST(1, 0, 255)},
	{"-1@$255", CONST(1, 1, -1)},
	{"2@$0x10", CONST(2, 0, 16)},
	{"2@$-1", CONST(2, 0, 0xffff)},
	{"8@$0xFFff", CONST(8, 0, 0xffff)},
	{"8@$010", CONST(8, 0, 8)},
	{"8@$10+5-3", CONST(8, 0, 12)},
	{"-8@$81985529216486895", CONST(8, 1, 81985529216486895)},
	{"8@$18446744073709551615", CONST(8, 0, UINT64_MAX)},
	{"-8@$-9223372036854775808", CONST(8, 1, INT64_MIN)},
	{"-16@$-7", CONST(16, 1, -7)},
	/* memory */
	{"8@(%rsp)", MEM(8, 0, 0, SP, NONE, 0)},
	{"8@8(%rsp)", MEM(8, 0, 8, SP, NONE, 0)},
	{"-4@112(%rsp)", MEM(4, 1, 112, SP, NONE, 0)},
	{"1@37(%r14)", MEM(1, 0, 37, R14, NONE, 0)},
	{"1@-57(%rbp)", MEM(1, 0, -57, BP, NONE, 0)},
	{"-4@-68(%rsp)", MEM(4, 1, -68, SP, NONE, 0)},
	{"4@0(%r13)", MEM(4, 0, 0, R13, NONE, 0)},
	{"4@(%r12)", MEM(4, 0, 0, R12, NONE, 0)},
	{"2@12(%r12)", MEM(2, 0, 12, R12, NONE, 0)},
	{"8@0x20(%rax)", MEM(8, 0, 32, AX, NONE, 0)},
	{"8@-0x20(%rax)", MEM(8, 0, -32, AX, NONE, 0)},
	{"8@16+8(%rax)", MEM(8, 0, 24, AX, NONE, 0)},
	{"8@16-24(%rax)", MEM(8, 0, -8, AX, NONE, 0)},
	{"-8@16(%rdi,%rsi,8)", MEM(8, 1, 16, DI, SI, 3)},
	{"-8@-16(%rdi,%rsi,8)", MEM(8, 1, -16, DI, SI, 3)},
	{"-4@(%rcx,%rsi,4)", MEM(4, 1, 0, CX, SI, 2)},
	{"1@(%rax,%rsi)", MEM(1, 0, 0, AX, SI, 0)},
	{"1@(%rax,%rsi,1)", MEM(1, 0, 0, AX, SI, 0)},
	{"2@(%rsp,%rbp,2)", MEM(2, 0, 0, SP, BP, 1)},
	{"4@(,%rsi,8)", MEM(4, 0, 0, NONE, SI, 3)},
	{"4@-4(,%r15,4)", MEM(4, 0, -4, NONE, R15, 2)},
	{"8@1234", MEM(8, 0, 1234, NONE, NONE, 0)},
	{"8@16(%rip)", MEM(8, 0, 16, IP, NONE, 0)},
	{"-16@-32(%rbp)", MEM(16, 1, -32, BP, NONE, 0)},
	{"8@ 16( %rdi , %rsi , 8 )", MEM(8, 0, 16, DI, SI, 3)},
	/* floating point */
	{"8f@%r9", FREG(8, R9)},
	{"4f@%r10d", FREG(4, R10)},
	{"8f@-40(%rbp)", FMEM(8, -40, BP)},
	{"4f@(%rax)", FMEM(4, 0, AX)},
	{"-8f@(%rax)", FMEM(8, 0, AX)},
	/* thread pointer */
	{"8@%fs:40", TLS(8, 0, 40, NONE, NONE, 0)},
	{"8@%fs:0", TLS(8, 0, 0, NONE, NONE, 0)},
	{"-4@%fs:-4", TLS(4, 1, -4, NONE, NONE, 0)},
	{"-4@%fs:(%rax)", TLS(4, 1, 0, AX, NONE, 0)},
	{"-4@%fs:8(%rax,%rdx,4)", TLS(4, 1, 8, AX, DX, 2)},
};

static const struct refused plain_refused[] = {
	{"", TAPIR_OPERAND_SYNTAX},
	{"8", TAPIR_OPERAND_SYNTAX},
	{"8@", TAPIR_OPERAND_SYNTAX},
	{"@%rax", TAPIR_OPERAND_SYNTAX},
	{"%rax", TAPIR_OPERAND_SYNTAX},
	{"--8@%rax", TAPIR_OPERAND_SYNTAX},
	{"8@%", TAPIR_OPERAND_SYNTAX},
	{"8@%raxx", TAPIR_OPERAND_SYNTAX},
	{"8@%r16", TAPIR_OPERAND_SYNTAX},
	{"8@%rax,", TAPIR_OPERAND_SYNTAX},
	{"8@%cs", TAPIR_OPERAND_SYNTAX},
	{"8@%gs:40", TAPIR_OPERAND_SYNTAX},
	{"8@$", TAPIR_OPERAND_SYNTAX},
	{"8@$$5", TAPIR_OPERAND_SYNTAX},
	{"8@$18446744073709551616", TAPIR_OPERAND_SYNTAX},
	{"8@$0x", TAPIR_OPERAND_SYNTAX},
	{"8@$08", TAPIR_OPERAND_SYNTAX},
	{"8@$5(%rax)", TAPIR_OPERAND_SYNTAX},
	{"8@()", TAPIR_OPERAND_SYNTAX},
	{"8@(%rax", TAPIR_OPERAND_SYNTAX},
	{"8@(%rax))", TAPIR_OPERAND_SYNTAX},
	{"8@(%eax)", TAPIR_OPERAND_SYNTAX},
	{"8@(rax)", TAPIR_OPERAND_SYNTAX},
	{"8@(%rax,%rsp)", TAPIR_OPERAND_SYNTAX},
	{"8@(%rip,%rax)", TAPIR_OPERAND_SYNTAX},
	{"8@(%rax,%rip)", TAPIR_OPERAND_SYNTAX},
	{"8@(%rax,%rbx,3)", TAPIR_OPERAND_SYNTAX},
	{"8@(%rax,%rbx,16)", TAPIR_OPERAND_SYNTAX},
	{"8@(%rax,%rbx,)", TAPIR_OPERAND_SYNTAX},
	{"8@(%rax,8)", TAPIR_OPERAND_SYNTAX},
	{"8@8-(%rax)", TAPIR_OPERAND_SYNTAX},
	{"8@-(%rax)", TAPIR_OPERAND_SYNTAX},
	{"8@8*2(%rax)", TAPIR_OPERAND_SYNTAX},
	{"8@%fs:", TAPIR_OPERAND_SYNTAX},
	{"8@%fs:8(%rip)", TAPIR_OPERAND_SYNTAX},
	{"-4@DWORD PTR [rbp-4]", TAPIR_OPERAND_SYNTAX},
	{"0@%rax", TAPIR_OPERAND_SIZE},
	{"3@%rax", TAPIR_OPERAND_SIZE},
	{"32@(%rax)", TAPIR_OPERAND_SIZE},
	{"-256@(%rax)", TAPIR_OPERAND_SIZE},
	{"16f@(%rax)", TAPIR_OPERAND_SIZE},
	{"2f@%eax", TAPIR_OPERAND_SIZE},
	{"8f@%xmm0", TAPIR_OPERAND_VECTOR_REG},
	{"4f@%xmm15", TAPIR_OPERAND_VECTOR_REG},
	{"8@%ymm3", TAPIR_OPERAND_VECTOR_REG},
	{"8f@%st", TAPIR_OPERAND_VECTOR_REG},
	{"8f@%st(1)", TAPIR_OPERAND_VECTOR_REG},
	{"8@%mm0", TAPIR_OPERAND_VECTOR_REG},
	{"-16@%rsi", TAPIR_OPERAND_WIDE_REG},
	{"16@%rdx", TAPIR_OPERAND_WIDE_REG},
	{"8f@.LC1(%rip)", TAPIR_OPERAND_LOCAL_LABEL},
	{"8@16+.L4(%rip)", TAPIR_OPERAND_LOCAL_LABEL},
	{"8@$.LC0", TAPIR_OPERAND_LOCAL_LABEL},
	{"-4@glob(%rip)", TAPIR_OPERAND_NO_SYMBOL}, /* no resolver */
	{"-4@%fs:tls@tpoff", TAPIR_OPERAND_NO_SYMBOL},
	{"8@a@GOTPCREL(%rip)", TAPIR_OPERAND_NO_SYMBOL},
};

/* ---- with symbols ----------------------------------------------------------------------- */

static const struct row program_rows[] = {
	{"-4@glob(%rip)", MEM(4, 1, FROM_IP(GLOBAL_VA), IP, NONE, 0)},
	{"-4@40+glob(%rip)", MEM(4, 1, FROM_IP(GLOBAL_VA + 40), IP, NONE, 0)},
	{"-4@glob+40(%rip)", MEM(4, 1, FROM_IP(GLOBAL_VA + 40), IP, NONE, 0)},
	{"-4@-8+glob(%rip)", MEM(4, 1, FROM_IP(GLOBAL_VA - 8), IP, NONE, 0)},
	{"-4@glob-8(%rip)", MEM(4, 1, FROM_IP(GLOBAL_VA - 8), IP, NONE, 0)},
	{"8@glob", MEM(8, 0, FROM_IP(GLOBAL_VA), IP, NONE, 0)},
	{"8@counter.0(%rip)", MEM(8, 0, FROM_IP(STATIC_VA), IP, NONE, 0)},
	{"8@copied(%rip)", MEM(8, 0, FROM_IP(COPIED_VA), IP, NONE, 0)},
	{"8@same(%rip)", MEM(8, 0, FROM_IP(GLOBAL_VA + 8), IP, NONE, 0)},
	{"-4@%fs:tls@tpoff", TLS(4, 1, 4 - TLS_END, NONE, NONE, 0)},
	{"-4@%fs:tls@TPOFF", TLS(4, 1, 4 - TLS_END, NONE, NONE, 0)},
	{"-4@%fs:8+tls@tpoff", TLS(4, 1, 12 - TLS_END, NONE, NONE, 0)},
	{"-4@%fs:tls@tpoff+8", TLS(4, 1, 12 - TLS_END, NONE, NONE, 0)},
	{"-4@%fs:tls@tpoff(,%rax,4)", TLS(4, 1, 4 - TLS_END, NONE, AX, 2)},
	{"-4@tls@tpoff(%rax)", MEM(4, 1, 4 - TLS_END, AX, NONE, 0)},
	{"8@foreign@GOTPCREL(%rip)", MEM(8, 0, FROM_IP(GOT_VA), IP, NONE, 0)},
	{"8@glob@GOTPCREL(%rip)", MEM(8, 0, FROM_IP(GOT_VA + 8), IP, NONE, 0)},
	{"8@copied@gotpcrel(%rip)", MEM(8, 0, FROM_IP(GOT_VA + 16), IP, NONE, 0)},
};

static const struct refused program_refused[] = {
	{"8@missing(%rip)", TAPIR_OPERAND_NO_SYMBOL},
	{"8@twice(%rip)", TAPIR_OPERAND_NO_SYMBOL},
	{"8@foreign(%rip)", TAPIR_OPERAND_FOREIGN_SYMBOL},
	{"8@foreign@tpoff", TAPIR_OPERAND_FOREIGN_SYMBOL},
	{"8@tls(%rip)", TAPIR_OPERAND_TLS_MODEL},
	{"8@%fs:glob@tpoff", TAPIR_OPERAND_TLS_MODEL},
	{"8@tls@gottpoff(%rip)", TAPIR_OPERAND_TLS_MODEL},
	{"8@tls@dtpoff(%rax)", TAPIR_OPERAND_TLS_MODEL},
	{"8@same@GOTPCREL(%rip)", TAPIR_OPERAND_NO_GOT},
	{"8@missing@GOTPCREL(%rip)", TAPIR_OPERAND_NO_SYMBOL},
	{"8@glob@GOTPCREL(%rax)", TAPIR_OPERAND_SYNTAX},
	{"8@glob@PLT", TAPIR_OPERAND_SYNTAX},
	{"8@glob@(%rip)", TAPIR_OPERAND_SYNTAX},
	{"8@glob+tls(%rip)", TAPIR_OPERAND_SYNTAX},
	{"8@4-glob(%rip)", TAPIR_OPERAND_SYNTAX},
	{"8@glob(%rax)", TAPIR_OPERAND_SYNTAX}, /* not in code that can be moved */
	{"8@$glob", TAPIR_OPERAND_NO_SYMBOL},
	{"8@%fs:glob", TAPIR_OPERAND_SYNTAX},
};

static const struct row fixed_rows[] = {
	{"-4@glob(%rip)", MEM(4, 1, FROM_IP(GLOBAL_VA), IP, NONE, 0)},
	{"-4@glob(,%rax,4)", MEM(4, 1, FROM_IP(GLOBAL_VA), IP, AX, 2)},
	{"-4@8+glob(%rax)", MEM(4, 1, GLOBAL_VA + 8, AX, NONE, 0)},
	{"-4@glob(%rax,%rbx,8)", MEM(4, 1, GLOBAL_VA, AX, BX, 3)},
	{"8@$glob", CONST(8, 0, GLOBAL_VA)},
	{"8@$glob+4", CONST(8, 0, GLOBAL_VA + 4)},
};

enum { GLOB = 1, STATIC, TWICE_A, TWICE_B, SAME_A, SAME_B, TLS_VAR, COPIED, FOREIGN, SYM_CNT };

static void add_variables(struct elf_builder *b)
{
	static const char *const names[SYM_CNT] = {"",	     "glob",   "counter.0", "twice",
						   "twice",  "same",   "same",	    "tls",
						   "copied", "foreign"};
	const uint8_t local = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT);
	const uint8_t global = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
	Elf64_Sym syms[SYM_CNT] = {
		[GLOB] = {.st_info = global, .st_shndx = 2, .st_value = GLOBAL_VA},
		[STATIC] = {.st_info = local, .st_shndx = 2, .st_value = STATIC_VA},
		[TWICE_A] = {.st_info = local, .st_shndx = 2, .st_value = STATIC_VA + 8},
		[TWICE_B] = {.st_info = local, .st_shndx = 2, .st_value = STATIC_VA + 16},
		[SAME_A] = {.st_info = global, .st_shndx = 2, .st_value = GLOBAL_VA + 8},
		[SAME_B] = {.st_info = global, .st_shndx = 2, .st_value = GLOBAL_VA + 8},
		[TLS_VAR] = {.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS),
			     .st_shndx = 2,
			     .st_value = 4},
		[COPIED] = {.st_info = global, .st_shndx = 2, .st_value = COPIED_VA},
		[FOREIGN] = {.st_info = global, .st_shndx = SHN_UNDEF},
	};

	elf_builder__add_symbols(b, SHT_DYNSYM, syms, SYM_CNT, names);
}

/* Slots: foreign by GLOB_DAT, glob by RELATIVE, copied by the address that it holds. */
static void add_got(struct elf_builder *b)
{
	const Elf64_Rela rela[] = {
		{.r_offset = GOT_VA, .r_info = ELF64_R_INFO(FOREIGN, R_X86_64_GLOB_DAT)},
		{.r_offset = GOT_VA + 8,
		 .r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE),
		 .r_addend = GLOBAL_VA},
		{.r_offset = DATA_VA + 0x300, /* a pointer that is no GOT slot */
		 .r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE),
		 .r_addend = GLOBAL_VA + 8},
		{.r_offset = COPIED_VA, .r_info = ELF64_R_INFO(COPIED, R_X86_64_COPY)},
	};
	const uint64_t copied_va = COPIED_VA;

	memcpy(b->bytes + GOT_OFF + 16, &copied_va, sizeof(copied_va));
	elf_builder__add_header(b, ".got", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, GOT_OFF, 24);
	elf_builder__add_section(b, ".rela.dyn", SHT_RELA, rela, sizeof(rela));
}

static struct tapir_elf *build(uint16_t type, bool with_interpreter)
{
	struct elf_builder b;
	struct tapir_elf *elf;

	elf_builder__init(&b, type);
	add_variables(&b);
	add_got(&b);
	if (with_interpreter)
		elf_builder__add_phdr(&b, PT_INTERP, PF_R, TEXT_OFF, 16);
	elf_builder__add_phdr(&b, PT_TLS, PF_R, DATA_OFF, TLS_BYTES);
	b.phdrs[b.phdr_cnt - 1].p_align = TLS_ALIGN;
	elf_builder__finish(&b);
	elf = elf_builder__open(&b);
	elf_builder__fini(&b);
	assert_non_null(elf);
	return elf;
}

/* ---- cases ------------------------------------------------------------------------------- */

static void check_rows(const struct row *rows, size_t cnt, const struct tapir_operand_ctx *ctx)
{
	for (size_t i = 0; i < cnt; i++) {
		enum tapir_operand_reason reason = TAPIR_OPERAND_REASON_CNT;
		struct tapir_operand got;
		int err = tapir_operand__parse(rows[i].text, strlen(rows[i].text), ctx, &got,
					       &reason);

		if (err || reason)
			fail_msg("%s: %d %s", rows[i].text, err,
				 tapir_operand_reason__text(reason));
		if (memcmp(&got, &rows[i].want, sizeof(got)) != 0)
			fail_msg("%s: kind %u reg %u index %u<<%u shift %u value %lld size %u sign "
				 "%u",
				 rows[i].text, got.kind, got.reg, got.index_reg, got.scale_shift,
				 got.reg_shift, (long long)got.value, got.size, got.is_signed);
	}
}

static void check_refused(const struct refused *rows, size_t cnt,
			  const struct tapir_operand_ctx *ctx)
{
	for (size_t i = 0; i < cnt; i++) {
		enum tapir_operand_reason reason = TAPIR_OPERAND_OK;
		struct tapir_operand got = {.kind = TAPIR_OPERAND_REG};
		int err = tapir_operand__parse(rows[i].text, strlen(rows[i].text), ctx, &got,
					       &reason);

		if (err != -ENOTSUP || reason != rows[i].want || got.kind != TAPIR_OPERAND_NONE)
			fail_msg("%s: err %d kind %u: %s", rows[i].text, err, got.kind,
				 tapir_operand_reason__text(reason));
	}
}

#define CHECK_ROWS(rows, ctx)	 check_rows(rows, sizeof(rows) / sizeof(*(rows)), ctx)
#define CHECK_REFUSED(rows, ctx) check_refused(rows, sizeof(rows) / sizeof(*(rows)), ctx)

static void operand_is_read_when_it_needs_no_symbol(void **state)
{
	struct tapir_operand_ctx ctx = {.site_va = SITE_VA};

	(void)state;
	CHECK_ROWS(plain_rows, &ctx);
}

static void operand_has_its_reason_when_it_cannot_be_read(void **state)
{
	struct tapir_operand_ctx ctx = {.site_va = SITE_VA};

	(void)state;
	CHECK_REFUSED(plain_refused, &ctx);
}

static void symbols_are_found_when_the_program_can_be_moved(void **state)
{
	struct tapir_elf *elf = build(ET_DYN, true);
	struct tapir_operand_ctx ctx = {.resolver = tapir_resolver__new(elf), .site_va = SITE_VA};

	(void)state;
	CHECK_ROWS(program_rows, &ctx);
	CHECK_REFUSED(program_refused, &ctx);
	tapir_resolver__free(ctx.resolver);
	tapir_elf__free(elf);
}

static void addresses_are_final_when_the_program_is_fixed(void **state)
{
	struct tapir_elf *elf = build(ET_EXEC, false);
	struct tapir_operand_ctx ctx = {.resolver = tapir_resolver__new(elf), .site_va = SITE_VA};

	(void)state;
	CHECK_ROWS(fixed_rows, &ctx);
	tapir_resolver__free(ctx.resolver);
	tapir_elf__free(elf);
}

static void thread_locals_are_refused_when_the_file_is_a_library(void **state)
{
	static const struct refused rows[] = {{"-4@%fs:tls@tpoff", TAPIR_OPERAND_TLS_MODEL},
					      {"-4@tls@tpoff(%rax)", TAPIR_OPERAND_TLS_MODEL}};
	struct tapir_elf *elf = build(ET_DYN, false);
	struct tapir_operand_ctx ctx = {.resolver = tapir_resolver__new(elf), .site_va = SITE_VA};

	(void)state;
	CHECK_REFUSED(rows, &ctx);
	tapir_resolver__free(ctx.resolver);
	tapir_elf__free(elf);
}

static void nothing_is_read_behind_the_end_when_text_is_cut(void **state)
{
	struct tapir_operand_ctx ctx = {.site_va = SITE_VA};

	(void)state;
	for (size_t i = 0; i < sizeof(plain_rows) / sizeof(*plain_rows); i++)
		for (size_t len = 0; len < strlen(plain_rows[i].text); len++) {
			enum tapir_operand_reason reason;
			struct tapir_operand got;
			char *exact = malloc(len ? len : 1); /* so that ASan sees the end */

			memcpy(exact, plain_rows[i].text, len);
			tapir_operand__parse(exact, len, &ctx, &got, &reason);
			assert_true(reason < TAPIR_OPERAND_REASON_CNT);
			free(exact);
		}
}

static void arguments_are_separated_when_operands_hold_spaces(void **state)
{
	static const struct {
		const char *text;
		const char *args[4];
	} rows[] = {
		{"", {NULL}},
		{"   ", {NULL}},
		{"8@%rax", {"8@%rax"}},
		{"8@%rax -4@$-5", {"8@%rax", "-4@$-5"}},
		{" 8@%rax   -4@4(%rbp) ", {"8@%rax", "-4@4(%rbp)"}},
		{"8@16(%rdi, %rsi, 8) 4f@%r10d", {"8@16(%rdi, %rsi, 8)", "4f@%r10d"}},
		{"8@a@GOTPCREL(%rip) 8@%fs:b@tpoff", {"8@a@GOTPCREL(%rip)", "8@%fs:b@tpoff"}},
		{"-4@DWORD PTR [rbp-4] 8@rax", {"-4@DWORD PTR [rbp-4]", "8@rax"}},
		{"junk 8@%rax", {"junk", "8@%rax"}},
		{"8@ %rax", {"8@ %rax"}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *pos = rows[i].text, *arg;
		size_t cnt = 0, len;

		while (tapir_operand__split(&pos, &arg, &len)) {
			assert_true(cnt < 4 && rows[i].args[cnt]);
			assert_int_equal(len, strlen(rows[i].args[cnt]));
			assert_memory_equal(arg, rows[i].args[cnt++], len);
		}
		assert_true(cnt == 4 || !rows[i].args[cnt]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operand_is_read_when_it_needs_no_symbol),
		cmocka_unit_test(operand_has_its_reason_when_it_cannot_be_read),
		cmocka_unit_test(symbols_are_found_when_the_program_can_be_moved),
		cmocka_unit_test(addresses_are_final_when_the_program_is_fixed),
		cmocka_unit_test(thread_locals_are_refused_when_the_file_is_a_library),
		cmocka_unit_test(nothing_is_read_behind_the_end_when_text_is_cut),
		cmocka_unit_test(arguments_are_separated_when_operands_hold_spaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
