// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions that lines of text and of JSON share: the two forms never differ in what a process
 * or a thread is called.
 */
#include <stdlib.h>

#include "output/export/event_lines_impl.h"

unsigned tapir_line__decode(struct tapir_event_lines *l, const struct tapir_line_probe *probe,
			    const struct tapir_event_view *view)
{
	return probe->layout
		       ? tapir_event_layout__decode(probe->layout, view, l->values, l->value_cap)
		       : tapir_fields__decode(&probe->view, view, l->values, l->value_cap);
}

struct tapir_sv tapir_line_probe__field(const struct tapir_line_probe *probe, unsigned idx)
{
	return probe->layout ? tapir_event_layout__name(probe->layout, idx)
			     : tapir_probe_view__name(&probe->view, idx);
}

struct tapir_sv tapir_line__comm(const struct tapir_event_lines *l, uint32_t tgid, uint32_t tid,
				 uint64_t time_ns)
{
	const struct tapir_rec_thread *thread = tapir_catalog__thread(l->catalog, tid, time_ns);
	const struct tapir_rec_process *process;
	struct tapir_process_view view;

	if (thread && thread->tgid == tgid && thread->leader_comm[0])
		return (struct tapir_sv){thread->leader_comm,
					 strnlen(thread->leader_comm, sizeof(thread->leader_comm))};
	process = tapir_catalog__process(l->catalog, tgid, time_ns);
	if (!process)
		return (struct tapir_sv){};
	tapir_process_view__of(&process->h, &view);
	return view.comm;
}

void tapir_line__add_digits(struct tapir_str *out, uint64_t value, unsigned width)
{
	char digits[20];

	for (unsigned i = width; i--; value /= 10)
		digits[i] = (char)('0' + value % 10);
	tapir_str__add(out, digits, width);
}
