// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir serve in the process that serves, tapir-agent or tapir-static: turns its options into the
 * agent's configuration. tapir itself executes tapir-agent instead (serve_exec.c).
 */
#include <errno.h>
#include <unistd.h>

#include "agent/address.h"
#include "agent/agent.h"
#include "agent/http/stdio_subreaper.h"
#include "attach/cgroup.h"
#include "base/child/child_run.h"
#include "base/child/sibling.h"
#include "base/library.h"
#include "cli/serve.h"

#define DEFAULT_READY_S 60
#define READY_MIN_BYTES (128u << 20)

/* Limits the agent of a program, whose recordings are in memory that counts as the program's. */
static int prepare_stdio(struct tapir_serve_config *config)
{
	config->state = "memory";
	config->limits.sessions = 3;
	config->limits.trace_mb = 16;
	config->limits.state_mb = 64;
	config->limits.traces = 10;
	config->limits.connections = 64;
	config->limits.ready_s = 0; /* its memory would be the program's */
	if (!tapir_vec__push(&config->listen, TAPIR_ADDRESS_STDIO))
		return -ENOMEM;
	return tapir_stdio_subreaper__start(&config->only_pid);
}

/* If memory is scarce, it is left to the recording: no process is kept ready. */
static uint64_t default_ready_s(void)
{
	uint64_t bytes;

	return tapir_cgroup__memory_limit((uint32_t)getpid(), &bytes) && bytes < READY_MIN_BYTES
		       ? 0
		       : DEFAULT_READY_S;
}

static int configure(const struct tapir_serve_args *args, struct tapir_serve_config *config)
{
	const char *const *address;
	int err = args->config ? tapir_serve_config__read(config, args->config) : 0;

	if (err)
		return err;
	if (args->listen.cnt)
		tapir_vec__fini(&config->listen);
	tapir_vec_for_each (address, &args->listen)
		if (!tapir_vec__push(&config->listen, *address))
			return -ENOMEM;
	if (!config->listen.cnt && !tapir_vec__push(&config->listen, TAPIR_SERVE_LISTEN))
		return -ENOMEM;
	if (config->limits.ready_s == TAPIR_SERVE_READY_AUTO)
		config->limits.ready_s = default_ready_s();
	if (args->continuous_mb)
		config->continuous.mb = args->continuous_mb;
	if (args->state)
		config->state = args->state;
	return config->state ? 0 : tapir_serve_config__default_state(config);
}

/* Children run the tapir that is installed now, also when a newer one replaces it. */
static int find_tapir(void)
{
	int fd, err;

	if (tapir_program__is_static()) /* one file that does everything */
		return 0;
	err = tapir_sibling__open("tapir", &fd);
	if (!err)
		tapir_child_run__use_program(fd);
	return err;
}

int tapir_serve__run(struct tapir_cli *cli)
{
	const struct tapir_serve_args *args = cli->args;
	struct tapir_serve_config config;
	int err;

	if (args->stdio && (args->listen.cnt || args->state || args->continuous_mb || args->config))
		return tapir_cli__usage(cli, "--stdio: takes no other option of this command");
	tapir_serve_config__init(&config);
	err = args->stdio ? prepare_stdio(&config) : configure(args, &config);
	if (!err)
		err = tapir_serve_config__check(&config);
	if (!err)
		err = find_tapir();
	if (!err)
		err = tapir_agent__run(&config);
	tapir_serve_config__fini(&config);
	return err == -EINVAL ? TAPIR_CLI_USAGE : err;
}
