/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * notes.h - the USDT probes of a file: its .note.stapsdt, and its .note.tapir, in which
 * include/tapir/usdt.h records what the arguments mean.
 *
 * One note is one site; several sites may have the same probe name, each with its own operands and
 * even argument sizes. One thread at a time.
 */
#ifndef TAPIR_USER_NOTES_H
#define TAPIR_USER_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "bpf/control.h"

#define TAPIR_MAX_NOTES 65536u /* of one file; more are dropped and said so */

struct tapir_elf;

struct tapir_usdt_note {
	const char *provider, *name, *args_text; /* borrowed from the list */
	uint64_t site_va;			 /* at link time, .stapsdt.base applied */
	uint64_t site_off;			 /* in the file */
	uint64_t semaphore_va, semaphore_off;	 /* 0: none */
	uint64_t note_va;			 /* as the note has it: joins .note.tapir */
	unsigned arg_cnt;
	unsigned dropped_arg_cnt; /* past the 12th: TAPIR_OPERAND_TOO_MANY */
	struct tapir_operand args[TAPIR_MAX_ARGS];
	uint8_t reasons[TAPIR_MAX_ARGS]; /* enum tapir_operand_reason */
	/*
	 * Kinds of arguments from .note.tapir; "" and NULL without one. i signed, u unsigned, f
	 * float, p pointer, s NUL-terminated string, b bool, c char; NUL after the last.
	 */
	char kinds[TAPIR_MAX_ARGS + 1];
	const char *arg_names[TAPIR_MAX_ARGS]; /* borrowed from the list */
	/* The members below are from .note.tapir, type 2 (tapir/provider.h); all 0 without one. */
	uint64_t keywords;
	uint16_t event_id;
	uint8_t version, level;
	bool has_about;
	struct tapir_operand taken; /* type 3; kind NONE without one */
};

struct tapir_usdt_notes {
	struct tapir_usdt_note *data; /* a tapir_vec, in the order of the file */
	size_t cnt, cap;
	size_t bad_cnt;	      /* notes that were not well-formed, or point nowhere */
	size_t bad_probe_cnt; /* those of them that would have been probes */
	char *text;	      /* what the strings are borrowed from */
	char *kinds_text;
};

/*
 * Reads the probes of a file. Returns the number of notes, 0 when the file has none, or -errno; out
 * needs __fini only when the result is >= 0. It borrows nothing from the image.
 */
int tapir_usdt_notes__read(struct tapir_elf *elf, struct tapir_usdt_notes *out);
void tapir_usdt_notes__fini(struct tapir_usdt_notes *notes);

/* The text of argument idx within args_text. Borrowed, not NUL-terminated. */
const char *tapir_usdt_note__arg_text(const struct tapir_usdt_note *note, unsigned idx,
				      size_t *len);

#endif
