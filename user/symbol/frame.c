// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the function of an address at its time. Generated code comes first, then the symbols of the
 * file; the module is known in either case. Frames but the innermost are return addresses: the call
 * is a byte before, which matters where a call is the last instruction of a function.
 */
#include "symbol/frame.h"

#include <inttypes.h>
#include <string.h>

#include "symbol/dotnet_name.h"
#include "trace/rehost.h"

#define FUNCTIONS_MAX 64u /* at one address */

static bool shows_raw_names;

/*
 * Anonymous, CoreCLR's memfd, or what a process shares with its children (PHP); the vdso and its
 * like have no file either, but names.
 */
static bool is_jit_memory(const struct tapir_rec_mapping *mapping, struct tapir_sv path)
{
	if (tapir_sv__starts_with(path, "/memfd:") || tapir_sv__starts_with(path, "/dev/zero"))
		return true;
	return mapping->flags & TAPIR_MAPPING_ANON &&
	       !(path.len > 1 && !memcmp(path.data, "[v", 2));
}

/* A return address may be the first of the next function: the call is one byte before it. */
struct tapir_frame tapir_frame__of(const struct tapir_catalog *catalog, uint32_t tgid,
				   uint64_t time_ns, const struct tapir_stack_view *stack,
				   unsigned idx)
{
	bool is_kernel = stack->rec->flags & TAPIR_STACK_KERNEL;
	bool awaits = !is_kernel && tapir_va__awaits(stack->frames_va[idx]);
	struct tapir_frame frame = {.va = stack->frames_va[idx] & ~(awaits ? TAPIR_VA_AWAITS : 0),
				    .is_kernel = is_kernel,
				    .awaits = awaits};
	uint64_t va = idx && frame.va ? frame.va - 1 : frame.va;
	uint32_t owner = is_kernel ? tapir_host__kernel_of(tgid) : tgid;
	const struct tapir_rec_jit *jit = tapir_catalog__jit(catalog, owner, va, time_ns);
	const struct tapir_rec_mapping *mapping =
		tapir_catalog__mapping(catalog, owner, va, time_ns);
	const struct tapir_rec_symbol *symbol;
	struct tapir_mapping_view mapping_view;
	struct tapir_symbol_view symbol_view;
	struct tapir_jit_view jit_view;
	uint64_t off;

	if (mapping) {
		tapir_mapping_view__of(&mapping->h, &mapping_view);
		frame.module = mapping_view.path;
		/* The kernel reports memory without a file at the offset of its address. */
		frame.offset = frame.va - mapping->start_va +
			       (mapping->flags & TAPIR_MAPPING_ANON ? 0 : mapping->file_off);
		frame.is_jit = is_jit_memory(mapping, frame.module);
	}
	if (jit) {
		tapir_jit_view__of(&jit->h, &jit_view);
		frame.name = jit_view.name;
		frame.offset = frame.va - jit->start_va;
		frame.is_jit = true;
		frame.is_interpreted = jit->source == TAPIR_JIT_INTERPRETED;
		jit = frame.is_interpreted ? NULL
					   : tapir_catalog__inlined(catalog, owner, va, time_ns);
		if (jit) {
			tapir_jit_view__of(&jit->h, &jit_view);
			frame.inlined = jit_view.name;
		}
		return frame;
	}
	if (!mapping || !mapping->file_id)
		return frame;
	off = va - mapping->start_va + mapping->file_off;
	symbol = tapir_catalog__function(catalog, mapping, off);
	frame.locations = frame.is_kernel ? frame.locations
					  : tapir_catalog__source_locations(catalog, mapping, off);
	if (symbol) {
		tapir_symbol_view__of(&symbol->h, &symbol_view);
		if (symbol->flags & TAPIR_SYMBOL_RANGE) {
			frame.range = symbol_view.name;
			frame.range_off = frame.offset - symbol->start_off;
		} else {
			frame.name = symbol_view.name;
			frame.offset -= symbol->start_off;
		}
	}
	return frame;
}

unsigned tapir_frame__function_cnt(const struct tapir_frame *frame)
{
	struct tapir_sv names = frame->inlined;
	unsigned cnt = 1;

	for (; names.len && cnt < FUNCTIONS_MAX; cnt++)
		(void)tapir_sv__next_line(&names);
	return frame->locations.cnt ? frame->locations.cnt : cnt;
}

static struct tapir_frame inlined_function(const struct tapir_frame *frame, unsigned idx)
{
	struct tapir_frame function = *frame;
	struct tapir_sv names = frame->inlined;

	function.inlined = (struct tapir_sv){};
	if (idx + 1 >= tapir_frame__function_cnt(frame))
		return function;
	for (; idx; idx--)
		(void)tapir_sv__next_line(&names);
	function.name = tapir_sv__next_line(&names);
	function.is_inlined = true;
	function.offset = 0;
	return function;
}

struct tapir_frame tapir_frame__function(const struct tapir_frame *frame, unsigned idx)
{
	struct tapir_frame function = *frame;

	if (frame->inlined.len)
		return inlined_function(frame, idx);
	function.locations = (struct tapir_source_locations){};
	if (idx >= frame->locations.cnt)
		return function;
	function.source = frame->locations.locations[idx];
	if (function.source.function) {
		function.is_inlined = true;
		function.name = tapir_sv__of(function.source.function);
		function.range = (struct tapir_sv){};
		function.offset = 0; /* its code is not in one piece */
	}
	return function;
}

bool tapir_frame__add_source(struct tapir_str *out, const struct tapir_frame *function)
{
	const char *file = function->source.file;
	const char *slash = file ? strrchr(file, '/') : NULL;

	if (file)
		tapir_str__addf(out, "%s:%" PRIu32, slash ? slash + 1 : file,
				function->source.line);
	if (function->is_inlined)
		tapir_str__adds(out, file ? ", inlined" : "inlined");
	return file || function->is_inlined;
}

void tapir_frame__show_raw_names(void)
{
	shows_raw_names = true;
}

/* "Shop.Checkout (async)" -> "Shop.Checkout (awaits)" */
static struct tapir_sv mark_awaiting(struct tapir_str *buf, struct tapir_sv name)
{
	static const char async[] = " (async)";
	size_t len = sizeof(async) - 1;

	if (name.data != buf->data)
		tapir_str__add(buf, name.data, name.len);
	if (buf->len >= len && !memcmp(buf->data + buf->len - len, async, len))
		buf->len -= len;
	tapir_str__adds(buf, " (awaits)");
	return buf->failed ? name : (struct tapir_sv){buf->data, buf->len};
}

static struct tapir_sv readable_name(const struct tapir_frame *frame, struct tapir_str *buf,
				     struct tapir_sv *tier)
{
	struct tapir_sv found = {};

	if (!frame->is_jit || shows_raw_names ||
	    !tapir_dotnet_name__add(buf, frame->name, &found) || buf->failed)
		return frame->name;
	if (tier)
		*tier = found;
	return (struct tapir_sv){buf->data, buf->len};
}

struct tapir_sv tapir_frame__shown_name(const struct tapir_frame *frame, struct tapir_str *buf,
					struct tapir_sv *tier)
{
	struct tapir_sv name;

	tapir_str__clear(buf);
	if (tier)
		*tier = (struct tapir_sv){};
	name = readable_name(frame, buf, tier);
	return frame->awaits && name.len ? mark_awaiting(buf, name) : name;
}

struct tapir_sv tapir_frame__module_name(const struct tapir_frame *frame)
{
	return tapir_sv__base_name(frame->module);
}

void tapir_frame__add_location(struct tapir_str *out, const struct tapir_frame *frame,
			       void (*add)(struct tapir_str *out, const char *bytes, size_t len))
{
	struct tapir_sv module =
		frame->is_jit ? tapir_sv__of("[jit]") : tapir_frame__module_name(frame);

	if (module.len)
		add(out, module.data, module.len);
	if (frame->range.len) {
		tapir_str__addc(out, '!');
		add(out, frame->range.data, frame->range.len);
		return;
	}
	tapir_str__adds(out, module.len ? "+0x" : "0x");
	tapir_str__addx(out, module.len ? frame->offset : frame->va);
}
