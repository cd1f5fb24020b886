// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See php_process.h. The files that a process maps are opened until one exports the engine's
 * variables.
 */
#include "runtime/php/php_process.h"

#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "elf/image.h"
#include "runtime/exported.h"

bool tapir_php__is_path(struct tapir_sv path)
{
	struct tapir_sv name = tapir_sv__base_name(path);

	return tapir_sv__starts_with(name, "php") || tapir_sv__starts_with(name, "libphp");
}

struct search {
	struct tapir_php *out;
	uint32_t tgid;
};

static const char *const exports[TAPIR_PHP_EXPORT_CNT] = {
	[TAPIR_PHP_GLOBALS] = "executor_globals",
	[TAPIR_PHP_LOOP] = "execute_ex",
	[TAPIR_PHP_VERSION] = "php_version",
};

static int php_on_mapping(const struct tapir_mapping_line *m, void *ctx)
{
	const struct search *s = ctx;
	struct tapir_process_memory memory = {tapir_process_memory__read_fn,
					      (void *)(uintptr_t)&s->tgid};
	struct tapir_elf *elf = NULL;
	uint64_t vas[TAPIR_PHP_EXPORT_CNT], bytes[TAPIR_PHP_EXPORT_CNT];
	bool is_found;

	if (!m->is_executable || !tapir_mapping_line__is_file(m) ||
	    !tapir_php__is_path(tapir_sv__of(m->path)))
		return 0;
	tapir_autofd int fd = tapir_proc__open_mapped(s->tgid, m, NULL);

	if (fd < 0 || tapir_elf__open_fd(fd, &elf))
		return 0;
	tapir_exported__vas(elf, m, exports, vas, TAPIR_PHP_EXPORT_CNT);
	for (int i = 0; i < TAPIR_PHP_EXPORT_CNT; i++)
		bytes[i] = tapir_exported__bytes(elf, exports[i]);
	is_found = tapir_php__read(s->out, &memory, vas, bytes);
	tapir_elf__free(elf);
	return is_found;
}

bool tapir_php__in(struct tapir_php *out, uint32_t tgid)
{
	struct search search = {.out = out, .tgid = tgid};
	int mark = tapir_diag__cnt();
	bool is_found = tapir_proc__each_mapping(tgid, php_on_mapping, &search) > 0;

	tapir_diag__rewind(mark);
	return is_found;
}
