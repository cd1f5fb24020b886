// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes a recording that nobody recorded: as many samples and events over as many stacks as
 * asked for, of two JVM-like processes, always the same. For measuring readers, and for names
 * that no real program has.
 *
 *	make_trace FILE [--samples N] [--events N] [--stacks N] [--depth N] [--hostile]
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/catalog.h"
#include "trace/recbuf.h"
#include "trace/writer.h"

#define TGID	   4000u
#define THREADS	   8u
#define FUNCTIONS  4096u /* JIT and native alternate */
#define CODE_VA	   0x400000ull
#define JIT_VA	   0x7f0000000000ull
#define KERNEL_VA  0xffffffff81000000ull
#define CODE_BYTES 0x10000000ull
#define STEP	   0x100u /* bytes a function has */
#define SPAN_NS	   60000000000ull
#define BATCH	   512
#define SV(text)   ((struct tapir_sv){text, strlen(text)})

struct plan {
	uint64_t samples, events, stacks, depth;
	bool hostile;
	struct tapir_writer *writer;
	struct tapir_catalog *catalog;
	struct tapir_recbuf buf;
	uint64_t *used; /* a bit a stack: described in this segment */
};

static uint64_t mixed(uint64_t n)
{
	n = (n ^ n >> 31) * 0x9e3779b97f4a7c15ull;
	n = (n ^ n >> 29) * 0xbf58476d1ce4e5b9ull;
	return n ^ n >> 32;
}

static const char *const hostile_names[] = {"<script>alert(1)</script>",
					    "]]>",
					    "a\"b'c&d",
					    "\x01\x02\n\t\x7f",
					    "\xff\xfe\xc0\x80",
					    "\xe2\x80\xaereversed",
					    "",
					    "--><!--",
					    "\xef\xbf\xbe",
					    "\xed\xa0\x80",
					    "&lt;img src=x onerror=alert(1)>;x 1",
					    "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97"};

static void function_name(const struct plan *p, uint64_t idx, char *name, size_t size)
{
	size_t cnt = sizeof(hostile_names) / sizeof(*hostile_names);

	if (p->hostile && idx < cnt)
		snprintf(name, size, "%s", hostile_names[idx]);
	else if (p->hostile && idx == cnt)
		memset(name, 'L', size - 1);
	else if (idx % 2)
		snprintf(name, size, "com.example.shop.Orders%u.method%u", (unsigned)idx / 64,
			 (unsigned)idx);
	else
		snprintf(name, size, "native_function_%u", (unsigned)idx);
}

static void put(struct plan *p, const struct tapir_rec *rec)
{
	if (!rec || tapir_catalog__describe(p->catalog, rec) < 0)
		exit(1);
}

static void describe_mapping(struct plan *p, uint32_t tgid, uint64_t start_va, uint64_t file_id,
			     const char *path)
{
	struct tapir_rec_mapping m = {.tgid = tgid,
				      .flags = TAPIR_MAPPING_EXEC |
					       (file_id ? 0 : TAPIR_MAPPING_ANON),
				      .start_va = start_va,
				      .end_va = start_va + CODE_BYTES,
				      .file_id = file_id};

	tapir_rec__init(&m.h, TAPIR_REC_MAPPING, sizeof(m), 1000);
	put(p, tapir_recbuf__mapping(&p->buf, &m, SV(path)));
}

static void describe_process(struct plan *p, uint32_t tgid, const char *comm)
{
	struct tapir_rec_process process = {.tgid = tgid, .kind = TAPIR_PROCESS_EXISTING};

	tapir_rec__init(&process.h, TAPIR_REC_PROCESS, sizeof(process), 1000);
	put(p, tapir_recbuf__process(&p->buf, &process, SV(comm), SV("/usr/bin/java"), SV("java"),
				     SV("/")));
	for (uint32_t t = 0; tgid && t < THREADS; t++) {
		struct tapir_rec_thread thread = {.tgid = tgid, .tid = tgid + t};

		tapir_rec__init(&thread.h, TAPIR_REC_THREAD, sizeof(thread), 1000);
		snprintf(thread.comm, sizeof(thread.comm), t ? "worker-%u" : "java", t);
		snprintf(thread.leader_comm, sizeof(thread.leader_comm), "%s", comm);
		put(p, &thread.h);
	}
}

static void describe_function(struct plan *p, uint64_t idx)
{
	char name[10001] = "";
	struct tapir_rec_symbol symbol = {.file_id = 7, .start_off = idx * STEP, .size = STEP};

	function_name(p, idx, name, sizeof(name));
	if (idx % 2 == 0) {
		tapir_rec__init(&symbol.h, TAPIR_REC_SYMBOL, sizeof(symbol), 1000);
		put(p, tapir_recbuf__symbol(&p->buf, &symbol, SV(name)));
	}
	for (uint32_t tgid = TGID; idx % 2 && tgid <= TGID + 100; tgid += 100) {
		struct tapir_rec_jit jit = {
			.tgid = tgid,
			.source = TAPIR_JIT_METHOD_EVENT,
			.start_va = JIT_VA + idx * STEP,
			.size = STEP,
			.from_ns = 1000 + (idx / 2 % 64 ? 0 : idx * (SPAN_NS / FUNCTIONS))};

		tapir_rec__init(&jit.h, TAPIR_REC_JIT, sizeof(jit), jit.from_ns);
		put(p, tapir_recbuf__jit(&p->buf, &jit, SV(name)));
	}
}

static void describe_kernel_function(struct plan *p, uint64_t idx)
{
	struct tapir_rec_symbol symbol = {.file_id = 9, .start_off = idx * STEP, .size = STEP};
	char name[32];

	snprintf(name, sizeof(name), "sys_kernel_%u", (unsigned)idx);
	tapir_rec__init(&symbol.h, TAPIR_REC_SYMBOL, sizeof(symbol), 1000);
	put(p, tapir_recbuf__symbol(&p->buf, &symbol, SV(name)));
}

/* Outer frames vary little, inner ones much, as in programs. */
static uint64_t frame_va(const struct plan *p, uint64_t stack, uint64_t level)
{
	uint64_t spread = level * 64 / p->depth, idx;

	if (p->hostile && level == p->depth - 1)
		idx = stack % 64;
	else
		idx = mixed(level << 40 | stack % (spread * spread + 1)) % FUNCTIONS;
	return (idx % 2 ? JIT_VA : CODE_VA) + idx * STEP + 5;
}

static void describe_stack(struct plan *p, uint64_t stack)
{
	struct tapir_rec_stack rec = {.stack_id = stack + 1};
	uint64_t frames_va[127];

	tapir_rec__init(&rec.h, TAPIR_REC_STACK, sizeof(rec), 1000);
	for (uint64_t level = 0; level < p->depth; level++)
		frames_va[p->depth - 1 - level] = frame_va(p, stack, level);
	/* The call's line tells stacks apart that go through the same functions. */
	frames_va[p->depth / 2] += mixed(stack) % 200;
	put(p, tapir_recbuf__stack(&p->buf, &rec, frames_va, (unsigned)p->depth));
}

static void describe_all(struct plan *p)
{
	static const uint64_t kernel_frames[] = {KERNEL_VA + 3 * STEP + 1, KERNEL_VA + 2 * STEP};
	struct tapir_rec_probe probe = {.probe_id = 1, .version = 1};
	struct tapir_rec_stack kernel = {.stack_id = UINT64_MAX, .flags = TAPIR_STACK_KERNEL};

	describe_process(p, 0, "kernel");
	describe_process(p, TGID, p->hostile ? "<java>&;" : "java");
	describe_process(p, TGID + 100, "java");
	describe_mapping(p, 0, KERNEL_VA, 9, "[kernel]");
	for (uint32_t tgid = TGID; tgid <= TGID + 100; tgid += 100) {
		describe_mapping(p, tgid, CODE_VA, 7, "/usr/lib/libshop.so");
		describe_mapping(p, tgid, JIT_VA, 0, "");
	}
	for (uint64_t i = 0; i < FUNCTIONS; i++)
		describe_function(p, i);
	for (uint64_t i = 0; i < 8; i++)
		describe_kernel_function(p, i);
	tapir_rec__init(&probe.h, TAPIR_REC_PROBE, sizeof(probe), 1000);
	put(p, tapir_recbuf__probe(&p->buf, &probe, SV("hotspot"), SV("gc__begin"), SV("/x"),
				   SV(""), NULL, NULL, 0));
	tapir_rec__init(&kernel.h, TAPIR_REC_STACK, sizeof(kernel), 1000);
	put(p, tapir_recbuf__stack(&p->buf, &kernel, kernel_frames, 2));
}

/* Some stacks are hot: squares of a random number between 0 and 1. */
static uint64_t stack_of(const struct plan *p, uint64_t n)
{
	double at = (double)(mixed(n * 3 + 1) >> 11) / (double)(1ull << 53);

	return n < p->stacks ? n : (uint64_t)(at * at * (double)p->stacks);
}

static void use(struct plan *p, uint64_t stack, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	struct tapir_use u = {.tgid = tgid, .tid = tid, .time_ns = time_ns, .stack_id = stack + 1};

	if (!(p->used[stack / 64] & 1ull << stack % 64))
		describe_stack(p, stack);
	p->used[stack / 64] |= 1ull << stack % 64;
	if (stack % 8 == 0)
		u.kstack_id = UINT64_MAX;
	tapir_catalog__use(p->catalog, &u);
}

static void put_record(struct plan *p, uint64_t n, uint64_t time_ns)
{
	bool is_event = n % (p->samples + p->events) >= p->samples;
	uint64_t stack = stack_of(p, n);
	uint32_t tgid = TGID + (n % 7 == 0 ? 100 : 0), tid = tgid + (uint32_t)(n % THREADS);
	struct tapir_rec_sample sample = {.tgid = tgid,
					  .tid = tid,
					  .period = 1001001,
					  .stack_id = stack + 1,
					  .kstack_id = stack % 8 ? 0 : UINT64_MAX};
	struct tapir_rec_event ev = {
		.probe_id = 1, .tgid = tgid, .tid = tid, .stack_id = stack + 1};

	use(p, stack, tgid, tid, time_ns);
	tapir_rec__init(&sample.h, TAPIR_REC_SAMPLE, sizeof(sample), time_ns);
	tapir_rec__init(&ev.h, TAPIR_REC_EVENT, sizeof(ev), time_ns);
	sample.h.cpu = ev.h.cpu = (uint16_t)(n % 2);
	if (is_event)
		tapir_catalog__use_event(p->catalog, &ev);
	if (tapir_writer__put(p->writer, is_event ? &ev.h : &sample.h))
		exit(1);
}

static void name_all(struct plan *p)
{
	struct tapir_unnamed unnamed;

	while (tapir_catalog__next_unnamed(p->catalog, &unnamed))
		; /* names that are known are written on the way */
}

static void lose(struct plan *p, uint64_t time_ns)
{
	struct tapir_rec_loss loss = {.cause = TAPIR_LOSS_SAMPLE_RING_FULL,
				      .count = 12,
				      .from_ns = time_ns - SPAN_NS / 60,
				      .until_ns = time_ns};

	tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), time_ns);
	tapir_writer__put(p->writer, &loss.h);
}

static void write_records(struct plan *p)
{
	uint64_t cnt = p->samples + p->events, time_ns = 0, segment = 0;

	for (uint64_t n = 0; n < cnt; n++) {
		time_ns = 2000 + (uint64_t)((double)n / (double)cnt * (double)SPAN_NS);
		if (time_ns / (SPAN_NS / 6) != segment) {
			segment = time_ns / (SPAN_NS / 6);
			name_all(p);
			tapir_writer__begin_segment(p->writer);
			tapir_catalog__new_segment(p->catalog);
			memset(p->used, 0, (p->stacks / 64 + 1) * 8);
		}
		put_record(p, n, time_ns);
		if (n % BATCH == 0)
			name_all(p);
	}
	lose(p, time_ns);
	name_all(p);
}

static void parse(struct plan *p, int argc, char **argv)
{
	static const struct option longs[] = {{"samples", 1, NULL, 's'}, {"events", 1, NULL, 'e'},
					      {"stacks", 1, NULL, 'k'},	 {"depth", 1, NULL, 'd'},
					      {"hostile", 0, NULL, 'h'}, {}};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		uint64_t value = optarg ? strtoull(optarg, NULL, 10) : 0;

		if (c == '?')
			exit(2);
		*(c == 's'   ? &p->samples
		  : c == 'e' ? &p->events
		  : c == 'k' ? &p->stacks
		  : c == 'd' ? &p->depth
			     : &value) = value;
		p->hostile |= c == 'h';
	}
	if (optind + 1 != argc || !p->depth || p->depth > 127 || !p->stacks ||
	    !(p->samples + p->events))
		exit(2);
}

int main(int argc, char **argv)
{
	struct plan p = {.samples = 100000, .stacks = 1000, .depth = 28};
	struct tapir_writer_opts opts = {.sz = sizeof(opts), .force = true};

	parse(&p, argc, argv);
	opts.path = argv[optind];
	p.used = calloc(p.stacks / 64 + 1, 8);
	if (!p.used || tapir_writer__open(&opts, &p.writer))
		return 1;
	p.catalog = tapir_catalog__new(TAPIR_CATALOG_LIVE, p.writer);
	describe_all(&p);
	write_records(&p);
	if (tapir_writer__close(p.writer))
		return 1;
	tapir_catalog__free(p.catalog);
	tapir_writer__free(p.writer);
	tapir_recbuf__fini(&p.buf);
	free(p.used);
	return 0;
}
