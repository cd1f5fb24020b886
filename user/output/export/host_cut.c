// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A record is a host's by its ids (tapir_rehost__host_of). Stacks and symbols are of no host: those
 * stay that a record, or a mapping, of the host has.
 */
#include "output/export/host_cut.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "trace/record.h"
#include "trace/rewrite.h"

#define CHECK_EVERY 4096 /* records */

/* ---- the first pass ---------------------------------------------------------------------- */

static int note_key(struct tapir_map *map, uint64_t key)
{
	return !key || tapir_map__put(map, key, NULL) ? 0 : -ENOMEM;
}

static void see_host(struct tapir_host_cut *cut, const struct tapir_rec_host *host)
{
	struct tapir_sv name = {(const char *)(host + 1), host->name_len};

	if (!tapir_sv__is(name, cut->name) || !host->host || host->host > TAPIR_HOST_MAX)
		return;
	cut->host = *host;
	cut->rehost = (struct tapir_rehost){
		.host = host->host, .shift_ns = host->shift_ns, .kernel_files = &cut->kernel_files};
}

/* A segment without anything of the host is none of its recording: it would age what it names. */
static int note_segment(struct tapir_host_cut *cut)
{
	return note_key(&cut->segments, tapir_reader__stats(cut->reader)->segments + 1);
}

static int see_description(void *ctx, const struct tapir_rec *rec)
{
	struct tapir_host_cut *cut = ctx;
	const struct tapir_rec_mapping *mapping = (const void *)rec;
	int err;

	if (rec->type == TAPIR_REC_HOST || tapir_rehost__host_of(rec) != cut->host.host)
		return 0;
	err = note_segment(cut);
	if (err || rec->type != TAPIR_REC_MAPPING ||
	    tapir_host__of(mapping->tgid) != cut->host.host)
		return err;
	err = note_key(&cut->files, mapping->file_id);
	if (!err && mapping->tgid == tapir_host__kernel_of(mapping->tgid))
		err = note_key(&cut->kernel_files, mapping->file_id);
	return err;
}

static int find_host(void *ctx, const struct tapir_rec *rec)
{
	if (rec->type == TAPIR_REC_HOST)
		see_host(ctx, (const void *)rec);
	return 0;
}

/* HOST records may follow mappings in their segment. */
static int on_part(void *ctx)
{
	struct tapir_host_cut *cut = ctx;
	int err = cut->host.host
			  ? 0
			  : tapir_reader__put_descriptions(cut->reader, &cut->room, find_host, cut);

	return err || !cut->host.host ? err
				      : tapir_reader__put_descriptions(cut->reader, &cut->room,
								       see_description, cut);
}

static int see_record(struct tapir_host_cut *cut, const struct tapir_rec *rec)
{
	int family = tapir_family__of(rec->type), err;

	if (!cut->host.host || tapir_rehost__host_of(rec) != cut->host.host)
		return 0;
	if (family >= 0)
		cut->kept[family] += tapir_rec__weight(rec);
	err = note_segment(cut);
	err = err ? err : note_key(&cut->stacks, tapir_rec__stack_id(rec));
	return err ? err : note_key(&cut->stacks, tapir_rec__kstack_id(rec));
}

int tapir_host_cut__read(struct tapir_host_cut *cut, struct tapir_reader *reader,
			 int (*check)(void *ctx), void *ctx)
{
	const struct tapir_rec *rec;
	int more = 0, err = 0;

	cut->reader = reader;
	cut->copy = malloc(TAPIR_MAX_RECORD_BYTES);
	if (!cut->copy)
		return -ENOMEM;
	tapir_reader__leave_descriptions(reader, on_part, cut);
	while (!err && (more = tapir_reader__next(reader, &rec)) > 0) {
		err = cut->record_cnt++ % CHECK_EVERY ? 0 : check(ctx);
		err = err ? err : see_record(cut, rec);
	}
	err = err ? err : more;
	if (!err && !cut->host.host)
		return tapir_diag__fail(-ENOENT,
					"the recording has no host %s ('tapir report' names those "
					"of a merged one)",
					cut->name);
	return err;
}

/* ---- the copy ---------------------------------------------------------------------------- */

/* A META or CLOCK, as the host's recording has it. Every length is another file's. */
static int put_own(const struct tapir_rec_of_host *of, struct tapir_writer *w)
{
	const struct tapir_rec *own = (const struct tapir_rec *)(of + 1);

	if (!tapir_record__ok(own, of->record_bytes) ||
	    (own->type != TAPIR_REC_META && own->type != TAPIR_REC_CLOCK))
		return 0;
	return tapir_writer__put(w, own);
}

static bool is_kept(const struct tapir_host_cut *cut, const struct tapir_rec *rec)
{
	const struct tapir_rec_stack *stack = (const void *)rec;
	const struct tapir_rec_symbol *symbol = (const void *)rec;

	switch (rec->type) {
	case TAPIR_REC_STACK:
		return tapir_map__get(&cut->stacks, stack->stack_id);
	case TAPIR_REC_SYMBOL:
		return tapir_map__get(&cut->files, symbol->file_id);
	case TAPIR_REC_META:
	case TAPIR_REC_CLOCK:
	case TAPIR_REC_HOST:
		return false; /* of all hosts */
	default:
		return tapir_rehost__host_of(rec) == cut->host.host;
	}
}

static int put(void *ctx, uint64_t segment, const struct tapir_rec *rec, struct tapir_writer *w)
{
	const struct tapir_host_cut *cut = ctx;
	struct tapir_rec *copy = (struct tapir_rec *)cut->copy;

	if (!tapir_map__get(&cut->segments, segment + 1) || !is_kept(cut, rec))
		return 0;
	if (rec->type == TAPIR_REC_OF_HOST)
		return put_own((const void *)rec, w);
	memcpy(copy, rec, rec->size);
	if (copy->type == TAPIR_REC_LOSS)
		copy->size = sizeof(struct tapir_rec_loss);
	tapir_rehost__undo(&cut->rehost, copy);
	return tapir_writer__put(w, copy);
}

static int check_writing(void *ctx)
{
	const struct tapir_host_cut *cut = ctx;

	return cut->check(cut->ctx);
}

int tapir_host_cut__write(struct tapir_host_cut *cut, struct tapir_writer *w,
			  int (*check)(void *ctx), void *ctx)
{
	const struct tapir_rewrite rewrite = {.put = put, .check = check_writing, .ctx = cut};

	cut->check = check;
	cut->ctx = ctx;
	return tapir_rewrite__copy(cut->reader, w, &rewrite);
}

void tapir_host_cut__fini(struct tapir_host_cut *cut)
{
	tapir_chunk__fini(&cut->room);
	tapir_map__fini(&cut->kernel_files);
	tapir_map__fini(&cut->files);
	tapir_map__fini(&cut->stacks);
	tapir_map__fini(&cut->segments);
	free(cut->copy);
}
