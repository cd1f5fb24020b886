// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Wrote golden-v1-call-files.tapir, once, as make_golden_v1.c wrote the other one. The file is not
 * made again: it stands for all recordings of version 1 that count system calls by file.
 */
#include "golden_v1_call_files.h"
#include "golden_writer.h"

int main(int argc, char **argv)
{
	return golden_write(argc, argv, GOLDEN_CALL_FILES_CNT, golden_call_files_record);
}
