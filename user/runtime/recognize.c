// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of files, as distributions and vendors give them: libpython3.11.so.1.0,
 * /usr/bin/python3.11, /usr/lib/postgresql/15/bin/postgres. A name can lie; it decides what is
 * printed, and nothing else.
 */
#include "runtime/recognize.h"

#include <stdio.h>
#include <string.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "runtime/dotnet.h"
#include "runtime/jvm.h"

/* prefix and suffix of a file's name; between them stands the version, if anything does. */
struct known_file {
	const char *runtime, *prefix, *suffix;
};

/* Exact names first. A library is surer than a program, which may only start another. */
static const struct known_file known_files[] = {
	{"CPython", "libpython", ".so"},
	{"Ruby", "libruby-", ".so"},
	{"PHP", "libphp", ".so"},
	{"CPython", "python", ""},
	{"Ruby", "ruby", ""},
	{"PHP", "php-fpm", ""},
	{"PHP", "php", ""},
	{"Node.js", "node", ""},
	{"PostgreSQL", "postgres", ""},
	{"MySQL", "mysqld", ""},
	{"MariaDB", "mariadbd", ""},
	{"Erlang", "beam.smp", ""},
	{"Perl", "perl", ""},
};

struct walk {
	struct tapir_runtime_info *out;
	size_t best; /* the index of what was found; lower is surer */
	bool may_be_dotnet, may_be_jvm;
};

static bool is_version(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr("0123456789.", text[i]))
			return false;
	return true;
}

/* "python3.11" and "python" are CPython; "python-config" is not. */
static bool is_known(const struct known_file *known, const char *name, struct walk *w)
{
	size_t prefix_len = strlen(known->prefix), len;
	const char *end;

	if (strncmp(name, known->prefix, prefix_len))
		return false;
	name += prefix_len;
	end = *known->suffix ? strstr(name, known->suffix) : name + strlen(name);
	len = end ? (size_t)(end - name) : 0;
	if (!end || !is_version(name, len))
		return false;
	snprintf(w->out->name, sizeof(w->out->name), "%s", known->runtime);
	snprintf(w->out->version, sizeof(w->out->version), "%.*s", (int)(len < 32 ? len : 32),
		 name);
	return true;
}

/* ".../postgresql/15/bin/postgres" */
static void add_version_of_path(const char *path, struct tapir_runtime_info *out)
{
	const char *at = strstr(path, "/postgresql/");
	size_t len;

	if (!at || *out->version)
		return;
	at += strlen("/postgresql/");
	len = strspn(at, "0123456789.");
	if (at[len] == '/')
		snprintf(out->version, sizeof(out->version), "%.*s", (int)(len < 32 ? len : 32),
			 at);
}

static int visit(const struct tapir_mapping_line *m, void *ctx)
{
	struct walk *w = ctx;
	const char *slash = strrchr(m->path, '/');

	w->may_be_dotnet |= tapir_dotnet__is_path(m->path, m->path_len);
	if (!m->is_executable || !tapir_mapping_line__is_file(m))
		return 0;
	w->may_be_jvm |= tapir_jvm__is_libjvm_path(m->path, m->path_len);
	for (size_t i = 0; slash && i < w->best; i++)
		if (is_known(&known_files[i], slash + 1, w)) {
			w->best = i;
			add_version_of_path(m->path, w->out);
		}
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
	struct walk w = {.out = &info, .best = sizeof(known_files) / sizeof(known_files[0])};
	int err = tapir_proc__each_mapping(tgid, visit, &w);

	if (err)
		return err;
	inspect(tgid, &w, &info);
	*out = info;
	return 0;
}
