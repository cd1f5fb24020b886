/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * call_files.bpf.h - system calls in numbers by the file or peer that their descriptor leads to:
 * which one that is, what it is called, and the values of a process, call, result and file.
 *
 * Threads of one process share these values, so that atomic operations add to them. There are two
 * tables, of which one is added to. User space has the other one added to, waits until no program
 * is in the first (which run in RCU's read-side sections), reads it and empties it. So no value is
 * removed while it is added to, and what is open for a second or less needs no room afterwards.
 *
 * A file is a device and an inode number, its name is written when it has its first value, and
 * found by user space there (call_file_names). Names that are used least are forgotten.
 */
#ifndef TAPIR_BPF_CALL_FILES_BPF_H
#define TAPIR_BPF_CALL_FILES_BPF_H

#include "bpf/common.bpf.h"
#include "bpf/path.bpf.h"
#include "bpf/socket_ends.bpf.h"

const volatile __u32 call_files = 0; /* 0: calls are not counted by their files. Set before load. */
/* Without it, no program can make up two paths of one hash. Set before load. */
const volatile __u64 call_path_seed = 0;
/* The device of files that have no inode of their own: one for epoll, timers, events. */
const volatile __u32 anonymous_dev = 0;

#define CALL_FILE_TABLE(name)                                                                      \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_HASH);                                                   \
		__uint(max_entries, 1); /* set before load */                                      \
		__type(key, struct tapir_call_file_key);                                           \
		__type(value, struct tapir_call_file_count);                                       \
	} name SEC(".maps")

CALL_FILE_TABLE(call_files_0);
CALL_FILE_TABLE(call_files_1);

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* set before load */
	__type(key, struct tapir_call_file_id);
	__type(value, struct tapir_call_file_name);
} call_file_names SEC(".maps");

struct call_file_scratch {
	struct path_text path;
	struct tapir_call_file_name name;
	struct tapir_call_file_count count; /* all of it zero */
	__u64 path_hash;		    /* of the path that name has, where it has one */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct call_file_scratch);
} call_file_scratches SEC(".maps");

/* ---- which one ------------------------------------------------------------------------------ */

/*
 * NULL: the process has no such descriptor. By `->` as far as the types lead: a call that reads
 * kernel memory takes 10 ns each time, and this is on the way of every system call.
 */
static __always_inline struct file *file_of_descriptor(struct task_struct *task, __u32 fd)
{
	struct fdtable *fdt = task->files->fdt;
	struct file *file = NULL;

	if (fd < fdt->max_fds)
		bpf_probe_read_kernel(&file, sizeof(file), fdt->fd + fd);
	return file;
}

#define INODE_WORDS 8

/* Reads both by one call where the kernel has them close to each other, as all known ones have. */
static __always_inline struct super_block *read_inode(struct inode *inode, __u64 *number)
{
	__u32 off = bpf_core_field_offset(struct inode, i_ino) -
		    bpf_core_field_offset(struct inode, i_sb);
	__u64 words[INODE_WORDS] = {};

	if (off >= sizeof(words) || off % sizeof(words[0])) {
		*number = BPF_CORE_READ(inode, i_ino);
		return BPF_CORE_READ(inode, i_sb);
	}
	bpf_probe_read_kernel(words, sizeof(words),
			      (void *)inode + bpf_core_field_offset(struct inode, i_sb));
	*number = words[off / sizeof(words[0])];
	return (struct super_block *)words[0];
}

/* Returns 1 and the id of a file; 0: there is none. */
static __always_inline int identify_file(struct file *file, struct tapir_call_file_id *id)
{
	struct inode *inode = file ? BPF_CORE_READ(file, f_inode) : NULL;
	struct super_block *sb;

	if (!inode)
		return 0;
	sb = read_inode(inode, &id->inode);
	id->dev = BPF_CORE_READ(sb, s_dev);
	/* They share an inode: how they work distinguishes them. */
	if (id->dev == anonymous_dev)
		id->inode = (__u64)BPF_CORE_READ(file, f_op);
	return 1;
}

/* ---- what it is called ------------------------------------------------------------------------ */

#define KIND_OF_MODE 0170000
#define SOCKET_MODE  0140000

static __always_inline void name_unix(struct tapir_call_file_name *name, struct sock *sk)
{
	struct unix_sock *socket = (void *)sk;
	struct unix_address *address = NULL;
	struct sock *peer;
	long len;

	if (!bpf_core_type_exists(struct unix_sock))
		return;
	/* A client has no name, the socket that accept(2) returns has that of its listener. */
	peer = BPF_CORE_READ(socket, peer);
	if (peer)
		address = BPF_CORE_READ((struct unix_sock *)peer, addr);
	if (!address)
		address = BPF_CORE_READ(socket, addr);
	if (!address)
		return;
	/* A name that begins with a zero is in no file system. */
	len = bpf_probe_read_kernel_str(name->path, TAPIR_CALL_UNIX_BYTES,
					&address->name[0].sun_path);
	if (len == 1) {
		name->path[0] = '@';
		len = bpf_probe_read_kernel_str(name->path + 1, TAPIR_CALL_UNIX_BYTES,
						&address->name[0].sun_path[1]);
		len = len > 1 ? len + 1 : 0;
	}
	name->path_len = len > 1 ? (len - 1) & (TAPIR_CALL_UNIX_BYTES - 1) : 0;
}

static __always_inline void name_socket(struct tapir_call_file_name *name, struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);

	name->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	name->protocol = BPF_CORE_READ(sk, sk_protocol);
	if (name->family == AF_INET || name->family == AF_INET6)
		fill_socket_ends(&name->ends, sk);
	if (name->family == AF_UNIX)
		name_unix(name, sk);
}

static __always_inline void name_path(struct call_file_scratch *s, struct file *file)
{
	struct path_walk walk = {.path = &s->path};
	struct tapir_call_file_name *name = &s->name;
	__u64 len;

	write_path(&walk, bpf_get_current_task_btf(), file);
	len = (PATH_BYTES - 1ull - walk.at) & (PATH_BYTES - 1);
	barrier_var(len);
	if (len) {
		bpf_probe_read_kernel(name->path, len, &s->path.text[walk.at & (PATH_BYTES - 1)]);
		name->path_len = len;
		if (!walk.is_complete)
			name->flags |= TAPIR_CALL_FILE_PATH_CUT;
	} else if (!walk.is_complete) {
		/* In no directory, as [eventpoll] and memfd:NAME. */
		long got = bpf_probe_read_kernel_str(
			name->path, NAME_BYTES, BPF_CORE_READ(file, f_path.dentry, d_name.name));

		name->path_len = got > 0 ? (got - 1) & (NAME_BYTES - 1) : 0;
	}
	if (is_deleted(file))
		name->flags |= TAPIR_CALL_FILE_DELETED;
}

/* A socket that has no peer yet is named again with the next call of a kind. */
static __noinline int name_file(const struct tapir_call_file_id *id, struct file *file)
{
	struct call_file_scratch *s = bpf_map_lookup_elem(&call_file_scratches, &zero_key);
	struct tapir_call_file_name *known;

	if (!s || !id)
		return 0;
	known = bpf_map_lookup_elem(&call_file_names, id);
	if (known && (known->mode & KIND_OF_MODE) != SOCKET_MODE)
		return 0;
	__builtin_memset(&s->name, 0, sizeof(s->name));
	s->name.mode = BPF_CORE_READ(file, f_inode, i_mode);
	if ((s->name.mode & KIND_OF_MODE) == SOCKET_MODE)
		name_socket(&s->name, file);
	else
		name_path(s, file);
	bpf_map_update_elem(&call_file_names, id, &s->name, BPF_ANY);
	return 0;
}

/* ---- paths that are arguments ------------------------------------------------------------------ */

#define HASH_FACTOR 0x9e3779b97f4a7c15ull
#define PATH_WORDS  (TAPIR_IO_PATH_BYTES / sizeof(__u64))

/* Hashes len bytes; those behind them are of an earlier path. */
static __always_inline __u64 hash_of_path(const struct tapir_call_file_name *name, __u32 len)
{
	const __u64 *words = (const void *)name->path;
	__u64 hash = call_path_seed ^ len;

	for (__u32 i = 0; i < PATH_WORDS && i * sizeof(*words) < len; i++) {
		__u32 left = len - i * sizeof(*words);
		__u64 word = words[i];

		if (left < sizeof(word))
			word &= (1ull << left * 8) - 1;
		hash = (hash ^ word) * HASH_FACTOR;
		hash ^= hash >> 29;
	}
	return hash;
}

/*
 * The path of an argument becomes the name in the scratch, and its hash the id. Returns its length,
 * or a negative number where the process's memory could not be read without waiting for it.
 */
static __noinline int take_path(struct tapir_call_file_id *id, const char *path)
{
	struct call_file_scratch *s = bpf_map_lookup_elem(&call_file_scratches, &zero_key);
	long got;

	if (!s || !id)
		return -1;
	got = bpf_probe_read_user_str(s->name.path, sizeof(s->name.path), path);
	if (got <= 0 || got > TAPIR_IO_PATH_BYTES)
		return -1;
	s->path_hash = id->inode = hash_of_path(&s->name, got);
	id->dev = TAPIR_CALL_PATH_DEV;
	s->name.mode = 0;
	s->name.path_len = got - 1;
	s->name.flags = TAPIR_CALL_FILE_IS_PATH;
	if (got == TAPIR_IO_PATH_BYTES)
		s->name.flags |= TAPIR_CALL_FILE_PATH_CUT;
	return got - 1;
}

/* The scratch has had another name since, where a program has begun, which may be on another CPU.
 */
static __always_inline void name_taken_path(const struct tapir_call_file_id *id)
{
	struct call_file_scratch *s = bpf_map_lookup_elem(&call_file_scratches, &zero_key);

	if (s && s->name.flags & TAPIR_CALL_FILE_IS_PATH && s->path_hash == id->inode)
		bpf_map_update_elem(&call_file_names, id, &s->name, BPF_ANY);
}

/* ---- values ----------------------------------------------------------------------------------- */

static __noinline int add_file_key(const struct tapir_call_file_key *key, __u32 turn)
{
	struct call_file_scratch *s = bpf_map_lookup_elem(&call_file_scratches, &zero_key);

	if (!s || !key)
		return -1;
	return turn ? bpf_map_update_elem(&call_files_1, key, &s->count, BPF_NOEXIST)
		    : bpf_map_update_elem(&call_files_0, key, &s->count, BPF_NOEXIST);
}

static __always_inline struct tapir_call_file_count *
file_count_of(const struct tapir_call_file_key *key, __u32 turn)
{
	return turn ? bpf_map_lookup_elem(&call_files_1, key)
		    : bpf_map_lookup_elem(&call_files_0, key);
}

/* step: of took_ns. */
static __always_inline void add_file_time(struct tapir_call_file_count *c, __u64 took_ns,
					  __u32 step)
{
	__u64 max_ns = c->max_ns;

	__sync_fetch_and_add(&c->sum_ns, took_ns);
	/* Others that have a longer one at that time are few. */
	for (int i = 0; i < 4 && took_ns > max_ns; i++) {
		__u64 was = __sync_val_compare_and_swap(&c->max_ns, max_ns, took_ns);

		if (was == max_ns)
			break;
		max_ns = was;
	}
	barrier_var(step);
	if (step < TAPIR_CALL_STEPS)
		__sync_fetch_and_add(&c->steps[step], 1);
}

#endif
