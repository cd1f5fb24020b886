/* SPDX-License-Identifier: MIT */
/* spanslib.c - spans.c, published by libtapir (tapir/activity.h), which is part of the program. */
// build: -Wl,--export-dynamic-symbol=otel_thread_ctx_v1
#define SPAN_BY_LIBTAPIR
#include "spans.c"
