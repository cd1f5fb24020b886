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

#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "runtime/jvm/heap/jvm_file.h"
#include "runtime/jvm/jvm_attach.h"

#define MAX_DUMP_BYTES (512u << 20)
#define TIMEOUT_NS     (60 * TAPIR_NS_PER_SEC)

/* ---- the dump ------------------------------------------------------------------------------- */

static void skip(struct tapir_sv *text, size_t cnt)
{
	text->data += cnt;
	text->len -= cnt;
}

/* Finds "java.lang.Thread.sleep(Thread.java:540)" of a stack's next line. False: there is none. */
static bool next_frame(struct tapir_sv *text, struct tapir_sv *frame)
{
	while (text->len) {
		struct tapir_sv line = tapir_sv__next_line(text);
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

/* Adds the frames of a stack: its lines are those that begin with blanks. */
static void take_frames(struct tapir_sv *text, struct tapir_str *out)
{
	struct tapir_sv stack = {text->data, 0}, frame;

	for (unsigned i = 0; text->len && *text->data == ' '; i++) {
		(void)tapir_sv__next_line(text);
		if (i < TAPIR_JVM_VIRTUAL_FRAMES)
			stack.len = (size_t)(text->data - stack.data);
	}
	while (next_frame(&stack, &frame)) {
		tapir_str__add(out, frame.data, frame.len);
		tapir_str__addc(out, '\n');
	}
}

/* JDK 25 says the state; before, one that waits is in a function of that name. */
static bool is_parked(struct tapir_sv state, struct tapir_sv frames)
{
	if (state.len)
		return tapir_sv__starts_with(state, " WAITING") ||
		       tapir_sv__starts_with(state, " TIMED_WAITING") ||
		       tapir_sv__starts_with(state, " BLOCKED");
	return tapir_sv__starts_with(frames, "java.lang.VirtualThread.park");
}

static void add_thread(struct tapir_suspended *out, struct tapir_sv state,
		       const struct tapir_str *frames)
{
	const struct tapir_sv text = {frames->data, frames->len};

	out->rows.failed |= frames->failed;
	tapir_suspended__add(out, &(struct tapir_suspended_stack){
					  .frames = text, .is_parked = is_parked(state, text)});
}

int tapir_jvm_virtual__parse(const char *dump, size_t len, struct tapir_suspended *out)
{
	static const char word[] = " virtual";
	struct tapir_sv text = {dump, len}, words;
	struct tapir_str frames = {};
	bool has_threads = false;

	while (text.len) {
		if (!is_thread(tapir_sv__next_line(&text), &words))
			continue;
		has_threads = true;
		if (!tapir_sv__starts_with(words, word))
			continue;
		skip(&words, sizeof(word) - 1);
		tapir_str__clear(&frames);
		take_frames(&text, &frames);
		add_thread(out, words, &frames);
	}
	tapir_str__fini(&frames);
	if (out->rows.failed || !has_threads)
		return has_threads ? -ENOMEM : -EPROTO;
	tapir_suspended__sort(out);
	return 0;
}

static void add_headline(uint32_t tgid, const struct tapir_suspended *v,
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
	tapir_view_result__fact(out, "virtual_threads", NULL, TAPIR_CELL_COUNT, v->cnt);
	tapir_view_result__fact(out, "parked", NULL, TAPIR_CELL_COUNT, v->parked_cnt);
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
	struct tapir_suspended v = {};
	size_t len = 0;
	int err = read_virtual_dump(tgid, &data, &len);

	if (!err)
		err = tapir_jvm_virtual__parse(data, len, &v);
	if (!err) {
		add_headline(tgid, &v, out);
		tapir_suspended__add_table(&v, &tapir_suspended_virtual_threads, top, out);
	}
	tapir_suspended__fini(&v);
	if (err && tapir_diag__cnt() == mark)
		return tapir_diag__fail(err, "the thread dump of JVM process %u: %s", tgid,
					tapir_errno__text(err));
	return err ? err : out->failed || out->headline.failed ? -ENOMEM : 0;
}
