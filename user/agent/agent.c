// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The agent's loop, and what it starts and ends: listeners, the HTTP processes, a child for each
 * task, signals, the state directory. Everything that could block, or that touches what another
 * user wrote, is in one of the children.
 */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/fd_message.h"
#include "base/file.h"
#include "base/libcurl.h"
#include "base/log.h"
#include "base/reader_words.h"
#include "agent/agent_impl.h"
#include "agent/agent_push.h"
#include "agent/agent_watch.h"
#include "agent/continuous.h"
#include "agent/answer.h"
#include "base/child/child_run.h"
#include "agent/front.h"
#include "agent/http/stdio_http.h"
#include "base/private_file.h"
#include "agent/metrics.h"
#include "agent/sessions.h"
#include "agent/task.h"
#include "symbol/symbol_files.h"
#include "agent/watch/totals.h"

#define RESTART_NS (1 * TAPIR_NS_PER_SEC) /* between starts of an HTTP process */

/* ---- children ------------------------------------------------------------------------------- */

static _Noreturn void run_front(struct tapir_agent *agent, struct tapir_agent_front *front,
				int control_fd, pid_t agent_pid)
{
	int fds[3] = {control_fd, front->listener.fd, front->listener.out_fd};
	struct tapir_front_opts opts = {.listener = &front->listener,
					.hosts = agent->config->hosts,
					.only_pid = agent->config->only_pid,
					.connections = (unsigned)agent->config->limits.connections,
					.tls_certificate = agent->tls_certificate,
					.tls_key = agent->tls_key,
					.tls_client_ca = agent->tls_client_ca};

	tapir_agent__become_child(agent_pid, SIGKILL, false);
	signal(SIGINT, SIG_IGN);
	tapir_agent__keep_fds(fds, 3);
	opts.control_fd = fds[0];
	front->listener.fd = fds[1];
	front->listener.out_fd = fds[2];
	/* Not needed there, and not to be found there. */
	tapir_tokens__free(agent->tokens);
	explicit_bzero(&agent->logins, sizeof(agent->logins));
	explicit_bzero(agent->csrf, sizeof(agent->csrf));
	if (tapir_front__run(&opts))
		for (int i = 0; i < tapir_diag__cnt(); i++)
			tapir_warn("%s", tapir_diag__line(i));
	_exit(1);
}

static int start_front(struct tapir_agent *agent, struct tapir_agent_front *front)
{
	pid_t agent_pid = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	front->started_ns = tapir_clock__now_ns();
	front->pid = fork();
	if (!front->pid)
		run_front(agent, front, pair[1], agent_pid);
	close(pair[1]);
	if (front->pid < 0) {
		front->pid = 0;
		close(pair[0]);
		return -errno;
	}
	front->control_fd = pair[0];
	if (front->listener.is_stdio) /* it alone reads and writes there */
		tapir_address__close(&front->listener);
	return 0;
}

/* The task ended by itself, and by a signal: the client that waits for its answer receives that. */
static void report_killed_task(const struct tapir_agent_task *task, int status)
{
	char text[128];

	snprintf(text, sizeof(text),
		 WTERMSIG(status) == SIGKILL
			 ? "the process of this request was killed, possibly for lack of memory"
			 : "the process of this request ended by signal %d",
		 WTERMSIG(status));
	tapir_warn("%s", text);
	if (task->client_fd >= 0)
		(void)tapir_answer__error(task->client_fd, 500, text, MSG_DONTWAIT);
}

static void forget_task(struct tapir_agent *agent, pid_t pid, int status)
{
	for (size_t i = 0; i < agent->tasks.cnt; i++) {
		struct tapir_agent_task *task = &agent->tasks.data[i];

		if (task->pid != pid)
			continue;
		if (WIFSIGNALED(status) && !task->ended_ns)
			report_killed_task(task, status);
		if (task->records)
			tapir_agent_warm_worker__keep(agent, 0);
		if (task->client_fd >= 0)
			close(task->client_fd);
		*task = agent->tasks.data[--agent->tasks.cnt];
		return;
	}
}

static void reap_tasks(struct tapir_agent *agent)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (size_t i = 0; i < agent->front_cnt; i++) {
			struct tapir_agent_front *front = &agent->fronts[i];

			if (front->pid != pid)
				continue;
			front->pid = 0;
			close(front->control_fd);
			front->control_fd = -1;
			agent->is_ending |= front->listener.is_stdio; /* its input has ended */
			if (!agent->is_ending)
				tapir_warn("the HTTP process of %s ended: another one starts",
					   front->listener.name);
		}
		forget_task(agent, pid, status);
		tapir_sessions__task_ended(agent, pid, status);
		tapir_agent_watch__task_ended(agent, pid);
		tapir_continuous__task_ended(agent, pid);
		tapir_agent_push__task_ended(agent, pid);
		tapir_agent_warm_worker__task_ended(agent, pid, status);
	}
}

/* ---- requests ------------------------------------------------------------------------------- */

/* Only such a socket can be answered without waiting for the process that made it. */
static bool is_answerable(int fd)
{
	int type = 0, domain = 0;
	socklen_t len = sizeof(int);

	return fd >= 0 && !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) &&
	       !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) && type == SOCK_SEQPACKET &&
	       domain == AF_UNIX;
}

static void take_request(struct tapir_agent *agent, struct tapir_agent_front *front)
{
	static char message[TAPIR_WIRE_MAX_BYTES];
	struct tapir_wire_request rq;
	bool is_truncated;
	int fd;
	ssize_t n = tapir_fd_message__recv(front->control_fd, message, sizeof(message), &fd, 1,
					   MSG_DONTWAIT, &is_truncated);

	if (!n) /* it has given up, whatever it does now */
		kill(front->pid, SIGKILL);
	if (n <= 0)
		return;
	if (is_answerable(fd) && !is_truncated && !tapir_wire__decode(message, (size_t)n, &rq)) {
		agent->request_cnt++;
		tapir_agent__handle(agent, front, &rq, fd);
	} else {
		agent->refused_cnt++;
		if (fd >= 0)
			close(fd);
	}
	explicit_bzero(message, (size_t)n);
}

/* ---- the loop ------------------------------------------------------------------------------- */

#define WAITING_MS 200
#define MAX_POLL   (2 + TAPIR_SERVE_MAX_LISTEN + TAPIR_AGENT_MAX_TASKS)

static void restart_fronts(struct tapir_agent *agent)
{
	uint64_t now_ns = tapir_clock__now_ns();

	for (size_t i = 0; i < agent->front_cnt && !agent->is_ending; i++) {
		struct tapir_agent_front *front = &agent->fronts[i];

		if (front->pid || now_ns - front->started_ns < RESTART_NS)
			continue;
		agent->front_restart_cnt++;
		(void)start_front(agent, front);
	}
}

static void take_signal(struct tapir_agent *agent)
{
	struct signalfd_siginfo info;

	while (read(agent->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			reap_tasks(agent);
		else if (info.ssi_signo == SIGUSR2)
			(void)tapir_continuous__freeze(agent, NULL);
		else
			agent->is_ending = true;
	}
}

static void watch_tasks(struct tapir_agent *agent, const struct pollfd *fds)
{
	uint64_t now_ns = tapir_clock__now_ns();

	for (size_t i = 0; i < agent->tasks.cnt; i++) {
		struct tapir_agent_task *task = &agent->tasks.data[i];

		if (task->client_fd >= 0 && (fds[i].revents & (POLLHUP | POLLERR))) {
			close(task->client_fd);
			task->client_fd = -1;
			tapir_agent_task__end(task, now_ns);
		} else if (task->ended_ns) {
			tapir_agent_task__end(task, now_ns);
		}
	}
}

static int sooner_ms(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

static int wait_ms(const struct tapir_agent *agent, bool is_waiting)
{
	int ms = sooner_ms(tapir_agent_push__timeout_ms(agent),
			   tapir_agent_warm_worker__timeout_ms(agent));

	return sooner_ms(ms, is_waiting ? WAITING_MS : -1);
}

static int poll_agent(struct tapir_agent *agent)
{
	struct pollfd fds[MAX_POLL] = {{.fd = agent->signal_fd, .events = POLLIN}};
	size_t cnt = 1, first_task, files;
	bool is_waiting = agent->is_ending || tapir_sessions__are_watched(agent->sessions) ||
			  tapir_agent_child__is_waiting(&agent->watch.child) ||
			  tapir_agent_child__is_waiting(&agent->push.child) ||
			  tapir_agent_child__is_waiting(&agent->continuous.child);

	for (size_t i = 0; i < agent->front_cnt; i++) {
		fds[cnt++] = (struct pollfd){.fd = agent->fronts[i].control_fd, .events = POLLIN};
		is_waiting |= !agent->fronts[i].pid;
	}
	files = cnt;
	fds[cnt++] = (struct pollfd){.fd = agent->continuous.child.fd, .events = POLLIN};
	first_task = cnt;
	for (size_t i = 0; i < agent->tasks.cnt; i++) {
		/*
		 * No event is asked for: only that the client has hung up is reported, for its task
		 * to be ended.
		 */
		fds[cnt++] = (struct pollfd){.fd = agent->tasks.data[i].client_fd};
		is_waiting |= agent->tasks.data[i].ended_ns > 0;
	}
	if (poll(fds, cnt, wait_ms(agent, is_waiting)) < 0 && errno != EINTR)
		return tapir_diag__fail(-errno, "cannot wait for requests: %s",
					tapir_errno__text(errno));
	/*
	 * Before requests, which may add tasks: places in fds and in the list of tasks still agree.
	 */
	watch_tasks(agent, fds + first_task);
	for (size_t i = 0; i < agent->front_cnt; i++)
		if (fds[1 + i].revents & POLLIN)
			take_request(agent, &agent->fronts[i]);
	if (fds[files].revents)
		tapir_continuous__take(agent);
	if (fds[0].revents)
		take_signal(agent);
	restart_fronts(agent);
	tapir_sessions__check(agent);
	tapir_agent_child__check(agent, &agent->watch.child);
	tapir_agent_child__check(agent, &agent->continuous.child);
	tapir_agent_child__check(agent, &agent->push.child);
	tapir_agent_warm_worker__check(agent);
	tapir_metrics__push(agent);
	return 0;
}

/* Recordings end in order: what they placed in processes is gone afterwards. */
static void end_all(struct tapir_agent *agent)
{
	uint64_t until_ns = tapir_clock__now_ns() + TAPIR_AGENT_KILL_NS + 5 * TAPIR_NS_PER_SEC;
	size_t left = 1;

	tapir_agent_warm_worker__close(agent);
	for (size_t i = 0; i < agent->tasks.cnt; i++)
		tapir_agent_task__end(&agent->tasks.data[i], tapir_clock__now_ns());
	while (left && tapir_clock__now_ns() < until_ns && !poll_agent(agent)) {
		left = agent->tasks.cnt + (agent->warm_worker.pid > 0);
		for (size_t i = 0; !left && i < agent->front_cnt; i++)
			if (agent->fronts[i].pid)
				kill(agent->fronts[i].pid, SIGKILL);
		for (size_t i = 0; i < agent->front_cnt; i++)
			left += agent->fronts[i].pid > 0;
	}
}

/* ---- lifecycle ------------------------------------------------------------------------------ */

static int open_signals(struct tapir_agent *agent)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	agent->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return agent->signal_fd < 0 ? -errno : 0;
}

static int make_dirs(const char *path)
{
	char part[4096];

	if (snprintf(part, sizeof(part), "%s", path) >= (int)sizeof(part))
		return -ENAMETOOLONG;
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0755) && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(part, 0700) && errno != EEXIST ? -errno : 0;
}

/*
 * A directory that others could write to or read is refused: recordings have arguments of the
 * traced programs, and another user could replace them.
 */
static int open_state(struct tapir_agent *agent)
{
	const char *path = agent->config->state;
	struct stat st;
	int err;

	if (!strcmp(path, "memory"))
		return 0;
	err = make_dirs(path);
	if (!err) {
		agent->state_fd = open(path, O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		err = agent->state_fd < 0 || fstat(agent->state_fd, &st) ? -errno : 0;
	}
	if (err)
		return tapir_diag__fail(
			err,
			"cannot use %s for the agent's state: %s (choose another directory with --state)",
			path, tapir_errno__text(err));
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return tapir_diag__fail(
			-EPERM,
			"cannot use %s for the agent's state: it must belong to this user, with mode 0700 (choose another directory with --state)",
			path);
	return 0;
}

static bool is_only_unix(const struct tapir_agent *agent)
{
	for (size_t i = 0; i < agent->front_cnt; i++)
		if (!agent->fronts[i].listener.is_unix && !agent->fronts[i].listener.is_stdio)
			return false;
	return true;
}

static int open_tokens(struct tapir_agent *agent)
{
	const struct tapir_serve_config *config = agent->config;
	char path[4096];
	int err;

	if (config->tokens_file)
		return tapir_tokens__open(config->tokens_file, &agent->tokens);
	if (is_only_unix(agent) || (config->anonymous && agent->state_fd < 0))
		return tapir_tokens__new(&agent->tokens);
	if (agent->state_fd < 0)
		return tapir_diag__fail(-EINVAL,
					"state in memory keeps no token: name a tokens_file in "
					"the configuration, or listen on unix:PATH alone");
	if (snprintf(path, sizeof(path), "%s/token", config->state) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	err = tapir_tokens__open_single(path, &agent->tokens);
	if (!err)
		tapir_info("the token is in %s", path);
	return err;
}

static int read_certificates(const char *path, char **out)
{
	size_t len;
	int err = tapir_file__read(path, 1u << 20, out, &len);

	return err ? tapir_diag__fail(err, "cannot read %s: %s", path, tapir_errno__text(err)) : 0;
}

static int open_tls(struct tapir_agent *agent)
{
	const struct tapir_serve_config *config = agent->config;
	uint64_t key;
	size_t len;
	int err;

	if (!config->tls_key)
		return 0;
	err = tapir_private_file__read(config->tls_key, &agent->tls_key, &len, &key);
	if (err)
		return err;
	err = read_certificates(config->tls_certificate, &agent->tls_certificate);
	if (!err && config->tls_client_ca)
		err = read_certificates(config->tls_client_ca, &agent->tls_client_ca);
	return err;
}

static void free_tls(struct tapir_agent *agent)
{
	if (agent->tls_key)
		explicit_bzero(agent->tls_key, strlen(agent->tls_key));
	free(agent->tls_key);
	free(agent->tls_certificate);
	free(agent->tls_client_ca);
}

static int open_listeners(struct tapir_agent *agent)
{
	const struct tapir_words *listen = &agent->config->listen;
	int err = 0;

	if (listen->cnt > TAPIR_SERVE_MAX_LISTEN)
		return tapir_diag__fail(-EINVAL, "--listen: at most %d addresses are taken",
					TAPIR_SERVE_MAX_LISTEN);
	for (size_t i = 0; !err && i < listen->cnt; i++) {
		struct tapir_agent_front *front = &agent->fronts[agent->front_cnt];

		front->control_fd = -1;
		err = tapir_address__open(listen->data[i], &front->listener);
		agent->front_cnt += !err;
		if (!err && agent->config->tls_key)
			tapir_address__uses_tls(&front->listener);
		else if (!err && !agent->config->only_pid && !front->listener.is_unix &&
			 !front->listener.is_loopback)
			tapir_warn(
				"tokens and traces go unencrypted to clients of %s: configure 'tls'",
				front->listener.name);
	}
	return err;
}

/* Fails here if servers need libcurl and it is missing, instead of with each answer. */
static int use_symbols(const struct tapir_words *sources)
{
	struct tapir_libcurl curl;
	const char *const *source;
	bool has_server = false;
	int err;

	tapir_vec_for_each (source, sources)
		has_server |= tapir_symbol_source__is_url(*source);
	err = has_server ? tapir_libcurl__load(&curl, "fetch symbols") : 0;
	if (!err)
		tapir_child_run__use_symbols(sources);
	return err;
}

static int open_lists(struct tapir_agent *agent)
{
	agent->lists = tapir_shared_lists__new();
	return agent->lists ? 0 : -ENOMEM;
}

static int open_symbols(struct tapir_agent *agent)
{
	int err = tapir_totals__open();

	return !err && agent->config->symbols.cnt ? use_symbols(&agent->config->symbols) : err;
}

static int open_csrf(struct tapir_agent *agent)
{
	return tapir_token__random(agent->csrf, TAPIR_CSRF_DIGITS);
}

static int start_fronts(struct tapir_agent *agent)
{
	int err = 0;

	for (size_t i = 0; !err && i < agent->front_cnt; i++)
		err = start_front(agent, &agent->fronts[i]);
	return err;
}

/* Messages are for clients from now on, whose words are parameters; those before were for a
 * terminal. */
static int speak_to_clients(struct tapir_agent *agent)
{
	(void)agent;
	tapir_reader_words__use_parameters();
	return 0;
}

static void say_listening(const struct tapir_agent *agent)
{
	struct tapir_str names = {};

	for (size_t i = 0; i < agent->front_cnt; i++)
		tapir_str__addf(&names, "%s%s", i ? ", " : "", agent->fronts[i].listener.name);
	tapir_info("listening on %s; press Ctrl-C to stop", names.data ? names.data : "");
	tapir_str__fini(&names);
}

/*
 * The HTTP processes come last of all that is opened, and first of all that runs: each is a fork of
 * this one and closes what it must not have.
 */
static int start_agent(struct tapir_agent *agent)
{
	static int (*const steps[])(struct tapir_agent * agent) = {
		open_state,
		open_symbols,
		open_lists,
		tapir_sessions__open,
		open_listeners,
		open_tls,
		open_tokens,
		open_csrf,
		open_signals,
		start_fronts,
		speak_to_clients,
		tapir_agent_watch__start,
		tapir_agent_push__start,
		tapir_continuous__start,
	};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(steps) / sizeof(*steps); i++)
		err = steps[i](agent);
	if (!err && !agent->config->only_pid)
		say_listening(agent);
	return err;
}

static void stop_agent(struct tapir_agent *agent)
{
	agent->is_ending = true;
	if (agent->signal_fd >= 0)
		end_all(agent);
	for (size_t i = 0; i < agent->front_cnt; i++)
		tapir_address__close(&agent->fronts[i].listener);
	tapir_guard__fd(&agent->signal_fd);
	tapir_guard__fd(&agent->state_fd);
	tapir_tokens__free(agent->tokens);
	tapir_sessions__close(agent->sessions);
	tapir_agent_watch__stop(agent);
	tapir_continuous__stop(agent);
	tapir_agent_push__stop(agent);
	if (agent->warm_worker.page)
		munmap(agent->warm_worker.page, sizeof(*agent->warm_worker.page));
	tapir_totals__close();
	free_tls(agent);
	tapir_shared_lists__free(agent->lists);
	tapir_str__fini(&agent->usage);
	tapir_vec__fini(&agent->tasks);
}

int tapir_agent__run(const struct tapir_serve_config *config)
{
	struct tapir_agent agent = {.config = config,
				    .state_fd = -1,
				    .signal_fd = -1,
				    .watch.child.fd = -1,
				    .continuous.child.fd = -1,
				    .push.child.fd = -1,
				    .warm_worker.fd = -1,
				    .started_ns = tapir_clock__now_ns()};
	int err = 0;

	if (config->only_pid)
		tapir_stdio_http__load(); /* for its HTTP processes */
	else
		err = tapir_mhd__load(config->tls_client_ca);
	if (err)
		return err;
	err = start_agent(&agent);
	while (!err && !agent.is_ending)
		err = poll_agent(&agent);
	stop_agent(&agent);
	return err;
}
