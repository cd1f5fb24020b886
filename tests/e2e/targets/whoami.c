/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * whoami - prints {"uid": N, "euid": N, "tracer": N}: who it is and which process traces it.
 */
#include "target.h"

int main(void)
{
	char line[256];
	FILE *status = fopen("/proc/self/status", "r");
	int tracer = 0;

	while (status && fgets(line, sizeof(line), status))
		sscanf(line, "TracerPid: %d", &tracer);
	printf("{\"uid\": %d, \"euid\": %d, \"tracer\": %d}\n", (int)getuid(), (int)geteuid(),
	       tracer);
	return 0;
}
