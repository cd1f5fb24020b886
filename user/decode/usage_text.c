// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Decimal numbers and one separator each. A file may hold anything, so a line that is not as this
 * file writes it is skipped.
 */
#include "decode/usage_text.h"

#include <inttypes.h>
#include <string.h>

#define NS_PER_MS 1000000u

/* ---- writing -------------------------------------------------------------------------------- */

void tapir_usage_text__add_memory(const struct tapir_memory_series *s, struct tapir_str *out)
{
	tapir_str__addf(out, "%u", s->tgid);
	for (unsigned i = 0; i < s->cnt; i++)
		tapir_str__addf(out, " %" PRIu64 ":%" PRIu64 ":%" PRIu64,
				s->points[i].at_ns / NS_PER_MS, s->points[i].resident_bytes / 1024,
				s->points[i].file_bytes / 1024);
	tapir_str__addc(out, '\n');
}

void tapir_usage_text__add_quota(const struct tapir_quota_use *q, struct tapir_str *out)
{
	tapir_str__addf(out,
			"%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " ",
			q->quota_us, q->period_us, q->throttled_ns, q->period_cnt, q->throttled_cnt,
			q->wall_ns);
	tapir_str__add_printable(out, q->dir.data, q->dir.len);
}

void tapir_usage_text__add_neighbours(const struct tapir_neighbours *n, struct tapir_str *out)
{
	tapir_str__addf(out, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", n->wall_ns,
			n->cpu_cnt, n->all_ns, n->machine_ns);
	for (unsigned i = 0; i < n->cnt; i++) {
		tapir_str__addf(out, "%" PRIu64 " %u ", n->rows[i].cpu_ns, n->rows[i].tgid);
		tapir_str__add_printable(out, n->rows[i].comm,
					 strnlen(n->rows[i].comm, TAPIR_COMM_BYTES));
		tapir_str__addc(out, '\n');
	}
}

/* ---- reading -------------------------------------------------------------------------------- */

/* A number and the byte after it, which is of after; the end of the text is as good. */
static bool take_number(struct tapir_sv *text, char after, uint64_t *out)
{
	uint64_t value = 0;
	size_t len = 0;

	for (; len < text->len && text->data[len] >= '0' && text->data[len] <= '9'; len++)
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(text->data[len] - '0'), &value))
			return false;
	if (!len || (len < text->len && text->data[len] != after))
		return false;
	len += len < text->len;
	*text = (struct tapir_sv){text->data + len, text->len - len};
	*out = value;
	return true;
}

static bool take_point(struct tapir_sv *line, struct tapir_memory_point *p)
{
	uint64_t ms, resident_kb, file_kb;

	if (!take_number(line, ':', &ms) || !take_number(line, ':', &resident_kb) ||
	    !take_number(line, ' ', &file_kb) || ms > UINT64_MAX / NS_PER_MS ||
	    resident_kb > UINT64_MAX / 1024 || file_kb > resident_kb)
		return false;
	*p = (struct tapir_memory_point){ms * NS_PER_MS, resident_kb * 1024, file_kb * 1024};
	return true;
}

bool tapir_usage_text__next_memory(struct tapir_sv *text, struct tapir_memory_series *out)
{
	struct tapir_sv line = tapir_sv__next_line(text);
	uint64_t tgid;

	if (!take_number(&line, ' ', &tgid) || tgid > UINT32_MAX)
		return false;
	out->tgid = (uint32_t)tgid;
	out->cnt = 0;
	while (out->cnt < TAPIR_MEMORY_POINTS && take_point(&line, &out->points[out->cnt])) {
		if (out->cnt && out->points[out->cnt].at_ns <= out->points[out->cnt - 1].at_ns)
			break;
		out->cnt++;
	}
	return true;
}

bool tapir_usage_text__quota(struct tapir_sv text, struct tapir_quota_use *out)
{
	struct tapir_quota_use q = {};

	if (!take_number(&text, ' ', &q.quota_us) || !take_number(&text, ' ', &q.period_us) ||
	    !take_number(&text, ' ', &q.throttled_ns) || !take_number(&text, ' ', &q.period_cnt) ||
	    !take_number(&text, ' ', &q.throttled_cnt) || !take_number(&text, ' ', &q.wall_ns) ||
	    !q.period_us || !q.wall_ns)
		return false;
	q.dir = text;
	*out = q;
	return true;
}

bool tapir_usage_text__neighbours(struct tapir_sv text, struct tapir_neighbours *out)
{
	struct tapir_sv line = tapir_sv__next_line(&text);
	struct tapir_neighbours n = {};
	uint64_t tgid;

	if (!take_number(&line, ' ', &n.wall_ns) || !take_number(&line, ' ', &n.cpu_cnt) ||
	    !take_number(&line, ' ', &n.all_ns) || !n.wall_ns)
		return false;
	if (!take_number(&line, ' ', &n.machine_ns)) /* files of before lack it */
		n.machine_ns = 0;
	while (text.len && n.cnt < TAPIR_NEIGHBOURS_MAX) {
		struct tapir_neighbour *row = &n.rows[n.cnt];

		line = tapir_sv__next_line(&text);
		if (!take_number(&line, ' ', &row->cpu_ns) || !take_number(&line, ' ', &tgid) ||
		    tgid > UINT32_MAX)
			break;
		row->tgid = (uint32_t)tgid;
		line.len = line.len < TAPIR_COMM_BYTES - 1 ? line.len : TAPIR_COMM_BYTES - 1;
		memset(row->comm, 0, sizeof(row->comm));
		if (line.len)
			memcpy(row->comm, line.data, line.len);
		n.cnt++;
	}
	*out = n;
	return true;
}
