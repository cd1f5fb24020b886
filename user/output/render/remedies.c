// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One line per family of stacks that loses many callers, and a few lines on names that are
 * missing.
 */
#include "output/render/remedies.h"

#include <string.h>
#include <sys/utsname.h>

#include "base/reader_words.h"
#include "spec/runtime_db/lore.h"
#include "symbol/process_runtime.h"
#include "symbol/stack_end.h"
#include "symbol/symbol_package.h"

#define NAMELESS_PERCENT 5.0  /* of all stacks: functions of one file */
#define METHODS_PERCENT	 50.0 /* of a runtime's: its other threads have no methods */
#define FILES_SHOWN	 3

static double percent(uint64_t part, uint64_t of)
{
	return of ? 100.0 * (double)part / (double)of : 0;
}

const char *tapir_remedies__of(const struct tapir_stack_end_row *row)
{
	if (row->end == TAPIR_STACK_END_JIT_NO_FP && row->runtime && row->runtime->stacks.remedy)
		return row->runtime->stacks.remedy;
	return tapir_stack_end__remedy((enum tapir_stack_end)row->end);
}

/* The row that most of the family's incomplete stacks are in; NULL: it has few of them. */
static const struct tapir_stack_end_row *worst_of(const struct tapir_stack_ends *ends,
						  enum tapir_family_id family)
{
	const struct tapir_stack_end_row *row, *worst = NULL;

	if (tapir_stack_ends__lost_percent(ends, family) <= TAPIR_LOST_PERCENT)
		return NULL;
	tapir_vec_for_each (row, &ends->rows)
		if (row->cnt[family] && (!worst || row->cnt[family] > worst->cnt[family]))
			worst = row;
	return worst;
}

bool tapir_remedies__add_callers(const struct tapir_stack_ends *ends, struct tapir_str *out)
{
	const struct tapir_stack_end_row *said = NULL;
	size_t from = out->len;

	for (int of = 0; of < TAPIR_FAMILY_CNT; of++) {
		const struct tapir_stack_end_row *row = worst_of(ends, of);
		const char *remedy = row ? tapir_remedies__of(row) : NULL;

		if (!remedy || row == said)
			continue;
		said = row;
		tapir_str__addf(out, "callers: lost in %.0f%% of %s, most in ",
				tapir_stack_ends__lost_percent(ends, of), tapir_families[of].many);
		tapir_str__add_printable(out, row->module, strlen(row->module));
		if (row->end == TAPIR_STACK_END_JIT_NO_FP && row->runtime)
			tapir_str__addf(out, " of %s", row->runtime->name);
		tapir_str__addf(out, ": %s\n", remedy);
	}
	return out->len > from;
}

static void add_methods(const struct tapir_stack_ends *ends, struct tapir_str *out)
{
	const struct tapir_name_gap_row *row;

	tapir_vec_for_each (row, &ends->gaps) {
		if (row->path || row->of < TAPIR_STACKS_MIN ||
		    percent(row->cnt, row->of) <= METHODS_PERCENT)
			continue;
		tapir_str__addf(
			out, "names: %.0f%% of %s's stacks name none of its functions: %s\n",
			percent(row->cnt, row->of), row->runtime->name, row->runtime->names.remedy);
	}
}

static bool is_this_machine(const char *host)
{
	struct utsname uts;

	return host && !uname(&uts) && !strcmp(host, uts.nodename);
}

static void add_file(const struct tapir_stack_ends *ends, const struct tapir_name_gap_row *row,
		     bool has_packages, struct tapir_str *out)
{
	const char *slash = strrchr(row->path, '/'), *name = slash ? slash + 1 : row->path;
	struct tapir_str package = {};

	tapir_str__addf(out, "names: %.0f%% of stacks have functions without a name in ",
			percent(row->cnt, ends->searched));
	tapir_str__add_printable(out, name, strlen(name));
	if (has_packages && tapir_symbol_package__add(&package, tapir_sv__of(row->path), NULL))
		tapir_str__addf(out, ": its symbols are in package %s", package.data);
	tapir_str__addc(out, '\n');
	out->failed |= package.failed;
	tapir_str__fini(&package);
}

/* A child that was forked has no map of its own, whatever its parent has. */
static void add_generated(const struct tapir_stack_ends *ends, const struct tapir_name_gap_row *row,
			  struct tapir_str *out)
{
	tapir_str__addf(
		out,
		"names: %.0f%% of stacks have generated code without a name: their process has no perf map or jitdump (a forked child runs its parent's code: record from before the fork, with the parent)\n",
		percent(row->cnt, ends->searched));
}

void tapir_remedies__add_names(const struct tapir_stack_ends *ends, const char *path,
			       const char *host, struct tapir_str *out)
{
	const struct tapir_name_gap_row *row;
	bool has_packages = is_this_machine(host);
	unsigned shown = 0;

	add_methods(ends, out);
	if (ends->searched < TAPIR_STACKS_MIN)
		return;
	tapir_vec_for_each (row, &ends->gaps) {
		if (!row->path || percent(row->cnt, ends->searched) <= NAMELESS_PERCENT ||
		    shown == FILES_SHOWN)
			continue;
		if (!strcmp(row->path, TAPIR_GENERATED_CODE)) {
			add_generated(ends, row, out);
			continue;
		}
		add_file(ends, row, has_packages, out);
		shown++;
	}
	if (!shown)
		return;
	if (tapir_reader_words__are_parameters()) {
		tapir_str__adds(out,
				"names: files or servers that have them are named by `symbols` "
				"in the agent's configuration\n");
		return;
	}
	tapir_str__adds(out, "names: add them with 'tapir symbolize ");
	tapir_str__add_printable(out, path, strlen(path));
	tapir_str__adds(out, " --symbols DIR|URL', also of a debuginfod server ('tapir help "
			     "symbols')\n");
}
