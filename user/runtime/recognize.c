// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of files, as distributions and vendors give them: libpython3.11.so.1.0,
 * /usr/bin/python3.11, /usr/lib/postgresql/15/bin/postgres. A name can be wrong; it only decides
 * what is printed.
 */
#include "runtime/recognize.h"

#include <stdio.h>
#include <string.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "lore/lore.h"
#include "runtime/dotnet/dotnet.h"
#include "runtime/jvm/jvm.h"
#include "trace/record.h"

struct walk {
	struct tapir_runtime_info *out;
	bool is_sure;			     /* by a library; a program may only start another */
	const struct tapir_lore_file *found; /* the surest so far */
	bool may_be_dotnet, may_be_jvm;
};

static bool is_version(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr("0123456789.", text[i]))
			return false;
	return true;
}

/* "python3.11" and "python" are CPython; "python-config" is not. Between prefix and suffix. */
static bool find_version(const struct tapir_lore_file *file, const char *name, struct tapir_sv *out)
{
	size_t prefix_len = strlen(file->prefix);
	const char *end;

	if (strncmp(name, file->prefix, prefix_len))
		return false;
	name += prefix_len;
	end = *file->suffix ? strstr(name, file->suffix) : name + strlen(name);
	if (!end || !is_version(name, (size_t)(end - name)))
		return false;
	*out = (struct tapir_sv){name, (size_t)(end - name)};
	return true;
}

/* ".../postgresql/15/bin/postgres" */
static struct tapir_sv version_of_path(const struct tapir_lore_file *file, const char *path)
{
	const char *at = file->path_of_version ? strstr(path, file->path_of_version) : NULL;
	size_t len = 0;

	if (at) {
		at += strlen(file->path_of_version);
		len = strspn(at, "0123456789.");
	}
	return (struct tapir_sv){at, at && at[len] == '/' ? len : 0};
}

static void see_file(struct walk *w, const char *path, const char *name)
{
	tapir_lore_for_each (lore)
		for (const struct tapir_lore_file *f = lore->files; f && f->prefix; f++) {
			struct tapir_sv version;

			if (w->is_sure || (w->found && !*f->suffix) ||
			    !find_version(f, name, &version))
				continue;
			if (!version.len)
				version = version_of_path(f, path);
			w->found = f;
			w->is_sure = *f->suffix;
			snprintf(w->out->name, sizeof(w->out->name), "%s", lore->name);
			snprintf(w->out->version, sizeof(w->out->version), "%.*s",
				 (int)(version.len < 32 ? version.len : 32),
				 version.data ? version.data : "");
		}
}

static int visit(const struct tapir_mapping_line *m, void *ctx)
{
	struct walk *w = ctx;
	const char *slash = strrchr(m->path, '/');

	w->may_be_dotnet |= tapir_dotnet__is_path(m->path, m->path_len);
	if (!m->is_executable || !tapir_mapping_line__is_file(m))
		return 0;
	w->may_be_jvm |= tapir_jvm__is_libjvm_path(m->path, m->path_len);
	if (slash)
		see_file(w, m->path, slash + 1);
	return 0;
}

/* Those that are known by what is in their files. */
static void inspect(uint32_t tgid, const struct walk *w, struct tapir_runtime_info *out)
{
	struct tapir_dotnet_info dotnet;
	struct tapir_jvm_info jvm;
	int diag_cnt = tapir_diag__cnt();

	if (w->may_be_dotnet && tapir_dotnet__inspect(tgid, &dotnet) > 0) {
		bool is_aot = dotnet.kind == TAPIR_DOTNET_NATIVE_AOT;

		snprintf(out->name, sizeof(out->name), "%s", is_aot ? ".NET NativeAOT" : ".NET");
		snprintf(out->version, sizeof(out->version), "%s", dotnet.version);
		out->has_events = true;
	} else if (w->may_be_jvm && tapir_jvm__inspect(tgid, &jvm) > 0) {
		snprintf(out->name, sizeof(out->name), "OpenJDK");
		/* "17.0.15+6-Debian-1deb12u1": the distribution's part is of no use here. */
		snprintf(out->version, sizeof(out->version), "%.*s", (int)strcspn(jvm.version, "-"),
			 jvm.version);
	}
	tapir_diag__rewind(diag_cnt);
}

int tapir_runtime__recognize(uint32_t tgid, struct tapir_runtime_info *out)
{
	struct tapir_runtime_info info = {};
	struct walk w = {.out = &info};
	int err = tapir_proc__each_mapping(tgid, visit, &w);

	if (err)
		return err;
	inspect(tgid, &w, &info);
	*out = info;
	return 0;
}
