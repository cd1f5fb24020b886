// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This does what record/session.c does with records as they are captured, for records that are all
 * there: times are theirs, nothing is waited for.
 */
#include "output/import/import_sink.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "tapir/stack_walk.h"
#include "tapir/trace_format.h"

/* Formats without addresses have no mappings, so that nothing else is there. */
#define FUNCTIONS_VA   0x100000000ull
#define FUNCTION_BYTES 16u

int tapir_import_sink__init(struct tapir_import_sink *s, struct tapir_writer *w, uint64_t first_ns)
{
	*s = (struct tapir_import_sink){.w = w,
					.first_ns = first_ns,
					.last_ns = first_ns,
					.segment_ns = first_ns,
					.flushed_ns = first_ns};
	s->catalog = tapir_catalog__new(TAPIR_CATALOG_LIVE, w);
	return s->catalog ? tapir_import_names__new(s->catalog, &s->names) : -ENOMEM;
}

void tapir_import_sink__fini(struct tapir_import_sink *s)
{
	tapir_import_names__free(s->names);
	tapir_catalog__free(s->catalog);
	tapir_recbuf__fini(&s->buf);
	tapir_str__fini(&s->limits);
	tapir_map__fini(&s->functions);
	*s = (struct tapir_import_sink){};
}

static void note_error(struct tapir_import_sink *s, int err)
{
	if (err < 0 && !s->err)
		s->err = err;
}

void tapir_import_sink__describe(struct tapir_import_sink *s, const struct tapir_rec *rec)
{
	int err = s->err;

	if (err)
		return;
	err = rec ? tapir_catalog__describe(s->catalog, rec) : -ENOMEM;
	if (err == -ENOSPC)
		s->refused_cnt++;
	else
		note_error(s, err);
}

/* Names go into the segment that needs them. */
static void end_segment_if_due(struct tapir_import_sink *s, uint64_t now_ns)
{
	bool is_due = tapir_writer__segment_due(s->w, 0) ||
		      (now_ns > s->segment_ns && now_ns - s->segment_ns >= TAPIR_SEGMENT_MAX_NS);

	if (!is_due && (now_ns <= s->flushed_ns || now_ns - s->flushed_ns < TAPIR_NS_PER_SEC))
		return;
	s->flushed_ns = now_ns;
	note_error(s, tapir_import_names__name_new_stacks(s->names));
	if (!is_due) {
		note_error(s, tapir_writer__flush(s->w));
		return;
	}
	s->segment_ns = now_ns;
	note_error(s, tapir_writer__begin_segment(s->w));
	note_error(s, tapir_catalog__new_segment(s->catalog));
}

static void use(struct tapir_import_sink *s, const struct tapir_rec *rec)
{
	note_error(s, rec->type == TAPIR_REC_EVENT
			      ? tapir_catalog__use_event(s->catalog, (const void *)rec)
			      : tapir_catalog__use_record(s->catalog, rec));
}

void tapir_import_sink__put(struct tapir_import_sink *s, const struct tapir_rec *rec)
{
	int family = rec ? tapir_family__of(rec->type) : -1;

	if (!rec)
		note_error(s, -ENOMEM);
	if (s->err)
		return;
	end_segment_if_due(s, rec->time_ns);
	use(s, rec);
	note_error(s, tapir_writer__put(s->w, rec));
	if (family >= 0)
		s->captured[family] += tapir_rec__weight(rec);
	if (rec->time_ns > s->last_ns)
		s->last_ns = rec->time_ns;
}

uint64_t tapir_import_sink__function(struct tapir_import_sink *s, uint32_t tgid,
				     const struct tapir_str *name)
{
	struct tapir_jit_name code = {.size = FUNCTION_BYTES,
				      .source = TAPIR_JIT_PERF_MAP,
				      .name = name->data,
				      .name_len = name->len};
	uint64_t *nr;
	bool is_new = false;
	int err = 0;

	if (!name->len && !name->failed)
		return 0;
	nr = name->failed ? NULL
			  : tapir_map__put(&s->functions,
					   tapir_hash__bytes(1, name->data, name->len), &is_new);
	if (!nr) {
		note_error(s, -ENOMEM);
		return 0;
	}
	*nr = is_new ? s->functions.cnt : *nr;
	code.start_va = FUNCTIONS_VA + *nr * FUNCTION_BYTES;
	if (is_new)
		err = tapir_import_names__add_code(s->names, tgid, &code);
	if (err == -ENOSPC)
		s->refused_cnt++;
	else
		note_error(s, err);
	return code.start_va + FUNCTION_BYTES / 2;
}

uint64_t tapir_import_sink__stack(struct tapir_import_sink *s, const uint64_t *frames_va,
				  unsigned frame_cnt, uint16_t flags, enum tapir_stack_end end,
				  uint64_t time_ns)
{
	struct tapir_rec_stack fixed = {.flags = flags, .end = (uint8_t)end};
	uint64_t hash = 0;

	for (unsigned i = 0; i < frame_cnt; i++)
		hash = tapir_walk__hash(hash, frames_va[i]);
	if (!frame_cnt)
		return 0;
	fixed.stack_id = hash ? hash : 1;
	if (tapir_catalog__stack(s->catalog, fixed.stack_id))
		return fixed.stack_id;
	tapir_rec__init(&fixed.h, TAPIR_REC_STACK, sizeof(fixed), time_ns);
	tapir_import_sink__describe(s, tapir_recbuf__stack(&s->buf, &fixed, frames_va, frame_cnt));
	return fixed.stack_id;
}

void tapir_import_sink__lose(struct tapir_import_sink *s, enum tapir_loss_cause cause, uint64_t cnt,
			     uint64_t time_ns)
{
	struct tapir_rec_loss loss = {
		.cause = cause, .count = cnt, .from_ns = s->first_ns, .until_ns = time_ns};

	if (!cnt)
		return;
	tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), time_ns);
	tapir_import_sink__put(s, &loss.h);
}

void tapir_import_sink__meta(struct tapir_import_sink *s, const char *key, const char *value)
{
	if (value && *value)
		tapir_import_sink__describe(s, tapir_recbuf__meta(&s->buf, s->first_ns,
								  tapir_sv__of(key),
								  tapir_sv__of(value)));
}

void tapir_import_sink__limit(struct tapir_import_sink *s, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	tapir_str__adds(&s->limits, s->limits.len ? "\n" : "");
	tapir_str__adds(&s->limits, text);
}

void tapir_import_sink__beyond(struct tapir_import_sink *s, uint64_t more, bool failed,
			       const char *noun)
{
	note_error(s, failed ? -ENOMEM : 0);
	if (more)
		tapir_import_sink__limit(s, "%" PRIu64 " %s found no room in the tables", more,
					 noun);
}

int tapir_import_sink__finish(struct tapir_import_sink *s)
{
	note_error(s, s->limits.failed ? -ENOMEM : 0);
	if (!s->err)
		note_error(s, tapir_import_names__name_new_stacks(s->names));
	tapir_import_sink__meta(s, TAPIR_META_LACKS, s->limits.data);
	tapir_import_sink__lose(s, TAPIR_LOSS_NAME_QUEUE_FULL,
				s->refused_cnt + tapir_catalog__refused(s->catalog), s->last_ns);
	return s->err;
}
