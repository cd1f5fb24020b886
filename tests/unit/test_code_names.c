// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whose generated code is called what: our own perf map, events as HotSpot's probe sends them, and
 * what becomes of names when processes fork, execute and end.
 * runtimes: jvm dotnet
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "record/names/code_names.h"
#include "record/names/runtime_query.h"
#include "trace/recbuf.h"

#define SV(text) tapir_sv__of(text)
#define CODE_VA	 0x7f0000001000ull
#define PROBE_ID 7

struct fixture {
	struct tapir_catalog *catalog;
	struct tapir_code_names *names;
	struct tapir_recbuf b;
	uint64_t now_ns;
	char map_path[64];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	tapir_diag__clear();
	f->catalog = tapir_catalog__new(TAPIR_CATALOG_LIVE, NULL);
	assert_int_equal(tapir_code_names__new(f->catalog, false, &f->names), 0);
	f->now_ns = tapir_clock__now_ns();
	snprintf(f->map_path, sizeof(f->map_path), "/tmp/perf-%d.map", (int)getpid());
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	unlink(f->map_path);
	tapir_code_names__free(f->names);
	tapir_catalog__free(f->catalog);
	tapir_recbuf__fini(&f->b);
	free(f);
	return 0;
}

static void tell_process(struct fixture *f, enum tapir_process_kind kind, uint32_t tgid,
			 uint32_t parent_tgid)
{
	struct tapir_rec_process fixed = {.tgid = tgid,
					  .parent_tgid = parent_tgid,
					  .ns_tgid = tgid,
					  .uid = geteuid(),
					  .kind = (uint8_t)kind};
	const struct tapir_rec *rec;

	fixed.h.time_ns = f->now_ns;
	rec = tapir_recbuf__process(&f->b, &fixed, SV("x"), SV("/x"), SV(""), SV(""));
	tapir_code_names__on_process(f->names, (const struct tapir_rec_process *)rec);
}

static void tell_mapping(struct fixture *f, uint32_t tgid, const char *path)
{
	struct tapir_rec_mapping fixed = {.tgid = tgid,
					  .flags = TAPIR_MAPPING_EXEC | TAPIR_MAPPING_ANON,
					  .start_va = CODE_VA,
					  .end_va = CODE_VA + 0x10000};
	const struct tapir_rec *rec = tapir_recbuf__mapping(&f->b, &fixed, SV(path));

	tapir_code_names__on_mapping(f->names, (const struct tapir_rec_mapping *)rec, -1);
}

static void tell_load_probe(struct fixture *f, uint8_t flags)
{
	static const struct tapir_field text = {.type = TAPIR_FIELD_STRN},
					length = {.type = TAPIR_FIELD_INT, .size = 4},
					number = {.type = TAPIR_FIELD_UINT, .size = 8};
	struct tapir_field fields[8] = {text, length, text, length, text, length, number, number};
	struct tapir_rec_probe fixed = {.probe_id = PROBE_ID, .flags = flags};
	const struct tapir_rec *rec;

	for (int i = 0; i < 6; i += 2)
		fields[i].len_field = (uint8_t)(i + 1);
	rec = tapir_recbuf__probe(&f->b, &fixed, SV("hotspot"), SV("compiled__method__load"),
				  SV("/libjvm.so"), SV(""), fields, NULL, 8);
	tapir_code_names__on_probe(f->names, (const struct tapir_rec_probe *)rec);
}

/* void A.b() at va: the slots of the eight arguments, then the texts. */
static bool fire_load(struct fixture *f, uint32_t tgid, const char *class_name, uint64_t va)
{
	struct {
		struct tapir_slot_bytes class_name;
		uint64_t class_len;
		struct tapir_slot_bytes method;
		uint64_t method_len;
		struct tapir_slot_bytes signature;
		uint64_t signature_len, va, size;
		char text[8];
	} payload = {.class_name.len_bytes = 1,
		     .class_len = 1,
		     .method.len_bytes = 1,
		     .method_len = 1,
		     .signature.len_bytes = 3,
		     .signature_len = 3,
		     .va = va,
		     .size = 0x40};
	struct tapir_rec_event fixed = {
		.h.time_ns = f->now_ns, .probe_id = PROBE_ID, .tgid = tgid, .tid = tgid};
	struct tapir_event_view view = {.rec = &fixed,
					.payload = (const uint8_t *)&payload,
					.payload_bytes = sizeof(payload) - 3};

	snprintf(payload.text, sizeof(payload.text), "%sb()V", class_name);
	return tapir_code_names__on_event(
		f->names, (const struct tapir_rec_event *)tapir_recbuf__event(&f->b, &view));
}

static void is_called(struct fixture *f, uint32_t tgid, uint64_t va, const char *name)
{
	struct tapir_jit_name found = {};

	if (!name) {
		assert_false(tapir_code_names__find(f->names, tgid, va, f->now_ns, &found));
		return;
	}
	assert_true(tapir_code_names__find(f->names, tgid, va, f->now_ns, &found));
	assert_int_equal(found.name_len, strlen(name));
	assert_memory_equal(found.name, name, found.name_len);
}

static void names_come_from_the_map_of_who_has_code(void **state)
{
	struct fixture *f = *state;
	FILE *map = fopen(f->map_path, "w");
	uint32_t self = (uint32_t)getpid();

	fprintf(map, "%llx 40 one\n%llx 40 two\n", CODE_VA, CODE_VA + 0x40);
	fclose(map);
	tell_process(f, TAPIR_PROCESS_EXISTING, self, 1);
	assert_int_equal(tapir_code_names__read(f->names, f->now_ns, false), 0);
	is_called(f, self, CODE_VA, NULL); /* no code that is not a file's: nobody looks */
	tell_mapping(f, self, "[vdso]");
	assert_int_equal(tapir_code_names__read(f->names, f->now_ns, false), 0);
	assert_false(tapir_code_names__has_files(f->names));
	tell_mapping(f, self, "");
	assert_int_equal(tapir_code_names__read(f->names, f->now_ns, false), 0);
	assert_true(tapir_code_names__has_files(f->names));
	assert_true(tapir_code_names__have_pending(f->names, self));
	is_called(f, self, CODE_VA + 0x3f, "one");
	is_called(f, self, CODE_VA + 0x40, "two");
	is_called(f, self, CODE_VA + 0x80, NULL);
}

static void events_of_the_jvm_are_names_and_stay_inside(void **state)
{
	struct fixture *f = *state;

	tell_process(f, TAPIR_PROCESS_EXISTING, 100, 1);
	assert_false(fire_load(f, 100, "A", CODE_VA)); /* nobody said what this probe is */
	tell_load_probe(f, TAPIR_PROBE_FOR_NAMES);
	assert_true(tapir_code_names__is_for_names(f->names, PROBE_ID));
	assert_false(tapir_code_names__is_for_names(f->names, PROBE_ID + 1));
	assert_true(fire_load(f, 100, "A", CODE_VA));
	assert_true(fire_load(f, 999, "A", CODE_VA)); /* of a process nobody told of */
	is_called(f, 100, CODE_VA + 1, "void A.b()");
	is_called(f, 999, CODE_VA + 1, NULL);
}

static void events_that_were_asked_for_are_names_too(void **state)
{
	struct fixture *f = *state;

	tell_process(f, TAPIR_PROCESS_EXISTING, 100, 1);
	tell_load_probe(f, 0);
	assert_false(tapir_code_names__is_for_names(f->names, PROBE_ID));
	assert_false(fire_load(f, 100, "A", CODE_VA));
	is_called(f, 100, CODE_VA + 1, "void A.b()");
}

/* ---- .NET ----------------------------------------------------------------------------------- */

#define DOTNET_LOAD   8
#define DOTNET_UNLOAD 9

static void tell_dotnet_probe(struct fixture *f, uint32_t probe_id, uint16_t event_id)
{
	struct tapir_rec_probe fixed = {.probe_id = probe_id,
					.event_id = event_id,
					.version = 2,
					.encoding = TAPIR_ENCODING_PACKED};
	const struct tapir_rec *rec =
		tapir_recbuf__probe(&f->b, &fixed, SV("Microsoft-Windows-DotNETRuntime"),
				    SV("MethodLoadVerbose"), SV(""), SV(""), NULL, NULL, 0);

	tapir_code_names__on_probe(f->names, (const struct tapir_rec_probe *)rec);
}

static size_t put_text(uint8_t *at, const char *text)
{
	size_t len = strlen(text) + 1;

	for (size_t i = 0; i < len; i++) {
		at[2 * i] = (uint8_t)text[i];
		at[2 * i + 1] = 0;
	}
	return 2 * len;
}

/* The layout of version 2. cut: that many bytes are missing at the end. */
static bool fire_dotnet(struct fixture *f, uint32_t probe_id, uint64_t va, const char *method,
			size_t cut)
{
	uint8_t payload[512] = {};
	uint32_t numbers[3] = {0x40, 0x6000001, 0x208}; /* size, token, OptimizedTier1 and jitted */
	size_t at = 36;
	struct tapir_rec_event fixed = {
		.h.time_ns = f->now_ns, .probe_id = probe_id, .tgid = 100, .tid = 100};
	struct tapir_event_view view = {.rec = &fixed, .payload = payload};

	memcpy(payload + 16, &va, sizeof(va));
	memcpy(payload + 24, numbers, sizeof(numbers));
	at += put_text(payload + at, "My.App.Box`1[System.Int32]");
	at += put_text(payload + at, method);
	at += put_text(payload + at, "instance generic void  (value class System.Guid,class "
				     "System.String)");
	view.payload_bytes = at + 10 - cut; /* ClrInstanceID, ReJITID */
	return tapir_code_names__on_event(
		f->names, (const struct tapir_rec_event *)tapir_recbuf__event(&f->b, &view));
}

#define DOTNET_NAME(method)                                                                        \
	"instance generic void My.App.Box`1[System.Int32]::" method                                \
	"(value class System.Guid,class System.String)[OptimizedTier1]"

static void dotnet_begin(struct fixture *f)
{
	tell_process(f, TAPIR_PROCESS_EXISTING, 100, 1);
	tell_dotnet_probe(f, DOTNET_LOAD, 143);
	tell_dotnet_probe(f, DOTNET_UNLOAD, 144);
}

static void methods_of_dotnet_are_named_until_they_are_unloaded(void **state)
{
	struct fixture *f = *state;

	dotnet_begin(f);
	assert_false(fire_dotnet(f, DOTNET_LOAD, CODE_VA, "Get", 0)); /* it was asked for */
	is_called(f, 100, CODE_VA + 0x3f, DOTNET_NAME("Get"));
	is_called(f, 100, CODE_VA + 0x40, NULL);
	f->now_ns += TAPIR_NS_PER_SEC;
	fire_dotnet(f, DOTNET_UNLOAD, CODE_VA, "Get", 0);
	f->now_ns += TAPIR_NS_PER_SEC;
	is_called(f, 100, CODE_VA + 1, NULL);
	fire_dotnet(f, DOTNET_LOAD, CODE_VA, "Other", 0); /* the address is used again */
	f->now_ns += TAPIR_NS_PER_SEC;
	is_called(f, 100, CODE_VA + 1, DOTNET_NAME("Other"));
	f->now_ns -= 3 * TAPIR_NS_PER_SEC - TAPIR_NS_PER_MS;
	is_called(f, 100, CODE_VA + 1, DOTNET_NAME("Get"));
}

static void event_of_dotnet_is_no_name_when_it_is_cut(void **state)
{
	struct fixture *f = *state;

	dotnet_begin(f);
	for (size_t cut = 11; cut < 240; cut++) {
		fire_dotnet(f, DOTNET_LOAD, CODE_VA, "Get", cut);
		is_called(f, 100, CODE_VA + 1, NULL);
	}
	fire_dotnet(f, DOTNET_LOAD, CODE_VA, "Get", 10); /* version 0 has no more */
	is_called(f, 100, CODE_VA + 1, DOTNET_NAME("Get"));
	fire_dotnet(f, DOTNET_LOAD, UINT64_MAX - 1, "Get", 0);
	is_called(f, 100, UINT64_MAX - 1, NULL);
}

static void hundred_thousand_methods_are_kept(void **state)
{
	struct fixture *f = *state;

	dotnet_begin(f);
	for (uint64_t i = 0; i < 100000; i++, f->now_ns += 600000) /* in a minute */
		fire_dotnet(f, DOTNET_LOAD, CODE_VA + 0x40 * i, "Made", 0);
	for (uint64_t i = 0; i < 100000; i += 999)
		is_called(f, 100, CODE_VA + 0x40 * i + 7, DOTNET_NAME("Made"));
}

static void given_names_are_described_again_when_they_end(void **state)
{
	struct fixture *f = *state;
	struct tapir_jit_name name;
	const struct tapir_rec_jit *jit;
	uint64_t first_ns = f->now_ns;

	tell_process(f, TAPIR_PROCESS_EXISTING, 100, 1);
	tell_load_probe(f, TAPIR_PROBE_FOR_NAMES);
	fire_load(f, 100, "A", CODE_VA);
	assert_true(tapir_code_names__find(f->names, 100, CODE_VA, first_ns, &name));
	assert_int_equal(tapir_code_names__describe(f->names, 100, &name), 1);
	f->now_ns += TAPIR_NS_PER_SEC;
	fire_load(f, 100, "B", CODE_VA + 0x20);
	assert_int_equal(tapir_code_names__read(f->names, f->now_ns, false), 0);
	jit = tapir_catalog__jit(f->catalog, 100, CODE_VA, first_ns);
	assert_non_null(jit);
	assert_int_equal(jit->until_ns, f->now_ns);
	assert_null(tapir_catalog__jit(f->catalog, 100, CODE_VA, f->now_ns));
	assert_non_null(tapir_catalog__jit(f->catalog, 100, CODE_VA + 0x20, f->now_ns));
}

static void child_runs_its_parents_code_until_it_executes(void **state)
{
	struct fixture *f = *state;

	tell_process(f, TAPIR_PROCESS_EXISTING, 100, 1);
	tell_load_probe(f, TAPIR_PROBE_FOR_NAMES);
	fire_load(f, 100, "A", CODE_VA);
	tell_process(f, TAPIR_PROCESS_FORK, 101, 100);
	tell_process(f, TAPIR_PROCESS_FORK, 102, 101);
	is_called(f, 101, CODE_VA, "void A.b()");
	is_called(f, 102, CODE_VA, "void A.b()");
	tell_process(f, TAPIR_PROCESS_EXEC, 102, 101);
	is_called(f, 102, CODE_VA, NULL);
	tell_process(f, TAPIR_PROCESS_FORK, 103, 103); /* its own parent: hostile or confused */
	is_called(f, 103, CODE_VA, NULL);
}

static void names_outlive_their_process_for_a_while(void **state)
{
	struct fixture *f = *state;

	tell_process(f, TAPIR_PROCESS_EXISTING, 100, 1);
	tell_load_probe(f, TAPIR_PROBE_FOR_NAMES);
	fire_load(f, 100, "A", CODE_VA);
	tell_process(f, TAPIR_PROCESS_EXIT, 100, 1);
	f->now_ns += TAPIR_NS_PER_SEC;
	assert_int_equal(tapir_code_names__read(f->names, f->now_ns, false), 0);
	is_called(f, 100, CODE_VA, "void A.b()");
	f->now_ns += 10 * TAPIR_NS_PER_SEC;
	assert_int_equal(tapir_code_names__read(f->names, f->now_ns, false), 0);
	is_called(f, 100, CODE_VA, NULL);
	tell_process(f, TAPIR_PROCESS_EXEC, 100, 1);
	is_called(f, 100, CODE_VA, NULL);
}

static void what_is_no_jvm_is_answered_without_a_map(void **state)
{
	const struct tapir_runtime_ops *jvm = tapir_runtimes__of_path(tapir_sv__of("/libjvm.so"));
	struct tapir_runtime_queries *queries;
	struct tapir_runtime_query *first, *second;

	(void)state;
	assert_int_equal(tapir_runtime_queries__new(&queries), 0);
	first = tapir_runtime_queries__ask(queries, jvm, (uint32_t)getpid());
	second = tapir_runtime_queries__ask(queries, jvm, (uint32_t)getpid());
	for (int i = 0; i < 5000 && !tapir_runtime_query__is_answered(second); i++)
		usleep(10000);
	assert_true(tapir_runtime_query__is_answered(first));
	assert_true(tapir_runtime_query__is_answered(second));
	assert_null(tapir_runtime_query__answer(first));
	tapir_runtime_query__drop(first);
	tapir_runtime_query__drop(NULL);
	tapir_runtime_queries__free(queries); /* the second was not dropped */
	tapir_runtime_queries__free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(names_come_from_the_map_of_who_has_code),
		CASE(events_of_the_jvm_are_names_and_stay_inside),
		CASE(methods_of_dotnet_are_named_until_they_are_unloaded),
		CASE(event_of_dotnet_is_no_name_when_it_is_cut),
		CASE(hundred_thousand_methods_are_kept),
		CASE(events_that_were_asked_for_are_names_too),
		CASE(given_names_are_described_again_when_they_end),
		CASE(child_runs_its_parents_code_until_it_executes),
		CASE(names_outlive_their_process_for_a_while),
		cmocka_unit_test(what_is_no_jvm_is_answered_without_a_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
