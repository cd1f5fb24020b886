/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_sample.h - a small recording for the tests of user/trace: per segment two processes
 * fire events with stacks; one symbol names the frames of both.
 */
#ifndef TAPIR_TEST_TRACE_SAMPLE_H
#define TAPIR_TEST_TRACE_SAMPLE_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/catalog.h"
#include "trace/reader.h"
#include "trace/recbuf.h"
#include "trace/writer.h"

#define SV(text)	 ((struct tapir_sv){"" text, sizeof("" text) - 1})

#define SAMPLE_TGID	 100
#define SAMPLE_STACK_ID	 0xabcdef
#define SAMPLE_FILE_ID	 0x77
#define SAMPLE_FRAME_VA	 0x401234
#define SAMPLE_EVENT_CNT 5 /* a segment */

static inline void sample_describe(struct tapir_catalog *c, struct tapir_recbuf *b)
{
	struct tapir_rec_probe probe = {.h.time_ns = 1, .probe_id = 9, .version = 1};
	struct tapir_rec_process process = {
		.h.time_ns = 2, .tgid = SAMPLE_TGID, .kind = TAPIR_PROCESS_FORK};
	struct tapir_rec_mapping mapping = {.h.time_ns = 3,
					    .tgid = SAMPLE_TGID,
					    .flags = TAPIR_MAPPING_EXEC,
					    .start_va = 0x400000,
					    .end_va = 0x500000,
					    .file_id = SAMPLE_FILE_ID};
	struct tapir_rec_thread thread = {.tgid = SAMPLE_TGID, .tid = SAMPLE_TGID + 1};
	struct tapir_rec_stack stack = {.h.time_ns = 4, .stack_id = SAMPLE_STACK_ID};
	struct tapir_field field = {.type = TAPIR_FIELD_INT, .size = 8};
	struct tapir_sv name = SV("value");
	uint64_t frames_va[] = {SAMPLE_FRAME_VA, 0x402000};

	tapir_catalog__describe(c, tapir_recbuf__probe(b, &probe, SV("prov"), SV("ev"),
						       SV("/bin/x"), SV("\1\2"), &field, &name, 1));
	tapir_catalog__describe(
		c, tapir_recbuf__process(b, &process, SV("x"), SV("/bin/x"), SV("x\0-v"), SV("/")));
	tapir_catalog__describe(c, tapir_recbuf__mapping(b, &mapping, SV("/bin/x")));
	tapir_rec__init(&thread.h, TAPIR_REC_THREAD, sizeof(thread), 3);
	memcpy(thread.comm, "worker", 7);
	memcpy(thread.leader_comm, "x", 2);
	tapir_catalog__describe(c, &thread.h);
	tapir_catalog__describe(c, tapir_recbuf__stack(b, &stack, frames_va, 2));
}

static inline void sample_name(struct tapir_catalog *c, struct tapir_recbuf *b)
{
	struct tapir_rec_symbol main_sym = {
		.h.time_ns = 5, .file_id = SAMPLE_FILE_ID, .start_off = 0x1000, .size = 0x800};
	struct tapir_rec_symbol start_sym = {
		.h.time_ns = 5, .file_id = SAMPLE_FILE_ID, .start_off = 0x1f00, .size = 0x200};
	struct tapir_unnamed unnamed;

	while (tapir_catalog__next_unnamed(c, &unnamed)) {
		tapir_catalog__describe(c, tapir_recbuf__symbol(b, &main_sym, SV("main")));
		tapir_catalog__describe(c, tapir_recbuf__symbol(b, &start_sym, SV("start")));
	}
}

static inline int sample_event(struct tapir_writer *w, struct tapir_catalog *c,
			       struct tapir_recbuf *b, uint64_t time_ns, uint64_t value)
{
	struct tapir_rec_event fixed = {.h = {.cpu = 1, .time_ns = time_ns},
					.probe_id = 9,
					.tgid = SAMPLE_TGID,
					.tid = SAMPLE_TGID + 1,
					.stack_id = SAMPLE_STACK_ID};
	struct tapir_event_view view = {
		.rec = &fixed, .payload = (const uint8_t *)&value, .payload_bytes = 8};
	const struct tapir_rec *rec = tapir_recbuf__event(b, &view);
	int err = tapir_catalog__use_event(c, (const struct tapir_rec_event *)rec);
	int put = tapir_writer__put(w, rec);

	return err ? err : put;
}

/* The whole recording; event n carries n and happens at (n + 1) * 1000 ns. 0 or -errno. */
static inline int sample_write(const struct tapir_writer_opts *opts, int segment_cnt)
{
	struct tapir_recbuf b = {};
	struct tapir_writer *w = NULL;
	struct tapir_catalog *c;
	int err = tapir_writer__open(opts, &w);
	uint64_t n = 0;

	if (err)
		return err;
	c = tapir_catalog__new(TAPIR_CATALOG_LIVE, w);
	sample_describe(c, &b);
	for (int s = 0; s < segment_cnt; s++) {
		if (s) {
			tapir_writer__begin_segment(w);
			tapir_catalog__new_segment(c);
		}
		for (int i = 0; i < SAMPLE_EVENT_CNT; i++, n++)
			sample_event(w, c, &b, (n + 1) * 1000, n);
		sample_name(c, &b);
	}
	err = tapir_writer__close(w);
	tapir_catalog__free(c);
	tapir_writer__free(w);
	tapir_recbuf__fini(&b);
	return err;
}

/* True when the event has its probe, thread, process, stack and the stack's names. */
static inline bool sample_is_named(const struct tapir_catalog *c, const struct tapir_rec_event *ev)
{
	const struct tapir_rec_thread *thread = tapir_catalog__thread(c, ev->tid, ev->h.time_ns);
	const struct tapir_rec_stack *stack = tapir_catalog__stack(c, ev->stack_id);
	const struct tapir_rec_mapping *m;
	const struct tapir_rec_symbol *sym;
	struct tapir_symbol_view view;

	if (!tapir_catalog__probe(c, ev->probe_id) || !thread || !stack ||
	    strcmp(thread->comm, "worker") || stack->frame_cnt != 2 ||
	    !tapir_catalog__process(c, ev->tgid, ev->h.time_ns))
		return false;
	m = tapir_catalog__mapping(c, ev->tgid, *(const uint64_t *)(stack + 1), ev->h.time_ns);
	if (!m)
		return false;
	sym = tapir_catalog__symbol(c, m->file_id, SAMPLE_FRAME_VA - m->start_va + m->file_off);
	if (!sym)
		return false;
	tapir_symbol_view__of(&sym->h, &view);
	return view.name.len == 4 && !memcmp(view.name.data, "main", 4);
}

#endif
