// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads a process's environment and descriptors. The runtime's knobs have two spellings, DOTNET_
 * and COMPlus_, and numbers that are hexadecimal without 0x.
 */
#include "runtime/dotnet/dotnet_facts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"

#define ENVIRON_MAX_BYTES (4u << 20) /* the kernel lets arguments and environment have 6 MB */
#define FDS_MAX		  65536

/* The value, if text is one of the knob's two spellings. */
static const char *knob(const char *text, const char *name)
{
	static const char *const prefixes[] = {"DOTNET_", "COMPlus_"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t prefix = strlen(prefixes[i]), len = strlen(name);

		/* The '=' makes sure that the name is not the beginning of a longer one. */
		if (!strncmp(text, prefixes[i], prefix) && !strncmp(text + prefix, name, len) &&
		    text[prefix + len] == '=')
			return text + prefix + len + 1;
	}
	return NULL;
}

/* Knobs are hexadecimal. */
static bool is_zero(const char *value)
{
	char *end;

	return value && *value && !strtoul(value, &end, 16) && !*end;
}

static void take_dir(const char *value, char *out)
{
	if (value && *value == '/' && strlen(value) < TAPIR_PEER_DIR_BYTES)
		snprintf(out, TAPIR_PEER_DIR_BYTES, "%s", value);
}

/* "path[,connect|listen][,suspend|nosuspend];...": a port suspends unless it says not. */
static bool has_suspending_port(const char *value)
{
	for (size_t len; value && *value; value += len + (value[len] == ';')) {
		len = strcspn(value, ";");
		if (len && !memmem(value, len, ",nosuspend", 10))
			return true;
	}
	return false;
}

static void take_variable(struct tapir_dotnet_facts *facts, const char *text)
{
	const char *value;

	if (!strncmp(text, "TMPDIR=", 7))
		take_dir(text + 7, facts->tmp_dir);
	take_dir(knob(text, "PerfMapJitDumpPath"), facts->dump_dir);
	facts->is_off |= is_zero(knob(text, "EnableDiagnostics")) ||
			 is_zero(knob(text, "EnableDiagnostics_IPC"));
	value = knob(text, "DefaultDiagnosticPortSuspend");
	facts->waits_at_start |= (value && *value && !is_zero(value)) ||
				 has_suspending_port(knob(text, "DiagnosticPorts"));
	value = knob(text, "PerfMapEnabled");
	facts->writes_maps |= value && *value && !is_zero(value);
}

/* text ends with a NUL after its len bytes. */
void tapir_dotnet_facts__read_environ(struct tapir_dotnet_facts *facts, const char *text,
				      size_t len)
{
	strcpy(facts->tmp_dir, "/tmp");
	strcpy(facts->dump_dir, "/tmp");
	for (size_t at = 0; at < len; at += strlen(text + at) + 1)
		take_variable(facts, text + at);
}

int tapir_dotnet_facts__read(uint32_t tgid, struct tapir_dotnet_facts *out)
{
	struct tapir_dotnet_facts facts = {};
	tapir_autofree char *text = NULL;
	struct tapir_proc proc;
	size_t len = 0;
	int err = tapir_peer_facts__read(tgid, "query the .NET runtime", &facts.peer);

	if (err)
		return err;
	err = tapir_proc__read(tgid, &proc);
	if (err) {
		tapir_dotnet_facts__fini(&facts);
		return err;
	}
	facts.start_ns = proc.start_ns;
	tapir_proc__fini(&proc);
	if (tapir_peer_facts__read_file(&facts.peer, "environ", ENVIRON_MAX_BYTES, &text, &len))
		len = 0; /* as if it had no environment */
	tapir_dotnet_facts__read_environ(&facts, text, len);
	*out = facts;
	return 0;
}

void tapir_dotnet_facts__fini(struct tapir_dotnet_facts *facts)
{
	tapir_peer_facts__fini(&facts->peer);
}

/* ---- whether it has started --------------------------------------------------------------- */

#define CORE_LIBRARY "System.Private.CoreLib.dll"

struct loaded {
	bool runtime, core_library;
};

static int see_file(const struct tapir_mapping_line *line, void *ctx)
{
	struct loaded *loaded = ctx;

	loaded->runtime |= line->path && strstr(line->path, "/libcoreclr.so");
	loaded->core_library |= line->path && strstr(line->path, "/" CORE_LIBRARY);
	return 0;
}

bool tapir_dotnet_facts__is_suspended(const struct tapir_dotnet_facts *facts)
{
	struct loaded loaded = {};
	int mark = tapir_diag__cnt(), err = 0;

	if (facts->waits_at_start)
		err = tapir_proc__each_mapping(facts->peer.tgid, see_file, &loaded);
	tapir_diag__rewind(mark);
	/* A single file has both within it. */
	return !err && loaded.runtime && !loaded.core_library;
}

/* ---- what it has open -------------------------------------------------------------------- */

struct map_names {
	char jitdump[32], perf_map[32];
};

static int is_map(const char *fd, const char *target, void *ctx)
{
	const struct map_names *maps = ctx;
	const char *slash = strrchr(target, '/');
	const char *name = slash ? slash + 1 : target;

	(void)fd;
	return !strcmp(name, maps->jitdump) || !strcmp(name, maps->perf_map);
}

bool tapir_dotnet_facts__has_open_map(const struct tapir_dotnet_facts *facts)
{
	struct map_names maps;

	snprintf(maps.jitdump, sizeof(maps.jitdump), "jit-%u.dump", facts->peer.ns_tgid);
	snprintf(maps.perf_map, sizeof(maps.perf_map), "perf-%u.map", facts->peer.ns_tgid);
	return tapir_proc__each_fd_link(tapir_file__open_dir(facts->peer.proc_fd, "fd", 0), FDS_MAX,
					is_map, &maps) > 0;
}
