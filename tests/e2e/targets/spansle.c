/* SPDX-License-Identifier: MIT */
/* spansle.c - spans.c with the publisher in the program itself: local-exec. */
// build: -Wl,--export-dynamic-symbol=otel_thread_ctx_v1
#define SPAN_HERE
#include "spans.c"
