/* SPDX-License-Identifier: MIT */
/* ring_state.c - what is known of this process's lane, for all modules. */
#include "ring_impl.h"

uint32_t ring_closed_gate = RING_SHUT;
struct ring_process ring_process = {.ctl_fd = -1, .gate = &ring_closed_gate};
