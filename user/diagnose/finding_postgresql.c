// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See finding_postgresql.h. Checkpoints count only if the log's size caused them (a flag of the
 * event), sorts only if they wrote temporary files.
 */
#include "diagnose/finding_postgresql.h"

#include "diagnose/diagnosis_impl.h"

#define CHECKPOINT_CAUSE_LOG 0x80u  /* of its flags: since max_wal_size was reached */
#define BLOCK_BYTES	     8192.0 /* of temporary files */

static void count_sort(struct tapir_diagnosis *f, const struct tapir_diagnosis_event *e)
{
	struct tapir_postgresql_finding *p = &f->postgresql;
	uint64_t blocks = tapir_event_fields__u64(e->fields, "space");

	p->sort_cnt++;
	if (!tapir_event_fields__u64(e->fields, "is_external"))
		return; /* space: KB of memory */
	p->file_sort_cnt++;
	p->max_blocks = blocks > p->max_blocks ? blocks : p->max_blocks;
	tapir_finding_cpu_activity__add_statement(f, e->thread->tid, &p->statements, 1);
}

void tapir_finding_postgresql__event(struct tapir_diagnosis *f,
				     const struct tapir_diagnosis_event *e)
{
	if (e->event_kind == TAPIR_DIAGNOSIS_EVENT_SORTED)
		count_sort(f, e);
	if (e->event_kind != TAPIR_DIAGNOSIS_EVENT_CHECKPOINT)
		return;
	f->postgresql.checkpoint_cnt++;
	f->postgresql.by_log_cnt +=
		(tapir_event_fields__u64(e->fields, "flags") & CHECKPOINT_CAUSE_LOG) != 0;
}

void tapir_finding_postgresql__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	const struct tapir_postgresql_finding *p = &f->postgresql;
	struct tapir_str statement = {};

	tapir_label_sums__append_dominant(&p->statements, p->file_sort_cnt, &statement);
	TAPIR_JUDGE(
		f, list, CHECKPOINTS, .cnt = p->checkpoint_cnt,
		.note = p->by_log_cnt && TAPIR_IS_SHARE(DOMINANT, p->by_log_cnt, p->checkpoint_cnt)
				? "max_wal_size"
				: NULL);
	TAPIR_JUDGE(f, list, FILE_SORTS, .cnt = p->file_sort_cnt, .of = p->sort_cnt,
		    .mb = p->max_blocks * BLOCK_BYTES / 1e6, .request = statement);
}

void tapir_finding_postgresql__fini(struct tapir_diagnosis *f)
{
	tapir_label_sums__fini(&f->postgresql.statements);
}
