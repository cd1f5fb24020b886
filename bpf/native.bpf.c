// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * native.bpf.c - memory that is not a managed heap's: what is mapped, each call, and samples of
 * what malloc and its like return (NATIVE).
 *
 * A thread counts the bytes that it asks for down to its next sample, so a call costs the trap and
 * little else. The stack is taken at the entry, before a return probe changes it; the address is
 * known at the return. A sampled block is in a table until it is freed, by whichever thread.
 *
 * One program runs at entries and returns. With sessions (Linux 6.13) the kernel traps only the
 * returns that the entry asked for; before, it traps all of them.
 *
 * Uprobe programs may be preempted: what they need is in the thread's storage (common.bpf.h).
 */
#include "bpf/common.bpf.h"
#include "bpf/native_logic.bpf.h"
#include "bpf/sent.bpf.h"
#include "bpf/user_stack.bpf.h"
#include "bpf/wanted.bpf.h"

/* Set before load. */
const volatile __u64 native_draws[TAPIR_NATIVE_DRAWS + 1] = {};
const volatile __u64 native_mean_bytes = 0;
const volatile __u32 native_has_sessions = 0;

#define BLOCKS		   262144 /* sampled ones that are in use at a time */
#define NESTED_MAX	   16	  /* calls within a sampled one, which then is not waited for */
#define NESTED_FRAME_BYTES 4096
#define NESTED_CODE_BYTES  65536
#define MAX_ERRNO	   4095

/* x86-64: include/uapi/asm/unistd_64.h, mman-common.h */
#define SYS_MMAP	   9
#define SYS_MPROTECT	   10
#define SYS_MUNMAP	   11
#define SYS_BRK		   12
#define SYS_MREMAP	   25
#define SYS_PKEY_MPROTECT  329
#define MAP_FIXED	   0x10
#define MAP_ANONYMOUS	   0x20

struct native_key {
	__u64 va;
	__u32 tgid;
	__u32 start; /* low bits of when the process began: ids are used again */
};

struct native_block {
	__u64 bytes;
	__u64 stack_id;
	__u64 time_ns;
};

/* A thread, and the call that it is in. */
struct native_thread {
	__s64 left_bytes; /* until its next sample */
	__u64 brk;	  /* when it entered brk(2) */
	struct native_key key;
	struct native_block block; /* that is about to be returned */
	struct native_block old;   /* that realloc frees, if it succeeds */
	__u64 old_va;		   /* 0: there is none */
	__u64 sp, return_va;	   /* of a call whose return is waited for; 0: none is */
	__u64 out_va;		   /* where posix_memalign writes the address */
	/* The last call, which may make the next one; it has no return address if it was malloc. */
	__u64 outer_sp, outer_ip, outer_bytes, outer_return_va;
	__u64 temp;
	__u32 nested_cnt;
	__u8 function; /* of the call whose return is waited for */
	__u8 is_sampled;
	__u8 is_known; /* key and left_bytes are set */
	__u8 outer_function;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct native_thread);
} native_threads SEC(".maps");

/* The memory that a sample needs. */
struct native_scratch {
	__u64 epoch; /* in which its thread was described */
	struct sender sender;
	struct tapir_rec_native rec;
	struct tapir_rec_thread thread;
	struct tapir_site entry; /* of which only the caller's location is used */
	struct user_stack user;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct native_scratch);
} native_rooms SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, BLOCKS);
	__type(key, struct native_key);
	__type(value, struct native_block);
} native_blocks SEC(".maps");

/* Processes that have had blocks in the table. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
} native_owners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} native_hits SEC(".maps");

/* ---- records -------------------------------------------------------------------------------- */

static __noinline struct native_scratch *room_of_thread(void)
{
	struct native_scratch *s = bpf_task_storage_get(&native_rooms, bpf_get_current_task_btf(),
							NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!s)
		tapir_lose(&zero_key, TAPIR_LOSS_NATIVE_NO_STORAGE);
	return s;
}

static __always_inline void begin_record(struct native_scratch *s, struct task_struct *task,
					 __u32 kind, __u32 function)
{
	__builtin_memset(&s->rec, 0, sizeof(s->rec));
	s->rec.h.type = TAPIR_REC_NATIVE;
	s->rec.h.size = sizeof(s->rec);
	s->rec.h.cpu = bpf_get_smp_processor_id();
	s->rec.h.time_ns = bpf_ktime_get_ns();
	s->rec.tgid = task->tgid;
	s->rec.tid = task->pid;
	s->rec.kind = kind;
	s->rec.function = function;
}

/* The thread has a mark of its own, as in usdt.bpf.c: those of sent.bpf.h need more stack. */
static __noinline int announce_allocator(struct native_scratch *s)
{
	struct tapir_live *now = tapir_live();

	if (!s || !now || s->epoch == now->epoch)
		return 0;
	tapir_fill_thread(&s->thread, bpf_get_current_task_btf(), s->rec.h.cpu, s->rec.h.time_ns);
	if (tapir_send(now, &s->sender, &s->thread, sizeof(s->thread)))
		tapir_lose(&zero_key, TAPIR_LOSS_THREAD_RING_FULL);
	else
		s->epoch = now->epoch;
	return 0;
}

static __noinline int send_record(struct native_scratch *s)
{
	struct tapir_live *now = tapir_live();

	if (!s || !now)
		return -1;
	announce_allocator(s);
	if (!tapir_send(now, &s->sender, &s->rec, sizeof(s->rec)))
		return 0;
	tapir_lose(&zero_key, TAPIR_LOSS_NATIVE_RING_FULL);
	return -1;
}

static __noinline int send_native_stack(struct native_scratch *s)
{
	struct tapir_live *now = tapir_live();

	if (!s || !now)
		return 0;
	if (send_user_stack(now, &s->sender, &s->user, &s->rec.h))
		tapir_lose(&zero_key, TAPIR_LOSS_NATIVE_STACK_LOST);
	s->rec.stack_id = whole_stack_id(&s->user, s->user.rec.stack_id);
	return 0;
}

/* In the program itself: a walk needs seven of the eight frames that the verifier allows. */
static __always_inline void take_native_stack(struct native_scratch *s,
					      const struct tapir_site *site)
{
	s->user.owner = STACK_OF_THREAD;
	walk(&s->user, site);
	send_native_stack(s);
}

/* A block of the table is freed. */
static __noinline int send_free(struct native_thread *t, struct native_block *block)
{
	struct native_scratch *s = room_of_thread();

	if (!s || !t || !block)
		return 0;
	begin_record(s, bpf_get_current_task_btf(), TAPIR_NATIVE_FREE, TAPIR_NATIVE_FN_FREE);
	s->rec.va = t->key.va;
	s->rec.bytes = block->bytes;
	s->rec.stack_id = block->stack_id;
	s->rec.begin_ns = block->time_ns;
	s->rec.mean_bytes = native_mean_bytes;
	return send_record(s);
}

/* ---- the malloc family ---------------------------------------------------------------------- */

static __noinline int begin_thread(struct native_thread *t)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!t)
		return 0;
	t->key.tgid = task->tgid;
	t->key.start = BPF_CORE_READ(task, group_leader, start_time);
	t->left_bytes = tapir_native__draw(native_draws, bpf_get_prandom_u32());
	t->is_known = 1;
	return 0;
}

static __always_inline struct native_thread *native_thread_of(struct task_struct *task)
{
	struct native_thread *t =
		bpf_task_storage_get(&native_threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t)
		tapir_lose(&zero_key, TAPIR_LOSS_NATIVE_NO_STORAGE);
	else if (!t->is_known)
		begin_thread(t);
	return t;
}

static __always_inline __u64 requested_bytes(const struct pt_regs *ctx, __u32 function)
{
	switch (function) {
	case TAPIR_NATIVE_FN_CALLOC:
		return tapir_native__product(ctx->di, ctx->si);
	case TAPIR_NATIVE_FN_REALLOC:
	case TAPIR_NATIVE_FN_ALIGNED_ALLOC:
	case TAPIR_NATIVE_FN_MEMALIGN:
		return ctx->si;
	case TAPIR_NATIVE_FN_POSIX_MEMALIGN:
		return ctx->dx;
	default:
		return ctx->di;
	}
}

/* Takes a block out of the table; returns 1 if it was there. */
static __noinline int take_block(struct native_thread *t, __u64 va)
{
	const struct native_block *block;

	if (!t)
		return 0;
	t->key.va = va;
	block = bpf_map_lookup_elem(&native_blocks, &t->key);
	if (!block)
		return 0;
	t->old = *block;
	bpf_map_delete_elem(&native_blocks, &t->key);
	return 1;
}

static __noinline int free_block(struct native_thread *t, __u64 va)
{
	return t && va && take_block(t, va) ? send_free(t, &t->old) : 0;
}

/* At a function's entry the return address is at the stack pointer; or what a probe put there. */
static __always_inline __u64 word_at(struct native_thread *t, __u64 sp)
{
	return bpf_probe_read_user(&t->temp, sizeof(t->temp), (void *)sp) ? 0 : t->temp;
}

/*
 * If a function was jumped to, the return of the one before may be probed already, by this program
 * or another tracer's.
 */
static __always_inline __u64 return_address(struct native_thread *t, __u64 sp)
{
	return tapir_original_return(word_at(t, sp), sp);
}

/*
 * realloc(NULL, n), calloc, operator new and others may call malloc(n) themselves: it was counted
 * with them. The call is that, if it is the next one of the thread, of as many bytes, and either
 * deeper and from code near the function's own, or a jump to malloc, which returns to the caller of
 * the function.
 */
static __always_inline int is_made_by_last(struct native_thread *t, const struct pt_regs *ctx,
					   __u32 function, __u64 bytes)
{
	__u64 outer_sp = t->outer_sp, outer_ip = t->outer_ip;

	t->outer_sp = 0;
	if (!outer_sp || t->outer_bytes != bytes || ctx->sp > outer_sp ||
	    outer_sp - ctx->sp > NESTED_FRAME_BYTES)
		return 0;
	if (ctx->sp == outer_sp)
		return function == TAPIR_NATIVE_FN_MALLOC &&
		       t->outer_function != TAPIR_NATIVE_FN_MALLOC &&
		       return_address(t, ctx->sp) == t->outer_return_va;
	return return_address(t, ctx->sp) - outer_ip + NESTED_CODE_BYTES < 2 * NESTED_CODE_BYTES;
}

/*
 * Within a sampled call, which the allocator makes of others, nothing is counted again. One that it
 * jumps to has the same stack pointer, where the kernel's own return address is by now.
 */
static __noinline int is_within_sampled(struct native_thread *t, __u64 sp)
{
	if (!t || !t->sp)
		return 0;
	if ((sp < t->sp || (sp == t->sp && word_at(t, sp) != t->return_va)) &&
	    t->nested_cnt++ < NESTED_MAX)
		return 1;
	/* The call was left by longjmp(3) or an exception. */
	tapir_lose(&zero_key, TAPIR_LOSS_NATIVE_NO_RETURN);
	t->sp = t->nested_cnt = 0;
	return 0;
}

static __noinline int keep_block(struct native_thread *t, struct native_block *block)
{
	__u32 one = 1;

	if (!t || !block)
		return -1;
	if (bpf_map_update_elem(&native_blocks, &t->key, block, BPF_ANY)) {
		tapir_lose(&zero_key, TAPIR_LOSS_NATIVE_FULL);
		return -1;
	}
	bpf_map_update_elem(&native_owners, &t->key.tgid, &one, BPF_ANY);
	return 0;
}

/* The sampled block is in the table before the program has its address, and so can free it. */
static __noinline int add_block(struct native_thread *t, __u64 va)
{
	struct native_scratch *s = room_of_thread();

	if (!t || !s)
		return 0;
	t->key.va = va;
	if (keep_block(t, &t->block))
		return 0;
	begin_record(s, bpf_get_current_task_btf(), TAPIR_NATIVE_ALLOC, t->function);
	t->block.time_ns = s->rec.h.time_ns;
	s->rec.va = va;
	s->rec.bytes = t->block.bytes;
	s->rec.stack_id = t->block.stack_id;
	s->rec.mean_bytes = native_mean_bytes;
	if (send_record(s))
		bpf_map_delete_elem(&native_blocks, &t->key);
	return 0;
}

/* Returns the address; 0: there was no memory, and realloc has freed nothing. */
static __noinline __u64 result_of(struct native_thread *t, __u64 ax)
{
	if (!t || t->function != TAPIR_NATIVE_FN_POSIX_MEMALIGN)
		return ax;
	return ax || bpf_probe_read_user(&t->temp, sizeof(t->temp), (void *)t->out_va) ? 0
										       : t->temp;
}

static __noinline int end_call(struct native_thread *t, __u64 ax)
{
	__u64 va, old_va;

	if (!t)
		return 0;
	va = result_of(t, ax);
	old_va = t->old_va;
	t->sp = t->nested_cnt = t->old_va = 0;
	if (old_va) {
		t->key.va = old_va;
		if (va)
			send_free(t, &t->old);
		else
			keep_block(t, &t->old);
	}
	return va && t->is_sampled ? add_block(t, va) : 0;
}

static __always_inline int is_sampled(struct native_thread *t, __u64 bytes)
{
	t->left_bytes -= bytes < 1ull << 62 ? bytes : 0; /* more cannot succeed */
	if (t->left_bytes > 0)
		return 0;
	t->left_bytes = tapir_native__draw(native_draws, bpf_get_prandom_u32());
	return 1;
}

/* Remembers what the return of a call needs, and from where its stack is walked. */
static __noinline struct native_scratch *begin_call(struct native_thread *t, struct pt_regs *ctx)
{
	struct native_scratch *s = room_of_thread();

	if (!s || !t)
		return NULL;
	t->sp = ctx->sp;
	t->return_va = return_address(t, ctx->sp);
	t->out_va = ctx->di;
	begin_record(s, bpf_get_current_task_btf(), TAPIR_NATIVE_ALLOC, t->function);
	s->user.ip = ctx->ip;
	s->user.sp = ctx->sp;
	s->user.fp = ctx->bp;
	/* A function's frame begins at its return address. */
	s->entry.caller.rule = TAPIR_UNWIND_SP;
	s->entry.caller.cfa = 1;
	s->entry.caller.fp = TAPIR_UNWIND_FP_SAME;
	t->block.bytes = t->outer_bytes;
	t->block.time_ns = s->rec.h.time_ns;
	return s;
}

static __always_inline void count_hit(void)
{
	__u64 *cnt = bpf_map_lookup_elem(&native_hits, &zero_key);

	if (cnt)
		__sync_fetch_and_add(cnt, 1);
}

/* A realloc's block leaves the table before another thread can get its address. */
static __always_inline void begin_realloc(struct native_thread *t, __u64 old_va, __u64 bytes)
{
	if (!bytes)
		free_block(t, old_va);
	else if (old_va && take_block(t, old_va))
		t->old_va = old_va;
}

/*
 * Everything but the stack. Returns 1 if the return of this call is waited for. A function of its
 * own, because the stack of each is limited (common.bpf.h).
 */
static __noinline int is_begun(struct native_thread *t, struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), bytes;
	__u32 function = cookie & 255;

	if (!t)
		return 0;
	/* This is the return that is waited for: the return address has been popped. */
	if (t->sp && ctx->sp == t->sp + 8 && ctx->ip == t->return_va) {
		end_call(t, ctx->ax);
		return 0;
	}
	if (cookie & TAPIR_NATIVE_AT_RETURN || is_within_sampled(t, ctx->sp))
		return 0;
	if (function == TAPIR_NATIVE_FN_FREE) {
		free_block(t, ctx->di);
		t->outer_sp = 0;
		return 0;
	}
	bytes = requested_bytes(ctx, function);
	if (is_made_by_last(t, ctx, function, bytes))
		return 0;
	if (function == TAPIR_NATIVE_FN_REALLOC)
		begin_realloc(t, ctx->di, bytes);
	t->outer_sp = ctx->sp;
	t->outer_ip = ctx->ip;
	t->outer_bytes = bytes;
	t->outer_function = function;
	t->outer_return_va = function == TAPIR_NATIVE_FN_MALLOC ? 0 : return_address(t, ctx->sp);
	t->function = function;
	t->is_sampled = is_sampled(t, bytes);
	return t->is_sampled || t->old_va;
}

/* NULL: the hit is not recorded. */
static __noinline struct native_thread *thread_of_hit(void)
{
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);
	struct task_struct *task = bpf_get_current_task_btf();
	const struct tapir_live *now = tapir_live();

	if (!f || !now || !now->enabled || !is_traced(f, task))
		return NULL;
	count_hit();
	return native_thread_of(task);
}

SEC("uprobe")
int tapir_mem_call(struct pt_regs *ctx)
{
	struct native_thread *t = thread_of_hit();
	struct native_scratch *s;

	/* Returned at an entry, 1 means no probe at the return; without sessions it must be 0. */
	if (!t || !is_begun(t, ctx))
		return native_has_sessions;
	s = begin_call(t, ctx);
	if (!s)
		return native_has_sessions;
	if (t->is_sampled) {
		take_native_stack(s, &s->entry);
		t->block.stack_id = s->rec.stack_id;
	}
	return 0;
}

/* ---- mappings -------------------------------------------------------------------------------- */

SEC("tp_btf/sys_enter")
int BPF_PROG(tapir_mem_brk, struct pt_regs *regs, long nr)
{
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);
	struct task_struct *task = bpf_get_current_task_btf();
	struct tapir_live *now = tapir_live();
	struct native_thread *t;

	if (nr != SYS_BRK || !f || !now || !now->enabled || !is_traced(f, task))
		return 0;
	t = native_thread_of(task);
	if (t)
		t->brk = BPF_CORE_READ(task, mm, brk);
	return 0;
}

static __always_inline __u64 whole_pages(__u64 bytes)
{
	return (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1ull);
}

/* Returns 0 if the call changes nothing that is counted. */
static __noinline int fill_brk(struct tapir_rec_native *rec, __u64 before, __u64 after)
{
	if (!rec || !before || before == after)
		return 0;
	rec->kind = after > before ? TAPIR_NATIVE_MAP : TAPIR_NATIVE_UNMAP;
	rec->function = TAPIR_NATIVE_FN_BRK;
	rec->flags = TAPIR_NATIVE_ANONYMOUS | TAPIR_NATIVE_ACCESSIBLE;
	rec->va = after > before ? before : after;
	rec->bytes = after > before ? after - before : before - after;
	return 1;
}

/* A file's mapping is counted nowhere, but may take the place of others. */
static __noinline int fill_mmap(struct tapir_rec_native *rec, const struct pt_regs *regs, __u64 va)
{
	if (!rec || !(regs->r10 & (MAP_ANONYMOUS | MAP_FIXED)))
		return 0;
	rec->kind = TAPIR_NATIVE_MAP;
	rec->function = TAPIR_NATIVE_FN_MMAP;
	rec->va = va;
	rec->bytes = whole_pages(regs->si);
	rec->flags = (regs->r10 & MAP_ANONYMOUS ? TAPIR_NATIVE_ANONYMOUS : 0) |
		     (regs->dx ? TAPIR_NATIVE_ACCESSIBLE : 0);
	return 1;
}

static __noinline int fill_mremap(struct tapir_rec_native *rec, const struct pt_regs *regs,
				  __u64 va)
{
	if (!rec)
		return 0;
	rec->kind = TAPIR_NATIVE_REMAP;
	rec->function = TAPIR_NATIVE_FN_MREMAP;
	rec->va = va;
	rec->bytes = whole_pages(regs->dx);
	rec->old_va = regs->di;
	rec->old_bytes = whole_pages(regs->si);
	rec->flags = TAPIR_NATIVE_ANONYMOUS | TAPIR_NATIVE_ACCESSIBLE;
	return 1;
}

/* munmap and mprotect. */
static __noinline int fill_range(struct tapir_rec_native *rec, const struct pt_regs *regs,
				 int is_unmap)
{
	if (!rec)
		return 0;
	rec->kind = is_unmap ? TAPIR_NATIVE_UNMAP : TAPIR_NATIVE_PROTECT;
	rec->function = is_unmap ? TAPIR_NATIVE_FN_MUNMAP : TAPIR_NATIVE_FN_MPROTECT;
	rec->va = regs->di;
	rec->bytes = whole_pages(regs->si);
	rec->flags = !is_unmap && regs->dx ? TAPIR_NATIVE_ACCESSIBLE : 0;
	return 1;
}

static __always_inline int is_of_memory(long nr)
{
	return nr == SYS_MMAP || nr == SYS_MPROTECT || nr == SYS_MUNMAP || nr == SYS_BRK ||
	       nr == SYS_MREMAP || nr == SYS_PKEY_MPROTECT;
}

static __always_inline int fill_mapping(struct tapir_rec_native *rec, const struct pt_regs *regs,
					long nr, __u64 ret)
{
	struct native_thread *t;

	switch (nr) {
	case SYS_MMAP:
		return fill_mmap(rec, regs, ret);
	case SYS_MREMAP:
		return fill_mremap(rec, regs, ret);
	case SYS_BRK:
		t = native_thread_of(bpf_get_current_task_btf());
		return t ? fill_brk(rec, t->brk, ret) : 0;
	default:
		return fill_range(rec, regs, nr == SYS_MUNMAP);
	}
}

/*
 * Mappings are recorded at the end of the call, when their address is known. The registers of the
 * caller are then still those with which it entered, so that the stack is its own.
 */
SEC("tp_btf/sys_exit")
int BPF_PROG(tapir_mem_map, struct pt_regs *unused, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	const struct tapir_filter *f;
	struct tapir_live *now;
	struct native_scratch *s;
	long nr = regs->orig_ax;

	if (!is_of_memory(nr) || (ret < 0 && ret >= -MAX_ERRNO))
		return 0;
	f = bpf_map_lookup_elem(&filter, &zero_key);
	now = tapir_live();
	if (!f || !now || !now->enabled || !is_traced(f, task) || tapir_task__is_compat(task))
		return 0;
	s = room_of_thread();
	if (!s)
		return 0;
	begin_record(s, task, 0, 0);
	if (!fill_mapping(&s->rec, regs, nr, ret))
		return 0;
	if (s->rec.flags & TAPIR_NATIVE_ACCESSIBLE && s->rec.kind != TAPIR_NATIVE_UNMAP &&
	    tapir_task__has_memory(task)) {
		s->user.ip = regs->ip;
		s->user.sp = regs->sp;
		s->user.fp = regs->bp;
		take_native_stack(s, NULL);
	}
	send_record(s);
	return 0;
}

/* ---- the end of a process ------------------------------------------------------------------- */

static long forget_block(struct bpf_map *map, const void *key, void *value, void *ctx)
{
	if (((const struct native_key *)key)->tgid == *(const __u32 *)ctx)
		bpf_map_delete_elem(map, key);
	return 0;
}

/*
 * The memory of a process is gone. Blocks that were in use then stay counted as such, unless the
 * process continues with another program.
 */
static __noinline int end_space(__u32 is_exec)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct native_scratch *s = room_of_thread();
	__u32 tgid = task->tgid;

	if (!s)
		return 0;
	if (bpf_map_lookup_elem(&native_owners, &tgid)) {
		bpf_map_delete_elem(&native_owners, &tgid);
		bpf_for_each_map_elem(&native_blocks, forget_block, &tgid, 0);
	}
	begin_record(s, task, TAPIR_NATIVE_END, 0);
	s->rec.flags = is_exec ? TAPIR_NATIVE_EXEC : 0;
	return send_record(s);
}

static __always_inline int is_recorded(struct task_struct *task)
{
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);
	const struct tapir_live *now = tapir_live();

	return f && now && now->enabled && is_traced(f, task);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(tapir_mem_exec, struct task_struct *task)
{
	if (is_recorded(task))
		end_space(1);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(tapir_mem_exit, struct task_struct *task)
{
	if (!BPF_CORE_READ(task, signal, live.counter) && is_recorded(task))
		end_space(0);
	return 0;
}
