// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recognizes a thread by the file that its first function is mapped from, whose name identifies the
 * tapir it belongs to.
 */
#include "analyze/thread_of_tapir.h"

#include <ctype.h>
#include <string.h>

#include "tapir/coreclr.h"
#include "trace/record.h"

#define DEPTH_MAX 8 /* it does little */

/* ".../libtapir-coreclr-0123456789abcdef.so", also of a memfd, and when it was unlinked. */
static bool is_library(struct tapir_sv path)
{
	static const char begin[] = TAPIR_CORECLR_FILE_NAME, end[] = ".so";
	const size_t begin_len = sizeof(begin) - 1;
	const char *at = memmem(path.data, path.len, begin, begin_len);
	size_t len, i;

	if (!at)
		return false;
	at += begin_len;
	len = path.len - (size_t)(at - path.data);
	for (i = 0; i < len && isxdigit((unsigned char)at[i]); i++)
		;
	return i == 16 && len >= i + sizeof(end) - 1 && !memcmp(at + i, end, sizeof(end) - 1);
}

/* libc.so.6, libc-2.36.so, libpthread.so.0, ld-musl-x86_64.so.1 */
static bool starts_threads(struct tapir_sv path)
{
	const char *slash = memrchr(path.data, '/', path.len);
	const char *name = slash ? slash + 1 : path.data;
	size_t len = path.len - (size_t)(name - path.data);

	return (len > 5 && (!memcmp(name, "libc.", 5) || !memcmp(name, "libc-", 5))) ||
	       (len > 10 && !memcmp(name, "libpthread", 10)) ||
	       (len > 7 && !memcmp(name, "ld-musl", 7));
}

bool tapir_thread_of_tapir__has_stack(const struct tapir_catalog *catalog, uint32_t tgid,
				      uint64_t time_ns, uint64_t stack_id)
{
	const struct tapir_rec_stack *rec =
		stack_id ? tapir_catalog__stack(catalog, stack_id) : NULL;
	struct tapir_stack_view stack;

	if (!rec || rec->frame_cnt > DEPTH_MAX)
		return false;
	tapir_stack_view__of(&rec->h, &stack);
	for (unsigned i = rec->frame_cnt; i--;) {
		const struct tapir_rec_mapping *mapping =
			tapir_catalog__mapping(catalog, tgid, stack.frames_va[i], time_ns);
		struct tapir_mapping_view view;

		if (!mapping)
			return false;
		tapir_mapping_view__of(&mapping->h, &view);
		if (is_library(view.path))
			return true;
		if (!starts_threads(view.path))
			return false;
	}
	return false;
}
