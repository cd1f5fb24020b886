// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the recordings that are of one host, and how the hosts' clocks relate.
 *
 * Two recordings of one boot of a machine have the same CLOCK_MONOTONIC and the same pids: they are
 * parts of one. A boot is known by its id, or, of older recordings, by the host's name together
 * with the time at which its clocks began.
 *
 * The clocks of hosts: UTC less CLOCK_MONOTONIC, by the last pair of each, since a clock that was
 * set is right afterwards. The host for which that is least keeps its times, those of the others
 * move by the difference: no time becomes negative. CLOCK_MONOTONIC follows NTP as UTC does, so one
 * distance holds for a whole recording.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "output/export/merge_impl.h"
#include "trace/record.h"

#define SAME_BOOT_NS TAPIR_NS_PER_SEC	    /* of older recordings */
#define SET_NS	     (10 * TAPIR_NS_PER_MS) /* more is not what readings differ by */
#define FREE_US	     16000000u /* the kernel's own limit of a clock that is synchronized */

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a - b < b - a ? a - b : b - a;
}

/* ---- hosts ------------------------------------------------------------------------------- */

/* UTC less CLOCK_MONOTONIC; false: the recording has no UTC. */
static bool offset_of(const struct tapir_merge_input *input, uint64_t *offset_ns)
{
	const struct tapir_reader_stats *stats = &input->stats;

	*offset_ns = input->pair_cnt ? input->offset_ns : stats->created_utc_ns - stats->created_ns;
	return input->pair_cnt || (stats->created_utc_ns && stats->created_ns);
}

static bool is_same_host(const struct tapir_merge_input *a, const struct tapir_merge_input *b)
{
	struct tapir_sv boot = tapir_merge_metas__value(&a->metas, TAPIR_META_BOOT);
	struct tapir_sv other_boot = tapir_merge_metas__value(&b->metas, TAPIR_META_BOOT);
	struct tapir_sv name = tapir_merge_metas__value(&a->metas, "host");
	uint64_t a_ns, b_ns;

	if (a->given && b->given && strcmp(a->given, b->given) != 0)
		return false;
	if (boot.len && other_boot.len)
		return !tapir_sv__compare(boot, other_boot);
	if (!a->given != !b->given || !offset_of(a, &a_ns) || !offset_of(b, &b_ns))
		return false;
	return (a->given || (name.len && !tapir_sv__compare(name, tapir_merge_metas__value(
									  &b->metas, "host")))) &&
	       distance(a_ns, b_ns) < SAME_BOOT_NS;
}

/* The given name, the recording's, or the file's without its suffix. */
static char *merged_host_name(const struct tapir_merge_input *input)
{
	struct tapir_sv name = tapir_sv__of(input->given);

	if (!name.len)
		name = tapir_merge_metas__value(&input->metas, "host");
	if (!name.len) {
		name = tapir_sv__base_name(tapir_sv__of(input->path));
		if (tapir_sv__ends_with(name, ".tapir"))
			name.len -= strlen(".tapir");
	}
	return strndup(name.data, name.len);
}

static const struct tapir_merge_host *host_called(const struct tapir_merge *m, const char *name)
{
	const struct tapir_merge_host *host;

	tapir_vec_for_each (host, &m->hosts)
		if (!strcmp(host->name, name))
			return host;
	return NULL;
}

/* "web1", "web1-2": a machine that was started again, or another one of that name. */
static int name_host(const struct tapir_merge *m, const struct tapir_merge_input *input, char **out)
{
	tapir_autofree char *name = merged_host_name(input);
	char *made = name ? strdup(name) : NULL;

	for (unsigned nr = 2; made && host_called(m, made); nr++) {
		free(made);
		made = NULL;
		if (asprintf(&made, "%s-%u", name, nr) < 0)
			return -ENOMEM;
	}
	*out = made;
	return made ? 0 : -ENOMEM;
}

static int add_host(struct tapir_merge *m, size_t idx)
{
	struct tapir_merge_host made = {.first_input = (uint32_t)idx, .first_ns = UINT64_MAX};
	int err;

	if (m->hosts.cnt == TAPIR_HOST_MAX)
		return tapir_diag__fail(-E2BIG, "there are more than %u hosts", TAPIR_HOST_MAX);
	err = name_host(m, &m->inputs.data[idx], &made.name);
	if (err)
		return err;
	if (tapir_vec__push(&m->hosts, made))
		return 0;
	free(made.name);
	return -ENOMEM;
}

static void join(struct tapir_merge_host *host, struct tapir_merge_input *input)
{
	input->rehost.first_probe = host->probe_cnt;
	input->rehost.kernel_files = &input->kernel_files;
	host->probe_cnt += input->probe_max;
	host->input_cnt++;
	if (input->first_ns < host->first_ns)
		host->first_ns = input->first_ns;
	if (input->last_ns > host->last_ns)
		host->last_ns = input->last_ns;
	host->has_clock |= input->pair_cnt > 0;
	if (!host->has_offset || input->pair_cnt)
		host->has_offset |= offset_of(input, &host->offset_ns);
}

static int find_hosts(struct tapir_merge *m)
{
	for (size_t i = 0; i < m->inputs.cnt; i++) {
		struct tapir_merge_input *input = &m->inputs.data[i];
		size_t same = 0;
		int err = 0;

		while (same < i && !is_same_host(&m->inputs.data[same], input))
			same++;
		input->host = same < i ? m->inputs.data[same].host : (uint32_t)m->hosts.cnt;
		err = same < i ? 0 : add_host(m, i);
		if (err)
			return err;
		join(&m->hosts.data[input->host], input);
		if (m->hosts.data[input->host].probe_cnt >= TAPIR_HOST_PIDS)
			return tapir_diag__fail(-E2BIG, "the recordings of %s have too many probes",
						m->hosts.data[input->host].name);
	}
	return 0;
}

/* ---- clocks ------------------------------------------------------------------------------ */

/* A host without UTC begins with the first one that has it; if none has it, all begin at once. */
static void shift_without_utc(struct tapir_merge *m)
{
	uint64_t utc_ns = UINT64_MAX, latest_ns = 0;
	struct tapir_merge_host *host;

	tapir_vec_for_each (host, &m->hosts) {
		if (host->has_offset && host->first_ns + host->offset_ns < utc_ns)
			utc_ns = host->first_ns + host->offset_ns;
		if (host->first_ns > latest_ns)
			latest_ns = host->first_ns;
	}
	if (utc_ns == UINT64_MAX)
		utc_ns = latest_ns;
	tapir_vec_for_each (host, &m->hosts)
		if (!host->has_offset)
			host->offset_ns = utc_ns - host->first_ns;
}

/* The kernel's word on the clock of the recordings of a host: the worst of all. */
static void judge_clock(const struct tapir_merge *m, struct tapir_merge_host *host)
{
	host->rec.clock = host->has_offset ? TAPIR_HOST_CLOCK_SYNCED : TAPIR_HOST_CLOCK_NONE;
	for (size_t i = 0; i < m->inputs.cnt && host->has_offset; i++) {
		const struct tapir_merge_input *input = &m->inputs.data[i];
		struct tapir_sv sync = tapir_merge_metas__value(&input->metas, TAPIR_META_SYNC);
		char text[24];
		uint64_t us;

		if (&m->hosts.data[input->host] != host)
			continue;
		tapir_sv__copy(sync, text, sizeof(text));
		us = strtoull(text, NULL, 10);
		if (!sync.len && host->rec.clock == TAPIR_HOST_CLOCK_SYNCED)
			host->rec.clock = TAPIR_HOST_CLOCK_UNKNOWN;
		else if (sync.len && (*text < '0' || *text > '9' || us >= FREE_US))
			host->rec.clock = TAPIR_HOST_CLOCK_FREE;
		else if (us * TAPIR_NS_PER_US > host->rec.error_ns)
			host->rec.error_ns = us * TAPIR_NS_PER_US;
		if (input->max_ns - input->least_ns > SET_NS)
			host->rec.set_ns = input->max_ns - input->least_ns;
	}
	if (host->rec.clock != TAPIR_HOST_CLOCK_SYNCED)
		host->rec.error_ns = 0;
}

static void move_host(struct tapir_merge *m, size_t idx, uint64_t least_ns)
{
	struct tapir_merge_host *host = &m->hosts.data[idx];
	const struct tapir_merge_input *first = &m->inputs.data[host->first_input];
	struct tapir_merge_input *input;

	judge_clock(m, host);
	host->rec.host = (uint32_t)idx + 1;
	host->rec.shift_ns = host->offset_ns - least_ns;
	host->rec.created_ns = first->stats.created_ns;
	host->rec.created_utc_ns = first->stats.created_utc_ns;
	host->rec.last_ns = host->last_ns;
	tapir_vec_for_each (input, &m->inputs) {
		if (input->host != idx)
			continue;
		input->rehost.host = host->rec.host;
		input->rehost.shift_ns = host->rec.shift_ns;
	}
}

static void align(struct tapir_merge *m)
{
	uint64_t least_ns = UINT64_MAX;

	shift_without_utc(m);
	for (size_t i = 0; i < m->hosts.cnt; i++) {
		const struct tapir_merge_host *host = &m->hosts.data[i];
		const struct tapir_merge_host *reference = &m->hosts.data[m->reference];

		if (host->offset_ns < least_ns)
			least_ns = host->offset_ns;
		if (host->has_clock &&
		    (!reference->has_clock || host->offset_ns < reference->offset_ns))
			m->reference = (uint32_t)i;
	}
	for (size_t i = 0; i < m->hosts.cnt && tapir_merge__has_hosts(m); i++)
		move_host(m, i, least_ns);
}

/* ---- in words ----------------------------------------------------------------------------- */

static void add_duration(struct tapir_str *out, uint64_t ns)
{
	double sec = (double)ns / 1e9;

	if (sec < 1)
		tapir_str__addf(out, "%.3g ms", sec * 1e3);
	else if (sec < 3600)
		tapir_str__addf(out, "%.1f s", sec);
	else
		tapir_str__addf(out, "%.1f h", sec / 3600);
}

static void begin_line(struct tapir_str *out)
{
	if (out->len)
		tapir_str__addc(out, '\n');
}

/* "web1, web2": hosts whose clock is so. Returns how many. */
static size_t add_hosts_with(const struct tapir_merge *m, enum tapir_host_clock clock,
			     struct tapir_str *out)
{
	const struct tapir_merge_host *host;
	size_t cnt = 0;

	tapir_vec_for_each (host, &m->hosts)
		if (host->rec.clock == clock)
			tapir_str__addf(out, "%s%s", cnt++ ? ", " : "", host->name);
	return cnt;
}

static void add_clocks(const struct tapir_merge *m, enum tapir_host_clock clock, const char *one,
		       const char *many, struct tapir_str *out)
{
	struct tapir_str names = {};
	size_t cnt = add_hosts_with(m, clock, &names);

	if (cnt) {
		begin_line(out);
		tapir_str__adds(out, names.data ? names.data : "");
		tapir_str__adds(out, cnt == 1 ? one : many);
	}
	out->failed |= names.failed;
	tapir_str__fini(&names);
}

static void add_errors(const struct tapir_merge *m, struct tapir_str *out)
{
	const struct tapir_merge_host *host;
	uint64_t error_ns = 0;

	tapir_vec_for_each (host, &m->hosts) {
		if (host->rec.error_ns > error_ns)
			error_ns = host->rec.error_ns;
		if (!host->rec.set_ns)
			continue;
		begin_line(out);
		tapir_str__addf(out, "the clock of %s was set while it was recorded, by ",
				host->name);
		add_duration(out, host->rec.set_ns);
		tapir_str__adds(out, ": its last UTC counts");
	}
	if (!error_ns)
		return;
	begin_line(out);
	tapir_str__adds(out, "times of synchronized clocks are right to within ");
	add_duration(out, error_ns);
	tapir_str__adds(out, ", says the kernel");
}

static uint64_t from_of(const struct tapir_merge_host *host)
{
	return host->first_ns + host->rec.shift_ns;
}

static uint64_t until_of(const struct tapir_merge_host *host)
{
	return host->last_ns + host->rec.shift_ns;
}

/* Hosts may not have been recorded at one time: or a clock is wrong by that. */
static void add_apart(const struct tapir_merge *m, struct tapir_str *out)
{
	const struct tapir_merge_host *first = m->hosts.data, *host;

	tapir_vec_for_each (host, &m->hosts) {
		bool is_later = from_of(host) > until_of(first);

		if (host == first || (!is_later && from_of(first) <= until_of(host)))
			continue;
		begin_line(out);
		tapir_str__addf(out, "%s and %s have no time in common: ", first->name, host->name);
		add_duration(out, is_later ? from_of(host) - until_of(first)
					   : from_of(first) - until_of(host));
		tapir_str__adds(out, " apart, unless a clock is wrong by as much");
	}
}

/* Parts of one host may have been recorded at one time. */
static void add_overlaps(const struct tapir_merge *m, struct tapir_str *out)
{
	for (size_t i = 1; i < m->inputs.cnt; i++)
		for (size_t k = 0; k < i; k++) {
			const struct tapir_merge_input *a = &m->inputs.data[k];
			const struct tapir_merge_input *b = &m->inputs.data[i];
			uint64_t from_ns = a->first_ns > b->first_ns ? a->first_ns : b->first_ns;
			uint64_t until_ns = a->last_ns < b->last_ns ? a->last_ns : b->last_ns;

			if (a->host != b->host || from_ns >= until_ns)
				continue;
			begin_line(out);
			tapir_str__addf(out, "%s and %s are both of %s and overlap by ", a->path,
					b->path, m->hosts.data[a->host].name);
			add_duration(out, until_ns - from_ns);
			tapir_str__adds(out, ": what both recorded is there twice");
		}
}

static void say(struct tapir_merge *m)
{
	struct tapir_str *out = &m->text;
	const struct tapir_merge_host *host;

	if (tapir_merge__has_hosts(m))
		tapir_str__addf(out, "%zu hosts: ", m->hosts.cnt);
	else
		tapir_str__addf(out, "%zu recordings of ", m->inputs.cnt);
	tapir_vec_for_each (host, &m->hosts)
		tapir_str__addf(out, "%s%s", host == m->hosts.data ? "" : ", ", host->name);
	if (tapir_merge__has_hosts(m)) {
		add_clocks(m, TAPIR_HOST_CLOCK_FREE,
			   ": its clock was not synchronized: its times may be off",
			   ": their clocks were not synchronized: their times may be off", out);
		add_clocks(m, TAPIR_HOST_CLOCK_UNKNOWN,
			   ": not known how exact its clock was: its times may be off",
			   ": not known how exact their clocks were: their times may be off", out);
		add_clocks(m, TAPIR_HOST_CLOCK_NONE, ": no UTC: it begins with the first",
			   ": no UTC: they begin with the first", out);
		add_errors(m, out);
		add_apart(m, out);
	}
	add_overlaps(m, out);
}

int tapir_merge__plan(struct tapir_merge *m)
{
	int err = find_hosts(m);

	if (err)
		return err;
	align(m);
	say(m);
	return m->text.failed ? -ENOMEM : 0;
}
