/* SPDX-License-Identifier: MIT */
/* logger_impl.h - loggers of the library's own: see provider_impl.h for the rest. */
#ifndef TAPIR_USDT_LOGGER_IMPL_H
#define TAPIR_USDT_LOGGER_IMPL_H

#include "tapir/logger.h"

#pragma GCC visibility push(hidden)

/* The functions of struct provider_session_ops, with the logger's ctx. */
struct logger_choice {
	int (*wants)(void *ctx, struct tapir_event *event);
	void (*leave)(void *ctx, struct tapir_event *event);
};

/* tapir_logger__open; choice: borrowed, NULL: none. */
int logger__open(const struct tapir_selection *selections, uint32_t cnt, tapir_logger_fn fn,
		 void *ctx, const struct tapir_logger_opts *opts,
		 const struct logger_choice *choice, struct tapir_logger **out);

/* Within a logger's function: the event it was called for. */
struct tapir_event *logger__event(void);

#pragma GCC visibility pop

#endif
