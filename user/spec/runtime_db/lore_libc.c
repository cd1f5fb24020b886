// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The GNU C library: functions in which threads wait. One function has several names, of .dynsym
 * and of the debug file (pthread_mutex_lock, ___pthread_mutex_lock), so it has several rows; glibc
 * before 2.34 has the pthread functions in a file of their own.
 */
#include "spec/runtime_db/hint_table.h"

static const struct tapir_lore_wait waits[] = {
	TAPIR_WAIT_LOCK("pthread_mutex_lock", "mutex"),
	TAPIR_WAIT_LOCK("___pthread_mutex_lock", "mutex"),
	TAPIR_WAIT_LOCK("__pthread_mutex_lock*", "mutex"),
	TAPIR_WAIT_LOCK("pthread_mutex_timedlock", "mutex"),
	TAPIR_WAIT_LOCK("__lll_lock_wait*", "mutex"),
	TAPIR_WAIT_LOCK("lll_mutex_lock*", "mutex"),
	TAPIR_WAIT_LOCK("pthread_rwlock_*", "rwlock"),
	TAPIR_WAIT_LOCK("__pthread_rwlock_*", "rwlock"),
	TAPIR_WAIT_COMMON("__futex_abstimed_wait*", "futex"),
	TAPIR_WAIT_COMMON("pthread_cond_*", "condition"),
	TAPIR_WAIT_COMMON("___pthread_cond_*", "condition"),
	TAPIR_WAIT_COMMON("__pthread_cond_*", "condition"),
	TAPIR_WAIT_COMMON("sem_wait*", "semaphore"),
	TAPIR_WAIT_COMMON("__new_sem_wait*", "semaphore"),
	TAPIR_WAIT_COMMON("sem_timedwait*", "semaphore"),
	TAPIR_WAIT_COMMON("sem_clockwait*", "semaphore"),
	TAPIR_WAIT_ROW("pthread_create*", TAPIR_REASON_THREAD_START, .instead_of = "mutex"),
	TAPIR_WAIT_ROW("__pthread_create*", TAPIR_REASON_THREAD_START, .instead_of = "mutex"),
	/* The end of a thread: a runtime's list of threads is locked for it. */
	TAPIR_WAIT_ROW("__nptl_deallocate_tsd*", "end of a thread", .instead_of = "mutex"),
	TAPIR_WAIT_ROW("getaddrinfo", "name server", .instead_of = "poll"),
	TAPIR_WAIT_ROW("gethostbyname*", "name server", .instead_of = "poll"),
	TAPIR_WAIT("pthread_join", "join"),
	TAPIR_WAIT("__pthread_clockjoin*", "join"),
	TAPIR_WAIT("pthread_barrier_wait", "barrier"),
	{},
};

const struct tapir_lore tapir_lore_libc = {
	.name = "C",
	.providers = TAPIR_LIST_OF("libc", "libm", "libpthread", "rtld"),
	.is_library = true,
	.native_library_code = TAPIR_LIST_OF("_start", "__libc_", "__do_global_"),
	.waits = waits,
};
