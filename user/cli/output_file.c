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
	return tapir_diag__fail(err, "Cannot write %s: err=-%s",
				file->path ? file->path : "to standard output",
				tapir_errno__name(err));
}

/* A file that does not exist yet has no real path, but its own. */
static int open_part(struct tapir_output_file *file)
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
	file->fd =
		open(file->part_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file->fd >= 0)
		return 0;
	free(file->part_path); /* not ours */
	file->part_path = NULL;
	return fail(file, -errno);
}

int tapir_output_file__open(struct tapir_output_file *file, const char *path)
{
	struct stat st;

	*file = (struct tapir_output_file){.path = path, .fd = STDOUT_FILENO};
	if (!path || !strcmp(path, "-")) {
		file->path = NULL;
		return 0;
	}
	file->fd = -1;
	if (stat(path, &st) || S_ISREG(st.st_mode))
		return open_part(file);
	file->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
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

int tapir_output_file__finish(struct tapir_output_file *file)
{
	if (file->fd > STDERR_FILENO) {
		int err = close(file->fd) ? -errno : 0; /* where a network's disk says it is full */

		file->fd = -1;
		if (err)
			return fail(file, err);
	}
	if (!file->part_path)
		return 0;
	if (rename(file->part_path, file->real_path))
		return fail(file, -errno);
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
