// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench_lines FILE [CNT] - what --lines --inline cost per address of an ELF file with debug
 * information: the first time, when the helper is asked, and later, from what is kept.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "elf/image.h"
#include "symbol/source_lines.h"
#include "trace/recbuf.h"

#define WARM_ROUNDS 20u

static struct tapir_rec_mapping describe(const struct tapir_elf *elf)
{
	struct tapir_rec_mapping fixed = {.file_id = 1, .flags = TAPIR_MAPPING_EXEC};
	size_t len = 0;
	const uint8_t *id = tapir_elf__build_id(elf, &len);

	if (!id || len > sizeof(fixed.build_id)) {
		fputs("bench_lines: the file has no build ID\n", stderr);
		exit(1);
	}
	memcpy(fixed.build_id, id, len);
	fixed.build_id_bytes = (uint8_t)len;
	return fixed;
}

/* Nanoseconds per address; *found: functions in all. */
static double look_up(const struct tapir_line_source *source,
		      const struct tapir_rec_mapping *mapping, uint64_t from_off, unsigned cnt,
		      uint64_t step, unsigned long *found)
{
	uint64_t begin_ns = tapir_clock__now_ns();

	*found = 0;
	for (unsigned i = 0; i < cnt; i++)
		*found += source->find(source->ctx, mapping, from_off + i * step, NULL).cnt;
	return (double)(tapir_clock__now_ns() - begin_ns) / cnt;
}

int main(int argc, char **argv)
{
	unsigned cnt = argc > 2 ? (unsigned)atoi(argv[2]) : 20000;
	struct tapir_source_lines_opts opts = {.with_lines = true, .with_inlined = true};
	struct tapir_source_lines *lines = NULL;
	const struct tapir_rec_mapping *mapping;
	struct tapir_line_source source;
	struct tapir_rec_mapping fixed;
	struct tapir_recbuf buf = {};
	struct tapir_elf *elf = NULL;
	const Elf64_Phdr *code;
	unsigned long found;
	char path[4096];
	double ns;

	if (argc < 2 || !cnt || !realpath(argv[1], path) || tapir_elf__open(path, &elf) ||
	    tapir_symbol_files__new(NULL, &opts.files) || tapir_source_lines__new(&opts, &lines)) {
		fputs("usage: bench_lines FILE [CNT], FILE with debug information\n", stderr);
		return 2;
	}
	fixed = describe(elf);
	code = tapir_elf__first_executable(elf);
	fixed.vaddr_pages = (int32_t)((int64_t)(code->p_vaddr - code->p_offset) / 4096);
	mapping = (const void *)tapir_recbuf__mapping(&buf, &fixed, tapir_sv__of(path));
	source = tapir_source_lines__source(lines);
	ns = look_up(&source, mapping, code->p_offset, cnt, code->p_filesz / cnt, &found);
	printf("first: %.1f us an address, %lu functions at %u addresses\n", ns / 1000, found, cnt);
	ns = 0;
	for (unsigned i = 0; i < WARM_ROUNDS; i++)
		ns += look_up(&source, mapping, code->p_offset, cnt, code->p_filesz / cnt, &found);
	printf("later: %.3f us an address\n", ns / WARM_ROUNDS / 1000);
	tapir_source_lines__free(lines);
	tapir_symbol_files__free(opts.files);
	tapir_elf__free(elf);
	tapir_recbuf__fini(&buf);
	return 0;
}
