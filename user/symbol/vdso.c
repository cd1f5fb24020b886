// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Copied from our own memory into a file without a name, so that it is read as any other. Programs
 * of 32 bits have another vdso, below 4 GB.
 */
#include "symbol/vdso.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "elf/image.h"

#define MAX_BYTES     (1u << 20)
#define MIN_VA_64_BIT (1ull << 32) /* programs of 32 bits, and of x32, have theirs below */

static struct tapir_vdso own = {.fd = -1};

static bool is_vdso(const struct tapir_mapping_line *line)
{
	return !line->inode && !strcmp(line->path, "[vdso]");
}

static int note_mapping(const struct tapir_mapping_line *line, void *ctx)
{
	struct tapir_mapping_line *found = ctx;

	if (!is_vdso(line))
		return 0;
	*found = *line;
	return 1;
}

static bool identify(struct tapir_vdso *vdso)
{
	struct tapir_elf *elf;
	const uint8_t *build_id;
	size_t len = 0;

	if (tapir_elf__open_fd(vdso->fd, &elf))
		return false;
	/* Without a build ID its file_id would be of the copy: another in every recording. */
	build_id = tapir_elf__build_id(elf, &len);
	if (build_id && len <= sizeof(vdso->build_id)) {
		memcpy(vdso->build_id, build_id, len);
		vdso->build_id_bytes = (uint8_t)len;
		vdso->file_id = tapir_elf__file_id(elf);
	}
	tapir_elf__free(elf);
	return vdso->build_id_bytes > 0;
}

static void copy_own(void)
{
	struct tapir_mapping_line line = {};
	struct tapir_vdso vdso = {};
	int mark = tapir_diag__cnt();

	if (tapir_proc__each_mapping((uint32_t)getpid(), note_mapping, &line) != 1)
		return;
	vdso.bytes = line.end_va - line.start_va;
	vdso.fd = memfd_create("vdso", MFD_CLOEXEC);
	if (vdso.fd >= 0 && vdso.bytes <= MAX_BYTES &&
	    !tapir_file__write_all(vdso.fd, (const void *)(uintptr_t)line.start_va, vdso.bytes) &&
	    identify(&vdso))
		own = vdso;
	else if (vdso.fd >= 0)
		close(vdso.fd);
	tapir_diag__rewind(mark);
}

const struct tapir_vdso *tapir_vdso__get(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, copy_own);
	return own.fd >= 0 ? &own : NULL;
}

const struct tapir_vdso *tapir_vdso__at(const struct tapir_mapping_line *line)
{
	const struct tapir_vdso *vdso;

	if (!is_vdso(line) || line->start_va < MIN_VA_64_BIT || line->file_off)
		return NULL;
	vdso = tapir_vdso__get();
	return vdso && line->end_va - line->start_va == vdso->bytes ? vdso : NULL;
}
