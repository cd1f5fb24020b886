// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The second pass. The recording with the earliest record is read as long as no other has an
 * earlier one. When a recording comes to another segment of its own, that segment's descriptions
 * are put; when the merged recording begins a segment, those of each recording that is being read
 * are put again, so that each segment names what it uses. What a segment has already is not put
 * twice: also stacks and symbols that several hosts have.
 *
 * A recording is opened when its first record is due and closed after its last: parts of one host
 * that follow each other are read one after the other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/export/merge_impl.h"
#include "trace/record.h"
#include "trace/stored_files.h"

#define CHECK_EVERY 4096 /* records */

/* ---- descriptions ------------------------------------------------------------------------ */

/* Stacks and symbols are the same whenever they were described. */
static uint64_t merged_record_hash(const struct tapir_rec *rec)
{
	bool is_timeless = rec->type == TAPIR_REC_STACK || rec->type == TAPIR_REC_SYMBOL;
	uint64_t hash = tapir_hash__mix(rec->type, is_timeless ? 0 : rec->time_ns);

	return tapir_hash__bytes(hash, rec + 1, rec->size - sizeof(*rec));
}

/* Puts a description unless the segment has one of that hash. */
static int put_once(struct tapir_merge *m, uint64_t hash, const struct tapir_rec *rec)
{
	bool is_new = true;

	if (!tapir_map__put(&m->in_segment, hash, &is_new))
		return -ENOMEM;
	if (!is_new)
		return 0;
	m->segment_bytes += rec->size;
	return tapir_writer__put(m->w, rec);
}

/* Puts a description that is as the merged recording has it. */
static int put_made(void *ctx, const struct tapir_rec *rec)
{
	return put_once(ctx, merged_record_hash(rec), rec);
}

static int put_of_host(struct tapir_merge *m, uint32_t host, const struct tapir_rec *rec)
{
	const struct tapir_merge_host *of = &m->hosts.data[host - 1];
	struct tapir_rec_of_host *made = calloc(1, sizeof(*made) + rec->size);
	uint64_t shift_ns = rec->time_ns ? of->rec.shift_ns : 0;
	int err;

	if (!made)
		return -ENOMEM;
	tapir_rec__init(&made->h, TAPIR_REC_OF_HOST, (uint32_t)sizeof(*made) + rec->size,
			rec->time_ns + shift_ns);
	made->host = host;
	made->record_bytes = rec->size;
	memcpy(made + 1, rec, rec->size);
	err = made->h.size <= TAPIR_MAX_RECORD_BYTES ? put_made(m, &made->h) : 0;
	free(made);
	return err;
}

struct of_host {
	struct tapir_merge *m;
	uint32_t host;
};

static int put_own_meta(void *ctx, const struct tapir_rec *rec)
{
	const struct of_host *of = ctx;

	return put_of_host(of->m, of->host, rec);
}

static int put_host(struct tapir_merge *m, const struct tapir_merge_host *host)
{
	size_t len = strlen(host->name), size = (sizeof(host->rec) + len + 7) / 8 * 8;
	struct tapir_rec_host *made = calloc(1, size);
	int err;

	if (!made)
		return -ENOMEM;
	*made = host->rec;
	tapir_rec__init(&made->h, TAPIR_REC_HOST, (uint32_t)size,
			host->first_ns + host->rec.shift_ns);
	made->name_len = (uint16_t)len;
	memcpy(made + 1, host->name, len);
	err = put_made(m, &made->h);
	free(made);
	return err;
}

/* Puts what every segment begins with. */
static int put_common(struct tapir_merge *m)
{
	const struct tapir_merge_host *host;
	const struct tapir_rec *rec;
	uint64_t first_ns = m->hosts.data->first_ns + m->hosts.data->rec.shift_ns;
	int err = 0;

	rec = tapir_recbuf__meta(&m->buf, first_ns, tapir_sv__of(TAPIR_META_MERGED),
				 tapir_sv__of(tapir_merge__text(m)));
	err = rec ? put_made(m, rec) : -ENOMEM;
	if (!err)
		err = tapir_merge_metas__put(m, NULL, false, put_made, m);
	if (!tapir_merge__has_hosts(m))
		return err;
	tapir_vec_for_each (host, &m->hosts)
		err = err ? err : put_host(m, host);
	/* In a chunk before all others, they are known when the first process is described. */
	return err ? err : tapir_writer__flush(m->w);
}

/* Returns a copy to be put; NULL: its ids are no host's. */
static struct tapir_rec *moved(struct tapir_merge_input *input, const struct tapir_rec *rec)
{
	struct tapir_merge *m = input->merge;
	struct tapir_rec *copy = (struct tapir_rec *)m->copy;

	memcpy(copy, rec, rec->size);
	if (tapir_rehost__apply(&input->rehost, copy))
		return copy;
	m->skipped_cnt++;
	return NULL;
}

/* A process forked or executed once, in the segment in which that was described first. */
static int put_process(struct tapir_merge_input *input, struct tapir_rec_process *process)
{
	struct tapir_merge *m = input->merge;
	uint8_t kind = process->kind;
	uint64_t hash;

	if (kind == TAPIR_PROCESS_EXIT)
		return input->is_repeat ? 0 : put_made(m, &process->h);
	process->kind = TAPIR_PROCESS_EXISTING;
	hash = merged_record_hash(&process->h);
	if (!input->is_repeat)
		process->kind = kind;
	return put_once(m, hash, &process->h);
}

static int put_clock(struct tapir_merge_input *input, const struct tapir_rec *rec)
{
	struct tapir_merge *m = input->merge;
	int err = tapir_merge__has_hosts(m) ? put_of_host(m, input->host + 1, rec) : 0;

	if (err || input->host != m->reference)
		return err;
	rec = moved(input, rec);
	return rec ? put_made(m, rec) : 0;
}

static int put_meta(struct tapir_merge_input *input, const struct tapir_rec *rec)
{
	struct tapir_merge *m = input->merge;

	return tapir_merge__has_hosts(m) && m->hosts.data[input->host].input_cnt == 1
		       ? put_of_host(m, input->host + 1, rec)
		       : 0;
}

static int put_description(void *ctx, const struct tapir_rec *rec)
{
	struct tapir_merge_input *input = ctx;

	switch (rec->type) {
	case TAPIR_REC_META:
		return put_meta(input, rec);
	case TAPIR_REC_CLOCK:
		return put_clock(input, rec);
	case TAPIR_REC_HOST:
	case TAPIR_REC_OF_HOST:
		return 0;
	default:
		break;
	}
	rec = moved(input, rec);
	if (!rec)
		return 0;
	return rec->type == TAPIR_REC_PROCESS ? put_process(input, (struct tapir_rec_process *)rec)
					      : put_made(input->merge, rec);
}

/* The facts of a host's only recording are put where it has them, those of several as one. */
static int put_own_metas(struct tapir_merge_input *input)
{
	struct tapir_merge *m = input->merge;
	const struct tapir_merge_host *host = &m->hosts.data[input->host];
	struct of_host of = {m, host->rec.host};

	return tapir_merge__has_hosts(m) && host->input_cnt > 1
		       ? tapir_merge_metas__put(m, host, true, put_own_meta, &of)
		       : 0;
}

static int put_descriptions(struct tapir_merge_input *input, bool is_repeat)
{
	int err = put_own_metas(input);

	input->is_repeat = is_repeat;
	return err ? err
		   : tapir_reader__put_descriptions(input->reader, &input->merge->room,
						    put_description, input);
}

static int on_part(void *ctx)
{
	return put_descriptions(ctx, false);
}

/* ---- segments ---------------------------------------------------------------------------- */

static int begin_segment(struct tapir_merge *m, uint64_t now_ns, bool is_first)
{
	struct tapir_merge_input *input;
	int err = is_first ? 0 : tapir_writer__begin_segment(m->w);

	tapir_map__clear(&m->in_segment);
	m->segment_ns = now_ns;
	m->segment_bytes = 0;
	err = err ? err : put_common(m);
	tapir_vec_for_each (input, &m->inputs)
		if (!err && input->reader)
			err = put_descriptions(input, true);
	m->segment_bytes = 0; /* these do not count: each segment needs them */
	return err;
}

/* Each recording that is being read may fill a segment's bytes. */
static bool segment_is_due(const struct tapir_merge *m, uint64_t now_ns)
{
	return m->segment_bytes >= TAPIR_SEGMENT_MAX_BYTES / 2 ||
	       (now_ns > m->segment_ns && now_ns - m->segment_ns >= TAPIR_SEGMENT_MAX_NS);
}

/* ---- records ----------------------------------------------------------------------------- */

static int put_record(struct tapir_merge_input *input, const struct tapir_rec *rec)
{
	struct tapir_merge *m = input->merge;
	struct tapir_rec *made = moved(input, rec);
	const struct tapir_loss_host of = {.host = input->rehost.host};

	if (!made)
		return 0;
	if (made->type == TAPIR_REC_LOSS && of.host) {
		memcpy(m->copy + sizeof(struct tapir_rec_loss), &of, sizeof(of));
		made->size = sizeof(struct tapir_rec_loss) + sizeof(of);
	}
	m->segment_bytes += made->size;
	return tapir_writer__put(m->w, made);
}

static void end(struct tapir_merge_input *input)
{
	input->stats = *tapir_reader__stats(input->reader);
	tapir_reader__close(input->reader);
	input->reader = NULL;
	input->head = NULL;
	input->head_ns = UINT64_MAX;
}

/*
 * Between two chunks of a recording time may step back. Then the merged one has a chunk's end
 * there, too: within a chunk, a reader puts records in order.
 */
static int advance(struct tapir_merge_input *input)
{
	int more = tapir_reader__next(input->reader, &input->head), err = more < 0 ? more : 0;
	uint64_t before_ns = input->head_ns;

	if (more <= 0) {
		end(input);
		return err;
	}
	input->head_ns = input->head->time_ns + input->rehost.shift_ns;
	return input->head_ns < before_ns ? tapir_writer__flush(input->merge->w) : 0;
}

static int start(struct tapir_merge_input *input)
{
	struct tapir_merge *m = input->merge;
	int err = segment_is_due(m, input->head_ns) ? begin_segment(m, input->head_ns, false) : 0;

	err = err ? err : tapir_reader__open_again(input->scan, &input->reader);
	if (err)
		return err;
	tapir_reader__leave_descriptions(input->reader, on_part, input);
	return advance(input);
}

/* The earliest input, and the time of the one after it. */
static struct tapir_merge_input *earliest(struct tapir_merge *m, uint64_t *next_ns)
{
	struct tapir_merge_input *first = NULL, *input;

	*next_ns = UINT64_MAX;
	tapir_vec_for_each (input, &m->inputs) {
		if (!first || input->head_ns < first->head_ns) {
			*next_ns = first ? first->head_ns : UINT64_MAX;
			first = input;
		} else if (input->head_ns < *next_ns) {
			*next_ns = input->head_ns;
		}
	}
	return first && first->head_ns != UINT64_MAX ? first : NULL;
}

struct pace {
	const struct tapir_merge_check *check;
	uint64_t record_cnt, all_bytes;
};

static int check_pace(const struct tapir_merge *m, struct pace *pace)
{
	const struct tapir_merge_input *input;
	uint64_t done_bytes = 0;

	if (pace->record_cnt++ % CHECK_EVERY)
		return 0;
	tapir_vec_for_each (input, &m->inputs) {
		bool has_ended = input->head_ns == UINT64_MAX;

		if (input->reader)
			done_bytes += tapir_reader__stats(input->reader)->read_bytes;
		else if (has_ended)
			done_bytes += input->stats.file_bytes;
	}
	return pace->check->check(pace->check->ctx, done_bytes, pace->all_bytes);
}

/* Puts records of one input as long as no other has an earlier one. */
static int put_run(struct tapir_merge_input *input, uint64_t next_ns, struct pace *pace)
{
	struct tapir_merge *m = input->merge;
	int err = 0;

	while (!err && input->head && input->head_ns <= next_ns) {
		err = check_pace(m, pace);
		if (!err && segment_is_due(m, input->head_ns))
			err = begin_segment(m, input->head_ns, false);
		err = err ? err : put_record(input, input->head);
		err = err ? err : advance(input);
	}
	return err;
}

static int check_files(void *ctx)
{
	const struct pace *pace = ctx;

	return pace->check->check(pace->check->ctx, pace->all_bytes, pace->all_bytes);
}

/* Debug information that came with the recordings: a file that several have is put once. */
static int put_files(struct tapir_merge *m, struct pace *pace)
{
	const struct tapir_merge_input *input;
	struct tapir_map have = {};
	int err = 0;

	tapir_vec_for_each (input, &m->inputs)
		err = err ? err
			  : tapir_stored_files__copy(
				    tapir_reader__fd(input->scan), m->w, &have,
				    &(struct tapir_stored_check){check_files, pace});
	tapir_map__fini(&have);
	return err;
}

int tapir_merge__write(struct tapir_merge *m, struct tapir_writer *w,
		       const struct tapir_merge_check *check)
{
	struct tapir_merge_input *input;
	struct pace pace = {.check = check};
	uint64_t next_ns;
	int err = 0;

	m->w = w;
	tapir_vec_for_each (input, &m->inputs) {
		input->merge = m;
		input->head_ns = input->first_ns + input->rehost.shift_ns;
		pace.all_bytes += input->stats.file_bytes;
	}
	input = earliest(m, &next_ns);
	err = input ? begin_segment(m, input->head_ns, true) : -ENODATA;
	while (!err && (input = earliest(m, &next_ns)))
		err = input->reader ? put_run(input, next_ns, &pace) : start(input);
	return err ? err : put_files(m, &pace);
}
