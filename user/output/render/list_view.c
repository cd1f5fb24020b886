// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Probes as a table, a row for each kind of site, or as JSON, a line for each site. Types of
 * arguments are from the program's own description, else from decode's table of providers, else the
 * size alone is known.
 */
#include "output/render/list_view.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "output/render/table.h"
#include "decode/usdt_hints.h"
#include "elf/operand.h"
#include "output/render/screen.h"

/* ---- what an argument is --------------------------------------------------------------- */

struct arg_view {
	const char *name; /* NULL: argN */
	char type[8];	  /* "u64", "str"; "?": cannot be read */
};

/* The program's own description (.note.tapir); NULL: only a number's size and sign are known. */
static const char *type_by_note(const struct tapir_usdt_note *note, unsigned i)
{
	switch (strlen(note->kinds) > i ? note->kinds[i] : 0) {
	case 's':
		return "str";
	case 'p':
		return "ptr";
	case 'b':
		return "bool";
	case 'c':
		return "char";
	default:
		return NULL;
	}
}

/* The type that is known of the provider (user/decode). */
static const char *type_by_hint(const struct tapir_hint_arg *hint)
{
	switch (hint ? hint->field_type : TAPIR_FIELD_NONE) {
	case TAPIR_FIELD_STR:
	case TAPIR_FIELD_STRN:
		return "str";
	case TAPIR_FIELD_BLOB:
		return "bytes";
	case TAPIR_FIELD_PTR:
		return "ptr";
	case TAPIR_FIELD_BOOL:
		return "bool";
	case TAPIR_FIELD_CHAR:
		return "char";
	default:
		return NULL;
	}
}

/* A float passed as the bits of an integer is one by its kind only. */
static char number_letter(const struct tapir_usdt_note *note, unsigned i)
{
	if (note->args[i].is_float || (strlen(note->kinds) > i && note->kinds[i] == 'f'))
		return 'f';
	return note->args[i].is_signed ? 'i' : 'u';
}

static struct arg_view view_arg(const struct tapir_usdt_note *note, unsigned i)
{
	const struct tapir_hint *hints =
		tapir_usdt_hint__find(note->provider, note->name, note->arg_cnt);
	const struct tapir_hint_arg *hint = hints && i < hints->arg_cnt ? &hints->args[i] : NULL;
	const char *type = type_by_note(note, i);
	struct arg_view view = {.name = note->arg_names[i]};

	if (!view.name || !*view.name)
		view.name = hint && hint->name && *hint->name ? hint->name : NULL;
	if (!type && !*note->kinds)
		type = type_by_hint(hint);
	if (note->reasons[i] != TAPIR_OPERAND_OK)
		type = "?";
	if (type)
		snprintf(view.type, sizeof(view.type), "%s", type);
	else
		snprintf(view.type, sizeof(view.type), "%c%u", number_letter(note, i),
			 note->args[i].size * 8u);
	return view;
}

/* ---- as a table --------------------------------------------------------------------------- */

/*
 * Adds an argument as a function's: "(u64 Order, i32, ?)": one without a name, one that cannot be
 * read.
 */
static void add_arg(struct tapir_str *out, const struct tapir_usdt_note *note, unsigned i)
{
	struct arg_view view = view_arg(note, i);

	tapir_str__addf(out, "%s%s%s%s", i ? ", " : "", view.type, view.name ? " " : "",
			view.name ? view.name : "");
}

/* Empty: it has none. */
static void describe_args(struct tapir_str *out, const struct tapir_usdt_note *note)
{
	tapir_str__clear(out);
	if (!note->arg_cnt && !note->dropped_arg_cnt)
		return;
	tapir_str__addc(out, '(');
	for (unsigned i = 0; i < note->arg_cnt; i++)
		add_arg(out, note, i);
	if (note->dropped_arg_cnt)
		tapir_str__addf(out, "%s+%u", note->arg_cnt ? ", " : "", note->dropped_arg_cnt);
	tapir_str__addc(out, ')');
}

/* Same probe, same file, same types: one row. */
static bool same_row(const struct tapir_site_info *a, const struct tapir_site_info *b)
{
	struct tapir_str a_args = {}, b_args = {};
	bool same;

	if (strcmp(a->note->provider, b->note->provider) || strcmp(a->note->name, b->note->name) ||
	    a->file != b->file)
		return false;
	describe_args(&a_args, a->note);
	describe_args(&b_args, b->note);
	same = !strcmp(a_args.data ? a_args.data : "", b_args.data ? b_args.data : "");
	tapir_str__fini(&a_args);
	tapir_str__fini(&b_args);
	return same;
}

#define FULL_COLUMNS 110 /* of a terminal with room for all columns of the table */

static void add_site_row(struct tapir_table *table, const struct tapir_site_info *site,
			 size_t site_cnt, bool is_narrow)
{
	struct tapir_str args = {};

	describe_args(&args, site->note);
	tapir_table__cell(table, site->note->provider);
	tapir_table__cell(table, site->note->name);
	tapir_table__cell(table, args.len ? args.data : "-");
	if (!is_narrow) {
		tapir_table__cell_u64(table, site_cnt);
		tapir_table__cell(table, site->note->semaphore_off ? "yes" : "-");
	}
	tapir_table__cell(table, tapir_probe_file__shown(site->file));
	tapir_str__fini(&args);
}

void tapir_list__write_table(const struct tapir_chosen_sites *chosen, const struct tapir_palette *p,
			     struct tapir_str *out)
{
	static const char *const all[] = {"PROVIDER",  "EVENT", "ARGUMENTS", ">SITES",
					  "SEMAPHORE", "FILE",	NULL};
	static const char *const few[] = {"PROVIDER", "EVENT", "ARGUMENTS", "FILE", NULL};
	static const struct tapir_column_fit fits[] = {{TAPIR_SHORTEN_MIDDLE, 10},
						       {}, /* a name that has to be typed */
						       {TAPIR_SHORTEN_END, 9},
						       {TAPIR_SHORTEN_BEGIN, 12}};
	size_t fit_columns = tapir_screen__fit_columns();
	bool is_narrow = fit_columns && fit_columns < FULL_COLUMNS;
	struct tapir_table table = {.titles = is_narrow ? few : all,
				    .fits = is_narrow ? fits : NULL,
				    .max_columns = TAPIR_LIST_MAX_COLUMNS,
				    .fit_columns = fit_columns};
	size_t first = 0;

	for (size_t i = 1; i <= chosen->cnt; i++) {
		if (i < chosen->cnt && same_row(&chosen->data[first], &chosen->data[i]))
			continue;
		add_site_row(&table, &chosen->data[first], i - first, is_narrow);
		first = i;
	}
	if (chosen->cnt)
		tapir_table__write(&table, p, out);
	tapir_table__fini(&table);
}

/* ---- as JSON ------------------------------------------------------------------------------ */

static void write_arg(struct tapir_json *j, const struct tapir_usdt_note *note, unsigned i)
{
	const struct tapir_operand *operand = &note->args[i];
	const struct arg_view view = view_arg(note, i);
	size_t len = 0;
	const char *text = tapir_usdt_note__arg_text(note, i, &len);
	const char *at = text ? memchr(text, '@', len) : NULL;

	tapir_json__open(j, NULL, '{');
	if (view.name)
		tapir_json__str(j, "name", view.name);
	if (note->reasons[i] == TAPIR_OPERAND_OK)
		tapir_json__str(j, "type", view.type);
	tapir_json__u64(j, "size", operand->size);
	tapir_json__bool(j, "signed", operand->is_signed);
	tapir_json__bool(j, "float", operand->is_float);
	if (at)
		tapir_json__strn(j, "operand", at + 1, len - (size_t)(at + 1 - text));
	else
		tapir_json__strn(j, "operand", text ? text : "", len);
	if (note->reasons[i] != TAPIR_OPERAND_OK)
		tapir_json__str(j, "reason", tapir_operand_reason__text(note->reasons[i]));
	tapir_json__close(j, '}');
}

static void write_site(const struct tapir_site_info *site, struct tapir_str *out)
{
	struct tapir_json j = tapir_json__to(out);
	struct tapir_str build_id = {};

	tapir_str__add_hex(&build_id, site->file->build_id, site->file->build_id_bytes);
	tapir_json__open(&j, NULL, '{');
	tapir_json__str(&j, "provider", site->note->provider);
	tapir_json__str(&j, "name", site->note->name);
	if (site->note->has_about) {
		tapir_json__u64(&j, "id", site->note->event_id);
		tapir_json__u64(&j, "version", site->note->version);
		tapir_json__u64(&j, "level", site->note->level);
		tapir_json__u64(&j, "keywords", site->note->keywords);
	}
	tapir_json__str(&j, "file", site->file->path);
	if (site->file->link)
		tapir_json__str(&j, "link", site->file->link);
	tapir_json__u64(&j, "offset", site->note->site_off);
	tapir_json__u64(&j, "semaphore", site->note->semaphore_off);
	tapir_json__str(&j, "build_id", build_id.data ? build_id.data : "");
	tapir_json__open(&j, "args", '[');
	for (unsigned i = 0; i < site->note->arg_cnt; i++)
		write_arg(&j, site->note, i);
	tapir_json__close(&j, ']');
	tapir_json__close(&j, '}');
	tapir_str__addc(out, '\n');
	tapir_str__fini(&build_id);
}

void tapir_list__write_json(const struct tapir_chosen_sites *chosen, struct tapir_str *out)
{
	const struct tapir_site_info *site;

	tapir_vec_for_each (site, chosen)
		write_site(site, out);
}
