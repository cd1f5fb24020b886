/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jvm_methods.h - the names (decode/java_name.h) and ranges of compiled Java methods from HotSpot's
 * probes, which are in code/nmethod.cpp (post_compiled_method_load_event). Checked against JDK 17
 * and 25.
 *
 * What the probes lack: an unload has a name but no address, while a method may be at several. So
 * it ends no range; a range ends when another load takes its place. A load's range is the method's
 * instructions; the perf map's begins at the same address and includes the stubs after them (0 to
 * 272 bytes observed). Interpreter, adapters and stubs have no probe, only names in the perf map.
 *
 * Pure and thread-safe; payloads may be hostile.
 */
#ifndef TAPIR_USER_JVM_METHODS_H
#define TAPIR_USER_JVM_METHODS_H

#include <stdbool.h>

#include "base/str.h"
#include "trace/record.h"

enum tapir_jvm_probe { TAPIR_JVM_PROBE_OTHER, TAPIR_JVM_PROBE_LOAD, TAPIR_JVM_PROBE_UNLOAD };

/* The kind of event of a PROBE record, by its names: call once per probe. */
enum tapir_jvm_probe tapir_jvm_probe__of(const struct tapir_probe_view *probe);

struct tapir_jvm_method {
	uint64_t start_va, size; /* 0 for an unload */
	bool is_exact;		 /* false: a part of the name was cut or could not be read */
};

/*
 * Adds the name to *name. The event is one of the probe, which is a LOAD or an UNLOAD.
 * -EINVAL: it does not hold what these hold, or no class or method could be read, or the
 * range is empty or runs over; -ENOMEM; *name and *out are as before then.
 */
int tapir_jvm_method__of(const struct tapir_probe_view *probe, const struct tapir_event_view *event,
			 struct tapir_jvm_method *out, struct tapir_str *name);

#endif
