// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The child's functions first, then the agent's. A frozen part belongs to the caller that requested
 * it; one that a trigger made has no owner. The agent takes parts when it can; what does not fit
 * into its sessions is dropped, the oldest first.
 */
#include "agent/continuous.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/fd_message.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "record/request.h"
#include "flight/flight.h"
#include "flight/judge.h"
#include "base/foreign/helper.h"
#include "agent/agent_push.h"
#include "agent/agent_watch.h"
#include "agent/answer.h"
#include "agent/sessions.h"
#include "agent/task.h"
#include "agent/watch/totals.h"

#define ALL_HZ	  20	     /* of the whole machine, where nothing else is configured */
#define MAX_FILES UINT32_MAX /* the agent removes the oldest */
#define MEGABYTE  (1ull << 20)

struct message {
	uint64_t ns;
	uint64_t from_utc_ns, until_utc_ns; /* of a part from which profiles are pushed */
	bool is_part;
	char why[TAPIR_FROZEN_WHY_BYTES];
};

/* ---- the child ------------------------------------------------------------------------------ */

struct recorder {
	const struct tapir_serve_config *config;
	int agent_fd, state_fd;
};

static int make_file(void *ctx)
{
	return tapir_task__open_trace(((struct recorder *)ctx)->state_fd);
}

/* The agent takes it when it can; one that it does not take is gone. */
static void send_file(const struct recorder *r, int fd, const struct message *message)
{
	int err = tapir_fd_message__send(r->agent_fd, message, sizeof(*message), &fd, 1, 0);

	if (err)
		tapir_warn("%s: the agent does not take the file: %s", message->why,
			   tapir_errno__text(err));
	close(fd);
}

static void take_file(void *ctx, int fd, const struct tapir_flight_file *file)
{
	struct message message = {.ns = file->ns};

	snprintf(message.why, sizeof(message.why), "%s", file->why);
	send_file(ctx, fd, &message);
}

static void take_part(void *ctx, int fd, uint64_t from_ns, uint64_t until_ns)
{
	uint64_t now_ns = tapir_clock__now_ns(), utc_ns = tapir_clock__ns(CLOCK_REALTIME);
	struct message message = {.is_part = true,
				  .from_utc_ns = utc_ns - (now_ns - from_ns),
				  .until_utc_ns = utc_ns - (now_ns - until_ns),
				  .why = "part"};

	send_file(ctx, fd, &message);
}

static void on_ready(void *ctx, const struct tapir_recording_ready *ready)
{
	(void)ctx;
	(void)ready;
}

static void continuous_on_progress(void *ctx, const struct tapir_recording_progress *progress)
{
	(void)ctx;
	tapir_totals__count(&progress->stats);
}

static int record_segments(struct recorder *r, struct tapir_recording_plan *plan,
			   struct tapir_triggers *triggers)
{
	const struct tapir_serve_continuous *c = &r->config->continuous;
	struct tapir_writer_opts file = {
		.sz = sizeof(file), .path = "", .max_bytes = r->config->limits.trace_mb * MEGABYTE};
	const struct tapir_flight_opts flight = {
		.sz = sizeof(flight),
		.stem = "tapir",
		.dir = c->segments,
		.ring_bytes = c->mb * MEGABYTE,
		.window_ns = c->window * TAPIR_NS_PER_SEC,
		.cooldown_ns = c->cooldown * TAPIR_NS_PER_SEC,
		.max_files = MAX_FILES,
		.triggers = triggers,
		.file = &file,
		.make = make_file,
		.take = take_file,
		.judge = tapir_flight__judge,
		.part_ns = tapir_agent_push__part_ns(r->config),
		.part = take_part,
		.ctx = r,
	};
	struct tapir_recording_result result = {};
	struct tapir_flight_stats stats = {};
	char *path = NULL;
	int err;

	/*
	 * The command is stored in every trace: it is written without its options, among which are
	 * paths of tokens and certificates.
	 */
	plan->opts.command_line = "tapir serve";
	plan->opts.on_ready = on_ready;
	plan->opts.on_progress = continuous_on_progress;
	err = tapir_flight__run(&flight, &plan->opts, &result, &stats, &path);
	tapir_totals__count(&result.stats);
	return err;
}

static int add_triggers(const struct tapir_serve_continuous *c, struct tapir_triggers *triggers,
			struct tapir_request *request)
{
	const char *const *text;
	int err = triggers ? 0 : -ENOMEM;

	tapir_vec_for_each (text, &c->triggers)
		err = err ? err : tapir_triggers__add(triggers, *text);
	return err || tapir_triggers__add_specs(triggers, &request->more_specs) ? err : -ENOMEM;
}

static int run_continuous(void *ctx, int agent_fd)
{
	const struct tapir_agent *agent = ctx;
	const struct tapir_serve_continuous *c = &agent->config->continuous;
	struct recorder r = {agent->config, agent_fd, agent->state_fd};
	struct tapir_triggers *triggers = tapir_triggers__new();
	struct tapir_recording_plan plan = {};
	struct tapir_request request = {
		.sz = sizeof(request),
		.rules = {.comms = c->comms, .all = !c->comms.cnt},
		.specs = c->events,
		.profiles = c->profiles,
		.has_no_default = !c->events.cnt && !c->profiles.cnt,
		.has_counters = c->counters.cnt > 0,
		.counters = c->counters,
		.sample_hz = c->frequency ? c->frequency : ALL_HZ,
		.sched = c->sched,
		.no_sched = !c->sched,
		.no_command_lines = true, /* role profile may freeze it */
	};
	int err;

	(void)tapir_helpers__start();
	err = add_triggers(c, triggers, &request);
	if (!err)
		err = tapir_request__plan(&request, &plan);
	if (!err)
		err = record_segments(&r, &plan, triggers);
	for (int i = 0; err && i < tapir_diag__cnt(); i++)
		tapir_warn("nothing is recorded continuously: %s", tapir_diag__line(i));
	tapir_vec__fini(&request.more_specs);
	tapir_recording_plan__fini(&plan);
	tapir_triggers__free(triggers);
	return err;
}

/* ---- the agent ------------------------------------------------------------------------------ */

static int check_config(const struct tapir_agent *agent)
{
	struct tapir_triggers *triggers = tapir_triggers__new();
	struct tapir_request request = {};
	int err = add_triggers(&agent->config->continuous, triggers, &request);

	tapir_vec__fini(&request.more_specs);
	tapir_triggers__free(triggers);
	return err;
}

int tapir_continuous__start(struct tapir_agent *agent)
{
	int err;

	if (!agent->config->continuous.mb)
		return 0;
	err = check_config(agent);
	if (err)
		return err;
	agent->continuous.child.name = "the continuous recording";
	agent->continuous.child.run = run_continuous;
	agent->continuous.child.has_socket = true;
	return tapir_agent_child__start(agent, &agent->continuous.child);
}

void tapir_continuous__stop(struct tapir_agent *agent)
{
	tapir_guard__fd(&agent->continuous.child.fd);
}

/* Takes a frozen part. Its owner is the caller that requested it; "": a trigger fired. */
static void adopt(struct tapir_agent *agent, int fd, const struct message *message)
{
	struct tapir_agent_continuous *c = &agent->continuous;
	bool is_requested = !strcmp(message->why, "SIGUSR2") && *c->owner;
	const struct tapir_frozen frozen = {.fd = fd,
					    .ns = message->ns,
					    .why = is_requested ? "HTTP" : message->why,
					    .owner = is_requested ? c->owner : ""};

	c->file_cnt++;
	tapir_sessions__adopt(agent, &frozen);
	if (is_requested)
		*c->owner = '\0';
}

void tapir_continuous__take(struct tapir_agent *agent)
{
	struct message message;
	int fd;
	ssize_t n = tapir_fd_message__recv(agent->continuous.child.fd, &message, sizeof(message),
					   &fd, 1, MSG_DONTWAIT, NULL);
	struct stat st;

	if (!n) /* its end is seen by its signal, too */
		tapir_guard__fd(&agent->continuous.child.fd);
	message.why[sizeof(message.why) - 1] = '\0';
	if (n == sizeof(message) && message.is_part && fd >= 0)
		tapir_agent_push__take_part(agent, fd, message.from_utc_ns, message.until_utc_ns);
	else if (n == sizeof(message) && fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode))
		adopt(agent, fd, &message);
	else if (fd >= 0)
		close(fd);
}

void tapir_continuous__task_ended(struct tapir_agent *agent, pid_t pid)
{
	(void)tapir_agent_child__end_seen(agent, &agent->continuous.child, pid);
}

int tapir_continuous__freeze(struct tapir_agent *agent, const struct tapir_caller *caller)
{
	struct tapir_agent_continuous *c = &agent->continuous;

	if (!c->child.pid)
		return -ENOENT;
	snprintf(c->owner, sizeof(c->owner), "%s", caller ? caller->name : "");
	return kill(c->child.pid, SIGUSR2) ? -errno : 0;
}

/* ---- requests ------------------------------------------------------------------------------- */

static void write_state(const struct tapir_agent *agent, struct tapir_str *out)
{
	const struct tapir_serve_continuous *c = &agent->config->continuous;
	struct tapir_json j = tapir_json__to(out);

	tapir_json__open(&j, NULL, '{');
	tapir_json__bool(&j, "recording", agent->continuous.child.pid > 0);
	tapir_json__u64(&j, "mb", c->mb);
	tapir_json__u64(&j, "window_seconds", c->window);
	tapir_json__u64(&j, "cooldown_seconds", c->cooldown);
	tapir_json__u64(&j, "distance_seconds", c->cooldown); /* its former name, for one version */
	tapir_json__u64(&j, "max_files", c->max_files);
	tapir_json__u64(&j, "files", agent->continuous.file_cnt);
	tapir_json__close(&j, '}');
	tapir_str__addc(out, '\n');
}

void tapir_continuous__answer(struct tapir_agent *agent, const struct tapir_wire_request *rq,
			      const struct tapir_caller *caller, int fd)
{
	bool is_freeze = rq->route == TAPIR_ROUTE_FREEZE;
	struct tapir_str body = {};
	int err = is_freeze ? tapir_continuous__freeze(agent, caller) : 0;

	if (is_freeze)
		tapir_agent__audit(agent, caller, &tapir_routes[rq->route], "",
				   err ? "refused" : "accepted");
	write_state(agent, &body);
	if (err)
		(void)tapir_answer__error(
			fd, 404,
			"this agent records nothing continuously (its configuration: continuous)",
			MSG_DONTWAIT);
	else
		(void)tapir_agent__send(agent, fd, TAPIR_MIME_JSON, is_freeze ? 202 : 200, &body);
	tapir_str__fini(&body);
}
