/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unnamed_frames.h - a run of frames without names in a stack that a person reads: what is known of
 * "libcoreclr.so+0x5d76a3 < libcoreclr.so+0x5d5945" is "libcoreclr.so (2 frames)". Pure.
 */
#ifndef TAPIR_USER_UNNAMED_FRAMES_H
#define TAPIR_USER_UNNAMED_FRAMES_H

#include "base/str.h"
#include "trace/record.h"

/*
 * Returns the module of a frame without a name, as tapir_frame__add_place writes it; empty: it has
 * one.
 */
struct tapir_sv tapir_unnamed_frame__module(const char *name);

/* Returns true if both are without a name, and of one module. */
bool tapir_unnamed_frames__are_alike(const char *name, const char *other);

#endif
