/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jvm_job.h - what is done in a JVM's files with its rights, by a child of ours that may be
 * killed at any moment; for jvm_*.c only.
 *
 * The child is a copy of one thread of a program with many: it makes system calls and touches
 * its stack, no heap, no locks, no libc that has any. All it needs stands in the job; all it
 * found stands in the answer.
 */
#ifndef TAPIR_USER_JVM_JOB_H
#define TAPIR_USER_JVM_JOB_H

#include "runtime/jvm_attach.h"

/* Why a job failed, in words for a line. */
#define TAPIR_JVM_WHYS(X)                                                                          \
	X(NONE, "")                                                                                \
	X(PROC, "its root cannot be opened: needs CAP_SYS_PTRACE")                                 \
	X(USER, "its uid and gid cannot be taken: needs CAP_SETUID and CAP_SETGID")                \
	X(TMP, "its /tmp cannot be opened")                                                        \
	X(SOCKET, "what lies at /tmp/.java_pidN is no socket of its user")                         \
	X(PEER, "another process listens on its socket")                                           \
	X(CONNECT, "its socket does not connect")                                                  \
	X(UNCAUGHT, "it does not listen and would die of SIGQUIT (-Xrs)")                          \
	X(DISPATCHER, "it does not listen and waits for no SIGQUIT (starting, ending, or -Xrs)")   \
	X(DISABLED, "it runs with -XX:+DisableAttachMechanism")                                    \
	X(TRIGGER, "no .attach_pidN can be made in its working directory or /tmp")                 \
	X(SIGNAL, "SIGQUIT cannot be sent to it")                                                  \
	X(STOPPED, "it is stopped")                                                                \
	X(SILENT, "it does not begin to listen")                                                   \
	X(FILE, "its perf map is not a plain file of its user")                                    \
	X(CHILD, "the helper process did not come back: is its file system alive?")

enum tapir_jvm_why {
#define TAPIR_X(name, text) TAPIR_JVM_WHY_##name,
	TAPIR_JVM_WHYS(TAPIR_X)
#undef TAPIR_X
		TAPIR_JVM_WHY_CNT
};

enum tapir_jvm_job_kind {
	TAPIR_JVM_JOB_CONNECT, /* answer.fd: the connected socket, not blocking */
	TAPIR_JVM_JOB_LOOK,    /* at the file called name in /tmp; answer.fd: that /tmp */
	TAPIR_JVM_JOB_REMOVE   /* it, if it is the one of dev and inode; tmp_fd is given */
};

struct tapir_jvm_job {
	enum tapir_jvm_job_kind kind;
	uint32_t tgid, ns_tgid;
	uint32_t uid, gid;
	bool takes_user;    /* uid and gid are not ours already */
	uint8_t no_signal;  /* enum tapir_jvm_why: what forbids SIGQUIT; NONE: nothing known */
	int pidfd, proc_fd; /* the process and its directory in /proc; REMOVE: -1 */
	int tmp_fd;	    /* REMOVE only, else -1 */
	int cancel_fd;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	uint64_t perfdata_va; /* hsperfdata in its memory; 0: none */
	size_t perfdata_bytes;
	char name[TAPIR_JVM_MAP_NAME_BYTES];
	uint64_t dev, inode;
};

struct tapir_jvm_answer {
	int err;
	uint8_t why; /* enum tapir_jvm_why */
	bool found;  /* LOOK: there is such a file, and this is it: */
	uint64_t dev, inode, size;
};

/* In the child. Returns the fd to hand over, -1 for none. */
int tapir_jvm_job__do(const struct tapir_jvm_job *job, struct tapir_jvm_answer *answer);

/*
 * In the parent: makes the child, waits for its answer, ends it. out_fd: yours; may be NULL.
 * Failures have a line that names the process.
 */
int tapir_jvm_job__run(const struct tapir_jvm_job *job, struct tapir_jvm_answer *answer,
		       int *out_fd);

/* Polls fd (-1: just waits) until events, the deadline or a cancel: 0, -ETIMEDOUT, -ECANCELED. */
int tapir_jvm_job__poll(const struct tapir_jvm_job *job, int fd, short events,
			uint64_t deadline_ns);

#endif
