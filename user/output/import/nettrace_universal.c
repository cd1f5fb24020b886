// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers are LEB128, texts UTF-8 after a u16 of bytes. The process is that of the event's thread.
 */
#include "output/import/nettrace_universal.h"

#include <string.h>

#include "decode/byte_input.h"

enum tapir_nettrace_universal tapir_nettrace_universal__of(const char *provider, const char *event)
{
	static const struct {
		const char *name;
		enum tapir_nettrace_universal kind;
	} events[] = {{"ExistingProcess", TAPIR_UNIVERSAL_PROCESS},
		      {"ProcessCreate", TAPIR_UNIVERSAL_PROCESS},
		      {"ProcessExit", TAPIR_UNIVERSAL_EXIT},
		      {"ProcessMapping", TAPIR_UNIVERSAL_MAPPING},
		      {"ProcessSymbol", TAPIR_UNIVERSAL_SYMBOL}};

	if (!event)
		return TAPIR_UNIVERSAL_NONE;
	if (!strcmp(provider, "Universal.Events"))
		return !strcmp(event, "cpu")	   ? TAPIR_UNIVERSAL_CPU
		       : !strcmp(event, "cswitch") ? TAPIR_UNIVERSAL_SWITCH
						   : TAPIR_UNIVERSAL_NONE;
	if (strcmp(provider, "Universal.System"))
		return TAPIR_UNIVERSAL_NONE;
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (!strcmp(event, events[i].name))
			return events[i].kind;
	return TAPIR_UNIVERSAL_OTHER;
}

static struct tapir_sv read_u16_text(struct tapir_byte_input *in)
{
	uint64_t len = tapir_byte_input__le(in, 2);

	return (struct tapir_sv){(const char *)tapir_byte_input__take(in, len), len};
}

/* The payload: its id, that of its mapping, the first and the last address, the name. */
bool tapir_nettrace_universal__add_symbol(struct tapir_import_names *names,
					  const struct tapir_nettrace_event *event)
{
	struct tapir_byte_input in = {event->payload, event->payload_bytes, false};
	struct tapir_jit_name name = {.source = TAPIR_JIT_PERF_MAP};
	uint64_t last_va;
	struct tapir_sv text;

	tapir_byte_input__varint(&in);
	tapir_byte_input__varint(&in);
	name.start_va = tapir_byte_input__varint(&in);
	last_va = tapir_byte_input__varint(&in);
	text = read_u16_text(&in);
	if (in.is_bad || last_va < name.start_va || last_va - name.start_va >= INT64_MAX)
		return false;
	name.size = last_va - name.start_va + 1;
	name.name = text.data;
	name.name_len = text.len;
	(void)tapir_import_names__add_code(
		names, name.start_va >= TAPIR_UNIVERSAL_KERNEL_VA ? 0 : event->pid, &name);
	return true;
}

/* The payload: its id, the first address and the one after the last, offset in the file, path. */
static bool put_mapping(struct tapir_import_sink *sink, struct tapir_byte_input *in, uint32_t tgid,
			uint64_t ns)
{
	struct tapir_rec_mapping fixed = {.tgid = tgid, .flags = TAPIR_MAPPING_EXEC};
	struct tapir_sv path;

	tapir_byte_input__varint(in);
	fixed.start_va = tapir_byte_input__varint(in);
	fixed.end_va = tapir_byte_input__varint(in);
	fixed.file_off = tapir_byte_input__varint(in);
	path = read_u16_text(in);
	if (in->is_bad || fixed.end_va <= fixed.start_va)
		return false;
	if (fixed.start_va >= TAPIR_UNIVERSAL_KERNEL_VA)
		return true; /* one mapping has all of the kernel */
	if (!path.len || *path.data != '/')
		fixed.flags |= TAPIR_MAPPING_ANON;
	tapir_rec__init(&fixed.h, TAPIR_REC_MAPPING, sizeof(fixed), ns);
	tapir_import_sink__describe(sink, tapir_recbuf__mapping(&sink->buf, &fixed, path));
	return true;
}

bool tapir_nettrace_universal__put(struct tapir_import_tasks *tasks,
				   enum tapir_nettrace_universal kind,
				   const struct tapir_nettrace_event *event, uint64_t ns)
{
	struct tapir_byte_input in = {event->payload, event->payload_bytes, false};
	struct tapir_sv name;

	switch (kind) {
	case TAPIR_UNIVERSAL_PROCESS: /* its id in its namespace, its name */
		tapir_byte_input__varint(&in);
		name = read_u16_text(&in);
		if (in.is_bad)
			return false;
		tapir_import_tasks__name(tasks, event->pid, event->pid, name.data, name.len, false,
					 ns);
		return true;
	case TAPIR_UNIVERSAL_EXIT:
		tapir_import_tasks__exit(tasks, event->pid, event->pid, ns);
		return true;
	case TAPIR_UNIVERSAL_MAPPING:
		return put_mapping(tasks->sink, &in, event->pid, ns);
	default:
		return true;
	}
}

void tapir_nettrace_universal__put_kernel(struct tapir_import_sink *sink)
{
	struct tapir_rec_mapping fixed = {.flags = TAPIR_MAPPING_EXEC,
					  .start_va = TAPIR_UNIVERSAL_KERNEL_VA,
					  .end_va = UINT64_MAX,
					  .file_id = TAPIR_UNIVERSAL_KERNEL_ID};

	tapir_rec__init(&fixed.h, TAPIR_REC_MAPPING, sizeof(fixed), sink->first_ns);
	tapir_import_sink__describe(
		sink, tapir_recbuf__mapping(&sink->buf, &fixed, tapir_sv__of("[kernel]")));
}
