// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The words for operations, flags and objects of block and file requests, as a table of events and
 * JSON print them.
 */
#include "decode/io_text.h"

#include <inttypes.h>

static void add_path(struct tapir_str *out, const struct tapir_io_view *io)
{
	const struct tapir_rec_io *rec = io->rec;

	if (!io->path.len) {
		tapir_str__addf(out, "[inode %" PRIu64 " of %u:%u]", rec->inode,
				rec->file_dev >> 20, rec->file_dev & 0xfffffu);
		return;
	}
	if (rec->flags & TAPIR_IO_PATH_CUT)
		tapir_str__adds(out, "...");
	tapir_str__add(out, io->path.data, io->path.len);
	if (rec->flags & TAPIR_IO_DELETED)
		tapir_str__adds(out, " (deleted)");
}

static void add_of_disk(struct tapir_str *out, const char *before, struct tapir_sv disk,
			const char *after)
{
	tapir_str__adds(out, before);
	tapir_str__add(out, disk.data, disk.len);
	tapir_str__adds(out, after);
}

void tapir_io__add_file(struct tapir_str *out, const struct tapir_io_view *io)
{
	const struct tapir_rec_io *rec = io->rec;

	if (rec->object == TAPIR_IO_OF_FILE)
		add_path(out, io);
	else if (rec->object == TAPIR_IO_OF_DEVICE && rec->flags & TAPIR_IO_DIRECT)
		add_of_disk(out, "/dev/", io->disk, "");
	else if (rec->flags & TAPIR_IO_META)
		add_of_disk(out, "[metadata of ", io->disk, "]");
	else if (rec->object == TAPIR_IO_OF_DEVICE)
		add_of_disk(out, "[blocks of ", io->disk, "]");
	else if (rec->op == TAPIR_IO_READ || rec->op == TAPIR_IO_WRITE)
		tapir_str__adds(out, "[not known]");
}

bool tapir_io__is_write_back(const struct tapir_rec_io *io)
{
	return io->flags & TAPIR_IO_KERNEL_THREAD && io->op == TAPIR_IO_WRITE &&
	       io->object == TAPIR_IO_OF_FILE && !(io->flags & TAPIR_IO_DIRECT);
}

void tapir_io__add_flags(struct tapir_str *out, const struct tapir_rec_io *io)
{
	static const struct {
		unsigned bit;
		const char *name;
	} flags[] = {
		{TAPIR_IO_SYNC, "sync"},       {TAPIR_IO_META, "metadata"}, {TAPIR_IO_FUA, "fua"},
		{TAPIR_IO_AHEAD, "readahead"}, {TAPIR_IO_DIRECT, "direct"},
	};
	const char *before = "";

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (!(io->flags & flags[i].bit))
			continue;
		tapir_str__addf(out, "%s%s", before, flags[i].name);
		before = ", ";
	}
	if (tapir_io__is_write_back(io))
		tapir_str__addf(out, "%swrite-back", before);
}
