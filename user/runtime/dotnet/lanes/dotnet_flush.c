// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads of .NET 11 send their buffers when a listener comes or goes: so a session of that event
 * source is opened through the diagnostics port, of which nothing is read, and closed again.
 */
#include "runtime/dotnet/lanes/dotnet_flush.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/map.h"
#include "spec/runtime_db/lore.h"
#include "runtime/dotnet/dotnet.h"
#include "runtime/dotnet/dotnet_stream.h"

#define FIRST_VERSION 11 /* of .NET that has the source */
#define TIMEOUT_NS    TAPIR_NS_PER_SEC
#define PERIOD_MS     1000
#define LAST_WAIT_US  60000 /* for the threads' next events, after the last time */
#define INFORMATIONAL 4u

enum { UNKNOWN, HAS_IT, LACKS_IT };

struct tapir_dotnet_flush {
	struct tapir_dotnet_lanes *lanes;
	struct tapir_map processes;
	pthread_t thread;
	int cancel_fd;
	bool is_last;
};

static bool has_source(struct tapir_dotnet_flush *f, uint32_t tgid)
{
	uint64_t *known = tapir_map__put(&f->processes, tgid, NULL);
	struct tapir_dotnet_info info;
	int mark = tapir_diag__cnt();

	if (!known)
		return false;
	if (*known == UNKNOWN) {
		*known = tapir_dotnet__inspect(tgid, &info) == 1 &&
					 atoi(info.version) >= FIRST_VERSION
				 ? HAS_IT
				 : LACKS_IT;
		tapir_diag__rewind(mark);
	}
	return *known == HAS_IT;
}

/* A process for which this fails keeps its buffers. */
static void flush_one(struct tapir_dotnet_flush *f, uint32_t tgid)
{
	const struct tapir_dotnet_provider provider = {.name = TAPIR_LORE_ASYNC_BUFFERS,
						       .keywords = TAPIR_LORE_ASYNC_KEYWORDS,
						       .level = INFORMATIONAL};
	const struct tapir_dotnet_session session = {
		.buffer_mb = 1, .providers = &provider, .provider_cnt = 1};
	const struct tapir_dotnet_opts opts = {.tgid = tgid,
					       .cancel_fd = f->is_last ? -1 : f->cancel_fd,
					       .timeout_ns = TIMEOUT_NS};
	struct tapir_dotnet_stream stream = {.fd = -1};
	int mark = tapir_diag__cnt();

	(void)tapir_dotnet_stream__open(&opts, &session, &stream);
	tapir_guard__fd(&stream.fd);
	tapir_diag__rewind(mark);
}

/* Flushes all processes; returns how many have such buffers. */
static size_t flush_processes(struct tapir_dotnet_flush *f)
{
	struct tapir_dotnet_tgids tgids = {};
	size_t cnt = 0;
	uint32_t *tgid;

	tapir_dotnet_lanes__add_attached(f->lanes, &tgids);
	tapir_vec_for_each (tgid, &tgids)
		if (has_source(f, *tgid)) {
			flush_one(f, *tgid);
			cnt++;
		}
	tapir_vec__fini(&tgids);
	return cnt;
}

static void *run_flush(void *arg)
{
	struct tapir_dotnet_flush *f = arg;
	struct pollfd cancelled = {.fd = f->cancel_fd, .events = POLLIN};

	pthread_setname_np(pthread_self(), "tapir-async");
	while (!poll(&cancelled, 1, PERIOD_MS))
		(void)flush_processes(f);
	tapir_diag__clear();
	return NULL;
}

int tapir_dotnet_flush__start(struct tapir_dotnet_lanes *lanes, struct tapir_dotnet_flush **out)
{
	struct tapir_dotnet_flush *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->lanes = lanes;
	f->cancel_fd = eventfd(0, EFD_CLOEXEC);
	err = f->cancel_fd < 0 ? -errno : -pthread_create(&f->thread, NULL, run_flush, f);
	if (err) {
		tapir_guard__fd(&f->cancel_fd);
		free(f);
		return err;
	}
	*out = f;
	return 0;
}

void tapir_dotnet_flush__free(struct tapir_dotnet_flush *f, bool has_started)
{
	if (!f)
		return;
	(void)eventfd_write(f->cancel_fd, 1);
	pthread_join(f->thread, NULL);
	f->is_last = true;
	if (has_started && flush_processes(f))
		usleep(LAST_WAIT_US);
	tapir_guard__fd(&f->cancel_fd);
	tapir_map__fini(&f->processes);
	free(f);
}
