/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * links.h - putting one BPF program onto sites of one file, in the two ways kernels have.
 *
 * uprobe_multi (Linux 6.6, commit 89ae89f53d20): one link for all sites, attached and detached in
 * milliseconds, with CAP_BPF and CAP_PERFMON. Before that, one perf event per site: CAP_SYS_ADMIN,
 * and about 100 ms per site to detach.
 *
 * A link ends when its fd is closed; the kernel closes it with a killed tracer. The semaphore
 * (ref_ctr) is raised and dropped by the kernel.
 */
#ifndef TAPIR_USER_LINKS_H
#define TAPIR_USER_LINKS_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/control.h"

/* BPF_TRACE_UPROBE_MULTI as of Linux 6.6: Debian 12's header ends before it. */
#define TAPIR_TRACE_UPROBE_MULTI   ((enum bpf_attach_type)48)
/* BPF_TRACE_UPROBE_SESSION as of Linux 6.13: commit d920179b3d48 "bpf: Add support for uprobe multi
 * session attach". */
#define TAPIR_TRACE_UPROBE_SESSION ((enum bpf_attach_type)57)

/* Sites of one file; the arrays are borrowed for the call. */
struct tapir_link_sites {
	int file_fd; /* a handle (base/foreign/foreign_file.h) or any fd of the file */
	size_t cnt;
	const uint64_t *offs;		/* of the sites in the file */
	const uint64_t *semaphore_offs; /* 0: none */
	const uint64_t *cookies;
	bool is_return;	 /* of all of them: when the function returns that begins there */
	bool is_session; /* of all: when it begins, and when it returns if the program returned 0 */
};

/*
 * Attaches at all sites. tgid 0: in every process that maps the file, else in that process
 * only (from Linux 6.10 on: before commit 46ba0e49b642 all threads but the first are missed;
 * see tapir_features). Returns the link's fd or -errno with a line.
 */
int tapir_link__multi(int prog_fd, const struct tapir_link_sites *sites, uint32_t tgid);

/*
 * The call itself, without a line, to test whether the kernel has such links. The file is given by
 * path, and arrays of sites except offs may be NULL. Returns the link's fd or -errno.
 */
int tapir_link__try_multi(int prog_fd, const char *path, const struct tapir_link_sites *sites,
			  uint32_t tgid);

/*
 * Attaches at site idx by a perf event. The kernel raises the semaphore when the event is opened,
 * and only then can the program be attached: a running process loses its hits in between, uncounted
 * (all of 10,000 hits with 50 ms inserted between the two calls; none with a multi link). Returns
 * the link's fd or -errno with a line.
 */
int tapir_link__perf(int prog_fd, const struct tapir_link_sites *sites, size_t idx, uint32_t tgid);

/*
 * Gets the key of a file: the inode that a mapping of it has. prog_fd: of the BPF program
 * tapir_file; handle: of base/foreign/foreign_file.h. 0 or -errno (-ENODATA: the kernel has none),
 * no line; never blocks.
 */
int tapir_link__file_key(int prog_fd, int handle, struct tapir_file_key *key);

/* The type of such perf events on this machine. -ENOENT: it has none; no line. */
int tapir_link__perf_type(uint64_t *type);

#define TAPIR_KPROBE_PMU "/sys/bus/event_source/devices/kprobe/"

/*
 * Opens an event of each time that a function of the kernel begins or returns, on all CPUs; the
 * caller's. -ENODEV: the kernel has no kprobes; no line.
 */
int tapir_link__open_kernel_function(const char *name, bool is_return);

#endif
