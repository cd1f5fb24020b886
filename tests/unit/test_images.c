// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files that processes map: this program has probes and is one of them. BPF programs are loaded
 * and attached to it, so most of it needs root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "bpf/native_logic.bpf.h"
#include "record/images/images.h"
#include "record/match_report.h"
#include "elf_builder.h"
#include "may_trace.h"
#include "tapir/usdt.h"
#include "trace/record.h"

TAPIR_PROBE_DEFINE_SEMAPHORE(tapir_img, counted);

/* Three sites of two probes, and one of a probe with a semaphore. */
static __attribute__((noinline)) void fire(int value)
{
	TAPIR_PROBE(tapir_img, one, value);
	TAPIR_PROBE(tapir_img, one, value);
	TAPIR_PROBE(tapir_img, two, value, "text");
	TAPIR_PROBE_SEM(tapir_img, counted, value);
}

static struct tapir_programs *programs;
static struct tapir_queue *queue;
static struct tapir_images *images;
static struct tapir_spec_list specs;
static struct tapir_lane_coverage *cover;
static struct tapir_map live;
static char dir[] = "/var/tmp/tapir_images_XXXXXX";

static int group_setup(void **state)
{
	(void)state;
	fire(1);
	return !mkdtemp(dir);
}

static int group_teardown(void **state)
{
	(void)state;
	return rmdir(dir);
}

static int teardown(void **state)
{
	struct tapir_spec **spec;

	(void)state;
	tapir_images__free(images, NULL, NULL);
	images = NULL;
	tapir_queue__free(queue);
	queue = NULL;
	tapir_programs__free(programs);
	programs = NULL;
	tapir_vec_for_each (spec, &specs)
		tapir_spec__free(*spec);
	tapir_vec__fini(&specs);
	tapir_lane_coverage__free(cover);
	cover = NULL;
	tapir_map__fini(&live);
	return 0;
}

static void start(const char *const *spec_texts, uint32_t site_cap, bool use_multi)
{
	static const struct tapir_native_choice native = {.mean_bytes = 1 << 20};
	struct tapir_programs_opts programs_opts = {.sz = sizeof(programs_opts),
						    .site_cap = site_cap,
						    .ring_bytes = 4096,
						    .use_multi = use_multi,
						    .families[TAPIR_FAMILY_NATIVE] = true,
						    .native = &native};
	struct tapir_images_opts opts = {
		.sz = sizeof(opts), .specs = &specs, .use_multi = use_multi, .cover = cover};

	if (!may_trace()) {
		print_message("skipped: loading BPF programs needs root\n");
		skip();
	}
	tapir_diag__clear();
	for (; *spec_texts; spec_texts++) {
		struct tapir_spec *spec;

		assert_int_equal(tapir_spec__parse(*spec_texts, &spec), 0);
		assert_true(tapir_vec__push(&specs, spec));
	}
	assert_int_equal(tapir_programs__load(&programs_opts, &programs), 0);
	assert_int_equal(tapir_queue__new(1, &queue), 0);
	opts.programs = programs;
	opts.queue = queue;
	assert_int_equal(tapir_images__new(&opts, &images), 0);
}

#define START(cap, ...) start((const char *const[]){__VA_ARGS__, NULL}, cap, true)

static struct tapir_image *look_at(int fd, const char *path)
{
	struct tapir_image *image = NULL;

	assert_true(fd >= 0);
	assert_int_equal(tapir_images__inspect(images, fd, path, &image), 0);
	assert_non_null(image);
	return image;
}

static struct tapir_image *look(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct tapir_image *image = look_at(fd, path);

	close(fd);
	return image;
}

static void copy_self(const char *path)
{
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	struct stat st;

	assert_int_equal(fstat(in, &st), 0);
	while (sendfile(out, in, NULL, (size_t)st.st_size) > 0)
		;
	close(in);
	close(out);
}

static const char *in_dir(const char *name)
{
	static char path[2][4096];
	static unsigned turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[0]), "%s/%s", dir, name);
	return path[turn];
}

/* PROBE records posted so far: their ids must be first_id and those that follow. */
static unsigned announced(uint32_t first_id)
{
	struct tapir_note *notes, *note;
	struct tapir_block *block;
	unsigned cnt = 0;

	tapir_queue__wait(queue, 0, &notes, &block);
	while ((note = notes)) {
		const struct tapir_rec_probe *probe = (const void *)note->rec;

		assert_int_equal(probe->h.type, TAPIR_REC_PROBE);
		assert_true(tapir_record__ok(&probe->h, probe->h.size));
		assert_int_equal(probe->probe_id, first_id + cnt);
		cnt++;
		notes = note->next;
		tapir_note__free(note);
	}
	return cnt;
}

static void sites_are_those_that_match(void **state)
{
	struct tapir_image *image;
	size_t cnt;

	(void)state;
	START(16, "tapir_img:one");
	image = look("/proc/self/exe");
	assert_int_equal(image->site_cnt, 2);
	assert_int_equal(image->cookies[0], 1);
	assert_int_equal(image->cookies[1], 2);
	assert_int_equal(image->semaphore_offs[0], 0);
	assert_true(image->fd >= 0);
	assert_true(image->build_id_bytes > 0);
	assert_int_equal(announced(1), 2);
	assert_int_equal(tapir_images__site_cnt(images), 2);
	assert_int_equal(tapir_images__attached_cnt(images), 0);
	cnt = tapir_images__seen(images)->all.cnt; /* one, two and counted, each once */
	assert_int_equal(cnt, 3);
	assert_true(tapir_images__spec_matched(images, 0));
}

static void image_is_one_when_two_paths_name_its_file(void **state)
{
	struct tapir_image *image;

	(void)state;
	START(16, "tapir_img");
	copy_self(in_dir("a"));
	assert_int_equal(link(in_dir("a"), in_dir("b")), 0);
	image = look(in_dir("a"));
	assert_int_equal(image->site_cnt, 4);
	assert_ptr_equal(look(in_dir("b")), image);
	assert_int_equal(announced(1), 4);
	assert_int_equal(unlink(in_dir("a")), 0);
	assert_ptr_equal(look(in_dir("b")),
			 image); /* with one name less it is still the same file */
	unlink(in_dir("b"));
}

static void image_is_another_when_the_file_is_replaced(void **state)
{
	struct tapir_image *first, *second, *third;

	(void)state;
	START(16, "tapir_img");
	copy_self(in_dir("x"));
	first = look(in_dir("x"));
	copy_self(in_dir("y"));
	assert_int_equal(rename(in_dir("y"), in_dir("x")), 0); /* as an upgrade does it */
	second = look(in_dir("x"));
	assert_ptr_not_equal(second, first);
	assert_int_equal(second->site_cnt, 4);
	assert_int_equal(second->cookies[0], 5); /* sites of their own */
	assert_memory_equal(second->build_id, first->build_id, first->build_id_bytes);
	assert_int_equal(second->file_id, first->file_id);
	assert_int_equal(truncate(in_dir("x"), 100), 0); /* written in place */
	third = look(in_dir("x"));
	assert_ptr_not_equal(third, second);
	assert_int_equal(third->site_cnt, 0);
	unlink(in_dir("x"));
}

static void file_has_no_sites_when_it_is_no_good_elf(void **state)
{
	static const char *const texts[] = {"", "x", "\177ELF", "\177ELF\2\1\1", "#!/bin/sh\n"};
	struct tapir_image *image;
	struct stat st;
	int fd;

	(void)state;
	START(16, "tapir_img");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		fd = elf_builder__memfd(texts[i], strlen(texts[i]));
		image = look_at(fd, "/hostile");
		assert_int_equal(image->site_cnt, 0);
		assert_int_equal(image->fd, -1);
		assert_int_equal(tapir_images__attach(images, image, 0, false), 0);
		close(fd);
	}
	assert_int_equal(tapir_diag__cnt(), 0); /* not our failure */
	assert_int_equal(stat("/proc/self/exe", &st), 0);
	for (off_t len = 64; len < st.st_size; len += st.st_size / 40) {
		copy_self(in_dir("cut"));
		assert_int_equal(truncate(in_dir("cut"), len), 0);
		image = look(in_dir("cut"));
		assert_in_range(image->site_cnt, 0, 4);
		unlink(in_dir("cut"));
	}
	look("/dev/null");
	look("/proc");
}

/* All its notes are bad: nothing is found, and nothing leaks (run it with SAN=address). */
static void file_has_no_sites_when_its_notes_are_bad(void **state)
{
	uint32_t note[16] = {8, 24, 3};
	struct elf_builder b;
	int fd;

	(void)state;
	START(16, "tapir_img");
	memcpy(&note[3], "stapsdt", 8);
	memset(&note[5], 0xff, 24);
	elf_builder__init(&b, ET_DYN);
	elf_builder__add_section(&b, ".note.stapsdt", SHT_NOTE, note, 44);
	elf_builder__finish(&b);
	fd = elf_builder__memfd(b.bytes, b.len);
	assert_int_equal(look_at(fd, "/bad/notes")->site_cnt, 0);
	close(fd);
	elf_builder__fini(&b);
}

static void file_is_refused_once_when_an_argument_is_none_of_it(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct tapir_image *image = NULL;

	(void)state;
	START(16, "tapir_img:two::arg7=str");
	assert_int_equal(tapir_images__inspect(images, fd, "/self", &image), -EINVAL);
	assert_null(image);
	assert_int_equal(tapir_diag__cnt(), 1);
	image = look_at(fd, "/self"); /* it was already reported */
	assert_int_equal(image->site_cnt, 0);
	assert_int_equal(tapir_images__attach(images, image, 0, false), 0);
	close(fd);
}

static void file_is_refused_when_it_has_too_many_sites(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct tapir_image *image = NULL;

	(void)state;
	START(3, "tapir_img");
	assert_int_equal(tapir_images__inspect(images, fd, "/self", &image), -E2BIG);
	assert_int_equal(tapir_diag__cnt(), 1);
	/* The sites before it must not be half attached: no fd names the file. */
	image = look_at(fd, "/self");
	assert_int_equal(tapir_images__attach(images, image, 0, false), 0);
	close(fd);
}

static unsigned short raised(void)
{
	return *(volatile unsigned short *)&TAPIR_USDT_SEMAPHORE(tapir_img, counted);
}

static void attach_and_detach(bool use_multi)
{
	struct tapir_image *image;

	start((const char *const[]){"tapir_img", NULL}, 16, use_multi);
	image = look("/proc/self/exe");
	assert_int_equal(raised(), 0);
	assert_int_equal(tapir_images__attach(images, image, 0, false), 1);
	assert_int_equal(raised(), 1);
	assert_int_equal(tapir_images__attached_cnt(images), 4);
	assert_int_equal(tapir_images__attach(images, image, 0, false), 0); /* they are attached */
	assert_int_equal(tapir_images__attach(images, image, (uint32_t)getpid(), false), 0);
	assert_int_equal(raised(), 1);
	tapir_images__free(images, NULL, NULL);
	images = NULL;
	assert_int_equal(raised(), 0);
}

static void probes_are_on_once_by_one_link(void **state)
{
	(void)state;
	attach_and_detach(true);
}

static void probes_are_on_once_by_perf_events(void **state)
{
	(void)state;
	attach_and_detach(false);
}

/* One function that allocates, where a probe is: two links, of its entry and its return. */
static void add_allocator(struct tapir_image *image)
{
	image->native.offs[0] = image->site_offs[0];
	image->native.cookies[0] = TAPIR_NATIVE_FN_MALLOC;
	image->native.cnt = 1;
}

/* If half of them were attached and considered detached, they would be attached a second time:
 * events come twice. */
static void no_probe_is_on_when_one_cannot_be(void **state)
{
	for (int use_multi = 0; use_multi < 2; use_multi++) {
		struct tapir_image *image;
		uint64_t good;
		size_t last;

		(void)state;
		start((const char *const[]){"tapir_img", NULL}, 16, use_multi);
		image = look("/proc/self/exe");
		last = image->site_cnt - 1;
		assert_int_not_equal(image->semaphore_offs[last], 0);
		/* The counted one first, and the last in a place where no instruction is. */
		good = image->site_offs[0];
		add_allocator(image);
		image->site_offs[0] = image->site_offs[last];
		image->semaphore_offs[0] = image->semaphore_offs[last];
		image->site_offs[last] = UINT64_MAX / 2;
		image->semaphore_offs[last] = 0;
		assert_true(tapir_images__attach(images, image, 0, false) < 0);
		assert_true(tapir_diag__cnt() >= 1);
		assert_int_equal(raised(), 0);
		assert_int_equal(tapir_images__attached_cnt(images), 0);
		assert_int_equal(image->native.links.fds.cnt, 0);
		image->site_offs[last] = good;
		assert_int_equal(tapir_images__attach(images, image, 0, false), 1);
		assert_int_equal(raised(), 1);
		assert_int_equal(image->native.links.fds.cnt, 2);
		teardown(NULL);
		assert_int_equal(raised(), 0);
	}
}

/* The process has some of its own probes' events in a ring, for all that coverage says. */
static void cover_events(const char *const *names)
{
	for (; *names; names++)
		tapir_lane_coverage__on(
			cover, (uint32_t)getpid(),
			tapir_lane_coverage__key(tapir_sv__of("tapir_img"), tapir_sv__of(*names)));
}

#define COVER(...) cover_events((const char *const[]){__VA_ARGS__, NULL})

/* The process is traced, and its probes are found. */
static struct tapir_image *prepare_handover(const char *spec)
{
	cover = tapir_lane_coverage__new();
	assert_non_null(cover);
	assert_non_null(tapir_map__put(&live, (uint64_t)getpid(), NULL));
	START(16, spec);
	return look("/proc/self/exe");
}

/* The process is traced, and has its probes. */
static struct tapir_image *start_handover(const char *spec)
{
	struct tapir_image *image = prepare_handover(spec);

	assert_int_equal(tapir_images__attach(images, image, 0, false), 1);
	return image;
}

static void probes_come_off_when_a_ring_has_all_their_events(void **state)
{
	(void)state;
	start_handover("tapir_img");
	COVER("one", "two");
	assert_false(tapir_images__may_hand_over(images, &live));
	assert_int_equal(tapir_images__hand_over(images, &live), 0);
	assert_int_equal(raised(), 1);
	COVER("counted");
	assert_true(tapir_images__may_hand_over(images, &live));
	assert_int_equal(tapir_images__hand_over(images, &live), 1);
	assert_int_equal(raised(), 0);
	assert_int_equal(tapir_images__attached_cnt(images), 0);
	assert_null(tapir_images__find_uncarried(images, (uint32_t)getpid()));
	assert_int_equal(tapir_images__take_back(images), 0);
	assert_int_equal(raised(), 1);
	assert_int_equal(tapir_images__attached_cnt(images), 4);
	assert_int_equal(tapir_images__take_back(images), 0);
	assert_int_equal(tapir_images__attached_cnt(images), 4);
}

/* No ring has what they report, so they stay on meanwhile. */
static void functions_that_allocate_are_on_once_when_probes_come_back(void **state)
{
	struct tapir_image *image;

	(void)state;
	image = prepare_handover("tapir_img");
	add_allocator(image);
	assert_int_equal(tapir_images__attach(images, image, 0, false), 1);
	COVER("one", "two", "counted");
	assert_int_equal(tapir_images__hand_over(images, &live), 1);
	assert_int_equal(image->native.links.fds.cnt, 2);
	assert_int_equal(tapir_images__take_back(images), 0);
	assert_int_equal(image->native.links.fds.cnt, 2);
}

static void probes_are_missed_when_the_ring_has_ended(void **state)
{
	struct tapir_image *image = start_handover("tapir_img");

	(void)state;
	COVER("one", "two", "counted");
	assert_int_equal(tapir_images__hand_over(images, &live), 1);
	tapir_lane_coverage__off(cover, (uint32_t)getpid(), image->cover_keys[0]);
	assert_ptr_equal(tapir_images__find_uncarried(images, (uint32_t)getpid()), image);
}

/* A ring may have the events of one file, and not those of the same name of another. */
static void probes_stay_when_two_files_have_an_event(void **state)
{
	(void)state;
	start_handover("tapir_img");
	COVER("one", "two", "counted");
	copy_self(in_dir("twin"));
	look(in_dir("twin"));
	assert_int_equal(tapir_images__hand_over(images, &live), 0);
	assert_int_equal(raised(), 1);
	unlink(in_dir("twin"));
}

static void probes_stay_when_a_process_has_two_copies(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *copy;

	(void)state;
	start_handover("tapir_img:one"); /* the kernel raises a semaphore with each mapping */
	COVER("one");
	assert_int_equal(fstat(fd, &st), 0);
	copy = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(copy, MAP_FAILED);
	assert_int_equal(tapir_images__hand_over(images, &live), 0);
	munmap(copy, (size_t)st.st_size);
	assert_int_equal(tapir_images__hand_over(images, &live), 1);
	close(fd);
}

static void sites_are_refused_when_they_are_too_many_for_perf(void **state)
{
	struct tapir_images_opts opts = {.sz = sizeof(opts), .specs = &specs, .perf_limit = 3};
	struct tapir_image *image;

	(void)state;
	start((const char *const[]){"tapir_img", NULL}, 16, false);
	opts.programs = programs;
	opts.queue = queue;
	tapir_images__free(images, NULL, NULL);
	assert_int_equal(tapir_images__new(&opts, &images), 0);
	image = look("/proc/self/exe");
	assert_int_equal(tapir_images__attach(images, image, 0, false), -E2BIG);
	assert_int_equal(tapir_diag__cnt(), 1);
	assert_int_equal(raised(), 0);
}

/* A file of its own each time; is_program: with an ELF header. */
static struct tapir_image *look_at_memory(bool is_program)
{
	const Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					       ELFDATA2LSB, EV_CURRENT},
				   .e_type = ET_DYN,
				   .e_machine = EM_X86_64,
				   .e_version = EV_CURRENT,
				   .e_ehsize = sizeof(header)};
	int fd = memfd_create("x", MFD_CLOEXEC);
	struct tapir_image *image;

	if (is_program)
		assert_int_equal(write(fd, &header, sizeof(header)), sizeof(header));
	image = look_at(fd, "/memfd:x");
	close(fd);
	return image;
}

static void programs_are_bounded_when_there_is_no_end_of_them(void **state)
{
	struct tapir_image *first, *last = NULL;

	(void)state;
	START(4, "tapir_img:one");
	first = look("/proc/self/exe");
	assert_ptr_not_equal(look_at_memory(true), look_at_memory(true)); /* two places */
	for (unsigned i = 0; i < 65536 + 10; i++)
		last = look_at_memory(true);
	assert_ptr_equal(look_at_memory(true), last); /* memory files are all one image by now */
	assert_int_equal(last->site_cnt, 0);
	assert_int_equal(tapir_images__attach(images, last, 0, false), 0);
	assert_ptr_equal(look("/proc/self/exe"), first); /* an image that was seen stays known */
	assert_true(first->site_cnt > 0);
}

/* Such as the memory into which .NET writes its code: another file for each process and write. */
static void what_is_no_program_takes_no_place(void **state)
{
	(void)state;
	START(4, "tapir_img:one");
	for (unsigned i = 0; i < 65536 + 10; i++)
		look_at_memory(false);
	assert_true(look("/proc/self/exe")->site_cnt > 0);
}

static void near_miss_is_named_when_nothing_matches(void **state)
{
	struct tapir_match_report asked = {.specs = &specs};

	(void)state;
	START(16, "tapir_img:onne", "tapir_img:zzzzzzzzzz");
	asked.images = images;
	assert_int_equal(tapir_match_report__fail(&asked), -ENOENT);
	assert_int_equal(tapir_diag__cnt(), 1); /* nobody maps a probe */
	assert_non_null(strstr(tapir_diag__line(0), "tapir ps"));
	look("/proc/self/exe");
	tapir_diag__clear();
	assert_int_equal(tapir_match_report__fail(&asked), -ENOENT);
	assert_int_equal(tapir_diag__cnt(), 2); /* one a SPEC */
	assert_string_equal(tapir_diag__line(0), "no probe matches tapir_img:onne: the nearest is "
						 "tapir_img:one");
	assert_non_null(strstr(tapir_diag__line(1), "3 others exist"));
	tapir_diag__clear();
	asked.specs_are_defaults = true;
	assert_int_equal(tapir_match_report__fail(&asked), -ENOENT);
	assert_int_equal(tapir_diag__cnt(), 1);
	assert_non_null(strstr(tapir_diag__line(0), "3 probes"));
	assert_false(tapir_images__spec_matched(images, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_teardown(name, teardown)
		CASE(sites_are_those_that_match),
		CASE(image_is_one_when_two_paths_name_its_file),
		CASE(image_is_another_when_the_file_is_replaced),
		CASE(file_has_no_sites_when_it_is_no_good_elf),
		CASE(file_has_no_sites_when_its_notes_are_bad),
		CASE(file_is_refused_once_when_an_argument_is_none_of_it),
		CASE(file_is_refused_when_it_has_too_many_sites),
		CASE(probes_are_on_once_by_one_link),
		CASE(probes_are_on_once_by_perf_events),
		CASE(no_probe_is_on_when_one_cannot_be),
		CASE(probes_come_off_when_a_ring_has_all_their_events),
		CASE(functions_that_allocate_are_on_once_when_probes_come_back),
		CASE(probes_are_missed_when_the_ring_has_ended),
		CASE(probes_stay_when_two_files_have_an_event),
		CASE(probes_stay_when_a_process_has_two_copies),
		CASE(sites_are_refused_when_they_are_too_many_for_perf),
		CASE(programs_are_bounded_when_there_is_no_end_of_them),
		CASE(what_is_no_program_takes_no_place),
		CASE(near_miss_is_named_when_nothing_matches),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
