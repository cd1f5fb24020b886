/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stream_providers.h - what SPECs ask of a .NET process (dotnet_specs.h), as the providers of an
 * event stream. That takes exact names: a glob becomes those providers that are known by name, by
 * the tables or because the process's assemblies define them.
 *
 * Pure.
 */
#ifndef TAPIR_USER_STREAM_PROVIDERS_H
#define TAPIR_USER_STREAM_PROVIDERS_H

#include "attach/rings/ring_request.h"
#include "decode/layout.h"
#include "runtime/dotnet/dotnet_ipc.h"

#define TAPIR_STREAM_PROVIDERS 128u

struct tapir_stream_providers {
	struct tapir_dotnet_provider all[TAPIR_STREAM_PROVIDERS];
	uint32_t cnt;
};

/* Returns true if one of them is a glob. */
bool tapir_stream_providers__need_names(const struct tapir_ring_request *request);

/* Names and arguments borrow from ask and from sources (source_cnt, may be none). */
void tapir_stream_providers__fill(struct tapir_stream_providers *out,
				  const struct tapir_ring_request *request,
				  const struct tapir_layout_provider *sources, size_t source_cnt);

#endif
