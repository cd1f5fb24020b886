// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * HotSpot as a runtime that can be asked for the names of its code (runtime/runtime_ops.h). An
 * answer is a struct tapir_jvm_perf_map, whose file is removed when it is discarded.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "runtime/jvm/jvm.h"
#include "runtime/jvm/jvm_attach.h"
#include "runtime/jvm/jvm_locks.h"
#include "runtime/jvm/jvm_methods.h"
#include "runtime/jvm/jvm_ops.h"

#define CLEAN_UP_NS 500000000u /* for removing one file at the end */

static int inspect_jvm(uint32_t tgid, struct tapir_runtime_info *out)
{
	struct tapir_jvm_info jvm;
	int is_one = tapir_jvm__inspect(tgid, &jvm);

	if (is_one <= 0)
		return is_one;
	*out = (struct tapir_runtime_info){.name = "OpenJDK"};
	/* "17.0.15+6-Debian-1deb12u1": the distribution's part is of no use here. */
	snprintf(out->version, sizeof(out->version), "%.*s", (int)strcspn(jvm.version, "-"),
		 jvm.version);
	snprintf(out->description, sizeof(out->description), "a HotSpot JVM %s: %s", jvm.version,
		 jvm.path);
	return 1;
}

static int ask_names(uint32_t tgid, int cancel_fd, void *answer)
{
	struct tapir_jvm_opts opts = {.tgid = tgid, .cancel_fd = cancel_fd};

	return tapir_jvm__dump_perf_map(&opts, answer);
}

static void discard_names(uint32_t tgid, void *answer)
{
	struct tapir_jvm_opts opts = {.tgid = tgid, .cancel_fd = -1, .timeout_ns = CLEAN_UP_NS};

	if (tapir_jvm__remove_perf_map(&opts, answer) &&
	    !kill((pid_t)tgid, 0)) /* of a process that ended, its files may be gone */
		tapir_warn("JVM %u: its perf map in /tmp could not be removed", tgid);
	tapir_jvm_perf_map__fini(answer);
}

/* The map is in the /tmp of the JVM. */
static void path_of_map(const void *answer, char *out, size_t max)
{
	snprintf(out, max, "/tmp/%s", ((const struct tapir_jvm_perf_map *)answer)->name);
}

static bool reports_methods(const struct tapir_probe_view *probe)
{
	return tapir_jvm_probe__of(probe) == TAPIR_JVM_PROBE_LOAD;
}

static int read_method(const struct tapir_probe_view *probe, const struct tapir_event_view *event,
		       struct tapir_code_method *out, struct tapir_str *name)
{
	struct tapir_jvm_method method;
	int err = tapir_jvm_method__of(probe, event, &method, name);

	if (!err)
		*out = (struct tapir_code_method){method.start_va, method.size, false};
	return err;
}

const struct tapir_runtime_ops tapir_runtime_jvm = {
	.is_path = tapir_jvm__is_libjvm_path,
	.inspect = inspect_jvm,
	.ask_names = ask_names,
	.discard_names = discard_names,
	.answer_bytes = sizeof(struct tapir_jvm_perf_map),
	.kind = "JVM",
	.no_names = "methods compiled before now have no names",
	.path_of_answer = path_of_map,
	.reports_methods = reports_methods,
	.read_method = read_method,
	.ask_owners = tapir_jvm_locks__ask,
	.code = &tapir_jvm_code_ops,
	.heap = &tapir_jvm_heap_ops,
	.watch = &tapir_jvm_watch_ops,
};
