// SPDX-License-Identifier: GPL-2.0-or-later
/* A recording whose answer is the trace. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "foreign/helper.h"
#include "serve/answer.h"
#include "serve/answer_format.h"
#include "serve/child_run.h"
#include "serve/task.h"

int tapir_task__check(const struct tapir_task *task)
{
	struct tapir_request request;
	uint64_t pid;

	if (task->run == tapir_task__process &&
	    !tapir_str__to_u64(task->path_arg, 1, INT32_MAX, &pid))
		return tapir_diag__fail(-EINVAL, "pid: '%.64s' is not a process id",
					task->path_arg);
	if (task->run != tapir_task__profile)
		return 0;
	if (task->ask->duration_ns > task->limits->seconds * TAPIR_NS_PER_SEC)
		return tapir_diag__fail(-EINVAL,
					"seconds: at most %llu are permitted by this agent",
					(unsigned long long)task->limits->seconds);
	return tapir_ask__request(task->ask, &request);
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
	bool has_begun;
};

static int pass_on(void *ctx, const char *data, size_t len)
{
	struct trace_answer *a = ctx;
	int err = a->has_begun ? 0 : tapir_wire__send_head(a->client_fd, &a->head, 0);

	a->has_begun = true;
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

int tapir_task__send_trace(int fd, const char *format, const char *name, int client_fd)
{
	const struct tapir_answer_format *f = tapir_answer_format__find(format);
	struct trace_answer a = {
		.client_fd = client_fd,
		.head = {.status = 200, .mime = (uint8_t)f->mime, .is_streamed = true}};
	int err;

	snprintf(a.head.file_name, sizeof(a.head.file_name), "%s.%s", name, f->suffix);
	err = f->argv[0] ? send_converted(&a, fd, f->argv) : send_file(&a, fd);
	if (err && !a.has_begun)
		return tapir_answer__diag(client_fd, tapir_answer__status(err), 0);
	if (err) /* an answer without an end is seen as such */
		return err;
	if (!a.has_begun)
		err = tapir_wire__send_head(client_fd, &a.head, 0);
	return err ? err : tapir_wire__send_end(client_fd, 0);
}

/* ---- recording ------------------------------------------------------------------------------ */

/* A pid may have been given to another process since the client saw it. */
static int check_process(uint32_t pid, uint64_t started)
{
	struct tapir_proc proc;
	int err = tapir_proc__read_running(pid, &proc);

	if (err)
		return err;
	if (started && proc.start_ns / TAPIR_NS_PER_MS != started)
		err = tapir_diag__fail(-EEXIST, "started: process %u is another one by now", pid);
	tapir_proc__fini(&proc);
	return err;
}

static int check_processes(const struct tapir_ask *ask)
{
	const uint32_t *pid;
	int err = 0;

	tapir_vec_for_each (pid, &ask->pids)
		err = err ? err : check_process(*pid, ask->started);
	return err;
}

static int record(const struct tapir_task *task, struct tapir_recording_plan *plan, int fd)
{
	struct tapir_writer_opts file = {
		.sz = sizeof(file), .path = "-", .max_bytes = task->limits->trace_mb << 20};
	struct tapir_recording_result result = {};
	int err;

	if (dup2(fd, STDOUT_FILENO) < 0)
		return -errno;
	plan->opts.file = &file;
	plan->opts.command_line = "tapir serve";
	err = tapir_recording__run(&plan->opts, &result);
	/* What was recorded until the limit is an answer, too. */
	if (err == -EFBIG && tapir_captured__sum(result.stats.captured)) {
		tapir_diag__clear();
		err = 0;
	}
	return err;
}

static void name_trace(const struct tapir_ask *ask, char *out, size_t size)
{
	char when[TAPIR_UTC_TEXT_BYTES];
	size_t len;

	tapir_clock__utc_text(tapir_clock__ns(CLOCK_REALTIME), when);
	len = ask->pids.cnt ? (size_t)snprintf(out, size, "tapir-%u-", ask->pids.data[0])
			    : (size_t)snprintf(out, size, "tapir-");
	for (const char *p = when; *p && len + 1 < size; p++)
		if (*p != ':' && *p != '-')
			out[len++] = *p;
	out[len] = '\0';
}

int tapir_task__profile(void *ctx, int client_fd)
{
	const struct tapir_task *task = ctx;
	struct tapir_recording_plan plan = {};
	struct tapir_request request;
	char name[64];
	int fd = -1, err;

	(void)tapir_helpers__start();
	err = check_processes(task->ask);
	if (!err)
		err = tapir_ask__request(task->ask, &request);
	if (!err)
		err = tapir_request__plan(&request, &plan);
	if (!err)
		err = fd = tapir_task__open_trace(*task->state_fd);
	if (err >= 0)
		err = record(task, &plan, fd);
	tapir_recording_plan__fini(&plan);
	if (err)
		return tapir_answer__diag(client_fd,
					  err == -EEXIST ? 409 : tapir_answer__status(err), 0);
	name_trace(task->ask, name, sizeof(name));
	return tapir_task__send_trace(fd, task->ask->format, name, client_fd);
}
