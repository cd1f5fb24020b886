// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir list of tracepoints and system calls: for each its name as a SOURCE, as `tapir trace` takes
 * it, and its fields with their types, as tracefs describes them.
 */
#include "cli/list_machine.h"

#include <errno.h>
#include <stdio.h>

#include "attach/tracepoints.h"
#include "base/diag.h"
#include "base/str.h"
#include "cli/terminal.h"
#include "trace/record.h"

#define NAME_WIDTH 40

static void add_type(const struct tapir_tracepoint_field *f, struct tapir_str *out)
{
	switch (f->field_type) {
	case TAPIR_FIELD_STR:
		tapir_str__adds(out, "str");
		return;
	case TAPIR_FIELD_BLOB:
		tapir_str__adds(out, "bytes");
		return;
	case TAPIR_FIELD_PTR:
		tapir_str__adds(out, "ptr");
		return;
	case TAPIR_FIELD_BOOL:
		tapir_str__adds(out, "bool");
		return;
	default:
		tapir_str__addf(out, "%c%u", f->field_type == TAPIR_FIELD_INT ? 'i' : 'u',
				f->machine_field.size * 8u);
	}
}

static void write_text(const struct tapir_tracepoint *t, const struct tapir_tracepoint_format *f,
		       struct tapir_str *out)
{
	char provider[TAPIR_TRACEPOINT_PROVIDER_BYTES];
	size_t begin = out->len;

	tapir_tracepoint__provider(t, provider);
	tapir_str__addf(out, "%s:%s", provider, t->name);
	tapir_str__pad(out, begin, NAME_WIDTH);
	tapir_str__adds(out, " (");
	for (unsigned i = 0; i < f->field_cnt; i++) {
		tapir_str__adds(out, i ? ", " : "");
		add_type(&f->fields[i], out);
		tapir_str__addf(out, " %s", f->fields[i].name);
	}
	tapir_str__adds(out, f->skipped_cnt ? ", ...)\n" : ")\n");
}

static void write_json(const struct tapir_tracepoint *t, const struct tapir_tracepoint_format *f,
		       struct tapir_str *out)
{
	char provider[TAPIR_TRACEPOINT_PROVIDER_BYTES];
	struct tapir_str type = {};

	tapir_tracepoint__provider(t, provider);
	tapir_str__addf(out, "{\"provider\":\"%s\",\"name\":\"%s\",\"args\":[", provider, t->name);
	for (unsigned i = 0; i < f->field_cnt; i++) {
		tapir_str__clear(&type);
		add_type(&f->fields[i], &type);
		tapir_str__addf(out, "%s{\"name\":\"%s\",\"type\":\"%s\"}", i ? "," : "",
				f->fields[i].name, type.data ? type.data : "");
	}
	tapir_str__adds(out, "]}\n");
	tapir_str__fini(&type);
}

int tapir_list_machine__print(const char *text, bool json)
{
	struct tapir_tracepoint_list list = {};
	struct tapir_tracepoint_format format;
	struct tapir_machine_source *source = NULL;
	const struct tapir_tracepoint *t;
	struct tapir_str out = {};
	int err = tapir_machine_source__parse(text, &source);

	/* A large program has a hundred thousand functions, and nm(1) has the same answer. */
	if (!err && tapir_machine_source__is_function(source))
		err = tapir_diag__fail(-EINVAL,
				       "functions of a file are not listed: 'nm -D %s' shows those "
				       "that it exports",
				       source->file);
	if (!err)
		err = tapir_tracepoints__find(source, &list);
	if (!err && !list.cnt)
		err = tapir_diag__fail(-ENOENT, "this kernel has nothing that matches '%s'", text);
	tapir_vec_for_each (t, &list) {
		err = err ? err : tapir_tracepoint__format(t, &format);
		if (!err && json)
			write_json(t, &format, &out);
		else if (!err)
			write_text(t, &format, &out);
	}
	if (!err)
		err = tapir_terminal__flush(&out);
	tapir_str__fini(&out);
	tapir_tracepoint_list__fini(&list);
	tapir_machine_source__free(source);
	return err;
}
