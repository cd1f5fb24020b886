// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * BTF as in Documentation/bpf/btf.rst: a header, types one after another, strings. Types refer to
 * each other by number, so a type is kept together with all that it contains, and numbers are
 * assigned anew when everything that is kept is known.
 */
#include "elf/kernel_types.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/map.h"
#include "base/vec.h"

#define KERNEL_PATH "/sys/kernel/btf/vmlinux"
#define MAX_BYTES   (64u << 20) /* 6 MB were seen */
#define MAX_TYPES   (1u << 20)

struct kept {
	const char *strings;
	size_t strings_len;
	struct tapir_vec(const struct btf_type *) types; /* by id; 0: void */
	struct tapir_vec(uint32_t) todo;
	uint32_t *new_ids; /* 0: not kept */
	struct tapir_map names;
};

/* ---- reading -------------------------------------------------------------------------------- */

/* The size of what follows the type itself; -1: an unknown kind. */
static long more_bytes(const struct btf_type *t)
{
	size_t cnt = btf_vlen(t);

	switch (btf_kind(t)) {
	case BTF_KIND_INT:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return (long)(cnt * sizeof(struct btf_member));
	case BTF_KIND_ENUM:
		return (long)(cnt * sizeof(struct btf_enum));
	case BTF_KIND_ENUM64:
		return (long)(cnt * sizeof(struct btf_enum64));
	case BTF_KIND_FUNC_PROTO:
		return (long)(cnt * sizeof(struct btf_param));
	case BTF_KIND_VAR:
		return sizeof(struct btf_var);
	case BTF_KIND_DATASEC:
		return (long)(cnt * sizeof(struct btf_var_secinfo));
	case BTF_KIND_DECL_TAG:
		return sizeof(struct btf_decl_tag);
	/*
	 * All other kinds up to the last known have nothing (include/uapi/linux/btf.h). A kernel
	 * with a newer kind has types that cannot be skipped: then all of them are left to libbpf.
	 */
	default:
		return btf_kind(t) && btf_kind(t) <= BTF_KIND_TYPE_TAG ? 0 : -1;
	}
}

static int list_types(struct kept *k, const char *at, const char *end)
{
	static const struct btf_type nothing;

	if (!tapir_vec__push(&k->types, &nothing))
		return -ENOMEM;
	while (at < end) {
		const struct btf_type *t = (const void *)at; /* sizes are multiples of 4 */
		long more = (size_t)(end - at) < sizeof(*t) ? -1 : more_bytes(t);

		if (more < 0 || (size_t)more > (size_t)(end - at) - sizeof(*t) ||
		    t->name_off >= k->strings_len || k->types.cnt == MAX_TYPES)
			return -EINVAL;
		if (!tapir_vec__push(&k->types, t))
			return -ENOMEM;
		at += sizeof(*t) + (size_t)more;
	}
	return 0;
}

static int open_btf(struct kept *k, const char *bytes, size_t len)
{
	const struct btf_header *h = (const void *)bytes;
	uint64_t types_at, strings_at;

	if (len < sizeof(*h) || h->magic != BTF_MAGIC || h->hdr_len < sizeof(*h))
		return -EINVAL;
	types_at = (uint64_t)h->hdr_len + h->type_off;
	strings_at = (uint64_t)h->hdr_len + h->str_off;
	if (types_at % 4 || types_at + h->type_len > len || strings_at + h->str_len > len ||
	    !h->str_len || bytes[strings_at + h->str_len - 1])
		return -EINVAL;
	k->strings = bytes + strings_at;
	k->strings_len = h->str_len;
	return list_types(k, bytes + types_at, bytes + types_at + h->type_len);
}

/* ---- choosing ------------------------------------------------------------------------------- */

static bool has_name(const struct btf_type *t)
{
	return t->name_off && (btf_is_composite(t) || btf_is_any_enum(t));
}

static uint64_t btf_name_hash(const char *name, size_t len)
{
	return tapir_hash__bytes(1, name, len);
}

static int list_names(struct kept *k, const struct btf *own)
{
	for (uint32_t id = 1; id < btf__type_cnt(own); id++) {
		const struct btf_type *t = btf__type_by_id(own, id);
		const char *name = btf__name_by_offset(own, t->name_off), *flavor;

		if (!has_name(t) || !name)
			continue;
		flavor = strstr(name, "___");
		if (!tapir_map__put(
			    &k->names,
			    btf_name_hash(name, flavor ? (size_t)(flavor - name) : strlen(name)),
			    NULL))
			return -ENOMEM;
	}
	return 0;
}

static int keep_type(struct kept *k, uint32_t id)
{
	if (id >= k->types.cnt)
		return -EINVAL;
	if (!id || k->new_ids[id])
		return 0;
	k->new_ids[id] = 1; /* numbered once all are known */
	return tapir_vec__push(&k->todo, id) ? 0 : -ENOMEM;
}

static int keep_parts(struct kept *k, const struct btf_type *t)
{
	const struct btf_member *members = btf_members(t);
	int err = 0;

	switch (btf_kind(t)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		for (unsigned i = 0; i < btf_vlen(t) && !err; i++)
			err = members[i].name_off < k->strings_len ? keep_type(k, members[i].type)
								   : -EINVAL;
		return err;
	case BTF_KIND_ARRAY:
		err = keep_type(k, btf_array(t)->type);
		return err ? err : keep_type(k, btf_array(t)->index_type);
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		return keep_type(k, t->type);
	case BTF_KIND_INT:
	case BTF_KIND_PTR:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
	case BTF_KIND_FWD:
	case BTF_KIND_FLOAT:
		return 0;
	default: /* a part of no data type */
		return -EINVAL;
	}
}

static int choose_types(struct kept *k)
{
	int err = 0;

	k->new_ids = calloc(k->types.cnt, sizeof(*k->new_ids));
	if (!k->new_ids)
		return -ENOMEM;
	for (uint32_t id = 1; id < k->types.cnt && !err; id++) {
		const struct btf_type *t = k->types.data[id];
		const char *name = k->strings + t->name_off;

		if (has_name(t) && tapir_map__get(&k->names, btf_name_hash(name, strlen(name))))
			err = keep_type(k, id);
	}
	while (k->todo.cnt && !err)
		err = keep_parts(k, k->types.data[k->todo.data[--k->todo.cnt]]);
	for (uint32_t id = 1, next = 1; id < k->types.cnt; id++)
		if (k->new_ids[id])
			k->new_ids[id] = next++;
	return err;
}

/* ---- writing -------------------------------------------------------------------------------- */

static uint32_t add_btf_name(const struct kept *k, uint32_t name_off, struct tapir_str *strings)
{
	const char *name = k->strings + name_off;
	size_t at = strings->len;

	if (!name_off)
		return 0;
	tapir_str__add(strings, name, strlen(name) + 1);
	return (uint32_t)at;
}

/* Adds the members of a struct, or the values of an enum: both begin with the name. */
static void add_members(const struct kept *k, const struct btf_type *t, struct tapir_str *types,
			struct tapir_str *strings)
{
	for (unsigned i = 0; i < btf_vlen(t); i++) {
		struct btf_member m = btf_members(t)[i];

		m.name_off = add_btf_name(k, m.name_off, strings);
		m.type = k->new_ids[m.type];
		tapir_str__add(types, (const char *)&m, sizeof(m));
	}
}

static int add_values(const struct kept *k, const struct btf_type *t, struct tapir_str *types,
		      struct tapir_str *strings)
{
	size_t value_len = btf_is_enum(t) ? sizeof(struct btf_enum) : sizeof(struct btf_enum64);
	const char *at = (const char *)(t + 1);

	for (unsigned i = 0; i < btf_vlen(t); i++, at += value_len) {
		uint32_t name_off;

		memcpy(&name_off, at, sizeof(name_off));
		if (name_off >= k->strings_len)
			return -EINVAL;
		name_off = add_btf_name(k, name_off, strings);
		tapir_str__add(types, (const char *)&name_off, sizeof(name_off));
		tapir_str__add(types, at + sizeof(name_off), value_len - sizeof(name_off));
	}
	return 0;
}

/* A pointer in the copy is one to void: what it points to would keep most types of the kernel. */
static int add_type(const struct kept *k, const struct btf_type *t, struct tapir_str *types,
		    struct tapir_str *strings)
{
	struct btf_type copy = *t;
	struct btf_array array;

	copy.name_off = add_btf_name(k, t->name_off, strings);
	if (btf_is_ptr(t))
		copy.type = 0;
	else if (btf_is_mod(t) || btf_is_typedef(t))
		copy.type = k->new_ids[t->type];
	tapir_str__add(types, (const char *)&copy, sizeof(copy));
	if (btf_is_composite(t)) {
		add_members(k, t, types, strings);
	} else if (btf_is_any_enum(t)) {
		return add_values(k, t, types, strings);
	} else if (btf_is_array(t)) {
		array = *btf_array(t);
		array.type = k->new_ids[array.type];
		array.index_type = k->new_ids[array.index_type];
		tapir_str__add(types, (const char *)&array, sizeof(array));
	} else {
		tapir_str__add(types, (const char *)(t + 1), (size_t)more_bytes(t));
	}
	return 0;
}

static int write_kept(const struct kept *k, struct tapir_str *out)
{
	struct tapir_str types = {}, strings = {};
	struct btf_header header = {
		.magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = sizeof(header)};
	int err = 0;

	tapir_str__addc(&strings, '\0');
	for (uint32_t id = 1; id < k->types.cnt && !err; id++)
		if (k->new_ids[id])
			err = add_type(k, k->types.data[id], &types, &strings);
	header.type_len = header.str_off = (uint32_t)types.len;
	header.str_len = (uint32_t)strings.len;
	tapir_str__add(out, (const char *)&header, sizeof(header));
	tapir_str__add(out, types.data, types.len);
	tapir_str__add(out, strings.data, strings.len);
	out->failed |= types.failed || strings.failed;
	tapir_str__fini(&types);
	tapir_str__fini(&strings);
	return err ? err : out->failed ? -ENOMEM : 0;
}

int tapir_kernel_types__keep(const void *btf, size_t len, const struct btf *own,
			     struct tapir_str *out)
{
	struct kept k = {};
	int err = open_btf(&k, btf, len);

	if (!err)
		err = list_names(&k, own);
	if (!err)
		err = choose_types(&k);
	if (!err)
		err = write_kept(&k, out);
	free(k.new_ids);
	tapir_vec__fini(&k.types);
	tapir_vec__fini(&k.todo);
	tapir_map__fini(&k.names);
	return err;
}

/* Linux 6.16 has it to map: reading copies 6 MB. *mapped: MAP_FAILED, then it is in *bytes. */
static int get_all(char **bytes, void **mapped, size_t *len)
{
	tapir_autofd int fd = open(KERNEL_PATH, O_RDONLY | O_CLOEXEC);
	struct stat st;

	*bytes = NULL;
	*mapped = MAP_FAILED;
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	*len = (size_t)st.st_size;
	if (st.st_size > 0 && st.st_size < MAX_BYTES)
		*mapped = mmap(NULL, *len, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	return *mapped == MAP_FAILED ? tapir_file__read_fd(fd, MAX_BYTES, bytes, len) : 0;
}

int tapir_kernel_types__write(const struct btf *own, int fd)
{
	tapir_autofree char *bytes = NULL;
	struct tapir_str kept = {};
	void *mapped;
	size_t len;
	int err = get_all(&bytes, &mapped, &len);

	if (!err)
		err = tapir_kernel_types__keep(bytes ? bytes : mapped, len, own, &kept);
	if (!err)
		err = tapir_file__write_all(fd, kept.data, kept.len);
	if (mapped != MAP_FAILED)
		munmap(mapped, len);
	tapir_str__fini(&kept);
	return err;
}
