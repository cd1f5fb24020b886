// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The child that watches the runtimes which the configuration selects, and what is answered from
 * its page: no request for it starts or attaches anything.
 */
#include "agent/agent_watch.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "base/foreign/helper.h"
#include "agent/answer.h"
#include "agent/watch/watch_report.h"

#define ALL_HISTORY_MS (24 * 3600 * 1000ull) /* whatever is kept */

static int run_watch(void *ctx, int client_fd)
{
	struct tapir_agent *agent = ctx;
	int err;

	(void)client_fd;
	(void)tapir_helpers__start();
	err = tapir_watch__run(&agent->config->watch, agent->watch.page);
	for (int i = 0; err && i < tapir_diag__cnt(); i++)
		tapir_warn("runtimes are not watched: %s", tapir_diag__line(i));
	return err;
}

int tapir_agent_watch__start(struct tapir_agent *agent)
{
	if (!agent->config->watch.comms.cnt)
		return 0;
	agent->watch.page = tapir_watch_shm__new();
	if (!agent->watch.page)
		return -ENOMEM;
	agent->watch.child.name = "the process that watches runtimes";
	agent->watch.child.run = run_watch;
	(void)tapir_agent_child__start(agent, &agent->watch.child);
	return 0;
}

void tapir_agent_watch__stop(struct tapir_agent *agent)
{
	tapir_watch_shm__free(agent->watch.page);
	agent->watch.page = NULL;
}

void tapir_agent_watch__task_ended(struct tapir_agent *agent, pid_t pid)
{
	if (tapir_agent_child__end_seen(agent, &agent->watch.child, pid))
		tapir_watch_shm__clear(agent->watch.page);
}

/* ---- answers -------------------------------------------------------------------------------- */

void tapir_agent_watch__write_metrics(const struct tapir_agent *agent, struct tapir_str *out)
{
	if (agent->watch.page)
		tapir_watch_report__metrics(agent->watch.page, out);
}

static bool is_of_watched(const struct tapir_agent *agent,
			  const struct tapir_request_params *params)
{
	return agent->watch.page && !params->duration_ns && !params->interval_ns &&
	       !params->counters.cnt && !params->comms.cnt && !params->container && !params->pod;
}

struct history {
	const struct tapir_watch_shm *page;
	const struct tapir_watch_query *query;
};

/* In a child: histories are long. */
static int send_history(void *ctx, int fd)
{
	struct tapir_wire_head head = {.status = 200, .mime = TAPIR_MIME_JSON};
	const struct history *h = ctx;
	struct tapir_str body = {};

	tapir_watch_report__counters(h->page, h->query, &body);
	tapir_str__addc(&body, '\n');
	return body.failed ? tapir_answer__error(fd, 500, "out of memory", 0)
			   : tapir_answer__send(fd, &head, body.data, body.len, 0);
}

static bool answer_query(struct tapir_agent *agent, const struct tapir_watch_query *query, int fd)
{
	struct history history = {agent->watch.page, query};
	struct tapir_str body = {};
	bool is_taken;

	if (query->history_ms) {
		is_taken =
			tapir_agent__start_task(agent, fd, NULL, false, send_history, &history) > 0;
		if (!is_taken)
			(void)tapir_answer__error(
				fd, 503, "as many requests run as the agent permits", MSG_DONTWAIT);
		return is_taken;
	}
	tapir_watch_report__counters(agent->watch.page, query, &body);
	tapir_str__addc(&body, '\n');
	is_taken = tapir_agent__send(agent, fd, TAPIR_MIME_JSON, 200, &body);
	tapir_str__fini(&body);
	return is_taken;
}

bool tapir_agent_watch__answer(struct tapir_agent *agent, const char *name,
			       const struct tapir_request_params *params, int fd, bool *is_taken)
{
	struct tapir_watch_query query = {
		.pids = &params->pids,
		.name = name,
		.history_ms = params->history_ns ? params->history_ns / TAPIR_NS_PER_MS
			      : name		 ? ALL_HISTORY_MS
						 : 0,
		.now_utc_ms = tapir_clock__ns(CLOCK_REALTIME) / TAPIR_NS_PER_MS,
		.started_ms = params->pids.cnt == 1 ? params->started : 0,
	};
	int has;

	has = is_of_watched(agent, params) ? tapir_watch_report__has(agent->watch.page, &query) : 0;
	if (!has && params->watched)
		(void)tapir_answer__error(fd, 404, "pid: the agent does not watch this process",
					  MSG_DONTWAIT);
	else if (has < 0)
		(void)tapir_answer__error(fd, 409, "started: the process is another one by now",
					  MSG_DONTWAIT);
	else if (has)
		*is_taken = answer_query(agent, &query, fd);
	return has || params->watched;
}
