/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * trace_context.bpf.h - the trace and span for which the current thread works, if its process
 * publishes them (tapir/otel_context.h). The thread is in the kernel, so its record does not
 * change; `valid` is read before and after nevertheless, in case another thread changes the record.
 *
 * Nothing of a process that publishes nothing is read. What is read may be anything: no address is
 * trusted, and no loop follows one.
 */
#ifndef TAPIR_BPF_TRACE_CONTEXT_BPF_H
#define TAPIR_BPF_TRACE_CONTEXT_BPF_H

#include "bpf/common.bpf.h"
#include "tapir/otel_context.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TAPIR_OTEL_TLS_LOCATIONS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct tapir_otel_tls_location);
} otel_tls_locations __weak SEC(".maps");

#define MODULES_MAX 4096 /* of a process, as far as tapir believes it */
#define MODULES_NEAR                                                                               \
	6 /* with two more a power of two; read together with their number: a read costs 25 to 90  \
	     ns */
#define TLS_BYTES_MAX	(1ull << 30) /* of a module's block, as above */
#define NOT_YET_A_BLOCK ((__u64)-1)  /* TLS_DTV_UNALLOCATED of glibc */
#define MODULE_BYTES	16	     /* of the vector, per module */

/* Not on the stack: see common.bpf.h. */
struct trace_context {
	__u64 thread_pointer;
	__u64 at;			     /* of what is read next */
	__u64 words[2 * (MODULES_NEAR + 2)]; /* what was read last */
	struct tapir_otel_thread record;
	__u32 tgid;
	__u8 valid_before;
	__u8 pad0[7];
};

static __always_inline long read_user_words(struct trace_context *c, __u32 bytes, __u64 va)
{
	return bpf_probe_read_user(c->words, bytes, (const void *)va);
}

/* The kind is stored last: another CPU may be reading the place. */
static __always_inline void set_static(struct tapir_otel_tls_location *location, __s64 distance)
{
	location->value = distance;
	barrier();
	location->kind = TAPIR_TRACE_STATIC;
}

/* While got_word is unchanged, the GOT is that of the same module. */
static __always_inline long set_dynamic(struct tapir_otel_tls_location *location, __u64 module,
					__u64 offset, __u32 got_word_at, __u64 got_word)
{
	if (!module || module > MODULES_MAX || offset > TLS_BYTES_MAX)
		return -1;
	location->value = module;
	location->offset = offset;
	location->got_word_at = got_word_at;
	location->got_word = got_word;
	barrier();
	location->kind = TAPIR_TRACE_DYNAMIC;
	return 0;
}

/*
 * Reads what the dynamic linker has put into the GOT; not yet, before it has: -1, and tried again.
 */
static __noinline long resolve_location(struct trace_context *c,
					struct tapir_otel_tls_location *location)
{
	__u64 argument;

	if (read_user_words(c, 16, location->got_va))
		return -1;
	if (location->kind == TAPIR_TRACE_GOT_MODULE)
		return set_dynamic(location, c->words[0], c->words[1], 0, c->words[0]);
	argument = location->kind == TAPIR_TRACE_GOT_DESC ? c->words[1] : c->words[0];
	if ((__s64)argument < 0) {
		set_static(location, argument);
		return 0;
	}
	if (location->kind != TAPIR_TRACE_GOT_DESC || !argument || read_user_words(c, 16, argument))
		return -1;
	return set_dynamic(location, c->words[0], c->words[1], 8, argument);
}

/* The word of the thread's vector for a module: c->words[0]. 0: it has no room for it. */
static __noinline long read_vector(struct trace_context *c, __u64 module)
{
	__u64 vector;

	if (read_user_words(c, 8, c->thread_pointer + 8))
		return -1;
	vector = c->words[0];
	if (read_user_words(c, module <= MODULES_NEAR ? sizeof(c->words) : 8,
			    vector - MODULE_BYTES))
		return -1;
	if (module > c->words[0]) {
		c->words[0] = 0;
		return 0;
	}
	if (module > MODULES_NEAR)
		return read_user_words(c, 8, vector + MODULE_BYTES * module);
	c->words[0] = c->words[(2 * (module + 1)) & (2 * MODULES_NEAR + 3)];
	return 0;
}

/*
 * The variable of a module that was loaded later: c->at; 0: the thread has none yet. Negative: it
 * could not be read.
 */
static __noinline long find_dynamic(struct trace_context *c,
				    struct tapir_otel_tls_location *location)
{
	c->at = 0;
	if (read_user_words(c, 8, location->got_va + location->got_word_at))
		return -1;
	if (c->words[0] != location->got_word) {
		location->kind = TAPIR_TRACE_NOWHERE; /* another library is there */
		return 0;
	}
	if (read_vector(c, location->value))
		return -1;
	if (c->words[0] != NOT_YET_A_BLOCK && c->words[0])
		c->at = c->words[0] + location->offset;
	return 0;
}

/*
 * Writes where the thread has its pointer to the record to c->at; 0 there: it has none. Not 0:
 * memory of the process could not be read.
 */
static __noinline long find_variable(struct trace_context *c,
				     struct tapir_otel_tls_location *location)
{
	if (location->kind >= TAPIR_TRACE_GOT_TPOFF && resolve_location(c, location))
		return 0; /* the library is not ready: no thread has a record in it */
	if (location->kind == TAPIR_TRACE_STATIC) {
		c->at = c->thread_pointer + location->value;
		return 0;
	}
	return location->kind == TAPIR_TRACE_DYNAMIC ? find_dynamic(c, location) : 0;
}

static __always_inline int has_ids(const struct tapir_otel_thread *record)
{
	const __u64 *words = (const __u64 *)record->trace_id;

	return words[0] || words[1];
}

/* Causes are constants where they are used: the verifiers of 6.1 and 6.12 do not follow -x. */
enum trace_found { TRACE_NONE, TRACE_IDS, TRACE_UNREADABLE, TRACE_CHANGED };

/* TRACE_IDS: in c->record. */
static __noinline enum trace_found read_record(struct trace_context *c)
{
	if (!c->at)
		return TRACE_NONE;
	if (read_user_words(c, 8, c->at))
		return TRACE_UNREADABLE;
	c->at = c->words[0];
	if (!c->at)
		return TRACE_NONE;
	if (bpf_probe_read_user(&c->valid_before, 1, (const void *)(c->at + TAPIR_OTEL_VALID_OFF)))
		return TRACE_UNREADABLE;
	if (c->valid_before != 1)
		return TRACE_NONE;
	/* Copied upwards: `valid` is read after the ids. */
	if (bpf_probe_read_user(&c->record, TAPIR_OTEL_THREAD_BYTES, (const void *)c->at))
		return TRACE_UNREADABLE;
	if (c->record.valid != 1)
		return TRACE_CHANGED;
	return has_ids(&c->record) ? TRACE_IDS : TRACE_NONE;
}

/* 1: c->record has the thread's ids. Each failure is counted by its cause. */
static __noinline int find_trace_ids(struct trace_context *c,
				     struct tapir_otel_tls_location *location)
{
	enum trace_found found;

	if (!c || !location)
		return 0;
	c->at = 0;
	c->thread_pointer = tapir_task__thread_pointer(bpf_get_current_task_btf());
	found = find_variable(c, location) ? TRACE_UNREADABLE : read_record(c);
	if (found == TRACE_UNREADABLE)
		tapir_lose(&zero_key, TAPIR_LOSS_TRACE_IDS_UNREADABLE);
	if (found == TRACE_CHANGED)
		tapir_lose(&zero_key, TAPIR_LOSS_TRACE_IDS_CHANGED);
	return found == TRACE_IDS;
}

/*
 * 1: c->record has the ids of the current thread, of a process that is traced. A thread that ends
 * no longer has an address space: what is read then is another process's.
 */
static __always_inline int take_trace_ids(struct trace_context *c, const struct tapir_live *now,
					  __u32 tgid)
{
	struct tapir_otel_tls_location *location;

	if (!now->trace_publishers || !tapir_task__has_memory(bpf_get_current_task_btf()))
		return 0;
	c->tgid = tgid;
	location = bpf_map_lookup_elem(&otel_tls_locations, &c->tgid);
	return location ? find_trace_ids(c, location) : 0;
}

#endif /* TAPIR_BPF_TRACE_CONTEXT_BPF_H */
