// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The format of a dump (src/java.base/share/classes/jdk/internal/vm/ThreadDumper.java), of JDK 21
 * and then of 25, which has the state of a thread and what it waits for:
 *
 *	#28 "name" virtual
 *	      java.base/java.lang.VirtualThread.park(VirtualThread.java:596)
 *	      Shop.take(Shop.java:4)
 *
 *	#34 "name" virtual WAITING 2026-11-30T19:43:00.566534281Z
 *	    at java.base/java.lang.VirtualThread.park(VirtualThread.java:742)
 *	    - parking to wait for <java.util.concurrent.Semaphore$NonfairSync@7f0ef7f7>
 *	    at Shop.take(Shop.java:4)
 *
 * A name may hold anything; the JVM's own words are behind the last quotation mark of a line.
 */
#include "runtime/jvm/heap/jvm_virtual.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/app_code.h"
#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/order.h"
#include "runtime/jvm/heap/jvm_file.h"
#include "runtime/jvm/jvm_attach.h"

#define MAX_DUMP_BYTES (512u << 20)
#define MAX_STACKS     65536u
#define TIMEOUT_NS     (60 * TAPIR_NS_PER_SEC)

/* ---- the dump ------------------------------------------------------------------------------- */

static struct tapir_sv next_line(struct tapir_sv *text)
{
	const char *end = text->len ? memchr(text->data, '\n', text->len) : NULL;
	struct tapir_sv line = {text->data, end ? (size_t)(end - text->data) : text->len};
	size_t used = line.len + (end != NULL);

	text->data += used;
	text->len -= used;
	return line;
}

static void skip(struct tapir_sv *text, size_t cnt)
{
	text->data += cnt;
	text->len -= cnt;
}

bool tapir_jvm_virtual__next_frame(struct tapir_sv *text, struct tapir_sv *frame)
{
	while (text->len) {
		struct tapir_sv line = next_line(text);
		const char *module;

		while (line.len && *line.data == ' ')
			skip(&line, 1);
		if (tapir_sv__starts_with(line, "at "))
			skip(&line, 3);
		if (!line.len || *line.data == '-')
			continue;
		/* "java.base/", "app//": a hidden class has another one behind its name. */
		module = memchr(line.data, '/', line.len);
		if (module && !memchr(line.data, '(', (size_t)(module - line.data)) &&
		    !memchr(line.data, '$', (size_t)(module - line.data)))
			skip(&line, (size_t)(module - line.data));
		while (line.len && *line.data == '/')
			skip(&line, 1);
		*frame = line;
		return true;
	}
	return false;
}

/* Finds what the JVM says behind a thread's name. False: no thread begins there. */
static bool is_thread(struct tapir_sv line, struct tapir_sv *words)
{
	size_t at = line.len;

	if (line.len < 2 || *line.data != '#' || line.data[1] < '0' || line.data[1] > '9')
		return false;
	while (at && line.data[at - 1] != '"')
		at--;
	if (!at)
		return false;
	*words = (struct tapir_sv){line.data + at, line.len - at};
	return true;
}

/* Takes the lines of a stack: those that begin with blanks. */
static struct tapir_sv take_stack(struct tapir_sv *text)
{
	struct tapir_sv stack = {text->data, 0};

	for (unsigned i = 0; text->len && *text->data == ' '; i++) {
		(void)next_line(text);
		if (i < TAPIR_JVM_VIRTUAL_FRAMES)
			stack.len = (size_t)(text->data - stack.data);
	}
	return stack;
}

/* JDK 25 says the state; before, one that waits is in a function of that name. */
static bool is_parked(struct tapir_sv state, struct tapir_sv stack)
{
	struct tapir_sv frame;

	if (state.len)
		return tapir_sv__starts_with(state, " WAITING") ||
		       tapir_sv__starts_with(state, " TIMED_WAITING") ||
		       tapir_sv__starts_with(state, " BLOCKED");
	return tapir_jvm_virtual__next_frame(&stack, &frame) &&
	       tapir_sv__starts_with(frame, "java.lang.VirtualThread.park");
}

static uint64_t stack_key(struct tapir_sv stack)
{
	struct tapir_sv frame;
	uint64_t key = 1;

	while (tapir_jvm_virtual__next_frame(&stack, &frame))
		key = tapir_hash__mix(tapir_hash__bytes(key, frame.data, frame.len), frame.len);
	return key;
}

static void add_thread(struct tapir_jvm_virtual *v, struct tapir_sv state, struct tapir_sv text)
{
	struct tapir_jvm_virtual_stack *stack =
		tapir_keyed__add(&v->stacks, stack_key(text), MAX_STACKS,
				 ((struct tapir_jvm_virtual_stack){.text = text}));
	bool waits = is_parked(state, text);

	v->cnt++;
	v->parked_cnt += waits;
	if (!stack)
		return;
	stack->cnt++;
	stack->parked_cnt += waits;
}

static int by_cnt(const void *a, const void *b)
{
	const struct tapir_jvm_virtual_stack *x = a, *y = b;

	return tapir_order__by(tapir_order__down(x->cnt, y->cnt),
			       tapir_order__up((uintptr_t)x->text.data, (uintptr_t)y->text.data));
}

int tapir_jvm_virtual__parse(const char *dump, size_t len, struct tapir_jvm_virtual *out)
{
	static const char word[] = " virtual";
	struct tapir_sv text = {dump, len}, words;
	bool has_threads = false;

	*out = (struct tapir_jvm_virtual){};
	while (text.len) {
		if (!is_thread(next_line(&text), &words))
			continue;
		has_threads = true;
		if (!tapir_sv__starts_with(words, word))
			continue;
		skip(&words, sizeof(word) - 1);
		add_thread(out, words, take_stack(&text));
	}
	if (out->stacks.failed || !has_threads) {
		tapir_jvm_virtual__fini(out);
		return has_threads ? -ENOMEM : -EPROTO;
	}
	tapir_keyed__sort(&out->stacks, by_cnt);
	return 0;
}

void tapir_jvm_virtual__fini(struct tapir_jvm_virtual *v)
{
	tapir_keyed__fini(&v->stacks);
}

/* ---- the table ------------------------------------------------------------------------------ */

struct chains {
	struct tapir_str all, own, called;
};

static void add_frame(struct tapir_str *out, struct tapir_sv frame)
{
	tapir_str__adds(out, out->len ? " < " : "");
	tapir_str__add_printable(out, frame.data, frame.len);
}

static bool is_own(struct tapir_sv frame)
{
	char name[256];

	tapir_sv__copy(frame, name, sizeof(name));
	return !tapir_app_code__is_library(name);
}

/* "java.lang.Thread.sleep" of "java.lang.Thread.sleep(Thread.java:540)". */
static struct tapir_sv without_place(struct tapir_sv frame)
{
	const char *end = frame.len ? memchr(frame.data, '(', frame.len) : NULL;

	return (struct tapir_sv){frame.data, end ? (size_t)(end - frame.data) : frame.len};
}

/* The function of a library that the program's code called is what it waits in. */
static void read_chains(struct tapir_sv text, struct chains *out)
{
	struct tapir_sv frame, called = {};

	while (tapir_jvm_virtual__next_frame(&text, &frame)) {
		add_frame(&out->all, frame);
		if (is_own(frame))
			add_frame(&out->own, frame);
		else if (!out->own.len)
			called = frame;
	}
	if (out->own.len)
		add_frame(&out->called, without_place(called));
}

static void add_row(struct tapir_view_result *out, size_t table,
		    const struct tapir_jvm_virtual_stack *stack)
{
	struct chains chains = {};

	read_chains(stack->text, &chains);
	tapir_view_result__u64(out, table, stack->cnt);
	tapir_view_result__u64(out, table, stack->parked_cnt);
	tapir_view_result__text(out, table, chains.called.len ? chains.called.data : NULL);
	tapir_view_result__text(out, table, chains.all.data);
	tapir_view_result__text(out, table, chains.own.len ? chains.own.data : chains.all.data);
	out->failed |= chains.all.failed || chains.own.failed || chains.called.failed;
	tapir_str__fini(&chains.all);
	tapir_str__fini(&chains.own);
	tapir_str__fini(&chains.called);
}

static void add_tables(const struct tapir_jvm_virtual *v, uint64_t top,
		       struct tapir_view_result *out)
{
	static const struct tapir_column columns[] = {
		{"count", "COUNT", TAPIR_CELL_COUNT},
		{"parked", "PARKED", TAPIR_CELL_COUNT},
		{"waits_in", "WAITS IN", TAPIR_CELL_TEXT},
		{"methods", NULL, TAPIR_CELL_TEXT},
		{"own_methods", "METHODS, innermost first", TAPIR_CELL_TEXT},
		{}};
	size_t table = tapir_view_result__table(out, "suspended", NULL, columns);

	tapir_view_result__fact(out, "virtual_threads", NULL, TAPIR_CELL_COUNT, v->cnt);
	tapir_view_result__fact(out, "parked", NULL, TAPIR_CELL_COUNT, v->parked_cnt);
	for (size_t i = 0; i < v->stacks.cnt && i < top; i++)
		add_row(out, table, &v->stacks.data[i]);
	tapir_view_result__note_top(out, NULL, top, v->stacks.cnt);
	tapir_view_result__beyond(out, v->stacks.more, false, "virtual threads");
}

static void add_headline(uint32_t tgid, const struct tapir_jvm_virtual *v,
			 struct tapir_view_result *out)
{
	struct tapir_thread leader;

	if (!tapir_thread__read(tgid, tgid, &leader)) {
		tapir_str__add_printable(&out->headline, leader.comm, strlen(leader.comm));
		tapir_str__addf(&out->headline, " (%u): ", tgid);
	}
	tapir_str__addf(&out->headline,
			"%" PRIu64 " virtual threads, of which %" PRIu64 " are parked", v->cnt,
			v->parked_cnt);
}

/* ---- the JVM -------------------------------------------------------------------------------- */

/* JDKs before 21 have no such command. */
static int refuse_older(uint32_t tgid, int mark, int err)
{
	const char *line = tapir_diag__line(mark);

	if (err != -EREMOTEIO || !line || !strstr(line, "Unknown diagnostic command"))
		return err;
	tapir_diag__rewind(mark);
	return tapir_diag__fail(-EOPNOTSUPP,
				"JVM process %u has no virtual threads: JDK 21 and later do", tgid);
}

static int read_virtual_dump(uint32_t tgid, char **data, size_t *len)
{
	const struct tapir_jvm_opts opts = {
		.tgid = tgid, .cancel_fd = -1, .timeout_ns = TIMEOUT_NS};
	int mark = tapir_diag__cnt();
	struct tapir_jvm_perf_map file;
	int err = tapir_jvm__dump_threads(&opts, &file);

	if (err)
		return refuse_older(tgid, mark, err);
	err = tapir_jvm_file__read(tgid, &file, MAX_DUMP_BYTES, data, len);
	tapir_jvm_perf_map__fini(&file);
	return err;
}

int tapir_jvm_virtual__show(uint32_t tgid, uint64_t top, struct tapir_view_result *out)
{
	int mark = tapir_diag__cnt();
	tapir_autofree char *data = NULL;
	struct tapir_jvm_virtual v = {};
	size_t len = 0;
	int err = read_virtual_dump(tgid, &data, &len);

	if (!err)
		err = tapir_jvm_virtual__parse(data, len, &v);
	if (err && tapir_diag__cnt() == mark)
		return tapir_diag__fail(err, "the thread dump of JVM process %u: %s", tgid,
					tapir_errno__text(err));
	if (err)
		return err;
	add_headline(tgid, &v, out);
	add_tables(&v, top, out);
	tapir_jvm_virtual__fini(&v);
	return out->failed || out->headline.failed ? -ENOMEM : 0;
}
