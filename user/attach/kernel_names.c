// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of kernel functions by a program of a dozen instructions, written out as such: it is not in
 * the BPF object, so that where a kernel refuses it all else works. The address is the program's
 * context, and the text comes back in a map.
 */
#include "attach/kernel_names.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/bpf_insn.h"
#include "base/file.h"

#define TEXT_BYTES 1024 /* longer than a symbol's (KSYM_SYMBOL_LEN) */
#define FORMAT	   "%pS"

struct tapir_kernel_names {
	int format_fd, text_fd, prog_fd;
	char text[TEXT_BYTES];
};

/* The helper takes its format from a map that is frozen. */
static int make_format(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_RDONLY_PROG);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "tapir_format", 4, sizeof(FORMAT), 1, &opts);
	uint32_t zero = 0;

	if (fd < 0)
		return -errno;
	if (bpf_map_update_elem(fd, &zero, FORMAT, BPF_ANY) || bpf_map_freeze(fd)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

/* The value of an array's only element, as a 64-bit constant. */
#define ELEMENT(dst, map_fd)                                                                       \
	TAPIR_INSN(BPF_LD | BPF_DW | BPF_IMM, dst, BPF_PSEUDO_MAP_VALUE, 0, map_fd),               \
		TAPIR_INSN(0, 0, 0, 0, 0)

/* bpf_snprintf(text, TEXT_BYTES, "%pS", &va, 8), where the context is va. */
static int load_names(const struct tapir_kernel_names *n)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .prog_flags = BPF_F_SLEEPABLE);
	const struct bpf_insn insns[] = {
		TAPIR_INSN(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_6, BPF_REG_1, 0, 0),
		TAPIR_INSN(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, BPF_REG_6, -8, 0),
		ELEMENT(BPF_REG_1, n->text_fd),
		TAPIR_INSN_MOV(BPF_REG_2, TEXT_BYTES),
		ELEMENT(BPF_REG_3, n->format_fd),
		TAPIR_INSN_MOV_REG(BPF_REG_4, BPF_REG_10),
		TAPIR_INSN_ADD(BPF_REG_4, -8),
		TAPIR_INSN_MOV(BPF_REG_5, 8),
		TAPIR_INSN_CALL(BPF_FUNC_snprintf),
		TAPIR_INSN_EXIT(),
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_SYSCALL, "tapir_ksym", "GPL", insns,
			       sizeof(insns) / sizeof(insns[0]), &opts);

	return fd < 0 ? -errno : fd;
}

int tapir_kernel_names__new(struct tapir_kernel_names **out)
{
	struct tapir_kernel_names *n = calloc(1, sizeof(*n));
	int err = 0;

	if (!n)
		return -ENOMEM;
	n->text_fd = n->prog_fd = -1;
	n->format_fd = make_format();
	if (n->format_fd < 0)
		err = n->format_fd;
	if (!err) {
		n->text_fd =
			bpf_map_create(BPF_MAP_TYPE_ARRAY, "tapir_ksym", 4, TEXT_BYTES, 1, NULL);
		err = n->text_fd < 0 ? -errno : 0;
	}
	if (!err) {
		n->prog_fd = load_names(n);
		err = n->prog_fd < 0 ? n->prog_fd : 0;
	}
	if (err) {
		tapir_kernel_names__free(n);
		return err;
	}
	*out = n;
	return 0;
}

void tapir_kernel_names__free(struct tapir_kernel_names *n)
{
	if (!n)
		return;
	tapir_guard__fd(&n->prog_fd);
	tapir_guard__fd(&n->text_fd);
	tapir_guard__fd(&n->format_fd);
	free(n);
}

bool tapir_kernel_names__parse(char *text, uint64_t va, uint64_t *start_va, uint64_t *size)
{
	char *plus = strstr(text, "+0x"), *at;
	uint64_t off, bytes;

	if (!plus || plus == text)
		return false;
	off = strtoull(plus + 1, &at, 16);
	if (strncmp(at, "/0x", 3) != 0)
		return false;
	bytes = strtoull(at + 1, &at, 16);
	if ((*at && *at != ' ') || off > va || off > bytes)
		return false;
	*plus = '\0';
	*start_va = va - off;
	*size = bytes;
	return true;
}

bool tapir_kernel_names__find(struct tapir_kernel_names *n, uint64_t va, const char **name,
			      uint64_t *start_va, uint64_t *size)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &va, .ctx_size_in = sizeof(va));
	uint32_t zero = 0;

	if (bpf_prog_test_run_opts(n->prog_fd, &opts) || (int32_t)opts.retval <= 0 ||
	    bpf_map_lookup_elem(n->text_fd, &zero, n->text))
		return false;
	n->text[TEXT_BYTES - 1] = '\0';
	if (!tapir_kernel_names__parse(n->text, va, start_va, size))
		return false;
	*name = n->text;
	return true;
}
