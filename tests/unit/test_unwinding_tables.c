// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the BPF walker finds in its maps: tables of files that are built, missing, deleted, evicted,
 * and wanted again. Needs root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eh_frame_builder.h"
#include "elf_builder.h"
#include "unwind_case.h"

/* push rbp; mov rsp, rbp */
static const uint8_t framed[] = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6};

/* An ELF file of its own id with one function, open. */
static int make_file(unsigned function_cnt)
{
	static struct built eh;
	struct elf_builder b;
	int fd;

	begin(&eh);
	for (unsigned i = 0; i < function_cnt; i++)
		add_fde(&eh, TEXT_VA + i * 16, 16, framed, sizeof(framed));
	elf_builder__init(&b, ET_DYN);
	elf_builder__add_section(&b, ".eh_frame", SHT_PROGBITS, eh.bytes, eh.len);
	elf_builder__finish(&b);
	fd = elf_builder__memfd(b.bytes, b.len);
	elf_builder__fini(&b);
	return fd;
}

static uint32_t state_of(uint32_t idx)
{
	return tapir_unwind_maps__file(fixture->maps, idx)->state;
}

static bool table_is_there(uint32_t idx)
{
	uint32_t id;

	return !bpf_map_lookup_elem(tapir_programs__unwind_fds(fixture->programs).tables, &idx,
				    &id);
}

/* At most 5 s; a grace period takes 15 ms. */
static void wait_for(uint32_t idx, uint32_t want)
{
	for (unsigned i = 0; i < 500 && state_of(idx) != want; i++)
		usleep(10000);
	assert_int_equal(state_of(idx), want);
}

static uint32_t see(uint64_t file_id, uint32_t tgid, int fd)
{
	struct tapir_rec_mapping fixed = {.tgid = tgid,
					  .flags = TAPIR_MAPPING_EXEC,
					  .start_va = PAGE,
					  .end_va = 2 * PAGE,
					  .inode = 1,
					  .file_id = file_id};
	const struct tapir_rec *rec;

	tapir_rec__init(&fixed.h, TAPIR_REC_MAPPING, sizeof(fixed), 1);
	rec = tapir_recbuf__mapping(&fixture->buf, &fixed, tapir_sv__of("/a/file"));
	return tapir_unwind_tables__see(fixture->tables, (const void *)rec, file_id, fd);
}

/* It has no name either: as a file that was deleted while it is mapped. */
static void table_is_there_for_a_deleted_file(void **state)
{
	struct tapir_unwind_stats stats;
	int fd;
	uint32_t idx;

	(void)state;
	need_root();
	begin_with(0);
	fd = make_file(10);
	idx = see(1, TGID, fd);
	close(fd);
	wait_for(idx, TAPIR_UNWIND_READY);
	assert_true(table_is_there(idx));
	assert_int_equal(see(1, TGID, -1), idx); /* another process */
	tapir_unwind_tables__stats(fixture->tables, &stats);
	assert_int_equal(stats.table_cnt, 1);
	assert_true(stats.bytes >= 2 * sizeof(struct tapir_unwind_block));
	assert_int_equal(tapir_unwind_maps__file(fixture->maps, idx)->first_pc, TEXT_OFF);
	assert_int_equal(tapir_unwind_maps__file(fixture->maps, idx)->segments_end, IMAGE_BYTES);
	end();
}

static void tables_are_complete_when_no_file_waits_for_one(void **state)
{
	uint32_t idx[8];

	(void)state;
	need_root();
	begin_with(0);
	assert_true(tapir_unwind_tables__are_complete(fixture->tables));
	for (unsigned i = 0; i < 8; i++) {
		int fd = i == 3 ? elf_builder__memfd("no ELF file", 11) : make_file(1000);

		idx[i] = see(30 + i, TGID, fd);
		close(fd);
	}
	for (unsigned i = 0; i < 500 && !tapir_unwind_tables__are_complete(fixture->tables); i++)
		usleep(10000);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(state_of(idx[i]),
				 i == 3 ? TAPIR_UNWIND_NO_TABLE : TAPIR_UNWIND_READY);
	end();
}

static void there_is_no_table_when_the_file_has_none(void **state)
{
	int fd = elf_builder__memfd("no ELF file", 11);
	uint32_t idx;

	(void)state;
	need_root();
	begin_with(0);
	idx = see(2, TGID, fd);
	wait_for(idx, TAPIR_UNWIND_NO_TABLE);
	assert_false(table_is_there(idx));
	close(fd);
	end();
}

/* A process that ended before its file was opened; then another one has it. */
static void table_comes_with_the_next_process_when_one_ended(void **state)
{
	uint32_t idx;
	pid_t pid;
	int fd;

	(void)state;
	need_root();
	begin_with(0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	idx = see(3, (uint32_t)pid, -1);
	wait_for(idx, TAPIR_UNWIND_NO_TABLE);
	fd = make_file(3);
	assert_int_equal(see(3, TGID, fd), idx);
	wait_for(idx, TAPIR_UNWIND_READY);
	close(fd);
	end();
}

/* Room for two tables of this size; a third waits until one has not been used for a while. */
static void idle_tables_make_room_and_come_back(void **state)
{
	struct tapir_unwind_stats stats;
	uint32_t idx[3];
	int fd;

	(void)state;
	need_root();
	begin_with(5 * sizeof(struct tapir_unwind_block));
	for (unsigned i = 0; i < 3; i++) {
		fd = make_file(10 + i);
		idx[i] = see(10 + i, TGID, fd);
		close(fd);
		wait_for(idx[i], i < 2 ? TAPIR_UNWIND_READY : TAPIR_UNWIND_EVICTED);
	}
	tapir_unwind_tables__stats(fixture->tables, &stats);
	assert_int_equal(stats.refused_cnt, 1);
	assert_int_equal(stats.evicted_cnt, 0);
	for (unsigned i = 0; i < 20; i++) {
		tapir_unwind_maps__file(fixture->maps, idx[1])->used = 1;
		tapir_unwind_maps__file(fixture->maps, idx[2])->wanted = 1;
		tapir_unwind_tables__poll(fixture->tables);
	}
	/* It was a memory file that cannot be read again: it stays without a table. */
	wait_for(idx[2], TAPIR_UNWIND_NO_TABLE);
	fd = make_file(20);
	idx[2] = see(20, TGID, fd);
	close(fd);
	wait_for(idx[2], TAPIR_UNWIND_READY);
	assert_int_equal(state_of(idx[0]), TAPIR_UNWIND_EVICTED);
	assert_false(table_is_there(idx[0]));
	assert_int_equal(state_of(idx[1]), TAPIR_UNWIND_READY); /* in use all the time */
	tapir_unwind_tables__stats(fixture->tables, &stats);
	assert_int_equal(stats.evicted_cnt, 1);
	assert_true(stats.bytes <= 5 * sizeof(struct tapir_unwind_block));
	end();
}

/* As twenty seconds (a new table counts as used for ten) in which processes map the files of these
 * bits, and walks use that table. */
static void keep(const uint64_t *mapped, uint32_t used_idx)
{
	for (unsigned i = 0; i < 20; i++) {
		tapir_unwind_maps__file(fixture->maps, used_idx)->used = 1;
		tapir_unwind_tables__poll(fixture->tables);
		tapir_unwind_tables__keep(fixture->tables, mapped);
	}
	wait_for(TAPIR_UNWIND_FILES - 1, TAPIR_UNWIND_NONE); /* the last one that is read */
}

static void files_that_nobody_maps_make_places_for_others(void **state)
{
	uint64_t mapped[TAPIR_UNWIND_FILES / 64] = {1};
	struct tapir_unwind_stats stats;
	uint32_t idx[3];
	int fd;

	(void)state;
	need_root();
	begin_with(0);
	for (unsigned i = 0; i < 3; i++) {
		fd = make_file(30 + i);
		idx[i] = see(30 + i, TGID, fd);
		close(fd);
		wait_for(idx[i], TAPIR_UNWIND_READY);
	}
	for (unsigned i = 3; i < TAPIR_UNWIND_FILES; i++)
		assert_int_not_equal(see(100 + i, TGID, -1), TAPIR_UNWIND_NO_FILE);
	assert_int_equal(see(99, TGID, -1), TAPIR_UNWIND_NO_FILE);
	assert_true(tapir_unwind_tables__are_crowded(fixture->tables));
	keep(mapped, idx[1]);
	assert_false(tapir_unwind_tables__are_crowded(fixture->tables));
	assert_int_equal(see(30, TGID, -1), idx[0]);
	assert_int_equal(see(31, TGID, -1), idx[1]);
	assert_int_equal(state_of(idx[1]), TAPIR_UNWIND_READY);
	assert_int_equal(state_of(idx[2]), TAPIR_UNWIND_NONE);
	assert_false(table_is_there(idx[2]));
	for (unsigned i = 0; i < TAPIR_UNWIND_FILES - 2; i++)
		assert_int_not_equal(see(10000 + i, TGID, -1), TAPIR_UNWIND_NO_FILE);
	tapir_unwind_tables__stats(fixture->tables, &stats);
	assert_int_equal(stats.refused_cnt, 1);
	assert_int_equal(stats.table_cnt, 2);
	end();
}

static void rewrite_with_functions(int fd, unsigned function_cnt)
{
	static uint8_t bytes[65536];
	int other = make_file(function_cnt);
	ssize_t len = pread(other, bytes, sizeof(bytes), 0);

	assert_true(len > 0);
	assert_int_equal(pwrite(fd, bytes, (size_t)len, 0), len);
	close(other);
}

/* A library that is copied over while a process runs it; another one whose owner is only touched.
 */
static void rewritten_file_loses_its_table(void **state)
{
	struct tapir_unwind_stats stats;
	uint32_t idx[2], changed = 0;
	uint64_t generation;
	int fds[2];

	(void)state;
	need_root();
	begin_with(0);
	for (unsigned i = 0; i < 2; i++) {
		fds[i] = make_file(10);
		idx[i] = see(30 + i, TGID, fds[i]);
		wait_for(idx[i], TAPIR_UNWIND_READY);
	}
	map_at(TGID, 1, PAGE, 2 * PAGE, 31, "/a/file", -1);
	tapir_unwind_spaces__flush(fixture->spaces);
	assert_true(look(TGID, 0));
	generation = fixture->space.generation;
	assert_false(tapir_unwind_tables__take_changed(fixture->tables, &changed));
	assert_int_equal(futimens(fds[0], NULL), 0);
	rewrite_with_functions(fds[1], 11);
	wait_for(idx[1], TAPIR_UNWIND_NO_TABLE);
	assert_int_equal(state_of(idx[0]), TAPIR_UNWIND_READY); /* looked at before the other */
	tapir_unwind_tables__stats(fixture->tables, &stats);
	assert_int_equal(stats.changed_cnt, 1);
	assert_int_equal(stats.table_cnt, 1);
	assert_true(tapir_unwind_tables__take_changed(fixture->tables, &changed));
	assert_int_equal(changed, idx[1]);
	assert_false(tapir_unwind_tables__take_changed(fixture->tables, &changed));
	tapir_unwind_spaces__renew(fixture->spaces, changed);
	tapir_unwind_spaces__flush(fixture->spaces);
	assert_true(look(TGID, 0)); /* what the walker kept is void */
	assert_true(fixture->space.generation > generation);
	assert_int_equal(see(31, TGID, fds[1]), idx[1]); /* it stays without a table */
	usleep(1100000);				 /* and is not looked at again */
	tapir_unwind_tables__stats(fixture->tables, &stats);
	assert_int_equal(stats.changed_cnt, 1);
	assert_int_equal(state_of(idx[1]), TAPIR_UNWIND_NO_TABLE);
	close(fds[0]);
	close(fds[1]);
	process(TAPIR_PROCESS_EXIT, TGID, 0, 20);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rewritten_file_loses_its_table),
		cmocka_unit_test(table_is_there_for_a_deleted_file),
		cmocka_unit_test(tables_are_complete_when_no_file_waits_for_one),
		cmocka_unit_test(there_is_no_table_when_the_file_has_none),
		cmocka_unit_test(table_comes_with_the_next_process_when_one_ended),
		cmocka_unit_test(idle_tables_make_room_and_come_back),
		cmocka_unit_test(files_that_nobody_maps_make_places_for_others),
	};

	return cmocka_run_group_tests(tests, load_programs, unload_programs);
}
