// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Children of the agent: each answers one request, or sends an answer that is long. A child is a
 * fork without exec, so everything that it must not have is closed before its function runs; what
 * it was given is in the agent's memory as it was then.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/child/child_run.h"
#include "base/clock.h"
#include "base/fd_message.h"
#include "base/file.h"
#include "base/log.h"
#include "record/recording.h"
#include "base/foreign/helper.h"
#include "agent/agent_impl.h"
#include "agent/answer.h"
#include "agent/sessions_impl.h"
#include "agent/task.h"

#define MAX_INLINE_BYTES 65536 /* more might not fit into a socket's buffer */
#define FIRST_FD	 3
#define OWN_FDS		 3			 /* of a task, before its traces */
#define LONG_ENOUGH_NS	 (60 * TAPIR_NS_PER_SEC) /* a kept child that lived: the next one soon */
#define MAX_WAIT_NS	 (60 * TAPIR_NS_PER_SEC)

void tapir_agent__become_child(pid_t agent_pid, int death_signal, bool records)
{
	sigset_t blocked;

	setsid();
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2); /* a request to freeze waits for the recording to begin */
	if (records) /* so does its end: what ends in its first moment is finished, not cut */
		sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	if (prctl(PR_SET_PDEATHSIG, death_signal) || getppid() != agent_pid)
		_exit(1);
}

void tapir_agent__keep_fds(int *fds, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (fds[i] >= 0)
			fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, FIRST_FD + (int)cnt);
	for (size_t i = 0; i < cnt; i++)
		if (fds[i] >= 0)
			fds[i] = dup3(fds[i], FIRST_FD + (int)i, O_CLOEXEC);
		else /* a listening socket of the agent may have this number */
			close(FIRST_FD + (int)i);
	close_range((unsigned)(FIRST_FD + cnt), ~0u, 0);
}

static pid_t fork_task(struct tapir_agent *agent, int client_fd, int *const *traces, bool records,
		       tapir_task_fn run, void *ctx)
{
	int fds[OWN_FDS + TAPIR_AGENT_MAX_TRACES] = {client_fd, agent->state_fd,
						     tapir_child_run__program()};
	size_t cnt = OWN_FDS;
	pid_t agent_pid, pid;

	for (; traces && cnt < sizeof(fds) / sizeof(*fds) && traces[cnt - OWN_FDS]; cnt++)
		fds[cnt] = *traces[cnt - OWN_FDS];
	agent_pid = getpid();
	pid = fork();

	if (pid)
		return pid < 0 ? -errno : pid;
	tapir_agent__become_child(agent_pid, SIGTERM, records);
	tapir_agent__keep_fds(fds, cnt);
	agent->state_fd = fds[1];
	tapir_child_run__use_program(fds[2]);
	while (cnt-- > OWN_FDS)
		*traces[cnt - OWN_FDS] = fds[cnt];
	tapir_log__mute(true);
	_exit(run(ctx, fds[0]) ? 1 : 0);
}

static void add_task(struct tapir_agent *agent, pid_t pid, int client_fd, bool records)
{
	const struct tapir_agent_task task = {
		.pid = pid, .client_fd = client_fd, .records = records};

	agent->recording_cnt += records;
	if (tapir_vec__push(&agent->tasks, task))
		return;
	kill(pid, SIGTERM);
	if (client_fd >= 0)
		close(client_fd);
}

int tapir_agent__start_task(struct tapir_agent *agent, int client_fd, int *const *traces,
			    bool records, tapir_task_fn run, void *ctx)
{
	pid_t pid;

	if (agent->tasks.cnt == TAPIR_AGENT_MAX_TASKS)
		return -EAGAIN;
	pid = fork_task(agent, client_fd, traces, records, run, ctx);
	if (pid > 0)
		add_task(agent, pid, client_fd, records);
	return pid;
}

void tapir_agent_task__end(struct tapir_agent_task *task, uint64_t now_ns)
{
	if (!task->ended_ns)
		kill(task->pid, SIGTERM);
	else if (now_ns - task->ended_ns > TAPIR_AGENT_KILL_NS)
		kill(task->pid, SIGKILL);
	if (!task->ended_ns)
		task->ended_ns = now_ns;
}

void tapir_agent__end_task(struct tapir_agent *agent, pid_t pid)
{
	struct tapir_agent_task *task;

	tapir_vec_for_each (task, &agent->tasks)
		if (task->pid == pid)
			tapir_agent_task__end(task, tapir_clock__now_ns());
}

size_t tapir_agent__recordings(const struct tapir_agent *agent)
{
	const struct tapir_agent_task *task;
	size_t cnt = 0;

	tapir_vec_for_each (task, &agent->tasks)
		cnt += task->records;
	return cnt;
}

/* ---- children that are kept ------------------------------------------------------------------ */

int tapir_agent_child__start(struct tapir_agent *agent, struct tapir_agent_child *child)
{
	int pair[2] = {-1, -1}, pid;

	child->started_ns = child->ended_ns = tapir_clock__now_ns();
	if (!child->wait_ns)
		child->wait_ns = TAPIR_NS_PER_SEC;
	if (child->has_socket && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pid = tapir_agent__start_task(agent, pair[1], NULL, false, child->run, agent);
	if (pid < 0) {
		tapir_guard__fd(&pair[0]);
		tapir_guard__fd(&pair[1]);
		return pid;
	}
	child->pid = pid;
	child->fd = pair[0];
	return 0;
}

bool tapir_agent_child__end_seen(struct tapir_agent *agent, struct tapir_agent_child *child,
				 pid_t pid)
{
	if (!child->pid || child->pid != pid)
		return false;
	child->pid = 0;
	tapir_guard__fd(&child->fd);
	child->ended_ns = tapir_clock__now_ns();
	if (child->ended_ns - child->started_ns > LONG_ENOUGH_NS)
		child->wait_ns = TAPIR_NS_PER_SEC;
	else
		child->wait_ns =
			child->wait_ns * 2 < MAX_WAIT_NS ? child->wait_ns * 2 : MAX_WAIT_NS;
	if (!agent->is_ending)
		tapir_warn("%s ended: another one starts in %llu s", child->name,
			   (unsigned long long)(child->wait_ns / TAPIR_NS_PER_SEC));
	return true;
}

bool tapir_agent_child__is_waiting(const struct tapir_agent_child *child)
{
	return child->run && !child->pid;
}

void tapir_agent_child__check(struct tapir_agent *agent, struct tapir_agent_child *child)
{
	if (!agent->is_ending && tapir_agent_child__is_waiting(child) &&
	    tapir_clock__now_ns() - child->ended_ns >= child->wait_ns)
		(void)tapir_agent_child__start(agent, child);
}

/* ---- a child that is ready ------------------------------------------------------------------- */

#define WARM_WORKER_NAME "tapir-ready"

static char agent_name[16]; /* as the kernel has it: of the agent, and of what has a request */

static const tapir_task_fn task_of[TAPIR_ROUTE_CNT] = {
	[TAPIR_ROUTE_PROCESSES] = tapir_task__processes,
	[TAPIR_ROUTE_PROCESS] = tapir_task__process,
	[TAPIR_ROUTE_PROFILE] = tapir_task__profile,
	[TAPIR_ROUTE_PPROF] = tapir_task__profile,
	[TAPIR_ROUTE_STACKS] = tapir_task__stacks,
	[TAPIR_ROUTE_VIEW] = tapir_task__view,
	[TAPIR_ROUTE_FINDINGS] = tapir_task__findings,
	[TAPIR_ROUTE_QUESTIONS] = tapir_task__question,
	[TAPIR_ROUTE_QUERY] = tapir_task__query,
	[TAPIR_ROUTE_REQUESTS] = tapir_task__requests,
	[TAPIR_ROUTE_EVENTS] = tapir_task__events,
	[TAPIR_ROUTE_COUNTERS] = tapir_task__counters,
	[TAPIR_ROUTE_COUNTER] = tapir_task__counters,
};

tapir_task_fn tapir_agent__task_of(uint16_t route)
{
	return route < TAPIR_ROUTE_CNT ? task_of[route] : NULL;
}

/* Before the bytes of a request (wire.h), without its credentials. */
struct warm_worker_head {
	uint32_t only_pid;
	bool is_admin, is_session;
};

/* One message at a time: the agent makes it, its child takes it. */
static struct {
	struct warm_worker_head head;
	char request[TAPIR_WIRE_MAX_BYTES];
} warm_worker_message;

static int run_request(struct tapir_agent *agent, const struct tapir_wire_request *rq, int fd)
{
	const struct warm_worker_head *head = &warm_worker_message.head;
	struct tapir_request_params params = {.is_admin = head->is_admin};
	struct tapir_task task = {.run = head->is_session ? tapir_task__session
							  : tapir_agent__task_of(rq->route),
				  .params = &params,
				  .path_arg = rq->path_arg ? rq->path_arg : "",
				  .limits = &agent->config->limits,
				  .state_fd = &agent->state_fd,
				  .trace_fd = head->is_session ? fd : -1,
				  .page = head->is_session ? agent->warm_worker.page : NULL};
	int err;

	if (!task.run)
		return -EINVAL;
	if (rq->route == TAPIR_ROUTE_PPROF)
		params.format = "pprof";
	err = tapir_request_params__read(&params, &tapir_routes[rq->route], rq);
	if (!err && head->only_pid)
		err = tapir_request_params__restrict_to_pid(&params, &tapir_routes[rq->route],
							    task.path_arg, head->only_pid);
	return err ? err : task.run(&task, head->is_session ? -1 : fd);
}

/* Helpers come first: they must not have the programs. The agent's end closes when it ends. */
static int run_warm_worker(void *ctx, int agent_fd)
{
	struct tapir_wire_request rq;
	bool is_truncated;
	ssize_t n;
	int fd;

	(void)tapir_helpers__start();
	if (tapir_recording__prepare())
		return -EOPNOTSUPP;
	n = tapir_fd_message__recv(agent_fd, &warm_worker_message, sizeof(warm_worker_message), &fd,
				   1, 0, &is_truncated);
	close(agent_fd);
	if (n <= (ssize_t)sizeof(warm_worker_message.head))
		return 0;
	prctl(PR_SET_NAME, agent_name);
	if (is_truncated || fd < 0 ||
	    tapir_wire__decode(warm_worker_message.request,
			       (size_t)n - sizeof(warm_worker_message.head), &rq))
		return -EBADMSG;
	return run_request(ctx, &rq, fd);
}

static void start_warm_worker(struct tapir_agent *agent)
{
	struct tapir_agent_warm_worker *warm_worker = &agent->warm_worker;
	int pair[2];

	if (!warm_worker->page)
		warm_worker->page = tapir_session_shm__new();
	if (!warm_worker->page || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return;
	prctl(PR_GET_NAME, agent_name);
	prctl(PR_SET_NAME, WARM_WORKER_NAME); /* the child has it from its first moment */
	warm_worker->pid = fork_task(agent, pair[1], NULL, true, run_warm_worker, agent);
	prctl(PR_SET_NAME, agent_name);
	close(pair[1]);
	if (warm_worker->pid < 0)
		close(pair[0]);
	warm_worker->fd = warm_worker->pid < 0 ? -1 : pair[0];
	warm_worker->pid = warm_worker->pid < 0 ? 0 : warm_worker->pid;
	warm_worker->is_useless = !warm_worker->pid;
}

void tapir_agent_warm_worker__keep(struct tapir_agent *agent, uint64_t delay_ns)
{
	uint64_t now_ns = tapir_clock__now_ns();

	if (!delay_ns ||
	    now_ns >= agent->warm_worker.until_ns) /* who asks often does not put it off */
		agent->warm_worker.from_ns = now_ns + delay_ns;
	agent->warm_worker.until_ns = now_ns + agent->config->limits.ready_s * TAPIR_NS_PER_SEC;
}

void tapir_agent_warm_worker__close(struct tapir_agent *agent)
{
	tapir_guard__fd(&agent->warm_worker.fd);
}

static bool is_warm_worker_wanted(const struct tapir_agent *agent)
{
	const struct tapir_agent_warm_worker *warm_worker = &agent->warm_worker;

	return !warm_worker->pid && !warm_worker->is_useless && !agent->is_ending &&
	       !tapir_agent__recordings(agent);
}

void tapir_agent_warm_worker__check(struct tapir_agent *agent)
{
	if (tapir_clock__now_ns() >= agent->warm_worker.until_ns)
		tapir_agent_warm_worker__close(agent);
	else if (is_warm_worker_wanted(agent) &&
		 tapir_clock__now_ns() >= agent->warm_worker.from_ns)
		start_warm_worker(agent);
}

int tapir_agent_warm_worker__timeout_ms(const struct tapir_agent *agent)
{
	const struct tapir_agent_warm_worker *warm_worker = &agent->warm_worker;
	uint64_t now_ns = tapir_clock__now_ns(), then_ns;

	if (warm_worker->fd < 0 &&
	    (now_ns >= warm_worker->until_ns || !is_warm_worker_wanted(agent)))
		return -1;
	then_ns = warm_worker->fd < 0 ? warm_worker->from_ns : warm_worker->until_ns;
	return then_ns <= now_ns ? 0 : (int)((then_ns - now_ns) / TAPIR_NS_PER_MS + 1);
}

void tapir_agent_warm_worker__task_ended(struct tapir_agent *agent, pid_t pid, int status)
{
	if (agent->warm_worker.pid != pid)
		return;
	agent->warm_worker.pid = 0;
	agent->warm_worker.is_useless = status != 0; /* also: killed, for lack of memory */
	tapir_agent_warm_worker__close(agent);
}

/* False: there is none, or it does not take the request. */
static bool use_warm_worker(struct tapir_agent *agent, const struct tapir_recording_start *s)
{
	struct tapir_agent_warm_worker *warm_worker = &agent->warm_worker;
	struct tapir_wire_request rq = *s->rq;
	int len, err, fd = s->trace_fd ? *s->trace_fd : s->client_fd;

	if (warm_worker->fd < 0 || agent->tasks.cnt == TAPIR_AGENT_MAX_TASKS)
		return false;
	rq.token = rq.cookie = rq.csrf = rq.peer = NULL;
	warm_worker_message.head = (struct warm_worker_head){.only_pid = s->caller->only_pid,
							     .is_admin = s->task->params->is_admin,
							     .is_session = s->page != NULL};
	len = tapir_wire__encode(&rq, warm_worker_message.request);
	err = len < 0 ? len
		      : tapir_fd_message__send(warm_worker->fd, &warm_worker_message,
					       sizeof(warm_worker_message.head) + (size_t)len, &fd,
					       1, MSG_DONTWAIT);
	explicit_bzero(&warm_worker_message, sizeof(warm_worker_message));
	tapir_agent_warm_worker__close(agent);
	if (err)
		return false;
	add_task(agent, warm_worker->pid, s->client_fd, true);
	return true;
}

int tapir_agent__start_recording(struct tapir_agent *agent, const struct tapir_recording_start *s)
{
	struct tapir_session_shm *own;
	pid_t pid = agent->warm_worker.pid;

	if (s->task->run == tapir_task__counters || !use_warm_worker(agent, s))
		return tapir_agent__start_task(agent, s->client_fd,
					       (int *const[]){s->trace_fd, NULL}, true,
					       s->task->run, s->task);
	if (s->page) {
		own = *s->page;
		*s->page = agent->warm_worker.page;
		agent->warm_worker.page = own; /* for the next one */
	}
	agent->warm_worker.pid = 0;
	return pid;
}

/* ---- answers --------------------------------------------------------------------------------- */

struct answer {
	struct tapir_wire_head head;
	const struct tapir_str *body;
};

static int send_all(void *ctx, int fd)
{
	const struct answer *a = ctx;

	return tapir_answer__send(fd, &a->head, a->body->data, a->body->len, 0);
}

bool tapir_agent__send(struct tapir_agent *agent, int fd, enum tapir_mime mime, unsigned status,
		       const struct tapir_str *body)
{
	struct answer a = {.head = {.status = (uint16_t)status, .mime = (uint8_t)mime},
			   .body = body};

	if (body->failed)
		(void)tapir_answer__error(fd, 500, "out of memory", MSG_DONTWAIT);
	else if (body->len <= MAX_INLINE_BYTES)
		(void)tapir_answer__send(fd, &a.head, body->data, body->len, MSG_DONTWAIT);
	else if (tapir_agent__start_task(agent, fd, NULL, false, send_all, &a) > 0)
		return true;
	else
		(void)tapir_answer__error(fd, 503, "the agent cannot start a process",
					  MSG_DONTWAIT);
	return false;
}
