/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peer_facts.h - the identity of a process that tapir is about to contact; for user/runtime only.
 *
 * All of it is of one process: its number cannot be another's while pidfd and proc_fd agree. Files
 * of /proc only: the kernel's, which always answer.
 */
#ifndef TAPIR_USER_PEER_FACTS_H
#define TAPIR_USER_PEER_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_peer_facts {
	int pidfd, proc_fd;	/* -1 when not open */
	uint32_t tgid, ns_tgid; /* ns: in its innermost pid namespace */
	uint32_t uid, gid;	/* effective, as we see them */
	uint64_t caught;	/* bit n - 1: it catches signal n */
};

/* task: "attach to the JVM", for a line. -ESRCH, -EINVAL a thread, ...; on success out needs
 * __fini. */
int tapir_peer_facts__read(uint32_t tgid, const char *task, struct tapir_peer_facts *out);
/* Closes both descriptors. */
void tapir_peer_facts__fini(struct tapir_peer_facts *facts);

/*
 * Returns true if the process of this directory of /proc is stopped, by a signal or by a tracer: it
 * answers nothing until it is continued.
 */
bool tapir_peer__is_stopped(int proc_fd);

/*
 * Reads a file of its directory in /proc: *out, with a NUL after its len bytes, is freed by the
 * caller. 0 or -errno. No line.
 */
int tapir_peer_facts__read_file(const struct tapir_peer_facts *facts, const char *name,
				size_t max_bytes, char **out, size_t *len);

#endif
