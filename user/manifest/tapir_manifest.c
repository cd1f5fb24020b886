// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir-manifest - turns event manifests (ETW's XML) into what a build needs.
 *
 *	tapir-manifest --tables MANIFEST... -o OUT.c	constant decoder tables
 *
 * A tool of the build: it runs in no traced process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/vec.h"
#include "decode/manifest.h"
#include "manifest/emit_tables.h"

#define USAGE "Usage: tapir-manifest --tables MANIFEST... -o OUT.c\n"

/* Kept until the end: arrays are identified by their addresses. */
struct manifests tapir_vec(struct tapir_manifest *);

static int add_manifest(struct emit_tables *e, struct manifests *kept, const char *path)
{
	struct tapir_manifest *manifest;
	int err = tapir_manifest__read(path, &manifest);

	if (err)
		return err;
	if (!tapir_vec__push(kept, manifest)) {
		tapir_manifest__free(manifest);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < tapir_manifest__provider_cnt(manifest); i++)
		emit_tables__provider(e, tapir_manifest__provider(manifest, i));
	return 0;
}

static int write_out(const struct emit_tables *e, const char *path)
{
	tapir_autofd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int err;

	if (e->out.failed)
		return -ENOMEM;
	err = fd < 0 ? -errno : tapir_file__write_all(fd, e->out.data, e->out.len);
	return err ? tapir_diag__fail(err, "Cannot write %s: %s", path, tapir_errno__name(err)) : 0;
}

static int make_tables(int cnt, char **paths, const char *out)
{
	struct emit_tables e = {};
	struct manifests kept = {};
	int err = 0;

	emit_tables__begin(&e);
	for (int i = 0; i < cnt && !err; i++)
		err = add_manifest(&e, &kept, paths[i]);
	emit_tables__end(&e);
	if (!err)
		err = write_out(&e, out);
	emit_tables__fini(&e);
	for (size_t i = 0; i < kept.cnt; i++)
		tapir_manifest__free(kept.data[i]);
	tapir_vec__fini(&kept);
	for (int i = 0; i < tapir_diag__cnt(); i++)
		fprintf(stderr, "tapir-manifest: %s\n", tapir_diag__line(i));
	return err ? 1 : 0;
}

int main(int argc, char **argv)
{
	bool is_usage = argc >= 5 && !strcmp(argv[1], "--tables") && !strcmp(argv[argc - 2], "-o");

	if (!is_usage) {
		fputs(USAGE, stderr);
		return 2;
	}
	return make_tables(argc - 4, argv + 2, argv[argc - 1]);
}
