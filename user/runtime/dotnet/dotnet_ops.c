// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * .NET as a runtime that can be asked for the names of its code (runtime/runtime_ops.h). An answer
 * is a struct tapir_jitdump_answer; NativeAOT has ELF symbols instead.
 */
#include <stdio.h>

#include "decode/dotnet_methods.h"
#include "runtime/dotnet/dotnet.h"
#include "runtime/dotnet/dotnet_ops.h"
#include "runtime/dotnet/dotnet_snapshot.h"

static int inspect_dotnet(uint32_t tgid, struct tapir_runtime_info *out)
{
	struct tapir_dotnet_info dotnet;
	int is_one = tapir_dotnet__inspect(tgid, &dotnet);
	bool is_aot;

	if (is_one <= 0)
		return is_one;
	is_aot = dotnet.kind == TAPIR_DOTNET_NATIVE_AOT;
	*out = (struct tapir_runtime_info){.has_events = true, .declares_events = !is_aot};
	snprintf(out->name, sizeof(out->name), "%s", is_aot ? ".NET NativeAOT" : ".NET");
	snprintf(out->version, sizeof(out->version), "%s", dotnet.version);
	snprintf(out->description, sizeof(out->description), ".NET %s, %s: %s", dotnet.version,
		 tapir_dotnet_kind__text(dotnet.kind), dotnet.path);
	return 1;
}

/* A file that it writes anyway (-EALREADY) is read where it is. */
static int ask_names(uint32_t tgid, int cancel_fd, void *answer)
{
	struct tapir_dotnet_opts opts = {.tgid = tgid, .cancel_fd = cancel_fd};

	return tapir_dotnet__snapshot(&opts, answer);
}

static void discard_names(uint32_t tgid, void *answer)
{
	(void)tgid;
	tapir_dotnet_snapshot__fini(answer);
}

static bool reports_methods(const struct tapir_probe_view *probe)
{
	return tapir_dotnet_probe__of(probe) != TAPIR_DOTNET_PROBE_OTHER;
}

static int read_method(const struct tapir_probe_view *probe, const struct tapir_event_view *event,
		       struct tapir_code_method *out, struct tapir_str *name)
{
	struct tapir_dotnet_method method;
	int err = tapir_dotnet_method__of(event, &method, name);

	if (!err)
		*out = (struct tapir_code_method){method.start_va, method.size,
						  tapir_dotnet_probe__of(probe) ==
							  TAPIR_DOTNET_PROBE_UNLOAD};
	return err;
}

const struct tapir_runtime_ops tapir_runtime_dotnet = {
	.is_path = tapir_dotnet__is_path,
	.inspect = inspect_dotnet,
	.ask_names = ask_names,
	.discard_names = discard_names,
	.answer_bytes = sizeof(struct tapir_jitdump_answer),
	.answers_jitdump = true,
	.kind = ".NET process",
	.no_names = "its methods have no names",
	.reports_methods = reports_methods,
	.read_method = read_method,
	.is_code_memory = tapir_dotnet__is_code_memory,
	.check = tapir_dotnet_doctor__check,
	.events = &tapir_dotnet_event_ops,
	.heap = &tapir_dotnet_heap_ops,
	.locks = &tapir_dotnet_lock_ops,
};
