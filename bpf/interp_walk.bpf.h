/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * interp_walk.bpf.h - the functions that an interpreter runs for the current thread, as data of its
 * process says (interp.h). A page that is not resident ends the walk; the wrong data does, or a
 * thread that is not the interpreter's: its state has another thread's number.
 */
#ifndef TAPIR_BPF_INTERP_WALK_BPF_H
#define TAPIR_BPF_INTERP_WALK_BPF_H

#include "bpf/interp_logic.bpf.h"
#include "bpf/stack_rows.bpf.h"

#define TSS_VALUES_OFF	 0x318u /* glibc's struct pthread: specific_1stblock[0].data */
#define TSS_KEYS	 32u	/* that are in it */
#define DTV_OFF		 8u	/* tcbhead_t.dtv: of 16 bytes for each module, the first of which */
#define DTV_MODULES	 4096u	/* is where its data is */
#define RUBY_FRAME_BYTES 40u	/* are read of a frame */
#define METHOD_HOLDS_NS	 4000000

static __always_inline long read_interp_word(struct user_stack *u, __u64 va)
{
	return bpf_probe_read_user(u->interp_words, sizeof(__u64), (void *)va);
}

/* The data of a library that the thread has not used yet is at no address that can be read. */
static __always_inline __u64 indexed_root(struct user_stack *u, struct task_struct *task)
{
	__u64 module, off;

	if (read_pair(u, u->interp.root_va))
		return 0;
	module = u->pair[0];
	off = u->pair[1];
	if (!module || module > DTV_MODULES ||
	    read_interp_word(u, tapir_task__thread_pointer(task) + DTV_OFF) ||
	    read_interp_word(u, u->interp_words[0] + 16 * module))
		return 0;
	return u->interp_words[0] + off;
}

/* Returns where the address of the thread's state is; 0: nowhere. */
static __always_inline __u64 interp_root(struct user_stack *u, struct task_struct *task)
{
	__u32 key;

	if (u->interp.root == TAPIR_INTERP_INDEX)
		return indexed_root(u, task);
	if (u->interp.root == TAPIR_INTERP_VA)
		return u->interp.root_va;
	if (u->interp.root == TAPIR_INTERP_TLS)
		return tapir_task__thread_pointer(task) + u->interp.root_va;
	if (read_interp_word(u, u->interp.root_va))
		return 0;
	key = u->interp_words[0];
	return key < TSS_KEYS ? tapir_task__thread_pointer(task) + TSS_VALUES_OFF + 16 * key : 0;
}

/* Begins at the innermost frame of the state at u->cfa. */
static __always_inline void begin_array(struct user_stack *u)
{
	u->interp_va = u->interp_end = 0;
	if (bpf_probe_read_user(u->interp_words, 3 * sizeof(__u64), (void *)u->cfa))
		return;
	u->interp_end = tapir_interp__array_end(u->interp_words);
	if (u->interp_end)
		u->interp_va = u->interp_words[2];
}

/* The innermost frame to u->interp_va; 0: none. Not static: see find_row. */
__weak __noinline int begin_interp(struct user_stack *u)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!u)
		return 0;
	u->interp_va = 0;
	if (u->interp.flags & TAPIR_INTERP_FIRST_THREAD && task->pid != task->tgid)
		return 0;
	if (read_interp_word(u, interp_root(u, task)) || !u->interp_words[0])
		return 0;
	u->cfa = u->interp_words[0];
	if (u->interp.tid && (read_interp_word(u, u->cfa + u->interp.tid) ||
			      u->interp_words[0] != tapir_task__ns_pid(task)))
		return 0;
	for (__u32 i = 0; i < TAPIR_INTERP_STEPS; i++) {
		if (i >= u->interp.step_cnt)
			break;
		if (read_interp_word(u, u->cfa + u->interp.steps[i]))
			return 0;
		u->cfa = u->interp_words[0];
	}
	u->interp_va = u->cfa;
	if (u->interp.language == TAPIR_INTERP_RUBY)
		begin_array(u);
	return 0;
}

/* Not 0: it was the last one. Not static: see find_row. */
__weak __noinline int take_interp_frame(struct user_stack *u)
{
	__u64 va;
	int is_last;

	if (!u)
		return 1;
	if (*(volatile __u16 *)&u->list.cnt >= TAPIR_INTERP_FRAMES ||
	    bpf_probe_read_user(u->interp_words, TAPIR_INTERP_FRAME_BYTES, (void *)u->interp_va)) {
		u->list.flags |= TAPIR_INTERP_IS_TRUNCATED;
		return 1;
	}
	u->interp_va = tapir_interp__word(u->interp_words, u->interp.previous);
	is_last = tapir_interp__is_last(&u->interp, u->interp_words);
	va = tapir_interp__code(&u->interp, u->interp_words, is_last);
	u->interp_words[0] = 0;
	if (va)
		read_interp_word(u, va + u->interp.cookie);
	tapir_interp__add(&u->list, va, u->interp_words[0], is_last);
	return !u->interp_va;
}

static __always_inline long read_env(struct user_stack *u, __u64 va)
{
	return bpf_probe_read_user(u->env, sizeof(u->env),
				   (void *)(va - TAPIR_INTERP_ENV_BYTES + sizeof(__u64)));
}

/* To u->env that of the method in which the block is; not 0: it is not known. */
static __always_inline long read_own_env(struct user_stack *u)
{
	for (__u32 i = 0; i < TAPIR_INTERP_ENVS; i++) {
		if (u->env[2] & TAPIR_INTERP_ENV_IS_OWN)
			return 0;
		if (read_env(u, u->env[1] & ~(__u64)TAPIR_INTERP_ENV_TAGS))
			return -1;
	}
	return -1;
}

/*
 * Adds the function of Ruby whose frame is in u->interp_words, and its environment in u->env. Not
 * 0: it cannot be one.
 */
static __always_inline long add_method(struct user_stack *u, enum tapir_interp_env kind)
{
	int is_last = (u->env[2] & u->interp.last_mask) == u->interp.last_value;
	__u64 va = tapir_interp__word(u->interp_words, u->interp.code), owner = u->env[0];
	__u32 at = u->interp.cookie;

	if (kind == TAPIR_INTERP_ENV_C) {
		if (read_interp_word(u, owner + at))
			return -1;
		va = u->interp_words[0];
		at = TAPIR_INTERP_C_FUNCTION;
	} else {
		owner = read_own_env(u) ? 0 : u->env[0];
	}
	if (va & 7 || !tapir_walk__ip_ok(va) || read_interp_word(u, va + at))
		return -1;
	tapir_interp__add(&u->list, va, u->interp_words[0], is_last);
	tapir_interp__set_owner(&u->list, owner);
	return 0;
}

/* Not 0: it was the last one. Not static: see find_row. */
__weak __noinline int take_ruby_frame(struct user_stack *u)
{
	enum tapir_interp_env kind = TAPIR_INTERP_ENV_UNKNOWN;

	if (!u)
		return 1;
	if (*(volatile __u16 *)&u->list.cnt < TAPIR_INTERP_FRAMES &&
	    !bpf_probe_read_user(u->interp_words, RUBY_FRAME_BYTES, (void *)u->interp_va) &&
	    !read_env(u, tapir_interp__word(u->interp_words, u->interp.last)))
		kind = tapir_interp__env(u->env[2]);
	if ((kind == TAPIR_INTERP_ENV_METHOD || kind == TAPIR_INTERP_ENV_C) && add_method(u, kind))
		kind = TAPIR_INTERP_ENV_UNKNOWN;
	u->interp_va += u->interp.previous;
	if (kind == TAPIR_INTERP_ENV_UNKNOWN)
		u->list.flags |= TAPIR_INTERP_IS_TRUNCATED;
	return kind == TAPIR_INTERP_ENV_UNKNOWN || kind == TAPIR_INTERP_ENV_OUTERMOST ||
	       u->interp_va >= u->interp_end;
}

static long interp_step(__u64 idx, void *ctx)
{
	struct user_stack *u = *(struct user_stack **)ctx;

	return (u->interp.language == TAPIR_INTERP_RUBY ? take_ruby_frame(u)
							: take_interp_frame(u)) != 0;
}

/* u->list of the current thread; its stack_id is a hash of it. Not static: see find_row. */
__weak __noinline int walk_interp(struct user_stack *u)
{
	if (!u)
		return 0;
	u->list.cnt = u->list.flags = 0;
	if (!u->interp.root)
		return 0;
	u->interp_va = 0;
	u->list.tgid = u->key.tgid;
	u->list.language = u->interp.language;
	u->list.stack_id = u->key.tgid;
	if (u->interp.root != TAPIR_INTERP_SLOTS)
		begin_interp(u);
	/* Shims are frames, too: as many again. */
	if (u->interp_va)
		bpf_loop(2 * TAPIR_INTERP_FRAMES, interp_step, &u, 0);
	u->interp_hash = u->list.stack_id;
	return 0;
}

/*
 * Adds the function of the frame that is taken next to u->list: only if the frame is complete, so
 * that what is below the frame pointer is its own. Not static: see find_row.
 */
__weak __noinline int take_slots(struct user_stack *u)
{
	__u64 va;

	if (!u || u->row.rule != TAPIR_UNWIND_FP || u->fp - u->sp < TAPIR_INTERP_SLOT_BYTES ||
	    (__s64)(u->fp - u->sp) < 0)
		return 0;
	if (*(volatile __u16 *)&u->list.cnt >= TAPIR_INTERP_FRAMES) {
		u->list.flags |= TAPIR_INTERP_IS_TRUNCATED;
		return 0;
	}
	if (read_pair(u, u->fp - 16) || !(u->pair[1] & TAPIR_INTERP_SMALL_MASK) ||
	    !tapir_interp__is_object(u->pair[0]) ||
	    read_interp_word(u, u->pair[0] - TAPIR_INTERP_OBJECT + u->interp.code))
		return 0;
	va = u->interp_words[0];
	if (!tapir_interp__is_object(va))
		return 0;
	va -= TAPIR_INTERP_OBJECT;
	if (bpf_probe_read_user(u->interp_words, TAPIR_INTERP_FRAME_BYTES, (void *)va))
		return 0;
	tapir_interp__add(&u->list, va,
			  tapir_interp__slot_cookie(&u->interp, u->interp_words, frame_cnt(u)), 0);
	return 0;
}

/* To *va the word at off behind it, which is the address of a structure too; else not 0. */
static __always_inline long follow_metadata(struct user_stack *u, __u64 *va, __u16 off)
{
	if (read_interp_word(u, *va + off))
		return -1;
	*va = u->interp_words[0];
	return tapir_interp__is_metadata(*va) ? 0 : -1;
}

/*
 * Reads the hash of the method at va. Not 0: it is none, or not all of it is resident. Not static:
 * see find_row.
 */
__weak __noinline int read_method(struct user_stack *u, __u64 va, struct kept_method *out)
{
	__u64 code = va, name, indexes;

	if (!u || !out || follow_metadata(u, &code, u->interp.code) ||
	    bpf_probe_read_user(u->interp_words, TAPIR_INTERP_METHOD_BYTES, (void *)code))
		return -1;
	indexes = tapir_interp__word(u->interp_words, u->interp.cookie);
	name = tapir_interp__word(u->interp_words, u->interp.previous);
	if (!tapir_interp__is_metadata(name) || follow_metadata(u, &name, u->interp.steps[0]) ||
	    follow_metadata(u, &name, u->interp.steps[1]))
		return -1;
	u->interp_words[0] = 0;
	bpf_probe_read_user(u->interp_words, sizeof(__u16), (void *)(name + u->interp.last));
	out->hash = tapir_interp__method_hash(code, indexes, name, u->interp_words[0]);
	return 0;
}

/*
 * Adds the method of HotSpot's interpreter whose frame is taken next to u->list: only if the frame
 * is set up, as before that the frame pointer is its caller's. What was read of a method holds for
 * METHOD_HOLDS_NS: before another one is there, it returns, a collection unloads its class, and
 * another class is loaded. Not static: see find_row.
 */
__weak __noinline int take_method(struct user_stack *u)
{
	struct kept_method *kept;
	__u64 method, now_ns;

	if (!u || u->row.rule != RULE_INTERPRETED || u->fp - u->sp < TAPIR_UNWIND_METHOD_BELOW_FP ||
	    (__s64)(u->fp - u->sp) < 0)
		return 0;
	u->walk.is_uncacheable = 1;
	if (*(volatile __u16 *)&u->list.cnt >= TAPIR_INTERP_FRAMES) {
		u->list.flags |= TAPIR_INTERP_IS_TRUNCATED;
		return 0;
	}
	if (read_word(u, u->fp - TAPIR_UNWIND_METHOD_BELOW_FP, &u->cfa))
		return 0;
	method = u->cfa;
	if (!tapir_interp__is_metadata(method))
		return 0;
	now_ns = bpf_ktime_get_ns();
	kept = &u->methods[(method >> 3 ^ method >> 9) & (KEPT_METHODS - 1)];
	if (kept->tag != (method ^ u->seed) || now_ns - kept->time_ns > METHOD_HOLDS_NS) {
		kept->tag = 0;
		if (read_method(u, method, kept))
			return 0;
		kept->tag = method ^ u->seed;
		kept->time_ns = now_ns;
	}
	tapir_interp__add(&u->list, method, tapir_interp__indexed(kept->hash, frame_cnt(u)), 0);
	return 0;
}

/* Adds the function of the frame that is taken next, which has_slots(). */
static __always_inline void take_function(struct user_stack *u)
{
	if (u->interp.language == TAPIR_INTERP_HOTSPOT)
		take_method(u);
	else
		take_slots(u);
}

/* The id of the addresses with the native id, and u->list, which keeps it. Not static: see
 * find_row. */
__weak __noinline __u64 whole_stack_id(struct user_stack *u, __u64 native_id)
{
	if (!u || !u->list.cnt)
		return native_id;
	u->list.stack_id = tapir_interp__stack_id(u->interp_hash, native_id);
	return u->list.stack_id;
}

#endif
