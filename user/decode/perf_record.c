// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A SAMPLE has the parts that its attribute names, in one order. Others end with those parts of a
 * sample that identify it, in the same order, but for the identifier, which is last there and first
 * in a SAMPLE: so it can be found before the event is known.
 */
#include "decode/perf_record.h"

#include <string.h>

#include "decode/byte_input.h"

#define HEADER_BYTES	8u
#define READ_ENABLED	(1u << 0)
#define READ_RUNNING	(1u << 1)
#define READ_ID		(1u << 2)
#define READ_GROUP	(1u << 3)
#define READ_LOST	(1u << 4)
#define GROUP_MAX	4096u
#define MMAP_BYTES	32u /* before the path */
#define MMAP2_BYTES	64u
#define PROT_EXECUTABLE 4u

static bool has(const struct tapir_perf_attr *a, uint64_t part)
{
	return a->sample_type & part;
}

/* All events of a file have the identifier, or all have the id at one place: perf sees to that. */
static const struct tapir_perf_attr *any_attr(const struct tapir_perf_data *d)
{
	return d->attrs.cnt ? d->attrs.data : NULL;
}

static const struct tapir_perf_attr *attr_of(const struct tapir_perf_data *d, uint64_t id)
{
	return tapir_perf_data__attr(d, id);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* The bytes before the id of a SAMPLE. */
static size_t id_off(const struct tapir_perf_attr *a)
{
	size_t off = 0;

	if (has(a, TAPIR_PERF_IDENTIFIER))
		return 0;
	for (uint64_t part = TAPIR_PERF_IP; part <= TAPIR_PERF_ADDR; part <<= 1)
		off += has(a, part) ? 8 : 0;
	return off;
}

static const struct tapir_perf_attr *attr_of_sample(const struct tapir_perf_data *d,
						    const uint8_t *body, size_t len)
{
	const struct tapir_perf_attr *any = any_attr(d);
	size_t off;

	if (!any || d->attrs.cnt == 1)
		return any;
	if (!has(any, TAPIR_PERF_IDENTIFIER) && !has(any, TAPIR_PERF_ID))
		return NULL;
	off = id_off(any);
	return len >= off + 8 ? attr_of(d, tapir_le__u64(body + off)) : NULL;
}

static void skip_read(struct tapir_byte_input *in, uint64_t format)
{
	uint64_t words = !!(format & READ_ENABLED) + !!(format & READ_RUNNING);
	uint64_t each = 1 + !!(format & READ_ID) + !!(format & READ_LOST);
	uint64_t cnt = format & READ_GROUP ? tapir_byte_input__le(in, 8) : 1;

	in->is_bad |= cnt > GROUP_MAX;
	if (!in->is_bad)
		tapir_byte_input__take(in, 8 * (words + cnt * each));
}

static void take_chain(struct tapir_byte_input *in, struct tapir_perf_record *out)
{
	out->chain_cnt = tapir_byte_input__le(in, 8);
	in->is_bad |= out->chain_cnt > in->left / 8;
	out->chain = in->is_bad ? NULL : tapir_byte_input__take(in, 8 * out->chain_cnt);
	if (!out->chain)
		out->chain_cnt = 0;
}

static bool parse_sample(struct tapir_byte_input *in, struct tapir_perf_record *out)
{
	const struct tapir_perf_attr *a = out->attr;

	/*
	 * The order is the kernel's (perf_event_open(2), PERF_RECORD_SAMPLE), and each member is
	 * there only if its bit is: one that is not needed has to be skipped for those behind it.
	 */
	if (has(a, TAPIR_PERF_IDENTIFIER))
		tapir_byte_input__take(in, 8);
	if (has(a, TAPIR_PERF_IP))
		out->ip = tapir_byte_input__le(in, 8);
	if (has(a, TAPIR_PERF_TID)) {
		out->pid = (uint32_t)tapir_byte_input__le(in, 4);
		out->tid = (uint32_t)tapir_byte_input__le(in, 4);
	}
	if (has(a, TAPIR_PERF_TIME))
		out->time_ns = tapir_byte_input__le(in, 8);
	if (has(a, TAPIR_PERF_ADDR))
		tapir_byte_input__take(in, 8);
	if (has(a, TAPIR_PERF_ID))
		tapir_byte_input__take(in, 8);
	if (has(a, TAPIR_PERF_STREAM_ID))
		tapir_byte_input__take(in, 8);
	if (has(a, TAPIR_PERF_CPU)) {
		out->cpu = (uint32_t)tapir_byte_input__le(in, 4);
		tapir_byte_input__take(in, 4);
	}
	/*
	 * With a frequency the kernel changes the period all the time: a record without it leaves
	 * it unknown.
	 */
	out->period = has(a, TAPIR_PERF_PERIOD) ? tapir_byte_input__le(in, 8)
		      : a->is_freq		? 0
						: a->period;
	if (has(a, TAPIR_PERF_READ))
		skip_read(in, a->read_format);
	if (has(a, TAPIR_PERF_CALLCHAIN))
		take_chain(in, out);
	if (has(a, TAPIR_PERF_RAW)) {
		out->raw_bytes = (uint32_t)tapir_byte_input__le(in, 4);
		out->raw = tapir_byte_input__take(in, out->raw_bytes);
	}
	return !in->is_bad;
}

/* ---- other records of the kernel ------------------------------------------------------------- */

static size_t id_bytes(const struct tapir_perf_attr *a)
{
	static const uint64_t parts[] = {TAPIR_PERF_TID, TAPIR_PERF_TIME,
					 TAPIR_PERF_ID,	 TAPIR_PERF_STREAM_ID,
					 TAPIR_PERF_CPU, TAPIR_PERF_IDENTIFIER};
	size_t bytes = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		bytes += has(a, parts[i]) ? 8 : 0;
	return bytes;
}

static const struct tapir_perf_attr *attr_of_other(const struct tapir_perf_data *d,
						   const uint8_t *body, size_t len)
{
	const struct tapir_perf_attr *any = any_attr(d), *found;

	if (!any || !has(any, TAPIR_PERF_IDENTIFIER) || len < 8)
		return any;
	found = attr_of(d, tapir_le__u64(body + len - 8));
	return found ? found : any; /* what perf made up has no id */
}

/*
 * The body is followed by the sample id (sample_id_all of perf_event_open(2)), found by its size
 * from the end. Its members have this order and are there as sample_type says.
 */
static bool parse_other(struct tapir_byte_input *in, struct tapir_perf_record *out)
{
	const struct tapir_perf_attr *a = out->attr;
	size_t bytes = a && a->has_sample_id ? id_bytes(a) : 0;
	struct tapir_byte_input id;

	if (bytes > in->left)
		return false;
	out->body = in->at;
	out->body_bytes = in->left - bytes;
	id = (struct tapir_byte_input){in->at + out->body_bytes, bytes, false};
	if (!bytes)
		return true;
	if (has(a, TAPIR_PERF_TID)) {
		out->pid = (uint32_t)tapir_byte_input__le(&id, 4);
		out->tid = (uint32_t)tapir_byte_input__le(&id, 4);
	}
	if (has(a, TAPIR_PERF_TIME))
		out->time_ns = tapir_byte_input__le(&id, 8);
	if (has(a, TAPIR_PERF_ID))
		tapir_byte_input__take(&id, 8);
	if (has(a, TAPIR_PERF_STREAM_ID))
		tapir_byte_input__take(&id, 8);
	if (has(a, TAPIR_PERF_CPU))
		out->cpu = (uint32_t)tapir_byte_input__le(&id, 4);
	return true;
}

bool tapir_perf_record__parse(const struct tapir_perf_data *d, const uint8_t *rec, size_t len,
			      struct tapir_perf_record *out)
{
	struct tapir_byte_input in = {rec, len, false};

	*out = (struct tapir_perf_record){.cpu = UINT32_MAX, .bytes = (uint32_t)len};
	out->type = (uint32_t)tapir_byte_input__le(&in, 4);
	out->misc = (uint16_t)tapir_byte_input__le(&in, 2);
	if (tapir_byte_input__le(&in, 2) != len || len < HEADER_BYTES)
		return false;
	if (out->type == TAPIR_PERF_REC_SAMPLE) {
		out->attr = attr_of_sample(d, in.at, in.left);
		return out->attr && parse_sample(&in, out);
	}
	if (out->type <= TAPIR_PERF_REC_KERNEL_MAX) {
		out->attr = attr_of_other(d, in.at, in.left);
		return parse_other(&in, out);
	}
	out->body = in.at;
	out->body_bytes = in.left;
	return true;
}

bool tapir_perf_mmap__of(const struct tapir_perf_record *record, struct tapir_perf_mmap *out)
{
	bool is_new = record->type == TAPIR_PERF_REC_MMAP2;
	size_t fixed = is_new ? MMAP2_BYTES : MMAP_BYTES;
	const uint8_t *p = record->body;

	if (record->body_bytes < fixed)
		return false;
	*out = (struct tapir_perf_mmap){
		.pid = tapir_le__u32(p),
		.tid = tapir_le__u32(p + 4),
		.start_va = tapir_le__u64(p + 8),
		.bytes = tapir_le__u64(p + 16),
		.file_off = tapir_le__u64(p + 24),
		.is_executable = !(record->misc & TAPIR_PERF_MISC_DATA),
		.path = (const char *)p + fixed,
	};
	out->path_len = strnlen(out->path, record->body_bytes - fixed);
	/*
	 * The same 24 bytes hold a build ID (u8 length, 3 bytes unused, 20 bytes), or the file's
	 * device, inode and generation.
	 */
	if (is_new && record->misc & TAPIR_PERF_MISC_BUILD_ID) {
		out->build_id_bytes = p[32] <= sizeof(out->build_id) ? p[32] : 0;
		memcpy(out->build_id, p + 36, out->build_id_bytes);
	} else if (is_new) {
		out->major = tapir_le__u32(p + 32);
		out->minor = tapir_le__u32(p + 36);
		out->inode = tapir_le__u64(p + 40);
	}
	if (is_new)
		out->is_executable = tapir_le__u32(p + 56) & PROT_EXECUTABLE;
	return out->bytes && out->start_va + out->bytes > out->start_va;
}
