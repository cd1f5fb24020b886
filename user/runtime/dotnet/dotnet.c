// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recognizes .NET by the files that a process maps. Versions are read from the text "@(#)Version
 * 10.0.1226.42308 @Commit: ..." in .rodata, since neither ELF nor /proc has them.
 */
#include "runtime/dotnet/dotnet.h"

#include <stdio.h>
#include <string.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "elf/image.h"
#include "runtime/exported.h"

#define MAX_SECTION_BYTES (64u << 20)

struct search {
	uint32_t tgid;
	const char *exe; /* NULL: not known */
	struct tapir_dotnet_info info;
};

static const char framework[] = "/Microsoft.NETCore.App/";

const char *tapir_dotnet_kind__text(enum tapir_dotnet_kind kind)
{
	static const char *const texts[] = {"", "CoreCLR", "CoreCLR (single file)", "NativeAOT"};

	return kind <= TAPIR_DOTNET_NATIVE_AOT ? texts[kind] : "";
}

static bool is_libcoreclr(const char *path, size_t len)
{
	return tapir_mapping_path__is_called(path, len, "libcoreclr.so");
}

bool tapir_dotnet__is_code_memory(const char *path, size_t len)
{
	static const char memfd[] = "/memfd:doublemapper";

	return len >= sizeof(memfd) - 1 && !memcmp(path, memfd, sizeof(memfd) - 1);
}

bool tapir_dotnet__is_path(const char *path, size_t len)
{
	return is_libcoreclr(path, len) || tapir_dotnet__is_code_memory(path, len);
}

/* ---- the file ------------------------------------------------------------------------------- */

static enum tapir_dotnet_kind dotnet_image_kind(struct tapir_elf *elf)
{
	if (tapir_exported__linked_va(elf, "g_dacTable"))
		return TAPIR_DOTNET_SINGLE_FILE;
	return tapir_exported__linked_va(elf, "DotNetRuntimeDebugHeader") ? TAPIR_DOTNET_NATIVE_AOT
									  : 0;
}

enum tapir_dotnet_kind tapir_dotnet__kind_of_file(const char *path)
{
	enum tapir_dotnet_kind kind = 0;
	int line_cnt = tapir_diag__cnt();
	struct tapir_elf *elf;

	if (!tapir_elf__open(path, &elf)) {
		kind = dotnet_image_kind(elf);
		tapir_elf__free(elf);
	}
	tapir_diag__rewind(line_cnt);
	return kind;
}

/* A number with dots that begins at text. */
static void copy_version(const char *text, size_t left, char *out, size_t out_bytes)
{
	size_t len = 0;

	while (len < left && len < out_bytes - 1 &&
	       ((text[len] >= '0' && text[len] <= '9') || (len && text[len] == '.')))
		len++;
	memcpy(out, text, len);
	out[len] = '\0';
}

/* "@(#)Version 10.0.1226.42308 @Commit: ...", as native files of .NET are marked. */
static void read_version(struct tapir_elf *elf, char *out, size_t out_bytes)
{
	static const char mark[] = "@(#)Version ";
	static const char *const sections[] = {".rodata", ".data"};

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]) && !*out; i++) {
		const Elf64_Shdr *section = tapir_elf__section(elf, sections[i]);
		const void *data;
		const char *p;
		size_t len;

		if (!section || section->sh_size > MAX_SECTION_BYTES ||
		    tapir_elf__data(elf, section, &data, &len))
			continue;
		p = memmem(data, len, mark, sizeof(mark) - 1);
		if (!p)
			continue;
		p += sizeof(mark) - 1;
		copy_version(p, len - (size_t)(p - (const char *)data), out, out_bytes);
	}
}

static void inspect_mapping(const struct tapir_mapping_line *m, struct search *search)
{
	tapir_autofd int fd = tapir_proc__open_mapped(search->tgid, m, NULL);
	struct tapir_dotnet_info *info = &search->info;
	const char *release = strstr(m->path, framework);
	struct tapir_elf *elf = NULL;

	if (fd < 0 || tapir_elf__open_fd(fd, &elf))
		return;
	info->kind = dotnet_image_kind(elf);
	if (info->kind == TAPIR_DOTNET_SINGLE_FILE && is_libcoreclr(m->path, m->path_len))
		info->kind = TAPIR_DOTNET_CORECLR;
	if (info->kind) {
		info->contract_va = tapir_exported__va(elf, m, "DotNetRuntimeContractDescriptor");
		snprintf(info->path, sizeof(info->path), "%s", m->path);
		if (release)
			copy_version(release + sizeof(framework) - 1,
				     strlen(release + sizeof(framework) - 1), info->version,
				     sizeof(info->version));
		if (!*info->version)
			read_version(elf, info->version, sizeof(info->version));
	}
	tapir_elf__free(elf);
}

/* ---- the process ----------------------------------------------------------------------------- */

static int dotnet_on_mapping(const struct tapir_mapping_line *m, void *ctx)
{
	struct search *search = ctx;

	if (!tapir_mapping_line__is_file(m) || !m->is_executable)
		return 0;
	if (is_libcoreclr(m->path, m->path_len) || (search->exe && !strcmp(search->exe, m->path)))
		inspect_mapping(m, search);
	return search->info.kind != 0;
}

int tapir_dotnet__inspect(uint32_t tgid, struct tapir_dotnet_info *out)
{
	struct search search = {.tgid = tgid};
	struct tapir_proc proc;
	int line_cnt, err = tapir_proc__read(tgid, &proc);

	if (err)
		return err;
	line_cnt = tapir_diag__cnt();
	search.exe = proc.exe;
	err = tapir_proc__each_mapping(tgid, dotnet_on_mapping, &search);
	tapir_proc__fini(&proc);
	if (err < 0)
		return err;
	tapir_diag__rewind(line_cnt); /* a file that is not .NET's is not a failure */
	if (search.info.kind)
		*out = search.info;
	return search.info.kind != 0;
}
