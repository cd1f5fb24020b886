// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recognizes HotSpot by what libjvm.so exports, and reads its version from a text in .rodata: "...
 * VM (VERSION) for linux-amd64 JRE (VERSION), built on ..." (abstract_vm_version.cpp).
 */
#include "runtime/jvm/jvm.h"

#include <string.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "elf/image.h"
#include "runtime/exported.h"

#define MAX_RODATA_BYTES (64u << 20) /* JDK 25 has 6 MB */

struct search {
	uint32_t tgid;
	struct tapir_jvm_info info;
	bool is_hotspot;
};

bool tapir_jvm__is_libjvm_path(const char *path, size_t len)
{
	return tapir_mapping_path__is_called(path, len, "libjvm.so");
}

/* ---- the file ------------------------------------------------------------------------------- */

/* "... VM (VERSION) for linux-amd64 JRE (VERSION), built on ...": abstract_vm_version.cpp. */
static void read_version(struct tapir_elf *elf, char *out, size_t out_bytes)
{
	static const char mark[] = " JRE (";
	const Elf64_Shdr *section = tapir_elf__section(elf, ".rodata");
	const void *data;
	const char *p, *end;
	size_t len;

	if (!section || section->sh_size > MAX_RODATA_BYTES ||
	    tapir_elf__data(elf, section, &data, &len))
		return;
	p = memmem(data, len, mark, sizeof(mark) - 1);
	if (!p)
		return;
	p += sizeof(mark) - 1;
	len -= (size_t)(p - (const char *)data);
	end = memchr(p, ')', len < out_bytes ? len : out_bytes);
	if (!end)
		return;
	for (const char *c = p; c < end; c++)
		if (*c <= ' ' || *c > '~')
			return;
	memcpy(out, p, (size_t)(end - p));
	out[end - p] = '\0';
}

static void inspect_mapping(const struct tapir_mapping_line *m, struct search *search)
{
	tapir_autofd int fd = tapir_proc__open_mapped(search->tgid, m, NULL);
	struct tapir_elf *elf = NULL;

	if (fd < 0 || tapir_elf__open_fd(fd, &elf))
		return;
	if (tapir_exported__linked_va(elf, "gHotSpotVMStructs")) {
		search->is_hotspot = true;
		snprintf(search->info.path, sizeof(search->info.path), "%s", m->path);
		read_version(elf, search->info.version, sizeof(search->info.version));
	}
	tapir_elf__free(elf);
}

/* ---- the process ----------------------------------------------------------------------------- */

/* /tmp/hsperfdata_USER/PID, shared; its path is not checked further. */
static bool is_perfdata(const struct tapir_mapping_line *m)
{
	return m->is_shared && m->is_readable && !m->file_off && strstr(m->path, "/hsperfdata_");
}

static int jvm_on_mapping(const struct tapir_mapping_line *m, void *ctx)
{
	struct search *search = ctx;

	if (!tapir_mapping_line__is_file(m))
		return 0;
	if (is_perfdata(m) && !search->info.perfdata_va) {
		search->info.perfdata_va = m->start_va;
		search->info.perfdata_bytes = m->end_va - m->start_va;
	}
	if (m->is_executable && !search->is_hotspot &&
	    tapir_jvm__is_libjvm_path(m->path, m->path_len))
		inspect_mapping(m, search);
	return 0;
}

int tapir_jvm__inspect(uint32_t tgid, struct tapir_jvm_info *out)
{
	struct search search = {.tgid = tgid};
	int line_cnt = tapir_diag__cnt();
	int err = tapir_proc__each_mapping(tgid, jvm_on_mapping, &search);

	if (err)
		return err;
	tapir_diag__rewind(line_cnt); /* a file that is no JVM's is no failure */
	if (search.is_hotspot)
		*out = search.info;
	return search.is_hotspot;
}
