// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lengths of instructions, and which of them return or jump, against objdump's for each instruction
 * of the C and C++ libraries and libm, which have variants for SSE, AVX, AVX-512 and FMA.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/returns.h"

struct listed {
	uint8_t bytes[2 * TAPIR_X86_READ_BYTES];
	unsigned len;
	uint64_t va;
	const char *text;
};

/* "  1234:\t48 8b 45 00 \tmov    0x0(%rbp),%rax" */
static bool read_listed(const char *line, struct listed *out)
{
	const char *at = strchr(line, '\t'), *text = at ? strchr(at + 1, '\t') : NULL;
	unsigned byte;
	int taken;

	memset(out, 0, sizeof(*out));
	if (!text)
		return false;
	out->va = strtoull(line, NULL, 16);
	for (at++; at < text && sscanf(at, "%2x %n", &byte, &taken) == 1; at += taken)
		out->bytes[out->len++ % TAPIR_X86_READ_BYTES] = (uint8_t)byte;
	out->text = text + 1;
	return out->len && out->len < TAPIR_X86_READ_BYTES && !strstr(text, "(bad)");
}

static bool is_return(const char *text)
{
	return !strncmp(text, "ret", 3) || strstr(text, " ret");
}

static void check_listed(const struct listed *l, const char *line, unsigned *unknown)
{
	struct tapir_x86_insn insn;
	const char *target = strchr(l->text, ' ');

	if (l->bytes[0] == 0x9b && l->len > 1)
		return; /* objdump shows fwait and the next one as one */
	if (!tapir_x86_insn__decode(l->bytes, &insn)) {
		++*unknown;
		if (is_return(l->text))
			fail_msg("unknown: %s", line);
		return;
	}
	if (insn.bytes != l->len || (insn.flow == TAPIR_X86_RETURN) != is_return(l->text))
		fail_msg("%u bytes, flow %u: %s", insn.bytes, insn.flow, line);
	if (insn.flow == TAPIR_X86_JUMP &&
	    (!target || strtoull(target, NULL, 16) != l->va + insn.bytes + (uint64_t)insn.jump))
		fail_msg("jump %lld: %s", (long long)insn.jump, line);
	if (insn.flow == TAPIR_X86_NEXT && l->text[0] == 'j' && strchr(l->text, '*') == NULL)
		fail_msg("a jump: %s", line);
}

static void instructions_are_those_of_objdump(void **state)
{
	static const char *const names[] = {"libm.so.6", "libc.so.6", "libstdc++.so.6"};
	unsigned cnt = 0, unknown = 0;
	char line[512], command[512];
	struct listed l;

	(void)state;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		FILE *in;

		snprintf(command, sizeof(command),

			 "objdump -d -w /lib/x86_64-linux-gnu/%s 2>/dev/null", names[i]);
		in = popen(command, "r");
		assert_non_null(in);
		while (fgets(line, sizeof(line), in)) {
			if (!read_listed(line, &l))
				continue;
			cnt++;
			check_listed(&l, line, &unknown);
		}
		pclose(in);
	}
	if (!cnt)
		skip();
	if (cnt < 10000 || unknown > cnt / 1000)
		fail_msg("%u of %u are unknown", unknown, cnt);
}

static void any_bytes_are_read(void **state)
{
	struct tapir_x86_insn insn;
	uint8_t bytes[TAPIR_X86_READ_BYTES];
	uint32_t seed = 1;

	(void)state;
	for (unsigned i = 0; i < 1000000; i++) {
		for (unsigned b = 0; b < sizeof(bytes); b++)
			bytes[b] = (uint8_t)((seed = seed * 1103515245u + 12345u) >> 16);
		if (tapir_x86_insn__decode(bytes, &insn))
			assert_in_range(insn.bytes, 1, TAPIR_X86_READ_BYTES - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_are_those_of_objdump),
		cmocka_unit_test(any_bytes_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
