// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See finding_postgresql.h. Checkpoints count only if the log's size caused them (a flag of the
 * event), sorts only if they wrote temporary files.
 */
#include "diagnose/finding_postgresql.h"

#include <inttypes.h>

#include "diagnose/finding_impl.h"

#define CHECKPOINT_CAUSE_LOG 0x80u  /* of its flags: since max_wal_size was reached */
#define BLOCK_BYTES	     8192.0 /* of temporary files */

static void count_sort(struct tapir_finding *f, const struct tapir_finding_event *e)
{
	struct tapir_postgresql_finding *p = &f->postgresql;
	uint64_t blocks = tapir_event_fields__u64(e->fields, "space");

	p->sort_cnt++;
	if (!tapir_event_fields__u64(e->fields, "is_external"))
		return; /* space: KB of memory */
	p->file_sort_cnt++;
	p->most_blocks = blocks > p->most_blocks ? blocks : p->most_blocks;
	tapir_finding_doing__add_statement(f, e->thread->tid, &p->statements, 1);
}

void tapir_finding_postgresql__event(struct tapir_finding *f, const struct tapir_finding_event *e)
{
	if (e->meaning == TAPIR_MEANS_SORTED)
		count_sort(f, e);
	if (e->meaning != TAPIR_MEANS_CHECKPOINT)
		return;
	f->postgresql.checkpoint_cnt++;
	f->postgresql.by_log_cnt +=
		(tapir_event_fields__u64(e->fields, "flags") & CHECKPOINT_CAUSE_LOG) != 0;
}

static void list_checkpoints(const struct tapir_postgresql_finding *p, double seconds,
			     struct tapir_found_list *list)
{
	double rate = (double)p->checkpoint_cnt * 60 / seconds;
	struct tapir_str text = {};

	if (!tapir_found_list__admits(
		    list, TAPIR_FOUND_CHECKPOINTS, rate,
		    TAPIR_CHECKS({TAPIR_LIMIT_CHECKPOINTS, (double)p->checkpoint_cnt})))
		return;
	tapir_str__addf(&text, "%" PRIu64 " checkpoints in %.1f s", p->checkpoint_cnt, seconds);
	if (p->by_log_cnt * 2 > p->checkpoint_cnt)
		tapir_str__adds(&text, ", most since max_wal_size was reached");
	tapir_found_list__add(list, TAPIR_FOUND_CHECKPOINTS, rate, NULL, &text, NULL, NULL);
}

static void list_sorts(const struct tapir_postgresql_finding *p, double seconds,
		       struct tapir_found_list *list)
{
	double rate = (double)p->file_sort_cnt / seconds;
	struct tapir_str text = {};

	if (!tapir_found_list__admits(
		    list, TAPIR_FOUND_FILE_SORTS, rate,
		    TAPIR_CHECKS({TAPIR_LIMIT_FILE_SORTS, (double)p->file_sort_cnt})))
		return;
	tapir_str__addf(
		&text,
		"%" PRIu64 " of %" PRIu64
		" sorts did not fit work_mem: %.1f a second write temporary files, of up to "
		"%.1f MB",
		p->file_sort_cnt, p->sort_cnt, rate, (double)p->most_blocks * BLOCK_BYTES / 1e6);
	tapir_finding_doing__add_worst(&p->statements, p->file_sort_cnt, &text);
	tapir_found_list__add(list, TAPIR_FOUND_FILE_SORTS, rate, NULL, &text, NULL, NULL);
}

void tapir_finding_postgresql__list(struct tapir_finding *f, struct tapir_found_list *list)
{
	double seconds = (double)tapir_timeline__span_ns(f->tl) / 1e9;

	if (seconds <= 0)
		return;
	list_checkpoints(&f->postgresql, seconds, list);
	list_sorts(&f->postgresql, seconds, list);
}

void tapir_finding_postgresql__fini(struct tapir_finding *f)
{
	tapir_found_labels__fini(&f->postgresql.statements);
}
