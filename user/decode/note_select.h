/* SPDX-License-Identifier: GPL-2.0-or-later */
/* note_select.h - whether a SPEC selects a probe, by its note. Pure. */
#ifndef TAPIR_USER_NOTE_SELECT_H
#define TAPIR_USER_NOTE_SELECT_H

#include "elf/notes.h"
#include "spec/spec.h"

/*
 * Compares level and keywords, too, where the note has them (libtapir's). path NULL: not compared.
 */
bool tapir_usdt_note__is_selected(const struct tapir_usdt_note *note, const struct tapir_spec *spec,
				  const char *path);

#endif
