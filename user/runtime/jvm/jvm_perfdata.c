// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hsperfdata, version 2.0 (perfMemory.hpp): a prologue, then entries with a name and a value, which
 * the JVM changes while they are read. An entry's lengths are checked; its value is one word.
 */
#include "runtime/jvm/jvm_perfdata.h"
#include "base/little_endian.h"

#include <errno.h>
#include <string.h>

#define PROLOGUE_BYTES	   32u
#define ENTRY_BYTES	   20u
#define LITTLE_ENDIAN_DATA 1
#define MAX_ENTRIES	   4096u /* JDK 17 has 330 */
#define NS_PER_SEC	   1000000000u

struct entry {
	const char *name; /* ended inside the entry */
	const uint8_t *value;
	uint32_t value_bytes; /* to the entry's end */
	bool is_number;
};

/* 0: go on; else what __each returns. */
typedef int (*entry_fn)(void *ctx, const struct entry *entry);

/* An entry of len bytes whose name and value lie inside. */
static bool read_entry(const uint8_t *bytes, uint32_t len, struct entry *out)
{
	uint32_t name_off = tapir_le__u32(bytes + 4), vector_len = tapir_le__u32(bytes + 8);
	uint32_t data_off = tapir_le__u32(bytes + 16);

	if (name_off >= len || data_off >= len || !memchr(bytes + name_off, '\0', len - name_off))
		return false;
	*out = (struct entry){.name = (const char *)bytes + name_off,
			      .value = bytes + data_off,
			      .value_bytes = len - data_off,
			      .is_number = bytes[12] == 'J' && !vector_len && len - data_off >= 8};
	return true;
}

static int each_entry(const uint8_t *data, size_t len, entry_fn fn, void *ctx)
{
	static const uint8_t magic[] = {0xca, 0xfe, 0xc0, 0xc0, LITTLE_ENDIAN_DATA, 2};
	struct entry entry;
	size_t at;
	int found = 0;

	if (len < PROLOGUE_BYTES || memcmp(data, magic, sizeof(magic)) != 0)
		return -ENODATA;
	at = tapir_le__u32(data + 24);
	for (uint32_t i = 0; i < MAX_ENTRIES && i < tapir_le__u32(data + 28) && !found; i++) {
		uint32_t entry_len;

		if (at > len || len - at < ENTRY_BYTES)
			return -ENODATA;
		entry_len = tapir_le__u32(data + at);
		if (entry_len < ENTRY_BYTES || entry_len > len - at)
			return -ENODATA;
		if (read_entry(data + at, entry_len, &entry))
			found = fn(ctx, &entry);
		at += entry_len;
	}
	return found;
}

/* ---- capabilities --------------------------------------------------------------------------- */

static int read_capabilities(void *ctx, const struct entry *entry)
{
	int *may_attach = ctx;

	if (strcmp(entry->name, "sun.rt.jvmCapabilities") != 0)
		return 0;
	*may_attach = *entry->value != '0';
	return 1;
}

int tapir_jvm_perfdata__may_attach(const uint8_t *data, size_t len)
{
	int may_attach = -ENODATA;

	each_entry(data, len, read_capabilities, &may_attach);
	return may_attach;
}

/* ---- gauges --------------------------------------------------------------------------------- */

struct reading {
	struct tapir_jvm_gauges *out;
	uint64_t gc_ticks, ended_ticks, jit_ticks, frequency; /* of a second; 0: not known */
	/*
	 * The counters that are read are of a collector's phase: pauses of a concurrent cycle that
	 * a collection began do not count as collections.
	 */
	bool is_phase;
	char cause_now[TAPIR_JVM_PERFDATA_CAUSE_BYTES]; /* of a collection that runs */
};

static const char no_gc[] = "No GC";

static uint64_t entry_number(const struct entry *entry)
{
	uint64_t value;

	memcpy(&value, entry->value, sizeof(value));
	return value <= INT64_MAX ? value : 0;
}

/* The rest of the name after prefix and digits; NULL: it is another name. */
static const char *after_number(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(name, prefix, len) != 0 ? NULL
					       : name + len + strspn(name + len, "0123456789");
}

/* "sun.gc.collector.2.time" is "time" of any collector. */
static bool is_collectors(const char *name, const char *suffix)
{
	const char *rest = after_number(name, "sun.gc.collector.");

	return rest && *rest == '.' && !strcmp(rest + 1, suffix);
}

/* "sun.gc.generation.0.space.1.used" */
static bool is_used_space(const char *name)
{
	const char *rest = after_number(name, "sun.gc.generation.");

	rest = rest ? after_number(rest, ".space.") : NULL;
	return rest && !strcmp(rest, ".used");
}

/* "sun.gc.generation.0.capacity" */
static bool is_capacity(const char *name)
{
	const char *rest = after_number(name, "sun.gc.generation.");

	return rest && !strcmp(rest, ".capacity");
}

static void read_number(struct reading *r, const char *name, uint64_t value)
{
	const struct {
		const char *name;
		uint64_t *to;
	} known[] = {
		{"sun.gc.generation.1.space.0.used", &r->out->old_used_bytes},
		{"sun.gc.metaspace.used", &r->out->metaspace_bytes},
		{"java.cls.loadedClasses", &r->out->class_cnt},
		{"java.cls.unloadedClasses", &r->out->unloaded_cnt},
		{"sun.rt._sync_ContendedLockAttempts", &r->out->contended_cnt},
		{"java.ci.totalTime", &r->jit_ticks},
		{"sun.os.hrt.frequency", &r->frequency},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(name, known[i].name))
			*known[i].to = value;
	/*
	 * A collector whose pauses are phases of another's has its time added, but is no collection
	 * of its own.
	 */
	if (is_collectors(name, "invocations")) {
		r->out->has_gc = true;
		r->out->gc_cnt += r->is_phase ? 0 : value;
	} else if (is_collectors(name, "lastExitTime")) {
		if (!r->is_phase && value > r->ended_ticks)
			r->ended_ticks = value;
	} else if (is_collectors(name, "time")) {
		r->gc_ticks += value;
	} else if (is_used_space(name)) {
		r->out->heap_used_bytes += value;
	} else if (is_capacity(name)) {
		r->out->heap_committed_bytes += value;
	}
}

static void read_cause(const struct entry *entry, char *out)
{
	size_t len = 0;

	while (len < entry->value_bytes && len + 1 < TAPIR_JVM_PERFDATA_CAUSE_BYTES &&
	       entry->value[len] >= ' ' && entry->value[len] <= '~')
		len++;
	memcpy(out, entry->value, len);
	out[len] = '\0';
}

/* A collector's name comes before its numbers. */
static bool is_phase(const struct entry *entry)
{
	static const char *const names[] = {"G1 stop-the-world phases",
					    "G1 concurrent cycle pauses"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp((const char *)entry->value, names[i], entry->value_bytes))
			return true;
	return false;
}

static uint64_t ns_of(const struct reading *r, uint64_t ticks)
{
	double ns = (double)ticks / (double)r->frequency * NS_PER_SEC;

	return ns < (double)INT64_MAX ? (uint64_t)ns : 0;
}

static int read_gauge(void *ctx, const struct entry *entry)
{
	struct reading *r = ctx;

	if (entry->is_number)
		read_number(r, entry->name, entry_number(entry));
	else if (is_collectors(entry->name, "name"))
		r->is_phase = is_phase(entry);
	else if (!strcmp(entry->name, "sun.gc.lastCause"))
		read_cause(entry, r->out->gc_cause);
	else if (!strcmp(entry->name, "sun.gc.cause"))
		read_cause(entry, r->cause_now);
	return 0;
}

int tapir_jvm_perfdata__read(const uint8_t *data, size_t len, struct tapir_jvm_gauges *out)
{
	struct reading r = {.out = out};
	int err;

	*out = (struct tapir_jvm_gauges){};
	err = each_entry(data, len, read_gauge, &r);
	if (r.frequency) {
		out->gc_ns = ns_of(&r, r.gc_ticks);
		out->gc_ended_ns = ns_of(&r, r.ended_ticks);
		out->jit_ns = ns_of(&r, r.jit_ticks);
	}
	/* While one runs, which is counted already, the last cause is that of no collection. */
	if (!strcmp(out->gc_cause, no_gc))
		memcpy(out->gc_cause, r.cause_now, sizeof(out->gc_cause));
	if (!strcmp(out->gc_cause, no_gc))
		out->gc_cause[0] = '\0';
	return err;
}
