/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deadfs SOURCE MOUNTPOINT - a FUSE server that shows the files of a directory and stops answering
 * on command. It reads commands from stdin, one per line:
 *
 *	hang OP    requests of this kind are never answered again: lookup, getattr, open, read,
 *	           flush, release, statfs, readlink, access, getxattr, opendir, readdir, or all
 *	go         requests that come from now on are answered (those that came before are not)
 *
 * Each command is confirmed by "ok"; each request that is not answered prints "hung OP". The mount
 * ends with this process, or by `umount -l` after it was killed: the kernel then fails every open
 * request, so that nothing stays blocked. Nothing is cached: every use of a path asks.
 */
#define FUSE_USE_VERSION 312
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define NODES_MAX 256
#define MAX_READ  (1u << 20)

static char *nodes[NODES_MAX + 1]; /* paths below the source; the index is the inode's number */
static size_t node_cnt = 1;	   /* 1 is the root */
static int source_fd;
static char hung_op[32];

static int hangs(const char *op)
{
	if (strcmp(hung_op, op) != 0 && strcmp(hung_op, "all") != 0)
		return 0;
	printf("hung %s\n", op);
	fflush(stdout);
	return 1;
}

static fuse_ino_t node_of(const char *path)
{
	for (size_t i = 1; i <= node_cnt; i++)
		if (!strcmp(nodes[i], path))
			return i;
	if (node_cnt == NODES_MAX)
		return 0;
	nodes[++node_cnt] = strdup(path);
	return node_cnt;
}

static int stat_node(fuse_ino_t ino, struct stat *st)
{
	const char *path = *nodes[ino] ? nodes[ino] : ".";

	if (fstatat(source_fd, path, st, AT_SYMLINK_NOFOLLOW))
		return errno;
	st->st_ino = ino;
	return 0;
}

static void do_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param entry = {0};
	char path[PATH_MAX];
	int err;

	if (hangs("lookup"))
		return;
	snprintf(path, sizeof(path), "%s%s%s", nodes[parent], *nodes[parent] ? "/" : "", name);
	if (faccessat(source_fd, path, F_OK, AT_SYMLINK_NOFOLLOW)) {
		fuse_reply_err(req, errno);
		return;
	}
	entry.ino = node_of(path);
	err = entry.ino ? stat_node(entry.ino, &entry.attr) : ENOSPC;
	if (err)
		fuse_reply_err(req, err);
	else
		fuse_reply_entry(req, &entry);
}

static void do_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;
	int err;

	(void)fi;
	if (hangs("getattr"))
		return;
	err = stat_node(ino, &st);
	if (err)
		fuse_reply_err(req, err);
	else
		fuse_reply_attr(req, &st, 0.0);
}

static void do_readlink(fuse_req_t req, fuse_ino_t ino)
{
	char target[PATH_MAX];
	ssize_t len;

	if (hangs("readlink"))
		return;
	len = readlinkat(source_fd, nodes[ino], target, sizeof(target) - 1);
	if (len < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	target[len] = '\0';
	fuse_reply_readlink(req, target);
}

static void do_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	int fd;

	if (hangs("open"))
		return;
	fd = openat(source_fd, nodes[ino], fi->flags & (O_ACCMODE | O_APPEND | O_TRUNC));
	if (fd < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	fi->fh = (uint64_t)fd;
	fuse_reply_open(req, fi);
}

static void do_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		      struct fuse_file_info *fi)
{
	struct fuse_entry_param entry = {0};
	char path[PATH_MAX];
	int fd;

	if (hangs("open"))
		return;
	snprintf(path, sizeof(path), "%s%s%s", nodes[parent], *nodes[parent] ? "/" : "", name);
	fd = openat(source_fd, path, O_CREAT | (fi->flags & ~O_NOFOLLOW), mode);
	entry.ino = fd < 0 ? 0 : node_of(path);
	if (!entry.ino || stat_node(entry.ino, &entry.attr)) {
		fuse_reply_err(req, EIO);
		return;
	}
	fi->fh = (uint64_t)fd;
	fuse_reply_create(req, &entry, fi);
}

static void do_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	static char buf[MAX_READ];
	ssize_t n;

	(void)ino;
	if (hangs("read"))
		return;
	n = pread((int)fi->fh, buf, size < sizeof(buf) ? size : sizeof(buf), off);
	if (n < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_buf(req, buf, (size_t)n);
}

static void do_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
		     struct fuse_file_info *fi)
{
	ssize_t n;

	(void)ino;
	if (hangs("write"))
		return;
	n = pwrite((int)fi->fh, buf, size, off);
	if (n < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_write(req, (size_t)n);
}

static void do_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino, (void)fi;
	if (!hangs("flush"))
		fuse_reply_err(req, 0);
}

static void do_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	close((int)fi->fh);
	if (!hangs("release"))
		fuse_reply_err(req, 0);
}

static void do_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st;

	(void)ino;
	if (hangs("statfs"))
		return;
	if (fstatvfs(source_fd, &st))
		fuse_reply_err(req, errno);
	else
		fuse_reply_statfs(req, &st);
}

static void do_access(fuse_req_t req, fuse_ino_t ino, int mask)
{
	(void)ino, (void)mask;
	if (!hangs("access"))
		fuse_reply_err(req, 0);
}

static void do_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	(void)ino, (void)name, (void)size;
	if (!hangs("getxattr"))
		fuse_reply_err(req, ENODATA);
}

static void do_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	if (!hangs("opendir"))
		fuse_reply_open(req, fi);
}

static void do_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	(void)ino, (void)size, (void)off, (void)fi;
	if (!hangs("readdir"))
		fuse_reply_buf(req, NULL, 0); /* names are known to those who ask for them */
}

static const struct fuse_lowlevel_ops ops = {
	.lookup = do_lookup,
	.getattr = do_getattr,
	.readlink = do_readlink,
	.open = do_open,
	.create = do_create,
	.read = do_read,
	.write = do_write,
	.flush = do_flush,
	.release = do_release,
	.statfs = do_statfs,
	.access = do_access,
	.getxattr = do_getxattr,
	.opendir = do_opendir,
	.readdir = do_readdir,
};

/* 0: stdin has ended. */
static int take_command(void)
{
	char line[64];

	if (!fgets(line, sizeof(line), stdin))
		return 0;
	line[strcspn(line, "\n")] = '\0';
	if (!strncmp(line, "hang ", 5))
		snprintf(hung_op, sizeof(hung_op), "%.31s", line + 5);
	else
		*hung_op = '\0';
	printf("ok\n");
	fflush(stdout);
	return 1;
}

static void serve(struct fuse_session *session)
{
	struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
			       {.fd = fuse_session_fd(session), .events = POLLIN}};
	struct fuse_buf buf = {0};

	while (!fuse_session_exited(session) && poll(fds, 2, -1) >= 0) {
		if (fds[0].revents && !take_command())
			break;
		if (!fds[1].revents)
			continue;
		if (fuse_session_receive_buf(session, &buf) <= 0)
			break;
		fuse_session_process_buf(session, &buf);
	}
	free(buf.mem);
}

int main(int argc, char **argv)
{
	char name[] = "deadfs", options[] = "-oallow_other,fsname=deadfs,subtype=deadfs";
	char *fuse_argv[] = {name, options, NULL};
	struct fuse_args args = FUSE_ARGS_INIT(2, fuse_argv);
	struct fuse_session *session;

	if (argc != 3)
		return 2;
	setvbuf(stdin, NULL, _IONBF, 0); /* poll sees what is not read yet */
	nodes[1] = strdup("");
	source_fd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	session = fuse_session_new(&args, &ops, sizeof(ops), NULL);
	if (source_fd < 0 || !session || fuse_session_mount(session, argv[2])) {
		fprintf(stderr, "deadfs: cannot mount %s\n", argv[2]);
		return 1;
	}
	printf("mounted\n");
	fflush(stdout);
	serve(session);
	fuse_session_unmount(session);
	fuse_session_destroy(session);
	return 0;
}
