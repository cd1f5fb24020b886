// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The files of dotnet_assembly.h, and those that a process maps: a file is read once, however often
 * it is mapped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/map.h"
#include "base/foreign/foreign_file.h"
#include "runtime/dotnet/dotnet_assembly.h"
#include "elf/pe_image.h"
#include "trace/record.h"

#define FILES_MAX 2048u

int tapir_dotnet_sources__add_file(struct tapir_event_sources *sources, int fd)
{
	tapir_autofd int content_fd = tapir_foreign__content(fd);
	tapir_autofree void *bytes = NULL;
	struct tapir_pe pe;
	size_t len = 0;
	int err = content_fd < 0 ? content_fd : tapir_pe__open(content_fd, &pe);

	if (!err)
		err = tapir_pe__read_metadata(&pe, &bytes, &len);
	return err ? err : tapir_dotnet_sources__add_metadata(sources, bytes, len);
}

/* ---- of a process ------------------------------------------------------------------------------- */

struct walk {
	uint32_t tgid;
	struct tapir_map seen; /* files, by device and inode */
	struct tapir_event_sources *sources;
};

static int see_mapping(const struct tapir_mapping_line *line, void *ctx)
{
	struct walk *walk = ctx;
	bool is_new = false;
	int mark = tapir_diag__cnt();
	tapir_autofd int fd = -1;

	if (!tapir_mapping_line__is_file(line) ||
	    !tapir_sv__ends_with(tapir_sv__of(line->path), ".dll") ||
	    !tapir_map__put(&walk->seen, tapir_hash__mix(line->dev, line->inode), &is_new) ||
	    !is_new)
		return 0;
	fd = tapir_proc__open_mapped(walk->tgid, line, NULL);
	if (fd >= 0)
		(void)tapir_dotnet_sources__add_file(walk->sources, fd);
	tapir_diag__rewind(mark);
	return walk->seen.cnt >= FILES_MAX;
}

int tapir_dotnet_sources__add_process(struct tapir_event_sources *sources, uint32_t tgid)
{
	struct walk walk = {.tgid = tgid, .sources = sources};
	int err = tapir_proc__each_mapping(tgid, see_mapping, &walk);

	tapir_map__fini(&walk.seen);
	return err < 0 ? err : 0;
}
