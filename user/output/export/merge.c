// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first pass over each recording: its facts, its clocks, which files are its kernel, and from
 * when to when it has records, as the headers of chunks say. Records themselves are not read.
 */
#include "output/export/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "output/export/merge_impl.h"
#include "trace/record.h"

struct tapir_merge *tapir_merge__new(void)
{
	struct tapir_merge *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->copy = malloc(TAPIR_MAX_RECORD_BYTES + sizeof(struct tapir_loss_host));
	if (m->copy)
		return m;
	free(m);
	return NULL;
}

static void fini_input(struct tapir_merge_input *input)
{
	tapir_reader__close(input->scan);
	tapir_reader__close(input->reader);
	tapir_merge_metas__fini(&input->metas);
	tapir_map__fini(&input->kernel_files);
}

void tapir_merge__free(struct tapir_merge *m)
{
	struct tapir_merge_input *input;
	struct tapir_merge_host *host;

	if (!m)
		return;
	tapir_vec_for_each (input, &m->inputs)
		fini_input(input);
	tapir_vec__fini(&m->inputs);
	tapir_vec_for_each (host, &m->hosts)
		free(host->name);
	tapir_vec__fini(&m->hosts);
	tapir_str__fini(&m->text);
	tapir_chunk__fini(&m->room);
	tapir_recbuf__fini(&m->buf);
	tapir_map__fini(&m->in_segment);
	free(m->copy);
	free(m);
}

/* ---- what is in it ----------------------------------------------------------------------- */

static void see_clock(struct tapir_merge_input *input, const struct tapir_rec_clock *clock)
{
	uint64_t offset_ns = clock->utc_ns - clock->h.time_ns;

	if (!input->pair_cnt++)
		input->least_ns = input->max_ns = offset_ns;
	input->offset_ns = offset_ns;
	if (offset_ns < input->least_ns)
		input->least_ns = offset_ns;
	if (offset_ns > input->max_ns)
		input->max_ns = offset_ns;
}

static int see_mapping(struct tapir_merge_input *input, const struct tapir_rec_mapping *mapping)
{
	if (mapping->tgid || !mapping->file_id)
		return 0;
	return tapir_map__put(&input->kernel_files, mapping->file_id, NULL) ? 0 : -ENOMEM;
}

static int see_description(void *ctx, const struct tapir_rec *rec)
{
	struct tapir_merge_input *input = ctx;
	const struct tapir_rec_probe *probe = (const void *)rec;

	switch (rec->type) {
	case TAPIR_REC_META:
		return tapir_merge_metas__keep(&input->metas, rec);
	case TAPIR_REC_CLOCK:
		see_clock(input, (const void *)rec);
		return 0;
	case TAPIR_REC_MAPPING:
		return see_mapping(input, (const void *)rec);
	case TAPIR_REC_PROBE:
		if (probe->probe_id > input->probe_max && probe->probe_id < TAPIR_HOST_PIDS)
			input->probe_max = probe->probe_id;
		return 0;
	case TAPIR_REC_HOST:
		input->is_merged = true;
		return 0;
	default:
		return 0;
	}
}

static int scan_descriptions(struct tapir_merge *m, struct tapir_merge_input *input)
{
	int more, err = 0;

	tapir_reader__leave_descriptions(input->scan, NULL, NULL);
	while (!err && (more = tapir_reader__next_part(input->scan)) > 0)
		err = tapir_reader__put_descriptions(input->scan, &m->room, see_description, input);
	return err ? err : more;
}

static int scan_chunks(struct tapir_merge_input *input)
{
	struct tapir_chunk_walk walk;
	struct tapir_chunk_ref ref;
	int more = tapir_chunk_walk__start(&walk, tapir_reader__fd(input->scan));

	if (more)
		return more;
	walk.file_bytes = tapir_reader__stats(input->scan)->file_bytes;
	input->first_ns = UINT64_MAX;
	while ((more = tapir_chunk_walk__next(&walk, &ref)) > 0) {
		input->digest = tapir_hash__mix(input->digest, ref.h.data_crc);
		if (ref.h.type != TAPIR_CHUNK_RECORDS || !ref.h.record_cnt)
			continue;
		if (ref.h.first_ns < input->first_ns)
			input->first_ns = ref.h.first_ns;
		if (ref.h.last_ns > input->last_ns)
			input->last_ns = ref.h.last_ns;
	}
	if (input->first_ns == UINT64_MAX)
		input->first_ns = input->last_ns = input->stats.created_ns;
	return more;
}

static int refuse(const struct tapir_merge *m, const struct tapir_merge_input *input)
{
	const struct tapir_merge_input *other;

	if (input->is_merged)
		return tapir_diag__fail(-EINVAL,
					"%s is a merged recording: merge those that it was made of "
					"('tapir cut --host NAME' gives them back)",
					input->path);
	tapir_vec_for_each (other, &m->inputs)
		if (other != input && other->digest == input->digest &&
		    other->stats.created_ns == input->stats.created_ns &&
		    other->stats.file_bytes == input->stats.file_bytes)
			return tapir_diag__fail(-EINVAL, "%s and %s are the same recording",
						other->path, input->path);
	return 0;
}

int tapir_merge__add(struct tapir_merge *m, struct tapir_reader *reader, const char *path,
		     const char *host)
{
	struct tapir_merge_input *input = tapir_vec__add(&m->inputs);
	int err;

	if (!input) {
		tapir_reader__close(reader);
		return -ENOMEM;
	}
	*input = (struct tapir_merge_input){
		.path = path, .given = host, .scan = reader, .merge = NULL};
	input->stats = *tapir_reader__stats(reader);
	err = scan_descriptions(m, input);
	if (!err)
		err = scan_chunks(input);
	input->stats = *tapir_reader__stats(reader);
	return err ? err : refuse(m, input);
}

/* ---- results ------------------------------------------------------------------------------ */

const char *tapir_merge__text(const struct tapir_merge *m)
{
	return m->text.data ? m->text.data : "";
}

void tapir_merge__begin(const struct tapir_merge *m, uint64_t *created_ns, uint64_t *created_utc_ns,
			bool *is_truncated)
{
	const struct tapir_merge_input *input;

	*created_ns = UINT64_MAX;
	*created_utc_ns = 0;
	*is_truncated = false;
	tapir_vec_for_each (input, &m->inputs) {
		uint64_t own_ns =
			input->stats.created_ns ? input->stats.created_ns : input->first_ns;

		*is_truncated |= input->stats.is_truncated;
		if (own_ns + input->rehost.shift_ns >= *created_ns)
			continue;
		*created_ns = own_ns + input->rehost.shift_ns;
		*created_utc_ns = input->stats.created_utc_ns;
	}
}

const struct tapir_reader_stats *tapir_merge__stats(const struct tapir_merge *m, size_t idx,
						    const char **path)
{
	if (idx >= m->inputs.cnt)
		return NULL;
	*path = m->inputs.data[idx].path;
	return &m->inputs.data[idx].stats;
}

uint64_t tapir_merge__skipped_cnt(const struct tapir_merge *m)
{
	return m->skipped_cnt;
}
