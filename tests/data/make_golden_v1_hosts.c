// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Wrote golden-v1-hosts.tapir, once, as make_golden_v1.c wrote the other one. The file is not made
 * again: it stands for all merged recordings of version 1 that exist.
 */
#include "golden_v1_hosts.h"
#include "golden_writer.h"

int main(int argc, char **argv)
{
	return golden_write(argc, argv, GOLDEN_HOSTS_CNT, golden_host_record);
}
