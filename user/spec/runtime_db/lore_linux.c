// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's functions in which threads wait, by the names of kallsyms in Linux 6.1 to 6.18. A
 * COMMON row (futex, epoll) is what is shown if no function of the program further out says more.
 */
#include "spec/runtime_db/hint_table.h"

static const struct tapir_lore_wait waits[] = {
	TAPIR_WAIT_COMMON("futex_wait*", "futex"),
	TAPIR_WAIT_COMMON("__futex_wait*", "futex"),
	TAPIR_WAIT_LOCK("futex_lock_pi", "mutex"),
	TAPIR_WAIT("hrtimer_nanosleep", "sleep"),
	TAPIR_WAIT("do_nanosleep", "sleep"),
	TAPIR_WAIT("common_nsleep*", "sleep"),
	TAPIR_WAIT_COMMON("ep_poll", "epoll"),
	TAPIR_WAIT_COMMON("do_epoll_wait", "epoll"),
	TAPIR_WAIT("do_sys_poll", "poll"),
	TAPIR_WAIT("do_poll*", "poll"),
	TAPIR_WAIT("do_select", "select"),
	TAPIR_WAIT("pipe_read", "pipe"),
	TAPIR_WAIT("anon_pipe_read", "pipe"),
	TAPIR_WAIT("pipe_write", "pipe"),
	TAPIR_WAIT("anon_pipe_write", "pipe"),
	TAPIR_WAIT("unix_stream_*", "socket"),
	TAPIR_WAIT("unix_dgram_*", "socket"),
	TAPIR_WAIT("__skb_wait_for_more_packets", "socket"),
	TAPIR_WAIT("sk_wait_data", "socket"),
	TAPIR_WAIT("sk_stream_wait*", "socket"),
	TAPIR_WAIT("tcp_recvmsg*", "socket"),
	TAPIR_WAIT("inet_csk_accept", "connection"),
	/* vfork(2) and what uses it, as posix_spawn(3): until the child runs another program. */
	TAPIR_WAIT("kernel_clone", "start of a process"),
	TAPIR_WAIT("do_wait", "child"),
	TAPIR_WAIT("kernel_wait4", "child"),
	TAPIR_WAIT("io_schedule", "disk"),
	TAPIR_WAIT("folio_wait_bit*", "disk"),
	TAPIR_WAIT("wait_on_page*", "disk"),
	TAPIR_WAIT("submit_bio_wait", "disk"),
	TAPIR_WAIT("blk_mq_*", "disk"),
	TAPIR_WAIT("jbd2_*", "disk"),
	TAPIR_WAIT("io_cqring_wait", "io_uring"),
	TAPIR_WAIT("read_events", "aio"),
	TAPIR_WAIT("do_sigtimedwait", "signal"),
	TAPIR_WAIT("sigsuspend", "signal"),
	TAPIR_WAIT("do_signal_stop", "stopped"),
	TAPIR_WAIT("ptrace_stop", "stopped"),
	TAPIR_WAIT("do_semtimedop", "semaphore"),
	TAPIR_WAIT("__do_semtimedop", "semaphore"),
	TAPIR_WAIT("do_msgrcv", "message queue"),
	TAPIR_WAIT("rwsem_down_*", "kernel lock"),
	TAPIR_WAIT("down_read*", "kernel lock"),
	TAPIR_WAIT("down_write*", "kernel lock"),
	TAPIR_WAIT("__mutex_lock*", "kernel lock"),
	TAPIR_WAIT("eventfd_read", "eventfd"),
	TAPIR_WAIT("timerfd_read*", "timer"),
	TAPIR_WAIT("tty_read", "terminal"),
	TAPIR_WAIT("n_tty_read", "terminal"),
	TAPIR_WAIT("n_tty_write", "terminal"),
	TAPIR_WAIT("flock_lock_inode_wait", "file lock"),
	TAPIR_WAIT("posix_lock_inode_wait", "file lock"),
	TAPIR_WAIT("locks_lock_inode_wait", "file lock"), /* both, where they are inlined */
	TAPIR_WAIT("fcntl_setlk*", "file lock"),
	{},
};

const struct tapir_lore tapir_lore_linux = {
	.name = "Linux",
	.is_library = true,
	.is_kernel = true,
	.waits = waits,
};
