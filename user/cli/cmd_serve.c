// SPDX-License-Identifier: GPL-2.0-or-later
/* tapir serve: the agent. */
#include "agent/agent.h"

#include <errno.h>
#include <unistd.h>

#include "attach/cgroup.h"
#include "cli/commands.h"
#include "agent/http/stdio_keeper.h"
#include "agent/address.h"

#define DEFAULT_READY_S 60
#define READY_MIN_BYTES (128u << 20)

struct args {
	struct tapir_words listen;
	const char *config;
	const char *state;
	uint64_t continuous_mb;
	bool stdio;
};

static const struct tapir_option options[] = {
	TAPIR_LIST("listen", 'l', "ADDRESS",
		   "HOST:PORT or unix:PATH (mode 0600); repeatable (default: " TAPIR_SERVE_LISTEN
		   ")",
		   struct args, listen),
	TAPIR_STRING("config", 'c', "FILE", "the configuration, JSON", struct args, config),
	TAPIR_STRING("state", 0, "DIR",
		     "directory for traces and the token; 'memory': nothing is written to disk",
		     struct args, state),
	TAPIR_U64(
		"continuous", 0, "MB",
		"record all processes at 20 Hz, or what the configuration says, and keep the last "
		"MB: POST /v1/continuous/freeze, SIGUSR2 and triggers write a session",
		struct args, continuous_mb, 8, 65536),
	TAPIR_FLAG("stdio", 0,
		   "serve only the program that started it: read requests from standard input, as "
		   "the packages for .NET send them, until its end",
		   struct args, stdio),
	{}};

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
	return tapir_stdio_keeper__start(&config->only_pid);
}

/* If memory is scarce, it is left to the recording: no process is kept ready. */
static uint64_t default_ready_s(void)
{
	uint64_t bytes;

	return tapir_cgroup__memory_limit((uint32_t)getpid(), &bytes) && bytes < READY_MIN_BYTES
		       ? 0
		       : DEFAULT_READY_S;
}

static int configure(const struct args *args, struct tapir_serve_config *config)
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

static int run(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	struct tapir_serve_config config;
	int err;

	if (args->stdio && (args->listen.cnt || args->state || args->continuous_mb || args->config))
		return tapir_cli__usage(cli, "--stdio: takes no other option of this command");
	tapir_serve_config__init(&config);
	err = args->stdio ? prepare_stdio(&config) : configure(args, &config);
	if (!err)
		err = tapir_serve_config__check(&config);
	if (!err)
		err = tapir_agent__run(&config);
	tapir_serve_config__fini(&config);
	return err == -EINVAL ? TAPIR_CLI_USAGE : err;
}

const struct tapir_command tapir_cmd_serve = {
	.name = "serve",
	.summary = "answer requests over HTTP: processes, profiles, traces",
	.synopsis = "[--listen ADDRESS]... [--config FILE] [--state DIR|memory] | --stdio",
	.text = "Makes what tapir can do reachable over HTTP, for people and programs without a "
		"shell on this machine. Without options it listens on loopback and requires the "
		"token that its first start writes to DIR/token. On a unix socket, the socket's "
		"mode decides who may connect, and no token is required. GET /v1/openapi.json "
		"lists all resources and their parameters.\n\n"
		"With --stdio it does not listen: it serves the program that started it, which has "
		"an HTTP server of its own, and touches no other process.\n\n"
		"HTTP is parsed by a process without capabilities, files or tokens. When the agent "
		"ends, in whatever way, its recordings end, and nothing stays in any process.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.examples =
		(const struct tapir_example[]){
			{"serve", "on loopback, with a token"},
			{"serve --listen unix:/run/tapir.sock", "for this user and root only"},
			{"serve --config /etc/tapir/serve.json", "with a configuration file"},
			{}},
	.args_bytes = sizeof(struct args),
	.run = run,
};
