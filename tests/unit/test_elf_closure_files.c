// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file that tapir read before a process mapped it: whoever names its functions gets it with its
 * first mapping, even if the process has ended by then. Loads BPF programs, so it needs root.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attach/sideband.h"
#include "base/clock.h"
#include "targets_fixture.h"
#include "trace/record.h"

#define FILE_PATH "/proc/self/exe"

static pid_t ended_child(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

/* As the kernel reports it. */
static struct tapir_sideband_mmap mmap_of(const struct stat *st, const char *path, pid_t tgid)
{
	return (struct tapir_sideband_mmap){.time_ns = tapir_clock__now_ns(),
					    .tgid = (uint32_t)tgid,
					    .tid = (uint32_t)tgid,
					    .start_va = 0x10000,
					    .len_bytes = 0x1000,
					    .inode = st->st_ino,
					    .dev_major = major(st->st_dev),
					    .dev_minor = minor(st->st_dev),
					    .path = path};
}

/* Mappings that were posted; file_cnt: with a descriptor of the file. */
static unsigned take_mappings(const struct stat *file, unsigned *file_cnt)
{
	struct tapir_note *notes, *note;
	struct tapir_block *block;
	unsigned mapping_cnt = 0;

	*file_cnt = 0;
	tapir_queue__wait(queue, 0, &notes, &block);
	while ((note = notes)) {
		const struct tapir_rec_mapping *rec = (const void *)note->rec;
		struct stat st;

		if (rec->h.type == TAPIR_REC_MAPPING) {
			mapping_cnt++;
			assert_true(rec->file_id != 0);
			*file_cnt += !fstat(note->fd, &st) && st.st_ino == file->st_ino;
		}
		notes = note->next;
		tapir_note__free(note);
	}
	return mapping_cnt;
}

static void first_mapping_has_the_file_when_its_process_has_ended(void **state)
{
	int fd = open(FILE_PATH, O_RDONLY | O_CLOEXEC);
	struct tapir_sideband_mmap mmap;
	char path[4096] = "";
	unsigned file_cnt;
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	assert_true(readlink(FILE_PATH, path, sizeof(path) - 1) > 0);
	rules.all = true;
	start();
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(tapir_targets__prepare_file(targets, fd, path), 0);
	close(fd);
	mmap = mmap_of(&st, path, ended_child());
	tapir_targets__on_mmap(targets, &mmap);
	assert_int_equal(take_mappings(&st, &file_cnt), 1);
	assert_int_equal(file_cnt, 1);
	tapir_targets__on_mmap(targets, &mmap); /* it is known by now: once is enough */
	assert_int_equal(take_mappings(&st, &file_cnt), 1);
	assert_int_equal(file_cnt, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			first_mapping_has_the_file_when_its_process_has_ended, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
