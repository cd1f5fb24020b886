// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recording whose answer is the trace, or what is made of it: HEAD, the content in the requested
 * format, END. A client that closes its connection ends the recording as Ctrl-C would.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <jansson.h>

#include "output/render/views.h"
#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "decode/profiles.h"
#include "base/foreign/helper.h"
#include "agent/answer.h"
#include "agent/question_params.h"
#include "base/child/child_run.h"
#include "agent/task.h"
#include "agent/watch/totals.h"

#define CPU_GRACE_SECONDS 60 /* to name what it has, and to convert it */

bool tapir_task__records(const struct tapir_task *task)
{
	return task->run == tapir_task__profile || task->run == tapir_task__view ||
	       task->run == tapir_task__findings || task->run == tapir_task__session ||
	       task->run == tapir_task__events || task->run == tapir_task__counters ||
	       task->run == tapir_task__question || task->run == tapir_task__query ||
	       task->run == tapir_task__requests;
}

/* The last argument of `report --view`. */
static int add_view(const struct tapir_task *task, struct tapir_str *out)
{
	bool is_requests =
		task->run == tapir_task__requests || task->run == tapir_task__trace_requests;
	const char *arg;

	tapir_str__addf(out, "%s%s%s", is_requests ? "requests" : task->path_arg,
			task->params->event ? "=" : "",
			task->params->event ? task->params->event : "");
	if (out->failed)
		return -ENOMEM;
	return tapir_view__find(out->data, &arg)
		       ? 0
		       : tapir_diag__fail(-EINVAL,
					  "view: no view '%.64s'; 'slow' takes an event, "
					  "others take none",
					  task->path_arg);
}

/* A recording of which nothing is sent would be made for no one. */
static int check_format(const struct tapir_task *task)
{
	struct tapir_answer_format format;

	return task->run == tapir_task__profile &&
			       tapir_answer_format__find(task->params->format, &format) &&
			       format.is_none
		       ? tapir_diag__fail(-EINVAL, TAPIR_ANSWER_NONE_MISPLACED)
		       : 0;
}

int tapir_task__check(const struct tapir_task *task)
{
	struct tapir_request request;
	struct tapir_str view = {};
	uint64_t pid;
	int err = 0;

	if (task->run == tapir_task__process &&
	    !tapir_str__to_u64(task->path_arg, 1, INT32_MAX, &pid))
		return tapir_diag__fail(-EINVAL, "pid: '%.64s' is not a process id",
					task->path_arg);
	if (task->run == tapir_task__stacks &&
	    (task->params->pids.cnt > 0) + !!task->params->container + !!task->params->pod != 1)
		return tapir_diag__fail(-EINVAL, "pid: one of pid, container and pod is required");
	/* Making the argument of --view is its check: the text is made again by the task. */
	if (task->run == tapir_task__view || task->run == tapir_task__trace_view)
		err = add_view(task, &view);
	tapir_str__fini(&view);
	if ((task->run == tapir_task__query || task->run == tapir_task__trace_query) &&
	    (!task->params->sql || !*task->params->sql))
		return tapir_diag__fail(-EINVAL, "sql: a statement is required");
	/* The other checks concern recordings; tasks that record nothing read a file that exists.
	 */
	if (err || !tapir_task__records(task))
		return err;
	if (task->run == tapir_task__events && !task->params->specs.cnt &&
	    !task->params->profiles.cnt && !task->params->counters.cnt)
		return tapir_diag__fail(-EINVAL,
					"spec: events are required: spec, profile or counters");
	if (task->params->duration_ns > task->limits->seconds * TAPIR_NS_PER_SEC)
		return tapir_diag__fail(-EINVAL,
					"seconds: at most %llu are permitted by this agent",
					(unsigned long long)task->limits->seconds);
	err = check_format(task);
	if (err)
		return err;
	return task->run == tapir_task__question
		       ? tapir_question_params__check(task->params)
		       : tapir_request_params__request(task->params, &request);
}

/* ---- the trace ------------------------------------------------------------------------------ */

int tapir_task__open_trace(int state_fd)
{
	int fd = state_fd >= 0 ? openat(state_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)
			       : memfd_create("tapir-trace", MFD_CLOEXEC);

	return fd >= 0 ? fd
		       : tapir_diag__fail(-errno, "cannot create a file for the recording: %s",
					  tapir_errno__text(errno));
}

struct trace_answer {
	int client_fd;
	struct tapir_wire_head head;
	bool has_started;
};

static int pass_on(void *ctx, const char *data, size_t len)
{
	struct trace_answer *a = ctx;
	int err = a->has_started ? 0 : tapir_wire__send_head(a->client_fd, &a->head, 0);

	a->has_started = true;
	return err ? err : tapir_wire__send_data(a->client_fd, data, len, 0);
}

static int send_file(struct trace_answer *a, int fd)
{
	char buffer[TAPIR_WIRE_DATA_BYTES];
	off_t at = 0;
	ssize_t n;
	int err = 0;

	while (!err && (n = pread(fd, buffer, sizeof(buffer), at)) > 0) {
		err = pass_on(a, buffer, (size_t)n);
		at += n;
	}
	return err ? err : n < 0 ? -errno : 0;
}

static int send_converted(struct trace_answer *a, int fd, const char *const *argv)
{
	struct tapir_child_run run = {.argv = argv, .input_fd = fd, .on_output = pass_on, .ctx = a};
	int err = tapir_child_run__do(&run);

	if (!err && run.exit_code)
		err = tapir_diag__fail(-EIO, "%s",
				       run.errors.data ? run.errors.data : "the export failed");
	tapir_str__fini(&run.errors);
	return err;
}

/*
 * Hands out a trace: HEAD, content in this format, END; or an error. name: before the suffix.
 * Returns 0 only if the client was sent all of it.
 */
static int send_trace(int fd, const char *format, const char *name, int client_fd)
{
	struct tapir_answer_format f;
	struct trace_answer a = {.client_fd = client_fd,
				 .head = {.status = 200, .is_streamed = true}};
	sigset_t ends;
	int err;

	if (!tapir_answer_format__find(format, &f))
		return -EINVAL;
	a.head.mime = (uint8_t)f.mime;
	if (!f.is_none)
		snprintf(a.head.file_name, sizeof(a.head.file_name), "%s.%s", name, f.suffix);
	err = f.is_none	  ? pass_on(&a, "{}\n", 3)
	      : f.argv[0] ? send_converted(&a, fd, f.argv)
			  : send_file(&a, fd);
	if (err && !a.has_started)
		(void)tapir_answer__diag(client_fd, tapir_answer__status(err), 0);
	if (err) /* an answer without an end is seen as such */
		return err;
	if (!a.has_started)
		err = tapir_wire__send_head(client_fd, &a.head, 0);
	/* A client that has its end hangs up, for which the agent ends its task: it succeeded. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	return err ? err : tapir_wire__send_end(client_fd, 0);
}

/* ---- recording ------------------------------------------------------------------------------ */

static void note_stats(struct tapir_session_shm *page, const struct tapir_session_stats *stats,
		       uint64_t elapsed_ns)
{
	page->elapsed_ns = elapsed_ns;
	page->event_cnt = stats->captured[TAPIR_FAMILY_EVENT];
	page->sample_cnt = stats->captured[TAPIR_FAMILY_SAMPLE];
	page->switch_cnt = stats->captured[TAPIR_FAMILY_SWITCH];
	page->lost_cnt = stats->lost_cnt;
	page->skipped_cnt = stats->skipped_cnt;
	page->file_bytes = stats->file_bytes;
}

static void profile_on_progress(void *ctx, const struct tapir_recording_progress *progress)
{
	const struct tapir_task *task = ctx;

	tapir_totals__count(&progress->stats);
	if (task->page)
		note_stats(task->page, &progress->stats, progress->elapsed_ns);
}

static void on_ready(void *ctx, const struct tapir_recording_ready *ready)
{
	(void)ctx;
	(void)ready;
}

static int record_plan(const struct tapir_task *task, struct tapir_recording_plan *plan, int fd)
{
	struct tapir_writer_opts file = {.sz = sizeof(file),
					 .path = "the trace",
					 .has_fd = true,
					 .fd = fd,
					 .max_bytes = task->limits->trace_mb << 20};
	struct tapir_recording_result result = {};
	int err;

	plan->opts.file = &file;
	plan->opts.command_line = "tapir serve";
	plan->opts.on_progress = profile_on_progress;
	plan->opts.on_ready = on_ready;
	plan->opts.ctx = (void *)task;
	err = tapir_recording__run(&plan->opts, &result);
	tapir_totals__count(&result.stats);
	if (task->page)
		note_stats(task->page, &result.stats, result.elapsed_ns);
	/* A recording up to the limit is an answer, too. */
	if (err == -EFBIG && tapir_captured__sum(result.stats.captured)) {
		tapir_diag__clear();
		err = 0;
	}
	return err;
}

/* Ends the recording as if its client had stopped it: what was recorded until then is complete. */
static void end_at_limit(int number)
{
	(void)number;
	kill(getpid(), SIGTERM);
}

static void limit_cpu(const struct tapir_serve_limits *limits)
{
	const struct rlimit cpu = {limits->cpu_seconds, limits->cpu_seconds + CPU_GRACE_SECONDS};

	signal(SIGXCPU, end_at_limit);
	(void)setrlimit(RLIMIT_CPU, &cpu);
}

/*
 * Adds the events that a view needs to the default profile, unless the client says what to record.
 */
static void add_events_of_view(const struct tapir_task *task, struct tapir_request *request)
{
	static const char *profiles[] = {TAPIR_PROFILE_DEFAULT, NULL}, *specs[4];
	const struct tapir_view_source *source;
	const struct tapir_view *view;
	const char *arg;
	size_t cnt = 0;

	if (task->run != tapir_task__view || request->specs.cnt || request->profiles.cnt)
		return;
	view = tapir_view__find(task->path_arg, &arg);
	if (!view)
		return;
	source = &view->source;
	for (; source->specs && source->specs[cnt] && cnt < sizeof(specs) / sizeof(*specs); cnt++)
		specs[cnt] = source->specs[cnt];
	if (cnt)
		request->more_specs = (struct tapir_words){.data = specs, .cnt = cnt, .cap = cnt};
	if (source->profile == TAPIR_PROFILE_ID_DEFAULT ||
	    tapir_profile__at(source->profile)->may_be_slow)
		return;
	profiles[1] = tapir_profile__name(source->profile);
	request->profiles = (struct tapir_words){.data = profiles, .cnt = 2, .cap = 2};
}

/* Records what params request into a file: 0 or -errno with lines; -EEXIST: another process. */
static int record_into(const struct tapir_task *task, int fd)
{
	struct tapir_containers containers = {};
	struct tapir_recording_plan plan = {};
	struct tapir_request_params params = *task->params;
	struct tapir_request request;
	int err;

	(void)tapir_helpers__start();
	limit_cpu(task->limits);
	err = tapir_task__find_target(&params, &containers);
	if (!err)
		err = tapir_request_params__request(&params, &request);
	if (!err)
		add_events_of_view(task, &request);
	if (!err)
		err = tapir_request__plan(&request, &plan);
	if (!err)
		err = record_plan(task, &plan, fd);
	tapir_recording_plan__fini(&plan);
	tapir_vec__fini(&params.cgroups);
	tapir_vec__fini(&params.inside);
	tapir_containers__fini(&containers);
	return err;
}

static void name_trace(const struct tapir_request_params *params, char *out, size_t size)
{
	char when[TAPIR_UTC_TEXT_BYTES];
	size_t len;

	tapir_clock__utc_text(tapir_clock__ns(CLOCK_REALTIME), when);
	len = params->pids.cnt ? (size_t)snprintf(out, size, "tapir-%u-", params->pids.data[0])
			       : (size_t)snprintf(out, size, "tapir-");
	for (const char *p = when; *p && len + 1 < size; p++)
		if (*p != ':' && *p != '-')
			out[len++] = *p;
	out[len] = '\0';
}

/* Creates a file with what the request names, or returns -errno after the client got the reason. */
static int make_trace(const struct tapir_task *task, int client_fd)
{
	int fd = tapir_task__open_trace(*task->state_fd);
	int err = fd < 0 ? fd : record_into(task, fd);

	if (!err)
		return fd;
	(void)tapir_answer__diag(client_fd, err == -EEXIST ? 409 : tapir_answer__status(err), 0);
	return err;
}

int tapir_task__profile(void *ctx, int client_fd)
{
	const struct tapir_task *task = ctx;
	int fd = make_trace(task, client_fd);
	char name[64];

	if (fd < 0)
		return fd;
	name_trace(task->params, name, sizeof(name));
	return send_trace(fd, task->params->format, name, client_fd);
}

int tapir_task__trace(void *ctx, int client_fd)
{
	const struct tapir_task *task = ctx;

	return send_trace(task->trace_fd, task->format, task->path_arg, client_fd);
}

int tapir_task__session(void *ctx, int client_fd)
{
	const struct tapir_task *task = ctx;
	int err = record_into(task, task->trace_fd);
	struct tapir_str text = {};

	(void)client_fd;
	for (int i = 0; err && i < tapir_diag__cnt(); i++)
		tapir_str__addf(&text, "%s%s", i ? "; " : "", tapir_diag__line(i));
	if (err)
		snprintf(task->page->error, sizeof(task->page->error), "%s",
			 text.data ? text.data : tapir_errno__text(err));
	tapir_str__fini(&text);
	task->page->has_ended = !err;
	return err;
}

/* ---- answers made of a recording -------------------------------------------------------------- */

/* failed: the status where the command fails; 0: what its error means elsewhere. */
static int send_output(const char *const *argv, int input_fd, unsigned failed, int client_fd)
{
	struct tapir_str out = {};
	int err = tapir_child_run__capture(argv, input_fd, 0, &out);

	if (err)
		return tapir_answer__diag(
			client_fd, failed && err == -EIO ? failed : tapir_answer__status(err), 0);
	return tapir_task__send_json(client_fd, out.data, out.len);
}

static int send_view(const struct tapir_task *task, int fd, int client_fd)
{
	const char *argv[8] = {"report", "--json", "-", "--view"};
	struct tapir_str view = {}, top = {};

	if (add_view(task, &view))
		return tapir_answer__diag(client_fd, 400, 0);
	argv[4] = view.data;
	if (task->params->top) {
		tapir_str__addf(&top, "%llu", (unsigned long long)task->params->top);
		argv[5] = "--top";
		argv[6] = top.data;
	}
	/* The recording is ours and whole: what it lacks is the event that was named. */
	return send_output(argv, fd, task->params->event ? 404 : 0, client_fd);
}

int tapir_task__view(void *ctx, int client_fd)
{
	int fd = make_trace(ctx, client_fd);

	return fd < 0 ? fd : send_view(ctx, fd, client_fd);
}

int tapir_task__trace_view(void *ctx, int client_fd)
{
	const struct tapir_task *task = ctx;

	return send_view(task, task->trace_fd, client_fd);
}

int tapir_task__requests(void *task, int client_fd)
{
	return tapir_task__view(task, client_fd);
}

int tapir_task__trace_requests(void *task, int client_fd)
{
	return tapir_task__trace_view(task, client_fd);
}

/* A comment, "-- ...", is no option of the command. */
static int send_query(const struct tapir_task *task, int fd, int client_fd)
{
	const char *argv[] = {"query", "--json", "--timeout=30", "-", NULL, NULL};
	struct tapir_str sql = {};

	tapir_str__addf(&sql, " %s", task->params->sql);
	argv[4] = sql.data;
	if (sql.failed)
		return tapir_answer__error(client_fd, 500, "out of memory", 0);
	return send_output(argv, fd, 400, client_fd);
}

int tapir_task__query(void *ctx, int client_fd)
{
	int fd = make_trace(ctx, client_fd);

	return fd < 0 ? fd : send_query(ctx, fd, client_fd);
}

int tapir_task__trace_query(void *ctx, int client_fd)
{
	const struct tapir_task *task = ctx;

	return send_query(task, task->trace_fd, client_fd);
}

int tapir_task__trace_diff(void *ctx, int client_fd)
{
	const struct tapir_task *task = ctx;
	const char *argv[] = {"diff", "--json", TAPIR_CHILD_RUN_OTHER, "-", NULL, NULL};
	struct tapir_str top = {}, out = {};
	int err;

	if (task->params->top) {
		tapir_str__addf(&top, "--top=%llu", (unsigned long long)task->params->top);
		argv[4] = top.data;
	}
	err = tapir_child_run__capture_two(argv, task->trace_fd, task->other_fd, 0, &out);
	if (err)
		return tapir_answer__diag(client_fd, tapir_answer__status(err), 0);
	return tapir_task__send_json(client_fd, out.data, out.len);
}

/* PROVIDER and NAME -> PROVIDER/NAME. */
static bool name_counters(struct tapir_request_params *params, const char *name,
			  struct tapir_str *text)
{
	struct tapir_words words = {};
	const char *const *provider;
	bool is_named = true;

	if (!params->counters.cnt)
		is_named = tapir_vec__push(&params->counters, TAPIR_COUNTER_DEFAULT);
	tapir_vec_for_each (provider, &params->counters) {
		tapir_str__clear(text);
		tapir_str__addf(text, "%s/%s", *provider, name);
		is_named &= !text->failed && tapir_vec__push(&words, strdup(text->data));
	}
	params->counters = words;
	return is_named;
}

/* The process ends with its answer: what it was made of goes then. */
int tapir_task__counters(void *ctx, int client_fd)
{
	static const char *const argv[] = {"report", "--json", "--view", "counters", "-", NULL};
	struct tapir_task task = *(const struct tapir_task *)ctx;
	struct tapir_request_params params = *task.params;
	struct tapir_str text = {};
	int fd;

	if (*task.path_arg && !name_counters(&params, task.path_arg, &text))
		return tapir_answer__error(client_fd, 500, "out of memory", 0);
	params.only_counters = true;
	task.params = &params;
	fd = make_trace(&task, client_fd);
	return fd < 0 ? fd : send_output(argv, fd, 0, client_fd);
}

int tapir_task__question(void *ctx, int client_fd)
{
	struct tapir_task task = *(const struct tapir_task *)ctx;
	struct tapir_request_params params = *task.params;
	struct tapir_words argv = {};
	int err = tapir_question_params__prepare(&params, &argv), fd;

	if (err)
		return tapir_answer__diag(client_fd, tapir_answer__status(err), 0);
	task.params = &params;
	fd = make_trace(&task, client_fd);
	/* The command fails only if an expression does not fit the recorded events. */
	return fd < 0 ? fd : send_output(argv.data, fd, 400, client_fd);
}

/* Finds the processes that are in the target now: stacks are of one moment. */
static int find_processes(struct tapir_request_params *params)
{
	struct tapir_containers containers = {};
	int err;

	if (params->pids.cnt)
		return tapir_task__check_processes(params);
	err = tapir_containers__find(&containers, params->container, params->pod, NULL,
				     &params->pids);
	tapir_containers__fini(&containers);
	return err;
}

int tapir_task__stacks(void *ctx, int client_fd)
{
	const struct tapir_task *task = ctx;
	const char *argv[6] = {"stacks", "--json", "--pid"};
	struct tapir_str pids = {}, threads = {};
	struct tapir_request_params params = *task->params;
	const uint32_t *pid;
	int err = find_processes(&params);

	if (err)
		return tapir_answer__diag(client_fd,
					  err == -EEXIST ? 409 : tapir_answer__status(err), 0);
	tapir_vec_for_each (pid, &params.pids)
		tapir_str__addf(&pids, "%s%u", pids.len ? "," : "", *pid);
	argv[3] = pids.data;
	if (task->params->threads) {
		tapir_str__addf(&threads, "--threads=%s", task->params->threads);
		argv[4] = threads.data;
	}
	return send_output(argv, -1, 0, client_fd);
}

/* The first lines of a report, without its tables. */
static int send_findings(int fd, int client_fd)
{
	static const char *const argv[] = {"report", "--json", "-", NULL};
	static const char *const kept[] = {"headline", "first_screen", "finding",
					   "findings", "overview",     "utc",
					   "cpus",     "complete",     NULL};
	struct tapir_str out = {};
	json_t *report, *answer;
	char *text;
	int err = tapir_child_run__capture(argv, fd, 0, &out);

	if (err)
		return tapir_answer__diag(client_fd, tapir_answer__status(err), 0);
	report = tapir_answer__parse(out.data, out.len);
	if (!report)
		return tapir_answer__error(client_fd, 500, "the report cannot be read", 0);
	answer = json_object();
	for (size_t i = 0; report && answer && kept[i]; i++)
		json_object_set(answer, kept[i], json_object_get(report, kept[i]));
	text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
	return tapir_task__send_json(client_fd, text, text ? strlen(text) : 0);
}

int tapir_task__findings(void *ctx, int client_fd)
{
	int fd = make_trace(ctx, client_fd);

	return fd < 0 ? fd : send_findings(fd, client_fd);
}

int tapir_task__trace_findings(void *ctx, int client_fd)
{
	const struct tapir_task *task = ctx;

	return send_findings(task->trace_fd, client_fd);
}
