// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Feature probes: each does the smallest thing that only a kernel with the feature can do, and
 * names the commit that added it. Distributions backport, so a version number proves nothing.
 */
#include "attach/features.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/bpf_insn.h"
#include "attach/links.h"

/* 0 or -errno of something that returns an fd; the fd is closed. */
static int outcome(int fd)
{
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int probe_btf(void)
{
	int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);

	return outcome(fd < 0 ? -errno : fd);
}

/* Commit 457f44363a88 "bpf: Implement BPF ring buffer and verifier support for it". */
static int probe_ring_buffer(void)
{
	return outcome(bpf_map_create(BPF_MAP_TYPE_RINGBUF, "tapir_try", 0, 0,
				      (unsigned)sysconf(_SC_PAGESIZE), NULL));
}

/*
 * For tracing programs since commit a10787e6d58c "bpf: Enable task local storage for tracing
 * programs". The map wants BTF for its key and value: one int serves as both.
 */
static int probe_task_storage(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	struct btf *btf = btf__new_empty();
	int type = btf ? btf__add_int(btf, "int", 4, BTF_INT_SIGNED) : -ENOMEM;
	int err = type < 0 ? type : btf__load_into_kernel(btf);

	if (!err) {
		opts.btf_fd = (unsigned)btf__fd(btf);
		opts.btf_key_type_id = opts.btf_value_type_id = (unsigned)type;
		err = outcome(
			bpf_map_create(BPF_MAP_TYPE_TASK_STORAGE, "tapir_try", 4, 4, 0, &opts));
	}
	btf__free(btf);
	return err;
}

/* Commit 8c7dcb84e3b7 "bpf: implement sleepable uprobes by chaining gps", and what follows it. */
static int probe_sleepable(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .prog_flags = BPF_F_SLEEPABLE);
	const struct bpf_insn insns[] = {
		TAPIR_INSN_MOV_REG(BPF_REG_1, BPF_REG_10),
		TAPIR_INSN_ADD(BPF_REG_1, -8),
		TAPIR_INSN_MOV(BPF_REG_2, 8),
		TAPIR_INSN_MOV(BPF_REG_3, 0),
		TAPIR_INSN_CALL(BPF_FUNC_copy_from_user),
		TAPIR_INSN_MOV(BPF_REG_0, 0),
		TAPIR_INSN_EXIT(),
	};

	return outcome(bpf_prog_load(BPF_PROG_TYPE_KPROBE, "tapir_try", "GPL", insns,
				     sizeof(insns) / sizeof(insns[0]), &opts));
}

/*
 * Commit 89ae89f53d20 "bpf: Add multi uprobe link". A directory cannot be probed: a kernel that
 * knows the link checks the path and returns EBADF, one that does not returns EINVAL.
 */
static int try_uprobe_link(bool is_session)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type =
			    is_session ? TAPIR_TRACE_UPROBE_SESSION : TAPIR_TRACE_UPROBE_MULTI);
	const struct bpf_insn insns[] = {TAPIR_INSN_MOV(BPF_REG_0, 0), TAPIR_INSN_EXIT()};
	const struct tapir_link_sites site = {
		.cnt = 1, .offs = (uint64_t[]){0}, .is_session = is_session};
	int prog_fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "tapir_try", "GPL", insns, 2, &opts);
	int err;

	if (prog_fd < 0)
		return prog_fd;
	err = tapir_link__try_multi(prog_fd, "/", &site, 0);
	close(prog_fd);
	if (err >= 0)
		close(err);
	return err == -EBADF ? 0 : err < 0 ? err : -EINVAL;
}

static int probe_uprobe_multi(void)
{
	return try_uprobe_link(false);
}

/* Commit d920179b3d48 "bpf: Add support for uprobe multi session attach". */
static int probe_uprobe_session(void)
{
	return try_uprobe_link(true);
}

/* The PMU's number is in sysfs; again a directory: EINVAL comes after the permission check. */
static int probe_perf_uprobe(void)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	uint64_t type;
	int fd, err = tapir_link__perf_type(&type);

	if (err)
		return err;
	attr.type = (uint32_t)type;
	attr.uprobe_path = (uint64_t)(uintptr_t) "/";
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	err = outcome(fd < 0 ? -errno : fd);
	return err == -EINVAL ? 0 : err;
}

static int probe_cpu_clock(void)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .freq = 1,
				       .sample_freq = 99,
				       .disabled = 1};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	return outcome(fd < 0 ? -errno : fd);
}

static const struct {
	const char *name, *purpose;
} features[TAPIR_FEATURE_CNT] = {
#define TAPIR_X(id, word, text) [TAPIR_FEATURE_##id] = {.name = word, .purpose = text},
	TAPIR_FEATURES(TAPIR_X)
#undef TAPIR_X
};

static int (*const probes[TAPIR_FEATURE_CNT])(void) = {
	[TAPIR_FEATURE_BTF] = probe_btf,
	[TAPIR_FEATURE_RING_BUFFER] = probe_ring_buffer,
	[TAPIR_FEATURE_TASK_STORAGE] = probe_task_storage,
	[TAPIR_FEATURE_SLEEPABLE] = probe_sleepable,
	[TAPIR_FEATURE_UPROBE_MULTI] = probe_uprobe_multi,
	[TAPIR_FEATURE_UPROBE_SESSION] = probe_uprobe_session,
	[TAPIR_FEATURE_PERF_UPROBE] = probe_perf_uprobe,
	[TAPIR_FEATURE_CPU_CLOCK] = probe_cpu_clock,
};

bool tapir_feature__is_unknown(const struct tapir_feature *feature)
{
	switch (feature->err) {
	case 0:
	case -EPERM:
	case -EACCES:
	case -ENOENT:
	case -EINVAL:
	case -E2BIG:
	case -ENODEV:
	case -ENOSYS:
	case -EOPNOTSUPP:
	case -524: /* ENOTSUPP, the kernel's own */
		return false;
	default:
		return true;
	}
}

bool tapir_feature__is_disabled(const char *name)
{
	const char *list = getenv("TAPIR_DISABLE");
	size_t len = strlen(name);

	while (list && *list) {
		size_t word_len = strcspn(list, ",");

		if (word_len == len && !memcmp(list, name, len))
			return true;
		list += word_len + (list[word_len] == ',');
	}
	return false;
}

void tapir_features__probe(struct tapir_features *out)
{
	libbpf_print_fn_t print = libbpf_set_print(NULL); /* failing is what probes do */

	for (int i = 0; i < TAPIR_FEATURE_CNT; i++) {
		struct tapir_feature *f = &out->by_id[i];

		f->is_disabled = tapir_feature__is_disabled(features[i].name);
		f->err = f->is_disabled ? -ENOTSUP : probes[i]();
		f->is_there = !f->err;
	}
	libbpf_set_print(print);
}

const char *tapir_feature__name(enum tapir_feature_id id)
{
	return features[id].name;
}

const char *tapir_feature__purpose(enum tapir_feature_id id)
{
	return features[id].purpose;
}

/* A tracepoint by its type, which a kernel may be without. */
static const char *const required_types[TAPIR_FAMILY_CNT] = {
	[TAPIR_FAMILY_IO] = "btf_trace_block_getrq",	     /* without CONFIG_BLOCK */
	[TAPIR_FAMILY_CALLS] = "btf_trace_sys_enter",	     /* without CONFIG_FTRACE_SYSCALLS */
	[TAPIR_FAMILY_KERNEL] = "btf_trace_page_fault_user", /* on x86 */
	/* Since 6.3, commit 6e6eda44b939 "sock: add tracepoint for send recv length". */
	[TAPIR_FAMILY_EXCHANGE] = "btf_trace_sock_send_length",
};

bool tapir_features__can_capture(enum tapir_family_id family)
{
	struct btf *types = required_types[family] ? btf__load_vmlinux_btf() : NULL;
	bool is_there = !required_types[family] ||
			(types && btf__find_by_name(types, required_types[family]) > 0);

	btf__free(types);
	return is_there;
}
