/* SPDX-License-Identifier: MIT */
/*
 * usdt.h - probe macros: places in a program where a tracer can look in while it runs.
 *
 *	TAPIR_PROBE(provider, name, args...)                fires; 0 to 12 arguments
 *	TAPIR_PROBE_DEFINE_SEMAPHORE(provider, name);       at file scope, also in a header
 *	TAPIR_PROBE_ENABLED(provider, name) whether a tracer is attached
 *	TAPIR_PROBE_SEM(provider, name, args...)            fires if one is
 *
 * A site is one nop, where a tracer puts its breakpoint, a 10-byte nop that newer kernels can turn
 * into a call, and a note with the name of the probe and the locations of its arguments. The note
 * is the one that bpftrace, perf, gdb, SystemTap and tapir know:
 *
 *	.note.stapsdt   "stapsdt", type 3: u64 site, u64 base, u64 semaphore or 0,
 *	                provider\0 name\0 operands\0
 *	                operands: SIZE@OPERAND separated by spaces, SIZE in bytes, negative if
 *	                the value is signed, OPERAND as an assembler writes it
 *	.stapsdt.base   one byte per linked file, at `base`; a reader adds the distance between
 *	                `base` and the address of that byte (prelink moves code, not notes)
 *
 * An operand does not describe what a value means. So each site has a second note that only tapir
 * reads:
 *
 *	.note.tapir     "tapir", type 1: u64 site (moved like the one above), one byte per
 *	                argument, \0; i signed, u unsigned, c char, b bool, f float or double,
 *	                s NUL-terminated string (pointer to any char), p other pointer; then
 *	                the names of the arguments, each with \0 (fewer: they are called argN)
 *	                type 2 (provider.h): u64 site, u64 keywords, u16 id, u8 version, u8 level,
 *	                u32 0
 *	                type 3 (provider.h): u64 site, an operand
 *
 * Both notes are debug data: they take space in the file, none in memory.
 *
 * C11 and C++11, in GNU or strict mode; x86_64 (AT&T operands, so not -masm=intel) and
 * aarch64, both 64 bit. Wants gcc 9 or clang 11 (asm inline); tested with gcc 12 and clang 14,
 * aarch64 under qemu-user. Includes nothing.
 */
#ifndef TAPIR_USDT_H
#define TAPIR_USDT_H

#if !defined(__LP64__) || !(defined(__x86_64__) || defined(__aarch64__))
#error "tapir/usdt.h: knows 64-bit x86_64 and aarch64 only"
#endif

/*
 * TAPIR_PROBE(provider, name, args...): a probe site.
 *
 *	TAPIR_PROBE(shop, order__placed, order->id, customer, (double)total);
 *
 * provider, name: identifiers (macros of that name are expanded). One probe may have many
 *	sites; give them arguments of the same types.
 * args: 0 to 12 expressions, each evaluated once, from left to right: integers and
 *	enumerations up to 8 bytes, bool, char, pointers, strings (char *), float and double
 *	(their bits, as an unsigned integer of their size). A struct, an __int128 and a
 *	long double do not compile; nor does a bit-field in C: cast it.
 * Thread safety: any thread, any time, signal handlers too; red zones stay intact.
 * Cost, no tracer: 11 bytes of nop and what it takes to have the arguments in registers,
 *	memory or constants; what a pointer leads to is in memory when the probe fires, so
 *	the compiler ends pending stores there if one of the arguments is a pointer.
 * Cost, traced: a trap, about half a microsecond.
 */
#define TAPIR_PROBE(...)                                                                           \
	do {                                                                                       \
		TAPIR_USDT_FIRE(("n"(0), "0"), __VA_ARGS__)                                        \
	} while (0)

/*
 * TAPIR_PROBE_DEFINE_SEMAPHORE(provider, name): the counter of tracers attached to a probe.
 *
 * At file scope (in C++ also in a namespace), before its users; the same one may be defined
 * in every file of a program, the linker keeps one a linked file. The kernel counts it up
 * and down; the program only reads. 2 bytes of data.
 */
#define TAPIR_PROBE_DEFINE_SEMAPHORE(provider, name)                                               \
	__attribute__((weak, used, visibility("hidden"),                                           \
		       section(".probes"))) volatile unsigned short                                \
	TAPIR_USDT_SEMAPHORE(provider, name) __asm__(                                              \
		TAPIR_USDT_STRING(TAPIR_USDT_SEMAPHORE(provider, name))) = 0

/*
 * TAPIR_PROBE_ENABLED(provider, name): 1 while a tracer is attached, else 0. For work that is done
 * only for the tracer. Thread safety: any thread; the next call sees a tracer that has just
 * attached or detached. Cost: one compare with memory, a branch not taken.
 */
#define TAPIR_PROBE_ENABLED(provider, name)                                                        \
	__builtin_expect(TAPIR_USDT_SEMAPHORE(provider, name) != 0, 0)

/*
 * TAPIR_PROBE_SEM(provider, name, args...): a probe site with a semaphore. As TAPIR_PROBE,
 * but the arguments are evaluated only while a tracer is attached, and without one it costs
 * what TAPIR_PROBE_ENABLED costs.
 */
#define TAPIR_PROBE_SEM(...)                                                                       \
	do {                                                                                       \
		if (TAPIR_USDT_ENABLED(__VA_ARGS__, ~)) {                                          \
			TAPIR_USDT_FIRE(TAPIR_USDT_WORD(TAPIR_USDT_COUNTER(__VA_ARGS__, ~)),       \
					__VA_ARGS__)                                               \
		}                                                                                  \
	} while (0)

/* ---- from here on nothing is for users ------------------------------------------------ */

/* The first two of the arguments, whatever follows: C11 wants something for the dots. */
#define TAPIR_USDT_ENABLED(provider, name, ...) TAPIR_PROBE_ENABLED(provider, name)
#define TAPIR_USDT_COUNTER(provider, name, ...) TAPIR_USDT_SEMAPHORE(provider, name)

#define TAPIR_USDT_SEMAPHORE(provider, name)	TAPIR_USDT_SEMAPHORE_(provider, name)
#define TAPIR_USDT_SEMAPHORE_(provider, name)	provider##_##name##_semaphore

#define TAPIR_USDT_STRING(x)			TAPIR_USDT_STRING_(x)
#define TAPIR_USDT_STRING_(x)			#x
#define TAPIR_USDT_JOIN(a, b)			TAPIR_USDT_JOIN_(a, b)
#define TAPIR_USDT_JOIN_(a, b)			a##b

/* The number of arguments after provider and name. */
#define TAPIR_USDT_COUNT(...)                                                                      \
	TAPIR_USDT_COUNT_(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, ~, ~)
#define TAPIR_USDT_COUNT_(p, n, a, b, c, d, e, f, g, h, i, j, k, l, count, ...) count

#define TAPIR_USDT_FIRE(semaphore, ...)                                                            \
	TAPIR_USDT_JOIN(TAPIR_USDT_FIRE_, TAPIR_USDT_COUNT(__VA_ARGS__))(semaphore, __VA_ARGS__)

/* TAPIR_USDT_FIRE_n: names the n arguments, then makes the site. */
#define TAPIR_USDT_FIRE_0(semaphore, p, n) TAPIR_USDT_SITE(0, semaphore, p, n)
#define TAPIR_USDT_FIRE_1(semaphore, p, n, a)                                                      \
	TAPIR_USDT_LET_1(a) TAPIR_USDT_SITE(1, semaphore, p, n)
#define TAPIR_USDT_FIRE_2(semaphore, p, n, a, b)                                                   \
	TAPIR_USDT_LET_2(a, b) TAPIR_USDT_SITE(2, semaphore, p, n)
#define TAPIR_USDT_FIRE_3(semaphore, p, n, a, b, c)                                                \
	TAPIR_USDT_LET_3(a, b, c) TAPIR_USDT_SITE(3, semaphore, p, n)
#define TAPIR_USDT_FIRE_4(semaphore, p, n, a, b, c, d)                                             \
	TAPIR_USDT_LET_4(a, b, c, d) TAPIR_USDT_SITE(4, semaphore, p, n)
#define TAPIR_USDT_FIRE_5(semaphore, p, n, a, b, c, d, e)                                          \
	TAPIR_USDT_LET_5(a, b, c, d, e) TAPIR_USDT_SITE(5, semaphore, p, n)
#define TAPIR_USDT_FIRE_6(semaphore, p, n, a, b, c, d, e, f)                                       \
	TAPIR_USDT_LET_6(a, b, c, d, e, f) TAPIR_USDT_SITE(6, semaphore, p, n)
#define TAPIR_USDT_FIRE_7(semaphore, p, n, a, b, c, d, e, f, g)                                    \
	TAPIR_USDT_LET_7(a, b, c, d, e, f, g) TAPIR_USDT_SITE(7, semaphore, p, n)
#define TAPIR_USDT_FIRE_8(semaphore, p, n, a, b, c, d, e, f, g, h)                                 \
	TAPIR_USDT_LET_8(a, b, c, d, e, f, g, h) TAPIR_USDT_SITE(8, semaphore, p, n)
#define TAPIR_USDT_FIRE_9(semaphore, p, n, a, b, c, d, e, f, g, h, i)                              \
	TAPIR_USDT_LET_9(a, b, c, d, e, f, g, h, i) TAPIR_USDT_SITE(9, semaphore, p, n)
#define TAPIR_USDT_FIRE_10(semaphore, p, n, a, b, c, d, e, f, g, h, i, j)                          \
	TAPIR_USDT_LET_10(a, b, c, d, e, f, g, h, i, j) TAPIR_USDT_SITE(10, semaphore, p, n)
#define TAPIR_USDT_FIRE_11(semaphore, p, n, a, b, c, d, e, f, g, h, i, j, k)                       \
	TAPIR_USDT_LET_11(a, b, c, d, e, f, g, h, i, j, k) TAPIR_USDT_SITE(11, semaphore, p, n)
#define TAPIR_USDT_FIRE_12(semaphore, p, n, a, b, c, d, e, f, g, h, i, j, k, l)                    \
	TAPIR_USDT_LET_12(a, b, c, d, e, f, g, h, i, j, k, l) TAPIR_USDT_SITE(12, semaphore, p, n)

#define TAPIR_USDT_LET_1(a)		   TAPIR_USDT_LET(0, a)
#define TAPIR_USDT_LET_2(a, b)		   TAPIR_USDT_LET_1(a) TAPIR_USDT_LET(1, b)
#define TAPIR_USDT_LET_3(a, b, c)	   TAPIR_USDT_LET_2(a, b) TAPIR_USDT_LET(2, c)
#define TAPIR_USDT_LET_4(a, b, c, d)	   TAPIR_USDT_LET_3(a, b, c) TAPIR_USDT_LET(3, d)
#define TAPIR_USDT_LET_5(a, b, c, d, e)	   TAPIR_USDT_LET_4(a, b, c, d) TAPIR_USDT_LET(4, e)
#define TAPIR_USDT_LET_6(a, b, c, d, e, f) TAPIR_USDT_LET_5(a, b, c, d, e) TAPIR_USDT_LET(5, f)
#define TAPIR_USDT_LET_7(a, b, c, d, e, f, g)                                                      \
	TAPIR_USDT_LET_6(a, b, c, d, e, f) TAPIR_USDT_LET(6, g)
#define TAPIR_USDT_LET_8(a, b, c, d, e, f, g, h)                                                   \
	TAPIR_USDT_LET_7(a, b, c, d, e, f, g) TAPIR_USDT_LET(7, h)
#define TAPIR_USDT_LET_9(a, b, c, d, e, f, g, h, i)                                                \
	TAPIR_USDT_LET_8(a, b, c, d, e, f, g, h) TAPIR_USDT_LET(8, i)
#define TAPIR_USDT_LET_10(a, b, c, d, e, f, g, h, i, j)                                            \
	TAPIR_USDT_LET_9(a, b, c, d, e, f, g, h, i) TAPIR_USDT_LET(9, j)
#define TAPIR_USDT_LET_11(a, b, c, d, e, f, g, h, i, j, k)                                         \
	TAPIR_USDT_LET_10(a, b, c, d, e, f, g, h, i, j) TAPIR_USDT_LET(10, k)
#define TAPIR_USDT_LET_12(a, b, c, d, e, f, g, h, i, j, k, l)                                      \
	TAPIR_USDT_LET_11(a, b, c, d, e, f, g, h, i, j, k) TAPIR_USDT_LET(11, l)

/* TAPIR_USDT_EACH_n(first, early, late): first(0) early(1) ... early(5) late(6) ... late(11) */
#define TAPIR_USDT_EACH_0(first, early, late)
#define TAPIR_USDT_EACH_1(first, early, late)  first(0)
#define TAPIR_USDT_EACH_2(first, early, late)  TAPIR_USDT_EACH_1(first, early, late) early(1)
#define TAPIR_USDT_EACH_3(first, early, late)  TAPIR_USDT_EACH_2(first, early, late) early(2)
#define TAPIR_USDT_EACH_4(first, early, late)  TAPIR_USDT_EACH_3(first, early, late) early(3)
#define TAPIR_USDT_EACH_5(first, early, late)  TAPIR_USDT_EACH_4(first, early, late) early(4)
#define TAPIR_USDT_EACH_6(first, early, late)  TAPIR_USDT_EACH_5(first, early, late) early(5)
#define TAPIR_USDT_EACH_7(first, early, late)  TAPIR_USDT_EACH_6(first, early, late) late(6)
#define TAPIR_USDT_EACH_8(first, early, late)  TAPIR_USDT_EACH_7(first, early, late) late(7)
#define TAPIR_USDT_EACH_9(first, early, late)  TAPIR_USDT_EACH_8(first, early, late) late(8)
#define TAPIR_USDT_EACH_10(first, early, late) TAPIR_USDT_EACH_9(first, early, late) late(9)
#define TAPIR_USDT_EACH_11(first, early, late) TAPIR_USDT_EACH_10(first, early, late) late(10)
#define TAPIR_USDT_EACH_12(first, early, late) TAPIR_USDT_EACH_11(first, early, late) late(11)

#define TAPIR_USDT_LET(i, x)                                                                       \
	TAPIR_USDT_AUTO tapir_usdt_##i = (x);                                                      \
	TAPIR_USDT_CHECK(tapir_usdt_##i)

/*
 * The site. The compiler believes that the asm reads no memory; the memory of a pointer argument is
 * kept in place by the empty asm before and after it (TAPIR_USDT_KEEP). An asm takes 30 operands:
 * 12 values, 12 sizes, the semaphore, and the 12 kinds packed in two numbers.
 */
/* clang-format off */
#define TAPIR_USDT_SITE(cnt, semaphore, provider, name)                                            \
	TAPIR_USDT_EACH_##cnt(TAPIR_USDT_KEEP, TAPIR_USDT_KEEP, TAPIR_USDT_KEEP)                   \
	TAPIR_USDT_ASM(                                                                            \
		TAPIR_USDT_TEXT(cnt, TAPIR_USDT_APPLY(TAPIR_USDT_SECOND, semaphore),               \
			TAPIR_USDT_STRING(provider), TAPIR_USDT_STRING(name), "", "")              \
		:                                                                                  \
		: [counter] TAPIR_USDT_APPLY(TAPIR_USDT_FIRST, semaphore),                         \
		  [early] "n"(TAPIR_USDT_EARLY(cnt)), [late] "n"(TAPIR_USDT_LATE(cnt))             \
		  TAPIR_USDT_INPUTS(cnt));                                                         \
	TAPIR_USDT_EACH_##cnt(TAPIR_USDT_KEEP, TAPIR_USDT_KEEP, TAPIR_USDT_KEEP)

/*
 * For provider.h: the names are texts, `names` the arguments' as assembler lines, and a second note
 * says what the event is. keywords in two halves: see TAPIR_USDT_PACK. 30 operands with 12 values.
 */
#define TAPIR_USDT_SITE_OF_EVENT(cnt, semaphore, provider, name, names, low, high, id_version_level) \
	TAPIR_USDT_SITE_OF_TAKEN(NO, cnt, semaphore, provider, name, names, low, high,             \
				 id_version_level, 0)

/* taken_is: YES adds a third note with the operand of `taken`; NO adds none. */
#define TAPIR_USDT_SITE_OF_TAKEN(taken_is, cnt, semaphore, provider, name, names, low, high,       \
				 id_version_level, taken)                                          \
	TAPIR_USDT_EACH_##cnt(TAPIR_USDT_KEEP, TAPIR_USDT_KEEP, TAPIR_USDT_KEEP)                   \
	TAPIR_USDT_ASM(                                                                            \
		TAPIR_USDT_TEXT(cnt, TAPIR_USDT_APPLY(TAPIR_USDT_SECOND, TAPIR_USDT_WORD(semaphore)), \
			provider, name, names,                                                     \
			TAPIR_USDT_NOTE_BEGIN(".note.tapir", "tapir", "2")                         \
			".8byte 990b\n"                                                            \
			".4byte %c[keywords_low], %c[keywords_high], %c[about], 0\n"               \
			TAPIR_USDT_NOTE_END                                                        \
			TAPIR_USDT_JOIN(TAPIR_USDT_TAKEN_NOTE_, taken_is))                         \
		:                                                                                  \
		: [counter] TAPIR_USDT_APPLY(TAPIR_USDT_FIRST, TAPIR_USDT_WORD(semaphore)),        \
		  [early] "n"(TAPIR_USDT_EARLY(cnt)), [late] "n"(TAPIR_USDT_LATE(cnt)),            \
		  [keywords_low] "n"(low), [keywords_high] "n"(high),            \
		  [about] "n"(id_version_level)                                                    \
		  TAPIR_USDT_JOIN(TAPIR_USDT_TAKEN_INPUT_, taken_is)(taken)                        \
		  TAPIR_USDT_INPUTS(cnt));                                                         \
	TAPIR_USDT_EACH_##cnt(TAPIR_USDT_KEEP, TAPIR_USDT_KEEP, TAPIR_USDT_KEEP)

#define TAPIR_USDT_TEXT(cnt, counter, provider, name, names, more)                                 \
	"990: " TAPIR_USDT_NOPS "\n"                                                               \
	TAPIR_USDT_NOTE_BEGIN(".note.stapsdt", "stapsdt", "3")                                     \
	".8byte 990b, _.stapsdt.base, " counter "\n"                                               \
	".asciz \"" provider "\"\n"                                                                \
	".asciz \"" name "\"\n"                                                                    \
	".asciz \"" TAPIR_USDT_OPERANDS(cnt) "\"\n"                                                \
	TAPIR_USDT_NOTE_END                                                                        \
	TAPIR_USDT_NOTE_BEGIN(".note.tapir", "tapir", "1")                                         \
	".8byte 990b\n"                                                                            \
	TAPIR_USDT_KINDS(cnt)                                                                      \
	".byte 0\n"                                                                                \
	names                                                                                      \
	TAPIR_USDT_NOTE_END                                                                        \
	more                                                                                       \
	TAPIR_USDT_BASE
/* clang-format on */

#define TAPIR_USDT_TAKEN_NOTE_NO
#define TAPIR_USDT_TAKEN_NOTE_YES                                                                  \
	TAPIR_USDT_NOTE_BEGIN(".note.tapir", "tapir", "3")                                         \
	".8byte 990b\n"                                                                            \
	".asciz \"8@" TAPIR_USDT_PLACE "[taken]\"\n" TAPIR_USDT_NOTE_END
#define TAPIR_USDT_TAKEN_INPUT_NO(value)
#define TAPIR_USDT_TAKEN_INPUT_YES(value) , [taken] "nor"((unsigned long)(value))

/* An asm has no place for one more operand than 12 values take. */
#define TAPIR_USDT_ROOM_0		  YES
#define TAPIR_USDT_ROOM_1		  YES
#define TAPIR_USDT_ROOM_2		  YES
#define TAPIR_USDT_ROOM_3		  YES
#define TAPIR_USDT_ROOM_4		  YES
#define TAPIR_USDT_ROOM_5		  YES
#define TAPIR_USDT_ROOM_6		  YES
#define TAPIR_USDT_ROOM_7		  YES
#define TAPIR_USDT_ROOM_8		  YES
#define TAPIR_USDT_ROOM_9		  YES
#define TAPIR_USDT_ROOM_10		  YES
#define TAPIR_USDT_ROOM_11		  YES
#define TAPIR_USDT_ROOM_12		  NO

/*
 * A semaphore: the asm's operand, and how it is written. gcc's -mcmodel=large takes no address as a
 * constant: there it is written by its name, which is TAPIR_USDT_LABEL's.
 */
#define TAPIR_USDT_APPLY(macro, pair)	  TAPIR_USDT_APPLY_(macro, pair)
#define TAPIR_USDT_APPLY_(macro, pair)	  macro pair
#define TAPIR_USDT_FIRST(operand, text)	  operand
#define TAPIR_USDT_SECOND(operand, text)  text
#if defined(__code_model_large__) && !defined(__clang__)
#define TAPIR_USDT_WORD(symbol)	 ("n"(0), TAPIR_USDT_STRING(symbol))
#define TAPIR_USDT_LABEL(symbol) __asm__(#symbol)
#else
#define TAPIR_USDT_WORD(symbol) (TAPIR_USDT_ADDRESS(&symbol), "%c[counter]")
#define TAPIR_USDT_LABEL(symbol)
#endif

#define TAPIR_USDT_EARLY(cnt)                                                                      \
	(0 TAPIR_USDT_EACH_##cnt(TAPIR_USDT_PACK, TAPIR_USDT_PACK, TAPIR_USDT_SKIP))
#define TAPIR_USDT_LATE(cnt)                                                                       \
	(0 TAPIR_USDT_EACH_##cnt(TAPIR_USDT_SKIP, TAPIR_USDT_SKIP, TAPIR_USDT_PACK))
#define TAPIR_USDT_OPERANDS(cnt)                                                                   \
	TAPIR_USDT_EACH_##cnt(TAPIR_USDT_OPERAND_0, TAPIR_USDT_OPERAND, TAPIR_USDT_OPERAND)
#define TAPIR_USDT_KINDS(cnt)                                                                      \
	TAPIR_USDT_EACH_##cnt(TAPIR_USDT_BYTE_EARLY, TAPIR_USDT_BYTE_EARLY, TAPIR_USDT_BYTE_LATE)
#define TAPIR_USDT_INPUTS(cnt)                                                                     \
	TAPIR_USDT_EACH_##cnt(TAPIR_USDT_INPUT_EARLY, TAPIR_USDT_INPUT_EARLY, TAPIR_USDT_INPUT_LATE)

/*
 * "?" puts a note into the section group of the function around it, so that the linker drops
 * both or none; the base is a group of its own, of which one survives.
 */
#define TAPIR_USDT_NOTE_BEGIN(section, owner, type)                                                \
	".pushsection " section ",\"?\",\"note\"\n"                                                \
	".balign 4\n"                                                                              \
	".4byte 992f-991f, 994f-993f, " type "\n"                                                  \
	"991: .asciz \"" owner "\"\n"                                                              \
	"992: .balign 4\n"                                                                         \
	"993:\n"

#define TAPIR_USDT_NOTE_END                                                                        \
	"994: .balign 4\n"                                                                         \
	".popsection\n"

#define TAPIR_USDT_BASE                                                                            \
	".ifndef _.stapsdt.base\n"                                                                 \
	".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"                    \
	".weak _.stapsdt.base\n"                                                                   \
	".hidden _.stapsdt.base\n"                                                                 \
	"_.stapsdt.base: .space 1\n"                                                               \
	".size _.stapsdt.base, 1\n"                                                                \
	".popsection\n"                                                                            \
	".endif\n"

/* %c prints a constant bare: 4, not $4; TAPIR_USDT_PLACE a register by its whole name. */
#define TAPIR_USDT_OPERAND_0(i) "%c[size_" #i "]@" TAPIR_USDT_PLACE "[value_" #i "]"
#define TAPIR_USDT_OPERAND(i)	" " TAPIR_USDT_OPERAND_0(i)

/*
 * Kinds are lower-case letters and travel as their low 5 bits, six in a number: gcc prints
 * no larger constant bare than 32 bits.
 */
#define TAPIR_USDT_PACK(i)	| (TAPIR_USDT_KIND(tapir_usdt_##i) & 31) << 5 * (i % 6)
#define TAPIR_USDT_SKIP(i)
#define TAPIR_USDT_BYTE_EARLY(i) ".byte 96+((%c[early]>>(5*" #i "))&31)\n"
#define TAPIR_USDT_BYTE_LATE(i)	 ".byte 96+((%c[late]>>(5*(" #i "-6)))&31)\n"

/*
 * The locations that a value may have. gcc chooses well; clang takes memory whenever it may, and so
 * would store every argument: it gets as many registers as it surely has.
 */
#ifdef __clang__
#define TAPIR_USDT_INPUT_EARLY(i) TAPIR_USDT_INPUT(i, "nr")
#define TAPIR_USDT_WHERE_IT_IS	  "r"
#else
#define TAPIR_USDT_INPUT_EARLY(i) TAPIR_USDT_INPUT(i, "nor")
#define TAPIR_USDT_WHERE_IT_IS	  "g"
#endif
#define TAPIR_USDT_INPUT_LATE(i) TAPIR_USDT_INPUT(i, "nor")
#define TAPIR_USDT_INPUT(i, where)                                                                 \
	, [size_##i] "n"(TAPIR_USDT_SIZE(tapir_usdt_##i)),                                         \
		[value_##i] where(TAPIR_USDT_VALUE(tapir_usdt_##i))

/* Makes the memory of a pointer be what the program wrote; an empty asm, no code. */
#define TAPIR_USDT_KEEP(i)                                                                         \
	if (TAPIR_USDT_KIND(tapir_usdt_##i) == 's' || TAPIR_USDT_KIND(tapir_usdt_##i) == 'p')      \
		__asm__ __volatile__("" : : TAPIR_USDT_WHERE_IT_IS(tapir_usdt_##i) : "memory");

/* Inlined functions are weighed by the lines of their asm; these lines are no code. */
#define TAPIR_USDT_ASM __asm__ __volatile__ __inline__

#ifdef __x86_64__
/* 1 byte for the breakpoint; Linux optimises the 10-byte nop, `cs nopw 0(%rax,%rax,1)`. */
#define TAPIR_USDT_NOPS	   ".byte 0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0"
/* 1@%r11, not 1@%r11b: gdb 13 does not know r11b and drops the arguments after it. */
#define TAPIR_USDT_PLACE   "%q"
/* The constraint of a variable's address; on aarch64 "i" does not allow one in position-independent
 * code.
 */
#define TAPIR_USDT_ADDRESS "i"
#else
#define TAPIR_USDT_ADDRESS "S"
#define TAPIR_USDT_NOPS	   "nop"
#define TAPIR_USDT_PLACE   "%"
#endif

#ifdef __CHAR_UNSIGNED__
#define TAPIR_USDT_CHAR_IS_SIGNED 0
#else
#define TAPIR_USDT_CHAR_IS_SIGNED 1
#endif

#define TAPIR_USDT_SIZE(a)                                                                         \
	(TAPIR_USDT_KIND(a) == 'i' || (TAPIR_USDT_KIND(a) == 'c' && TAPIR_USDT_CHAR_IS_SIGNED)     \
		 ? -(int)sizeof(a)                                                                 \
		 : (int)sizeof(a))

#define TAPIR_USDT_HELP "tapir: a probe takes numbers up to 8 bytes, bool, char, enum, pointers"

/*
 * AUTO: a variable of the argument's type. CHECK: it is one that fits. KIND: its letter.
 * VALUE: what goes into the asm.
 */
#ifdef __cplusplus

#define TAPIR_USDT_AUTO	    auto
#define TAPIR_USDT_CHECK(a) static_assert(sizeof(a) <= 8, TAPIR_USDT_HELP);
#define TAPIR_USDT_KIND(a)  tapir_usdt::type<decltype(a)>::kind
#define TAPIR_USDT_VALUE(a) tapir_usdt::bits(a)

extern "C++" {
namespace tapir_usdt
{
template <typename T, bool is_enum = __is_enum(T)> struct type {
	static_assert(sizeof(T) == 0, TAPIR_USDT_HELP);
};
template <typename T> struct type<T, true> : type<__underlying_type(T)> {
};
template <typename T> struct type<T *, false> {
	enum : char { kind = 'p' };
};
#define TAPIR_USDT_TYPE(T, letter)                                                                 \
	template <> struct type<T, false> {                                                        \
		enum : char { kind = letter };                                                     \
	}
TAPIR_USDT_TYPE(bool, 'b');
TAPIR_USDT_TYPE(char, 'c');
TAPIR_USDT_TYPE(signed char, 'i');
TAPIR_USDT_TYPE(short, 'i');
TAPIR_USDT_TYPE(int, 'i');
TAPIR_USDT_TYPE(long, 'i');
TAPIR_USDT_TYPE(long long, 'i');
TAPIR_USDT_TYPE(unsigned char, 'u');
TAPIR_USDT_TYPE(unsigned short, 'u');
TAPIR_USDT_TYPE(unsigned, 'u');
TAPIR_USDT_TYPE(unsigned long, 'u');
TAPIR_USDT_TYPE(unsigned long long, 'u');
TAPIR_USDT_TYPE(char16_t, 'u');
TAPIR_USDT_TYPE(char32_t, 'u');
TAPIR_USDT_TYPE(wchar_t, wchar_t(-1) < wchar_t(1) ? 'i' : 'u');
TAPIR_USDT_TYPE(float, 'f');
TAPIR_USDT_TYPE(double, 'f');
TAPIR_USDT_TYPE(decltype(nullptr), 'p');
TAPIR_USDT_TYPE(char *, 's');
TAPIR_USDT_TYPE(const char *, 's');
TAPIR_USDT_TYPE(signed char *, 's');
TAPIR_USDT_TYPE(const signed char *, 's');
TAPIR_USDT_TYPE(unsigned char *, 's');
TAPIR_USDT_TYPE(const unsigned char *, 's');
#ifdef __cpp_char8_t
TAPIR_USDT_TYPE(char8_t, 'u');
TAPIR_USDT_TYPE(char8_t *, 's');
TAPIR_USDT_TYPE(const char8_t *, 's');
#endif
#undef TAPIR_USDT_TYPE

#define TAPIR_USDT_INLINE inline __attribute__((always_inline, artificial))
template <typename T> TAPIR_USDT_INLINE T bits(T value)
{
	return value;
}
TAPIR_USDT_INLINE const void *bits(decltype(nullptr))
{
	return nullptr;
}
TAPIR_USDT_INLINE unsigned bits(float value)
{
	unsigned result;
	__builtin_memcpy(&result, &value, sizeof(result));
	return result;
}
TAPIR_USDT_INLINE unsigned long bits(double value)
{
	unsigned long result;
	__builtin_memcpy(&result, &value, sizeof(result));
	return result;
}
#undef TAPIR_USDT_INLINE
} // namespace tapir_usdt
}

#else

#define TAPIR_USDT_AUTO __extension__ __auto_type
/* A pointer is what the other letters leave; class 5 of gcc's typeclass.h. */
#define TAPIR_USDT_CHECK(a)                                                                        \
	_Static_assert(sizeof(a) <= 8 &&                                                           \
			       (TAPIR_USDT_KIND(a) != 'p' || __builtin_classify_type(a) == 5),     \
		       TAPIR_USDT_HELP);
/* clang-format off */
#define TAPIR_USDT_KIND(a)                                                                         \
	_Generic((a), _Bool: 'b', char: 'c',                                                       \
		signed char: 'i', short: 'i', int: 'i', long: 'i', long long: 'i',                 \
		unsigned char: 'u', unsigned short: 'u', unsigned: 'u', unsigned long: 'u',        \
		unsigned long long: 'u', float: 'f', double: 'f',                                  \
		char *: 's', signed char *: 's', unsigned char *: 's',                             \
		const char *: 's', const signed char *: 's', const unsigned char *: 's',           \
		default: 'p')
/* Every branch must compile for every type, hence the inner choices. */
#define TAPIR_USDT_VALUE(a)                                                                        \
	_Generic((a), float: tapir_usdt_bits4(_Generic((a), float: (a), default: 0.0f)),           \
		double: tapir_usdt_bits8(_Generic((a), double: (a), default: 0.0)),                \
		default: (a))
/* clang-format on */

static inline __attribute__((always_inline, artificial)) unsigned tapir_usdt_bits4(float value)
{
	unsigned result;
	__builtin_memcpy(&result, &value, sizeof(result));
	return result;
}

static inline __attribute__((always_inline, artificial)) unsigned long
tapir_usdt_bits8(double value)
{
	unsigned long result;
	__builtin_memcpy(&result, &value, sizeof(result));
	return result;
}

#endif
#endif /* TAPIR_USDT_H */
