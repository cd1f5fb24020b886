/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * push.h - a process that sends profiles, figures and finished recordings to servers of the
 * administrator's choice. It gets what is to be sent, with a descriptor, over a socket, and tries
 * again what a server does not take now.
 *
 * Bounded: what waits for all servers together has at most TAPIR_PUSH_SPOOL_BYTES, or is one item;
 * the oldest goes first and is counted. Servers are hostile: no redirect is followed, an answer is
 * read up to TAPIR_PUSH_ANSWER_BYTES, and each transfer has an end. The only thread of a process of
 * its own.
 */
#ifndef TAPIR_USER_PUSH_H
#define TAPIR_USER_PUSH_H

#include <stdint.h>

#define TAPIR_PUSH_MAX_TARGETS	16
#define TAPIR_PUSH_SPOOL_BYTES	(64u << 20)
#define TAPIR_PUSH_ANSWER_BYTES (64u << 10)
#define TAPIR_PUSH_NAME_BYTES	128

enum tapir_push_kind {
	TAPIR_PUSH_PPROF,	  /* as Grafana Pyroscope takes it: POST /ingest */
	TAPIR_PUSH_PARCA,	  /* the same to Parca: gRPC-Web, output/render/parca.h */
	TAPIR_PUSH_OTLP_PROFILES, /* POST /v1development/profiles */
	TAPIR_PUSH_OTLP_METRICS,  /* POST /v1/metrics */
	TAPIR_PUSH_PUT,		  /* finished recordings, to an object store */
	TAPIR_PUSH_KIND_CNT
};

/* "pprof", ... from index 0; NULL after the last. */
const char *tapir_push_kind__name(unsigned i);

struct tapir_push_target {
	enum tapir_push_kind kind;
	const char *url;
	const char *headers_file; /* "Name: value" per line, private; NULL: none */
	const char *ca_file;	  /* PEM: who may sign its certificate; NULL: the system's */
	const char *name;	  /* of the application, for pprof and parca; NULL: "tapir" */
	uint64_t every, timeout;  /* seconds; every: of profiles, figures */
};

/*
 * The head of a message to the process; its body comes as a descriptor: what is sent, but of
 * figures Prometheus's text format.
 */
struct tapir_push_message {
	uint32_t target;
	uint32_t pad;
	uint64_t from_utc_ns, until_utc_ns; /* of a profile; until: of figures */
	char name[TAPIR_PUSH_NAME_BYTES];   /* of a recording: the last part of its URL */
};

/* Figures of a target, shared with the agent; written by the process alone. */
struct tapir_push_metrics {
	uint64_t sent_cnt, sent_bytes;
	uint64_t dropped_cnt; /* there was no room */
	uint64_t refused_cnt; /* the server does not want this one */
	uint64_t failed_cnt;  /* attempts, of which each is followed by another */
	uint64_t waiting_cnt, waiting_bytes;
	char error[160]; /* of the last attempt; "": it succeeded */
};

struct tapir_push_shm {
	struct tapir_push_metrics of[TAPIR_PUSH_MAX_TARGETS];
};

/* Returns memory that is shared with children; NULL: out of memory. */
struct tapir_push_shm *tapir_push_shm__new(void);
void tapir_push_shm__free(struct tapir_push_shm *page);

/* Checks that this machine can push: libcurl is installed. -ENOSYS with a line. */
int tapir_push__check(void);
/* Returns NULL, or what is wrong with an URL. */
const char *tapir_push__check_url(const char *url);

/* The contents of a target's files, for a process that may not open them. */
struct tapir_push_files {
	char *headers; /* NULL: none */
	int ca_fd;     /* -1: none */
};

/*
 * Sends, in a process of its own, until the other end of fd closes. files: of each target. Lines of
 * the log go to tapir_warn. -errno with a line.
 */
int tapir_push__run(const struct tapir_push_target *targets, unsigned cnt,
		    const struct tapir_push_files *files, int fd, struct tapir_push_shm *page);

#endif
