// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The probes as a DTrace provider, for dtrace(1) of systemtap-sdt-dev and for programs that are
 * instrumented with it: `dtrace -h -s P.d -o P_dtrace.h`.
 */
#include "cli/manifest/emit_c.h"

#define PROBE_ARG_MAX 12u

/* Types of one word: the tool's grammar knows no others. */
static const char *dtrace_type(const struct tapir_layout_field *f)
{
	const char *type = f->type == TAPIR_LAYOUT_UTF8 ? "char *" : c_type__of_number(f->type);

	return type && f->repeat == TAPIR_REPEAT_ONCE ? type : "void *";
}

static void add_probe(const struct c_event *ev, struct tapir_str *out)
{
	unsigned cnt = ev->layout->field_cnt;

	tapir_str__addf(out, "\tprobe %s(", ev->id);
	for (unsigned i = 0; i < cnt && i < PROBE_ARG_MAX; i++)
		tapir_str__addf(out, "%s%s %s", i ? ", " : "", dtrace_type(ev->fields[i].layout),
				ev->fields[i].id);
	tapir_str__adds(out, ");\n");
}

void emit_dtrace(const struct c_provider *p, struct tapir_str *out)
{
	if (!p->layout->event_cnt)
		return; /* dtrace(1) takes no empty provider */
	tapir_str__addf(out, "/* Made by tapir-manifest: do not edit. */\nprovider %s {\n", p->id);
	for (unsigned i = 0; i < p->layout->event_cnt; i++)
		add_probe(&p->events[i], out);
	tapir_str__adds(out, "};\n");
}
