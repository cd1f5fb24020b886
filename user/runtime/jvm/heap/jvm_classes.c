// SPDX-License-Identifier: GPL-2.0-or-later
/*
 *  num     #instances         #bytes  class name (module)
 * -------------------------------------------------------
 *    1:          9841         514896  [B (java.base@17.0.15)
 *    2:           300           9600  com.shop.Order
 * Total         20000        1000000
 */
#include "runtime/jvm/heap/jvm_classes.h"

#include <errno.h>
#include <string.h>

#include "base/diag.h"
#include "runtime/jvm/jvm_attach.h"

#define REPLY_MAX (64u << 20)
#define RANK_MAX  8u /* dimensions of an array */

struct line {
	const char *at, *end;
};

static void skip_blanks(struct line *l)
{
	while (l->at < l->end && *l->at == ' ')
		l->at++;
}

static bool take_number(struct line *l, uint64_t *out)
{
	uint64_t value = 0;
	const char *from;

	skip_blanks(l);
	for (from = l->at; l->at < l->end && *l->at >= '0' && *l->at <= '9'; l->at++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*l->at - '0'), &value))
			return false;
	*out = value;
	return l->at > from;
}

void tapir_jvm_classes__add_class(struct tapir_str *out, const char *name, size_t len)
{
	static const char *const primitives[] = {"Bbyte", "Cchar", "Ddouble", "Ffloat",
						 "Iint",  "Jlong", "Sshort",  "Zboolean"};
	size_t rank = 0;

	while (rank < len && rank < RANK_MAX && name[rank] == '[')
		rank++;
	name += rank;
	len -= rank;
	if (rank && len > 2 && name[0] == 'L' && name[len - 1] == ';') {
		tapir_str__add(out, name + 1, len - 2);
	} else if (rank && len == 1) {
		const char *primitive = NULL;

		for (size_t i = 0; i < sizeof(primitives) / sizeof(primitives[0]); i++)
			if (primitives[i][0] == name[0])
				primitive = primitives[i] + 1;
		tapir_str__adds(out, primitive ? primitive : "?");
	} else {
		tapir_str__add(out, name, len);
	}
	while (rank--)
		tapir_str__adds(out, "[]");
}

/* false: not a row. */
static bool take_row(struct line l, struct tapir_str *name, uint64_t *cnt, uint64_t *bytes)
{
	uint64_t rank;
	const char *end;

	if (!take_number(&l, &rank) || l.at == l.end || *l.at++ != ':' || !take_number(&l, cnt) ||
	    !take_number(&l, bytes))
		return false;
	skip_blanks(&l);
	for (end = l.at; end < l.end && (end[0] != ' ' || end + 1 == l.end || end[1] != '(');)
		end++;
	tapir_str__clear(name);
	tapir_jvm_classes__add_class(name, l.at, (size_t)(end - l.at));
	return end > l.at;
}

/* "Total  20000  1000000": all of it arrived, if the sums are the rows'. */
static bool is_total(struct line l, const struct tapir_heap_snapshot *s)
{
	uint64_t cnt, bytes;

	if (l.end - l.at < 5 || memcmp(l.at, "Total", 5))
		return false;
	l.at += 5;
	return take_number(&l, &cnt) && take_number(&l, &bytes) && cnt == s->cnt &&
	       bytes == s->bytes;
}

int tapir_jvm_classes__parse(const char *text, size_t len, struct tapir_heap_snapshot *out)
{
	const char *end = text + len;
	struct tapir_str name = {};
	bool has_total = false;
	int err = 0;

	while (text < end && !err) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		struct line l = {text, newline ? newline : end};
		uint64_t cnt, bytes;

		text = newline ? newline + 1 : end;
		has_total |= is_total(l, out);
		if (take_row(l, &name, &cnt, &bytes) &&
		    (name.failed ||
		     !tapir_heap_snapshot__add_row(out, name.data, name.len, cnt, bytes)))
			err = -ENOMEM;
	}
	tapir_str__fini(&name);
	tapir_heap_snapshot__sort(out);
	return err ? err : has_total && out->rows.cnt ? 0 : -EPROTO;
}

int tapir_jvm_classes__count(uint32_t tgid, uint64_t timeout_ns, struct tapir_heap_snapshot *out)
{
	const struct tapir_jvm_opts opts = {.tgid = tgid,
					    .cancel_fd = -1,
					    .timeout_ns = timeout_ns,
					    .max_reply_bytes = REPLY_MAX};
	static const char *const args[] = {"-live", NULL};
	struct tapir_str reply = {};
	int err = tapir_jvm__command(&opts, "inspectheap", args, &reply);

	if (!err) {
		err = tapir_jvm_classes__parse(reply.data ? reply.data : "", reply.len, out);
		if (err)
			tapir_diag__add("no answer from JVM process %u: its reply is not a class "
					"histogram",
					tgid);
	}
	tapir_str__fini(&reply);
	return err;
}
