/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exchange_sums.h - requests on TCP connections: calls by the process that made them and its
 * peer, and what was asked by port. Processes of one name share a row. Each time is kept, so
 * percentiles are exact. Bounded memory; one thread.
 */
#ifndef TAPIR_USER_EXCHANGE_SUMS_H
#define TAPIR_USER_EXCHANGE_SUMS_H

#include "base/keyed.h"
#include "base/str.h"
#include "base/vec.h"
#include "trace/catalog.h"
#include "trace/record.h"

enum tapir_exchange_error {
	TAPIR_EXCHANGE_ERROR_REFUSED,
	TAPIR_EXCHANGE_ERROR_RESET,
	TAPIR_EXCHANGE_ERROR_TIMED_OUT,
	TAPIR_EXCHANGE_ERROR_OTHER,
	TAPIR_EXCHANGE_ERROR_CNT
};

/* A process, by its name and, unless there are several of that name, its id. */
struct tapir_exchange_party {
	char comm[TAPIR_COMM_BYTES];
	uint32_t tgid; /* 0: several */
};

struct tapir_exchange_row {
	uint32_t idx; /* of the rows in the order in which they came: sorting keeps it */
	struct tapir_exchange_party party;
	bool is_opened;	     /* the process calls; else it is asked */
	uint8_t address[16]; /* of the peer that is called */
	uint16_t port;	     /* of the peer; or at which the process is asked */
	uint32_t netns;
	uint64_t cnt, overlap_cnt; /* answered; of those, without a time that means something */
	uint64_t unseen_cnt;	   /* with bytes that were not seen: without a time, too */
	uint64_t sent_bytes, received_bytes, sum_ns;
	uint64_t unanswered_cnt, unanswered_ns; /* when their connection ended, or the recording */
	uint64_t errors[TAPIR_EXCHANGE_ERROR_CNT]; /* connections that ended with one */
	struct tapir_vec(uint64_t) took_ns;	   /* in order, once sorted */
};

struct tapir_exchange_sums {
	struct tapir_keyed(struct tapir_exchange_row) rows;
	struct tapir_keyed(struct tapir_exchange_party) listeners;
	uint64_t took_cnt, more; /* more: requests beyond the bounds, without a row or a time */
	bool is_sorted, failed;	 /* failed: out of memory */
};

/*
 * Returns the row to which an EXCHANGE was added; NULL: there is no room. Borrowed until the next
 * one.
 */
struct tapir_exchange_row *tapir_exchange_sums__add(struct tapir_exchange_sums *sums,
						    const struct tapir_catalog *catalog,
						    const struct tapir_rec_exchange *rec);
/*
 * Sorts the rows: those that took most time, with or without answers, come first. Nothing is added
 * afterwards.
 */
void tapir_exchange_sums__sort(struct tapir_exchange_sums *sums);
void tapir_exchange_sums__fini(struct tapir_exchange_sums *sums);

/* Returns the row of that idx, sorted or not; NULL: there is none. Borrowed. */
const struct tapir_exchange_row *tapir_exchange_sums__row(const struct tapir_exchange_sums *sums,
							  uint32_t idx);
/* Returns the nearest rank, as with a sorted list on paper; 0: no time is known. Sort before. */
uint64_t tapir_exchange_row__percentile(const struct tapir_exchange_row *row, unsigned percent);
/*
 * Adds "127.0.0.1:5432 (postgres 711)", with the process that answered there in this recording, or
 * "port 8080", at which the process was asked.
 */
void tapir_exchange_sums__add_callsite(const struct tapir_exchange_sums *sums,
				       const struct tapir_exchange_row *row, struct tapir_str *out);
/* Returns "refused", "reset", "timed out" or "other". Static. */
const char *tapir_exchange_error__name(enum tapir_exchange_error error);

#endif
