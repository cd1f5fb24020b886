// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fork, exec of tapir, and its two pipes. Work that reads a recording is done by a new program with
 * limits of CPU time and memory: the file may be hostile, and the agent has privileges.
 */
#include "base/child/child_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/reader_words.h"
#include "base/child/capabilities.h"

#define MAX_WORDS	64
#define MAX_ERROR_BYTES 4096
#define CPU_SECONDS	600
#define BUFFER_BYTES	32768
#define STOP_NS		(5 * TAPIR_NS_PER_SEC)
#define OTHER_FD	3  /* of TAPIR_CHILD_RUN_OTHER */
#define FREE_FD		16 /* descriptors from here on are out of the way */

/* Both are set before there are threads. */
static const struct tapir_words *symbols; /* NULL: none */
static int program_fd = -1;		  /* of tapir; -1: this program is tapir */

void tapir_child_run__use_program(int fd)
{
	program_fd = fd;
}

int tapir_child_run__program(void)
{
	return program_fd;
}

void tapir_child_run__use_symbols(const struct tapir_words *sources)
{
	symbols = sources;
}

/* Writes "XDG_CACHE_HOME=..." for fetched symbols; "": there is no such directory. */
static void name_cache(char *out, size_t size)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	*out = '\0';
	if (cache && *cache == '/')
		snprintf(out, size, "XDG_CACHE_HOME=%s", cache);
	else if (!geteuid())
		snprintf(out, size, "XDG_CACHE_HOME=/var/cache");
	else if (home && *home == '/')
		snprintf(out, size, "XDG_CACHE_HOME=%s/.cache", home);
}

/* Executes tapir. Returns on failure. */
static void exec_words(char **words, bool has_cache)
{
	char cache[4096] = "";
	char *environment[5] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"};
	size_t cnt = 2;

	if (has_cache)
		name_cache(cache, sizeof(cache));
	if (*cache)
		environment[cnt++] = cache;
	if (tapir_reader_words__are_parameters())
		environment[cnt++] = TAPIR_READER_WORDS_ENV "=parameters";
	if (program_fd >= 0)
		fexecve(program_fd, words, environment);
	else
		execve("/proc/self/exe", words, environment);
}

static size_t add_symbols(const struct tapir_words *sources, char **words, size_t cnt)
{
	const char *const *source;

	if (!sources)
		return cnt;
	tapir_vec_for_each (source, sources) {
		if (cnt + 2 > MAX_WORDS)
			break;
		words[cnt++] = "--symbols";
		words[cnt++] = (char *)*source;
	}
	return cnt;
}

/* Called last: the program moves if it has that number, which no other descriptor needs now. */
static bool dup_other(int fd)
{
	int other = fd > 0 ? fcntl(fd, F_DUPFD_CLOEXEC, FREE_FD) : -1;

	if (fd > 0 && program_fd == OTHER_FD)
		program_fd = fcntl(program_fd, F_DUPFD_CLOEXEC, FREE_FD);
	return fd <= 0 || (other >= 0 && dup2(other, OTHER_FD) >= 0);
}

static _Noreturn void exec_tapir(const struct tapir_child_run *run, int out_fd, int err_fd)
{
	const struct rlimit cpu = {CPU_SECONDS, CPU_SECONDS};
	/* A child that keeps its privileges fetches nothing. */
	const struct tapir_words *sources = run->has_privileges ? NULL : symbols;
	int in_fd = run->input_fd >= 0 ? run->input_fd : open("/dev/null", O_RDONLY | O_CLOEXEC);
	char *words[MAX_WORDS + 3] = {"tapir"};
	size_t cnt = 1;
	sigset_t none;

	while (cnt < MAX_WORDS && run->argv[cnt - 1]) {
		words[cnt] = (char *)run->argv[cnt - 1];
		cnt++;
	}
	cnt = add_symbols(sources, words, cnt);
	words[cnt] = "-q";
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || dup2(out_fd, STDOUT_FILENO) < 0 ||
	    dup2(err_fd, STDERR_FILENO) < 0 || dup2(in_fd, STDIN_FILENO) < 0 ||
	    !dup_other(run->other_fd))
		_exit(1);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setrlimit(RLIMIT_CPU, &cpu);
	tapir_file__restore_limit();
	if (!run->has_privileges && tapir_capabilities__drop())
		_exit(1);
	exec_words(words, sources != NULL);
	_exit(127);
}

/* Reads what is available; *fd becomes -1 at its end. */
static int take_output(struct tapir_child_run *run, int *fd, char *buffer)
{
	ssize_t n = read(*fd, buffer, BUFFER_BYTES);

	if (n > 0)
		return run->on_output(run->ctx, buffer, (size_t)n);
	if (n < 0 && errno == EINTR)
		return 0;
	close(*fd);
	*fd = -1;
	return 0;
}

static void take_errors(struct tapir_child_run *run, int *fd, char *buffer)
{
	ssize_t n = read(*fd, buffer, BUFFER_BYTES);

	if (n > 0 && run->errors.len < MAX_ERROR_BYTES)
		tapir_str__add(&run->errors, buffer, (size_t)n);
	if (n > 0 || (n < 0 && errno == EINTR))
		return;
	close(*fd);
	*fd = -1;
}

/* Reads the command's output until it has closed both. */
struct reading {
	struct tapir_child_run *run;
	pid_t pid;
	int out_fd, err_fd;
	uint64_t stop_ns; /* it was asked to end; 0: not yet */
};

static int wait_ms_of(const struct reading *r)
{
	uint64_t now_ns = tapir_clock__now_ns();

	if (!r->stop_ns)
		return -1;
	return now_ns < r->stop_ns + STOP_NS
		       ? (int)((r->stop_ns + STOP_NS - now_ns) / TAPIR_NS_PER_MS) + 1
		       : 0;
}

static int take_some(struct reading *r, char *buffer)
{
	const int *stop_fd = r->run->stop_fd;
	struct pollfd fds[3] = {{.fd = r->out_fd, .events = POLLIN},
				{.fd = r->err_fd, .events = POLLIN},
				{.fd = stop_fd && !r->stop_ns ? *stop_fd : -1, .events = POLLIN}};
	int n = poll(fds, 3, wait_ms_of(r));

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (r->stop_ns && (!n || !wait_ms_of(r)))
		return -ECANCELED;
	if (fds[2].revents) {
		r->stop_ns = tapir_clock__now_ns();
		kill(r->pid, SIGINT);
	}
	if (fds[1].revents)
		take_errors(r->run, &r->err_fd, buffer);
	return fds[0].revents ? take_output(r->run, &r->out_fd, buffer) : 0;
}

static int take_all(struct reading *r)
{
	char buffer[BUFFER_BYTES];
	int err = 0;

	while (!err && (r->out_fd >= 0 || r->err_fd >= 0))
		err = take_some(r, buffer);
	if (err)
		kill(r->pid, SIGKILL);
	tapir_guard__fd(&r->out_fd);
	tapir_guard__fd(&r->err_fd);
	return !err && r->stop_ns ? -ECANCELED : err;
}

/* "tapir: cannot open x: ..." per line -> "cannot open x: ...; ..." */
static void tidy_errors(struct tapir_str *errors)
{
	static const char *const prefixes[] = {"tapir: warning: ", "tapir: "};
	struct tapir_str out = {};
	char *line, *rest = errors->data;

	while (rest && (line = strsep(&rest, "\n"))) {
		for (size_t i = 0; i < 2; i++)
			if (!strncmp(line, prefixes[i], strlen(prefixes[i])))
				line += strlen(prefixes[i]);
		if (*line)
			tapir_str__addf(&out, "%s%s", out.len ? "; " : "", line);
	}
	tapir_str__fini(errors);
	*errors = out;
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int tapir_child_run__do(struct tapir_child_run *run)
{
	int out[2], errors[2], err;
	struct reading reading;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC))
		return -errno;
	if (pipe2(errors, O_CLOEXEC)) {
		err = -errno;
		close(out[0]);
		/*
		 * The writing ends have to be the child's alone, or its end would not be seen here.
		 */
		close(out[1]);
		return err;
	}
	pid = fork();
	if (!pid)
		exec_tapir(run, out[1], errors[1]);
	err = pid < 0 ? -errno : 0;
	close(out[1]);
	close(errors[1]);
	if (err) {
		close(out[0]);
		close(errors[0]);
		return err;
	}
	reading = (struct reading){.run = run, .pid = pid, .out_fd = out[0], .err_fd = errors[0]};
	err = take_all(&reading);
	run->exit_code = wait_for(pid);
	tidy_errors(&run->errors);
	return err;
}

static int keep_output(void *ctx, const char *data, size_t len)
{
	struct tapir_str *out = ctx;

	if (out->len + len > TAPIR_CHILD_RUN_MAX_CAPTURE)
		return -EFBIG;
	tapir_str__add(out, data, len);
	return out->failed ? -ENOMEM : 0;
}

int tapir_child_run__capture(const char *const *argv, int input_fd, int allowed,
			     struct tapir_str *out)
{
	return tapir_child_run__capture_two(argv, input_fd, 0, allowed, out);
}

int tapir_child_run__capture_two(const char *const *argv, int input_fd, int other_fd, int allowed,
				 struct tapir_str *out)
{
	struct tapir_child_run run = {.argv = argv,
				      .input_fd = input_fd,
				      .other_fd = other_fd,
				      .has_privileges = input_fd < 0,
				      .on_output = keep_output,
				      .ctx = out};
	int err = tapir_child_run__do(&run);

	if (!err && run.exit_code && run.exit_code != allowed)
		err = tapir_diag__fail(-EIO, "%s", run.errors.data ? run.errors.data : "failed");
	tapir_str__fini(&run.errors);
	return err;
}
