/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent_impl.h - what the files of the agent share. One thread, the agent's; functions that say so
 * run in a child.
 */
#ifndef TAPIR_USER_AGENT_IMPL_H
#define TAPIR_USER_AGENT_IMPL_H

#include <sys/types.h>

#include "base/str.h"
#include "base/vec.h"
#include "agent/agent.h"
#include "agent/request_params.h"
#include "agent/address.h"
#include "agent/logins.h"
#include "agent/route.h"
#include "agent/tokens.h"
#include "agent/wire.h"

#define TAPIR_AGENT_KILL_NS   (20 * TAPIR_NS_PER_SEC) /* after a task was asked to end */
#define TAPIR_AGENT_MAX_TASKS 64		      /* at once; of them limits.sessions record */

struct tapir_sessions;
struct tapir_session_shm;
struct tapir_shared_lists;
struct tapir_task;
struct tapir_watch_shm;

/* One listener and the HTTP process that serves it. */
struct tapir_agent_front {
	struct tapir_address listener;
	pid_t pid;	/* 0: not running */
	int control_fd; /* -1: not running */
	uint64_t started_ns;
};

/* A child that answers one request. */
struct tapir_agent_task {
	pid_t pid;
	int client_fd; /* the agent's copy: by it the agent sees the client leave; -1: the client
			  has its answer */
	bool records;
	uint64_t ended_ns; /* since then it has been asked to end; 0: it has not */
};

typedef int (*tapir_task_fn)(void *ctx, int client_fd);

/* Returns the function of the task that answers requests of this route; NULL: no task does. */
tapir_task_fn tapir_agent__task_of(uint16_t route);

/* A child that the agent keeps: another one starts a while after it has ended. */
struct tapir_agent_child {
	const char *name;  /* in lines of the log */
	tapir_task_fn run; /* its ctx is the agent; NULL: the configuration does not want it */
	bool has_socket;   /* run gets one end of a pair of messages (SOCK_SEQPACKET) */
	int fd;		   /* the other end; -1: none */
	pid_t pid;	   /* 0: it does not run */
	uint64_t started_ns, ended_ns, wait_ns;
};

/* The child that watches runtimes. */
struct tapir_agent_watch {
	struct tapir_agent_child child;
	struct tapir_watch_shm *page; /* NULL: the configuration selects no process */
};

/* The child that records continuously. */
struct tapir_agent_continuous {
	struct tapir_agent_child child;	    /* sends its files */
	char owner[TAPIR_TOKEN_NAME_BYTES]; /* who asked for the next one; "": a trigger fires it */
	uint64_t file_cnt;
};

/* The child that pushes. */
struct tapir_agent_push {
	struct tapir_agent_child child;		     /* is sent what it pushes */
	struct tapir_push_shm *page;		     /* NULL: the configuration names no target */
	uint64_t metrics_ns[TAPIR_PUSH_MAX_TARGETS]; /* when they were last given */
};

/* A child that has loaded what a recording needs, and waits for a request. */
struct tapir_agent_warm_worker {
	pid_t pid; /* 0: none */
	int fd;	   /* -1: none; closed: the child ends */
	struct tapir_session_shm *page;
	uint64_t from_ns;  /* it is not started before */
	uint64_t until_ns; /* and kept until then */
	bool is_useless;   /* it could load nothing: no other one is tried */
};

struct tapir_agent {
	const struct tapir_serve_config *config;
	struct tapir_tokens *tokens;
	struct tapir_failures failures;
	struct tapir_logins logins;
	char csrf[TAPIR_CSRF_DIGITS + 1]; /* of callers without a token */
	uint64_t tokens_checked_ns;
	int state_fd; /* directory; -1: state is memory */
	int signal_fd;
	char *tls_certificate, *tls_key; /* PEM; NULL: no TLS */
	char *tls_client_ca;		 /* PEM; NULL: clients need no certificate */
	struct tapir_sessions *sessions;
	struct tapir_agent_watch watch;
	struct tapir_agent_continuous continuous;
	struct tapir_agent_push push;
	struct tapir_agent_warm_worker warm_worker;
	struct tapir_shared_lists *lists;
	struct tapir_str usage; /* of processes, as metrics, read at */
	uint64_t usage_ns;	/* this time; 0: never */
	bool is_ending;
	size_t front_cnt;
	struct tapir_agent_front fronts[TAPIR_SERVE_MAX_LISTEN];
	struct tapir_vec(struct tapir_agent_task) tasks;
	uint64_t started_ns, request_cnt, refused_cnt, recording_cnt, front_restart_cnt;
	uint64_t wrong_token_cnt;
	uint64_t given_up_cnt; /* traces, for newer ones of their owners */
};

/* The caller of a request. */
struct tapir_caller {
	char name[TAPIR_TOKEN_NAME_BYTES]; /* of the token; "local": by the unix socket */
	char csrf[TAPIR_CSRF_DIGITS + 1];  /* what its forms carry; "": it has none */
	const char *peer;
	enum tapir_client_role role;
	bool has_login;	   /* it is known by a cookie, which a browser sends unasked */
	bool is_browser;   /* or by what another program makes of such */
	uint32_t only_pid; /* it may touch this process; 0: all */
};

/* Identifies the caller. Returns true if the request may continue; else it was answered. */
bool tapir_agent__admit(struct tapir_agent *agent, const struct tapir_agent_front *front,
			const struct tapir_wire_request *rq, int fd, struct tapir_caller *caller);
/* Answers the routes of logins; false: it is another one. */
bool tapir_agent__handle_login(struct tapir_agent *agent, const struct tapir_wire_request *rq,
			       const struct tapir_caller *caller, int fd);
/*
 * Writes one line of the log; about callers without a token a few lines a minute (tokens.h).
 * target: "" if there is none.
 */
void tapir_agent__audit(struct tapir_agent *agent, const struct tapir_caller *caller,
			const struct tapir_route *route, const char *target, const char *result);

/* Answers a request, or starts a task that does. client_fd becomes its business. */
void tapir_agent__handle(struct tapir_agent *agent, const struct tapir_agent_front *front,
			 const struct tapir_wire_request *rq, int client_fd);

/*
 * Forks a child that calls run(ctx, fd), with the client's socket, and exits. In the child nothing
 * of the agent is open but the standard descriptors, the client's socket (-1: it has none),
 * agent->state_fd and those that traces points to, ended by NULL (may be NULL), whose numbers are
 * others there. Its pid, -EAGAIN: too many tasks, or -errno. On success the socket is the task's.
 */
#define TAPIR_AGENT_MAX_TRACES 2
int tapir_agent__start_task(struct tapir_agent *agent, int client_fd, int *const *traces,
			    bool records, tapir_task_fn run, void *ctx);

/*
 * The same for a recording that a request asks for, by a child that is ready for it if there is
 * one: run(task, fd) of the same program there. trace_fd and *page (replaced by the child's, which
 * is as empty) are those of a session; NULL otherwise.
 */
struct tapir_recording_start {
	const struct tapir_wire_request *rq;
	const struct tapir_caller *caller;
	struct tapir_task *task;
	int client_fd; /* -1: none */
	int *trace_fd; /* &task->trace_fd */
	struct tapir_session_shm **page;
};
/*
 * Starts a recording in a warm worker, or else in a new child. Returns its pid, -EAGAIN: too many,
 * or -errno.
 */
int tapir_agent__start_recording(struct tapir_agent *agent,
				 const struct tapir_recording_start *start);

/* Starts or ends the child that is kept ready. */
void tapir_agent_warm_worker__check(struct tapir_agent *agent);
/* Returns until when there is nothing to check, in ms; -1: no time. */
int tapir_agent_warm_worker__timeout_ms(const struct tapir_agent *agent);
/* A recording has ended, or a client looks for what to record: from delay_ns after now. */
void tapir_agent_warm_worker__keep(struct tapir_agent *agent, uint64_t delay_ns);
void tapir_agent_warm_worker__task_ended(struct tapir_agent *agent, pid_t pid, int status);
void tapir_agent_warm_worker__close(struct tapir_agent *agent);

/*
 * Answers with body. What fits into the socket at once is sent at once; a task sends what does not,
 * and the socket is its then: true.
 */
bool tapir_agent__send(struct tapir_agent *agent, int fd, enum tapir_mime mime, unsigned status,
		       const struct tapir_str *body);

/* Asks a task to end, and kills it if it has not ended after 20 seconds. */
void tapir_agent__end_task(struct tapir_agent *agent, pid_t pid);

/* Ends a task: SIGTERM, and after a while SIGKILL (__check of the loop). */
void tapir_agent_task__end(struct tapir_agent_task *task, uint64_t now_ns);

/*
 * Start and watch a child that is kept. __start: 0 or -errno; __check tries again. __end_seen:
 * returns true if it was this one that ended.
 */
int tapir_agent_child__start(struct tapir_agent *agent, struct tapir_agent_child *child);
bool tapir_agent_child__end_seen(struct tapir_agent *agent, struct tapir_agent_child *child,
				 pid_t pid);
bool tapir_agent_child__is_waiting(const struct tapir_agent_child *child);
void tapir_agent_child__check(struct tapir_agent *agent, struct tapir_agent_child *child);

/* Returns the number of recordings that run now. */
size_t tapir_agent__recordings(const struct tapir_agent *agent);

/*
 * Called in a child of the agent: another session, ended with the agent. records: SIGTERM waits for
 * that.
 */
void tapir_agent__become_child(pid_t agent_pid, int death_signal, bool records);
/* Called there: fds become 3, 4, ..., and everything after them is closed. */
void tapir_agent__keep_fds(int *fds, size_t cnt);

#endif
