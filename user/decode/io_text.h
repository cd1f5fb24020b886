/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * io_text.h - the words for a request to a block device: what it asked for, of which file, on whose
 * behalf.
 */
#ifndef TAPIR_USER_IO_TEXT_H
#define TAPIR_USER_IO_TEXT_H

#include "base/str.h"
#include "trace/record.h"

/*
 * Adds what its bytes are of: "/srv/db/t1", "/tmp/x (deleted)", ".../deep/file", "[inode 12 of
 * 254:0]", "[not known]". Of no file: "[metadata of vda]" where the file system says so, "[blocks
 * of vda]" else, as of its tables that are read ahead, or of a program that reads the device.
 * Nothing for a request without bytes.
 */
void tapir_io__add_file(struct tapir_str *out, const struct tapir_io_view *io);

/*
 * Returns true if a kernel thread wrote pages of a file: another thread changed them before, and
 * which that was is not known.
 */
bool tapir_io__is_write_back(const struct tapir_rec_io *io);

/* Adds its flags as words: "sync, direct". */
void tapir_io__add_flags(struct tapir_str *out, const struct tapir_rec_io *io);

#endif
