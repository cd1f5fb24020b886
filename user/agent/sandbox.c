// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Users and the filter of system calls. The order is forced: the bounding set needs CAP_SETPCAP,
 * which a change of user takes away, and the filter comes last, since it forbids all of this.
 */
#include "agent/sandbox.h"

#include <errno.h>
#include <grp.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/child/capabilities.h"
#include "base/diag.h"

#define NOBODY 65534

int tapir_sandbox__drop_user(void)
{
	const struct rlimit no_core = {0, 0};
	int err = 0;

	tapir_capabilities__drop_bounding_set();
	if (!geteuid() && (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
			   setresuid(NOBODY, NOBODY, NOBODY)))
		err = -errno;
	if (!err && setrlimit(RLIMIT_CORE, &no_core))
		err = -errno;
	if (!err)
		err = tapir_capabilities__drop();
	return err ? tapir_diag__fail(err, "cannot drop privileges: %s", tapir_errno__text(err))
		   : 0;
}

/* ---- system calls --------------------------------------------------------------------------- */

static const int allowed[] = {
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(brk),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_getres),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(close),
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(eventfd2),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(fcntl),
	SCMP_SYS(fstat),
	SCMP_SYS(futex),
	SCMP_SYS(getpeername),
	SCMP_SYS(getpid),
	SCMP_SYS(getppid),
	SCMP_SYS(getrandom),
	SCMP_SYS(getsockname),
	SCMP_SYS(getsockopt),
	SCMP_SYS(gettid),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(madvise),
	SCMP_SYS(mremap),
	SCMP_SYS(munmap),
	SCMP_SYS(nanosleep),
	SCMP_SYS(newfstatat),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(pselect6),
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(rseq),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_yield),
	SCMP_SYS(select),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(setsockopt),
	SCMP_SYS(shutdown),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(time),
	SCMP_SYS(uname),
	SCMP_SYS(write),
	SCMP_SYS(writev),
};

/* Memory that is not code; threads, but not processes; socket pairs, but not sockets. */
static int add_conditional(scmp_filter_ctx f)
{
	const struct scmp_arg_cmp not_code = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
	const struct scmp_arg_cmp thread = SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD);
	const struct scmp_arg_cmp local = SCMP_A0(SCMP_CMP_EQ, AF_UNIX);
	const struct scmp_arg_cmp names = SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME);
	int err = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, &not_code);

	if (!err)
		err = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, &not_code);
	if (!err)
		err = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, &thread);
	if (!err)
		err = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1, &local);
	if (!err)
		err = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, &names);
	if (!err) /* its flags cannot be seen: libc uses clone then */
		err = seccomp_rule_add_array(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0, NULL);
	return err;
}

int tapir_sandbox__confine_server(void)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int err = f ? add_conditional(f) : -ENOMEM;

	for (size_t i = 0; !err && i < sizeof(allowed) / sizeof(allowed[0]); i++) {
		err = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, allowed[i], 0, NULL);
		if (err == -EDOM || err == -EOPNOTSUPP) /* not a call of this machine */
			err = 0;
	}
	if (!err)
		err = seccomp_load(f);
	if (f)
		seccomp_release(f);
	return err ? tapir_diag__fail(err, "cannot confine the HTTP process: %s",
				      tapir_errno__text(err))
		   : 0;
}
