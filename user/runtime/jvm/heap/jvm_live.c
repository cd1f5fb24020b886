// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The living samples of a JVM: a flight recording with OldObjectSample, which the JVM itself
 * follows. Classes and methods are constants of the recording, whose texts are found by their
 * indexes.
 */
#include "runtime/jvm/heap/jvm_live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/app_code.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "decode/jfr.h"
#include "runtime/jvm/heap/jvm_classes.h"
#include "runtime/jvm/heap/jvm_file.h"
#include "runtime/jvm/jvm_attach.h"

#define RECORDING   "tapir"
#define TIMEOUT_NS  (60 * TAPIR_NS_PER_SEC)
#define FRAMES_MAX  12u
#define STACK_MAX   256u
#define HOLDERS_MAX 10u

/* ---- one sample ------------------------------------------------------------------------------- */

static struct tapir_sv member_text(struct tapir_jfr *j, struct tapir_jfr_value of, const char *name)
{
	return tapir_jfr__text(j, tapir_jfr__field(j, of, name));
}

static void add_class(struct tapir_str *out, struct tapir_sv name)
{
	size_t from = out->len;
	struct tapir_str raw = {};

	tapir_str__add_printable(&raw, name.data, name.len);
	if (raw.len)
		tapir_jvm_classes__add_class(out, raw.data, raw.len);
	out->failed |= raw.failed;
	tapir_str__fini(&raw);
	for (; from < out->len; from++)
		if (out->data[from] == '/')
			out->data[from] = '.';
}

static void add_type(struct tapir_jfr *j, struct tapir_jfr_value object, struct tapir_str *out)
{
	add_class(out, tapir_jfr__symbol(j, tapir_jfr__field(j, object, "type"), "name"));
}

static void add_method(struct tapir_jfr *j, struct tapir_jfr_value frame, struct tapir_str *out)
{
	struct tapir_jfr_value method = tapir_jfr__field(j, frame, "method");
	struct tapir_sv name = tapir_jfr__symbol(j, method, "name");

	add_class(out, tapir_jfr__symbol(j, tapir_jfr__field(j, method, "type"), "name"));
	tapir_str__addc(out, '.');
	tapir_str__add_printable(out, name.data, name.len);
}

/* Adds a stack from the program's own method outwards; all of it where there is none. */
static void add_stack(struct tapir_jfr *j, struct tapir_jfr_value event, struct tapir_str *out)
{
	struct tapir_jfr_value frames =
		tapir_jfr__field(j, tapir_jfr__field(j, event, "stackTrace"), "frames");
	uint64_t cnt = tapir_jfr__elements(j, &frames), left_cnt = 0;
	struct tapir_str one = {};
	size_t before = out->len;
	bool is_own = false;

	for (uint64_t i = 0; i < cnt && i < STACK_MAX && !j->is_bad; i++) {
		tapir_str__clear(&one);
		add_method(j, tapir_jfr__next(j, &frames), &one);
		if (!is_own && one.data && !tapir_app_code__is_library(one.data)) {
			is_own = true;
			/* Frames of libraries were written so far, in case there is no other. */
			out->len = before;
			left_cnt = FRAMES_MAX;
		} else if (!i) {
			left_cnt = FRAMES_MAX;
		}
		if (!left_cnt)
			continue;
		tapir_str__adds(out, out->len > before ? " <- " : "");
		tapir_str__add(out, one.data, one.len);
		if (!--left_cnt && i + 1 < cnt)
			tapir_str__adds(out, " <- ...");
	}
	out->failed |= one.failed;
	tapir_str__fini(&one);
}

/* "static Shop.kept", "Order.blob", "java.lang.Object[]". */
static void add_holder(struct tapir_jfr *j, struct tapir_jfr_value reference,
		       struct tapir_jfr_value object, struct tapir_str *out)
{
	static const char class_is[] = "Class Name: ";
	struct tapir_sv field = member_text(j, tapir_jfr__field(j, reference, "field"), "name");
	struct tapir_sv what = member_text(j, object, "description");

	if (tapir_sv__starts_with(what, class_is)) {
		what.data += sizeof(class_is) - 1;
		what.len -= sizeof(class_is) - 1;
		tapir_str__adds(out, "static ");
		add_class(out, what);
	} else {
		add_type(j, object, out);
	}
	if (field.len)
		tapir_str__addc(out, '.');
	tapir_str__add_printable(out, field.data, field.len);
}

/* Adds the path from the object's holder outwards; a chain of equal holders (a list) is one. */
static void add_path(struct tapir_jfr *j, struct tapir_jfr_value event, struct tapir_str *out)
{
	struct tapir_jfr_value object = tapir_jfr__field(j, event, "object"), reference;
	struct tapir_sv root = member_text(j, tapir_jfr__field(j, event, "root"), "description");
	struct tapir_str one = {}, last = {};

	for (unsigned i = 0; i < HOLDERS_MAX && object.at && !j->is_bad; i++) {
		reference = tapir_jfr__field(j, object, "referrer");
		object = tapir_jfr__field(j, reference, "object");
		if (!object.at)
			break;
		tapir_str__clear(&one);
		add_holder(j, reference, object, &one);
		if (!one.len || (last.len == one.len && !memcmp(last.data, one.data, one.len)))
			continue;
		tapir_str__adds(out, out->len ? " <- " : "");
		tapir_str__add(out, one.data, one.len);
		tapir_str__clear(&last);
		tapir_str__add(&last, one.data, one.len);
	}
	if (!out->len && root.len)
		tapir_str__add_printable(out, root.data, root.len);
	out->failed |= one.failed || last.failed;
	tapir_str__fini(&one);
	tapir_str__fini(&last);
}

static void on_sample(void *ctx, struct tapir_jfr *j, struct tapir_jfr_value event)
{
	struct tapir_str texts[TAPIR_HEAP_LIVE_TEXTS] = {};
	struct tapir_heap_live *l = ctx;

	add_type(j, tapir_jfr__field(j, event, "object"), &texts[TAPIR_HEAP_LIVE_TYPE]);
	add_stack(j, event, &texts[TAPIR_HEAP_LIVE_STACK]);
	add_path(j, event, &texts[TAPIR_HEAP_LIVE_PATH]);
	if (!j->is_bad)
		tapir_heap_live__count(l, texts, 0);
	for (unsigned i = 0; i < TAPIR_HEAP_LIVE_TEXTS; i++)
		tapir_str__fini(&texts[i]);
}

int tapir_jvm_live__parse(struct tapir_heap_live *out, const void *data, size_t len)
{
	int err = tapir_jfr__each(data, len, "jdk.OldObjectSample", on_sample, out);

	if (!err && out->failed)
		err = -ENOMEM;
	tapir_heap_live__sort(out);
	return err;
}

/* ---- the JVM ---------------------------------------------------------------------------------- */

static int run_jvm_command(uint32_t tgid, const char *command, struct tapir_str *reply)
{
	const struct tapir_jvm_opts opts = {
		.tgid = tgid, .cancel_fd = -1, .timeout_ns = TIMEOUT_NS};
	const char *const args[] = {command, NULL};

	return tapir_jvm__command(&opts, "jcmd", args, reply);
}

static int stop_recording(uint32_t tgid)
{
	struct tapir_str reply = {};
	int err = run_jvm_command(tgid, "JFR.stop name=" RECORDING, &reply);

	tapir_str__fini(&reply);
	return err;
}

/* JDK 17 and later take settings of events here; older ones say that they do not. */
int tapir_jvm_live__begin(uint32_t tgid)
{
	struct tapir_str reply = {};
	int err = run_jvm_command(
		tgid,
		"JFR.start name=" RECORDING " settings=none +jdk.OldObjectSample#enabled=true "
		"+jdk.OldObjectSample#stackTrace=true +jdk.OldObjectSample#cutoff=infinity",
		&reply);

	if (!err && (!reply.data || !strstr(reply.data, "Started recording")))
		err = tapir_diag__fail(-EOPNOTSUPP,
				       "the flight recorder of JVM process %u did not start: it "
				       "requires OpenJDK 17 or later",
				       tgid);
	tapir_str__fini(&reply);
	return err;
}

static int read_dump(uint32_t tgid, struct tapir_heap_live *out)
{
	const struct tapir_jvm_opts opts = {
		.tgid = tgid, .cancel_fd = -1, .timeout_ns = TIMEOUT_NS};
	struct tapir_jvm_perf_map file;
	tapir_autofree char *data = NULL;
	size_t len = 0;
	int err = tapir_jvm__dump_recording(&opts, RECORDING, &file), mark = tapir_diag__cnt();

	if (err)
		return err;
	err = tapir_jvm_file__read(tgid, &file, TAPIR_JFR_MAX_BYTES, &data, &len);
	tapir_jvm_perf_map__fini(&file);
	if (!err)
		err = tapir_jvm_live__parse(out, data, len);
	if (err && tapir_diag__cnt() == mark)
		return tapir_diag__fail(err, "the flight recording of JVM process %u: %s", tgid,
					tapir_errno__text(err));
	return err;
}

int tapir_jvm_live__end(uint32_t tgid, struct tapir_heap_live *out)
{
	int err = out ? read_dump(tgid, out) : 0, stopped = stop_recording(tgid);

	return err ? err : stopped;
}
