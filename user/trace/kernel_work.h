/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_work.h - what KERNEL records count, in words. Data of the kernel on x86-64: its softirqs,
 * and the flags of contention_begin (LCB_F_*). Any thread.
 */
#ifndef TAPIR_USER_KERNEL_WORK_H
#define TAPIR_USER_KERNEL_WORK_H

#include <stdint.h>

#include "base/str.h"
#include "tapir/abi.h"

/* The META entry with the kinds that were counted: names of a list. */
#define TAPIR_META_KERNEL	  "kernel_work"

/* A person asks for any of these: bits. */
#define TAPIR_KERNEL_HAS_FAULTS	  (1u << 0)
#define TAPIR_KERNEL_HAS_IRQS	  (1u << 1)
#define TAPIR_KERNEL_HAS_LOCKS	  (1u << 2)
#define TAPIR_KERNEL_HAS_PRESSURE (1u << 3) /* no record of its own: counters */
#define TAPIR_KERNEL_HAS_ALL	  15u

/* Adds those of a list, "faults,locks". -EINVAL with a line: one of them is none. */
int tapir_kernel_work__choose(const char *list, uint32_t *kinds);
/* Writes the list of kinds. */
void tapir_kernel_work__add_list(struct tapir_str *out, uint32_t kinds);

/* Returns "fault", "irq", "softirq", "vector", "lock"; NULL: not known. */
const char *tapir_kernel_kind__name(unsigned kind);
/*
 * Returns what the number of a record means: "NET_RX", "timer", "mutex", "spin lock"; NULL: it has
 * no name of its own, as a fault and an interrupt, which has one in the record.
 */
const char *tapir_kernel_work__label(unsigned kind, unsigned number);

#endif
