// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Small answers, and the forms of large ones: those of `tapir export` and some more, of which the
 * first is the recording itself.
 */
#include "agent/answer.h"

#include <errno.h>
#include <string.h>

#include "base/diag.h"
#include "base/json.h"
#include "output/sink/sinks.h"

int tapir_answer__send(int fd, const struct tapir_wire_head *head, const char *body, size_t len,
		       int flags)
{
	int err = tapir_wire__send_head(fd, head, flags);

	if (!err)
		err = tapir_wire__send_data(fd, body, len, flags);
	return err ? err : tapir_wire__send_end(fd, flags);
}

int tapir_answer__error(int fd, unsigned status, const char *text, int flags)
{
	struct tapir_wire_head head = {.status = (uint16_t)status,
				       .mime = TAPIR_MIME_JSON,
				       .retry_s = status == 429 || status == 503 ? 5 : 0};
	struct tapir_str body = {};
	struct tapir_json j = tapir_json__to(&body);
	int err;

	tapir_json__open(&j, NULL, '{');
	tapir_json__str(&j, "error", text);
	tapir_json__close(&j, '}');
	tapir_str__addc(&body, '\n');
	err = body.failed ? -ENOMEM : tapir_answer__send(fd, &head, body.data, body.len, flags);
	tapir_str__fini(&body);
	return err;
}

int tapir_answer__diag(int fd, unsigned status, int flags)
{
	struct tapir_str text = {};
	int err;

	for (int i = 0; i < tapir_diag__cnt(); i++)
		tapir_str__addf(&text, "%s%s", i ? "; " : "", tapir_diag__line(i));
	tapir_diag__clear();
	err = tapir_answer__error(fd, status, text.data ? text.data : "failed", flags);
	tapir_str__fini(&text);
	return err;
}

unsigned tapir_answer__status(int err)
{
	switch (err) {
	case -EINVAL:
		return 400;
	case -EKEYREJECTED: /* by the caller's role */
		return 403;
	case -ESRCH:
	case -ENOENT:
		return 404;
	case -EPERM:
	case -EACCES:
	case -ENOTSUP:
		return 501;
	case -ENOSPC:
	case -EFBIG:
	case -EDQUOT:
		return 507;
	default:
		return 500;
	}
}

json_t *tapir_answer__parse(const char *text, size_t len)
{
	json_t *root = text ? json_loadb(text, len, JSON_ALLOW_NUL, NULL) : NULL;

	return root || !text
		       ? root
		       : json_loadb(text, len, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
}

/* ---- forms of a recording, by the commands that make them ------------------------------------ */

static const enum tapir_mime mimes[] = {
	[TAPIR_SINK_IS_BINARY] = TAPIR_MIME_BINARY,
	[TAPIR_SINK_IS_TEXT] = TAPIR_MIME_TEXT,
	[TAPIR_SINK_IS_JSON] = TAPIR_MIME_JSON,
};

/* The agent reads debug files for a client: this is their largest sum in one archive. */
#define MAX_DEBUG_MB "512"

/* In addition to those of `tapir export`; the first is the recording itself. */
static const struct tapir_answer_format others[] = {
	{.name = "tapir", .suffix = "tapir", .mime = TAPIR_MIME_BINARY},
	{.name = "archive",
	 .suffix = "tapir",
	 .mime = TAPIR_MIME_BINARY,
	 .argv = {"archive", "-", "--debug-files", "--max-size=" MAX_DEBUG_MB, "--output=-"},
	 .has_files = true},
	{.name = "report",
	 .suffix = "report.json",
	 .mime = TAPIR_MIME_JSON,
	 .argv = {"report", "--json", "-"}},
	{.name = "flamegraph",
	 .suffix = "svg",
	 .mime = TAPIR_MIME_SVG,
	 .argv = {"flamegraph", "-"}},
	{.name = "html", .suffix = "html", .mime = TAPIR_MIME_HTML, .argv = {"html", "-"}},
	{.name = "none", .mime = TAPIR_MIME_JSON, .is_none = true},
};

#define OTHER_CNT (sizeof(others) / sizeof(others[0]))

bool tapir_answer_format__find(const char *name, struct tapir_answer_format *out)
{
	const struct tapir_sink *f = tapir_sink__find(name);

	if (f) {
		*out = (struct tapir_answer_format){.name = f->name,
						    .suffix = f->suffix,
						    .mime = mimes[f->content],
						    .argv = {"export", "--format", f->name, "-"}};
		return true;
	}
	for (size_t i = 0; i < OTHER_CNT; i++)
		if (!name || !strcmp(others[i].name, name)) {
			*out = others[i];
			return true;
		}
	return false;
}

const char *tapir_answer_format__name(size_t i)
{
	if (i < OTHER_CNT)
		return others[i].name;
	return tapir_sink__name(i - OTHER_CNT);
}
