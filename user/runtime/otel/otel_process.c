// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The header is read before and after its payload; if it has changed in between, both are read
 * again.
 */
#include "runtime/otel/otel_process.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "tapir/otel_context.h"

#define TRIES	   16
#define CANDIDATES 8 /* mappings of that name that are read; a process has one */

/* ---- reading ------------------------------------------------------------------------------- */

static bool read_header(const struct tapir_process_memory *memory, uint64_t va,
			struct tapir_otel_process_header *out)
{
	return tapir_process_memory__get(memory, va, out, sizeof(*out)) &&
	       !memcmp(out->signature, TAPIR_OTEL_PROCESS_SIGNATURE, sizeof(out->signature)) &&
	       out->version == TAPIR_OTEL_PROCESS_VERSION;
}

/* One try; -EAGAIN: the process was changing it. */
static int try_copy(const struct tapir_process_memory *memory, uint64_t header_va,
		    uint64_t *published_ns, void *payload, size_t *bytes)
{
	struct tapir_otel_process_header before, after;

	if (!read_header(memory, header_va, &before))
		return -ENOENT;
	if (!before.published_at_ns)
		return -EAGAIN;
	if (before.published_at_ns == *published_ns)
		return 0;
	if (before.payload_bytes > TAPIR_RESOURCE_MAX_BYTES)
		return -EFBIG;
	if (before.payload_bytes &&
	    !tapir_process_memory__get(memory, before.payload_va, payload, before.payload_bytes)) {
		/* The old one may be gone because there is a new one. */
		if (read_header(memory, header_va, &after) &&
		    after.published_at_ns == before.published_at_ns)
			return -EFAULT;
		return -EAGAIN;
	}
	if (!read_header(memory, header_va, &after))
		return -ENOENT;
	if (memcmp(&before, &after, sizeof(before)) != 0)
		return -EAGAIN;
	*published_ns = before.published_at_ns;
	*bytes = before.payload_bytes;
	return 1;
}

int tapir_otel_process__copy(const struct tapir_process_memory *memory, uint64_t header_va,
			     uint64_t *published_ns, void *payload, size_t *bytes)
{
	int err = -EAGAIN;

	for (int i = 0; i < TRIES && err == -EAGAIN; i++)
		err = try_copy(memory, header_va, published_ns, payload, bytes);
	return err;
}

/* ---- in the helper ------------------------------------------------------------------------- */

static size_t read_process(void *ctx, uint64_t va, void *out, size_t bytes)
{
	const struct tapir_otel_process *p = ctx;

	return tapir_process_memory__read(p->tgid, va, out, bytes);
}

/* A tapir_helper_fn: *value is when it was published; the payload is in *out_fd. */
static int copy_in_helper(const void *in, const int *fds, uint64_t *value, int *out_fd)
{
	static char payload[TAPIR_RESOURCE_MAX_BYTES];
	struct tapir_otel_process p;
	const struct tapir_process_memory memory = {read_process, &p};
	size_t bytes = 0;
	int got;

	(void)fds;
	memcpy(&p, in, sizeof(p));
	got = tapir_otel_process__copy(&memory, p.header_va, &p.published_ns, payload, &bytes);
	*value = p.published_ns;
	if (got < 1)
		return got;
	*out_fd = memfd_create("tapir-resource", MFD_CLOEXEC);
	if (*out_fd < 0)
		return -errno;
	return write(*out_fd, payload, bytes) == (ssize_t)bytes ? 0 : -EIO;
}

/* ---- of a process -------------------------------------------------------------------------- */

bool tapir_otel_process__is_header(const char *path)
{
	static const char *const names[] = {"[anon_shmem:OTEL_CTX]", "/memfd:OTEL_CTX",
					    "[anon:OTEL_CTX]"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(path, names[i], strlen(names[i])))
			return true;
	return false;
}

struct search {
	uint64_t found_va[CANDIDATES];
	unsigned cnt;
};

static int note_header(const struct tapir_mapping_line *m, void *ctx)
{
	struct search *search = ctx;

	if (tapir_otel_process__is_header(m->path))
		search->found_va[search->cnt++] = m->start_va;
	return search->cnt == CANDIDATES;
}

static int read_copy(int fd, struct tapir_str *payload)
{
	tapir_str__clear(payload);
	if (!tapir_str__reserve(payload, TAPIR_RESOURCE_MAX_BYTES))
		return -ENOMEM;
	for (;;) {
		ssize_t n = pread(fd, payload->data + payload->len,
				  TAPIR_RESOURCE_MAX_BYTES - payload->len, (off_t)payload->len);

		if (n <= 0)
			return n < 0 ? -errno : 1;
		payload->len += (size_t)n;
	}
}

static int copy_if_new(struct tapir_otel_process *p, struct tapir_helper *helper, uint64_t limit_ns,
		       struct tapir_str *payload)
{
	struct tapir_helper_call call = {
		.fn = copy_in_helper, .in = p, .in_bytes = sizeof(*p), .limit_ns = limit_ns};
	int err = helper->sock < 0 ? tapir_helper__start(helper) : 0;
	tapir_autofd int fd = -1;

	if (err)
		return err;
	err = tapir_helper__call(helper, &call, tapir_clock__now_ns() + limit_ns);
	fd = call.out_fd;
	if (err || fd < 0)
		return err;
	p->published_ns = call.value;
	return read_copy(fd, payload);
}

/* The first of its mappings of that name that begins with a header. */
static int find_context(struct tapir_otel_process *p, struct tapir_helper *helper,
			uint64_t limit_ns, struct tapir_str *payload)
{
	struct search search = {};
	int mark = tapir_diag__cnt(), got = -ENOENT;

	(void)tapir_proc__each_mapping(p->tgid, note_header, &search);
	tapir_diag__rewind(mark);
	for (unsigned i = 0; i < search.cnt && got == -ENOENT; i++) {
		p->header_va = search.found_va[i];
		p->published_ns = 0;
		got = copy_if_new(p, helper, limit_ns, payload);
	}
	return got;
}

int tapir_otel_process__read(struct tapir_otel_process *p, struct tapir_helper *helper,
			     uint64_t limit_ns, struct tapir_str *payload)
{
	int mark = tapir_diag__cnt(), got = -ENOENT;

	if (p->header_va)
		got = copy_if_new(p, helper, limit_ns, payload);
	if (got == -ENOENT)
		got = find_context(p, helper, limit_ns, payload);
	if (got == -ENOENT)
		p->header_va = p->published_ns = 0;
	tapir_diag__rewind(mark);
	return got == -ENOENT ? 0 : got;
}
