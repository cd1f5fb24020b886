/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * operands [--wait] COUNT - one site for every form of operand that compilers write into
 * .note.stapsdt, with notes written by hand, and registers, memory and TLS of known content.
 * Fires each COUNT times and prints
 *	{"event": "operands:NAME", "operand": "8@%rax", "count": COUNT, "args": [...]}
 * null stands for an operand that cannot be read: the probe fires without it.
 */
#include "target.h"

#ifndef __x86_64__
#error "operands.c: x86_64 assembly"
#endif

/* ---- what lies where ------------------------------------------------------------------- */

#define RAX 0xf8e7d6c5b4a39281u
#define RDX 0x1122334455667788u
#define RSI 2u
#define R8  0x8899aabbccddeeffu
#define R9  0xc002000000000000u /* the bits of -2.25 */
#define R10 0xffffffff3fc00000u /* low half: the bits of 1.5f */
#define R11 0x00000000fffffff9u
#define R12 0x1212121212121212u
#define R14 0x1414141414141480u
#define R15 0xffffffffffffffffu

/* rbx and rdi hold its address, rbp that of word 8, rcx and r13 that of word 4. */
uint64_t operand_words[16] __attribute__((visibility("hidden"))) = {
	0x8182838485868788u,
	0xfffffffffffffffeu,
	0x7fffffff80000000u,
	0xc010000000000000u, /* -4.0 */
	0x40490fdb12345678u,
	0x00ff00ff00ff8001u,
	6,
	7,
	8,
	9,
	10,
	11,
	12,
	0, /* 12 in 128 bits */
	0xffffffffffffffd6u,
	~0ull, /* -42 in 128 bits */
};
int32_t operand_global = -77;
uint64_t operand_pair[2] = {0x1111, 0xfedcba9876543210u};
__thread int32_t operand_tls __attribute__((tls_model("local-exec"))) = -4242;
uint64_t operand_rsp;

#define WORDS	 ((uintptr_t)operand_words)
#define RBX	 WORDS
#define RDI	 WORDS
#define RCX	 (WORDS + 4 * 8)
#define R13	 RCX
#define RBP	 (WORDS + 8 * 8)
#define BYTES(i) ((const unsigned char *)operand_words + (i))

static uint64_t load(const void *bytes, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, bytes, size);
	return value;
}

/* ---- the sites ------------------------------------------------------------------------------ */

/* A function with one site: saves what the ABI wants saved, loads the registers, fires. */
__asm__(".macro LOAD_REGISTERS\n"
	"	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"	push $0x5a5a; push $0x6b6b\n"
	"	lea operand_words(%rip), %rbx\n"
	"	mov %rbx, %rdi\n"
	"	lea 64(%rbx), %rbp\n"
	"	lea 32(%rbx), %rcx\n"
	"	mov %rcx, %r13\n"
	"	mov %rsp, operand_rsp(%rip)\n"
	"	movabs $0xf8e7d6c5b4a39281, %rax\n"
	"	movabs $0x1122334455667788, %rdx\n"
	"	mov $2, %esi\n"
	"	movabs $0x8899aabbccddeeff, %r8\n"
	"	movabs $0xc002000000000000, %r9\n"
	"	movabs $0xffffffff3fc00000, %r10\n"
	"	movabs $0x00000000fffffff9, %r11\n"
	"	movabs $0x1212121212121212, %r12\n"
	"	movabs $0x1414141414141480, %r14\n"
	"	mov $-1, %r15\n"
	".endm\n"
	".macro SITE name, operands:vararg\n"
	"	.text\n"
	"	.type fire_\\name, @function\n"
	"	.globl fire_\\name\n"
	"fire_\\name:\n"
	"	LOAD_REGISTERS\n"
	"770:	nop\n"
	"	add $16, %rsp\n"
	"	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"	ret\n"
	"	.size fire_\\name, . - fire_\\name\n"
	"	.pushsection .note.stapsdt, \"\", \"note\"\n"
	"	.balign 4\n"
	"	.4byte 772f - 771f, 774f - 773f, 3\n"
	"771:	.asciz \"stapsdt\"\n"
	"772:	.balign 4\n"
	"773:	.8byte 770b, _.stapsdt.base, 0\n"
	"	.asciz \"operands\"\n"
	"	.asciz \"\\name\"\n"
	"	.asciz \\operands\n"
	"774:	.balign 4\n"
	"	.popsection\n"
	".endm\n"
	/* A reader finds this slot by its relocation; nothing in the code uses it. */
	".pushsection .text\n"
	"	cmpq $0, getppid@GOTPCREL(%rip)\n"
	".popsection\n");

/*
 * X(name, operands, what each must give): SIGNED, UNSIGNED: that many low bytes of a 64-bit
 * value; FLOAT: a number; NOTHING: cannot be read.
 */
#define OPERANDS(X)                                                                                \
	X(rax, "8@%rax", UNSIGNED(8, RAX))                                                         \
	X(rbx, "8@%rbx", UNSIGNED(8, RBX))                                                         \
	X(rcx, "8@%rcx", UNSIGNED(8, RCX))                                                         \
	X(rdx, "-8@%rdx", SIGNED(8, RDX))                                                          \
	X(rsi, "8@%rsi", UNSIGNED(8, RSI))                                                         \
	X(rdi, "8@%rdi", UNSIGNED(8, RDI))                                                         \
	X(rbp, "8@%rbp", UNSIGNED(8, RBP))                                                         \
	X(rsp, "8@%rsp", UNSIGNED(8, operand_rsp))                                                 \
	X(r8, "-8@%r8", SIGNED(8, R8))                                                             \
	X(r9, "8@%r9", UNSIGNED(8, R9))                                                            \
	X(r10, "8@%r10", UNSIGNED(8, R10))                                                         \
	X(r11, "8@%r11", UNSIGNED(8, R11))                                                         \
	X(r12, "8@%r12", UNSIGNED(8, R12))                                                         \
	X(r13, "8@%r13", UNSIGNED(8, R13))                                                         \
	X(r14, "8@%r14", UNSIGNED(8, R14))                                                         \
	X(r15, "-8@%r15", SIGNED(8, R15))                                                          \
	X(eax_signed, "-4@%eax", SIGNED(4, RAX))                                                   \
	X(eax_unsigned, "4@%eax", UNSIGNED(4, RAX))                                                \
	X(edx, "4@%edx", UNSIGNED(4, RDX))                                                         \
	X(esi, "-4@%esi", SIGNED(4, RSI))                                                          \
	X(r11d_signed, "-4@%r11d", SIGNED(4, R11))                                                 \
	X(r8d, "4@%r8d", UNSIGNED(4, R8))                                                          \
	X(r13d, "-4@%r13d", SIGNED(4, R13))                                                        \
	X(ax, "2@%ax", UNSIGNED(2, RAX))                                                           \
	X(bp, "-2@%bp", SIGNED(2, RBP))                                                            \
	X(r12w, "2@%r12w", UNSIGNED(2, R12))                                                       \
	X(r8w, "-2@%r8w", SIGNED(2, R8))                                                           \
	X(al, "1@%al", UNSIGNED(1, RAX))                                                           \
	X(al_signed, "-1@%al", SIGNED(1, RAX))                                                     \
	X(ah, "1@%ah", UNSIGNED(1, RAX >> 8))                                                      \
	X(bh, "1@%bh", UNSIGNED(1, RBX >> 8))                                                      \
	X(ch, "-1@%ch", SIGNED(1, RCX >> 8))                                                       \
	X(dh, "1@%dh", UNSIGNED(1, RDX >> 8))                                                      \
	X(bl, "1@%bl", UNSIGNED(1, RBX))                                                           \
	X(sil, "1@%sil", UNSIGNED(1, RSI))                                                         \
	X(dil, "1@%dil", UNSIGNED(1, RDI))                                                         \
	X(bpl, "1@%bpl", UNSIGNED(1, RBP))                                                         \
	X(r8b, "1@%r8b", UNSIGNED(1, R8))                                                          \
	X(r14b, "-1@%r14b", SIGNED(1, R14))                                                        \
	X(small_of_whole, "-1@%r14", SIGNED(1, R14))                                               \
	X(constant, "4@$42", UNSIGNED(4, 42))                                                      \
	X(constant_negative, "-4@$-5", SIGNED(4, -5))                                              \
	X(constant_wraps, "4@$-5", UNSIGNED(4, -5))                                                \
	X(constant_byte, "1@$-1", UNSIGNED(1, -1))                                                 \
	X(constant_wide, "-8@$81985529216486895", SIGNED(8, 81985529216486895))                    \
	X(constant_top, "8@$-1", UNSIGNED(8, -1))                                                  \
	X(memory, "8@(%rbx)", UNSIGNED(8, load(BYTES(0), 8)))                                      \
	X(memory_signed, "-8@(%rbx)", SIGNED(8, load(BYTES(0), 8)))                                \
	X(memory_4, "-4@16(%rbx)", SIGNED(4, load(BYTES(16), 4)))                                  \
	X(memory_4_high, "4@20(%rbx)", UNSIGNED(4, load(BYTES(20), 4)))                            \
	X(memory_2, "2@41(%rdi)", UNSIGNED(2, load(BYTES(41), 2)))                                 \
	X(memory_1, "-1@7(%rdi)", SIGNED(1, load(BYTES(7), 1)))                                    \
	X(memory_before, "8@-56(%rbp)", UNSIGNED(8, load(BYTES(8), 8)))                            \
	X(memory_zero, "8@0(%r13)", UNSIGNED(8, load(BYTES(32), 8)))                               \
	X(memory_stack, "8@8(%rsp)", UNSIGNED(8, 0x5a5a))                                          \
	X(memory_top, "-4@(%rsp)", SIGNED(4, 0x6b6b))                                              \
	X(memory_16, "16@96(%rdi)", UNSIGNED(8, 12))                                               \
	X(memory_16_signed, "-16@112(%rdi)", SIGNED(8, -42))                                       \
	X(index_scaled, "-8@16(%rdi,%rsi,8)", SIGNED(8, load(BYTES(16 + 16), 8)))                  \
	X(index_4, "-4@(%rcx,%rsi,4)", SIGNED(4, load(BYTES(32 + 8), 4)))                          \
	X(index_plain, "1@(%rbx,%rsi)", UNSIGNED(1, load(BYTES(2), 1)))                            \
	X(index_negative, "2@-8(%rcx,%rsi,2)", UNSIGNED(2, load(BYTES(32 - 8 + 4), 2)))            \
	X(symbol, "-4@operand_global(%rip)", SIGNED(4, operand_global))                            \
	X(symbol_offset, "8@8+operand_pair(%rip)", UNSIGNED(8, operand_pair[1]))                   \
	X(symbol_then_offset, "8@operand_pair+8(%rip)", UNSIGNED(8, operand_pair[1]))              \
	X(tls, "-4@%fs:operand_tls@tpoff", SIGNED(4, operand_tls))                                 \
	X(got, "8@getppid@GOTPCREL(%rip)", UNSIGNED(8, (uintptr_t)getppid))                        \
	X(float_register, "8f@%r9", FLOAT(-2.25))                                                  \
	X(float_half, "4f@%r10d", FLOAT(1.5))                                                      \
	X(float_memory, "8f@-40(%rbp)", FLOAT(-4.0))                                               \
	X(float_label, "8f@.LC1(%rip)", NOTHING)                                                   \
	X(vector, "8@%xmm0", NOTHING)                                                              \
	X(nonsense, "8@&%$", NOTHING)                                                              \
	X(unknown_symbol, "4@no_such_symbol(%rip)", NOTHING)                                       \
	X(bad_pointer, "8@(%rdx)", NOTHING)                                                        \
	X(wide_register, "-16@%rsi", NOTHING)                                                      \
	X(several, "-4@%eax 8@(%rbx) 1@$7 -8@16(%rdi,%rsi,8)",                                     \
	  SIGNED(4, RAX) UNSIGNED(8, load(BYTES(0), 8)) UNSIGNED(1, 7)                             \
		  SIGNED(8, load(BYTES(32), 8)))                                                   \
	X(readable_rest, "8@%xmm0 4@$9 8f@.LC7(%rip) -8@%r15",                                     \
	  NOTHING UNSIGNED(4, 9) NOTHING SIGNED(8, R15))                                           \
	X(twelve, "1@$1 1@$2 1@$3 1@$4 1@$5 1@$6 1@$7 1@$8 1@$9 1@$10 1@$11 8@%r12",               \
	  UNSIGNED(1, 1) UNSIGNED(1, 2) UNSIGNED(1, 3) UNSIGNED(1, 4) UNSIGNED(1, 5)               \
		  UNSIGNED(1, 6) UNSIGNED(1, 7) UNSIGNED(1, 8) UNSIGNED(1, 9) UNSIGNED(1, 10)      \
			  UNSIGNED(1, 11) UNSIGNED(8, R12))

#define SITE(name, operands, expected)                                                             \
	void fire_##name(void);                                                                    \
	__asm__("SITE " #name ", \"" operands "\"");
OPERANDS(SITE)

/* ---- what a tracer must have seen ----------------------------------------------------------- */

static const char *separator;

static void put_separator(void)
{
	fputs(separator, stdout);
	separator = ", ";
}

static void put_unsigned(unsigned size, uint64_t value)
{
	put_separator();
	printf("%" PRIu64, load(&value, size));
}

static void put_signed(unsigned size, uint64_t value)
{
	unsigned shift = 64 - 8 * size;

	put_separator();
	printf("%" PRId64, (int64_t)(value << shift) >> shift);
}

#define UNSIGNED(size, value) put_unsigned(size, (uint64_t)(value));
#define SIGNED(size, value)   put_signed(size, (uint64_t)(value));
#define FLOAT(value)	      put_separator(), printf("%.17g", value);
#define NOTHING		      put_separator(), printf("null");

#define EXPECT(name, operands, expected)                                                           \
	static void expect_##name(void)                                                            \
	{                                                                                          \
		expected                                                                           \
	}
OPERANDS(EXPECT)

static const struct site {
	const char *name;
	const char *operands;
	void (*fire)(void);
	void (*expect)(void);
} sites[] = {
#define ROW(name, operands, expected) {#name, operands, fire_##name, expect_##name},
	OPERANDS(ROW)};

int main(int argc, char **argv)
{
	long cnt;

	target__start(&argc, argv);
	cnt = target__number(argc, argv, 1, 1);
	TAPIR_PROBE(operands, start); /* brings the base that the notes above name */
	for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++) {
		for (long n = 0; n < cnt; n++)
			sites[i].fire();
		separator = "";
		printf("{\"event\": \"operands:%s\", \"operand\": \"%s\", \"count\": %ld, "
		       "\"args\": [",
		       sites[i].name, sites[i].operands, cnt);
		sites[i].expect();
		printf("]}\n");
	}
	return 0;
}
