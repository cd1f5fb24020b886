/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * features.h - what this kernel offers and this user may use, found by trying: no kernel
 * version is ever compared.
 *
 * TAPIR_DISABLE=uprobe_multi,btf,... in the environment switches features off as if the
 * kernel did not have them, so that fallbacks can be tested on any kernel.
 */
#ifndef TAPIR_USER_FEATURES_H
#define TAPIR_USER_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/family.h"

/* X(NAME, "its name in TAPIR_DISABLE and in JSON", "what it is for") */
#define TAPIR_FEATURES(X)                                                                          \
	X(BTF, "btf", "programs adapt to this kernel (CO-RE)")                                     \
	X(RING_BUFFER, "ring_buffer", "records arrive in order through one ring buffer")           \
	X(TASK_STORAGE, "task_storage", "records are built in memory of their thread")             \
	X(SLEEPABLE, "sleepable", "strings are read from pages that are not in memory")            \
	X(UPROBE_MULTI, "uprobe_multi", "many probes are attached and detached at once")           \
	X(UPROBE_SESSION, "uprobe_session", "only the returns are trapped that an entry asks for") \
	X(PERF_UPROBE, "perf_uprobe", "probes are attached one by one, without uprobe_multi")      \
	X(CPU_CLOCK, "cpu_clock", "CPUs are sampled without a hardware counter")

enum tapir_feature_id {
#define TAPIR_X(name, word, text) TAPIR_FEATURE_##name,
	TAPIR_FEATURES(TAPIR_X)
#undef TAPIR_X
		TAPIR_FEATURE_CNT
};

struct tapir_feature {
	bool is_there;
	bool is_disabled; /* by TAPIR_DISABLE */
	int err;	  /* -EPERM, -EACCES: not allowed to find out; else why it is not there, or
			     why that is not known: tapir_feature__is_unknown */
};

struct tapir_features {
	struct tapir_feature by_id[TAPIR_FEATURE_CNT];
};

/*
 * Tries all features, in a few milliseconds. Never fails: what cannot be found out is not there.
 * Any thread.
 */
void tapir_features__probe(struct tapir_features *out);

static inline bool tapir_features__has(const struct tapir_features *f, enum tapir_feature_id id)
{
	return f->by_id[id].is_there;
}

/* Returns false if the kernel lacks a tracepoint that the family's programs run at. Any thread. */
bool tapir_features__can_capture(enum tapir_family_id family);

const char *tapir_feature__name(enum tapir_feature_id id);    /* "uprobe_multi" */
const char *tapir_feature__purpose(enum tapir_feature_id id); /* borrowed, static */
/*
 * Returns true if the test itself failed, for example for lack of a file descriptor: err then says
 * nothing about the kernel.
 */
bool tapir_feature__is_unknown(const struct tapir_feature *feature);
bool tapir_feature__is_disabled(const char *name); /* TAPIR_DISABLE names it */

/*
 * 1: a uprobe_multi link with a pid sees the hits of all threads of the process; 0: of its
 * first thread only (before commit 46ba0e49b642 "bpf: fix multi-uprobe PID filtering logic"),
 * or TAPIR_DISABLE=pid_filter; -errno with a line: it could not be tried. Attaches to this
 * very program for about 50 ms, so ask only when the answer is needed.
 */
int tapir_features__test_pid_filter(void);

#endif
