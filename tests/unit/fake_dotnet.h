/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_dotnet.h - a child of the test that listens as a .NET runtime does, in a TMPDIR of its
 * own, and answers each connection with bytes it is told, also wrongly.
 */
#ifndef TAPIR_TESTS_FAKE_DOTNET_H
#define TAPIR_TESTS_FAKE_DOTNET_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "link_attack.h"

#define FAKE_REPLY_MAX	 70000
#define FAKE_REQUEST_MAX 4096

struct fake_dotnet {
	/* what it does */
	uint8_t reply[FAKE_REPLY_MAX];
	size_t reply_len;
	bool is_silent;	  /* reads, and never answers */
	bool hangs_up;	  /* closes at once */
	bool writes_dump; /* jit-PID.dump, when it is told to */
	bool cuts_dump;	  /* and stops within a record */
	bool is_attacked; /* before, another user puts a link in its place; "redirected" if he could
			   */
	bool loads;	  /* what it is to attach: a copy in "loaded", if its mode is 0755 */
	bool dies;	  /* instead of answering */
	bool is_off;	  /* DOTNET_EnableDiagnostics=0 in its environment */
	bool is_absent;	  /* has no socket */
	bool keeps_open;  /* every connection, as one that streams */
	unsigned stale_cnt; /* sockets nobody listens on, newer than its own */
	/* what it is */
	pid_t pid;
	char dir[64], request_path[96];
};

static inline int fake_dotnet__listen(const char *dir, unsigned start_time)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/dotnet-diagnostic-%d-%u-socket", dir,
		 getpid(), start_time);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 5))
		_exit(3);
	return fd;
}

static inline void fake_dotnet__write_dump(const struct fake_dotnet *f)
{
	/* A header of 40 bytes; 59 bytes of a record that has 64 KB. */
	static const char cut[99] = "DTiJ\1\0\0\0\x28\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
				    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1";
	char path[96], aim[96];
	int fd;

	snprintf(path, sizeof(path), "%s/jit-%d.dump", f->dir, getpid());
	snprintf(aim, sizeof(aim), "%s/redirected", f->dir);
	if (f->is_attacked)
		link_attack(path, aim);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	(void)!write(fd, f->cuts_dump ? cut : "a jitdump", f->cuts_dump ? sizeof(cut) : 9);
	close(fd);
}

/* AttachProfiler: u32 timeout, 16 bytes, u32 count, UTF-16 path, ... */
static inline void fake_dotnet__load(const struct fake_dotnet *f, const uint8_t *request)
{
	char path[512] = "", copy[128], bytes[4096];
	int from, to;
	ssize_t n;
	struct stat st;

	for (unsigned i = 0; i < request[40] && i < sizeof(path); i++)
		path[i] = (char)request[44 + 2 * i];
	snprintf(copy, sizeof(copy), "%s/loaded", f->dir);
	from = open(path, O_RDONLY | O_CLOEXEC);
	to = open(copy, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (from < 0 || fstat(from, &st) || (st.st_mode & 07777) != 0755)
		_exit(6);
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		(void)tapir_file__write_all(to, bytes, (size_t)n);
	close(from);
	close(to);
}

/* All requests one behind the other, for the test to see. */
static inline void fake_dotnet__serve_one(const struct fake_dotnet *f, int listener)
{
	uint8_t request[FAKE_REQUEST_MAX];
	size_t got = 0, want = 20;
	int fd = accept(listener, NULL, NULL), out;

	if (fd < 0 || f->hangs_up) {
		close(fd);
		return;
	}
	while (got < want && got < sizeof(request)) {
		ssize_t n = read(fd, request + got, want - got);

		if (n <= 0)
			break;
		got += (size_t)n;
		if (got >= 20)
			want = request[14] | (size_t)request[15] << 8;
	}
	out = open(f->request_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	(void)tapir_file__write_all(out, request, got);
	close(out);
	if (f->writes_dump && request[16] == 4 && request[17] == 5)
		fake_dotnet__write_dump(f);
	if (f->loads && request[16] == 3 && request[17] == 1)
		fake_dotnet__load(f, request);
	if (f->dies)
		_exit(0);
	if (f->is_silent)
		pause();
	(void)tapir_file__write_all(fd, f->reply, f->reply_len);
	if (!f->keeps_open)
		close(fd);
}

/* Executed anew, so that its environment is what /proc says. */
static inline void __attribute__((noreturn))
fake_dotnet__live(const struct fake_dotnet *f, int ready_fd)
{
	int listener = -1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	if (!f->is_absent)
		listener = fake_dotnet__listen(f->dir, 1);
	for (unsigned i = 0; i < f->stale_cnt; i++) {
		usleep(2000);
		close(fake_dotnet__listen(f->dir, 2 + i));
	}
	(void)!write(ready_fd, "r", 1);
	for (;;)
		if (listener < 0)
			pause();
		else
			fake_dotnet__serve_one(f, listener);
}

/* The test's own program, called again as "fake"; what it is to do comes by a pipe on fd 0. */
static inline int fake_dotnet__main(void)
{
	static struct fake_dotnet f;

	for (size_t got = 0; got < sizeof(f);) {
		ssize_t n = read(0, (char *)&f + got, sizeof(f) - got);

		if (n <= 0)
			return 4;
		got += (size_t)n;
	}
	fake_dotnet__live(&f, 1);
}

static inline void fake_dotnet__exec(const struct fake_dotnet *f, int in_fd, int out_fd)
{
	char tmpdir[96], dump_dir[96];
	char *const argv[] = {(char *)"fake_dotnet", (char *)"fake", NULL};
	char *const env[] = {tmpdir, dump_dir,
			     f->is_off ? (char *)"DOTNET_EnableDiagnostics=0" : NULL, NULL};

	snprintf(tmpdir, sizeof(tmpdir), "TMPDIR=%s", f->dir);
	snprintf(dump_dir, sizeof(dump_dir), "DOTNET_PerfMapJitDumpPath=%s", f->dir);
	dup2(in_fd, 0);
	dup2(out_fd, 1);
	execve("/proc/self/exe", argv, env);
	_exit(5);
}

static inline void fake_dotnet__start(struct fake_dotnet *f)
{
	int in[2], out[2];
	char c;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	f->pid = fork();
	if (!f->pid)
		fake_dotnet__exec(f, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	assert_int_equal(tapir_file__write_all(in[1], f, sizeof(*f)), 0);
	close(in[1]);
	assert_int_equal(read(out[0], &c, 1), 1);
	close(out[0]);
}

static inline int fake_dotnet__setup(void **state)
{
	struct fake_dotnet *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	strcpy(f->dir, "/tmp/tapir-dotnet-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->request_path, sizeof(f->request_path), "%s/request", f->dir);
	*state = f;
	return 0;
}

static inline int fake_dotnet__teardown(void **state)
{
	struct fake_dotnet *f = *state;
	char command[96];

	if (f->pid > 0) {
		kill(f->pid, SIGKILL);
		waitpid(f->pid, NULL, 0);
	}
	snprintf(command, sizeof(command), "rm -rf %s", f->dir);
	assert_int_equal(system(command), 0);
	free(f);
	tapir_diag__clear();
	return 0;
}

#endif
