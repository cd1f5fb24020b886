// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Wrote golden-v1-types.tapir, once, as make_golden_v1.c wrote the other one. The file is not made
 * again: it stands for all recordings of version 1 that have such records.
 */
#include "golden_v1_types.h"
#include "golden_writer.h"

int main(int argc, char **argv)
{
	return golden_write(argc, argv, GOLDEN_TYPES_CNT, golden_types_record);
}
