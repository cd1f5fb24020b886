/* SPDX-License-Identifier: GPL-2.0-or-later */
/* byte_input.h - bytes of unknown content, taken from the front: what is not there is never read.
 */
#ifndef TAPIR_USER_BYTE_INPUT_H
#define TAPIR_USER_BYTE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_byte_input {
	const uint8_t *at;
	size_t left;
	bool is_bad; /* more was asked for than there was */
};

/* NULL: there are not that many, and from now on there is nothing more. */
static inline const uint8_t *tapir_byte_input__take(struct tapir_byte_input *in, size_t bytes)
{
	const uint8_t *at = in->at;

	if (in->is_bad || bytes > in->left) {
		in->is_bad = true;
		return NULL;
	}
	in->at += bytes;
	in->left -= bytes;
	return at;
}

#endif
