// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first screen of a report: what a person reads aloud. Each part has a bound, and the bounds
 * add up to a screen: 4 lines of a head, 2 of a condition, 3 of an import or a merge, 3 findings of
 * 5, 4 and 4 lines, 3 lines of remedies, 6 groups of 3 rows and what separates them; of a machine,
 * 5 lines of its own, a finding of 4 processes each, and its processes. Texts of traced processes
 * are made printable before their columns are counted, and words that are wider than a line are
 * broken.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/reader_words.h"
#include "output/render/human_units.h"
#include "output/export/cut.h"
#include "output/render/remedies.h"
#include "output/render/report_view.h"
#include "analyze/view.h"
#include "symbol/process_runtime.h"
#include "trace/system_calls.h"

#define FINDINGS_SHOWN	     3
#define PROCESSES_SHOWN	     4 /* of a machine, with a finding each */
#define FIRST_LINES	     3 /* of the first finding's sentence */
#define IMPORTED_LINES	     3
#define WHERE_LINES	     2
#define NEXT_LINES	     2 /* of the others' */
#define REMEDIES_SHOWN	     2
#define REMEDY_LINES	     2
#define ROWS_SHOWN	     3
#define FEW_REQUESTS	     3
#define LABEL_COLUMNS	     11
#define MACHINE_ROWS	     6
#define MACHINE_DISKS	     2
#define FAILED_CALLS_MIN     100 /* fewer, and a smaller part of all calls, are usual */
#define FAILED_CALLS_PERCENT 5
#define DOTS		     "\xe2\x80\xa6"
#define BETWEEN		     " \xc2\xb7 "

struct writer {
	const struct tapir_report_view *v;
	const struct tapir_palette *p;
	size_t columns;
	struct tapir_str *out;
};

/* ---- lines ---------------------------------------------------------------------------------- */

static void add_spaces(struct tapir_str *out, size_t cnt)
{
	while (cnt--)
		tapir_str__addc(out, ' ');
}

/* Adds as much as fits into so many columns, and an ellipsis if that is not all. */
static void add_shortened_text(struct tapir_str *out, const char *text, size_t columns)
{
	size_t len = strlen(text);

	if (tapir_utf8__columns(text, len) <= columns) {
		tapir_str__add(out, text, len);
		return;
	}
	tapir_str__add(out, text, tapir_utf8__fitting(text, len, columns ? columns - 1 : 0));
	tapir_str__adds(out, DOTS);
}

/* Returns the length of a line of so many columns, which ends after a word if it can. */
static size_t line_len(const char *text, size_t columns)
{
	size_t len = strlen(text), fits = tapir_utf8__fitting(text, len, columns), end = fits;

	if (fits == len)
		return len;
	while (end && text[end] != ' ')
		end--;
	return end ? end : fits ? fits : len;
}

/* Printable text, in `most` lines at most; the first begins where the line is now, after `indent`
 * columns, the others are indented by as many. */
static void add_wrapped(const struct writer *w, const char *text, size_t indent, unsigned max)
{
	size_t room = w->columns > 2 * indent ? w->columns - indent : w->columns / 2;

	for (unsigned line = 1; *text; line++) {
		size_t len = line_len(text, room);

		if (line == max && text[len]) {
			add_shortened_text(w->out, text, room);
			text = "";
		} else {
			tapir_str__add(w->out, text, len);
			text += len + strspn(text + len, " ");
		}
		tapir_str__addc(w->out, '\n');
		if (*text)
			add_spaces(w->out, indent);
	}
}

/* One word of a shell's command line. */
static void add_shell_word(struct tapir_str *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-_./+:,@%=";
	bool is_plain = *word && !word[strspn(word, plain)];

	tapir_str__adds(out, is_plain ? "" : "'");
	while (*word) {
		size_t len = strcspn(word, "'");

		tapir_str__add_printable(out, word, len);
		word += len;
		tapir_str__adds(out, *word ? "'\\''" : "");
		word += *word != 0;
	}
	tapir_str__adds(out, is_plain ? "" : "'");
}

/* "tapir report slow.tapir"; a recording that was read from a pipe has no name. */
static void add_command(const struct writer *w)
{
	tapir_str__adds(w->out, "tapir report ");
	if (strcmp(w->v->path, "-") != 0)
		add_shell_word(w->out, w->v->path);
	else
		tapir_str__adds(w->out, "FILE");
}

/* The name of a view leads on where no command can be given. */
static void add_next(const struct writer *w, const struct tapir_finding *finding)
{
	if (tapir_reader_words__are_parameters()) {
		if (finding->view)
			tapir_str__addf(w->out, "   next: view %s\n", finding->view);
		return;
	}
	tapir_str__adds(w->out, "   next: ");
	add_command(w);
	if (finding->pid)
		tapir_str__addf(w->out, " --pid %u", finding->pid);
	if (finding->view)
		tapir_str__addf(w->out, " --view %s", finding->view);
	tapir_str__addc(w->out, '\n');
}

/* The word that a group of rows begins with, or as many blanks. */
static void begin_row(const struct writer *w, const char *label, size_t row)
{
	size_t len = row ? 0 : strlen(label);

	if (!row)
		tapir_str__addf(w->out, "%s%s%s", w->p->bold, label, w->p->off);
	add_spaces(w->out, LABEL_COLUMNS - len);
}

/* Adds the text to the line, as far as it has room, and empties it. */
static void end_row(const struct writer *w, struct tapir_str *text)
{
	add_shortened_text(w->out, text->data ? text->data : "", w->columns - LABEL_COLUMNS);
	tapir_str__addc(w->out, '\n');
	w->out->failed |= text->failed;
	tapir_str__clear(text);
}

/* ---- what was recorded ---------------------------------------------------------------------- */

/* "java (4711)", "bash ×60" */
static void add_processes(const struct tapir_report_program *program, struct tapir_str *out)
{
	if (program->cnt == 1) {
		tapir_report_programs__add_process(program->first, out);
		return;
	}
	tapir_str__add_printable(out, program->name.data, program->name.len);
	tapir_str__addf(out, " \xc3\x97%zu", program->cnt);
}

/* ", .NET 10.0.12" */
static void add_runtime(const struct tapir_report_view *v, uint32_t pid, struct tapir_str *out)
{
	const uint64_t times[] = {v->summary->until_ns, v->summary->first_ns};
	struct tapir_str runtime = {};

	for (size_t i = 0; i < sizeof(times) / sizeof(*times) && !runtime.len; i++)
		tapir_process_runtime__add(v->catalog, pid, times[i], &runtime);
	if (runtime.len)
		tapir_str__addf(out, ", %s", runtime.data);
	tapir_str__fini(&runtime);
}

/* CPUs used on average, of a time that is known. */
static double cpus_in(const struct tapir_report_view *v, uint64_t ns)
{
	return v->overview->span_ns ? (double)ns / (double)v->overview->span_ns : 0;
}

/* Converts samples as v->cpus relates to those that findings count, which are not the recorder's.
 */
static double cpus_of(const struct tapir_report_view *v, uint64_t samples)
{
	return v->overview->sample_cnt ? v->cpus * (double)samples / (double)v->overview->sample_cnt
				       : v->cpus;
}

/* Adds the piece to the head's line, or to the next one if it does not fit, and empties it. */
static void add_piece(const struct writer *w, struct tapir_str *piece, size_t *used)
{
	size_t len = tapir_utf8__columns(piece->data ? piece->data : "", piece->len);

	if (*used && *used + 3 + len > w->columns) {
		tapir_str__adds(w->out, "\n  ");
		*used = 2;
	} else if (*used) {
		tapir_str__adds(w->out, BETWEEN);
		*used += 3;
	}
	add_shortened_text(w->out, piece->data ? piece->data : "", w->columns - *used);
	*used += len;
	w->out->failed |= piece->failed;
	tapir_str__clear(piece);
}

/* "Checkout (17656), .NET 10.0.12", "java (4711), HotSpot 17 and 2 more processes" */
static void add_recorded(const struct tapir_report_view *v, size_t processes, struct tapir_str *out)
{
	const char *host = tapir_summary__meta(v->summary, "host");

	if (!processes) {
		tapir_str__adds(out, "no process was recorded");
		return;
	}
	if (v->is_machine) {
		tapir_report__add_printable(out, host ? host : "the machine");
		tapir_str__addf(out, ", %zu process%s", processes, processes == 1 ? "" : "es");
		return;
	}
	tapir_report_programs__add_process(v->summary->processes.data, out);
	add_runtime(v, v->summary->processes.data->pid, out);
	if (processes > 1)
		tapir_str__addf(out, " and %zu more process%s", processes - 1,
				processes == 2 ? "" : "es");
}

/* "Checkout (17656), .NET 10.0.12 · 6.0 s · 0.02 CPUs · 56 threads · nothing lost" */
static void write_head(const struct writer *w)
{
	const struct tapir_report_view *v = w->v;
	const char *cut = tapir_summary__meta(v->summary, TAPIR_META_CUT);
	struct tapir_str text = {};
	size_t threads, processes, used = 0;

	tapir_report__count_threads(v, &threads, &processes);
	tapir_str__adds(w->out, w->p->bold);
	add_recorded(v, processes, &text);
	add_piece(w, &text, &used);
	tapir_human__add_duration(&text, tapir_report__duration_ns(v));
	if (tapir_report__has_window(v))
		tapir_report__add_window(v, &text);
	add_piece(w, &text, &used);
	if (v->cpus >= 0 || v->programs->cpu_ns) {
		tapir_str__addf(&text, "%.2f CPUs",
				v->programs->cpu_ns ? cpus_in(v, v->programs->cpu_ns) : v->cpus);
		add_piece(w, &text, &used);
	}
	if (processes) {
		tapir_str__addf(&text, "%zu thread%s", threads, threads == 1 ? "" : "s");
		add_piece(w, &text, &used);
	}
	tapir_report__add_losses(v, &text);
	add_piece(w, &text, &used);
	tapir_str__addf(w->out, "%s\n", w->p->off);
	if (cut) {
		tapir_str__adds(&text, "part of a recording: ");
		tapir_report__add_printable(&text, cut);
		add_wrapped(w, text.data ? text.data : "", 0, 1);
		tapir_str__clear(&text);
	}
	if (v->where) {
		tapir_report__add_where(v->where, &text);
		add_wrapped(w, text.data ? text.data : "", 0, WHERE_LINES);
		tapir_str__clear(&text);
	}
	if (tapir_report__add_sums(v, &text)) {
		add_wrapped(w, text.data ? text.data : "", 0, IMPORTED_LINES);
		tapir_str__clear(&text);
	}
	if (tapir_report__add_imported(v, "; ", &text))
		add_wrapped(w, text.data ? text.data : "", 0, IMPORTED_LINES);
	tapir_str__clear(&text);
	if (tapir_report__add_merged(v, "; ", &text))
		add_wrapped(w, text.data ? text.data : "", 0, IMPORTED_LINES);
	tapir_str__fini(&text);
}

/* ---- findings ------------------------------------------------------------------------------- */

static const char *colour_of(const struct writer *w, const struct tapir_finding *finding)
{
	const char *level = tapir_finding__level(finding->severity);

	return !strcmp(level, "critical")  ? w->p->red
	       : !strcmp(level, "serious") ? w->p->yellow
					   : "";
}

/* alike_cnt: of findings that are not shown because of it. */
static void write_finding(const struct writer *w, const struct tapir_finding *finding, size_t idx,
			  size_t alike_cnt)
{
	const char *level = tapir_finding__level(finding->severity),
		   *colour = colour_of(w, finding);
	struct tapir_str title = {};
	size_t used;

	if (finding->process)
		tapir_str__adds(&title, finding->process);
	if (finding->process && alike_cnt)
		tapir_str__addf(&title, " and %zu more", alike_cnt);
	if (finding->process)
		tapir_str__adds(&title, ": ");
	tapir_str__adds(&title, tapir_finding__title(finding->kind));
	w->out->failed |= title.failed;
	used = 3 + tapir_utf8__columns(title.data ? title.data : "", title.len) + strlen(level);
	tapir_str__addf(w->out, "%zu  %s%s%s", idx + 1, w->p->bold, title.data ? title.data : "",
			w->p->off);
	add_spaces(w->out, w->columns > used + 2 ? w->columns - used : 2);
	tapir_str__addf(w->out, "%s%s%s\n   ", colour, level, *colour ? w->p->off : "");
	add_wrapped(w, finding->text, 3, idx ? NEXT_LINES : FIRST_LINES);
	add_next(w, finding);
	tapir_str__fini(&title);
}

/* Returns true if both say of two processes that the machine has too few CPUs. */
static bool is_alike(const struct tapir_finding *a, const struct tapir_finding *b)
{
	return a->kind == TAPIR_FINDING_NOISY_NEIGHBOUR && b->kind == TAPIR_FINDING_NOISY_NEIGHBOUR;
}

/* Returns true if a worse finding of the machine is of the same process, or says the same. */
static bool is_skipped(const struct tapir_findings *list, size_t idx)
{
	const struct tapir_finding *row = &list->rows.data[idx], *worse = list->rows.data;

	for (; row->pid && worse < row; worse++)
		if (worse->pid == row->pid || is_alike(worse, row))
			return true;
	return false;
}

static size_t count_alike(const struct tapir_findings *list, size_t idx)
{
	const struct tapir_finding *row = &list->rows.data[idx];
	size_t cnt = 0;

	for (size_t i = idx + 1; row->pid && i < list->rows.cnt; i++)
		cnt += list->rows.data[i].pid != row->pid && is_alike(row, &list->rows.data[i]);
	return cnt;
}

static void write_findings(const struct writer *w)
{
	const struct tapir_findings *list = w->v->findings;
	bool has_any = w->v->summary->processes.cnt > 0;
	size_t max = w->v->is_machine ? PROCESSES_SHOWN : FINDINGS_SHOWN, cnt = 0;

	for (size_t i = 0; i < list->rows.cnt && cnt < max; i++)
		if (!is_skipped(list, i))
			write_finding(w, &list->rows.data[i], cnt++, count_alike(list, i));
	if (!list->rows.cnt && !tapir_captured__sum(w->v->summary->captured))
		tapir_str__adds(w->out, "no event and no sample\n");
	else if (!list->rows.cnt && has_any)
		tapir_str__adds(w->out, "nothing stands out\n");
}

/* Writes the first ways to get better answers. */
static void write_remedies(const struct writer *w)
{
	struct tapir_str lines = {};
	unsigned cnt = 0;

	tapir_remedies__add_callers(&w->v->summary->ends, &lines);
	tapir_report__add_names_missing(w->v, &lines);
	w->out->failed |= lines.failed;
	for (char *line = lines.data, *end; line && *line && cnt < REMEDIES_SHOWN; line = end + 1) {
		end = line + strcspn(line, "\n");
		if (!*end)
			break;
		*end = 0;
		add_wrapped(w, line, 2, REMEDY_LINES);
		cnt++;
	}
	tapir_str__fini(&lines);
}

/* ---- the largest figures -------------------------------------------------------------------- */

/* "GET /tax/{n}  41/s, p50 5.80 ms, p99 6.00 ms"; few have no percentiles. */
static void add_request(const struct tapir_overview_request *row, struct tapir_str *out)
{
	char p50[TAPIR_NS_TEXT_BYTES], p99[TAPIR_NS_TEXT_BYTES];

	tapir_report__add_printable(out, row->name ? row->name : "");
	if (row->cnt < FEW_REQUESTS) {
		tapir_str__addf(out, "  %" PRIu64 " request%s, at most %s", row->cnt,
				row->cnt == 1 ? "" : "s", tapir_ns__text(row->p99_ns, p99));
		return;
	}
	tapir_str__addf(out, row->per_second < 10 ? "  %.1f/s" : "  %.0f/s", row->per_second);
	tapir_str__addf(out, ", p50 %s, p99 %s", tapir_ns__text(row->p50_ns, p50),
			tapir_ns__text(row->p99_ns, p99));
}

/* The requests with most of the time have a second line: what they wait for. */
static void write_requests(const struct writer *w)
{
	const struct tapir_overview *o = w->v->overview;
	struct tapir_str text = {};
	size_t line = 0;

	for (size_t i = 0; i < o->request_cnt && line < ROWS_SHOWN; i++) {
		const struct tapir_overview_request *row = &o->requests[i];

		begin_row(w, "Requests", line++);
		add_request(row, &text);
		if (i && row->spent) {
			tapir_str__adds(&text, ", ");
			tapir_report__add_printable(&text, row->spent);
		}
		end_row(w, &text);
		if (i || !row->spent)
			continue;
		begin_row(w, "Requests", line++);
		tapir_str__adds(&text, "  ");
		tapir_report__add_printable(&text, row->spent);
		end_row(w, &text);
	}
	tapir_str__fini(&text);
}

static void write_functions(const struct writer *w)
{
	const struct tapir_overview *o = w->v->overview;
	struct tapir_str text = {};
	size_t row = 0;

	if (o->looked_at) {
		begin_row(w, "CPU", row++);
		tapir_str__adds(&text, o->looked_at);
		end_row(w, &text);
	}
	for (size_t i = 0; i < o->function_cnt && row < ROWS_SHOWN; i++) {
		begin_row(w, "CPU", row++);
		tapir_str__addf(&text, "%3.0f%%  %s", o->functions[i].percent,
				o->functions[i].name);
		end_row(w, &text);
	}
	if (o->sample_cnt && !row) {
		begin_row(w, "CPU", 0);
		tapir_human__add_count(&text, o->sample_cnt);
		tapir_str__addf(&text, " sample%s: %s", o->sample_cnt == 1 ? "" : "s",
				o->has_shares ? "less than 1% in any function"
					      : "too few for shares of functions");
		end_row(w, &text);
	}
	tapir_str__fini(&text);
}

/* "151.203 s  socket in Shop.Ask(), ended by another process" */
static void write_sites(const struct writer *w)
{
	const struct tapir_overview *o = w->v->overview;
	struct tapir_str text = {};

	for (size_t i = 0; i < o->site_cnt; i++) {
		const struct tapir_overview_site *site = &o->sites[i];
		char ns[TAPIR_NS_TEXT_BYTES];

		begin_row(w, "Waits", i);
		tapir_str__addf(&text, "%9s  %s", tapir_ns__text(site->ns, ns),
				site->reason ? site->reason : "unknown");
		if (site->name)
			tapir_str__addf(&text, " in %s", site->name);
		else if (site->thread)
			tapir_str__addf(&text, " of %s", site->thread);
		if (site->is_open)
			tapir_str__adds(&text, ", not ended");
		else if (site->ended_by)
			tapir_str__addf(&text, ", ended by %s", site->ended_by);
		end_row(w, &text);
	}
	tapir_str__fini(&text);
}

/* "303.35 ms  10 × asker: child > locker: file lock > keeper: sleep" */
static void write_chains(const struct writer *w)
{
	const struct tapir_overview *o = w->v->overview;
	struct tapir_str text = {};
	char ns[TAPIR_NS_TEXT_BYTES];

	for (size_t i = 0; i < o->chain_cnt; i++) {
		begin_row(w, "Chains", i);
		tapir_str__addf(&text, "%9s  %" PRIu64 " \u00d7 ",
				tapir_ns__text(o->chains[i].ns, ns), o->chains[i].cnt);
		tapir_report__add_printable(&text, o->chains[i].text);
		end_row(w, &text);
	}
	tapir_str__fini(&text);
}

/* "127.0.0.1:5791 (rates 4711)  113 × 300.1 ms, 8 threads wait in ask_rates" */
static void write_calls(const struct writer *w)
{
	const struct tapir_overview *o = w->v->overview;
	struct tapir_str text = {};

	for (size_t i = 0; i < o->call_cnt; i++) {
		const struct tapir_overview_call *call = &o->calls[i];
		char each[TAPIR_NS_TEXT_BYTES];

		begin_row(w, "Calls", i);
		tapir_str__addf(&text, "%s  ", call->peer ? call->peer : "");
		if (call->timed_cnt)
			tapir_str__addf(&text, "%" PRIu64 " \u00d7 %s", call->timed_cnt,
					tapir_ns__text(call->sum_ns / call->timed_cnt, each));
		else if (call->unanswered_cnt)
			tapir_str__addf(
				&text, "%" PRIu64 " without an answer for %s", call->unanswered_cnt,
				tapir_ns__text(call->unanswered_ns / call->unanswered_cnt, each));
		else
			tapir_str__addf(&text, "%" PRIu64 " calls, times not known", call->cnt);
		if (call->waiters)
			tapir_str__addf(&text, ", %s", call->waiters);
		else if (call->timed_cnt && o->span_ns)
			tapir_str__addf(&text, ", %.1f at a time",
					(double)call->sum_ns / (double)o->span_ns);
		end_row(w, &text);
	}
	tapir_str__fini(&text);
}

/* "72% of 41.0 MB/s: java (4711) writes /srv/db/t1" */
static void write_io(const struct writer *w)
{
	const struct tapir_overview *o = w->v->overview;
	size_t max = w->v->is_machine ? MACHINE_DISKS : TAPIR_OVERVIEW_ROWS;
	uint64_t all = o->io_read_bytes + o->io_written_bytes;
	double mb = o->span_ns ? (double)all * 1e3 / (double)o->span_ns : 0;
	struct tapir_str text = {};

	for (size_t i = 0; i < o->io_cnt && i < max; i++) {
		const struct tapir_overview_io *io = &o->ios[i];
		uint64_t bytes = io->read_bytes + io->written_bytes;

		/* A line of the first screen is for at least a twentieth of the traffic. */
		if (i && tapir_report__percent(bytes, all) < 5)
			break;
		begin_row(w, "Disk", i);
		tapir_str__addf(&text, "%3.0f%% ", tapir_report__percent(bytes, all));
		if (!i)
			tapir_str__addf(&text, "of %.1f MB/s: ", mb);
		tapir_report__add_printable(&text, io->requester);
		if (io->pid)
			tapir_str__addf(&text, " (%u)", io->pid);
		tapir_str__adds(&text,
				io->written_bytes >= io->read_bytes ? " writes " : " reads ");
		tapir_report__add_printable(&text, io->file);
		end_row(w, &text);
	}
	tapir_str__fini(&text);
}

/* "98% of 1,234 failed calls a second: bash (12) openat ENOENT", where a call in twenty fails. */
static void write_failed_calls(const struct writer *w)
{
	const struct tapir_overview *o = w->v->overview;
	double a_second = o->span_ns ? (double)o->syscalls_failed * 1e9 / (double)o->span_ns : 0;
	struct tapir_str text = {};

	if (o->syscalls_failed < FAILED_CALLS_MIN ||
	    tapir_report__percent(o->syscalls_failed, o->syscalls_made) < FAILED_CALLS_PERCENT)
		return;
	for (size_t i = 0; i < o->failed_call_cnt; i++) {
		const struct tapir_failed_call *call = &o->failed_calls[i];
		const char *error = tapir_system_call__error_name(call->err);
		char name[TAPIR_SYSTEM_CALL_TEXT_BYTES];

		if (i && tapir_report__percent(call->cnt, o->syscalls_failed) < 5)
			break;
		begin_row(w, "Failed", i);
		tapir_str__addf(&text, "%3.0f%% ",
				tapir_report__percent(call->cnt, o->syscalls_failed));
		if (!i) {
			tapir_str__adds(&text, "of ");
			tapir_human__add_count(&text, (uint64_t)a_second);
			tapir_str__adds(&text, " failed calls a second: ");
		}
		tapir_report__add_printable(&text, *call->comm ? call->comm : "?");
		tapir_str__addf(&text, " (%u) %s ", call->pid,
				tapir_system_call__text(call->nr, name));
		if (error)
			tapir_str__adds(&text, error);
		else
			tapir_str__addf(&text, "error %u", call->err);
		end_row(w, &text);
	}
	tapir_str__fini(&text);
}

/* "48 GCs; 1,204 exceptions", "1,234 events, 78% of them shop:sold" */
static void write_events(const struct writer *w)
{
	struct tapir_str text = {};

	tapir_report__add_events(w->v, &text);
	if (text.len) {
		begin_row(w, "Events", 0);
		end_row(w, &text);
	}
	tapir_str__fini(&text);
}

static void write_program(const struct writer *w, const struct tapir_report_program *program,
			  struct tapir_str *text)
{
	uint64_t samples = w->v->summary->captured[TAPIR_FAMILY_SAMPLE];

	if (w->v->programs->cpu_ns) {
		tapir_str__addf(text, "%.2f CPUs  ", cpus_in(w->v, program->cpu_ns));
	} else if (samples && w->v->cpus >= 0) {
		tapir_str__addf(text, "%.2f CPUs  ", cpus_of(w->v, program->samples));
	} else if (samples) {
		tapir_str__addf(text, "%3.0f%% of the samples  ",
				tapir_report__percent(program->samples, samples));
	} else {
		tapir_human__add_count(text, program->records);
		tapir_str__adds(text, " records  ");
	}
	add_processes(program, text);
}

/* Returns true if it used less than 1% of the CPU time, as far as that is known. */
static bool is_little(const struct writer *w, const struct tapir_report_program *program)
{
	uint64_t samples = w->v->summary->captured[TAPIR_FAMILY_SAMPLE];

	if (w->v->programs->cpu_ns)
		return tapir_report__percent(program->cpu_ns, w->v->programs->cpu_ns) < 1;
	return samples && tapir_report__percent(program->samples, samples) < 1;
}

/* Writes which processes used the CPUs, if there are several. */
static void write_programs(const struct writer *w)
{
	const struct tapir_report_programs *programs = w->v->programs;
	size_t max = w->v->is_machine ? MACHINE_ROWS : ROWS_SHOWN;
	struct tapir_str text = {};

	if (programs->rows.cnt == 1 && programs->rows.data->cnt == 1)
		return; /* the head names it */
	for (size_t i = 0; i < programs->rows.cnt && i < max; i++) {
		const struct tapir_report_program *row = &programs->rows.data[i];

		if (i && is_little(w, row))
			break;
		begin_row(w, "Processes", i);
		write_program(w, row, &text);
		end_row(w, &text);
	}
	tapir_str__fini(&text);
}

/* "1.91 of 2: java (4711) 0.70, make (812) 0.38, bash (813) 0.37" */
static void write_machine_cpus(const struct writer *w)
{
	const struct tapir_report_programs *programs = w->v->programs;
	const char *cpus = tapir_summary__meta(w->v->summary, "cpus");
	struct tapir_str text = {};

	tapir_str__addf(&text, "%.2f of ", cpus_in(w->v, programs->cpu_ns));
	tapir_report__add_printable(&text, cpus ? cpus : "?");
	for (size_t i = 0; i < programs->rows.cnt && i < ROWS_SHOWN; i++) {
		tapir_str__adds(&text, i ? ", " : ": ");
		add_processes(&programs->rows.data[i], &text);
		tapir_str__addf(&text, " %.2f", cpus_in(w->v, programs->rows.data[i].cpu_ns));
	}
	begin_row(w, "CPUs", 0);
	end_row(w, &text);
	tapir_str__fini(&text);
}

/* "worker (4711) ended 3.210 s of others' waits for a mutex" */
static void write_lock_owner(const struct writer *w)
{
	const struct tapir_lock_owner *owner = &w->v->programs->owner;
	char ns[TAPIR_NS_TEXT_BYTES];
	struct tapir_str text = {};

	if (!owner->ns)
		return;
	tapir_report__add_printable(&text, *owner->comm ? owner->comm : "a thread");
	tapir_str__addf(&text, " (%u) ended %s of others' waits for a %s", owner->tid,
			tapir_ns__text(owner->ns, ns), owner->reason);
	begin_row(w, "Locks", 0);
	end_row(w, &text);
	tapir_str__fini(&text);
}

/* Writes what all processes together used, before what each of them does. */
static void write_machine(const struct writer *w)
{
	if (w->v->programs->cpu_ns)
		write_machine_cpus(w);
	write_io(w);
	write_lock_owner(w);
	write_chains(w);
	write_failed_calls(w);
	tapir_str__addc(w->out, '\n');
}

/* A sentence as wide as a large terminal is hard to read. */
static size_t readable(size_t columns)
{
	if (!columns || columns > TAPIR_FIRST_SCREEN_COLUMNS)
		return TAPIR_FIRST_SCREEN_COLUMNS;
	return columns < 4 * LABEL_COLUMNS ? 4 * LABEL_COLUMNS : columns;
}

void tapir_report__write_first_screen(const struct tapir_report_view *v,
				      const struct tapir_palette *p, size_t columns,
				      struct tapir_str *out)
{
	const struct writer w = {.v = v, .p = p, .columns = readable(columns), .out = out};

	write_head(&w);
	tapir_report__write_completeness(v, p, out);
	tapir_str__addc(out, '\n');
	if (v->is_machine)
		write_machine(&w);
	write_findings(&w);
	write_remedies(&w);
	tapir_str__addc(out, '\n');
	write_programs(&w);
	if (!v->is_machine) { /* places in different programs have nothing to do with one another */
		write_requests(&w);
		write_calls(&w);
		write_functions(&w);
		write_sites(&w);
		write_chains(&w);
		write_io(&w);
		write_failed_calls(&w);
	}
	write_events(&w);
	if (tapir_reader_words__are_parameters())
		return;
	tapir_str__adds(out, "more: ");
	add_command(&w);
	tapir_str__adds(out, " --all\n");
}
