// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir-manifest - turns event manifests (ETW's XML) into what a program needs to fire and to
 * decode their events.
 *
 * With -o DIR it writes C files of each provider; with --tables, tapir's own decoder tables.
 *
 * A tool of the build: it runs in no traced process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/vec.h"
#include "decode/manifest.h"
#include "cli/manifest/emit_c.h"
#include "cli/manifest/emit_tables.h"

static const char help[] =
	"Usage: tapir-manifest MANIFEST... -o DIR [--style tapir|coreclr] [--lttng]\n"
	"       tapir-manifest --tables MANIFEST... -o OUT.c\n"
	"\n"
	"Writes for each provider of the manifests, by its symbol or name:\n"
	"  DIR/PROVIDER.h   constants, fire_EVENT() and EVENT_enabled() of each event\n"
	"  DIR/PROVIDER.c   the events, their USDT probes and layouts (link with libtapir)\n"
	"  DIR/PROVIDER.d   the same probes for dtrace(1)\n"
	"\n"
	"      --style coreclr  FireEtwEVENT() and EventEnabledEVENT(), structures as packed bytes\n"
	"      --lttng          DIR/PROVIDER_lttng.h and .c too: LTTng-UST tracepoints, to be compiled\n"
	"                       as libtapir-lttng-PROVIDER.so (see tapir_logger(3))\n"
	"      --tables         tables for tapir's own decoder instead\n"
	"  -o, --output PATH    directory (made if it is missing) or file to write\n"
	"  -h, --help           this text\n";

/* Kept until the end: arrays are identified by their addresses. */
struct manifests tapir_vec(struct tapir_manifest *);

struct request {
	struct tapir_words paths;
	const char *out;
	bool is_tables, is_coreclr, is_lttng, is_help;
};

/* ---- files ----------------------------------------------------------------------------------- */

static int write_text(const struct tapir_str *text, const char *path)
{
	tapir_autofd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int err;

	if (text->failed)
		return tapir_diag__fail(-ENOMEM, "cannot write %s: out of memory", path);
	err = fd < 0 ? -errno : tapir_file__write_all(fd, text->data, text->len);
	return err ? tapir_diag__fail(err, "cannot write %s: %s", path, tapir_errno__text(err)) : 0;
}

static int write_provider(const struct c_provider *p, const struct request *request)
{
	static const struct {
		const char *suffix;
		void (*emit)(const struct c_provider *, struct tapir_str *);
	} files[] = {{".h", emit_header},
		     {".c", emit_source},
		     {".d", emit_dtrace},
		     {"_lttng.h", emit_lttng_header},
		     {"_lttng.c", emit_lttng_source}};
	size_t cnt = request->is_lttng ? 5 : 3;
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++) {
		struct tapir_str text = {}, path = {};

		tapir_str__addf(&path, "%s/%s%s", request->out, p->id, files[i].suffix);
		files[i].emit(p, &text);
		if (text.len || text.failed)
			err = path.failed ? -ENOMEM : write_text(&text, path.data);
		tapir_str__fini(&text);
		tapir_str__fini(&path);
	}
	return err;
}

static int write_manifest(const struct tapir_manifest *manifest, const struct request *request)
{
	int err = 0;

	for (unsigned i = 0; i < tapir_manifest__provider_cnt(manifest) && !err; i++) {
		struct c_provider p;

		err = c_provider__init(&p, manifest, i, request->is_coreclr);
		if (!err)
			err = write_provider(&p, request);
		c_provider__fini(&p);
	}
	return err;
}

static int write_sources(const struct manifests *manifests, const struct request *request)
{
	int err = 0;

	if (mkdir(request->out, 0755) && errno != EEXIST)
		return tapir_diag__fail(-errno, "cannot make directory %s: %s", request->out,
					tapir_errno__text(errno));
	for (size_t i = 0; i < manifests->cnt && !err; i++)
		err = write_manifest(manifests->data[i], request);
	return err;
}

static int write_tables(const struct manifests *manifests, const char *path)
{
	struct emit_tables e = {};
	int err;

	emit_tables__begin(&e);
	for (size_t i = 0; i < manifests->cnt; i++)
		for (unsigned k = 0; k < tapir_manifest__provider_cnt(manifests->data[i]); k++)
			emit_tables__provider(&e, tapir_manifest__provider(manifests->data[i], k));
	emit_tables__end(&e);
	err = write_text(&e.out, path);
	emit_tables__fini(&e);
	return err;
}

static int read_manifests(const struct request *request, struct manifests *manifests)
{
	for (size_t i = 0; i < request->paths.cnt; i++) {
		struct tapir_manifest *manifest;
		int err = tapir_manifest__read(request->paths.data[i], &manifest);

		if (err)
			return err;
		if (!tapir_vec__push(manifests, manifest)) {
			tapir_manifest__free(manifest);
			return tapir_diag__fail(-ENOMEM, "out of memory");
		}
	}
	return 0;
}

static int run_manifest(const struct request *request)
{
	struct manifests manifests = {};
	int err = read_manifests(request, &manifests);

	if (!err && request->is_tables)
		err = write_tables(&manifests, request->out);
	else if (!err)
		err = write_sources(&manifests, request);
	for (size_t i = 0; i < manifests.cnt; i++)
		tapir_manifest__free(manifests.data[i]);
	tapir_vec__fini(&manifests);
	for (int i = 0; i < tapir_diag__cnt(); i++)
		fprintf(stderr, "tapir-manifest: %s\n", tapir_diag__line(i));
	return err ? 1 : 0;
}

/* ---- the command line ------------------------------------------------------------------------ */

/* The value of an option that needs one; NULL with a line. */
static const char *option_value(int argc, char **argv, int *at)
{
	if (*at + 1 < argc)
		return argv[++*at];
	fprintf(stderr, "tapir-manifest: option %s requires a value\n", argv[*at]);
	return NULL;
}

static bool set_style(struct request *request, const char *style)
{
	request->is_coreclr = style && !strcmp(style, "coreclr");
	if (style && !request->is_coreclr && strcmp(style, "tapir"))
		fprintf(stderr, "tapir-manifest: unknown style '%s': expected tapir or coreclr\n",
			style);
	return request->is_coreclr || (style && !strcmp(style, "tapir"));
}

static bool parse_option(struct request *request, int argc, char **argv, int *at)
{
	const char *arg = argv[*at];

	if (!strcmp(arg, "-h") || !strcmp(arg, "--help"))
		return request->is_help = true;
	if (!strcmp(arg, "--tables"))
		return request->is_tables = true;
	if (!strcmp(arg, "--lttng"))
		return request->is_lttng = true;
	if (!strcmp(arg, "--style"))
		return set_style(request, option_value(argc, argv, at));
	if (!strcmp(arg, "-o") || !strcmp(arg, "--output"))
		return (request->out = option_value(argc, argv, at)) != NULL;
	if (*arg != '-')
		return tapir_vec__push(&request->paths, arg);
	fprintf(stderr, "tapir-manifest: unknown option %s\n", arg);
	return false;
}

static bool parse_arguments(struct request *request, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!parse_option(request, argc, argv, &i))
			return false;
	if (request->is_help || (request->paths.cnt && request->out))
		return true;
	fprintf(stderr, "tapir-manifest: %s is required (tapir-manifest --help shows the usage)\n",
		request->paths.cnt ? "-o PATH" : "a manifest");
	return false;
}

int main(int argc, char **argv)
{
	struct request request = {};
	int status = 2;

	if (parse_arguments(&request, argc, argv))
		status = request.is_help ? fputs(help, stdout) < 0 : run_manifest(&request);
	tapir_vec__fini(&request.paths);
	return status;
}
