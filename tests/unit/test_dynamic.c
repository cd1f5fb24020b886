// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * include/tapir/dynamic.h: probes defined at run time as tapir's reader of notes sees them, the
 * registers when one fires (its slot is overwritten by a jump), payloads that lie, children. With
 * TAPIR_ELSEWHERE (tests/elsewhere/run), where tapir's reader is not, an image is left in a file
 * for readelf and objdump.
 */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef TAPIR_ELSEWHERE
#include "elf/image.h"
#include "elf/notes.h"
#endif
#include "usdt/provider/dynamic_impl.h"

/* Of the library's static probes. */
extern volatile uint16_t tapir_event_warning_semaphore, tapir_event_error_semaphore;

#define FIELD(type, name)                                                                          \
	{                                                                                          \
		name, NULL, 0, 0, TAPIR_TYPE_##type, TAPIR_REPEAT_NONE,                            \
		{                                                                                  \
			0, 0                                                                       \
		}                                                                                  \
	}

static const struct tapir_event_field members[] = {FIELD(UTF8, "Key"), FIELD(U16, "Value")};
static const struct tapir_event_field fields[] = {
	FIELD(I16, "Small"),
	FIELD(UTF8, "Text"),
	FIELD(UTF16, "Wide"),
	FIELD(U8, "Count"),
	{"Pairs", members, 2, 3, TAPIR_TYPE_STRUCT, TAPIR_REPEAT_COUNT_FIELD, {0, 0}},
	{"Words", NULL, 0, 0, TAPIR_TYPE_U32, TAPIR_REPEAT_COUNT_U16, {0, 0}},
	FIELD(F64, "Ratio"),
	FIELD(BOOL, "Yes"),
	FIELD(GUID, "Id"),
};
static const uint8_t payload[] = "\xfe\xff"
				 "text\0"
				 "w\0\0\0"
				 "\2"
				 "a\0\1\0"
				 "bc\0\2\0"
				 "\1\0\3\0\0\0"
				 "\0\0\0\0\0\0\xf0\x3f"
				 "\1\0\0\0"
				 "0123456789abcdef";
#define PAYLOAD_BYTES (sizeof(payload) - 1)

static struct tapir_event_about about_of(const char *name)
{
	return (struct tapir_event_about){NULL,		 name, fields, 0x11, 7,	 2,
					  TAPIR_WARNING, 9,    3,      1,    {0}};
}

static struct tapir_dynamic *new_dynamic(const char *name)
{
	struct tapir_dynamic *d = NULL;

	assert_int_equal(tapir_dynamic__new(name, NULL, NULL, &d), 0);
	return d;
}

/* The image of a provider: its memfd. */
static int image_fd(const char *name)
{
	char path[64], target[256];

	for (int fd = 3; fd < 256; fd++) {
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		len = readlink(path, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = '\0';
		if (strstr(target, name))
			return fd;
	}
	fail_msg("no image %s", name);
	return -1;
}

#ifdef TAPIR_ELSEWHERE
static void an_image_is_left_for_other_tools(void **state)
{
	struct tapir_dynamic *d = new_dynamic("Unit-Plugin");
	struct tapir_event_about about = about_of("Placed");
	struct tapir_event *event = NULL;
	FILE *file = fopen(TAPIR_BUILD "/image.elf", "w");
	char bytes[4096];
	ssize_t len;
	int fd;

	(void)state;
	assert_non_null(file);
	assert_int_equal(tapir_event__define(d, &about, &event), 0);
	assert_int_equal(tapir_dynamic__probe_error(d), 0);
	fd = image_fd(TAPIR_DYNAMIC_IMAGE_NAME "Unit-Plugin");
	for (off_t at = 0; (len = pread(fd, bytes, sizeof(bytes), at)) > 0; at += len)
		assert_int_equal(fwrite(bytes, 1, (size_t)len, file), len);
	assert_int_equal(fclose(file), 0);
	tapir_dynamic__free(d);
}
#else
static void read_notes(const char *name, struct tapir_elf **elf, struct tapir_usdt_notes *notes)
{
	assert_int_equal(tapir_elf__open_fd(image_fd(name), elf), 0);
	assert_true(tapir_usdt_notes__read(*elf, notes) >= 0);
}

static void an_event_is_a_typed_probe_once_it_is_defined(void **state)
{
	struct tapir_dynamic *d = new_dynamic("Unit-Plugin");
	struct tapir_event_about about = about_of("Placed");
	struct tapir_event *event = NULL, *other = NULL;
	struct tapir_usdt_notes notes;
	struct tapir_elf *elf;
	char name[] = "Second";

	(void)state;
	errno = 4711;
	assert_int_equal(tapir_event__define(d, &about, &event), 0);
	about.name = name;
	assert_int_equal(tapir_event__define(d, &about, &other), 0);
	memset(name, 'x', sizeof(name) - 1); /* it was copied */
	assert_int_equal(errno, 4711);
	assert_int_equal(tapir_dynamic__probe_error(d), 0);
	assert_int_equal((const char *)other - (const char *)event, 64);
	assert_false(TAPIR_EVENT_ENABLED(*event));
	tapir_event__fire(event, payload, PAYLOAD_BYTES);
	read_notes(TAPIR_DYNAMIC_IMAGE_NAME "Unit-Plugin", &elf, &notes);
	assert_int_equal(notes.bad_cnt, 0);
	assert_int_equal(notes.cnt, 2);
	assert_string_equal(notes.data[0].provider, "Unit-Plugin");
	assert_string_equal(notes.data[0].name, "Placed");
	assert_string_equal(notes.data[1].name, "Second");
	assert_string_equal(notes.data[0].kinds, "isp"
						 "uppfbp");
	assert_string_equal(notes.data[0].arg_names[4], "Pairs");
	assert_int_equal(notes.data[1].semaphore_off - notes.data[0].semaphore_off, 64);
	tapir_usdt_notes__fini(&notes);
	tapir_elf__free(elf);
	tapir_dynamic__free(d);
	tapir_dynamic__free(NULL);
}
#endif

/* ---- fired ----------------------------------------------------------------------------------- */

static volatile uint64_t seen[12] __attribute__((used));
static volatile unsigned seen_cnt __attribute__((used));

#ifdef __x86_64__
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
		"incl seen_cnt(%rip)\n"
		"pop %r15\n"
		"ret\n");
}

static void jump_to(uint8_t *slot, uint64_t to)
{
	memcpy(slot, "\xff\x25\0\0\0\0", 6); /* jmp *0(%rip) */
	memcpy(slot + 6, &to, 8);
}
#else
__asm__(".text\n"
	"keep_registers:\n"
	"adrp x17, seen\n"
	"add x17, x17, :lo12:seen\n"
	"stp x0, x1, [x17]\n"
	"stp x2, x3, [x17, 16]\n"
	"stp x4, x5, [x17, 32]\n"
	"stp x6, x7, [x17, 48]\n"
	"stp x9, x10, [x17, 64]\n"
	"adrp x17, seen_cnt\n"
	"add x17, x17, :lo12:seen_cnt\n"
	"ldr w16, [x17]\n"
	"add w16, w16, 1\n"
	"str w16, [x17]\n"
	"ret\n");
void keep_registers(void);

static void jump_to(uint8_t *slot, uint64_t to)
{
	const uint32_t code[] = {0x58000050, 0xd61f0200}; /* ldr x16, .+8; br x16 */

	memcpy(slot, code, sizeof(code));
	memcpy(slot + 8, &to, 8);
	__builtin___clear_cache((char *)slot, (char *)slot + 16);
}
#endif

/* The code of the only image is the executable mapping of its memfd. */
static uint8_t *find_slot(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	uint64_t from = 0;

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, TAPIR_DYNAMIC_IMAGE_NAME) && strstr(line, "r-xp"))
			from = strtoull(line, NULL, 16);
	fclose(maps);
	return (uint8_t *)(uintptr_t)from;
}

static void arguments_are_in_their_registers_when_it_fires(void **state)
{
	struct tapir_dynamic *d = new_dynamic("Unit-Plugin");
	struct tapir_event_about about = about_of("Placed");
	uint64_t to = (uint64_t)(uintptr_t)keep_registers, at = (uint64_t)(uintptr_t)payload;
	const struct tapir_payload_piece pieces[] = {
		{payload, 3}, {NULL, 0}, {payload + 3, PAYLOAD_BYTES - 3}};
	struct tapir_event *event = NULL;
	uint8_t *slot;

	(void)state;
	assert_int_equal(tapir_event__define(d, &about, &event), 0);
	slot = find_slot();
	assert_non_null(slot);
	assert_int_equal(mprotect(slot, 4096, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	jump_to(slot, to);
	tapir_event__fire(event, payload, PAYLOAD_BYTES);
	assert_int_equal(seen_cnt, 0); /* off */
	event->word.half.semaphore = 1;
	tapir_event__fire(event, payload, PAYLOAD_BYTES);
	assert_int_equal(seen_cnt, 1);
	assert_int_equal((int64_t)seen[0], -2);
	assert_int_equal(seen[1], at + 2);
	assert_int_equal(seen[2], at + 7);
	assert_int_equal(seen[3], 2);
	assert_int_equal(seen[4], at + 12); /* the pairs, then a count and a word */
	assert_int_equal(seen[5], at + 23);
	assert_int_equal(seen[6], 0x3ff0000000000000ull);
	assert_int_equal(seen[7], 1);
	assert_int_equal(seen[8], at + 39);
	tapir_event__emit(event, payload, PAYLOAD_BYTES);
	assert_int_equal(seen[2], at + 7);
	tapir_event__emit_pieces(event, pieces, 3); /* as one payload, elsewhere */
	assert_int_equal((int64_t)seen[0], -2);
	assert_int_equal(seen[3], 2);
	assert_int_equal(seen[5] - seen[1], 23 - 2);
	assert_int_equal(seen[7], 1);
	assert_int_equal(seen_cnt, 3);
	/* Cut at each byte, and with counts that lie: nothing is read past the end (sanitizers). */
	for (size_t len = 0; len < PAYLOAD_BYTES; len++) {
		uint8_t *cut = malloc(len ? len : 1);

		memcpy(cut, payload, len);
		if (len > 11)
			cut[11] = 0xff;
		tapir_event__fire(event, cut, len);
		assert_int_equal(seen[8], 0);
		free(cut);
	}
	assert_int_equal(seen_cnt, 3 + PAYLOAD_BYTES);
	event->word.half.semaphore = 0;
	tapir_dynamic__free(d);
	assert_null(find_slot());
}

/* Numbers and texts are taken by a plan: as by their descriptions, however early a payload ends. */
static void planned_arguments_are_those_of_the_description(void **state)
{
	static uint64_t planned[TAPIR_PROBE_ARG_MAX], described[TAPIR_PROBE_ARG_MAX];

	(void)state;
	for (uint32_t type = 0; type < TAPIR_TYPE_STRUCT; type++) {
		const struct tapir_event_field many[] = {
			{"a", NULL, 0, 0, (uint8_t)type, TAPIR_REPEAT_NONE, {0, 0}},
			{"b", NULL, 0, 0, TAPIR_TYPE_UTF8, TAPIR_REPEAT_NONE, {0, 0}},
			{"c", NULL, 0, 0, (uint8_t)type, TAPIR_REPEAT_NONE, {0, 0}},
			{"d", NULL, 0, 0, TAPIR_TYPE_UTF16, TAPIR_REPEAT_NONE, {0, 0}},
			{"e", NULL, 0, 0, (uint8_t)type, TAPIR_REPEAT_NONE, {0, 0}}};
		const struct tapir_event_about about = {"P", "E", many, 0, 1, 0, 4, 5, 0, 0, {0}};
		struct dynamic_plan plan, slow;

		dynamic_args__plan(&about, &plan);
		assert_false(plan.is_slow);
		slow = plan;
		slow.is_slow = 1;
		for (uint32_t turn = 0; turn < 3000; turn++) {
			uint32_t bytes = turn % 96;
			uint8_t *exact = malloc(bytes ? bytes : 1); /* whose end a sanitizer sees */

			for (uint32_t i = 0; i < bytes; i++)
				exact[i] = rand() % 5 ? (uint8_t)rand() : 0;
			dynamic_args__take(&plan, &about, exact, bytes, planned);
			dynamic_args__take(&slow, &about, exact, bytes, described);
			assert_memory_equal(planned, described, sizeof(planned));
			free(exact);
		}
	}
}

static void malformed_definitions_are_refused(void **state)
{
	static const struct tapir_event_field bad[] = {FIELD(U8, ""), FIELD(CNT, "a"),
						       FIELD(STRUCT, "a"), FIELD(BINARY, "a")};
	struct tapir_dynamic *d = NULL;
	struct tapir_event *event = NULL;
	struct tapir_event_about about;
	char longest[194];

	(void)state;
	memset(longest, 'n', sizeof(longest));
	longest[192] = '\0';
	assert_int_equal(tapir_dynamic__new("a b", NULL, NULL, &d), -EINVAL);
	assert_int_equal(tapir_dynamic__new("", NULL, NULL, &d), -EINVAL);
	assert_int_equal(tapir_dynamic__new(NULL, NULL, NULL, &d), -EINVAL);
	assert_int_equal(tapir_dynamic__new(longest, NULL, NULL, &d), -EINVAL);
	assert_null(d);
	longest[191] = '\0';
	d = new_dynamic(longest);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		about = about_of("E");
		about.fields = &bad[i];
		about.field_cnt = 1;
		assert_int_equal(tapir_event__define(d, &about, &event), -EINVAL);
	}
	about = about_of("a:b");
	assert_int_equal(tapir_event__define(d, &about, &event), -EINVAL);
	about = about_of("E");
	about.level = 6;
	assert_int_equal(tapir_event__define(d, &about, &event), -EINVAL);
	assert_int_equal(tapir_event__define(d, NULL, &event), -EINVAL);
	assert_null(event);
	about = about_of(longest);
	assert_int_equal(tapir_event__define(d, &about, &event), 0);
	tapir_dynamic__free(d);
}

static unsigned mapping_cnt(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	unsigned cnt = 0;

	while (maps && fgets(line, sizeof(line), maps))
		cnt += strstr(line, TAPIR_DYNAMIC_IMAGE_NAME) != NULL;
	fclose(maps);
	return cnt;
}

/* An image has up to 256 events and 3 mappings; few keep descriptors. */
static void many_events_take_few_mappings_and_all_goes(void **state)
{
	struct tapir_dynamic *all[20];
	int fd;

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		char name[32];

		snprintf(name, sizeof(name), "Unit-%u", i);
		all[i] = new_dynamic(name);
		for (unsigned k = 0; k < 130; k++) {
			struct tapir_event_about about;
			struct tapir_event *event;

			snprintf(name, sizeof(name), "Event%u", k);
			about = about_of(name);
			assert_int_equal(tapir_event__define(all[i], &about, &event), 0);
		}
		assert_int_equal(tapir_dynamic__probe_error(all[i]), 0);
	}
	assert_in_range(mapping_cnt(), 3 * 11, 3 * 15);
	fd = open("/dev/null", O_RDONLY);
	assert_in_range(fd, 0, 40);
	close(fd);
	for (unsigned i = 0; i < 20; i++)
		tapir_dynamic__free(all[i]);
	assert_int_equal(mapping_cnt(), 0);
}

#ifndef TAPIR_ELSEWHERE
static uint32_t note_cnt(const char *name)
{
	struct tapir_usdt_notes notes;
	struct tapir_elf *elf;
	uint32_t cnt;

	read_notes(name, &elf, &notes);
	cnt = (uint32_t)notes.cnt;
	tapir_usdt_notes__fini(&notes);
	tapir_elf__free(elf);
	return cnt;
}

static struct tapir_event *define_one(struct tapir_dynamic *d, const char *name)
{
	struct tapir_event_about about = about_of(name);
	struct tapir_event *event = NULL;

	assert_int_equal(tapir_event__define(d, &about, &event), 0);
	assert_int_equal(tapir_dynamic__probe_error(d), 0);
	return event;
}

static void a_hundred_providers_share_an_image(void **state)
{
	struct tapir_dynamic *all[100];
	char name[32];

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "Unit-%u", i);
		all[i] = new_dynamic(name);
		define_one(all[i], "Event");
	}
	assert_int_equal(mapping_cnt(), 3);
	assert_int_equal(note_cnt(TAPIR_DYNAMIC_IMAGE_NAME "Unit-0"), 100);
	for (unsigned i = 0; i < 100; i++)
		tapir_dynamic__free(all[i]);
	assert_int_equal(mapping_cnt(), 0);
}

/* A plugin is loaded again and again while another one stays. */
static void an_equal_event_has_the_probe_of_the_one_before(void **state)
{
	struct tapir_dynamic *stays = new_dynamic("Unit-Stays"), *comes;
	struct tapir_event *kept = define_one(stays, "Event"), *event, *before = NULL;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		comes = new_dynamic("Unit-Comes");
		event = define_one(comes, "Event");
		assert_true(!before || event == before);
		assert_int_equal(event->word.half.semaphore, i ? 1 : 0); /* a tool that stays */
		event->word.half.semaphore = 1;
		before = event;
		tapir_dynamic__free(comes);
	}
	assert_ptr_not_equal(kept, event);
	comes = new_dynamic("Unit-Comes");
	assert_ptr_not_equal(define_one(comes, "Other"), event);
	assert_int_equal(note_cnt(TAPIR_DYNAMIC_IMAGE_NAME "Unit-Stays"), 3);
	tapir_dynamic__free(comes);
	tapir_dynamic__free(stays);
	assert_int_equal(mapping_cnt(), 0);
}

/* Its notes are in memory that it shares with the parent: a child has an image of its own. */
static void a_child_does_not_write_its_parents_image(void **state)
{
	struct tapir_dynamic *d = new_dynamic("Unit-Plugin");
	struct tapir_event_about about = about_of("Parents");
	struct tapir_event *event = NULL;
	struct tapir_usdt_notes notes;
	struct tapir_elf *elf;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(tapir_event__define(d, &about, &event), 0);
	pid = fork();
	if (!pid) {
		about.name = "Childs";
		_exit(tapir_event__define(d, &about, &event) || tapir_dynamic__probe_error(d));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	read_notes(TAPIR_DYNAMIC_IMAGE_NAME "Unit-Plugin", &elf, &notes);
	assert_int_equal(notes.cnt, 1);
	tapir_usdt_notes__fini(&notes);
	tapir_elf__free(elf);
	tapir_dynamic__free(d);
}
#endif

/* ---- threads --------------------------------------------------------------------------------- */

static struct {
	struct tapir_event *event;
	uint32_t has_ended;
} shared;

static void *fire_until_over(void *unused)
{
	while (!__atomic_load_n(&shared.has_ended, __ATOMIC_RELAXED))
		for (int i = 0; i < 100; i++)
			tapir_event__fire(shared.event, payload, PAYLOAD_BYTES);
	return unused;
}

static void *define_and_free(void *unused)
{
	for (int i = 0; i < 20; i++) {
		struct tapir_dynamic *d = new_dynamic("Unit-Other");
		struct tapir_event_about about = about_of("Short-lived");
		struct tapir_event *event;

		for (int k = 0; k < 3; k++)
			assert_int_equal(tapir_event__define(d, &about, &event), 0);
		tapir_event__fire(event, payload, PAYLOAD_BYTES);
		tapir_dynamic__free(d);
	}
	return unused;
}

/* With the probe's semaphore up, so that its code runs: a nop and a return. */
static void events_fire_while_others_are_defined_and_freed(void **state)
{
	struct tapir_dynamic *d = new_dynamic("Unit-Plugin");
	struct tapir_event_about about = about_of("Placed");
	pthread_t firing[4], defining[4];

	(void)state;
	shared.has_ended = 0;
	assert_int_equal(tapir_event__define(d, &about, &shared.event), 0);
	shared.event->word.half.semaphore = 1;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_create(&firing[i], NULL, fire_until_over, NULL), 0);
		assert_int_equal(pthread_create(&defining[i], NULL, define_and_free, NULL), 0);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(defining[i], NULL);
	__atomic_store_n(&shared.has_ended, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 4; i++)
		pthread_join(firing[i], NULL);
	assert_int_equal(tapir_dynamic__probe_error(d), 0);
	tapir_dynamic__free(d);
	assert_int_equal(tapir_library__fini(), 0);
}

/* ---- as JSON ---------------------------------------------------------------------------------- */

static void a_payload_is_one_json_object(void **state)
{
	const struct tapir_event_about about = about_of("Placed");
	char json[DYNAMIC_JSON_BYTES];

	(void)state;
	dynamic_json__write(&about, payload, PAYLOAD_BYTES, json);
	assert_string_equal(json,
			    "{\"Small\":-2,\"Text\":\"text\",\"Wide\":\"w\",\"Count\":2,"
			    "\"Pairs\":[{\"Key\":\"a\",\"Value\":1},{\"Key\":\"bc\",\"Value\":2}],"
			    "\"Words\":[3],\"Ratio\":1,\"Yes\":true,"
			    "\"Id\":\"33323130-3534-3736-3839-616263646566\"}");
	dynamic_json__write(&about, payload, 3, json); /* a text without its end */
	assert_string_equal(json, "{\"Small\":-2}");
	dynamic_json__write(&about, payload, 0, json);
	assert_string_equal(json, "{}");
}

/* Quotes, brackets and braces in balance, whatever was cut. */
static int is_balanced(const char *json)
{
	int depth = 0, is_text = 0;

	for (; *json; json++) {
		if (*json == '\\' && is_text)
			json++;
		else if (*json == '"')
			is_text = !is_text;
		else if (!is_text)
			depth += (*json == '{' || *json == '[') - (*json == '}' || *json == ']');
	}
	return !depth && !is_text;
}

static void what_is_too_long_is_cut_and_said_so(void **state)
{
	static const struct tapir_event_field long_fields[] = {
		FIELD(U32, "Number"),
		FIELD(UTF8, "Text"),
		{"Pairs", members, 2, 0, TAPIR_TYPE_STRUCT, TAPIR_REPEAT_COUNT_U16, {0, 0}},
	};
	struct tapir_event_about about = about_of("Long");
	static uint8_t bytes[16384];
	char json[DYNAMIC_JSON_BYTES];

	(void)state;
	about.fields = long_fields;
	about.field_cnt = 3;
	for (uint32_t text = 0; text < 4096; text += 13) {
		uint32_t at = 4;

		memset(bytes, 0, sizeof(bytes));
		for (uint32_t i = 0; i < text; i++)
			bytes[at++] = (uint8_t)("\"\\\n\1a\xff"[i % 6]);
		at++;
		bytes[at] = 200;
		for (uint32_t i = 0; i < 200; i++)
			memcpy(bytes + at + 2 + 5 * (size_t)i, "ab\0\7", 5);
		dynamic_json__write(&about, bytes, at + 2 + 5 * 200, json);
		assert_true(strlen(json) < sizeof(json));
		assert_true(is_balanced(json));
		assert_non_null(strstr(json, "\"Number\":0"));
		assert_non_null(strstr(json, "\"tapir_cut\":true}"));
	}
}

/* No descriptor is left for a memfd: sessions get the event as always, tools get it as JSON. */
static void an_event_is_no_probe_where_there_can_be_no_image(void **state)
{
	struct tapir_dynamic *d = new_dynamic("Unit-Plugin");
	struct tapir_event_about about = about_of("Placed");
	struct tapir_event *event = NULL;
	struct rlimit limit, none;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){0, limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(tapir_event__define(d, &about, &event), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(tapir_dynamic__probe_error(d), -EMFILE);
	/* It is enabled while a tool is attached to the JSON probe of its level, not to another
	 * one. */
	assert_false(TAPIR_EVENT_ENABLED(*event));
	tapir_event_error_semaphore = 1;
	assert_int_equal(tapir_provider__poll(), 0);
	assert_false(TAPIR_EVENT_ENABLED(*event));
	tapir_event_warning_semaphore = 1;
	for (int i = 0; i < 4000 && !TAPIR_EVENT_ENABLED(*event); i++)
		usleep(10000); /* the library's thread polls */
	assert_true(TAPIR_EVENT_ENABLED(*event));
	tapir_event__fire(event, payload, PAYLOAD_BYTES);
	tapir_event_warning_semaphore = tapir_event_error_semaphore = 0;
	assert_int_equal(tapir_provider__poll(), 0);
	assert_false(TAPIR_EVENT_ENABLED(*event));
	tapir_dynamic__free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef TAPIR_ELSEWHERE
		cmocka_unit_test(an_image_is_left_for_other_tools),
#else
		cmocka_unit_test(an_event_is_a_typed_probe_once_it_is_defined),
		cmocka_unit_test(a_child_does_not_write_its_parents_image),
		cmocka_unit_test(a_hundred_providers_share_an_image),
		cmocka_unit_test(an_equal_event_has_the_probe_of_the_one_before),
#endif
		cmocka_unit_test(arguments_are_in_their_registers_when_it_fires),
		cmocka_unit_test(planned_arguments_are_those_of_the_description),
		cmocka_unit_test(malformed_definitions_are_refused),
		cmocka_unit_test(many_events_take_few_mappings_and_all_goes),
		cmocka_unit_test(events_fire_while_others_are_defined_and_freed),
		cmocka_unit_test(a_payload_is_one_json_object),
		cmocka_unit_test(what_is_too_long_is_cut_and_said_so),
		cmocka_unit_test(an_event_is_no_probe_where_there_can_be_no_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
