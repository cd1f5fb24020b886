// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See cpython_process.h. The files that a process maps are opened until one exports the
 * interpreter's variables: the program, or libpython, in which case the program exports none.
 */
#include "runtime/cpython/cpython_process.h"

#include <errno.h>
#include <string.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "elf/image.h"
#include "runtime/exported.h"
#include "runtime/split_code.h"

static const char *const exports[TAPIR_CPYTHON_EXPORT_CNT] = {
	[TAPIR_CPYTHON_VERSION] = "Py_Version",
	[TAPIR_CPYTHON_RUNTIME] = "_PyRuntime",
	[TAPIR_CPYTHON_LOOP] = "_PyEval_EvalFrameDefault",
	[TAPIR_CPYTHON_CODE] = "PyCode_Type",
	[TAPIR_CPYTHON_STATE] = "PyGILState_GetThisThreadState",
	[TAPIR_CPYTHON_COROUTINE] = "PyCoro_Type",
	[TAPIR_CPYTHON_GENERATOR] = "PyGen_Type",
	[TAPIR_CPYTHON_ASYNC_GENERATOR] = "PyAsyncGen_Type",
};

/* The program or the library: "python3.11", "libpython3.11.so.1.0". */
bool tapir_cpython__is_path(struct tapir_sv path)
{
	struct tapir_sv name = tapir_sv__base_name(path);

	return tapir_sv__starts_with(name, "python") ||
	       (tapir_sv__starts_with(name, "libpython") && memmem(name.data, name.len, ".so", 3));
}

struct search {
	struct tapir_cpython *out;
	uint32_t tgid;
	bool is_found;
};

/*
 * Returns true if the file was there and could not be read; else the process may have ended, or be
 * another user's.
 */
static bool is_worth_a_word(int err)
{
	return err == -EIO || err == -ENOMEM;
}

/* The program exports nothing where the interpreter is in its library. */
static int cpython_on_mapping(const struct tapir_mapping_line *m, void *ctx)
{
	struct search *s = ctx;
	struct tapir_process_memory memory = {tapir_process_memory__read_fn, &s->tgid};
	uint64_t vas[TAPIR_CPYTHON_EXPORT_CNT];
	struct tapir_elf *elf = NULL;

	if (!m->is_executable || !tapir_mapping_line__is_file(m) ||
	    !tapir_cpython__is_path(tapir_sv__of(m->path)))
		return 0;
	tapir_autofd int fd = tapir_proc__open_mapped(s->tgid, m, NULL);
	int err = fd < 0 ? fd : tapir_elf__open_fd(fd, &elf);
	if (err)
		return is_worth_a_word(err) ? err : 0;
	tapir_exported__vas(elf, m, exports, vas, TAPIR_CPYTHON_EXPORT_CNT);
	s->is_found = tapir_cpython__read(s->out, &memory, vas);
	if (s->is_found) {
		s->out->loop.end_va =
			s->out->loop.va + tapir_exported__bytes(elf, exports[TAPIR_CPYTHON_LOOP]);
		tapir_split_code__find(elf, m, &memory, &s->out->loop);
	}
	tapir_elf__free(elf);
	return s->is_found;
}

bool tapir_cpython__in(struct tapir_cpython *out, uint32_t tgid)
{
	struct search search = {.out = out, .tgid = tgid};
	int mark = tapir_diag__cnt();
	int err = tapir_proc__each_mapping(tgid, cpython_on_mapping, &search);

	tapir_diag__rewind(mark);
	if (is_worth_a_word(err))
		tapir_warn("cannot look for Python in process %u: %s (its functions have no names)",
			   tgid, tapir_errno__text(err));
	return search.is_found;
}
