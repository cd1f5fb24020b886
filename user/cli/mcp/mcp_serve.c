// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The main thread reads, starts and stops; a job is one message and the thread that answers it.
 * Only the main thread touches the list of jobs.
 */
#include "cli/mcp/mcp_serve.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/vec.h"
#include "cli/mcp/mcp.h"
#include "cli/mcp/mcp_tools.h"
#include "base/child/child_run.h"
#include "base/reader_words.h"

#define MAX_JOBS    64
#define MAX_TOOLS   4 /* that run at the same time */
#define PROGRESS_MS 2000

struct server;

struct job {
	struct server *server;
	char *line;
	size_t len;
	json_t *id, *progress_token; /* NULL: none */
	bool is_call, makes;
	unsigned reads; /* the recording it reads; UINT_MAX: the latest; 0: none */
	bool is_started, is_cancelled;
	atomic_bool is_done;
	int stop_fd;
	uint64_t started_ns;
	pthread_t thread;
};

struct server {
	struct tapir_mcp_recordings recordings;
	struct tapir_vec(struct job *) jobs; /* as they came */
	struct tapir_str input;
	bool is_skipping; /* the rest of a line that is too long */
	bool has_ended;	  /* no more input */
	bool is_stopping; /* the client no longer waits for answers */
	int done_fd, signal_fd;
	pthread_mutex_t output; /* whole lines */
	atomic_uint_least64_t stop_ns;
};

/* ---- one job --------------------------------------------------------------------------------- */

static int take_output(void *ctx, const char *data, size_t len)
{
	struct tapir_mcp_call *call = ctx;

	if (call->output_fd >= 0)
		return tapir_file__write_all(call->output_fd, data, len);
	if (call->out->len + len > TAPIR_MCP_MAX_ANSWER)
		return -EFBIG;
	tapir_str__add(call->out, data, len);
	return call->out->failed ? -ENOMEM : 0;
}

static int run_tapir(struct tapir_mcp_call *call)
{
	struct tapir_child_run run = {.argv = call->argv,
				      .input_fd = call->input_fd,
				      .other_fd = call->other_fd,
				      .has_privileges = call->input_fd < 0,
				      .stop_fd = call->stop_fd >= 0 ? &call->stop_fd : NULL,
				      .on_output = take_output,
				      .ctx = call};
	int err = tapir_child_run__do(&run);

	call->exit_code = run.exit_code;
	call->why = run.errors;
	return err;
}

static void write_line(struct server *s, struct tapir_str *line)
{
	tapir_str__addc(line, '\n');
	pthread_mutex_lock(&s->output);
	if (!line->failed)
		(void)tapir_file__write_until(STDOUT_FILENO, line->data, line->len, &s->stop_ns);
	pthread_mutex_unlock(&s->output);
}

static void *answer_call(void *arg)
{
	struct job *job = arg;
	struct tapir_mcp mcp = {
		.run = run_tapir, .recordings = &job->server->recordings, .stop_fd = job->stop_fd};
	struct tapir_str out = {};
	int err = job->line ? tapir_mcp__answer(&mcp, job->line, job->len, &out)
			    : tapir_mcp__refuse(&out, "a message has more than 1 MB");

	if (!err && out.len)
		write_line(job->server, &out);
	tapir_str__fini(&out);
	atomic_store(&job->is_done, true);
	eventfd_write(job->server->done_fd, 1);
	return NULL;
}

static void free_job(struct job *job)
{
	json_decref(job->id);
	json_decref(job->progress_token);
	tapir_guard__fd(&job->stop_fd);
	free(job->line);
	free(job);
}

/* Cancels a job: its thread ends soon, without an answer. */
static void cancel(struct job *job)
{
	job->is_cancelled = true;
	eventfd_write(job->stop_fd, 1);
	eventfd_write(job->server->done_fd, 1); /* it may not have started */
}

/* ---- all jobs -------------------------------------------------------------------------------- */

static bool is_made(struct server *s, unsigned recording)
{
	bool is;

	pthread_mutex_lock(&s->recordings.lock);
	is = recording <= s->recordings.cnt;
	pthread_mutex_unlock(&s->recordings.lock);
	return is;
}

static bool may_start(struct server *s, size_t at)
{
	const struct job *job = s->jobs.data[at];
	unsigned running = 0;

	for (size_t i = 0; i < s->jobs.cnt; i++)
		running += s->jobs.data[i]->is_call && s->jobs.data[i]->is_started;
	if (job->is_call && running >= MAX_TOOLS)
		return false;
	for (size_t i = 0; i < at; i++)
		if (s->jobs.data[i]->makes && !is_made(s, job->reads))
			return false;
	return true;
}

static void remove_job(struct server *s, size_t at)
{
	if (s->jobs.data[at]->is_started)
		pthread_join(s->jobs.data[at]->thread, NULL);
	free_job(s->jobs.data[at]);
	s->jobs.cnt--;
	memmove(s->jobs.data + at, s->jobs.data + at + 1,
		(s->jobs.cnt - at) * sizeof(*s->jobs.data));
}

static void reap_jobs(struct server *s)
{
	for (size_t i = s->jobs.cnt; i-- > 0;) {
		const struct job *job = s->jobs.data[i];

		if (job->is_started ? atomic_load(&job->is_done) : job->is_cancelled)
			remove_job(s, i);
	}
}

static int start_jobs(struct server *s)
{
	int err = 0;

	for (size_t i = 0; i < s->jobs.cnt && !err; i++) {
		struct job *job = s->jobs.data[i];

		if (job->is_started || job->is_cancelled || !may_start(s, i))
			continue;
		job->started_ns = tapir_clock__now_ns();
		err = -pthread_create(&job->thread, NULL, answer_call, job);
		job->is_started = !err;
	}
	return err;
}

static void cancel_all(struct server *s)
{
	s->is_stopping = true;
	atomic_store(&s->stop_ns, tapir_clock__now_ns());
	for (size_t i = 0; i < s->jobs.cnt; i++)
		cancel(s->jobs.data[i]);
}

static void cancel_request(struct server *s, const json_t *id)
{
	for (size_t i = 0; id && i < s->jobs.cnt; i++)
		if (s->jobs.data[i]->id && json_equal(s->jobs.data[i]->id, id))
			cancel(s->jobs.data[i]);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* The number of a recording by its name, "r2"; UINT_MAX: the latest. */
static unsigned recording_of(const json_t *arguments)
{
	const char *name = json_string_value(json_object_get(arguments, "recording"));
	const char *first = json_string_value(json_object_get(arguments, "first"));
	uint64_t number, other = 0;

	if (!name || *name != 'r' || !tapir_str__to_u64(name + 1, 1, UINT32_MAX, &number))
		return UINT_MAX;
	if (first && *first == 'r')
		(void)tapir_str__to_u64(first + 1, 1, UINT32_MAX, &other);
	return (unsigned)(number > other ? number : other); /* both have to be made */
}

/* Finds what the order of jobs depends on. The answer reports what is wrong with the arguments. */
static void classify(struct server *s, struct job *job)
{
	json_t *message = json_loadb(job->line, job->len, JSON_REJECT_DUPLICATES, NULL);
	const char *method = json_string_value(json_object_get(message, "method"));
	const json_t *params = json_object_get(message, "params");
	const char *name = json_string_value(json_object_get(params, "name"));

	job->id = json_incref(json_object_get(message, "id"));
	job->progress_token =
		json_incref(json_object_get(json_object_get(params, "_meta"), "progressToken"));
	job->is_call = json_is_array(message) || (method && !strcmp(method, "tools/call"));
	job->makes = json_is_array(message) || (name && tapir_mcp_tools__makes(name));
	if (json_is_array(message) || (name && tapir_mcp_tools__reads(name)))
		job->reads = recording_of(json_object_get(params, "arguments"));
	if (method && !strcmp(method, "notifications/cancelled"))
		cancel_request(s, json_object_get(params, "requestId"));
	json_decref(message);
}

/* line: NULL: it is too long. */
static int add_job(struct server *s, const char *line, size_t len)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return -ENOMEM;
	job->server = s;
	job->len = len;
	job->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	job->line = line ? malloc(len) : NULL;
	if (job->stop_fd < 0 || (line && !job->line) || !tapir_vec__push(&s->jobs, job)) {
		free_job(job);
		return -ENOMEM;
	}
	if (line)
		memcpy(job->line, line, len);
	if (line)
		classify(s, job);
	return 0;
}

/* The lines that there is room for; the rest stays. */
static int take_lines(struct server *s)
{
	char *line = s->input.data, *end, *last = line + s->input.len;
	int err = 0;

	if (!s->input.len)
		return 0;
	while (!err && s->jobs.cnt < MAX_JOBS &&
	       (end = memchr(line, '\n', (size_t)(last - line)))) {
		if (!s->is_skipping && end > line)
			err = add_job(s, line, (size_t)(end - line));
		s->is_skipping = false;
		line = end + 1;
	}
	s->input.len = (size_t)(last - line);
	memmove(s->input.data, line, s->input.len);
	if (!err && !s->is_skipping && s->input.len > TAPIR_MCP_MAX_LINE &&
	    !memchr(s->input.data, '\n', s->input.len)) {
		s->is_skipping = true;
		err = add_job(s, NULL, 0);
	}
	if (s->is_skipping && !memchr(s->input.data, '\n', s->input.len))
		s->input.len = 0;
	return err;
}

/* ---- the loop -------------------------------------------------------------------------------- */

/*
 * Reports the running time of each call to a client that requests it, unless the client reads
 * slowly.
 */
static void report_progress(struct server *s)
{
	struct pollfd ready = {.fd = STDOUT_FILENO, .events = POLLOUT};

	if (pthread_mutex_trylock(&s->output))
		return;
	for (size_t i = 0; i < s->jobs.cnt; i++) {
		const struct job *job = s->jobs.data[i];
		double seconds = (double)(tapir_clock__now_ns() - job->started_ns) / 1e9;
		char *text = NULL;
		json_t *note;

		if (!job->progress_token || !job->is_started || job->is_cancelled ||
		    atomic_load(&job->is_done) || poll(&ready, 1, 0) <= 0)
			continue;
		note = json_pack("{s:s, s:s, s:{s:O, s:f}}", "jsonrpc", "2.0", "method",
				 "notifications/progress", "params", "progressToken",
				 job->progress_token, "progress", seconds);
		text = note ? json_dumps(note, JSON_COMPACT | JSON_REAL_PRECISION(4)) : NULL;
		if (text && strlen(text) < PIPE_BUF - 1 && !(ready.revents & (POLLERR | POLLHUP)))
			(void)dprintf(STDOUT_FILENO, "%s\n", text);
		free(text);
		json_decref(note);
	}
	pthread_mutex_unlock(&s->output);
}

static bool wants_progress(const struct server *s)
{
	for (size_t i = 0; i < s->jobs.cnt; i++)
		if (s->jobs.data[i]->progress_token && s->jobs.data[i]->is_started)
			return true;
	return false;
}

static int read_input(struct server *s)
{
	char block[65536];
	ssize_t n = read(STDIN_FILENO, block, sizeof(block));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -errno;
	if (n > 0)
		tapir_str__add(&s->input, block, (size_t)n);
	else if (s->input.len) /* a last line without an end */
		tapir_str__addc(&s->input, '\n');
	s->has_ended = !n;
	return s->input.failed ? -ENOMEM : 0;
}

static int wait_for_change(struct server *s)
{
	bool takes_input = !s->has_ended && !s->is_stopping && s->jobs.cnt < MAX_JOBS;
	struct pollfd fds[4] = {{.fd = takes_input ? STDIN_FILENO : -1, .events = POLLIN},
				{.fd = s->done_fd, .events = POLLIN},
				{.fd = s->is_stopping ? -1 : s->signal_fd, .events = POLLIN},
				{.fd = s->is_stopping ? -1 : STDOUT_FILENO}};
	int n = poll(fds, 4, wants_progress(s) ? PROGRESS_MS : -1);
	eventfd_t cnt;

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (!n)
		report_progress(s);
	if (fds[1].revents)
		(void)eventfd_read(s->done_fd, &cnt);
	if (fds[2].revents || fds[3].revents) /* the client no longer reads */
		cancel_all(s);
	return fds[0].revents ? read_input(s) : 0;
}

static int serve(struct server *s)
{
	int err = 0;

	while (!err && (!(s->has_ended || s->is_stopping) || s->jobs.cnt)) {
		err = wait_for_change(s);
		reap_jobs(s);
		if (!err && !s->is_stopping)
			err = take_lines(s);
		if (!err)
			err = start_jobs(s);
	}
	cancel_all(s);
	while (s->jobs.cnt)
		remove_job(s, s->jobs.cnt - 1);
	return err ? tapir_diag__fail(err, "cannot serve: %s", tapir_errno__text(err)) : 0;
}

int tapir_mcp__serve(void)
{
	struct server s = {.recordings.lock = PTHREAD_MUTEX_INITIALIZER,
			   .output = PTHREAD_MUTEX_INITIALIZER,
			   .done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	sigset_t ends;
	int err;

	tapir_reader_words__use_parameters();
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL); /* in all threads */
	s.signal_fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	err = s.done_fd < 0 || s.signal_fd < 0 ? -errno : serve(&s);
	tapir_guard__fd(&s.done_fd);
	tapir_guard__fd(&s.signal_fd);
	tapir_str__fini(&s.input);
	tapir_vec__fini(&s.jobs);
	tapir_mcp_recordings__fini(&s.recordings);
	return err;
}
