/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vec.h - a growable array of any element type, as macros over { T *data; size_t cnt, cap; }.
 *
 *	struct tapir_vec(struct tapir_site) sites = {};
 *	struct tapir_site *s = tapir_vec__add(&sites);   // zeroed, NULL when out of memory
 *	tapir_vec_for_each (s, &sites) ...
 *	tapir_vec__fini(&sites);
 *
 * Adding may move the elements: keep indexes, not pointers, across an add. One thread at a time for
 * each vector.
 */
#ifndef TAPIR_USER_VEC_H
#define TAPIR_USER_VEC_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define tapir_vec(type)                                                                            \
	{                                                                                          \
		type *data;                                                                        \
		size_t cnt, cap;                                                                   \
	}

static inline void *tapir_vec__add_raw(void **data, size_t *cnt, size_t *cap, size_t elem_bytes)
{
	if (*cnt == *cap) {
		size_t want = *cap ? *cap * 2 : 8;
		void *grown = reallocarray(*data, want, elem_bytes);

		if (!grown)
			return NULL;
		*data = grown;
		*cap = want;
	}
	return memset((char *)*data + (*cnt)++ * elem_bytes, 0, elem_bytes);
}

#define tapir_vec__add(v)                                                                          \
	((__typeof__((v)->data))tapir_vec__add_raw((void **)&(v)->data, &(v)->cnt, &(v)->cap,      \
						   sizeof(*(v)->data)))

/*
 * True if the value was added; false: out of memory. (0 or -ENOMEM is too coarse to be worth a
 * code.)
 */
#define tapir_vec__push(v, value)                                                                  \
	({                                                                                         \
		__typeof__((v)->data) tapir_slot_ = tapir_vec__add(v);                             \
		if (tapir_slot_)                                                                   \
			*tapir_slot_ = (value);                                                    \
		tapir_slot_ != NULL;                                                               \
	})

/* An empty one has data NULL, to which nothing may be added. */
#define tapir_vec_for_each(it, v)                                                                  \
	for ((it) = (v)->data; (it) && (it) < (v)->data + (v)->cnt; (it)++)

/* The index of the first element, among cnt sorted by member, whose member is greater than key. */
#define tapir_sorted__upper_bound(elems, cnt, member, key)                                         \
	({                                                                                         \
		size_t tapir_low_ = 0, tapir_high_ = (cnt);                                        \
		while (tapir_low_ < tapir_high_) {                                                 \
			size_t tapir_mid_ = tapir_low_ + (tapir_high_ - tapir_low_) / 2;           \
			if ((elems)[tapir_mid_].member <= (key))                                   \
				tapir_low_ = tapir_mid_ + 1;                                       \
			else                                                                       \
				tapir_high_ = tapir_mid_;                                          \
		}                                                                                  \
		tapir_low_;                                                                        \
	})

#define tapir_vec__fini(v)                                                                         \
	do {                                                                                       \
		free((v)->data);                                                                   \
		(v)->data = NULL;                                                                  \
		(v)->cnt = (v)->cap = 0;                                                           \
	} while (0)

/* Lists that rooms hand to one another. */
struct tapir_pids tapir_vec(uint32_t);
struct tapir_words tapir_vec(const char *); /* borrowed texts */

#endif
