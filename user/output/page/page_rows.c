// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bounds that hold whatever the recording has, and numbers in few characters: a page is read by a
 * browser as one string, so its size decides whether it opens.
 */
#include "output/page/page_rows.h"
#include "base/order.h"

#include <string.h>

/* ---- marks ---------------------------------------------------------------------------------------- */

#define FIRST_CELL_NS 1000000ull

static int by_mark(const void *a, const void *b)
{
	const struct tapir_page_mark *x = a, *y = b;

	return tapir_order__by(
		tapir_order__up(x->time_ns, y->time_ns), tapir_order__up(x->thread, y->thread),
		tapir_order__up(x->kind, y->kind), tapir_order__up(x->node, y->node));
}

/* The time goes first: a column of its own has it (heat). */
static void put_into_cells(struct tapir_page_marks *marks)
{
	struct tapir_page_mark *m;

	tapir_vec_for_each (m, &marks->rows) {
		m->time_ns -= m->time_ns % marks->cell_ns;
		if (marks->cell_ns > TAPIR_PAGE_LAST_CELL_NS)
			m->thread = 0;
		if (marks->cell_ns > TAPIR_PAGE_LAST_CELL_NS * 2)
			m->node = 0;
		if (marks->cell_ns > TAPIR_PAGE_LAST_CELL_NS * 4)
			m->kind = 0;
	}
}

static void merge_marks(struct tapir_page_marks *marks)
{
	struct tapir_page_mark *m, *last = NULL;

	qsort(marks->rows.data, marks->rows.cnt, sizeof(*marks->rows.data), by_mark);
	tapir_vec_for_each (m, &marks->rows) {
		if (last && !by_mark(last, m)) {
			last->weight += m->weight;
			last->text = last->text == m->text ? m->text : 0;
			continue;
		}
		last = last ? last + 1 : marks->rows.data;
		*last = *m;
	}
	marks->rows.cnt = (size_t)(last + 1 - marks->rows.data);
}

static void merge_marks_until_few(struct tapir_page_marks *marks)
{
	if (!marks->cell_ns)
		marks->cell_ns = FIRST_CELL_NS;
	for (;; marks->cell_ns *= 2) {
		put_into_cells(marks);
		merge_marks(marks);
		if (marks->rows.cnt <= marks->max_rows / 2)
			return;
	}
}

void tapir_page_marks__add(struct tapir_page_marks *marks, const struct tapir_page_mark *mark)
{
	if (marks->rows.cnt >= marks->max_rows)
		merge_marks_until_few(marks);
	marks->failed |= !tapir_vec__push(&marks->rows, *mark);
}

/* ---- slices --------------------------------------------------------------------------------------- */

static int by_length(const void *a, const void *b)
{
	const struct tapir_page_slice *x = a, *y = b;

	return tapir_order__down(x->took_ns, y->took_ns);
}

static int page_rows_by_time(const void *a, const void *b)
{
	const struct tapir_page_slice *x = a, *y = b;

	return tapir_order__by(tapir_order__up(x->from_ns, y->from_ns),
			       tapir_order__up(x->thread, y->thread));
}

static void drop_shorter_half(struct tapir_page_slices *slices)
{
	size_t kept = slices->max_rows / 2;

	qsort(slices->rows.data, slices->rows.cnt, sizeof(*slices->rows.data), by_length);
	for (size_t i = kept; i < slices->rows.cnt; i++)
		slices->left_ns += slices->rows.data[i].took_ns;
	slices->left_cnt += slices->rows.cnt - kept;
	slices->least_ns = slices->rows.data[kept].took_ns;
	slices->rows.cnt = kept;
}

void tapir_page_slices__add(struct tapir_page_slices *slices, const struct tapir_page_slice *slice)
{
	if (slice->took_ns < slices->least_ns) {
		slices->left_cnt++;
		slices->left_ns += slice->took_ns;
		return;
	}
	slices->failed |= !tapir_vec__push(&slices->rows, *slice);
	if (slices->rows.cnt > slices->max_rows)
		drop_shorter_half(slices);
}

void tapir_page_slices__sort(struct tapir_page_slices *slices)
{
	if (slices->rows.cnt)
		qsort(slices->rows.data, slices->rows.cnt, sizeof(*slices->rows.data),
		      page_rows_by_time);
}

/* ---- texts ---------------------------------------------------------------------------------------- */

uint32_t tapir_page_texts__number(struct tapir_page_texts *texts, const char *text, size_t len)
{
	uint64_t hash = tapir_hash__bytes(0, text, len), *number;
	bool is_new = false;
	const char *kept;

	if (!len)
		return 0;
	number = tapir_map__get(&texts->by_hash, hash);
	if (number)
		return (uint32_t)*number;
	kept = tapir_arena__text(&texts->arena, text, len);
	if (!kept) {
		texts->left_cnt++;
		return 0;
	}
	number = tapir_map__put(&texts->by_hash, hash, &is_new);
	if (!number || !tapir_vec__push(&texts->all, kept)) {
		texts->failed = true;
		return 0;
	}
	*number = texts->all.cnt;
	return (uint32_t)texts->all.cnt;
}

void tapir_page_texts__write(const struct tapir_page_texts *texts, const char *key,
			     struct tapir_json *j)
{
	const char *const *text;

	tapir_json__open(j, key, '[');
	tapir_json__str(j, NULL, "");
	tapir_vec_for_each (text, &texts->all)
		tapir_json__str(j, NULL, *text);
	tapir_json__close(j, ']');
}

void tapir_page_texts__fini(struct tapir_page_texts *texts)
{
	tapir_arena__fini(&texts->arena);
	tapir_map__fini(&texts->by_hash);
	tapir_vec__fini(&texts->all);
}

/* ---- columns -------------------------------------------------------------------------------------- */

/* Bytes on their way into base64, which takes three at a time. */
struct base64 {
	struct tapir_str *out;
	uint32_t bits;
	unsigned byte_cnt;
};

static void add_byte(struct base64 *b, uint8_t byte)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	b->bits = b->bits << 8 | byte;
	if (++b->byte_cnt < 3)
		return;
	for (int shift = 18; shift >= 0; shift -= 6)
		tapir_str__addc(b->out, digits[b->bits >> shift & 63]);
	b->bits = b->byte_cnt = 0;
}

static void add_base64_number(struct base64 *b, uint64_t n)
{
	for (; n > 0x7f; n >>= 7)
		add_byte(b, (uint8_t)(n | 0x80));
	add_byte(b, (uint8_t)n);
}

/* Zero bytes at the end are more numbers than the column has rows: they are not read. */
static void end_base64(struct base64 *b)
{
	while (b->byte_cnt)
		add_byte(b, 0);
}

static uint64_t number_at(const char *at, const struct tapir_page_column *column)
{
	uint32_t narrow;
	uint64_t wide;

	if (column->is_wide) {
		memcpy(&wide, at, sizeof(wide));
		return wide < TAPIR_PAGE_MAX_WIDE ? wide : TAPIR_PAGE_MAX_WIDE;
	}
	memcpy(&narrow, at, sizeof(narrow));
	return narrow;
}

static bool is_constant(const char *first, size_t row_bytes, size_t cnt,
			const struct tapir_page_column *column)
{
	for (const char *at = first; cnt--; at += row_bytes)
		if (number_at(at, column) != number_at(first, column))
			return false;
	return true;
}

static void write_column(struct tapir_json *j, const char *rows, size_t row_bytes, size_t cnt,
			 const struct tapir_page_column *column)
{
	const char *at = cnt ? rows + column->offset : NULL;
	struct base64 b = {.out = j->out};
	uint64_t n, last = 0;

	if (cnt && is_constant(at, row_bytes, cnt, column)) {
		tapir_json__u64(j, column->key, number_at(at, column));
		return;
	}
	tapir_json__str(j, column->key, "");
	j->out->len -= !j->out->failed; /* inside the quotes */
	for (; cnt--; at += row_bytes) {
		n = number_at(at, column);
		if (!column->is_wide)
			add_base64_number(&b, n);
		else
			add_base64_number(&b, n >= last ? (n - last) * 2 : (last - n) * 2 - 1);
		last = n;
	}
	end_base64(&b);
	tapir_str__addc(j->out, '"');
}

void tapir_page_columns__write(struct tapir_json *j, const char *key, const void *rows,
			       size_t row_bytes, size_t cnt,
			       const struct tapir_page_column *columns)
{
	tapir_json__open(j, key, '{');
	tapir_json__u64(j, "cnt", cnt);
	for (; columns->key; columns++)
		write_column(j, rows, row_bytes, cnt, columns);
	tapir_json__close(j, '}');
}
