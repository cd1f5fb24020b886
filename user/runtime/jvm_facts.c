// SPDX-License-Identifier: GPL-2.0-or-later
/* See jvm_facts.h. Files of /proc only: the kernel's, which always answer. */
#include "runtime/jvm_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "runtime/jvm.h"
#include "runtime/peer_job.h"

#define STATUS_MAX_BYTES  (1u << 20)
#define ENVIRON_MAX_BYTES (4u << 20) /* the kernel lets arguments and environment have 6 MB */

/* ---- /proc/PID/status -------------------------------------------------------------------------- */

static int read_at(int dir_fd, const char *name, size_t max_bytes, char **out, size_t *len)
{
	tapir_autofd int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : tapir_file__read_fd(fd, max_bytes, out, len);
}

static const char *value_of(const char *status, const char *key)
{
	const char *line = strstr(status, key);

	return line ? line + strlen(key) : NULL;
}

static bool second_number(const char *status, const char *key, uint32_t *out)
{
	const char *value = value_of(status, key);

	return value && sscanf(value, " %*10u %10u", out) == 1;
}

static uint32_t innermost_pid(const char *status, uint32_t tgid)
{
	const char *value = value_of(status, "\nNSpid:");
	uint32_t pid = tgid;
	int used;

	while (value && sscanf(value, "%*1[\t ]%10u%n", &pid, &used) == 1)
		value += used;
	return pid;
}

static int read_status(struct tapir_jvm_facts *facts)
{
	tapir_autofree char *text = NULL;
	const char *caught;
	int err = read_at(facts->proc_fd, "status", STATUS_MAX_BYTES, &text, NULL);

	if (err)
		return err;
	caught = value_of(text, "\nSigCgt:");
	if (!caught || !second_number(text, "\nUid:", &facts->uid) ||
	    !second_number(text, "\nGid:", &facts->gid))
		return -EPROTO;
	facts->ns_tgid = innermost_pid(text, facts->tgid);
	if (!(strtoull(caught, NULL, 16) >> (SIGQUIT - 1) & 1))
		facts->no_signal = TAPIR_PEER_WHY_UNCAUGHT;
	return 0;
}

/* ---- what forbids a signal ------------------------------------------------------------------- */

static int on_thread(uint32_t tid, void *ctx)
{
	const struct tapir_jvm_facts *facts = ctx;
	tapir_autofree char *comm = NULL;
	char path[48];

	snprintf(path, sizeof(path), "task/%u/comm", tid);
	return !read_at(facts->proc_fd, path, 64, &comm, NULL) &&
	       !strcmp(comm, "Signal Dispatch\n");
}

/* The thread that SIGQUIT is for; the kernel's names have 15 characters. */
static bool has_signal_dispatcher(struct tapir_jvm_facts *facts)
{
	return tapir_proc__each_thread(facts->tgid, on_thread, facts) == 1;
}

/* In any argument, also one of the program's own: rather not attached than printed into. */
static bool disables(const char *bytes, size_t len)
{
	static const char option[] = "-XX:+DisableAttachMechanism";

	return memmem(bytes, len, option, sizeof(option) - 1) != NULL;
}

static bool is_option_variable(const char *text)
{
	static const char *const names[] = {
		"JAVA_TOOL_OPTIONS=", "JDK_JAVA_OPTIONS=", "_JAVA_OPTIONS="};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(text, names[i], strlen(names[i])))
			return true;
	return false;
}

static bool options_disable_attach(int proc_fd)
{
	tapir_autofree char *cmdline = NULL, *environment = NULL;
	size_t len = 0;

	if (!read_at(proc_fd, "cmdline", ENVIRON_MAX_BYTES, &cmdline, &len) &&
	    disables(cmdline, len))
		return true;
	if (read_at(proc_fd, "environ", ENVIRON_MAX_BYTES, &environment, &len))
		return false;
	for (size_t at = 0; at < len; at += strlen(environment + at) + 1)
		if (is_option_variable(environment + at) &&
		    disables(environment + at, strlen(environment + at)))
			return true;
	return false;
}

static void find_obstacles(struct tapir_jvm_facts *facts)
{
	if (!facts->no_signal && !has_signal_dispatcher(facts))
		facts->no_signal = TAPIR_PEER_WHY_DISPATCHER;
	if (!facts->no_signal && options_disable_attach(facts->proc_fd))
		facts->no_signal = TAPIR_PEER_WHY_DISABLED;
}

/* ---- the process --------------------------------------------------------------------------------- */

static int open_process(struct tapir_jvm_facts *facts)
{
	struct pollfd end = {.events = POLLIN};
	char path[32];

	facts->pidfd = (int)syscall(SYS_pidfd_open, facts->tgid, 0);
	if (facts->pidfd < 0)
		return errno == ENOENT ? -EINVAL : -errno; /* a thread; EINVAL before 6.15 */
	snprintf(path, sizeof(path), "/proc/%u", facts->tgid);
	facts->proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (facts->proc_fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	/* alive now: so the number had one owner since pidfd_open */
	end.fd = facts->pidfd;
	return poll(&end, 1, 0) ? -ESRCH : 0;
}

static int read_facts(struct tapir_jvm_facts *facts)
{
	struct tapir_jvm_info info;
	int err = open_process(facts);

	if (!err)
		err = read_status(facts);
	if (err)
		return tapir_diag__fail(err, "Cannot attach to the JVM: pid=%u, err=-%s",
					facts->tgid, tapir_errno__name(err));
	err = tapir_jvm__inspect(facts->tgid, &info);
	if (!err)
		return tapir_diag__fail(-ENOEXEC, "Process %u is no HotSpot JVM", facts->tgid);
	if (err < 0)
		return err;
	facts->perfdata_va = info.perfdata_va;
	facts->perfdata_bytes = info.perfdata_bytes;
	find_obstacles(facts);
	return 0;
}

int tapir_jvm_facts__read(uint32_t tgid, struct tapir_jvm_facts *out)
{
	struct tapir_jvm_facts facts = {.tgid = tgid, .pidfd = -1, .proc_fd = -1};
	int err = read_facts(&facts);

	if (err)
		tapir_jvm_facts__fini(&facts);
	else
		*out = facts;
	return err;
}

void tapir_jvm_facts__fini(struct tapir_jvm_facts *facts)
{
	if (facts->pidfd >= 0)
		close(facts->pidfd);
	if (facts->proc_fd >= 0)
		close(facts->proc_fd);
	facts->pidfd = facts->proc_fd = -1;
}
