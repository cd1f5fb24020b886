// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Identifies callers and checks what they may do: tokens, logins, roles, and what a request by a
 * browser must carry in addition to its cookie. Every refusal is answered here.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/json.h"
#include "base/log.h"
#include "agent/agent_impl.h"
#include "agent/answer.h"
#include "agent/route.h"

#define RELOAD_NS TAPIR_NS_PER_SEC

/* ---- who ------------------------------------------------------------------------------------ */

static void reload_tokens(struct tapir_agent *agent)
{
	uint64_t now_ns = tapir_clock__now_ns();

	if (now_ns - agent->tokens_checked_ns < RELOAD_NS)
		return;
	agent->tokens_checked_ns = now_ns;
	if (!tapir_tokens__reload(agent->tokens))
		return;
	for (int i = 0; i < tapir_diag__cnt(); i++)
		tapir_warn("%s", tapir_diag__line(i));
	tapir_diag__clear();
}

static int64_t boot_s(void)
{
	return (int64_t)(tapir_clock__ns(CLOCK_BOOTTIME) / TAPIR_NS_PER_SEC);
}

/* Returns true if a line about the caller may be logged: always of one with a token. */
static bool may_log(struct tapir_agent *agent, const struct tapir_caller *caller)
{
	unsigned unlogged_cnt = 0;

	if (*caller->name || caller->role == TAPIR_ROLE_ADMIN) /* the latter: a trigger */
		return true;
	if (!tapir_failures__may_log(&agent->failures, boot_s(), &unlogged_cnt))
		return false;
	if (unlogged_cnt)
		tapir_info("audit: %u lines about clients without a valid token were left out",
			   unlogged_cnt);
	return true;
}

void tapir_agent__audit(struct tapir_agent *agent, const struct tapir_caller *caller,
			const struct tapir_route *route, const char *target, const char *result)
{
	char when[TAPIR_UTC_TEXT_BYTES];

	if (!may_log(agent, caller))
		return;
	tapir_clock__utc_text(tapir_clock__ns(CLOCK_REALTIME), when);
	tapir_info("audit: %sZ %s %s %s %s %s%s%s", when, *caller->peer ? caller->peer : "unix",
		   *caller->name ? caller->name : "-", result, route->method, route->path,
		   *target ? " " : "", target);
}

/* Returns the user that a token names; NULL: none, or no longer. */
static const struct tapir_token *take_token(struct tapir_agent *agent, const char *text,
					    struct tapir_caller *out)
{
	const struct tapir_token *token = tapir_tokens__find(agent->tokens, text, time(NULL));

	if (!token)
		return NULL;
	memcpy(out->name, token->name, sizeof(out->name));
	memcpy(out->csrf, token->csrf, sizeof(out->csrf));
	out->role = token->role;
	return token;
}

/* A cookie that is not known is no guess: it is of an agent that has ended, or too old. */
static void take_cookie(struct tapir_agent *agent, const char *cookie, struct tapir_caller *out)
{
	const char *token = tapir_logins__find(&agent->logins, cookie, boot_s());

	out->has_login = token && take_token(agent, token, out);
	if (token && !out->has_login)
		tapir_logins__remove(&agent->logins, cookie);
}

/* A client that wants to see one process has its own sessions, not those of others. */
static void limit(uint32_t pid, struct tapir_caller *out)
{
	snprintf(out->name, sizeof(out->name), "pid %u", pid);
	out->role = TAPIR_ROLE_PROFILE;
	out->is_browser = true;
	out->only_pid = pid;
}

/*
 * The peer as an HTTP process states it, which may have been taken over: for the log, not as a
 * proof.
 */
static const char *peer_of(const struct tapir_wire_request *rq)
{
	const char *peer = rq->peer ? rq->peer : "";

	return peer[strspn(peer, "0123456789abcdef.:")] ? "?" : peer;
}

/* 0, or the status of the refusal. */
static unsigned identify(struct tapir_agent *agent, const struct tapir_agent_front *front,
			 const struct tapir_wire_request *rq, struct tapir_caller *out,
			 unsigned *wait_s)
{
	*out = (struct tapir_caller){.peer = peer_of(rq), .role = agent->config->anonymous};
	if (front->listener.is_unix || front->listener.is_stdio) {
		snprintf(out->name, sizeof(out->name), "local");
		memcpy(out->csrf, agent->csrf, sizeof(out->csrf));
		out->role = TAPIR_ROLE_ADMIN;
		out->is_browser = front->listener.is_stdio;
		out->only_pid = agent->config->only_pid;
		if (front->listener.is_unix && rq->only_pid)
			limit(rq->only_pid, out);
		return 0;
	}
	reload_tokens(agent);
	if (!rq->token && rq->cookie)
		take_cookie(agent, rq->cookie, out);
	if (!rq->token || take_token(agent, rq->token, out))
		return 0;
	agent->wrong_token_cnt++;
	*wait_s = tapir_failures__add(&agent->failures, out->peer, boot_s());
	if (!*wait_s)
		tapir_agent__audit(agent, out, &tapir_routes[rq->route], "", "wrong-token");
	return *wait_s ? 429 : 401;
}

/*
 * A cookie, which a browser sends by itself, does not prove that a page of the agent made the
 * request.
 */
static bool is_forged(const struct tapir_wire_request *rq, const struct tapir_caller *caller)
{
	bool is_browser =
		caller->has_login || caller->is_browser || (rq->flags & TAPIR_WIRE_IS_FORM);

	return is_browser && strcmp(tapir_routes[rq->route].method, "GET") != 0 &&
	       rq->route != TAPIR_ROUTE_LOGIN &&
	       (!rq->csrf || !*caller->csrf || !tapir_token__is_equal(caller->csrf, rq->csrf));
}

static bool answer_forbidden(struct tapir_agent *agent, const struct tapir_caller *caller,
			     const struct tapir_route *route, int fd, const char *why)
{
	tapir_agent__audit(agent, caller, route, "", "refused");
	(void)tapir_answer__error(fd, 403, why, MSG_DONTWAIT);
	return false;
}

/* Returns true if the request may continue; else it was answered. */
bool tapir_agent__admit(struct tapir_agent *agent, const struct tapir_agent_front *front,
			const struct tapir_wire_request *rq, int fd, struct tapir_caller *caller)
{
	const struct tapir_route *route = &tapir_routes[rq->route];
	unsigned wait_s = 0, status = identify(agent, front, rq, caller, &wait_s);
	struct tapir_wire_head head = {.status = 429, .mime = TAPIR_MIME_JSON, .retry_s = wait_s};
	static const char too_many[] = "{\"error\":\"too many wrong tokens from this address\"}\n";

	if (status == 429) {
		(void)tapir_answer__send(fd, &head, too_many, sizeof(too_many) - 1, MSG_DONTWAIT);
		return false;
	}
	if (!status && caller->role >= route->role)
		return is_forged(rq, caller)
			       ? answer_forbidden(
					 agent, caller, route, fd,
					 "csrf: the form's token is missing or too old: reload the "
					 "page")
			       : true;
	if (!status && *caller->name)
		return answer_forbidden(agent, caller, route, fd,
					"the role of this token does not permit this");
	(void)tapir_answer__error(fd, 401,
				  status ? "wrong or expired token"
					 : "a token is required: Authorization: Bearer TOKEN",
				  MSG_DONTWAIT);
	return false;
}

/* ---- logins --------------------------------------------------------------------------------- */

static void answer_cookie(int fd, const char *cookie)
{
	static const char body[] = "{}\n";
	struct tapir_wire_head head = {.status = 200, .mime = TAPIR_MIME_JSON};

	snprintf(head.cookie, sizeof(head.cookie), "%s", cookie);
	(void)tapir_answer__send(fd, &head, body, sizeof(body) - 1, MSG_DONTWAIT);
}

static void login(struct tapir_agent *agent, const struct tapir_wire_request *rq,
		  const struct tapir_caller *caller, int fd)
{
	char cookie[TAPIR_COOKIE_DIGITS + 1];

	if (!rq->token || !strcmp(caller->name, "local") || !*caller->csrf) {
		(void)tapir_answer__error(fd, 401, "a token is required to sign in", MSG_DONTWAIT);
		return;
	}
	if (tapir_logins__add(&agent->logins, rq->token, boot_s(), cookie)) {
		(void)tapir_answer__error(fd, 500, "no random numbers", MSG_DONTWAIT);
		return;
	}
	tapir_agent__audit(agent, caller, &tapir_routes[rq->route], "", "accepted");
	answer_cookie(fd, cookie);
}

static void logout(struct tapir_agent *agent, const struct tapir_wire_request *rq,
		   const struct tapir_caller *caller, int fd)
{
	if (rq->cookie)
		tapir_logins__remove(&agent->logins, rq->cookie);
	tapir_agent__audit(agent, caller, &tapir_routes[rq->route], "", "accepted");
	answer_cookie(fd, "-");
}

static void answer_whoami(const struct tapir_caller *caller, int fd)
{
	struct tapir_wire_head head = {.status = 200, .mime = TAPIR_MIME_JSON};
	struct tapir_str body = {};
	struct tapir_json j = tapir_json__to(&body);

	tapir_json__open(&j, NULL, '{');
	tapir_json__str(&j, "name", *caller->name ? caller->name : NULL);
	tapir_json__str(&j, "role", tapir_role__name((unsigned)caller->role - 1));
	tapir_json__bool(&j, "login", caller->has_login);
	tapir_json__str(&j, "csrf", *caller->csrf ? caller->csrf : NULL);
	tapir_json__close(&j, '}');
	tapir_str__addc(&body, '\n');
	if (body.failed)
		(void)tapir_answer__error(fd, 500, "out of memory", MSG_DONTWAIT);
	else
		(void)tapir_answer__send(fd, &head, body.data, body.len, MSG_DONTWAIT);
	tapir_str__fini(&body);
}

bool tapir_agent__handle_login(struct tapir_agent *agent, const struct tapir_wire_request *rq,
			       const struct tapir_caller *caller, int fd)
{
	switch (rq->route) {
	case TAPIR_ROUTE_WHOAMI:
		answer_whoami(caller, fd);
		return true;
	case TAPIR_ROUTE_LOGIN:
		login(agent, rq, caller, fd);
		return true;
	case TAPIR_ROUTE_LOGOUT:
		logout(agent, rq, caller, fd);
		return true;
	default:
		return false;
	}
}
