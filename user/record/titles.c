// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See titles.h. A forked server process gets 10 ms to set its title; the due times are in the order
 * of the forks, so the first row is due first.
 */
#include "record/titles.h"

#include <string.h>

#include "base/clock.h"
#include "spec/runtime_db/lore.h"
#include "trace/record.h"

#define PATIENCE_NS (10 * TAPIR_NS_PER_MS) /* it takes a forked process one or two to begin */

static bool has_title(struct tapir_sv comm)
{
	tapir_lore_for_each (lore)
		if (lore->titled_comm && tapir_sv__is(comm, lore->titled_comm))
			return true;
	return false;
}

void tapir_titles__add(struct tapir_titles *titles, const struct tapir_rec_process *rec,
		       uint64_t now_ns)
{
	struct tapir_process_view view;

	tapir_process_view__of(&rec->h, &view);
	if (rec->kind != TAPIR_PROCESS_FORK || titles->cnt == TAPIR_TITLES_MAX ||
	    !has_title(view.comm))
		return;
	titles->rows[titles->cnt].tgid = rec->tgid;
	titles->rows[titles->cnt++].due_ns = now_ns + PATIENCE_NS;
}

uint64_t tapir_titles__next_ns(const struct tapir_titles *titles)
{
	return titles->cnt ? titles->rows[0].due_ns : UINT64_MAX;
}

bool tapir_titles__take(struct tapir_titles *titles, uint64_t now_ns, uint32_t *tgid)
{
	if (tapir_titles__next_ns(titles) > now_ns)
		return false;
	*tgid = titles->rows[0].tgid;
	titles->cnt--;
	memmove(titles->rows, titles->rows + 1, titles->cnt * sizeof(*titles->rows));
	return true;
}
