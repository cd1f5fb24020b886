// SPDX-License-Identifier: GPL-2.0-or-later
// with: usdt/coreclr/coreclr_blob.c usdt/coreclr/coreclr_text.c usdt/coreclr/coreclr_layout.c
// with: usdt/coreclr/coreclr_payload.c usdt/coreclr/coreclr_json.c
// with: usdt/image/probe_image.c usdt/coreclr/coreclr_publish.c
/*
 * --publish usdt inside the process: images as tapir's reader of notes sees them, and the registers
 * at a probe (whose slot is overwritten by a jump to a function that keeps them). Fields and JSON:
 * test_publish.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "elf/image.h"
#include "elf/notes.h"
#include "publish_case.h"

/* ---- images ---------------------------------------------------------------------------------------- */

static void read_image(const struct tapir_probe_image *image, struct tapir_elf **elf,
		       struct tapir_usdt_notes *notes)
{
	assert_int_equal(tapir_elf__open_fd(image->fd, elf), 0);
	assert_true(tapir_usdt_notes__read(*elf, notes) >= 0);
	assert_int_equal(notes->bad_cnt, 0);
}

static void an_image_is_read_as_it_grows(void **state)
{
	static const struct tapir_probe_shape shape = {CORECLR_SLOT_MAX, 2, 0x180000, 0x280000};
	struct tapir_probe_note note = {.provider = "My-Shop",
					.operands = "-4@%rdi 8@%rsi",
					.kinds = "is",
					.names = "Id\0Customer",
					.names_bytes = 12};
	struct tapir_probe_image image;
	struct tapir_usdt_notes notes;
	struct tapir_elf *elf;

	(void)state;
	assert_int_equal(tapir_probe_image__open(&image, &shape, "tapir-usdt.test"), 0);
	read_image(&image, &elf, &notes);
	assert_int_equal(notes.cnt, 0);
	tapir_elf__free(elf);
	for (unsigned i = 0; i < CORECLR_SLOT_MAX; i++) {
		char name[16];

		snprintf(name, sizeof(name), "E%u", i);
		note.name = name;
		assert_int_equal(tapir_probe_image__add(&image, &note), i);
		assert_memory_equal(image.text + i * TAPIR_PROBE_SLOT_BYTES, "\x90\x66\x2e", 3);
		assert_int_equal(image.text[i * TAPIR_PROBE_SLOT_BYTES + 11], 0xc3);
		assert_int_equal(((const uint16_t *)(const void *)image.probes)[i], 0);
	}
	note.name = "One";
	assert_int_equal(tapir_probe_image__add(&image, &note), -ENOSPC);
	read_image(&image, &elf, &notes);
	assert_int_equal(notes.cnt, CORECLR_SLOT_MAX);
	for (unsigned i = 0; i < CORECLR_SLOT_MAX; i += 255) {
		const struct tapir_usdt_note *n = &notes.data[i];
		char name[16];

		snprintf(name, sizeof(name), "E%u", i);
		assert_string_equal(n->provider, "My-Shop");
		assert_string_equal(n->name, name);
		assert_string_equal(n->kinds, "is");
		assert_string_equal(n->arg_names[1], "Customer");
		assert_int_equal(n->site_off - notes.data[0].site_off, i * TAPIR_PROBE_SLOT_BYTES);
		assert_int_equal(n->semaphore_off - notes.data[0].semaphore_off, 2 * i);
	}
	tapir_usdt_notes__fini(&notes);
	tapir_elf__free(elf);
	tapir_probe_image__close(&image);
	assert_int_equal(image.fd, -1);
}

/* ---- fired ------------------------------------------------------------------------------------------ */

static volatile uint64_t seen[CORECLR_ARG_MAX] __attribute__((used));
static volatile unsigned seen_cnt __attribute__((used));
static volatile unsigned keeps_text __attribute__((used)); /* what the first argument points to */
static char seen_text[CORECLR_TEXT_BYTES] __attribute__((used));

/* Runs as the slot would: on its own return address. */
__attribute__((naked, used)) static void keep_registers(void)
{
	__asm__("push %r15\n"
		"lea seen(%rip), %r15\n"
		"mov %rdi, (%r15)\n"
		"mov %rsi, 8(%r15)\n"
		"mov %rdx, 16(%r15)\n"
		"mov %rcx, 24(%r15)\n"
		"mov %r8, 32(%r15)\n"
		"mov %r9, 40(%r15)\n"
		"mov %rax, 48(%r15)\n"
		"mov %r10, 56(%r15)\n"
		"mov %rbx, 64(%r15)\n"
		"mov %r12, 72(%r15)\n"
		"mov %r13, 80(%r15)\n"
		"mov %r14, 88(%r15)\n"
		"incl seen_cnt(%rip)\n"
		"cmpl $0, keeps_text(%rip)\n"
		"je 1f\n"
		"mov %rdi, %rsi\n"
		"lea seen_text(%rip), %rdi\n"
		"mov $2048, %ecx\n" /* CORECLR_TEXT_BYTES */
		"cld\n"
		"rep movsb\n"
		"1:\n"
		"pop %r15\n"
		"ret\n");
}

/* As struct coreclr_published begins. */
struct published_head {
	uint16_t *semaphore;
	uint8_t *slot;
};

static void watch(const struct coreclr_published *p)
{
	const struct published_head *h = (const struct published_head *)p;
	uint64_t page = (uint64_t)(uintptr_t)h->slot & ~4095ull,
		 to = (uint64_t)(uintptr_t)keep_registers;

	assert_int_equal(mprotect((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	memcpy(h->slot, "\xff\x25\0\0\0\0", 6); /* jmp *0(%rip) */
	memcpy(h->slot + 6, &to, 8);
	*h->semaphore = 1;
}

static const struct coreclr_published *see(struct coreclr_published **at, const char *provider,
					   const char *name, uint32_t version,
					   const struct bytes *blob, const struct bytes *payload)
{
	const struct coreclr_publish_event event = {.provider = provider,
						    .name = name,
						    .id = 7,
						    .version = version,
						    .level = 4,
						    .meta = blob->data,
						    .meta_bytes = blob->len};

	return coreclr_publish__see(at, &event, payload->data, payload->len);
}

static void arguments_are_in_their_registers_when_a_probe_fires(void **state)
{
	struct coreclr_published *at[3] = {};
	struct bytes blob, payload, text_blob, text = {};
	const struct coreclr_published *p, *q;
	const char *strings[3];

	(void)state;
	coreclr_publish__turn(1);
	assert_int_equal(coreclr_publishing, 1);
	all_types(&blob, &payload, 0);
	p = see(&at[0], "My-Shop", "All", 3, &blob, &payload);
	coreclr_publish__fire(p, payload.data, payload.len, NULL, NULL); /* no slot yet */
	coreclr_publish__serve();
	coreclr_publish__fire(p, payload.data, payload.len, NULL, NULL);
	assert_int_equal(seen_cnt, 0); /* nobody is there */
	watch(p);
	coreclr_publish__fire(p, payload.data, payload.len, NULL, NULL);
	assert_int_equal(seen_cnt, 1);
	assert_int_equal(seen[0], 1);
	assert_int_equal(seen[1], 'x');
	assert_int_equal((int64_t)seen[2], -5);
	assert_int_equal(seen[3], 200);
	assert_int_equal((int64_t)seen[4], -3000);
	assert_int_equal((int64_t)seen[6], -100000);
	assert_int_equal((int64_t)seen[8], -5000000000);
	assert_int_equal(seen[9], 10000000000000000000ull);
	assert_int_equal(seen[10], 0x3dcccccd);
	assert_int_equal(seen[11], 0xc002000000000000ull);
	coreclr_publish__fire(p, payload.data, 14, NULL, NULL); /* it ends within s32 */
	assert_int_equal(seen[4], (uint64_t)-3000);
	assert_int_equal(seen[6] | seen[7] | seen[11], 0);

	head(&text_blob, "Text", 3);
	field(&text_blob, CORECLR_TEXT, "a");
	field(&text_blob, CORECLR_TEXT, "b");
	field(&text_blob, CORECLR_TEXT, "c");
	for (unsigned i = 0; i < 2000; i++)
		u(&text, 0x20ac, 2);
	u(&text, 0, 2);
	wide(&text, "second");
	wide(&text, "third");
	q = see(&at[1], "My-Shop", "Text", 0, &text_blob, &text);
	coreclr_publish__serve();
	watch(q);
	keeps_text = 1;
	coreclr_publish__fire(q, text.data, text.len, NULL, NULL);
	for (unsigned i = 0; i < 3; i++)
		strings[i] = (const char *)(uintptr_t)seen[i];
	__asm__ volatile("" : : : "memory");
	assert_int_equal(strlen(seen_text), 1023 / 3 * 3); /* whole characters */
	assert_string_equal(seen_text + (strings[1] - strings[0]), "second");
	assert_string_equal(seen_text + (strings[2] - strings[0]), "third");
	coreclr_publish__end();
	assert_int_equal(coreclr_publishing, 0);
}

/* The image of a provider, by its memfd. */
static void find_notes(const char *name, struct tapir_elf **elf, struct tapir_usdt_notes *notes)
{
	char path[64], target[256];

	for (int fd = 3; fd < 256; fd++) {
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		len = readlink(path, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = 0;
		if (strstr(target, name)) {
			assert_int_equal(tapir_elf__open_fd(fd, elf), 0);
			assert_true(tapir_usdt_notes__read(*elf, notes) >= 0);
			return;
		}
	}
	fail_msg("no image %s", name);
}

static void names_stay_apart_when_events_share_them(void **state)
{
	static const char *const wanted[] = {"Order_placed_1", "Order_placed_1",
					     "Order_placed_1_V2", "Order_placed_1_2", "Raw"};
	struct coreclr_published *at[7] = {};
	char longest[251] = "";
	struct bytes one, two, three, none, payload = {.len = 8};
	struct tapir_usdt_notes notes;
	struct tapir_elf *elf;

	(void)state;
	head(&one, "x", 1);
	field(&one, CORECLR_I32, "a");
	head(&two, "x", 1);
	field(&two, CORECLR_I64, "a");
	head(&three, "x", 1);
	field(&three, CORECLR_I16, "a");
	head(&none, "x", 0);
	coreclr_publish__turn(1);
	see(&at[0], "Odd/Provider \xc3\xa9", "Order placed:1", 1, &one, &payload);
	see(&at[1], "Odd/Provider \xc3\xa9", "Order/placed\"1", 2, &one, &payload);
	see(&at[2], "Odd/Provider \xc3\xa9", "Order placed:1", 2, &two, &payload);
	see(&at[3], "Odd/Provider \xc3\xa9", "Order placed:1", 2, &three, &payload);
	see(&at[4], "Odd/Provider \xc3\xa9", "Raw", 0, &none, &payload);
	memset(longest, 'e', sizeof(longest) - 1);
	see(&at[6], "Odd/Provider \xc3\xa9", longest, 0, &one, &payload);
	/* The runtime's own have no name. */
	see(&at[5], "Odd/Provider \xc3\xa9", "", 0, &none, &payload);
	assert_ptr_equal(see(&at[0], "", "", 0, &none, &payload), at[0]);
	coreclr_publish__serve();
	find_notes("tapir-usdt.0000000000000abc:Odd", &elf, &notes);
	assert_int_equal(notes.cnt, 6);
	assert_int_equal(strlen(notes.data[5].name), 135);
	assert_string_equal(notes.data[5].name + 130, "e_cut"); /* as publish.c looks for it */
	for (unsigned i = 0; i < 5; i++) {
		assert_string_equal(notes.data[i].provider, "Odd_Provider__");
		assert_string_equal(notes.data[i].name, wanted[i]);
	}
	assert_string_equal(notes.data[4].kinds, "pu");
	tapir_usdt_notes__fini(&notes);
	tapir_elf__free(elf);
	coreclr_publish__end();
}

static int descriptor_cnt(void)
{
	int cnt = 0;

	for (int fd = 0; fd < 1024; fd++)
		cnt += fcntl(fd, F_GETFD) >= 0;
	return cnt;
}

static void so_many_providers_have_images_and_few_descriptors(void **state)
{
	static struct coreclr_published *at[66];
	static char names[66][8];
	int before = descriptor_cnt();
	struct bytes blob, payload = {.len = 4};

	(void)state;
	head(&blob, "x", 1);
	field(&blob, CORECLR_I32, "a");
	coreclr_publish__turn(1);
	for (unsigned i = 0; i < 66; i++) {
		snprintf(names[i], sizeof(names[i]), "P%u", i);
		see(&at[i], names[i], "One", 1, &blob, &payload);
	}
	coreclr_publish__serve();
	assert_int_equal(descriptor_cnt(), before + 16);
	for (unsigned i = 0; i < 66; i++)
		assert_int_equal(((const struct published_head *)at[i])->slot != NULL, i < 64);
	watch(at[63]);
	keeps_text = 0;
	coreclr_publish__fire(at[63], (const uint8_t *)"\x09\0\0", 4, NULL, NULL);
	assert_int_equal(seen[0], 9);
	coreclr_publish__end();
	assert_int_equal(descriptor_cnt(), before);
}

/* No descriptor left: the event is not one of these, and fires as always. */
static void events_are_fired_when_there_can_be_no_image(void **state)
{
	struct coreclr_published *at = NULL;
	struct bytes blob, payload = {.len = 4};
	struct rlimit limit, none;

	(void)state;
	head(&blob, "x", 1);
	field(&blob, CORECLR_I32, "a");
	coreclr_publish__turn(1);
	see(&at, "My-Shop", "One", 1, &blob, &payload);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){0, limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	coreclr_publish__serve();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(*((const struct published_head *)at)->semaphore, 0);
	assert_null(((const struct published_head *)at)->slot);
	coreclr_publish__fire(at, payload.data, payload.len, NULL, NULL);
	coreclr_publish__end();
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_image_is_read_as_it_grows),
		cmocka_unit_test(arguments_are_in_their_registers_when_a_probe_fires),
		cmocka_unit_test(names_stay_apart_when_events_share_them),
		cmocka_unit_test(so_many_providers_have_images_and_few_descriptors),
		cmocka_unit_test(events_are_fired_when_there_can_be_no_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
