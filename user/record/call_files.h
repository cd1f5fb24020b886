/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * call_files.h - numbers of system calls by file and peer (bpf/call_files.bpf.h) as CALLS records,
 * each of which has the name. Two tables take turns: what one has is read, and then emptied, when
 * no program adds to it any longer.
 *
 * One thread, the session's. Reading takes 1 us for each row, and the kernel's wait for the
 * programs 5 to 40 ms, which is why it is done once a second.
 */
#ifndef TAPIR_USER_CALL_FILES_H
#define TAPIR_USER_CALL_FILES_H

#include "attach/programs.h"
#include "base/str.h"

struct tapir_call_files;

typedef void (*tapir_call_files_fn)(void *ctx, const struct tapir_rec *calls);

/* tables is copied, its descriptors are borrowed. NULL: out of memory. */
struct tapir_call_files *tapir_call_files__new(const struct tapir_call_file_tables *tables,
					       tapir_call_files_fn fn, void *ctx);
void tapir_call_files__free(struct tapir_call_files *f); /* accepts NULL */

/* Writes what was added since the last time, if it is time for it or must is set. f may be NULL. */
void tapir_call_files__poll(struct tapir_call_files *f, uint64_t now_ns, bool must);

/*
 * Appends what people call it: "/srv/db/t1", "/tmp/x (deleted)", ".../deep/file", "pipe:[4711]",
 * "tcp 10.0.0.1:40000 to 10.0.0.2:5432", "udp 0.0.0.0:53", "unix /run/x", "anon_inode:[eventpoll]".
 */
void tapir_call_file__add_name(struct tapir_str *out, const struct tapir_call_file_id *id,
			       const struct tapir_call_file_name *name);

#define TAPIR_CALL_FILE_NAME_BYTES 1024u /* longer names are cut */

union tapir_call_file_rec {
	struct tapir_rec_calls rec;
	char room[sizeof(struct tapir_rec_calls) +
		  TAPIR_CALL_STEPS * sizeof(struct tapir_call_step) + TAPIR_CALL_FILE_NAME_BYTES];
};

/* Makes a record of a row, without its times. Returns false where nothing was counted. */
bool tapir_call_file__fill(union tapir_call_file_rec *out, const struct tapir_call_file_key *key,
			   const struct tapir_call_file_count *count, const struct tapir_str *name);

#endif
