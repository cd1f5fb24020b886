/* SPDX-License-Identifier: MIT */
/* spangd.c - a library that publishes thread contexts: general dynamic, by module and offset. */
// build: -mtls-dialect=gnu -DSPAN_PAD=65536 -fPIC -shared
#include "span.h"
