// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Copies a stretch of a running recording record by record: the first and the last segment begin
 * and end outside of it. Descriptions are kept whatever their time, because what they describe may
 * be used later; a LOSS or GAP is kept where its span overlaps the stretch. Gaps that hold until
 * the recording's end are among the records with which the copy begins (first).
 */
#include "trace/freeze.h"

#include "trace/family.h"
#include "trace/record.h"
#include "trace/rewrite.h"

struct copy {
	const struct tapir_freeze *freeze;
	bool has_started;
};

bool tapir_gap__lasts(const struct tapir_rec_gap *gap)
{
	return gap->reason == TAPIR_GAP_ATTACH_FAILED || gap->reason == TAPIR_GAP_NOT_READ ||
	       gap->reason == TAPIR_GAP_SECOND_MAPPING;
}

static bool overlaps(const struct tapir_freeze *f, uint64_t from_ns, uint64_t until_ns)
{
	return until_ns >= f->from_ns && from_ns <= f->until_ns;
}

/*
 * Waits and the snapshot at an end were taken for one file: those from before snapshot_ns were for
 * an earlier one, and are of other moments.
 */
static bool keeps(const struct tapir_freeze *f, const struct tapir_rec *rec)
{
	const struct tapir_rec_loss *loss = (const void *)rec;
	const struct tapir_rec_gap *gap = (const void *)rec;
	const struct tapir_rec_switch *sw = (const void *)rec;

	if (tapir_rec_type__describes(rec->type))
		return true;
	if (rec->type == TAPIR_REC_LOSS)
		return overlaps(f, loss->from_ns, loss->until_ns);
	if (rec->type == TAPIR_REC_GAP)
		return !tapir_gap__lasts(gap) && overlaps(f, gap->from_ns, gap->until_ns);
	if (rec->type == TAPIR_REC_WAIT ||
	    (tapir_rec__is_snapshot(rec) && sw->flags & TAPIR_SWITCH_AT_END))
		return rec->time_ns >= f->snapshot_ns && rec->time_ns <= f->until_ns;
	return rec->time_ns >= f->from_ns && rec->time_ns <= f->until_ns;
}

static int write_kept(void *ctx, uint64_t segment, const struct tapir_rec *rec,
		      struct tapir_writer *w)
{
	const struct copy *copy = ctx;

	(void)segment;
	return keeps(copy->freeze, rec) ? tapir_writer__put(w, rec) : 0;
}

static int begin_segment(void *ctx, uint64_t segment, struct tapir_writer *w)
{
	struct copy *copy = ctx;
	int err = 0;

	(void)segment;
	for (size_t i = 0; !copy->has_started && !err && i < copy->freeze->first_cnt; i++)
		err = tapir_writer__put(w, copy->freeze->first[i]);
	copy->has_started = true;
	return err;
}

static int continue_always(void *ctx)
{
	(void)ctx;
	return 0;
}

static int copy_one(struct copy *copy, int fd, struct tapir_writer *w)
{
	const struct tapir_rewrite rewrite = {.begin_segment = begin_segment,
					      .put = write_kept,
					      .check = continue_always,
					      .ctx = copy};
	struct tapir_reader *reader;
	int err = copy->has_started ? tapir_writer__begin_segment(w) : 0;

	if (err)
		return err;
	err = tapir_reader__open_fd(fd, "a segment", &reader);
	if (err)
		return err;
	err = tapir_rewrite__copy(reader, w, &rewrite);
	tapir_reader__close(reader);
	return err;
}

int tapir_freeze__write(const struct tapir_freeze *freeze, struct tapir_writer *w)
{
	struct copy copy = {.freeze = freeze};
	const int *fd;
	int err = 0;

	tapir_vec_for_each (fd, &freeze->segments->fds)
		err = err ? err : copy_one(&copy, *fd, w);
	return err;
}
