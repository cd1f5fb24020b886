// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Walks ELF notes in memory. Lengths come from the file, so each is checked against what is left
 * before it is added to anything: a sum could wrap.
 */
#include "elf/note_iter.h"

#include <elf.h>
#include <string.h>

struct tapir_note_iter tapir_note_iter__over(const void *data, size_t len, uint64_t align)
{
	const uint8_t *bytes = data;

	return (struct tapir_note_iter){
		.pos = bytes, .end = bytes + len, .align = align == 8 ? 8 : 4};
}

/* Takes len bytes and their padding, which the last item of a section may lack. */
static const uint8_t *take_padded(struct tapir_note_iter *it, uint32_t len)
{
	const uint8_t *item = it->pos;
	size_t left = (size_t)(it->end - it->pos);
	size_t padded = ((size_t)len + it->align - 1) & ~(it->align - 1);

	if (len > left)
		return NULL;
	it->pos += padded > left ? left : padded;
	return item;
}

bool tapir_note_iter__next(struct tapir_note_iter *it, struct tapir_elf_note *note)
{
	Elf64_Nhdr head;
	const uint8_t *name, *desc;

	if (it->broken || it->pos == it->end)
		return false;
	it->broken = true;
	if ((size_t)(it->end - it->pos) < sizeof(head))
		return false;
	memcpy(&head, it->pos, sizeof(head));
	it->pos += sizeof(head);
	name = take_padded(it, head.n_namesz);
	desc = name ? take_padded(it, head.n_descsz) : NULL;
	if (!desc)
		return false;
	it->broken = false;
	note->name = head.n_namesz && !name[head.n_namesz - 1] ? (const char *)name : "";
	note->desc = desc;
	note->desc_bytes = head.n_descsz;
	note->type = head.n_type;
	return true;
}
