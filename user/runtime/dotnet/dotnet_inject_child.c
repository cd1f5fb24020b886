// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The child's side of dotnet_inject.h: with the process's uid, in one directory of its. System
 * calls and the stack only (peer_helper.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "runtime/dotnet/dotnet_child.h"

#define MODE	    0755
#define CHUNK_BYTES 4096

#ifndef ST_NOEXEC
#define ST_NOEXEC 0x0008 /* of statfs(2)'s f_flags */
#endif

static bool is_noexec(const struct tapir_peer_dirs *at)
{
	struct statfs fs;

	return !fstatfs(at->dir_fd, &fs) && (fs.f_flags & ST_NOEXEC);
}

static int write_library_bytes(int fd, const char *bytes, size_t left)
{
	while (left) {
		ssize_t n = write(fd, bytes, left);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (!n)
			return -ENOSPC;
		bytes += n > 0 ? n : 0;
		left -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static bool reads_back(int fd, const char *bytes, size_t byte_cnt)
{
	char chunk[CHUNK_BYTES];
	size_t at = 0;
	ssize_t n;

	while ((n = pread(fd, chunk, sizeof(chunk), (off_t)at)) > 0) {
		if ((size_t)n > byte_cnt - at || memcmp(chunk, bytes + at, (size_t)n))
			return false;
		at += (size_t)n;
	}
	return !n && at == byte_cnt;
}

/* Returns true if the name still belongs to the file that was created. */
static bool is_still_there(const struct tapir_peer_helper *job, const struct tapir_peer_dirs *at,
			   int fd, struct tapir_peer_answer *answer)
{
	struct stat made, named;

	if (fstat(fd, &made) || fstatat(at->dir_fd, job->name, &named, AT_SYMLINK_NOFOLLOW) ||
	    made.st_dev != named.st_dev || made.st_ino != named.st_ino || made.st_nlink != 1 ||
	    made.st_uid != job->uid)
		return false;
	answer->found = true;
	answer->dev = made.st_dev;
	answer->inode = made.st_ino;
	answer->size = (uint64_t)made.st_size;
	return true;
}

static void fill_library_file(const struct tapir_peer_helper *job, const struct tapir_peer_dirs *at,
			      int fd, struct tapir_peer_answer *answer)
{
	int err = write_library_bytes(fd, job->bytes, job->byte_cnt);

	if (!err && fchmod(fd, MODE)) /* whatever the umask */
		err = -errno;
	if (err)
		tapir_peer_child__fail(answer, err, TAPIR_PEER_WHY_MAKE);
	else if (!reads_back(fd, job->bytes, job->byte_cnt) || !is_still_there(job, at, fd, answer))
		tapir_peer_child__fail(answer, -EIO, TAPIR_PEER_WHY_CONTENT);
}

/* Places the file; tapir_peer_child__discard receives its directory. */
int tapir_dotnet_child__install(const struct tapir_peer_helper *job,
				struct tapir_peer_answer *answer)
{
	struct tapir_peer_dirs at = TAPIR_PEER_DIRS_NONE;
	int fd;

	if (tapir_peer_child__open_proc(job, &at, answer) ||
	    tapir_peer_child__enter_private(job, &at, answer))
		return -1;
	if (is_noexec(&at)) {
		tapir_peer_child__fail(answer, -EACCES, TAPIR_PEER_WHY_NOEXEC);
		return -1;
	}
	fd = openat(at.dir_fd, job->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		tapir_peer_child__fail(answer, -errno, TAPIR_PEER_WHY_MAKE);
		return -1;
	}
	fill_library_file(job, &at, fd, answer);
	close(fd);
	if (!answer->err)
		return at.dir_fd;
	unlinkat(at.dir_fd, job->name, 0);
	return -1;
}
