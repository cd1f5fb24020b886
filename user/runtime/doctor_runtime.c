// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The options a runtime was started with are in its command line or its environment (runtime_db has
 * which). What the kernel can find without any option, such as the frames of an interpreter, is
 * checked before an option is recommended.
 */
#include "runtime/doctor_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/doctor_checks.h"
#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/str.h"
#include "bpf/interp.h"
#include "elf/go_table.h"
#include "elf/image.h"
#include "spec/runtime_db/lore.h"
#include "runtime/interpreters.h"
#include "runtime/recognize.h"

#define ENVIRON_MAX_BYTES (256u << 10)

/* Words are separated by one space, so that "-X perf" is found. */
static void add_words(struct tapir_str *out, const char *words, size_t len)
{
	size_t from = out->len;

	tapir_str__add(out, words, len);
	for (; from < out->len; from++)
		if (!out->data[from])
			out->data[from] = ' ';
}

static void read_options(uint32_t tgid, struct tapir_str *out)
{
	struct tapir_proc proc;
	char path[40], *text = NULL;
	size_t len = 0;

	if (!tapir_proc__read(tgid, &proc)) {
		add_words(out, proc.cmdline, proc.cmdline_len);
		tapir_proc__fini(&proc);
	}
	snprintf(path, sizeof(path), "/proc/%u/environ", tgid);
	tapir_str__addc(out, ' ');
	if (!tapir_file__read(path, ENVIRON_MAX_BYTES, &text, &len))
		add_words(out, text, len);
	free(text);
}

static bool has_any(const struct tapir_str *options, const char *const *wanted)
{
	for (; *wanted; wanted++)
		if (options->data && strstr(options->data, *wanted))
			return true;
	return false;
}

static int sees_code(const struct tapir_mapping_line *m, void *ctx)
{
	const char *path = ctx;

	return m->is_executable && !strncmp(m->path, path, strlen(path));
}

static bool has_frame_sizes(uint32_t tgid)
{
	for (size_t i = 0; tapir_runtimes[i]; i++) {
		struct tapir_code_place place = {};

		if (tapir_runtimes[i]->code)
			free(tapir_runtimes[i]->code->find(tgid, NULL, &place));
		if (place.heap_cnt)
			return true;
	}
	return false;
}

static bool are_frames_walked(uint32_t tgid)
{
	struct tapir_interp_loop loop;
	struct tapir_interp interp;
	void *state = NULL;
	bool are_walked = tapir_interpreters__find(tgid, &interp, &loop, &state);

	free(state);
	return are_walked;
}

static bool is_limited(const struct tapir_lore_yield *yield, const struct tapir_str *options,
		       uint32_t tgid)
{
	if ((yield->unless_it_has_frame_sizes && has_frame_sizes(tgid)) ||
	    (yield->unless_its_frames_are_walked && are_frames_walked(tgid)))
		return false;
	if (yield->unless_code_in)
		return tapir_proc__each_mapping(tgid, sees_code,
						(void *)(uintptr_t)yield->unless_code_in) > 0;
	return yield->options && !has_any(options, yield->options);
}

struct go_search {
	uint32_t tgid;
	bool is_go;
};

/* The first code of a process is its program's, which Go's runtime is a part of. */
static int see_program(const struct tapir_mapping_line *m, void *ctx)
{
	struct go_search *search = ctx;
	struct tapir_elf *elf = NULL;

	if (!m->is_executable || !tapir_mapping_line__is_file(m))
		return 0;
	tapir_autofd int fd = tapir_proc__open_mapped(search->tgid, m, NULL);

	search->is_go = fd >= 0 && !tapir_elf__open_fd(fd, &elf) && tapir_go_table__is_in(elf);
	tapir_elf__free(elf);
	return 1;
}

static bool is_go(uint32_t tgid)
{
	struct go_search search = {.tgid = tgid};

	(void)tapir_proc__each_mapping(tgid, see_program, &search);
	return search.is_go;
}

static void add_go(struct tapir_checkup *checkup)
{
	struct tapir_check *check = tapir_checkup__add(
		checkup, "process_stacks", "complete, also across goroutines' system calls");

	snprintf(check->found, sizeof(check->found), "Go");
	check = tapir_checkup__add(checkup, "process_names",
				   "Go's functions, also of a stripped program");
	snprintf(check->found, sizeof(check->found), "Go");
}

static void add_check(struct tapir_checkup *checkup, const char *name,
		      const struct tapir_lore_yield *yield, const struct tapir_str *options,
		      const struct tapir_runtime_info *runtime, uint32_t tgid)
{
	struct tapir_check *check;

	if (!yield->with)
		return;
	check = tapir_checkup__add(checkup, name, yield->with);
	snprintf(check->found, sizeof(check->found), "%s%s%.40s", runtime->name,
		 *runtime->version ? " " : "", runtime->version);
	if (!is_limited(yield, options, tgid))
		return;
	check->state = TAPIR_CHECK_LIMITED;
	check->means = yield->without;
	check->remedy = yield->remedy;
}

bool tapir_doctor_runtime__check(struct tapir_checkup *checkup, uint32_t tgid)
{
	struct tapir_runtime_info runtime;
	const struct tapir_lore *lore = NULL;
	struct tapir_str options = {};
	int mark = tapir_diag__cnt();
	bool has_stacks = false;

	for (size_t i = 0; tapir_runtimes[i]; i++)
		if (tapir_runtimes[i]->check)
			tapir_runtimes[i]->check(checkup, tgid);
	if (!tapir_runtime__recognize(tgid, &runtime))
		lore = tapir_lore__named(runtime.name);
	if (lore) {
		read_options(tgid, &options);
		add_check(checkup, "process_stacks", &lore->stacks, &options, &runtime, tgid);
		add_check(checkup, "process_names", &lore->names, &options, &runtime, tgid);
		has_stacks = lore->stacks.with != NULL;
	} else if (is_go(tgid)) {
		add_go(checkup);
		has_stacks = true;
	}
	tapir_diag__rewind(mark);
	tapir_str__fini(&options);
	return has_stacks;
}
