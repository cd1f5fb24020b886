// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A chunk at a time: it is read whole, its events are put in the order of time (each thread of the
 * JVM writes its own buffer), and written. Methods have no addresses in the format: each gets one
 * that no process has. A sample says that a thread ran Java code: the JVM samples some threads at
 * fixed times.
 */
#include "output/import/import_jfr.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "output/import/import_tasks.h"
#include "output/import/jfr_events.h"

#define CHUNK_MAX_BYTES	  (256u << 20) /* a JVM begins another one at 12 MB */
#define CHECK_EVERY	  4096u	       /* events */
#define THREADS_MAX	  (1u << 20)
#define UNKNOWN_PID	  1u
#define VIRTUAL_TID	  (1u << 30) /* above the kernel's own */
#define DEFAULT_PERIOD_NS (20 * TAPIR_NS_PER_MS)
#define SAMPLE		  "jdk.ExecutionSample"
#define CPU_SAMPLE	  "jdk.CPUTimeSample"

/* An event of the chunk, or the begin or end of one. */
struct item {
	uint64_t ns;
	size_t at;
	uint64_t class_id;
	enum tapir_jfr_part part;
};

struct flight {
	const struct tapir_import_opts *opts;
	struct tapir_import_sink sink;
	struct tapir_import_tasks tasks;
	struct tapir_jfr_events events;
	struct tapir_jfr j;		     /* the chunk */
	struct tapir_vec(struct item) items; /* of the chunk */
	struct tapir_map tids, methods,
		stacks;		/* of the chunk: where a constant is -> its meaning */
	struct tapir_map named; /* thread -> hash of its name */
	struct tapir_str text, command;
	uint64_t period_ns, check_cnt, malformed_cnt, loss_cnt, lost_bytes, sample_cnt, pair_cnt;
	uint32_t pid;
	bool has_virtual, has_default_period, failed;
	int err;
};

static struct tapir_jfr_value value_of(const struct item *item)
{
	return (struct tapir_jfr_value){.at = item->at, .class_id = item->class_id};
}

static uint64_t number_of(struct flight *f, struct tapir_jfr_value of, const char *name)
{
	return tapir_jfr__number(&f->j, tapir_jfr__field(&f->j, of, name), false);
}

/* Keeps what the constant at that place of the chunk means. */
static void keep(struct flight *f, struct tapir_map *map, size_t at, uint64_t meaning)
{
	uint64_t *kept = tapir_map__put(map, at, NULL);

	if (kept)
		*kept = meaning;
	f->failed |= !kept;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void name_thread(struct flight *f, uint32_t tid, struct tapir_jfr_value thread, uint64_t ns)
{
	uint64_t hash, *known;

	tapir_str__clear(&f->text);
	tapir_jfr__add_text(&f->j, thread, &f->text);
	hash = tapir_hash__bytes(1, f->text.data ? f->text.data : "", f->text.len);
	known = tapir_map__get(&f->named, tid);
	if (known && *known == hash)
		return;
	if (!known && f->named.cnt < THREADS_MAX)
		known = tapir_map__put(&f->named, tid, NULL);
	if (known)
		*known = hash;
	/* The process has the name of its first thread, which keeps that of the program. */
	if (tid != f->pid && f->text.len)
		tapir_import_tasks__name(&f->tasks, f->pid, tid, f->text.data, f->text.len, false,
					 ns);
	else
		tapir_import_tasks__see(&f->tasks, f->pid, tid, ns);
}

/*
 * The kernel's number of a thread. A virtual one has none: it gets one from its number in Java. An
 * event of no thread is of the process's first one.
 */
static uint32_t tid_of(struct flight *f, struct tapir_jfr_value event, uint64_t ns)
{
	struct tapir_jfr_value thread = tapir_jfr__field(&f->j, event, "eventThread");
	uint64_t *known, tid;

	if (!thread.at)
		thread = tapir_jfr__field(&f->j, event, "sampledThread");
	if (!thread.at)
		return f->pid;
	known = tapir_map__get(&f->tids, thread.at);
	if (known)
		return (uint32_t)*known;
	tid = number_of(f, thread, "osThreadId");
	if (!tid || tid >= VIRTUAL_TID) {
		tid = VIRTUAL_TID | (number_of(f, thread, "javaThreadId") & (VIRTUAL_TID - 1));
		f->has_virtual = true;
	}
	name_thread(f, (uint32_t)tid, thread, ns);
	keep(f, &f->tids, thread.at, tid);
	return (uint32_t)tid;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* 0: it has no name. */
static uint64_t method_va(struct flight *f, struct tapir_jfr_value method)
{
	tapir_str__clear(&f->text);
	tapir_jfr__add_text(&f->j, method, &f->text);
	return tapir_import_sink__function(&f->sink, f->pid, &f->text);
}

static uint64_t frame_va(struct flight *f, struct tapir_jfr_value frame)
{
	struct tapir_jfr_value method = tapir_jfr__field(&f->j, frame, "method");
	uint64_t *known = method.at ? tapir_map__get(&f->methods, method.at) : NULL;
	uint64_t va;

	if (!method.at)
		return 0;
	if (known)
		return *known;
	va = method_va(f, method);
	keep(f, &f->methods, method.at, va);
	return va;
}

static uint64_t put_stack(struct flight *f, struct tapir_jfr_value trace, uint64_t ns)
{
	struct tapir_jfr_value frames = tapir_jfr__field(&f->j, trace, "frames");
	bool is_truncated = number_of(f, trace, "truncated");
	uint64_t vas[TAPIR_MAX_FRAMES], left = tapir_jfr__elements(&f->j, &frames);
	unsigned cnt = 0;

	for (; left && cnt < TAPIR_MAX_FRAMES && !f->j.is_bad; left--) {
		uint64_t va = frame_va(f, tapir_jfr__next(&f->j, &frames));

		if (va)
			vas[cnt++] = va;
	}
	is_truncated |= left;
	return tapir_import_sink__stack(&f->sink, vas, cnt, is_truncated ? TAPIR_STACK_MORE : 0,
					is_truncated ? TAPIR_STACK_END_MORE : TAPIR_STACK_END_WHOLE,
					ns);
}

static uint64_t stack_of(struct flight *f, struct tapir_jfr_value event, uint64_t ns)
{
	struct tapir_jfr_value trace = tapir_jfr__field(&f->j, event, "stackTrace");
	uint64_t *known = trace.at ? tapir_map__get(&f->stacks, trace.at) : NULL;
	uint64_t stack_id;

	if (!trace.at)
		return 0;
	if (known)
		return *known;
	stack_id = put_stack(f, trace, ns);
	keep(f, &f->stacks, trace.at, stack_id);
	return stack_id;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* "20 ms"; other texts ("everyChunk") are no length. */
static uint64_t parse_period(struct tapir_sv text)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = {{" ns", 1}, {" us", 1000}, {" ms", TAPIR_NS_PER_MS}, {" s", TAPIR_NS_PER_SEC}};
	uint64_t number = 0;
	size_t i = 0;

	for (; i < text.len && i < 9 && text.data[i] >= '0' && text.data[i] <= '9'; i++)
		number = number * 10 + (uint64_t)(text.data[i] - '0');
	for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++)
		if (tapir_sv__is((struct tapir_sv){text.data + i, text.len - i}, units[u].unit))
			return number * units[u].ns;
	return 0;
}

static void on_setting(void *ctx, struct tapir_jfr *j, struct tapir_jfr_value event)
{
	struct flight *f = ctx;
	const struct tapir_jfr_class *of = tapir_keyed__get(&j->classes, number_of(f, event, "id"));
	struct tapir_sv name = tapir_jfr__text(j, tapir_jfr__field(j, event, "name"));
	uint64_t ns = parse_period(tapir_jfr__text(j, tapir_jfr__field(j, event, "value")));

	if (ns && of && tapir_sv__is(of->name, SAMPLE) && tapir_sv__is(name, "period"))
		f->period_ns = ns;
}

static void put_sample(struct flight *f, const struct item *item, uint64_t period_ns)
{
	struct tapir_jfr_value event = value_of(item);
	struct tapir_rec_sample rec = {.tgid = f->pid,
				       .tid = tid_of(f, event, item->ns),
				       .period = period_ns,
				       .stack_id = stack_of(f, event, item->ns)};

	tapir_rec__init(&rec.h, TAPIR_REC_SAMPLE, sizeof(rec), item->ns);
	rec.h.cpu = TAPIR_CPU_UNKNOWN;
	tapir_import_sink__put(&f->sink, &rec.h);
	f->sample_cnt++;
}

static void put_event(struct flight *f, const struct item *item)
{
	struct tapir_jfr_value event = value_of(item);
	struct tapir_rec_event fixed = {.tgid = f->pid, .tid = tid_of(f, event, item->ns)};

	if (item->part != TAPIR_JFR_END)
		fixed.stack_id = stack_of(f, event, item->ns);
	tapir_rec__init(&fixed.h, TAPIR_REC_EVENT, sizeof(fixed), item->ns);
	fixed.h.cpu = TAPIR_CPU_UNKNOWN;
	if (!tapir_jfr_events__put(&f->events, &f->j, event, item->part, &fixed))
		f->malformed_cnt++;
	f->pair_cnt += item->part == TAPIR_JFR_BEGIN;
}

/* An event that cannot be read does not keep the next one from being read. */
static void put_item(struct flight *f, const struct item *item)
{
	const struct tapir_jfr_class *cls = tapir_jfr__class(&f->j, value_of(item));

	f->j.is_bad = false;
	if (tapir_sv__is(cls->name, "jdk.DataLoss")) {
		f->loss_cnt++;
		f->lost_bytes += number_of(f, value_of(item), "amount");
	}
	if (tapir_sv__is(cls->name, SAMPLE)) {
		f->has_default_period |= !f->period_ns;
		put_sample(f, item, f->period_ns ? f->period_ns : DEFAULT_PERIOD_NS);
	} else if (tapir_sv__is(cls->name, CPU_SAMPLE)) {
		put_sample(f, item,
			   tapir_jfr__ns(&f->j, number_of(f, value_of(item), "samplingPeriod")));
	} else {
		put_event(f, item);
	}
}

/* ---- a chunk --------------------------------------------------------------------------------- */

/* An event may have begun before the chunk in which it ended. */
static uint64_t time_of(const struct tapir_jfr *j, uint64_t ticks)
{
	uint64_t ns = ticks < j->ticks ? j->utc_ns - tapir_jfr__ns(j, j->ticks - ticks)
				       : j->utc_ns + tapir_jfr__ns(j, ticks - j->ticks);

	return ns && ns < INT64_MAX ? ns : 1;
}

static void add_item(struct flight *f, struct tapir_jfr_value event, uint64_t ns,
		     enum tapir_jfr_part part)
{
	struct item item = {ns, event.at, event.class_id, part};

	f->failed |= !tapir_vec__push(&f->items, item);
}

/* An event is recorded when it has ended: that is its time, and its length is a field. */
static void on_event(void *ctx, struct tapir_jfr *j, struct tapir_jfr_value event)
{
	struct flight *f = ctx;
	const struct tapir_jfr_class *cls = tapir_jfr__class(j, event);
	struct tapir_jfr_value start = tapir_jfr__field(j, event, "startTime");
	uint64_t ticks = tapir_jfr__number(j, start, true);
	uint64_t length = number_of(f, event, "duration");

	if (!cls || !start.at || j->is_bad) {
		f->malformed_cnt++;
		j->is_bad = false;
		return;
	}
	if (tapir_jfr_pair__of(cls)) {
		add_item(f, event, time_of(j, ticks), TAPIR_JFR_BEGIN);
		add_item(f, event, time_of(j, ticks + length), TAPIR_JFR_END);
	} else {
		add_item(f, event, time_of(j, ticks + length), TAPIR_JFR_WHOLE);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->at != y->at ? (x->at < y->at ? -1 : 1) : (int)x->part - (int)y->part;
}

static void begin_chunk(struct flight *f)
{
	f->items.cnt = 0;
	tapir_map__clear(&f->tids);
	tapir_map__clear(&f->methods);
	tapir_map__clear(&f->stacks);
	tapir_jfr_events__next_chunk(&f->events);
}

static int write_chunk(struct flight *f)
{
	const struct item *item;

	begin_chunk(f);
	tapir_jfr_chunk__each(&f->j, "jdk.ActiveSetting", on_setting, f);
	tapir_jfr_chunk__each(&f->j, NULL, on_event, f);
	f->malformed_cnt += f->j.is_bad; /* what followed in the chunk */
	if (f->items.cnt)
		qsort(f->items.data, f->items.cnt, sizeof(*f->items.data), by_time);
	tapir_vec_for_each (item, &f->items) {
		int err = f->check_cnt++ % CHECK_EVERY ? 0 : f->opts->check(f->opts->ctx);

		if (err)
			return err;
		put_item(f, item);
		if (f->sink.err)
			return f->sink.err;
	}
	return f->failed ? -ENOMEM : 0;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void on_jvm(void *ctx, struct tapir_jfr *j, struct tapir_jfr_value event)
{
	struct flight *f = ctx;
	uint64_t pid = number_of(f, event, "pid");
	static const char *const arguments[] = {"jvmArguments", "javaArguments"};

	if (pid && pid < VIRTUAL_TID)
		f->pid = (uint32_t)pid;
	tapir_str__clear(&f->command);
	tapir_str__adds(&f->command, "java");
	for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
		struct tapir_sv text = tapir_jfr__text(j, tapir_jfr__field(j, event, arguments[i]));

		tapir_str__adds(&f->command, text.len ? " " : "");
		tapir_str__add(&f->command, text.data, text.len);
	}
}

static int begin_recording(struct flight *f)
{
	struct tapir_import_sink *s = &f->sink;
	struct tapir_rec_clock clock = {.utc_ns = f->j.utc_ns, .boot_ns = f->j.utc_ns};
	struct tapir_writer *w;
	int err;

	f->pid = UNKNOWN_PID;
	tapir_jfr_chunk__each(&f->j, "jdk.JVMInformation", on_jvm, f);
	f->j.is_bad = false;
	err = f->opts->open(f->opts->ctx, f->j.utc_ns, f->j.utc_ns, &w);
	if (err)
		return err;
	err = tapir_import_sink__init(s, w, f->j.utc_ns);
	f->tasks.sink = f->events.sink = s;
	if (err)
		return err;
	tapir_rec__init(&clock.h, TAPIR_REC_CLOCK, sizeof(clock), s->first_ns);
	tapir_import_sink__describe(s, &clock.h);
	tapir_import_sink__meta(s, TAPIR_META_IMPORTED, "jfr");
	tapir_import_sink__meta(s, "command", f->command.data);
	tapir_import_sink__meta(s, "sample_event", "managed-time");
	tapir_import_tasks__name(&f->tasks, f->pid, f->pid, "java", strlen("java"), false,
				 s->first_ns);
	return 0;
}

static int read_bytes(const struct tapir_import_input *input, void *buf, size_t len, uint64_t off)
{
	int64_t got = tapir_import_input__read((void *)input, buf, len, off);

	if (got < 0)
		return tapir_import__fail(input, (int)got, "", "");
	return got == (int64_t)len ? 0 : -ENODATA;
}

/* Reads a chunk: 0, -ENODATA for the end of what is whole, or another error with a line. */
static int load_chunk(const struct tapir_import_input *input, uint64_t off, uint8_t **data,
		      size_t *len)
{
	uint8_t head[TAPIR_JFR_HEAD_BYTES];
	int err = read_bytes(input, head, sizeof(head), off);
	uint64_t bytes = err ? 0 : tapir_jfr_chunk__bytes(head);

	if (err)
		return err;
	if (!bytes || bytes > input->bytes - off)
		return -ENODATA;
	if (bytes > CHUNK_MAX_BYTES)
		return tapir_diag__fail(-EFBIG, "%s has a chunk of more than 256 MB", input->name);
	*data = malloc(bytes);
	if (!*data)
		return -ENOMEM;
	*len = bytes;
	return read_bytes(input, *data, bytes, off);
}

static int import_chunk(struct flight *f, const uint8_t *data, size_t len, bool is_first)
{
	int err = tapir_jfr_chunk__open(&f->j, data, len);

	if (err == -EPROTO && !is_first) {
		f->malformed_cnt++; /* all of it, of which the number is not known */
		err = 0;
	} else if (!err) {
		err = is_first ? begin_recording(f) : 0;
		err = err ? err : write_chunk(f);
	}
	tapir_jfr_chunk__close(&f->j);
	return err;
}

static int import_chunks(struct flight *f, const struct tapir_import_input *input,
			 struct tapir_import_result *out)
{
	uint64_t off = 0;
	int err = 0;

	while (off < input->bytes && !err) {
		tapir_autofree uint8_t *data = NULL;
		size_t len = 0;

		err = load_chunk(input, off, &data, &len);
		if (!err)
			err = import_chunk(f, data, len, !off);
		if (!err)
			off += len;
	}
	if (off && err == -ENODATA) {
		out->tail_bytes = input->bytes - off;
		err = 0;
	}
	if (!off || (err == -EPROTO && !f->sink.w))
		return tapir_diag__fail(-EBADMSG,
					"%s is cut or damaged: its first chunk cannot be read",
					input->name);
	return err;
}

static void put_limits(struct flight *f)
{
	struct tapir_import_sink *s = &f->sink;

	tapir_import_tasks__add_limits(&f->tasks);
	tapir_import_sink__beyond(s, 0, f->events.slots.failed || f->events.texts.failed, "events");
	tapir_import_sink__limit(s, "no waits and no CPU time: a flight recording has no switches");
	tapir_import_sink__limit(s, "samples are of threads in Java code, some of them each time");
	if (f->has_default_period)
		tapir_import_sink__limit(s,
					 "each sample stands for 20 ms: their period is not known");
	tapir_import_sink__limit(s, "no native frames: stacks are of Java code alone");
	if (f->pair_cnt)
		tapir_import_sink__limit(s,
					 "%" PRIu64
					 " events with a begin and an end are two events "
					 "here, of hotspot",
					 f->pair_cnt);
	if (f->has_virtual)
		tapir_import_sink__limit(s, "threads of a number from %u are virtual, or ended",
					 VIRTUAL_TID);
	if (f->loss_cnt)
		tapir_import_sink__limit(s,
					 "the JVM lost %" PRIu64 " bytes of events in %" PRIu64
					 " places: how many events is not known",
					 f->lost_bytes, f->loss_cnt);
	tapir_import_sink__lose(s, TAPIR_LOSS_STREAM_DROP, f->loss_cnt, s->last_ns);
	tapir_import_sink__lose(s, TAPIR_LOSS_MALFORMED, f->malformed_cnt, s->last_ns);
}

static void fini(struct flight *f)
{
	tapir_import_tasks__fini(&f->tasks);
	tapir_jfr_events__fini(&f->events);
	tapir_import_sink__fini(&f->sink);
	tapir_vec__fini(&f->items);
	tapir_map__fini(&f->tids);
	tapir_map__fini(&f->methods);
	tapir_map__fini(&f->stacks);
	tapir_map__fini(&f->named);
	tapir_str__fini(&f->text);
	tapir_str__fini(&f->command);
	free(f);
}

int tapir_import_jfr(const struct tapir_import_input *input, const struct tapir_import_opts *opts,
		     struct tapir_import_result *out)
{
	struct flight *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->opts = opts;
	out->format = "flight recording";
	err = import_chunks(f, input, out);
	if (!err) {
		put_limits(f);
		out->malformed_cnt = f->malformed_cnt;
		memcpy(out->captured, f->sink.captured, sizeof(out->captured));
		err = tapir_import_sink__finish(&f->sink);
	}
	fini(f);
	return err;
}
