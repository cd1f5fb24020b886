// SPDX-License-Identifier: GPL-2.0-or-later
/* Children of the agent: each answers one request, or sends an answer that is long. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "serve/agent_impl.h"
#include "serve/answer.h"

#define MAX_INLINE_BYTES 65536 /* more might not fit into a socket's buffer */
#define FIRST_FD	 3
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
	close_range((unsigned)(FIRST_FD + cnt), ~0u, 0);
}

int tapir_agent__start_task(struct tapir_agent *agent, int client_fd, int *trace_fd, bool records,
			    tapir_task_fn run, void *ctx)
{
	struct tapir_agent_task task = {.client_fd = client_fd, .records = records};
	int fds[3] = {client_fd, agent->state_fd, trace_fd ? *trace_fd : -1};
	pid_t agent_pid = getpid();

	if (agent->tasks.cnt == TAPIR_AGENT_MAX_TASKS)
		return -EAGAIN;
	task.pid = fork();
	if (task.pid < 0)
		return -errno;
	if (!task.pid) {
		tapir_agent__become_child(agent_pid, SIGTERM, records);
		tapir_agent__keep_fds(fds, 3);
		agent->state_fd = fds[1];
		if (trace_fd)
			*trace_fd = fds[2];
		tapir_log__mute(true);
		_exit(run(ctx, fds[0]) ? 1 : 0);
	}
	agent->recording_cnt += records;
	if (!tapir_vec__push(&agent->tasks, task)) {
		kill(task.pid, SIGTERM);
		if (client_fd >= 0)
			close(client_fd);
	}
	return task.pid;
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
