// SPDX-License-Identifier: GPL-2.0-or-later
/* Small answers, and the forms of large ones. */
#include "serve/answer.h"

#include <errno.h>
#include <string.h>

#include "base/diag.h"
#include "base/json.h"

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

/* ---- forms of a recording, by the commands that make them ------------------------------------ */

const struct tapir_answer_format tapir_answer_formats[] = {
	{"tapir", "tapir", TAPIR_MIME_BINARY, {}},
	{"speedscope",
	 "speedscope.json",
	 TAPIR_MIME_JSON,
	 {"export", "--format", "speedscope", "-"}},
	{"nettrace", "nettrace", TAPIR_MIME_BINARY, {"export", "--format", "nettrace", "-"}},
	{"folded", "folded", TAPIR_MIME_TEXT, {"export", "--format", "folded", "-"}},
	{"pprof", "pb.gz", TAPIR_MIME_BINARY, {"export", "--format", "pprof", "-"}},
	{"otlp", "otlp.pb", TAPIR_MIME_BINARY, {"export", "--format", "otlp", "-"}},
	{"perfscript", "perf", TAPIR_MIME_TEXT, {"export", "--format", "perfscript", "-"}},
	{"report", "report.json", TAPIR_MIME_JSON, {"report", "--json", "-"}},
	{"flamegraph", "svg", TAPIR_MIME_SVG, {"flamegraph", "-"}},
	{},
};

const struct tapir_answer_format *tapir_answer_format__find(const char *name)
{
	const struct tapir_answer_format *f = tapir_answer_formats;

	if (!name)
		return f;
	while (f->name && strcmp(f->name, name) != 0)
		f++;
	return f->name ? f : NULL;
}

const char *tapir_answer_format__name(size_t i)
{
	return i < sizeof(tapir_answer_formats) / sizeof(tapir_answer_formats[0])
		       ? tapir_answer_formats[i].name
		       : NULL;
}
