// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See dotnet_rundown.h. The session is stopped as soon as it is open: what comes then is the
 * rundown alone. The runtime answers the stop when the stream has been read, so another thread
 * asks.
 */
#include "runtime/dotnet/dotnet_rundown.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "decode/event_blob.h"
#include "decode/jitdump_format.h"
#include "decode/nettrace_stream.h"
#include "decode/dotnet_methods.h"
#include "runtime/dotnet/dotnet_stream.h"

#define PROVIDER       "Microsoft-Windows-DotNETRuntimeRundown"
#define METHOD_ID      144u	     /* MethodDCEndVerbose, laid out as MethodLoadVerbose */
#define KEYWORDS       0x130ull	     /* JitRundown, NGenRundown, EndRundown */
#define DESCRIPTIONS   8u	     /* of that event, in one stream: versions */
#define CODE_MAX_BYTES (256u << 20)  /* of one method */
#define FILE_MAX_BYTES (64ull << 30) /* holes, except for the names */
#define METHODS_MAX    (4u << 20)
#define BUFFER_MB      16
#define READ_BYTES     (64u << 10)

struct rundown {
	struct tapir_dotnet_opts opts;
	struct tapir_dotnet_stream port;
	uint32_t metadata_ids[DESCRIPTIONS];
	unsigned metadata_cnt;
	struct tapir_str name;
	int fd; /* the jitdump */
	uint64_t off, method_cnt;
	int err;
};

static void on_start(void *ctx, const struct tapir_nettrace_start *start)
{
	(void)ctx;
	(void)start;
}

static void on_metadata(void *ctx, const struct tapir_nettrace_metadata *metadata)
{
	struct rundown *r = ctx;
	struct tapir_event_blob *blob;

	if (strcmp(metadata->provider, PROVIDER) || r->metadata_cnt == DESCRIPTIONS ||
	    tapir_event_blob__parse(metadata->blob, metadata->blob_bytes, &blob))
		return;
	if (blob->id == METHOD_ID)
		r->metadata_ids[r->metadata_cnt++] = metadata->metadata_id;
	tapir_event_blob__free(blob);
}

static bool is_method(const struct rundown *r, uint32_t metadata_id)
{
	for (unsigned i = 0; i < r->metadata_cnt; i++)
		if (r->metadata_ids[i] == metadata_id)
			return true;
	return false;
}

static int write_load(struct rundown *r, const struct tapir_dotnet_method *method)
{
	struct tapir_jitdump_load load = {
		.p.total_bytes = (uint32_t)(sizeof(load) + r->name.len + 1 + method->size),
		.vma = method->start_va,
		.code_va = method->start_va,
		.code_bytes = method->size,
		.code_idx = r->method_cnt,
	};

	if (pwrite(r->fd, &load, sizeof(load), (off_t)r->off) != (ssize_t)sizeof(load) ||
	    pwrite(r->fd, r->name.data, r->name.len, (off_t)(r->off + sizeof(load))) !=
		    (ssize_t)r->name.len)
		return -errno;
	r->off += load.p.total_bytes;
	r->method_cnt++;
	return 0;
}

static void rundown_on_event(void *ctx, const struct tapir_nettrace_event *event)
{
	struct rundown *r = ctx;
	const struct tapir_event_view view = {.payload = event->payload,
					      .payload_bytes = event->payload_bytes};
	struct tapir_dotnet_method method;

	if (r->err || !is_method(r, event->metadata_id))
		return;
	r->name.len = 0;
	if (tapir_dotnet_method__of(&view, &method, &r->name) || method.size > CODE_MAX_BYTES ||
	    r->off + method.size > FILE_MAX_BYTES || r->method_cnt == METHODS_MAX)
		return;
	r->err = write_load(r, &method);
}

static void on_stack(void *ctx, const struct tapir_nettrace_stack *stack)
{
	(void)ctx;
	(void)stack;
}

static void on_forget(void *ctx)
{
	(void)ctx;
}

static void on_lost(void *ctx, uint64_t cnt, uint64_t ticks)
{
	(void)ctx;
	(void)cnt;
	(void)ticks;
}

/* 0: its end has come. */
static int read_some(struct rundown *r, struct tapir_nettrace_stream *stream, void *buffer,
		     uint64_t deadline_ns)
{
	struct pollfd fds[] = {{.fd = r->port.fd, .events = POLLIN},
			       {.fd = r->opts.cancel_fd, .events = POLLIN}};
	uint64_t now_ns = tapir_clock__now_ns();
	ssize_t len;
	int err;

	if (now_ns >= deadline_ns)
		return -ETIMEDOUT;
	if (poll(fds, 2, (int)((deadline_ns - now_ns) / TAPIR_NS_PER_MS) + 1) < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (fds[1].revents)
		return -ECANCELED;
	len = read(r->port.fd, buffer, READ_BYTES);
	if (len < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (!len)
		return -ECONNRESET;
	err = tapir_nettrace_stream__feed(stream, buffer, (size_t)len);
	if (err || r->err)
		return err ? err : r->err;
	return tapir_nettrace_stream__has_ended(stream) ? 0 : -EAGAIN;
}

static int read_rundown(struct rundown *r, uint64_t deadline_ns)
{
	const struct tapir_nettrace_sink sink = {.ctx = r,
						 .on_start = on_start,
						 .on_metadata = on_metadata,
						 .on_stack = on_stack,
						 .on_event = rundown_on_event,
						 .on_forget = on_forget,
						 .on_lost = on_lost};
	tapir_autofree void *buffer = malloc(READ_BYTES);
	struct tapir_nettrace_stream *stream;
	int err = buffer ? tapir_nettrace_stream__new(&sink, &stream) : -ENOMEM;

	if (err)
		return err;
	do
		err = read_some(r, stream, buffer, deadline_ns);
	while (err == -EAGAIN);
	tapir_nettrace_stream__free(stream);
	return err;
}

static void *stop_stream(void *arg)
{
	struct rundown *r = arg;

	(void)tapir_dotnet_stream__stop(&r->opts, r->port.session_id);
	tapir_diag__clear();
	return NULL;
}

static int begin_file(struct rundown *r)
{
	const struct tapir_jitdump_header header = {.magic = TAPIR_JITDUMP_MAGIC,
						    .version = TAPIR_JITDUMP_VERSION,
						    .total_bytes = sizeof(header)};

	r->fd = memfd_create("tapir-rundown", MFD_CLOEXEC);
	if (r->fd < 0 || pwrite(r->fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header))
		return -errno;
	r->off = sizeof(header);
	return 0;
}

static int run_rundown(struct rundown *r, uint64_t deadline_ns)
{
	pthread_t stopper;
	int err = begin_file(r);

	if (err)
		return err;
	err = -pthread_create(&stopper, NULL, stop_stream, r);
	if (err)
		return err;
	err = read_rundown(r, deadline_ns);
	tapir_guard__fd(&r->port.fd); /* also ends a session that was never stopped */
	pthread_join(stopper, NULL);
	if (!err && (!r->method_cnt || ftruncate(r->fd, (off_t)r->off)))
		err = -EIO;
	return err;
}

int tapir_dotnet_rundown__take(const struct tapir_dotnet_opts *opts, int *out_fd)
{
	/*
	 * A session needs a provider. This one fires nothing by itself: what is wanted comes when
	 * the session is stopped, as the rundown of all methods.
	 */
	static const struct tapir_dotnet_provider nothing = {
		.name = "Microsoft-DotNETCore-EventPipe"};
	const struct tapir_dotnet_session session = {.buffer_mb = BUFFER_MB,
						     .rundown_keyword = KEYWORDS,
						     .providers = &nothing,
						     .provider_cnt = 1};
	uint64_t timeout_ns = opts->timeout_ns ? opts->timeout_ns : TAPIR_DOTNET_TIMEOUT_NS;
	uint64_t deadline_ns = tapir_clock__now_ns() + timeout_ns;
	struct rundown r = {.opts = *opts, .port.fd = -1, .fd = -1};
	int err = tapir_dotnet_stream__open(opts, &session, &r.port);

	if (err)
		return err;
	err = run_rundown(&r, deadline_ns);
	tapir_str__fini(&r.name);
	tapir_guard__fd(&r.port.fd);
	if (err) {
		tapir_guard__fd(&r.fd);
		return tapir_diag__fail(
			err,
			"cannot read .NET method names of process %u: the rundown did not arrive (%s)",
			opts->tgid, tapir_errno__text(err));
	}
	*out_fd = r.fd;
	return 0;
}
