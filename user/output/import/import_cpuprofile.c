// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * {"nodes": [{id, callFrame: {functionName, url, lineNumber, columnNumber}, children: [id]}],
 * "startTime", "endTime": us, "samples": [id], "timeDeltas": [us since the sample before]}.
 *
 * The format has functions, no addresses: each gets one from the sink.
 */
#include "output/import/import_cpuprofile.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "output/import/import_tasks.h"

#define FILE_MAX_BYTES (256u << 20)
#define NODES_MAX      (4u << 20)
#define PID	       1u /* the format does not say which */
#define TIME_MAX_US    (INT64_MAX / 1000 / 2)
#define CHECK_EVERY    4096u

struct node {
	uint64_t va;
	uint32_t parent; /* index + 1; 0: none */
	bool is_root, is_idle;
};

struct profile {
	json_t *root; /* all of it */
	struct tapir_import_sink sink;
	struct tapir_import_tasks tasks;
	struct tapir_keyed(struct node) nodes; /* by id */
	uint64_t idle_cnt, bad_cnt;
};

/* ---- functions, nodes ------------------------------------------------------------------------ */

/* Adds it as V8 writes it into a perf map: "JS:*name FILE:LINE:COLUMN"; "(program)" stays as it is.
 */
static void add_cpuprofile_name(struct tapir_str *out, const json_t *frame)
{
	const char *name = json_string_value(json_object_get(frame, "functionName"));
	const char *url = json_string_value(json_object_get(frame, "url"));
	long long line = json_integer_value(json_object_get(frame, "lineNumber"));
	long long column = json_integer_value(json_object_get(frame, "columnNumber"));

	if (!url || !*url) {
		tapir_str__adds(out, name && *name ? name : "(anonymous)");
		return;
	}
	tapir_str__addf(out, "JS:*%s %s:%lld:%lld", name ? name : "",
			!strncmp(url, "file://", 7) ? url + 7 : url, line + 1, column + 1);
}

static uint64_t function_va(struct profile *p, const json_t *frame)
{
	struct tapir_str name = {};
	uint64_t va;

	add_cpuprofile_name(&name, frame);
	va = tapir_import_sink__function(&p->sink, PID, &name);
	tapir_str__fini(&name);
	return va;
}

static int add_node(struct profile *p, const json_t *json)
{
	const json_t *frame = json_object_get(json, "callFrame");
	const json_t *id = json_object_get(json, "id");
	const char *name = json_string_value(json_object_get(frame, "functionName"));
	struct node node = {};

	if (!json_is_integer(id) || !json_is_object(frame) || p->nodes.cnt >= NODES_MAX) {
		p->bad_cnt++;
		return 0;
	}
	node.is_root = name && !strcmp(name, "(root)");
	node.is_idle = name && !strcmp(name, "(idle)");
	node.va = node.is_root ? 0 : function_va(p, frame);
	tapir_keyed__forget(&p->nodes, (uint64_t)json_integer_value(id)); /* the last one counts */
	return tapir_keyed__add(&p->nodes, (uint64_t)json_integer_value(id), NODES_MAX, node)
		       ? 0
		       : -ENOMEM;
}

static uint64_t idx_of(const struct profile *p, const json_t *id)
{
	const struct node *node =
		json_is_integer(id) ? tapir_keyed__get(&p->nodes, (uint64_t)json_integer_value(id))
				    : NULL;

	return node ? (uint64_t)(node - p->nodes.data) + 1 : 0;
}

/* A child has one parent; the first that names it counts. */
static void add_children(struct profile *p, const json_t *json)
{
	const json_t *children = json_object_get(json, "children");
	uint64_t parent = idx_of(p, json_object_get(json, "id"));

	for (size_t i = 0; i < json_array_size(children); i++) {
		uint64_t child = idx_of(p, json_array_get(children, i));

		if (parent && child && !p->nodes.data[child - 1].parent)
			p->nodes.data[child - 1].parent = (uint32_t)parent;
		else
			p->bad_cnt++;
	}
}

static int read_nodes(struct profile *p)
{
	const json_t *nodes = json_object_get(p->root, "nodes");
	int err = 0;

	for (size_t i = 0; i < json_array_size(nodes) && !err; i++)
		err = add_node(p, json_array_get(nodes, i));
	for (size_t i = 0; i < json_array_size(nodes) && !err; i++)
		add_children(p, json_array_get(nodes, i));
	return err;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Parents may name each other in a circle: the number of frames ends that. */
static uint64_t put_stack(struct profile *p, uint64_t idx, uint64_t ns)
{
	uint64_t frames[TAPIR_MAX_FRAMES];
	unsigned cnt = 0;

	for (; idx && cnt < TAPIR_MAX_FRAMES; idx = p->nodes.data[idx - 1].parent)
		if (p->nodes.data[idx - 1].va)
			frames[cnt++] = p->nodes.data[idx - 1].va;
	return tapir_import_sink__stack(&p->sink, frames, cnt, idx ? TAPIR_STACK_MORE : 0,
					idx ? TAPIR_STACK_END_MORE : TAPIR_STACK_END_WHOLE, ns);
}

static void put_sample(struct profile *p, uint64_t idx, uint64_t ns, uint64_t period_ns)
{
	struct tapir_rec_sample rec = {.tgid = PID, .tid = PID, .period = period_ns};

	if (!idx) {
		p->bad_cnt++;
		return;
	}
	if (p->nodes.data[idx - 1].is_idle) {
		p->idle_cnt++;
		return;
	}
	rec.stack_id = put_stack(p, idx, ns);
	tapir_rec__init(&rec.h, TAPIR_REC_SAMPLE, sizeof(rec), ns);
	rec.h.cpu = TAPIR_CPU_UNKNOWN;
	tapir_import_sink__put(&p->sink, &rec.h);
}

static uint64_t us_of(const json_t *number)
{
	double us = json_number_value(number);

	return us > 0 && us < (double)TIME_MAX_US ? (uint64_t)us : 0;
}

/* A sample stands for the time until the next one. */
static int put_samples(struct profile *p, const struct tapir_import_opts *opts)
{
	const json_t *samples = json_object_get(p->root, "samples");
	const json_t *deltas = json_object_get(p->root, "timeDeltas");
	uint64_t us = us_of(json_object_get(p->root, "startTime"));

	for (size_t i = 0; i < json_array_size(samples) && !p->sink.err; i++) {
		uint64_t next_us = us_of(json_array_get(deltas, i + 1));
		int err = i % CHECK_EVERY ? 0 : opts->check(opts->ctx);

		if (err)
			return err;
		us += us_of(json_array_get(deltas, i));
		if (us > TIME_MAX_US)
			us = TIME_MAX_US;
		put_sample(p, idx_of(p, json_array_get(samples, i)), us * 1000, next_us * 1000);
	}
	return p->sink.err;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void describe_process(struct profile *p, uint64_t utc_ns)
{
	struct tapir_import_sink *s = &p->sink;
	struct tapir_rec_clock clock = {.utc_ns = utc_ns, .boot_ns = s->first_ns};

	tapir_rec__init(&clock.h, TAPIR_REC_CLOCK, sizeof(clock), s->first_ns);
	tapir_import_sink__describe(s, &clock.h);
	tapir_import_sink__meta(s, TAPIR_META_IMPORTED, "cpuprofile");
	tapir_import_sink__meta(s, "sample_event", "cpu-clock");
	tapir_import_tasks__name(&p->tasks, PID, PID, "javascript", strlen("javascript"), false,
				 s->first_ns);
}

static void put_limits(struct profile *p)
{
	struct tapir_import_sink *s = &p->sink;

	tapir_import_sink__limit(s, "no waits, no events, one thread: a profile of V8 has samples "
				    "alone");
	tapir_import_sink__limit(s, "the process has no name and no number");
	if (p->idle_cnt)
		tapir_import_sink__limit(s,
					 "%" PRIu64 " samples found the thread idle, and are "
					 "left out",
					 p->idle_cnt);
	tapir_import_sink__limit(s, "native functions are one, (program)");
	tapir_import_sink__limit(s, "the time of day is that of the file");
	tapir_import_sink__lose(s, TAPIR_LOSS_MALFORMED, p->bad_cnt, s->last_ns);
}

static int write_cpuprofile_records(struct profile *p, struct tapir_writer *w, uint64_t first_ns,
				    uint64_t utc_ns, const struct tapir_import_opts *opts,
				    struct tapir_import_result *out)
{
	int err = tapir_import_sink__init(&p->sink, w, first_ns);

	p->tasks.sink = &p->sink;
	if (err)
		return err;
	describe_process(p, utc_ns);
	err = read_nodes(p);
	if (!err)
		err = put_samples(p, opts);
	if (err)
		return err;
	put_limits(p);
	out->malformed_cnt = p->bad_cnt;
	memcpy(out->captured, p->sink.captured, sizeof(out->captured));
	return tapir_import_sink__finish(&p->sink);
}

static int import(struct profile *p, const struct tapir_import_input *input,
		  const struct tapir_import_opts *opts, struct tapir_import_result *out)
{
	uint64_t first_us = us_of(json_object_get(p->root, "startTime"));
	uint64_t last_us = us_of(json_object_get(p->root, "endTime"));
	uint64_t length_ns = last_us > first_us ? (last_us - first_us) * 1000 : 0;
	uint64_t utc_ns = input->changed_ns > length_ns ? input->changed_ns - length_ns : 0;
	struct tapir_writer *w;
	int err;

	if (!json_is_array(json_object_get(p->root, "nodes")) ||
	    !json_is_array(json_object_get(p->root, "samples")))
		return tapir_diag__fail(
			-EBADMSG, "%s is no profile of V8: it lacks nodes or samples", input->name);
	err = opts->open(opts->ctx, first_us * 1000, utc_ns, &w);
	return err ? err : write_cpuprofile_records(p, w, first_us * 1000, utc_ns, opts, out);
}

static int parse_json(const struct tapir_import_input *input, json_t **out)
{
	tapir_autofree char *text = NULL;
	json_error_t error;
	int64_t got;

	if (input->bytes > FILE_MAX_BYTES)
		return tapir_diag__fail(-EFBIG, "%s is larger than 256 MB", input->name);
	text = malloc(input->bytes + 1);
	if (!text)
		return -ENOMEM;
	got = tapir_import_input__read((void *)input, text, input->bytes, 0);
	if (got < 0)
		return tapir_import__fail(input, (int)got, "", "");
	*out = json_loadb(text, (size_t)got, 0, &error);
	return *out ? 0
		    : tapir_diag__fail(-EBADMSG, "%s is cut or damaged: no JSON in line %d",
				       input->name, error.line);
}

int tapir_import_cpuprofile(const struct tapir_import_input *input,
			    const struct tapir_import_opts *opts, struct tapir_import_result *out)
{
	struct profile p = {};
	int err = parse_json(input, &p.root);

	if (!err)
		err = import(&p, input, opts, out);
	tapir_import_tasks__fini(&p.tasks);
	tapir_import_sink__fini(&p.sink);
	tapir_keyed__fini(&p.nodes);
	json_decref(p.root);
	return err;
}
