// SPDX-License-Identifier: GPL-2.0-or-later
/* A flight recording of a JVM, whatever is in it, as a recording, which is read to its end. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "output/import/import_jfr.h"
#include "trace/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

struct out {
	int fd;
	struct tapir_writer *w;
};

static int open_out(void *ctx, uint64_t created_ns, uint64_t created_utc_ns,
		    struct tapir_writer **w)
{
	struct out *out = ctx;
	struct tapir_writer_opts opts = {.sz = sizeof(opts),
					 .path = "out",
					 .plain = true,
					 .has_fd = true,
					 .fd = out->fd,
					 .created_ns = created_ns,
					 .created_utc_ns = created_utc_ns};
	int err = tapir_writer__open(&opts, &out->w);

	*w = out->w;
	return err;
}

static int never(void *ctx)
{
	(void)ctx;
	return 0;
}

static void read_all(int fd)
{
	const struct tapir_rec *rec;
	struct tapir_reader *r;

	if (tapir_reader__open_fd(fd, "out", &r))
		abort();
	while (tapir_reader__next(r, &rec) > 0)
		;
	tapir_reader__close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	int in = memfd_create("in", 0);
	struct out out = {.fd = memfd_create("out", 0)};
	const struct tapir_import_input file = {.fd = in, .name = "in", .bytes = len};
	const struct tapir_import_opts opts = {open_out, never, &out};
	struct tapir_import_result result = {};
	int err;

	if (in < 0 || out.fd < 0 || tapir_file__write_all(in, input, len))
		abort();
	err = tapir_import_jfr(&file, &opts, &result);
	if (out.w && !err && tapir_writer__close(out.w))
		abort();
	tapir_writer__free(out.w);
	if (out.w && !err)
		read_all(out.fd);
	tapir_diag__clear();
	close(in);
	close(out.fd);
	return 0;
}
