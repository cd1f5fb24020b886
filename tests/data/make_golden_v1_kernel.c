// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Wrote golden-v1-kernel.tapir, once, as make_golden_v1.c wrote the other one. The file is not made
 * again: it stands for all recordings of version 1 that count the kernel's work.
 */
#include "golden_v1_kernel.h"
#include "golden_writer.h"

int main(int argc, char **argv)
{
	return golden_write(argc, argv, GOLDEN_KERNEL_CNT, golden_kernel_record);
}
