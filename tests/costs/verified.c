// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * verified.c - loads all BPF programs and prints, for each, how many instructions the kernel's
 * verifier went through. Programs that stand for one loaded later are a return, and left out.
 */
#include <bpf/bpf.h>
#include <stdio.h>
#include <string.h>

#include "attach/programs.h"

#define STUB_INSNS 2

static int print_verified(const struct tapir_programs_opts *opts)
{
	struct tapir_programs *programs;

	if (tapir_programs__load(opts, &programs))
		return 1;
	for (int fd = 3; fd < 1024; fd++) { /* the object's are among this process's */
		struct bpf_prog_info info = {};
		uint32_t bytes = sizeof(info);

		if (!bpf_obj_get_info_by_fd(fd, &info, &bytes) && info.verified_insns > STUB_INSNS)
			printf("%s\t%u\n", info.name, info.verified_insns);
	}
	tapir_programs__free(programs);
	return 0;
}

int main(void)
{
	static const struct tapir_call_choice calls = {.key_cap = 16, .with_stacks = true};
	static const struct tapir_native_choice native = {.mean_bytes = 1};
	struct tapir_programs_opts opts = {.sz = sizeof(opts),
					   .site_cap = 16,
					   .ring_bytes = 4096,
					   .with_threads = true,
					   .with_uses = true,
					   .with_holds = true,
					   .with_questions = true,
					   .sums = {.is_on = true,
						    .column_cnt = 2,
						    .key_cnt = 2,
						    .has_steps = true,
						    .table_bytes = 1 << 20},
					   .machine_cap = 16,
					   .with_tracepoints = true,
					   .with_calls = true,
					   .with_counters = true,
					   .with_machine_stacks = true,
					   .call_counts = &calls,
					   .native = &native};
	/* What captures switches in another way is loaded in place of that. */
	struct tapir_programs_opts sums = {.sz = sizeof(sums),
					   .site_cap = 1,
					   .ring_bytes = 4096,
					   .no_processes = true,
					   .families[TAPIR_FAMILY_SWITCH] = true,
					   .wait_sum_cap = 16};

	memset(opts.families, true, sizeof(opts.families));
	return print_verified(&opts) || print_verified(&sums);
}
