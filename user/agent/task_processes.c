// SPDX-License-Identifier: GPL-2.0-or-later
/* Lists of processes and what is known of one: `tapir ps`, `doctor` and `list`, as JSON documents.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <jansson.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/json.h"
#include "agent/answer.h"
#include "agent/child_run.h"
#include "agent/task.h"

#define MAX_OUTPUT_BYTES (32u << 20)

static int keep_output(void *ctx, const char *data, size_t len)
{
	struct tapir_str *out = ctx;

	if (out->len + len > MAX_OUTPUT_BYTES)
		return -EFBIG;
	tapir_str__add(out, data, len);
	return out->failed ? -ENOMEM : 0;
}

int tapir_task__capture(const char *const *argv, int input_fd, int allowed, struct tapir_str *out)
{
	struct tapir_child_run run = {.argv = argv,
				      .input_fd = input_fd,
				      .has_privileges = input_fd < 0,
				      .on_output = keep_output,
				      .ctx = out};
	int err = tapir_child_run__do(&run);

	if (!err && run.exit_code && run.exit_code != allowed)
		err = tapir_diag__fail(-EIO, "%s", run.errors.data ? run.errors.data : "failed");
	tapir_str__fini(&run.errors);
	return err;
}

/* ---- a list --------------------------------------------------------------------------------- */

static bool is_text(const json_t *process, const char *key, const char *wanted)
{
	const char *text = json_string_value(json_object_get(process, key));

	return !wanted || (text && !strcasecmp(text, wanted));
}

struct choice {
	const struct tapir_ask *ask;
	struct tapir_containers containers;
};

static void add_text(json_t *process, const char *key, const char *text)
{
	json_object_set_new(process, key, *text ? json_string(text) : json_null());
}

/* What the runtimes know of its container, beside the digits of `tapir ps`. */
static bool is_there(struct choice *choice, json_t *process)
{
	static const struct tapir_container none;
	uint32_t pid = (uint32_t)json_integer_value(json_object_get(process, "pid"));
	const struct tapir_container *c = tapir_containers__of_process(&choice->containers, pid);
	const struct tapir_ask *ask = choice->ask;

	c = c ? c : &none;
	add_text(process, "container_name", c->name);
	add_text(process, "pod", c->pod);
	add_text(process, "pod_uid", c->pod_uid);
	add_text(process, "namespace", c->space);
	return !(ask->space && strcmp(c->space, ask->space) != 0) &&
	       !(ask->container && !tapir_container__is_called(c, ask->container)) &&
	       !(ask->pod && !tapir_container__is_of_pod(c, ask->pod));
}

static bool is_wanted(const struct tapir_ask *ask, const json_t *process)
{
	const char *name = json_string_value(json_object_get(process, "name"));

	if (ask->only_pid &&
	    (uint32_t)json_integer_value(json_object_get(process, "pid")) != ask->only_pid)
		return false;
	if (ask->name && (!name || !tapir_glob__match(ask->name, name)))
		return false;
	return is_text(process, "runtime", ask->runtime) && is_text(process, "user", ask->user);
}

/* JSON lines -> a list of those that are wanted. */
static json_t *choose(char *lines, bool (*is_chosen)(void *ctx, json_t *object), void *ctx)
{
	json_t *list = json_array();
	char *line;

	while (list && lines && (line = strsep(&lines, "\n"))) {
		json_t *object = *line ? tapir_answer__parse(line, strlen(line)) : NULL;

		if (object && is_chosen(ctx, object))
			json_array_append(list, object);
		json_decref(object);
	}
	return list;
}

int tapir_task__send_json(int fd, const char *text, size_t len)
{
	struct tapir_wire_head head = {.status = 200, .mime = TAPIR_MIME_JSON};
	struct tapir_str safe = {};
	int err;

	if (text)
		tapir_json__add_document(&safe, text, len);
	err = text && !safe.failed ? tapir_answer__send(fd, &head, safe.data, safe.len, 0)
				   : tapir_answer__error(fd, 500, "out of memory", 0);
	tapir_str__fini(&safe);
	return err;
}

static int send_json(int fd, json_t *root)
{
	char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	int err = tapir_task__send_json(fd, text, text ? strlen(text) : 0);

	free(text);
	json_decref(root);
	return err;
}

static bool is_asked_for(void *ctx, json_t *object)
{
	struct choice *choice = ctx;

	return is_wanted(choice->ask, object) && is_there(choice, object);
}

int tapir_task__processes(void *ctx, int fd)
{
	const struct tapir_task *task = ctx;
	const char *const some[] = {"ps", "--json", NULL}, *const all[] = {"ps", "--json", "--all",
									   NULL};
	struct choice choice = {.ask = task->ask};
	struct tapir_str out = {};
	int err = tapir_task__capture(task->ask->all ? all : some, -1, 0, &out);

	if (err)
		return tapir_answer__diag(fd, tapir_answer__status(err), 0);
	err = send_json(fd,
			json_pack("{s:o}", "processes", choose(out.data, is_asked_for, &choice)));
	tapir_containers__fini(&choice.containers);
	return err;
}

/* ---- one ------------------------------------------------------------------------------------ */

static bool is_pid(void *ctx, json_t *object)
{
	return json_integer_value(json_object_get(object, "pid")) == *(const uint32_t *)ctx;
}

static bool is_any(void *ctx, json_t *object)
{
	(void)ctx;
	(void)object;
	return true;
}

static json_t *lines_of(const char *const *argv, bool (*is_chosen)(void *ctx, json_t *object),
			void *ctx)
{
	struct tapir_str out = {};
	json_t *list = NULL;

	if (!tapir_task__capture(argv, -1, 1, &out))
		list = choose(out.data, is_chosen, ctx);
	tapir_str__fini(&out);
	return list ? list : json_array();
}

/* doctor's answer is complete where recording does not work (3), too. */
static void add_checks(json_t *process, const char *pid)
{
	const char *const argv[] = {"doctor", "--json", "--pid", pid, NULL};
	struct tapir_str out = {};
	json_t *doctor = NULL;

	if (!tapir_task__capture(argv, -1, 3, &out) && out.data)
		doctor = json_loads(out.data, 0, NULL);
	if (doctor)
		json_object_update(process, doctor);
	json_decref(doctor);
	tapir_str__fini(&out);
	tapir_diag__clear();
}

int tapir_task__process(void *ctx, int fd)
{
	const struct tapir_task *task = ctx;
	const char *const ps[] = {"ps", "--json", "--all", NULL};
	const char *const list[] = {"list", "--json", "--pid", task->path_arg, NULL};
	struct tapir_proc proc;
	json_t *found, *process;
	uint64_t pid = 0;
	uint32_t tgid;
	int err;

	(void)tapir_str__to_u64(task->path_arg, 1, INT32_MAX, &pid);
	tgid = (uint32_t)pid;
	err = tapir_proc__read_running(tgid, &proc);
	if (err)
		return tapir_answer__diag(fd, tapir_answer__status(err), 0);
	tapir_proc__fini(&proc);
	found = lines_of(ps, is_pid, &tgid);
	process = json_incref(json_array_get(found, 0));
	json_decref(found);
	if (!process)
		return tapir_answer__error(fd, 404, "no such process", 0);
	add_checks(process, task->path_arg);
	json_object_set_new(process, "probes", lines_of(list, is_any, NULL));
	return send_json(fd, process);
}

/* A pid may have been given to another process since the client saw it. */
static int check_process(uint32_t pid, uint64_t started)
{
	struct tapir_proc proc;
	int err = tapir_proc__read_running(pid, &proc);

	if (err)
		return err;
	if (started && !tapir_proc__is_same_start(proc.start_ns / TAPIR_NS_PER_MS, started))
		err = tapir_diag__fail(-EEXIST, "started: process %u is another one by now", pid);
	tapir_proc__fini(&proc);
	return err;
}

int tapir_task__check_processes(const struct tapir_ask *ask)
{
	const uint32_t *pid;
	int err = 0;

	tapir_vec_for_each (pid, &ask->pids)
		err = err ? err : check_process(*pid, ask->started);
	return err;
}

int tapir_task__find_target(struct tapir_ask *ask, struct tapir_containers *containers)
{
	int err = tapir_task__check_processes(ask);

	return err || !(ask->container || ask->pod)
		       ? err
		       : tapir_containers__find(containers, ask->container, ask->pod, &ask->cgroups,
						&ask->inside);
}
