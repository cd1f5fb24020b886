/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * order.h - the order of two rows for qsort, by numbers: <0, 0, >0. The next number decides where
 * those before it are equal, and is not evaluated elsewhere:
 *
 *	return tapir_order__by(tapir_order__down(x->ns, y->ns), strcmp(x->name, y->name));
 */
#ifndef TAPIR_USER_ORDER_H
#define TAPIR_USER_ORDER_H

/* The smaller one first; the larger one first. Each argument is evaluated twice. */
#define tapir_order__up(a, b)	(((a) > (b)) - ((a) < (b)))
#define tapir_order__down(a, b) tapir_order__up(b, a)

/* Two to five orders, the most important one first. */
#define tapir_order__by(...)                                                                       \
	TAPIR_ORDER_PICK(__VA_ARGS__, TAPIR_ORDER_5, TAPIR_ORDER_4, TAPIR_ORDER_3,                 \
			 TAPIR_ORDER_2, )                                                          \
	(__VA_ARGS__)

#define TAPIR_ORDER_PICK(a, b, c, d, e, pick, ...) pick
#define TAPIR_ORDER_2(a, b)			   ((a) ?: (b))
#define TAPIR_ORDER_3(a, ...)			   ((a) ?: TAPIR_ORDER_2(__VA_ARGS__))
#define TAPIR_ORDER_4(a, ...)			   ((a) ?: TAPIR_ORDER_3(__VA_ARGS__))
#define TAPIR_ORDER_5(a, ...)			   ((a) ?: TAPIR_ORDER_4(__VA_ARGS__))

#endif
