// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counters of a process as a table and as JSON. Every text is the process's, and is printed
 * escaped; without a description that can be read, there is the name alone.
 */
#include "output/render/list_counters.h"

#include <stdlib.h>

#include "base/json.h"
#include "decode/counter_text.h"
#include "output/render/list_rings.h"
#include "output/render/list_view.h"
#include "output/render/table.h"
#include "trace/record.h"

void tapir_list_counters__choose(struct tapir_ring_counter_list *list, const char *word,
				 const struct tapir_spec *spec)
{
	TAPIR_LIST_KEEP_CHOSEN(list, word, spec);
}

/* Without a description that can be read: the name alone. */
static void read_info(const struct tapir_ring_counter_info *info, struct tapir_sv *provider,
		      struct tapir_counter_text *text)
{
	struct tapir_probe_view view;

	tapir_probe_view__of(info->probe, &view);
	*provider = view.provider;
	if (tapir_counter_text__read(info->metadata, text))
		*text = (struct tapir_counter_text){.type = "?", .name = view.event};
}

static void cell_or_dash(struct tapir_table *table, struct tapir_sv text)
{
	if (text.len)
		tapir_table__cell_bytes(table, text.data, text.len);
	else
		tapir_table__cell(table, "-");
}

void tapir_list_counters__write_table(const struct tapir_ring_counter_list *list,
				      const struct tapir_palette *p, struct tapir_str *out)
{
	static const char *const titles[] = {"PROVIDER", "COUNTER", "TYPE", "UNIT",
					     "TAGS",	 ">PID",    NULL};
	static const struct tapir_column_fit fits[] = {
		{TAPIR_SHORTEN_MIDDLE, 10}, {}, {}, {TAPIR_SHORTEN_END, 4},
		{TAPIR_SHORTEN_END, 9},	    {}};
	struct tapir_table table = {.titles = titles,
				    .fits = fits,
				    .max_columns = TAPIR_LIST_MAX_COLUMNS,
				    .fit_columns = tapir_screen__fit_columns()};

	for (size_t i = 0; i < list->cnt; i++) {
		struct tapir_counter_text text;
		struct tapir_sv provider;

		read_info(&list->data[i], &provider, &text);
		tapir_table__cell_bytes(&table, provider.data, provider.len);
		tapir_table__cell_bytes(&table, text.name.data, text.name.len);
		tapir_table__cell(&table, text.type);
		cell_or_dash(&table, text.unit);
		cell_or_dash(&table, text.tags);
		tapir_table__cell_u64(&table, list->data[i].tgid);
	}
	if (list->cnt)
		tapir_table__write(&table, p, out);
	tapir_table__fini(&table);
}

void tapir_list_counters__write_json(const struct tapir_ring_counter_list *list,
				     struct tapir_str *out)
{
	for (size_t i = 0; i < list->cnt; i++) {
		struct tapir_json j = tapir_json__to(out);
		struct tapir_counter_text text;
		struct tapir_sv provider;

		read_info(&list->data[i], &provider, &text);
		tapir_json__open(&j, NULL, '{');
		tapir_json__strn(&j, "provider", provider.data, provider.len);
		tapir_json__strn(&j, "counter", text.name.data, text.name.len);
		tapir_json__strn(&j, "display_name", text.display_name.data, text.display_name.len);
		tapir_json__str(&j, "type", text.type);
		tapir_json__strn(&j, "unit", text.unit.data, text.unit.len);
		tapir_json__strn(&j, "tags", text.tags.data, text.tags.len);
		tapir_json__u64(&j, "pid", list->data[i].tgid);
		tapir_json__close(&j, '}');
		tapir_str__addc(out, '\n');
	}
}
