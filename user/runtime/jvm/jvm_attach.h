/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jvm_attach.h - asking a running HotSpot JVM for something, by its attach protocol.
 *
 * The protocol, as JDK 8 to 25 have it (src/hotspot/os/posix/attachListener_posix.cpp, before JDK
 * 22 os/linux/attachListener_linux.cpp; the client in jdk.attach's VirtualMachineImpl):
 *
 *   - the JVM listens on /tmp/.java_pidN of its own root; N is its pid as it sees it;
 *   - it begins to listen when it is first asked: by a file .attach_pidN of its user in its
 *     working directory or in /tmp, and a SIGQUIT; without the file, or when it listens
 *     already, the signal prints all threads' stacks on its stdout (os.cpp, signal thread);
 *   - a client writes "1", a command and three arguments, each ended by NUL, and reads a
 *     decimal result, a newline and text until the end; 101 is "not my version"
 *     (JDK 24 has a version 2, too; 1 is still understood);
 *   - the JVM hangs up on a client whose effective uid and gid are not its own or root's.
 *
 * SIGQUIT ends a program that does not handle it. It is sent only to a process that maps HotSpot's
 * libjvm.so, catches SIGQUIT, has HotSpot's thread "Signal Dispatcher" (none with -Xrs, which
 * listens from its start) and does not run with -XX:+DisableAttachMechanism, by what its
 * performance counters (hsperfdata), command line and environment say.
 *
 * All this happens in the files of a process that may be hostile, on a file system that may never
 * answer. So a child of tapir assumes its uid and gid (in a process of its own, because a thread's
 * credentials would be set for, or visible to, all threads), does everything that touches files,
 * passes the connected socket back (SCM_RIGHTS) and is killed if it does not return. The JVM itself
 * must be the listener (SO_PEERCRED). A child that even SIGKILL cannot end holds no fd of tapir;
 * there is at most one for each file system (-EBUSY).
 *
 * Only .java_pidN remains, which belongs to the JVM and is removed when it exits (not with SIGKILL
 * or -Xrs). Nothing is sent to a stopped JVM. One that is stopped or hangs in between may carry out
 * later what timed out: the command, or a thread dump on its stdout when it receives the signal and
 * the file no longer exists.
 *
 * Privileges: root, or CAP_SETUID, CAP_SETGID, CAP_SYS_PTRACE and CAP_KILL; none for a JVM of the
 * same user. Kernel: 5.9 (close_range). Thread-safe. Blocks up to the timeout.
 *
 * What the dump of JDK 17 and 25 holds in addition to methods: all blobs of the code cache by their
 * VM-internal names: "Interpreter" (one line, the whole of its code: adapters to it are lines of
 * their own), "StubRoutines (1)" and "(2)" (25: "(initialstubs)", "(continuationstubs)",
 * "(finalstubs)", "(compilerstubs)"), "I2C/C2I adapters", "vtable chunks", "SafepointBlob",
 * "DeoptimizationBlob", "ExceptionBlob", "... Runtime1 stub", "_new_instance_Java". Names are not
 * unique. "C1 temporary CodeBuffer" is 0.5 MB in which nothing runs.
 */
#ifndef TAPIR_USER_JVM_ATTACH_H
#define TAPIR_USER_JVM_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "runtime/peer/peer_helper.h"

#define TAPIR_JVM_TIMEOUT_NS	  5000000000ull
#define TAPIR_JVM_MAX_REPLY_BYTES 65536u
#define TAPIR_JVM_MAX_ARG_BYTES	  1024u /* HotSpot's limit of an argument; a command: 16 */
#define TAPIR_JVM_MAX_ARGS	  3
#define TAPIR_JVM_MAP_NAME_BYTES  40

struct tapir_jvm_opts {
	uint32_t tgid;
	int cancel_fd;		/* when readable, end with -ECANCELED; -1: nothing cancels */
	uint64_t timeout_ns;	/* for the whole call; 0: TAPIR_JVM_TIMEOUT_NS */
	size_t max_reply_bytes; /* 0: TAPIR_JVM_MAX_REPLY_BYTES */
};

/*
 * One command, e.g. "jcmd" with "VM.version". args: up to three, NULL after the last; NULL: none.
 * *reply gets the text, as the JVM sent it, only on success. All failures leave a line:
 *   -ESRCH no such process · -EINVAL a thread, or a command or argument that is too long ·
 *   -ENOEXEC no HotSpot JVM (nothing was sent to it) · -EPERM not allowed, or what should be
 *   the JVM's is not · -EOPNOTSUPP it cannot be attached to (-Xrs without a socket,
 *   DisableAttachMechanism) · -ETIMEDOUT · -ECANCELED · -ECONNRESET it hung up ·
 *   -EPROTO no answer of this protocol · -EFBIG a longer one than max_reply_bytes ·
 *   -EREMOTEIO it answered with an error: its first line is in the diagnostic · -EBUSY see above
 */
int tapir_jvm__command(const struct tapir_jvm_opts *opts, const char *cmd, const char *const *args,
		       struct tapir_str *reply);

/* A perf map a JVM wrote because we asked. */
struct tapir_jvm_perf_map {
	int dir_fd;  /* the JVM's /tmp (O_PATH); valid even after the JVM has exited */
	int lock_fd; /* while it is held no other tapir requests the map (peer_lock.h) */
	char name[TAPIR_JVM_MAP_NAME_BYTES]; /* the file in it */
	bool existed;	   /* it existed before: overwritten by the JVM, not removed by tapir */
	uint32_t uid, gid; /* the JVM's */
	uint64_t dev, inode;
	struct tapir_peer_guard guard; /* removes it when tapir is killed; none if it existed */
};

/*
 * The JVM writes what is compiled now (jcmd Compiler.perfmap, JDK 17 and later) into its
 * /tmp/perf-N.map. Where that file exists and the JVM can write to another one (JDK 22 and later),
 * it is left alone and name is another. A file there that is not the JVM's own, or a link, is
 * refused (-EPERM), and so is a /tmp in which other users can replace files: tapir creates the file
 * before it asks the JVM, so that no link can take its place. On success out needs __fini,
 * before which no other tapir requests the map of this JVM; errors
 * are those of __command, -EBUSY: another tapir kept the lock, and -EIO: it reported a map, but
 * there is none.
 */
int tapir_jvm__dump_perf_map(const struct tapir_jvm_opts *opts, struct tapir_jvm_perf_map *out);
/* Also removes what __remove_perf_map did not. Twice is fine. */
void tapir_jvm_perf_map__fini(struct tapir_jvm_perf_map *map);

/*
 * The JVM writes its flight recording of that name, with paths to roots, into a file of its /tmp,
 * which is made beforehand as that of a perf map is; __fini removes it. -EEXIST: it is there
 * already; -EIO: it wrote none, as where it has no such recording.
 */
int tapir_jvm__dump_recording(const struct tapir_jvm_opts *opts, const char *recording,
			      struct tapir_jvm_perf_map *out);

/* The same of a dump of all its threads, virtual ones too (JDK 21 and later). */
int tapir_jvm__dump_threads(const struct tapir_jvm_opts *opts, struct tapir_jvm_perf_map *out);

/*
 * Removes the file if it did not exist before and still is the one that was written: 0 also
 * when there is nothing to remove. opts->tgid is not used: the JVM may be gone.
 */
int tapir_jvm__remove_perf_map(const struct tapir_jvm_opts *opts,
			       const struct tapir_jvm_perf_map *map);

#endif
