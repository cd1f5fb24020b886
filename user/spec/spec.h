/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spec.h - how a person names events; one parser for every command and the HTTP API.
 *
 *  SPEC  := [usdt:][/PATH:]PROVIDER[:SEL[:LEVEL[:ARGS]]]
 *  SEL   := [-]ITEM{,[-]ITEM}     ITEM := ev=GLOB | kw=NAME | 0xHEX | WORD
 *  LEVEL := 0..5, its name, all   ARGS := KEY=VALUE{;KEY=VALUE}
 *
 * PROVIDER and event names are shell globs; PATH is compared literally, ':' in it is written '\:'
 * and '\' is written '\\'. SEL and LEVEL may be empty when something follows; kw=all and a LEVEL of
 * all are what an absent one is. A PROVIDER called as another kind of source (tracepoint, uprobe
 * and others) is reached by "usdt:" alone. Pure: nothing is opened, nothing is looked up.
 */
#ifndef TAPIR_USER_SPEC_H
#define TAPIR_USER_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define TAPIR_SPEC_MAX_BYTES 24576
#define TAPIR_SPEC_MAX_ARGS  16383 /* characters of its arguments; a ring lane takes no more */

enum tapir_spec_kind {
	TAPIR_SPEC_WORD, /* a keyword where the provider has one of that name, else an event glob */
	TAPIR_SPEC_EVENT,   /* ev=GLOB */
	TAPIR_SPEC_KEYWORD, /* kw=NAME */
	TAPIR_SPEC_MASK,    /* 0xHEX: keyword bits */
};

struct tapir_spec_item {
	enum tapir_spec_kind kind;
	bool negated;
	char *text;    /* glob or name; the digits for a mask */
	uint64_t mask; /* MASK */
};

struct tapir_spec_arg {
	char *key;
	char *value;
};

struct tapir_spec {
	char *text;	/* as it was given */
	bool is_silent; /* made from another, or replaced by one: no warning if nothing matches it
			 */
	char *path;	/* NULL: any file */
	char *provider;
	struct tapir_vec(struct tapir_spec_item) items;
	int level; /* 0..5; -1: not given, or all */
	struct tapir_vec(struct tapir_spec_arg) args;
};

/*
 * Parses a SPEC; *out is the caller's to free. Each mistake is one line: where, what was expected,
 * an example. -EINVAL, -ENOMEM.
 */
int tapir_spec__parse(const char *text, struct tapir_spec **out);
/* Accepts NULL. */
void tapir_spec__free(struct tapir_spec *spec);
/* Returns what a first word of len bytes means if another kind of source has it, or NULL. */
const char *tapir_spec__reserved(const char *word, size_t len);

/*
 * For probes compiled into a program without libtapir: they have no keywords, so a WORD is an event
 * glob and a positive kw= or 0x item matches nothing. event is compared with and without its
 * version suffix
 * (_V2). path NULL: not compared.
 */
bool tapir_spec__matches(const struct tapir_spec *spec, const char *path, const char *provider,
			 const char *event);
/* The meaning of level 0 and keywords 0 of a SPEC. */
enum tapir_spec_zero {
	TAPIR_SPEC_ZERO_IS_ALL, /* libtapir's providers (tapir/provider.h) */
	/* EventPipe: level 0 LogAlways alone, keywords 0 the events without keywords */
	TAPIR_SPEC_ZERO_IS_NONE,
};

/*
 * Returns true if the SPEC selects such an event, of those that have a level and keywords: of ring
 * lanes, and probes of libtapir.
 */
bool tapir_spec__selects(const struct tapir_spec *spec, enum tapir_spec_zero zero, const char *path,
			 const char *provider, const char *event, uint8_t level, uint64_t keywords);
/* Level 0, or keywords 0: it means less to EventPipe than ETW's users expect. */
bool tapir_spec__has_zero(const struct tapir_spec *spec);
/* Compares the file and provider alone: whether this program is of interest at all. */
bool tapir_spec__matches_provider(const struct tapir_spec *spec, const char *path,
				  const char *provider);

/* The length of an event's name before a version suffix (_V2). */
size_t tapir_spec__plain_len(const char *event, size_t len);

#define TAPIR_SPEC_FAR 7u

/*
 * Returns how probable it is that this event was meant. 0: very likely, TAPIR_SPEC_FAR: no.
 * DTrace's
 * '-' for '__', letter case and small typing errors count as nothing or little.
 */
unsigned tapir_spec__distance(const struct tapir_spec *spec, const char *provider,
			      const char *event);
/* Returns the nearest of these ("provider:event"), borrowed; NULL: none is near. */
const char *tapir_spec__suggest(const struct tapir_spec *spec, const char *const *candidates,
				size_t candidate_cnt);

struct tapir_spec_list tapir_vec(struct tapir_spec *);

/* The reading of an argument as ARGS define it: arg3=strn(arg4). */
struct tapir_spec_capture {
	uint8_t arg;	    /* 0..11 */
	uint8_t field_type; /* enum tapir_field_type: STR, STRN, BLOB, INT, UINT, PTR */
	uint8_t len_arg;    /* STRN, BLOB */
	uint16_t max_bytes; /* STR, STRN, BLOB; 0: the default */
};

/*
 * Reads an argument as a capture. 1: filled; 0: the key names no argument (it is the provider's
 * own); -EINVAL with a line.
 */
int tapir_spec__capture(const struct tapir_spec_arg *arg, struct tapir_spec_capture *out);

#endif
