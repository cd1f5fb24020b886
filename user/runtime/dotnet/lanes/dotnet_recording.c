// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recording's part in .NET processes: what is requested of them, and by which library. Processes
 * of the whole machine are entered only where a SPEC or a profile names .NET: loading a library
 * into a process is a change that no process should get by default.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "runtime/dotnet/lanes/dotnet_flush.h"
#include "runtime/dotnet/lanes/dotnet_lanes.h"
#include "runtime/dotnet/lanes/dotnet_specs.h"
#include "runtime/dotnet/lanes/publish.h"
#include "decode/dotnet_tables.h"
#include "spec/runtime_db/lore.h"
#include "runtime/dotnet/dotnet.h"
#include "runtime/dotnet/dotnet_attach.h"
#include "runtime/dotnet/dotnet_ops.h"
#include "runtime/dotnet/dotnet_profiler.h"
#include "runtime/event_lanes.h"
#include "runtime/peer/run_dir.h"
#include "tapir/coreclr.h"

#define AWAIT_NS	       (3 * TAPIR_NS_PER_SEC)
#define EARLY_NS	       (500 * TAPIR_NS_PER_MS) /* for each */
#define EARLY_MAX	       4u

#define ASYNC_BUFFER_BYTES_ENV "DOTNET_AsyncProfiler_EventBufferSize" /* .NET 11 */

/*
 * The events that report generated code, for processes that are entered for other events. The
 * runtime sends loads to each session that enables all of the JIT's events, at level 5.
 */
#define NAMES_SPEC	       TAPIR_DOTNET_RUNTIME ":ev=MethodLoadVerbose,ev=MethodUnloadVerbose:Verbose"

struct dotnet {
	struct tapir_event_lanes_opts opts;
	struct tapir_ring_request request; /* of .NET's processes */
	bool is_wanted;			   /* of .NET's processes, too */
	uint64_t key;
	struct tapir_spec *name_spec;	/* NULL: no .NET process is entered */
	struct tapir_spec *budget_spec; /* what .NET processes send as long as it is little */
	struct tapir_run_dir dir;	/* for a program that is started; it loads: */
	char library_path[TAPIR_RUN_DIR_PATH_BYTES + TAPIR_PEER_NAME_BYTES];
	struct tapir_dotnet_port *port;	  /* or connects to; NULL: none */
	char start_why[256];		  /* why it has neither from its start; "": it has one */
	struct tapir_dotnet_lanes *lanes; /* NULL: none */
	struct tapir_dotnet_streams *streams; /* NULL: none */
	struct tapir_dotnet_flush *flush;     /* NULL: no buffers of async methods */
	struct tapir_publish *publish;	      /* NULL: not requested */
	pthread_t early;		      /* places it in what runs already */
	bool is_early;
};

/* Are events of this provider asked for? */
static bool asks_for(const struct dotnet *d, const char *provider)
{
	for (unsigned i = 0; i < TAPIR_RING_SELECTIONS; i++)
		if (d->request.all[i].used && !strcmp(d->request.all[i].provider, provider))
			return true;
	return false;
}

/*
 * Processes of the whole machine are not attached to just because neither a SPEC nor a profile was
 * given.
 */
static bool may_enter(const struct dotnet *d)
{
	return d->opts.lanes != TAPIR_LANES_PROBE && !(d->opts.is_all && d->opts.is_by_default);
}

/* A process that is entered anyway is also asked what it compiles. */
static int select_names(struct dotnet *d, struct tapir_dotnet_skipped *skipped)
{
	struct tapir_spec_list specs = {};
	struct tapir_spec **spec;
	bool ok = true;
	int err = tapir_spec__parse(NAMES_SPEC, &d->name_spec);

	if (!err && d->opts.with_budgeted_awaits)
		err = tapir_spec__parse(TAPIR_LORE_AWAITS_SPEC, &d->budget_spec);
	if (err)
		return err;
	tapir_vec_for_each (spec, d->opts.specs)
		ok &= tapir_vec__push(&specs, *spec);
	ok &= tapir_vec__push(&specs, d->name_spec);
	if (d->budget_spec)
		ok &= tapir_vec__push(&specs, d->budget_spec);
	if (ok)
		tapir_dotnet_specs__select(&specs, &d->request, skipped);
	tapir_vec__fini(&specs);
	return ok ? 0 : -ENOMEM;
}

static int plan_request(struct dotnet *d)
{
	struct tapir_dotnet_skipped skipped = {};
	int err = 0;

	d->is_wanted =
		may_enter(d) && tapir_dotnet_specs__select(d->opts.specs, &d->request, &skipped);
	if (d->is_wanted)
		err = select_names(d, &skipped);
	if (err)
		return err;
	if (skipped.cnt)
		tapir_warn("%u of the chosen sources %s not asked for ('%.60s'%s): a .NET process "
			   "takes "
			   "%u, with names of up to %zu characters",
			   skipped.cnt, skipped.cnt == 1 ? "is" : "are", skipped.first,
			   skipped.cnt == 1 ? "" : " and others", TAPIR_RING_SELECTIONS,
			   sizeof(d->request.all[0].provider) - 1);
	while (d->is_wanted && !d->key)
		if (getrandom(&d->key, sizeof(d->key), 0) != sizeof(d->key))
			return -EIO;
	return d->opts.publishes ? tapir_publish__open(&d->publish) : 0;
}

static int plan(const struct tapir_event_lanes_opts *opts, void **out)
{
	struct dotnet *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->opts = *opts;
	d->dir = TAPIR_NO_RUN_DIR;
	*out = d;
	return plan_request(d);
}

static void free_dotnet(void *state)
{
	struct dotnet *d = state;

	tapir_spec__free(d->name_spec);
	tapir_spec__free(d->budget_spec);
	tapir_publish__free(d->publish);
	tapir_dotnet_lanes__free(d->lanes);
	tapir_dotnet_streams__free(d->streams);
	tapir_dotnet_port__free(d->port);
	tapir_run_dir__close(&d->dir);
	free(d);
}

static void describe_request(const void *state, struct tapir_event_lane_request *out)
{
	const struct dotnet *d = state;

	*out = (struct tapir_event_lane_request){.request = d->is_wanted ? &d->request : NULL,
						 .name_spec = d->name_spec,
						 .budget_spec = d->budget_spec};
}

/* ---- before everything else is ready --------------------------------------------------------- */

/* A process that cannot load the library is tried again, and reported, when there are lanes. */
static void *install_early(void *arg)
{
	const struct dotnet *d = arg;
	struct tapir_dotnet_profiler profiler = {.key = d->key};
	struct tapir_dotnet_info info;
	const uint32_t *tgid;

	profiler.bytes = tapir_dotnet_profiler__image(&profiler.byte_cnt);
	tapir_vec_for_each (tgid, d->opts.pids) {
		const struct tapir_dotnet_opts opts = {
			.tgid = *tgid, .cancel_fd = d->opts.signal_fd, .timeout_ns = EARLY_NS};

		if (tapir_dotnet__inspect(*tgid, &info) > 0 && info.kind != TAPIR_DOTNET_NATIVE_AOT)
			(void)tapir_dotnet__attach_profiler(&opts, &profiler);
	}
	tapir_diag__clear();
	return NULL;
}

static int is_of_dotnet(const struct tapir_mapping_line *line, void *ctx)
{
	(void)ctx;
	return tapir_dotnet__is_path(line->path, line->path_len);
}

static bool is_alone(const void *state)
{
	const struct dotnet *d = state;
	bool is_alone = d->is_wanted && !d->opts.with_children && d->opts.pids->cnt &&
			d->opts.pids->cnt <= EARLY_MAX;
	const uint32_t *tgid;

	tapir_vec_for_each (tgid, d->opts.pids)
		is_alone = is_alone && tapir_proc__each_mapping(*tgid, is_of_dotnet, NULL) == 1;
	tapir_diag__clear(); /* one that is gone is reported later */
	return is_alone;
}

static void begin(void *state)
{
	struct dotnet *d = state;

	if (d->is_wanted && d->opts.lanes != TAPIR_LANES_STREAM && d->opts.pids->cnt &&
	    d->opts.pids->cnt <= EARLY_MAX)
		d->is_early = !pthread_create(&d->early, NULL, install_early, d);
}

static void join(void *state)
{
	struct dotnet *d = state;

	if (d->is_early)
		pthread_join(d->early, NULL);
	d->is_early = false;
}

/*
 * ---- a program that tapir starts
 * ------------------------------------------------------------------------
 */

/* Will the program be asked for its own stream? Of what it starts nothing is known yet. */
static bool is_streamed(const struct dotnet *d, const char *program)
{
	if (d->opts.lanes == TAPIR_LANES_STREAM)
		return true;
	return d->opts.lanes != TAPIR_LANES_RING && program &&
	       tapir_dotnet__kind_of_file(program) == TAPIR_DOTNET_NATIVE_AOT;
}

static int put_port(struct dotnet *d, struct tapir_str *out)
{
	int err = tapir_dotnet_port__new(&d->dir, &d->port);

	return err ? err
		   : tapir_dotnet_port__put_environment(d->port, out,
							getenv("DOTNET_DiagnosticPorts"));
}

/* Named as a library that is placed in a running process. */
static int put_library(struct dotnet *d, struct tapir_str *out)
{
	char name[TAPIR_PEER_NAME_BYTES];
	const void *image;
	size_t len;
	int err;

	snprintf(name, sizeof(name), TAPIR_CORECLR_FILE_NAME "%016" PRIx64 ".so", d->key);
	image = tapir_dotnet_profiler__image(&len);
	err = tapir_run_dir__add_file(&d->dir, name, image, len);
	if (err)
		return err;
	snprintf(d->library_path, sizeof(d->library_path), "%s/%s", d->dir.path, name);
	/* Small buffers: what is in them when the program ends is lost. */
	if (asks_for(d, TAPIR_LORE_ASYNC_BUFFERS) && !getenv(ASYNC_BUFFER_BYTES_ENV)) {
		tapir_str__adds(out, ASYNC_BUFFER_BYTES_ENV "=1024");
		tapir_str__addc(out, '\0');
	}
	return tapir_dotnet__put_start_environment(out, d->library_path, d->key,
						   getenv("CORECLR_NOTIFICATION_PROFILERS"));
}

/* Without it the program is attached to when it runs: a few events later, which is reported then.
 */
static int add_environment(void *state, const char *program, struct tapir_str *out)
{
	struct dotnet *d = state;
	bool streams = is_streamed(d, program);
	int mark = tapir_diag__cnt(), err;

	if (!d->is_wanted)
		return 0;
	err = tapir_run_dir__open(!streams, &d->dir);
	if (!err)
		err = streams ? put_port(d, out) : put_library(d, out);
	if (err == -ENOMEM)
		return err;
	if (err)
		snprintf(d->start_why, sizeof(d->start_why), "%s",
			 tapir_diag__line(mark) ? tapir_diag__line(mark) : tapir_errno__name(err));
	tapir_diag__rewind(mark);
	return 0;
}

/* No stream is started if rings alone were requested. */
static int start_streams(struct dotnet *d, struct tapir_queue *queue)
{
	const struct tapir_dotnet_streams_opts opts = {
		.sz = sizeof(opts),
		.queue = queue,
		.specs = d->opts.specs,
		.name_spec = d->name_spec,
		.request = &d->request,
		.with_stack = d->opts.with_stack,
		.port = d->port,
	};

	if (d->opts.lanes == TAPIR_LANES_RING)
		return 0;
	return tapir_dotnet_streams__new(&opts, &d->streams);
}

/* The runtime describes its own events to no session: there is nothing to make probes of. */
static void warn_of_natives(const struct dotnet *d)
{
	bool has_source = false;

	for (unsigned i = 0; i < TAPIR_RING_SELECTIONS; i++) {
		const struct tapir_ring_selection *s = &d->request.all[i];
		const struct tapir_layout_provider asked = {.name = s->provider};

		has_source |= s->used && !tapir_dotnet_specs__is_native(&asked);
	}
	if (!has_source)
		tapir_warn(
			"--publish usdt has no effect: only events of EventSources become probes, not those of the runtime (" TAPIR_DOTNET_RUNTIME
			")");
}

/*
 * With -a, a source that is not known is searched in assemblies: a name that is misspelt would
 * enter every process of the machine. One source that is known is reason enough to enter each.
 */
static const struct tapir_spec_list *must_be_declared(const struct dotnet *d)
{
	const struct tapir_spec_list *specs = d->opts.specs;

	for (size_t i = 0; i < specs->cnt; i++)
		if (tapir_dotnet_specs__is_for(specs->data[i]) &&
		    tapir_dotnet_specs__may_be_known(specs->data[i]))
			return NULL;
	return d->opts.is_all ? specs : NULL;
}

static int start(void *state, struct tapir_ring_reader *rings, struct tapir_queue *queue)
{
	struct dotnet *d = state;
	struct tapir_dotnet_lanes_opts opts = {
		.sz = sizeof(opts),
		.rings = rings,
		.queue = queue,
		.key = d->key,
		.are_named = d->opts.pids->cnt || d->opts.has_program,
		.declared = must_be_declared(d),
		.start_path = d->library_path[0] ? d->library_path : NULL,
		.start_why = d->start_why[0] ? d->start_why : NULL,
	};
	int err;

	if (!d->is_wanted)
		return 0;
	/*
	 * Before the lanes: a runtime into which the library cannot be loaded is given to a stream
	 * at once.
	 */
	err = start_streams(d, queue);
	if (err)
		return err;
	opts.streams = d->streams;
	opts.library = tapir_dotnet_profiler__image(&opts.library_bytes);
	err = tapir_dotnet_lanes__start(&opts, &d->lanes);
	if (!err && asks_for(d, TAPIR_LORE_ASYNC_BUFFERS))
		err = tapir_dotnet_flush__start(d->lanes, &d->flush);
	if (!err)
		tapir_publish__start(d->publish, &(struct tapir_publish_opts){.sz = sizeof(opts),
									      .key = d->key,
									      .lanes = d->lanes,
									      .rings = rings});
	if (!err && d->publish)
		warn_of_natives(d);
	return err;
}

static int check_published(void *state)
{
	const struct dotnet *d = state;
	struct tapir_dotnet_tgids tgids = {};
	size_t cnt;
	int err;

	if (!d->publish || !d->opts.pids->cnt || tapir_dotnet_lanes__may_come(d->lanes))
		return 0;
	tapir_dotnet_lanes__add_attached(d->lanes, &tgids);
	cnt = tgids.cnt;
	tapir_vec__fini(&tgids);
	if (cnt)
		return 0;
	err = tapir_dotnet_lanes__error(d->lanes, d->opts.pids->data[0]);
	if (err == -EMFILE || err == -ENFILE)
		return tapir_diag__fail(err, "cannot publish events of process %u: %s",
					d->opts.pids->data[0], tapir_errno__text(err));
	return tapir_diag__fail(
		-EOPNOTSUPP,
		"cannot publish events of process %u: it has no .NET runtime that can load tapir's library (see 'tapir doctor -p %u')",
		d->opts.pids->data[0], d->opts.pids->data[0]);
}

static void await(void *state, uint32_t program_tgid)
{
	struct dotnet *d = state;
	struct pollfd signals = {.fd = d->opts.signal_fd, .events = POLLIN};
	uint64_t end_ns = tapir_clock__now_ns() + AWAIT_NS;
	const uint32_t *tgid;

	tapir_vec_for_each (tgid, d->opts.pids)
		tapir_dotnet_lanes__poll(d->lanes, *tgid);
	/*
	 * Inspected again when it is executed: one compiled ahead of time maps nothing that shows
	 * it.
	 */
	if (program_tgid)
		tapir_dotnet_lanes__poll(d->lanes, program_tgid);
	while (!tapir_dotnet_lanes__are_settled(d->lanes) && tapir_clock__now_ns() < end_ns &&
	       poll(&signals, 1, 1) == 0)
		d->opts.while_waiting(
			d->opts.ctx); /* a process that maps tapir's library may be held for it */
}

/* ---- while it records --------------------------------------------------------------------------- */

static void see(void *state, uint32_t tgid, struct tapir_sv path)
{
	struct dotnet *d = state;

	if (tapir_dotnet__is_path(path.data, path.len))
		tapir_dotnet_lanes__see(d->lanes, tgid);
	else if (tapir_sv__ends_with(path, ".dll"))
		tapir_dotnet_lanes__see_assembly(d->lanes, tgid);
}

static void forget(void *state, uint32_t tgid, bool restarts)
{
	struct dotnet *d = state;

	if (restarts)
		tapir_dotnet_lanes__restart(d->lanes, tgid);
	else
		tapir_dotnet_lanes__forget(d->lanes, tgid);
}

static void poll_links(void *state, uint64_t now_ns)
{
	struct dotnet *d = state;

	tapir_publish__poll(d->publish, now_ns);
}

static uint64_t next_ns(const void *state)
{
	const struct dotnet *d = state;

	return tapir_publish__next_ns(d->publish);
}

static void stop(void *state, bool has_started)
{
	struct dotnet *d = state;

	tapir_publish__stop(d->publish);
	tapir_dotnet_flush__free(d->flush, has_started);
	d->flush = NULL;
	tapir_dotnet_lanes__stop(d->lanes);
	tapir_dotnet_streams__stop(d->streams);
}

static void describe(void *state, struct tapir_event_lane_facts *out)
{
	struct dotnet *d = state;

	*out = (struct tapir_event_lane_facts){
		.attached_cnt = tapir_dotnet_lanes__attached_cnt(d->lanes),
		.undeclared_cnt = tapir_dotnet_lanes__undeclared_cnt(d->lanes),
		.stream_cnt = tapir_dotnet_streams__process_cnt(d->streams),
		.may_come = tapir_dotnet_lanes__may_come(d->lanes),
		.has_streams = d->streams != NULL,
	};
}

static bool spec_matched(void *state, size_t spec_idx)
{
	struct dotnet *d = state;

	return tapir_dotnet_streams__spec_matched(d->streams, spec_idx);
}

static void add_seen(void *state, struct tapir_seen_names *out)
{
	struct dotnet *d = state;

	tapir_dotnet_streams__add_seen(d->streams, out);
}

const struct tapir_event_lane_ops tapir_dotnet_event_lane_ops = {
	.plan = plan,
	.free = free_dotnet,
	.request = describe_request,
	.is_alone = is_alone,
	.begin = begin,
	.join = join,
	.add_environment = add_environment,
	.start = start,
	.await = await,
	.check = check_published,
	.see = see,
	.forget = forget,
	.poll = poll_links,
	.next_ns = next_ns,
	.stop = stop,
	.facts = describe,
	.spec_matched = spec_matched,
	.add_seen = add_seen,
};
