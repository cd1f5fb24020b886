/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_data.h - the head of a perf.data file: what was recorded, where and with what, as
 * tools/perf/Documentation/perf.data-file-format.txt has it, of perf 5.10 and later.
 *
 * Both forms are read: a file with its head in front, and what perf writes into a pipe, where the
 * head comes as records. Little-endian files of 64-bit perf only. Files are hostile: every size is
 * bounded, and a part that cannot be is refused or skipped. One thread at a time; no privileges.
 */
#ifndef TAPIR_USER_PERF_DATA_H
#define TAPIR_USER_PERF_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "decode/tracepoint_format.h"

#define TAPIR_PERF_ATTRS_MAX   1024u
#define TAPIR_PERF_IDS_MAX     (1u << 20)
#define TAPIR_PERF_FEATURE_MAX (64u << 20) /* bytes of one part of the head */
#define TAPIR_PERF_STRING_MAX  4096u
#define TAPIR_PERF_BUILD_IDS   65536u
#define TAPIR_PERF_FORMATS     4096u

/* perf_event_attr.type */
enum { TAPIR_PERF_HARDWARE = 0, TAPIR_PERF_SOFTWARE = 1, TAPIR_PERF_TRACEPOINT = 2 };

/* perf_event_attr.sample_type */
#define TAPIR_PERF_IP	      (1ull << 0)
#define TAPIR_PERF_TID	      (1ull << 1)
#define TAPIR_PERF_TIME	      (1ull << 2)
#define TAPIR_PERF_ADDR	      (1ull << 3)
#define TAPIR_PERF_READ	      (1ull << 4)
#define TAPIR_PERF_CALLCHAIN  (1ull << 5)
#define TAPIR_PERF_ID	      (1ull << 6)
#define TAPIR_PERF_CPU	      (1ull << 7)
#define TAPIR_PERF_PERIOD     (1ull << 8)
#define TAPIR_PERF_STREAM_ID  (1ull << 9)
#define TAPIR_PERF_RAW	      (1ull << 10)
#define TAPIR_PERF_STACK_USER (1ull << 13)
#define TAPIR_PERF_IDENTIFIER (1ull << 16)

struct tapir_perf_attr {
	uint32_t type;
	uint64_t config, sample_type, read_format;
	uint64_t period; /* of a sample; with is_freq: how many a second */
	bool is_freq, has_sample_id, has_clock, has_switches;
	int32_t clock;	    /* with has_clock: of clock_gettime(2) */
	unsigned max_stack; /* frames of a call chain */
	char name[128];	    /* as perf shows it; any bytes */
};

struct tapir_perf_build_id {
	uint8_t bytes[20];
	uint8_t len;
	bool is_kernel;
	char *path; /* any bytes */
};

struct tapir_perf_format {
	uint64_t id; /* an attribute's config */
	char *category, *name;
	struct tapir_tracepoint_format fields;
};

/* The bytes of the file: as pread(2), short only at its end; or -errno. */
struct tapir_perf_input {
	int64_t (*read)(void *ctx, void *buf, size_t len, uint64_t off);
	void *ctx;
	uint64_t bytes; /* of all */
};

struct tapir_perf_data {
	struct tapir_perf_input input;
	struct tapir_vec(struct tapir_perf_attr) attrs;
	struct tapir_map attr_by_id; /* sample id -> index */
	struct tapir_vec(struct tapir_perf_build_id) build_ids;
	struct tapir_vec(struct tapir_perf_format) formats;
	char *host, *release, *machine, *command; /* NULL: not known; any bytes */
	uint32_t cpu_cnt;			  /* 0: not known */
	/* One moment by the recording's clock and by UTC; 0: not known. */
	uint64_t clock_ns, utc_ns;
	uint64_t records_off, records_end; /* in the file */
	bool is_piped;			   /* the head comes as records */
	bool is_compressed;
	uint64_t malformed_cnt; /* parts of the head that were skipped */
};

/* The magic with which a file begins. */
#define TAPIR_PERF_MAGIC "PERFILE2"

/*
 * Reads the head. out is to be released by __fini, also after a failure. -EPROTO: it is no such
 * file, or its head makes no sense; -EOPNOTSUPP: of a machine with the other byte order; -ENOMEM;
 * or input's. No line.
 */
int tapir_perf_data__init(struct tapir_perf_data *out, const struct tapir_perf_input *input);
void tapir_perf_data__fini(struct tapir_perf_data *d);

/*
 * A part of the head that came as a record: a record's bytes with its header, len of them; for
 * tracepoint formats what follows the record. Other records are ignored. 0 or -ENOMEM.
 */
int tapir_perf_data__take_record(struct tapir_perf_data *d, const uint8_t *rec, size_t len);
int tapir_perf_data__take_formats(struct tapir_perf_data *d, const uint8_t *data, size_t len);

/* The attribute whose sample id is this; without ids, the only one; NULL: unknown. */
const struct tapir_perf_attr *tapir_perf_data__attr(const struct tapir_perf_data *d, uint64_t id);
/* The fields of a tracepoint's records; NULL: not known. Borrowed. */
const struct tapir_perf_format *tapir_perf_data__format(const struct tapir_perf_data *d,
							uint64_t id);
/* The build ID of a file that was mapped, by its path; NULL: not known. Borrowed. */
const struct tapir_perf_build_id *tapir_perf_data__build_id(const struct tapir_perf_data *d,
							    const char *path, size_t path_len);

#endif
