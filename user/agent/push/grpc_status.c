// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * gRPC-Web has its status in a frame after the messages, as lines of text, or in HTTP's headers.
 * The answer comes in pieces of any size, and only what leads to the status is kept.
 */
#include "agent/push/grpc_status.h"

#include <string.h>
#include <strings.h>

#define IS_TRAILERS   0x80u
#define IS_COMPRESSED 0x01u
#define MAX_STATUS    9999 /* of 17 that are defined; a proxy may have others */

void tapir_grpc_status__init(struct tapir_grpc_status *s)
{
	*s = (struct tapir_grpc_status){.status = TAPIR_GRPC_NO_STATUS};
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* "grpc-status: 14", with spaces around the value. */
static void take_line(struct tapir_grpc_status *s, const char *line, size_t len)
{
	static const char name[] = "grpc-status:";
	size_t at = sizeof(name) - 1;
	int32_t status = 0;
	size_t digits;

	if (len < at || strncasecmp(line, name, at) != 0)
		return;
	while (len > at && is_space(line[len - 1]))
		len--;
	while (at < len && is_space(line[at]))
		at++;
	for (digits = at; at < len && line[at] >= '0' && line[at] <= '9' && status <= MAX_STATUS;
	     at++)
		status = status * 10 + (line[at] - '0');
	if (at == len && at > digits && status <= MAX_STATUS)
		s->status = status;
}

void tapir_grpc_status__add_header(struct tapir_grpc_status *s, const char *line, size_t len)
{
	if (len >= 5 && !memcmp(line, "HTTP/", 5))
		tapir_grpc_status__init(s);
	else
		take_line(s, line, len);
}

static void end_line(struct tapir_grpc_status *s)
{
	if (!s->is_line_truncated)
		take_line(s, s->line, s->line_len);
	s->line_len = 0;
	s->is_line_truncated = false;
}

static void take_trailers(struct tapir_grpc_status *s, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (data[i] == '\n')
			end_line(s);
		else if (s->line_len < sizeof(s->line))
			s->line[s->line_len++] = data[i];
		else
			s->is_line_truncated = true;
	}
	if (s->left == len)
		end_line(s);
}

/* The number of these bytes that belong to the current frame. */
static size_t take_frame(struct tapir_grpc_status *s, const char *data, size_t len)
{
	size_t cnt = len < s->left ? len : s->left;

	if ((s->head[0] & (IS_TRAILERS | IS_COMPRESSED)) == IS_TRAILERS)
		take_trailers(s, data, cnt);
	s->left -= (uint32_t)cnt;
	if (!s->left)
		s->head_len = 0;
	return cnt;
}

void tapir_grpc_status__add_body(struct tapir_grpc_status *s, const char *data, size_t len)
{
	while (len) {
		size_t n = 1;

		if (s->head_len == TAPIR_GRPC_FRAME_HEAD) {
			n = take_frame(s, data, len);
		} else {
			s->head[s->head_len++] = (uint8_t)*data;
			s->left = (uint32_t)s->head[1] << 24 | (uint32_t)s->head[2] << 16 |
				  (uint32_t)s->head[3] << 8 | s->head[4];
			if (s->head_len == TAPIR_GRPC_FRAME_HEAD && !s->left)
				s->head_len = 0;
		}
		data += n;
		len -= n;
	}
}
