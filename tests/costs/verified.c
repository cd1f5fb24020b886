// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * verified.c - loads all BPF programs and prints, for each, how many instructions the kernel's
 * verifier went through. Programs that stand for one loaded later are a return, and left out.
 *
 * With --each it loads them in the ways in which recordings and questions do, since constants
 * decide what the verifier sees: a line for each way, and the end of the verifier's log for what
 * this kernel rejects.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attach/features.h"
#include "attach/programs.h"
#include "base/diag.h"
#include "base/log.h"
#include "base/str.h"
#include "trace/kernel_work.h"

#define STUB_INSNS  2
#define TABLE_BYTES (1 << 20)

static const struct tapir_call_choice calls = {.key_cap = 16, .file_cap = 16, .with_stacks = true};
static const struct tapir_native_choice native = {.mean_bytes = 1};

/* Programs of processes and probes, which every way has. */
static const struct tapir_programs_opts basis = {
	.sz = sizeof(basis), .site_cap = 16, .ring_bytes = 4096};

static struct tapir_programs_opts all_at_once(void)
{
	struct tapir_programs_opts opts = basis;

	opts.with_threads = opts.with_uses = opts.with_holds = opts.with_questions = true;
	opts.sums = (struct tapir_sums_opts){.is_on = true,
					     .column_cnt = 2,
					     .key_cnt = 2,
					     .has_steps = true,
					     .table_bytes = TABLE_BYTES};
	opts.machine_cap = 16;
	opts.with_tracepoints = opts.with_functions = true;
	opts.with_calls = opts.with_counters = true;
	opts.with_machine_stacks = true;
	opts.call_counts = &calls;
	opts.native = &native;
	opts.kernel_kinds = TAPIR_KERNEL_HAS_ALL;
	opts.kernel_row_cap = 1;
	memset(opts.families, true, sizeof(opts.families));
	return opts;
}

/* What captures switches in another way is loaded in place of that. */
static struct tapir_programs_opts summed_waits(void)
{
	struct tapir_programs_opts opts = basis;

	opts.site_cap = 1;
	opts.no_processes = true;
	opts.families[TAPIR_FAMILY_SWITCH] = true;
	opts.wait_sum_cap = 16;
	return opts;
}

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

/* ---- --each ------------------------------------------------------------------------------- */

static struct tapir_features features;
static struct tapir_str rejected; /* the names of ways */

static void print_line(enum tapir_log_level level, const char *line)
{
	(void)level;
	printf("      %s\n", line);
}

static void load_way(const char *name, struct tapir_programs_opts opts)
{
	struct tapir_programs *programs = NULL;
	int err;

	opts.use_multi = tapir_features__has(&features, TAPIR_FEATURE_UPROBE_MULTI);
	opts.use_sessions = tapir_features__has(&features, TAPIR_FEATURE_UPROBE_SESSION);
	err = tapir_programs__load(&opts, &programs);
	tapir_programs__free(programs);
	for (int i = 0; i < tapir_diag__cnt(); i++)
		printf("      %s\n", tapir_diag__line(i));
	tapir_diag__clear();
	printf("%s  %s\n", err ? "FAIL" : "ok  ", name);
	if (err)
		tapir_str__addf(&rejected, "%s%s", rejected.len ? "; " : "", name);
}

static void load_families(void)
{
	for (int i = 0; i < TAPIR_FAMILY_CNT; i++) {
		struct tapir_programs_opts opts = basis;

		if (!tapir_features__can_capture(i)) {
			printf("lacks %s\n", tapir_families[i].many);
			continue;
		}
		opts.families[i] = true;
		opts.call_counts = i == TAPIR_FAMILY_CALLS ? &calls : NULL;
		opts.native = i == TAPIR_FAMILY_NATIVE ? &native : NULL;
		opts.kernel_kinds = i == TAPIR_FAMILY_KERNEL ? TAPIR_KERNEL_HAS_ALL : 0;
		opts.kernel_row_cap = 1;
		load_way(tapir_families[i].many, opts);
	}
}

static void load_recordings(void)
{
	struct tapir_programs_opts opts = basis;

	load_way("summed waits", summed_waits());
	opts.with_threads = opts.with_uses = opts.with_holds = true;
	load_way("iterators and holds", opts);
	opts = basis;
	opts.frames = TAPIR_MAX_FRAMES;
	opts.families[TAPIR_FAMILY_SAMPLE] = opts.families[TAPIR_FAMILY_SWITCH] = true;
	load_way("deep stacks", opts);
	opts = basis;
	opts.families[TAPIR_FAMILY_SAMPLE] = opts.no_processes = true;
	load_way("samples of one moment", opts);
}

/* The machine's sources answer the same questions by programs of their own. */
static void load_question(const char *name, struct tapir_sums_opts sums)
{
	struct tapir_programs_opts opts = basis;
	char of_machine[64];

	opts.with_questions = true;
	opts.sums = sums;
	opts.sums.table_bytes = TABLE_BYTES;
	snprintf(of_machine, sizeof(of_machine), "%s, of the machine", name);
	load_way(name, opts);
	opts.machine_cap = 16;
	opts.with_tracepoints = opts.with_functions = true;
	opts.with_calls = opts.with_counters = true;
	load_way(of_machine, opts);
	opts.with_machine_stacks = true;
	strcat(of_machine, " with stacks");
	load_way(of_machine, opts);
}

static void load_questions(void)
{
	static const struct {
		const char *name;
		struct tapir_sums_opts sums;
	} questions[] = {
		{"conditions", {}},
		{"counts", {.is_on = true}},
		{"histograms",
		 {.is_on = true, .column_cnt = TAPIR_SUMS_COLUMNS, .has_steps = true}},
		{"a histogram", {.is_on = true, .column_cnt = 1, .has_steps = true}},
		{"counts by a key", {.is_on = true, .key_cnt = 1}},
		{"counts by keys", {.is_on = true, .key_cnt = TAPIR_SUMS_KEYS}},
		{"histograms by keys",
		 {.is_on = true,
		  .column_cnt = TAPIR_SUMS_COLUMNS,
		  .key_cnt = TAPIR_SUMS_KEYS,
		  .has_steps = true}},
		{"intervals",
		 {.is_on = true, .column_cnt = 1, .has_steps = true, .has_pairs = true}},
		{"intervals by keys",
		 {.is_on = true,
		  .column_cnt = TAPIR_SUMS_COLUMNS,
		  .key_cnt = TAPIR_SUMS_KEYS,
		  .has_steps = true,
		  .has_pairs = true}},
	};

	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
		load_question(questions[i].name, questions[i].sums);
}

static int load_each(void)
{
	tapir_features__probe(&features);
	tapir_log__set(print_line, TAPIR_LOG_DEBUG);
	setvbuf(stdout, NULL, _IOLBF, 0);
	load_families();
	load_recordings();
	load_questions();
	if (!rejected.len)
		return 0;
	printf("this kernel rejects: %s\n", rejected.data);
	tapir_str__fini(&rejected);
	return 1;
}

int main(int argc, char **argv)
{
	struct tapir_programs_opts all = all_at_once(), sums = summed_waits();

	if (argc > 1)
		return strcmp(argv[1], "--each") ? 2 : load_each();
	return print_verified(&all) || print_verified(&sums);
}
