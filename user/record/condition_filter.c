// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel gets the condition of a probe when its first event has come, and counts from then on
 * what it leaves out. If it has no room, events arrive as before and are decided here.
 */
#include "record/condition_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "base/map.h"
#include "decode/record_where.h"
#include "trace/recbuf.h"

/* A probe of which the kernel decides, and how many of its count were reported. */
struct kernel_probe {
	uint32_t probe_id;
	uint64_t reported;
};

struct tapir_condition_filter {
	struct tapir_where *where;
	struct tapir_programs *programs;
	struct tapir_map cnts; /* probe id -> left out here since the last report */
	struct tapir_map offered;
	struct tapir_vec(struct kernel_probe) kernel_probes;
	uint64_t last_ns;
	bool has_warned;
};

static void on_offer(void *ctx, uint32_t probe_id, const struct tapir_hit_question *condition)
{
	struct kernel_probe made = {.probe_id = probe_id};
	struct tapir_condition_filter *f = ctx;
	int mark = tapir_diag__cnt();
	bool is_new;

	/* Without memory for it, all is decided here. */
	if (!tapir_map__put(&f->offered, probe_id, &is_new) || !is_new ||
	    !tapir_vec__push(&f->kernel_probes, made))
		return;
	if (tapir_programs__set_question(f->programs, probe_id, condition)) {
		f->kernel_probes.cnt--;
		tapir_diag__rewind(mark);
	}
}

int tapir_condition_filter__new(const char *where, const struct tapir_catalog *catalog,
				struct tapir_programs *programs,
				struct tapir_condition_filter **out)
{
	struct tapir_condition_filter *f = where ? calloc(1, sizeof(*f)) : NULL;
	int err;

	*out = NULL;
	if (!f)
		return where ? -ENOMEM : 0;
	err = tapir_where__new(where, &f->where);
	if (err) {
		free(f);
		return err;
	}
	f->programs = programs;
	f->last_ns = tapir_clock__now_ns();
	tapir_where__begin(f->where, catalog);
	tapir_where__set_offer(f->where, on_offer, f);
	*out = f;
	return 0;
}

void tapir_condition_filter__free(struct tapir_condition_filter *f)
{
	if (!f)
		return;
	tapir_where__free(f->where);
	tapir_map__fini(&f->cnts);
	tapir_map__fini(&f->offered);
	tapir_vec__fini(&f->kernel_probes);
	free(f);
}

/* At once, since a misspelt name would otherwise show after a long recording of nothing. */
static void warn_of_misfit(struct tapir_condition_filter *f)
{
	const char *line = tapir_where__misfit(f->where);

	if (f->has_warned || !line)
		return;
	f->has_warned = true;
	tapir_warn("%.*s: such events are left out", (int)strcspn(line, "\n"), line);
}

bool tapir_condition_filter__has(struct tapir_condition_filter *f, const struct tapir_rec_event *ev)
{
	uint64_t *cnt;

	if (!f || tapir_where__has(f->where, &ev->h, 0))
		return true;
	warn_of_misfit(f);
	cnt = tapir_map__put(&f->cnts, ev->probe_id, NULL);
	if (cnt)
		++*cnt;
	return !cnt; /* what cannot be counted is not left out */
}

static void report_cnt(struct tapir_condition_filter *f, uint64_t probe_id, uint64_t cnt,
		       uint64_t now_ns, tapir_loss_fn fn, void *ctx)
{
	struct tapir_rec_loss loss = {
		.cause = TAPIR_LOSS_NOT_WHERE,
		.probe_id = (uint32_t)probe_id,
		.count = cnt,
		.from_ns = f->last_ns,
		.until_ns = now_ns,
	};

	if (!cnt)
		return;
	tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), now_ns);
	fn(ctx, &loss);
}

void tapir_condition_filter__report(struct tapir_condition_filter *f, tapir_loss_fn fn, void *ctx)
{
	uint64_t now_ns = tapir_clock__now_ns();
	struct kernel_probe *probe;

	if (!f)
		return;
	for (size_t i = 0; i < f->cnts.cap; i++)
		if (f->cnts.slots[i].used)
			report_cnt(f, f->cnts.slots[i].key, f->cnts.slots[i].value, now_ns, fn,
				   ctx);
	tapir_map__clear(&f->cnts);
	tapir_vec_for_each (probe, &f->kernel_probes) {
		uint64_t now = tapir_programs__rejected(f->programs, probe->probe_id);

		report_cnt(f, probe->probe_id, now - probe->reported, now_ns, fn, ctx);
		probe->reported = now;
	}
	f->last_ns = now_ns;
}

int tapir_condition_filter__check(struct tapir_condition_filter *f)
{
	return f ? tapir_where__check(f->where) : 0;
}
