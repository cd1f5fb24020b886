// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which process matches which rule, for the BPF filter and for the scan of /proc; and what is
 * recorded of it. What runs BPF programs needs root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "record/describe.h"
#include "record/meta.h"
#include "record/targets.h"
#include "targets_fixture.h"
#include "trace/record.h"

/* ---- the BPF filter --------------------------------------------------------------------- */

static struct tapir_filter filter_of(void)
{
	struct tapir_filter filter;

	assert_int_equal(tapir_target_rules__filter(&rules, &filter), 0);
	assert_int_equal(filter.self_tgid, getpid());
	return filter;
}

static void filter_lists_processes_when_they_are_named(void **state)
{
	struct tapir_filter filter;

	(void)state;
	filter = filter_of(); /* a CMD alone: it is added when its pid is known */
	assert_int_equal(filter.use_tgids, 1);
	assert_int_equal(filter.follow_fork, 0);
	assert_true(tapir_target_rules__are_named(&rules));
	assert_true(tapir_vec__push(&rules.pids, 1u));
	rules.children = true;
	filter = filter_of();
	assert_int_equal(filter.use_tgids, 1);
	assert_int_equal(filter.follow_fork, 1);
	assert_int_equal(filter.comm_cnt, 0);
	assert_int_equal(filter.cgroup_cnt, 0);
}

static void filter_has_no_rule_when_all_are_meant(void **state)
{
	struct tapir_filter filter;

	(void)state;
	rules.all = true;
	filter = filter_of();
	assert_int_equal(filter.use_tgids + filter.comm_cnt + filter.cgroup_cnt, 0);
	assert_false(tapir_target_rules__are_named(&rules));
}

static void filter_has_the_globs_when_named_by_comm(void **state)
{
	struct tapir_filter filter;

	(void)state;
	assert_true(tapir_vec__push(&rules.comms, "java*"));
	assert_true(tapir_vec__push(&rules.comms, "[pm]*"));
	filter = filter_of();
	assert_int_equal(filter.use_tgids, 0);
	assert_int_equal(filter.comm_cnt, 2);
	assert_int_equal(tapir_comm_glob__match(&filter.comms[0], "javac\0\0\0\0\0\0\0\0\0\0"), 1);
	assert_int_equal(tapir_comm_glob__match(&filter.comms[1], "mysqld\0\0\0\0\0\0\0\0\0"), 1);
	assert_int_equal(tapir_comm_glob__match(&filter.comms[1], "java\0\0\0\0\0\0\0\0\0\0\0"), 0);
	assert_false(tapir_target_rules__are_named(&rules));
}

static void filter_is_refused_when_a_rule_cannot_be_kept(void **state)
{
	struct tapir_filter filter = {.self_tgid = 4711};

	(void)state;
	assert_true(tapir_vec__push(&rules.comms, "????????????????????????????????"));
	assert_int_equal(tapir_target_rules__filter(&rules, &filter), -EINVAL);
	rules.comms.cnt = 0;
	for (unsigned i = 0; i < TAPIR_FILTER_MAX_COMMS + 1; i++)
		assert_true(tapir_vec__push(&rules.comms, "a"));
	assert_int_equal(tapir_target_rules__filter(&rules, &filter), -E2BIG);
	rules.comms.cnt = 0;
	assert_true(tapir_vec__push(&rules.cgroups, "/no/such/cgroup"));
	assert_int_equal(tapir_target_rules__filter(&rules, &filter), -ENOENT);
	assert_int_equal(tapir_diag__cnt(), 3);
	assert_int_equal(filter.self_tgid, 4711); /* untouched */
}

/* ---- the scan --------------------------------------------------------------------------- */

static pid_t start_child(const char *comm)
{
	char byte;
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_NAME, comm);
		if (write(fds[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	close(fds[1]);
	return pid;
}

struct found {
	unsigned process_cnt, mapping_cnt, file_cnt; /* file: mappings with an open file */
	bool has_child[2], has_self;
	char comm[2][TAPIR_COMM_BYTES];
	uint8_t kind;
};

static void sample_process(const struct tapir_rec *rec, struct found *out)
{
	struct tapir_process_view view;

	tapir_process_view__of(rec, &view);
	out->process_cnt++;
	out->kind = view.rec->kind;
	out->has_self |= view.rec->tgid == (uint32_t)getpid();
	for (unsigned i = 0; i < 2; i++) {
		if (children[i] <= 0 || view.rec->tgid != (uint32_t)children[i])
			continue;
		out->has_child[i] = true;
		assert_int_equal(view.rec->parent_tgid, getpid());
		assert_in_range(view.comm.len, 1, TAPIR_COMM_BYTES - 1);
		memcpy(out->comm[i], view.comm.data, view.comm.len);
	}
}

static struct found take_notes(void)
{
	struct found found = {};
	struct tapir_note *notes, *note;
	struct tapir_block *block;

	tapir_queue__wait(queue, 0, &notes, &block);
	while ((note = notes)) {
		const struct tapir_rec *rec = (const void *)note->rec;

		assert_true(tapir_record__ok(rec, rec->size));
		if (rec->type == TAPIR_REC_PROCESS)
			sample_process(rec, &found);
		found.mapping_cnt += rec->type == TAPIR_REC_MAPPING;
		found.file_cnt += rec->type == TAPIR_REC_MAPPING && note->fd >= 0;
		notes = note->next;
		tapir_note__free(note);
	}
	return found;
}

static void process_is_found_when_named_by_pid(void **state)
{
	struct found found;

	(void)state;
	children[0] = start_child("tapir_t_one");
	children[1] = start_child("tapir_t_two");
	assert_true(tapir_vec__push(&rules.pids, (uint32_t)children[0]));
	start();
	assert_int_equal(tapir_targets__scan(targets), 0);
	found = take_notes();
	assert_int_equal(found.process_cnt, 1);
	assert_true(found.has_child[0]);
	assert_string_equal(found.comm[0], "tapir_t_one");
	assert_int_equal(found.kind, TAPIR_PROCESS_EXISTING);
	assert_true(found.file_cnt >= 2);		 /* this program and libc at least */
	assert_true(found.mapping_cnt > found.file_cnt); /* and the vdso */
	assert_int_equal(tapir_targets__live_cnt(targets), 1);
	end(&children[0]); /* its EXIT record may be lost */
	assert_int_equal(tapir_targets__live_cnt(targets), 0);
}

static void processes_are_found_when_their_name_matches(void **state)
{
	struct found found;

	(void)state;
	children[0] = start_child("tapir_t_one");
	children[1] = start_child("tapir_t_two");
	assert_true(tapir_vec__push(&rules.comms, "tapir_t_[no]*"));
	start();
	assert_int_equal(tapir_targets__scan(targets), 0);
	found = take_notes();
	assert_int_equal(found.process_cnt, 1);
	assert_true(found.has_child[0] && !found.has_child[1]);
	assert_true(tapir_targets__live_cnt(targets) == SIZE_MAX); /* more may come */
}

static void all_but_ourselves_are_found_when_all_are_meant(void **state)
{
	struct found found;

	(void)state;
	children[0] = start_child("tapir_t_one");
	rules.all = true;
	start();
	assert_int_equal(tapir_targets__scan(targets), 0);
	found = take_notes();
	assert_true(found.has_child[0]);
	assert_false(found.has_self);
	assert_true(found.process_cnt >= 2);
}

static void *sleep_until_cancelled(void *tid)
{
	__atomic_store_n((pid_t *)tid, gettid(), __ATOMIC_RELEASE);
	for (;;)
		pause();
	return NULL;
}

static void scan_fails_with_a_line_when_a_pid_is_no_process(void **state)
{
	pthread_t thread;
	pid_t tid = 0;

	(void)state;
	children[0] = start_child("tapir_t_one");
	assert_true(tapir_vec__push(&rules.pids, (uint32_t)children[0]));
	start();
	end(&children[0]);
	assert_int_equal(tapir_targets__scan(targets), -ESRCH);
	assert_int_equal(tapir_diag__cnt(), 1);
	tapir_diag__clear();
	assert_int_equal(pthread_create(&thread, NULL, sleep_until_cancelled, &tid), 0);
	while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
		usleep(1000);
	rules.pids.data[0] = (uint32_t)tid; /* a thread that is not its process's first */
	assert_int_equal(tapir_targets__scan(targets), -EINVAL);
	assert_int_equal(tapir_diag__cnt(), 1);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

static void control(enum tapir_process_kind kind, pid_t tgid, uint32_t len)
{
	struct tapir_rec_process rec = {
		.h = {.type = TAPIR_REC_PROCESS, .size = sizeof(rec)},
		.kind = (uint8_t)kind,
		.tgid = (uint32_t)tgid,
		.parent_tgid = (uint32_t)getpid(),
	};

	tapir_targets__on_control(targets, &rec.h, len);
}

#define PROCESS_BYTES sizeof(struct tapir_rec_process)

static void children_count_when_they_are_followed(void **state)
{
	(void)state;
	children[0] = start_child("tapir_t_one");
	children[1] = start_child("tapir_t_two");
	for (int follow = 0; follow < 2; follow++) {
		rules.pids.cnt = 0;
		assert_true(tapir_vec__push(&rules.pids, (uint32_t)children[0]));
		rules.children = follow;
		start();
		assert_int_equal(tapir_targets__scan(targets), 0);
		control(TAPIR_PROCESS_FORK, children[1], PROCESS_BYTES);
		assert_int_equal(tapir_targets__live_cnt(targets), 1 + follow);
		assert_true(take_notes().has_child[1]); /* it is recorded either way */
		control(TAPIR_PROCESS_EXIT, children[0], PROCESS_BYTES);
		/* its last mapping may still be reported */
		assert_int_equal(tapir_targets__live_cnt(targets), 1 + follow);
		tapir_targets__forget_ended(targets);
		assert_int_equal(tapir_targets__live_cnt(targets), follow);
		stop();
	}
}

/* Its number is used by another process before the records of the first one were taken. */
static void process_stays_when_it_has_the_number_of_one_that_ended(void **state)
{
	(void)state;
	children[0] = start_child("tapir_t_one");
	assert_true(tapir_vec__push(&rules.pids, (uint32_t)children[0]));
	rules.children = true;
	start();
	assert_int_equal(tapir_targets__scan(targets), 0);
	control(TAPIR_PROCESS_EXIT, children[0], PROCESS_BYTES);
	control(TAPIR_PROCESS_FORK, children[0], PROCESS_BYTES);
	tapir_targets__forget_ended(targets);
	assert_int_equal(tapir_targets__live_cnt(targets), 1);
	control(TAPIR_PROCESS_EXIT, children[0], PROCESS_BYTES);
	tapir_targets__forget_ended(targets);
	assert_int_equal(tapir_targets__live_cnt(targets), 0);
}

static void record_is_ignored_when_malformed(void **state)
{
	struct tapir_rec_held held = {.h = {.type = TAPIR_REC_HELD, .size = sizeof(held)}};

	(void)state;
	children[0] = start_child("tapir_t_one");
	assert_true(tapir_vec__push(&rules.pids, (uint32_t)children[0]));
	start();
	for (uint32_t len = 0; len < PROCESS_BYTES; len += 8)
		control(TAPIR_PROCESS_EXEC, children[0], len);
	tapir_targets__on_control(targets, &held.h,
				  sizeof(held)); /* nothing is held in this test */
	assert_int_equal(take_notes().process_cnt, 0);
	assert_int_equal(tapir_targets__live_cnt(targets), 0);
}

/* ---- messages about them ------------------------------------------------------------- */

static void path_is_bpfs_when_proc_does_not_tell(void **state)
{
	static const char comm[] = "new", old_comm[] = "old", exe[] = "/bin/seen";
	struct tapir_proc proc = {.tgid = 5, .cmdline = "a\0b", .cmdline_len = 4, .cgroup = "/x"};
	struct tapir_rec_process fixed = {
		.tgid = 5, .kind = TAPIR_PROCESS_EXEC, .uid = 7, .exit_status = 3};
	struct tapir_recbuf bpf = {}, out = {};
	struct tapir_process_view view;
	const struct tapir_rec *rec;

	(void)state;
	strcpy(proc.comm, comm);
	tapir_rec__init(&fixed.h, TAPIR_REC_PROCESS, sizeof(fixed), 123);
	rec = tapir_recbuf__process(&bpf, &fixed, tapir_sv__of(old_comm), tapir_sv__of(exe),
				    tapir_sv__of(""), tapir_sv__of(""));
	rec = tapir_describe__process_event(&out, (const void *)rec, &proc, false);
	assert_true(tapir_record__ok(rec, rec->size));
	tapir_process_view__of(rec, &view);
	assert_int_equal(view.rec->h.time_ns, 123);
	assert_int_equal(view.rec->kind, TAPIR_PROCESS_EXEC);
	assert_int_equal(view.rec->uid, 7);
	assert_int_equal(view.comm.len, 3);
	assert_memory_equal(view.comm.data, comm, 3);
	assert_int_equal(view.exe.len, strlen(exe));
	assert_memory_equal(view.exe.data, exe, strlen(exe));
	assert_int_equal(view.cmdline.len, 4);
	assert_memory_equal(view.cmdline.data, "a\0b", 4);
	assert_int_equal(view.cgroup.len, 2);
	proc.exe = "/bin/told"; /* the path within its root is the better one */
	rec = tapir_describe__process_event(&out, &fixed, &proc, false);
	tapir_process_view__of(rec, &view);
	assert_memory_equal(view.exe.data, "/bin/told", 9);
	tapir_recbuf__fini(&bpf);
	tapir_recbuf__fini(&out);
}

static void arguments_are_left_out_where_nobody_may_see_them(void **state)
{
	struct tapir_proc proc = {
		.tgid = 5, .cmdline = "a\0b", .cmdline_len = 4, .exe = "/bin/a", .cgroup = "/x"};
	struct tapir_rec_process fixed = {.tgid = 5, .kind = TAPIR_PROCESS_EXEC};
	struct tapir_recbuf buf = {};
	const struct tapir_rec *rec;

	(void)state;
	tapir_rec__init(&fixed.h, TAPIR_REC_PROCESS, sizeof(fixed), 123);
	for (int is_seen = 0; is_seen < 2; is_seen++) {
		struct tapir_process_view view;

		rec = is_seen ? tapir_describe__process_event(&buf, &fixed, &proc, true)
			      : tapir_describe__process(&buf, &proc, true);
		assert_true(tapir_record__ok(rec, rec->size));
		tapir_process_view__of(rec, &view);
		assert_int_equal(view.cmdline.len, 0);
		assert_int_equal(view.exe.len, 6);
		assert_int_equal(view.cgroup.len, 2);
	}
	tapir_recbuf__fini(&buf);
}

/* What BPF has read of a program that is gone; a longer line in place of its beginning. */
static void program_is_what_bpf_read(void **state)
{
	const size_t lens[] = {3, 5, 0};
	static const char line[] = "a\0b\0", longer[] = "a\0b\0c";
	struct tapir_rec_process fixed = {.tgid = 5,
					  .kind = TAPIR_PROCESS_EXEC,
					  .flags = TAPIR_PROCESS_HAS_PROGRAM |
						   TAPIR_PROCESS_CMDLINE_CUT};
	struct tapir_recbuf bpf = {}, out = {};
	struct tapir_process_view view;
	const struct tapir_rec *seen, *rec;

	(void)state;
	tapir_rec__init(&fixed.h, TAPIR_REC_PROCESS, sizeof(fixed), 123);
	seen = tapir_recbuf__process(&bpf, &fixed, tapir_sv__of("a"), tapir_sv__of("/bin/a"),
				     (struct tapir_sv){line, sizeof(line) - 1}, tapir_sv__of(""));
	for (int i = 0; i < 3; i++) {
		struct tapir_sv whole = {i == 1 ? longer : NULL, i == 1 ? sizeof(longer) - 1 : 0};

		rec = tapir_describe__process_read(&out, (const void *)seen, whole, "/x", i == 2);
		assert_true(tapir_record__ok(rec, rec->size));
		tapir_process_view__of(rec, &view);
		assert_int_equal(view.exe.len, 6);
		assert_int_equal(view.cgroup.len, 2);
		assert_int_equal(view.cmdline.len, lens[i]);
		assert_memory_equal(view.cmdline.data, longer, view.cmdline.len);
		assert_int_equal(view.rec->flags & TAPIR_PROCESS_CMDLINE_CUT,
				 i ? 0 : TAPIR_PROCESS_CMDLINE_CUT);
	}
	tapir_recbuf__fini(&bpf);
	tapir_recbuf__fini(&out);
}

static void mapping_says_what_the_line_says(void **state)
{
	struct tapir_mapping_line line = {.start_va = 0x1000,
					  .end_va = 0x3000,
					  .file_off = 0x5000,
					  .inode = 9,
					  .dev = 8u << 20 | 1,
					  .path = "/lib/x",
					  .path_len = 6};
	struct tapir_image image = {.file_id = 77, .build_id = {1, 2, 3}, .build_id_bytes = 3};
	struct tapir_recbuf buf = {};
	struct tapir_mapping_view view;
	const struct tapir_rec *rec = tapir_describe__mapping(&buf, 5, 77, &line, &image);

	(void)state;
	assert_true(tapir_record__ok(rec, rec->size));
	tapir_mapping_view__of(rec, &view);
	assert_int_equal(view.rec->tgid, 5);
	assert_int_equal(view.rec->flags, TAPIR_MAPPING_EXEC);
	assert_int_equal(view.rec->start_va, 0x1000);
	assert_int_equal(view.rec->end_va, 0x3000);
	assert_int_equal(view.rec->file_off, 0x5000);
	assert_int_equal(view.rec->inode, 9);
	assert_int_equal(view.rec->dev, 8u << 20 | 1);
	assert_int_equal(view.rec->file_id, 77);
	assert_int_equal(view.build_id.len, 3);
	assert_memory_equal(view.build_id.data, image.build_id, 3);
	assert_int_equal(view.path.len, 6);
	line = (struct tapir_mapping_line){.path = "[vdso]", .path_len = 6};
	tapir_mapping_view__of(tapir_describe__mapping(&buf, 5, 77, &line, NULL), &view);
	assert_int_equal(view.rec->flags, TAPIR_MAPPING_EXEC | TAPIR_MAPPING_ANON);
	assert_int_equal(view.rec->file_id, 0);
	assert_int_equal(view.build_id.len, 0);
	tapir_recbuf__fini(&buf);
}

static unsigned meta_cnt(const char *command, bool *has_command)
{
	struct tapir_note *notes, *note;
	struct tapir_block *block;
	unsigned cnt = 0;

	*has_command = false;
	assert_int_equal(tapir_queue__new(0, &queue), 0);
	assert_int_equal(tapir_meta__post(queue, command), 0);
	tapir_queue__wait(queue, 0, &notes, &block);
	while ((note = notes)) {
		struct tapir_meta_view view;

		assert_true(tapir_record__ok((const void *)note->rec, TAPIR_MAX_RECORD_BYTES));
		tapir_meta_view__of((const void *)note->rec, &view);
		assert_true(view.key.len > 0 && view.value.len > 0);
		*has_command |= view.key.len == 7 && !memcmp(view.key.data, "command", 7);
		cnt++;
		notes = note->next;
		tapir_note__free(note);
	}
	tapir_queue__free(queue);
	queue = NULL;
	return cnt;
}

static void meta_has_the_command_only_when_given(void **state)
{
	bool has_command;

	(void)state;
	assert_int_equal(meta_cnt("tapir record -a", &has_command), 8);
	assert_true(has_command);
	assert_int_equal(meta_cnt(NULL, &has_command), 7);
	assert_false(has_command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(filter_lists_processes_when_they_are_named),
		CASE(filter_has_no_rule_when_all_are_meant),
		CASE(filter_has_the_globs_when_named_by_comm),
		CASE(filter_is_refused_when_a_rule_cannot_be_kept),
		CASE(process_is_found_when_named_by_pid),
		CASE(processes_are_found_when_their_name_matches),
		CASE(all_but_ourselves_are_found_when_all_are_meant),
		CASE(scan_fails_with_a_line_when_a_pid_is_no_process),
		CASE(children_count_when_they_are_followed),
		CASE(process_stays_when_it_has_the_number_of_one_that_ended),
		CASE(record_is_ignored_when_malformed),
		CASE(path_is_bpfs_when_proc_does_not_tell),
		CASE(arguments_are_left_out_where_nobody_may_see_them),
		CASE(program_is_what_bpf_read),
		CASE(mapping_says_what_the_line_says),
		CASE(meta_has_the_command_only_when_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
