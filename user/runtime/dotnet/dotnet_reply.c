// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The decoding half of dotnet_ipc.h: a cursor that never passes the end of what came. After a
 * failure every read fails, so a message is checked once, at its end; then nothing may be left over
 * either.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/dotnet/dotnet_ipc.h"

#define MAX_TEXT_UNITS 32768u /* a message has no room for more */
#define SERVER_SET     0xff
#define SERVER_OK      0x00
#define SERVER_ERROR   0xff

const char *tapir_dotnet__error_text(uint32_t hresult)
{
	static const struct {
		uint32_t hresult;
		const char *text;
	} texts[] = {
		{TAPIR_DOTNET_BAD_ENCODING, "it did not understand the message"},
		{TAPIR_DOTNET_UNKNOWN_COMMAND, "it does not know the command (an older runtime)"},
		{TAPIR_DOTNET_UNKNOWN_MAGIC, "it speaks another version of the protocol"},
		{TAPIR_DOTNET_NOT_SUPPORTED,
		 "this kind of runtime does not support it (NativeAOT)"},
		{TAPIR_DOTNET_FAIL, "it failed"},
		{TAPIR_DOTNET_NOT_YET_AVAILABLE, "not yet: the runtime is starting or suspended"},
		{TAPIR_DOTNET_UNINITIALIZED, "the runtime is not initialized"},
		{TAPIR_DOTNET_INVALID_ARG, "an argument is invalid"},
		{TAPIR_DOTNET_ENV_NOT_FOUND, "no such environment variable"},
		{TAPIR_DOTNET_PROFILER_ACTIVE,
		 "the limit of profilers is reached (32, or 1 in an older runtime)"},
		{TAPIR_DOTNET_MODULE_NOT_FOUND,
		 "it could not load the file (a policy forbids it, or it is for another machine)"},
		{TAPIR_DOTNET_OUT_OF_MEMORY, "it is out of memory"},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].hresult == hresult)
			return texts[i].text;
	return "unknown error";
}

struct cursor {
	const uint8_t *at, *end;
	bool is_truncated;
};

static uint64_t read_number(struct cursor *c, unsigned bytes)
{
	uint64_t value = 0;

	if ((size_t)(c->end - c->at) < bytes) {
		c->is_truncated = true;
		return 0;
	}
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)c->at[i] << (8 * i);
	c->at += bytes;
	return value;
}

static struct cursor cursor_of(const struct tapir_dotnet_reply *reply)
{
	return (struct cursor){reply->payload, reply->payload + reply->len, reply->is_error};
}

/* Everything was there, and nothing else. */
static bool is_complete(const struct cursor *c)
{
	return !c->is_truncated && c->at == c->end;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void add_utf8(struct tapir_str *out, uint32_t c)
{
	if (c < 0x80) {
		tapir_str__addc(out, (char)c);
		return;
	}
	if (c < 0x800) {
		tapir_str__addc(out, (char)(0xc0 | c >> 6));
	} else {
		if (c < 0x10000) {
			tapir_str__addc(out, (char)(0xe0 | c >> 12));
		} else {
			tapir_str__addc(out, (char)(0xf0 | c >> 18));
			tapir_str__addc(out, (char)(0x80 | (c >> 12 & 0x3f)));
		}
		tapir_str__addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
	}
	tapir_str__addc(out, (char)(0x80 | (c & 0x3f)));
}

static bool is_high(uint32_t unit)
{
	return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low(uint32_t unit)
{
	return unit >= 0xdc00 && unit < 0xe000;
}

/* A lone surrogate becomes U+FFFD; a NUL ends the text. */
static void add_units(struct tapir_str *out, const uint8_t *units, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t c = units[2 * i] | (uint32_t)units[2 * i + 1] << 8, low;

		if (!c)
			return;
		low = i + 1 < cnt ? units[2 * i + 2] | (uint32_t)units[2 * i + 3] << 8 : 0;
		if (is_high(c) && is_low(low)) {
			c = 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
			i++;
		} else if (is_high(c) || is_low(c)) {
			c = 0xfffd;
		}
		add_utf8(out, c);
	}
}

static void take_text_into(struct cursor *c, uint32_t max_units, struct tapir_str *out)
{
	uint32_t cnt = (uint32_t)read_number(c, 4);

	if (c->is_truncated || cnt > max_units || (size_t)(c->end - c->at) / 2 < cnt) {
		c->is_truncated = true;
		return;
	}
	add_units(out, c->at, cnt);
	c->at += (size_t)cnt * 2;
}

/* Never NULL but without memory: then c is cut, too. */
static char *read_ipc_string(struct cursor *c)
{
	struct tapir_str text = {};

	take_text_into(c, MAX_TEXT_UNITS, &text);
	tapir_str__addc(&text, '\0');
	if (text.failed) {
		c->is_truncated = true;
		tapir_str__fini(&text);
	}
	return text.data;
}

/* ---- the message ------------------------------------------------------------------------------ */

int tapir_dotnet__reply_bytes(const void *header)
{
	const uint8_t *h = header;
	int size = h[14] | h[15] << 8;

	if (memcmp(h, "DOTNET_IPC_V1", 14) || size < (int)TAPIR_DOTNET_HEADER_BYTES ||
	    h[16] != SERVER_SET || (h[17] != SERVER_OK && h[17] != SERVER_ERROR))
		return -EPROTO;
	return size;
}

int tapir_dotnet__parse_advert(const void *bytes, size_t len)
{
	static const char magic[] = "ADVR_V1"; /* with its NUL */

	return len == TAPIR_DOTNET_ADVERT_BYTES && !memcmp(bytes, magic, sizeof(magic)) ? 0
											: -EPROTO;
}

int tapir_dotnet__parse_reply(const void *bytes, size_t len, struct tapir_dotnet_reply *out)
{
	struct tapir_dotnet_reply reply = {};
	struct cursor c;

	if (len < TAPIR_DOTNET_HEADER_BYTES || tapir_dotnet__reply_bytes(bytes) != (int)len)
		return -EPROTO;
	reply.payload = (const uint8_t *)bytes + TAPIR_DOTNET_HEADER_BYTES;
	reply.len = len - TAPIR_DOTNET_HEADER_BYTES;
	if (((const uint8_t *)bytes)[17] == SERVER_ERROR) {
		c = cursor_of(&reply);
		reply.is_error = true;
		reply.hresult = (uint32_t)read_number(&c, 4);
		if (c.is_truncated) /* a text may follow the code */
			return -EPROTO;
	}
	*out = reply;
	return 0;
}

int tapir_dotnet__parse_hresult(const struct tapir_dotnet_reply *reply, uint32_t *out)
{
	struct cursor c = cursor_of(reply);
	uint32_t value = (uint32_t)read_number(&c, 4);

	if (!is_complete(&c))
		return -EPROTO;
	*out = value;
	return 0;
}

int tapir_dotnet__parse_session(const struct tapir_dotnet_reply *reply, uint64_t *out)
{
	struct cursor c = cursor_of(reply);
	uint64_t value = read_number(&c, 8);

	if (!is_complete(&c))
		return -EPROTO;
	*out = value;
	return 0;
}

/* ---- processes --------------------------------------------------------------------------------- */

int tapir_dotnet__parse_process(const struct tapir_dotnet_reply *reply,
				enum tapir_dotnet_command command, struct tapir_dotnet_process *out)
{
	bool has_version = command != TAPIR_DOTNET_PROCESS_INFO;
	bool has_rid = command == TAPIR_DOTNET_PROCESS_INFO3;
	struct cursor c = cursor_of(reply);
	struct tapir_dotnet_process p = {};

	if (has_rid && read_number(&c, 4) < 1)
		return -EPROTO;
	p.pid = read_number(&c, 8);
	for (unsigned i = 0; i < sizeof(p.cookie); i++)
		p.cookie[i] = (uint8_t)read_number(&c, 1);
	p.cmdline = read_ipc_string(&c);
	p.os = read_ipc_string(&c);
	p.arch = read_ipc_string(&c);
	p.entry_assembly = has_version ? read_ipc_string(&c) : calloc(1, 1);
	p.version = has_version ? read_ipc_string(&c) : calloc(1, 1);
	p.rid = has_rid ? read_ipc_string(&c) : calloc(1, 1);
	if (!is_complete(&c) || !p.entry_assembly || !p.version || !p.rid) {
		tapir_dotnet_process__fini(&p);
		return -EPROTO;
	}
	*out = p;
	return 0;
}

void tapir_dotnet_process__fini(struct tapir_dotnet_process *p)
{
	free(p->cmdline);
	free(p->os);
	free(p->arch);
	free(p->entry_assembly);
	free(p->version);
	free(p->rid);
	*p = (struct tapir_dotnet_process){};
}
