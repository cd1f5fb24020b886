// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Facts of several recordings as those of one. Most are the first recording's; a table has those
 * that add up, that are of one host alone, or that are moments.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode/postgresql_text.h"
#include "output/export/cut.h"
#include "output/export/merge_impl.h"

enum rule {
	RULE_FIRST,
	RULE_ONE_HOST,
	RULE_SUM,
	RULE_LINES,
	RULE_SERVERS,
	RULE_EARLIEST,
	RULE_LATEST,
	RULE_NEVER
};

#define LINES_MAX_BYTES 16384
#define NAMES_MAX_BYTES 60000 /* as of one recording */

static const struct {
	const char *key;
	enum rule rule;
} rules[] = {
	{"host", RULE_ONE_HOST},	  {TAPIR_META_BOOT, RULE_ONE_HOST},
	{TAPIR_META_SYNC, RULE_ONE_HOST}, {"cpus", RULE_SUM},
	{TAPIR_META_SPECS, RULE_LINES},	  {TAPIR_META_LACKS, RULE_LINES},
	{TAPIR_META_CUT, RULE_LINES},	  {TAPIR_META_BEGAN, RULE_EARLIEST},
	{TAPIR_META_ENDED, RULE_LATEST},  {"frozen", RULE_LATEST},
	{TAPIR_META_MERGED, RULE_NEVER},  {TAPIR_META_POSTGRESQL_NAMES, RULE_SERVERS},
};

static enum rule rule_of(struct tapir_sv key)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (tapir_sv__is(key, rules[i].key))
			return rules[i].rule;
	return RULE_FIRST;
}

static const struct tapir_rec *find_meta(const struct tapir_merge_metas *metas, struct tapir_sv key)
{
	struct tapir_meta_view view;

	for (size_t i = 0; i < metas->cnt; i++) {
		tapir_meta_view__of(metas->data[i], &view);
		if (view.key.len == key.len && !tapir_sv__compare(view.key, key))
			return metas->data[i];
	}
	return NULL;
}

struct tapir_sv tapir_merge_metas__value(const struct tapir_merge_metas *metas, const char *key)
{
	const struct tapir_rec *rec = find_meta(metas, tapir_sv__of(key));
	struct tapir_meta_view view = {};

	if (rec)
		tapir_meta_view__of(rec, &view);
	return view.value;
}

int tapir_merge_metas__keep(struct tapir_merge_metas *metas, const struct tapir_rec *rec)
{
	struct tapir_rec *copy = malloc(rec->size);
	struct tapir_meta_view view;
	const struct tapir_rec *old;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, rec, rec->size);
	tapir_meta_view__of(rec, &view);
	old = find_meta(metas, view.key);
	for (size_t i = 0; i < metas->cnt; i++)
		if (metas->data[i] == old) {
			free(metas->data[i]);
			metas->data[i] = copy;
			return 0;
		}
	if (tapir_vec__push(metas, copy))
		return 0;
	free(copy);
	return -ENOMEM;
}

void tapir_merge_metas__fini(struct tapir_merge_metas *metas)
{
	for (size_t i = 0; i < metas->cnt; i++)
		free(metas->data[i]);
	tapir_vec__fini(metas);
}

/* ---- several as one ---------------------------------------------------------------------- */

/* A fact that is being put together from all recordings that have it. */
struct fact {
	struct tapir_sv key;
	enum rule rule;
	uint64_t time_ns, sum;
	bool has_hosts;
	uint32_t first_pid; /* of the host whose recording is added; 0: pids stay */
	struct tapir_str text;
};

/* Adds those lines of a text that are not there yet. */
static void add_lines(struct tapir_str *out, struct tapir_sv text)
{
	while (text.len) {
		struct tapir_sv line = tapir_sv__next_line(&text);
		bool is_there = false;

		for (const char *at = out->data; at && *at && !is_there;) {
			size_t have = strcspn(at, "\n");

			is_there = have == line.len && !memcmp(at, line.data, line.len);
			at += have + (at[have] != '\0');
		}
		if (!is_there && out->len + line.len < LINES_MAX_BYTES) {
			tapir_str__adds(out, out->len ? "\n" : "");
			tapir_str__add(out, line.data, line.len);
		}
	}
}

/*
 * Names of relations are of a server, by its process. One that is not known is left out where there
 * are several hosts: another host's relation of that number has another name.
 */
static void add_servers(struct fact *fact, struct tapir_sv text)
{
	struct tapir_postgresql_name name;

	while (tapir_postgresql_name__next(&text, &name)) {
		if ((!name.server && fact->has_hosts) || name.server >= TAPIR_HOST_PIDS ||
		    fact->text.len + name.name.len > NAMES_MAX_BYTES)
			continue;
		if (name.server)
			name.server += fact->first_pid;
		tapir_postgresql_name__add(&name, &fact->text);
	}
}

static void add_to_fact(struct fact *fact, const struct tapir_rec *rec, uint64_t time_ns,
			bool is_first, bool is_first_of_host)
{
	struct tapir_meta_view view;
	char number[24];

	tapir_meta_view__of(rec, &view);
	if (is_first)
		fact->time_ns = time_ns;
	if ((fact->rule == RULE_EARLIEST && time_ns < fact->time_ns) ||
	    (fact->rule == RULE_LATEST && time_ns > fact->time_ns))
		fact->time_ns = time_ns;
	tapir_sv__copy(view.value, number, sizeof(number));
	if (fact->rule == RULE_SUM)
		fact->sum += is_first_of_host ? strtoull(number, NULL, 10) : 0;
	else if (fact->rule == RULE_LINES)
		add_lines(&fact->text, view.value);
	else if (fact->rule == RULE_SERVERS)
		add_servers(fact, view.value);
	else if (is_first)
		tapir_str__add(&fact->text, view.value.data, view.value.len);
}

static bool is_input_of_host(const struct tapir_merge *m, const struct tapir_merge_input *input,
			     const struct tapir_merge_host *host)
{
	return !host || &m->hosts.data[input->host] == host;
}

static uint64_t time_of(const struct tapir_merge_input *input, const struct tapir_rec *rec,
			bool is_own)
{
	return rec->time_ns && !is_own ? rec->time_ns + input->rehost.shift_ns : rec->time_ns;
}

/* Returns true if the recording of the idx-th input is the first that has the key. */
static bool is_first_with(const struct tapir_merge *m, const struct tapir_merge_host *host,
			  size_t idx, struct tapir_sv key)
{
	for (size_t i = 0; i < idx; i++)
		if (is_input_of_host(m, &m->inputs.data[i], host) &&
		    find_meta(&m->inputs.data[i].metas, key))
			return false;
	return true;
}

static void collect(const struct tapir_merge *m, const struct tapir_merge_host *host, bool is_own,
		    struct fact *fact)
{
	for (size_t i = 0, cnt = 0; i < m->inputs.cnt; i++) {
		const struct tapir_merge_input *input = &m->inputs.data[i];
		const struct tapir_rec *rec = is_input_of_host(m, input, host)
						      ? find_meta(&input->metas, fact->key)
						      : NULL;

		fact->first_pid = is_own ? 0 : input->rehost.host * TAPIR_HOST_PIDS;
		if (rec)
			add_to_fact(fact, rec, time_of(input, rec, is_own), !cnt++,
				    m->hosts.data[input->host].first_input == i);
	}
}

/* A recording whose end is not known has none: then the whole has none. */
static bool lacks_end(const struct tapir_merge *m, const struct tapir_merge_host *host,
		      struct tapir_sv key)
{
	bool is_frozen = tapir_sv__is(key, "frozen");

	for (size_t i = 0; i < m->inputs.cnt; i++) {
		const struct tapir_merge_input *input = &m->inputs.data[i];

		if (is_input_of_host(m, input, host) && !find_meta(&input->metas, key))
			return is_frozen || !find_meta(&input->metas, tapir_sv__of("frozen"));
	}
	return false;
}

static int put_fact(struct tapir_merge *m, const struct tapir_merge_host *host, bool is_own,
		    struct tapir_sv key, int (*put)(void *ctx, const struct tapir_rec *rec),
		    void *ctx)
{
	struct fact fact = {.key = key,
			    .rule = rule_of(key),
			    .has_hosts = !is_own && tapir_merge__has_hosts(m)};
	const struct tapir_rec *rec;
	int err;

	if (fact.rule == RULE_NEVER ||
	    (fact.rule == RULE_ONE_HOST && !host && tapir_merge__has_hosts(m)) ||
	    (fact.rule == RULE_LATEST && lacks_end(m, host, key)))
		return 0;
	collect(m, host, is_own, &fact);
	if (fact.rule == RULE_SUM)
		tapir_str__addf(&fact.text, "%llu", (unsigned long long)fact.sum);
	rec = fact.text.failed
		      ? NULL
		      : tapir_recbuf__meta(&m->buf, fact.time_ns, key,
					   (struct tapir_sv){fact.text.data ? fact.text.data : "",
							     fact.text.len});
	err = rec ? put(ctx, rec) : -ENOMEM;
	tapir_str__fini(&fact.text);
	return err;
}

int tapir_merge_metas__put(struct tapir_merge *m, const struct tapir_merge_host *host, bool is_own,
			   int (*put)(void *ctx, const struct tapir_rec *rec), void *ctx)
{
	int err = 0;

	for (size_t i = 0; i < m->inputs.cnt; i++) {
		const struct tapir_merge_metas *metas = &m->inputs.data[i].metas;

		for (size_t k = 0;
		     is_input_of_host(m, &m->inputs.data[i], host) && k < metas->cnt && !err; k++) {
			struct tapir_meta_view view;

			tapir_meta_view__of(metas->data[k], &view);
			if (is_first_with(m, host, i, view.key))
				err = put_fact(m, host, is_own, view.key, put, ctx);
		}
	}
	return err;
}
