/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json.h - a streaming JSON writer over a tapir_str: commas and nesting are its business.
 *
 * Strings may be any bytes of a traced process: what is not UTF-8 is written as U+FFFD, so that the
 * output always parses; what controls a terminal or misleads a reader is escaped. Integers stay
 * exact numbers. Nesting up to 64. Out of memory shows in the string (str.h). One thread.
 */
#ifndef TAPIR_USER_JSON_H
#define TAPIR_USER_JSON_H

#include "base/str.h"

struct tapir_json {
	struct tapir_str *out; /* borrowed */
	uint64_t has_member;   /* bit per depth: the next one needs a comma */
	unsigned depth;
};

static inline struct tapir_json tapir_json__to(struct tapir_str *out)
{
	return (struct tapir_json){.out = out};
}

/*
 * Each writes one value. key is NULL inside an array or at the top, and is a constant or any text:
 * it is escaped as well.
 */
void tapir_json__open(struct tapir_json *j, const char *key, char bracket); /* '{' or '[' */
void tapir_json__close(struct tapir_json *j, char bracket);		    /* '}' or ']' */
void tapir_json__u64(struct tapir_json *j, const char *key, uint64_t value);
void tapir_json__i64(struct tapir_json *j, const char *key, int64_t value);
void tapir_json__f64(struct tapir_json *j, const char *key, double value); /* NaN, Inf: null */
void tapir_json__bool(struct tapir_json *j, const char *key, bool value);
void tapir_json__null(struct tapir_json *j, const char *key);
void tapir_json__str(struct tapir_json *j, const char *key, const char *text); /* NULL: null */
void tapir_json__strn(struct tapir_json *j, const char *key, const char *bytes, size_t len);

/* A document that something else wrote, its characters escaped as this writer escapes them. */
void tapir_json__add_document(struct tapir_str *out, const char *text, size_t len);

#endif
