/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nettrace_file.h - a nettrace file from its beginning to its end, of version 4 (and 5, which
 * differs in nothing that is read here) or 6. One thread.
 */
#ifndef TAPIR_USER_NETTRACE_FILE_H
#define TAPIR_USER_NETTRACE_FILE_H

#include "decode/nettrace_stream.h"
#include "output/import/import.h"

struct tapir_nettrace_rest {
	uint64_t malformed_cnt; /* blocks and parts of them */
	uint64_t tail_bytes;	/* that could not be followed, or 1: the end itself is missing */
};

/*
 * Hands all of it to the sink; stop is asked after each block: an error of it ends the reading. A
 * file that cannot be followed after its first block ends there, which is no error. 0, -EPROTO: no
 * such file; -EOPNOTSUPP: of another version; -ENOMEM, or the error of reading. No line.
 */
int tapir_nettrace_file__read(const struct tapir_import_input *input,
			      const struct tapir_nettrace_sink *sink, int (*stop)(void *ctx),
			      struct tapir_nettrace_rest *rest);

#endif
