// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Wrote golden-v1-hosts.tapir, once, as make_golden_v1.c wrote the other one. The file is not made
 * again: it stands for all merged recordings of version 1 that exist.
 */
#include "golden_v1_hosts.h"
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
	for (int i = 0; i < GOLDEN_HOSTS_CNT; i++)
		if (tapir_writer__put(w, golden_host_record(i)))
			return 1;
	if (tapir_writer__close(w))
		return 1;
	tapir_writer__free(w);
	return 0;
}
