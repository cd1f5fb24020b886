// SPDX-License-Identifier: GPL-2.0-or-later
/* See heap_live.h. Equal samples (type, stack and holders) are one row. */
#include "heap/heap_live.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "foreign/foreign_file.h"
#include "heap/heap_jvm.h"
#include "heap/jfr.h"
#include "runtime/jvm/jvm_attach.h"
#include "symbol/jit_file.h"

#define RECORDING   "tapir"
#define TIMEOUT_NS  (60 * TAPIR_NS_PER_SEC)
#define FRAMES_MAX  12u
#define HOLDERS_MAX 10u

/* ---- one sample ------------------------------------------------------------------------------- */

static struct tapir_sv member_text(struct tapir_jfr *j, struct tapir_jfr_value of, const char *name)
{
	return tapir_jfr__text(j, tapir_jfr__field(j, of, name));
}

/* "[Lcom/shop/Order;": a symbol, whose text is a member. */
static struct tapir_sv symbol_of(struct tapir_jfr *j, struct tapir_jfr_value of, const char *name)
{
	return member_text(j, tapir_jfr__field(j, of, name), "string");
}

static void add_class(struct tapir_str *out, struct tapir_sv name)
{
	size_t from = out->len;
	struct tapir_str raw = {};

	tapir_str__add_printable(&raw, name.data, name.len);
	if (raw.len)
		tapir_heap_jvm__add_class(out, raw.data, raw.len);
	out->failed |= raw.failed;
	tapir_str__fini(&raw);
	for (; from < out->len; from++)
		if (out->data[from] == '/')
			out->data[from] = '.';
}

static void add_type(struct tapir_jfr *j, struct tapir_jfr_value object, struct tapir_str *out)
{
	add_class(out, symbol_of(j, tapir_jfr__field(j, object, "type"), "name"));
}

static void add_stack(struct tapir_jfr *j, struct tapir_jfr_value event, struct tapir_str *out)
{
	struct tapir_jfr_value frames =
		tapir_jfr__field(j, tapir_jfr__field(j, event, "stackTrace"), "frames");
	uint64_t cnt = tapir_jfr__elements(j, &frames);

	for (uint64_t i = 0; i < cnt && i < FRAMES_MAX && !j->is_bad; i++) {
		struct tapir_jfr_value method =
			tapir_jfr__field(j, tapir_jfr__next(j, &frames), "method");
		struct tapir_sv name = symbol_of(j, method, "name");

		if (i)
			tapir_str__adds(out, " <- ");
		add_class(out, symbol_of(j, tapir_jfr__field(j, method, "type"), "name"));
		tapir_str__addc(out, '.');
		tapir_str__add_printable(out, name.data, name.len);
	}
	if (cnt > FRAMES_MAX)
		tapir_str__adds(out, " <- ...");
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

/* From the object's holder outwards; a chain of equal holders (a list) is one. */
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

static const char *keep(struct tapir_heap_live *l, const struct tapir_str *text)
{
	const char *kept = tapir_arena__text(&l->texts, text->data ? text->data : "", text->len);

	l->failed |= !kept || text->failed;
	return kept ? kept : "";
}

static void on_sample(void *ctx, struct tapir_jfr *j, struct tapir_jfr_value event)
{
	struct tapir_str texts[3] = {};
	struct tapir_heap_live *l = ctx;
	struct tapir_heap_live_row *row;
	uint64_t hash = 3, *idx;
	bool is_new = false;

	add_type(j, tapir_jfr__field(j, event, "object"), &texts[0]);
	add_stack(j, event, &texts[1]);
	add_path(j, event, &texts[2]);
	for (unsigned i = 0; i < 3; i++)
		hash = tapir_hash__bytes(hash + i, texts[i].data ? texts[i].data : "",
					 texts[i].len);
	idx = j->is_bad ? NULL : tapir_map__put(&l->by_key, hash, &is_new);
	row = is_new ? tapir_vec__add(&l->rows) : idx ? &l->rows.data[*idx] : NULL;
	if (row && is_new) {
		*row = (struct tapir_heap_live_row){keep(l, &texts[0]), keep(l, &texts[1]),
						    keep(l, &texts[2]), 0};
		*idx = l->rows.cnt - 1;
	}
	if (row) {
		row->cnt++;
		l->cnt++;
	}
	l->failed |= !row && !j->is_bad;
	for (unsigned i = 0; i < 3; i++)
		tapir_str__fini(&texts[i]);
}

static int by_count(const void *a, const void *b)
{
	const struct tapir_heap_live_row *x = a, *y = b;

	if (x->cnt != y->cnt)
		return x->cnt < y->cnt ? 1 : -1;
	return strcmp(x->type, y->type) ? strcmp(x->type, y->type) : strcmp(x->stack, y->stack);
}

int tapir_heap_live__parse(struct tapir_heap_live *out, const void *data, size_t len)
{
	int err = tapir_jfr__each(data, len, "jdk.OldObjectSample", on_sample, out);

	if (!err && out->failed)
		err = -ENOMEM;
	if (out->rows.cnt)
		qsort(out->rows.data, out->rows.cnt, sizeof(*out->rows.data), by_count);
	return err;
}

void tapir_heap_live__fini(struct tapir_heap_live *l)
{
	tapir_vec__fini(&l->rows);
	tapir_map__fini(&l->by_key);
	tapir_arena__fini(&l->texts);
}

/* ---- the JVM ---------------------------------------------------------------------------------- */

static int ask(uint32_t tgid, const char *command, struct tapir_str *reply)
{
	const struct tapir_jvm_opts opts = {
		.tgid = tgid, .cancel_fd = -1, .timeout_ns = TIMEOUT_NS};
	const char *const args[] = {command, NULL};

	return tapir_jvm__command(&opts, "jcmd", args, reply);
}

static int stop(uint32_t tgid)
{
	struct tapir_str reply = {};
	int err = ask(tgid, "JFR.stop name=" RECORDING, &reply);

	tapir_str__fini(&reply);
	return err;
}

/* JDK 17 and later take settings of events here; older ones say that they do not. */
int tapir_heap_live__begin(uint32_t tgid)
{
	struct tapir_str reply = {};
	int err =
		ask(tgid,
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

void tapir_heap_live__wait(uint64_t ns)
{
	struct timespec left = {.tv_sec = (time_t)(ns / TAPIR_NS_PER_SEC),
				.tv_nsec = (long)(ns % TAPIR_NS_PER_SEC)};
	sigset_t ends, before;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &ends, &before);
	(void)sigtimedwait(&ends, NULL, &left);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int read_file(uint32_t tgid, const struct tapir_jvm_perf_map *file, char **data, size_t *len)
{
	char path[64];
	struct tapir_jit_file_opts opts = {
		.sz = sizeof(opts), .tgid = tgid, .uid = file->uid, .path = path};
	tapir_autofd int handle = -1, fd = -1;

	snprintf(path, sizeof(path), "/tmp/%s", file->name);
	handle = tapir_jit_file__open(&opts);
	if (handle < 0)
		return handle;
	fd = tapir_foreign__content(handle);
	return fd < 0 ? fd : tapir_file__read_fd(fd, TAPIR_JFR_MAX_BYTES, data, len);
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
	err = read_file(tgid, &file, &data, &len);
	tapir_jvm_perf_map__fini(&file);
	if (!err)
		err = tapir_heap_live__parse(out, data, len);
	if (err && tapir_diag__cnt() == mark)
		return tapir_diag__fail(err, "the flight recording of JVM process %u: %s", tgid,
					tapir_errno__text(err));
	return err;
}

int tapir_heap_live__end(uint32_t tgid, struct tapir_heap_live *out)
{
	int err = out ? read_dump(tgid, out) : 0, stopped = stop(tgid);

	return err ? err : stopped;
}

/* ---- the result ------------------------------------------------------------------------------- */

void tapir_heap_live__add_table(const struct tapir_heap_live *l, uint64_t top,
				struct tapir_view_result *out)
{
	static const struct tapir_column columns[] = {
		{"samples", ">ALIVE", TAPIR_CELL_COUNT},
		{"share", ">SHARE", TAPIR_CELL_PERCENT},
		{"type", "TYPE", TAPIR_CELL_TEXT},
		{"allocated_by", "ALLOCATED BY", TAPIR_CELL_TEXT},
		{"held_by", "HELD BY", TAPIR_CELL_TEXT},
		{}};
	size_t table = tapir_view_result__table(
		out, "live", "sampled objects that are alive, by the stacks that made them",
		columns);

	for (size_t i = 0; i < l->rows.cnt && i < top; i++) {
		const struct tapir_heap_live_row *row = &l->rows.data[i];

		tapir_view_result__u64(out, table, row->cnt);
		tapir_view_result__share(out, table, row->cnt, l->cnt);
		tapir_view_result__text(out, table, row->type);
		tapir_view_result__text(out, table, row->stack[0] ? row->stack : NULL);
		tapir_view_result__text(out, table, row->path[0] ? row->path : NULL);
	}
}

void tapir_heap_live__add_headline(const struct tapir_heap_live *l, struct tapir_str *out)
{
	const struct tapir_heap_live_row *most = l->rows.data;

	tapir_str__addf(out, "%" PRIu64 " sampled objects are alive", l->cnt);
	if (!l->rows.cnt)
		return;
	tapir_str__addf(out, "; most: %.200s (%" PRIu64 ")", most->type, most->cnt);
	if (most->stack[0])
		tapir_str__addf(out, ", allocated by %.300s", most->stack);
	if (most->path[0])
		tapir_str__addf(out, ", held by %.300s", most->path);
}
