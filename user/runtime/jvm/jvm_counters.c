// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See jvm_counters.h. The JVM maps the file of its counters, which is found among its mappings and
 * read again for each set of values.
 */
#include "runtime/jvm/jvm_counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "base/foreign/foreign_file.h"

struct tapir_jvm_counters {
	int fd;	       /* a handle */
	uint8_t *data; /* of TAPIR_JVM_PERFDATA_BYTES */
};

struct search {
	uint32_t tgid;
	int fd; /* or why not */
};

/* 1: found, whether or not it may be read. */
static int jvm_counters_on_mapping(const struct tapir_mapping_line *m, void *ctx)
{
	struct search *search = ctx;
	struct tapir_fs *fs;
	int fd;

	if (!m->is_shared || !m->is_readable || m->file_off || !tapir_mapping_line__is_file(m) ||
	    !strstr(m->path, "/hsperfdata_"))
		return 0;
	fd = tapir_proc__open_mapped(search->tgid, m, NULL);
	if (fd >= 0 && tapir_foreign__is_foreign(fd, &fs)) {
		close(fd);
		fd = -EMEDIUMTYPE;
	}
	search->fd = fd;
	return 1;
}

int tapir_jvm_counters__open(uint32_t tgid, struct tapir_jvm_counters **out)
{
	struct search search = {.tgid = tgid, .fd = -ENOENT};
	struct tapir_jvm_counters *c;
	int mark = tapir_diag__cnt(),
	    err = tapir_proc__each_mapping(tgid, jvm_counters_on_mapping, &search);

	tapir_diag__rewind(mark);
	if (err < 0 || search.fd < 0)
		return err < 0 ? err : search.fd;
	c = malloc(sizeof(*c));
	if (c)
		*c = (struct tapir_jvm_counters){.fd = search.fd,
						 .data = malloc(TAPIR_JVM_PERFDATA_BYTES)};
	if (c && c->data) {
		*out = c;
		return 0;
	}
	free(c);
	close(search.fd);
	return -ENOMEM;
}

void tapir_jvm_counters__close(struct tapir_jvm_counters *c)
{
	if (!c)
		return;
	close(c->fd);
	free(c->data);
	free(c);
}

int tapir_jvm_counters__read(struct tapir_jvm_counters *c, struct tapir_jvm_gauges *out)
{
	ssize_t len = tapir_foreign__pread(c->fd, c->data, TAPIR_JVM_PERFDATA_BYTES, 0);

	return len < 0 ? (int)len : tapir_jvm_perfdata__read(c->data, (size_t)len, out);
}
