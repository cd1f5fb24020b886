/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * note_iter.h - walks the notes of a SHT_NOTE section or PT_NOTE segment held in memory.
 *
 * Layout (gABI, "Note Section"): three 32-bit words namesz, descsz, type, then the name and
 * the descriptor, each padded to the alignment. The bytes are hostile: a note that does not
 * fit ends the walk and sets `broken`. One thread for each walk.
 */
#ifndef TAPIR_USER_NOTE_ITER_H
#define TAPIR_USER_NOTE_ITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_note_iter {
	const uint8_t *pos, *end; /* borrowed */
	size_t align;
	bool broken;
};

struct tapir_elf_note {
	const char *name; /* borrowed, NUL-terminated */
	const uint8_t *desc;
	size_t desc_bytes;
	uint32_t type;
};

/*
 * Starts at the first note of data[0..len). align: of the section or segment; 8 pads to 8 bytes,
 * everything else to 4.
 */
struct tapir_note_iter tapir_note_iter__over(const void *data, size_t len, uint64_t align);
/* Writes the next note to *note. False: the end, or a note that does not fit (broken). */
bool tapir_note_iter__next(struct tapir_note_iter *it, struct tapir_elf_note *note);

#endif
