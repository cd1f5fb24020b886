// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Classifies frames by the files and functions that spec/runtime_db has for each runtime.
 * Interpreted functions are recognized by the form in which runtimes write them into their perf
 * map.
 */
#include "symbol/frame_kind.h"

#include <ctype.h>
#include <string.h>

#include "spec/runtime_db/lore.h"

static bool is_one_of(struct tapir_sv text, const char *const *words)
{
	for (; *words; words++)
		if (strlen(*words) == text.len && !memcmp(*words, text.data, text.len))
			return true;
	return false;
}

/* "python3.11", "php8.2": the word, then nothing but a version. */
static bool is_version_of(struct tapir_sv text, const char *word)
{
	if (!tapir_sv__starts_with(text, word))
		return false;
	for (size_t i = strlen(word); i < text.len; i++)
		if (!isdigit((unsigned char)text.data[i]) && !strchr(".-", text.data[i]))
			return false;
	return true;
}

static bool is_module(struct tapir_sv file, const struct tapir_lore_module *m)
{
	switch (m->match) {
	case TAPIR_LORE_WHOLE:
		return strlen(m->name) == file.len && !memcmp(m->name, file.data, file.len);
	case TAPIR_LORE_VERSION:
		return is_version_of(file, m->name);
	case TAPIR_LORE_PREFIX:
		return tapir_sv__starts_with(file, m->name);
	}
	return false;
}

const struct tapir_lore *tapir_frame_kind__runtime(struct tapir_sv file)
{
	tapir_lore_for_each (lore)
		for (const struct tapir_lore_module *m = lore->modules; m && m->name; m++)
			if (is_module(file, m))
				return lore;
	return NULL;
}

/* Functions in which a runtime's interpreter goes from instruction to instruction. */
static bool is_interpreter_loop(struct tapir_sv name)
{
	tapir_lore_for_each (lore)
		if (lore->interpreter_loops && is_one_of(name, lore->interpreter_loops))
			return true;
	return false;
}

/* Recognizes an interpreted function as runtimes write it into their perf map. */
static bool is_interpreted(struct tapir_sv name)
{
	tapir_lore_for_each (lore)
		if (tapir_sv__starts_with_any(name, lore->interpreted))
			return true;
	return false;
}

enum tapir_frame_kind tapir_frame__kind(const struct tapir_frame *frame)
{
	if (frame->is_kernel)
		return TAPIR_FRAME_KERNEL;
	if (frame->awaits)
		return TAPIR_FRAME_AWAITING;
	if (frame->is_jit)
		return frame->is_interpreted || is_interpreted(frame->name)
			       ? TAPIR_FRAME_INTERPRETER
			       : TAPIR_FRAME_JIT;
	if (!tapir_frame_kind__runtime(tapir_frame__module_name(frame)))
		return TAPIR_FRAME_NATIVE;
	return is_interpreter_loop(frame->name) ? TAPIR_FRAME_INTERPRETER : TAPIR_FRAME_RUNTIME;
}

uint8_t tapir_frame__runtime(const struct tapir_frame *frame)
{
	const struct tapir_lore *runtime =
		tapir_frame_kind__runtime(tapir_frame__module_name(frame));
	uint8_t idx = 0;

	while (runtime && tapir_lore_all[idx] != runtime)
		idx++;
	return runtime ? idx + 1 : 0;
}

/* Debian, Fedora and Alpine install libraries there. */
static bool is_system_library(struct tapir_sv path)
{
	static const char *const dirs[] = {"/lib/",	  "/lib64/",	     "/usr/lib/",
					   "/usr/lib64/", "/usr/local/lib/", NULL};

	return tapir_sv__starts_with_any(path, dirs) && memmem(path.data, path.len, ".so", 3);
}

/* PostgreSQL, MySQL: the program is what they are asked to do. */
static bool is_server(struct tapir_sv file)
{
	tapir_lore_for_each (lore)
		for (const struct tapir_lore_file *f = lore->files; f && f->prefix; f++)
			if (tapir_sv__is(file, f->prefix))
				return true;
	return false;
}

bool tapir_frame__is_of_program(const struct tapir_frame *frame)
{
	return tapir_frame__kind(frame) == TAPIR_FRAME_NATIVE && frame->module.len &&
	       frame->module.data[0] == '/' && !is_system_library(frame->module) &&
	       !is_server(tapir_frame__module_name(frame));
}

const char *tapir_frame_kind__name(enum tapir_frame_kind kind)
{
	static const char *const names[] = {"",	   "native", "runtime", "interpreter",
					    "JIT", "kernel", "awaiting"};

	return kind < TAPIR_FRAME_KIND_CNT ? names[kind] : "";
}
