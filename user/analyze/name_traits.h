/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * name_traits.h - remembers what the name of a function implies. A recording has a million stacks
 * and a few thousand names: a table of strings is searched once per name. One thread.
 */
#ifndef TAPIR_USER_NAME_TRAITS_H
#define TAPIR_USER_NAME_TRAITS_H

#include "analyze/stack_tree.h"

struct tapir_name_traits {
	struct tapir_vec(uint8_t) by_name; /* + 1; 0: not judged yet */
};

/* judge(name) of the tree's name of that index: less than 255, and the same at any time. */
static inline uint8_t tapir_name_traits__of(struct tapir_name_traits *known,
					    const struct tapir_stack_tree *tree, uint32_t name,
					    uint8_t (*judge)(const char *name))
{
	while (known->by_name.cnt <= name)
		if (!tapir_vec__add(&known->by_name))
			return judge(tree->names.data[name]);
	if (!known->by_name.data[name])
		known->by_name.data[name] = (uint8_t)(judge(tree->names.data[name]) + 1);
	return known->by_name.data[name] - 1;
}

static inline void tapir_name_traits__fini(struct tapir_name_traits *known)
{
	tapir_vec__fini(&known->by_name);
}

#endif
