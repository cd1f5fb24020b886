// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The parent's side of the holder: starts it, passes it the threads to release, ends it. The holder
 * is a child by fork, whose process is the tracer; it reports once whether it could attach, and the
 * recording runs without it if not.
 */
#include "attach/holder_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"

#define INITIAL_USER_NAMESPACE 0xEFFFFFFDu /* PROC_USER_INIT_INO, include/linux/proc_ns.h */

struct tapir_holder {
	pid_t child;
	struct tapir_holds *holds; /* borrowed */
	struct tapir_holder_shared *shared;
};

/*
 * If the tracer lacks it, a set-user-ID program that is executed does not change its user, and the
 * program would not behave as it does untraced (ptracer_capable, security/commoncap.c).
 */
static bool has_capability(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {};
	struct stat st;

	if (stat("/proc/self/ns/user", &st) || st.st_ino != INITIAL_USER_NAMESPACE)
		return false;
	return !syscall(SYS_capget, &header, data) &&
	       (data[0].effective & 1u << CAP_SYS_PTRACE) != 0;
}

/* Waits for the child's report. */
static int start_child(struct tapir_holder *h, pid_t tgid)
{
	int fds[2], report = ESRCH, err;
	ssize_t n;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	h->shared->parent = getpid();
	h->child = fork();
	if (h->child == 0)
		tapir_holder_child__run(h->holds, h->shared, tgid, fds[1]);
	close(fds[1]);
	do
		n = h->child < 0 ? 0 : read(fds[0], &report, sizeof(report));
	while (n < 0 && errno == EINTR);
	err = n < 0 ? -errno : -ESRCH; /* it ended before it could report */
	close(fds[0]);
	if (h->child < 0)
		return -EAGAIN;
	return n == sizeof(report) ? -report : err;
}

int tapir_holder__start(struct tapir_holds *holds, uint32_t tgid, struct tapir_holder **out)
{
	struct tapir_holder *h;
	int err;

	if (!has_capability())
		return -EPERM;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->holds = holds;
	h->shared = mmap(NULL, sizeof(*h->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (h->shared == MAP_FAILED)
		h->shared = NULL;
	err = h->shared ? start_child(h, (pid_t)tgid) : -ENOMEM;
	if (err) {
		tapir_holder__stop(h);
		return err;
	}
	*out = h;
	return 0;
}

uint32_t tapir_holder__tgid(const struct tapir_holder *h)
{
	return (uint32_t)h->child;
}

static void wake(const struct tapir_holder *h)
{
	kill(h->child, TAPIR_HOLDER_WAKE);
}

/* A child that has ended, and so released every tracee, is a zombie until it is waited for. */
static bool is_alive(const struct tapir_holder *h)
{
	siginfo_t info = {};

	return !waitid(P_PID, (id_t)h->child, &info, WEXITED | WNOHANG | WNOWAIT) && !info.si_pid;
}

bool tapir_holder__release(struct tapir_holder *h, const struct tapir_rec_held *rec)
{
	struct tapir_hold *hold = &h->holds->slots[rec->tid & (TAPIR_HOLDS - 1)];
	uint64_t done = tapir_hold__with(rec->word, TAPIR_HOLD_DONE);
	uint64_t requested = rec->word, stopped = tapir_hold__with(rec->word, TAPIR_HOLD_STOPPED);
	/*
	 * Checked first: a thread that is released can be the last one, and with it the holder
	 * ends. A holder that is alive now has stopped the thread until now.
	 */
	bool was_alive = is_alive(h);
	bool was_held = __atomic_compare_exchange_n(&hold->word, &requested, done, false,
						    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ||
			__atomic_compare_exchange_n(&hold->word, &stopped, done, false,
						    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);

	__atomic_add_fetch(&h->shared->served_cnt, 1, __ATOMIC_RELEASE);
	if (was_held)
		wake(h);
	return was_held && was_alive;
}

static int let_thread_go(uint32_t tid, void *ctx)
{
	struct tapir_holder *h = ctx;

	for (unsigned i = 0; i < TAPIR_HOLDER_DETACHES; i++) {
		uint32_t none = 0;

		if (__atomic_compare_exchange_n(&h->shared->detach[i], &none, tid, false,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return 0;
	}
	return 1; /* a tracer that wants it asks again */
}

void tapir_holder__detach(struct tapir_holder *h, uint32_t tgid)
{
	int mark = tapir_diag__cnt();

	(void)tapir_proc__each_thread(tgid, let_thread_go, h);
	tapir_diag__rewind(mark);
	wake(h);
}

void tapir_holder__stop(struct tapir_holder *h)
{
	if (!h)
		return;
	if (h->child > 0) {
		kill(h->child, SIGKILL);
		while (waitpid(h->child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (h->shared)
		munmap(h->shared, sizeof(*h->shared));
	free(h);
}
