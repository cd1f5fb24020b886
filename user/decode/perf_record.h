/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_record.h - one record of a perf.data file, as perf_event_open(2) describes it.
 *
 * A record is parsed by the attribute of its event, which says which parts it has. Nothing outside
 * its bytes is read; a part that does not fit makes it malformed. Pure.
 */
#ifndef TAPIR_USER_PERF_RECORD_H
#define TAPIR_USER_PERF_RECORD_H

#include "decode/perf_data.h"

#define TAPIR_PERF_RECORD_MAX 65536u /* bytes of a record */

enum {
	TAPIR_PERF_REC_MMAP = 1,
	TAPIR_PERF_REC_LOST = 2,
	TAPIR_PERF_REC_COMM = 3,
	TAPIR_PERF_REC_EXIT = 4,
	TAPIR_PERF_REC_THROTTLE = 5,
	TAPIR_PERF_REC_FORK = 7,
	TAPIR_PERF_REC_SAMPLE = 9,
	TAPIR_PERF_REC_MMAP2 = 10,
	TAPIR_PERF_REC_LOST_SAMPLES = 13,
	TAPIR_PERF_REC_SWITCH = 14,
	TAPIR_PERF_REC_SWITCH_ANY = 15, /* of a CPU: with the other thread */
	TAPIR_PERF_REC_KERNEL_MAX = 63, /* the kernel's are below, perf's own above */
	TAPIR_PERF_REC_ATTR = 64,
	TAPIR_PERF_REC_FORMATS = 66,
	TAPIR_PERF_REC_BUILD_ID = 67,
	TAPIR_PERF_REC_ROUND = 68, /* the kernel's buffers were read once */
	TAPIR_PERF_REC_AUXTRACE = 71,
	TAPIR_PERF_REC_FEATURE = 80,
	TAPIR_PERF_REC_COMPRESSED = 81,
	TAPIR_PERF_REC_COMPRESSED2 = 83,
};

/* The header's misc. */
#define TAPIR_PERF_MISC_MODE	  7u
#define TAPIR_PERF_MISC_KERNEL	  1u
#define TAPIR_PERF_MISC_USER	  2u
#define TAPIR_PERF_MISC_DATA	  (1u << 13) /* MMAP: not executable */
#define TAPIR_PERF_MISC_EXEC	  (1u << 13) /* COMM: by exec */
#define TAPIR_PERF_MISC_OUT	  (1u << 13) /* SWITCH: the thread leaves */
#define TAPIR_PERF_MISC_PREEMPT	  (1u << 14) /* SWITCH: it did not ask to */
#define TAPIR_PERF_MISC_BUILD_ID  (1u << 14) /* MMAP2: in place of the inode */
#define TAPIR_PERF_MISC_FILTERED  (1u << 15) /* LOST_SAMPLES: dropped by a filter */

/* Marks among the addresses of a call chain: what follows is of the kernel, of user space... */
#define TAPIR_PERF_CONTEXT_MAX	  (-4095ull)
#define TAPIR_PERF_CONTEXT_KERNEL (-128ull)
#define TAPIR_PERF_CONTEXT_USER	  (-512ull)

struct tapir_perf_record {
	uint32_t type, bytes;
	uint16_t misc;
	const struct tapir_perf_attr *attr; /* NULL: unknown */
	uint64_t time_ns;		    /* 0: it has none */
	uint32_t pid, tid, cpu;		    /* whose context it is from; cpu UINT32_MAX: unknown */
	/* SAMPLE */
	uint64_t ip, period;
	const uint8_t *chain; /* u64 each, at any alignment */
	uint64_t chain_cnt;
	const uint8_t *raw;
	uint32_t raw_bytes;
	/* Others: what is between the header and the parts above. */
	const uint8_t *body;
	size_t body_bytes;
};

/*
 * rec: len bytes, a whole record; all of *out borrows them. False: it is malformed, or of an
 * unknown event.
 */
bool tapir_perf_record__parse(const struct tapir_perf_data *d, const uint8_t *rec, size_t len,
			      struct tapir_perf_record *out);

struct tapir_perf_mmap {
	uint32_t pid, tid;
	uint64_t start_va, bytes, file_off, inode;
	uint32_t major, minor;
	uint8_t build_id[20];
	uint8_t build_id_bytes; /* 0: not known */
	bool is_executable;
	const char *path; /* path_len bytes, any */
	size_t path_len;
};

/* Reads an MMAP or MMAP2. False: malformed. */
bool tapir_perf_mmap__of(const struct tapir_perf_record *record, struct tapir_perf_mmap *out);

#endif
