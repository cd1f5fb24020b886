/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ruby_process.h - where the virtual machine of a process is: ruby, or its library. No state; any
 * thread.
 */
#ifndef TAPIR_USER_RUBY_PROCESS_H
#define TAPIR_USER_RUBY_PROCESS_H

#include "runtime/ruby/ruby_frames.h"
#include "trace/record.h"

/* Returns true for "ruby3.1", "libruby-3.1.so.3.1.2". */
bool tapir_ruby__is_path(struct tapir_sv path);

/*
 * Finds the virtual machine. False: the process has none, or not one whose frames can be read. No
 * line.
 */
bool tapir_ruby__in(struct tapir_ruby *out, uint32_t tgid);

#endif
