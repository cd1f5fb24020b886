/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flight_impl.h - what the files of the flight recorder share. The freezer's thread, one at a time,
 * has its job: it shares nothing else with the others but counters.
 */
#ifndef TAPIR_USER_FLIGHT_IMPL_H
#define TAPIR_USER_FLIGHT_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/str.h"
#include "flight/flight.h"
#include "trace/segments.h"

#define TAPIR_FLIGHT_JUDGE_NS TAPIR_NS_PER_SEC

/* A job of the freezer. */
struct tapir_flight_job {
	struct tapir_flight *flight;
	struct tapir_segment_fds segments;
	struct tapir_vec(struct tapir_rec *) first;
	uint64_t from_ns, until_ns, request_ns;
	char *why;
	bool is_check; /* for findings: it becomes no file */
	bool is_part;  /* nor does it */
};

struct tapir_flight {
	const struct tapir_flight_opts *opts;
	struct tapir_segments *segments;
	struct tapir_recording_flight recording;
	uint64_t start_ns;
	/* session thread */
	struct tapir_str why;
	uint64_t request_ns; /* 0: nothing is to be frozen */
	uint64_t last_ns;    /* of the last file; 0: there was none */
	uint64_t judged_ns;
	uint64_t checked_ns;			       /* of findings */
	uint64_t part_end_ns;			       /* of the last part */
	struct tapir_vec(struct tapir_rec_gap *) gaps; /* that last */
	uint64_t forgotten_gap_cnt;
	/* freezer */
	pthread_t thread;
	bool has_thread;
	atomic_bool is_busy;
	char *last_path; /* while it is not busy */
	char *found;	 /* why a finding fires; also while it is not busy */
	int last_err;
	/* any */
	atomic_bool is_signalled;
	atomic_uint_least64_t stopping_ns, begun_cnt, file_cnt, failed_cnt, ignored_cnt;
};

/* Frees a job and closes its file. NULL is fine. */
void tapir_flight_job__free(struct tapir_flight_job *job);
/* Writes a file and hands it over; the job is gone then. */
void tapir_flight_job__do(struct tapir_flight_job *job);
/* Starts the thread that does the job. False: job is still the caller's. */
bool tapir_flight__start_freezer(struct tapir_flight *f, struct tapir_flight_job *job);
void tapir_flight__join_freezer(struct tapir_flight *f);
/*
 * Returns STEM-DATE-TIME.tapir; with -2 and so on where that exists. The caller frees it; NULL: out
 * of memory.
 */
char *tapir_flight__name_file(const char *stem, unsigned try);

#endif
