// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events as they happen, to a client that takes them as Server-Sent Events. A client that is too
 * slow holds up neither the program nor the agent: the queue of the recording is bounded, and what
 * does not fit is counted and comes as a record of losses.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/foreign/helper.h"
#include "output/render/live_lines.h"
#include "agent/answer.h"
#include "agent/task.h"
#include "agent/watch/totals.h"

struct stream {
	pthread_mutex_t lock;
	struct tapir_live_lines live;
	int client_fd;
	bool has_started; /* HEAD was sent */
	struct tapir_str out;
};

static int events_on_record(void *ctx, const struct tapir_catalog *catalog,
			    const struct tapir_rec *rec)
{
	struct stream *s = ctx;

	return tapir_live_lines__add(&s->live, catalog, rec);
}

/* One line, one event. */
static void frame(struct tapir_str *lines, struct tapir_str *out)
{
	const char *at = lines->data, *end = at + lines->len, *newline;

	while (at && at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		tapir_str__adds(out, "data: ");
		tapir_str__add(out, at, (size_t)(newline - at));
		tapir_str__adds(out, "\n\n");
		at = newline + 1;
	}
	tapir_str__clear(lines);
}

/*
 * The answer begins when events can come, or the first has; a client that waits for its first byte
 * knows it. The recording's thread or its session's.
 */
static void begin_answer(struct stream *s)
{
	static const char comment[] = ": recording\n\n";
	struct tapir_wire_head head = {
		.status = 200, .mime = TAPIR_MIME_EVENTS, .is_streamed = true};

	pthread_mutex_lock(&s->lock);
	if (!s->has_started && !tapir_wire__send_head(s->client_fd, &head, 0))
		(void)tapir_wire__send_data(s->client_fd, comment, sizeof(comment) - 1, 0);
	s->has_started = true;
	pthread_mutex_unlock(&s->lock);
}

static int on_flush(void *ctx, enum tapir_session_flush when)
{
	struct stream *s = ctx;
	bool is_held = tapir_live_lines__take(&s->live, when);
	int err;

	frame(&s->live.out, &s->out);
	if (s->out.len)
		begin_answer(s);
	err = s->out.failed || s->live.out.failed
		      ? -ENOMEM
		      : tapir_wire__send_data(s->client_fd, s->out.data, s->out.len, 0);
	tapir_str__clear(&s->out);
	return err ? err : is_held;
}

static void on_ready(void *ctx, const struct tapir_recording_ready *ready)
{
	(void)ready;
	begin_answer(ctx);
}

static void events_on_progress(void *ctx, const struct tapir_recording_progress *progress)
{
	(void)ctx;
	tapir_totals__count(&progress->stats);
}

static int run_events(struct stream *s, const struct tapir_task *task,
		      struct tapir_recording_plan *plan)
{
	struct tapir_recording_result result = {};
	int err;

	plan->opts.on_record = events_on_record;
	plan->opts.on_flush = on_flush;
	plan->opts.on_ready = on_ready;
	plan->opts.on_progress = events_on_progress;
	plan->opts.ctx = s;
	if (!task->params->duration_ns)
		plan->opts.duration_ns = task->limits->seconds * TAPIR_NS_PER_SEC;
	s->live.start_ns = tapir_clock__now_ns();
	err = tapir_recording__run(&plan->opts, &result);
	tapir_totals__count(&result.stats);
	return err;
}

int tapir_task__events(void *ctx, int client_fd)
{
	const struct tapir_task *task = ctx;
	struct stream s = {.lock = PTHREAD_MUTEX_INITIALIZER,
			   .live = {.format = TAPIR_EVENT_JSON,
				    .hides_counter_events = task->params->counters.cnt > 0},
			   .client_fd = client_fd};
	struct tapir_containers containers = {};
	struct tapir_request_params params = *task->params;
	struct tapir_recording_plan plan = {};
	struct tapir_request request;
	int err;

	params.no_samples = params.no_sched = true;
	/* Counters alone: not what would be recorded if nothing were requested. */
	params.only_counters = params.counters.cnt && !params.specs.cnt && !params.profiles.cnt;
	(void)tapir_helpers__start();
	err = tapir_task__find_target(&params, &containers);
	if (!err)
		err = tapir_request_params__request(&params, &request);
	if (!err)
		err = tapir_request__plan(&request, &plan);
	if (!err)
		err = run_events(&s, task, &plan);
	tapir_recording_plan__fini(&plan);
	tapir_vec__fini(&params.cgroups);
	tapir_vec__fini(&params.inside);
	tapir_containers__fini(&containers);
	tapir_live_lines__fini(&s.live);
	tapir_str__fini(&s.out);
	if (err && !s.has_started)
		return tapir_answer__diag(client_fd,
					  err == -EEXIST ? 409 : tapir_answer__status(err), 0);
	begin_answer(&s);
	return err ? err : tapir_wire__send_end(client_fd, 0);
}
