// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Mappings are walked in the order of their addresses; the first file that spec/runtime_db has as a
 * runtime's own decides which runtime a process has.
 */
#include "symbol/process_runtime.h"

#include <string.h>

#include "spec/runtime_db/lore.h"
#include "symbol/frame.h"
#include "symbol/frame_kind.h"

static const struct tapir_lore *find_runtime(const struct tapir_catalog *catalog, uint32_t tgid,
					     uint64_t time_ns, struct tapir_sv *path)
{
	const struct tapir_rec_mapping *mapping = NULL;
	const struct tapir_lore *lore = NULL;
	struct tapir_mapping_view view;

	while (!lore && (mapping = tapir_catalog__next_mapping(catalog, tgid, time_ns, mapping))) {
		struct tapir_frame frame = {};

		tapir_mapping_view__of(&mapping->h, &view);
		frame.module = *path = view.path;
		lore = tapir_frame_kind__runtime(tapir_frame__module_name(&frame));
	}
	return lore;
}

const struct tapir_lore *tapir_process_runtime__of(const struct tapir_catalog *catalog,
						   uint32_t tgid, uint64_t time_ns)
{
	struct tapir_sv path;

	return find_runtime(catalog, tgid, time_ns, &path);
}

static void add_version(const struct tapir_lore *lore, struct tapir_sv path, struct tapir_str *out)
{
	for (const char *const *after = lore->version_after; after && *after; after++) {
		size_t len = strlen(*after), digits = 0;
		const char *at = memmem(path.data, path.len, *after, len), *end;

		end = path.data + path.len;
		if (!at)
			continue;
		for (at += len; at + digits < end && strchr("0123456789.", at[digits]);)
			digits++;
		while (digits && at[digits - 1] == '.')
			digits--;
		if (!digits)
			continue;
		tapir_str__addc(out, ' ');
		tapir_str__add(out, at, digits);
		return;
	}
}

void tapir_process_runtime__add(const struct tapir_catalog *catalog, uint32_t tgid,
				uint64_t time_ns, struct tapir_str *out)
{
	struct tapir_sv path;
	const struct tapir_lore *lore = find_runtime(catalog, tgid, time_ns, &path);

	if (!lore)
		return;
	tapir_str__adds(out, lore->name);
	add_version(lore, path, out);
}

static bool lacks_symbols(const struct tapir_frame *frame)
{
	struct tapir_sv path = frame->module;

	return !frame->name.len && path.len && *path.data == '/' &&
	       (path.len < 4 || memcmp(path.data + path.len - 4, ".dll", 4) != 0);
}

/*
 * Is it the interpreter's loop, which a stripped runtime has no name for? Where a runtime's
 * functions have names and none of them is its loop, none of its methods runs: an event loop that
 * waits, a thread that collects garbage.
 */
static bool may_run_methods(const struct tapir_frame *frame)
{
	enum tapir_frame_kind kind = tapir_frame__kind(frame);

	return kind == TAPIR_FRAME_INTERPRETER || (kind != TAPIR_FRAME_NATIVE && !frame->name.len);
}

struct tapir_missing_names tapir_missing_names__of(const struct tapir_catalog *catalog,
						   uint32_t tgid, uint64_t time_ns,
						   const struct tapir_rec_stack *stack,
						   const struct tapir_lore *runtime)
{
	bool has_method = false, runs_others = false;
	struct tapir_missing_names missing = {};
	struct tapir_stack_view view;

	tapir_stack_view__of(&stack->h, &view);
	for (unsigned i = 0; i < stack->frame_cnt; i++) {
		struct tapir_frame frame = tapir_frame__of(catalog, tgid, time_ns, &view, i);

		if (frame.is_jit) {
			has_method |= frame.name.len != 0;
			runs_others |= !frame.name.len;
			if (!frame.name.len && !runtime && !missing.path.len)
				missing.path = tapir_sv__of(TAPIR_GENERATED_CODE);
			continue;
		}
		runs_others |= may_run_methods(&frame);
		if (!missing.path.len && lacks_symbols(&frame))
			missing.path = frame.module;
	}
	missing.runs_methods = runtime && runtime->names.remedy && (has_method || runs_others);
	missing.of_methods = missing.runs_methods && !has_method;
	return missing;
}
