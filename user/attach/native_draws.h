/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * native_draws.h - the distances between samples of allocations, as BPF programs draw them
 * (bpf/native_logic.bpf.h): they have no logarithm. Pure; any thread.
 */
#ifndef TAPIR_USER_NATIVE_DRAWS_H
#define TAPIR_USER_NATIVE_DRAWS_H

#include <stdint.h>

/* Fills TAPIR_NATIVE_DRAWS + 1 quantiles of the exponential distribution with that mean. */
void tapir_native__fill_draws(unsigned long long *draws, uint64_t mean_bytes);

#endif
