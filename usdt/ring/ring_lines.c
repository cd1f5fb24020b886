/* SPDX-License-Identifier: MIT */
/*
 * ring_lines.c - lines of a file in /proc or /sys, through a small buffer and raw reads: callable
 * in a signal handler on a small stack. What does not fit a line's room is left out.
 */
#include <fcntl.h>

#include "ring_impl.h"

int ring_lines__open(struct ring_lines *lines, const char *path)
{
	long fd = ring_sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);

	lines->fd = (int)fd;
	lines->at = lines->len = 0;
	return fd < 0 ? (int)fd : 0;
}

static int next_byte(struct ring_lines *lines)
{
	if (lines->at == lines->len) {
		long got = ring_sys3(SYS_read, lines->fd, lines->bytes, sizeof(lines->bytes));

		if (got <= 0)
			return -1;
		lines->at = 0;
		lines->len = (uint32_t)got;
	}
	return (unsigned char)lines->bytes[lines->at++];
}

int ring_lines__next(struct ring_lines *lines, char *line, uint32_t room)
{
	uint32_t len = 0;
	int byte = next_byte(lines);

	if (byte < 0)
		return 0;
	for (; byte >= 0 && byte != '\n'; byte = next_byte(lines))
		if (len + 1 < room)
			line[len++] = (char)byte;
	line[len] = 0;
	return 1;
}

void ring_lines__close(struct ring_lines *lines)
{
	if (lines->fd >= 0)
		ring_sys3(SYS_close, lines->fd, 0, 0);
	lines->fd = -1;
}

/* The number at *at, which then points past it. */
uint64_t ring_text__number(const char **at, unsigned base)
{
	uint64_t value = 0;

	for (;; (*at)++) {
		unsigned char c = (unsigned char)**at;
		unsigned digit = c >= '0' && c <= '9' ? c - 48u : (c | 32u) - 97u + 10u;

		if (digit >= base)
			return value;
		value = value * base + digit;
	}
}
