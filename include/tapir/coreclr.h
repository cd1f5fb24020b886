/* SPDX-License-Identifier: MIT */
/*
 * coreclr.h - what tapir and libtapir-coreclr.so agree on before they share a ring lane
 * (tapir/ring.h): the identity of the profiler and the lane it opens.
 *
 * The library is loaded into a running .NET process by the diagnostics command AttachProfiler,
 * whose client data is a struct tapir_coreclr_client, or at the start of one by its environment:
 * CORECLR_NOTIFICATION_PROFILERS and TAPIR_CORECLR_KEY_ENV. What is enabled is in the lane's ctl.
 *
 * C11 and C++11; depends on nothing.
 */
#ifndef TAPIR_CORECLR_H
#define TAPIR_CORECLR_H

#include <stdint.h>

/* The profiler's class id, as text and as the 16 bytes of the diagnostics protocol. */
#define TAPIR_CORECLR_CLSID_TEXT "{2F8D5B1A-7C46-4E03-9A57-7461706972C1}"
#define TAPIR_CORECLR_CLSID_BYTES                                                                  \
	{                                                                                          \
		0x1a, 0x5b, 0x8d, 0x2f, 0x46, 0x7c, 0x03, 0x4e, 0x9a, 0x57, 0x74, 0x61, 0x70,      \
			0x69, 0x72, 0xc1                                                           \
	}

/* A copy of libtapir-coreclr.so is called this, the key of its lane in 16 hex digits, and ".so". */
#define TAPIR_CORECLR_FILE_NAME	     "libtapir-coreclr-"
/* The maximum length of names of published events; a longer one is cut, and ends in this suffix. */
#define TAPIR_CORECLR_EVENT_NAME_MAX 135
#define TAPIR_CORECLR_CUT	     "_cut"
#define TAPIR_CORECLR_KEY_ENV	     "TAPIR_CORECLR_KEY" /* the key in hex */

#define TAPIR_CORECLR_MAGIC	     0x43544150u /* "PATC" */
#define TAPIR_CORECLR_VERSION	     1

struct tapir_coreclr_client {
	uint32_t magic;
	uint32_t version;
	uint64_t key; /* of the lane to be made; never 0 */
};

#endif /* TAPIR_CORECLR_H */
