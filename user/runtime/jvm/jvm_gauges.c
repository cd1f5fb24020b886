// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * COUNTER records of what JVMs count themselves (jvm_counters.h): a few values of the heap and the
 * classes once a second, and collections with their cause when they were seen, four times a second.
 * A JVM names the cause of its last collection only: those since the last poll are counted for it.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/vec.h"
#include "runtime/jvm/jvm.h"
#include "runtime/jvm/jvm_counters.h"
#include "runtime/jvm/jvm_ops.h"
#include "trace/recbuf.h"

#define POLL_NS	  250000000u
#define MAX_JVMS  256u
#define MAX_TRIES 40u /* of one that starts and has no file yet: 10 s */

struct jvm {
	uint32_t tgid;
	unsigned try_cnt;
	struct tapir_jvm_counters *counters; /* NULL: not found yet, or gone */
	bool has_ended, is_known;	     /* is_known: last holds values */
	struct tapir_jvm_gauges last;
	uint64_t last_ns, gauges_ns; /* when; and when all of them were stored */
};

struct gauges {
	tapir_runtime_put_fn *put;
	void *ctx;
	struct tapir_vec(struct jvm) jvms;
	struct tapir_recbuf buf;
	uint64_t next_ns;
};

static void *start(tapir_runtime_put_fn *put, void *ctx)
{
	struct gauges *set = calloc(1, sizeof(*set));

	if (set) {
		set->put = put;
		set->ctx = ctx;
	}
	return set;
}

static void stop(void *watch)
{
	struct gauges *set = watch;
	struct jvm *jvm;

	if (!set)
		return;
	tapir_vec_for_each (jvm, &set->jvms)
		tapir_jvm_counters__close(jvm->counters);
	tapir_vec__fini(&set->jvms);
	tapir_recbuf__fini(&set->buf);
	free(set);
}

/* A MAPPING of libjvm.so makes its process one of them. */
static void learn(void *watch, const struct tapir_rec *rec)
{
	struct gauges *set = watch;
	struct tapir_mapping_view view;
	struct jvm *jvm;

	if (rec->type != TAPIR_REC_MAPPING)
		return;
	tapir_mapping_view__of(rec, &view);
	if (!tapir_jvm__is_libjvm_path(view.path.data, view.path.len))
		return;
	tapir_vec_for_each (jvm, &set->jvms)
		if (jvm->tgid == view.rec->tgid && !jvm->has_ended)
			return;
	if (set->jvms.cnt < MAX_JVMS)
		(void)tapir_vec__push(&set->jvms, ((struct jvm){.tgid = view.rec->tgid}));
	set->next_ns = 0;
}

/* ---- values --------------------------------------------------------------------------------- */

struct value {
	const char *name, *unit, *cause;
	enum tapir_counter_kind kind;
	double value;
};

static void put_counter_record(struct gauges *set, const struct jvm *jvm, uint64_t now_ns,
			       const struct value *v)
{
	struct tapir_rec_counter fixed = {
		.h = {.cpu = TAPIR_CPU_UNKNOWN, .time_ns = now_ns},
		.tgid = jvm->tgid,
		.kind = v->kind,
		.value = v->value,
		.interval_ns = v->kind == TAPIR_COUNTER_RATE ? now_ns - jvm->last_ns : 0,
	};
	struct tapir_str tags = {};
	const struct tapir_rec *rec;

	if (v->cause)
		tapir_str__addf(&tags, "cause=%s", *v->cause ? v->cause : "unknown");
	rec = tapir_recbuf__counter(&set->buf, &fixed, tapir_sv__of("hsperfdata"),
				    tapir_sv__of(v->name), tapir_sv__of(v->unit),
				    tapir_sv__of(tags.data ? tags.data : ""));
	if (rec)
		set->put(set->ctx, rec);
	tapir_str__fini(&tags);
}

/* A counter that went back is of another JVM, or a lie: nothing was added. */
static uint64_t added(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void put_collections(struct gauges *set, const struct jvm *jvm,
			    const struct tapir_jvm_gauges *now, uint64_t now_ns)
{
	uint64_t cnt = added(now->gc_cnt, jvm->last.gc_cnt);

	if (!jvm->is_known || !cnt)
		return;
	put_counter_record(
		set, jvm, now_ns,
		&(struct value){"collections", "", now->gc_cause, TAPIR_COUNTER_RATE, (double)cnt});
	put_counter_record(set, jvm, now_ns,
			   &(struct value){"gc-time", "ms", now->gc_cause, TAPIR_COUNTER_RATE,
					   (double)added(now->gc_ns, jvm->last.gc_ns) / 1e6});
}

static void put_gauges(struct gauges *set, const struct jvm *jvm,
		       const struct tapir_jvm_gauges *now, uint64_t now_ns)
{
	const struct value values[] = {
		/*
		 * The time is of the JVM's clock; first, before the old generation, which a
		 * collection fills.
		 */
		{"collection-ended", "ms", NULL, TAPIR_COUNTER_GAUGE,
		 (double)now->gc_ended_ns / 1e6},
		{"old-generation", "By", NULL, TAPIR_COUNTER_GAUGE, (double)now->old_used_bytes},
		{"heap-used", "By", NULL, TAPIR_COUNTER_GAUGE, (double)now->heap_used_bytes},
		{"heap-committed", "By", NULL, TAPIR_COUNTER_GAUGE,
		 (double)now->heap_committed_bytes},
		{"jit-time", "ms", NULL, TAPIR_COUNTER_SUM, (double)now->jit_ns / 1e6},
		{"metaspace", "By", NULL, TAPIR_COUNTER_GAUGE, (double)now->metaspace_bytes},
		{"classes-loaded", "", NULL, TAPIR_COUNTER_SUM, (double)now->class_cnt},
		{"classes-unloaded", "", NULL, TAPIR_COUNTER_SUM, (double)now->unloaded_cnt},
		{"contended-monitor-enters", "", NULL, TAPIR_COUNTER_SUM,
		 (double)now->contended_cnt},
	};

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		put_counter_record(set, jvm, now_ns, &values[i]);
}

/* ---- over time ------------------------------------------------------------------------------ */

static void open_counters(struct jvm *jvm)
{
	int err = tapir_jvm_counters__open(jvm->tgid, &jvm->counters);

	if (err && (err != -ENOENT || ++jvm->try_cnt == MAX_TRIES))
		jvm->has_ended = true;
}

/*
 * The counters stay mapped when the JVM has ended, with their last values: its end is found by
 * kill(2).
 */
static void poll_one(struct gauges *set, struct jvm *jvm, uint64_t now_ns, bool is_last)
{
	struct tapir_jvm_gauges now;

	if (!jvm->counters)
		open_counters(jvm);
	if (!jvm->counters)
		return;
	if (!tapir_jvm_counters__read(jvm->counters, &now)) {
		put_collections(set, jvm, &now, now_ns);
		if (is_last || now_ns - jvm->gauges_ns >= TAPIR_NS_PER_SEC) {
			put_gauges(set, jvm, &now, now_ns);
			jvm->gauges_ns = now_ns;
		}
		jvm->last = now;
		jvm->last_ns = now_ns;
		jvm->is_known = true;
	}
	if (!kill((pid_t)jvm->tgid, 0) || errno != ESRCH)
		return;
	tapir_jvm_counters__close(jvm->counters);
	jvm->counters = NULL;
	jvm->has_ended = true;
}

static uint64_t poll_all(void *watch, uint64_t now_ns, bool is_last)
{
	struct gauges *set = watch;
	struct jvm *jvm;

	if (!set->jvms.cnt)
		return UINT64_MAX;
	if (now_ns < set->next_ns && !is_last)
		return set->next_ns;
	set->next_ns = now_ns + POLL_NS;
	tapir_vec_for_each (jvm, &set->jvms)
		if (!jvm->has_ended)
			poll_one(set, jvm, now_ns, is_last);
	return set->next_ns;
}

const struct tapir_runtime_watch_ops tapir_jvm_watch_ops = {
	.start = start,
	.stop = stop,
	.learn = learn,
	.poll = poll_all,
};
