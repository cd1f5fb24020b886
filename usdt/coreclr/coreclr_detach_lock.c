/* SPDX-License-Identifier: MIT */
/*
 * coreclr_detach_lock.c - one detach at a time. The runtime serves them one by one and sleeps for
 * each; one that had to wait longer than twice the time it announced costs 5 s, in which no
 * profiler can attach either. Copies of this library do not know each other, so they use the name
 * of an abstract socket as a lock; no client ever connects to it. Where sockets are not available,
 * they detach without the lock.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "../ring/ring_sys.h"
#include "coreclr_impl.h"

#define STEP_NS	 20000000l
#define STEP_CNT 1500u

static uint32_t name_it(struct sockaddr_un *name)
{
	static const char prefix[] = "tapir-coreclr/";
	uint32_t len = sizeof(prefix) - 1;

	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX; /* and a first byte of 0: no file */
	memcpy(name->sun_path + 1, prefix, len);
	for (long pid = ring_sys3(SYS_getpid, 0, 0, 0); pid > 0; pid /= 10)
		name->sun_path[++len] = (char)('0' + pid % 10);
	return (uint32_t)offsetof(struct sockaddr_un, sun_path) + 1 + len;
}

int coreclr_detach_lock__take(void)
{
	const struct timespec step = {.tv_nsec = STEP_NS};
	struct sockaddr_un name;
	uint32_t bytes = name_it(&name);
	long fd = ring_sys3(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	for (uint32_t i = 0; i < STEP_CNT && !coreclr_load(&coreclr.is_shut_down); i++) {
		long err = ring_sys3(SYS_bind, fd, &name, bytes);

		if (!err)
			return (int)fd;
		if (err != -EADDRINUSE)
			break;
		ring_sys3(SYS_nanosleep, &step, 0, 0);
	}
	ring_sys3(SYS_close, fd, 0, 0);
	return -1;
}

void coreclr_detach_lock__release(int turn)
{
	if (turn >= 0)
		ring_sys3(SYS_close, turn, 0, 0);
}
