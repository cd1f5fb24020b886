// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An element that is gone may have been sent before or after a reading that still had it: either
 * way the difference to what was taken is what remains.
 */
#include "record/kernel_sums.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"

#define AT_ONCE	  512u /* elements of the table */
#define PERIOD_NS TAPIR_NS_PER_SEC
#define SHARE	  100u /* of the time, reading takes at most one part */

struct tapir_kernel_sums {
	struct tapir_kernel_sums_opts opts;
	struct tapir_map before_by_key; /* value_bytes, by a hash of the key */
	uint64_t last_ns, next_ns;
	char *keys, *values; /* AT_ONCE each */
	bool has_warned;
};

static uint64_t kernel_key_hash(const struct tapir_kernel_sums *k, const void *key)
{
	return tapir_hash__bytes(0, key, k->opts.key_bytes);
}

/* NULL: out of memory. */
static void *before_of(struct tapir_kernel_sums *k, const void *key)
{
	uint64_t *slot = tapir_map__put(&k->before_by_key, kernel_key_hash(k, key), NULL);
	void *before;

	if (!slot || *slot)
		return slot ? (void *)(uintptr_t)*slot : NULL;
	before = calloc(1, k->opts.value_bytes);
	if (before)
		*slot = (uint64_t)(uintptr_t)before;
	else
		tapir_map__del(&k->before_by_key, kernel_key_hash(k, key));
	return before;
}

/* Without memory for it, it is there the next time, or at the end. */
static void report_sum(struct tapir_kernel_sums *k, const void *key, const void *value,
		       uint64_t now_ns)
{
	void *before = before_of(k, key);

	if (before)
		k->opts.fn(k->opts.ctx, key, value, before, now_ns);
}

void tapir_kernel_sums__end(struct tapir_kernel_sums *k, const void *key, const void *value,
			    uint64_t now_ns)
{
	uint64_t *slot;

	report_sum(k, key, value, now_ns);
	slot = tapir_map__get(&k->before_by_key, kernel_key_hash(k, key));
	if (!slot)
		return;
	free((void *)(uintptr_t)*slot);
	tapir_map__del(&k->before_by_key, kernel_key_hash(k, key));
}

static void read_rows(struct tapir_kernel_sums *k, uint64_t now_ns)
{
	for (uint32_t i = 0; i < k->opts.row_cnt; i++) {
		const char *row = (const char *)k->opts.rows + i * k->opts.value_bytes;

		if (*(const volatile uint64_t *)(const void *)row)
			report_sum(k, &i, row, now_ns);
	}
}

/* AT_ONCE elements at a time. 0 or -errno. */
static int read_kernel_maps(struct tapir_kernel_sums *k, uint64_t now_ns)
{
	uint64_t position = 0; /* of the kernel: at least 4 bytes, or a key's */
	bool is_first = true;

	if (k->opts.rows) {
		read_rows(k, now_ns);
		return 0;
	}
	for (;;) {
		uint32_t cnt = AT_ONCE;
		int err = bpf_map_lookup_batch(k->opts.fd, is_first ? NULL : &position, &position,
					       k->keys, k->values, &cnt, NULL)
				  ? -errno
				  : 0;

		if (err && err != -ENOENT)
			return err;
		for (size_t i = 0; i < cnt; i++)
			report_sum(k, k->keys + i * k->opts.key_bytes,
				   k->values + i * k->opts.value_bytes, now_ns);
		if (err)
			return 0;
		is_first = false;
	}
}

void tapir_kernel_sums__poll(struct tapir_kernel_sums *k, uint64_t now_ns, bool must)
{
	uint64_t took_ns;
	int err;

	if (!must && now_ns < k->next_ns)
		return;
	err = read_kernel_maps(k, now_ns);
	took_ns = tapir_clock__now_ns() - now_ns;
	if (err && !k->has_warned)
		tapir_warn("cannot read %s: %s", k->opts.description, tapir_errno__text(err));
	k->has_warned |= err != 0;
	k->last_ns = now_ns;
	k->next_ns = now_ns + (took_ns * SHARE > PERIOD_NS ? took_ns * SHARE : PERIOD_NS);
}

uint64_t tapir_kernel_sums__since_ns(const struct tapir_kernel_sums *k, uint64_t now_ns)
{
	return k->last_ns < now_ns ? k->last_ns : now_ns;
}

struct tapir_kernel_sums *tapir_kernel_sums__new(const struct tapir_kernel_sums_opts *opts)
{
	struct tapir_kernel_sums *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->opts = *opts;
	k->last_ns = tapir_clock__now_ns();
	k->next_ns = k->last_ns + PERIOD_NS;
	k->keys = calloc(AT_ONCE, opts->key_bytes);
	k->values = calloc(AT_ONCE, opts->value_bytes);
	if (k->keys && k->values)
		return k;
	tapir_kernel_sums__free(k);
	return NULL;
}

void tapir_kernel_sums__free(struct tapir_kernel_sums *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->before_by_key.cap; i++)
		if (k->before_by_key.slots[i].used)
			free((void *)(uintptr_t)k->before_by_key.slots[i].value);
	tapir_map__fini(&k->before_by_key);
	free(k->keys);
	free(k->values);
	free(k);
}
