// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lists of processes and what is known of one: `tapir ps`, `doctor` and `list`, as JSON documents.
 * Listing all processes takes a tenth of a second of CPU time and more, so one task at a time does
 * it, and its list serves those that come in the meantime.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <jansson.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/json.h"
#include "agent/answer.h"
#include "base/child/child_run.h"
#include "agent/task.h"

#define FRESH_NS    TAPIR_NS_PER_SEC
#define RATE_MAX_NS (60 * TAPIR_NS_PER_SEC)
#define ID_KEY	    "_id" /* all digits of its container: not in the answer */

/*
 * Listing all processes takes a tenth of a second and more of CPU time. One task at a time does it,
 * and its list answers every request of the next second: however many clients there are, lists use
 * one CPU at most.
 */
struct list {
	pthread_mutex_t lock; /* robust: a task ends when its client goes */
	uint64_t made_ns;     /* time at which its making started; 0: never */
	uint64_t ended_ns;    /* and ended: requests that waited for it take it */
	size_t len;
	char text[TAPIR_CHILD_RUN_MAX_CAPTURE]; /* JSON lines; only what is used is memory */
};

struct tapir_shared_lists {
	struct list some, all;
	pthread_mutex_t describes[2]; /* two descriptions of a process at a time */
};

/* ---- a list --------------------------------------------------------------------------------- */

static bool is_member_text(const json_t *process, const char *key, const char *wanted)
{
	const char *text = json_string_value(json_object_get(process, key));

	return !wanted || (text && !strcasecmp(text, wanted));
}

/* Adds what container runtimes know of it, in addition to the digits of `tapir ps`. */
static void add_process_text(json_t *process, const char *key, const char *text)
{
	json_object_set_new(process, key, *text ? json_string(text) : json_null());
}

static bool add_container(void *ctx, json_t *process)
{
	static const struct tapir_container none;
	uint32_t pid = (uint32_t)json_integer_value(json_object_get(process, "pid"));
	const struct tapir_container *c = tapir_containers__of_process(ctx, pid);

	c = c ? c : &none;
	add_process_text(process, "container_name", c->name);
	add_process_text(process, "pod", c->pod);
	add_process_text(process, "pod_uid", c->pod_uid);
	add_process_text(process, "namespace", c->space);
	add_process_text(process, ID_KEY, c->id);
	return true;
}

static void copy_member(const json_t *process, const char *key, char *out, size_t size)
{
	const char *text = json_string_value(json_object_get(process, key));

	snprintf(out, size, "%s", text ? text : "");
}

static bool is_there(const struct tapir_request_params *params, json_t *process)
{
	struct tapir_container c = {};

	copy_member(process, "container_name", c.name, sizeof(c.name));
	copy_member(process, "pod", c.pod, sizeof(c.pod));
	copy_member(process, "pod_uid", c.pod_uid, sizeof(c.pod_uid));
	copy_member(process, "namespace", c.space, sizeof(c.space));
	copy_member(process, ID_KEY, c.id, sizeof(c.id));
	json_object_del(process, ID_KEY);
	return !(params->space && strcmp(c.space, params->space) != 0) &&
	       !(params->container && !tapir_container__is_called(&c, params->container)) &&
	       !(params->pod && !tapir_container__is_of_pod(&c, params->pod));
}

static bool is_wanted_process(const struct tapir_request_params *params, const json_t *process)
{
	const char *name = json_string_value(json_object_get(process, "name"));

	if (params->only_pid &&
	    (uint32_t)json_integer_value(json_object_get(process, "pid")) != params->only_pid)
		return false;
	if (params->name && (!name || !tapir_glob__match(params->name, name)))
		return false;
	return is_member_text(process, "runtime", params->runtime) &&
	       is_member_text(process, "user", params->user);
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

static bool is_requested(void *ctx, json_t *object)
{
	return is_wanted_process(ctx, object) && is_there(ctx, object);
}

static bool is_any(void *ctx, json_t *object)
{
	(void)ctx;
	(void)object;
	return true;
}

/* ---- made once for all ---------------------------------------------------------------------- */

static int init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;
	int err = -pthread_mutexattr_init(&attr);

	if (err)
		return err;
	err = -pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	if (!err)
		err = -pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	if (!err)
		err = -pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return err;
}

struct tapir_shared_lists *tapir_shared_lists__new(void)
{
	struct tapir_shared_lists *lists = mmap(NULL, sizeof(*lists), PROT_READ | PROT_WRITE,
						MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (lists == MAP_FAILED)
		return NULL;
	if (!init_lock(&lists->some.lock) && !init_lock(&lists->all.lock) &&
	    !init_lock(&lists->describes[0]) && !init_lock(&lists->describes[1]))
		return lists;
	tapir_shared_lists__free(lists);
	return NULL;
}

void tapir_shared_lists__free(struct tapir_shared_lists *lists)
{
	if (lists)
		munmap(lists, sizeof(*lists));
}

/* Returns true if the task that held it ended while it did. */
static bool lock_mutex(pthread_mutex_t *mutex)
{
	bool is_torn = pthread_mutex_lock(mutex) == EOWNERDEAD;

	if (is_torn)
		pthread_mutex_consistent(mutex);
	return is_torn;
}

/* "PID STARTED": a pid may be given to another process. */
static void write_key(const json_t *process, char *out, size_t size)
{
	snprintf(out, size, "%lld %lld", json_integer_value(json_object_get(process, "pid")),
		 json_integer_value(json_object_get(process, "started")));
}

/* CPU time of each process, by its key. */
static json_t *cpu_times(const struct list *list)
{
	struct tapir_str copy = {};
	json_t *times = json_object(), *processes, *p;
	char key[48];
	size_t i;

	tapir_str__add(&copy, list->text, list->len);
	processes = choose(copy.data, is_any, NULL);
	json_array_foreach(processes, i, p)
	{
		write_key(p, key, sizeof(key));
		json_object_set(times, key, json_object_get(p, "cpu_ns"));
	}
	json_decref(processes);
	tapir_str__fini(&copy);
	return times;
}

struct making {
	struct tapir_containers containers;
	json_t *before;	  /* CPU times of the list before this one; NULL: it is too old */
	uint64_t past_ns; /* since then */
	uint64_t now_ns;
};

/* CPUs since the list before this one, or else since it started. */
static void add_cpus(const struct making *m, json_t *process)
{
	double cpu_ns = json_number_value(json_object_get(process, "cpu_ns")), past_ns;
	uint64_t started_ms = (uint64_t)json_integer_value(json_object_get(process, "started"));
	const json_t *before;
	char key[48];

	write_key(process, key, sizeof(key));
	before = json_object_get(m->before, key);
	past_ns = before ? (double)m->past_ns
			 : (double)m->now_ns - (double)started_ms * (double)TAPIR_NS_PER_MS;
	cpu_ns -= json_number_value(before);
	json_object_set_new(process, "cpus",
			    past_ns > 0 && cpu_ns >= 0 ? json_real(cpu_ns / past_ns) : json_null());
}

static bool complete(void *ctx, json_t *process)
{
	struct making *m = ctx;

	add_cpus(m, process);
	return add_container(&m->containers, process);
}

/* -EFBIG: there is no room for all of it, and nothing is kept. */
static int keep_list(struct list *list, const json_t *processes, uint64_t now_ns)
{
	const json_t *p;
	size_t i;
	int err = 0;

	list->made_ns = list->len = 0;
	json_array_foreach(processes, i, p)
	{
		size_t room = sizeof(list->text) - list->len;
		size_t len = json_dumpb(p, list->text + list->len, room, JSON_COMPACT);

		if (!len || len + 1 > room) {
			err = len ? -EFBIG : -ENOMEM;
			break;
		}
		list->len += len;
		list->text[list->len++] = '\n';
	}
	list->made_ns = err ? 0 : now_ns;
	list->ended_ns = tapir_clock__now_ns();
	return err;
}

static int make(struct list *list, bool is_all)
{
	const char *const argv[] = {"ps", "--json", is_all ? "--all" : NULL, NULL};
	struct making m = {.now_ns = tapir_clock__now_ns()};
	struct tapir_str out = {};
	json_t *processes;
	int err;

	m.past_ns = m.now_ns - list->made_ns;
	if (list->made_ns && m.past_ns < RATE_MAX_NS)
		m.before = cpu_times(list);
	err = tapir_child_run__capture(argv, -1, 0, &out);
	processes = err ? NULL : choose(out.data, complete, &m);
	if (!err)
		err = processes ? keep_list(list, processes, m.now_ns) : -ENOMEM;
	json_decref(processes);
	json_decref(m.before);
	tapir_containers__fini(&m.containers);
	tapir_str__fini(&out);
	return err;
}

/* Adds a list that was made within the last second, or is made now. */
static int take_list(struct tapir_shared_lists *lists, bool is_all, struct tapir_str *out)
{
	struct list *list = is_all ? &lists->all : &lists->some;
	int err = 0;

	if (lock_mutex(&list->lock))
		list->made_ns = 0;
	if (!list->made_ns || tapir_clock__now_ns() - list->ended_ns >= FRESH_NS)
		err = make(list, is_all);
	if (!err)
		tapir_str__add(out, list->text, list->len);
	pthread_mutex_unlock(&list->lock);
	return out->failed ? -ENOMEM : err;
}

int tapir_task__processes(void *ctx, int fd)
{
	const struct tapir_task *task = ctx;
	struct tapir_str out = {};
	int err = take_list(task->lists, task->params->all, &out);

	if (err)
		return tapir_answer__diag(fd, tapir_answer__status(err), 0);
	return send_json(fd, json_pack("{s:o}", "processes",
				       choose(out.data, is_requested, (void *)task->params)));
}

/* ---- one ------------------------------------------------------------------------------------ */

static bool is_pid(void *ctx, json_t *object)
{
	return json_integer_value(json_object_get(object, "pid")) == *(const uint32_t *)ctx;
}

static json_t *lines_of(const char *const *argv, bool (*is_chosen)(void *ctx, json_t *object),
			void *ctx)
{
	struct tapir_str out = {};
	json_t *list = NULL;

	if (!tapir_child_run__capture(argv, -1, 1, &out))
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

	if (!tapir_child_run__capture(argv, -1, 3, &out) && out.data)
		doctor = json_loads(out.data, 0, NULL);
	if (doctor)
		json_object_update(process, doctor);
	json_decref(doctor);
	tapir_str__fini(&out);
	tapir_diag__clear();
}

static int describe_processes(const struct tapir_task *task, int fd)
{
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

int tapir_task__process(void *ctx, int fd)
{
	const struct tapir_task *task = ctx;
	pthread_mutex_t *own = &task->lists->describes[getpid() % 2];
	int err;

	(void)lock_mutex(own);
	err = describe_processes(task, fd);
	pthread_mutex_unlock(own);
	return err;
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

int tapir_task__check_processes(const struct tapir_request_params *params)
{
	const uint32_t *pid;
	int err = 0;

	tapir_vec_for_each (pid, &params->pids)
		err = err ? err : check_process(*pid, params->started);
	return err;
}

int tapir_task__find_target(struct tapir_request_params *params,
			    struct tapir_containers *containers)
{
	int err = tapir_task__check_processes(params);

	return err || !(params->container || params->pod)
		       ? err
		       : tapir_containers__find(containers, params->container, params->pod,
						&params->cgroups, &params->inside);
}
