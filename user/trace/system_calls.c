// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of x86-64's system calls, from arch/x86/entry/syscalls/syscall_64.tbl: number, name,
 * and which argument is a descriptor or a path, and whether the result is a descriptor, by which a
 * call is joined with a file.
 */
#include "trace/system_calls.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "tapir/abi.h"

/*
 * F: the first argument is a descriptor; P, Q: the first or second one is a path; R, S: the same,
 * and the result is a descriptor; N: none of these. Of two paths one is here.
 */
/* clang-format off */
#define SYSTEM_CALLS(N, F, P, Q, R, S) \
	F(0, read) F(1, write) R(2, open) F(3, close) P(4, stat) F(5, fstat) P(6, lstat) \
	N(7, poll) F(8, lseek) N(9, mmap) N(10, mprotect) N(11, munmap) N(12, brk) \
	N(13, rt_sigaction) N(14, rt_sigprocmask) N(15, rt_sigreturn) F(16, ioctl) F(17, pread64) \
	F(18, pwrite64) F(19, readv) F(20, writev) P(21, access) N(22, pipe) N(23, select) \
	N(24, sched_yield) N(25, mremap) N(26, msync) N(27, mincore) N(28, madvise) N(29, shmget) \
	N(30, shmat) N(31, shmctl) F(32, dup) F(33, dup2) N(34, pause) N(35, nanosleep) \
	N(36, getitimer) N(37, alarm) N(38, setitimer) N(39, getpid) F(40, sendfile) N(41, socket) \
	F(42, connect) F(43, accept) F(44, sendto) F(45, recvfrom) F(46, sendmsg) F(47, recvmsg) \
	F(48, shutdown) F(49, bind) F(50, listen) F(51, getsockname) F(52, getpeername) \
	N(53, socketpair) F(54, setsockopt) F(55, getsockopt) N(56, clone) N(57, fork) \
	N(58, vfork) P(59, execve) N(60, exit) N(61, wait4) N(62, kill) N(63, uname) N(64, semget) \
	N(65, semop) N(66, semctl) N(67, shmdt) N(68, msgget) N(69, msgsnd) N(70, msgrcv) \
	N(71, msgctl) F(72, fcntl) F(73, flock) F(74, fsync) F(75, fdatasync) P(76, truncate) \
	F(77, ftruncate) F(78, getdents) N(79, getcwd) P(80, chdir) F(81, fchdir) P(82, rename) \
	P(83, mkdir) P(84, rmdir) R(85, creat) P(86, link) P(87, unlink) Q(88, symlink) \
	P(89, readlink) P(90, chmod) F(91, fchmod) P(92, chown) F(93, fchown) P(94, lchown) \
	N(95, umask) N(96, gettimeofday) N(97, getrlimit) N(98, getrusage) N(99, sysinfo) \
	N(100, times) N(101, ptrace) N(102, getuid) N(103, syslog) N(104, getgid) N(105, setuid) \
	N(106, setgid) N(107, geteuid) N(108, getegid) N(109, setpgid) N(110, getppid) \
	N(111, getpgrp) N(112, setsid) N(113, setreuid) N(114, setregid) N(115, getgroups) \
	N(116, setgroups) N(117, setresuid) N(118, getresuid) N(119, setresgid) N(120, getresgid) \
	N(121, getpgid) N(122, setfsuid) N(123, setfsgid) N(124, getsid) N(125, capget) \
	N(126, capset) N(127, rt_sigpending) N(128, rt_sigtimedwait) N(129, rt_sigqueueinfo) \
	N(130, rt_sigsuspend) N(131, sigaltstack) P(132, utime) P(133, mknod) P(134, uselib) \
	N(135, personality) N(136, ustat) P(137, statfs) F(138, fstatfs) N(139, sysfs) \
	N(140, getpriority) N(141, setpriority) N(142, sched_setparam) N(143, sched_getparam) \
	N(144, sched_setscheduler) N(145, sched_getscheduler) N(146, sched_get_priority_max) \
	N(147, sched_get_priority_min) N(148, sched_rr_get_interval) N(149, mlock) N(150, munlock) \
	N(151, mlockall) N(152, munlockall) N(153, vhangup) N(154, modify_ldt) P(155, pivot_root) \
	N(156, _sysctl) N(157, prctl) N(158, arch_prctl) N(159, adjtimex) N(160, setrlimit) \
	P(161, chroot) N(162, sync) P(163, acct) N(164, settimeofday) Q(165, mount) \
	P(166, umount2) P(167, swapon) P(168, swapoff) N(169, reboot) N(170, sethostname) \
	N(171, setdomainname) N(172, iopl) N(173, ioperm) N(174, create_module) \
	N(175, init_module) N(176, delete_module) N(177, get_kernel_syms) N(178, query_module) \
	Q(179, quotactl) N(180, nfsservctl) N(181, getpmsg) N(182, putpmsg) N(183, afs_syscall) \
	N(184, tuxcall) N(185, security) N(186, gettid) F(187, readahead) P(188, setxattr) \
	P(189, lsetxattr) F(190, fsetxattr) P(191, getxattr) P(192, lgetxattr) F(193, fgetxattr) \
	P(194, listxattr) P(195, llistxattr) F(196, flistxattr) P(197, removexattr) \
	P(198, lremovexattr) F(199, fremovexattr) N(200, tkill) N(201, time) N(202, futex) \
	N(203, sched_setaffinity) N(204, sched_getaffinity) N(205, set_thread_area) \
	N(206, io_setup) N(207, io_destroy) N(208, io_getevents) N(209, io_submit) \
	N(210, io_cancel) N(211, get_thread_area) N(212, lookup_dcookie) N(213, epoll_create) \
	N(214, epoll_ctl_old) N(215, epoll_wait_old) N(216, remap_file_pages) F(217, getdents64) \
	N(218, set_tid_address) N(219, restart_syscall) N(220, semtimedop) F(221, fadvise64) \
	N(222, timer_create) N(223, timer_settime) N(224, timer_gettime) N(225, timer_getoverrun) \
	N(226, timer_delete) N(227, clock_settime) N(228, clock_gettime) N(229, clock_getres) \
	N(230, clock_nanosleep) N(231, exit_group) F(232, epoll_wait) F(233, epoll_ctl) \
	N(234, tgkill) P(235, utimes) N(236, vserver) N(237, mbind) N(238, set_mempolicy) \
	N(239, get_mempolicy) N(240, mq_open) N(241, mq_unlink) F(242, mq_timedsend) \
	F(243, mq_timedreceive) F(244, mq_notify) F(245, mq_getsetattr) N(246, kexec_load) \
	N(247, waitid) N(248, add_key) N(249, request_key) N(250, keyctl) N(251, ioprio_set) \
	N(252, ioprio_get) N(253, inotify_init) F(254, inotify_add_watch) F(255, inotify_rm_watch) \
	N(256, migrate_pages) S(257, openat) Q(258, mkdirat) Q(259, mknodat) Q(260, fchownat) \
	Q(261, futimesat) Q(262, newfstatat) Q(263, unlinkat) Q(264, renameat) Q(265, linkat) \
	N(266, symlinkat) Q(267, readlinkat) Q(268, fchmodat) Q(269, faccessat) N(270, pselect6) \
	N(271, ppoll) N(272, unshare) N(273, set_robust_list) N(274, get_robust_list) \
	F(275, splice) F(276, tee) F(277, sync_file_range) F(278, vmsplice) N(279, move_pages) \
	Q(280, utimensat) F(281, epoll_pwait) N(282, signalfd) N(283, timerfd_create) \
	N(284, eventfd) F(285, fallocate) F(286, timerfd_settime) F(287, timerfd_gettime) \
	F(288, accept4) N(289, signalfd4) N(290, eventfd2) N(291, epoll_create1) F(292, dup3) \
	N(293, pipe2) N(294, inotify_init1) F(295, preadv) F(296, pwritev) \
	N(297, rt_tgsigqueueinfo) N(298, perf_event_open) F(299, recvmmsg) N(300, fanotify_init) \
	N(301, fanotify_mark) N(302, prlimit64) Q(303, name_to_handle_at) \
	N(304, open_by_handle_at) N(305, clock_adjtime) F(306, syncfs) F(307, sendmmsg) \
	N(308, setns) N(309, getcpu) N(310, process_vm_readv) N(311, process_vm_writev) \
	N(312, kcmp) F(313, finit_module) N(314, sched_setattr) N(315, sched_getattr) \
	Q(316, renameat2) N(317, seccomp) N(318, getrandom) N(319, memfd_create) \
	N(320, kexec_file_load) N(321, bpf) Q(322, execveat) N(323, userfaultfd) \
	N(324, membarrier) N(325, mlock2) F(326, copy_file_range) F(327, preadv2) F(328, pwritev2) \
	N(329, pkey_mprotect) N(330, pkey_alloc) N(331, pkey_free) Q(332, statx) \
	N(333, io_pgetevents) N(334, rseq) N(424, pidfd_send_signal) N(425, io_uring_setup) \
	F(426, io_uring_enter) F(427, io_uring_register) S(428, open_tree) Q(429, move_mount) \
	N(430, fsopen) N(431, fsconfig) N(432, fsmount) S(433, fspick) N(434, pidfd_open) \
	N(435, clone3) N(436, close_range) S(437, openat2) N(438, pidfd_getfd) Q(439, faccessat2) \
	N(440, process_madvise) F(441, epoll_pwait2) Q(442, mount_setattr) N(443, quotactl_fd) \
	N(444, landlock_create_ruleset) N(445, landlock_add_rule) N(446, landlock_restrict_self) \
	N(447, memfd_secret) N(448, process_mrelease) N(449, futex_waitv) \
	N(450, set_mempolicy_home_node) N(451, cachestat) Q(452, fchmodat2) \
	N(453, map_shadow_stack) N(454, futex_wake) N(455, futex_wait) N(456, futex_requeue) \
	N(457, statmount) N(458, listmount) N(459, lsm_get_self_attr) N(460, lsm_set_self_attr) \
	N(461, lsm_list_modules) N(462, mseal) Q(463, setxattrat) Q(464, getxattrat) \
	Q(465, listxattrat) Q(466, removexattrat) S(467, open_tree_attr)
/* clang-format on */

static const char *const names[TAPIR_SYSTEM_CALL_CNT] = {
#define NAME(nr, name) [nr] = #name,
	SYSTEM_CALLS(NAME, NAME, NAME, NAME, NAME, NAME)
#undef NAME
};

static const uint8_t files[TAPIR_SYSTEM_CALL_CNT] = {
#define NONE(nr, name)
#define FIRST(nr, name)	       [nr] = TAPIR_SYSTEM_CALL_FILE_IS_ARG,
#define PATH(nr, name)	       [nr] = TAPIR_SYSTEM_CALL_PATH_IS_FIRST,
#define SECOND_PATH(nr, name)  [nr] = TAPIR_SYSTEM_CALL_PATH_IS_SECOND,
#define OPENS(nr, name)	       [nr] = TAPIR_SYSTEM_CALL_OPENS_FIRST,
#define OPENS_SECOND(nr, name) [nr] = TAPIR_SYSTEM_CALL_OPENS_SECOND,
	SYSTEM_CALLS(NONE, FIRST, PATH, SECOND_PATH, OPENS, OPENS_SECOND)
#undef NONE
#undef FIRST
#undef PATH
#undef SECOND_PATH
#undef OPENS
#undef OPENS_SECOND
};

const char *tapir_system_call__name(unsigned nr)
{
	return nr < TAPIR_SYSTEM_CALL_CNT ? names[nr] : NULL;
}

enum tapir_system_call_file tapir_system_call__file(unsigned nr)
{
	return nr < TAPIR_SYSTEM_CALL_CNT ? files[nr] : TAPIR_SYSTEM_CALL_NO_FILE;
}

bool tapir_system_call__returns(unsigned nr)
{
	const char *name = tapir_system_call__name(nr);

	return !name || (strcmp(name, "exit") != 0 && strcmp(name, "exit_group") != 0);
}

const char *tapir_system_call__text(unsigned nr, char text[TAPIR_SYSTEM_CALL_TEXT_BYTES])
{
	const char *name = tapir_system_call__name(nr);
	unsigned number = nr & ~TAPIR_CALL_32_BIT;

	if (name)
		return name;
	if (number == TAPIR_CALL_OTHER)
		return nr == number ? "other" : "other (32-bit)";
	snprintf(text, TAPIR_SYSTEM_CALL_TEXT_BYTES, "%u%s", number,
		 nr == number ? "" : " (32-bit)");
	return text;
}

/* The kernel's own numbers, which a program sees as EINTR, or not at all: the call is restarted. */
const char *tapir_system_call__error_name(unsigned err)
{
	const char *name = tapir_errno__name(-(int)err);

	if (err == 512 || err == 513 || err == 514 || err == 516)
		return "interrupted";
	return *name == 'E' ? name : NULL;
}

/* Adds the calls of a name or glob. */
static int choose_one(const char *one, bool chosen[TAPIR_SYSTEM_CALL_CNT])
{
	bool is_any = false;

	for (unsigned nr = 0; nr < TAPIR_SYSTEM_CALL_CNT; nr++)
		if (names[nr] && !fnmatch(one, names[nr], 0))
			is_any = chosen[nr] = true;
	return is_any ? 0
		      : tapir_diag__fail(-EINVAL,
					 "no system call is called '%s': LIST is names or globs, "
					 "as in openat,'*sync' ('tapir help syscalls')",
					 one);
}

int tapir_system_calls__choose(const char *list, bool chosen[TAPIR_SYSTEM_CALL_CNT])
{
	for (int err;; list++) {
		char one[64];
		size_t len = strcspn(list, ",");

		snprintf(one, sizeof(one), "%.*s", (int)(len < sizeof(one) ? len : sizeof(one)),
			 list);
		err = choose_one(one, chosen);
		list += len;
		if (err || !*list)
			return err;
	}
}
