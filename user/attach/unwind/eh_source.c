// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sections are found by name; without section headers, as in some stripped files, .eh_frame_hdr is
 * found by its program header, and leads to the rest.
 */
#include "attach/unwind/eh_source.h"

#include <errno.h>

#include "base/diag.h"
#include "elf/image.h"

/* Real files stay far below it; it bounds the work that a hostile one can cause. */
#define MAX_BYTES      (64u << 20)
#define HEADER_BYTES   16u /* of .eh_frame_hdr: version, encodings, pointer to .eh_frame */
#define HEADER_VERSION 1

static int read_section(struct tapir_elf *elf, const Elf64_Shdr *shdr, struct tapir_eh_section *out)
{
	int mark = tapir_diag__cnt(), err;
	const void *data;
	size_t len;

	if (shdr->sh_size > MAX_BYTES)
		return -EFBIG;
	err = tapir_elf__data(elf, shdr, &data, &len);
	tapir_diag__rewind(mark);
	if (err)
		return err == -ENODATA ? -ENOENT : err;
	*out = (struct tapir_eh_section){.data = data, .bytes = len, .va = shdr->sh_addr};
	return 0;
}

/* The rest of the segment that va is in, at most max_bytes of it. */
static int take_at(struct tapir_elf *elf, uint64_t va, uint64_t max_bytes,
		   struct tapir_eh_section *out)
{
	const Elf64_Phdr *load = tapir_elf__load_at(elf, va);
	Elf64_Shdr shdr = {.sh_type = SHT_PROGBITS, .sh_addr = va};

	if (!load)
		return -ENOENT;
	shdr.sh_offset = load->p_offset + (va - load->p_vaddr);
	shdr.sh_size = load->p_filesz - (va - load->p_vaddr);
	shdr.sh_size = shdr.sh_size > max_bytes ? max_bytes : shdr.sh_size;
	return read_section(elf, &shdr, out);
}

static int by_program_header(struct tapir_elf *elf, struct tapir_eh_section *out)
{
	const Elf64_Phdr *ph = NULL;
	struct tapir_eh_section header;
	struct tapir_eh_cursor c = {.section = &header, .at = 4};
	uint64_t va;
	int err;

	for (size_t i = 0; (ph = tapir_elf__phdr_at_idx(elf, i)); i++)
		if (ph->p_type == PT_GNU_EH_FRAME)
			break;
	err = ph ? take_at(elf, ph->p_vaddr, HEADER_BYTES, &header) : -ENOENT;
	if (err)
		return err;
	if (header.bytes < 4 || header.data[0] != HEADER_VERSION)
		return -ENOENT;
	c.end = header.bytes;
	va = tapir_eh__pointer(&c, header.data[1]);
	return c.bad ? -ENOENT : take_at(elf, va, MAX_BYTES, out);
}

int tapir_eh_source__find(struct tapir_elf *elf, struct tapir_eh_section *out)
{
	const Elf64_Shdr *shdr;
	int err = -ENOENT;

	if (tapir_elf__machine(elf) != EM_X86_64)
		return -ENOENT;
	shdr = tapir_elf__section(elf, ".eh_frame");
	if (shdr)
		err = read_section(elf, shdr, out);
	if (err == -ENOENT)
		err = by_program_header(elf, out);
	if (err != -ENOENT)
		return err;
	shdr = tapir_elf__section(elf, ".debug_frame");
	if (!shdr || shdr->sh_flags & SHF_COMPRESSED)
		return -ENOENT;
	err = read_section(elf, shdr, out);
	if (!err)
		out->is_debug = 1;
	return err;
}
