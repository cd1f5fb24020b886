// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The pidfd is opened first, then the process's directory in /proc; that the pidfd reports no end
 * afterwards proves that both are of one process.
 */
#include "runtime/peer/peer_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/proc_text.h"

#define STATUS_MAX_BYTES (1u << 20)

int tapir_peer_facts__read_file(const struct tapir_peer_facts *facts, const char *name,
				size_t max_bytes, char **out, size_t *len)
{
	tapir_autofd int fd = openat(facts->proc_fd, name, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : tapir_file__read_fd(fd, max_bytes, out, len);
}

bool tapir_peer__is_stopped(int proc_fd)
{
	const struct tapir_peer_facts facts = {.proc_fd = proc_fd};
	tapir_autofree char *text = NULL;
	const char *state;

	if (tapir_peer_facts__read_file(&facts, "status", STATUS_MAX_BYTES, &text, NULL))
		return false;
	state = tapir_proc_status__value(text, "State");
	return state && (*state == 'T' || *state == 't');
}

static int read_status(struct tapir_peer_facts *facts)
{
	tapir_autofree char *text = NULL;
	const char *caught;
	int err = tapir_peer_facts__read_file(facts, "status", STATUS_MAX_BYTES, &text, NULL);

	if (err)
		return err;
	caught = tapir_proc_status__value(text, "SigCgt");
	if (!caught || !tapir_proc_status__number(text, "Uid", 1, &facts->uid) ||
	    !tapir_proc_status__number(text, "Gid", 1, &facts->gid))
		return -EPROTO;
	if (!tapir_proc_status__number(text, "NSpid", TAPIR_PROC_LAST_WORD, &facts->ns_tgid))
		facts->ns_tgid = facts->tgid;
	facts->caught = strtoull(caught, NULL, 16);
	return 0;
}

static int open_process(struct tapir_peer_facts *facts)
{
	struct pollfd end = {.events = POLLIN};
	char path[32];

	facts->pidfd = (int)syscall(SYS_pidfd_open, facts->tgid, 0);
	if (facts->pidfd < 0)
		return errno == ENOENT ? -EINVAL : -errno; /* a thread; EINVAL before 6.15 */
	snprintf(path, sizeof(path), "/proc/%u", facts->tgid);
	facts->proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (facts->proc_fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	/* alive now: so the number had one owner since pidfd_open */
	end.fd = facts->pidfd;
	return poll(&end, 1, 0) ? -ESRCH : 0;
}

int tapir_peer_facts__read(uint32_t tgid, const char *task, struct tapir_peer_facts *out)
{
	struct tapir_peer_facts facts = {.tgid = tgid, .pidfd = -1, .proc_fd = -1};
	int err = open_process(&facts);

	if (!err)
		err = read_status(&facts);
	if (!err) {
		*out = facts;
		return 0;
	}
	tapir_peer_facts__fini(&facts);
	return tapir_diag__fail(err, "cannot %s in process %u: %s", task, tgid,
				tapir_errno__text(err));
}

void tapir_peer_facts__fini(struct tapir_peer_facts *facts)
{
	if (facts->pidfd >= 0)
		close(facts->pidfd);
	if (facts->proc_fd >= 0)
		close(facts->proc_fd);
	facts->pidfd = facts->proc_fd = -1;
}
