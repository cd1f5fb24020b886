/* SPDX-License-Identifier: MIT */
/*
 * provider_thread.c - starts the library's threads with all signals blocked: a handler of the
 * program never runs on them. The mask is set before the thread exists, because it inherits it.
 */
#include "provider_impl.h"

int provider_thread__start(pthread_t *thread, size_t stack_bytes, const sigset_t *blocked,
			   void *(*run)(void *), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int err = pthread_attr_init(&attr);

	if (err)
		return -err;
	pthread_attr_setstacksize(&attr, stack_bytes);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, blocked ? blocked : &all, &before);
	err = pthread_create(thread, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}
