// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sendmsg and recvmsg with one control message. The receiver always offers room for
 * TAPIR_FD_MESSAGE_MAX_FDS descriptors and closes those that its caller did not request: a
 * descriptor that no one closes is a leak that a peer could repeat.
 */
#include "base/fd_message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr h;
	char bytes[CMSG_SPACE(sizeof(int) * TAPIR_FD_MESSAGE_MAX_FDS)];
};

int tapir_fd_message__send(int sock, const void *bytes, size_t len, const int *fds, int fd_cnt,
			   int flags)
{
	union control control = {};
	struct iovec iov = {(void *)bytes, len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (fd_cnt) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)fd_cnt);
		control.h.cmsg_level = SOL_SOCKET;
		control.h.cmsg_type = SCM_RIGHTS;
		control.h.cmsg_len = CMSG_LEN(sizeof(int) * (size_t)fd_cnt);
		memcpy(CMSG_DATA(&control.h), fds, sizeof(int) * (size_t)fd_cnt);
	}
	do
		/* A peer that has died must not kill this process. */
		n = sendmsg(sock, &msg, MSG_NOSIGNAL | flags);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* Gives the first fd_cap, closes the others. */
static void take_fds(struct msghdr *msg, int *fds, int fd_cap)
{
	int taken_cnt = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t cnt = c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS
				     ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int)
				     : 0;

		for (size_t i = 0; i < cnt; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (taken_cnt < fd_cap)
				fds[taken_cnt++] = fd;
			else
				close(fd);
		}
	}
}

ssize_t tapir_fd_message__recv(int sock, void *bytes, size_t cap, int *fds, int fd_cap, int flags,
			       bool *is_truncated)
{
	union control control = {};
	struct iovec iov = {bytes, cap};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	ssize_t n;

	for (int i = 0; i < fd_cap; i++)
		fds[i] = -1;
	do
		n = recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (is_truncated)
		*is_truncated = n >= 0 && msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
	if (n < 0)
		return -errno;
	take_fds(&msg, fds, fd_cap);
	return n;
}
