/* SPDX-License-Identifier: MIT */
/*
 * file_session.h - events of the process, which it writes into a file: no tracer, no privileges.
 *
 *	const struct tapir_selection all = {"Demo-Shop", NULL, NULL, 0, 0, {0}};
 *
 *	tapir_session__to_file("shop.tapir", &all, 1, NULL, &session);
 *	...
 *	tapir_session__close(session);
 *
 * The file is one of tapir's: `tapir events shop.tapir`, `tapir report shop.tapir`. Events are in
 * it with their payloads, threads and activity ids, without stacks. A thread of the session writes
 * it, at least once a second, so that a process which is killed loses no more than that; a file
 * that was not closed is read as far as it goes. What the session has lost (listener.h: a full
 * buffer), and what could not be written, is in the file as counts; where there is no room for
 * these either, the file is marked incomplete.
 *
 * FROM OUTSIDE. With TAPIR_SESSION_FILE=PATH in the environment such a session is opened when the
 * process makes its first provider, and closed at exit(); %p in PATH is the process's id.
 * TAPIR_SESSION_EVENTS has its selections: PROVIDER[:KEYWORDS[:LEVEL]] with commas between them,
 * PROVIDER with * and ?, KEYWORDS and LEVEL as numbers, 0x for hexadecimal; without it everything.
 * An existing file is left as it is, and so is a program that runs with another user's rights:
 * there is no session then. A program that is linked with libtapir.a has it if it calls
 * tapir_session__from_environment before its first provider; with libtapir.so no call is needed.
 *
 * In a forked child the session has ended; closing it there frees its memory.
 *
 * Any thread, not in a signal handler. C11 and C++11. No privileges; any kernel (provider.h).
 */
#ifndef TAPIR_FILE_SESSION_H
#define TAPIR_FILE_SESSION_H

#include "listener.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tapir_session;

struct tapir_session_opts {
	size_t size;	       /* sizeof this */
	uint64_t max_bytes;    /* of the file; later events are lost, counted; 0: no limit */
	uint32_t buffer_bytes; /* as of listener.h; 0: 1 MiB */
	uint32_t pad0;
};

/*
 * Opens one; selections as of tapir_listener__open, path is read during the call only. A file of
 * that name is not touched. 0, or -errno: -EEXIST, others of open(2), -EFBIG (RLIMIT_FSIZE allows
 * no file), those of tapir_listener__open.
 */
TAPIR_API int tapir_session__to_file(const char *path, const struct tapir_selection *selections,
				     uint32_t cnt, const struct tapir_session_opts *opts,
				     struct tapir_session **out);

/*
 * Writes what was fired before the call and ends the session. NULL is allowed. 0, or the -errno for
 * which the file is incomplete: -EFBIG (max_bytes, RLIMIT_FSIZE), -ENOSPC, -EIO ...
 */
TAPIR_API int tapir_session__close(struct tapir_session *session);

/* Opens the session that the environment requests when the next provider is created. */
TAPIR_API void tapir_session__from_environment(void);

#ifdef __cplusplus
}
#endif
#endif /* TAPIR_FILE_SESSION_H */
