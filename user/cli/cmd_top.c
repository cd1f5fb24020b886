// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir top: what processes and threads use now. A recording without a file: its samples become
 * rows on the session thread; a thread of this file reads what the kernel counts, draws, and reads
 * keys. Both hold the lock while they use the rows.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/proc_usage.h"
#include "attach/programs.h"
#include "attach/thread_use.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "base/order.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "cli/top_screen.h"
#include "cli/top_table.h"
#include "output/render/screen.h"
#include "record/request.h"

#define MAX_LOOKS      4u  /* in an interval, for waits */
#define LOOKS_SHARE    250 /* of the time they may take: one part in so many */
#define ALL_SAMPLES    200 /* a second, of all CPUs */
#define MIN_HZ	       5u
#define MAX_HZ	       49u
#define KEPT_SAMPLES   0.5	     /* of those before, after each interval on the screen */
#define STACKS_NS      (5000000000u) /* so far back go the stacks that are shown */
#define MAX_STACKS     8u
#define SHOWN_FRAMES   6u
#define RECORD_SECONDS "10"

struct args {
	struct tapir_pids pids;
	uint64_t interval_ns;
	uint64_t top;
	bool once, json, threads;
	const char *where;
};

static const struct args defaults = {.interval_ns = TAPIR_NS_PER_SEC, .top = 20};

static const struct tapir_option options[] = {
	TAPIR_PIDS("pid", 'p', "PID", "only this process; repeatable, or PID,PID", struct args,
		   pids),
	TAPIR_DURATION("interval", 0, "TIME", "how long each interval is (default: 1)", struct args,
		       interval_ns, 100 * TAPIR_NS_PER_MS, 3600 * TAPIR_NS_PER_SEC),
	TAPIR_FLAG("once", 0, "print one interval and exit; also where there is no terminal",
		   struct args, once),
	TAPIR_STRING("where", 0, "EXPR", "only rows for which it is true: cpu > 50 && gc > 5",
		     struct args, where),
	TAPIR_FLAG("threads", 0, "a row for each thread", struct args, threads),
	TAPIR_TOP("show N rows, 0: all (default: 20)", struct args, top),
	TAPIR_FLAG("json", 0, "one JSON object per interval", struct args, json),
	{}};

struct top {
	const struct args *args;
	bool has_screen;
	struct tapir_programs *programs;
	pthread_t thread;
	bool has_thread;
	int end_fd, stop_fd;  /* the recording is to end; this thread is to end */
	pthread_mutex_t lock; /* of the next ones */
	struct tapir_top_rows rows;
	struct tapir_timeline *tl;
	struct tapir_pairs pairs;
	struct tapir_works works;
	/* the thread's */
	struct tapir_top_screen screen;
	struct tapir_top_view view;
	struct tapir_top_filter filter;
	struct tapir_str out;
	uint64_t machine_ns, reading_ns, next_reading_ns, ends_ns;
	pid_t recorder; /* that S has started; 0: none */
	char recording[64];
	int err;
};

/* ---- session thread --------------------------------------------------------------------------- */

static void top_on_sample(void *ctx, struct tapir_tl_thread *thread,
			  const struct tapir_rec_sample *rec)
{
	struct top *t = ctx;
	struct tapir_top_sample sample = {.tgid = rec->tgid,
					  .tid = rec->tid,
					  .node = thread->last_node,
					  .time_ns = rec->h.time_ns};
	enum tapir_work work =
		tapir_works__of(&t->works, t->tl, thread, sample.node, sample.time_ns);

	tapir_top_rows__sample(&t->rows, &sample, work);
}

static const struct tapir_timeline_fns listener = {.sample = top_on_sample};

static int begin_timeline(struct top *t, const struct tapir_catalog *catalog)
{
	const struct tapir_timeline_opts opts = {.wants_stacks = true};

	if (t->tl)
		return 0;
	t->tl = tapir_timeline__new(catalog, &t->pairs, &opts);
	return t->tl ? tapir_timeline__listen(t->tl, &listener, t) : -ENOMEM;
}

static int top_on_record(void *ctx, const struct tapir_catalog *catalog,
			 const struct tapir_rec *rec)
{
	struct tapir_counter_view counter;
	struct top *t = ctx;
	int err;

	pthread_mutex_lock(&t->lock);
	err = begin_timeline(t, catalog);
	if (!err && rec->type == TAPIR_REC_COUNTER) {
		tapir_counter_view__of(rec, &counter);
		tapir_top_rows__counter(&t->rows, &counter);
	} else if (!err) {
		err = tapir_timeline__add(t->tl, rec);
	}
	pthread_mutex_unlock(&t->lock);
	return err;
}

static int on_flush(void *ctx, enum tapir_session_flush when)
{
	struct top *t = ctx;
	int err = 0;

	if (when != TAPIR_FLUSH_LAST || !t->tl)
		return 0;
	pthread_mutex_lock(&t->lock);
	err = tapir_timeline__finish(t->tl);
	pthread_mutex_unlock(&t->lock);
	return err;
}

/* ---- what is written -------------------------------------------------------------------------- */

static int fill_view(struct top *t, size_t width)
{
	bool of_threads = t->has_screen ? t->screen.is_of_threads : t->args->threads;

	return tapir_top_view__fill(&t->view, &t->rows, of_threads, &t->filter, width);
}

static int write_top_table(struct top *t)
{
	const struct tapir_palette *palette = tapir_screen__palette(stdout);
	uint64_t top = t->args->top;

	tapir_top_view__add_head(&t->view, &t->out);
	tapir_str__addf(&t->out, "\n%s", palette->bold);
	tapir_top_view__add_titles(&t->view, &t->out);
	tapir_str__addf(&t->out, "%s\n", palette->off);
	for (size_t i = 0; i < t->view.chosen.cnt && i < top; i++) {
		tapir_top_view__add_row(&t->view, t->view.chosen.data[i], &t->out);
		tapir_str__addc(&t->out, '\n');
	}
	if (t->view.chosen.cnt > top)
		tapir_str__addf(&t->out, "... and %zu more (--top 0)\n",
				(size_t)(t->view.chosen.cnt - top));
	return tapir_terminal__flush(&t->out);
}

/* Prints the interval that ended last. */
static int print_interval(struct top *t)
{
	int err = fill_view(t, t->args->json ? 0 : tapir_screen__fit_columns());

	if (err)
		return err;
	if (!t->args->json)
		return write_top_table(t);
	tapir_top_view__add_json(&t->view, t->args->top, &t->out);
	return tapir_terminal__flush(&t->out);
}

/* ---- stacks of the marked row ----------------------------------------------------------------- */

struct stack {
	uint32_t node, cnt;
};

static int by_cnt(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;

	return tapir_order__down(x->cnt, y->cnt) ?: tapir_order__up(x->node, y->node);
}

static void add_top_stack(const struct top *t, const struct stack *stack, uint32_t all,
			  struct tapir_str *out)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(t->tl);
	struct tapir_str label = {};
	uint32_t node = stack->node;

	for (unsigned i = 0; i < SHOWN_FRAMES && node && node < tree->nodes.cnt; i++) {
		tapir_str__clear(&label);
		tapir_stack_tree__add_label(&label, tree, node);
		if (i)
			tapir_str__adds(out, "          ");
		else
			tapir_str__addf(out, "%7.1f%%  ", 100.0 * stack->cnt / all);
		tapir_str__add_printable(out, label.data ? label.data : "", label.len);
		tapir_str__addc(out, '\n');
		node = tree->nodes.data[node].parent;
	}
	tapir_str__fini(&label);
}

/* Counts samples of the last seconds by their stacks. */
static uint32_t count_stacks(const struct top *t, const struct tapir_top_row *row,
			     struct tapir_map *by_node)
{
	uint64_t from_ns = tapir_clock__now_ns() - STACKS_NS, cnt = t->rows.sample_cnt;
	uint32_t all = 0;

	for (uint64_t i = cnt > TAPIR_TOP_MAX_SAMPLES ? cnt - TAPIR_TOP_MAX_SAMPLES : 0; i < cnt;
	     i++) {
		const struct tapir_top_sample *s = &t->rows.recent[i % TAPIR_TOP_MAX_SAMPLES];
		uint64_t *times;

		if (s->time_ns < from_ns || s->tgid != row->tgid ||
		    (row->tid && s->tid != row->tid))
			continue;
		times = s->node == TAPIR_NO_NODE ? NULL : tapir_map__put(by_node, s->node, NULL);
		all++;
		if (times)
			++*times;
	}
	return all;
}

static void add_stacks(const struct top *t, const struct tapir_top_row *row, struct tapir_str *out)
{
	struct tapir_vec(struct stack) stacks = {};
	struct tapir_map by_node = {};
	uint32_t all = t->tl ? count_stacks(t, row, &by_node) : 0;

	for (size_t i = 0; i < by_node.cap; i++) {
		const struct tapir_map_slot *slot = &by_node.slots[i];
		struct stack stack = {(uint32_t)slot->key, (uint32_t)slot->value};

		if (slot->used && !tapir_vec__push(&stacks, stack))
			break;
	}
	if (stacks.cnt)
		qsort(stacks.data, stacks.cnt, sizeof(*stacks.data), by_cnt);
	else
		tapir_str__adds(out, "  no stack was sampled in the last 5 s\n");
	for (size_t i = 0; i < stacks.cnt && i < MAX_STACKS; i++)
		add_top_stack(t, &stacks.data[i], all, out);
	tapir_vec__fini(&stacks);
	tapir_map__fini(&by_node);
}

/* A text is an expression only when it has been typed whole; until then its mistake is shown. */
static int take_filter(struct top *t)
{
	int mark = tapir_diag__cnt();
	int err = tapir_top_filter__set(&t->filter, NULL, t->screen.filter);

	t->screen.mistake[0] = '\0';
	if (err == -EINVAL)
		snprintf(t->screen.mistake, sizeof(t->screen.mistake), "%s",
			 tapir_diag__line(mark));
	tapir_diag__rewind(mark);
	return err == -EINVAL ? 0 : err;
}

static int draw_screen(struct top *t)
{
	const struct tapir_top_row *row;
	struct tapir_str stacks = {};
	int err;

	tapir_top_screen__measure(&t->screen);
	pthread_mutex_lock(&t->lock);
	err = take_filter(t);
	if (!err)
		err = fill_view(t, t->screen.columns);
	row = err ? NULL : tapir_top_screen__marked(&t->screen, &t->view);
	if (row && tapir_top_screen__stack_lines(&t->screen))
		add_stacks(t, row, &stacks);
	if (!err)
		tapir_top_screen__draw(&t->screen, &t->view, stacks.data ? stacks.data : "",
				       &t->out);
	pthread_mutex_unlock(&t->lock);
	tapir_str__fini(&stacks);
	return err ? err : tapir_terminal__flush(&t->out);
}

/* ---- a recording of the marked row ------------------------------------------------------------ */

static void show_recording_state(struct top *t, const char *state)
{
	snprintf(t->screen.message, sizeof(t->screen.message), "%s %s", state, t->recording);
}

/* In a group of its own: Ctrl-C ends this program alone. */
static int spawn_recorder(struct top *t, const char *pid)
{
	char *const argv[] = {"tapir", "record",       "-q", "-p",	   (char *)pid,
			      "-d",    RECORD_SECONDS, "-o", t->recording, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none;
	int err;

	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_init(&files);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	err = posix_spawn(&t->recorder, "/proc/self/exe", &files, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	if (err)
		t->recorder = 0;
	return err;
}

static void start_recorder(struct top *t)
{
	struct timespec now;
	char pid[16];

	if (t->recorder) {
		show_recording_state(t, "still recording to");
		return;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(pid, sizeof(pid), "%u", t->screen.chosen_tgid);
	snprintf(t->recording, sizeof(t->recording), "tapir-%s-%lld.tapir", pid,
		 (long long)now.tv_sec);
	show_recording_state(t, spawn_recorder(t, pid) ? "cannot start a recording to"
						       : "recording " RECORD_SECONDS " s to");
}

static void check_recorder(struct top *t)
{
	int status;

	if (!t->recorder || waitpid(t->recorder, &status, WNOHANG) != t->recorder)
		return;
	t->recorder = 0;
	show_recording_state(t, WIFEXITED(status) && !WEXITSTATUS(status)
					? "recorded: tapir report"
					: "the recording failed:");
}

/* ---- looks ------------------------------------------------------------------------------------ */

static int on_thread_use(void *ctx, const struct tapir_thread_use *use)
{
	return tapir_top_rows__see(ctx, use);
}

static int read_thread_uses(struct top *t)
{
	uint64_t from_ns = tapir_clock__now_ns();
	int err;

	pthread_mutex_lock(&t->lock);
	tapir_top_rows__begin_look(&t->rows);
	err = tapir_thread_uses__read(t->programs, on_thread_use, &t->rows);
	tapir_top_rows__end_look(&t->rows);
	pthread_mutex_unlock(&t->lock);
	t->reading_ns = tapir_clock__now_ns() - from_ns;
	return err ? tapir_diag__fail(err, "cannot read what threads use: %s",
				      tapir_errno__text(err))
		   : 0;
}

/* There are as many looks in an interval as the share of the time permits. */
static void plan_reading(struct top *t, uint64_t now_ns)
{
	uint64_t affordable = t->args->interval_ns / LOOKS_SHARE / (t->reading_ns + 1);
	uint64_t looks = affordable < 1 ? 1 : affordable > MAX_LOOKS ? MAX_LOOKS : affordable;

	t->next_reading_ns = now_ns + t->args->interval_ns / looks;
	if (t->next_reading_ns + t->args->interval_ns / (2 * MAX_LOOKS) > t->ends_ns)
		t->next_reading_ns = t->ends_ns;
}

static void begin_interval(struct top *t)
{
	uint64_t now_ns = tapir_clock__now_ns();

	t->ends_ns = now_ns + t->args->interval_ns;
	(void)tapir_proc_usage__read_machine(&t->machine_ns);
	plan_reading(t, now_ns);
}

static void read_machine(struct top *t)
{
	uint64_t before_ns = t->machine_ns;

	t->view.machine = -1;
	t->view.cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
	if (!tapir_proc_usage__read_machine(&t->machine_ns) && t->machine_ns >= before_ns)
		t->view.machine = (double)(t->machine_ns - before_ns) /
				  (double)tapir_top_rows__interval_ns(&t->rows);
}

/* 1: that was the only one. */
static int end_interval(struct top *t)
{
	uint64_t now_ns = tapir_clock__now_ns();
	int err = 0;

	pthread_mutex_lock(&t->lock);
	tapir_top_rows__end_interval(&t->rows, now_ns);
	read_machine(t);
	if (t->args->once)
		t->rows.ends_ns = now_ns; /* later samples are of none, earlier ones are to come */
	else
		tapir_top_rows__take_samples(&t->rows, t->has_screen ? KEPT_SAMPLES : 0);
	if (!t->args->once && !t->has_screen)
		err = print_interval(t);
	pthread_mutex_unlock(&t->lock);
	if (err || t->args->once)
		return err ? err : 1;
	check_recorder(t);
	begin_interval(t);
	return t->has_screen ? draw_screen(t) : 0;
}

static int read_if_due(struct top *t)
{
	uint64_t now_ns = tapir_clock__now_ns();
	int err;

	if (now_ns < t->next_reading_ns)
		return 0;
	err = read_thread_uses(t);
	if (err)
		return err;
	if (now_ns >= t->ends_ns)
		return end_interval(t);
	plan_reading(t, now_ns);
	return 0;
}

/* ---- this thread ------------------------------------------------------------------------------ */

/* 1: quit. */
static int take_keys(struct top *t)
{
	char keys[64];
	ssize_t cnt = read(STDIN_FILENO, keys, sizeof(keys));

	if (!cnt || (cnt < 0 && errno != EAGAIN && errno != EINTR)) /* the terminal is gone */
		return 1;
	for (ssize_t i = 0; i < cnt; i++) {
		enum tapir_top_action action = tapir_top_screen__key(&t->screen, keys[i], &t->view);

		if (action == TAPIR_TOP_QUIT)
			return 1;
		if (action == TAPIR_TOP_RECORD && t->view.chosen.cnt)
			start_recorder(t);
	}
	return draw_screen(t);
}

/*
 * The time to wait is rounded up: else poll(2) would return just before the reading is due, and the
 * loop would spin for the rest of the millisecond.
 */
static int watch_keys_and_time(struct top *t, int resize_fd)
{
	struct pollfd fds[] = {{.fd = t->stop_fd, .events = POLLIN},
			       {.fd = t->has_screen ? STDIN_FILENO : -1, .events = POLLIN},
			       {.fd = resize_fd, .events = POLLIN}};
	struct signalfd_siginfo ignored;
	int err = 0;

	while (!err) {
		uint64_t now_ns = tapir_clock__now_ns();
		uint64_t left_ns = t->next_reading_ns > now_ns ? t->next_reading_ns - now_ns : 0;

		if (poll(fds, 3, (int)((left_ns + TAPIR_NS_PER_MS - 1) / TAPIR_NS_PER_MS)) < 0)
			continue;
		if (fds[0].revents)
			return 0;
		if (fds[2].revents && read(resize_fd, &ignored, sizeof(ignored)) > 0)
			err = draw_screen(t);
		if (!err && fds[1].revents)
			err = take_keys(t);
		if (!err)
			err = read_if_due(t);
	}
	return err;
}

static void *run_thread(void *ctx)
{
	struct top *t = ctx;
	tapir_autofd int resize_fd = -1;
	uint64_t one = 1;
	sigset_t resize;
	int err = read_thread_uses(t);

	if (!err) {
		tapir_top_rows__begin(&t->rows, tapir_clock__now_ns());
		begin_interval(t);
		sigemptyset(&resize);
		sigaddset(&resize, SIGWINCH);
		if (t->has_screen)
			resize_fd = signalfd(-1, &resize, SFD_CLOEXEC | SFD_NONBLOCK);
		err = watch_keys_and_time(t, resize_fd);
	}
	t->err = err < 0 ? err : 0;
	if (write(t->end_fd, &one, sizeof(one)) < 0)
		t->err = -errno;
	return tapir_diag__take();
}

/* ---- control thread --------------------------------------------------------------------------- */

static void on_programs(void *ctx, struct tapir_programs *programs)
{
	struct top *t = ctx;

	t->programs = programs;
}

static void on_ready(void *ctx, const struct tapir_recording_ready *ready)
{
	struct top *t = ctx;

	(void)ready;
	t->has_thread = !pthread_create(&t->thread, NULL, run_thread, t);
	if (!t->has_thread)
		t->err = -EAGAIN;
}

/* Before the programs go. */
static void on_stopping(void *ctx)
{
	struct top *t = ctx;
	uint64_t one = 1;
	void *diag;

	if (!t->has_thread)
		return;
	t->has_thread = false;
	if (write(t->stop_fd, &one, sizeof(one)) < 0)
		t->err = -errno;
	pthread_join(t->thread, &diag);
	tapir_diag__give(diag);
}

static void top_on_progress(void *ctx, const struct tapir_recording_progress *progress)
{
	(void)ctx;
	(void)progress;
}

static unsigned sampling_hz(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned hz = ALL_SAMPLES / (cpus > 0 ? (unsigned)cpus : 1);

	return hz < MIN_HZ ? MIN_HZ : hz > MAX_HZ ? MAX_HZ : hz;
}

/* Some values are to come in the first interval, which may be the only one. */
static uint64_t counter_interval_ns(uint64_t interval_ns)
{
	uint64_t half_ns = interval_ns / 2;

	return half_ns < TAPIR_COUNTER_MIN_NS ? TAPIR_COUNTER_MIN_NS
	       : half_ns > TAPIR_NS_PER_SEC   ? TAPIR_NS_PER_SEC
					      : half_ns;
}

static int record_samples(struct top *t)
{
	static const char *const counters[] = {"System.Runtime/alloc-rate",
					       "System.Runtime/exception-count",
					       "System.Runtime/total-pause-time-by-gc"};
	struct tapir_request request = {
		.sz = sizeof(request),
		.rules = {.pids = t->args->pids, .all = !t->args->pids.cnt},
		.has_no_default = true,
		.has_counters = true,
		.counters = {.data = (const char **)counters, .cnt = 3, .cap = 3},
		.interval_ns = counter_interval_ns(t->args->interval_ns),
		/*
		 * Counters come by the runtime's own stream, so that no library is loaded into any
		 * process.
		 */
		.lane = "stream",
		.sample_hz = sampling_hz(),
		.no_sched = true,
		.no_command_lines = true,
	};
	struct tapir_recording_plan plan = {};
	struct tapir_recording_result result = {};
	int err = tapir_request__plan(&request, &plan);

	if (!err) {
		plan.opts.command_line = "tapir top";
		plan.opts.jvm_counters = true;
		plan.counters.are_optional = true;
		plan.opts.specs_are_defaults = true;
		plan.opts.with_uses = true;
		plan.opts.has_end_fd = true;
		plan.opts.end_fd = t->end_fd;
		plan.opts.on_record = top_on_record;
		plan.opts.on_flush = on_flush;
		plan.opts.on_programs = on_programs;
		plan.opts.on_ready = on_ready;
		plan.opts.on_stopping = on_stopping;
		plan.opts.on_progress = top_on_progress;
		plan.opts.ctx = t;
		err = tapir_recording__run(&plan.opts, &result);
	}
	tapir_recording_plan__fini(&plan);
	return err ? err : t->err;
}

/* ---- the command ------------------------------------------------------------------------------ */

static void open_screen(struct top *t)
{
	sigset_t resize;

	sigemptyset(&resize);
	sigaddset(&resize, SIGWINCH);
	pthread_sigmask(SIG_BLOCK, &resize, NULL);
	tapir_log__set(NULL, TAPIR_LOG_WARN);
	t->screen.is_of_threads = t->args->threads;
	tapir_top_screen__open(&t->screen);
	tapir_str__addf(&t->out, "tapir top: starting, sampling each CPU %u times per second\r\n",
			sampling_hz());
	(void)tapir_terminal__flush(&t->out);
}

static int run_top(struct top *t, struct tapir_cli *cli)
{
	int err;

	t->end_fd = eventfd(0, EFD_CLOEXEC);
	t->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (t->end_fd < 0 || t->stop_fd < 0)
		return tapir_diag__fail(-errno, "cannot create an eventfd: %s",
					tapir_errno__text(errno));
	if (t->has_screen)
		open_screen(t);
	err = record_samples(t);
	if (t->has_screen) {
		tapir_top_screen__close(&t->screen);
		tapir_terminal__start_log(cli);
	}
	if (!err && t->args->once && t->rows.until_ns) {
		tapir_top_rows__take_samples(&t->rows, 0);
		err = print_interval(t);
	}
	if (err == -EPIPE) { /* `| head` has seen enough */
		tapir_diag__clear();
		err = 0;
	}
	return err;
}

/* On a screen it is what '/' edits. */
static int set_where(struct top *t)
{
	const char *where = t->args->where;

	if (!where)
		return 0;
	if (strlen(where) >= sizeof(t->screen.filter))
		return tapir_diag__fail(-EINVAL, "--where: more than %zu characters",
					sizeof(t->screen.filter) - 1);
	snprintf(t->screen.filter, sizeof(t->screen.filter), "%s", where);
	return tapir_top_filter__set(&t->filter, "--where", where) ? TAPIR_CLI_USAGE : 0;
}

static int run(struct tapir_cli *cli)
{
	struct args *args = cli->args;
	struct top *t;
	int err;

	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->args = args;
	t->rows.only = args->pids;
	t->end_fd = t->stop_fd = -1;
	t->has_screen = !args->once && !args->json && tapir_top_screen__is_possible();
	/*
	 * Output that is no terminal gets one table and ends; --json is a line for each interval.
	 */
	args->once |= !t->has_screen && !args->json;
	pthread_mutex_init(&t->lock, NULL);
	err = set_where(t);
	if (!err)
		err = run_top(t, cli);
	tapir_timeline__free(t->tl);
	tapir_works__fini(&t->works);
	tapir_pairs__fini(&t->pairs);
	tapir_top_view__fini(&t->view);
	tapir_top_filter__fini(&t->filter);
	tapir_top_rows__fini(&t->rows);
	tapir_str__fini(&t->out);
	tapir_guard__fd(&t->end_fd);
	tapir_guard__fd(&t->stop_fd);
	pthread_mutex_destroy(&t->lock);
	free(t);
	return err;
}

const struct tapir_command tapir_cmd_top = {
	.name = "top",
	.summary = "show what processes and threads use, and for what",
	.synopsis = "[-p PID] [--where EXPR] [--threads] [--interval TIME] [--once] [--top N] "
		    "[--json]",
	.text = "Shows processes by CPU time, each second, on the whole screen. CPU% is the time "
		"that the kernel counts, of one CPU; by samples it is divided into the program's own "
		"code (native, compiled or interpreted), its runtime, garbage collection, the JIT "
		"compiler and the kernel. QUEUE is how many threads waited for a CPU, FUTEX, DISK "
		"and NET how many slept on average: in futex(2), which are locks, conditions and "
		"idle threads of pools; uninterruptibly; in calls of sockets. DISK/s is what was "
		"read from disks and written to them. ALLOC/s, PAUSE% and EXC/s are shown where a "
		"runtime says so: .NET its allocations, exceptions and, since .NET 8, pauses; a JVM "
		"its collections. A column without a value is left out, and others where the "
		"terminal is narrow; --json has all.\n\n"
		"Keys: Up and Down choose a row, Enter shows its hottest stacks of the last five "
		"seconds, '/' filters by a part of the name, by an id or by an expression as --where, "
		"'t' shows threads, 'S' "
		"records the row's process for " RECORD_SECONDS
		" s to a file in this directory, 'q' "
		"quits.\n\n"
		"--where takes 'tapir help where' over the columns, whose numbers are those that are "
		"shown: pid, tid, name, threads, cpu, own, runtime, gc, jit, kernel, queue, futex, "
		"disk, net, alloc, pause, exc, and read and written, in bytes a second. A column without "
		"a value fulfils nothing.\n\n"
		"What threads have used is read from the kernel up to four times per interval; CPUs "
		"are sampled up to 49 times per second, all together about 200 times. Of a process "
		"that ends, what it used after the last such reading is missing. Requires CAP_BPF "
		"and CAP_PERFMON (root).",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.examples =
		(const struct tapir_example[]){
			{"top", "the machine"},
			{"top --once --json | jq '.processes[0].work'",
			 "what the busiest process does with its CPU time"},
			{"top -p 4711 --threads", "one process's threads"},
			{"top --interval 10 --json", "one line every ten seconds"},
			{}},
	.args_bytes = sizeof(struct args),
	.defaults = &defaults,
	.reads_foreign_files = true,
	.run = run,
};
