// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * NAME.runtimeconfig.json is in the directory of NAME.dll, which the process maps. Assemblies of
 * the shared frameworks have none: the few other mapped assemblies are all tried.
 */
#include "runtime/dotnet/dotnet_config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/foreign/foreign_file.h"
#include "base/str.h"
#include "trace/record.h"

#define CONFIG_MAX_BYTES (256u << 10)
#define FILES_MAX	 256u

/* Past the key's end: a colon, and the value with or without quotes. */
static bool is_false(const char *at, const char *end)
{
	while (at < end && strchr("\" \t\r\n:", *at))
		at++;
	return (size_t)(end - at) >= 5 && !strncasecmp(at, "false", 5);
}

bool tapir_dotnet_config__switches_off(const char *text, size_t len)
{
	const char key[] = "\"" TAPIR_DOTNET_EVENT_SOURCES "\"";
	const char *at = memmem(text, len, key, sizeof(key) - 1);

	return at && is_false(at + sizeof(key) - 1, text + len);
}

struct walk {
	uint32_t tgid;
	int root_fd;
	unsigned file_cnt;
	uint64_t last_inode; /* a file is mapped in several pieces, one after the other */
	bool is_off;
};

static bool file_switches_off(const struct walk *walk, const char *path)
{
	tapir_autofd int handle = tapir_foreign__open(walk->root_fd, path, walk->tgid);
	tapir_autofree char *text = NULL;
	size_t len = 0;
	tapir_autofd int fd = handle < 0 ? -1 : tapir_foreign__content(handle);

	return fd >= 0 && !tapir_file__read_fd(fd, CONFIG_MAX_BYTES, &text, &len) &&
	       tapir_dotnet_config__switches_off(text, len);
}

static int see_mapping(const struct tapir_mapping_line *line, void *ctx)
{
	struct walk *walk = ctx;
	char path[TAPIR_FOREIGN_MAX_PATH_BYTES];
	size_t len;

	if (!tapir_mapping_line__is_file(line) || line->inode == walk->last_inode ||
	    !tapir_sv__ends_with(tapir_sv__of(line->path), ".dll") ||
	    strstr(line->path, "/shared/Microsoft."))
		return 0;
	walk->last_inode = line->inode;
	len = strlen(line->path) - 4;
	if (snprintf(path, sizeof(path), "%.*s.runtimeconfig.json", (int)len, line->path) >=
	    (int)sizeof(path))
		return 0;
	walk->is_off = file_switches_off(walk, path);
	return walk->is_off || ++walk->file_cnt >= FILES_MAX;
}

bool tapir_dotnet_config__has_no_event_sources(uint32_t tgid)
{
	struct walk walk = {.tgid = tgid, .root_fd = tapir_foreign__root(tgid)};
	int mark = tapir_diag__cnt();

	if (walk.root_fd >= 0) {
		(void)tapir_proc__each_mapping(tgid, see_mapping, &walk);
		close(walk.root_fd);
	}
	tapir_diag__rewind(mark);
	return walk.is_off;
}
