/* SPDX-License-Identifier: GPL-2.0-or-later */
/* human_units.h - numbers as people read them: "1,204,332", "14.2 MB". Any thread. */
#ifndef TAPIR_USER_HUMAN_UNITS_H
#define TAPIR_USER_HUMAN_UNITS_H

#include "base/str.h"
#include "trace/family.h"

/* Appends "1,234,567". */
void tapir_human__add_count(struct tapir_str *out, uint64_t value);
/* Appends "1,234 samples, 1 switch", or "no event and no sample". */
void tapir_human__add_captured(struct tapir_str *out, const uint64_t captured[TAPIR_FAMILY_CNT]);
void tapir_human__add_duration(struct tapir_str *out, uint64_t ns); /* "14.2 s" */
void tapir_human__add_utc(struct tapir_str *out, uint64_t utc_ns);  /* 2026-08-05T10:11:12Z */
/* Appends "12 bytes", "1.5 KB", "173.8 MB"; a KB has 1,000 bytes. */
void tapir_human__add_bytes(struct tapir_str *out, uint64_t bytes);

#endif
