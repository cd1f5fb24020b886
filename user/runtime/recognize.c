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
#include "spec/runtime_db/lore.h"
#include "trace/record.h"

struct walk {
	struct tapir_runtime_info *out;
	bool is_sure;			     /* by a library; a program may only start another */
	const struct tapir_lore_file *found; /* the surest so far */
	unsigned may_be;		     /* a bit for each of tapir_runtimes */
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

static int recognize_mapping(const struct tapir_mapping_line *m, void *ctx)
{
	struct walk *w = ctx;
	const char *slash = strrchr(m->path, '/');

	for (unsigned i = 0; tapir_runtimes[i]; i++)
		if (tapir_runtimes[i]->is_path && tapir_runtimes[i]->is_path(m->path, m->path_len))
			w->may_be |= 1u << i;
	if (slash && m->is_executable && tapir_mapping_line__is_file(m))
		see_file(w, m->path, slash + 1);
	return 0;
}

/* Recognizes runtimes by what is in their files. */
static void inspect_mappings(uint32_t tgid, const struct walk *w, struct tapir_runtime_info *out)
{
	int mark = tapir_diag__cnt();

	for (unsigned i = 0; tapir_runtimes[i]; i++)
		if (w->may_be & 1u << i && tapir_runtimes[i]->inspect(tgid, out) > 0)
			break;
	tapir_diag__rewind(mark);
}

int tapir_runtime__recognize_in(const struct tapir_mappings *mappings,
				struct tapir_runtime_info *out)
{
	struct tapir_runtime_info info = {};
	struct walk w = {.out = &info};
	int err = tapir_mappings__each(mappings, recognize_mapping, &w);

	if (err)
		return err;
	inspect_mappings(mappings->tgid, &w, &info);
	*out = info;
	return 0;
}

int tapir_runtime__recognize(uint32_t tgid, struct tapir_runtime_info *out)
{
	struct tapir_mappings mappings = {};
	int err = tapir_mappings__read(tgid, &mappings);

	if (!err)
		err = tapir_runtime__recognize_in(&mappings, out);
	tapir_mappings__fini(&mappings);
	return err;
}
