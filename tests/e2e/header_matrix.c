/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * header_matrix - usdt.h in one program, for case_usdt_header.py, which compiles it with each
 * compiler, as C and as C++, at each level, and knows the values. Built from two translation
 * units: this file, and this file with MATRIX_SECOND.
 */
#include <stdbool.h>
#include <stdint.h>

#include "tapir/usdt.h"

TAPIR_PROBE_DEFINE_SEMAPHORE(matrix, guarded);

#ifdef __cplusplus
extern "C" {
#endif
int matrix_run(int argc);
int matrix_second(int i);
#ifdef __cplusplus
}
#endif

/* As in a header that many files include. */
static inline void fire_inlined(int i)
{
	TAPIR_PROBE(matrix, inlined, i);
}

#ifdef MATRIX_SECOND

int matrix_second(int i)
{
	fire_inlined(i);
	fire_inlined(i + 1);
	TAPIR_PROBE_SEM(matrix, guarded, i);
	return TAPIR_PROBE_ENABLED(matrix, guarded);
}

#else

enum color { RED, GREEN = 7 };
enum temperature { COLD = -40, HOT = 40 };

static int evaluated;

static int count_evaluation(int i)
{
	evaluated++;
	return i;
}

/* argc is 1, and the compiler does not know it. */
static void fire_numbers(int argc)
{
	int8_t i8 = (int8_t)(-127 - argc);
	uint8_t u8 = (uint8_t)(254 + argc);
	int16_t i16 = (int16_t)(-32767 - argc);
	uint16_t u16 = (uint16_t)(65534 + argc);
	int32_t i32 = -2147483647 - argc;
	uint32_t u32 = 4294967294u + (uint32_t)argc;
	int64_t i64 = -9223372036854775807 - argc;
	uint64_t u64 = 18446744073709551614u + (uint64_t)argc;
	float f = 1.5f * (float)argc;
	double d = -2.25 * argc;
	bool yes = argc == 1, no = argc == 2;

	TAPIR_PROBE(matrix, ints, i8, u8, i16, u16, i32, u32, i64, u64);
	TAPIR_PROBE(matrix, small, yes, no, (char)('A' + argc), (enum color)(6 + argc),
		    (enum temperature)(-41 + argc));
	TAPIR_PROBE(matrix, floats, f, d);
	TAPIR_PROBE(matrix, twelve, i8, u8, i16, u16, i32, u32, i64, u64, f, d, yes, argc);
	TAPIR_PROBE(matrix, constants, (int8_t)-1, (uint8_t)255, -3, 4294967295u,
		    (int64_t)0x123456789abcdef0, (bool)1);
}

static void fire_pointers(int argc)
{
	static const char quoted[] = "50% \"off\"";
	char text[8];
	unsigned char bytes[8];
	const void *null = 0;

	/* Nobody but the tracer reads them: the stores must not be left out. */
	text[0] = 'h', text[1] = 'i', text[2] = (char)('0' + argc), text[3] = 0;
	bytes[0] = 'u', bytes[1] = 0;
	TAPIR_PROBE(matrix, pointers, null, &evaluated, quoted, text, bytes, "literal");
	text[0] = 'X';
}

int matrix_run(int argc)
{
	int ok;

	TAPIR_PROBE(matrix, none);
	fire_numbers(argc);
	fire_pointers(argc);
	for (int i = 0; i < 3; i++)
		fire_inlined(i);
	TAPIR_PROBE(matrix, once, count_evaluation(argc), count_evaluation(2));
	ok = evaluated == 2;
	TAPIR_PROBE_SEM(matrix, guarded, count_evaluation(argc) + 41);
	/* The guarded site's argument is evaluated exactly if a tracer is there. */
	ok = ok && evaluated == 2 + (TAPIR_PROBE_ENABLED(matrix, guarded) ? 1 : 0);
	return ok && matrix_second(10) == (TAPIR_PROBE_ENABLED(matrix, guarded) ? 1 : 0) ? 0 : 1;
}

#ifndef MATRIX_NO_MAIN
int main(int argc, char **argv)
{
	(void)argv;
	return matrix_run(argc);
}
#endif
#endif
