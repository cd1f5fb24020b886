// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lengths of instructions, against objdump's for each instruction of libm, which has variants for
 * SSE, AVX and FMA; and which instructions must have none, because the stack pointer changes or the
 * code continues elsewhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/insn_logic.bpf.h"

#define MAX_BYTES 16

struct insn {
	uint8_t bytes[2 * MAX_BYTES];
	unsigned len;
	char text[160];
};

/* "  1234:\t48 8b 45 00 \tmov    0x0(%rbp),%rax" */
static int read_line(const char *line, struct insn *insn)
{
	const char *at = strchr(line, '\t'), *text = at ? strchr(at + 1, '\t') : NULL;
	unsigned byte;
	int taken;

	memset(insn, 0, sizeof(*insn));
	if (!text)
		return 0;
	for (at++; at < text && sscanf(at, "%2x %n", &byte, &taken) == 1; at += taken)
		insn->bytes[insn->len++ % MAX_BYTES] = (uint8_t)byte;
	snprintf(insn->text, sizeof(insn->text), "%s", text + 1);
	return insn->len && insn->len <= MAX_BYTES;
}

/* Does it end what a step forward may assume? */
static int must_stop(const char *text)
{
	static const char *const words[] = {"push",  "pop", "ret",  "jmp",
					    "leave", "hlt", "int3", "ud2"};
	const char *sp;

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strncmp(text, words[i], strlen(words[i])))
			return strncmp(text, "popcnt", 6) != 0;
	sp = strstr(text, ",%rsp");
	return sp && strncmp(text, "cmp", 3) != 0 && strncmp(text, "test", 4) != 0;
}

static void lengths_are_those_of_objdump(void **state)
{
	unsigned cnt = 0, known = 0;
	char line[512], command[512];
	struct insn insn;
	Dl_info info;
	FILE *in;

	(void)state;
	assert_true(dladdr(dlsym(dlopen("libm.so.6", RTLD_NOW), "sin"), &info));
	snprintf(command, sizeof(command), "objdump -d -w %s 2>/dev/null", info.dli_fname);
	in = popen(command, "r");
	assert_non_null(in);
	while (fgets(line, sizeof(line), in)) {
		uint32_t len;

		if (!read_line(line, &insn))
			continue;
		len = tapir_insn__bytes(insn.bytes);
		cnt++;
		known += len > 0;
		if ((len && len != insn.len) || (len && must_stop(insn.text)))
			fail_msg("%u bytes: %s", len, line);
	}
	pclose(in);
	if (!cnt)
		skip();
	assert_true(cnt > 10000);
	assert_true(known > cnt / 10 * 7);
}

/* What methods of managed languages consist of; lengths as CoreCLR's JIT lists them. */
static void methods_are_followed(void **state)
{
	static const struct {
		const char *bytes;
		unsigned len;
	} insns[] = {
		{"\x48\xff\xc0", 3},				  /* inc rax */
		{"\x48\xb8\x78\xfe\x03\xbc\xa7\x7f\x00\x00", 10}, /* mov rax, imm64 */
		{"\xff\x15\x11\x22\x33\x44", 6},		  /* call [rip + n] */
		{"\xff\xd0", 2},				  /* call rax */
		{"\xe8\x11\x22\x33\x44", 5},			  /* call */
		{"\x41\xff\x52\x18", 4},			  /* call [r10 + 24] */
		{"\x0f\x1f\x84\x00\x00\x00\x00\x00", 8},	  /* nop */
		{"\x66\x0f\x1f\x44\x00\x00", 6},		  /* nop */
		{"\xf0\x0f\xc1\x07", 4},			  /* lock xadd [rdi], eax */
		{"\xf7\xc7\x01\x00\x00\x00", 6},		  /* test edi, 1 */
		{"\xf6\x47\x08\x01", 4},			  /* test byte [rdi + 8], 1 */
		{"\x80\x3d\x11\x22\x33\x44\x00", 7},		  /* cmp byte [rip + n], 0 */
		{"\xc4\xe2\xfb\xf6\xc1", 5},			  /* mulx */
		{"\xc5\xfe\x7f\x44\x24\x20", 6},		  /* vmovdqu [rsp + 32], ymm0 */
		{"\x4c\x89\xbc\x24\xa8\x00\x00\x00", 8},	  /* mov [rsp + 168], r15 */
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(insns) / sizeof(insns[0]); i++) {
		uint8_t bytes[MAX_BYTES] = {};

		memcpy(bytes, insns[i].bytes, insns[i].len);
		assert_int_equal(tapir_insn__bytes(bytes), insns[i].len);
	}
}

static void stack_and_jumps_have_no_length(void **state)
{
	static const char *const insns[] = {
		"\x48\x8b\xe5",	    /* mov rsp, rbp */
		"\x48\x89\xec",	    /* mov rsp, rbp */
		"\x48\x8d\x65\xd8", /* lea rsp, [rbp - 40] */
		"\x48\x83\xe4\xf0", /* and rsp, -16 */
		"\x48\x2b\xe0",	    /* sub rsp, rax */
		"\xc9",
		"\xc3",
		"\xcc",			    /* leave, ret, int3 */
		"\xe9\x11\x22\x33\x44",	    /* jmp */
		"\xeb\x11",		    /* jmp */
		"\xff\xe0",		    /* jmp rax */
		"\xff\x25\x11\x22\x33\x44", /* jmp [rip + n] */
		"\xff\x75\x10",		    /* push [rbp + 16] */
		"\x0f\x0b",		    /* ud2 */
		"\x66\x81\xc7\x11\x22",	    /* add di, imm16 */
		"\x62\xf1\x7c\x48\x28\xc0", /* AVX-512 */
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(insns) / sizeof(insns[0]); i++) {
		uint8_t bytes[MAX_BYTES] = {};

		memcpy(bytes, insns[i], strlen(insns[i]));
		assert_int_equal(tapir_insn__bytes(bytes), 0);
	}
}

/* Reads none but the 16 bytes, and gives no length beyond them. */
static void any_bytes_have_a_length_of_at_most_16(void **state)
{
	uint8_t *bytes = malloc(MAX_BYTES);

	(void)state;
	srand(3);
	for (unsigned n = 0; n < 1000000; n++) {
		for (unsigned i = 0; i < MAX_BYTES; i++)
			bytes[i] = (uint8_t)rand();
		assert_in_range(tapir_insn__bytes(bytes), 0, 20);
	}
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths_are_those_of_objdump),
		cmocka_unit_test(methods_are_followed),
		cmocka_unit_test(stack_and_jumps_have_no_length),
		cmocka_unit_test(any_bytes_have_a_length_of_at_most_16),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
