// SPDX-License-Identifier: GPL-2.0-or-later
/* A record that was accepted may be viewed, every byte of every part, without leaving it. */
#include <stdlib.h>
#include <string.h>

#include "trace/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static volatile unsigned sum;

static void touch(const void *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum += ((const uint8_t *)data)[i];
}

static void touch_sv(struct tapir_sv sv)
{
	touch(sv.data, sv.len);
}

static void view_probe(const struct tapir_rec *rec)
{
	struct tapir_probe_view v;

	tapir_probe_view__of(rec, &v);
	touch_sv(v.provider);
	touch_sv(v.event);
	touch_sv(v.file);
	touch_sv(v.build_id);
	for (unsigned i = 0; i <= v.rec->field_cnt && i < 64; i++)
		touch_sv(tapir_probe_view__name(&v, i));
}

static void view_event(const struct tapir_rec *rec)
{
	struct tapir_event_view v;

	tapir_event_view__of(rec, &v);
	touch(v.payload, v.payload_bytes);
	touch(v.activity_id, v.activity_id ? 16 : 0);
	touch(v.related_id, v.related_id ? 16 : 0);
}

static void view_process(const struct tapir_rec *rec)
{
	struct tapir_process_view v;

	tapir_process_view__of(rec, &v);
	touch_sv(v.comm);
	touch_sv(v.exe);
	touch_sv(v.cmdline);
	touch_sv(v.cgroup);
}

static void view_counter(const struct tapir_rec *rec)
{
	struct tapir_counter_view v;

	tapir_counter_view__of(rec, &v);
	touch_sv(v.provider);
	touch_sv(v.name);
	touch_sv(v.unit);
	touch_sv(v.tags);
}

static void view_wait(const struct tapir_rec *rec)
{
	struct tapir_wait_view wait;

	tapir_wait_view__of(rec, &wait);
	touch_sv(wait.text);
	touch_sv(wait.object);
	touch_sv(wait.statement);
	touch_sv(wait.holder_statement);
}

static void view(const struct tapir_rec *rec)
{
	union {
		struct tapir_metadata_view metadata;
		struct tapir_stack_view stack;
		struct tapir_thread_view thread;
		struct tapir_mapping_view mapping;
		struct tapir_symbol_view symbol;
		struct tapir_jit_view jit;
		struct tapir_gap_view gap;
		struct tapir_meta_view meta;
		struct tapir_resource_view resource;
	} v;

	switch (rec->type) {
	case TAPIR_REC_EVENT:
		return view_event(rec);
	case TAPIR_REC_PROBE:
		return view_probe(rec);
	case TAPIR_REC_PROCESS:
		return view_process(rec);
	case TAPIR_REC_COUNTER:
		return view_counter(rec);
	case TAPIR_REC_METADATA:
		tapir_metadata_view__of(rec, &v.metadata);
		return touch_sv(v.metadata.blob);
	case TAPIR_REC_STACK:
		tapir_stack_view__of(rec, &v.stack);
		return touch(v.stack.frames_va, v.stack.rec->frame_cnt * 8u);
	case TAPIR_REC_THREAD:
		tapir_thread_view__of(rec, &v.thread);
		return touch_sv(v.thread.comm);
	case TAPIR_REC_MAPPING:
		tapir_mapping_view__of(rec, &v.mapping);
		touch_sv(v.mapping.build_id);
		return touch_sv(v.mapping.path);
	case TAPIR_REC_SYMBOL:
		tapir_symbol_view__of(rec, &v.symbol);
		return touch_sv(v.symbol.name);
	case TAPIR_REC_JIT:
	case TAPIR_REC_INLINED:
		tapir_jit_view__of(rec, &v.jit);
		return touch_sv(v.jit.name);
	case TAPIR_REC_GAP:
		tapir_gap_view__of(rec, &v.gap);
		return touch_sv(v.gap.path);
	case TAPIR_REC_WAIT:
		return view_wait(rec);
	case TAPIR_REC_RESOURCE:
		tapir_resource_view__of(rec, &v.resource);
		return touch_sv(v.resource.payload);
	case TAPIR_REC_META:
		tapir_meta_view__of(rec, &v.meta);
		touch_sv(v.meta.key);
		return touch_sv(v.meta.value);
	default:
		return;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct tapir_rec *rec = malloc(len ? len : 1);

	memcpy(rec, input, len);
	if (tapir_record__ok(rec, len))
		view(rec);
	free(rec);
	return 0;
}
