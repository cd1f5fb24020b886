/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recorder.h - what record and trace share: from their options to a recording's, the profiles used
 * without SPECs, and the lines on stderr while it runs. Main thread.
 */
#ifndef TAPIR_USER_RECORDER_H
#define TAPIR_USER_RECORDER_H

#include "cli/options.h"
#include "record/request.h"
#include "flight/flight.h"

struct tapir_recorder {
	struct tapir_recording_plan plan;
	bool is_quiet, has_line; /* a progress line is on the terminal */
	uint64_t last_event_cnt, last_elapsed_ns;
	uint64_t ready_ns, stopped_ns; /* when recording began and ended; 0: it did not */
};

/*
 * r: zeros. Fills r->plan.opts but for the sink. TAPIR_CLI_USAGE, or -errno with lines. __fini in
 * any case.
 */
int tapir_recorder__init(struct tapir_recorder *r, const struct tapir_cli *cli,
			 const struct tapir_request *request);
void tapir_recorder__fini(struct tapir_recorder *r);

/* Runs it; afterwards the last line of progress is gone from the terminal. */
int tapir_recorder__run(struct tapir_recorder *r, struct tapir_recording_result *out);

/* Runs a flight recorder (flight/flight.h) in the same way. */
int tapir_recorder__run_flight(struct tapir_recorder *r, const struct tapir_flight_opts *flight,
			       struct tapir_recording_result *out, struct tapir_flight_stats *stats,
			       char **last_path);

/*
 * Returns the status with which tapir exits if all went well: the program's status, as a shell has
 * it; else 0.
 */
int tapir_recorder__exit_status(const struct tapir_recorder *r,
				const struct tapir_recording_result *result);

/* Prints one line with the result on stderr. path: of the file; NULL: there is none. */
void tapir_recorder__print_result(const struct tapir_recorder *r,
				  const struct tapir_recording_result *result, const char *path);

#endif
