// SPDX-License-Identifier: GPL-2.0-or-later
/* A merged recording names its hosts in the first descriptions of each segment. */
#include "output/export/host_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "output/export/host_cut.h"
#include "trace/record.h"
#include "trace/writer.h"

static int add_host_part_name(void *ctx, const struct tapir_rec *rec)
{
	const struct tapir_rec_host *host = (const void *)rec;
	struct tapir_host_names *names = ctx;
	char *name;

	if (rec->type != TAPIR_REC_HOST)
		return 0;
	if (names->cnt == TAPIR_HOST_MAX)
		return tapir_diag__fail(-E2BIG, "there are more than %u hosts", TAPIR_HOST_MAX);
	name = strndup((const char *)(host + 1), host->name_len);
	if (name && tapir_vec__push(names, name))
		return 0;
	free(name);
	return -ENOMEM;
}

int tapir_host_names__read(const struct tapir_reader *reader, struct tapir_host_names *out)
{
	struct tapir_chunk room = {};
	struct tapir_reader *again;
	int err = tapir_reader__open_again(reader, &again), more;

	if (err)
		return err;
	tapir_reader__leave_descriptions(again, NULL, NULL);
	more = tapir_reader__next_part(again);
	err = more > 0 ? tapir_reader__put_descriptions(again, &room, add_host_part_name, out)
		       : more;
	tapir_chunk__fini(&room);
	tapir_reader__close(again);
	return err;
}

void tapir_host_names__fini(struct tapir_host_names *names)
{
	for (size_t i = 0; i < names->cnt; i++)
		free(names->data[i]);
	tapir_vec__fini(names);
}

static int write_part(struct tapir_host_cut *cut, const struct tapir_reader *merged,
		      const char *path, int fd, int (*check)(void *ctx), void *ctx)
{
	struct tapir_writer_opts opts = {.sz = sizeof(opts),
					 .path = path,
					 .has_fd = true,
					 .fd = fd,
					 .is_truncated = tapir_reader__stats(merged)->is_truncated,
					 .created_ns = cut->host.created_ns,
					 .created_utc_ns = cut->host.created_utc_ns};
	struct tapir_writer *w;
	int err = tapir_writer__open(&opts, &w);

	if (err)
		return err;
	err = tapir_host_cut__write(cut, w, check, ctx);
	if (!err)
		err = tapir_writer__close(w);
	tapir_writer__free(w);
	return err;
}

/*
 * A damaged merge may lack the very descriptions that say which host a record is of: nothing is
 * guessed then.
 */
static int read_and_write(struct tapir_host_cut *cut, struct tapir_reader *merged, const char *path,
			  int fd, int (*check)(void *ctx), void *ctx)
{
	int err = tapir_host_cut__read(cut, merged, check, ctx);

	if (!err && tapir_reader_stats__is_damaged(tapir_reader__stats(merged)))
		err = tapir_diag__fail(-EBADMSG,
				       "%s is damaged, and is of several hosts: merge what "
				       "'tapir cut --host NAME' gives back of it",
				       path);
	return err ? err : write_part(cut, merged, path, fd, check, ctx);
}

int tapir_host_part__open(const struct tapir_reader *merged, const char *path, const char *name,
			  int (*check)(void *ctx), void *ctx, struct tapir_reader **out)
{
	struct tapir_host_cut cut = {.name = name};
	tapir_autofd int fd = tapir_file__temporary();
	struct tapir_reader *again;
	int err = fd < 0 ? tapir_diag__fail(fd, "cannot create a temporary file: %s",
					    tapir_errno__text(fd))
			 : tapir_reader__open_again(merged, &again);

	if (err)
		return err;
	err = read_and_write(&cut, again, path, fd, check, ctx);
	tapir_host_cut__fini(&cut);
	tapir_reader__close(again);
	return err ? err : tapir_reader__open_fd(fd, path, out);
}
