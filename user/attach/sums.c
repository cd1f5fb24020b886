// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hash is read by batches of buckets, which the kernel does not split: one that does not fit
 * wants a larger buffer (-ENOSPC). No element is ever deleted, so each is met once.
 */
#include "attach/sums.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/file.h"

#define BATCH_BYTES (256u << 10)

struct reading {
	const struct tapir_sums_sink *sink;
	struct tapir_sums_opts opts;
	unsigned cpu_cnt;
};

static int fail_sums(int err)
{
	return tapir_diag__fail(err, "cannot read what the kernel has added up: %s",
				tapir_errno__text(-err));
}

enum element_kind { OF_ROWS, OF_STEPS, OF_TEXTS };

static void deliver_element(const struct reading *r, const void *key, const uint8_t *value,
			    size_t value_bytes, enum element_kind kind)
{
	struct tapir_sums_key whole = {};
	uint64_t cnt = 0;

	if (kind == OF_TEXTS) {
		r->sink->text(r->sink->ctx, *(const uint64_t *)(const void *)value, key);
		return;
	}
	memcpy(&whole, key, TAPIR_SUMS_KEY_BYTES(r->opts.key_cnt));
	if (kind == OF_ROWS) {
		r->sink->row(r->sink->ctx, &whole, (const void *)value, value_bytes, r->cpu_cnt);
		return;
	}
	for (unsigned i = 0; i < r->cpu_cnt; i++)
		cnt += *(const uint64_t *)(const void *)(value + i * value_bytes);
	if (cnt)
		r->sink->step(r->sink->ctx, &whole, cnt);
}

/* ---- a hash ----------------------------------------------------------------------------- */

struct batch {
	uint32_t slot, next; /* where the kernel continues */
	uint32_t cnt;
	uint8_t *keys, *values;
};

static int make_batch_room(struct batch *b, uint32_t cnt, size_t key_bytes, size_t value_bytes)
{
	free(b->keys);
	free(b->values);
	b->keys = calloc(cnt, key_bytes);
	b->values = calloc(cnt, value_bytes);
	b->cnt = cnt;
	return b->keys && b->values ? 0 : -ENOMEM;
}

static int read_batches(const struct reading *r, int fd, size_t value_bytes, enum element_kind kind,
			struct batch *b)
{
	size_t key_bytes = kind == OF_TEXTS ? sizeof(struct tapir_sums_text)
					    : TAPIR_SUMS_KEY_BYTES(r->opts.key_cnt);
	size_t all = value_bytes * (kind == OF_TEXTS ? 1 : r->cpu_cnt);
	int err = make_batch_room(b, BATCH_BYTES / (uint32_t)all + 16, key_bytes, all);
	bool is_first = true, is_last = false;

	while (!err && !is_last) {
		uint32_t cnt = b->cnt;

		if (bpf_map_lookup_batch(fd, is_first ? NULL : &b->slot, &b->next, b->keys,
					 b->values, &cnt, NULL)) {
			/*
			 * A bucket of the kernel's hash is copied whole or not at all: the buffer
			 * was smaller than this one.
			 */
			if (errno == ENOSPC) {
				err = make_batch_room(b, 2 * b->cnt, key_bytes, all);
				continue;
			}
			/* ENOENT is the end of the table, and comes with the last elements. */
			if (errno != ENOENT)
				return fail_sums(-errno);
			is_last = true;
		}
		for (uint32_t i = 0; i < cnt; i++)
			deliver_element(r, b->keys + i * key_bytes, b->values + i * all,
					value_bytes, kind);
		b->slot = b->next;
		is_first = false;
	}
	return err;
}

static int read_hash(const struct reading *r, int fd, size_t value_bytes, enum element_kind kind)
{
	struct batch b = {};
	int err = read_batches(r, fd, value_bytes, kind, &b);

	free(b.keys);
	free(b.values);
	return err;
}

/* ---- without keys ----------------------------------------------------------------------- */

/* The steps of a column by CPU; *out is the caller's to free. */
static int copy_steps(const struct reading *r, int fd, uint32_t column, uint64_t **out)
{
	uint64_t *values = calloc((size_t)r->cpu_cnt * TAPIR_STEP_CNT, 8);

	if (!values)
		return -ENOMEM;
	if (bpf_map_lookup_elem(fd, &column, values)) {
		free(values);
		return fail_sums(-errno);
	}
	*out = values;
	return 0;
}

static void deliver_steps(const struct reading *r, uint32_t column, const uint64_t *values)
{
	uint16_t first = (uint16_t)(1 + column * TAPIR_STEP_CNT);

	for (uint32_t i = 0; i < TAPIR_USED_STEPS; i++) {
		const struct tapir_sums_key key = {.step = (uint16_t)(first + i)};

		deliver_element(r, &key, (const uint8_t *)&values[i],
				TAPIR_STEP_CNT * sizeof(*values), OF_STEPS);
	}
}

/* Counts the hits of a row whose histogram has all of them. */
static void count_by_steps(const struct reading *r, const uint64_t *steps, uint8_t *rows,
			   size_t row_bytes)
{
	for (unsigned cpu = 0; cpu < r->cpu_cnt; cpu++, rows += row_bytes) {
		struct tapir_sums_row *row = (void *)rows;

		row->cnt = row->columns[0].below;
		for (uint32_t i = 0; i < TAPIR_USED_STEPS; i++)
			row->cnt += steps[cpu * TAPIR_STEP_CNT + i];
	}
}

static int read_row(const struct reading *r, const struct tapir_sums_fds *fds)
{
	size_t row_bytes = TAPIR_SUMS_ROW_BYTES(r->opts.column_cnt);
	tapir_autofree uint8_t *values = calloc(r->cpu_cnt, row_bytes);
	const struct tapir_sums_key key = {};
	uint32_t zero = 0;

	if (!values)
		return -ENOMEM;
	if (bpf_map_lookup_elem(fds->row, &zero, values))
		return fail_sums(-errno);
	for (uint32_t i = 0; r->opts.has_steps && i < r->opts.column_cnt; i++) {
		tapir_autofree uint64_t *steps = NULL;
		int err = copy_steps(r, fds->steps, i, &steps);

		if (err)
			return err;
		if (tapir_sums_opts__count_by_steps(&r->opts))
			count_by_steps(r, steps, values, row_bytes);
		if (r->sink->step)
			deliver_steps(r, i, steps);
	}
	deliver_element(r, &key, values, row_bytes, OF_ROWS);
	return 0;
}

int tapir_sums__read(const struct tapir_programs *p, const struct tapir_sums_sink *sink,
		     struct tapir_sums_state *state)
{
	const struct tapir_sums_fds fds = tapir_programs__sums_fds(p);
	int cpu_cnt = libbpf_num_possible_cpus(), err;
	struct reading r = {.sink = sink, .opts = fds.opts, .cpu_cnt = (unsigned)cpu_cnt};
	uint32_t zero = 0;

	if (cpu_cnt < 0)
		return fail_sums(cpu_cnt);
	if (bpf_map_lookup_elem(fds.state, &zero, state))
		return fail_sums(-errno);
	if (!fds.opts.key_cnt)
		return read_row(&r, &fds);
	err = read_hash(&r, fds.texts, sizeof(uint64_t), OF_TEXTS);
	if (!err)
		err = read_hash(&r, fds.rows, TAPIR_SUMS_ROW_BYTES(fds.opts.column_cnt), OF_ROWS);
	if (!err && fds.opts.has_steps)
		err = read_hash(&r, fds.row_steps, sizeof(uint64_t), OF_STEPS);
	/* The state is read again: a hit that found no room while rows were read is in none. */
	if (!err && bpf_map_lookup_elem(fds.state, &zero, state))
		err = fail_sums(-errno);
	return err;
}

static void add_cnt(void *ctx, const struct tapir_sums_key *key, const struct tapir_sums_row *rows,
		    size_t stride, unsigned cpu_cnt)
{
	uint64_t *sum = ctx;

	(void)key;
	for (unsigned i = 0; i < cpu_cnt; i++) {
		const void *row = (const uint8_t *)rows + i * stride;

		*sum += ((const struct tapir_sums_row *)row)->cnt;
	}
}

int tapir_sums__count(const struct tapir_programs *p, uint64_t *cnt)
{
	const struct tapir_sums_fds fds = tapir_programs__sums_fds(p);
	const struct tapir_sums_sink sink = {.row = add_cnt, .ctx = cnt};
	int cpu_cnt = libbpf_num_possible_cpus(), mark = tapir_diag__cnt(), err;
	struct reading r = {.sink = &sink, .opts = fds.opts, .cpu_cnt = (unsigned)cpu_cnt};
	struct tapir_sums_state state = {};
	uint32_t zero = 0;

	if (cpu_cnt < 0)
		return cpu_cnt;
	if (bpf_map_lookup_elem(fds.state, &zero, &state))
		return -errno;
	*cnt = state.unkeyed;
	err = fds.opts.key_cnt
		      ? read_hash(&r, fds.rows, TAPIR_SUMS_ROW_BYTES(fds.opts.column_cnt), OF_ROWS)
		      : read_row(&r, &fds);
	tapir_diag__rewind(mark);
	return err;
}
