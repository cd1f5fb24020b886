// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The thresholds. A finding weighs `low` when it just counts and `high` from `severe` on; between
 * them in proportion. What stops a program weighs most, what slows it down next, what only uses a
 * CPU least: a busy CPU may be what the program is for. A wait for another end of a connection may
 * be a wait for work, as an await may be; no thread waits for a disk to get work. Slow requests are
 * a symptom: a cause that explains them is worth more. Neighbours come and go: what a program does
 * itself, or loses permanently, is worth more than what they take.
 */
#include "diagnose/found.h"

#include <stdlib.h>
#include <string.h>

static const struct threshold {
	const char *name, *title, *unit, *view;
	double least, severe; /* magnitude */
	double low, high;     /* severity */
} thresholds[] = {
	[TAPIR_FOUND_DEADLOCK] = {"deadlock", "deadlock", "threads", "contention", 2, 2, 100, 100},
	[TAPIR_FOUND_STARVATION] = {"starvation", "blocked thread pool", "threads", "threadpool", 1,
				    8, 70, 97},
	[TAPIR_FOUND_REQUESTS] = {"requests", "slow requests", "ms", "slow", 100, 2000, 30, 55},
	[TAPIR_FOUND_LOCKS] = {"locks", "waits for locks", "threads", "contention", 0.1, 2, 30, 86},
	[TAPIR_FOUND_LOOP] = {"event-loop", "blocked event loop", "%", "cpu", 5, 60, 50, 87},
	[TAPIR_FOUND_LOOP_BUSY] = {"busy-loop", "busy event loop", "%", "cpu", 40, 100, 36, 70},
	[TAPIR_FOUND_LOOP_SYNC] = {"synchronous-calls", "synchronous calls of an event loop", "%",
				   "cpu", 5, 50, 28, 35},
	[TAPIR_FOUND_EXCEPTIONS] = {"exceptions", "many exceptions", "1/s", "exceptions", 20, 2000,
				    25, 78},
	[TAPIR_FOUND_GC] = {"gc", "garbage collection", "%", "gc", 5, 40, 32, 88},
	[TAPIR_FOUND_INDUCED_GC] = {"induced-gc", "collections that are asked for", "1/s", "gc", 1,
				    20, 50, 88},
	[TAPIR_FOUND_HEAP] = {"heap-growth", "growing heap", "MB/s", "gc", 1, 50, 45, 82},
	[TAPIR_FOUND_MEMORY] = {"memory-growth", "growing memory", "MB/s", "memory", 2, 100, 38,
				74},
	[TAPIR_FOUND_HUMONGOUS] = {"humongous", "very large objects", "1/s", "gc", 1, 20, 50, 86},
	[TAPIR_FOUND_CLASSES] = {"class-growth", "growing number of classes", "1/s", "counters",
				 100, 5000, 45, 89},
	[TAPIR_FOUND_DOING] = {"cpu-purpose", "purpose of the CPU time", "%", "cpu", 15, 90, 40,
			       60},
	[TAPIR_FOUND_PROCESSES] = {"processes", "many processes are started", "1/s", "cpu", 10, 400,
				   46, 58},
	[TAPIR_FOUND_CONNECTIONS] = {"connections", "many connections are opened", "1/s", "cpu", 10,
				     400, 51, 60},
	[TAPIR_FOUND_THREADS] = {"threads", "many threads are started", "1/s", "offcpu", 50, 2000,
				 40, 84},
	[TAPIR_FOUND_THREAD_GROWTH] = {"thread-growth", "growing number of threads", "1/s",
				       "stacks", 5, 200, 46, 74},
	[TAPIR_FOUND_THROWING] = {"exception-cpu", "CPU time of exceptions", "%", "cpu", 10, 60, 46,
				  78},
	[TAPIR_FOUND_FINALIZER] = {"finalizer", "stuck finalizer", "s", "gc", 1, 4, 84, 90},
	[TAPIR_FOUND_TIMERS] = {"timers", "CPU time of timers", "%", "cpu", 10, 40, 50, 66},
	[TAPIR_FOUND_JIT] = {"jit", "compilation", "%", "jit", 20, 60, 35, 76},
	[TAPIR_FOUND_CPU] = {"cpu", "CPU use", "CPUs", "cpu", 0.1, 1, 20, 45},
	[TAPIR_FOUND_QUOTA] = {"quota", "CPU quota", "%", "offcpu", 5, 50, 60, 94},
	[TAPIR_FOUND_NEIGHBOUR] = {"neighbour", "waits for a CPU", "%", "offcpu", 8, 80, 10, 50},
	[TAPIR_FOUND_WORKERS] = {"busy-pool", "busy thread pool", "threads", "stacks", 1.5, 16, 22,
				 50},
	[TAPIR_FOUND_WAITS] = {"waits", "waits for others", "threads", "offcpu", 0.5, 4, 20, 48},
	[TAPIR_FOUND_DISK] = {"disk", "waits for a disk", "threads", "offcpu", 0.2, 2, 30, 60},
	[TAPIR_FOUND_CHECKPOINTS] = {"checkpoints", "frequent checkpoints", "1/min",
				     "slow=postgresql:checkpoint", 12, 120, 58, 87},
	[TAPIR_FOUND_FILE_SORTS] = {"file-sorts", "sorts in temporary files", "1/s",
				    "slow=postgresql:sort", 0.3, 10, 48, 66},
	[TAPIR_FOUND_STATEMENTS] = {"statements", "many short statements", "1/s",
				    "slow=postgresql:query", 400, 10000, 49, 64},
	[TAPIR_FOUND_IDLE_SESSIONS] = {"idle-transactions", "idle transactions", "s", "stacks", 1,
				       60, 24, 52},
	[TAPIR_FOUND_HEADERS] = {"trace-headers", "headers that the recording added", "requests",
				 "slow", 1, 1, 3, 3},
	[TAPIR_FOUND_AWAITS] = {"awaits", "awaits", "awaits", "offcpu", 0.5, 14, 5, 44},
	[TAPIR_FOUND_UNTIMED] = {"untimed-requests", "requests of unknown duration", "requests",
				 "offcpu", 1, 1, 4, 4},
	[TAPIR_FOUND_IDLE] = {"idle", "little CPU use", "%", "offcpu", 85, 100, 1, 2},
};

const char *tapir_found__kind_name(unsigned kind)
{
	return kind < TAPIR_FOUND_KIND_CNT ? thresholds[kind].name : "";
}

const char *tapir_found__unit(unsigned kind)
{
	return kind < TAPIR_FOUND_KIND_CNT ? thresholds[kind].unit : "";
}

const char *tapir_found__title(unsigned kind)
{
	return kind < TAPIR_FOUND_KIND_CNT ? thresholds[kind].title : "";
}

const char *tapir_found__level(double severity)
{
	static const struct {
		double from;
		const char *name;
	} levels[] = {{70, "critical"}, {50, "serious"}, {20, "moderate"}, {0, "minor"}};
	size_t i = 0;

	while (severity < levels[i].from)
		i++;
	return levels[i].name;
}

bool tapir_found__counts(enum tapir_found_kind kind, double magnitude)
{
	return magnitude >= thresholds[kind].least;
}

static double severity_of(const struct threshold *t, double magnitude)
{
	double above = magnitude - t->least, range = t->severe - t->least;
	double share = range > 0 && above < range ? above / range : 1;

	return t->low + (t->high - t->low) * share;
}

static char *take(struct tapir_found_list *list, struct tapir_str *text)
{
	char *data = text ? text->data : NULL;

	list->failed |= text && text->failed;
	if (text)
		*text = (struct tapir_str){};
	return data;
}

static char *copy(struct tapir_found_list *list, const char *text)
{
	char *data = text ? strdup(text) : NULL;

	list->failed |= text && !data;
	return data;
}

static void fini_one(struct tapir_found *found)
{
	free(found->subject);
	free(found->text);
	free(found->evidence);
	free(found->view);
}

void tapir_found_list__add(struct tapir_found_list *list, enum tapir_found_kind kind,
			   double magnitude, const char *subject, struct tapir_str *text,
			   struct tapir_str *evidence, const char *view)
{
	const struct threshold *t = &thresholds[kind];
	struct tapir_found found = {.kind = kind,
				    .severity = severity_of(t, magnitude),
				    .magnitude = magnitude,
				    .subject = copy(list, subject),
				    .text = take(list, text),
				    .evidence = take(list, evidence),
				    .view = copy(list, view ? view : t->view)};

	if (found.text && tapir_found__counts(kind, magnitude) &&
	    tapir_vec__push(&list->rows, found))
		return;
	list->failed |= !found.text || tapir_found__counts(kind, magnitude);
	fini_one(&found);
}

static int by_severity(const void *a, const void *b)
{
	const struct tapir_found *x = a, *y = b;

	if (x->severity != y->severity)
		return x->severity < y->severity ? 1 : -1;
	return (int)x->kind - (int)y->kind;
}

void tapir_found_list__rank(struct tapir_found_list *list)
{
	if (list->rows.cnt)
		qsort(list->rows.data, list->rows.cnt, sizeof(*list->rows.data), by_severity);
}

void tapir_found_list__fini(struct tapir_found_list *list)
{
	struct tapir_found *found;

	tapir_vec_for_each (found, &list->rows)
		fini_one(found);
	tapir_vec__fini(&list->rows);
}
