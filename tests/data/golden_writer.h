/* SPDX-License-Identifier: GPL-2.0-or-later */
/* golden_writer.h - writes a golden file, the path of which is the program's only argument. */
#ifndef TAPIR_TESTS_GOLDEN_WRITER_H
#define TAPIR_TESTS_GOLDEN_WRITER_H

#include "trace/writer.h"

/* The exit status: 0, or 1 if the file is not whole. */
static inline int golden_write(int argc, char **argv, int cnt,
			       const struct tapir_rec *(*record)(int idx))
{
	struct tapir_writer_opts opts = {.sz = sizeof(opts),
					 .path = argv[argc - 1],
					 .force = true,
					 .created_ns = 5500,
					 .created_utc_ns = 1767225600000000000ull};
	struct tapir_writer *w;

	if (argc != 2 || tapir_writer__open(&opts, &w))
		return 1;
	for (int i = 0; i < cnt; i++)
		if (tapir_writer__put(w, record(i)))
			return 1;
	if (tapir_writer__close(w))
		return 1;
	tapir_writer__free(w);
	return 0;
}

#endif
