// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An output is written next to its final name, and renamed at the end: kill -9 leaves only
 * OUT.part-PID.
 */
#include "cli/output_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/exhaustion.h"
#include "base/log.h"
#include "cli/long_read.h"
#include "cli/terminal.h"
#include "output/render/human_units.h"

#define MUCH_BYTES (256u * 1024u)

static int fail_output_file(const struct tapir_output_file *file, int err)
{
	return tapir_diag__fail(
		err, "cannot write %s: %s%s", file->path ? file->path : "to standard output",
		tapir_errno__text(err),
		err == -ETIMEDOUT ? ": its reader stalled, and the rest was dropped" : "");
}

bool tapir_output_file__is_same(const char *path, const char *recording)
{
	struct stat x, y;

	return path && !stat(path, &x) && !stat(recording, &y) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

int tapir_output_file__open(struct tapir_output_file *file,
			    const struct tapir_output_file_opts *opts)
{
	/* Output from a recording has the recording's mode: 0600, for its owner alone. */
	const struct tapir_atomic_file_opts placed = {
		.path = opts->path, .mode = opts->mode ? opts->mode : 0600, .force = opts->force};
	int err;

	*file = (struct tapir_output_file){
		.path = opts->path, .file = {.fd = -1, .dir_fd = -1}, .fd = STDOUT_FILENO};
	if (!opts->path || !strcmp(opts->path, "-")) {
		file->path = NULL;
		return 0;
	}
	err = tapir_atomic_file__open(&placed, &file->file);
	file->fd = file->file.fd;
	return err;
}

int tapir_output_file__flush(struct tapir_output_file *file, struct tapir_str *out)
{
	int err;

	if (out->failed)
		return tapir_diag__fail(-ENOMEM, "out of memory for the output");
	err = out->len ? tapir_terminal__write(file->fd, out->data, out->len) : 0;
	file->bytes += err ? 0 : out->len;
	file->is_unwritable |= err != 0;
	tapir_str__clear(out);
	return err ? fail_output_file(file, err) : 0;
}

int tapir_output_file__flush_much(struct tapir_output_file *file, struct tapir_str *out)
{
	return out->len >= MUCH_BYTES || out->failed ? tapir_output_file__flush(file, out) : 0;
}

int tapir_output_file__finish(struct tapir_output_file *file)
{
	int err = tapir_exhaustion__err(); /* nothing incomplete replaces a file */

	if (!err)
		err = tapir_atomic_file__commit(&file->file);
	file->fd = -1;
	if (err)
		return err;
	err = tapir_atomic_file__close(&file->file);
	return err ? fail_output_file(file, err) : 0;
}

void tapir_output_file__close(struct tapir_output_file *file)
{
	tapir_atomic_file__discard(&file->file);
	file->fd = -1;
}

void tapir_output_file__report_end(const struct tapir_output_file *file, const char *advice,
				   int mark, int err)
{
	struct tapir_str size = {};

	tapir_human__add_bytes(&size, file->bytes);
	if (!err && file->path && size.data)
		tapir_info("%s: %s%s", file->path, size.data, advice);
	else if (file->path)
		tapir_long_read__name_output(file->path, mark, err);
	else if (err && file->bytes && !file->is_unwritable)
		tapir_diag__add("the data on standard output is incomplete");
	tapir_str__fini(&size);
}
