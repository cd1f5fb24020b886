// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests of .NET's diagnostic IPC protocol (dotnet/diagnostics, documentation/design-docs/ipc-
 * protocol.md). Every field is put, then the size in the header is set. Replies are in
 * dotnet_reply.c.
 */
#include "runtime/dotnet/dotnet_ipc.h"

#include <errno.h>
#include <string.h>

#define SIZE_OFF   14
#define NETTRACE   1
#define STREAMING  0 /* of COLLECT_TRACING5's two kinds of sessions */
#define MAX_LEVEL  5
#define MAX_EVENTS 16384 /* event ids; more would not fit into a message */

static void put_bytes(struct tapir_str *out, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		tapir_str__addc(out, (char)(value >> (8 * i)));
}

static void put_u8(struct tapir_str *out, uint8_t value)
{
	put_bytes(out, value, 1);
}

static void put_u32(struct tapir_str *out, uint32_t value)
{
	put_bytes(out, value, 4);
}

static void put_u64(struct tapir_str *out, uint64_t value)
{
	put_bytes(out, value, 8);
}

/* ---- text ---------------------------------------------------------------------------------- */

/* NULL: a count of 0. */
static int append_ipc_string(struct tapir_str *out, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t left = text ? strlen(text) : 0, count_off = out->len, units;

	put_u32(out, 0);
	if (!text)
		return 0;
	while (left) {
		size_t len = tapir_utf8__len(p, left);

		if (!len)
			return -EINVAL;
		tapir_str__add_utf16(out, tapir_utf8__code(p, len));
		p += len;
		left -= len;
		if (out->len > TAPIR_DOTNET_MAX_BYTES)
			return -EMSGSIZE;
	}
	put_bytes(out, 0, 2);
	if (out->failed)
		return -ENOMEM;
	units = (out->len - count_off - 4) / 2;
	for (unsigned i = 0; i < 4; i++)
		out->data[count_off + i] = (char)(units >> (8 * i));
	return 0;
}

/* ---- the message ----------------------------------------------------------------------------- */

static void begin_command(struct tapir_str *out, enum tapir_dotnet_command command)
{
	tapir_str__clear(out);
	tapir_str__add(out, "DOTNET_IPC_V1", 14); /* its NUL too */
	put_bytes(out, 0, 2);
	put_u8(out, (uint8_t)(command >> 8));
	put_u8(out, (uint8_t)command);
	put_bytes(out, 0, 2);
}

/* An incomplete message must not be sent. */
static int finish_message(struct tapir_str *out, int err)
{
	if (!err && out->failed)
		err = -ENOMEM;
	if (!err && out->len > TAPIR_DOTNET_MAX_BYTES)
		err = -EMSGSIZE;
	if (err) {
		tapir_str__clear(out);
		return err;
	}
	out->data[SIZE_OFF] = (char)out->len;
	out->data[SIZE_OFF + 1] = (char)(out->len >> 8);
	return 0;
}

int tapir_dotnet__put_plain(struct tapir_str *out, enum tapir_dotnet_command command)
{
	switch (command) {
	case TAPIR_DOTNET_PROCESS_INFO:
	case TAPIR_DOTNET_PROCESS_INFO2:
	case TAPIR_DOTNET_PROCESS_INFO3:
	case TAPIR_DOTNET_RESUME_RUNTIME:
	case TAPIR_DOTNET_DISABLE_PERF_MAP:
		begin_command(out, command);
		return finish_message(out, 0);
	default: /* it has a payload */
		tapir_str__clear(out);
		return -EINVAL;
	}
}

int tapir_dotnet__put_enable_perf_map(struct tapir_str *out, enum tapir_dotnet_perf_map type)
{
	begin_command(out, TAPIR_DOTNET_ENABLE_PERF_MAP);
	put_u32(out, (uint32_t)type);
	return finish_message(out, type < TAPIR_DOTNET_PERF_MAP_ALL ||
						   type > TAPIR_DOTNET_PERF_MAP_PERF_MAP
					   ? -EINVAL
					   : 0);
}

int tapir_dotnet__put_attach_profiler(struct tapir_str *out, uint32_t timeout,
				      const uint8_t clsid[16], const char *path, const void *data,
				      uint32_t len)
{
	int err;

	begin_command(out, TAPIR_DOTNET_ATTACH_PROFILER);
	put_u32(out, timeout);
	tapir_str__add(out, (const char *)clsid, 16);
	err = *path ? append_ipc_string(out, path) : -EINVAL;
	if (!err && len > TAPIR_DOTNET_MAX_BYTES)
		err = -EMSGSIZE;
	if (!err) {
		put_u32(out, len);
		if (len)
			tapir_str__add(out, data, len);
	}
	return finish_message(out, err);
}

int tapir_dotnet__put_stop(struct tapir_str *out, uint64_t session_id)
{
	begin_command(out, TAPIR_DOTNET_STOP_TRACING);
	put_u64(out, session_id);
	return finish_message(out, 0);
}

/* ---- sessions -------------------------------------------------------------------------------- */

static int put_event_filter(struct tapir_str *out, const struct tapir_dotnet_provider *p)
{
	uint32_t cnt = p->has_event_filter ? p->event_id_cnt : 0;

	if (cnt > MAX_EVENTS)
		return -EMSGSIZE;
	put_u8(out, p->has_event_filter && p->is_allow_list);
	put_u32(out, cnt);
	for (uint32_t i = 0; i < cnt; i++)
		put_u32(out, p->event_ids[i]);
	return 0;
}

static int put_providers(struct tapir_str *out, enum tapir_dotnet_command command,
			 const struct tapir_dotnet_session *s)
{
	int err = 0;

	if (!s->provider_cnt || s->provider_cnt > TAPIR_DOTNET_MAX_PROVIDERS)
		return -EINVAL;
	put_u32(out, s->provider_cnt);
	for (uint32_t i = 0; !err && i < s->provider_cnt; i++) {
		const struct tapir_dotnet_provider *p = &s->providers[i];

		/* what an older command cannot express must not be dropped silently */
		if (p->level > MAX_LEVEL || !p->name || !*p->name ||
		    (p->has_event_filter && command != TAPIR_DOTNET_COLLECT_TRACING5))
			return -EINVAL;
		put_u64(out, p->keywords);
		put_u32(out, p->level);
		err = append_ipc_string(out, p->name);
		if (!err)
			err = append_ipc_string(out, p->filter);
		if (!err && command == TAPIR_DOTNET_COLLECT_TRACING5)
			err = put_event_filter(out, p);
	}
	return err;
}

int tapir_dotnet__put_collect(struct tapir_str *out, enum tapir_dotnet_command command,
			      const struct tapir_dotnet_session *s)
{
	begin_command(out, command);
	if (command < TAPIR_DOTNET_COLLECT_TRACING || command > TAPIR_DOTNET_COLLECT_TRACING5 ||
	    !s->buffer_mb || (!s->has_stacks && command < TAPIR_DOTNET_COLLECT_TRACING3))
		return finish_message(out, -EINVAL);
	if (command == TAPIR_DOTNET_COLLECT_TRACING5)
		put_u32(out, STREAMING);
	put_u32(out, s->buffer_mb);
	put_u32(out, NETTRACE);
	if (command >= TAPIR_DOTNET_COLLECT_TRACING4)
		put_u64(out, s->rundown_keyword);
	else if (command >= TAPIR_DOTNET_COLLECT_TRACING2)
		put_u8(out, s->rundown_keyword != 0);
	if (command >= TAPIR_DOTNET_COLLECT_TRACING3)
		put_u8(out, s->has_stacks);
	return finish_message(out, put_providers(out, command, s));
}
