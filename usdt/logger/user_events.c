/* SPDX-License-Identifier: MIT */
/*
 * user_events.c - Linux's user_events (Documentation/trace/user_events.rst) as a logger: each
 * selected event is registered with the kernel, which sets a bit in the library's word while perf,
 * ftrace or a BPF program has enabled it. The library's thread polls these words; an event is on
 * for this logger only while its word is not 0.
 *
 * A record is the fields in order: numbers as they are, of everything else a u32 that says where
 * its bytes are (length << 16 | distance from the end of the u32), then these bytes.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../provider/dynamic_impl.h"
#include "../provider/provider_impl.h"
#include "logger_impl.h"
#include "user_events.h"

#define DESCRIPTION_BYTES 512u /* the kernel takes no longer one */
#define FIELD_MAX	  32u
#define TEXT_BYTES	  1024u /* of all texts that are converted */
#define REACH		  65535u
#define WHOLE		  "__rel_loc u8[] Payload" /* where the fields find no room */

enum { REFUSED = -2, NEW = 0 }; /* else index + 1 */

struct tapir_user_events {
	struct tapir_logger *logger;
	int fd;		      /* -errno */
	uint32_t *enabled;    /* by table_idx: the kernel writes bit 0 */
	int32_t *indices;     /* one per event, too: NEW, REFUSED, or the kernel's index + 1 */
	uint8_t *is_complete; /* one per event, too: registered with WHOLE alone */
	uint8_t *was_enabled; /* one per event, too: as judged last */
	struct tapir_user_events_counts counts;
	struct tapir_user_events *next;
};

static struct tapir_user_events *all; /* under the lock */

/* ---- the kernel ----------------------------------------------------------------------------- */

static int open_kernel(void)
{
	int fd = open("/sys/kernel/tracing/user_events_data", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		fd = open("/sys/kernel/debug/tracing/user_events_data", O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int control_kernel(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

struct user_events_system user_events_system = {open_kernel, control_kernel, writev};

/* ---- descriptions --------------------------------------------------------------------------- */

/* The kernel's word for a number; NULL: its bytes are put after the fields. */
static const char *number_type(const struct tapir_event_field *f)
{
	static const char *const types[TAPIR_TYPE_CNT] = {
		[TAPIR_TYPE_U8] = "u8",	       [TAPIR_TYPE_I8] = "s8",
		[TAPIR_TYPE_U16] = "u16",      [TAPIR_TYPE_I16] = "s16",
		[TAPIR_TYPE_U32] = "u32",      [TAPIR_TYPE_I32] = "s32",
		[TAPIR_TYPE_U64] = "u64",      [TAPIR_TYPE_I64] = "s64",
		[TAPIR_TYPE_F32] = "u32",      [TAPIR_TYPE_F64] = "u64",
		[TAPIR_TYPE_PTR] = "u64",      [TAPIR_TYPE_BOOL] = "u32",
		[TAPIR_TYPE_BOOL8] = "u8",     [TAPIR_TYPE_CHAR16] = "u16",
		[TAPIR_TYPE_FILETIME] = "u64",
	};

	return f->repeat == TAPIR_REPEAT_NONE ? types[f->type] : NULL;
}

static int is_text_field(const struct tapir_event_field *f)
{
	return f->type == TAPIR_TYPE_UTF8N || f->type == TAPIR_TYPE_UTF16N ||
	       (f->repeat == TAPIR_REPEAT_NONE &&
		(f->type == TAPIR_TYPE_UTF8 || f->type == TAPIR_TYPE_UTF16));
}

static int is_wide(const struct tapir_event_field *f)
{
	return f->type == TAPIR_TYPE_UTF16 || f->type == TAPIR_TYPE_UTF16N;
}

struct description {
	char text[DESCRIPTION_BYTES];
	uint32_t len, is_too_long;
};

static void append_description(struct description *d, const char *text)
{
	size_t len = strlen(text);

	if (len >= DESCRIPTION_BYTES - d->len) {
		d->is_too_long = 1;
		return;
	}
	memcpy(d->text + d->len, text, len + 1);
	d->len += (uint32_t)len;
}

/* Letters, digits and _ alone. */
static void put_name(struct description *d, const char *name)
{
	uint32_t from = d->len;

	append_description(d, name);
	for (uint32_t i = from; i < d->len; i++) {
		char c = d->text[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')))
			d->text[i] = '_';
	}
}

static void put_event_name(struct description *d, const struct tapir_event *event)
{
	const struct tapir_event_about *about = event->about;
	char version[] = {'_',
			  'V',
			  (char)('0' + about->version / 100),
			  (char)('0' + about->version / 10 % 10),
			  (char)('0' + about->version % 10),
			  0};
	uint32_t skip = about->version >= 100 ? 0 : about->version >= 10 ? 1 : 2;

	put_name(d, event_state__of((struct tapir_event *)(uintptr_t)event)->provider->name);
	append_description(d, "_");
	put_name(d, about->name);
	if (about->version) {
		append_description(d, "_V");
		append_description(d, version + 2 + skip);
	}
}

static void put_field(struct description *d, const struct tapir_event_field *f)
{
	const char *number = number_type(f);

	append_description(d, number		 ? number
			      : is_text_field(f) ? "__rel_loc char[]"
						 : "__rel_loc u8[]");
	append_description(d, " ");
	if (f->name[0] >= '0' && f->name[0] <= '9')
		append_description(d, "_");
	put_name(d, f->name);
	if (number && (f->type == TAPIR_TYPE_F32 || f->type == TAPIR_TYPE_F64))
		append_description(d, "_bits"); /* the kernel knows no such numbers */
}

/* 1: without its fields, which are too many. */
static int describe_user_event(struct description *d, const struct tapir_event *event)
{
	const struct tapir_event_about *about = event->about;
	uint32_t name_len;

	d->len = d->is_too_long = 0;
	put_event_name(d, event);
	name_len = d->len;
	for (uint32_t i = 0; i < about->field_cnt; i++) {
		append_description(d, i ? "; " : " ");
		put_field(d, &about->fields[i]);
	}
	if (!d->is_too_long && about->field_cnt <= FIELD_MAX)
		return 0;
	d->len = name_len;
	d->text[name_len] = 0;
	d->is_too_long = name_len + sizeof(" " WHOLE) > DESCRIPTION_BYTES;
	append_description(d, " " WHOLE);
	return 1;
}

/* ---- which events it wants, under the lock ---------------------------------------------------- */

static int32_t register_event(struct tapir_user_events *u, const struct tapir_event *event,
			      uint32_t idx)
{
	struct description description;
	struct user_events_reg reg = {
		.size = sizeof(reg),
		.enable_size = sizeof(u->enabled[0]),
		.enable_va = (uintptr_t)&u->enabled[idx],
		.description_va = (uintptr_t)description.text,
	};
	int err;

	u->is_complete[idx] = (uint8_t)describe_user_event(&description, event);
	err = description.is_too_long ? -E2BIG : u->fd;
	if (err >= 0)
		err = user_events_system.control(u->fd, USER_EVENTS_REGISTER, &reg);
	if (err < 0) {
		u->counts.refused_cnt++;
		u->counts.refused_errno = (uint32_t)-err;
		return REFUSED;
	}
	u->counts.registered_cnt++;
	return (int32_t)reg.write_index + 1;
}

static int tracepoint_wants(void *ctx, struct tapir_event *event)
{
	uint32_t idx = event_state__of(event)->table_idx;
	struct tapir_user_events *u = ctx;

	if (u->indices[idx] == NEW)
		prov_store_release(&u->indices[idx], register_event(u, event, idx));
	u->was_enabled[idx] = prov_load(&u->enabled[idx]) != 0;
	return u->indices[idx] > 0 && u->was_enabled[idx];
}

/* The kernel writes the word no more. */
static void unregister_event(struct tapir_user_events *u, uint32_t idx)
{
	struct user_events_unreg unreg = {.size = sizeof(unreg),
					  .disable_va = (uintptr_t)&u->enabled[idx]};

	if (u->indices[idx] > 0) {
		user_events_system.control(u->fd, USER_EVENTS_UNREGISTER, &unreg);
		u->counts.registered_cnt--;
	}
	u->counts.refused_cnt -= u->indices[idx] == REFUSED;
	u->indices[idx] = NEW;
	u->enabled[idx] = 0;
}

static void leave_user_event(void *ctx, struct tapir_event *event)
{
	unregister_event(ctx, event_state__of(event)->table_idx);
}

/* provider_loggers_changed */
static int have_changed(void)
{
	for (const struct tapir_user_events *u = all; u; u = u->next)
		for (uint32_t i = 0; i < provider_table_cnt; i++)
			if (u->indices[i] > 0 &&
			    u->was_enabled[i] != (prov_load(&u->enabled[i]) != 0))
				return 1;
	return 0;
}

/* ---- a record ----------------------------------------------------------------------------------- */

struct record {
	struct iovec pieces[2 + 2 * FIELD_MAX]; /* the index, the fields, their bytes */
	uint32_t piece_cnt, field_cnt;
	uint32_t fixed_bytes, bytes; /* of the fields; after them */
	uint32_t text_used;
	struct { /* where a u32 of `fixed` leads, in bytes after the fields */
		uint32_t at, from, len;
	} locs[FIELD_MAX];
	uint32_t loc_cnt;
	uint8_t fixed[8 * FIELD_MAX];
	char text[TEXT_BYTES];
};

static void put_piece(struct record *r, const void *at, uint32_t bytes)
{
	if (!bytes)
		return;
	r->pieces[r->piece_cnt++] = (struct iovec){(void *)(uintptr_t)at, bytes};
	r->bytes += bytes;
}

static void put_bytes(struct record *r, const void *at, uint32_t bytes, int needs_nul)
{
	r->locs[r->loc_cnt].at = r->fixed_bytes;
	r->locs[r->loc_cnt].from = r->bytes;
	put_piece(r, at, bytes);
	if (needs_nul)
		put_piece(r, "", 1);
	r->locs[r->loc_cnt].len = r->bytes - r->locs[r->loc_cnt].from;
	r->loc_cnt++;
	r->fixed_bytes += 4;
}

static void put_wide(struct record *r, const struct tapir_payload_part *part)
{
	char *at = r->text + r->text_used;
	uint32_t room = TEXT_BYTES - r->text_used;

	if (room < 8) {
		put_bytes(r, NULL, 0, 1);
		return;
	}
	tapir_part__text16(part, at, room);
	r->text_used += (uint32_t)strlen(at) + 1;
	put_bytes(r, at, (uint32_t)strlen(at) + 1, 0);
}

static void put_value(void *ctx, const struct tapir_event_field *f,
		      const struct tapir_payload_part *part)
{
	struct record *r = ctx;

	r->field_cnt++;
	if (number_type(f)) {
		memcpy(r->fixed + r->fixed_bytes, part->at, part->bytes);
		r->fixed_bytes += part->bytes;
	} else if (is_text_field(f) && is_wide(f)) {
		put_wide(r, part);
	} else {
		put_bytes(r, part->at, part->bytes, f->type == TAPIR_TYPE_UTF8N);
	}
}

/* Fills in what a payload that ends early lacks: zeros, and empty texts. */
static void put_absent(struct record *r, const struct tapir_event_field *f)
{
	uint32_t bytes = payload_type__bytes(f->type);

	if (!number_type(f)) {
		put_bytes(r, NULL, 0, is_text_field(f));
		return;
	}
	memset(r->fixed + r->fixed_bytes, 0, bytes);
	r->fixed_bytes += bytes;
}

/* 0: some of it is beyond reach. */
static int point_at_bytes(struct record *r)
{
	for (uint32_t i = 0; i < r->loc_cnt; i++) {
		uint32_t off = r->fixed_bytes - r->locs[i].at - 4 + r->locs[i].from;
		uint32_t word = r->locs[i].len << 16 | off;

		if (off > REACH || r->locs[i].len > REACH)
			return 0;
		memcpy(r->fixed + r->locs[i].at, &word, sizeof(word));
	}
	return 1;
}

static int fill_record(struct record *r, const struct tapir_event_record *record, int is_complete)
{
	const struct tapir_event_about *about = record->kind->about;

	r->piece_cnt = 2;
	r->field_cnt = r->fixed_bytes = r->bytes = r->text_used = r->loc_cnt = 0;
	if (is_complete) {
		put_bytes(r, record->payload, record->payload_bytes, 0);
	} else {
		payload__each(about->fields, about->field_cnt, record->payload,
			      record->payload_bytes, put_value, r);
		for (uint32_t i = r->field_cnt; i < about->field_cnt; i++)
			put_absent(r, &about->fields[i]);
	}
	r->pieces[1] = (struct iovec){r->fixed, r->fixed_bytes};
	return point_at_bytes(r);
}

static void log_event(const struct tapir_event_record *record, void *ctx)
{
	uint32_t idx = event_state__of(logger__event())->table_idx;
	struct tapir_user_events *u = ctx;
	int32_t index = prov_load_acquire(&u->indices[idx]);
	int saved = errno, is_written = 0;
	struct record r;

	if (index <= 0)
		return;
	index--;
	if (fill_record(&r, record, u->is_complete[idx])) {
		r.pieces[0] = (struct iovec){&index, sizeof(index)};
		is_written = user_events_system.write(u->fd, r.pieces, (int)r.piece_cnt) >= 0;
	}
	__atomic_fetch_add(is_written ? &u->counts.written_cnt : &u->counts.lost_cnt, 1,
			   __ATOMIC_RELAXED);
	errno = saved;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Words, indices and flags of all events there can be; pages come as they are used. */
#define ROOM_BYTES (TAPIR_MAX_EVENTS * (sizeof(uint32_t) + sizeof(int32_t) + 2))

static int map_events_room(struct tapir_user_events *u)
{
	void *room = mmap(NULL, ROOM_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (room == MAP_FAILED)
		return -ENOMEM;
	u->enabled = room;
	u->indices = (int32_t *)(u->enabled + TAPIR_MAX_EVENTS);
	u->is_complete = (uint8_t *)(u->indices + TAPIR_MAX_EVENTS);
	u->was_enabled = u->is_complete + TAPIR_MAX_EVENTS;
	return 0;
}

static void release_user_events(struct tapir_user_events *u)
{
	if (u->fd >= 0)
		close(u->fd);
	if (u->enabled)
		munmap(u->enabled, ROOM_BYTES);
	free(u);
}

int tapir_user_events__open(const struct tapir_selection *selections, uint32_t cnt,
			    struct tapir_user_events **out)
{
	static const struct logger_choice choice = {tracepoint_wants, leave_user_event};
	struct tapir_user_events *u;
	int saved = errno, err;

	if (!out)
		return -EINVAL;
	u = calloc(1, sizeof(*u));
	err = u ? map_events_room(u) : -ENOMEM;
	if (!err) {
		u->fd = user_events_system.open();
		err = logger__open(selections, cnt, log_event, u, NULL, &choice, &u->logger);
	}
	if (err && u)
		release_user_events(u);
	if (!err) {
		provider_lock();
		u->next = all;
		all = u;
		provider_loggers_changed = have_changed;
		provider_poller__wake(); /* it looks more often from now on */
		provider_unlock();
		*out = u;
	}
	errno = saved;
	return err;
}

static void unlink_it(const struct tapir_user_events *u)
{
	struct tapir_user_events **link = &all;

	provider_lock();
	while (*link && *link != u)
		link = &(*link)->next;
	if (*link)
		*link = u->next;
	if (!all)
		provider_loggers_changed = NULL;
	provider_unlock();
}

int tapir_user_events__close(struct tapir_user_events *u)
{
	int saved = errno, err;

	if (!u)
		return 0;
	unlink_it(u);
	err = tapir_logger__close(u->logger);
	for (uint32_t i = 0; !err && i < TAPIR_MAX_EVENTS; i++)
		if (u->indices[i] != NEW)
			unregister_event(u, i);
	if (!err)
		release_user_events(u);
	errno = saved;
	return err;
}

void tapir_user_events__counts(struct tapir_user_events *u, struct tapir_user_events_counts *out)
{
	provider_lock();
	*out = u->counts;
	provider_unlock();
	out->lost_cnt += tapir_logger__lost(u->logger, NULL);
}
