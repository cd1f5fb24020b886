// SPDX-License-Identifier: GPL-2.0-or-later
/* Written beside its place, renamed at the end: OUT.part-PID is all that kill -9 leaves. */
#include "cli/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "cli/terminal.h"

#define MUCH_BYTES (256u * 1024u)

static int fail(const struct tapir_output_file *file, int err)
{
	return tapir_diag__fail(err, "Cannot write %s: err=-%s%s",
				file->path ? file->path : "to standard output",
				tapir_errno__name(err),
				err == -EEXIST ? ": it exists; name another or use --force" : "");
}

bool tapir_output_file__is_same(const char *path, const char *recording)
{
	struct stat x, y;

	return path && !stat(path, &x) && !stat(recording, &y) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* A file that does not exist yet has no real path, but its own. */
static int open_part(struct tapir_output_file *file, mode_t mode)
{
	file->real_path = realpath(file->path, NULL);
	if (!file->real_path)
		file->real_path = strdup(file->path);
	if (!file->real_path ||
	    asprintf(&file->part_path, "%s.part-%d", file->real_path, (int)getpid()) < 0) {
		file->part_path = NULL;
		return -ENOMEM;
	}
	/* What a recording holds is its owner's: 0600, as the recording. */
	file->fd = open(file->part_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			mode ? mode : 0600);
	if (file->fd >= 0)
		return 0;
	free(file->part_path); /* not ours */
	file->part_path = NULL;
	return fail(file, -errno);
}

int tapir_output_file__open(struct tapir_output_file *file,
			    const struct tapir_output_file_opts *opts)
{
	struct stat st;
	bool is_there;

	*file = (struct tapir_output_file){
		.path = opts->path, .fd = STDOUT_FILENO, .force = opts->force};
	if (!opts->path || !strcmp(opts->path, "-")) {
		file->path = NULL;
		return 0;
	}
	file->fd = -1;
	is_there = !stat(opts->path, &st);
	if (is_there && S_ISREG(st.st_mode) && !opts->force)
		return fail(file, -EEXIST);
	if (!is_there || S_ISREG(st.st_mode))
		return open_part(file, opts->mode);
	file->fd = open(opts->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	return file->fd < 0 ? fail(file, -errno) : 0;
}

int tapir_output_file__flush(struct tapir_output_file *file, struct tapir_str *out)
{
	int err;

	if (out->failed)
		return tapir_diag__fail(-ENOMEM, "Out of memory for the output");
	err = out->len ? tapir_file__write_all(file->fd, out->data, out->len) : 0;
	file->bytes += out->len;
	tapir_str__clear(out);
	return err ? fail(file, err) : 0;
}

int tapir_output_file__flush_much(struct tapir_output_file *file, struct tapir_str *out)
{
	return out->len >= MUCH_BYTES || out->failed ? tapir_output_file__flush(file, out) : 0;
}

/* What came there meanwhile is not replaced either, where the file system can tell. */
static int give_name(const struct tapir_output_file *file)
{
	if (!file->force &&
	    !renameat2(AT_FDCWD, file->part_path, AT_FDCWD, file->real_path, RENAME_NOREPLACE))
		return 0;
	if (!file->force && errno != EINVAL && errno != ENOSYS)
		return -errno;
	return rename(file->part_path, file->real_path) ? -errno : 0;
}

int tapir_output_file__finish(struct tapir_output_file *file)
{
	int err;

	if (file->fd > STDERR_FILENO) {
		err = close(file->fd) ? -errno : 0; /* where a network's disk says it is full */

		file->fd = -1;
		if (err)
			return fail(file, err);
	}
	if (!file->part_path)
		return 0;
	err = give_name(file);
	if (err)
		return fail(file, err);
	free(file->part_path);
	file->part_path = NULL;
	return 0;
}

void tapir_output_file__close(struct tapir_output_file *file)
{
	if (file->fd > STDERR_FILENO)
		close(file->fd);
	if (file->part_path)
		unlink(file->part_path);
	free(file->part_path);
	free(file->real_path);
	*file = (struct tapir_output_file){.fd = -1};
}
