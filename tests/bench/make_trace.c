// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes a recording that nobody recorded: as many samples and events over as many stacks as
 * asked for, of two JVM-like processes, always the same. For measuring readers, and for names
 * that no real program has.
 *
 *	make_trace FILE [--samples N] [--events N] [--requests N] [--stacks N] [--depth N]
 *		   [--seconds N] [--plain] [--hostile]
 *
 * A request is nine records of a thread: its begin and end, three samples and two waits (out,
 * in); a collection goes on during each thousandth. --plain: not compressed.
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
#define SECOND_NS  1000000000ull
#define SEGMENT_NS (10 * SECOND_NS)
#define BATCH	   512
#define SV(text)   ((struct tapir_sv){text, strlen(text)})

enum probe { GC_BEGIN = 1, GC_END, REQUEST_BEGIN, REQUEST_END };

struct plan {
	uint64_t samples, events, requests, stacks, depth, span_ns;
	bool hostile, plain;
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
			.from_ns = 1000 + (idx / 2 % 64 ? 0 : idx * (p->span_ns / FUNCTIONS))};

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

static void describe_probe(struct plan *p, uint32_t id, const char *provider, const char *event)
{
	struct tapir_rec_probe probe = {.probe_id = id, .version = 1};

	tapir_rec__init(&probe.h, TAPIR_REC_PROBE, sizeof(probe), 1000);
	put(p, tapir_recbuf__probe(&p->buf, &probe, SV(provider), SV(event), SV("/x"), SV(""), NULL,
				   NULL, 0));
}

static void describe_all(struct plan *p)
{
	static const uint64_t kernel_frames[] = {KERNEL_VA + 3 * STEP + 1, KERNEL_VA + 2 * STEP};
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
	describe_probe(p, GC_BEGIN, "hotspot", "gc__begin");
	describe_probe(p, GC_END, "hotspot", "gc__end");
	describe_probe(p, REQUEST_BEGIN, "shop", "request__start");
	describe_probe(p, REQUEST_END, "shop", "request__done");
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

struct who {
	uint32_t tgid, tid;
	uint64_t stack, time_ns;
};

static void write_record(struct plan *p, struct tapir_rec *rec, const struct who *who)
{
	rec->cpu = (uint16_t)(who->tid % 2);
	if (tapir_writer__put(p->writer, rec))
		exit(1);
}

static void put_sample(struct plan *p, const struct who *who)
{
	struct tapir_rec_sample sample = {.tgid = who->tgid,
					  .tid = who->tid,
					  .period = 1001001,
					  .stack_id = who->stack + 1,
					  .kstack_id = who->stack % 8 ? 0 : UINT64_MAX};

	tapir_rec__init(&sample.h, TAPIR_REC_SAMPLE, sizeof(sample), who->time_ns);
	use(p, who->stack, who->tgid, who->tid, who->time_ns);
	write_record(p, &sample.h, who);
}

static void put_event(struct plan *p, enum probe probe, const struct who *who)
{
	struct tapir_rec_event ev = {
		.probe_id = probe, .tgid = who->tgid, .tid = who->tid, .stack_id = who->stack + 1};

	tapir_rec__init(&ev.h, TAPIR_REC_EVENT, sizeof(ev), who->time_ns);
	use(p, who->stack, who->tgid, who->tid, who->time_ns);
	tapir_catalog__use_event(p->catalog, &ev);
	write_record(p, &ev.h, who);
}

static void put_switch(struct plan *p, bool is_out, const struct who *who)
{
	struct tapir_rec_switch sw = {.in_tgid = who->tgid, .in_tid = who->tid};

	if (is_out) {
		use(p, who->stack, who->tgid, who->tid, who->time_ns);
		sw = (struct tapir_rec_switch){.out_tgid = who->tgid,
					       .out_tid = who->tid,
					       .out_stack_id = who->stack + 1,
					       .out_state = TAPIR_STATE_SLEEPING};
	}
	tapir_rec__init(&sw.h, TAPIR_REC_SWITCH, sizeof(sw), who->time_ns);
	write_record(p, &sw.h, who);
}

#define STEPS 9 /* records of a request */

/* Threads take turns, a record each. */
static void put_step(struct plan *p, uint64_t n, struct who *who)
{
	static const char steps[STEPS] = {'b', 's', 'o', 'i', 's', 'o', 'i', 's', 'e'};
	uint64_t turn = n / (2 * THREADS), request = turn / STEPS * 2 * THREADS + n % (2 * THREADS);
	char step = steps[turn % STEPS];

	who->tgid = TGID + (n % 2 ? 100 : 0);
	who->tid = who->tgid + (uint32_t)(n / 2 % THREADS);
	if (step == 'b' && request % 1000 == 0)
		put_event(p, GC_BEGIN, who);
	if (step == 's')
		put_sample(p, who);
	else if (step == 'o' || step == 'i')
		put_switch(p, step == 'o', who);
	else
		put_event(p, step == 'b' ? REQUEST_BEGIN : REQUEST_END, who);
	if (step == 'e' && request % 1000 == 0)
		put_event(p, GC_END, who);
}

static void put_record(struct plan *p, uint64_t n, uint64_t time_ns)
{
	struct who who = {.stack = stack_of(p, n), .time_ns = time_ns};

	if (n >= p->samples + p->events) {
		put_step(p, n - p->samples - p->events, &who);
		return;
	}
	who.tgid = TGID + (n % 7 == 0 ? 100 : 0);
	who.tid = who.tgid + (uint32_t)(n % THREADS);
	if (n % (p->samples + p->events) >= p->samples)
		put_event(p, GC_BEGIN, &who);
	else
		put_sample(p, &who);
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
				      .from_ns = time_ns - p->span_ns / 60,
				      .until_ns = time_ns};

	tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), time_ns);
	tapir_writer__put(p->writer, &loss.h);
}

static void begin_segment(struct plan *p)
{
	name_all(p);
	tapir_writer__begin_segment(p->writer);
	tapir_catalog__new_segment(p->catalog);
	memset(p->used, 0, (p->stacks / 64 + 1) * 8);
}

static void write_records(struct plan *p)
{
	uint64_t cnt = p->samples + p->events + p->requests * STEPS, time_ns = 0, segment = 0;

	for (uint64_t n = 0; n < cnt; n++) {
		time_ns = 2000 + (uint64_t)((double)n / (double)cnt * (double)p->span_ns);
		if (time_ns / SEGMENT_NS != segment || tapir_writer__segment_due(p->writer, 0)) {
			segment = time_ns / SEGMENT_NS;
			begin_segment(p);
		}
		put_record(p, n, time_ns);
		if (n % BATCH == 0)
			name_all(p);
	}
	lose(p, time_ns);
	name_all(p);
}

static uint64_t *number_of(struct plan *p, int option, uint64_t *other)
{
	switch (option) {
	case 's':
		return &p->samples;
	case 'e':
		return &p->events;
	case 'r':
		return &p->requests;
	case 'k':
		return &p->stacks;
	case 'd':
		return &p->depth;
	case 't':
		return &p->span_ns;
	default:
		return other;
	}
}

static void parse(struct plan *p, int argc, char **argv)
{
	static const struct option longs[] = {
		{"samples", 1, NULL, 's'}, {"events", 1, NULL, 'e'},  {"requests", 1, NULL, 'r'},
		{"stacks", 1, NULL, 'k'},  {"depth", 1, NULL, 'd'},   {"seconds", 1, NULL, 't'},
		{"plain", 0, NULL, 'p'},   {"hostile", 0, NULL, 'h'}, {}};
	uint64_t other;
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == '?')
			exit(2);
		*number_of(p, c, &other) = optarg ? strtoull(optarg, NULL, 10) : 0;
		p->hostile |= c == 'h';
		p->plain |= c == 'p';
	}
	p->span_ns *= SECOND_NS;
	if (optind + 1 != argc || !p->depth || p->depth > 127 || !p->stacks || !p->span_ns ||
	    !(p->samples + p->events + p->requests))
		exit(2);
}

int main(int argc, char **argv)
{
	struct plan p = {.samples = 100000, .stacks = 1000, .depth = 28, .span_ns = 60};
	/* Both clocks begin with it, so that the file is the same each time. */
	struct tapir_writer_opts opts = {
		.sz = sizeof(opts), .force = true, .created_utc_ns = 1, .created_ns = 1};

	parse(&p, argc, argv);
	opts.path = argv[optind];
	opts.plain = p.plain;
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
