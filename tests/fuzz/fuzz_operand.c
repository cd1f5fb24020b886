// SPDX-License-Identifier: GPL-2.0-or-later
/* An argument text: split, and each operand read without a file to find symbols in. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "elf/operand.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tapir_operand_ctx ctx = {.site_va = 0x1000};
	char *text = malloc(size + 1);
	const char *pos = text, *arg;
	size_t len;

	assert(text);
	memcpy(text, data, size);
	text[size] = '\0';
	while (tapir_operand__split(&pos, &arg, &len)) {
		enum tapir_operand_reason reason;
		struct tapir_operand op;
		int err = tapir_operand__parse(arg, len, &ctx, &op, &reason);

		assert(len && arg + len <= text + size);
		assert(!err == !reason && !err == (op.kind != TAPIR_OPERAND_NONE));
		assert(err || (op.size && op.size <= 16));
		assert(err || op.reg == TAPIR_REG_NONE || op.reg < TAPIR_REG_CNT);
		assert(err || op.index_reg == TAPIR_REG_NONE || op.index_reg < TAPIR_REG_CNT);
		assert(op.scale_shift <= 3 && (op.reg_shift == 0 || op.reg_shift == 8));
	}
	free(text);
	return 0;
}
