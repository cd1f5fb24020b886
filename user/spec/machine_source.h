/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine_source.h - sources that are no provider's events:
 *
 *  tracepoint:CATEGORY:NAME{,NAME} | syscall:NAME{,NAME}
 *  uprobe:FILE:SYMBOL | uretprobe:FILE:SYMBOL | ufunc:FILE:SYMBOL
 *  kprobe:FUNCTION{,FUNCTION} | kretprobe:FUNCTION{,FUNCTION} | kfunc:FUNCTION{,FUNCTION}
 *  perf:EVENT{,EVENT}[@PERIOD] | timer:HZ
 *
 * CATEGORY and NAME are shell globs. FILE is the path that a process maps, or the beginning of its
 * name, which '.' or '-' ends: libc. A ':' in it is written '\:'. SYMBOL is the remaining
 * text. Pure: nothing is resolved.
 */
#ifndef TAPIR_USER_MACHINE_SOURCE_H
#define TAPIR_USER_MACHINE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum tapir_machine_kind {
	TAPIR_MACHINE_TRACEPOINT,
	TAPIR_MACHINE_SYSCALL,
	TAPIR_MACHINE_UPROBE,	 /* a function begins */
	TAPIR_MACHINE_URETPROBE, /* it returns */
	TAPIR_MACHINE_PERF,	 /* each time a CPU has counted PERIOD of an event */
	TAPIR_MACHINE_TIMER,	 /* the clock of a CPU */
	TAPIR_MACHINE_KPROBE,	 /* a function of the kernel begins */
	TAPIR_MACHINE_KRETPROBE, /* it returns */
	TAPIR_MACHINE_UFUNC,	 /* a function, from its begin to its return */
	TAPIR_MACHINE_KFUNC,	 /* the same of the kernel: events of the two kinds above */
};

/* Provider names of such events; a tracepoint's category follows its word. */
#define TAPIR_TRACEPOINT_WORD "tracepoint:"
#define TAPIR_SYSCALL_WORD    "syscall"
#define TAPIR_PERF_WORD	      "perf"
#define TAPIR_TIMER_WORD      "timer"
#define TAPIR_KPROBE_WORD     "kprobe"
#define TAPIR_KRETPROBE_WORD  "kretprobe"
#define TAPIR_UFUNC_WORD      "ufunc:"
#define TAPIR_TIMER_MAX_HZ    20000u

/* The return from a function of ufunc is an event SYMBOL followed by this. */
#define TAPIR_UFUNC_RETURN    " return"
#define TAPIR_UFUNC_FRAME     "frame" /* the argument by which both find each other */

struct tapir_machine_source {
	char *text; /* as it was given */
	enum tapir_machine_kind kind;
	char *category; /* of a tracepoint; else NULL */
	char *file;	/* of a function; else NULL */
	char *names;	/* globs, with ',' between them; of a function its symbol */
	uint64_t rate;	/* PERIOD, 0: not given; HZ */
};

struct tapir_machine_source_list tapir_vec(struct tapir_machine_source *);

/* Returns true if a text is such a source by its first word, well-formed or not. */
bool tapir_machine_source__is_one(const char *text);
/* Parses a text; *out is the caller's to free. -EINVAL with a line, -ENOMEM. */
int tapir_machine_source__parse(const char *text, struct tapir_machine_source **out);
/* Accepts NULL. */
void tapir_machine_source__free(struct tapir_machine_source *source);

/* Returns true if the source is a function of this file. */
bool tapir_machine_source__is_of_file(const struct tapir_machine_source *source, const char *path);
/* Returns true for uprobe, uretprobe and ufunc. */
bool tapir_machine_source__is_function(const struct tapir_machine_source *source);
#define TAPIR_FUNCTION_PROVIDER_BYTES 512
/* Returns true for ufunc and kfunc: each call is an interval. */
bool tapir_machine_source__is_call(const struct tapir_machine_source *source);
/* The same of a text, well-formed or not. */
bool tapir_machine_source__means_calls(const char *text);
/* Writes the provider name of its events: "uprobe:libc". */
void tapir_machine_source__provider(const struct tapir_machine_source *source, char *out,
				    size_t out_bytes);

/* Returns true if it includes an event of this name, of a tracepoint's category. */
bool tapir_machine_source__has_name(const struct tapir_machine_source *source, const char *name);
/*
 * The same by the names in an event's PROBE record: how events of a file are selected by the source
 * as it was written.
 */
bool tapir_machine_source__matches(const struct tapir_machine_source *source, const char *provider,
				   const char *event);

#endif
