// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir doctor: checks are collected once, then shown as lines or as one JSON document. The status
 * is 3 where something is missing without which nothing can be recorded.
 */
#include <errno.h>
#include <string.h>

#include "attach/doctor.h"
#include "base/diag.h"
#include "base/json.h"
#include "cli/commands.h"
#include "output/render/help_text.h"
#include "runtime/doctor_runtime.h"
#include "symbol/doctor_symbols.h"
#include "symbol/doctor_tables.h"
#include "output/render/screen.h"
#include "cli/terminal.h"

struct args {
	struct tapir_pids pids;
	bool json;
	/* An option sets a member above this line. */
};

static const struct tapir_option options[] = {
	TAPIR_PIDS("pid", 'p', "PID", "also check this process", struct args, pids),
	TAPIR_FLAG("json", 0, "one JSON document", struct args, json),
	/* An option is a row above this line. */
	{}};

static const char *const states[] = {"ok", "limited", "missing"};

/* A remedy of several consecutive lines is printed once, after the last of them. */
static bool says_remedy(const struct tapir_checkup *checkup, const struct tapir_check *check)
{
	const struct tapir_check *next = check + 1;

	if (check->state == TAPIR_CHECK_OK || !check->remedy)
		return false;
	return next == checkup->data + checkup->cnt || next->state == TAPIR_CHECK_OK ||
	       next->remedy != check->remedy;
}

/* The widths of a row's columns; narrow ones cut their longest cells. */
struct widths {
	size_t name, found, means;
	bool is_narrow; /* what a row means is wrapped */
};

#define STATE_COLUMNS  9
#define FOUND_COLUMNS  40 /* one long cell does not push all others aside */
#define NARROW_COLUMNS 10

static size_t max_size(size_t a, size_t b)
{
	return a > b ? a : b;
}

static struct widths measure_columns(const struct tapir_checkup *checkup)
{
	size_t fit_columns = tapir_screen__fit_columns(), short_found = 0;
	const struct tapir_check *check;
	struct widths w = {};

	tapir_vec_for_each (check, checkup) {
		size_t len = strlen(check->found);

		w.name = max_size(w.name, strlen(check->name));
		w.means = max_size(w.means, strlen(check->means));
		w.found = max_size(w.found, len <= FOUND_COLUMNS ? len : 0);
		short_found = max_size(short_found, len <= NARROW_COLUMNS ? len : 0);
	}
	w.is_narrow = fit_columns && STATE_COLUMNS + w.name + w.found + w.means + 4 > fit_columns;
	w.found = w.is_narrow ? short_found : w.found;
	return w;
}

static void write_row(const struct tapir_check *check, const struct widths *w,
		      struct tapir_str *out)
{
	const struct tapir_palette *p = tapir_screen__palette(stdout);
	const char *const colours[] = {p->green, p->yellow, p->red};
	size_t from, indent = STATE_COLUMNS + w->name + w->found + 4;

	tapir_str__addf(out, "%s%-7s%s  ", colours[check->state], states[check->state], p->off);
	from = out->len;
	tapir_str__adds(out, check->name);
	tapir_str__pad(out, from, w->name + 2);
	tapir_str__add_printable(out, check->found, strlen(check->found));
	if (w->is_narrow && out->len - from > w->name + 2 + w->found) {
		tapir_str__addc(out, '\n');
		from = out->len;
		tapir_str__pad(out, from, indent);
	} else {
		tapir_str__adds(out, "  ");
		tapir_str__pad(out, from, w->name + w->found + 4);
		from -= STATE_COLUMNS; /* without the color */
	}
	if (w->is_narrow)
		tapir_text__add_wrapped(out, from, tapir_text__sv(check->means), indent);
	else
		tapir_str__addf(out, "%s\n", check->means);
}

static void write_plain(const struct tapir_checkup *checkup, struct tapir_str *out)
{
	struct widths w = measure_columns(checkup);
	const struct tapir_check *check;

	tapir_vec_for_each (check, checkup) {
		write_row(check, &w, out);
		if (says_remedy(checkup, check))
			tapir_str__addf(out, "         to get it: %s\n", check->remedy);
	}
	tapir_str__addf(out, "\n%s\n",
			tapir_checkup__can_record(checkup)
				? "Recording works here. Next: tapir ps"
				: "Recording does not work here: see 'missing' above.");
}

static void write_json(const struct tapir_checkup *checkup, struct tapir_str *out)
{
	struct tapir_json j = tapir_json__to(out);
	const struct tapir_check *check;

	tapir_json__open(&j, NULL, '{');
	tapir_json__bool(&j, "can_record", tapir_checkup__can_record(checkup));
	tapir_json__open(&j, "checks", '[');
	tapir_vec_for_each (check, checkup) {
		tapir_json__open(&j, NULL, '{');
		tapir_json__str(&j, "name", check->name);
		tapir_json__str(&j, "state", states[check->state]);
		tapir_json__str(&j, "found", check->found);
		tapir_json__str(&j, "means", check->means);
		tapir_json__str(&j, "remedy",
				check->state == TAPIR_CHECK_OK ? NULL : check->remedy);
		tapir_json__close(&j, '}');
	}
	tapir_json__close(&j, ']');
	tapir_json__close(&j, '}');
	tapir_str__addc(out, '\n');
}

/* -ENOTSUP with the names of what is missing. */
static int verdict(const struct tapir_checkup *checkup)
{
	const struct tapir_check *check;
	struct tapir_str names = {};

	if (tapir_checkup__can_record(checkup))
		return 0;
	tapir_vec_for_each (check, checkup)
		if (check->state == TAPIR_CHECK_MISSING)
			tapir_str__addf(&names, "%s%s", names.len ? ", " : "", check->name);
	tapir_diag__add("recording does not work here: missing %s", names.data ? names.data : "");
	tapir_str__fini(&names);
	return -ENOTSUP;
}

static void check_runtime(struct tapir_checkup *checkup, uint32_t tgid)
{
	if (!tapir_doctor_runtime__check(checkup, tgid))
		tapir_doctor_tables__check(checkup, tgid);
	tapir_doctor_symbols__check(checkup, tgid);
}

static int run_doctor(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	struct tapir_checkup checkup = {};
	struct tapir_str out = {};
	int err;

	if (args->pids.cnt > 1)
		return tapir_cli__usage(cli, "only one process can be checked at a time");
	err = tapir_doctor__run(args->pids.cnt ? args->pids.data[0] : 0, &checkup);
	if (!err && args->pids.cnt)
		check_runtime(&checkup, args->pids.data[0]);
	/* An option acts above this line. */
	if (!err) {
		(args->json ? write_json : write_plain)(&checkup, &out);
		err = tapir_terminal__flush(&out);
	}
	if (!err)
		err = verdict(&checkup);
	tapir_str__fini(&out);
	tapir_checkup__fini(&checkup);
	return err;
}

const struct tapir_command tapir_cmd_doctor = {
	.name = "doctor",
	.summary = "check what this kernel and user can record, and how to get more",
	.synopsis = "[-p PID] [--json]",
	.text = "Tries what recording needs, changes nothing, and takes a tenth of a "
		"second. 'limited' means that recording works without it, 'missing' that "
		"it does not. The exit status is 0 if recording works and 3 if it does "
		"not.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.examples =
		(const struct tapir_example[]){
			{"doctor", "whether recording works here"},
			{"doctor -p 4242", "what can be recorded of a process"},
			{"doctor --json | jq -r '.checks[] | select(.state != \"ok\") | .name'",
			 "everything that is limited or missing, for scripts"},
			{}},
	.args_bytes = sizeof(struct args),
	.reads_foreign_files = true,
	.run = run_doctor,
};
