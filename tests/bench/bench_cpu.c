// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What tapir's programs cost where they run beside everything else: a switch of another process,
 * one that is, a CPU sample with 28 frames.
 *
 * Switches: by the kernel's own measure of a program (BPF_ENABLE_STATS), less what it shows for
 * the program switched off, which is the measuring and an early return; and by what a hand-over
 * between two processes takes with the programs on and off. Samples: by what the same work takes
 * with the sampler on and off. On and off take turns; medians. One JSON line.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/sampler.h"
#include "bpf/control.h"
#include "tapir/otel_context.h"
#include "tapir.skel.h"

#define RINGS	      64
#define RING_BYTES    (16u << 20)
#define SWITCHES      50000
#define TURN_ROUNDS   15
#define FRAMES	      28
#define OUTER_FRAMES  4 /* below work: main and libc's */
#define SAMPLE_HZ     999
#define FAST_HZ	      4999
#define SAMPLE_ROUNDS 51
#define SAMPLE_TURNS  20
#define WORK_TURNS    20000000

struct run {
	uint64_t cnt, ns;
};

static int ignore_log(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct run stats_of(const struct bpf_program *prog)
{
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
		die("bpf_obj_get_info_by_fd");
	return (struct run){info.run_cnt, info.run_time_ns};
}

static double ns_since(const struct bpf_program *prog, struct run before)
{
	struct run now = stats_of(prog);

	return now.cnt > before.cnt ? (double)(now.ns - before.ns) / (double)(now.cnt - before.cnt)
				    : 0;
}

static struct tapir_bpf *load(void)
{
	struct tapir_bpf *skel = tapir_bpf__open();
	struct tapir_filter filter = {.use_tgids = 1, .self_tgid = (uint32_t)getppid()};
	struct bpf_program *prog;
	uint32_t zero = 0;

	if (!skel)
		die("open");
	bpf_object__for_each_program(prog, skel->obj) bpf_program__set_autoload(
		prog, prog == skel->progs.tapir_switch || prog == skel->progs.tapir_waking ||
			      prog == skel->progs.tapir_sample);
	bpf_map__set_max_entries(skel->maps.rings, RINGS);
	if (tapir_bpf__load(skel))
		die("load");
	bpf_map_update_elem(bpf_map__fd(skel->maps.filter), &zero, &filter, BPF_ANY);
	return skel;
}

static void enable(struct tapir_bpf *skel, bool on)
{
	struct tapir_live live = {.epoch = 1,
				  .enabled = on,
				  .trace_publishers = 1,
				  .wake_bytes = UINT64_MAX,
				  .ask_bytes = UINT64_MAX};
	uint32_t zero = 0;

	bpf_map_update_elem(bpf_map__fd(skel->maps.live), &zero, &live, BPF_ANY);
}

static void make_rings(struct tapir_bpf *skel)
{
	for (uint32_t pair = 0; pair < (uint32_t)(sysconf(_SC_NPROCESSORS_CONF) + 1) / 2; pair++) {
		int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "bench", 0, 0, RING_BYTES, NULL);

		if (fd < 0 ||
		    bpf_map_update_elem(bpf_map__fd(skel->maps.rings), &pair, &fd, BPF_ANY))
			die("ring");
		close(fd);
	}
}

/* Two processes on one CPU hand a byte back and forth: each turn is two switches. */
static void switch_often(void)
{
	int there[2], back[2];
	cpu_set_t one;
	char byte = 0;
	pid_t child;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (pipe(there) || pipe(back) || sched_setaffinity(0, sizeof(one), &one))
		die("pipe");
	child = fork();
	if (child < 0)
		die("fork");
	for (int i = 0; i < SWITCHES / 2; i++) {
		int *from = child ? back : there, *to = child ? there : back;

		if (!child && read(from[0], &byte, 1) != 1)
			_exit(1);
		if (write(to[1], &byte, 1) != 1 || (child && read(from[0], &byte, 1) != 1))
			die("hand over");
	}
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
}

#define DEEP __attribute__((noipa, optimize("no-omit-frame-pointer", "no-optimize-sibling-calls")))

/* From a stack of that many frames. */
static DEEP int switch_deep(int depth)
{
	int of = depth;

	if (depth > 1)
		return of + switch_deep(depth - 1);
	switch_often();
	return of;
}

static void list_us(struct tapir_bpf *skel)
{
	static struct tapir_maybe_tgids maybe;
	uint32_t tgid = (uint32_t)getpid(), one = 1, zero = 0;

	maybe.is[tgid & (TAPIR_MAYBE_TGIDS - 1)] = 1;
	bpf_map_update_elem(bpf_map__fd(skel->maps.maybe_tgids), &zero, &maybe, BPF_ANY);
	if (bpf_map_update_elem(bpf_map__fd(skel->maps.tgids), &tgid, &one, BPF_ANY))
		die("tgids");
}

static __thread struct tapir_otel_thread trace_record = {.trace_id = {1}, .valid = 1};
static __thread struct tapir_otel_thread *trace_pointer;

/* Our thread publishes a trace context, as a program with the variable in itself does. */
static void publish_trace(struct tapir_bpf *skel)
{
	uint32_t tgid = (uint32_t)getpid();
	struct tapir_otel_tls_location location = {
		.kind = TAPIR_TRACE_STATIC,
		.value = (char *)&trace_pointer - (char *)__builtin_thread_pointer(),
	};

	trace_pointer = &trace_record;
	if (bpf_map_update_elem(bpf_map__fd(skel->maps.otel_tls_locations), &tgid, &location,
				BPF_ANY))
		die("trace_places");
}

static void unpublish_trace(struct tapir_bpf *skel)
{
	uint32_t tgid = (uint32_t)getpid();

	bpf_map_delete_elem(bpf_map__fd(skel->maps.otel_tls_locations), &tgid);
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, size_t cnt)
{
	qsort(values, cnt, sizeof(*values), by_value);
	return values[cnt / 2];
}

/* ---- switches ---------------------------------------------------------------------------- */

struct switch_costs {
	double off_ns, other_ns, wake_ns, own_ns; /* of the program, measuring included */
	double trace_ns;  /* what our thread's trace ids add to own_ns, by turns */
	double stacks_ns; /* with both processes ours: each switch has both stacks */
	double turn_ns;	  /* a switch and a wake-up of others, by the clock */
};

static double time_switches(void)
{
	uint64_t began = now_ns(CLOCK_MONOTONIC);

	switch_often();
	return (double)(now_ns(CLOCK_MONOTONIC) - began) / SWITCHES;
}

static void attach(struct tapir_bpf *skel)
{
	skel->links.tapir_switch = bpf_program__attach(skel->progs.tapir_switch);
	skel->links.tapir_waking = bpf_program__attach(skel->progs.tapir_waking);
	if (!skel->links.tapir_switch || !skel->links.tapir_waking)
		die("attach");
}

static void detach(struct tapir_bpf *skel)
{
	bpf_link__destroy(skel->links.tapir_switch);
	bpf_link__destroy(skel->links.tapir_waking);
	skel->links.tapir_switch = skel->links.tapir_waking = NULL;
}

static double time_turns(struct tapir_bpf *skel)
{
	double differences[TURN_ROUNDS];

	for (int i = 0; i < TURN_ROUNDS; i++) {
		double without = time_switches();

		attach(skel);
		differences[i] = time_switches() - without;
		detach(skel);
	}
	return median(differences, TURN_ROUNDS);
}

static double time_own(struct tapir_bpf *skel)
{
	struct run before = stats_of(skel->progs.tapir_switch);

	switch_often();
	return ns_since(skel->progs.tapir_switch, before);
}

/* Half of the switches are from our thread to another, and read its ids. */
static double time_trace(struct tapir_bpf *skel)
{
	double differences[TURN_ROUNDS];

	for (int i = 0; i < TURN_ROUNDS; i++) {
		double without = time_own(skel);

		publish_trace(skel);
		differences[i] = 2 * (time_own(skel) - without);
		unpublish_trace(skel);
	}
	return median(differences, TURN_ROUNDS);
}

static struct switch_costs measure_switches(struct tapir_bpf *skel)
{
	const struct bpf_program *prog = skel->progs.tapir_switch;
	struct switch_costs costs;
	const struct tapir_filter all = {.self_tgid = (uint32_t)getppid()};
	struct run before, wakes;
	uint32_t zero = 0;
	int stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (stats_fd < 0)
		die("BPF_ENABLE_STATS");
	attach(skel);
	before = stats_of(prog);
	switch_often();
	costs.off_ns = ns_since(prog, before);
	enable(skel, true);
	before = stats_of(prog);
	wakes = stats_of(skel->progs.tapir_waking);
	switch_often();
	costs.other_ns = ns_since(prog, before);
	costs.wake_ns = ns_since(skel->progs.tapir_waking, wakes);
	detach(skel);
	close(stats_fd);
	costs.turn_ns = time_turns(skel);
	stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	attach(skel);
	list_us(skel);
	costs.own_ns = time_own(skel);
	costs.trace_ns = time_trace(skel);
	bpf_map_update_elem(bpf_map__fd(skel->maps.filter), &zero, &all, BPF_ANY);
	before = stats_of(prog);
	(void)switch_deep(FRAMES - OUTER_FRAMES);
	costs.stacks_ns = ns_since(prog, before);
	detach(skel);
	close(stats_fd);
	return costs;
}

/* ---- samples ----------------------------------------------------------------------------- */

static volatile uint64_t sink;

/* The same work each time, FRAMES deep; CPU time it took. */
static DEEP uint64_t work(int depth)
{
	uint64_t began, took;

	if (depth > 1) {
		took = work(depth - 1);
		sink++; /* no tail call */
		return took;
	}
	began = now_ns(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < WORK_TURNS; i++)
		sink += (uint64_t)i;
	return now_ns(CLOCK_THREAD_CPUTIME_ID) - began;
}

enum sampling { NO_SAMPLES, EMPTY_SAMPLES, FULL_SAMPLES, SAMPLING_CNT };

static double work_once(struct tapir_bpf *skel, enum sampling sampling)
{
	const struct tapir_sampler_plan fast = {.event = tapir_sample_events, .hz = FAST_HZ};
	struct tapir_sampler *sampler = NULL;
	uint64_t took;

	enable(skel, sampling == FULL_SAMPLES);
	if (sampling != NO_SAMPLES &&
	    tapir_sampler__start(bpf_program__fd(skel->progs.tapir_sample), &fast, &sampler))
		die("sampler");
	work(FRAMES - OUTER_FRAMES); /* warm again after the calls above */
	took = work(FRAMES - OUTER_FRAMES);
	tapir_sampler__stop(sampler);
	return (double)took;
}

/* What a sample costs the thread: by a program that returns at once, and by ours. */
static void measure_samples(struct tapir_bpf *skel, double *empty_ns, double *full_ns)
{
	static double costs[SAMPLING_CNT][SAMPLE_ROUNDS];

	for (int i = 0; i < SAMPLE_ROUNDS; i++) {
		double took[SAMPLING_CNT];

		for (int j = 0; j < SAMPLING_CNT; j++) {
			int turn = (i + j) % SAMPLING_CNT;

			took[turn] = work_once(skel, (enum sampling)turn);
		}
		for (int j = EMPTY_SAMPLES; j < SAMPLING_CNT; j++)
			costs[j][i] = (took[j] - took[NO_SAMPLES]) / (took[j] * FAST_HZ / 1e9);
	}
	*empty_ns = median(costs[EMPTY_SAMPLES], SAMPLE_ROUNDS);
	*full_ns = median(costs[FULL_SAMPLES], SAMPLE_ROUNDS);
}

/* By the kernel's measure of the program. */
static double measure_sample_program(struct tapir_bpf *skel)
{
	const struct tapir_sampler_plan plan = {.event = tapir_sample_events, .hz = SAMPLE_HZ};
	int stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	struct tapir_filter all = {.self_tgid = (uint32_t)getppid()};
	struct tapir_sampler *sampler;
	uint32_t zero = 0;
	struct run before;

	bpf_map_update_elem(bpf_map__fd(skel->maps.filter), &zero, &all, BPF_ANY);
	enable(skel, true);
	before = stats_of(skel->progs.tapir_sample);
	if (tapir_sampler__start(bpf_program__fd(skel->progs.tapir_sample), &plan, &sampler))
		die("sampler");
	for (int i = 0; i < SAMPLE_TURNS; i++)
		work(FRAMES - OUTER_FRAMES);
	tapir_sampler__stop(sampler);
	close(stats_fd);
	return ns_since(skel->progs.tapir_sample, before);
}

int main(void)
{
	struct switch_costs costs;
	struct tapir_bpf *skel;
	double empty_ns, full_ns, program_ns;

	libbpf_set_print(ignore_log);
	skel = load();
	make_rings(skel);
	costs = measure_switches(skel);
	measure_samples(skel, &empty_ns, &full_ns);
	program_ns = measure_sample_program(skel) - costs.off_ns;
	printf("{\"measuring_ns\": %.1f, \"other_switch_ns\": %.1f, \"other_wake_ns\": %.1f, "
	       "\"turn_ns\": %.1f, \"own_switch_ns\": %.1f, \"trace_ids_ns\": %.1f, "
	       "\"stacks_switch_ns\": %.1f, "
	       "\"sample_ns\": %.1f, "
	       "\"empty_sample_ns\": %.1f, \"sample_program_ns\": %.1f, \"slowdown\": %.5f}\n",
	       costs.off_ns, costs.other_ns - costs.off_ns, costs.wake_ns - costs.off_ns,
	       costs.turn_ns, costs.own_ns - costs.off_ns, costs.trace_ns,
	       costs.stacks_ns - costs.off_ns, full_ns, empty_ns, program_ns,
	       full_ns * SAMPLE_HZ / 1e9);
	tapir_bpf__destroy(skel);
	return 0;
}
