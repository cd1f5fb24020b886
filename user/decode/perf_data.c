// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The head: a magic, sizes, where attributes, records and features are. A feature is a part of the
 * head with a number; where it lies is in a table behind the records, an entry for each bit of a
 * set. In a pipe each is a record of its own.
 */
#include "decode/perf_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "decode/byte_input.h"
#include "decode/perf_formats.h"
#include "decode/perf_record.h"

#define FOREIGN_MAGIC  "2ELIFREP"
#define HEAD_BYTES     104u
#define PIPE_BYTES     16u
#define ATTR_MIN_BYTES 64u /* PERF_ATTR_SIZE_VER0 */
#define ATTR_MAX_BYTES 4096u
#define ATTRS_BYTES    (16u << 20)
#define FEATURES       256u
#define BUILD_ID_BYTES 36u /* of an entry, before the path */
#define HAS_ID_SIZE    0x8000u
#define CPUMODE_MASK   7u
#define CPUMODE_KERNEL 1u

enum {
	FEATURE_TRACING_DATA = 1,
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_RELEASE = 4,
	FEATURE_MACHINE = 6,
	FEATURE_CPUS = 7,
	FEATURE_COMMAND = 11,
	FEATURE_EVENTS = 12,
	FEATURE_COMPRESSED = 27,
	FEATURE_CLOCK = 29,
};

/* ---- reading --------------------------------------------------------------------------------- */

/* -EPROTO: the file is shorter than that. */
static int read_exactly(const struct tapir_perf_data *d, void *buf, size_t len, uint64_t off)
{
	int64_t got;

	if (off > d->input.bytes || len > d->input.bytes - off)
		return -EPROTO;
	got = d->input.read(d->input.ctx, buf, len, off);
	return got < 0 ? (int)got : (size_t)got < len ? -EPROTO : 0;
}

/* A part of the file in memory, the caller's. */
static int read_part(const struct tapir_perf_data *d, uint64_t off, uint64_t bytes, uint64_t max,
		     uint8_t **out)
{
	uint8_t *data;
	int err;

	if (bytes > max || off > d->input.bytes || bytes > d->input.bytes - off)
		return -EPROTO;
	data = malloc(bytes + 1);
	if (!data)
		return -ENOMEM;
	err = read_exactly(d, data, bytes, off);
	if (err)
		free(data);
	else
		*out = data;
	return err;
}

/* u32 bytes, with the padding after the text's end. NULL: there is none, or out of memory. */
static char *take_string(struct tapir_byte_input *in)
{
	uint64_t bytes = tapir_byte_input__le(in, 4);
	const uint8_t *text = tapir_byte_input__take(in, bytes);

	if (!text || bytes > TAPIR_PERF_STRING_MAX)
		return NULL;
	return strndup((const char *)text, bytes);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static const char *const software_names[] = {
	"cpu-clock",	    "task-clock",   "page-faults",  "context-switches",
	"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
	"emulation-faults", "dummy",	    "bpf-output",   "cgroup-switches"};
static const char *const hardware_names[] = {"cycles",
					     "instructions",
					     "cache-references",
					     "cache-misses",
					     "branches",
					     "branch-misses",
					     "bus-cycles",
					     "stalled-cycles-frontend",
					     "stalled-cycles-backend",
					     "ref-cycles"};

static void name_attr(struct tapir_perf_attr *a)
{
	const char *name = NULL;

	if (a->type == TAPIR_PERF_SOFTWARE &&
	    a->config < sizeof(software_names) / sizeof(*software_names))
		name = software_names[a->config];
	else if (a->type == TAPIR_PERF_HARDWARE &&
		 a->config < sizeof(hardware_names) / sizeof(*hardware_names))
		name = hardware_names[a->config];
	if (name)
		strcpy(a->name, name);
	else
		snprintf(a->name, sizeof(a->name), "%u:%llx", a->type,
			 (unsigned long long)a->config);
}

/* data: at least ATTR_MIN_BYTES. */
static void parse_attr(const uint8_t *data, size_t len, struct tapir_perf_attr *a)
{
	uint64_t flags = tapir_le__u64(data + 40);

	*a = (struct tapir_perf_attr){
		.type = tapir_le__u32(data),
		.config = tapir_le__u64(data + 8),
		.period = tapir_le__u64(data + 16),
		.sample_type = tapir_le__u64(data + 24),
		.read_format = tapir_le__u64(data + 32),
		.is_freq = flags >> 10 & 1,
		.has_sample_id = flags >> 18 & 1,
		.has_clock = flags >> 25 & 1,
		.has_switches = flags >> 26 & 1,
		.clock = len >= 96 ? (int32_t)tapir_le__u32(data + 92) : 0,
		.max_stack = len >= 110 ? tapir_le__u16(data + 108) : 0,
	};
	name_attr(a);
}

static int add_id(struct tapir_perf_data *d, uint64_t id, size_t attr_idx)
{
	uint64_t *idx;

	if (d->attr_by_id.cnt >= TAPIR_PERF_IDS_MAX)
		return -EPROTO;
	idx = tapir_map__put(&d->attr_by_id, id, NULL);
	if (idx)
		*idx = attr_idx;
	return idx ? 0 : -ENOMEM;
}

static int add_ids(struct tapir_perf_data *d, const uint8_t *ids, size_t cnt, size_t attr_idx)
{
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++)
		err = add_id(d, tapir_le__u64(ids + 8 * i), attr_idx);
	return err;
}

static int add_attr(struct tapir_perf_data *d, const uint8_t *data, size_t len)
{
	struct tapir_perf_attr attr;

	if (len < ATTR_MIN_BYTES || d->attrs.cnt >= TAPIR_PERF_ATTRS_MAX)
		return -EPROTO;
	parse_attr(data, len, &attr);
	return tapir_vec__push(&d->attrs, attr) ? 0 : -ENOMEM;
}

/* An entry: the attribute, then u64 offset and u64 bytes of its ids. */
static int read_attr(struct tapir_perf_data *d, const uint8_t *entry, size_t entry_bytes)
{
	uint64_t off = tapir_le__u64(entry + entry_bytes - 16);
	uint64_t bytes = tapir_le__u64(entry + entry_bytes - 8);
	tapir_autofree uint8_t *ids = NULL;
	int err = add_attr(d, entry, entry_bytes - 16);

	if (!err)
		err = read_part(d, off, bytes, 8ull * TAPIR_PERF_IDS_MAX, &ids);
	return err ? err : add_ids(d, ids, bytes / 8, d->attrs.cnt - 1);
}

static int read_attrs(struct tapir_perf_data *d, uint64_t entry_bytes, uint64_t off, uint64_t bytes)
{
	tapir_autofree uint8_t *entries = NULL;
	int err;

	if (entry_bytes < ATTR_MIN_BYTES + 16 || entry_bytes > ATTR_MAX_BYTES ||
	    bytes % entry_bytes)
		return -EPROTO;
	err = read_part(d, off, bytes, ATTRS_BYTES, &entries);
	for (uint64_t at = 0; !err && at < bytes; at += entry_bytes)
		err = read_attr(d, entries + at, entry_bytes);
	return err ? err : d->attrs.cnt ? 0 : -EPROTO;
}

/* ---- features -------------------------------------------------------------------------------- */

/* An entry: a record's header, u32 pid, 20 bytes and their number, the path. */
static int add_build_id(struct tapir_perf_data *d, const uint8_t *entry, size_t len)
{
	struct tapir_perf_build_id id = {.len = 20};
	uint16_t misc = tapir_le__u16(entry + 4);

	if (d->build_ids.cnt >= TAPIR_PERF_BUILD_IDS)
		return -EPROTO;
	memcpy(id.bytes, entry + 12, sizeof(id.bytes));
	if (misc & HAS_ID_SIZE && entry[32] && entry[32] <= sizeof(id.bytes))
		id.len = entry[32];
	id.is_kernel = (misc & CPUMODE_MASK) == CPUMODE_KERNEL;
	id.path = strndup((const char *)entry + BUILD_ID_BYTES, len - BUILD_ID_BYTES);
	if (id.path && tapir_vec__push(&d->build_ids, id))
		return 0;
	free(id.path);
	return -ENOMEM;
}

static int take_build_ids(struct tapir_perf_data *d, struct tapir_byte_input *in)
{
	int err = 0;

	while (in->left >= 8 && !err) {
		uint16_t bytes = tapir_le__u16(in->at + 6);
		const uint8_t *entry = tapir_byte_input__take(in, bytes);

		err = entry && bytes > BUILD_ID_BYTES ? add_build_id(d, entry, bytes) : -EPROTO;
	}
	return err;
}

/* Words of a command line, separated by blanks. */
static int take_command(struct tapir_perf_data *d, struct tapir_byte_input *in)
{
	uint64_t cnt = tapir_byte_input__le(in, 4);
	struct tapir_str text = {};

	for (uint64_t i = 0; i < cnt && !in->is_bad && text.len < TAPIR_PERF_STRING_MAX; i++) {
		tapir_autofree char *word = take_string(in);

		tapir_str__adds(&text, i ? " " : "");
		tapir_str__adds(&text, word ? word : "");
	}
	if (text.failed || in->is_bad) {
		int err = text.failed ? -ENOMEM : -EPROTO;

		tapir_str__fini(&text);
		return err;
	}
	free(d->command);
	d->command = text.data;
	return 0;
}

/* Each: the attribute, u32 number of ids, its name, the ids. In the order of the attributes. */
static int take_events(struct tapir_perf_data *d, struct tapir_byte_input *in)
{
	uint64_t cnt = tapir_byte_input__le(in, 4), attr_bytes = tapir_byte_input__le(in, 4);

	for (size_t i = 0; i < cnt && i < d->attrs.cnt; i++) {
		const uint8_t *attr = tapir_byte_input__take(in, attr_bytes);
		uint64_t id_cnt = tapir_byte_input__le(in, 4);
		tapir_autofree char *name = take_string(in);

		if (!attr || !name || id_cnt > TAPIR_PERF_IDS_MAX ||
		    !tapir_byte_input__take(in, 8 * id_cnt))
			return -EPROTO;
		if (*name)
			snprintf(d->attrs.data[i].name, sizeof(d->attrs.data[i].name), "%s", name);
	}
	return 0;
}

static int take_string_to(char **to, struct tapir_byte_input *in)
{
	char *text = take_string(in);

	if (!text)
		return -EPROTO;
	free(*to);
	*to = text;
	return 0;
}

/* u32 version, u32 clock, u64 UTC, u64 that clock's time. */
static int take_clock(struct tapir_perf_data *d, struct tapir_byte_input *in)
{
	tapir_byte_input__take(in, 8);
	d->utc_ns = tapir_byte_input__le(in, 8);
	d->clock_ns = tapir_byte_input__le(in, 8);
	return in->is_bad ? -EPROTO : 0;
}

/* -EPROTO: it is skipped. */
static int take_feature(struct tapir_perf_data *d, unsigned id, const uint8_t *data, size_t len)
{
	struct tapir_byte_input in = {data, len, false};

	switch (id) {
	case FEATURE_TRACING_DATA:
		return tapir_perf_data__take_formats(d, data, len);
	case FEATURE_BUILD_ID:
		return take_build_ids(d, &in);
	case FEATURE_HOSTNAME:
		return take_string_to(&d->host, &in);
	case FEATURE_RELEASE:
		return take_string_to(&d->release, &in);
	case FEATURE_MACHINE:
		return take_string_to(&d->machine, &in);
	case FEATURE_CPUS: /* those that may be, those that are */
		tapir_byte_input__take(&in, 4);
		d->cpu_cnt = (uint32_t)tapir_byte_input__le(&in, 4);
		return in.is_bad ? -EPROTO : 0;
	case FEATURE_COMMAND:
		return take_command(d, &in);
	case FEATURE_EVENTS:
		return take_events(d, &in);
	case FEATURE_CLOCK:
		return take_clock(d, &in);
	case FEATURE_COMPRESSED:
		d->is_compressed = true;
		return 0;
	default:
		return 0;
	}
}

/* Counts a part that made no sense; the next one is read. */
static int skip_bad(struct tapir_perf_data *d, int err)
{
	if (err != -EPROTO)
		return err;
	d->malformed_cnt++;
	return 0;
}

static int read_feature(struct tapir_perf_data *d, unsigned id, uint64_t entry_off)
{
	tapir_autofree uint8_t *data = NULL;
	uint8_t entry[16];
	int err = read_exactly(d, entry, sizeof(entry), entry_off);
	uint64_t bytes;

	if (err)
		return err;
	bytes = tapir_le__u64(entry + 8);
	err = read_part(d, tapir_le__u64(entry), bytes, TAPIR_PERF_FEATURE_MAX, &data);
	return err ? err : take_feature(d, id, data, bytes);
}

static int read_features(struct tapir_perf_data *d, const uint8_t set[FEATURES / 8])
{
	uint64_t off = d->records_end;
	int err = 0;

	for (unsigned id = 0; id < FEATURES && !err; id++) {
		if (!(set[id / 8] >> (id % 8) & 1))
			continue;
		err = skip_bad(d, read_feature(d, id, off));
		off += 16;
	}
	return err;
}

/* ---- the head -------------------------------------------------------------------------------- */

/*
 * u64 magic, bytes of the head, bytes of an attribute's entry; (u64 offset, u64 bytes) of
 * attributes, records, and what is no longer used; the set of features.
 */
static int read_head(struct tapir_perf_data *d, const uint8_t head[HEAD_BYTES])
{
	uint64_t off = tapir_le__u64(head + 40), bytes = tapir_le__u64(head + 48);
	int err;

	if (off > d->input.bytes || (bytes && bytes > UINT64_MAX - off))
		return -EPROTO;
	d->records_off = off;
	/* A perf that was killed has not written how many there are: all that follow. */
	d->records_end = bytes && bytes <= d->input.bytes - off ? off + bytes : d->input.bytes;
	err = read_attrs(d, tapir_le__u64(head + 16), tapir_le__u64(head + 24),
			 tapir_le__u64(head + 32));
	return err || !bytes ? err : read_features(d, head + 72);
}

int tapir_perf_data__init(struct tapir_perf_data *out, const struct tapir_perf_input *input)
{
	uint8_t head[HEAD_BYTES];
	int err;

	*out = (struct tapir_perf_data){.input = *input};
	err = read_exactly(out, head, PIPE_BYTES, 0);
	if (err)
		return err;
	if (!memcmp(head, FOREIGN_MAGIC, 8))
		return -EOPNOTSUPP;
	if (memcmp(head, TAPIR_PERF_MAGIC, 8))
		return -EPROTO;
	if (tapir_le__u64(head + 8) == PIPE_BYTES) {
		out->is_piped = true;
		out->records_off = PIPE_BYTES;
		out->records_end = input->bytes;
		return 0;
	}
	if (tapir_le__u64(head + 8) != HEAD_BYTES)
		return -EPROTO;
	err = read_exactly(out, head, HEAD_BYTES, 0);
	return err ? err : read_head(out, head);
}

void tapir_perf_data__fini(struct tapir_perf_data *d)
{
	struct tapir_perf_build_id *id;
	struct tapir_perf_format *format;

	tapir_vec_for_each (id, &d->build_ids)
		free(id->path);
	tapir_vec_for_each (format, &d->formats) {
		free(format->category);
		free(format->name);
	}
	tapir_vec__fini(&d->build_ids);
	tapir_vec__fini(&d->formats);
	tapir_vec__fini(&d->attrs);
	tapir_map__fini(&d->attr_by_id);
	free(d->host);
	free(d->release);
	free(d->machine);
	free(d->command);
	*d = (struct tapir_perf_data){};
}

/* ---- parts that come as records -------------------------------------------------------------- */

/* The attribute, then its ids. */
static int take_attr_record(struct tapir_perf_data *d, const uint8_t *rec, size_t len)
{
	uint32_t bytes = len >= 16 ? tapir_le__u32(rec + 12) : 0;
	int err = -EPROTO;

	if (bytes && bytes <= len - 8)
		err = add_attr(d, rec + 8, bytes);
	return err ? err : add_ids(d, rec + 8 + bytes, (len - 8 - bytes) / 8, d->attrs.cnt - 1);
}

int tapir_perf_data__take_record(struct tapir_perf_data *d, const uint8_t *rec, size_t len)
{
	struct tapir_byte_input in = {rec, len, false};
	int err = 0;

	switch (len >= 8 ? tapir_le__u32(rec) : 0) {
	case TAPIR_PERF_REC_ATTR:
		err = take_attr_record(d, rec, len);
		break;
	case TAPIR_PERF_REC_BUILD_ID:
		err = take_build_ids(d, &in);
		break;
	case TAPIR_PERF_REC_FEATURE: /* u64 its number */
		err = len < 16 ? -EPROTO
			       : take_feature(d, tapir_le__u32(rec + 8), rec + 16, len - 16);
		break;
	default:
		break;
	}
	return skip_bad(d, err);
}

/* "name: NAME", "ID: N" on lines of their own. */
static int add_format(void *ctx, const char *category, const char *text)
{
	struct tapir_perf_data *d = ctx;
	const char *name = strstr(text, "name: "), *id = strstr(text, "\nID: ");
	struct tapir_perf_format format = {};

	if (!name || !id || d->formats.cnt >= TAPIR_PERF_FORMATS ||
	    tapir_tracepoint_format__parse(text, &format.fields))
		return 0; /* its events have no fields */
	format.id = strtoull(id + 5, NULL, 10);
	format.category = strdup(category);
	format.name = strndup(name + 6, strcspn(name + 6, "\n"));
	if (format.category && format.name && tapir_vec__push(&d->formats, format))
		return 0;
	free(format.category);
	free(format.name);
	return -ENOMEM;
}

int tapir_perf_data__take_formats(struct tapir_perf_data *d, const uint8_t *data, size_t len)
{
	return tapir_perf_formats__each(data, len, add_format, d);
}

/* ---- look-ups -------------------------------------------------------------------------------- */

const struct tapir_perf_attr *tapir_perf_data__attr(const struct tapir_perf_data *d, uint64_t id)
{
	const uint64_t *idx = tapir_map__get(&d->attr_by_id, id);

	if (idx)
		return &d->attrs.data[*idx];
	return d->attrs.cnt == 1 ? d->attrs.data : NULL;
}

const struct tapir_perf_format *tapir_perf_data__format(const struct tapir_perf_data *d,
							uint64_t id)
{
	const struct tapir_perf_format *format;

	tapir_vec_for_each (format, &d->formats)
		if (format->id == id)
			return format;
	return NULL;
}

const struct tapir_perf_build_id *tapir_perf_data__build_id(const struct tapir_perf_data *d,
							    const char *path, size_t path_len)
{
	const struct tapir_perf_build_id *id;

	tapir_vec_for_each (id, &d->build_ids)
		if (!strncmp(id->path, path, path_len) && !id->path[path_len])
			return id;
	return NULL;
}
