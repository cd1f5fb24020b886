// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Wrote golden-v1-kernel.tapir, once, as make_golden_v1.c wrote the other one. The file is not made
 * again: it stands for all recordings of version 1 that count the kernel's work.
 */
#include "golden_v1_kernel.h"
#include "trace/writer.h"

int main(int argc, char **argv)
{
	struct tapir_writer_opts opts = {.sz = sizeof(opts),
					 .path = argv[argc - 1],
					 .force = true,
					 .created_ns = 5500,
					 .created_utc_ns = 1767225600000000000ull};
	struct tapir_writer *w;

	if (argc != 2 || tapir_writer__open(&opts, &w))
		return 1;
	for (int i = 0; i < GOLDEN_KERNEL_CNT; i++)
		if (tapir_writer__put(w, golden_kernel_record(i)))
			return 1;
	if (tapir_writer__close(w))
		return 1;
	tapir_writer__free(w);
	return 0;
}
