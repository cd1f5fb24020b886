/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lttng_provider.c - where the tracepoint of lttng_provider.h is defined. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_provider.h"
