/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * serve_config.h - what the administrator of an agent decides: a JSON file and the options of the
 * command line. An unknown key is an error that names it, its line and the known ones. One thread.
 */
#ifndef TAPIR_USER_SERVE_CONFIG_H
#define TAPIR_USER_SERVE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/vec.h"
#include "agent/push/push.h"
#include "agent/role.h"
#include "agent/watch/watch.h"

#define TAPIR_SERVE_MAX_LISTEN	8

#define TAPIR_SERVE_MAX_SYMBOLS 16

#define TAPIR_SERVE_READY_AUTO	UINT64_MAX

struct tapir_serve_limits {
	uint64_t sessions;    /* recordings at once */
	uint64_t seconds;     /* of one recording */
	uint64_t trace_mb;    /* of one recording */
	uint64_t cpu_seconds; /* the same limit for its own CPU time */
	uint64_t state_mb;    /* of all finished ones together */
	uint64_t traces;      /* finished ones that are kept */
	uint64_t connections; /* to one address at once */
	uint64_t ready_s;     /* how long a process is kept ready for the next one; or _AUTO */
};

/* A recording that keeps its last part (flight/flight.h). */
struct tapir_serve_continuous {
	uint64_t mb;		   /* of the ring; 0: none */
	struct tapir_words comms;  /* of processes, globs; none: all */
	struct tapir_words events; /* SPEC */
	struct tapir_words profiles, counters, triggers;
	uint64_t frequency;	   /* CPU samples per second; 0: a default */
	uint64_t sched;		   /* context switches: 0 or 1 */
	uint64_t window, cooldown; /* seconds */
	uint64_t max_files;	   /* that are kept */
	const char *segments;	   /* directory; NULL: memory */
};

struct tapir_serve_config {
	struct tapir_words listen; /* "HOST:PORT", "unix:PATH" */
	uint32_t only_pid;	   /* the process that started the agent, and the only one that it
				      touches; requests come from it; 0: none */
	struct tapir_words hosts;  /* names by which clients may call the agent, apart from
				      its addresses */
	const char *state;	   /* directory; "memory"; NULL: a default */
	const char *tokens_file;   /* NULL: one token, made at the first start */
	const char *tls_certificate, *tls_key; /* files, PEM; NULL: no TLS */
	const char *tls_client_ca;	  /* file, PEM: who signs clients'; NULL: they need none */
	enum tapir_client_role anonymous; /* of clients without a token: none or view */
	struct tapir_serve_limits limits;
	struct tapir_watch_choice watch; /* runtimes whose counters are kept */
	struct tapir_serve_continuous continuous;
	struct tapir_vec(struct tapir_push_target) push;
	struct tapir_words symbols;	/* directories and servers of names for what is read */
	struct tapir_vec(char *) texts; /* owned, that the others point to */
};

/* Sets defaults, without listeners. */
void tapir_serve_config__init(struct tapir_serve_config *config);
void tapir_serve_config__fini(struct tapir_serve_config *config);

/* Adds what a JSON text says. -EINVAL with a line that begins with path and line. */
int tapir_serve_config__parse(struct tapir_serve_config *config, const char *text, size_t len,
			      const char *path);
/* The same of a file that no other user may write. */
int tapir_serve_config__read(struct tapir_serve_config *config, const char *path);

/* -EINVAL with a line: limits exclude one another, or an entry of symbols is not permitted. */
int tapir_serve_config__check(const struct tapir_serve_config *config);

/* Writes all of it, by the file's keys, as members of j. Secrets are in files, which it names. */
void tapir_serve_config__write(const struct tapir_serve_config *config, struct tapir_json *j);

/* Sets the directory of an agent's state, which config owns, to the default. 0 or -errno with a
 * line. */
int tapir_serve_config__default_state(struct tapir_serve_config *config);

#endif
