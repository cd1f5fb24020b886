/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sessions_impl.h - what the files of the sessions share. One thread, the agent's. */
#ifndef TAPIR_USER_SERVE_SESSIONS_IMPL_H
#define TAPIR_USER_SERVE_SESSIONS_IMPL_H

#include "agent/sessions.h"
#include "tapir/abi.h"

#define TAPIR_SESSION_ID_DIGITS 16

enum tapir_session_state {
	TAPIR_SESSION_RECORDING,
	TAPIR_SESSION_STOPPING,
	TAPIR_SESSION_FINISHED,
	TAPIR_SESSION_FAILED,
	TAPIR_SESSION_TRUNCATED, /* its agent ended before it did */
};

struct tapir_session_entry {
	char id[TAPIR_SESSION_ID_DIGITS + 1];
	char owner[TAPIR_TOKEN_NAME_BYTES];
	char target[128];
	uint32_t target_pid;	     /* the first; 0: by name */
	char name[TAPIR_COMM_BYTES]; /* of the one process, when it began; "": not known */
	uint64_t started;	     /* of the one process, as stated, or as it is; 0: not known */
	char utc[24];
	enum tapir_session_state state;
	struct tapir_session_shm *page; /* shared with the recording */
	int fd;				/* of the trace; -1: none */
	pid_t pid;			/* of the recording; 0: it has ended */
	uint64_t lease_ns, touched_ns;	/* 0: no lease */
	int waiter_fd;			/* a client that gets the trace when it has ended; -1 */
	const char *waiter_format;	/* of the table */
	bool goes_after;		/* the waiter deletes it */
	bool is_uncounted;		/* its counts were lost with its agent or recording */
	pid_t last_reader;		/* sends the trace to a client that deletes it; 0: none */
	pid_t counter;			/* the task that reads them from the trace; 0: none */
};

struct tapir_sessions {
	struct tapir_vec(struct tapir_session_entry) all; /* the oldest first */
};

/* NULL: out of memory. */
struct tapir_session_shm *tapir_session_shm__new(void);

/* Frees an entry and closes its file; the file itself stays. */
void tapir_session__release(struct tapir_session_entry *s);
/* Removes the entry at this index, and its files. Entries after it move. */
void tapir_sessions__forget(struct tapir_agent *agent, size_t at);

/*
 * Makes room for bytes more by deleting traces that caller keeps, each with a line of the log that
 * names route. -ENOSPC: traces of other clients and running recordings leave none; nothing was
 * deleted.
 */
int tapir_session__make_room(struct tapir_agent *agent, const struct tapir_caller *caller,
			     const struct tapir_route *route, uint64_t bytes);
/* Keeps the `most` newest files of the flight recorder that belong to caller, deletes the others.
 */
void tapir_session__limit_frozen(struct tapir_agent *agent, const struct tapir_caller *caller,
				 size_t max_cnt);

/* Writes one session as a JSON object, the member `key` of the open one; NULL: an element. */
void tapir_session__write_json(const struct tapir_session_entry *s, struct tapir_json *j,
			       const char *key);

/*
 * Reads the trace to determine the counts, which go into its shared page; runs in a task, because
 * it takes as long as the trace is large. ctx: struct tapir_task. 0 or -errno.
 */
int tapir_session__count(void *ctx, int client_fd);

/* Returns the size of its file now, in bytes; 0: it has none. */
uint64_t tapir_session__bytes(const struct tapir_session_entry *s);

/*
 * The files of a session are ID.tapir and ID.json in the state directory. Without one (state in
 * memory) the trace is a memfd, and the other calls do nothing.
 *
 * __create_file opens an empty trace: s->fd, which the entry owns. 0 or -errno with a line.
 * __save writes the description, by a rename, so that it is never there in part; a failure is
 * logged.
 */
int tapir_session__create_file(const struct tapir_agent *agent, struct tapir_session_entry *s);
void tapir_session__save(const struct tapir_agent *agent, const struct tapir_session_entry *s);
void tapir_session__remove_files(const struct tapir_agent *agent,
				 const struct tapir_session_entry *s);
/* Gives a file without a name (O_TMPFILE) its name. 0 or -errno, no line. */
int tapir_session__name_file(const struct tapir_agent *agent, const struct tapir_session_entry *s);

/* With this its target begins if it is a file of the flight recorder. */
#define TAPIR_SESSION_FROZEN "continuous: "
/* Returns true if the session is a file of the flight recorder. */
bool tapir_session__is_frozen(const struct tapir_session_entry *s);

/* Adds the sessions of an earlier agent, the oldest first. 0 or -errno; a bad file is skipped. */
int tapir_session__load_all(const struct tapir_agent *agent, struct tapir_sessions *sessions);

#endif
