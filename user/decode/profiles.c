// SPDX-License-Identifier: GPL-2.0-or-later
/* The default profiles, as SPECs. A program that lacks an event is recorded without it. */
#include "decode/profiles.h"

#include <stddef.h>

/* Per-call events (methods, allocations, monitors) cost too much to be a default. */
static const char *const jvm[] = {
	"hotspot:gc__*,mem__pool__gc__*",
	"hotspot:method__compile__*",
	"hotspot:class__loaded,class__unloaded",
	"hotspot:thread__start,thread__stop",
	"hotspot:vmops__*",
	NULL,
};

static const char *const postgresql[] = {
	"postgresql:query__*",
	"postgresql:transaction__*",
	"postgresql:lock__wait__*,deadlock__found",
	NULL,
};

static const char *const cpython[] = {
	"python:gc__*",
	NULL,
};

const struct tapir_profile tapir_profiles[] = {
	{"OpenJDK", jvm},
	{"PostgreSQL", postgresql},
	{"CPython", cpython},
	{NULL, NULL},
};
