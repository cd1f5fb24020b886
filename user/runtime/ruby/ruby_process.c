// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See ruby_process.h. The files that a process maps are opened until one exports the virtual
 * machine's functions.
 */
#include "runtime/ruby/ruby_process.h"

#include <string.h>

#include "attach/proc.h"
#include "attach/unwind/functions.h"
#include "base/diag.h"
#include "base/file.h"
#include "elf/image.h"
#include "runtime/exported.h"

static const char *const exports[TAPIR_RUBY_EXPORT_CNT] = {
	[TAPIR_RUBY_VERSION] = "ruby_version", [TAPIR_RUBY_LOOP] = "rb_vm_exec",
	[TAPIR_RUBY_EVAL] = "rb_iseq_eval",    [TAPIR_RUBY_THREAD] = "rb_thread_current",
	[TAPIR_RUBY_SYMBOL] = "rb_id2str",
};

bool tapir_ruby__is_path(struct tapir_sv path)
{
	struct tapir_sv name = tapir_sv__base_name(path);

	return tapir_sv__starts_with(name, "ruby") || tapir_sv__starts_with(name, "libruby");
}

struct search {
	struct tapir_ruby *out;
	uint32_t tgid;
};

/* The file's unwind data have where the loop begins and ends, if it is not exported. */
static bool find_end(struct tapir_elf *elf, const struct tapir_mapping_line *m,
		     struct tapir_interp_loop *loop)
{
	uint64_t bytes = tapir_exported__bytes(elf, exports[TAPIR_RUBY_LOOP]);
	struct tapir_function_range range = {};
	struct tapir_functions *functions;

	if (!bytes && !tapir_functions__load(elf, &functions)) {
		uint64_t off = loop->va - m->start_va + m->file_off;

		if (tapir_functions__find(functions, off, &range) && range.start_off == off)
			bytes = range.size;
		tapir_functions__free(functions);
	}
	loop->end_va = loop->va + bytes;
	return bytes;
}

static int ruby_on_mapping(const struct tapir_mapping_line *m, void *ctx)
{
	const struct search *s = ctx;
	struct tapir_process_memory memory = {tapir_process_memory__read_fn,
					      (void *)(uintptr_t)&s->tgid};
	uint64_t vas[TAPIR_RUBY_EXPORT_CNT];
	struct tapir_elf *elf = NULL;
	bool is_found;

	if (!m->is_executable || !tapir_mapping_line__is_file(m) ||
	    !tapir_ruby__is_path(tapir_sv__of(m->path)))
		return 0;
	tapir_autofd int fd = tapir_proc__open_mapped(s->tgid, m, NULL);

	if (fd < 0 || tapir_elf__open_fd(fd, &elf))
		return 0;
	tapir_exported__vas(elf, m, exports, vas, TAPIR_RUBY_EXPORT_CNT);
	is_found = tapir_ruby__read(s->out, &memory, vas) && find_end(elf, m, &s->out->loop);
	tapir_elf__free(elf);
	return is_found;
}

bool tapir_ruby__in(struct tapir_ruby *out, uint32_t tgid)
{
	struct search search = {.out = out, .tgid = tgid};
	int mark = tapir_diag__cnt();
	bool is_found = tapir_proc__each_mapping(tgid, ruby_on_mapping, &search) > 0;

	tapir_diag__rewind(mark);
	return is_found;
}
