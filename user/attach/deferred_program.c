// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See deferred_program.h. libbpf calls defer_load for a program before it loads it: the prepared
 * instructions are copied, libbpf gets two instructions in their place, and a thread (or, on
 * demand, the first caller that needs the program) loads the copy.
 */
#include "attach/deferred_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/doctor_checks.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"

#define LOG_BYTES (16u << 20) /* of the verifier: a shorter one hides its reason (ENOSPC) */

static const struct kind {
	const char *section, *description;
	enum bpf_prog_type type;
	uint32_t flags;
} kinds[] = {
	[TAPIR_DEFERRED_PROBES] = {"uprobe.s", "probes", BPF_PROG_TYPE_KPROBE, BPF_F_SLEEPABLE},
	[TAPIR_DEFERRED_SAMPLES] = {"perf_event", "samples", BPF_PROG_TYPE_PERF_EVENT, 0},
};

struct tapir_deferred_program {
	enum tapir_deferred_kind kind;
	pthread_t thread;
	bool is_running;
	bool is_on_demand;
	char name[32];
	struct bpf_insn *insns;
	size_t insn_cnt;
	struct bpf_prog_load_opts opts; /* func_info and line_info are owned */
	int fd;				/* or -errno; -1 as long as it is not loaded */
};

/*
 * The programs of the object that this thread opens and loads; NULL: the program is loaded with the
 * others.
 */
static __thread struct tapir_deferred_program *awaited[TAPIR_DEFERRED_KINDS];

static void *copy_bytes(const void *bytes, size_t len)
{
	void *own = len ? malloc(len) : NULL;

	if (own)
		memcpy(own, bytes, len);
	return own;
}

/* Copies what BPF_PROG_LOAD needs of the program. */
static int copy_load_opts(struct tapir_deferred_program *l, const struct bpf_program *prog,
			  const struct bpf_prog_load_opts *opts)
{
	size_t func_bytes = (size_t)opts->func_info_cnt * opts->func_info_rec_size,
	       line_bytes = (size_t)opts->line_info_cnt * opts->line_info_rec_size;

	snprintf(l->name, sizeof(l->name), "%s", bpf_program__name(prog));
	l->insn_cnt = bpf_program__insn_cnt(prog);
	l->insns = copy_bytes(bpf_program__insns(prog), l->insn_cnt * sizeof(*l->insns));
	l->opts = (struct bpf_prog_load_opts){
		.sz = sizeof(l->opts),
		.expected_attach_type = bpf_program__expected_attach_type(prog),
		.prog_btf_fd = opts->prog_btf_fd,
		.prog_flags = opts->prog_flags,
		.kern_version = opts->kern_version,
		.func_info = copy_bytes(opts->func_info, func_bytes),
		.func_info_cnt = opts->func_info_cnt,
		.func_info_rec_size = opts->func_info_rec_size,
		.line_info = copy_bytes(opts->line_info, line_bytes),
		.line_info_cnt = opts->line_info_cnt,
		.line_info_rec_size = opts->line_info_rec_size,
	};
	return l->insns && (!func_bytes || l->opts.func_info) && (!line_bytes || l->opts.line_info)
		       ? 0
		       : -ENOMEM;
}

static void *run_loader(void *arg)
{
	struct tapir_deferred_program *l = arg;
	tapir_autofree char *log = calloc(1, LOG_BYTES); /* written when libbpf tries once more */
	int fd;

	l->opts.log_buf = log;
	l->opts.log_size = log ? LOG_BYTES : 0;
	fd = bpf_prog_load(kinds[l->kind].type, l->name, "Dual BSD/GPL", l->insns, l->insn_cnt,
			   &l->opts);
	if (fd < 0)
		fd = -errno;
	if (fd < 0 && log)
		tapir_log__last_lines(TAPIR_LOG_DEBUG, log, TAPIR_VERIFIER_LINES);
	__atomic_store_n(&l->fd, fd, __ATOMIC_RELEASE);
	return NULL;
}

/* Called by libbpf before it loads, in place of its own handler for the section. */
static int defer_load(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	struct tapir_deferred_program *l = awaited[cookie];
	struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int err;

	opts->prog_flags |= kinds[cookie].flags;
	/* The first of its section is the one: the program of perf:EVENT is in that of samples. */
	if (!l || l->insns)
		return 0;
	err = copy_load_opts(l, prog, opts);
	if (!err)
		err = bpf_program__set_insns(prog, nothing, sizeof(nothing) / sizeof(nothing[0]));
	if (err)
		return err;
	opts->func_info_cnt = opts->line_info_cnt = 0;
	opts->func_info = opts->line_info = NULL;
	opts->prog_btf_fd = 0;
	if (l->is_on_demand)
		return 0;
	err = -pthread_create(&l->thread, NULL, run_loader, l);
	l->is_running = !err;
	return err;
}

static int handlers[TAPIR_DEFERRED_KINDS];

/* Never freed: up to 1.1, libbpf frees its table when the last one goes, and uses it again. */
static void register_handlers(void)
{
	for (int i = 0; i < TAPIR_DEFERRED_KINDS; i++) {
		LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .cookie = i,
			    .prog_prepare_load_fn = defer_load);

		handlers[i] =
			libbpf_register_prog_handler(kinds[i].section, kinds[i].type, 0, &opts);
	}
}

int tapir_deferred_program__new(enum tapir_deferred_kind kind, struct tapir_deferred_program **out)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct tapir_deferred_program *l;

	pthread_once(&once, register_handlers);
	if (handlers[kind] < 0)
		return handlers[kind];
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->kind = kind;
	l->fd = -1;
	*out = awaited[kind] = l;
	return 0;
}

void tapir_deferred_program__end_capture(struct tapir_deferred_program *l)
{
	if (awaited[l->kind] == l)
		awaited[l->kind] = NULL;
}

void tapir_deferred_program__on_demand(struct tapir_deferred_program *l)
{
	l->is_on_demand = true;
}

int tapir_deferred_program__fd(struct tapir_deferred_program *l)
{
	if (l->is_running)
		pthread_join(l->thread, NULL);
	l->is_running = false;
	if (l->is_on_demand && l->insns)
		run_loader(l);
	l->is_on_demand = false;
	if (l->fd < 0)
		return tapir_diag__fail(
			l->fd,
			"cannot load the BPF program for %s: %s (-v shows the kernel's reason)",
			kinds[l->kind].description, tapir_errno__text(l->fd));
	return l->fd;
}

int tapir_deferred_program__fd_now(const struct tapir_deferred_program *l)
{
	return __atomic_load_n(&l->fd, __ATOMIC_ACQUIRE);
}

void tapir_deferred_program__free(struct tapir_deferred_program *l)
{
	if (!l)
		return;
	if (l->is_running)
		pthread_join(l->thread, NULL);
	tapir_deferred_program__end_capture(l);
	tapir_guard__fd(&l->fd);
	free((void *)l->opts.func_info);
	free((void *)l->opts.line_info);
	free(l->insns);
	free(l);
}

/* ---- the others ---------------------------------------------------------------------------- */

/* The verifier's log, which libbpf passes on in one text, has its reason at the end. */
int tapir_load__log(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *text = NULL;

	if (level == LIBBPF_DEBUG || vasprintf(&text, fmt, ap) < 0)
		return 0;
	tapir_log__last_lines(TAPIR_LOG_DEBUG, text, TAPIR_VERIFIER_LINES);
	free(text);
	return 0;
}

/* libbpf returns -ESRCH for every failure to read type information. */
static bool is_without_btf(int *err)
{
	tapir_autofd int fd = -1;

	if (*err != -ESRCH && *err != -ENOENT)
		return false;
	fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return true;
	*err = fd < 0 ? -errno : *err;
	return false;
}

int tapir_load__error(int err)
{
	if (err == -EACCES)
		return tapir_diag__fail(
			-EOPNOTSUPP,
			"cannot load BPF programs: this kernel's verifier rejects them (-v shows its reason; please report it)");
	if (err == -EPERM && tapir_doctor__has_cap(CAP_BPF) && tapir_doctor__has_cap(CAP_PERFMON))
		return tapir_diag__fail(
			-EPERM,
			"cannot load BPF programs: the kernel refuses one although tapir has CAP_BPF and CAP_PERFMON: by lockdown, by a security module, or in a user namespace (-v shows which; see 'tapir doctor')");
	if (err == -EPERM)
		return tapir_diag__fail(
			-EPERM,
			"cannot load BPF programs: requires CAP_BPF and CAP_PERFMON (run as root; see 'tapir doctor')");
	if (is_without_btf(&err))
		return tapir_diag__fail(
			-EOPNOTSUPP,
			"cannot load BPF programs: the kernel has no BTF (/sys/kernel/btf/vmlinux, CONFIG_DEBUG_INFO_BTF)");
	return tapir_diag__fail(err, "cannot load BPF programs: %s (-v shows the kernel's reason)",
				tapir_errno__text(err));
}
