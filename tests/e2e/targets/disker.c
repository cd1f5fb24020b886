// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * disker - moves known numbers of bytes between files and their device.
 *
 *	disker DIR
 *
 * Writes DIR/buffered and syncs it, drops it from the page cache and reads it; writes and reads
 * DIR/direct by O_DIRECT; writes a file that has no name any more, and one 20 directories deep. The
 * line is what of that the device must have seen, in bytes, as JSON. It stays for longer than a
 * second: a request whose end was not reported in that time is counted as lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "target.h"

#define BLOCK_BYTES 65536u
#define BLOCKS	    16u
#define DEPTH	    20

static _Alignas(4096) char block[BLOCK_BYTES];

static int open_in(int dir_fd, const char *name, int flags)
{
	int fd = openat(dir_fd, name, flags | O_CREAT | O_RDWR | O_TRUNC, 0600);

	if (fd < 0)
		target__die(name);
	return fd;
}

static uint64_t write_blocks(int fd, unsigned cnt)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < cnt; i++) {
		if (pwrite(fd, block, sizeof(block), (off_t)bytes) != sizeof(block))
			target__die("pwrite");
		bytes += sizeof(block);
	}
	if (fsync(fd))
		target__die("fsync");
	return bytes;
}

static uint64_t read_blocks(int fd)
{
	uint64_t bytes = 0;
	ssize_t got;

	while ((got = pread(fd, block, sizeof(block), (off_t)bytes)) > 0)
		bytes += (uint64_t)got;
	if (got < 0)
		target__die("pread");
	return bytes;
}

static uint64_t write_deep(int dir_fd)
{
	int fd = dir_fd;
	char name[16];

	for (int i = 1; i <= DEPTH; i++) {
		int below;

		snprintf(name, sizeof(name), "d%d", i);
		if (mkdirat(fd, name, 0700) && errno != EEXIST)
			target__die(name);
		below = openat(fd, name, O_RDONLY | O_DIRECTORY);
		if (below < 0)
			target__die(name);
		if (fd != dir_fd)
			close(fd);
		fd = below;
	}
	return write_blocks(open_in(fd, "deep", 0), 1);
}

int main(int argc, char **argv)
{
	uint64_t written, read_again, direct_written, direct_read, gone, deep;
	int dir_fd, fd;

	if (argc != 2)
		return 2;
	memset(block, 'x', sizeof(block));
	printf("pid %d\n", getpid());
	fflush(stdout);
	dir_fd = open(argv[1], O_RDONLY | O_DIRECTORY);
	if (dir_fd < 0)
		target__die(argv[1]);
	fd = open_in(dir_fd, "buffered", 0);
	written = write_blocks(fd, BLOCKS);
	if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		target__die("posix_fadvise");
	read_again = read_blocks(fd);
	fd = open_in(dir_fd, "direct", O_DIRECT);
	direct_written = write_blocks(fd, BLOCKS);
	direct_read = read_blocks(fd);
	fd = open_in(dir_fd, "gone", 0);
	unlinkat(dir_fd, "gone", 0);
	gone = write_blocks(fd, 1);
	deep = write_deep(dir_fd);
	printf("{\"written\":%" PRIu64 ",\"read\":%" PRIu64 ",\"direct_written\":%" PRIu64
	       ",\"direct_read\":%" PRIu64 ",\"gone\":%" PRIu64 ",\"deep\":%" PRIu64 "}\n",
	       written, read_again, direct_written, direct_read, gone, deep);
	fflush(stdout);
	usleep(1200000);
	return 0;
}
