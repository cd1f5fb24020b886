/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * php_process.h - where the engine of a process is: php, php-fpm, or a server's libphp. No state;
 * any thread.
 */
#ifndef TAPIR_USER_PHP_PROCESS_H
#define TAPIR_USER_PHP_PROCESS_H

#include "runtime/php/php_frames.h"
#include "trace/record.h"

/* Returns true for "php8.2", "php-fpm8.2", "libphp8.2.so". */
bool tapir_php__is_path(struct tapir_sv path);

/* Finds the engine. False: the process has none, or not one whose frames can be read. No line. */
bool tapir_php__in(struct tapir_php *out, uint32_t tgid);

#endif
