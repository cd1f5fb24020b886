// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sessions: begin, show, stop, hand out, delete. A session is a file and a JSON description next to
 * it, written before the recording begins, so that the next agent lists it whatever happens to this
 * one. A caller sees its own sessions, an administrator all.
 */
#include "agent/sessions.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/json.h"
#include "base/log.h"
#include "agent/agent_push.h"
#include "agent/answer.h"
#include "agent/sessions_impl.h"

#define BUSY "as many recordings run as the agent permits (sessions)"
#define NO_ROOM                                                                                    \
	"no room for another trace (state_mb, traces): running recordings and the traces of "      \
	"others take it; their owners or an administrator can delete some"

/* ---- the list ------------------------------------------------------------------------------- */

int tapir_sessions__open(struct tapir_agent *agent)
{
	struct tapir_session_entry *s;

	agent->sessions = calloc(1, sizeof(*agent->sessions));
	if (!agent->sessions)
		return -ENOMEM;
	if (agent->state_fd >= 0 && tapir_session__load_all(agent, agent->sessions))
		return -ENOMEM;
	tapir_vec_for_each (s, &agent->sessions->all) {
		s->page->file_bytes = tapir_session__bytes(s);
		tapir_session__save(agent, s);
	}
	return 0;
}

void tapir_sessions__close(struct tapir_sessions *sessions)
{
	struct tapir_session_entry *s;

	if (!sessions)
		return;
	tapir_vec_for_each (s, &sessions->all)
		tapir_session__release(s);
	tapir_vec__fini(&sessions->all);
	free(sessions);
}

size_t tapir_sessions__cnt(const struct tapir_sessions *sessions)
{
	return sessions->all.cnt;
}

/* ---- answers -------------------------------------------------------------------------------- */

static void answer_json(int fd, unsigned status, const char *location, struct tapir_str *body)
{
	struct tapir_wire_head head = {.status = (uint16_t)status, .mime = TAPIR_MIME_JSON};

	tapir_str__addc(body, '\n');
	if (location)
		snprintf(head.location, sizeof(head.location), "/v1/sessions/%s", location);
	if (body->failed)
		(void)tapir_answer__error(fd, 500, "out of memory", MSG_DONTWAIT);
	else
		(void)tapir_answer__send(fd, &head, body->data, body->len, MSG_DONTWAIT);
	tapir_str__fini(body);
}

static void answer_one(int fd, unsigned status, const struct tapir_session_entry *s)
{
	struct tapir_str body = {};
	struct tapir_json j = tapir_json__to(&body);

	tapir_session__write_json(s, &j, NULL);
	answer_json(fd, status, status == 201 ? s->id : NULL, &body);
}

/* A session that is being deleted is seen by no one, so that a client has its end at once. */
static bool may_see(const struct tapir_caller *caller, const struct tapir_session_entry *s)
{
	if (s->last_reader)
		return false;
	return caller->role == TAPIR_ROLE_ADMIN ||
	       (*caller->name && !strcmp(caller->name, s->owner));
}

static void answer_list(const struct tapir_agent *agent, const struct tapir_caller *caller, int fd)
{
	const struct tapir_session_entry *s;
	struct tapir_str body = {};
	struct tapir_json j = tapir_json__to(&body);

	tapir_json__open(&j, NULL, '{');
	tapir_json__open(&j, "sessions", '[');
	tapir_vec_for_each (s, &agent->sessions->all)
		if (may_see(caller, s))
			tapir_session__write_json(s, &j, NULL);
	tapir_json__close(&j, ']');
	tapir_json__close(&j, '}');
	answer_json(fd, 200, NULL, &body);
}

/* ---- begin ---------------------------------------------------------------------------------- */

/* Adds the process's name, and when it began, where the client did not state that. */
static void describe_process(struct tapir_session_entry *s)
{
	struct tapir_thread leader;

	if (tapir_thread__read(s->target_pid, s->target_pid, &leader))
		return;
	memcpy(s->name, leader.comm, sizeof(s->name));
	if (!s->started)
		s->started = leader.start_ns / TAPIR_NS_PER_MS;
}

static void describe_session(struct tapir_session_entry *s,
			     const struct tapir_request_params *params,
			     const struct tapir_caller *caller)
{
	char when[TAPIR_UTC_TEXT_BYTES];

	tapir_clock__utc_text(tapir_clock__ns(CLOCK_REALTIME), when);
	snprintf(s->utc, sizeof(s->utc), "%sZ", when);
	memcpy(s->owner, caller->name, sizeof(s->owner));
	if (params->pids.cnt)
		snprintf(s->target, sizeof(s->target), "pid %u%s", params->pids.data[0],
			 params->pids.cnt > 1 ? " and others" : "");
	else
		snprintf(s->target, sizeof(s->target), "%s %.100s",
			 params->container ? "container"
			 : params->pod	   ? "pod"
					   : "comm",
			 params->container ? params->container
			 : params->pod	   ? params->pod
					   : params->comms.data[0]);
	s->target_pid = params->pids.cnt ? params->pids.data[0] : 0;
	s->started = params->started;
	if (params->pids.cnt == 1)
		describe_process(s);
	s->lease_ns = params->lease_ns;
	s->touched_ns = tapir_clock__now_ns();
}

/*
 * The child has the page and the descriptor of the file from the task. tapir_agent__start_recording
 * returns its process id.
 */
static int start_recording(struct tapir_agent *agent, struct tapir_session_entry *s,
			   struct tapir_task *task, const struct tapir_wire_request *rq,
			   const struct tapir_caller *caller)
{
	const struct tapir_recording_start start = {.rq = rq,
						    .caller = caller,
						    .task = task,
						    .client_fd = -1,
						    .trace_fd = &task->trace_fd,
						    .page = &s->page};
	int err = tapir_token__random(s->id, TAPIR_SESSION_ID_DIGITS);

	s->page = tapir_session_shm__new();
	if (!s->page)
		return -ENOMEM;
	if (!err)
		err = tapir_session__create_file(agent, s);
	if (err)
		return err;
	task->page = s->page;
	task->trace_fd = s->fd;
	err = tapir_agent__start_recording(agent, &start);
	s->pid = err > 0 ? err : 0;
	return err > 0 ? 0 : err;
}

static void begin_session(struct tapir_agent *agent, const struct tapir_wire_request *rq,
			  const struct tapir_request_params *params,
			  const struct tapir_caller *caller, int fd)
{
	struct tapir_session_entry s = {.fd = -1, .waiter_fd = -1};
	struct tapir_task task = {.run = tapir_task__session,
				  .params = params,
				  .path_arg = "",
				  .limits = &agent->config->limits,
				  .state_fd = &agent->state_fd};
	int err;

	if (tapir_agent__recordings(agent) >= agent->config->limits.sessions) {
		(void)tapir_answer__error(fd, 429, BUSY, MSG_DONTWAIT);
		return;
	}
	/*
	 * Room is made for the largest trace that a session may write: its size is not known yet.
	 */
	if (tapir_session__make_room(agent, caller, &tapir_routes[rq->route],
				     agent->config->limits.trace_mb << 20)) {
		(void)tapir_answer__error(fd, 507, NO_ROOM, MSG_DONTWAIT);
		return;
	}
	err = tapir_task__check(&task);
	if (!err) {
		describe_session(&s, params, caller);
		err = start_recording(agent, &s, &task, rq, caller);
	}
	if (!err && !tapir_vec__push(&agent->sessions->all, s))
		err = -ENOMEM;
	if (!err) {
		tapir_session__save(agent, &s);
		answer_one(fd, 201, &s);
		return;
	}
	/* Without a row in the table no request could stop the recording. */
	if (s.pid)
		kill(s.pid, SIGTERM);
	tapir_session__remove_files(agent, &s);
	tapir_session__release(&s);
	(void)tapir_answer__diag(fd, tapir_answer__status(err), MSG_DONTWAIT);
}

/* ---- hand out ------------------------------------------------------------------------------- */

static bool has_trace(const struct tapir_session_entry *s, int fd)
{
	if (!s->pid && s->state != TAPIR_SESSION_FAILED)
		return true;
	(void)tapir_answer__error(fd, 409, s->pid ? "the recording has not ended" : s->page->error,
				  MSG_DONTWAIT);
	return false;
}

/*
 * Starts a task that reads the trace, and another one; NULL: none. Returns its process id: the
 * socket belongs to it. 0: the client was answered.
 */
static pid_t start_reader(struct tapir_agent *agent, const struct tapir_session_entry *s,
			  const struct tapir_session_entry *other, struct tapir_task *task, int fd)
{
	int err;

	if (!has_trace(s, fd) || (other && !has_trace(other, fd)))
		return 0;
	task->trace_fd = s->fd;
	task->other_fd = other ? other->fd : -1;
	err = tapir_agent__start_task(
		agent, fd, (int *const[]){&task->trace_fd, other ? &task->other_fd : NULL, NULL},
		false, task->run, task);
	if (err > 0)
		return err;
	(void)tapir_answer__error(fd, 503, "as many requests run as the agent permits",
				  MSG_DONTWAIT);
	return 0;
}

static pid_t send_trace(struct tapir_agent *agent, const struct tapir_session_entry *s,
			const char *format, int fd)
{
	char name[32];
	struct tapir_task task = {.run = tapir_task__trace, .format = format, .path_arg = name};

	snprintf(name, sizeof(name), "tapir-%s", s->id);
	return start_reader(agent, s, NULL, &task, fd);
}

static tapir_task_fn report_of(uint16_t route)
{
	switch (route) {
	case TAPIR_ROUTE_SESSION_QUERY:
		return tapir_task__trace_query;
	case TAPIR_ROUTE_SESSION_DIFF:
		return tapir_task__trace_diff;
	case TAPIR_ROUTE_SESSION_REQUESTS:
		return tapir_task__trace_requests;
	case TAPIR_ROUTE_SESSION_VIEW:
		return tapir_task__trace_view;
	default:
		return tapir_task__trace_findings;
	}
}

/* Answers with a report about a trace that is complete. */
static bool report(struct tapir_agent *agent, const struct tapir_session_entry *s,
		   const struct tapir_session_entry *other, const struct tapir_wire_request *rq,
		   const struct tapir_request_params *params, int fd)
{
	const char *slash = strchr(rq->path_arg, '/');
	struct tapir_task task = {
		.run = report_of(rq->route), .params = params, .path_arg = slash ? slash + 1 : ""};
	int err = tapir_task__check(&task);

	if (!err)
		return start_reader(agent, s, other, &task, fd) > 0;
	(void)tapir_answer__diag(fd, tapir_answer__status(err), MSG_DONTWAIT);
	return false;
}

/*
 * Hands a session out for the last time. It goes when the client has its whole trace (see
 * tapir_sessions__task_ended): one whose export fails, or whose client goes, is kept. A session
 * that failed has no trace that could be lost.
 */
static bool send_last(struct tapir_agent *agent, size_t at, const char *format, int fd)
{
	struct tapir_session_entry *s = &agent->sessions->all.data[at];

	s->last_reader = send_trace(agent, s, format, fd);
	if (s->last_reader)
		return true;
	if (s->state == TAPIR_SESSION_FAILED)
		tapir_sessions__forget(agent, at);
	return false;
}

static bool stop_session(struct tapir_agent *agent, size_t at, const char *format, bool goes_after,
			 int fd)
{
	struct tapir_session_entry *s = &agent->sessions->all.data[at];

	if (s->waiter_fd >= 0) {
		(void)tapir_answer__error(fd, 409, "another client stops this recording",
					  MSG_DONTWAIT);
		return false;
	}
	if (s->pid) {
		s->state = TAPIR_SESSION_STOPPING;
		s->waiter_fd = fd;
		s->waiter_format = format;
		s->goes_after = goes_after;
		tapir_agent__end_task(agent, s->pid);
		return true;
	}
	return goes_after ? send_last(agent, at, format, fd) : send_trace(agent, s, format, fd) > 0;
}

/* A client that stopped the session waits for its trace: a task answers it. */
static void answer_waiter(struct tapir_agent *agent, size_t at)
{
	struct tapir_session_entry *s = &agent->sessions->all.data[at];
	int waiter_fd = s->waiter_fd;
	bool is_taken;

	s->waiter_fd = -1;
	if (waiter_fd < 0)
		return;
	is_taken = s->goes_after ? send_last(agent, at, s->waiter_format, waiter_fd)
				 : send_trace(agent, s, s->waiter_format, waiter_fd) > 0;
	if (!is_taken)
		close(waiter_fd);
}

/*
 * The task that ended is the last reader of a session (its trace was sent to a client that deletes
 * it), the one that counted a truncated trace, or the recording itself. A pid is one of these of at
 * most one session.
 */
void tapir_sessions__task_ended(struct tapir_agent *agent, pid_t pid, int status)
{
	for (size_t i = 0; i < agent->sessions->all.cnt; i++) {
		struct tapir_session_entry *s = &agent->sessions->all.data[i];

		if (s->last_reader == pid) {
			s->last_reader = 0;
			if (!status)
				tapir_sessions__forget(agent, i);
			return;
		}

		if (s->counter == pid) {
			s->counter = 0;
			tapir_session__save(agent, s);
			return;
		}

		if (s->pid != pid)
			continue;
		s->pid = 0;
		/*
		 * The task sets has_ended or error before it exits: with neither, a signal ended
		 * it.
		 */
		if (!s->page->has_ended && !*s->page->error)
			snprintf(s->page->error, sizeof(s->page->error),
				 "the recording was killed; what it had written is kept");
		s->state = s->page->has_ended	     ? TAPIR_SESSION_FINISHED
			   : s->page->file_bytes > 0 ? TAPIR_SESSION_TRUNCATED
						     : TAPIR_SESSION_FAILED;
		s->page->file_bytes = tapir_session__bytes(s);
		/*
		 * The counts of a trace that was cut are read from it later, by a task (see
		 * counter).
		 */
		s->is_uncounted = s->state == TAPIR_SESSION_TRUNCATED;
		tapir_session__save(agent, s);
		if (s->state != TAPIR_SESSION_FAILED)
			tapir_agent_push__take_session(agent, s->id, s->fd);
		answer_waiter(agent, i);
		return;
	}
}

/* ---- of the continuous recording ------------------------------------------------------------ */

void tapir_sessions__adopt(struct tapir_agent *agent, const struct tapir_frozen *frozen)
{
	struct tapir_session_entry s = {
		.fd = frozen->fd, .waiter_fd = -1, .state = TAPIR_SESSION_FINISHED};
	struct tapir_caller owner = {.peer = *frozen->owner ? "-" : "trigger",
				     .role = TAPIR_ROLE_ADMIN};
	char when[TAPIR_UTC_TEXT_BYTES];
	int err = tapir_token__random(s.id, TAPIR_SESSION_ID_DIGITS);

	snprintf(owner.name, sizeof(owner.name), "%s", frozen->owner);
	/* This file counts for max_files: the owner's oldest ones are deleted for it. */
	tapir_session__limit_frozen(agent, &owner, agent->config->continuous.max_files - 1);
	tapir_clock__utc_text(tapir_clock__ns(CLOCK_REALTIME), when);
	snprintf(s.utc, sizeof(s.utc), "%sZ", when);
	snprintf(s.owner, sizeof(s.owner), "%s", frozen->owner);
	snprintf(s.target, sizeof(s.target), TAPIR_SESSION_FROZEN "%s", frozen->why);
	s.page = tapir_session_shm__new();
	if (!s.page || tapir_session__make_room(agent, &owner, &tapir_routes[TAPIR_ROUTE_FREEZE],
						tapir_session__bytes(&s)))
		err = -ENOSPC;
	if (!err)
		err = tapir_session__name_file(agent, &s);
	if (!err && !tapir_vec__push(&agent->sessions->all, s))
		err = -ENOMEM;
	if (err) {
		tapir_warn("%s: the file is not kept: %s", frozen->why, tapir_errno__text(err));
		tapir_session__remove_files(agent, &s);
		tapir_session__release(&s);
		return;
	}
	s.page->has_ended = true;
	s.page->elapsed_ns = frozen->ns;
	s.page->file_bytes = tapir_session__bytes(&s);
	tapir_session__save(agent, &s);
	tapir_agent_push__take_session(agent, s.id, s.fd);
	tapir_info("session %s: %s", s.id, s.target);
}

/* ---- counts --------------------------------------------------------------------------------- */

/* Starts the next task that counts; one runs at a time, because traces may be large. */
static void count_next(struct tapir_agent *agent)
{
	struct tapir_session_entry *s, *next = NULL;
	struct tapir_task task = {};
	int pid;

	tapir_vec_for_each (s, &agent->sessions->all) {
		if (s->counter)
			return;
		if (s->is_uncounted && !next)
			next = s;
	}
	if (!next || agent->is_ending)
		return;
	next->is_uncounted = false;
	task.trace_fd = next->fd;
	task.page = next->page;
	pid = tapir_agent__start_task(agent, -1, (int *const[]){&task.trace_fd, NULL}, false,
				      tapir_session__count, &task);
	next->counter = pid > 0 ? pid : 0;
}

/* ---- leases --------------------------------------------------------------------------------- */

bool tapir_sessions__are_watched(const struct tapir_sessions *sessions)
{
	const struct tapir_session_entry *s;

	tapir_vec_for_each (s, &sessions->all)
		if ((s->pid && s->lease_ns) || s->is_uncounted)
			return true;
	return false;
}

void tapir_sessions__check(struct tapir_agent *agent)
{
	uint64_t now_ns = tapir_clock__now_ns();
	struct tapir_session_entry *s;

	count_next(agent);
	tapir_vec_for_each (s, &agent->sessions->all) {
		if (!s->pid || !s->lease_ns || s->state != TAPIR_SESSION_RECORDING ||
		    now_ns - s->touched_ns < s->lease_ns)
			continue;
		s->state = TAPIR_SESSION_STOPPING;
		tapir_agent__end_task(agent, s->pid);
	}
}

/* ---- requests ------------------------------------------------------------------------------- */

/* all.cnt: none that the caller may see. path_arg: "ID" or "ID/VIEW". */
static size_t find_session(const struct tapir_agent *agent, const struct tapir_caller *caller,
			   const char *path_arg)
{
	char id[TAPIR_SESSION_ID_DIGITS + 2];
	size_t at = 0;

	snprintf(id, sizeof(id), "%.*s", (int)strcspn(path_arg, "/"), path_arg);
	while (at < agent->sessions->all.cnt &&
	       (strcmp(agent->sessions->all.data[at].id, id) != 0 ||
		!may_see(caller, &agent->sessions->all.data[at])))
		at++;
	return at;
}

/* Answers and returns false where a format is not for this caller or this request. */
static bool may_have(const struct tapir_answer_format *f, const struct tapir_wire_request *rq,
		     const struct tapir_caller *caller, int fd)
{
	if (f->is_none && rq->route == TAPIR_ROUTE_SESSION_TRACE)
		(void)tapir_answer__error(fd, 400, TAPIR_ANSWER_NONE_MISPLACED, MSG_DONTWAIT);
	else if (f->has_files && caller->role < TAPIR_ROLE_PROFILE)
		(void)tapir_answer__error(fd, 403, "format: an archive requires the role profile",
					  MSG_DONTWAIT);
	else
		return true;
	return false;
}

static bool handle_one(struct tapir_agent *agent, const struct tapir_wire_request *rq,
		       const struct tapir_request_params *params, const struct tapir_caller *caller,
		       size_t at, int fd)
{
	struct tapir_answer_format f = {};
	/*
	 * The format's name is taken from the table: the client's text is freed with its request.
	 */
	const char *format = tapir_answer_format__find(params->format, &f) ? f.name : NULL;
	struct tapir_session_entry *s = &agent->sessions->all.data[at];
	size_t first;

	s->touched_ns = tapir_clock__now_ns();
	if (!may_have(&f, rq, caller, fd))
		return false;
	switch (rq->route) {
	case TAPIR_ROUTE_SESSION_STOP:
		return stop_session(agent, at, format, false, fd);
	case TAPIR_ROUTE_SESSION_DELETE:
		return stop_session(agent, at, format, true, fd);
	case TAPIR_ROUTE_SESSION_TRACE:
		if (!s->pid)
			return send_trace(agent, s, format, fd) > 0;
		(void)tapir_answer__error(fd, 409, "the recording has not ended", MSG_DONTWAIT);
		return false;
	case TAPIR_ROUTE_SESSION_FINDINGS:
	case TAPIR_ROUTE_SESSION_VIEW:
	case TAPIR_ROUTE_SESSION_QUERY:
	case TAPIR_ROUTE_SESSION_REQUESTS:
		return report(agent, s, NULL, rq, params, fd);
	case TAPIR_ROUTE_SESSION_DIFF:
		first = find_session(agent, caller, params->first ? params->first : "");
		if (first < agent->sessions->all.cnt)
			return report(agent, s, &agent->sessions->all.data[first], rq, params, fd);
		(void)tapir_answer__error(fd, 404, "first: no such session", MSG_DONTWAIT);
		return false;
	default:
		answer_one(fd, 200, s);
		return false;
	}
}

bool tapir_sessions__handle(struct tapir_agent *agent, const struct tapir_wire_request *rq,
			    const struct tapir_request_params *params,
			    const struct tapir_caller *caller, int fd)
{
	size_t at;

	if (rq->route == TAPIR_ROUTE_SESSIONS) {
		answer_list(agent, caller, fd);
		return false;
	}
	if (rq->route == TAPIR_ROUTE_SESSION_BEGIN) {
		begin_session(agent, rq, params, caller, fd);
		return false;
	}
	at = find_session(agent, caller, rq->path_arg ? rq->path_arg : "");
	if (at < agent->sessions->all.cnt)
		return handle_one(agent, rq, params, caller, at, fd);
	(void)tapir_answer__error(fd, 404, "no such session", MSG_DONTWAIT);
	return false;
}
