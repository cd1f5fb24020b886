/* SPDX-License-Identifier: MIT */
/*
 * user_events.h - the kernel as user_events.c calls it: a test puts another one in its place. Under
 * the lock of user_events.c.
 */
#ifndef TAPIR_USDT_USER_EVENTS_H
#define TAPIR_USDT_USER_EVENTS_H

#include <stdint.h>
#include <sys/uio.h>

#define USER_EVENTS_REGISTER   0xc0082a00ul /* DIAG_IOCSREG */
#define USER_EVENTS_UNREGISTER 0x40082a02ul /* DIAG_IOCSUNREG */

struct user_events_reg {
	uint32_t size;
	uint8_t enable_bit, enable_size;
	uint16_t flags;
	uint64_t enable_va, description_va;
	uint32_t write_index; /* the kernel's answer */
} __attribute__((packed));

struct user_events_unreg {
	uint32_t size;
	uint8_t disable_bit, pad0;
	uint16_t pad1;
	uint64_t disable_va;
} __attribute__((packed));

struct user_events_system {
	int (*open)(void);					  /* an fd, or -errno */
	int (*control)(int fd, unsigned long request, void *arg); /* 0 or -errno */
	ssize_t (*write)(int fd, const struct iovec *pieces, int cnt);
};

#pragma GCC visibility push(hidden)
extern struct user_events_system user_events_system;
#pragma GCC visibility pop

#endif
