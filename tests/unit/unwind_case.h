/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwind_case.h - the BPF walker's maps, filled from made-up MAPPING and PROCESS records. Needs
 * root; otherwise the cases are skipped.
 */
#ifndef TAPIR_TEST_UNWIND_CASE_H
#define TAPIR_TEST_UNWIND_CASE_H

#include <bpf/bpf.h>
#include <stdlib.h>

#include "attach/programs.h"
#include "attach/unwind_maps.h"
#include "record/names/interp_stacks.h"
#include "record/unwind_spaces.h"
#include "record/unwind_tables.h"
#include "may_trace.h"
#include "trace/record.h"
#include "trace/recbuf.h"

#define TGID	  4000001 /* beyond the kernel's largest: no process has it */
#define PAGE	  4096ull
#define MAX_SPACE (TAPIR_UNWIND_SPACE_BLOCKS * TAPIR_UNWIND_SPACE_MAPPINGS)

struct fixture {
	struct tapir_programs *programs;
	struct tapir_unwind_maps *maps;
	struct tapir_unwind_tables *tables;
	struct tapir_unwind_spaces *spaces;
	struct tapir_recbuf buf;
	struct tapir_unwind_space space;
};

static struct fixture *fixture; /* NULL: not root */

/* stacks: borrowed; with them, interpreters are searched. */
static inline void begin_with_interpreters(size_t max_bytes, struct tapir_interp_stacks *stacks)
{
	assert_int_equal(tapir_unwind_maps__new(fixture->programs, &fixture->maps), 0);
	assert_int_equal(tapir_unwind_tables__new(fixture->maps, max_bytes, &fixture->tables), 0);
	assert_int_equal(
		tapir_unwind_spaces__new(fixture->maps, fixture->tables, stacks, &fixture->spaces),
		0);
}

static inline void begin_with(size_t max_bytes)
{
	begin_with_interpreters(max_bytes, NULL);
}

static inline void end(void)
{
	tapir_unwind_spaces__free(fixture->spaces);
	tapir_unwind_tables__free(fixture->tables);
	for (uint32_t i = 0; i < 8; i++)
		tapir_unwind_maps__del_table(fixture->maps, i);
	tapir_unwind_maps__free(fixture->maps);
	fixture->spaces = NULL;
	fixture->tables = NULL;
	fixture->maps = NULL;
}

static inline int load_programs(void **state)
{
	struct tapir_programs_opts opts = {.sz = sizeof(opts), .site_cap = 1, .ring_bytes = 4096};

	(void)state;
	if (!may_trace())
		return 0;
	fixture = calloc(1, sizeof(*fixture));
	assert_non_null(fixture);
	assert_int_equal(tapir_programs__load(&opts, &fixture->programs), 0);
	return 0;
}

static inline int unload_programs(void **state)
{
	(void)state;
	if (!fixture)
		return 0;
	tapir_recbuf__fini(&fixture->buf);
	tapir_programs__free(fixture->programs);
	free(fixture);
	return 0;
}

static inline void need_root(void)
{
	if (!fixture) {
		print_message("skipped: loading BPF programs needs root\n");
		skip();
	}
}

/* ---- records ---------------------------------------------------------------------------------- */

static inline void map_at(uint32_t tgid, uint64_t time_ns, uint64_t start, uint64_t end_va,
			  uint64_t file_id, const char *path, int fd)
{
	struct tapir_rec_mapping fixed = {
		.tgid = tgid,
		.flags = TAPIR_MAPPING_EXEC | (path[0] == '/' ? 0 : TAPIR_MAPPING_ANON),
		.start_va = start,
		.end_va = end_va,
		.file_off = file_id ? PAGE : 0,
		.file_id = file_id,
	};

	tapir_rec__init(&fixed.h, TAPIR_REC_MAPPING, sizeof(fixed), time_ns);
	tapir_unwind_spaces__on_record(
		fixture->spaces, tapir_recbuf__mapping(&fixture->buf, &fixed, tapir_sv__of(path)),
		fd);
}

static inline void map_code(uint64_t start, uint64_t end_va)
{
	map_at(TGID, 1, start, end_va, 0, "", -1);
}

static inline void process(uint32_t kind, uint32_t tgid, uint32_t parent_tgid, uint64_t time_ns)
{
	struct tapir_rec_process rec = {
		.kind = (uint16_t)kind, .tgid = tgid, .parent_tgid = parent_tgid};

	tapir_rec__init(&rec.h, TAPIR_REC_PROCESS, sizeof(rec), time_ns);
	tapir_unwind_spaces__on_record(fixture->spaces, &rec.h, -1);
}

/* What the walker sees; false: nothing. */
static inline bool look(uint32_t tgid, uint32_t block)
{
	struct tapir_unwind_space_key key = {.tgid = tgid, .block = block};
	int fd = tapir_programs__unwind_fds(fixture->programs).spaces;

	return !bpf_map_lookup_elem(fd, &key, &fixture->space);
}

static inline void assert_mappings(const uint64_t (*want)[2], uint32_t cnt)
{
	tapir_unwind_spaces__flush(fixture->spaces);
	assert_true(look(TGID, 0));
	assert_int_equal(fixture->space.cnt, cnt);
	for (uint32_t i = 0; i < cnt; i++) {
		assert_int_equal(fixture->space.mappings[i].start_va, want[i][0]);
		assert_int_equal(fixture->space.mappings[i].end_va, want[i][1]);
	}
}

#endif
