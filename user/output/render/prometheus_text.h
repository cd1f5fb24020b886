/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prometheus_text.h - Prometheus's text format as families of samples, for otlp_metrics. One
 * thread.
 */
#ifndef TAPIR_USER_PROMETHEUS_TEXT_H
#define TAPIR_USER_PROMETHEUS_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"

#define TAPIR_FIGURE_MAX_LABELS 32

struct tapir_figure_label {
	const char *key, *value;
};

enum tapir_figure_part {
	TAPIR_FIGURE_VALUE,
	TAPIR_FIGURE_BUCKET,
	TAPIR_FIGURE_SUM,
	TAPIR_FIGURE_COUNT
};

struct tapir_figure {
	enum tapir_figure_part part;
	struct tapir_figure_label *labels; /* without le */
	unsigned label_cnt;
	uint64_t key; /* of the labels: the same, the same point */
	double bound; /* of a bucket */
	double value;
};

struct tapir_figure_family {
	const char *name, *help;
	bool is_counter, is_histogram; /* neither: a gauge */
	size_t first, cnt;	       /* of its figures */
};

struct tapir_metric_list {
	struct tapir_arena arena; /* has all texts */
	struct tapir_vec(struct tapir_figure_family) families;
	struct tapir_vec(struct tapir_figure) all;
	uint64_t malformed_cnt; /* lines */
	bool failed;		/* out of memory */
};

/* text: any. */
void tapir_metric_list__parse(struct tapir_metric_list *f, const char *text);
void tapir_metric_list__fini(struct tapir_metric_list *f);

#endif
