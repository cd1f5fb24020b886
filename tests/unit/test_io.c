// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests to block devices: their records, words and paths, and the view of them. */
#include "view_fixture.h"

#include "analyze/io_sums.h"
#include "decode/io_text.h"
#include "record/io_paths.h"

/* A request of 4,096 bytes, by thread 100 unless it is the kernel's. */
static const struct tapir_rec_io plain = {.tgid = 100,
					  .tid = 100,
					  .op = TAPIR_IO_WRITE,
					  .object = TAPIR_IO_OF_FILE,
					  .bytes = 4096,
					  .device_ns = 5 * MS,
					  .inode = 12,
					  .file_dev = 254u << 20 | 1,
					  .disk = "vda"};

static struct tapir_recbuf buf;

static const struct tapir_rec *request(const struct tapir_rec_io *io, uint64_t at_ns,
				       const char *path)
{
	struct tapir_rec_io made = *io;

	made.h.time_ns = at_ns;
	return tapir_recbuf__io(&buf, &made, feeder_sv(path), (struct tapir_sv){});
}

static int teardown_io(void **state)
{
	tapir_recbuf__fini(&buf);
	return teardown(state);
}

/* ---- records ---------------------------------------------------------------------------------- */

static void path_that_is_longer_than_its_record_is_refused(void **state)
{
	const struct tapir_rec *rec = request(&plain, 1, "/srv/db");
	struct tapir_rec_io *io = (struct tapir_rec_io *)(uintptr_t)rec;

	(void)state;
	assert_true(tapir_record__ok(rec, rec->size));
	io->path_len = 9;
	assert_false(tapir_record__fits(rec));
	io->path_len = UINT16_MAX;
	assert_false(tapir_record__fits(rec));
	io->path_len = 0;
	io->h.size = sizeof(*io) - 8;
	assert_false(tapir_record__fits(rec));
}

static void what_bytes_are_of_has_words(void **state)
{
	static const struct {
		uint8_t op, object;
		uint16_t flags;
		const char *path, *text;
	} cases[] = {
		{TAPIR_IO_READ, TAPIR_IO_OF_FILE, 0, "/a/b", "/a/b"},
		{TAPIR_IO_READ, TAPIR_IO_OF_FILE, TAPIR_IO_PATH_CUT, "/a/b", ".../a/b"},
		{TAPIR_IO_WRITE, TAPIR_IO_OF_FILE, TAPIR_IO_DELETED, "/a", "/a (deleted)"},
		{TAPIR_IO_WRITE, TAPIR_IO_OF_FILE, 0, "", "[inode 12 of 254:1]"},
		{TAPIR_IO_WRITE, TAPIR_IO_OF_DEVICE, TAPIR_IO_META, "", "[metadata of vda]"},
		{TAPIR_IO_WRITE, TAPIR_IO_OF_NOTHING, TAPIR_IO_META, "", "[metadata of vda]"},
		{TAPIR_IO_READ, TAPIR_IO_OF_DEVICE, 0, "", "[blocks of vda]"},
		{TAPIR_IO_READ, TAPIR_IO_OF_DEVICE, TAPIR_IO_DIRECT, "", "/dev/vda"},
		{TAPIR_IO_READ, TAPIR_IO_OF_NOTHING, 0, "", "[not known]"},
		{TAPIR_IO_FLUSH, TAPIR_IO_OF_NOTHING, 0, "", NULL},
		{250, 250, 0, "", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tapir_rec_io made = plain;
		struct tapir_str text = {};
		struct tapir_io_view io;

		made.op = cases[i].op;
		made.object = cases[i].object;
		made.flags = cases[i].flags;
		tapir_io_view__of(request(&made, 1, cases[i].path), &io);
		tapir_io__add_file(&text, &io);
		if (cases[i].text)
			assert_string_equal(text.data, cases[i].text);
		else
			assert_int_equal(text.len, 0);
		tapir_str__fini(&text);
	}
	assert_string_equal(tapir_io_op__name(TAPIR_IO_DISCARD), "discard");
	assert_string_equal(tapir_io_op__name(250), "unknown");
}

/* ---- paths ------------------------------------------------------------------------------------ */

/* A path as it is after a list of mounts was applied. */
static const char *completed(const char *mounts, uint16_t flags, const char *path)
{
	static char text[128];
	struct tapir_io_paths paths = {};
	struct tapir_rec_io made = plain;
	struct tapir_io_view io;

	made.flags = flags;
	tapir_io_paths__take_list(&paths, strdup(mounts), UINT64_MAX / 2);
	tapir_io_view__of(tapir_io_paths__complete(&paths, request(&made, 1, path)), &io);
	assert_true(tapir_record__ok(&io.rec->h, io.rec->h.size));
	snprintf(text, sizeof(text), "%.*s", (int)io.path.len, io.path.data);
	tapir_io_paths__fini(&paths);
	return text;
}

static void path_is_where_its_file_system_is_mounted(void **state)
{
	static const char root[] = "1 0 254:1 / / rw - ext4 /dev/vda1 rw\n",
			  data[] = "1 0 254:0 / / rw - ext4 /dev/vda rw\n"
				   "2 1 254:1 / /data\\040x rw - ext4 /dev/vda1 rw\n",
			  bind[] = "2 1 254:1 /sub /part rw - ext4 /dev/vda1 rw\n",
			  both[] = "2 1 254:1 /sub /part rw - ext4 /dev/vda1 rw\n"
				   "3 1 254:1 / /all rw - ext4 /dev/vda1 rw\n";

	(void)state;
	assert_string_equal(completed(root, 0, "/a/b"), "/a/b");
	assert_string_equal(completed(data, 0, "/a/b"), "/data x/a/b");
	assert_string_equal(completed(bind, 0, "/sub/b"), "/part/b");
	assert_string_equal(completed(bind, 0, "/sub"), "/part");
	assert_string_equal(completed(bind, 0, "/subtle/b"), "subtle/b");
	assert_string_equal(completed(both, 0, "/sub/b"), "/all/sub/b");
	assert_string_equal(completed("nonsense\n\n - \n", 0, "/a"), "a");
	assert_string_equal(completed("", 0, "/a"), "a");
	assert_string_equal(completed(data, TAPIR_IO_PATH_CUT, "/a/b"), "/a/b");
	assert_string_equal(completed(data, 0, ""), "");
}

/* ---- view ------------------------------------------------------------------------------------- */

static void name_thread(uint32_t tid, const char *comm)
{
	struct tapir_rec_thread thread = {.tgid = tid, .tid = tid};

	tapir_rec__init(&thread.h, TAPIR_REC_THREAD, sizeof(thread), 1);
	snprintf(thread.comm, sizeof(thread.comm), "%s", comm);
	snprintf(thread.leader_comm, sizeof(thread.leader_comm), "%s", comm);
	feeder_add(&f, &thread.h);
}

static void view_adds_up_by_file_process_and_device(void **state)
{
	struct tapir_rec_io io = plain;
	const struct tapir_view_result_table *files, *processes;

	(void)state;
	name_thread(100, "db");
	name_thread(7, "kworker/u8:1");
	ask("io", 0);
	for (unsigned i = 1; i <= 100; i++) {
		io.device_ns = i * MS;
		feeder_add(&f, request(&io, i * 100 * MS, "/srv/db"));
	}
	io = plain;
	io.op = TAPIR_IO_READ;
	io.queue_ns = 3 * MS;
	feeder_add(&f, request(&io, 10100 * MS, "/srv/log"));
	io = plain;
	io.tgid = io.tid = 7;
	io.flags = TAPIR_IO_KERNEL_THREAD;
	feeder_add(&f, request(&io, 10200 * MS, "/srv/log"));
	io = (struct tapir_rec_io){.op = TAPIR_IO_FLUSH, .disk = "vda", .device_ns = MS};
	feeder_add(&f, request(&io, 10300 * MS, ""));
	assert_int_equal(answer(), 0);
	assert_int_equal(fact("writes"), 101);
	assert_int_equal(fact("read_bytes"), 4096);
	files = table("files", 0);
	assert_int_equal(tapir_view_result_table__rows(files), 3);
	assert_string_equal(cell(files, 0, "file")->text, "/srv/db");
	assert_int_equal(cell(files, 0, "written_bytes")->u64, 100 * 4096);
	assert_int_equal(cell(files, 0, "p50_ns")->u64, 50 * MS);
	assert_int_equal(cell(files, 0, "p99_ns")->u64, 99 * MS);
	assert_int_equal(cell(files, 0, "max_ns")->u64, 100 * MS);
	assert_string_equal(cell(files, 1, "file")->text, "/srv/log");
	assert_int_equal(cell(files, 1, "max_ns")->u64, 8 * MS);
	assert_string_equal(cell(files, 2, "file")->text, "[no data]");
	assert_int_equal(cell(files, 2, "others")->u64, 1);
	processes = table("processes", 0);
	assert_string_equal(cell(processes, 0, "process")->text, "db (100)");
	assert_string_equal(cell(processes, 1, "process")->text, "[write-back]");
	assert_string_equal(cell(processes, 2, "process")->text, "[the kernel]");
	assert_string_equal(cell(table("disks", 0), 0, "disk")->text, "vda");
}

static void sums_are_bounded_by_nothing_but_its_sums(void **state)
{
	struct tapir_io_sums sums = {};
	char path[32];

	(void)state;
	for (unsigned i = 0; i < 70000; i++) {
		snprintf(path, sizeof(path), "/srv/%u", i);
		tapir_io_sums__add(&sums, f.catalog, request(&plain, i + 1, path));
	}
	tapir_io_sums__add(&sums, f.catalog, request(&plain, 70001, "/srv/3"));
	tapir_io_sums__sort(&sums);
	assert_false(sums.failed);
	assert_int_equal(sums.rows.cnt, 65536);
	assert_int_equal(sums.written_bytes, 70001ull * 4096);
	assert_string_equal(sums.rows.data[0].file, "/srv/3");
	assert_int_equal(sums.rows.data[0].written_bytes, 2 * 4096);
	tapir_io_sums__fini(&sums);
}

/* ---- processes ---------------------------------------------------------------------------------- */

static void feed_switch(uint16_t cpu, uint32_t out, uint32_t in, uint64_t at_ns)
{
	struct tapir_rec_switch rec = {
		.out_tgid = out, .out_tid = out, .in_tgid = in, .in_tid = in};

	tapir_rec__init(&rec.h, TAPIR_REC_SWITCH, sizeof(rec), at_ns);
	rec.h.cpu = cpu;
	feeder_add(&f, &rec.h);
}

/* Thread 9 comes to CPU 1 and is not seen to leave: it has no more than the CPU had. */
static void cpu_time_is_that_of_the_cpus(void **state)
{
	const struct tapir_view_result_table *t;

	(void)state;
	name_thread(100, "db");
	name_thread(7, "sh");
	name_thread(8, "sh");
	name_thread(9, "ghost");
	ask("processes", 0);
	feed_switch(0, 0, 100, 1 * MS);
	feed_switch(1, 0, 9, 1 * MS);
	feed_switch(1, 7, 8, 11 * MS);
	feed_switch(1, 8, 0, 12 * MS);
	feeder_add(&f, request(&plain, 13 * MS, "/srv/db"));
	feed_switch(0, 100, 0, 51 * MS);
	assert_int_equal(answer(), 0);
	t = table("processes", 0);
	assert_string_equal(cell(t, 0, "process")->text, "db (100)");
	assert_int_equal(cell(t, 0, "cpu_ns")->u64, 50 * MS);
	assert_string_equal(cell(t, 1, "process")->text, "sh (7)");
	assert_int_equal(cell(t, 1, "cpu_ns")->u64, 10 * MS);
	assert_string_equal(cell(t, 2, "process")->text, "sh (8)");
	assert_false(cell(t, 0, "written_bytes")->is_there);
	assert_int_equal(fact("cpu_ns"), 61 * MS);
}

static void processes_of_a_name_share_a_row(void **state)
{
	const struct tapir_view_result_table *t;

	(void)state;
	feeder_add(&f, tapir_recbuf__meta(&f.buf, 1, feeder_sv("io"), feeder_sv("on")));
	for (uint32_t i = 0; i < 60; i++)
		name_thread(200 + i, "bash");
	ask("processes", 0);
	for (uint32_t i = 0; i < 60; i++)
		feeder_sample(&f, 200 + i, 200 + i, (i + 1) * MS, 0);
	feeder_add(&f, request(&plain, 100 * MS, "/srv/db"));
	assert_int_equal(answer(), 0);
	t = table("processes", 0);
	assert_string_equal(cell(t, 0, "process")->text, "bash ×60");
	assert_int_equal(cell(t, 0, "processes")->u64, 60);
	assert_false(cell(t, 0, "runnable_ns")->is_there);
	assert_int_equal(cell(t, 1, "written_bytes")->u64, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(path_that_is_longer_than_its_record_is_refused,
						setup, teardown_io),
		cmocka_unit_test_setup_teardown(what_bytes_are_of_has_words, setup, teardown_io),
		cmocka_unit_test_setup_teardown(path_is_where_its_file_system_is_mounted, setup,
						teardown_io),
		cmocka_unit_test_setup_teardown(view_adds_up_by_file_process_and_device, setup,
						teardown_io),
		cmocka_unit_test_setup_teardown(cpu_time_is_that_of_the_cpus, setup, teardown_io),
		cmocka_unit_test_setup_teardown(processes_of_a_name_share_a_row, setup,
						teardown_io),
		cmocka_unit_test_setup_teardown(sums_are_bounded_by_nothing_but_its_sums, setup,
						teardown_io),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
