// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A listening socket in a directory that no other user can write to. The identity of a client is
 * what the kernel reports, not what the client claims.
 */
#include "runtime/dotnet/dotnet_port.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "runtime/dotnet/dotnet_ipc.h"

#define NAME	  "port"
#define KEPT_MAX  64
#define ADVERT_NS (100 * TAPIR_NS_PER_MS) /* a runtime sends it with the connection */

struct kept {
	uint32_t tgid;
	int fd;
};

struct tapir_dotnet_port {
	pthread_mutex_t lock;
	int listen_fd;
	struct sockaddr_un addr;    /* what the name in the environment leads to */
	struct kept kept[KEPT_MAX]; /* oldest first */
	unsigned kept_cnt;
};

/* ---- the socket ------------------------------------------------------------------------------ */

/* No process can connect before listen(2): by then the mode is right, whatever the umask. */
static int listen_in(const struct tapir_run_dir *dir, struct tapir_dotnet_port *port)
{
	port->addr.sun_family = AF_UNIX;
	if ((size_t)snprintf(port->addr.sun_path, sizeof(port->addr.sun_path), "%s/" NAME,
			     dir->path) >= sizeof(port->addr.sun_path))
		return -ENAMETOOLONG;
	port->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (port->listen_fd < 0 ||
	    bind(port->listen_fd, (const struct sockaddr *)&port->addr, sizeof(port->addr)) ||
	    fchmodat(dir->fd, NAME, 0600, 0) || listen(port->listen_fd, KEPT_MAX))
		return -errno;
	return 0;
}

int tapir_dotnet_port__new(const struct tapir_run_dir *dir, struct tapir_dotnet_port **out)
{
	struct tapir_dotnet_port *port = calloc(1, sizeof(*port));
	int err;

	if (!port)
		return -ENOMEM;
	port->listen_fd = -1;
	pthread_mutex_init(&port->lock, NULL);
	err = listen_in(dir, port);
	if (!err) {
		*out = port;
		return 0;
	}
	tapir_dotnet_port__free(port);
	return tapir_diag__fail(err,
				"cannot listen at %s/" NAME " for the program's .NET runtime: %s",
				dir->path, tapir_errno__text(err));
}

void tapir_dotnet_port__free(struct tapir_dotnet_port *port)
{
	if (!port)
		return;
	for (unsigned i = 0; i < port->kept_cnt; i++)
		close(port->kept[i].fd);
	tapir_guard__fd(&port->listen_fd);
	pthread_mutex_destroy(&port->lock);
	free(port);
}

int tapir_dotnet_port__put_environment(const struct tapir_dotnet_port *port, struct tapir_str *out,
				       const char *existing)
{
	tapir_str__addf(out, "DOTNET_DiagnosticPorts=%s%s%s,nosuspend", existing ? existing : "",
			existing && *existing ? ";" : "", port->addr.sun_path);
	tapir_str__addc(out, '\0');
	return out->failed ? -ENOMEM : 0;
}

/* ---- its connections; lock held -------------------------------------------------------------- */

static void drop_connection(struct tapir_dotnet_port *port, unsigned at)
{
	memmove(&port->kept[at], &port->kept[at + 1],
		(--port->kept_cnt - at) * sizeof(*port->kept));
}

/* Takes fd. */
static void keep_connection(struct tapir_dotnet_port *port, int fd)
{
	uint32_t tgid = tapir_peer_child__peer_pid(fd);

	if (!tgid) {
		close(fd);
		return;
	}
	if (port->kept_cnt == KEPT_MAX) {
		close(port->kept[0].fd);
		drop_connection(port, 0);
	}
	port->kept[port->kept_cnt++] = (struct kept){tgid, fd};
}

/* Returns true if it begins as a runtime does. If not, or if it is gone, fd is closed. */
static bool is_runtime(const struct tapir_peer_helper *job, int fd, uint64_t until_ns)
{
	char bytes[TAPIR_DOTNET_ADVERT_BYTES];
	uint64_t soon_ns = tapir_clock__now_ns() + ADVERT_NS;
	size_t have = 0;

	if (until_ns > soon_ns)
		until_ns = soon_ns;
	while (have < sizeof(bytes) && !tapir_peer_helper__poll(job, fd, POLLIN, until_ns)) {
		ssize_t n = read(fd, bytes + have, sizeof(bytes) - have);

		if (!n || (n < 0 && errno != EINTR && errno != EAGAIN))
			break;
		have += n > 0 ? (size_t)n : 0;
	}
	if (!tapir_dotnet__parse_advert(bytes, have))
		return true;
	close(fd);
	return false;
}

/* The newest connection of the process: older ones were left by another program in it. -1: none. */
static int find_connection(struct tapir_dotnet_port *port, const struct tapir_peer_helper *job,
			   uint64_t until_ns)
{
	for (unsigned i = port->kept_cnt; i-- > 0;) {
		int fd = port->kept[i].fd;

		if (port->kept[i].tgid != job->tgid)
			continue;
		drop_connection(port, i);
		if (is_runtime(job, fd, until_ns))
			return fd;
	}
	return -1;
}

int tapir_dotnet_port__take(struct tapir_dotnet_port *port, const struct tapir_peer_helper *job,
			    uint64_t until_ns, int *fd)
{
	int found, err = 0;

	pthread_mutex_lock(&port->lock);
	for (;;) {
		int one = accept4(port->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (one >= 0) {
			keep_connection(port, one);
			continue;
		}
		found = find_connection(port, job, until_ns);
		if (found >= 0 || err)
			break;
		err = tapir_peer_helper__poll(job, port->listen_fd, POLLIN, until_ns);
	}
	pthread_mutex_unlock(&port->lock);
	if (found < 0)
		return err;
	*fd = found;
	return 0;
}
