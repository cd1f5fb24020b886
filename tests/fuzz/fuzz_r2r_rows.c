// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An assembly with descriptions of its functions for unwinding: a sound one (tests/unit/fake_r2r.h)
 * of which three bytes each, two for the place, are changed. The rows are in order, and the table
 * is sound.
 */
#include <stdlib.h>

#include "../unit/fake_r2r.h"
#include "attach/unwind/r2r_rows.h"
#include "attach/unwind/rows.h"
#include "attach/unwind/unwind_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct tapir_unwind_rows rows = {};
	struct tapir_unwind_table *table;
	struct fake_r2r f;
	int fd;

	fake_r2r__init(&f);
	fake_r2r__put_exceptions(&f, 0x700);
	for (size_t i = 0; i + 3 <= len && i < 300; i += 3)
		f.data[(input[i] | input[i + 1] << 8) % FAKE_R2R_BYTES] = input[i + 2];
	fd = fake_r2r__file(&f, FAKE_R2R_BYTES);
	if (fd < 0)
		return 0;
	if (!tapir_r2r_rows__make(fd, &rows)) {
		for (size_t i = 1; i < rows.vec.cnt; i++)
			if (rows.vec.data[i].pc <= rows.vec.data[i - 1].pc)
				abort();
		if (!tapir_unwind_table__pack(&rows, &table)) {
			if (!tapir_unwind_table__is_sound(table))
				abort();
			tapir_unwind_table__free(table);
		}
	}
	tapir_unwind_rows__fini(&rows);
	close(fd);
	return 0;
}
