// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Turns processes into records and probes. BPF decides in the kernel whose hits count; this file
 * keeps the picture of the same processes in user space.
 */
#include "record/targets_impl.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "attach/cgroup.h"
#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "base/str.h"
#include "record/describe.h"

#define SWEEP_MAX 64 /* where no program reports exits; else a few: one in many is not */

int tapir_targets__new(const struct tapir_targets_opts *opts, struct tapir_targets **out)
{
	struct tapir_targets *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->opts = *opts;
	t->looks.rings = opts->rings;
	tapir_mapped_files__init(&t->files);
	tapir_lane_handover__init(&t->handover, opts->images,
				  opts->hands_over ? opts->rings : NULL);
	if (opts->ring_cover)
		t->unopened = (struct tapir_unopened_lanes){.rings = opts->rings,
							    .cover = opts->ring_cover,
							    .fn = tapir_targets__post_unopened,
							    .ctx = t};
	*out = t;
	return 0;
}

void tapir_targets__free(struct tapir_targets *t)
{
	if (!t)
		return;
	tapir_map__fini(&t->live);
	tapir_map__fini(&t->reported);
	tapir_mapped_files__fini(&t->files);
	tapir_map__fini(&t->ended);
	tapir_late_attach__fini(&t->late_attach);
	tapir_ring_scan__fini(&t->looks);
	tapir_second_mappings__fini(&t->seconds);
	tapir_unopened_lanes__fini(&t->unopened);
	tapir_cgroup_paths__fini(&t->cgroups);
	tapir_recbuf__fini(&t->recbuf);
	free(t);
}

/*
 * ---- the traced processes ----------------------------------------------------------------------
 */

static void drop_target(struct tapir_targets *t, uint32_t tgid, uint64_t start_ns)
{
	tapir_map__del(&t->live, tgid);
	tapir_programs__del_tgid(t->opts.programs, tgid, start_ns);
}

static void note_target_ended(struct tapir_targets *t, uint32_t tgid, uint64_t start_ns,
			      uint64_t end_ns)
{
	uint64_t *value = tapir_map__put(&t->ended, tgid, NULL);

	tapir_unopened_lanes__note(&t->unopened,
				   (struct tapir_lane_step){.kind = TAPIR_LANE_STEP_EXIT,
							    .tgid = tgid,
							    .time_ns = end_ns});
	if (value)
		*value = start_ns;
	else /* early is better than never: the recording would not end */
		drop_target(t, tgid, start_ns);
}

/* Ended before, it is another one with the same number. is_new may be NULL. */
static int list_process(struct tapir_targets *t, uint32_t tgid, bool *is_new)
{
	tapir_map__del(&t->ended, tgid);
	t->has_seen_one = true;
	return tapir_map__put(&t->live, tgid, is_new) ? 0 : -ENOMEM;
}

static int see_process(struct tapir_targets *t, const struct tapir_proc *proc)
{
	int err = list_process(t, proc->tgid, NULL);

	if (err)
		return err;
	tapir_targets__post(t, tapir_describe__process(&t->recbuf, proc, t->opts.no_command_lines),
			    -1);
	/* Events that arrive by its ring need no probe. */
	if (t->opts.rings)
		tapir_ring_reader__add(t->opts.rings, proc->tgid);
	if (t->last_poll_ns)
		return tapir_targets__see_joined(t, proc->tgid, t->last_poll_ns);
	return tapir_targets__see_mappings(t, proc->tgid, t->scan_ns, 0);
}

int tapir_targets__add(struct tapir_targets *t, uint32_t tgid)
{
	int err = list_process(t, tgid, NULL);

	return err ? err : tapir_programs__add_tgid(t->opts.programs, tgid);
}

static int add_named(struct tapir_targets *t, uint32_t tgid)
{
	struct tapir_proc proc;
	int err = tapir_proc__read_running(tgid, &proc);

	if (err)
		return err;
	if (proc.is_kernel_thread)
		tapir_warn("process %u (%s) is a kernel thread: it has no events, only samples and "
			   "context switches",
			   tgid, proc.comm);
	/* First the filter, then the probes: a link made before would drop its first hits. */
	err = tapir_programs__add_tgid(t->opts.programs, tgid);
	if (!err)
		err = see_process(t, &proc);
	tapir_proc__fini(&proc);
	return err;
}

/* Returns the globs that match the name, as bits of their indexes. */
static uint32_t comms_matching(const struct tapir_target_rules *rules, const char *name)
{
	uint32_t matching = 0;

	for (size_t i = 0; i < rules->comms.cnt; i++)
		if (tapir_glob__match(rules->comms.data[i], name))
			matching |= 1u << i;
	return matching;
}

static bool is_candidate(const struct tapir_proc *proc)
{
	return !proc->is_kernel_thread && proc->tgid != (uint32_t)getpid();
}

static bool rules_match(struct tapir_targets *t, const struct tapir_proc *proc)
{
	uint32_t matching = comms_matching(t->opts.rules, proc->comm);

	if (!is_candidate(proc))
		return false;
	t->comms_seen |= matching;
	return matching || t->opts.rules->all;
}

static int add_if_matching(uint32_t tgid, void *ctx)
{
	struct tapir_targets *t = ctx;
	struct tapir_proc proc;
	int mark = tapir_diag__cnt(), err = 0;

	if (tapir_proc__read(tgid, &proc)) {
		tapir_diag__rewind(mark); /* ended in the meantime */
		return 0;
	}
	if (rules_match(t, &proc))
		err = see_process(t, &proc);
	tapir_proc__fini(&proc);
	return err;
}

/* A member of a cgroup; of a v1 one, whose members the filter knows by number. */
static int add_member(uint32_t tgid, void *ctx)
{
	struct tapir_targets *t = ctx;
	int mark = tapir_diag__cnt(), err;

	if (tapir_map__get(&t->live, tgid) || tgid == (uint32_t)getpid())
		return 0;
	err = add_named(t, tgid);
	if (err != -ESRCH)
		return err;
	tapir_diag__rewind(mark);
	return 0;
}

static int scan_cgroups(struct tapir_targets *t)
{
	const char **path;
	int err = 0;

	tapir_vec_for_each (path, &t->opts.rules->cgroups) {
		struct tapir_cgroup cgroup;

		err = tapir_cgroup__find(*path, &cgroup);
		if (!err)
			err = tapir_cgroup__each_process(&cgroup, add_member, t);
		if (err)
			break;
	}
	return err;
}

/*
 * ---- processes by their executables ------------------------------------------------------------
 *
 * A program may call itself otherwise than its file: Node's main thread is `MainThread`. A glob
 * that is no process's name is taken for one of executables that run; the kernel compares names,
 * so these processes are listed by number, and with them what they start.
 */

struct by_executable {
	struct tapir_targets *t;
	uint32_t missing; /* globs that match no name */
	size_t cnt;
	const char *first;
};

/* Not before there is one: what processes start that have the name is not listed. */
static int filter_by_number(const struct tapir_targets *t)
{
	struct tapir_filter filter;
	int err = tapir_target_rules__filter(t->opts.rules, &filter);

	filter.use_tgids = filter.follow_fork = 1;
	return err ? err : tapir_programs__set_filter(t->opts.programs, &filter);
}

static int add_if_executing(uint32_t tgid, void *ctx)
{
	struct by_executable *by = ctx;
	struct tapir_proc proc;
	const char *slash;
	int mark = tapir_diag__cnt(), err = 0;
	uint32_t matching;

	if (tapir_map__get(&by->t->live, tgid) || tapir_proc__read(tgid, &proc)) {
		tapir_diag__rewind(mark);
		return 0;
	}
	slash = proc.exe ? strrchr(proc.exe, '/') : NULL;
	matching = slash && is_candidate(&proc)
			   ? comms_matching(by->t->opts.rules, slash + 1) & by->missing
			   : 0;
	if (matching) {
		by->first = by->t->opts.rules->comms.data[__builtin_ctz(matching)];
		err = by->cnt++ ? 0 : filter_by_number(by->t);
		err = err ? err : add_named(by->t, tgid);
	}
	tapir_proc__fini(&proc);
	return err == -ESRCH ? 0 : err;
}

static int scan_executables(struct tapir_targets *t)
{
	const struct tapir_target_rules *rules = t->opts.rules;
	struct by_executable by = {
		.t = t, .missing = (uint32_t)((1ull << rules->comms.cnt) - 1) & ~t->comms_seen};
	int mark = tapir_diag__cnt(), err;

	if (!by.missing)
		return 0;
	err = tapir_proc__each(add_if_executing, &by);
	if (err)
		return err;
	tapir_diag__rewind(mark);
	if (by.cnt)
		tapir_info("no process is called %s: %zu that execute%s a file of this name, and "
			   "what they start, are recorded instead",
			   by.first, by.cnt, by.cnt == 1 ? "s" : "");
	return 0;
}

int tapir_targets__scan(struct tapir_targets *t)
{
	const struct tapir_target_rules *rules = t->opts.rules;
	const uint32_t *pid;
	int err = 0;

	t->scan_ns = tapir_clock__now_ns();
	if (rules->all || rules->comms.cnt) {
		err = tapir_proc__each(add_if_matching, t);
		return err || !rules->comms.cnt ? err : scan_executables(t);
	}
	if (rules->cgroups.cnt)
		return scan_cgroups(t);
	tapir_vec_for_each (pid, &rules->pids) {
		err = add_named(t, *pid);
		if (err)
			break;
	}
	return err;
}

/* Reads the name that a process has given itself by now. */
static void see_title(struct tapir_targets *t, uint32_t tgid)
{
	int mark = tapir_diag__cnt();
	struct tapir_proc proc;

	if (!tapir_map__get(&t->live, tgid) || tapir_proc__read_running(tgid, &proc)) {
		tapir_diag__rewind(mark);
		return;
	}
	tapir_targets__post(t, tapir_describe__process(&t->recbuf, &proc, t->opts.no_command_lines),
			    -1);
	tapir_proc__fini(&proc);
}

void tapir_targets__scan_lanes(struct tapir_targets *t)
{
	uint32_t tgid;

	while (tapir_titles__take(&t->titles, tapir_clock__now_ns(), &tgid))
		see_title(t, tgid);
	tapir_ring_scan__run(&t->looks);
	tapir_targets__see_growth(t);
}

uint64_t tapir_targets__next_scan_ns(const struct tapir_targets *t)
{
	uint64_t rings_ns = tapir_ring_scan__next_ns(&t->looks),
		 growth_ns = tapir_images__next_grow_ns(t->opts.images),
		 titles_ns = tapir_titles__next_ns(&t->titles);

	rings_ns = rings_ns < titles_ns ? rings_ns : titles_ns;
	return rings_ns < growth_ns ? rings_ns : growth_ns;
}

/* Exits that were not reported, as without programs: checks some processes at a time. */
static void sweep(struct tapir_targets *t)
{
	size_t scanned_cnt = 0,
	       max = tapir_programs__are_there(t->opts.programs) ? SWEEP_MAX / 8 : SWEEP_MAX;

	for (size_t n = 0; n < t->live.cap && scanned_cnt < max; n++) {
		const struct tapir_map_slot *slot = &t->live.slots[t->sweep_at++ % t->live.cap];

		if (!slot->used)
			continue;
		scanned_cnt++;
		if (tapir_proc__has_ended((uint32_t)slot->key))
			note_target_ended(t, (uint32_t)slot->key, 0, tapir_clock__now_ns());
	}
}

void tapir_targets__poll(struct tapir_targets *t)
{
	int mark = tapir_diag__cnt();

	tapir_ring_scan__turn(&t->looks, &t->live);
	tapir_late_attach__commit(&t->late_attach, tapir_clock__now_ns(), tapir_targets__post_late,
				  t);
	t->last_poll_ns = t->scan_ns;
	t->scan_ns = tapir_clock__now_ns();
	scan_cgroups(t);
	sweep(t);
	tapir_diag__rewind(mark); /* it may be gone: then no process joins it */
	tapir_lane_handover__poll(&t->handover, &t->live, t->scan_ns,
				  tapir_targets__post_handover_gap, t);
}

void tapir_targets__finish(struct tapir_targets *t)
{
	tapir_late_attach__commit(&t->late_attach, UINT64_MAX, tapir_targets__post_late, t);
	if (t->opts.ring_cover)
		tapir_unopened_lanes__finish(&t->unopened);
}

void tapir_targets__scan_mappings(struct tapir_targets *t)
{
	int mark = tapir_diag__cnt();

	for (size_t i = 0; i < t->live.cap; i++)
		if (t->live.slots[i].used)
			tapir_targets__see_mappings(t, (uint32_t)t->live.slots[i].key,
						    tapir_clock__now_ns(), 0);
	tapir_diag__rewind(mark);
}

/* ---- what happens to them --------------------------------------------------------------- */

/*
 * The command line of a record that has only its beginning, if the process still executes that
 * program; data NULL: it is not available.
 */
static struct tapir_sv whole_cmdline(const struct tapir_rec_process *rec, struct tapir_proc *proc)
{
	struct tapir_process_view seen;
	int mark = tapir_diag__cnt();

	if (!(rec->flags & TAPIR_PROCESS_CMDLINE_CUT) ||
	    tapir_proc__read_program(rec->tgid, proc)) {
		tapir_diag__rewind(mark);
		return (struct tapir_sv){};
	}
	tapir_process_view__of(&rec->h, &seen);
	if (proc->cmdline_len < seen.cmdline.len ||
	    memcmp(proc->cmdline, seen.cmdline.data, seen.cmdline.len) != 0)
		return (struct tapir_sv){};
	return (struct tapir_sv){proc->cmdline, proc->cmdline_len};
}

/* rec: NULL when there was no memory for it. */
static void post_happened(struct tapir_targets *t, const struct tapir_rec *rec)
{
	if (rec && t->opts.coalesces_wakeups)
		tapir_queue__post_coalesced(t->opts.queue, rec);
	else
		tapir_targets__post(t, rec, -1);
}

static void post_read_process(struct tapir_targets *t, const struct tapir_rec_process *rec)
{
	struct tapir_proc proc = {};
	struct tapir_sv cmdline = whole_cmdline(rec, &proc);
	const char *cgroup = tapir_cgroup_paths__of(&t->cgroups, rec->cgroup_id, rec->tgid);

	post_happened(t, tapir_describe__process_read(&t->recbuf, rec, cmdline, cgroup,
						      t->opts.no_command_lines));
	tapir_proc__fini(&proc);
}

/* Adds what BPF could not read at that point: command line, path, cgroup. */
static void post_process(struct tapir_targets *t, const struct tapir_rec_process *rec)
{
	/* A name that BPF has read is not read again. */
	int (*read_of)(uint32_t tgid, struct tapir_proc * out) =
		rec->comm_len ? tapir_proc__read_program : tapir_proc__read;
	struct tapir_proc proc;
	int mark = tapir_diag__cnt();

	if (rec->flags & TAPIR_PROCESS_HAS_PROGRAM) {
		post_read_process(t, rec);
		return;
	}
	if (rec->kind == TAPIR_PROCESS_EXIT || read_of(rec->tgid, &proc)) {
		tapir_diag__rewind(mark);
		post_happened(t, &rec->h);
		return;
	}
	post_happened(
		t, tapir_describe__process_event(&t->recbuf, rec, &proc, t->opts.no_command_lines));
	tapir_proc__fini(&proc);
}

static void note_program(struct tapir_targets *t, const struct tapir_rec_process *rec)
{
	struct tapir_lane_step step = {.kind = rec->kind == TAPIR_PROCESS_FORK
						       ? TAPIR_LANE_STEP_FORK
						       : TAPIR_LANE_STEP_EXEC,
				       .tgid = rec->tgid,
				       .parent_tgid = rec->parent_tgid,
				       .time_ns = rec->h.time_ns};

	/* Until it executes another program, posix_spawn(3) alone runs in it. */
	if (!(rec->flags & TAPIR_PROCESS_IN_PARENT))
		tapir_unopened_lanes__note(&t->unopened, step);
}

static void on_process(struct tapir_targets *t, const struct tapir_rec_process *rec)
{
	int mark = tapir_diag__cnt();
	bool is_new = false;

	if (rec->kind == TAPIR_PROCESS_EXEC) {
		tapir_event_lanes__restart(t->opts.events, rec->tgid);
		tapir_late_attach__on_exec(&t->late_attach, rec->tgid, rec->h.time_ns);
	}
	if (rec->kind == TAPIR_PROCESS_EXIT) {
		note_target_ended(t, rec->tgid, rec->start_ns, rec->h.time_ns);
		tapir_event_lanes__forget(t->opts.events, rec->tgid);
		tapir_ring_scan__forget(&t->looks, rec->tgid);
	} else if (rec->kind == TAPIR_PROCESS_EXEC || t->opts.rules->children ||
		   !t->opts.rules->pids.cnt) {
		list_process(t, rec->tgid, &is_new);
		note_program(t, rec);
		tapir_lane_handover__disturb(&t->handover, tapir_clock__now_ns());
		if (rec->kind == TAPIR_PROCESS_EXEC)
			tapir_ring_scan__expect(&t->looks, rec->tgid);
	}
	post_process(t, rec);
	tapir_titles__add(&t->titles, rec, tapir_clock__now_ns());
	if (is_new && rec->kind == TAPIR_PROCESS_EXEC && !t->opts.rules->all)
		tapir_targets__see_joined(t, rec->tgid, rec->h.time_ns);
	tapir_targets__warn_from(mark);
}

/* The thread is held: attach the probes, then release it, even after a failure. */
static void on_held(struct tapir_targets *t, const struct tapir_rec_held *rec)
{
	int mark = tapir_diag__cnt();

	if (rec->kind == TAPIR_HOLD_PTRACE) {
		if (!rec->word && rec->arg)
			tapir_holder__detach(t->opts.holder, (uint32_t)rec->arg);
		return;
	}
	list_process(t, rec->tgid, NULL);
	tapir_ring_scan__expect(&t->looks, rec->tgid);
	tapir_targets__see_mappings(t, rec->tgid, rec->h.time_ns, rec->arg);
	tapir_targets__warn_from(mark);
	if (tapir_holder__release(t->opts.holder, rec))
		tapir_late_attach__mark_held(&t->late_attach, rec);
}

void tapir_targets__on_control(struct tapir_targets *t, const struct tapir_rec *rec, uint32_t len)
{
	if (len >= sizeof(struct tapir_rec_held) && rec->type == TAPIR_REC_HELD && t->opts.holder)
		on_held(t, (const struct tapir_rec_held *)rec);
	else if (tapir_record__ok(rec, len) && rec->type == TAPIR_REC_PROCESS)
		on_process(t, (const struct tapir_rec_process *)rec);
	else if (tapir_record__ok(rec, len) && rec->type == TAPIR_REC_THREAD)
		post_happened(t, rec);
}

uint64_t tapir_targets__dropped(const struct tapir_targets *t)
{
	return t->dropped_cnt;
}

void tapir_targets__forget_ended(struct tapir_targets *t)
{
	tapir_unopened_lanes__settle(&t->unopened);
	for (size_t i = 0; i < t->ended.cap && t->ended.cnt; i++) {
		const struct tapir_map_slot *slot = &t->ended.slots[i];

		if (!slot->used)
			continue;
		tapir_late_attach__on_exit(&t->late_attach, (uint32_t)slot->key);
		drop_target(t, (uint32_t)slot->key, slot->value);
	}
	tapir_map__clear(&t->ended);
}

void tapir_targets__warn_of_none(const struct tapir_targets *t)
{
	const struct tapir_target_rules *rules = t->opts.rules;

	if (t->has_seen_one)
		return;
	if (rules->comms.cnt)
		tapir_warn("no process was named %s%s: --comm compares the whole name, of at most "
			   "15 characters (`ps -eo comm` lists them)",
			   rules->comms.data[0], rules->comms.cnt > 1 ? " or another --comm" : "");
	else if (rules->cgroups.cnt)
		tapir_warn("no process ran in cgroup %s%s", rules->cgroups.data[0],
			   rules->cgroups.cnt > 1 ? " or another --cgroup" : "");
}

size_t tapir_targets__live_cnt(struct tapir_targets *t)
{
	if (!tapir_target_rules__are_named(t->opts.rules))
		return SIZE_MAX;
	/* An EXIT record may have been lost: a process that is gone does not count. */
	for (size_t i = 0; i < t->live.cap; i++) {
		uint64_t tgid = t->live.slots[i].key;

		if (t->live.slots[i].used && kill((pid_t)tgid, 0) && errno == ESRCH) {
			tapir_map__del(&t->live, tgid);
			i = (size_t)-1; /* slots moved */
		}
	}
	return t->live.cnt;
}

size_t tapir_targets__list_live(const struct tapir_targets *t, size_t max, struct tapir_pids *out)
{
	size_t left_cnt = 0;

	for (size_t i = 0; i < t->live.cap; i++)
		if (t->live.slots[i].used &&
		    (out->cnt == max || !tapir_vec__push(out, (uint32_t)t->live.slots[i].key)))
			left_cnt++;
	return left_cnt;
}
