/* SPDX-License-Identifier: MIT */
/* spandesc.c - a library that publishes thread contexts: TLS descriptors. */
// build: -mtls-dialect=gnu2 -DSPAN_PAD=65536 -fPIC -shared
#include "span.h"
