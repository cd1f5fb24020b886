// SPDX-License-Identifier: GPL-2.0-or-later
/* A file of this machine that is read, changed, deleted; the process that maps it need not exist.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/images/mapped_files.h"

#define NO_PROCESS 0x7ffffff0u /* above any pid_max */

static char path[64];
static int fd;
static struct tapir_mapped_files files;
static struct tapir_image image;
static uint32_t st_dev;

static int setup(void **state)
{
	(void)state;
	/* tmpfs: /tmp may be an overlay, of which stat(2) shows another device. */
	snprintf(path, sizeof(path), "/dev/shm/test_mapped_files-XXXXXX");
	fd = mkstemp(path);
	assert_int_equal(write(fd, "one", 3), 3);
	image = (struct tapir_image){.file_id = 7};
	tapir_mapped_files__init(&files);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tapir_mapped_files__fini(&files);
	unlink(path);
	close(fd);
	return 0;
}

static struct tapir_sideband_mmap mapped_now(void)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (struct tapir_sideband_mmap){.time_ns = tapir_clock__now_ns(),
					    .tgid = NO_PROCESS,
					    .path = path,
					    .inode = st.st_ino,
					    .dev_major = major(st.st_dev),
					    .dev_minor = minor(st.st_dev)};
}

static void add(const struct tapir_sideband_mmap *told)
{
	tapir_mapped_files__add(&files, tapir_mapped_files__watch(&files, fd, told, NULL), &image);
}

static void is_known(bool is_it)
{
	struct tapir_sideband_mmap mmap = mapped_now();

	assert_ptr_equal(tapir_mapped_files__find(&files, &mmap, &st_dev), is_it ? &image : NULL);
}

static void file_is_known_when_it_was_read(void **state)
{
	struct tapir_sideband_mmap mmap = mapped_now();

	(void)state;
	is_known(false);
	add(&mmap);
	is_known(true);
	is_known(true);
	add(NULL);
	is_known(true);
	assert_int_equal(files.by_inode.cnt, 1);
}

static void file_is_known_when_it_has_not_changed_since_it_was_mapped(void **state)
{
	struct tapir_sideband_mmap before;

	(void)state;
	nanosleep(&(struct timespec){.tv_nsec = 20 * TAPIR_NS_PER_MS}, NULL); /* two ticks */
	before = mapped_now();
	add(NULL);
	assert_ptr_equal(tapir_mapped_files__find(&files, &before, &st_dev), &image);
}

static void file_is_not_known_when_it_was_written_between_its_mapping_and_its_reading(void **state)
{
	struct tapir_sideband_mmap before;

	(void)state;
	nanosleep(&(struct timespec){.tv_nsec = 20 * TAPIR_NS_PER_MS}, NULL); /* two ticks */
	before = mapped_now();
	assert_int_equal(pwrite(fd, "two", 3, 0), 3);
	add(NULL);
	assert_null(tapir_mapped_files__find(&files, &before, &st_dev));
	is_known(true);
}

static void file_is_not_known_when_it_was_written_in_place(void **state)
{
	struct tapir_sideband_mmap before;

	(void)state;
	add(NULL);
	before = mapped_now();
	is_known(true);
	assert_int_equal(pwrite(fd, "two", 3, 0), 3);
	is_known(false);
	assert_null(tapir_mapped_files__find(&files, &before, &st_dev));
	add(NULL);
	is_known(true);
	assert_null(tapir_mapped_files__find(&files, &before, &st_dev));
}

/* A program that maps it may still run, or tapir may see its mapping late. */
static void file_is_not_known_when_it_was_deleted(void **state)
{
	struct tapir_sideband_mmap before;

	(void)state;
	add(NULL);
	before = mapped_now();
	assert_int_equal(unlink(path), 0);
	assert_null(tapir_mapped_files__find(&files, &before, &st_dev));
	assert_int_equal(files.by_watch.cnt, 0);
	add(NULL); /* it would be kept on the disk */
	is_known(false);
}

static void file_is_known_when_it_was_renamed(void **state)
{
	char other[80];

	(void)state;
	add(NULL);
	snprintf(other, sizeof(other), "%s-2", path);
	assert_int_equal(rename(path, other), 0);
	is_known(true);
	assert_int_equal(rename(other, path), 0);
}

static void nothing_is_known_when_there_is_no_inotify(void **state)
{
	(void)state;
	close(files.inotify_fd);
	files.inotify_fd = -1;
	add(NULL);
	is_known(false);
}

static void file_is_not_known_when_its_number_is_of_another_device(void **state)
{
	struct tapir_sideband_mmap mmap = mapped_now();

	(void)state;
	mmap.dev_minor++;
	add(&mmap); /* not what was mapped */
	assert_int_equal(files.by_inode.cnt, 0);
	add(NULL);
	assert_null(tapir_mapped_files__find(&files, &mmap, &st_dev));
	is_known(true);
}

/* Its probes are attached file by file, or may grow: a process that maps it is looked at. */
static void file_is_not_known_when_it_has_probes(void **state)
{
	(void)state;
	add(NULL);
	image.site_cnt = 1;
	is_known(false);
	image = (struct tapir_image){.file_id = 7, .is_growing = true};
	is_known(false);
	image = (struct tapir_image){.file_id = 7, .is_unread = true};
	is_known(false);
}

/* A btrfs: the disk's device by a mapping, then that of the subvolume by stat(2). */
static void file_is_forgotten_when_it_had_another_device_before(void **state)
{
	struct tapir_sideband_mmap mmap = mapped_now();
	struct tapir_mapped_file file = tapir_mapped_files__watch(&files, fd, &mmap, NULL);

	(void)state;
	file.dev++;
	tapir_mapped_files__add(&files, file, &image);
	is_known(false);
	add(&mmap);
	is_known(true);
	assert_int_equal(files.by_inode.cnt, 1);
	assert_int_equal(pwrite(fd, "two", 3, 0), 3);
	is_known(false);
	assert_int_equal(files.by_inode.cnt, 0);
}

static unsigned watch_cnt(void)
{
	char name[64], line[256];
	unsigned cnt = 0;
	FILE *info;

	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", files.inotify_fd);
	info = fopen(name, "r");
	assert_non_null(info);
	while (fgets(line, sizeof(line), info))
		cnt += !strncmp(line, "inotify ", 8);
	fclose(info);
	return cnt;
}

static void nothing_is_watched_when_nothing_is_kept(void **state)
{
	struct tapir_sideband_mmap other = mapped_now();

	(void)state;
	other.inode++;
	add(&other);
	assert_int_equal(watch_cnt(), 0);
	tapir_mapped_files__add(&files, tapir_mapped_files__watch(&files, fd, NULL, NULL), NULL);
	assert_int_equal(watch_cnt(), 0);
	add(NULL);
	assert_int_equal(watch_cnt(), 1);
	image.file_id = 0;
	add(NULL);
	assert_int_equal(watch_cnt(), 0);
	assert_int_equal(files.by_watch.cnt, 0);
}

static void nothing_is_kept_when_a_file_is_not_a_program(void **state)
{
	(void)state;
	image.file_id = 0;
	add(NULL);
	assert_int_equal(files.by_inode.cnt, 0);
	tapir_mapped_files__add(&files, tapir_mapped_files__watch(&files, -1, NULL, NULL), &image);
	assert_int_equal(files.by_inode.cnt, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(file_is_known_when_it_was_read),
		CASE(file_is_known_when_it_has_not_changed_since_it_was_mapped),
		CASE(file_is_not_known_when_it_was_written_between_its_mapping_and_its_reading),
		CASE(file_is_not_known_when_it_was_written_in_place),
		CASE(file_is_not_known_when_it_was_deleted),
		CASE(file_is_known_when_it_was_renamed),
		CASE(nothing_is_known_when_there_is_no_inotify),
		CASE(file_is_not_known_when_its_number_is_of_another_device),
		CASE(file_is_not_known_when_it_has_probes),
		CASE(file_is_forgotten_when_it_had_another_device_before),
		CASE(nothing_is_watched_when_nothing_is_kept),
		CASE(nothing_is_kept_when_a_file_is_not_a_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
