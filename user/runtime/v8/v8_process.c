// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * V8's constants (v8dbg_*) are exported variables for debuggers. Their addresses are in the file's
 * dynamic symbols, and their values are read from the process, which need not be stopped for it.
 */
#include "runtime/v8/v8_process.h"

#include <string.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "elf/image.h"
#include "runtime/exported.h"
#include "runtime/started_with.h"

#define PREFIX "v8dbg_"

static const struct tapir_lore_condition writes_names = {
	.options = (const char *const[]){"--perf-basic-prof", "--perf_basic_prof", "--perf-prof",
					 "--perf_prof", NULL},
	.option_variables = (const char *const[]){"NODE_OPTIONS", NULL},
};

bool tapir_v8__is_path(struct tapir_sv path)
{
	struct tapir_sv name = tapir_sv__base_name(path);

	return tapir_sv__is(name, "node") || tapir_sv__is(name, "nodejs") ||
	       tapir_sv__starts_with(name, "libnode.so");
}

struct search {
	struct tapir_v8 *out;
	uint32_t tgid;
	bool is_found;
};

static void read_constant(struct search *s, const Elf64_Sym *sym, const char *name, uint64_t bias)
{
	enum tapir_v8_constant constant = tapir_v8__constant(name + strlen(PREFIX));

	if (constant < TAPIR_V8_CONSTANT_CNT)
		(void)tapir_process_memory__read(s->tgid, sym->st_value + bias,
						 &s->out->constants[constant],
						 sizeof(s->out->constants[constant]));
}

static bool read_constants(struct search *s, struct tapir_elf *elf,
			   const struct tapir_mapping_line *m)
{
	struct tapir_elf_syms syms;
	uint64_t bias;

	if (!tapir_exported__bias(elf, m, &bias) || tapir_elf__syms(elf, SHT_DYNSYM, &syms))
		return false;
	*s->out = (struct tapir_v8){};
	for (size_t i = 0; i < syms.cnt; i++) {
		const char *name = tapir_elf_syms__name(&syms, i);

		if (!strncmp(name, PREFIX, strlen(PREFIX)) && syms.syms[i].st_shndx != SHN_UNDEF)
			read_constant(s, &syms.syms[i], name, bias);
	}
	return tapir_v8__is_known(s->out);
}

static int v8_on_mapping(const struct tapir_mapping_line *m, void *ctx)
{
	struct search *s = ctx;
	struct tapir_elf *elf = NULL;

	if (!m->is_executable || !tapir_mapping_line__is_file(m) ||
	    !tapir_v8__is_path(tapir_sv__of(m->path)))
		return 0;
	tapir_autofd int fd = tapir_proc__open_mapped(s->tgid, m, NULL);
	if (fd < 0 || tapir_elf__open_fd(fd, &elf))
		return 0;
	s->is_found = read_constants(s, elf, m);
	tapir_elf__free(elf);
	return s->is_found;
}

bool tapir_v8__in(struct tapir_v8 *out, uint32_t tgid)
{
	struct search search = {.out = out, .tgid = tgid};
	int mark = tapir_diag__cnt();

	if (!tapir_started_with(tgid, &writes_names))
		(void)tapir_proc__each_mapping(tgid, v8_on_mapping, &search);
	tapir_diag__rewind(mark);
	return search.is_found;
}
