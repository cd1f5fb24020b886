// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * io.bpf.c - requests to block devices: who made them, for which file, how long they were queued
 * and how long the device took (IO, with the user stack of the thread that made it).
 *
 *   block_getrq        a bio becomes a request: in the thread that asks for it, whatever happens to
 *                      the request later. What is known of it is kept by the address of the bio.
 *   block_rq_issue     the device gets it, often in another thread: a worker, or one whose own
 *                      request runs the queue. The first page leads to the file.
 *   block_rq_complete  often in an interrupt: sends the record.
 *
 * A bio that is merged into a request is part of that one. A flush that the kernel makes for
 * requests that want one has no bio: no thread is named as its maker.
 */
#include "bpf/common.bpf.h"
#include "bpf/cpu_stack.bpf.h"
#include "bpf/io_logic.bpf.h"
#include "bpf/wanted.bpf.h"

/* Records per second and CPU; the rest is counted. Set before load. */
const volatile __u64 io_rate_limit = 20000;

struct io_maker {
	__u64 time_ns;
	__u64 stack_id;
	__u32 tgid;
	__u32 tid;
	__u16 flags; /* TAPIR_IO_KERNEL_THREAD, TAPIR_IO_STACK_LOST */
	__u8 is_traced;
	__u8 pad0[5];
};

/* The key is the bio. One that never comes to its device is pushed out. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct io_maker);
} io_makers SEC(".maps");

/* The requests that their devices have. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct tapir_io_request);
} io_requests SEC(".maps");

#define NAME_BYTES 256 /* NAME_MAX and one */

struct io_scratch {
	struct cpu_stacks stacks;
	struct io_maker maker;
	struct tapir_io_request request;
	struct tapir_io_rate rate;
	/* A path is written from its end to its beginning, in the first part. */
	char text[TAPIR_IO_PATH_BYTES + NAME_BYTES];
};

enum io_user { BY_GETRQ, BY_ISSUE, IO_USERS };

/* A program of its kind interrupts none: the kernel skips it. So each has a place of its own. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IO_USERS);
	__type(key, __u32);
	__type(value, struct io_scratch);
} io_scratches SEC(".maps");

static __always_inline struct io_scratch *scratch_of(enum io_user user)
{
	__u32 key = user;

	return bpf_map_lookup_elem(&io_scratches, &key);
}

/* ---- who makes it ----------------------------------------------------------------------- */

#define PF_KTHREAD 0x00200000

static __always_inline void fill_maker(struct io_scratch *s, struct tapir_live *now,
				       struct task_struct *task)
{
	struct tapir_rec *of = &s->request.rec.h;
	long err = 0;

	of->cpu = bpf_get_smp_processor_id();
	of->time_ns = s->maker.time_ns;
	s->maker.tgid = task->tgid;
	s->maker.tid = task->pid;
	if (task->flags & PF_KTHREAD)
		s->maker.flags |= TAPIR_IO_KERNEL_THREAD;
	if (tapir_announce(now, &s->stacks.sender, &s->stacks.thread, task, of))
		tapir_lose(&zero_key, TAPIR_LOSS_THREAD_RING_FULL);
	if (!tapir_task__has_memory(task))
		return;
	s->stacks.user.owner = STACK_OF_IO;
	set_user_regs(&s->stacks.user, task);
	s->maker.stack_id = take_user_stack(&s->stacks, now, of, &err);
	if (err) {
		s->maker.flags |= TAPIR_IO_STACK_LOST;
		tapir_lose(&zero_key, TAPIR_LOSS_IO_STACK_LOST);
	}
}

/* Also of threads that are not traced: what they ask for may be issued by one that is. */
SEC("tp_btf/block_getrq")
int BPF_PROG(tapir_io_make, struct bio *bio)
{
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);
	struct task_struct *task = bpf_get_current_task_btf();
	struct io_scratch *s = scratch_of(BY_GETRQ);
	struct tapir_live *now = tapir_live();
	__u64 key = (__u64)bio;

	if (!f || !now || !now->enabled || !s)
		return 0;
	__builtin_memset(&s->maker, 0, sizeof(s->maker));
	s->maker.time_ns = bpf_ktime_get_ns();
	s->maker.is_traced = is_traced(f, task) != 0;
	if (s->maker.is_traced)
		fill_maker(s, now, task);
	bpf_map_update_elem(&io_makers, &key, &s->maker, BPF_ANY);
	return 0;
}

/* ---- for which file ----------------------------------------------------------------------- */

struct io_path {
	struct io_scratch *s;
	struct dentry *dentry;
	__u32 at; /* of the path's beginning in the text */
	__u32 is_complete;
};

/* One step towards the file system's root; 1 ends the walk. */
static long io_step_up(__u64 idx, void *ctx)
{
	struct io_path *walk = ctx;
	struct dentry *dentry = walk->dentry, *parent = BPF_CORE_READ(dentry, d_parent);
	__u32 len = BPF_CORE_READ(dentry, d_name.len);

	if (parent == dentry) {
		walk->is_complete = 1;
		return 1;
	}
	if (!len || len >= NAME_BYTES || len >= walk->at)
		return 1;
	walk->at -= len + 1;
	walk->s->text[walk->at & (TAPIR_IO_PATH_BYTES - 1)] = '/';
	bpf_probe_read_kernel(&walk->s->text[(walk->at + 1) & (TAPIR_IO_PATH_BYTES - 1)],
			      len & (NAME_BYTES - 1), BPF_CORE_READ(dentry, d_name.name));
	walk->dentry = parent;
	return 0;
}

/*
 * Nothing is locked: of a directory that is renamed at that time, either name may be seen. An inode
 * whose names the kernel has forgotten has no path.
 */
static __noinline int read_path(struct io_scratch *s, struct inode *inode)
{
	struct hlist_node *alias = BPF_CORE_READ(inode, i_dentry.first);
	struct tapir_rec_io *rec = &s->request.rec;
	struct io_path walk = {.s = s, .at = TAPIR_IO_PATH_BYTES - 1};
	__u64 len;

	if (!alias)
		return 0;
	walk.dentry = (void *)alias - bpf_core_field_offset(struct dentry, d_u.d_alias);
	bpf_loop(TAPIR_IO_PATH_PARTS + 1, io_step_up, &walk, 0);
	len = (TAPIR_IO_PATH_BYTES - 1ull - walk.at) & (TAPIR_IO_PATH_BYTES - 1);
	barrier_var(len);
	if (!len || len >= TAPIR_IO_PATH_BYTES)
		return 0;
	if (!walk.is_complete)
		rec->flags |= TAPIR_IO_PATH_CUT;
	bpf_probe_read_kernel(s->request.path, len, &s->text[walk.at & (TAPIR_IO_PATH_BYTES - 1)]);
	rec->path_len = len;
	return 0;
}

#define KIND_OF_INODE 0170000
#define BLOCK_DEVICE  0060000
#define DIRECT_FILE   040000 /* O_DIRECT */

static __always_inline int is_block_device(struct inode *inode)
{
	return (BPF_CORE_READ(inode, i_mode) & KIND_OF_INODE) == BLOCK_DEVICE;
}

/*
 * The file of a page in the page cache, or of the folio that it is a part of. What has a mapping
 * that does not lead back is no page of a file: the words of a slab are at the same place.
 */
static __always_inline struct inode *inode_of_page(struct page *page, struct tapir_rec_io *rec)
{
	__u64 head = (__u64)BPF_CORE_READ(page, compound_head), mapping;
	struct inode *inode;

	if (head & 1)
		page = (struct page *)(head - 1);
	mapping = (__u64)BPF_CORE_READ((struct folio *)page, mapping);
	if (mapping & TAPIR_MAPPING_BIT_ANONYMOUS)
		rec->flags |= TAPIR_IO_DIRECT;
	if (!mapping || mapping & TAPIR_MAPPING_BITS)
		return NULL;
	inode = BPF_CORE_READ((struct address_space *)mapping, host);
	return inode && mapping == (__u64)inode + bpf_core_field_offset(struct inode, i_data)
		       ? inode
		       : NULL;
}

/*
 * The file of O_DIRECT, whose pages are the process's. What made the bio keeps the kernel's
 * control block of the call as its first word (struct iomap_dio, struct blkdev_dio). Whether this
 * is one, the file shows it: it was opened for that, and is on the device of the bio.
 */
static __always_inline struct inode *inode_of_direct(struct bio *bio, struct tapir_rec_io *rec)
{
	struct block_device *device = BPF_CORE_READ(bio, bi_bdev);
	struct iomap_dio *dio = BPF_CORE_READ(bio, bi_private);
	struct kiocb *iocb = NULL;
	struct file *file;
	struct inode *inode;

	bpf_probe_read_kernel(&iocb, sizeof(iocb), dio);
	file = BPF_CORE_READ(iocb, ki_filp);
	inode = BPF_CORE_READ(file, f_mapping, host);
	if (!inode || !(BPF_CORE_READ(file, f_flags) & DIRECT_FILE))
		return NULL;
	if (is_block_device(inode) ? BPF_CORE_READ(inode, i_rdev) != BPF_CORE_READ(device, bd_dev)
				   : BPF_CORE_READ(inode, i_sb, s_bdev) != device)
		return NULL;
	rec->flags |= TAPIR_IO_DIRECT;
	return inode;
}

static __always_inline struct inode *inode_of(struct bio *bio, struct tapir_rec_io *rec)
{
	struct bio_vec *parts = BPF_CORE_READ(bio, bi_io_vec);
	__u32 first = BPF_CORE_READ(bio, bi_iter.bi_idx);
	struct page *page;
	struct inode *inode;

	if (!parts || (rec->op != TAPIR_IO_READ && rec->op != TAPIR_IO_WRITE))
		return NULL;
	/* First: its pages may be another file's, which the process has mapped. */
	inode = inode_of_direct(bio, rec);
	page = BPF_CORE_READ(&parts[first], bv_page);
	return inode ? inode : page ? inode_of_page(page, rec) : NULL;
}

static __always_inline void fill_file(struct io_scratch *s, struct bio *bio)
{
	struct tapir_rec_io *rec = &s->request.rec;
	struct inode *inode = inode_of(bio, rec);

	if (!inode)
		return;
	if (is_block_device(inode)) {
		rec->object = TAPIR_IO_OF_DEVICE;
		rec->file_dev = BPF_CORE_READ(inode, i_rdev);
		return;
	}
	rec->object = TAPIR_IO_OF_FILE;
	rec->file_dev = BPF_CORE_READ(inode, i_sb, s_dev);
	rec->inode = BPF_CORE_READ(inode, i_ino);
	if (!BPF_CORE_READ(inode, i_nlink))
		rec->flags |= TAPIR_IO_DELETED;
	read_path(s, inode);
}

/* ---- issue ------------------------------------------------------------------------------ */

#define HAS(cmd_flags, bit) ((cmd_flags) >> bpf_core_enum_value(enum req_flag_bits, bit) & 1)

static __always_inline void fill_request(struct tapir_rec_io *rec, struct request *rq)
{
	__u32 cmd_flags = BPF_CORE_READ(rq, cmd_flags);
	struct gendisk *disk = BPF_CORE_READ(rq, q, disk);

	rec->op = tapir_io__op(cmd_flags);
	if (HAS(cmd_flags, __REQ_SYNC))
		rec->flags |= TAPIR_IO_SYNC;
	if (HAS(cmd_flags, __REQ_META))
		rec->flags |= TAPIR_IO_META;
	if (HAS(cmd_flags, __REQ_FUA))
		rec->flags |= TAPIR_IO_FUA;
	if (HAS(cmd_flags, __REQ_RAHEAD))
		rec->flags |= TAPIR_IO_AHEAD;
	rec->bytes = BPF_CORE_READ(rq, __data_len);
	rec->sector = BPF_CORE_READ(rq, __sector);
	rec->dev = BPF_CORE_READ(disk, part0, bd_dev);
	bpf_core_read_str(rec->disk, sizeof(rec->disk), &disk->disk_name);
}

/* Without a maker, it counts where every process does. */
static __always_inline int is_wanted_of(const struct io_maker *maker)
{
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);

	if (maker)
		return maker->is_traced;
	return f && !f->use_tgids && !f->comm_cnt && !f->cgroup_cnt;
}

static __always_inline void fill_times(struct tapir_io_request *request,
				       const struct io_maker *maker)
{
	request->issue_ns = bpf_ktime_get_ns();
	if (!maker)
		return;
	request->rec.queue_ns = request->issue_ns - maker->time_ns;
	request->rec.tgid = maker->tgid;
	request->rec.tid = maker->tid;
	request->rec.stack_id = maker->stack_id;
	request->rec.flags = maker->flags;
}

/* Returns 1 for a request that its device gets again; what is known of another one is lost. */
static __always_inline int is_known(__u64 rq, __u64 bio, struct request *request)
{
	struct tapir_io_request *known = bpf_map_lookup_elem(&io_requests, &rq);

	if (!known)
		return 0;
	if (tapir_io_request__is_again(known, bio, BPF_CORE_READ(request, __sector),
				       bpf_map_lookup_elem(&io_makers, &bio) != NULL))
		return 1;
	if (!bpf_map_delete_elem(&io_requests, &rq))
		tapir_lose(&zero_key, TAPIR_LOSS_IO_UNFINISHED);
	return 0;
}

/*
 * A bio's maker is used up by its first request, also by one that is not recorded: the entry would
 * otherwise stay until another bio has that address.
 */
static __noinline int begin_request(struct io_scratch *s, struct request *rq)
{
	struct bio *bio = BPF_CORE_READ(rq, bio);
	__u64 key = (__u64)rq, bio_key = (__u64)bio;
	struct io_maker *maker = bpf_map_lookup_elem(&io_makers, &bio_key);

	if (!is_wanted_of(maker))
		goto forget;
	if (!tapir_io_rate__take(&s->rate, bpf_ktime_get_ns(), io_rate_limit)) {
		tapir_lose(&zero_key, TAPIR_LOSS_IO_LIMITED);
		goto forget;
	}
	__builtin_memset(&s->request, 0, sizeof(s->request));
	s->request.rec.h.type = TAPIR_REC_IO;
	s->request.bio = bio_key;
	fill_times(&s->request, maker);
	fill_request(&s->request.rec, rq);
	fill_file(s, bio);
	if (bpf_map_update_elem(&io_requests, &key, &s->request, BPF_ANY))
		tapir_lose(&zero_key, TAPIR_LOSS_IO_NO_ROOM);
forget:
	if (maker)
		bpf_map_delete_elem(&io_makers, &bio_key);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(tapir_io_issue, struct request *rq)
{
	struct io_scratch *s = scratch_of(BY_ISSUE);
	struct tapir_live *now = tapir_live();

	if (!now || !now->enabled || !s || is_known((__u64)rq, (__u64)BPF_CORE_READ(rq, bio), rq))
		return 0;
	begin_request(s, rq);
	return 0;
}

/* ---- completion ------------------------------------------------------------------------- */

static __noinline int send_request(struct tapir_io_request *request, __u8 error)
{
	struct tapir_live *now = tapir_live();
	struct tapir_rec_io *rec;
	struct sender sender = {.unchecked_bytes = ~0ull >> 1};
	__u64 size;

	if (!request || !now)
		return 0;
	rec = &request->rec;
	size = (sizeof(*rec) + (rec->path_len & (TAPIR_IO_PATH_BYTES - 1)) + 7ull) & ~7ull;
	rec->h.time_ns = bpf_ktime_get_ns();
	rec->h.cpu = bpf_get_smp_processor_id();
	rec->h.size = size;
	rec->device_ns = rec->h.time_ns - request->issue_ns;
	rec->error = error;
	barrier_var(size);
	if (size > sizeof(*rec) + TAPIR_IO_PATH_BYTES)
		return 0;
	if (tapir_send(now, &sender, request, size))
		tapir_lose(&zero_key, TAPIR_LOSS_IO_RING_FULL);
	return 0;
}

/* A part of it may come first: the last part is what was left. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(tapir_io_done, struct request *rq, unsigned int error, unsigned int bytes)
{
	__u64 key = (__u64)rq;
	struct tapir_io_request *request = bpf_map_lookup_elem(&io_requests, &key);
	struct tapir_live *now = tapir_live();

	if (!request || !now || bytes < BPF_CORE_READ(rq, __data_len))
		return 0;
	if (now->enabled)
		send_request(request, (__u8)error);
	bpf_map_delete_elem(&io_requests, &key);
	return 0;
}
