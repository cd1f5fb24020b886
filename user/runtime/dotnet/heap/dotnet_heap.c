// SPDX-License-Identifier: GPL-2.0-or-later
/* The heap of a .NET process, as `tapir heap` asks for it: by events, which heap/heap_record.c
 * records. */
#include <errno.h>

#include "base/diag.h"
#include "base/file.h"
#include "heap/heap_events.h"
#include "heap/heap_ops.h"
#include "runtime/dotnet/dotnet.h"
#include "runtime/dotnet/dotnet_ops.h"
#include "runtime/dotnet/dotnet_stream.h"

#define GC_HEAP_COLLECT 0x800000u
#define INFORMATIONAL	4u

static int check_kind(uint32_t tgid)
{
	struct tapir_dotnet_info dotnet;
	int is_one = tapir_dotnet__inspect(tgid, &dotnet);

	if (is_one < 0)
		return is_one;
	if (is_one && dotnet.kind == TAPIR_DOTNET_NATIVE_AOT)
		return tapir_diag__fail(
			-EOPNOTSUPP,
			"cannot list the heap of process %u: it was compiled ahead of time "
			"(NativeAOT)",
			tgid);
	return 0;
}

static int check_runs(uint32_t tgid)
{
	return tapir_dotnet__check_runs(tgid, "list the heap");
}

/* A second session, which the runtime opens when it has collected; nothing of it is read. */
static int collect(uint32_t tgid, int cancel_fd, uint64_t timeout_ns)
{
	const struct tapir_dotnet_provider provider = {
		.name = TAPIR_HEAP_PROVIDER, .keywords = GC_HEAP_COLLECT, .level = INFORMATIONAL};
	const struct tapir_dotnet_session session = {
		.buffer_mb = 1, .providers = &provider, .provider_cnt = 1};
	const struct tapir_dotnet_opts opts = {
		.tgid = tgid, .cancel_fd = cancel_fd, .timeout_ns = timeout_ns};
	struct tapir_dotnet_stream stream = {.fd = -1};
	int err = tapir_dotnet_stream__open(&opts, &session, &stream);

	tapir_guard__fd(&stream.fd);
	return err;
}

const struct tapir_heap_ops tapir_dotnet_heap_ops = {
	.check_kind = check_kind, .check_runs = check_runs, .collect = collect};
