/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * user_stack.bpf.h - a user stack by its frame pointers, with everything the walk needs in
 * memory the caller owns. The decisions are in walk_logic.bpf.h.
 */
#ifndef TAPIR_BPF_USER_STACK_BPF_H
#define TAPIR_BPF_USER_STACK_BPF_H

#include "bpf/common.bpf.h"

#define PAGE_BYTES	  4096
#define WINDOW_BYTES	  2048
#define WINDOW_WORDS	  (WINDOW_BYTES / 8)

/*
 * Frames that are walked by an inline loop; deeper ones by a loop that is called, which takes 6 ns
 * a frame more to run, and the verifier 30 ms less. An event can do without those 6 ns.
 */
#define INLINE_FRAMES	  40
#define HIDDEN_IN_A_ROW	  3 /* __tls_get_addr, in a helper that allocates, in one that calls that */
#define INLINE_FRAMES_FEW 4

struct walk {
	__u64 fp, above; /* the next frame record, and the end of the last one */
	__u64 hash;
	__u64 base; /* of the window */
	__u32 window_bytes;
	__u32 cnt; /* frames taken */
	__u32 flags;
	__u32 pad0;
};

struct user_stack {
	__u64 ip, sp, fp; /* where the walk begins */
	struct walk walk;
	struct tapir_repair_process repair;
	__u64 pair[2]; /* a frame record: the caller's frame pointer, the return address */
	__u64 window[WINDOW_WORDS];
	struct tapir_rec_stack rec; /* filled but for its header; the frames stand behind it */
	__u64 frames[TAPIR_FRAMES + 1];
};

/* Reads the stack from base on in one go; less than asked near the end of a stack. */
static __always_inline void read_window(struct user_stack *u, struct walk *w)
{
	__u32 to_page_end = PAGE_BYTES - (w->base & (PAGE_BYTES - 1));

	if (!bpf_probe_read_user(u->window, WINDOW_BYTES, (void *)w->base))
		w->window_bytes = WINDOW_BYTES;
	else if (to_page_end < WINDOW_BYTES &&
		 !bpf_probe_read_user(u->window, to_page_end & (WINDOW_BYTES - 1), (void *)w->base))
		w->window_bytes = to_page_end;
}

/* 16 bytes of the stack at va: from the window, or beyond it from the process. */
static __always_inline long read_pair(struct user_stack *u, __u64 va, __u64 base,
				      __u32 window_bytes)
{
	__u64 off = va - base;

	if (off + 16 > window_bytes || off & 7)
		return bpf_probe_read_user(u->pair, sizeof(u->pair), (void *)va);
	u->pair[0] = u->window[(off >> 3) & (WINDOW_WORDS - 1)];
	u->pair[1] = u->window[((off >> 3) + 1) & (WINDOW_WORDS - 1)];
	return 0;
}

/*
 * The step from a function that may not have set up its frame to its caller, as the site says:
 * u->pair is then as from a frame record. 0: there is no such step. Else the end of the
 * function's frame.
 */
static __noinline __u64 first_caller(struct user_stack *u, const struct tapir_site *site,
				     __u32 window_bytes)
{
	__u64 sp = u->sp, base = sp & ~7ull, fp = u->fp, cfa;

	if (site->flags & TAPIR_SITE_CFA_SP)
		cfa = sp + (__s64)site->cfa_off;
	else if (site->flags & TAPIR_SITE_CFA_FP)
		cfa = fp + (__s64)site->cfa_off;
	else
		return 0;
	if (site->flags & TAPIR_SITE_FP_SAVED) {
		if (read_pair(u, cfa + (__s64)site->fp_off, base, window_bytes))
			return 0;
		fp = u->pair[0];
	}
	if (read_pair(u, cfa - 16, base, window_bytes))
		return 0;
	u->pair[0] = fp;
	return cfa;
}

/*
 * How many frames were taken lies in memory, where the verifier does not follow it: in a register,
 * it would look at the rest of the walk anew for each number there may be.
 */
static __always_inline __u32 frame_cnt(const struct user_stack *u)
{
	return *(const volatile __u32 *)&u->walk.cnt;
}

static __always_inline void take_frame(struct user_stack *u, struct walk *w, __u64 ip)
{
	__u32 cnt = frame_cnt(u);

	u->frames[cnt & 127] = ip;
	*(volatile __u32 *)&u->walk.cnt = cnt + 1;
	w->hash = tapir_walk__hash(w->hash, ip);
}

/* ---- callers that functions hide (repair_logic.bpf.h) ------------------------------------- */

static __noinline int load_repair(struct user_stack *u)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	const struct tapir_repair_process *p = bpf_map_lookup_elem(&repair_processes, &tgid);

	if (p)
		u->repair = *p;
	return 0;
}

static __always_inline void begin_repair(struct user_stack *u)
{
	struct tapir_live *now = tapir_live();

	u->repair.size = 0;
	if (now && now->has_repairs)
		load_repair(u);
}

/*
 * Where the frame of the function at ip ends, counted from the stack pointer; 0: it hides nobody.
 * Not static, as walk: looked at anew in each turn of each walk it was most of what loading takes.
 */
__weak __noinline __u32 hidden_cfa_off(struct user_stack *u, __u64 ip)
{
	const struct tapir_repair_file *file;
	__u32 file_idx = 0, is_found = 0;
	__u64 off = 0;

	if (!u)
		return 0;
	/* Looks for the range alone: what follows it in here is verified once for each. */
	for (__u32 i = 0; i < TAPIR_REPAIR_RANGES && !is_found; i++) {
		off = ip - u->repair.ranges[i].start_va;
		is_found = off < u->repair.ranges[i].size;
		file_idx = u->repair.ranges[i].file_idx;
	}
	file = is_found ? bpf_map_lookup_elem(&repair_files, &file_idx) : NULL;
	return file ? tapir_repair__cfa_off(file, off) : 0;
}

/*
 * Takes what the function at ip hides, and what the function found hides in turn. The stack pointer
 * was sp_va there, the next frame record is at fp. Goes on from u->walk's hash. Not static: as
 * walk.
 */
__weak __noinline int take_hidden(struct user_stack *u, __u64 ip, __u64 sp_va, __u64 fp,
				  __u32 min_cfa_off)
{
	if (!u)
		return 0;
	for (__u32 i = 0; i < HIDDEN_IN_A_ROW && frame_cnt(u) < TAPIR_FRAMES; i++) {
		__u32 cfa_off = hidden_cfa_off(u, ip);
		__u64 slot = sp_va + cfa_off - 8;

		if (cfa_off < min_cfa_off || !tapir_repair__slot_ok(slot, sp_va, fp) ||
		    read_pair(u, slot, u->walk.base, u->walk.window_bytes) ||
		    !tapir_walk__ip_ok(u->pair[0]))
			return 0;
		ip = u->pair[0];
		take_frame(u, &u->walk, ip);
		ip--; /* the call lies before */
		sp_va = slot + 8;
		min_cfa_off = TAPIR_REPAIR_LEAF; /* its callee has no frame record either */
	}
	return 0;
}

static __always_inline void repair_frame(struct user_stack *u, struct walk *w, __u64 ip,
					 __u64 sp_va, __u32 min_cfa_off)
{
	u->walk.hash = w->hash;
	take_hidden(u, ip, sp_va, w->fp, min_cfa_off);
	w->hash = u->walk.hash;
}

/* One frame record further. 1: that was the end. */
static __always_inline int walk_step(struct user_stack *u, struct walk *w)
{
	__u64 ip;

	if (frame_cnt(u) >= TAPIR_FRAMES || !tapir_walk__fp_ok(w->fp, w->above))
		return 1;
	if (read_pair(u, w->fp, w->base, w->window_bytes)) {
		w->flags |= TAPIR_STACK_FAULT;
		return 1;
	}
	if (!tapir_walk__ip_ok(u->pair[1]))
		return 1;
	ip = u->pair[1];
	take_frame(u, w, ip);
	w->above = w->fp + 16;
	w->fp = u->pair[0];
	if (ip - 1 - u->repair.low_va < u->repair.size) /* the call lies before */
		repair_frame(u, w, ip - 1, w->above, TAPIR_REPAIR_CALLER);
	return 0;
}

struct walk_ctx {
	struct user_stack *u;
};

static long walk_later_step(__u64 idx, void *ctx)
{
	const struct walk_ctx *c = ctx;

	return walk_step(c->u, &c->u->walk);
}

/* By a loop the verifier looks at once, not once a frame. */
static __noinline int walk_deep(struct user_stack *u, __u32 cnt)
{
	struct walk_ctx c = {.u = u};

	bpf_loop(cnt, walk_later_step, &c, 0);
	return 0;
}

static __always_inline void begin_walk(struct user_stack *u, struct walk *w)
{
	w->base = w->above = u->sp & ~7ull;
	w->fp = u->fp;
	read_window(u, w);
	u->walk = *w;
	begin_repair(u);
}

static __always_inline int walk_inline(struct user_stack *u, const struct tapir_site *site,
				       __u32 inline_cnt)
{
	struct walk w = {};
	__u64 frame_end;
	__u32 i = 0;

	begin_walk(u, &w);
	take_frame(u, &w, u->ip);
	if (!site && u->repair.size)
		repair_frame(u, &w, u->ip, w.base, TAPIR_REPAIR_LEAF);
	frame_end = site ? first_caller(u, site, w.window_bytes) : 0;
	if (frame_end > w.base && tapir_walk__ip_ok(u->pair[1])) {
		take_frame(u, &w, u->pair[1]);
		w.fp = u->pair[0];
		w.above = frame_end;
	}
	while (i < inline_cnt && !walk_step(u, &w))
		i++;
	w.cnt = frame_cnt(u);
	u->walk = w;
	if (i == inline_cnt)
		walk_deep(u, TAPIR_FRAMES);
	if (u->walk.cnt == TAPIR_FRAMES && tapir_walk__fp_ok(u->walk.fp, u->walk.above))
		u->walk.flags |= TAPIR_STACK_MORE;
	u->rec.frame_cnt = u->walk.cnt;
	u->rec.flags = u->walk.flags;
	u->rec.stack_id = u->walk.hash ? u->walk.hash : 1;
	return 0;
}

/*
 * Fill frames and record. site: says where the first caller is; NULL: nobody does. Not static:
 * the verifier then looks at them once, not once for each way that leads here.
 */
__weak __noinline int walk(struct user_stack *u, const struct tapir_site *site)
{
	return u ? walk_inline(u, site, INLINE_FRAMES) : 0;
}

__weak __noinline int walk_by_loop(struct user_stack *u)
{
	return u ? walk_inline(u, NULL, INLINE_FRAMES_FEW) : 0;
}

#endif /* TAPIR_BPF_USER_STACK_BPF_H */
