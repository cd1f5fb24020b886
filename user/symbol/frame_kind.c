// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lists of what runtimes call their files and their interpreters' loops. A file name matches up
 * to a version: "libpython3.11.so.1.0" by "libpython", "python3.11" by "python".
 */
#include "symbol/frame_kind.h"

#include <ctype.h>
#include <string.h>

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

static bool is_runtime(struct tapir_sv file)
{
	static const char *const programs[] = {"node", "nodejs",    "python", "ruby", "php",
					       "perl", "mono-sgen", "mono",   NULL};
	static const char *const files[] = {
		"libjvm.so", "libcoreclr.so",  "libclrjit.so", "libclrgc.so", "beam.smp",
		"bun",	     "libclrgcexp.so", "beam.emu",     "deno",	      NULL};
	static const char *const libraries[] = {"libpython",   "libruby",  "libphp", "libnode.",
						"libperl.",    "libmono",  "libv8",  "libluajit",
						"libmonosgen", "libgraal", NULL};

	if (is_one_of(file, files))
		return true;
	for (const char *const *word = programs; *word; word++)
		if (is_version_of(file, *word))
			return true;
	for (const char *const *word = libraries; *word; word++)
		if (tapir_sv__starts_with(file, *word))
			return true;
	return false;
}

/* Functions in which a runtime's interpreter goes from instruction to instruction. */
static bool is_interpreter_loop(struct tapir_sv name)
{
	static const char *const loops[] = {"_PyEval_EvalFrameDefault",
					    "_PyEval_EvalFrameDefault.cold",
					    "PyEval_EvalFrameEx",
					    "vm_exec_core",
					    "rb_vm_exec",
					    "vm_exec",
					    "execute_ex",
					    "process_main",
					    "Perl_runops_standard",
					    "mono_interp_exec_method",
					    "interp_exec_method",
					    "BytecodeInterpreter::run",
					    NULL};

	return is_one_of(name, loops);
}

/* How runtimes write an interpreted function into their perf map. */
static bool is_interpreted(struct tapir_sv name)
{
	return tapir_sv__starts_with(name, "Interpreter") || tapir_sv__starts_with(name, "py::") ||
	       tapir_sv__starts_with(name, "JS:~") ||
	       tapir_sv__starts_with(name, "LazyCompile:~") ||
	       tapir_sv__starts_with(name, "Function:~") ||
	       tapir_sv__starts_with(name, "Script:~") ||
	       tapir_sv__starts_with(name, "Builtin:Interpreter");
}

enum tapir_frame_kind tapir_frame__kind(const struct tapir_frame *frame)
{
	if (frame->is_kernel)
		return TAPIR_FRAME_KERNEL;
	if (frame->is_jit)
		return is_interpreted(frame->name) ? TAPIR_FRAME_INTERPRETER : TAPIR_FRAME_JIT;
	if (!is_runtime(tapir_frame__module_name(frame)))
		return TAPIR_FRAME_NATIVE;
	return is_interpreter_loop(frame->name) ? TAPIR_FRAME_INTERPRETER : TAPIR_FRAME_RUNTIME;
}

const char *tapir_frame_kind__name(enum tapir_frame_kind kind)
{
	static const char *const names[] = {"",	   "native", "runtime", "interpreter",
					    "JIT", "kernel"};

	return kind < TAPIR_FRAME_KIND_CNT ? names[kind] : "";
}
