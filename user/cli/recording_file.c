// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the file and reads it as far as possible; then its damage is an error. Without FILE it is
 * the newest recording of the directory that belongs to this user; links are not followed, since
 * another user may have made them.
 */
#include "cli/recording_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exhaustion.h"
#include "record/async_stacks/await_stacks.h"
#include "base/diag.h"
#include "base/log.h"
#include "base/str.h"
#include "base/sudo_user.h"
#include "cli/long_read.h"
#include "cli/pager.h"
#include "decode/dotnet_tables.h"
#include "decode/probe_name.h"
#include "output/render/human_units.h"
#include "symbol/frame.h"
#include "trace/trace_filter.h"

/* ---- which ------------------------------------------------------------------------------- */

#define SUFFIX ".tapir"

static bool is_recording_name(const char *name)
{
	size_t len = strlen(name), suffix_len = strlen(SUFFIX);

	return len > suffix_len && !strcmp(name + len - suffix_len, SUFFIX);
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* Freed by the caller; NULL: there is none. Links are not followed: another user's file is not the
   caller's recording, wherever it is linked. */
static char *find_newest(void)
{
	DIR *dir = opendir(".");
	uid_t uid = geteuid();
	struct timespec newest = {};
	const struct dirent *entry;
	char *name = NULL;

	(void)tapir_sudo_user__get(&uid, NULL);
	while (dir && (entry = readdir(dir))) {
		struct stat st;

		if (!is_recording_name(entry->d_name) ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode) || st.st_uid != uid || !is_later(&st.st_mtim, &newest))
			continue;
		free(name);
		name = strdup(entry->d_name);
		newest = st.st_mtim;
	}
	if (dir)
		closedir(dir);
	return name;
}

static bool names_a_file(const char *word)
{
	return !strcmp(word, "-") || strchr(word, '/') || is_recording_name(word) ||
	       !access(word, F_OK);
}

int tapir_recording_file__choose(struct tapir_cli *cli, bool has_glob)
{
	char *name;

	if (cli->words.cnt > (size_t)has_glob ||
	    (cli->words.cnt && names_a_file(cli->words.data[0])))
		return 0;
	name = find_newest();
	if (!name)
		return tapir_cli__usage(
			cli, "FILE is required: no recording of yours is in this directory "
			     "(tapir record -p PID -o slow.tapir makes one)");
	if (!tapir_vec__push(&cli->words, name)) {
		free(name);
		return -ENOMEM;
	}
	if (cli->words.cnt == 2) { /* the GLOB comes second */
		cli->words.data[1] = cli->words.data[0];
		cli->words.data[0] = name;
	}
	cli->chosen_file = name;
	tapir_info("reading %s", name);
	return 0;
}

/* ---- what it lacks ------------------------------------------------------------------------ */

/* "3 chunks, 48 bytes": zero counts are left out. */
static void add_missing(struct tapir_str *out, uint64_t cnt, const char *noun)
{
	if (cnt)
		tapir_str__addf(out, "%s%" PRIu64 " %s%s", out->len ? ", " : "", cnt, noun,
				cnt == 1 ? "" : "s");
}

/* "45,068 events, 3,940 samples, 11,141 switches of 5.2 s" */
static void add_read(struct tapir_str *out, const struct tapir_reader_stats *stats)
{
	for (int i = 0; i < TAPIR_FAMILY_CNT; i++) {
		const struct tapir_family *family = &tapir_families[i];

		if (!stats->captured[i])
			continue;
		tapir_str__adds(out, out->len ? ", " : "");
		tapir_human__add_count(out, stats->captured[i]);
		tapir_str__addf(out, " %s", stats->captured[i] == 1 ? family->one : family->many);
	}
	if (!out->len)
		tapir_str__adds(out, "no events");
	if (stats->created_ns && stats->last_ns > stats->created_ns)
		tapir_str__addf(out, " of %.1f s",
				(double)(stats->last_ns - stats->created_ns) / 1e9);
}

static int damage(const char *path, const struct tapir_reader_stats *stats, const char *read)
{
	struct tapir_str missing = {};
	int err;

	add_missing(&missing, stats->bad_chunks + stats->missing_chunks, "chunk");
	add_missing(&missing, stats->bytes_skipped, "byte");
	add_missing(&missing, stats->malformed_records, "record");
	err = tapir_diag__fail(-EBADMSG, "%s is damaged: it holds %s; unreadable: %s", path, read,
			       missing.data ? missing.data : "a part");
	tapir_str__fini(&missing);
	return err;
}

int tapir_recording_file__check_damage(const char *path, const struct tapir_reader_stats *stats)
{
	struct tapir_str read = {};
	int err = 0;

	if (!stats->is_truncated && !tapir_reader_stats__is_damaged(stats))
		return 0;
	add_read(&read, stats);
	if (tapir_reader_stats__is_cut_short(stats))
		err = tapir_diag__fail(
			-EBADMSG,
			"%s is incomplete: it holds %s; its last %" PRIu64
			" bytes are part of a chunk that was cut, or not yet written",
			path, read.data ? read.data : "", stats->tail_bytes);
	else if (tapir_reader_stats__is_damaged(stats))
		err = damage(path, stats, read.data ? read.data : "");
	else
		tapir_warn(
			"%s is incomplete: it holds %s; it was cut, tapir was killed, or it is still being written",
			path, read.data ? read.data : "");
	tapir_str__fini(&read);
	return err;
}

int tapir_trace_option__check(const struct tapir_cli *cli, const char *text)
{
	struct tapir_trace_filter choice;

	return tapir_trace_filter__parse(text, &choice)
		       ? 0
		       : tapir_cli__usage(cli, "--trace-id: '%s' is not 32 hex digits", text);
}

int tapir_where_option__status(const char *text, int err)
{
	return text && err == -EINVAL ? TAPIR_CLI_USAGE : err;
}

int tapir_where_option__parse(const char *text, struct tapir_where **out)
{
	return tapir_where_option__status(text, tapir_where__new(text, out));
}

int tapir_where_option__check(const char *text)
{
	struct tapir_where *w;
	int err = tapir_where_option__parse(text, &w);

	tapir_where__free(w);
	return err;
}

int tapir_manifests__add(const struct tapir_words *paths)
{
	int err = 0;

	for (size_t i = 0; i < paths->cnt && !err; i++)
		err = tapir_dotnet_tables__add_manifest(paths->data[i]);
	return err;
}

void tapir_manifests__warn_of_mismatches(const struct tapir_event_lines *lines)
{
	struct tapir_layout_mismatches mismatches = tapir_event_lines__mismatches(lines);

	if (mismatches.short_cnt || mismatches.long_cnt)
		tapir_warn("%" PRIu64 " payloads were shorter and %" PRIu64
			   " longer than the layout of their event: see <missing> and rest=",
			   mismatches.short_cnt, mismatches.long_cnt);
	if (mismatches.unknown_cnt)
		tapir_warn(
			"%" PRIu64
			" payloads are of undescribed events and are shown as bytes in payload= (--manifest FILE describes them)",
			mismatches.unknown_cnt);
}

static void add_skipped(struct tapir_str *out, uint64_t cnt, const char *why)
{
	if (cnt)
		tapir_str__addf(out, "; %" PRIu64 " %s", cnt, why);
}

/* Reports the buffers of .NET 11 about what threads continue that were not used, by cause. */
static void report_buffers(const struct tapir_await_counts *counts)
{
	uint64_t refused = counts->other_clock;
	struct tapir_str line = {};

	for (int fault = TAPIR_ASYNC_OK + 1; fault < TAPIR_ASYNC_FAULT_CNT; fault++) {
		refused += counts->refused[fault];
		add_skipped(&line, counts->refused[fault], tapir_async_fault__text(fault));
	}
	add_skipped(&line, counts->other_clock, "with times of another clock");
	if (refused && line.data)
		tapir_warn("%" PRIu64 " of %" PRIu64 " buffers of async methods were not decoded%s",
			   refused, refused + counts->buffers - counts->other_clock, line.data);
	if (counts->runs_no_room)
		tapir_warn("%" PRIu64 " parts of buffers of async methods were left out: limit "
			   "reached",
			   counts->runs_no_room);
	tapir_str__fini(&line);
}

static void report_async(const char *path, const struct tapir_await_counts *counts)
{
	struct tapir_str line = {};

	report_buffers(counts);
	if (!counts->awaits && !counts->inside) {
		tapir_warn("%s has no awaits, and so no async stacks: record with --profile async",
			   path);
		return;
	}
	tapir_str__addf(&line,
			"%" PRIu64 " stacks in async methods, %" PRIu64
			" of them with the methods that await these",
			counts->inside, counts->chained);
	add_skipped(&line, counts->unawaited, "whose await was not seen, if there was one");
	add_skipped(&line, counts->unclear, "left as they are: their task is not certain");
	add_skipped(&line, counts->no_room, "cut or left as they are: limit reached");
	add_skipped(&line, counts->malformed, "events of tasks not understood");
	if (line.data)
		tapir_info("%s", line.data);
	tapir_str__fini(&line);
}

/* work, by which stacks are seen as --async wants them. */
static int work_on(struct tapir_reader *reader, struct tapir_cli *cli,
		   int (*work)(struct tapir_reader *reader, struct tapir_cli *cli))
{
	struct tapir_await_stacks *stacks;
	int err;

	if (!cli->wants_async)
		return work(reader, cli);
	stacks = tapir_await_stacks__new(reader);
	err = stacks ? work(reader, cli) : -ENOMEM;
	if (!err)
		report_async(cli->words.data[0], tapir_await_stacks__counts(stacks));
	tapir_await_stacks__free(stacks);
	return err;
}

static void prepare(struct tapir_cli *cli, struct tapir_reader *reader)
{
	tapir_reader__complete_probes(reader, tapir_probe_name__complete);
	tapir_symbols_option__attach(cli, reader);
}

int tapir_recording_file__open(struct tapir_cli *cli, const char *path, struct tapir_reader **out)
{
	int err = tapir_reader__open(path, out);

	if (!err)
		prepare(cli, *out);
	return err;
}

int tapir_recording_file__open_again(struct tapir_cli *cli, const struct tapir_reader *first,
				     struct tapir_reader **out)
{
	int err = tapir_reader__open_again(first, out);

	if (!err)
		prepare(cli, *out);
	return err;
}

int tapir_rereading__open_again(void *ctx, struct tapir_reader *first, struct tapir_reader **out)
{
	const struct tapir_rereading *again = ctx;

	return tapir_recording_file__open_again(again->cli, first, out);
}

bool tapir_rereading__should_continue(void *ctx)
{
	const struct tapir_rereading *again = ctx;

	return !tapir_long_read__check(again->read);
}

int tapir_recording_file__read(struct tapir_cli *cli,
			       int (*work)(struct tapir_reader *reader, struct tapir_cli *cli))
{
	const char *path = cli->words.data[0];
	struct tapir_reader *reader;
	int err = tapir_recording_file__open(cli, path, &reader);

	if (err) {
		tapir_symbols_option__end(cli);
		return err;
	}
	err = work_on(reader, cli, work);
	if (!err)
		tapir_symbols_option__report(cli);
	if (!err)
		err = tapir_recording_file__check_damage(path, tapir_reader__stats(reader));
	else if (err == TAPIR_RECORDING_IS_READ_IN_PART)
		err = 0;
	tapir_reader__close(reader);
	tapir_symbols_option__end(cli);
	return err ? err : tapir_exhaustion__err(); /* an incomplete answer is not an answer */
}

int tapir_recording_file__show(struct tapir_cli *cli, const struct tapir_show_opts *opts,
			       int (*work)(struct tapir_reader *reader, struct tapir_cli *cli))
{
	int err;

	if (opts->has_pager)
		tapir_pager__start(cli);
	if (opts->raw_names)
		tapir_frame__show_raw_names();
	cli->wants_async = opts->is_async;
	err = tapir_symbols_option__start(cli, opts->symbols);
	if (err)
		return err;
	err = opts->manifests ? tapir_manifests__add(opts->manifests) : 0;
	if (!err)
		err = tapir_recording_file__read(cli, work);
	tapir_dotnet_tables__fini();
	return err;
}
