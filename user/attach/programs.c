// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loads the BPF object and talks to its maps. Sizes of maps, constants and the programs that are
 * left out depend on what is recorded, so every session loads an object of its own. Nothing is
 * attached here before all of it is loaded: a half-loaded session has no effect on the machine.
 */
#include "attach/programs.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attach/bpf_ring.h"
#include "attach/deferred_program.h"
#include "attach/features.h"
#include "attach/links.h"
#include "attach/native_draws.h"
#include "attach/tracepoints.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "bpf/io_logic.bpf.h"
#include "elf/kernel_types.h"
#include "trace/kernel_work.h"
#include "tapir.skel.h"

#define ELEMENT_BYTES 80 /* of a hash on CPUs, with what it is found by (htab_elem, its bucket) */
#define FDS_OF_LIBBPF 8	 /* type information, and what it tries the kernel with */

struct tapir_programs {
	struct tapir_bpf *skel;
	struct tapir_deferred_program *usdt, *sample; /* NULL: loaded with the others */
	int rings_fd;				      /* the array of rings */
	volatile struct tapir_live *live;
	struct tapir_holds *holds; /* shared with the holder */
	volatile struct tapir_maybe_tgids *maybe_tgids;
	const struct tapir_losses *losses;
	size_t losses_bytes;
	struct tapir_kernel_row *kernel_rows; /* NULL: nothing of the kernel's is counted */
	size_t kernel_row_cnt;
	uint32_t site_cap;
	atomic_uint site_cnt;
	struct tapir_sums_opts sums;
	struct tapir_vec(struct bpf_link *) links; /* of families and tracepoints */
	unsigned ring_cnt;
	int ring_fds[]; /* ring_cnt, by CPU pair */
};

/* ---- loading ---------------------------------------------------------------------------- */

/* Places for deep stacks exist only where they are requested. */
static void set_frames(struct tapir_bpf *skel, uint32_t frames)
{
	bool is_deep = frames > TAPIR_FRAMES;

	if (frames)
		skel->rodata->frame_limit = frames;
	bpf_map__set_autocreate(skel->maps.deep_thread_stacks, is_deep);
	bpf_map__set_autocreate(skel->maps.deep_cpu_stacks, is_deep);
}

/* A hash holds few rows where all of them are large: of those without keys there is one. */
static void set_sums_rows(struct tapir_bpf *skel, const struct tapir_sums_opts *sums)
{
	size_t cpus = (size_t)(libbpf_num_possible_cpus() > 0 ? libbpf_num_possible_cpus() : 1);
	size_t key_bytes = TAPIR_SUMS_KEY_BYTES(sums->key_cnt);
	size_t row_bytes = TAPIR_SUMS_ROW_BYTES(sums->column_cnt);
	size_t of_row = ELEMENT_BYTES + key_bytes + cpus * row_bytes;
	size_t of_step = ELEMENT_BYTES + key_bytes + cpus * sizeof(uint64_t);
	/* A row has several steps. */
	size_t of_text = ELEMENT_BYTES + sizeof(struct tapir_sums_text) + sizeof(uint64_t);
	size_t of_stack = ELEMENT_BYTES + 2 * sizeof(uint64_t);
	size_t for_rows = sums->has_steps ? sums->table_bytes / 4 : sums->table_bytes;
	size_t for_steps = sums->table_bytes - for_rows;

	bpf_map__set_key_size(skel->maps.sums_rows, (uint32_t)key_bytes);
	bpf_map__set_value_size(skel->maps.sums_rows, (uint32_t)row_bytes);
	bpf_map__set_max_entries(skel->maps.sums_rows, (uint32_t)(for_rows / of_row) + 1);
	bpf_map__set_key_size(skel->maps.sums_row_steps, (uint32_t)key_bytes);
	bpf_map__set_max_entries(skel->maps.sums_row_steps, (uint32_t)(for_steps / of_step) + 1);
	bpf_map__set_value_size(skel->maps.sums_row, (uint32_t)row_bytes);
	bpf_map__set_value_size(skel->maps.sums_zeros, (uint32_t)row_bytes);
	if (sums->key_cnt) {
		bpf_map__set_max_entries(skel->maps.sums_texts,
					 (uint32_t)(sums->table_bytes / 4 / of_text) + 1);
		bpf_map__set_max_entries(skel->maps.sums_stacks,
					 (uint32_t)(sums->table_bytes / 8 / of_stack) + 1);
		return;
	}
	bpf_map__set_max_entries(skel->maps.sums_steps, sums->column_cnt + 1);
	bpf_map__set_value_size(skel->maps.sums_steps, TAPIR_STEP_CNT * sizeof(uint64_t));
}

#define PAIR_BEGINS (1u << 16) /* intervals that are open; of others both events are recorded */

/* All these maps are used by programs that are always there: they are small where nothing is asked.
 */
static void set_questions(struct tapir_bpf *skel, const struct tapir_programs_opts *opts)
{
	uint32_t cap = opts->with_questions ? opts->site_cap + 1 : 1;

	skel->rodata->has_questions = opts->with_questions;
	bpf_map__set_max_entries(skel->maps.questions, cap);
	bpf_map__set_max_entries(skel->maps.rejected, cap);
	if (!opts->with_questions || !opts->sums.is_on)
		return;
	skel->rodata->has_sums = 1;
	skel->rodata->sums_column_cnt = opts->sums.column_cnt;
	skel->rodata->sums_key_cnt = opts->sums.key_cnt;
	skel->rodata->sums_hits_by_steps = tapir_sums_opts__count_by_steps(&opts->sums);
	set_sums_rows(skel, &opts->sums);
	skel->rodata->has_pairs = opts->sums.has_pairs;
	if (!opts->sums.has_pairs)
		return;
	/*
	 * At the end of an interval its begin can no longer be recorded: there must be memory
	 * for the steps, and to take it takes 4 ms per MB.
	 */
	if (opts->sums.has_steps && opts->sums.key_cnt) {
		bpf_map__set_map_flags(skel->maps.sums_row_steps, 0);
		bpf_map__set_max_entries(skel->maps.sums_row_steps,
					 bpf_map__max_entries(skel->maps.sums_row_steps) / 2 + 1);
	}
	bpf_map__set_max_entries(skel->maps.pair_begins, PAIR_BEGINS);
}

static void set_machine(struct tapir_bpf *skel, const struct tapir_programs_opts *opts)
{
	bool is_any = opts->machine_cap;

	skel->rodata->machine_stacks = opts->with_machine_stacks;
	bpf_program__set_autoload(skel->progs.tapir_tracepoint, is_any && opts->with_tracepoints);
	bpf_program__set_autoload(skel->progs.tapir_function, is_any && opts->with_functions);
	bpf_program__set_autoload(skel->progs.tapir_counter, is_any && opts->with_counters);
	bpf_program__set_autoload(skel->progs.tapir_call_begins, is_any && opts->with_calls);
	bpf_program__set_autoload(skel->progs.tapir_call_ends, is_any && opts->with_calls);
	bpf_map__set_autocreate(skel->maps.machine_sites, is_any);
	bpf_map__set_autocreate(skel->maps.machine_scratches, is_any);
	bpf_map__set_autocreate(skel->maps.called_sites, is_any);
	bpf_map__set_autocreate(skel->maps.calls, is_any);
	if (is_any)
		bpf_map__set_max_entries(skel->maps.machine_sites, opts->machine_cap + 1);
}

/* The device of files that have no inode of their own; 0: not known. */
static uint32_t anonymous_dev(void)
{
	tapir_autofd int fd = eventfd(0, EFD_CLOEXEC);
	struct stat status;

	return fd < 0 || fstat(fd, &status)
		       ? 0
		       : (uint32_t)(major(status.st_dev) << 20 | minor(status.st_dev));
}

static void set_call_files(struct tapir_bpf *skel, uint32_t cap)
{
	struct bpf_map *const maps[] = {skel->maps.call_files_0, skel->maps.call_files_1,
					skel->maps.call_file_names};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		bpf_map__set_autocreate(maps[i], cap);
		if (cap)
			bpf_map__set_max_entries(maps[i], cap);
	}
	bpf_map__set_autocreate(skel->maps.call_file_scratches, cap);
	skel->rodata->call_files = cap;
	if (cap && getrandom((void *)&skel->rodata->call_path_seed, sizeof(uint64_t), 0) < 0)
		tapir_debug("no random number: paths are hashed without one");
	skel->rodata->anonymous_dev = cap ? anonymous_dev() : 0;
}

static void set_call_counts(struct tapir_bpf *skel, const struct tapir_call_choice *choice)
{
	bpf_program__set_autoload(skel->progs.tapir_calls_open, choice);
	set_call_files(skel, choice ? choice->file_cap : 0);
	if (!choice)
		return;
	bpf_map__set_max_entries(skel->maps.call_counts, choice->key_cap);
	memcpy((void *)skel->rodata->call_flags, choice->flags, sizeof(choice->flags));
	skel->rodata->long_call_ns = choice->long_ns;
	skel->rodata->call_stacks = choice->with_stacks;
}

/* Switches are captured one by one, or by others that sum them. */
static void choose_switches(struct tapir_bpf *skel, const struct tapir_programs_opts *opts)
{
	bool is_any = opts->families[TAPIR_FAMILY_SWITCH];
	bool sums = is_any && opts->wait_sum_cap, is_each = is_any && !sums;
	const struct {
		struct bpf_program *program;
		bool is_wanted;
	} programs[] = {
		{skel->progs.tapir_waking, is_each},  {skel->progs.tapir_wake_new, is_each},
		{skel->progs.tapir_switch, is_each},  {skel->progs.tapir_sum_wake, sums},
		{skel->progs.tapir_sum_switch, sums}, {skel->progs.tapir_waited, sums},
	};
	struct bpf_map *const maps[] = {skel->maps.wait_sums,	skel->maps.wait_scratches,
					skel->maps.wait_bell_0, skel->maps.wait_bell_1,
					skel->maps.wait_bell_2, skel->maps.wait_bell_3};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		bpf_program__set_autoload(programs[i].program, programs[i].is_wanted);
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		bpf_map__set_autocreate(maps[i], sums);
	if (sums)
		bpf_map__set_max_entries(skel->maps.wait_sums, opts->wait_sum_cap);
}

static void set_native(struct tapir_bpf *skel, const struct tapir_programs_opts *opts)
{
	struct bpf_program *program = skel->progs.tapir_mem_call;

	bpf_program__set_autoload(program, opts->native);
	if (!opts->native)
		return;
	tapir_native__fill_draws((unsigned long long *)skel->rodata->native_draws,
				 opts->native->mean_bytes);
	skel->rodata->native_mean_bytes = opts->native->mean_bytes;
	skel->rodata->native_has_sessions = opts->use_sessions;
	if (opts->use_multi)
		bpf_program__set_expected_attach_type(program, opts->use_sessions
								       ? TAPIR_TRACE_UPROBE_SESSION
								       : TAPIR_TRACE_UPROBE_MULTI);
}

/* Programs, and maps that those alone use, of one kind of the kernel's work. */
static void set_kernel_kind(struct tapir_bpf *skel, bool is_wanted, const char *const *programs,
			    const char *const *maps)
{
	for (; *programs; programs++)
		bpf_program__set_autoload(bpf_object__find_program_by_name(skel->obj, *programs),
					  is_wanted);
	for (; *maps; maps++)
		bpf_map__set_autocreate(bpf_object__find_map_by_name(skel->obj, *maps), is_wanted);
}

static void set_kernel(struct tapir_bpf *skel, const struct tapir_programs_opts *opts)
{
	static const struct {
		uint32_t kind;
		const char *programs[16], *maps[4];
	} kinds[] = {
		{TAPIR_KERNEL_HAS_FAULTS,
		 {"tapir_fault", "tapir_fault_end", "tapir_fault_look"},
		 {"fault_threads", "fault_scratches", "fault_states"}},
		{TAPIR_KERNEL_HAS_IRQS,
		 {"tapir_irq_in", "tapir_irq_out", "tapir_soft_in", "tapir_soft_out",
		  "tapir_timer_in", "tapir_timer_out", "tapir_ipi_in", "tapir_ipi_out",
		  "tapir_call_in", "tapir_call_out", "tapir_call1_in", "tapir_call1_out",
		  "tapir_work_in", "tapir_work_out"},
		 {"irq_nests"}},
		{TAPIR_KERNEL_HAS_LOCKS,
		 {"tapir_lock_in", "tapir_lock_out"},
		 {"lock_sleepers", "lock_cpus"}},
	};
	bool is_any = opts->families[TAPIR_FAMILY_KERNEL];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		set_kernel_kind(skel, is_any && opts->kernel_kinds & kinds[i].kind,
				kinds[i].programs, kinds[i].maps);
	if (!is_any)
		return;
	bpf_map__set_max_entries(skel->maps.kernel_rows, opts->kernel_row_cap);
	skel->rodata->kernel_row_mask = opts->kernel_row_cap - 1;
}

/* NULL: the family has no more. */
static struct bpf_program *program_of(const struct tapir_bpf *skel,
				      const struct tapir_family *family, int idx)
{
	struct bpf_program *program;

	if (idx >= TAPIR_FAMILY_PROGRAMS || !family->programs[idx])
		return NULL;
	program = bpf_object__find_program_by_name(skel->obj, family->programs[idx]);
	assert(program);
	return program;
}

static void set_family(struct tapir_bpf *skel, const struct tapir_family *family, bool is_wanted)
{
	struct bpf_program *program;

	for (int i = 0; (program = program_of(skel, family, i)); i++)
		bpf_program__set_autoload(program, is_wanted);
	if (family->last_program)
		bpf_program__set_autoload(
			bpf_object__find_program_by_name(skel->obj, family->last_program),
			is_wanted);
	for (int i = 0; i < TAPIR_FAMILY_MAPS && family->maps[i]; i++)
		bpf_map__set_autocreate(bpf_object__find_map_by_name(skel->obj, family->maps[i]),
					is_wanted);
}

static void leave_out_processes(struct tapir_bpf *skel)
{
	struct bpf_program *const all[] = {
		skel->progs.tapir_usdt, skel->progs.tapir_fork, skel->progs.tapir_rename,
		skel->progs.tapir_exec, skel->progs.tapir_exit, skel->progs.tapir_file,
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		bpf_program__set_autoload(all[i], false);
}

/* libbpf reads *types_fd when it loads. NULL: it has to search all types of the kernel. */
static struct tapir_bpf *open_with_few_types(int *types_fd)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	struct tapir_bpf *skel;
	char path[32];

	*types_fd = memfd_create("kernel types", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", *types_fd);
	opts.btf_custom_path = path;
	skel = tapir_bpf__open_opts(&opts);
	if (!skel || !tapir_kernel_types__write(bpf_object__btf(skel->obj), *types_fd))
		return skel;
	tapir_bpf__destroy(skel);
	return NULL;
}

static int open_skel(struct tapir_programs *p, const struct tapir_programs_opts *opts,
		     int *types_fd)
{
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	libbpf_set_print(tapir_load__log);
	/*
	 * These programs cost most to verify. Deferring them saves time and is not needed: where it
	 * fails they are loaded with the others.
	 */
	if (!opts->no_processes)
		(void)tapir_deferred_program__new(TAPIR_DEFERRED_PROBES, &p->usdt);
	if (p->usdt && opts->probes_later && opts->probes_unlikely)
		tapir_deferred_program__on_demand(p->usdt);
	if (opts->families[TAPIR_FAMILY_SAMPLE])
		(void)tapir_deferred_program__new(TAPIR_DEFERRED_SAMPLES, &p->sample);
	/*
	 * libbpf otherwise reads all types of the kernel. It does that if the few that are used
	 * cannot be written.
	 */
	p->skel = open_with_few_types(types_fd);
	if (!p->skel)
		p->skel = tapir_bpf__open();
	if (!p->skel)
		return tapir_load__error(-errno);
	/* Row 0 is no site's: that of losses counts what belongs to no probe. */
	bpf_map__set_max_entries(p->skel->maps.sites, opts->site_cap + 1);
	bpf_map__set_max_entries(p->skel->maps.losses, opts->site_cap + 1);
	if (opts->process_cap)
		bpf_map__set_max_entries(p->skel->maps.tgids, opts->process_cap);
	set_frames(p->skel, opts->frames);
	set_machine(p->skel, opts);
	set_questions(p->skel, opts);
	set_call_counts(p->skel, opts->call_counts);
	set_native(p->skel, opts);
	for (int i = 0; i < TAPIR_FAMILY_CNT; i++)
		set_family(p->skel, &tapir_families[i], opts->families[i]);
	choose_switches(p->skel, opts);
	set_kernel(p->skel, opts);
	bpf_program__set_autoload(p->skel->progs.tapir_threads, opts->with_threads);
	bpf_program__set_autoload(p->skel->progs.tapir_uses, opts->with_uses);
	bpf_program__set_autoload(p->skel->progs.tapir_hold_exec, opts->with_holds);
	bpf_program__set_autoload(p->skel->progs.tapir_sys_exit, opts->with_holds);
	if (opts->no_processes)
		leave_out_processes(p->skel);
	if (opts->use_multi)
		bpf_program__set_expected_attach_type(p->skel->progs.tapir_usdt,
						      TAPIR_TRACE_UPROBE_MULTI);
	return 0;
}

static void *map_array(const struct bpf_map *map, size_t bytes, int prot)
{
	void *at = mmap(NULL, bytes, prot, MAP_SHARED, bpf_map__fd(map), 0);

	return at == MAP_FAILED ? NULL : at;
}

static int map_shared(struct tapir_programs *p)
{
	p->live = map_array(p->skel->maps.live, sizeof(*p->live), PROT_READ | PROT_WRITE);
	p->maybe_tgids = map_array(p->skel->maps.maybe_tgids, sizeof(*p->maybe_tgids),
				   PROT_READ | PROT_WRITE);
	p->losses_bytes = (p->site_cap + 1) * sizeof(*p->losses);
	p->losses = map_array(p->skel->maps.losses, p->losses_bytes, PROT_READ);
	p->holds = map_array(p->skel->maps.holds, sizeof(*p->holds), PROT_READ | PROT_WRITE);
	if (bpf_map__autocreate(p->skel->maps.kernel_rows)) {
		p->kernel_row_cnt = bpf_map__max_entries(p->skel->maps.kernel_rows);
		p->kernel_rows = map_array(p->skel->maps.kernel_rows,
					   p->kernel_row_cnt * sizeof(*p->kernel_rows),
					   PROT_READ | PROT_WRITE);
	}
	if (!p->live || !p->losses || !p->maybe_tgids || !p->holds ||
	    (p->kernel_row_cnt && !p->kernel_rows))
		return tapir_diag__fail(-ENOMEM, "cannot map the BPF counters: out of memory");
	return 0;
}

int tapir_programs__use_ring(struct tapir_programs *p, unsigned pair, int fd, int *old_fd)
{
	int err = tapir_bpf_ring__put(p->rings_fd, pair, fd);

	if (err)
		return err;
	*old_fd = p->ring_fds[pair];
	p->ring_fds[pair] = fd;
	return 0;
}

/*
 * libbpf tries what the kernel has, mistakes a lack of descriptors for a missing feature, and fails
 * with another error. Checks first that there is one for each map, program, ring and deferred
 * program, and some for what it tries.
 */
static int check_room(const struct tapir_programs *p)
{
	unsigned cnt = FDS_OF_LIBBPF + p->ring_cnt + !!p->usdt + !!p->sample;
	struct bpf_program *prog;
	const struct bpf_map *map;
	int err;

	bpf_object__for_each_map(map, p->skel->obj)
	{
		cnt += bpf_map__autocreate(map);
	}
	bpf_object__for_each_program(prog, p->skel->obj)
	{
		cnt += bpf_program__autoload(prog);
	}
	err = tapir_file__check_room(cnt);
	return err ? tapir_diag__fail(err,
				      "cannot load BPF programs: %u file descriptors are required: "
				      "%s",
				      cnt, tapir_errno__text(err))
		   : 0;
}

/* The rings are made while the verifier checks the programs. */
static int load_skel(struct tapir_programs *p, const struct tapir_programs_opts *opts)
{
	struct tapir_bpf_ring_maker maker = {
		.fds = p->ring_fds, .cnt = p->ring_cnt, .bytes = opts->ring_bytes};
	int err = check_room(p), rings_err;

	if (err)
		return err;
	p->rings_fd = tapir_bpf_ring_maker__start(&maker);
	if (p->rings_fd < 0)
		return tapir_load__error(p->rings_fd);
	err = bpf_map__reuse_fd(p->skel->maps.rings, p->rings_fd);
	if (!err) {
		err = tapir_bpf__load(p->skel);
		if (err)
			tapir_load__error(err);
	}
	rings_err = tapir_bpf_ring_maker__finish(&maker);
	return err ? err : rings_err;
}

/* No thread of a load that failed continues: free waits for it. */
static int end_loading(struct tapir_programs *p, bool may_go_on, int err)
{
	struct tapir_deferred_program *const all[] = {p->usdt, p->sample};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int fd = 0;

		if (!all[i])
			continue;
		tapir_deferred_program__end_capture(all[i]);
		if (!err && !may_go_on)
			fd = tapir_deferred_program__fd(all[i]);
		err = fd < 0 ? fd : err;
	}
	return err;
}

/* Many kernels are without this one; libbpf names a type of the others that is not there. */
static int check_net(const struct tapir_programs_opts *opts)
{
	if (!opts->families[TAPIR_FAMILY_EXCHANGE] ||
	    tapir_features__can_capture(TAPIR_FAMILY_EXCHANGE))
		return 0;
	return tapir_diag__fail(-EOPNOTSUPP, "cannot record requests on connections: "
					     "--net requires Linux 6.3 or newer");
}

static int load_programs(struct tapir_programs *p, const struct tapir_programs_opts *opts)
{
	tapir_autofd int types_fd = -1;
	int err = check_net(opts);

	if (!err)
		err = open_skel(p, opts, &types_fd);
	if (!err)
		err = load_skel(p, opts);
	err = end_loading(p, opts->probes_later, err);
	if (!err)
		err = map_shared(p);
	if (err)
		return err;
	p->live->epoch = 1;
	p->live->wake_bytes = opts->ring_bytes / 8;
	p->live->ask_bytes = opts->ring_bytes / 256;
	return tapir_programs__set_filter(p, &opts->filter);
}

int tapir_programs__load(const struct tapir_programs_opts *opts, struct tapir_programs **out)
{
	int cpu_cnt = libbpf_num_possible_cpus();
	unsigned ring_cnt = cpu_cnt > 0 ? ((unsigned)cpu_cnt + 1) / 2 : 1;
	struct tapir_programs *p = calloc(1, sizeof(*p) + ring_cnt * sizeof(p->ring_fds[0]));
	int err;

	if (!p)
		return -ENOMEM;
	p->ring_cnt = ring_cnt;
	p->site_cap = opts->site_cap;
	p->sums = opts->sums;
	p->rings_fd = -1;
	for (unsigned pair = 0; pair < ring_cnt; pair++)
		p->ring_fds[pair] = -1;
	err = load_programs(p, opts);
	if (err) {
		tapir_programs__free(p);
		return err;
	}
	*out = p;
	return 0;
}

void tapir_programs__free(struct tapir_programs *p)
{
	if (!p)
		return;
	if (p->live)
		munmap((void *)p->live, sizeof(*p->live));
	if (p->maybe_tgids)
		munmap((void *)p->maybe_tgids, sizeof(*p->maybe_tgids));
	if (p->holds)
		munmap(p->holds, sizeof(*p->holds));
	if (p->kernel_rows)
		munmap(p->kernel_rows, p->kernel_row_cnt * sizeof(*p->kernel_rows));
	if (p->losses)
		munmap((void *)p->losses, p->losses_bytes);
	for (unsigned pair = 0; pair < p->ring_cnt; pair++)
		tapir_guard__fd(&p->ring_fds[pair]);
	tapir_guard__fd(&p->rings_fd);
	tapir_deferred_program__free(p->usdt);
	tapir_deferred_program__free(p->sample);
	for (size_t i = 0; i < p->links.cnt; i++)
		bpf_link__destroy(p->links.data[i]);
	tapir_vec__fini(&p->links);
	tapir_bpf__destroy(p->skel);
	free(p);
}

struct attachment {
	struct bpf_program *prog;
	struct bpf_link **link;
	bool wanted;
};

static int attach(const struct attachment *all, size_t cnt, const char *label)
{
	for (size_t i = 0; i < cnt; i++) {
		if (!all[i].wanted)
			continue;
		*all[i].link = bpf_program__attach(all[i].prog);
		if (!*all[i].link)
			return tapir_diag__fail(-errno, "cannot attach %s (program %s): %s", label,
						bpf_program__name(all[i].prog),
						tapir_errno__text(errno));
	}
	return 0;
}

static int iterate(const struct bpf_program *program, const struct bpf_iter_attach_opts *opts)
{
	struct bpf_link *link;
	int fd;

	if (!bpf_program__autoload(program))
		return -EOPNOTSUPP;
	link = bpf_program__attach_iter(program, opts);
	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	fd = fd < 0 ? -errno : fd;
	bpf_link__destroy(link);
	return fd;
}

int tapir_programs__iterate_threads(struct tapir_programs *p, uint32_t tgid)
{
	union bpf_iter_link_info info = {.task.pid = tgid};
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));

	return p->skel ? iterate(p->skel->progs.tapir_threads, &opts) : -EOPNOTSUPP;
}

int tapir_programs__iterate_uses(struct tapir_programs *p)
{
	return p->skel ? iterate(p->skel->progs.tapir_uses, NULL) : -EOPNOTSUPP;
}

int tapir_programs__iterate_open_calls(struct tapir_programs *p)
{
	return p->skel ? iterate(p->skel->progs.tapir_calls_open, NULL) : -EOPNOTSUPP;
}

int tapir_programs__call_counts_fd(const struct tapir_programs *p)
{
	return p->skel && bpf_program__autoload(p->skel->progs.tapir_calls_open)
		       ? bpf_map__fd(p->skel->maps.call_counts)
		       : -1;
}

bool tapir_programs__call_files(const struct tapir_programs *p, struct tapir_call_file_tables *out)
{
	if (!p->skel || !bpf_map__autocreate(p->skel->maps.call_file_names) || !p->live)
		return false;
	*out = (struct tapir_call_file_tables){
		.counts_fds = {bpf_map__fd(p->skel->maps.call_files_0),
			       bpf_map__fd(p->skel->maps.call_files_1)},
		.names_fd = bpf_map__fd(p->skel->maps.call_file_names),
		.turn = &p->live->call_file_turn,
		.anonymous_dev = p->skel->rodata->anonymous_dev};
	return true;
}

int tapir_programs__wait_sums_fd(const struct tapir_programs *p)
{
	return p->skel && bpf_program__autoload(p->skel->progs.tapir_sum_switch)
		       ? bpf_map__fd(p->skel->maps.wait_sums)
		       : -1;
}

struct tapir_kernel_row *tapir_programs__kernel_rows(const struct tapir_programs *p, size_t *cnt)
{
	*cnt = p->kernel_row_cnt;
	return p->kernel_rows;
}

/* The iterator writes into the rings, and nothing is read from it. */
int tapir_programs__run_last(struct tapir_programs *p, enum tapir_family_id family)
{
	const struct tapir_family *f = &tapir_families[family];
	tapir_autofd int fd = -1;
	ssize_t n = 1;
	char nothing[64];

	struct bpf_program *program;

	program = p->skel && f->last_program
			  ? bpf_object__find_program_by_name(p->skel->obj, f->last_program)
			  : NULL;
	if (!program || !bpf_program__autoload(program))
		return 0;
	fd = iterate(program, NULL);
	while (fd >= 0 && n > 0)
		n = read(fd, nothing, sizeof(nothing));
	return fd < 0 ? fd : n < 0 ? -errno : 0;
}

int tapir_programs__new_without(struct tapir_programs **out)
{
	struct tapir_programs *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->rings_fd = -1;
	*out = p;
	return 0;
}

bool tapir_programs__are_there(const struct tapir_programs *p)
{
	return p->skel != NULL;
}

static int attach_process(struct tapir_programs *p, bool hold)
{
	const struct attachment all[] = {
		{p->skel->progs.tapir_fork, &p->skel->links.tapir_fork, true},
		{p->skel->progs.tapir_rename, &p->skel->links.tapir_rename, true},
		{p->skel->progs.tapir_exec, &p->skel->links.tapir_exec, true},
		{p->skel->progs.tapir_exit, &p->skel->links.tapir_exit, true},
		{p->skel->progs.tapir_hold_exec, &p->skel->links.tapir_hold_exec, hold},
		{p->skel->progs.tapir_sys_exit, &p->skel->links.tapir_sys_exit, hold},
	};

	return attach(all, sizeof(all) / sizeof(all[0]), "processes");
}

int tapir_programs__attach_process(struct tapir_programs *p, bool hold)
{
	return p->skel && bpf_program__autoload(p->skel->progs.tapir_fork) ? attach_process(p, hold)
									   : 0;
}

int tapir_programs__attach_family(struct tapir_programs *p, enum tapir_family_id family)
{
	struct bpf_program *program;

	for (int i = 0; (program = program_of(p->skel, &tapir_families[family], i)); i++) {
		struct bpf_link *link = NULL;
		const struct attachment one = {program, &link, true};
		int err;

		if (!bpf_program__autoload(program))
			continue;
		err = attach(&one, 1, tapir_families[family].things);

		if (err)
			return err;
		if (!tapir_vec__push(&p->links, link)) {
			bpf_link__destroy(link);
			return -ENOMEM;
		}
	}
	return 0;
}

int tapir_programs__attach_calls(struct tapir_programs *p)
{
	const struct attachment all[] = {
		{p->skel->progs.tapir_call_ends, &p->skel->links.tapir_call_ends, true},
		{p->skel->progs.tapir_call_begins, &p->skel->links.tapir_call_begins, true},
	};

	return attach(all, sizeof(all) / sizeof(all[0]), "system calls");
}

/* fd: of an event, which is the link's if there is one, else closed; negative: errno is set. */
static struct bpf_link *attach_event(const struct bpf_program *program, int fd, uint32_t idx)
{
	LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = idx);
	struct bpf_link *link;

	if (fd < 0)
		return NULL;
	link = bpf_program__attach_perf_event_opts(program, fd, &opts);
	if (!link)
		close(fd);
	return link;
}

/* libbpf would look for the tracepoint's number in a tracefs that is mounted. */
static struct bpf_link *attach_tracepoint(const struct bpf_program *program, uint64_t id,
					  uint32_t idx)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = id};

	return attach_event(
		program, (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC),
		idx);
}

static struct bpf_link *attach_function(const struct bpf_program *program,
					const struct tapir_tracepoint *t, uint32_t idx)
{
	int fd = tapir_link__open_kernel_function(t->name,
						  !strcmp(t->category, TAPIR_KRETPROBE_WORD));

	if (fd < 0)
		errno = -fd;
	return attach_event(program, fd, idx);
}

static int fail_function(int err, const struct tapir_tracepoint *t)
{
	const char *why = err == -ENODEV   ? "this kernel has no kprobes (CONFIG_KPROBE_EVENTS)"
			  : err == -ENOENT ? "this kernel has no such function, or inlines it"
			  : err == -EINVAL || err == -EADDRNOTAVAIL
				  ? "the kernel permits no probe there"
				  : tapir_errno__text(err);

	return tapir_diag__fail(err == -ENODEV ? -EOPNOTSUPP : err, "cannot attach to %s:%s: %s",
				t->category, t->name, why);
}

int tapir_programs__attach_tracepoint(struct tapir_programs *p, const struct tapir_tracepoint *t,
				      uint32_t idx)
{
	struct bpf_link *link;
	uint64_t id = 0;
	int err = t->is_function ? 0 : tapir_tracepoint__id(t, &id);

	if (err)
		return err;
	link = t->is_function ? attach_function(p->skel->progs.tapir_function, t, idx)
			      : attach_tracepoint(p->skel->progs.tapir_tracepoint, id, idx);
	if (!link && t->is_function)
		return fail_function(-errno, t);
	if (!link)
		return tapir_diag__fail(-errno, "cannot attach to tracepoint %s:%s: %s",
					t->category, t->name, tapir_errno__text(errno));
	if (tapir_vec__push(&p->links, link))
		return 0;
	bpf_link__destroy(link);
	return -ENOMEM;
}

/* ---- switches and maps ------------------------------------------------------------------ */

int tapir_programs__usdt_fd(struct tapir_programs *p)
{
	return p->usdt ? tapir_deferred_program__fd(p->usdt)
		       : bpf_program__fd(p->skel->progs.tapir_usdt);
}

int tapir_programs__sample_fd(struct tapir_programs *p)
{
	return p->sample ? tapir_deferred_program__fd(p->sample)
			 : bpf_program__fd(p->skel->progs.tapir_sample);
}

int tapir_programs__counter_fd(const struct tapir_programs *p)
{
	return bpf_program__fd(p->skel->progs.tapir_counter);
}

uint32_t tapir_programs__site_cnt(const struct tapir_programs *p)
{
	return atomic_load(&p->site_cnt);
}

uint32_t tapir_programs__site_cap(const struct tapir_programs *p)
{
	return p->site_cap;
}

void tapir_programs__enable(struct tapir_programs *p, bool on)
{
	if (p->live)
		p->live->enabled = on;
}

void tapir_programs__next_epoch(struct tapir_programs *p)
{
	if (p->live)
		p->live->epoch++;
}

void tapir_programs__set_ring_session(struct tapir_programs *p, uint64_t session_id)
{
	if (p->live)
		p->live->ring_session = session_id;
}

static int update(const struct bpf_map *map, const void *key, const void *value, const char *label)
{
	if (!bpf_map_update_elem(bpf_map__fd(map), key, value, BPF_ANY))
		return 0;
	return tapir_diag__fail(-errno, "cannot add to the map of %s: %s", label,
				tapir_errno__text(errno));
}

int tapir_programs__set_filter(struct tapir_programs *p, const struct tapir_filter *filter)
{
	uint32_t zero = 0;

	return update(p->skel->maps.filter, &zero, filter, "filtered processes");
}

int tapir_programs__set_site(struct tapir_programs *p, uint32_t idx, const struct tapir_site *site)
{
	if (idx >= p->site_cnt)
		atomic_store(&p->site_cnt, idx + 1);
	return update(p->skel->maps.sites, &idx, site, "sites");
}

int tapir_programs__set_machine_site(struct tapir_programs *p, uint32_t idx,
				     const struct tapir_machine_site *site)
{
	if (idx >= p->site_cnt)
		atomic_store(&p->site_cnt, idx + 1);
	return update(p->skel->maps.machine_sites, &idx, site, "sources of the machine");
}

static void add_slot(struct tapir_hit_question *q, uint32_t slot)
{
	if (slot < TAPIR_MAX_ARGS && !memchr(q->slots, (int)slot, q->slot_cnt))
		q->slots[q->slot_cnt++] = (uint8_t)slot;
}

/* Spares a program the arguments that the question is not about, and its storage. */
static void simplify(const struct tapir_sums_opts *sums, struct tapir_hit_question *q)
{
	q->is_plain = q->adds_up && !q->term_cnt && !q->role && sums->column_cnt <= 1 &&
		      sums->key_cnt <= 1 && (!sums->key_cnt || q->keys[0].source == TAPIR_HIT_SLOT);
	q->slot_cnt = 0;
	for (uint32_t i = 0; i < q->term_cnt; i++)
		add_slot(q, q->terms[i].which);
	for (uint32_t i = 0; q->adds_up && i < sums->column_cnt; i++)
		add_slot(q, q->values[i].slot);
	for (uint32_t i = 0; q->adds_up && i < sums->key_cnt; i++)
		if (q->keys[i].source == TAPIR_HIT_SLOT || q->keys[i].source == TAPIR_HIT_TEXT)
			add_slot(q, q->keys[i].slot);
}

int tapir_programs__set_question(struct tapir_programs *p, uint32_t probe_id,
				 const struct tapir_hit_question *question)
{
	struct tapir_hit_question whole = *question;
	int err;

	if (!p->skel)
		return 0;
	simplify(&p->sums, &whole);
	whole.is_there = 0;
	err = update(p->skel->maps.questions, &probe_id, &whole, "questions");
	whole.is_there = 1;
	return err ? err : update(p->skel->maps.questions, &probe_id, &whole, "questions");
}

/* A number that each CPU counts. */
static uint64_t sum_of_cpus(const struct bpf_map *map, uint32_t key)
{
	int cpu_cnt = libbpf_num_possible_cpus();
	tapir_autofree uint64_t *cnts = cpu_cnt > 0 ? calloc((size_t)cpu_cnt, 8) : NULL;
	uint64_t sum = 0;

	if (!cnts || bpf_map_lookup_elem(bpf_map__fd(map), &key, cnts))
		return 0;
	for (int i = 0; i < cpu_cnt; i++)
		sum += cnts[i];
	return sum;
}

uint64_t tapir_programs__rejected(const struct tapir_programs *p, uint32_t probe_id)
{
	return p->skel ? sum_of_cpus(p->skel->maps.rejected, probe_id) : 0;
}

int tapir_programs__native_fd(const struct tapir_programs *p)
{
	return p->skel && bpf_program__autoload(p->skel->progs.tapir_mem_call)
		       ? bpf_program__fd(p->skel->progs.tapir_mem_call)
		       : -1;
}

uint64_t tapir_programs__native_hits(const struct tapir_programs *p)
{
	return tapir_programs__native_fd(p) < 0 ? 0 : sum_of_cpus(p->skel->maps.native_hits, 0);
}

struct tapir_sums_fds tapir_programs__sums_fds(const struct tapir_programs *p)
{
	if (!p->skel)
		return (struct tapir_sums_fds){-1, -1, -1, -1, -1, -1, {}};
	return (struct tapir_sums_fds){.row = bpf_map__fd(p->skel->maps.sums_row),
				       .steps = bpf_map__fd(p->skel->maps.sums_steps),
				       .rows = bpf_map__fd(p->skel->maps.sums_rows),
				       .row_steps = bpf_map__fd(p->skel->maps.sums_row_steps),
				       .texts = bpf_map__fd(p->skel->maps.sums_texts),
				       .state = bpf_map__fd(p->skel->maps.sums_state),
				       .opts = p->sums};
}

uint64_t tapir_programs__next_interval(struct tapir_programs *p)
{
	return p->live ? p->live->interval++ : 0;
}

int tapir_programs__set_call(struct tapir_programs *p, uint32_t nr, uint32_t idx)
{
	return update(p->skel->maps.called_sites, &nr, &idx, "system calls");
}

int tapir_programs__add_tgid(struct tapir_programs *p, uint32_t tgid)
{
	uint32_t named = TAPIR_TGID_NAMED;

	if (!p->skel)
		return 0;
	p->maybe_tgids->is[tgid & (TAPIR_MAYBE_TGIDS - 1)] = 1;
	return update(p->skel->maps.tgids, &tgid, &named, "processes");
}

void tapir_programs__del_tgid(struct tapir_programs *p, uint32_t tgid, uint64_t start_ns)
{
	uint32_t value;
	int fd;

	if (!p->skel)
		return;
	fd = bpf_map__fd(p->skel->maps.tgids);
	if (bpf_map_lookup_elem(fd, &tgid, &value) ||
	    (start_ns && value != TAPIR_TGID_NAMED && value != TAPIR_TGID_VALUE(start_ns)))
		return;
	bpf_map_delete_elem(fd, &tgid);
}

bool tapir_programs__otel_tls_location(const struct tapir_programs *p, uint32_t tgid,
				       struct tapir_otel_tls_location *out)
{
	return !bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.otel_tls_locations), &tgid, out);
}

int tapir_programs__set_otel_tls_location(struct tapir_programs *p, uint32_t tgid,
					  const struct tapir_otel_tls_location *location)
{
	int err = update(p->skel->maps.otel_tls_locations, &tgid, location, "trace contexts");

	if (!err)
		p->live->trace_publishers = 1;
	return err;
}

volatile uint32_t *tapir_programs__readers_idle(struct tapir_programs *p)
{
	return p->live ? &p->live->readers_idle : NULL;
}

struct tapir_holds *tapir_programs__holds(struct tapir_programs *p)
{
	return p->holds;
}

void tapir_programs__set_holder(struct tapir_programs *p, uint32_t tgid)
{
	if (p->live)
		p->live->holder_tgid = tgid;
}

int tapir_programs__file_key(struct tapir_programs *p, int fd, struct tapir_file_key *key)
{
	int prog_fd = p->skel ? bpf_program__fd(p->skel->progs.tapir_file) : -1;

	return prog_fd < 0 ? -ENODATA : tapir_link__file_key(prog_fd, fd, key);
}

int tapir_programs__set_known_file(struct tapir_programs *p, const struct tapir_file_key *key)
{
	uint64_t now = tapir_clock__now_ns();

	if (!p->skel ||
	    !bpf_map_update_elem(bpf_map__fd(p->skel->maps.known_files), key, &now, BPF_NOEXIST) ||
	    errno == EEXIST)
		return 0;
	return tapir_diag__fail(-errno, "cannot add to the map of known files: %s",
				tapir_errno__name(errno));
}

void tapir_programs__forget_file(struct tapir_programs *p, const struct tapir_file_key *key)
{
	if (p->skel)
		(void)bpf_map_delete_elem(bpf_map__fd(p->skel->maps.known_files), key);
}

struct tapir_unwind_fds tapir_programs__unwind_fds(const struct tapir_programs *p)
{
	if (!p->skel)
		return (struct tapir_unwind_fds){-1, -1, -1};
	return (struct tapir_unwind_fds){.tables = bpf_map__fd(p->skel->maps.unwind_tables),
					 .files = bpf_map__fd(p->skel->maps.unwind_files),
					 .spaces = bpf_map__fd(p->skel->maps.unwind_spaces)};
}

const uint64_t *tapir_programs__losses(const struct tapir_programs *p, uint32_t probe_id)
{
	static const struct tapir_losses none;

	return p->losses ? p->losses[probe_id].cnt : none.cnt;
}

/* The kernel begins anew behind a key that was deleted: each is counted once. */
uint64_t tapir_programs__unfinished(const struct tapir_programs *p)
{
	int fd = p->skel ? bpf_map__fd(p->skel->maps.io_requests) : -1;
	uint64_t until_ns = tapir_clock__now_ns() - 1000000000ull, cnt = 0, key = 0;
	struct tapir_io_request request;
	struct tapir_map seen = {};
	bool is_new;

	for (bool is_first = true;
	     fd >= 0 && !bpf_map_get_next_key(fd, is_first ? NULL : &key, &key); is_first = false)
		cnt += !bpf_map_lookup_elem(fd, &key, &request) && request.issue_ns <= until_ns &&
		       tapir_map__put(&seen, key, &is_new) && is_new;
	tapir_map__fini(&seen);
	return cnt;
}

static enum tapir_loss_cause miss_cause(const struct bpf_program *prog)
{
	const char *name = bpf_program__name(prog);

	for (int i = 0; i < TAPIR_FAMILY_CNT; i++)
		for (int k = 0; k < TAPIR_FAMILY_PROGRAMS && tapir_families[i].programs[k]; k++)
			if (!strcmp(tapir_families[i].programs[k], name))
				return tapir_families[i].skipped_cause;
	return tapir_families[TAPIR_FAMILY_EVENT].skipped_cause;
}

/* Negative as long as it is not loaded. */
static int fd_now(const struct tapir_programs *p, const struct bpf_program *prog)
{
	if (p->usdt && prog == p->skel->progs.tapir_usdt)
		return tapir_deferred_program__fd_now(p->usdt);
	if (p->sample && prog == p->skel->progs.tapir_sample)
		return tapir_deferred_program__fd_now(p->sample);
	return bpf_program__fd(prog);
}

uint64_t tapir_programs__misses(const struct tapir_programs *p, enum tapir_loss_cause cause)
{
	struct bpf_program *prog;
	uint64_t misses = 0;

	if (!p->skel)
		return 0;
	bpf_object__for_each_program(prog, p->skel->obj)
	{
		struct bpf_prog_info info = {};
		uint32_t len = sizeof(info);
		int fd = fd_now(p, prog);

		if (miss_cause(prog) == cause && !bpf_obj_get_info_by_fd(fd, &info, &len))
			misses += info.recursion_misses;
	}
	return misses;
}

unsigned tapir_programs__ring_cnt(const struct tapir_programs *p)
{
	return p->ring_cnt;
}

int tapir_programs__ring_fd(const struct tapir_programs *p, unsigned pair)
{
	return p->ring_fds[pair];
}

int tapir_programs__control_ring_fd(const struct tapir_programs *p)
{
	return bpf_map__fd(p->skel->maps.control_ring);
}
