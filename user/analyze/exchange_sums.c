// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process behind an address is known where the other end of such a connection was recorded, too.
 * A loopback address is one of its network namespace, any other of the network.
 */
#include "analyze/exchange_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/keyed.h"
#include "base/order.h"
#include "decode/net_text.h"

#define MAX_ROWS  65536u
#define MAX_TIMES (1u << 21) /* 16 MB */

/* ---- reading ---------------------------------------------------------------------------------- */

static struct tapir_exchange_party party_of(const struct tapir_catalog *catalog,
					    const struct tapir_rec_exchange *rec)
{
	const struct tapir_rec_thread *thread =
		tapir_catalog__thread(catalog, rec->tid, rec->h.time_ns);
	struct tapir_exchange_party party = {.tgid = rec->tgid};

	if (thread && thread->tgid == rec->tgid)
		memcpy(party.comm, thread->leader_comm, sizeof(party.comm));
	party.comm[sizeof(party.comm) - 1] = '\0';
	return party;
}

static bool is_loopback(const uint8_t address[16])
{
	static const uint8_t v6[16] = {[15] = 1}, v4[13] = {[10] = 0xff, [11] = 0xff, [12] = 127};

	return !memcmp(address, v6, sizeof(v6)) || !memcmp(address, v4, sizeof(v4));
}

static uint64_t key_of_listener(const uint8_t address[16], uint16_t port, uint32_t netns)
{
	return tapir_hash__bytes(tapir_hash__mix(port, is_loopback(address) ? netns : 0), address,
				 16);
}

/* Several processes of a name, as those that share a socket, are that name. */
static void merge_party(struct tapir_exchange_party *known,
			const struct tapir_exchange_party *party)
{
	if (known->tgid != party->tgid)
		known->tgid = 0;
}

static void keep_listener(struct tapir_exchange_sums *sums, const struct tapir_rec_exchange *rec,
			  const struct tapir_exchange_party *party)
{
	uint64_t key = key_of_listener(rec->local, rec->local_port, rec->netns);
	struct tapir_exchange_party *known =
		tapir_keyed__add(&sums->listeners, key, MAX_ROWS, *party);

	if (known)
		merge_party(known, party);
}

static struct tapir_exchange_row *exchange_row_of(struct tapir_exchange_sums *sums,
						  const struct tapir_rec_exchange *rec,
						  const struct tapir_exchange_party *party)
{
	struct tapir_exchange_row made = {.idx = (uint32_t)sums->rows.cnt,
					  .party = *party,
					  .is_opened = rec->flags & TAPIR_EXCHANGE_OPENED,
					  .netns = rec->netns},
				  *row;
	uint64_t key =
		*party->comm ? tapir_hash__bytes(0, party->comm, strlen(party->comm)) : party->tgid;

	made.port = made.is_opened ? rec->peer_port : rec->local_port;
	if (made.is_opened)
		memcpy(made.address, rec->peer, sizeof(made.address));
	key = tapir_hash__mix(tapir_hash__mix(key, made.is_opened), made.netns);
	key = tapir_hash__bytes(tapir_hash__mix(key, made.port), made.address,
				sizeof(made.address));
	row = tapir_keyed__add(&sums->rows, key, MAX_ROWS, made);
	sums->failed |= !row && sums->rows.cnt < MAX_ROWS;
	return row;
}

static enum tapir_exchange_error error_of(const struct tapir_rec_exchange *rec)
{
	switch (rec->error) {
	case ECONNREFUSED:
		return TAPIR_EXCHANGE_ERROR_REFUSED;
	case ECONNRESET:
	case EPIPE:
		return TAPIR_EXCHANGE_ERROR_RESET;
	case ETIMEDOUT:
		return TAPIR_EXCHANGE_ERROR_TIMED_OUT;
	default:
		return TAPIR_EXCHANGE_ERROR_OTHER;
	}
}

static void add_answer(struct tapir_exchange_sums *sums, struct tapir_exchange_row *row,
		       const struct tapir_rec_exchange *rec)
{
	uint64_t took_ns = rec->h.time_ns - rec->begin_ns;

	row->cnt++;
	if (rec->flags & TAPIR_EXCHANGE_UNSEEN) {
		row->unseen_cnt++;
		return;
	}
	if (rec->flags & TAPIR_EXCHANGE_OVERLAPS || !rec->begin_ns ||
	    rec->begin_ns > rec->h.time_ns) {
		row->overlap_cnt++;
		return;
	}
	row->sum_ns += took_ns;
	if (sums->took_cnt == MAX_TIMES) {
		sums->more++;
		return;
	}
	sums->took_cnt++;
	sums->failed |= !tapir_vec__push(&row->took_ns, took_ns);
}

static void add_end(struct tapir_exchange_row *row, const struct tapir_rec_exchange *rec)
{
	if (rec->error)
		row->errors[error_of(rec)]++;
	if (rec->begin_ns && rec->begin_ns < rec->h.time_ns &&
	    !(rec->flags & TAPIR_EXCHANGE_UNSEEN)) {
		row->unanswered_cnt++;
		row->unanswered_ns += rec->h.time_ns - rec->begin_ns;
	}
}

struct tapir_exchange_row *tapir_exchange_sums__add(struct tapir_exchange_sums *sums,
						    const struct tapir_catalog *catalog,
						    const struct tapir_rec_exchange *rec)
{
	struct tapir_exchange_party party = party_of(catalog, rec);
	struct tapir_exchange_row *row;

	if (!(rec->flags & TAPIR_EXCHANGE_OPENED))
		keep_listener(sums, rec, &party);
	row = exchange_row_of(sums, rec, &party);
	sums->more += !row;
	if (!row)
		return NULL;
	merge_party(&row->party, &party);
	row->sent_bytes += rec->sent_bytes;
	row->received_bytes += rec->received_bytes;
	if (rec->kind == TAPIR_EXCHANGE_ANSWERED)
		add_answer(sums, row, rec);
	else
		add_end(row, rec);
	return row;
}

/* ---- the result ------------------------------------------------------------------------------- */

static int exchanges_by_time(const void *a, const void *b)
{
	const struct tapir_exchange_row *x = a, *y = b;
	uint64_t of_x = x->sum_ns + x->unanswered_ns, of_y = y->sum_ns + y->unanswered_ns;

	return tapir_order__by(tapir_order__down(of_x, of_y), tapir_order__down(x->cnt, y->cnt),
			       tapir_order__up(x->idx, y->idx));
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void tapir_exchange_sums__sort(struct tapir_exchange_sums *sums)
{
	struct tapir_exchange_row *row;

	if (sums->is_sorted || !sums->rows.cnt)
		return;
	sums->is_sorted = true;
	tapir_vec_for_each (row, &sums->rows)
		if (row->took_ns.cnt)
			qsort(row->took_ns.data, row->took_ns.cnt, sizeof(*row->took_ns.data),
			      by_number);
	tapir_keyed__sort(&sums->rows, exchanges_by_time);
}

const struct tapir_exchange_row *tapir_exchange_sums__row(const struct tapir_exchange_sums *sums,
							  uint32_t idx)
{
	const struct tapir_exchange_row *row;

	if (!sums->is_sorted)
		return idx < sums->rows.cnt ? &sums->rows.data[idx] : NULL;
	tapir_vec_for_each (row, &sums->rows)
		if (row->idx == idx)
			return row;
	return NULL;
}

uint64_t tapir_exchange_row__percentile(const struct tapir_exchange_row *row, unsigned percent)
{
	size_t rank = (row->took_ns.cnt * percent + 99) / 100;

	return row->took_ns.cnt ? row->took_ns.data[rank ? rank - 1 : 0] : 0;
}

void tapir_exchange_sums__add_callsite(const struct tapir_exchange_sums *sums,
				       const struct tapir_exchange_row *row, struct tapir_str *out)
{
	uint64_t key = key_of_listener(row->address, row->port, row->netns);
	const struct tapir_exchange_party *party;

	if (!row->is_opened) {
		tapir_str__addf(out, "port %u", row->port);
		return;
	}
	tapir_net__add_address(out, row->address, row->port);
	party = tapir_keyed__get(&sums->listeners, key);
	if (!party || !*party->comm)
		return;
	tapir_str__adds(out, " (");
	tapir_str__add_printable(out, party->comm, strlen(party->comm));
	if (party->tgid)
		tapir_str__addf(out, " %u", party->tgid);
	tapir_str__addc(out, ')');
}

const char *tapir_exchange_error__name(enum tapir_exchange_error error)
{
	static const char *const names[TAPIR_EXCHANGE_ERROR_CNT] = {"refused", "reset", "timed out",
								    "other"};

	return names[error];
}

void tapir_exchange_sums__fini(struct tapir_exchange_sums *sums)
{
	struct tapir_exchange_row *row;

	tapir_vec_for_each (row, &sums->rows)
		tapir_vec__fini(&row->took_ns);
	tapir_keyed__fini(&sums->rows);
	tapir_keyed__fini(&sums->listeners);
}
