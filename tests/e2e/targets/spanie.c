/* SPDX-License-Identifier: MIT */
/* spanie.c - a library that publishes thread contexts: initial-exec. */
// build: -ftls-model=initial-exec -fPIC -shared
#include "span.h"
