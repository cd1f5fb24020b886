/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * control.h - what the loader passes to the BPF programs: sites, operands, filters. Not part of a
 * recording (that is abi.h); shared by bpf/, user/elf (which fills operands) and user/attach.
 */
#ifndef TAPIR_BPF_CONTROL_H
#define TAPIR_BPF_CONTROL_H

#include "bpf/glob_logic.bpf.h"
#include "bpf/unwind.h"
#include "tapir/abi.h"

/*
 * The location of an argument when its site fires. Registers are named by their position in the
 * kernel's x86 struct pt_regs, in units of 8 bytes (arch/x86/include/uapi/asm/ptrace.h).
 */
enum tapir_reg {
	TAPIR_REG_R15,
	TAPIR_REG_R14,
	TAPIR_REG_R13,
	TAPIR_REG_R12,
	TAPIR_REG_BP,
	TAPIR_REG_BX,
	TAPIR_REG_R11,
	TAPIR_REG_R10,
	TAPIR_REG_R9,
	TAPIR_REG_R8,
	TAPIR_REG_AX,
	TAPIR_REG_CX,
	TAPIR_REG_DX,
	TAPIR_REG_SI,
	TAPIR_REG_DI,
	TAPIR_REG_IP = 16,
	TAPIR_REG_CS = 17,
	TAPIR_REG_SP = 19,
	TAPIR_REG_CNT = 21,
	TAPIR_REG_NONE = 0xff
};

enum tapir_operand_kind {
	TAPIR_OPERAND_NONE = 0,	 /* cannot be read; reason has the reason */
	TAPIR_OPERAND_CONST = 1, /* value */
	TAPIR_OPERAND_REG = 2,	 /* (reg >> reg_shift) + value */
	TAPIR_OPERAND_MEM = 3,	 /* memory at reg + (index << scale_shift) + value */
	TAPIR_OPERAND_TLS = 4 /* as MEM, and the thread pointer (%fs base) added; reg may be NONE */
};

struct tapir_operand {
	int64_t value;	   /* constant or displacement; relative to the site with REG_IP as base */
	uint8_t kind;	   /* enum tapir_operand_kind */
	uint8_t reg;	   /* enum tapir_reg; TAPIR_REG_NONE: absent */
	uint8_t index_reg; /* TAPIR_REG_NONE: absent */
	uint8_t scale_shift;
	uint8_t reg_shift; /* 8 for %ah and its like */
	uint8_t size;	   /* 1, 2, 4, 8, 16 */
	uint8_t is_signed;
	uint8_t is_float;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_operand) == 16, "tapir_operand");

struct tapir_site_arg {
	struct tapir_operand operand;
	uint8_t field_type; /* enum tapir_field_type: how it is captured */
	uint8_t len_arg;    /* STRN, BLOB: argument that holds the length */
	uint16_t max_bytes; /* STR, STRN, BLOB: recorded at most */
	uint8_t via; /* STR: the pointer to it is at the argument plus this; 0: it is the argument
		      */
	uint8_t pad0[3];
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_site_arg) == 24, "tapir_site_arg");

#define TAPIR_SITE_STACK (1u << 0) /* take the user stack */
#define TAPIR_SITE_TLS	 (1u << 1) /* some operand is thread-local */
#define TAPIR_SITE_TELLS_TAKEN                                                                     \
	(1u << 2) /* `taken` has the sessions of the ring lane that took the event (provider.h) */

/* Parts of tapir_ring_ctl (tapir/ring.h), which BPF programs cannot include. */
#define TAPIR_CTL_SESSIONS	 8u
#define TAPIR_CTL_SESSION_BYTES	 256u
#define TAPIR_CTL_SESSION_ID_OFF (4096u + 8u) /* of session 0 */

/* One element of the map `sites`; its index is the attach cookie and the probe id. */
struct tapir_site {
	uint32_t probe_id; /* 0: not in use */
	uint16_t flags;
	uint8_t arg_cnt;
	uint8_t byte_arg_cnt;		   /* arguments that point to bytes which are captured */
	uint8_t byte_args[TAPIR_MAX_ARGS]; /* which these are */
	/* The caller's location by .eh_frame, for processes without tables; rule 0: not known. */
	struct tapir_unwind_row caller;
	uint32_t pad0;
	struct tapir_operand taken;
	struct tapir_site_arg args[TAPIR_MAX_ARGS];
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_site) == 336, "tapir_site");

/* ---- sources of the machine (machine.bpf.c) --------------------------------------------- */

#define TAPIR_MACHINE_FIELDS 16u /* of one event, a power of two: those of a fault_mask */
#define TAPIR_CALL_ARGS	     6u
#define TAPIR_CALL_TEXTS     2u /* arguments of a system call that are read as texts */
#define TAPIR_SYSTEM_CALLS   1024u

enum tapir_machine_read {
	TAPIR_MACHINE_NUMBER,	  /* of size bytes */
	TAPIR_MACHINE_AT,	  /* that many bytes, or a text in them */
	TAPIR_MACHINE_AT_LOC,	  /* where the word at off says: length << 16 | offset */
	TAPIR_MACHINE_AT_REL_LOC, /* the same, the offset being from the end of that word */
};

struct tapir_machine_field {
	uint16_t off; /* in the tracepoint's record; of a system call: 0 */
	uint16_t size;
	uint8_t read; /* enum tapir_machine_read */
	uint8_t is_signed;
	uint8_t is_text;
	uint8_t pad0;
};

/* One element of the map `machine_sites`; its index is the attach cookie and the probe id. */
struct tapir_machine_site {
	uint32_t probe_id;		     /* 0: not in use */
	uint16_t flags;			     /* TAPIR_SITE_STACK */
	uint8_t field_cnt;		     /* of a system call with its result */
	uint8_t arg_cnt;		     /* of a system call: those before its result */
	uint8_t text_args[TAPIR_CALL_TEXTS]; /* which of them are texts; 255: none */
	uint8_t pad0[6];
	struct tapir_machine_field fields[TAPIR_MACHINE_FIELDS];
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_machine_site) == 144, "tapir_machine_site");

/* Bytes of strings and blobs one event may carry; a power of two. */
#define TAPIR_EVENT_VAR_BYTES	 8192u

/*
 * The filter of processes: hits of a process that any enabled rule names are recorded. No rule: of
 * all but the tracer itself.
 */
#define TAPIR_FILTER_MAX_COMMS	 8
#define TAPIR_FILTER_MAX_CGROUPS 8

struct tapir_filter {
	uint32_t use_tgids;   /* the map `tgids` */
	uint32_t comm_cnt;    /* globs over the leader's name */
	uint32_t cgroup_cnt;  /* v2: the process's ancestor at cgroup_level has this id */
	uint32_t follow_fork; /* a child of a listed tgid is listed before it runs */
	uint32_t self_tgid;   /* the tracer: never recorded */
	uint32_t pad0;
	struct tapir_comm_glob comms[TAPIR_FILTER_MAX_COMMS];
	uint64_t cgroup_ids[TAPIR_FILTER_MAX_CGROUPS];
	uint32_t cgroup_levels[TAPIR_FILTER_MAX_CGROUPS];
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_filter) == 8376, "tapir_filter");

/*
 * The value of a process in the map `tgids`: 0 if the loader named it, else which process of that
 * number it is, so that a child is not forgotten with one that ended and had the number before.
 */
#define TAPIR_TGID_NAMED	   0u
#define TAPIR_TGID_VALUE(start_ns) ((uint32_t)(start_ns) | 1u)

/*
 * The map `maybe_tgids`, mapped by the loader: 1 for a process that may be in `tgids`, by the low
 * bits of its id, set before it is put there and never cleared. It saves other processes the lookup
 * in the hash table at each context switch.
 */
#define TAPIR_MAYBE_TGIDS	   65536u

struct tapir_maybe_tgids {
	uint8_t is[TAPIR_MAYBE_TGIDS];
};

/*
 * A file and what is in it, by the inode that is mapped (below an overlay: the real one, on which
 * the kernel puts probes). Only BPF programs fill it; the loader requests it.
 */
struct tapir_file_key {
	uint64_t inode; /* 0: no file */
	uint64_t size;
	uint64_t ctime_ns;
	uint32_t dev;
	uint32_t generation;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_file_key) == 32, "tapir_file_key");

/* A request of the loader about a file that it has mapped itself, and the answer. */
struct tapir_file_question {
	uint64_t va;
	struct tapir_file_key key; /* inode 0: not known */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_file_question) == 40, "tapir_file_question");

/* The switches of a running session; the map `live`, mapped by the loader. */
struct tapir_live {
	uint64_t epoch;	     /* grows with each segment: stacks and threads are sent again */
	uint64_t wake_bytes; /* data in a ring that is worth a wake-up */
	uint64_t ask_bytes;  /* a thread sends that much before it asks how full the ring is */
	uint32_t enabled;
	uint32_t holder_tgid;	   /* the tracer of those that may be held; 0: none */
	uint32_t trace_publishers; /* 1: the map `otel_tls_locations` has some */
	uint32_t readers_idle;	 /* 1: until a traced thread runs, which clears it (ring_idle.h) */
	uint64_t ring_session;	 /* our session_id in ring lanes (ring.h); 0: none */
	uint64_t interval;	 /* of rows (sums_logic.bpf.h): grows with each */
	uint32_t call_file_turn; /* which of the tables of call_files.bpf.h is added to: 0, 1 */
	uint32_t pad0;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_live) == 64, "tapir_live");

/*
 * The location in which the threads of a process publish their trace ids (tapir/otel_context.h);
 * the map `otel_tls_locations`, by tgid. The loader names a word of the GOT, which the dynamic
 * linker may fill later; BPF programs replace that by what they find there.
 */
enum tapir_otel_tls_location_kind {
	TAPIR_TRACE_NOWHERE = 0,
	TAPIR_TRACE_STATIC = 1,	    /* value: the distance from the thread pointer */
	TAPIR_TRACE_DYNAMIC = 2,    /* value: module, offset; got_va holds got_word still */
	TAPIR_TRACE_GOT_TPOFF = 3,  /* got_va: of the distance */
	TAPIR_TRACE_GOT_DESC = 4,   /* got_va: of a TLS descriptor */
	TAPIR_TRACE_GOT_MODULE = 5, /* got_va: of module and offset */
};

struct tapir_otel_tls_location {
	uint32_t kind;	      /* enum tapir_otel_tls_location_kind */
	uint32_t got_word_at; /* DYNAMIC: which of the words at got_va is compared, in bytes */
	uint64_t got_va;
	uint64_t got_word;
	int64_t value;
	uint64_t offset;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_otel_tls_location) == 40, "tapir_otel_tls_location");

#define TAPIR_OTEL_TLS_LOCATIONS 4096u

/* One element of the map `losses`, by probe id (0: of no probe); mapped by the loader. */
struct tapir_losses {
	uint64_t cnt[TAPIR_LOSS_CAUSE_CNT];
};

/* ---- holding ---------------------------------------------------------------------------- */

enum tapir_hold_kind {
	TAPIR_HOLD_EXEC = 1,  /* it executed a file whose probes are not attached */
	TAPIR_HOLD_MMAP = 2,  /* it mapped one at arg */
	TAPIR_HOLD_PTRACE = 3 /* it may not trace the thread arg; 0: that is not known */
};

/*
 * The states of a hold and their writers: BPF claims a free one, the holder stops the thread, the
 * loader is done.
 */
enum tapir_hold_state {
	TAPIR_HOLD_ASKED,   /* the thread is about to stop */
	TAPIR_HOLD_STOPPED, /* it has */
	TAPIR_HOLD_DONE,    /* it may continue */
	TAPIR_HOLD_OWED,    /* it continued; the signal that was to stop it is still pending */
};

/* One element of the map `holds`, by the low bits of the thread's id. 0: free. */
#define TAPIR_HOLDS 1024u /* a power of two */

struct tapir_hold {
	uint64_t word;
	uint64_t arg;
};

struct tapir_holds {
	struct tapir_hold slots[TAPIR_HOLDS];
	uint64_t outsider_ns; /* when a refused ptrace(2) of another process was reported */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_holds) == 16 * TAPIR_HOLDS + 8, "tapir_holds");

/* salt distinguishes two holds of one thread. */
static inline uint64_t tapir_hold__word(uint32_t tid, uint16_t salt, uint8_t signal,
					enum tapir_hold_kind kind)
{
	return (uint64_t)tid << 32 | (uint64_t)salt << 16 | (uint64_t)signal << 8 |
	       (uint64_t)kind << 4;
}

static inline uint64_t tapir_hold__with(uint64_t word, enum tapir_hold_state state)
{
	return (word & ~15ull) | (uint64_t)state;
}

static inline enum tapir_hold_state tapir_hold__state(uint64_t word)
{
	return (enum tapir_hold_state)(word & 15);
}

static inline enum tapir_hold_kind tapir_hold__kind(uint64_t word)
{
	return (enum tapir_hold_kind)(word >> 4 & 15);
}

static inline int tapir_hold__signal(uint64_t word)
{
	return (int)(word >> 8 & 255);
}

static inline uint32_t tapir_hold__tid(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

/* Sent on the control ring only, never written to a file: a tracee is about to be held. */
#define TAPIR_REC_HELD 0x8001

struct tapir_rec_held {
	struct tapir_rec h;
	uint32_t tgid;
	uint32_t tid;
	uint64_t word; /* of its hold; 0: it is not held */
	uint64_t arg;
	uint32_t kind; /* enum tapir_hold_kind */
	uint32_t pad0;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_held) == 48, "tapir_rec_held");

/* ---- system calls in numbers (syscalls.bpf.c counts, record/call_counts.c reads) ----------- */

/* A thread's calls of one number with one result. Only the thread itself writes its values. */
struct tapir_call_key {
	uint32_t tgid;
	uint32_t tid;
	uint32_t start; /* low bits of when the thread began: ids are used again */
	uint16_t nr;	/* as in struct tapir_rec_calls */
	uint16_t err;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_call_key) == 16, "tapir_call_key");

/* Values only grow, so that nothing has to stop while they are read. */
struct tapir_call_count {
	uint64_t sum_ns;
	uint64_t max_ns;
	uint64_t stack_ns;   /* when a stack was taken last */
	uint64_t pending_ns; /* of calls since then that should have one */
	uint64_t pending_max_ns;
	uint32_t pending_cnt;
	uint32_t next; /* the thread's next key: 1 << 31 | nr << 16 | err; 0: none */
	uint32_t open_cnt;
	uint32_t unbegun_cnt;
	uint32_t is_sent; /* the thread has ended, and its last values were sent */
	uint32_t pad0;
	uint32_t steps[TAPIR_CALL_STEPS];
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_call_count) == 928, "tapir_call_count");

/* Sent on the rings, never written to a file: the last values of a thread that ends. */
#define TAPIR_REC_CALL_TOTAL 0x8003

struct tapir_rec_call_total {
	struct tapir_rec h;
	struct tapir_call_key key;
	struct tapir_call_count count;
};

/* A call that has not returned, as the iterator over threads writes it. */
struct tapir_call_open {
	struct tapir_call_key key;
	uint64_t start_ns;
};

#define TAPIR_CALL_NUMBERS	  1024u /* a power of two */
#define TAPIR_CALL_IS_COUNTED	  (1u << 0)
#define TAPIR_CALL_FILE_IS_ARG	  (1u << 1) /* its first argument is a descriptor */
#define TAPIR_CALL_FILE_IS_RESULT (1u << 2)
#define TAPIR_CALL_PATH_IS_FIRST  (1u << 3) /* an argument is a path */
#define TAPIR_CALL_PATH_IS_SECOND (1u << 4)

/* ---- the same by file (call_files.bpf.h counts and names, record/call_files.c reads) ------- */

#define TAPIR_CALL_PATH_DEV	  0xffffffffu /* no device has this number */

struct tapir_call_file_id {
	uint64_t inode; /* of an anonymous one: what distinguishes its kind; a path's hash */
	uint32_t dev;	/* major << 20 | minor; TAPIR_CALL_PATH_DEV */
	uint32_t pad0;
};

/* A process's calls of one number with one result for one file. */
struct tapir_call_file_key {
	struct tapir_call_file_id file;
	uint32_t tgid;
	uint16_t nr; /* as in struct tapir_rec_calls */
	uint16_t err;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_call_file_key) == 24, "tapir_call_file_key");

struct tapir_call_file_count {
	uint64_t sum_ns;
	uint64_t max_ns;
	uint32_t steps[TAPIR_CALL_STEPS];
};

/* The same members follow each other in struct tapir_rec_exchange. IPv6, or ::ffff:a.b.c.d. */
struct tapir_socket_ends {
	uint32_t netns; /* inode number of the network namespace */
	uint16_t local_port;
	uint16_t peer_port;
	uint8_t local[16];
	uint8_t peer[16];
};
TAPIR_STATIC_ASSERT(__builtin_offsetof(struct tapir_rec_exchange, peer) -
				    __builtin_offsetof(struct tapir_rec_exchange, netns) ==
			    __builtin_offsetof(struct tapir_socket_ends, peer),
		    "tapir_socket_ends");

#define TAPIR_CALL_FILE_PATH_CUT (1u << 0) /* it lacks its beginning; an argument its end */
#define TAPIR_CALL_FILE_DELETED	 (1u << 1)
#define TAPIR_CALL_FILE_IS_PATH	 (1u << 2) /* it is the argument of a call, as it was given */
#define TAPIR_CALL_UNIX_BYTES	 128u	   /* a power of two, more than sun_path has */

struct tapir_call_file_name {
	struct tapir_socket_ends ends; /* of AF_INET and AF_INET6 */
	uint16_t mode;		       /* as stat(2) has it */
	uint16_t family;	       /* of a socket, AF_* */
	uint16_t protocol;
	uint16_t flags;	   /* TAPIR_CALL_FILE_* */
	uint16_t path_len; /* 0 and no socket: "/", or it has no name */
	uint16_t pad0[3];
	char path[TAPIR_IO_PATH_BYTES]; /* of AF_UNIX: its name, '@' in place of a zero */
};

/* ---- waits in numbers (waits.bpf.c sums, record/wait_records.c reads) -------------------------- */

struct tapir_wait_sum {
	uint64_t cnt;
	uint64_t ns;
	uint32_t steps[TAPIR_WAIT_STEPS];
};

/* The waits of a thread; the key is its id. Sums only grow. */
struct tapir_wait_sums {
	uint32_t tgid;
	uint32_t tid;
	uint64_t start_ns; /* when the thread began: ids are used again */
	uint64_t run_ns;   /* of runs that have ended */
	uint64_t since_ns; /* when it left its CPU, or came to it; 0: not known */
	uint64_t wake_ns;  /* when it was woken since; 0: it was not */
	uint32_t waker_tid;
	uint32_t epoch; /* in which it was announced last */
	uint16_t out_state;
	uint16_t flags; /* TAPIR_SWITCH_*, of the wait that began last */
	uint16_t is_out;
	uint16_t cpu; /* to which it came last */
	struct tapir_wait_sum kinds[TAPIR_WAIT_KIND_CNT];
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_wait_sums) == 536, "tapir_wait_sums");

/* Sent on the rings, never written to a file: the sums of a thread that has ended. */
#define TAPIR_REC_WAIT_TOTAL 0x8004

struct tapir_rec_wait_total {
	struct tapir_rec h;
	struct tapir_wait_sums sums;
};

/* ---- sums of the kernel's work (kernel.bpf.c writes, record/kernel_rows.c reads) ------------- */

#define TAPIR_KERNEL_FRAMES	16u
#define TAPIR_KERNEL_NAME_BYTES 24u

/*
 * A place of a table that needs no lock: who sets id owns it, and sets is_ready when the rest that
 * does not grow is written. User space frees the rows of processes that are gone.
 */
struct tapir_kernel_row {
	uint64_t id; /* a hash of what is added up here; 0: free */
	uint32_t is_ready;
	uint32_t tgid, number;
	uint32_t kind; /* enum tapir_kernel_kind */
	uint64_t stack_id;
	uint64_t lock_va;
	uint32_t frame_cnt;
	uint32_t pad0;
	char name[TAPIR_KERNEL_NAME_BYTES];   /* IRQ: of its handler; else of the process */
	uint64_t frames[TAPIR_KERNEL_FRAMES]; /* LOCK */
	uint64_t cnt, part_cnt, sum_ns, max_ns;
};

/* ---- threads as they are (threads.bpf.c writes, attach/thread_list.c reads) ----------------- */

#define TAPIR_THREAD_ON_CPU	(1u << 0) /* it ran: no registers, no stack */
#define TAPIR_THREAD_IS_KERNELS (1u << 1) /* a thread of the kernel: no registers */
#define TAPIR_THREAD_32_BIT	(1u << 2)
#define TAPIR_THREAD_KFRAMES	64u

struct tapir_thread_seen {
	struct tapir_rec_thread thread; /* its time: when the thread was seen */
	uint64_t switch_cnt;		/* since it began: the same later means it has not run */
	uint64_t ip, sp, fp;		/* of user code */
	int64_t syscall;		/* negative: by an interrupt */
	uint64_t args[4];
	uint32_t state; /* the kernel's task state bits */
	uint32_t flags; /* TAPIR_THREAD_* */
	uint32_t kernel_frame_cnt;
	uint32_t pad0;
	uint64_t kernel_frames[TAPIR_THREAD_KFRAMES];
};

#define TAPIR_THREAD_IO_WAIT (1u << 3)

/* A thread of the machine: what it has used since it began, and what it does. */
struct tapir_thread_use {
	uint32_t tgid, tid;
	uint64_t start_ns;		    /* CLOCK_MONOTONIC */
	uint64_t cpu_ns, runnable_ns;	    /* it ran; it waited for a CPU */
	uint64_t read_bytes, written_bytes; /* of disks; 0 where the kernel does not count */
	/* In a process's first thread: the same of its threads that have ended. */
	uint64_t ended_cpu_ns, ended_read_bytes, ended_written_bytes;
	int64_t syscall; /* negative: none */
	uint32_t state;	 /* the kernel's task state bits */
	uint32_t flags;	 /* TAPIR_THREAD_* */
	char comm[TAPIR_COMM_BYTES];
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_thread_use) == 104, "tapir_thread_use");

#endif /* TAPIR_BPF_CONTROL_H */
