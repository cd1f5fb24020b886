// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The caller's side of helper.h. A call that was given up leaves its helper busy: its late answer
 * is recognized by the serial number and dropped, so that it is never taken for the answer of the
 * next call.
 */
#include "base/foreign/helper.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd_message.h"
#include "base/file.h"

#define FORK_SERVER_MS 5000 /* it only forks: more time than this means a stalled machine */

static pthread_mutex_t fork_server_lock = PTHREAD_MUTEX_INITIALIZER;
static int fork_server_sock = -1;
static pid_t fork_server_pid;
static atomic_int cancel_fd = -1;
static atomic_uint_least64_t stop_at_ns; /* 0: no hurry */

void tapir_helpers__set_cancel(int fd)
{
	atomic_store(&cancel_fd, fd);
}

void tapir_helpers__set_deadline(uint64_t limit_ns)
{
	atomic_store(&stop_at_ns, tapir_clock__now_ns() + limit_ns);
}

/* ---- the fork server ------------------------------------------------------------------------ */

static int start_fork_server(void)
{
	int pair[2], err;

	if (fork_server_sock >= 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	fork_server_pid = fork();
	if (!fork_server_pid) {
		close(pair[0]);
		tapir_fork_server__live(pair[1]);
	}
	err = fork_server_pid < 0 ? -errno : 0;
	close(pair[1]);
	if (err)
		close(pair[0]);
	else
		fork_server_sock = pair[0];
	return err;
}

int tapir_helpers__start(void)
{
	int err;

	pthread_mutex_lock(&fork_server_lock);
	err = start_fork_server();
	pthread_mutex_unlock(&fork_server_lock);
	return err;
}

/* Call with the lock. */
static int call_fork_server(uint8_t command, int fd, struct tapir_fork_server_reply *reply)
{
	struct pollfd answer = {.fd = fork_server_sock, .events = POLLIN};
	int err = tapir_fd_message__send(fork_server_sock, &command, sizeof(command), &fd, fd >= 0,
					 MSG_DONTWAIT);

	if (err)
		return err;
	while (poll(&answer, 1, FORK_SERVER_MS) < 0 && errno == EINTR)
		;
	if (tapir_fd_message__recv(fork_server_sock, reply, sizeof(*reply), NULL, 0, MSG_DONTWAIT,
				   NULL) != (ssize_t)sizeof(*reply))
		return -EPIPE;
	return reply->err;
}

size_t tapir_helpers__stop(pid_t *left, size_t cnt)
{
	struct tapir_fork_server_reply reply = {};
	size_t left_cnt = 0;

	pthread_mutex_lock(&fork_server_lock);
	if (fork_server_sock >= 0) {
		if (call_fork_server(TAPIR_FORK_SERVER_END, -1, &reply))
			reply.left_cnt = 0;
		close(fork_server_sock); /* which ends it in any case */
		waitpid(fork_server_pid, NULL, 0);
	}
	fork_server_sock = -1;
	pthread_mutex_unlock(&fork_server_lock);
	for (; left_cnt < reply.left_cnt && left_cnt < cnt; left_cnt++)
		left[left_cnt] = reply.pids[left_cnt];
	return reply.left_cnt;
}

/* ---- a helper ------------------------------------------------------------------------------- */

int tapir_helper__start(struct tapir_helper *helper)
{
	struct tapir_fork_server_reply reply = {};
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pthread_mutex_lock(&fork_server_lock);
	err = start_fork_server();
	if (!err)
		err = call_fork_server(TAPIR_FORK_SERVER_SPAWN, pair[1], &reply);
	pthread_mutex_unlock(&fork_server_lock);
	close(pair[1]);
	if (err) {
		close(pair[0]);
		return err;
	}
	*helper = (struct tapir_helper){.sock = pair[0], .pid = reply.pids[0]};
	return 0;
}

void tapir_helper__leave(struct tapir_helper *helper)
{
	tapir_guard__fd(&helper->sock);
	*helper = TAPIR_HELPER_NONE;
}

/* Takes the answer that waits: of this call, or of one that was given up. */
static int receive(struct tapir_helper *helper, struct tapir_helper_call *call)
{
	struct tapir_helper_reply reply;
	int fd = -1;
	ssize_t n = tapir_fd_message__recv(helper->sock, &reply, sizeof(reply), &fd, 1,
					   MSG_DONTWAIT, NULL);

	if (n == -EAGAIN)
		return -EAGAIN;
	if (n != (ssize_t)sizeof(reply) || reply.serial != helper->serial) {
		tapir_guard__fd(&fd);
		return -EPIPE;
	}
	helper->is_busy = false;
	if (!call) {
		tapir_guard__fd(&fd);
		return 0;
	}
	call->value = reply.value;
	call->out_fd = fd;
	return reply.err;
}

static int wait_answer(const struct tapir_helper *helper, uint64_t deadline_ns)
{
	for (;;) {
		struct pollfd fds[] = {{.fd = helper->sock, .events = POLLIN},
				       {.fd = atomic_load(&cancel_fd), .events = POLLIN}};
		uint64_t now_ns = tapir_clock__now_ns(), until_ns = deadline_ns,
			 stop_ns = atomic_load(&stop_at_ns);
		int n;

		if (stop_ns && stop_ns < until_ns)
			until_ns = stop_ns;
		n = poll(fds, 2,
			 now_ns < until_ns ? (int)((until_ns - now_ns) / TAPIR_NS_PER_MS + 1) : 0);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && fds[0].revents)
			return 0;
		if (n > 0)
			return -ECANCELED;
		if (!n && now_ns >= until_ns)
			return until_ns < deadline_ns ? -ECANCELED : -ETIMEDOUT;
	}
}

bool tapir_helper__is_busy(struct tapir_helper *helper)
{
	return helper->is_busy && receive(helper, NULL) == -EAGAIN;
}

int tapir_helper__call(struct tapir_helper *helper, struct tapir_helper_call *call,
		       uint64_t deadline_ns)
{
	struct tapir_helper_request request = {.fn = call->fn};
	int err;

	call->out_fd = -1;
	if (call->in_bytes > sizeof(request.in))
		return -E2BIG;
	/*
	 * A call that was given up may have been answered since: its answer is taken and dropped.
	 */
	if (helper->is_busy && (err = receive(helper, NULL)))
		return err == -EAGAIN ? -EBUSY : err;
	request.serial = ++helper->serial;
	request.fd_cnt = (uint32_t)call->fd_cnt;
	request.in_bytes = (uint32_t)call->in_bytes;
	memcpy(request.in, call->in, call->in_bytes);
	err = tapir_fd_message__send(helper->sock, &request,
				     offsetof(struct tapir_helper_request, in) + call->in_bytes,
				     call->fds, call->fd_cnt, MSG_DONTWAIT);
	if (err)
		return -EPIPE;
	helper->is_busy = true;
	err = wait_answer(helper, deadline_ns);
	return err ? err : receive(helper, call);
}
