// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * u16 field_cnt, u8 opcode, u8 0, u16 task, u16 0, then the fields: u8 type, u8 repeat, u16 count,
 * u16 member_cnt, u16 name_len, name; the members of a structure follow it.
 */
#include "decode/field_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "tapir/provider.h"

#define ARENA_MAX_BYTES (1u << 20)
#define LAST_REPEAT	TAPIR_REPEAT_COUNT_U32

/* The numbers of provider.h are those of layout.h, so that nothing is translated. */
_Static_assert((int)TAPIR_TYPE_U8 == TAPIR_LAYOUT_U8, "type");
_Static_assert((int)TAPIR_TYPE_PTR == TAPIR_LAYOUT_PTR, "type");
_Static_assert((int)TAPIR_TYPE_BOOL == TAPIR_LAYOUT_BOOL32, "type");
_Static_assert((int)TAPIR_TYPE_FILETIME == TAPIR_LAYOUT_FILETIME, "type");
_Static_assert((int)TAPIR_TYPE_UTF16 == TAPIR_LAYOUT_UTF16, "type");
_Static_assert((int)TAPIR_TYPE_BINARY == TAPIR_LAYOUT_BINARY, "type");
_Static_assert((int)TAPIR_TYPE_STRUCT == TAPIR_LAYOUT_STRUCT, "type");
_Static_assert((int)TAPIR_TYPE_CNT == TAPIR_LAYOUT_TYPE_CNT, "type");
_Static_assert((int)TAPIR_REPEAT_NONE == TAPIR_REPEAT_ONCE, "repeat");
_Static_assert((int)TAPIR_REPEAT_COUNT_FIXED == TAPIR_REPEAT_FIXED, "repeat");
_Static_assert((int)TAPIR_REPEAT_COUNT_FIELD == TAPIR_REPEAT_FIELD, "repeat");
_Static_assert((int)TAPIR_REPEAT_COUNT_U16 == TAPIR_REPEAT_U16, "repeat");
_Static_assert((int)TAPIR_REPEAT_COUNT_U32 == TAPIR_REPEAT_U32, "repeat");

struct list {
	struct tapir_field_list pub; /* first */
	struct tapir_arena arena;
};

struct input {
	struct list *list;
	const uint8_t *at;
	size_t left;
	unsigned field_cnt;
};

struct field_head {
	uint8_t type, repeat;
	uint16_t count, member_cnt, name_len;
};
_Static_assert(sizeof(struct field_head) == 8, "field_head");

static bool read_input(struct input *in, void *out, size_t bytes)
{
	if (in->left < bytes)
		return false;
	memcpy(out, in->at, bytes);
	in->at += bytes;
	in->left -= bytes;
	return true;
}

static bool is_length(uint8_t type)
{
	return type == TAPIR_LAYOUT_UTF16N || type == TAPIR_LAYOUT_UTF8N ||
	       type == TAPIR_LAYOUT_BINARY;
}

/* earlier: its siblings before it. */
static bool is_valid(const struct field_head *head, const struct tapir_layout_field *earlier,
		     unsigned idx)
{
	if (head->type >= TAPIR_LAYOUT_TYPE_CNT || head->repeat > LAST_REPEAT || !head->name_len)
		return false;
	if (is_length(head->type) && head->repeat == TAPIR_REPEAT_ONCE)
		return false;
	if (head->repeat == TAPIR_REPEAT_FIELD &&
	    (head->count >= idx || head->count >= TAPIR_LAYOUT_REFERABLE ||
	     earlier[head->count].type > TAPIR_LAYOUT_I64 ||
	     earlier[head->count].repeat != TAPIR_REPEAT_ONCE))
		return false;
	return (head->type == TAPIR_LAYOUT_STRUCT) == (head->member_cnt != 0);
}

static unsigned min_bytes(const struct tapir_layout_field *f)
{
	unsigned bytes = tapir_layout_type__bytes(f->type);

	switch (f->repeat) {
	case TAPIR_REPEAT_ONCE:
		return f->type == TAPIR_LAYOUT_STRUCT ? f->min_bytes : bytes ? bytes : 1;
	case TAPIR_REPEAT_U16:
		return 2;
	case TAPIR_REPEAT_U32:
		return 4;
	default:
		return 0;
	}
}

static int read_listed_fields(struct input *in, unsigned depth, unsigned cnt,
			      const struct tapir_layout_field **fields, uint16_t *least);

static int read_listed_field(struct input *in, unsigned depth, struct tapir_layout_field *all,
			     unsigned idx)
{
	struct tapir_layout_field *f = &all[idx];
	struct field_head head;
	int err = 0;

	if (++in->field_cnt > TAPIR_MAX_FIELDS || !read_input(in, &head, sizeof(head)) ||
	    head.name_len > in->left || !is_valid(&head, all, idx))
		return -EINVAL;
	f->name = tapir_arena__text(&in->list->arena, (const char *)in->at, head.name_len);
	if (!f->name)
		return -ENOMEM;
	in->at += head.name_len;
	in->left -= head.name_len;
	f->type = head.type;
	f->repeat = head.repeat;
	f->count = head.count;
	f->member_cnt = head.member_cnt;
	if (head.member_cnt)
		err = read_listed_fields(in, depth + 1, head.member_cnt, &f->members,
					 &f->min_bytes);
	/* any number of nothing */
	if (!err && f->type == TAPIR_LAYOUT_STRUCT && f->repeat != TAPIR_REPEAT_ONCE &&
	    !f->min_bytes)
		err = -EINVAL;
	return err;
}

static int read_listed_fields(struct input *in, unsigned depth, unsigned cnt,
			      const struct tapir_layout_field **fields, uint16_t *least)
{
	struct tapir_layout_field *all;
	unsigned bytes = 0;

	if (depth >= TAPIR_LAYOUT_DEPTH || cnt > TAPIR_MAX_FIELDS)
		return -EINVAL;
	all = tapir_arena__alloc(&in->list->arena, (cnt + 1) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (unsigned i = 0; i < cnt; i++) {
		int err = read_listed_field(in, depth, all, i);

		if (err)
			return err;
		bytes += min_bytes(&all[i]);
	}
	*fields = all;
	*least = (uint16_t)(bytes < UINT16_MAX ? bytes : UINT16_MAX);
	return 0;
}

static int parse_list(struct input *in, struct tapir_field_list *pub)
{
	struct {
		uint16_t field_cnt;
		uint8_t opcode, pad0;
		uint16_t task, pad1;
	} head;
	uint16_t least;
	int err;

	if (!read_input(in, &head, sizeof(head)))
		return -EINVAL;
	pub->opcode = head.opcode;
	pub->task = head.task;
	pub->layout.field_cnt = head.field_cnt;
	err = read_listed_fields(in, 0, head.field_cnt, &pub->layout.fields, &least);
	return !err && in->left ? -EINVAL : err;
}

int tapir_field_list__parse(const void *bytes, size_t len, struct tapir_field_list **out)
{
	struct list *list = calloc(1, sizeof(*list));
	struct input in = {.list = list, .at = bytes, .left = len};
	int err;

	if (!list)
		return -ENOMEM;
	list->arena.max_bytes = ARENA_MAX_BYTES;
	err = parse_list(&in, &list->pub);
	if (err) {
		tapir_field_list__free(&list->pub);
		return err;
	}
	*out = &list->pub;
	return 0;
}

void tapir_field_list__free(struct tapir_field_list *pub)
{
	struct list *list = (struct list *)pub;

	if (!list)
		return;
	tapir_arena__fini(&list->arena);
	free(list);
}
