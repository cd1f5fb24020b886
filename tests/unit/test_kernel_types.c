// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's types that an object is relocated by. Witness: libbpf, with all of the kernel's
 * types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/kernel_types.h"
#include "base/file.h"
#include "tapir.skel.h"

#define TEST cmocka_unit_test

/* An object that knows these. */
static struct btf *object_of(void)
{
	struct btf *own = btf__new_empty();

	assert_non_null(own);
	assert_true(btf__add_struct(own, "task_struct", 8) > 0);
	assert_true(btf__add_struct(own, "mm_struct___old", 8) > 0);
	assert_true(btf__add_enum(own, "pid_type", 4) > 0);
	return own;
}

static const struct btf_type *find(const struct btf *btf, const char *name, uint32_t kind)
{
	int32_t id = btf__find_by_name_kind(btf, name, kind);

	assert_true(id > 0);
	return btf__type_by_id(btf, (uint32_t)id);
}

static const char *name_of(const struct btf *btf, uint32_t name_off)
{
	return btf__name_by_offset(btf, name_off);
}

/* By name, kind, size and offset, and so on within what they contain. */
static void assert_same(const struct btf *few, uint32_t few_id, const struct btf *all,
			uint32_t all_id, unsigned depth)
{
	const struct btf_type *a = btf__type_by_id(few, few_id), *b = btf__type_by_id(all, all_id);

	assert_int_equal(btf_kind(a), btf_kind(b));
	assert_string_equal(name_of(few, a->name_off), name_of(all, b->name_off));
	if (btf_is_ptr(a) || !few_id || depth > 20)
		return;
	if (btf_is_array(a)) {
		assert_int_equal(btf_array(a)->nelems, btf_array(b)->nelems);
		assert_same(few, btf_array(a)->type, all, btf_array(b)->type, depth + 1);
	} else if (btf_is_mod(a) || btf_is_typedef(a)) {
		assert_same(few, a->type, all, b->type, depth + 1);
	} else {
		assert_int_equal(a->size, b->size);
	}
	for (unsigned i = 0; btf_is_composite(a) && i < btf_vlen(a); i++) {
		const struct btf_member *m = &btf_members(a)[i], *n = &btf_members(b)[i];

		assert_int_equal(btf_vlen(a), btf_vlen(b));
		assert_string_equal(name_of(few, m->name_off), name_of(all, n->name_off));
		assert_int_equal(m->offset, n->offset);
		assert_same(few, m->type, all, n->type, depth + 1);
	}
}

static void kept_types_are_the_kernels(void **state)
{
	struct btf *own = object_of(), *all = btf__load_vmlinux_btf(), *few;
	int fd = memfd_create("types", MFD_CLOEXEC);
	tapir_autofree char *bytes = NULL;
	size_t len;

	(void)state;
	if (!all)
		skip();
	assert_int_equal(tapir_kernel_types__write(own, fd), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(tapir_file__read_fd(fd, 64u << 20, &bytes, &len), 0);
	few = btf__new(bytes, (uint32_t)len);
	assert_non_null(few);
	assert_in_range(btf__type_cnt(few), 100, btf__type_cnt(all) / 20);
	assert_same(few, (uint32_t)btf__find_by_name_kind(few, "task_struct", BTF_KIND_STRUCT), all,
		    (uint32_t)btf__find_by_name_kind(all, "task_struct", BTF_KIND_STRUCT), 0);
	assert_same(few, (uint32_t)btf__find_by_name_kind(few, "mm_struct", BTF_KIND_STRUCT), all,
		    (uint32_t)btf__find_by_name_kind(all, "mm_struct", BTF_KIND_STRUCT), 0);
	assert_int_equal(btf_vlen(find(few, "pid_type", BTF_KIND_ENUM)),
			 btf_vlen(find(all, "pid_type", BTF_KIND_ENUM)));
	btf__free(few);
	btf__free(all);
	btf__free(own);
	close(fd);
}

/* Its instructions once loaded; addresses of maps differ from one to the next. */
static struct bpf_insn *relocated(bool by_few, size_t *cnt)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	int fd = memfd_create("types", MFD_CLOEXEC);
	struct bpf_insn *copy;
	struct tapir_bpf *skel;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	opts.btf_custom_path = by_few ? path : NULL;
	skel = tapir_bpf__open_opts(&opts);
	assert_non_null(skel);
	if (by_few)
		assert_int_equal(tapir_kernel_types__write(bpf_object__btf(skel->obj), fd), 0);
	assert_int_equal(tapir_bpf__load(skel), 0);
	*cnt = bpf_program__insn_cnt(skel->progs.tapir_switch);
	copy = calloc(*cnt, sizeof(*copy));
	assert_non_null(copy);
	memcpy(copy, bpf_program__insns(skel->progs.tapir_switch), *cnt * sizeof(*copy));
	for (size_t i = 0; i < *cnt; i++)
		if (copy[i].code == (BPF_LD | BPF_IMM | BPF_DW))
			copy[i].imm = 0;
	tapir_bpf__destroy(skel);
	close(fd);
	return copy;
}

static void programs_are_relocated_by_them_as_by_all(void **state)
{
	size_t few_cnt, all_cnt;
	struct bpf_insn *few, *all;

	(void)state;
	if (geteuid())
		skip();
	few = relocated(true, &few_cnt);
	all = relocated(false, &all_cnt);
	assert_int_equal(few_cnt, all_cnt);
	assert_memory_equal(few, all, few_cnt * sizeof(*few));
	free(few);
	free(all);
}

/* Type information as a kernel's, small enough to be cut at each byte. */
static struct btf *small_kernel(void)
{
	struct btf *b = btf__new_empty();
	int number = btf__add_int(b, "int", 4, BTF_INT_SIGNED), inner;

	assert_true(number > 0);
	inner = btf__add_struct(b, "mm_struct", 4);
	assert_int_equal(btf__add_field(b, "users", number, 0, 0), 0);
	btf__add_ptr(b, inner);
	btf__add_array(b, number, inner, 3);
	btf__add_typedef(b, "mm_t", inner);
	btf__add_enum(b, "pid_type", 4);
	btf__add_enum_value(b, "PIDTYPE_PID", 0);
	btf__add_struct(b, "task_struct", 32);
	assert_int_equal(btf__add_field(b, "mm", 3, 0, 0), 0);
	assert_int_equal(btf__add_field(b, "all", 4, 64, 0), 0);
	assert_int_equal(btf__add_field(b, "one", 5, 160, 0), 0);
	btf__add_func_proto(b, 0);
	return b;
}

static int keep(const char *bytes, size_t len, const struct btf *own, struct tapir_str *out)
{
	void *copy = malloc(len + 1); /* its end is where a sanitizer sees it */
	int err;

	memcpy(copy, bytes, len);
	err = tapir_kernel_types__keep(copy, len, own, out);
	free(copy);
	return err;
}

static void malformed_types_are_refused(void **state)
{
	struct btf *kernel = small_kernel(), *own = object_of();
	struct tapir_str out = {};
	char *bytes, *changed;
	uint32_t len;

	(void)state;
	bytes = (char *)btf__raw_data(kernel, &len);
	changed = malloc(len);
	assert_int_equal(keep(bytes, len, own, &out), 0);
	assert_in_range(out.len, 100, len);
	for (uint32_t cut = 0; cut < len; cut++) {
		tapir_str__clear(&out);
		assert_int_equal(keep(bytes, cut, own, &out), -EINVAL);
	}
	for (uint32_t i = 0; i < len; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			memcpy(changed, bytes, len);
			changed[i] = (char)(changed[i] ^ 1u << bit);
			tapir_str__clear(&out);
			int err = keep(changed, len, own, &out);
			assert_true(!err || err == -EINVAL);
		}
	free(changed);
	tapir_str__fini(&out);
	btf__free(kernel);
	btf__free(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(kept_types_are_the_kernels),
		TEST(programs_are_relocated_by_them_as_by_all),
		TEST(malformed_types_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
