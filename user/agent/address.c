// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Text to listening socket. The name of a unix socket that no process accepts from was left behind,
 * and is removed; one that is in use is not.
 */
#include "agent/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/str.h"

#define BACKLOG 128

static int fail_address(const char *text, int err)
{
	return tapir_diag__fail(err, "cannot listen on %s: %s", text, tapir_errno__text(err));
}

/* ---- unix ----------------------------------------------------------------------------------- */

/* No process accepts connections there: the name may be removed. */
static bool is_left_over(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool is_refused;
	struct stat st;

	if (fd < 0 || lstat(address->sun_path, &st) || !S_ISSOCK(st.st_mode)) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	is_refused = connect(fd, (const struct sockaddr *)address, sizeof(*address)) &&
		     errno == ECONNREFUSED;
	close(fd);
	return is_refused;
}

static int bind_unix(int fd, const struct sockaddr_un *address)
{
	mode_t old = umask(0177);
	int err = bind(fd, (const struct sockaddr *)address, sizeof(*address)) ? -errno : 0;

	if (err == -EADDRINUSE && is_left_over(address)) {
		unlink(address->sun_path);
		err = bind(fd, (const struct sockaddr *)address, sizeof(*address)) ? -errno : 0;
	}
	umask(old);
	return err;
}

static int open_unix(const char *text, struct tapir_address *out)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = text + strlen("unix:");
	int err;

	if (*path != '/' || strlen(path) >= sizeof(address.sun_path))
		return tapir_diag__fail(
			-EINVAL, "--listen %s: an absolute path of at most %zu bytes is required",
			text, sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, strlen(path) + 1);
	out->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	err = out->fd < 0 ? -errno : bind_unix(out->fd, &address);
	if (err)
		return fail_address(text, err);
	out->is_unix = true;
	snprintf(out->path, sizeof(out->path), "%s", path);
	snprintf(out->name, sizeof(out->name), "unix:%s", path);
	return 0;
}

/* ---- TCP ------------------------------------------------------------------------------------ */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_storage storage;
};

static bool parse_tcp(const char *text, union address *a, socklen_t *len)
{
	const char *colon = strrchr(text, ':');
	char host[64];
	uint64_t port;
	size_t host_len;

	if (!colon || !tapir_str__to_u64(colon + 1, 0, 65535, &port))
		return false;
	host_len = (size_t)(colon - text);
	if (host_len >= 2 && text[0] == '[' && text[host_len - 1] == ']') {
		text++;
		host_len -= 2;
	}
	if (host_len >= sizeof(host))
		return false;
	snprintf(host, sizeof(host), "%.*s", (int)host_len, text);
	/*
	 * Without a resolver: what a name resolves to may change, and a listener on it would not.
	 */
	if (!strcmp(host, "localhost"))
		strcpy(host, "127.0.0.1");
	*a = (union address){};
	if (inet_pton(AF_INET, host, &a->v4.sin_addr) == 1) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons((uint16_t)port);
		*len = sizeof(a->v4);
		return true;
	}
	a->v6.sin6_family = AF_INET6;
	a->v6.sin6_port = htons((uint16_t)port);
	*len = sizeof(a->v6);
	return inet_pton(AF_INET6, host, &a->v6.sin6_addr) == 1;
}

static void fill_name(struct tapir_address *out, const union address *a)
{
	bool is_v6 = a->any.sa_family == AF_INET6;
	char host[INET6_ADDRSTRLEN];

	if (is_v6)
		inet_ntop(AF_INET6, &a->v6.sin6_addr, host, sizeof(host));
	else
		inet_ntop(AF_INET, &a->v4.sin_addr, host, sizeof(host));
	out->port = ntohs(is_v6 ? a->v6.sin6_port : a->v4.sin_port);
	out->is_loopback = is_v6 ? IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr)
				 : ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
	snprintf(out->host, sizeof(out->host), is_v6 ? "[%s]" : "%s", host);
	snprintf(out->name, sizeof(out->name), "http://%s:%u", out->host, out->port);
}

static int open_tcp(const char *text, struct tapir_address *out)
{
	union address a;
	socklen_t len;
	int one = 1;

	if (!parse_tcp(text, &a, &len))
		return tapir_diag__fail(-EINVAL,
					"--listen %s: unix:PATH or ADDRESS:PORT is required, as in "
					"127.0.0.1:9747",
					text);
	out->fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (out->fd < 0 || setsockopt(out->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(out->fd, &a.any, len) || getsockname(out->fd, &a.any, &len))
		return fail_address(text, -errno);
	fill_name(out, &a);
	return 0;
}

/* ---- standard input and output -------------------------------------------------------------- */

static int open_stdio(struct tapir_address *out)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	out->is_stdio = true;
	out->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	out->out_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (null_fd < 0 || out->fd < 0 || out->out_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 ||
	    dup2(null_fd, STDOUT_FILENO) < 0)
		return fail_address(TAPIR_ADDRESS_STDIO, -errno);
	close(null_fd);
	snprintf(out->name, sizeof(out->name), TAPIR_ADDRESS_STDIO);
	return 0;
}

int tapir_address__open(const char *text, struct tapir_address *out)
{
	int err;

	*out = (struct tapir_address){.fd = -1, .out_fd = -1};
	err = !strcmp(text, TAPIR_ADDRESS_STDIO) ? open_stdio(out)
	      : strncmp(text, "unix:", 5)	 ? open_tcp(text, out)
						 : open_unix(text, out);
	if (!err && !out->is_stdio && listen(out->fd, BACKLOG))
		err = fail_address(text, -errno);
	if (err)
		tapir_address__close(out);
	return err;
}

void tapir_address__uses_tls(struct tapir_address *listener)
{
	if (!listener->is_unix)
		snprintf(listener->name, sizeof(listener->name), "https://%s:%u", listener->host,
			 listener->port);
}

void tapir_address__close(struct tapir_address *listener)
{
	if (listener->fd >= 0)
		close(listener->fd);
	if (listener->out_fd >= 0)
		close(listener->out_fd);
	listener->fd = listener->out_fd = -1;
	if (listener->is_unix)
		unlink(listener->path);
	listener->is_unix = false;
}
