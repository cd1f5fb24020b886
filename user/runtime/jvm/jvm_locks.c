// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The format of a dump (JDK 8 to 25, src/hotspot/share/runtime/thread.cpp and vframe.cpp):
 *
 *	"left" #14 prio=5 os_prio=0 cpu=3.1ms elapsed=2.0s tid=0x... nid=0x1a2b waiting for ...
 *	   java.lang.Thread.State: BLOCKED (on object monitor)
 *		at Dead.take(Dead.java:12)
 *		- waiting to lock <0x00000000e1> (a java.lang.Object)
 *		- locked <0x00000000e2> (a java.lang.Object)
 *	   Locked ownable synchronizers:
 *		- <0x00000000e3> (a java.util.concurrent.locks.ReentrantLock$NonfairSync)
 *
 * nid is hexadecimal up to JDK 18 and decimal since. A thread in Object.wait() is shown with
 * "locked" of the monitor that it has given up.
 */
#include "runtime/jvm/jvm_locks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/log.h"
#include "base/map.h"
#include "base/str.h"
#include "runtime/jvm/jvm.h"
#include "runtime/jvm/jvm_attach.h"
#include "trace/record.h"

#define MAX_DUMP_BYTES (32u << 20) /* of 5,000 threads with deep stacks */
#define MAX_WAITS      65536u

struct wait {
	uint32_t tid;
	uint64_t lock;
};

struct dump {
	struct tapir_vec(struct wait) waits;
	struct tapir_map owner_by_lock;
	uint32_t tid;	   /* of the thread whose lines are read; 0: it has no number */
	uint64_t given_up; /* the monitor in whose wait() it is */
	bool is_out_of_memory;
};

/* ---- one line ----------------------------------------------------------------------------- */

static bool skip_word(struct tapir_sv *line, const char *word)
{
	size_t len = strlen(word);

	if (line->len < len || memcmp(line->data, word, len))
		return false;
	line->data += len;
	line->len -= len;
	return true;
}

/* The number at the line's begin, of that base; 0: none. */
static uint64_t leading_number(struct tapir_sv line, int base)
{
	char text[24];

	tapir_sv__copy(line, text, sizeof(text));
	return *text >= '0' && *text <= 'z' ? strtoull(text, NULL, base) : 0;
}

/* "<0x00000000e1> (a java.lang.Object)": its address; 0: something else. */
static uint64_t lock_of(struct tapir_sv line)
{
	return skip_word(&line, "<0x") ? leading_number(line, 16) : 0;
}

/* A name may hold anything, " nid=" as well: the JVM's own is the last of the line. */
static uint32_t tid_of(struct tapir_sv line)
{
	static const char key[] = " nid=";
	const char *at = NULL;

	for (size_t i = line.len; !at && i-- > 0;)
		if (line.len - i > sizeof(key) - 1 && !memcmp(line.data + i, key, sizeof(key) - 1))
			at = line.data + i + sizeof(key) - 1;
	if (!at)
		return 0;
	line.len -= (size_t)(at - line.data);
	line.data = at;
	return (uint32_t)(skip_word(&line, "0x") ? leading_number(line, 16)
						 : leading_number(line, 10));
}

static void add_owner(struct dump *d, uint64_t lock)
{
	uint64_t *owner = lock && d->tid && lock != d->given_up
				  ? tapir_map__put(&d->owner_by_lock, lock, NULL)
				  : NULL;

	if (owner)
		*owner = d->tid;
	else if (lock && d->tid && lock != d->given_up)
		d->is_out_of_memory = true;
}

static void add_jvm_lock_wait(struct dump *d, uint64_t lock)
{
	if (lock && d->tid && d->waits.cnt < MAX_WAITS &&
	    !tapir_vec__push(&d->waits, ((struct wait){d->tid, lock})))
		d->is_out_of_memory = true;
}

static void read_line(struct dump *d, struct tapir_sv line)
{
	if (line.len && *line.data == '"') {
		d->tid = tid_of(line);
		d->given_up = 0;
		return;
	}
	if (!skip_word(&line, "\t- "))
		return;
	if (skip_word(&line, "waiting to re-lock in wait() ")) {
		d->given_up = lock_of(line);
		add_jvm_lock_wait(d, d->given_up);
	} else if (skip_word(&line, "waiting on ")) {
		d->given_up = lock_of(line);
	} else if (skip_word(&line, "waiting to lock ") ||
		   skip_word(&line, "parking to wait for ")) {
		while (line.len && *line.data == ' ')
			skip_word(&line, " ");
		add_jvm_lock_wait(d, lock_of(line));
	} else {
		(void)skip_word(&line, "locked ");
		add_owner(d, lock_of(line));
	}
}

/* ---- a dump ------------------------------------------------------------------------------- */

static int join_dump(const struct dump *d, struct tapir_lock_waits *out)
{
	const struct wait *wait;

	tapir_vec_for_each (wait, &d->waits) {
		const uint64_t *owner = tapir_map__get(&d->owner_by_lock, wait->lock);
		const struct tapir_lock_wait found = {wait->tid, owner ? (uint32_t)*owner : 0};

		if (found.owner_tid && found.owner_tid != found.tid && !tapir_vec__push(out, found))
			return -ENOMEM;
	}
	return 0;
}

int tapir_jvm_locks__parse(const char *dump, size_t len, struct tapir_lock_waits *out)
{
	struct dump d = {};
	int err;

	while (len) {
		const char *end = memchr(dump, '\n', len);
		size_t line_len = end ? (size_t)(end - dump) : len;

		read_line(&d, (struct tapir_sv){dump, line_len});
		line_len += end != NULL;
		dump += line_len;
		len -= line_len;
	}
	err = d.is_out_of_memory ? -ENOMEM : join_dump(&d, out);
	tapir_vec__fini(&d.waits);
	tapir_map__fini(&d.owner_by_lock);
	return err;
}

static int ask(uint32_t tgid, struct tapir_lock_waits *out)
{
	static const char *const args[] = {"-l", NULL};
	struct tapir_jvm_opts opts = {
		.tgid = tgid, .cancel_fd = -1, .max_reply_bytes = MAX_DUMP_BYTES};
	struct tapir_str dump = {};
	int err = tapir_jvm__command(&opts, "threaddump", args, &dump);

	if (!err)
		err = tapir_jvm_locks__parse(dump.data ? dump.data : "", dump.len, out);
	tapir_str__fini(&dump);
	return err;
}

void tapir_jvm_locks__ask(uint32_t tgid, struct tapir_lock_waits *out)
{
	int mark = tapir_diag__cnt();
	struct tapir_jvm_info jvm;

	if (tapir_jvm__inspect(tgid, &jvm) > 0) {
		tapir_info("process %u: requesting a thread dump, for which all its Java threads "
			   "stop at a safepoint",
			   tgid);
		if (ask(tgid, out))
			tapir_warn("process %u: no owners of Java locks: %s", tgid,
				   tapir_diag__line(mark) ? tapir_diag__line(mark)
							  : "out of memory");
	}
	tapir_diag__rewind(mark);
}
