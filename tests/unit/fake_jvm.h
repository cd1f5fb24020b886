/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_jvm.h - a child of the test that maps a libjvm.so of the test's making, listens (or not)
 * as HotSpot does, and answers as it is told, also wrongly. After setup it is a good one.
 */
#ifndef TAPIR_TESTS_FAKE_JVM_H
#define TAPIR_TESTS_FAKE_JVM_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "elf_builder.h"
#include "link_attack.h"

#define FAKE_REQUEST_MAX   4096
#define FAKE_REQUEST_PARTS 5 /* version, command, three arguments */
#define FAKE_MAP_SIZE	   0x6000

struct fake_jvm {
	/* what it does */
	const char *reply;   /* sent to a client after its request; NULL: nothing, it is silent */
	size_t reply_repeat; /* how many times; 0: once */
	unsigned reply_after_ms;
	bool hangs_up;		/* closes the connection unread */
	bool listens;		/* from the start */
	bool wakes;		/* on SIGQUIT with a trigger file in its cwd, as HotSpot does */
	bool catches;		/* SIGQUIT */
	const char *dispatcher; /* the name of its thread for signals; NULL: it has none */
	bool is_hotspot;	/* what it maps exports what HotSpot does */
	bool writes_map;
	bool is_attacked;    /* before, another user tries to put a link in the map's place */
	uint32_t socket_uid; /* 0: its own */
	/* what it is */
	pid_t pid;
	char dir[64], lib[96], request_path[96];
};

static volatile sig_atomic_t fake_jvm_quit_cnt;

static inline void fake_jvm__on_quit(int signal)
{
	(void)signal;
	fake_jvm_quit_cnt++;
}

static inline void fake_jvm__make_library(const struct fake_jvm *f)
{
	Elf64_Sym syms[] = {{},
			    {.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
			     .st_shndx = 2,
			     .st_value = 0x1000}};
	const char *const names[] = {"", f->is_hotspot ? "gHotSpotVMStructs" : "gSomethingElse"};
	static const char version[] = "\0Fake VM (1.2.3+4) for linux-amd64 JRE (1.2.3+4), built on";
	struct elf_builder b;
	tapir_autofd int fd = open(f->lib, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	elf_builder__init(&b, ET_DYN);
	elf_builder__add_symbols(&b, SHT_DYNSYM, syms, 2, names);
	elf_builder__add_section(&b, ".rodata", SHT_PROGBITS, version, sizeof(version));
	elf_builder__finish(&b);
	assert_int_equal(tapir_file__write_all(fd, b.bytes, b.len), 0);
	elf_builder__fini(&b);
}

static inline int fake_jvm__listen_here(const struct fake_jvm *f)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "/tmp/.java_pid%d", getpid());
	unlink(addr.sun_path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 5))
		_exit(3);
	if (f->socket_uid && chown(addr.sun_path, f->socket_uid, (gid_t)-1))
		_exit(4);
	return fd;
}

static inline void fake_jvm__aim(pid_t pid, char *out, size_t bytes)
{
	snprintf(out, bytes, "/tmp/tapir-jvm-redirected-%d", pid);
}

static inline void fake_jvm__write_map(const struct fake_jvm *f)
{
	char path[64], aim[64];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	fake_jvm__aim(getpid(), aim, sizeof(aim));
	if (f->is_attacked)
		link_attack(path, aim);
	file = fopen(path, "we");
	fputs("0x1 0x2 fake\n", file);
	fclose(file);
}

/* Keeps what was asked for the test to see; then answers. */
static inline void fake_jvm__serve_one(const struct fake_jvm *f, int listener)
{
	char request[FAKE_REQUEST_MAX];
	size_t got = 0, nuls = 0;
	int fd = accept(listener, NULL, NULL), out;

	if (fd < 0 || f->hangs_up) {
		close(fd);
		return;
	}
	while (nuls < FAKE_REQUEST_PARTS && got < sizeof(request)) {
		ssize_t n = read(fd, request + got, 1);

		if (n <= 0)
			break;
		nuls += !request[got];
		got++;
	}
	out = open(f->request_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	(void)tapir_file__write_all(out, request, got);
	close(out);
	if (f->writes_map && nuls == FAKE_REQUEST_PARTS) /* as HotSpot: half a request is none */
		fake_jvm__write_map(f);
	if (!f->reply)
		pause();
	usleep(f->reply_after_ms * 1000);
	for (size_t i = 0; i < (f->reply_repeat ? f->reply_repeat : 1); i++)
		if (tapir_file__write_all(fd, f->reply, strlen(f->reply)))
			break;
	close(fd);
}

static inline bool fake_jvm__is_triggered(void)
{
	char name[32];

	snprintf(name, sizeof(name), ".attach_pid%d", getpid());
	return !access(name, F_OK);
}

static inline void __attribute__((noreturn)) fake_jvm__live(const struct fake_jvm *f, int ready_fd)
{
	struct sigaction quit = {.sa_handler = fake_jvm__on_quit};
	int lib_fd = open(f->lib, O_RDONLY | O_CLOEXEC), listener = -1;
	char stale[32]; /* of a JVM that was killed and had this number */

	snprintf(stale, sizeof(stale), "/tmp/.java_pid%d", getpid());
	unlink(stale);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	signal(SIGPIPE, SIG_IGN);
	if (f->dispatcher) /* HotSpot's is another thread: its name counts, not its id */
		prctl(PR_SET_NAME, f->dispatcher);
	if (f->catches)
		sigaction(SIGQUIT, &quit, NULL);
	if (chdir(f->dir) ||
	    mmap(NULL, FAKE_MAP_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, lib_fd, 0) == MAP_FAILED)
		_exit(2);
	if (f->listens)
		listener = fake_jvm__listen_here(f);
	(void)!write(ready_fd, "r", 1);
	for (;;) {
		while (listener < 0) {
			struct timespec rest = {.tv_nsec = 5000000};

			nanosleep(&rest, NULL);
			if (f->wakes && fake_jvm_quit_cnt && fake_jvm__is_triggered())
				listener = fake_jvm__listen_here(f);
		}
		fake_jvm__serve_one(f, listener);
	}
}

static inline void fake_jvm__start(struct fake_jvm *f)
{
	int ready[2];
	char c;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	fake_jvm__make_library(f);
	f->pid = fork();
	if (!f->pid)
		fake_jvm__live(f, ready[1]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
}

static inline int fake_jvm__setup(void **state)
{
	struct fake_jvm *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	strcpy(f->dir, "/tmp/tapir-jvm-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->lib, sizeof(f->lib), "%s/libjvm.so", f->dir);
	snprintf(f->request_path, sizeof(f->request_path), "%s/request", f->dir);
	f->catches = f->is_hotspot = f->listens = true;
	f->dispatcher = "Signal Dispatcher";
	f->reply = "0\nhello\n";
	*state = f;
	return 0;
}

/* name: what of it lies in /tmp, with its pid behind */
static inline void fake_jvm__unlink(const struct fake_jvm *f, const char *head, const char *tail)
{
	char path[96];

	snprintf(path, sizeof(path), "/tmp/%s%d%s", head, f->pid, tail);
	unlink(path);
}

static inline int fake_jvm__teardown(void **state)
{
	struct fake_jvm *f = *state;

	if (f->pid > 0) {
		kill(f->pid, SIGKILL);
		waitpid(f->pid, NULL, 0);
		fake_jvm__unlink(f, ".java_pid", "");
		fake_jvm__unlink(f, "perf-", ".map");
	}
	unlink(f->lib);
	unlink(f->request_path);
	rmdir(f->dir);
	free(f);
	tapir_diag__clear();
	return 0;
}

static inline void line_has(const char *text)
{
	const char *line = tapir_diag__cnt() ? tapir_diag__line(tapir_diag__cnt() - 1) : "none";

	if (!strstr(line, text))
		fail_msg("no \"%s\" in the line: %s", text, line);
}

#define FAKE_TEST(f) cmocka_unit_test_setup_teardown(f, fake_jvm__setup, fake_jvm__teardown)

#endif
