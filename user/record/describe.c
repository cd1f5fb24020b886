// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fills PROCESS and MAPPING records. A process that ended early has no /proc any longer: then the
 * record has what BPF saw, which is the name and the ids, and its strings are empty.
 */
#include "record/describe.h"

#include <string.h>

#include "base/clock.h"
#include "symbol/vdso.h"

static struct tapir_sv comm_of(const struct tapir_proc *proc)
{
	return (struct tapir_sv){proc->comm, strnlen(proc->comm, sizeof(proc->comm))};
}

static const struct tapir_rec *with_strings(struct tapir_recbuf *buf,
					    const struct tapir_rec_process *fixed,
					    const struct tapir_proc *proc, struct tapir_sv comm,
					    struct tapir_sv exe, bool no_command_lines)
{
	return tapir_recbuf__process(
		buf, fixed, comm, exe,
		(struct tapir_sv){proc->cmdline, no_command_lines ? 0 : proc->cmdline_len},
		tapir_sv__of(proc->cgroup));
}

const struct tapir_rec *tapir_describe__process(struct tapir_recbuf *buf,
						const struct tapir_proc *proc,
						bool no_command_lines)
{
	struct tapir_rec_process fixed = {
		.tgid = proc->tgid,
		.parent_tgid = proc->parent_tgid,
		.ns_tgid = proc->ns_tgid,
		.uid = proc->uid,
		.start_ns = proc->start_ns,
		.kind = TAPIR_PROCESS_EXISTING,
	};

	tapir_rec__init(&fixed.h, TAPIR_REC_PROCESS, sizeof(fixed), tapir_clock__now_ns());
	return with_strings(buf, &fixed, proc, comm_of(proc), tapir_sv__of(proc->exe),
			    no_command_lines);
}

const struct tapir_rec *tapir_describe__process_event(struct tapir_recbuf *buf,
						      const struct tapir_rec_process *rec,
						      const struct tapir_proc *proc,
						      bool no_command_lines)
{
	struct tapir_process_view seen;

	/* /proc/PID/exe may be closed to us; BPF saw what was executed. */
	tapir_process_view__of(&rec->h, &seen);
	return with_strings(buf, rec, proc, proc->comm[0] ? comm_of(proc) : seen.comm,
			    proc->exe ? tapir_sv__of(proc->exe) : seen.exe, no_command_lines);
}

static struct tapir_sv without_last_nuls(struct tapir_sv sv)
{
	while (sv.len && !sv.data[sv.len - 1])
		sv.len--;
	return sv;
}

const struct tapir_rec *tapir_describe__process_read(struct tapir_recbuf *buf,
						     const struct tapir_rec_process *rec,
						     struct tapir_sv cmdline,
						     const char *cgroup_path, bool no_command_lines)
{
	struct tapir_rec_process fixed = *rec;
	struct tapir_process_view seen;

	tapir_process_view__of(&rec->h, &seen);
	if (cmdline.data)
		fixed.flags &= (uint8_t)~TAPIR_PROCESS_CMDLINE_CUT;
	if (!cmdline.data)
		cmdline = seen.cmdline;
	if (no_command_lines) {
		cmdline.len = 0;
		fixed.flags &= (uint8_t)~TAPIR_PROCESS_CMDLINE_CUT;
	}
	return tapir_recbuf__process(buf, &fixed, seen.comm, seen.exe, without_last_nuls(cmdline),
				     tapir_sv__of(cgroup_path));
}

const struct tapir_rec *tapir_describe__mapping(struct tapir_recbuf *buf, uint32_t tgid,
						uint64_t from_ns,
						const struct tapir_mapping_line *line,
						const struct tapir_image *image)
{
	struct tapir_rec_mapping fixed = {
		.tgid = tgid,
		.flags = TAPIR_MAPPING_EXEC | (line->inode ? 0 : TAPIR_MAPPING_ANON),
		.start_va = line->start_va,
		.end_va = line->end_va,
		.file_off = line->file_off,
		.inode = line->inode,
		.dev = line->dev,
	};
	const struct tapir_vdso *vdso = tapir_vdso__at(line);

	tapir_rec__init(&fixed.h, TAPIR_REC_MAPPING, sizeof(fixed), from_ns);
	if (image) {
		fixed.file_id = image->file_id;
		fixed.vaddr_pages = image->vaddr_pages;
		fixed.build_id_bytes = image->build_id_bytes;
		memcpy(fixed.build_id, image->build_id, sizeof(fixed.build_id));
	} else if (vdso) {
		fixed.file_id = vdso->file_id;
		fixed.build_id_bytes = vdso->build_id_bytes;
		memcpy(fixed.build_id, vdso->build_id, sizeof(fixed.build_id));
	}
	return tapir_recbuf__mapping(buf, &fixed, (struct tapir_sv){line->path, line->path_len});
}
