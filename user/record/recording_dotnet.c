// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recording's part in .NET processes: what is requested of them, and by which library. Processes
 * of the whole machine are entered only where a SPEC or a profile names .NET: loading a library
 * into a process is a change that no process should get by default.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "record/names/code_names.h"
#include "runtime/dotnet/lanes/dotnet_specs.h"
#include "record/recording_impl.h"
#include "decode/dotnet_tables.h"
#include "spec/runtime_db/lore.h"
#include "runtime/dotnet/dotnet.h"
#include "runtime/dotnet/dotnet_attach.h"
#include "runtime/dotnet/dotnet_profiler.h"
#include "tapir/coreclr.h"

#define AWAIT_NS	       (3 * TAPIR_NS_PER_SEC)
#define EARLY_NS	       (500 * TAPIR_NS_PER_MS) /* for each */
#define EARLY_MAX	       4u

#define ASYNC_BUFFER_BYTES_ENV "DOTNET_AsyncProfiler_EventBufferSize" /* .NET 11 */

/* Are events of this provider asked for? */
static bool asks_for(const struct recording *r, const char *provider)
{
	for (unsigned i = 0; r->dotnet.request && i < TAPIR_RING_SELECTIONS; i++)
		if (r->dotnet.request->all[i].used &&
		    !strcmp(r->dotnet.request->all[i].provider, provider))
			return true;
	return false;
}

/*
 * Processes of the whole machine are not attached to just because neither a SPEC nor a profile was
 * given.
 */
static bool may_enter(const struct recording *r)
{
	return r->opts->lanes != TAPIR_LANES_PROBE &&
	       !(r->rules.all && r->opts->specs_are_defaults && !r->opts->wants_events &&
		 !r->opts->counters);
}

/* A process that is entered anyway is also asked what it compiles. */
static int select_names(struct recording *r, struct tapir_dotnet_left_out *left_out)
{
	struct tapir_spec_list specs = {};
	struct tapir_spec **spec;
	bool ok = true;
	int err = tapir_spec__parse(TAPIR_CODE_NAMES_DOTNET_SPEC, &r->dotnet_name_spec);

	if (!err && r->opts->with_budgeted_awaits)
		err = tapir_spec__parse(TAPIR_LORE_AWAITS_SPEC, &r->budget_spec);
	if (err)
		return err;
	tapir_vec_for_each (spec, r->opts->specs)
		ok &= tapir_vec__push(&specs, *spec);
	ok &= tapir_vec__push(&specs, r->dotnet_name_spec);
	if (r->budget_spec)
		ok &= tapir_vec__push(&specs, r->budget_spec);
	if (ok)
		tapir_dotnet_specs__select(&specs, r->dotnet.request, left_out);
	tapir_vec__fini(&specs);
	return ok ? 0 : -ENOMEM;
}

int tapir_recording__plan_dotnet(struct recording *r)
{
	struct tapir_dotnet_left_out left_out = {};
	int err = 0;

	r->dotnet.request = malloc(sizeof(*r->dotnet.request));
	if (!r->dotnet.request)
		return -ENOMEM;
	r->dotnet.is_wanted = may_enter(r) && tapir_dotnet_specs__select(
						      r->opts->specs, r->dotnet.request, &left_out);
	if (r->dotnet.is_wanted)
		err = select_names(r, &left_out);
	if (err)
		return err;
	if (left_out.cnt)
		tapir_warn("%u of the chosen sources %s not asked for ('%.60s'%s): a .NET process "
			   "takes "
			   "%u, with names of up to %zu characters",
			   left_out.cnt, left_out.cnt == 1 ? "is" : "are", left_out.first,
			   left_out.cnt == 1 ? "" : " and others", TAPIR_RING_SELECTIONS,
			   sizeof(r->dotnet.request->all[0].provider) - 1);
	while (r->dotnet.is_wanted && !r->dotnet.key)
		if (getrandom(&r->dotnet.key, sizeof(r->dotnet.key), 0) != sizeof(r->dotnet.key))
			return -EIO;
	return 0;
}

/* ---- before everything else is ready --------------------------------------------------------- */

/* A process that cannot load the library is tried again, and reported, when there are lanes. */
static void *install_early(void *arg)
{
	const struct recording *r = arg;
	struct tapir_dotnet_profiler profiler = {.key = r->dotnet.key};
	struct tapir_dotnet_info info;
	const uint32_t *tgid;

	profiler.bytes = tapir_dotnet_profiler__image(&profiler.byte_cnt);
	tapir_vec_for_each (tgid, &r->rules.pids) {
		const struct tapir_dotnet_opts opts = {
			.tgid = *tgid, .cancel_fd = r->signal_fd, .timeout_ns = EARLY_NS};

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

bool tapir_recording__is_dotnet_alone(const struct recording *r)
{
	bool is_alone = r->dotnet.is_wanted && !r->rules.children && r->rules.pids.cnt &&
			r->rules.pids.cnt <= EARLY_MAX;
	const uint32_t *tgid;

	tapir_vec_for_each (tgid, &r->rules.pids)
		is_alone = is_alone && tapir_proc__each_mapping(*tgid, is_of_dotnet, NULL) == 1;
	tapir_diag__clear(); /* one that is gone is reported later */
	return is_alone;
}

void tapir_recording__begin_dotnet(struct recording *r)
{
	if (r->dotnet.is_wanted && r->opts->lanes != TAPIR_LANES_STREAM && r->rules.pids.cnt &&
	    r->rules.pids.cnt <= EARLY_MAX)
		r->dotnet.is_early = !pthread_create(&r->dotnet.early, NULL, install_early, r);
}

void tapir_recording__join_dotnet(struct recording *r)
{
	if (r->dotnet.is_early)
		pthread_join(r->dotnet.early, NULL);
	r->dotnet.is_early = false;
}

/*
 * ---- a program that tapir starts
 * ------------------------------------------------------------------------
 */

/* Will the program be asked for its own stream? Of what it starts nothing is known yet. */
static bool is_streamed(const struct recording *r)
{
	char path[PATH_MAX];

	if (r->opts->lanes == TAPIR_LANES_STREAM)
		return true;
	return r->opts->lanes != TAPIR_LANES_RING &&
	       tapir_command__find(r->opts->program[0], path) &&
	       tapir_dotnet__kind_of_file(path) == TAPIR_DOTNET_NATIVE_AOT;
}

static int put_port(struct recording *r, struct tapir_str *out)
{
	int err = tapir_dotnet_port__new(&r->dotnet.dir, &r->dotnet.port);

	return err ? err
		   : tapir_dotnet_port__put_environment(r->dotnet.port, out,
							getenv("DOTNET_DiagnosticPorts"));
}

/* Named as a library that is placed in a running process. */
static int put_library(struct recording *r, struct tapir_str *out)
{
	char name[TAPIR_PEER_NAME_BYTES];
	const void *image;
	size_t len;
	int err;

	snprintf(name, sizeof(name), TAPIR_CORECLR_FILE_NAME "%016" PRIx64 ".so", r->dotnet.key);
	image = tapir_dotnet_profiler__image(&len);
	err = tapir_run_dir__add_file(&r->dotnet.dir, name, image, len);
	if (err)
		return err;
	snprintf(r->dotnet.library_path, sizeof(r->dotnet.library_path), "%s/%s",
		 r->dotnet.dir.path, name);
	/* Small buffers: what is in them when the program ends is lost. */
	if (asks_for(r, TAPIR_LORE_ASYNC_BUFFERS) && !getenv(ASYNC_BUFFER_BYTES_ENV)) {
		tapir_str__adds(out, ASYNC_BUFFER_BYTES_ENV "=1024");
		tapir_str__addc(out, '\0');
	}
	return tapir_dotnet__put_start_environment(out, r->dotnet.library_path, r->dotnet.key,
						   getenv("CORECLR_NOTIFICATION_PROFILERS"));
}

/* Without it the program is attached to when it runs: a few events later, which is reported then.
 */
int tapir_recording__dotnet_environment(struct recording *r, struct tapir_str *out)
{
	bool streams = is_streamed(r);
	int mark = tapir_diag__cnt(), err;

	if (!r->dotnet.is_wanted)
		return 0;
	err = tapir_run_dir__open(!streams, &r->dotnet.dir);
	if (!err)
		err = streams ? put_port(r, out) : put_library(r, out);
	if (err == -ENOMEM)
		return err;
	if (err)
		snprintf(r->dotnet.start_why, sizeof(r->dotnet.start_why), "%s",
			 tapir_diag__line(mark) ? tapir_diag__line(mark) : tapir_errno__name(err));
	tapir_diag__rewind(mark);
	return 0;
}

/* No stream is started if rings alone were requested. */
static int start_streams(struct recording *r)
{
	const struct tapir_dotnet_streams_opts opts = {
		.sz = sizeof(opts),
		.queue = r->queue,
		.specs = r->opts->specs,
		.name_spec = r->dotnet_name_spec,
		.request = r->dotnet.request,
		.with_stack = !r->opts->no_ring_stacks,
		.port = r->dotnet.port,
	};

	if (r->opts->lanes == TAPIR_LANES_RING)
		return 0;
	return tapir_dotnet_streams__new(&opts, &r->dotnet.streams);
}

/* The runtime describes its own events to no session: there is nothing to make probes of. */
static void warn_of_natives(const struct recording *r)
{
	bool has_source = false;

	for (unsigned i = 0; i < TAPIR_RING_SELECTIONS; i++) {
		const struct tapir_ring_selection *s = &r->dotnet.request->all[i];
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
static const struct tapir_spec_list *must_be_declared(const struct recording *r)
{
	const struct tapir_spec_list *specs = r->opts->specs;

	for (size_t i = 0; i < specs->cnt; i++)
		if (tapir_dotnet_specs__is_for(specs->data[i]) &&
		    tapir_dotnet_specs__may_be_known(specs->data[i]))
			return NULL;
	return r->rules.all ? specs : NULL;
}

int tapir_recording__start_dotnet(struct recording *r)
{
	struct tapir_dotnet_lanes_opts opts = {
		.sz = sizeof(opts),
		.rings = r->rings,
		.queue = r->queue,
		.key = r->dotnet.key,
		.are_named = r->rules.pids.cnt || r->program,
		.declared = must_be_declared(r),
		.start_path = r->dotnet.library_path[0] ? r->dotnet.library_path : NULL,
		.start_why = r->dotnet.start_why[0] ? r->dotnet.start_why : NULL,
	};
	int err;

	if (!r->dotnet.is_wanted)
		return 0;
	/*
	 * Before the lanes: a runtime into which the library cannot be loaded is given to a stream
	 * at once.
	 */
	err = start_streams(r);
	if (err)
		return err;
	opts.streams = r->dotnet.streams;
	opts.library = tapir_dotnet_profiler__image(&opts.library_bytes);
	err = tapir_dotnet_lanes__start(&opts, &r->dotnet.lanes);
	if (!err && asks_for(r, TAPIR_LORE_ASYNC_BUFFERS))
		err = tapir_dotnet_flush__start(r->dotnet.lanes, &r->dotnet.flush);
	if (!err)
		tapir_publish__start(r->publish,
				     &(struct tapir_publish_opts){.sz = sizeof(opts),
								  .key = r->dotnet.key,
								  .lanes = r->dotnet.lanes,
								  .rings = r->rings});
	if (!err && r->publish)
		warn_of_natives(r);
	return err;
}

int tapir_recording__check_publish(const struct recording *r)
{
	struct tapir_dotnet_tgids tgids = {};
	size_t cnt;
	int err;

	if (!r->publish || !r->rules.pids.cnt || tapir_dotnet_lanes__may_come(r->dotnet.lanes))
		return 0;
	tapir_dotnet_lanes__add_attached(r->dotnet.lanes, &tgids);
	cnt = tgids.cnt;
	tapir_vec__fini(&tgids);
	if (cnt)
		return 0;
	err = tapir_dotnet_lanes__error(r->dotnet.lanes, r->rules.pids.data[0]);
	if (err == -EMFILE || err == -ENFILE)
		return tapir_diag__fail(err, "cannot publish events of process %u: %s",
					r->rules.pids.data[0], tapir_errno__text(err));
	return tapir_diag__fail(
		-EOPNOTSUPP,
		"cannot publish events of process %u: it has no .NET runtime that can load tapir's library (see 'tapir doctor -p %u')",
		r->rules.pids.data[0], r->rules.pids.data[0]);
}

void tapir_recording__await_dotnet(struct recording *r)
{
	struct pollfd signals = {.fd = r->signal_fd, .events = POLLIN};
	uint64_t end_ns = tapir_clock__now_ns() + AWAIT_NS;
	const uint32_t *tgid;

	tapir_vec_for_each (tgid, &r->rules.pids)
		tapir_dotnet_lanes__poll(r->dotnet.lanes, *tgid);
	/*
	 * Inspected again when it is executed: one compiled ahead of time maps nothing that shows
	 * it.
	 */
	if (r->program)
		tapir_dotnet_lanes__poll(r->dotnet.lanes, tapir_command_run__tgid(r->program));
	while (!tapir_dotnet_lanes__are_settled(r->dotnet.lanes) &&
	       tapir_clock__now_ns() < end_ns && poll(&signals, 1, 1) == 0)
		tapir_recording__drain_control(
			r); /* a process that maps tapir's library may be held for it */
}
