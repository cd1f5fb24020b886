/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fault_table.h - the file by which tests/faults/run.py and an instrumented program talk: which
 * call fails, and how often each call site was reached. The program maps it shared, so its children
 * count in the same table. run.py has the same layout in words. The file is named by TAPIR_FAULTS;
 * without it nothing fails.
 */
#ifndef TAPIR_TESTS_FAULT_TABLE_H
#define TAPIR_TESTS_FAULT_TABLE_H

#include <stdint.h>

#define FAULT_ENV	 "TAPIR_FAULTS"
#define FAULT_SITE_CNT	 4096u /* a power of two */
#define FAULT_NAME_BYTES 44
#define FAULT_FRAME_CNT	 12

struct fault_site {
	uint64_t key; /* what was called and where; 0: unused */
	uint64_t called_from;
	uint32_t cnt;
	char name[FAULT_NAME_BYTES]; /* FUNCTION or FILE:LINE FUNCTION */
};

struct fault_table {
	uint64_t key; /* the site that fails; 0: none */
	uint32_t nth; /* at which of its calls, from 1 */
	int32_t err;
	uint32_t fired; /* calls that failed */
	uint32_t full;	/* calls that found no place */
	uint32_t frame_cnt;
	uint32_t pad[1];
	uint64_t frames[FAULT_FRAME_CNT]; /* of the call that failed, innermost first */
	struct fault_site sites[FAULT_SITE_CNT];
};

/* The place of a key, taken if it is new; NULL: the table is full. */
static inline struct fault_site *fault_table__site(struct fault_table *t, uint64_t key)
{
	uint64_t hash = key * 0x9e3779b97f4a7c15ull;

	for (uint32_t i = 0; i < FAULT_SITE_CNT; i++) {
		struct fault_site *site = &t->sites[(uint32_t)((hash >> 32) + i) % FAULT_SITE_CNT];
		uint64_t seen = 0;

		if (__atomic_compare_exchange_n(&site->key, &seen, key, 0, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE) ||
		    seen == key)
			return site;
	}
	__atomic_fetch_add(&t->full, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Counts a call; returns the error it fails with, 0 if it does not. */
static inline int fault_table__call(struct fault_table *t, uint64_t key, uint64_t called_from,
				    const char *name)
{
	struct fault_site *site = fault_table__site(t, key);
	uint32_t nth;

	if (!site)
		return 0;
	nth = __atomic_add_fetch(&site->cnt, 1, __ATOMIC_ACQ_REL);
	if (nth == 1) {
		site->called_from = called_from;
		for (uint32_t i = 0; i + 1 < FAULT_NAME_BYTES && name[i]; i++)
			site->name[i] = name[i];
	}
	if (__atomic_load_n(&t->key, __ATOMIC_ACQUIRE) != key || nth != t->nth)
		return 0;
	__atomic_fetch_add(&t->fired, 1, __ATOMIC_RELAXED);
	return t->err;
}

#endif
