/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peer_helper.h - work in the files of a process that tapir contacts (a JVM, a .NET runtime), done
 * with that process's rights by a child of tapir that may be killed at any moment; for
 * user/runtime, and for guards of files that other rooms place.
 *
 * The child is a copy of one thread of a program with many: it makes system calls and touches its
 * stack, no heap, no locks, no libc that has any. All it needs is in the job; all it found is in
 * the answer. A file system that never answers blocks the child, not tapir; a child that even
 * SIGKILL cannot end holds no fd of tapir, and there is at most one for each file system of its
 * job's directory (-EBUSY). Where a link leads elsewhere, there are at most 8 in all.
 *
 * Kernel: 5.9 (close_range). Thread-safe.
 */
#ifndef TAPIR_USER_PEER_HELPER_H
#define TAPIR_USER_PEER_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define TAPIR_PEER_NAME_BYTES 40
#define TAPIR_PEER_DIR_BYTES  512

/* Why a job failed, in words for a line. */
#define TAPIR_PEER_WHYS(X)                                                                         \
	X(NONE, "")                                                                                \
	X(PROC, "its root cannot be opened: requires CAP_SYS_PTRACE")                              \
	X(USER, "its uid and gid cannot be assumed: requires CAP_SETUID and CAP_SETGID")           \
	X(DIR, "its directory for temporary files cannot be opened")                               \
	X(SOCKET, "its socket's path is not a socket of its user")                                 \
	X(PEER, "another process listens on its socket")                                           \
	X(CONNECT, "its socket refuses connections")                                               \
	X(STOPPED, "it is stopped (kill -CONT continues it)")                                      \
	X(SILENT, "it did not start listening")                                                    \
	X(ABSENT, "it has no socket")                                                              \
	X(FILE, "the file is not a plain file of its user")                                        \
	X(CHILD, "the helper process did not return: its file system may not answer")              \
	X(UNCAUGHT, "it does not listen, and SIGQUIT would end it (-Xrs)")                         \
	X(DISPATCHER,                                                                              \
	  "it does not listen and does not handle SIGQUIT (starting, exiting, or -Xrs)")           \
	X(DISABLED, "it runs with -XX:+DisableAttachMechanism")                                    \
	X(TRIGGER, "no .attach_pidN can be created in its working directory or /tmp")              \
	X(SIGNAL, "SIGQUIT cannot be sent to it")                                                  \
	X(PERF_MAP, "its perf map is not a plain file of its user")                                \
	X(SHARED, "other users can replace files there")                                           \
	X(NOEXEC, "it is mounted noexec")                                                          \
	X(MAKE, "no file can be created in it")                                                    \
	X(CONTENT, "what is read differs from what was written")

enum tapir_peer_why {
#define TAPIR_X(name, text) TAPIR_PEER_WHY_##name,
	TAPIR_PEER_WHYS(TAPIR_X)
#undef TAPIR_X
		TAPIR_PEER_WHY_CNT
};

struct tapir_peer_answer {
	int err;
	uint8_t why; /* enum tapir_peer_why */
	bool found;  /* __look, __take, __make, __place: there is such a file, and this is it: */
	uint64_t dev, inode, size;
	bool is_requested; /* in a last act: see tapir_peer_guard__note */
	int request_fd;	   /* in a last act, too: the connection of that note; -1: none */
};

struct tapir_peer_helper;

/* In the child. Returns the fd to pass on, -1 for none; failures in answer. */
typedef int (*tapir_peer_act)(const struct tapir_peer_helper *job,
			      struct tapir_peer_answer *answer);
/* In a guard: answer and fd are what its act gave. */
typedef void (*tapir_peer_last_act)(const struct tapir_peer_helper *job,
				    const struct tapir_peer_answer *answer, int fd);

struct tapir_peer_helper {
	tapir_peer_act act;
	tapir_peer_last_act last_act; /* of a guard */
	const char *task;	      /* for the line: "attach to the JVM" */
	uint32_t tgid, ns_tgid;
	uint32_t uid, gid;
	bool takes_user;    /* uid and gid differ from tapir's */
	int pidfd, proc_fd; /* the process and its directory in /proc; __remove: -1 */
	int dir_fd;	    /* __remove and __make only, else -1 */
	int lock_fd;	    /* peer_lock.h: a guard keeps it to its end; 0 or less: none */
	int cancel_fd;
	uint64_t deadline_ns;		  /* CLOCK_MONOTONIC */
	char dir[TAPIR_PEER_DIR_BYTES];	  /* absolute, as the process sees it */
	char name[TAPIR_PEER_NAME_BYTES]; /* of a file in it */
	uint8_t file_why;	  /* enum tapir_peer_why: what a file that is refused is called */
	uint64_t dev, inode;	  /* __remove, __find: which one it must be; 0: any */
	uint64_t absent_until_ns; /* .NET: it may have no socket yet */
	bool may_be_stopped;	  /* .NET: what is sent may be done when it runs again */
	unsigned needed_fds;	  /* descriptors that its answer takes, if more than one */
	uint8_t no_signal; /* JVM: enum tapir_peer_why that forbids SIGQUIT; NONE: nothing known */
	uint64_t perfdata_va; /* JVM: hsperfdata in its memory; 0: none */
	size_t perfdata_bytes;
	const void *bytes; /* .NET, __place: the content of the file; __end_dump: the request */
	size_t byte_cnt;
};

/* Why a job failed with err (-errno); what tapir itself lacked is not blamed on the process.
 * Static. */
const char *tapir_peer_answer__reason(const struct tapir_peer_answer *answer, int err);

/*
 * In the parent: makes the child, waits for its answer, ends it. out_fd: yours; may be NULL.
 * Failures have a line that names the process.
 */
int tapir_peer_helper__run(const struct tapir_peer_helper *job, struct tapir_peer_answer *answer,
			   int *out_fd);

/* The same without a line; answer is filled also on failure. */
int tapir_peer_helper__try(const struct tapir_peer_helper *job, struct tapir_peer_answer *answer,
			   int *out_fd);

/*
 * The same, and the child stays when it has answered: when tapir dies, however it dies, the child
 * does the job's last act. Without a failure guard is for __dismiss. A job without an act is a
 * guard alone.
 */
struct tapir_peer_guard {
	int pidfd, life_fd; /* life_fd: closed when we die */
};
#define TAPIR_PEER_NO_GUARD                                                                        \
	(struct tapir_peer_guard)                                                                  \
	{                                                                                          \
		.pidfd = -1, .life_fd = -1                                                         \
	}
/* Runs the job; on success guard is for __dismiss or __let_act. */
int tapir_peer_helper__try_guarded(const struct tapir_peer_helper *job,
				   struct tapir_peer_answer *answer, int *out_fd,
				   struct tapir_peer_guard *guard);

/*
 * __note_request: a runtime was asked to write the file, and has not answered yet; __note_answered:
 * it has. The guard's last act depends on it. request_fd: the connection that the runtime closes
 * when it has, borrowed; -1: there is none.
 */
void tapir_peer_guard__note_request(const struct tapir_peer_guard *guard, int request_fd);
void tapir_peer_guard__note_answered(const struct tapir_peer_guard *guard);
/*
 * Ends the child without its last act, or with it, which needs no fd of tapir; no guard: nothing.
 */
void tapir_peer_guard__dismiss(struct tapir_peer_guard *guard);
void tapir_peer_guard__let_act(struct tapir_peer_guard *guard);

/* Waits for events on fd (-1: just waits), the deadline or a cancel: 0, -ETIMEDOUT, -ECANCELED. */
int tapir_peer_helper__poll(const struct tapir_peer_helper *job, int fd, short events,
			    uint64_t deadline_ns);

/* Sends all bytes to a connected, non-blocking socket; -EPIPE is -ECONNRESET. No line. */
int tapir_peer_helper__send(const struct tapir_peer_helper *job, int fd, const void *bytes,
			    size_t len, uint64_t deadline_ns);

/* ---- the child's side: peer_child.c ------------------------------------------------------ */

/* Descriptors of the process's directories and state; -1 where there is none. */
struct tapir_peer_dirs {
	int root_fd, dir_fd; /* O_PATH */
	int status_fd;
};

#define TAPIR_PEER_DIRS_NONE                                                                       \
	(struct tapir_peer_dirs)                                                                   \
	{                                                                                          \
		.root_fd = -1, .dir_fd = -1, .status_fd = -1                                       \
	}

/* Stores error and reason in the answer; returns err. */
int tapir_peer_child__fail(struct tapir_peer_answer *answer, int err, enum tapir_peer_why why);

/* Waits a moment before a repeated attempt: 0, or -ETIMEDOUT at the job's end, or -ECANCELED. */
int tapir_peer_child__backoff(const struct tapir_peer_helper *job);

/*
 * Opens its root and status, while permitted; then assumes its user; then enters dir below its
 * root. __enter_private: only a directory that, on each part of its path, belongs to root, the
 * process's user or the owner of the process's root directory, and in which no other user can
 * replace an existing file.
 */
int tapir_peer_child__open_proc(const struct tapir_peer_helper *job, struct tapir_peer_dirs *at,
				struct tapir_peer_answer *answer);
int tapir_peer_child__enter(const struct tapir_peer_helper *job, struct tapir_peer_dirs *at,
			    struct tapir_peer_answer *answer);
int tapir_peer_child__enter_private(const struct tapir_peer_helper *job, struct tapir_peer_dirs *at,
				    struct tapir_peer_answer *answer);

/* The value of "\nKey:" in status, as it is now; false: not there, or the process is gone. */
bool tapir_peer_child__status(const struct tapir_peer_dirs *at, const char *key, char *out,
			      size_t out_bytes);

/*
 * A stopped process is not contacted: it would carry out the request when tapir no longer waits for
 * it.
 */
int tapir_peer_child__wait_until_it_runs(const struct tapir_peer_helper *job,
					 const struct tapir_peer_dirs *at,
					 struct tapir_peer_answer *answer);

/*
 * Connects to the socket of that name in the directory: the fd, not blocking. Without a failure in
 * answer: -ENOENT no process listens there, -EAGAIN its queue is full.
 */
int tapir_peer_child__connect(const struct tapir_peer_helper *job, const struct tapir_peer_dirs *at,
			      const char *name, struct tapir_peer_answer *answer);

/*
 * Returns the process at the other end of a connection, as the kernel has it; 0: of another pid
 * namespace.
 */
uint32_t tapir_peer_child__peer_pid(int fd);

/* The acts all runtimes share: the file called name in dir, which must be private. */
int tapir_peer_child__open_dir(const struct tapir_peer_helper *job,
			       struct tapir_peer_answer *answer);
int tapir_peer_child__take(const struct tapir_peer_helper *job, struct tapir_peer_answer *answer);
int tapir_peer_child__remove(const struct tapir_peer_helper *job, struct tapir_peer_answer *answer);

/*
 * Creates that file, empty, owned by the process's user, with mode 0600, before a runtime is asked
 * to write it. A runtime opens it by its name and follows links: where the name belongs to a file
 * of its own user, in a private directory, no other user can put a link there, whatever the sysctls
 * fs.protected_* are. Passes the directory on. __discard removes what __make or __place made.
 */
int tapir_peer_child__make(const struct tapir_peer_helper *job, struct tapir_peer_answer *answer);
void tapir_peer_child__discard(const struct tapir_peer_helper *job,
			       const struct tapir_peer_answer *answer, int dir_fd);

/*
 * The same for a file that a runtime was asked to write, and has not answered (is_requested): it
 * would create it again, and follow a link then. Waits until the runtime has written to it or is
 * gone, at most three seconds; if neither comes, the empty file stays, so that its name is taken.
 */
void tapir_peer_child__discard_written(const struct tapir_peer_helper *job,
				       const struct tapir_peer_answer *answer, int dir_fd);

/* Sets found: the process finds the file (dev, inode) under that name in dir. Nothing is opened. */
int tapir_peer_child__find(const struct tapir_peer_helper *job, struct tapir_peer_answer *answer);

#endif
