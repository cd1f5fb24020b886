// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A probe with a description (.note.tapir, type 2) has a level and keywords and is selected by
 * them; one without is selected by its name alone.
 */
#include "decode/note_select.h"

bool tapir_usdt_note__is_selected(const struct tapir_usdt_note *note, const struct tapir_spec *spec,
				  const char *path)
{
	if (note->has_about)
		return tapir_spec__selects(spec, TAPIR_SPEC_ZERO_IS_ALL, path, note->provider,
					   note->name, note->level, note->keywords);
	return tapir_spec__matches(spec, path, note->provider, note->name);
}
