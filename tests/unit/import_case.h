/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import_case.h - bytes of a file of another tool, imported into a recording in memory. */
#ifndef TAPIR_TESTS_IMPORT_CASE_H
#define TAPIR_TESTS_IMPORT_CASE_H

#include <sys/mman.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/str.h"
#include "output/import/import.h"
#include "trace/reader.h"

struct made {
	int fd; /* the recording */
	struct tapir_writer *w;
	struct tapir_import_result result;
};

static inline int open_made(void *ctx, uint64_t created_ns, uint64_t created_utc_ns,
			    struct tapir_writer **out)
{
	struct made *made = ctx;
	struct tapir_writer_opts opts = {.sz = sizeof(opts),
					 .path = "made",
					 .has_fd = true,
					 .fd = made->fd,
					 .created_ns = created_ns,
					 .created_utc_ns = created_utc_ns};
	int err = tapir_writer__open(&opts, &made->w);

	*out = made->w;
	return err;
}

static inline int never(void *ctx)
{
	(void)ctx;
	return 0;
}

/* Imports bytes, which a file in memory holds; made->fd is open afterwards. */
static inline int import_bytes(const void *bytes, size_t len, struct made *made)
{
	int fd = memfd_create("imported", 0), err;
	const struct tapir_import_input input = {.fd = fd, .name = "x", .bytes = len};
	const struct tapir_import_opts opts = {open_made, never, made};

	*made = (struct made){.fd = memfd_create("made", 0)};
	assert_int_equal(tapir_file__write_all(fd, bytes, len), 0);
	err = tapir_import__file(&input, &opts, &made->result);
	if (made->w) {
		if (!err)
			err = tapir_writer__close(made->w);
		tapir_writer__free(made->w);
	}
	close(fd);
	return err;
}

/*
 * The file cut after each of its first bytes, then after every step-th: a recording, or one line
 * that says why not.
 */
static inline void check_cuts(const char *path, size_t first, size_t step)
{
	size_t len;
	char *bytes;

	assert_int_equal(tapir_file__read(path, 1 << 20, &bytes, &len), 0);
	for (size_t cut = 0; cut < len; cut += cut < first ? 1 : step) {
		struct made made;
		int err = import_bytes(bytes, cut, &made);

		assert_int_equal(tapir_diag__cnt(), err != 0);
		tapir_diag__clear();
		close(made.fd);
	}
	free(bytes);
}

/* Whatever one of its bytes becomes, the import ends, and what it made can be read. */
static inline void check_damage(const char *path, size_t first, size_t step,
				void (*read)(const struct made *made, struct tapir_str *out))
{
	size_t len;
	char *bytes;

	assert_int_equal(tapir_file__read(path, 1 << 20, &bytes, &len), 0);
	for (size_t at = 0; at < len; at += at < first ? 1 : step) {
		struct tapir_str seen = {};
		struct made made;

		bytes[at] ^= (char)0xff;
		if (!import_bytes(bytes, len, &made))
			read(&made, &seen);
		bytes[at] ^= (char)0xff;
		tapir_str__fini(&seen);
		tapir_diag__clear();
		close(made.fd);
	}
	free(bytes);
}

#endif
