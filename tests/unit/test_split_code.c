// SPDX-License-Identifier: GPL-2.0-or-later
/* The part of a function of this program that gcc puts elsewhere, which its symbol confirms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/proc.h"
#include "base/file.h"
#include "elf/image.h"
#include "runtime/exported.h"
#include "runtime/process_memory.h"
#include "runtime/split_code.h"

static volatile unsigned sum;

__attribute__((noinline, cold)) static void complain(unsigned value)
{
	sum -= value;
}

/* What follows a call of a cold function is cold, too. */
__attribute__((noinline)) static void split(unsigned value)
{
	if (value == 7) {
		complain(value);
		sum ^= value;
	}
	if (value * sum == 8) {
		complain(value + 1);
		sum += value * 3;
	}
	if (value + sum == 9) {
		complain(value + 2);
		sum |= value;
	}
	sum += value;
}

struct found {
	struct tapir_interp_loop loop, by_symbols;
	bool is_there;
};

static void take_symbols(struct tapir_elf *elf, uint64_t bias, struct found *found)
{
	struct tapir_elf_syms syms;

	if (tapir_elf__syms(elf, SHT_SYMTAB, &syms))
		return;
	for (size_t i = 0; i < syms.cnt; i++) {
		const char *name = tapir_elf_syms__name(&syms, i);
		uint64_t va = syms.syms[i].st_value + bias, end = va + syms.syms[i].st_size;

		if (!strcmp(name, "split")) {
			found->by_symbols.va = va;
			found->by_symbols.end_va = end;
		} else if (!strcmp(name, "split.cold")) {
			found->by_symbols.cold_va = va;
			found->by_symbols.cold_end_va = end;
		}
	}
}

static int on_mapping(const struct tapir_mapping_line *m, void *ctx)
{
	struct found *found = ctx;
	uint32_t pid = (uint32_t)getpid();
	const struct tapir_process_memory memory = {tapir_process_memory__read_fn, &pid};
	struct tapir_elf *elf = NULL;
	uint64_t bias;

	if (!m->is_executable || !strstr(m->path, "test_split_code"))
		return 0;
	tapir_autofd int fd = tapir_proc__open_mapped(pid, m, NULL);

	assert_int_equal(tapir_elf__open_fd(fd, &elf), 0);
	assert_true(tapir_exported__bias(elf, m, &bias));
	take_symbols(elf, bias, found);
	found->loop.va = found->by_symbols.va;
	found->loop.end_va = found->by_symbols.end_va;
	tapir_split_code__find(elf, m, &memory, &found->loop);
	tapir_elf__free(elf);
	found->is_there = true;
	return 1;
}

static void part_is_where_its_symbol_is(void **state)
{
	struct found found = {};

	(void)state;
	split(3);
	(void)tapir_proc__each_mapping((uint32_t)getpid(), on_mapping, &found);
	assert_true(found.is_there);
	assert_int_equal(found.loop.va, (uintptr_t)split);
	if (!found.by_symbols.cold_va)
		skip(); /* this compiler keeps it in one piece */
	assert_int_equal(found.loop.cold_va, found.by_symbols.cold_va);
	assert_int_equal(found.loop.cold_end_va, found.by_symbols.cold_end_va);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(part_is_where_its_symbol_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
