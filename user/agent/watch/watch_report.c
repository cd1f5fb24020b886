// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Copies of slots as text. All metrics of one answer are made from one set of copies, so that they
 * agree. Names of processes and counters are the processes' own, and are escaped.
 */
#include "agent/watch/watch_report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attach/proc.h"
#include "attach/proc_usage.h"
#include "base/json.h"
#include "tapir/abi.h"
#include "agent/watch/usage_report.h"

/* ---- metrics -------------------------------------------------------------------------------- */

/* The source of a metric's value: a counter of this runtime. */
struct source {
	const char *provider, *name;
	bool is_total;	   /* all that was added, not the newest value */
	double scale;	   /* to the unit of the metric */
	const char *label; /* in addition to the process; NULL: none */
	const char *less;  /* a counter that this one contains; NULL: none */
};

#define CLR "System.Runtime"
#define JVM "hsperfdata"

#define ADDED(provider, name, scale)                                                               \
	{                                                                                          \
		provider, name, true, scale, NULL, NULL                                            \
	}
#define NEWEST(provider, name, scale)                                                              \
	{                                                                                          \
		provider, name, false, scale, NULL, NULL                                           \
	}

struct metric {
	const char *name, *type, *description;
	struct source sources[5]; /* a process has those of its runtime */
};

static const struct metric metrics[] = {
	{"gc_collections_total",
	 "counter",
	 "Garbage collections; of .NET by the oldest generation they collected.",
	 {{CLR, "gen-0-gc-count", true, 1, "generation=\"0\"", "gen-1-gc-count"},
	  {CLR, "gen-1-gc-count", true, 1, "generation=\"1\"", "gen-2-gc-count"},
	  {CLR, "gen-2-gc-count", true, 1, "generation=\"2\"", NULL},
	  ADDED(JVM, "collections", 1)}},
	{"gc_time_seconds_total",
	 "counter",
	 "Time for which garbage collections stopped the program.",
	 {ADDED(CLR, "total-pause-time-by-gc", 1e-3), ADDED(JVM, "gc-time", 1e-3)}},
	{"heap_bytes",
	 "gauge",
	 "Managed heap in use.",
	 {NEWEST(CLR, "gc-heap-size", 1e6), NEWEST(JVM, "heap-used", 1)}},
	{"allocated_bytes_total",
	 "counter",
	 "Bytes allocated on the managed heap.",
	 {ADDED(CLR, "alloc-rate", 1)}},
	{"exceptions_total", "counter", "Exceptions thrown.", {ADDED(CLR, "exception-count", 1)}},
	{"lock_contentions_total",
	 "counter",
	 "Attempts to enter a monitor that another thread held.",
	 {ADDED(CLR, "monitor-lock-contention-count", 1),
	  NEWEST(JVM, "contended-monitor-enters", 1)}},
	{"jit_methods_total",
	 "counter",
	 "Methods compiled since the runtime started.",
	 {NEWEST(CLR, "methods-jitted-count", 1)}},
	{"jit_time_seconds_total",
	 "counter",
	 "Time spent in the compiler.",
	 {ADDED(CLR, "time-in-jit", 1e-3), NEWEST(JVM, "jit-time", 1e-3)}},
	{"threadpool_threads",
	 "gauge",
	 "Threads of the thread pool.",
	 {NEWEST(CLR, "threadpool-thread-count", 1)}},
	{"threadpool_queue_length",
	 "gauge",
	 "Work items that wait for a thread of the pool.",
	 {NEWEST(CLR, "threadpool-queue-length", 1)}},
	{"threadpool_completed_items_total",
	 "counter",
	 "Work items that threads of the pool completed.",
	 {ADDED(CLR, "threadpool-completed-items-count", 1)}},
};

/* Copies of all processes, the same for every metric. */
struct heads {
	size_t cnt;
	struct tapir_watch_head all[TAPIR_WATCH_MAX_PROCESSES];
	char labels[TAPIR_WATCH_MAX_PROCESSES][TAPIR_USAGE_LABELS_BYTES];
};

/* The sum over its tags: a JVM's collections are counted by their cause. False: it has none. */
static bool watched_sum(const struct tapir_watch_head *head, const struct source *source,
			const char *name, double *out)
{
	bool has_any = false;

	*out = 0;
	for (size_t i = 0; i < head->counter_cnt; i++) {
		const struct tapir_watch_counter *c = &head->counters[i];

		if (strcmp(c->name, name) != 0 || strcmp(c->provider, source->provider) != 0)
			continue;
		*out += (source->is_total ? c->total : c->last.value) * source->scale;
		has_any = true;
	}
	return has_any;
}

static bool watched_value(const struct tapir_watch_head *head, const struct source *source,
			  double *out)
{
	double less = 0;

	if (!watched_sum(head, source, source->name, out))
		return false;
	if (source->less && watched_sum(head, source, source->less, &less))
		*out = *out > less ? *out - less : 0;
	return true;
}

static void begin_metric(struct tapir_str *out, const char *name, const char *type,
			 const char *description)
{
	tapir_str__addf(out, "# HELP tapir_runtime_%s %s\n# TYPE tapir_runtime_%s %s\n", name,
			description, name, type);
}

static void write_metric(const struct metric *m, const struct heads *heads, struct tapir_str *out)
{
	double value;

	begin_metric(out, m->name, m->type, m->description);
	for (size_t h = 0; h < heads->cnt; h++)
		for (const struct source *s = m->sources; s->name; s++)
			if (watched_value(&heads->all[h], s, &value))
				tapir_str__addf(out, "tapir_runtime_%s{%s%s%s} %.15g\n", m->name,
						heads->labels[h], s->label ? "," : "",
						s->label ? s->label : "", value);
}

/* Writes the usage of the processes, read now: a slot is released when its process ends. */
static void write_usage(const struct heads *heads, struct tapir_str *out)
{
	struct tapir_proc_usage usage[TAPIR_WATCH_MAX_PROCESSES];
	bool is_known[TAPIR_WATCH_MAX_PROCESSES];

	for (size_t h = 0; h < heads->cnt; h++)
		is_known[h] = !tapir_proc_usage__read((uint32_t)heads->all[h].pid, &usage[h]);
	begin_metric(out, "cpu_seconds_total", "counter", "CPU time of the process.");
	for (size_t h = 0; h < heads->cnt; h++)
		if (is_known[h])
			tapir_str__addf(out, "tapir_runtime_cpu_seconds_total{%s} %.15g\n",
					heads->labels[h], (double)usage[h].cpu_ns / 1e9);
	begin_metric(out, "resident_memory_bytes", "gauge", "Resident memory of the process.");
	for (size_t h = 0; h < heads->cnt; h++)
		if (is_known[h])
			tapir_str__addf(out, "tapir_runtime_resident_memory_bytes{%s} %llu\n",
					heads->labels[h],
					(unsigned long long)usage[h].resident_bytes);
}

/* Writes the pauses of .NET: a JVM has no single pauses that could be read at no cost. */
static void write_pauses(const struct heads *heads, struct tapir_str *out)
{
	static const char name[] = "gc_pause_seconds";

	begin_metric(out, name, "histogram", "Single pauses for garbage collections of .NET.");
	for (size_t h = 0; h < heads->cnt; h++) {
		const struct tapir_watch_head *head = &heads->all[h];
		uint64_t sum = 0;
		double ignored;

		if (!watched_value(head, &(struct source)NEWEST(CLR, "gc-heap-size", 1), &ignored))
			continue;
		for (size_t i = 0; i < TAPIR_WATCH_BUCKETS; i++) {
			double bound = tapir_watch_bucket__seconds(i);
			char text[24] = "+Inf";

			/*
			 * Prometheus's buckets are cumulative: each has what is at most its bound.
			 */
			sum += head->pause_buckets[i];
			if (isfinite(bound))
				snprintf(text, sizeof(text), "%g", bound);
			tapir_str__addf(out, "tapir_runtime_%s_bucket{%s,le=\"%s\"} %llu\n", name,
					heads->labels[h], text, (unsigned long long)sum);
		}
		tapir_str__addf(out,
				"tapir_runtime_%s_sum{%s} %.9g\ntapir_runtime_%s_count{%s} %llu\n",
				name, heads->labels[h], (double)head->pause_ns / 1e9, name,
				heads->labels[h], (unsigned long long)sum);
	}
}

static void write_watched(const struct tapir_watch_shm *page, const struct heads *heads,
			  struct tapir_str *out)
{
	begin_metric(out, "watched_processes", "gauge", "Processes whose runtimes are watched.");
	tapir_str__addf(out, "tapir_runtime_watched_processes %zu\n", heads->cnt);
	begin_metric(out, "unwatched_processes_total", "counter",
		     "Processes that found no room: more than the agent watches at once.");
	tapir_str__addf(out, "tapir_runtime_unwatched_processes_total %llu\n",
			(unsigned long long)page->more_processes);
	begin_metric(out, "watch_lost_total", "counter", "Records lost while watching.");
	tapir_str__addf(out, "tapir_runtime_watch_lost_total %llu\n",
			(unsigned long long)page->lost_cnt);
	begin_metric(out, "watch_cpu_seconds_total", "counter",
		     "CPU time of the process that watches.");
	tapir_str__addf(out, "tapir_runtime_watch_cpu_seconds_total %.9g\n",
			(double)page->cpu_ns / 1e9);
}

void tapir_watch_report__metrics(const struct tapir_watch_shm *page, struct tapir_str *out)
{
	struct heads *heads = malloc(sizeof(*heads));

	if (!heads) {
		out->failed = true;
		return;
	}
	heads->cnt = 0;
	for (size_t i = 0; i < TAPIR_WATCH_MAX_PROCESSES; i++) {
		if (!tapir_watch_shm__copy(page, i, &heads->all[heads->cnt]))
			continue;
		tapir_usage_report__labels((uint32_t)heads->all[heads->cnt].pid,
					   heads->all[heads->cnt].name, heads->labels[heads->cnt]);
		heads->cnt++;
	}
	for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++)
		write_metric(&metrics[i], heads, out);
	write_usage(heads, out);
	write_pauses(heads, out);
	write_watched(page, heads, out);
	free(heads);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static bool is_requested(const struct tapir_watch_query *query, uint64_t pid)
{
	for (size_t i = 0; i < query->pids->cnt; i++)
		if (query->pids->data[i] == pid)
			return true;
	return !query->pids->cnt;
}

int tapir_watch_report__has(const struct tapir_watch_shm *page,
			    const struct tapir_watch_query *query)
{
	size_t found = 0;

	for (size_t i = 0; i < TAPIR_WATCH_MAX_PROCESSES; i++) {
		const struct tapir_watch_head *head = &page->slots[i].head;

		if (!head->pid || !is_requested(query, head->pid))
			continue;
		if (query->started_ms &&
		    !tapir_proc__is_same_start(query->started_ms, head->started_ms))
			return -EEXIST;
		found++;
	}
	return found >= query->pids->cnt;
}

static void write_points(struct tapir_json *j, const struct tapir_watch_point *points, size_t cnt,
			 const char *value)
{
	for (size_t i = 0; i < cnt; i++) {
		tapir_json__open(j, NULL, '{');
		tapir_json__u64(j, "utc_ms", points[i].utc_ms);
		tapir_json__f64(j, value, points[i].value);
		tapir_json__close(j, '}');
	}
}

struct writing {
	const struct tapir_watch_shm *page;
	const struct tapir_watch_query *query;
	struct tapir_json j;
	struct tapir_watch_head head;
	struct tapir_watch_point points[TAPIR_WATCH_MAX_POINTS];
};

static uint64_t since_ms(const struct tapir_watch_query *query)
{
	return query->now_utc_ms > query->history_ms ? query->now_utc_ms - query->history_ms : 0;
}

static void write_counter(struct writing *w, size_t slot, size_t at)
{
	static const char *const kinds[] = {"gauge", "rate", "sum"};
	const struct tapir_watch_counter *c = &w->head.counters[at];
	char unit[32];

	snprintf(unit, sizeof(unit), "%s%s", c->unit, c->kind == TAPIR_COUNTER_RATE ? "/s" : "");
	tapir_json__open(&w->j, NULL, '{');
	tapir_json__u64(&w->j, "pid", w->head.pid);
	tapir_json__str(&w->j, "provider", c->provider);
	tapir_json__str(&w->j, "name", c->name);
	tapir_json__str(&w->j, "unit", *unit ? unit : NULL);
	tapir_json__str(&w->j, "tags", *c->tags ? c->tags : NULL);
	tapir_json__str(&w->j, "kind", c->kind < 3 ? kinds[c->kind] : NULL);
	tapir_json__f64(&w->j, "last", c->last.value);
	tapir_json__u64(&w->j, "utc_ms", c->last.utc_ms);
	if (w->query->history_ms) {
		tapir_json__open(&w->j, "points", '[');
		write_points(&w->j, w->points,
			     tapir_watch_shm__points(w->page, slot, &w->head, at,
						     since_ms(w->query), w->points),
			     "value");
		tapir_json__close(&w->j, ']');
	}
	tapir_json__close(&w->j, '}');
}

static void write_process(struct writing *w, size_t slot)
{
	const struct tapir_watch_head *head = &w->head;

	for (size_t i = 0; i < head->counter_cnt; i++)
		if (!w->query->name || tapir_glob__match(w->query->name, head->counters[i].name))
			write_counter(w, slot, i);
}

/* A process of the page: a description, and its pauses. */
static void write_pauses_of(struct writing *w, size_t slot)
{
	tapir_json__open(&w->j, NULL, '{');
	tapir_json__u64(&w->j, "pid", w->head.pid);
	tapir_json__str(&w->j, "name", w->head.name);
	tapir_json__u64(&w->j, "started", w->head.started_ms);
	tapir_json__u64(&w->j, "more_counters", w->head.more_counters);
	tapir_json__u64(&w->j, "pause_count", w->head.pause_cnt);
	tapir_json__f64(&w->j, "pause_ms", (double)w->head.pause_ns / 1e6);
	if (w->query->history_ms) {
		tapir_json__open(&w->j, "pauses", '[');
		write_points(&w->j, w->points,
			     tapir_watch_shm__pauses(w->page, slot, &w->head, since_ms(w->query),
						     w->points),
			     "ms");
		tapir_json__close(&w->j, ']');
	}
	tapir_json__close(&w->j, '}');
}

static void write_watched_processes(struct writing *w, const char *key,
				    void (*write)(struct writing *w, size_t slot))
{
	tapir_json__open(&w->j, key, '[');
	for (size_t i = 0; i < TAPIR_WATCH_MAX_PROCESSES; i++)
		if (is_requested(w->query, w->page->slots[i].head.pid) &&
		    tapir_watch_shm__copy(w->page, i, &w->head))
			write(w, i);
	tapir_json__close(&w->j, ']');
}

void tapir_watch_report__counters(const struct tapir_watch_shm *page,
				  const struct tapir_watch_query *query, struct tapir_str *out)
{
	struct writing *w = malloc(sizeof(*w));

	if (!w) {
		out->failed = true;
		return;
	}
	w->page = page;
	w->query = query;
	w->j = tapir_json__to(out);
	tapir_json__open(&w->j, NULL, '{');
	tapir_json__bool(&w->j, "watched", true);
	write_watched_processes(w, "processes", write_pauses_of);
	write_watched_processes(w, "counters", write_process);
	tapir_json__close(&w->j, '}');
	free(w);
}
