/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wait_chain.h - what the thread that ended a wait waited for during it, and so on: through the
 * owners of locks, the other ends of pipes and sockets, children, in any recorded process.
 *
 * A thread is a link if it waited for half or more of the time of the wait before it in the chain.
 */
#ifndef TAPIR_USER_WAIT_CHAIN_H
#define TAPIR_USER_WAIT_CHAIN_H

#include "analyze/timeline.h"
#include "analyze/wait_reason.h"

#define TAPIR_WAIT_CHAIN_LINKS 8

struct tapir_wait_link {
	uint32_t tid;
	const char *reason; /* of its wait, static; NULL: not known from its stack */
	uint64_t ns;	    /* of its wait, within that of the link before */
};

/* The last wait of a chain was ended by that. */
enum tapir_chain_end {
	TAPIR_CHAIN_END_UNKNOWN, /* also a thread that waited for too short a time, or is a link */
	TAPIR_CHAIN_END_THREAD,
	TAPIR_CHAIN_END_TIMER, /* it was a sleep */
	TAPIR_CHAIN_END_IRQ    /* a device */
};

struct tapir_wait_chain {
	struct tapir_wait_link links[TAPIR_WAIT_CHAIN_LINKS];
	unsigned cnt;
	enum tapir_chain_end end;
	uint32_t end_tid; /* the thread that ended the last wait, and did not wait; 0: none */
};

/* Starts with the thread that ended w, while its waits are known: when w is reported. */
void tapir_wait_chain__follow(struct tapir_wait_chain *chain, struct tapir_timeline *tl,
			      struct tapir_wait_reasons *reasons, const struct tapir_wait *w);

/*
 * Appends "proxy (12) waits for socket 9.10 ms > db (34) sleeps 8.70 ms", with the thread at the
 * end that ended the last wait and did not wait, or "an interrupt", as of a disk. Nothing for a
 * chain without links. at_ns: when the threads had their names.
 */
void tapir_wait_chain__add_text(struct tapir_str *out, const struct tapir_wait_chain *chain,
				struct tapir_timeline *tl, uint64_t at_ns);

#endif
