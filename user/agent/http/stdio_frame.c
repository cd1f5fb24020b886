// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests of a program that has started the agent: fields, each with its length and a NUL. The
 * program is trusted with its own requests, not with their form: a member that comes twice, or a
 * text with a NUL inside, is refused.
 */
#include "agent/http/stdio_frame.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

static int take_once(const char **member, const char *text)
{
	if (*member)
		return -EBADMSG;
	*member = text;
	return 0;
}

static int take_pair_part(struct tapir_stdio_request *rq, uint32_t kind, const char *text)
{
	struct tapir_stdio_pair *last = rq->pair_cnt ? &rq->pairs[rq->pair_cnt - 1] : NULL;

	if (kind == TAPIR_STDIO_VALUE)
		return last ? take_once(&last->value, text) : -EBADMSG;
	if (rq->pair_cnt == TAPIR_STDIO_MAX_PAIRS || (last && !last->value))
		return -EBADMSG;
	rq->pairs[rq->pair_cnt++] = (struct tapir_stdio_pair){.kind = kind, .name = text};
	return 0;
}

/*
 * Only a body may have NULs inside, since its length is kept; all other texts are used as strings.
 */
static int read_frame_field(struct tapir_stdio_request *rq, const struct tapir_stdio_field *f,
			    const char *text)
{
	if (!f->len || text[f->len - 1])
		return -EBADMSG;
	if (f->kind == TAPIR_STDIO_BODY) {
		rq->body_len = f->len - 1;
		return take_once(&rq->body, text);
	}
	if (memchr(text, '\0', f->len - 1))
		return -EBADMSG;
	switch (f->kind) {
	case TAPIR_STDIO_METHOD:
		return take_once(&rq->method, text);
	case TAPIR_STDIO_PATH:
		return take_once(&rq->path, text);
	case TAPIR_STDIO_QUERY:
	case TAPIR_STDIO_HEADER:
	case TAPIR_STDIO_VALUE:
		return take_pair_part(rq, f->kind, text);
	default:
		return -EBADMSG;
	}
}

int tapir_stdio_request__decode(const char *data, size_t len, struct tapir_stdio_request *out)
{
	struct tapir_stdio_field f;
	int err = 0;

	*out = (struct tapir_stdio_request){};
	for (size_t at = 0; !err && at < len; at += f.len) {
		if (len - at < sizeof(f))
			return -EBADMSG;
		memcpy(&f, data + at, sizeof(f));
		at += sizeof(f);
		if (f.len > len - at)
			return -EBADMSG;
		err = read_frame_field(out, &f, data + at);
	}
	if (!out->method || !out->path || *out->path != '/')
		return -EBADMSG;
	if (out->pair_cnt && !out->pairs[out->pair_cnt - 1].value)
		return -EBADMSG;
	return err;
}

const char *tapir_stdio_request__find(const struct tapir_stdio_request *rq, uint32_t kind,
				      const char *name)
{
	for (size_t i = 0; i < rq->pair_cnt; i++) {
		const struct tapir_stdio_pair *p = &rq->pairs[i];

		if (p->kind == kind && !(kind == TAPIR_STDIO_HEADER ? strcasecmp(p->name, name)
								    : strcmp(p->name, name)))
			return p->value;
	}
	return NULL;
}
