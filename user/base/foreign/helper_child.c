// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fork server and the helpers, in processes of their own: helper.h. The fork server forks,
 * reaps and kills, and never touches a file itself, so that it always answers.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd_message.h"
#include "base/foreign/helper.h"

#define END_NS (200 * TAPIR_NS_PER_MS) /* from SIGKILL until a helper counts as left */

/* ---- a helper ------------------------------------------------------------------------------- */

static void serve_one(int sock, const struct tapir_helper_request *request, const int *fds)
{
	struct tapir_helper_reply reply = {.serial = request->serial};
	int out_fd = -1;

	reply.err = request->fn(request->in, fds, &reply.value, &out_fd);
	(void)tapir_fd_message__send(sock, &reply, sizeof(reply), &out_fd, out_fd >= 0,
				     MSG_DONTWAIT);
	if (out_fd >= 0)
		close(out_fd);
}

static void __attribute__((noreturn)) serve(int sock)
{
	static struct tapir_helper_request request;
	int fds[TAPIR_HELPER_MAX_FDS];

	prctl(PR_SET_NAME, "tapir-file");
	while (tapir_fd_message__recv(sock, &request, sizeof(request), fds, TAPIR_HELPER_MAX_FDS, 0,
				      NULL) > 0) {
		serve_one(sock, &request, fds);
		for (int i = 0; i < TAPIR_HELPER_MAX_FDS; i++)
			if (fds[i] >= 0)
				close(fds[i]);
	}
	_exit(0);
}

/* ---- the fork server ------------------------------------------------------------------------ */

struct fork_server {
	pid_t children[TAPIR_FORK_SERVER_CHILDREN]; /* not reaped yet, so their pids are not reused
						     */
	unsigned cnt;
};

static void reap(struct fork_server *n)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (unsigned i = 0; i < n->cnt; i++)
			if (n->children[i] == pid) {
				n->children[i] = n->children[--n->cnt];
				break;
			}
}

static void spawn(struct fork_server *n, int sock, int helper_sock,
		  struct tapir_fork_server_reply *reply)
{
	pid_t pid;

	reap(n);
	if (n->cnt == TAPIR_FORK_SERVER_CHILDREN) {
		reply->err = -EAGAIN;
		return;
	}
	pid = fork();
	if (!pid) {
		close(sock);
		serve(helper_sock);
	}
	reply->err = pid < 0 ? -errno : 0;
	reply->pids[0] = pid;
	if (pid > 0)
		n->children[n->cnt++] = pid;
}

/* Kills all helpers; those that are left a moment later cannot be killed. */
static void end_all(struct fork_server *n)
{
	uint64_t until_ns = tapir_clock__now_ns() + END_NS;

	for (unsigned i = 0; i < n->cnt; i++)
		kill(n->children[i], SIGKILL);
	for (reap(n); n->cnt && tapir_clock__now_ns() < until_ns; reap(n))
		usleep(2000);
}

static void detach_from_terminal(int sock)
{
	int null_fd = open("/dev/null", O_RDWR);

	setsid();
	prctl(PR_SET_NAME, "tapir-files");
	for (int std = 0; null_fd >= 0 && std < 3; std++)
		dup2(null_fd, std);
	if (sock > 3)
		syscall(SYS_close_range, 3u, (unsigned)sock - 1, 0u);
	syscall(SYS_close_range, (unsigned)(sock < 3 ? 3 : sock + 1), ~0u, 0u);
}

static void set_default_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	for (int number = 1; number < 32; number++)
		signal(number, SIG_DFL);
	signal(SIGINT, SIG_IGN); /* the end of tapir is the end of it, and nothing else */
	signal(SIGHUP, SIG_IGN);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

void tapir_fork_server__live(int sock)
{
	struct fork_server n = {};
	uint8_t command = 0;
	int helper_sock;

	set_default_signals();
	detach_from_terminal(sock);
	while (tapir_fd_message__recv(sock, &command, sizeof(command), &helper_sock, 1, 0, NULL) >
	       0) {
		struct tapir_fork_server_reply reply = {};

		if (command == TAPIR_FORK_SERVER_SPAWN)
			spawn(&n, sock, helper_sock, &reply);
		else
			/*
			 * The socket's other end is closed: tapir has ended, however that came
			 * about.
			 */
			end_all(&n);
		if (command == TAPIR_FORK_SERVER_END) {
			reply.left_cnt = n.cnt;
			memcpy(reply.pids, n.children, sizeof(n.children));
		}
		/*
		 * A tapir that does not read must not stop this: the next command, or the socket's
		 * end, has to be seen whatever it does.
		 */
		(void)tapir_fd_message__send(sock, &reply, sizeof(reply), NULL, 0, MSG_DONTWAIT);
		if (helper_sock >= 0)
			close(helper_sock);
		if (command == TAPIR_FORK_SERVER_END)
			_exit(0);
	}
	end_all(&n);
	_exit(0);
}
