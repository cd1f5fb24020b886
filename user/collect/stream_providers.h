/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stream_providers.h - what SPECs ask of a .NET process (dotnet_specs.h), as the providers of an
 * event stream. That takes exact names: a glob becomes those providers that are known by name.
 *
 * Pure.
 */
#ifndef TAPIR_USER_STREAM_PROVIDERS_H
#define TAPIR_USER_STREAM_PROVIDERS_H

#include "runtime/dotnet_ipc.h"
#include "tapir/ring.h"

#define TAPIR_STREAM_PROVIDERS 128u

struct tapir_stream_providers {
	struct tapir_dotnet_provider all[TAPIR_STREAM_PROVIDERS];
	char args[TAPIR_STREAM_PROVIDERS][sizeof(((struct tapir_ring_selection *)0)->args)];
	uint32_t cnt;
	const char *glob; /* the first that may miss providers; NULL: there is none */
};

/* Names borrow from selections, TAPIR_RING_SELECTIONS of them. */
void tapir_stream_providers__fill(struct tapir_stream_providers *out,
				  const struct tapir_ring_selection *selections);

#endif
