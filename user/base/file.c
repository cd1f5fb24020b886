// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Input and output of whole files, and what a process may have open. The size that stat(2) reports
 * is only a hint here: files of /proc report 0 and grow while they are read.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/map.h"

#define STREAM_PIECE   4096 /* a pipe that poll(2) calls writable takes this without waiting */
#define STREAM_POLL_MS 50
#define STALL_NS       (500 * TAPIR_NS_PER_MS)

int tapir_file__read_fd(int fd, size_t max_bytes, char **out, size_t *len)
{
	tapir_autofree char *data = NULL;
	size_t cap = 0, got = 0;

	for (;;) {
		ssize_t n;

		/* Files of /proc have no size to ask for; one byte stays free for the NUL. */
		if (got + 1 >= cap) {
			char *grown = realloc(data, cap = cap ? cap * 2 : 4096);

			if (!grown)
				return -ENOMEM;
			data = grown;
		}
		n = read(fd, data + got, cap - got - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		got += (size_t)n;
		if (got > max_bytes)
			return -EFBIG;
		if (!n)
			break;
	}
	data[got] = '\0';
	*out = data;
	data = NULL;
	if (len)
		*len = got;
	return 0;
}

int tapir_file__read(const char *path, size_t max_bytes, char **out, size_t *len)
{
	tapir_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd < 0 ? -errno : tapir_file__read_fd(fd, max_bytes, out, len);
}

DIR *tapir_file__open_dir(int at_fd, const char *path, int flags)
{
	int fd = openat(at_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags), err;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0) {
		err = errno;
		close(fd);
		errno = err;
	}
	return dir;
}

int tapir_file__write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static struct rlimit first_limit;

void tapir_file__raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	first_limit = limit;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		first_limit = (struct rlimit){};
}

void tapir_file__restore_limit(void)
{
	if (first_limit.rlim_max)
		setrlimit(RLIMIT_NOFILE, &first_limit);
}

/* True when a reader that reads nothing has used up its time. */
static bool is_given_up(uint64_t stop_ns, uint64_t progress_ns)
{
	uint64_t since_ns = progress_ns > stop_ns ? progress_ns : stop_ns;

	return stop_ns && tapir_clock__now_ns() > since_ns + STALL_NS;
}

int tapir_file__write_until(int fd, const void *data, size_t len,
			    const atomic_uint_least64_t *stop_ns)
{
	struct pollfd ready = {.fd = fd, .events = POLLOUT};
	uint64_t progress_ns = 0;
	const char *p = data;
	struct stat st;

	/* A write to a disk cannot be given up, and does not wait for a reader. */
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return tapir_file__write_all(fd, data, len);
	while (len) {
		size_t piece = len < STREAM_PIECE ? len : STREAM_PIECE;
		ssize_t n = poll(&ready, 1, STREAM_POLL_MS);

		/*
		 * Pieces are small, so that each write that returns is a sign of a reader that
		 * still reads.
		 */
		if (!n && is_given_up(atomic_load(stop_ns), progress_ns))
			return -ETIMEDOUT;
		if (n > 0) {
			n = write(fd, p, piece);
			progress_ns = tapir_clock__now_ns();
		}
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

uint64_t tapir_file__key(const struct stat *st)
{
	uint64_t key = tapir_hash__mix(tapir_hash__mix(1, st->st_dev), st->st_ino);

	key = tapir_hash__mix(key, (uint64_t)st->st_size);
	key = tapir_hash__mix(key, (uint64_t)st->st_mtim.tv_sec);
	key = tapir_hash__mix(key, (uint64_t)st->st_mtim.tv_nsec);
	key = tapir_hash__mix(key, (uint64_t)st->st_ctim.tv_sec);
	return tapir_hash__mix(key, (uint64_t)st->st_ctim.tv_nsec) | 1;
}

/* A file handle holds inode and generation; nothing but memory is asked for it. */
uint64_t tapir_file__key_of_fd(int fd, const struct stat *st)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = {.handle.handle_bytes = MAX_HANDLE_SZ};
	uint64_t key = tapir_file__key(st);
	int mount_id;

	if (name_to_handle_at(fd, "", &u.handle, &mount_id, AT_EMPTY_PATH))
		return key;
	return tapir_hash__bytes(key, u.handle.f_handle, u.handle.handle_bytes) | 1;
}

int tapir_file__temporary(void)
{
	const char *dir = getenv("TMPDIR");
	int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

int tapir_file__keep_unless_scarce(int fd)
{
	struct rlimit limit;

	if (fd >= 0 && !getrlimit(RLIMIT_NOFILE, &limit) && (rlim_t)fd >= limit.rlim_cur / 4 * 3)
		tapir_guard__fd(&fd);
	return fd;
}

/* Others' numbers may lie anywhere: only opening shows how many are free. */
int tapir_file__check_room(unsigned cnt)
{
	tapir_autofree int *fds = calloc(cnt, sizeof(*fds));
	unsigned open_cnt = 0;
	int err = fds || !cnt ? 0 : -ENOMEM;

	while (!err && open_cnt < cnt) {
		int fd = open_cnt ? fcntl(fds[0], F_DUPFD_CLOEXEC, 0)
				  : open("/", O_PATH | O_CLOEXEC);

		if (fd < 0)
			err = -errno;
		else
			fds[open_cnt++] = fd;
	}
	while (open_cnt)
		close(fds[--open_cnt]);
	return err;
}
