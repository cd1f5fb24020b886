/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_async_types.h - which objects of a .NET heap are suspended async methods, and what such a
 * method can await, by the names of their types (heap_events.h). A nested type comes without the
 * one around it. Names are chosen by the traced process: any bytes. Any thread.
 */
#ifndef TAPIR_USER_HEAP_ASYNC_TYPES_H
#define TAPIR_USER_HEAP_ASYNC_TYPES_H

#include "base/str.h"

enum tapir_heap_async_kind {
	TAPIR_HEAP_ASYNC_OTHER,
	TAPIR_HEAP_ASYNC_METHOD,   /* the box of a state machine: the method's task, too */
	TAPIR_HEAP_ASYNC_STEP,	   /* a state machine that is a class, separate from its box */
	TAPIR_HEAP_ASYNC_TASK,	   /* what is awaited and is no method */
	TAPIR_HEAP_ASYNC_COMBINED, /* a task that ends with others */
	TAPIR_HEAP_ASYNC_LINK,	   /* lies between a task and what continues after it */
	TAPIR_HEAP_ASYNC_SEMAPHORE,
	TAPIR_HEAP_ASYNC_SOURCE /* completes a task: a TaskCompletionSource */
};

struct tapir_heap_async_type {
	const char *pattern; /* a glob over the type's name */
	enum tapir_heap_async_kind kind;
	const char *awaited_text; /* is awaited: "a delay"; NULL: nothing */
};

/* name may be NULL. The result is static; of kind OTHER if the name is none of these. */
const struct tapir_heap_async_type *tapir_heap_async_type__of(const char *name);
/* Appends "Shop.Orders.Pay (async)" for the type of a method's box; its name, if it has no such
 * form. */
void tapir_heap_async_type__add_method(struct tapir_str *out, const char *name);
/* Returns true if the box of that name is the one of this state machine. */
bool tapir_heap_async_type__is_step_of(const char *step, const char *box);

#endif
