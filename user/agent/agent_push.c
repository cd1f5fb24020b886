// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A part of the continuous recording is converted by `tapir export`, in a task for each target,
 * without capabilities; the task hands the result to the child.
 */
#include "agent/agent_push.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/child/child_run.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/fd_message.h"
#include "base/file.h"
#include "base/log.h"
#include "output/render/messages.h"
#include "output/render/parca.h"
#include "agent/agent_watch.h"
#include "base/private_file.h"
#include "agent/sandbox.h"
#include "agent/task.h"

static bool is_of_profiles(const struct tapir_push_target *target)
{
	return target->kind == TAPIR_PUSH_PPROF || target->kind == TAPIR_PUSH_PARCA ||
	       target->kind == TAPIR_PUSH_OTLP_PROFILES;
}

uint64_t tapir_agent_push__part_ns(const struct tapir_serve_config *config)
{
	const struct tapir_push_target *target;

	tapir_vec_for_each (target, &config->push)
		if (is_of_profiles(target))
			return target->every * TAPIR_NS_PER_SEC;
	return 0;
}

static void count_drop(const struct tapir_agent *agent, uint32_t target)
{
	__atomic_fetch_add(&agent->push.page->of[target].dropped_cnt, 1, __ATOMIC_RELAXED);
}

/* ---- the child ------------------------------------------------------------------------------ */

/* A descriptor of what is in the file, or -errno with a line. */
static int open_certificates(const char *path)
{
	tapir_autofree char *text = NULL;
	size_t len;
	int fd, err = tapir_file__read(path, 1u << 20, &text, &len);

	if (err)
		return tapir_diag__fail(err, "cannot read %s: %s", path, tapir_errno__text(err));
	if (!strstr(text, "-----BEGIN CERTIFICATE-----"))
		return tapir_diag__fail(-EINVAL, "%s has no certificate (PEM)", path);
	fd = memfd_create("tapir-push", MFD_CLOEXEC);
	err = fd < 0 ? -errno : tapir_file__write_all(fd, text, len);
	if (!err)
		return fd;
	tapir_guard__fd(&fd);
	return tapir_diag__fail(err, "cannot keep %s: %s", path, tapir_errno__text(err));
}

static int read_files(const struct tapir_push_target *target, struct tapir_push_files *out)
{
	uint64_t key;
	size_t len;
	int err = 0;

	*out = (struct tapir_push_files){.ca_fd = -1};
	if (target->headers_file)
		err = tapir_private_file__read(target->headers_file, &out->headers, &len, &key);
	if (!err && target->ca_file) {
		out->ca_fd = open_certificates(target->ca_file);
		err = out->ca_fd < 0 ? out->ca_fd : 0;
	}
	return err;
}

static void forget_files(struct tapir_push_files *files)
{
	if (files->headers)
		explicit_bzero(files->headers, strlen(files->headers));
	free(files->headers);
	tapir_guard__fd(&files->ca_fd);
}

static int run_push(void *ctx, int fd)
{
	const struct tapir_agent *agent = ctx;
	const struct tapir_serve_config *config = agent->config;
	struct tapir_push_files files[TAPIR_PUSH_MAX_TARGETS];
	int err = 0;

	tapir_log__mute(false); /* what servers do is the administrator's business */
	for (size_t i = 0; !err && i < config->push.cnt; i++)
		err = read_files(&config->push.data[i], &files[i]);
	if (!err)
		err = tapir_sandbox__drop_user();
	if (!err)
		err = tapir_push__run(config->push.data, (unsigned)config->push.cnt, files, fd,
				      agent->push.page);
	for (int i = 0; err && i < tapir_diag__cnt(); i++)
		tapir_warn("nothing is pushed: %s", tapir_diag__line(i));
	return err;
}

static int check_target(const struct tapir_serve_config *config,
			const struct tapir_push_target *target)
{
	struct tapir_push_files files;
	int err;

	if (is_of_profiles(target) && !config->continuous.mb)
		return tapir_diag__fail(-EINVAL,
					"push: '%s' requires a continuous recording "
					"('continuous', --continuous MB)",
					tapir_push_kind__name(target->kind));
	if (is_of_profiles(target) &&
	    target->every * TAPIR_NS_PER_SEC != tapir_agent_push__part_ns(config))
		return tapir_diag__fail(
			-EINVAL, "push: 'every_s' must be the same of all targets of profiles");
	if (target->kind == TAPIR_PUSH_PARCA && tapir_parca__check_name(target->name))
		return tapir_diag__fail(-EINVAL, "push: 'name' of 'parca' is %s",
					tapir_parca__check_name(target->name));
	err = read_files(target, &files); /* the child reads them again */
	forget_files(&files);
	return err;
}

int tapir_agent_push__start(struct tapir_agent *agent)
{
	const struct tapir_push_target *target;
	int err = 0;

	if (!agent->config->push.cnt)
		return 0;
	tapir_vec_for_each (target, &agent->config->push)
		err = err ? err : check_target(agent->config, target);
	if (!err)
		err = tapir_push__check();
	if (err)
		return err;
	agent->push.page = tapir_push_shm__new();
	if (!agent->push.page)
		return -ENOMEM;
	agent->push.child.name = "the process that pushes";
	agent->push.child.run = run_push;
	agent->push.child.has_socket = true;
	return tapir_agent_child__start(agent, &agent->push.child);
}

void tapir_agent_push__stop(struct tapir_agent *agent)
{
	tapir_guard__fd(&agent->push.child.fd);
	tapir_push_shm__free(agent->push.page);
	agent->push.page = NULL;
}

void tapir_agent_push__task_ended(struct tapir_agent *agent, pid_t pid)
{
	(void)tapir_agent_child__end_seen(agent, &agent->push.child, pid);
}

/* ---- what it is given ------------------------------------------------------------------------ */

static int send_item(int socket_fd, const struct tapir_push_message *message, int fd, int flags)
{
	return tapir_fd_message__send(socket_fd, message, sizeof(*message), &fd, 1, flags);
}

struct conversion {
	const struct tapir_agent *agent;
	struct tapir_push_message message;
	int part_fd;
};

static int convert(const struct conversion *c, struct tapir_str *out)
{
	const struct tapir_push_target *target = &c->agent->config->push.data[c->message.target];
	bool is_otlp = target->kind == TAPIR_PUSH_OTLP_PROFILES;
	bool is_as_it_is = target->kind == TAPIR_PUSH_PPROF;
	const char *const argv[] = {"export", "--format", is_otlp ? "otlp" : "pprof", "-", NULL};
	struct tapir_str plain = {};
	int err =
		lseek(c->part_fd, 0, SEEK_SET) < 0
			? -errno
			: tapir_child_run__capture(argv, c->part_fd, 0, is_as_it_is ? out : &plain);

	if (!err && is_otlp)
		err = tapir_messages__gzip(plain.data ? plain.data : "", plain.len, out);
	else if (!err && !is_as_it_is)
		err = tapir_parca__write(target->name, plain.data, plain.len, out);
	tapir_str__fini(&plain);
	return err;
}

/* In a task. */
static int run_conversion(void *ctx, int push_fd)
{
	const struct conversion *c = ctx;
	tapir_autofd int fd = memfd_create("tapir-push", MFD_CLOEXEC);
	struct tapir_str body = {};
	int err = fd < 0 ? -errno : convert(c, &body);

	if (!err)
		err = tapir_file__write_all(fd, body.data, body.len);
	if (!err)
		err = send_item(push_fd, &c->message, fd, 0);
	tapir_str__fini(&body);
	if (err)
		count_drop(c->agent, c->message.target);
	for (int i = 0; err && i < tapir_diag__cnt(); i++)
		tapir_warn("a profile is not pushed: %s", tapir_diag__line(i));
	return err;
}

void tapir_agent_push__take_part(struct tapir_agent *agent, int fd, uint64_t from_utc_ns,
				 uint64_t until_utc_ns)
{
	for (uint32_t i = 0; agent->push.page && i < agent->config->push.cnt; i++) {
		struct conversion c = {.agent = agent,
				       .message = {.target = i,
						   .from_utc_ns = from_utc_ns,
						   .until_utc_ns = until_utc_ns},
				       .part_fd = fd};
		int push_fd;

		if (!is_of_profiles(&agent->config->push.data[i]))
			continue;
		push_fd = agent->push.child.fd >= 0
				  ? fcntl(agent->push.child.fd, F_DUPFD_CLOEXEC, 3)
				  : -1;
		if (push_fd >= 0 &&
		    tapir_agent__start_task(agent, push_fd, (int *const[]){&c.part_fd, NULL}, false,
					    run_conversion, &c) > 0)
			continue;
		count_drop(agent, i);
		if (push_fd >= 0)
			close(push_fd);
	}
	close(fd);
}

void tapir_agent_push__take_session(struct tapir_agent *agent, const char *id, int fd)
{
	char host[64] = "", path[32];
	tapir_autofd int read_fd = -1;

	if (!agent->push.page)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	read_fd = open(path, O_RDONLY | O_CLOEXEC); /* the child may not change it */
	(void)gethostname(host, sizeof(host) - 1);
	for (uint32_t i = 0; i < agent->config->push.cnt; i++) {
		struct tapir_push_message message = {.target = i};

		if (agent->config->push.data[i].kind != TAPIR_PUSH_PUT)
			continue;
		snprintf(message.name, sizeof(message.name), "%s-%s.tapir", host, id);
		if (agent->push.child.fd < 0 || read_fd < 0 ||
		    send_item(agent->push.child.fd, &message, read_fd, MSG_DONTWAIT))
			count_drop(agent, i);
	}
}

/* When a target's next ones are due; UINT64_MAX: never. */
static uint64_t due_ns(const struct tapir_agent *agent, size_t target)
{
	const struct tapir_push_target *of = &agent->config->push.data[target];

	return agent->push.child.fd >= 0 && of->kind == TAPIR_PUSH_OTLP_METRICS
		       ? agent->push.metrics_ns[target] + of->every * TAPIR_NS_PER_SEC
		       : UINT64_MAX;
}

int tapir_agent_push__timeout_ms(const struct tapir_agent *agent)
{
	uint64_t now_ns = tapir_clock__now_ns(), first_ns = UINT64_MAX;

	for (size_t i = 0; i < agent->config->push.cnt; i++)
		if (due_ns(agent, i) < first_ns)
			first_ns = due_ns(agent, i);
	if (first_ns == UINT64_MAX)
		return -1;
	return first_ns > now_ns ? (int)((first_ns - now_ns) / TAPIR_NS_PER_MS) + 1 : 0;
}

bool tapir_agent_push__wants_metrics(const struct tapir_agent *agent)
{
	return !agent->is_ending && !tapir_agent_push__timeout_ms(agent);
}

void tapir_agent_push__take_metrics(struct tapir_agent *agent, const struct tapir_str *text)
{
	uint64_t now_ns = tapir_clock__now_ns();

	for (uint32_t i = 0; i < agent->config->push.cnt; i++) {
		struct tapir_push_message message = {
			.target = i, .until_utc_ns = tapir_clock__ns(CLOCK_REALTIME)};
		tapir_autofd int fd = -1;

		if (due_ns(agent, i) > now_ns)
			continue;
		agent->push.metrics_ns[i] = now_ns;
		fd = memfd_create("tapir-push", MFD_CLOEXEC);
		if (fd < 0 || text->failed || tapir_file__write_all(fd, text->data, text->len) ||
		    send_item(agent->push.child.fd, &message, fd, MSG_DONTWAIT))
			count_drop(agent, i);
	}
}

/* ---- figures --------------------------------------------------------------------------------- */

void tapir_agent_push__write_health(const struct tapir_agent *agent, struct tapir_json *j)
{
	uint64_t failing_cnt = 0;

	if (!agent->push.page)
		return;
	for (size_t i = 0; i < agent->config->push.cnt; i++)
		failing_cnt += agent->push.page->of[i].error[0] != '\0';
	tapir_json__open(j, "push", '{');
	tapir_json__bool(j, "running", agent->push.child.pid > 0);
	tapir_json__u64(j, "targets", agent->config->push.cnt);
	tapir_json__u64(j, "failing", failing_cnt);
	tapir_json__close(j, '}');
}

static void add_push_metric(const struct tapir_agent *agent, const char *name, const char *type,
			    const char *help, size_t offset, struct tapir_str *out)
{
	tapir_str__addf(out, "# HELP tapir_push_%s %s\n# TYPE tapir_push_%s %s\n", name, help, name,
			type);
	for (size_t i = 0; i < agent->config->push.cnt; i++)
		tapir_str__addf(
			out, "tapir_push_%s{target=\"%zu\",kind=\"%s\"} %" PRIu64 "\n", name, i,
			tapir_push_kind__name(agent->config->push.data[i].kind),
			*(const uint64_t *)((const char *)&agent->push.page->of[i] + offset));
}

void tapir_agent_push__write_metrics(const struct tapir_agent *agent, struct tapir_str *out)
{
#define AT(member) offsetof(struct tapir_push_metrics, member)
	if (!agent->push.page)
		return;
	add_push_metric(agent, "sent_total", "counter", "Pushed and taken.", AT(sent_cnt), out);
	add_push_metric(agent, "sent_bytes_total", "counter", "Bytes of what was taken.",
			AT(sent_bytes), out);
	add_push_metric(agent, "dropped_total", "counter", "Dropped: no room, or not converted.",
			AT(dropped_cnt), out);
	add_push_metric(agent, "refused_total", "counter", "Dropped: the server does not want it.",
			AT(refused_cnt), out);
	add_push_metric(agent, "failed_attempts_total", "counter", "Attempts that are repeated.",
			AT(failed_cnt), out);
	add_push_metric(agent, "waiting", "gauge", "What waits to be taken.", AT(waiting_cnt), out);
	add_push_metric(agent, "waiting_bytes", "gauge", "Its bytes.", AT(waiting_bytes), out);
#undef AT
}
