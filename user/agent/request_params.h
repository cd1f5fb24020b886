/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * request_params.h - what a client asks for: query parameters or the members of a JSON body,
 * checked by the tables of parameters that routes have, and from there a struct tapir_request, as
 * the command line makes one. There is no parameter for a path, a URL or a command, and a SPEC with
 * a path is refused. Errors are lines in the diagnostic list that begin with the name of the
 * parameter.
 *
 * One thread.
 */
#ifndef TAPIR_USER_REQUEST_PARAMS_H
#define TAPIR_USER_REQUEST_PARAMS_H

#include "analyze/question.h"
#include "record/request.h"
#include "agent/route.h"

#define TAPIR_QUESTION_MAX_HZ 100000u /* of the ring lane, of a question: per thread */

/* Texts in lists are owned. Zeros: nothing is requested. */
struct tapir_request_params {
	struct tapir_pids pids;
	struct tapir_words comms;
	const char *container;	    /* its id, the beginning of one, or its name */
	const char *pod;	    /* its uid, NAME or NAMESPACE/NAME */
	struct tapir_words cgroups; /* of the two, once a task has found them; borrowed */
	struct tapir_pids inside;   /* their processes, where no cgroup is visible */
	struct tapir_words specs, profiles, counters, syscalls, kernel;
	/* of a question */
	struct tapir_words sources, by, pairs, aggregates[TAPIR_AGGREGATE_CNT];
	const char *where, *until, *key;
	bool count;
	uint64_t duration_ns, interval_ns, rate_hz, frames, sample_hz, started;
	bool stack, no_stack, no_samples, sched, no_sched, sum_waits, io, net, signals;
	bool syscall_files;
	uint64_t native_memory; /* bytes between two samples; 0: not recorded */
	const char *lane, *sample_event, *format;
	bool all, only_counters, watched;
	uint32_t only_pid; /* nothing is said of other processes; 0: of all */
	bool is_admin; /* the agent sets it: has command lines of processes, and may record what the
			  machine does (spec/machine_source.h) */
	uint64_t lease_ns, history_ns, top;
	const char *event, *threads, *sql;
	const char *first; /* id of the session that another one is compared with */
	const char *runtime, *user, *name, *space;
	struct tapir_vec(char *) texts; /* that the others point to */
};

/* Frees lists and texts. */
void tapir_request_params__fini(struct tapir_request_params *params);
/* Adds the question as a JSON object in which all is printable: for the log. */
void tapir_request_params__add_question(const struct tapir_request_params *params,
					struct tapir_str *out);

/* Sets a parameter. -EINVAL with a line: not a parameter of the route, or not a value of it. */
int tapir_request_params__set(struct tapir_request_params *params, const struct tapir_route *route,
			      const char *name, const char *value);
/* Sets the members of a JSON object, with the same errors. */
int tapir_request_params__set_json(struct tapir_request_params *params,
				   const struct tapir_route *route, const char *body, size_t len);
/* Reads everything of a request: its query, and its body where the route has one. */
int tapir_request_params__read(struct tapir_request_params *params, const struct tapir_route *route,
			       const struct tapir_wire_request *rq);

/*
 * Limits it to one process, which is also its target where it names none. path_arg: as in the
 * request. -ESRCH with a line: it is about others.
 */
int tapir_request_params__restrict_to_pid(struct tapir_request_params *params,
					  const struct tapir_route *route, const char *path_arg,
					  uint32_t pid);

/*
 * Plans a recording; borrows from params. -EINVAL with a line: no target, or more than one. A
 * container or pod is a target when its cgroups were found (containers.h); before that, the request
 * can be checked, not planned.
 */
int tapir_request_params__request(const struct tapir_request_params *params,
				  struct tapir_request *out);

extern const struct tapir_param tapir_params_target[];
extern const struct tapir_param tapir_params_capture[];
extern const struct tapir_param tapir_params_format[];
extern const struct tapir_param tapir_params_processes[];
extern const struct tapir_param tapir_params_stacks[];
extern const struct tapir_param tapir_params_view[];
extern const struct tapir_param tapir_params_requests[];
extern const struct tapir_param tapir_params_session[];
extern const struct tapir_param tapir_params_diff[];
extern const struct tapir_param tapir_params_query[];
extern const struct tapir_param tapir_params_events[];
extern const struct tapir_param tapir_params_counters[];
extern const struct tapir_param tapir_params_question[];

#endif
