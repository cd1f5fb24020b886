// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Dispatches a request: identifies the caller, checks its role, calls the function that handles it.
 * Nothing here waits.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/json.h"
#include "base/log.h"
#include "agent/agent_impl.h"
#include "agent/agent_push.h"
#include "agent/agent_watch.h"
#include "agent/continuous.h"
#include "agent/answer.h"
#include "agent/metrics.h"
#include "agent/openapi.h"
#include "agent/sessions.h"
#include "agent/task.h"

#define PREWARM_NS (300 * TAPIR_NS_PER_MS) /* the list comes first */

/* ---- answers of the agent's own ------------------------------------------------------------- */

static bool answer_health(struct tapir_agent *agent, int fd, bool is_ready)
{
	struct tapir_str body = {};
	struct tapir_json j = tapir_json__to(&body);
	bool is_taken;

	tapir_json__open(&j, NULL, '{');
	tapir_json__str(&j, "status", is_ready ? "ok" : "busy");
	tapir_json__str(&j, "version", TAPIR_VERSION);
	tapir_json__u64(&j, "uptime_seconds",
			(tapir_clock__now_ns() - agent->started_ns) / TAPIR_NS_PER_SEC);
	tapir_json__u64(&j, "recordings", tapir_agent__recordings(agent));
	tapir_agent_push__write_health(agent, &j);
	tapir_json__close(&j, '}');
	tapir_str__addc(&body, '\n');
	is_taken = tapir_agent__send(agent, fd, TAPIR_MIME_JSON, is_ready ? 200 : 503, &body);
	tapir_str__fini(&body);
	return is_taken;
}

static bool answer_openapi(struct tapir_agent *agent, int fd)
{
	struct tapir_str body = {};
	bool is_taken;

	tapir_openapi__write(&body);
	is_taken = tapir_agent__send(agent, fd, TAPIR_MIME_JSON, 200, &body);
	tapir_str__fini(&body);
	return is_taken;
}

static bool answer_config(struct tapir_agent *agent, int fd)
{
	struct tapir_str body = {};
	struct tapir_json j = tapir_json__to(&body);
	bool is_taken;

	tapir_json__open(&j, NULL, '{');
	tapir_serve_config__write(agent->config, &j);
	tapir_json__close(&j, '}');
	tapir_str__addc(&body, '\n');
	is_taken = tapir_agent__send(agent, fd, TAPIR_MIME_JSON, 200, &body);
	tapir_str__fini(&body);
	return is_taken;
}

static bool answer_metrics(struct tapir_agent *agent, int fd)
{
	struct tapir_str body = {};
	bool is_taken;

	tapir_metrics__write(agent, &body);
	is_taken = tapir_agent__send(agent, fd, TAPIR_MIME_METRICS, 200, &body);
	tapir_str__fini(&body);
	return is_taken;
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static void add_target(const struct tapir_request_params *params, struct tapir_str *out)
{
	const char *const *comm;
	const uint32_t *pid;

	tapir_vec_for_each (pid, &params->pids)
		tapir_str__addf(out, "%spid=%u", out->len ? " " : "", *pid);
	tapir_vec_for_each (comm, &params->comms) {
		tapir_str__adds(out, out->len ? " comm=" : "comm=");
		tapir_str__add_printable(out, *comm, strlen(*comm));
	}
	if (params->container || params->pod) {
		const char *text = params->container ? params->container : params->pod;

		tapir_str__adds(out, params->container ? "container=" : "pod=");
		tapir_str__add_printable(out, text, strlen(text));
	}
}

/* true: it has been started, or was answered with the reason why not. */
static bool start_task(struct tapir_agent *agent, const struct tapir_wire_request *rq,
		       const struct tapir_caller *caller, struct tapir_task *task, int fd)
{
	const struct tapir_recording_start start = {
		.rq = rq, .caller = caller, .task = task, .client_fd = fd};
	bool records = tapir_task__records(task);
	int err;

	if (records && tapir_agent__recordings(agent) >= agent->config->limits.sessions) {
		(void)tapir_answer__error(fd, 429,
					  "as many recordings run as the agent permits (sessions)",
					  MSG_DONTWAIT);
		return false;
	}
	err = records ? tapir_agent__start_recording(agent, &start)
		      : tapir_agent__start_task(agent, fd, NULL, false, task->run, task);
	if (err > 0)
		return true;
	(void)tapir_answer__error(fd, 503,
				  err == -EAGAIN ? "as many requests run as the agent permits"
						 : "the agent cannot start a process",
				  MSG_DONTWAIT);
	return false;
}

static bool is_of_counters(uint16_t route)
{
	return route == TAPIR_ROUTE_COUNTERS || route == TAPIR_ROUTE_COUNTER;
}

/* Counters of processes that are not watched are recorded. */
static bool may_record(struct tapir_agent *agent, const struct tapir_caller *caller,
		       const struct tapir_route *route, int fd)
{
	if (caller->role >= TAPIR_ROLE_PROFILE)
		return true;
	tapir_agent__audit(agent, caller, route, "", "refused");
	(void)tapir_answer__error(fd, 403, "the process is not watched: role profile may record it",
				  MSG_DONTWAIT);
	return false;
}

/* Written whether it is done or refused: an audit has to hold the attempts, too. */
static void audit_task(struct tapir_agent *agent, const struct tapir_wire_request *rq,
		       const struct tapir_caller *caller, const struct tapir_request_params *params,
		       bool is_refused)
{
	struct tapir_str target = {};

	if (rq->path_arg)
		tapir_str__add_printable(&target, rq->path_arg, strlen(rq->path_arg));
	add_target(params, &target);
	if (rq->route == TAPIR_ROUTE_QUESTIONS) {
		tapir_str__adds(&target, target.len ? " " : "");
		tapir_request_params__add_question(params, &target);
	}
	if (params->sql) {
		tapir_str__adds(&target, target.len ? " " : "");
		tapir_str__add_printable(&target, params->sql, strlen(params->sql));
	}
	tapir_agent__audit(agent, caller, &tapir_routes[rq->route], target.data ? target.data : "",
			   is_refused ? "refused" : "accepted");
	tapir_str__fini(&target);
}

/* true: the socket belongs to a task now. */
static bool handle_task(struct tapir_agent *agent, const struct tapir_wire_request *rq, int fd,
			const struct tapir_caller *caller)
{
	const struct tapir_route *route = &tapir_routes[rq->route];
	struct tapir_request_params params = {.is_admin = caller->role >= TAPIR_ROLE_ADMIN};
	struct tapir_task task = {.run = tapir_agent__task_of(rq->route),
				  .params = &params,
				  .path_arg = rq->path_arg ? rq->path_arg : "",
				  .limits = &agent->config->limits,
				  .state_fd = &agent->state_fd,
				  .lists = agent->lists};
	bool is_started = false;
	int err;

	if (rq->route == TAPIR_ROUTE_PPROF)
		params.format = "pprof";
	err = tapir_request_params__read(&params, route, rq);
	/* A program that serves its own agent may ask for itself alone, whatever it names. */
	if (!err && caller->only_pid)
		err = tapir_request_params__restrict_to_pid(&params, route, task.path_arg,
							    caller->only_pid);
	if (!err && is_of_counters(rq->route) &&
	    (tapir_agent_watch__answer(agent, rq->path_arg, &params, fd, &is_started) ||
	     !may_record(agent, caller, route, fd))) {
		tapir_request_params__fini(&params);
		return is_started;
	}
	if (!err && task.run)
		err = tapir_task__check(&task);
	if (err)
		(void)tapir_answer__diag(fd, tapir_answer__status(err), MSG_DONTWAIT);
	else if (task.run)
		is_started = start_task(agent, rq, caller, &task, fd);
	else
		is_started = tapir_sessions__handle(agent, rq, &params, caller, fd);
	if (route->is_action)
		audit_task(agent, rq, caller, &params, err != 0);
	tapir_request_params__fini(&params);
	return is_started;
}

/*
 * A caller that searches processes to record, and may record, will not have to wait for the
 * kernel's verifier then.
 */
static void prewarm(struct tapir_agent *agent, uint16_t route, const struct tapir_caller *caller)
{
	if ((route == TAPIR_ROUTE_PROCESSES || route == TAPIR_ROUTE_PROCESS) &&
	    caller->role >= TAPIR_ROLE_PROFILE)
		tapir_agent_warm_worker__keep(agent, PREWARM_NS);
}

/* Returns true for routes about all processes that the agent watches or records. */
static bool is_of_all(uint16_t route)
{
	return route == TAPIR_ROUTE_METRICS || route == TAPIR_ROUTE_CONTINUOUS ||
	       route == TAPIR_ROUTE_FREEZE;
}

/* Answers what needs no child at once. true: the socket belongs to a task now. */
static bool dispatch_request(struct tapir_agent *agent, const struct tapir_wire_request *rq, int fd,
			     const struct tapir_caller *caller)
{
	if (caller->only_pid && !agent->config->only_pid && is_of_all(rq->route)) {
		(void)tapir_answer__error(fd, 404, "not for one process", MSG_DONTWAIT);
		return false;
	}
	switch ((enum tapir_route_id)rq->route) {
	case TAPIR_ROUTE_HEALTHZ:
		return answer_health(agent, fd, true);
	case TAPIR_ROUTE_READYZ:
		return answer_health(
			agent, fd, tapir_agent__recordings(agent) < agent->config->limits.sessions);
	case TAPIR_ROUTE_OPENAPI:
		return answer_openapi(agent, fd);
	case TAPIR_ROUTE_CONFIG:
		return answer_config(agent, fd);
	case TAPIR_ROUTE_METRICS:
		return answer_metrics(agent, fd);
	case TAPIR_ROUTE_CONTINUOUS:
	case TAPIR_ROUTE_FREEZE:
		tapir_continuous__answer(agent, rq, caller, fd);
		return false;
	default:
		prewarm(agent, rq->route, caller);
		return handle_task(agent, rq, fd, caller);
	}
}

void tapir_agent__handle(struct tapir_agent *agent, const struct tapir_agent_front *front,
			 const struct tapir_wire_request *rq, int fd)
{
	struct tapir_caller caller;
	bool is_task = false;

	tapir_diag__clear();
	if (rq->route >= TAPIR_ROUTE_CNT)
		(void)tapir_answer__error(fd, 404, "no such resource", MSG_DONTWAIT);
	else if (agent->is_ending)
		(void)tapir_answer__error(fd, 503, "the agent is ending", MSG_DONTWAIT);
	else if (tapir_agent__admit(agent, front, rq, fd, &caller))
		is_task = !tapir_agent__handle_login(agent, rq, &caller, fd) &&
			  dispatch_request(agent, rq, fd, &caller);
	if (!is_task)
		close(fd);
}
