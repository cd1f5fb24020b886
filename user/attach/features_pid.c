// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does a uprobe_multi link with a pid see every thread? A probe on a two-instruction function
 * of this program, limited to this process, is hit from another thread; a program counts.
 */
#include "attach/features.h"

#include <bpf/bpf.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "attach/bpf_insn.h"
#include "attach/links.h"
#include "attach/unkillable_call.h"
#include "base/diag.h"
#include "base/file.h"

/*
 * The probe goes onto the first instruction of this function; in assembly, no optimisation can
 * inline or change it.
 */
void tapir_features_site(void);
__asm__(".pushsection .text\n"
	".globl tapir_features_site\n"
	".type tapir_features_site, @function\n"
	"tapir_features_site:\n"
	"	nop\n"
	"	ret\n"
	".size tapir_features_site, . - tapir_features_site\n"
	".popsection\n");

/* The file offset of the site: its program's load segment knows. */
static int find_site(struct dl_phdr_info *info, size_t size, void *ctx)
{
	uint64_t va = (uint64_t)(uintptr_t)tapir_features_site - info->dlpi_addr;
	uint64_t *off = ctx;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && va >= ph->p_vaddr && va - ph->p_vaddr < ph->p_filesz) {
			*off = va - ph->p_vaddr + ph->p_offset;
			return 1;
		}
	}
	return 0;
}

/* A program that adds one to the only element of the array. */
static int load_counter(int map_fd)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = TAPIR_TRACE_UPROBE_MULTI);
	const struct bpf_insn insns[] = {
		TAPIR_INSN_STORE(BPF_REG_10, -8, 0),
		TAPIR_INSN_MAP(BPF_REG_1, map_fd),
		TAPIR_INSN_MOV_REG(BPF_REG_2, BPF_REG_10),
		TAPIR_INSN_ADD(BPF_REG_2, -8),
		TAPIR_INSN_CALL(BPF_FUNC_map_lookup_elem),
		TAPIR_INSN(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 2, 0),
		TAPIR_INSN_MOV(BPF_REG_1, 1),
		TAPIR_INSN(BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_0, BPF_REG_1, 0, BPF_ADD),
		TAPIR_INSN_MOV(BPF_REG_0, 0),
		TAPIR_INSN_EXIT(),
	};

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "tapir_pidtest", "GPL", insns,
			     sizeof(insns) / sizeof(insns[0]), &opts);
}

static void *hit(void *arg)
{
	(void)arg;
	tapir_features_site();
	return NULL;
}

static int hit_from_another_thread(void)
{
	pthread_t thread;
	int err = pthread_create(&thread, NULL, hit, NULL);

	return err ? -err : -pthread_join(thread, NULL);
}

struct own_site {
	int prog_fd;
	uint32_t tgid;
	uint64_t off;
};

static long attach_here(const void *ctx)
{
	const struct own_site *own = ctx;
	const struct tapir_link_sites site = {.cnt = 1, .offs = &own->off};

	return tapir_link__try_multi(own->prog_fd, "/proc/self/exe", &site, own->tgid);
}

static int test(void)
{
	tapir_autofd int map_fd =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, "tapir_pidtest", 4, 8, 1, NULL);
	tapir_autofd int prog_fd = map_fd < 0 ? map_fd : load_counter(map_fd);
	struct own_site own = {.prog_fd = prog_fd, .tgid = (uint32_t)getpid()};
	uint64_t hits = 0;
	uint32_t key = 0;
	int link_fd, err;

	if (prog_fd < 0)
		return prog_fd;
	if (!dl_iterate_phdr(find_site, &own.off))
		return -ENOENT;
	link_fd = (int)tapir_unkillable__call(attach_here, &own);
	if (link_fd < 0)
		return link_fd;
	err = hit_from_another_thread();
	tapir_unkillable__close(&link_fd, 1);
	if (!err)
		err = bpf_map_lookup_elem(map_fd, &key, &hits);
	return err ? err : hits > 0;
}

int tapir_features__test_pid_filter(void)
{
	int result;

	if (tapir_feature__is_disabled("pid_filter"))
		return 0;
	result = test();
	if (result < 0)
		return tapir_diag__fail(result, "cannot test the pid filter of uprobe_multi: %s",
					tapir_errno__text(result));
	return result;
}
