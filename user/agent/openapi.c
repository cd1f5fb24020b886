// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The OpenAPI document: routes grouped by path, their parameters with types and values. Everything
 * comes from the tables, so a route cannot be undocumented.
 */
#include "agent/openapi.h"

#include <ctype.h>
#include <string.h>

#include "base/json.h"
#include "agent/route.h"

static void add_values(struct tapir_json *j, const struct tapir_param *p)
{
	const char *value;

	if (!p->value)
		return;
	tapir_json__open(j, "enum", '[');
	for (size_t i = 0; (value = p->value(i)); i++)
		tapir_json__str(j, NULL, value);
	tapir_json__close(j, ']');
}

static bool is_list(const struct tapir_param *p)
{
	return p->kind == TAPIR_PARAM_PIDS || p->kind == TAPIR_PARAM_LIST ||
	       p->kind == TAPIR_PARAM_CHOICES;
}

static const char *openapi_type(const struct tapir_param *p)
{
	switch (p->kind) {
	case TAPIR_PARAM_PIDS:
	case TAPIR_PARAM_U64:
		return "integer";
	case TAPIR_PARAM_DURATION:
		return "number";
	case TAPIR_PARAM_FLAG:
		return "boolean";
	default:
		return "string";
	}
}

static void add_schema(struct tapir_json *j, const char *key, const struct tapir_param *p)
{
	tapir_json__open(j, key, '{');
	if (is_list(p)) {
		tapir_json__str(j, "type", "array");
		tapir_json__open(j, "items", '{');
	}
	tapir_json__str(j, "type", openapi_type(p));
	if (p->kind == TAPIR_PARAM_U64) {
		tapir_json__u64(j, "minimum", p->min);
		tapir_json__u64(j, "maximum", p->max);
	}
	add_values(j, p);
	if (is_list(p))
		tapir_json__close(j, '}');
	tapir_json__close(j, '}');
}

static void add_param(struct tapir_json *j, const struct tapir_param *p)
{
	tapir_json__open(j, NULL, '{');
	tapir_json__str(j, "name", p->name);
	tapir_json__str(j, "in", "query");
	tapir_json__str(j, "description", p->description);
	add_schema(j, "schema", p);
	tapir_json__close(j, '}');
}

/* "{pid}" of the path. */
static void add_path_params(struct tapir_json *j, const char *path)
{
	for (const char *open = path; (open = strchr(open, '{')); open++) {
		tapir_json__open(j, NULL, '{');
		tapir_json__strn(j, "name", open + 1, strcspn(open + 1, "}"));
		tapir_json__str(j, "in", "path");
		tapir_json__bool(j, "required", true);
		tapir_json__open(j, "schema", '{');
		tapir_json__str(j, "type", "string");
		tapir_json__close(j, '}');
		tapir_json__close(j, '}');
	}
}

static void add_body(struct tapir_json *j, const struct tapir_route *r)
{
	tapir_json__open(j, "requestBody", '{');
	tapir_json__open(j, "content", '{');
	tapir_json__open(j, "application/json", '{');
	tapir_json__open(j, "schema", '{');
	tapir_json__str(j, "type", "object");
	tapir_json__bool(j, "additionalProperties", false);
	tapir_json__open(j, "properties", '{');
	for (size_t t = 0; t < TAPIR_ROUTE_MAX_TABLES && r->params[t]; t++)
		for (const struct tapir_param *p = r->params[t]; p->name; p++)
			add_schema(j, p->name, p);
	for (int i = 0; i < 5; i++)
		tapir_json__close(j, '}');
}

static void add_answers(struct tapir_json *j, const struct tapir_route *r)
{
	tapir_json__open(j, "responses", '{');
	tapir_json__open(j, r->mime == TAPIR_MIME_JSON && r->has_body ? "201" : "200", '{');
	tapir_json__str(j, "description", r->description);
	tapir_json__open(j, "content", '{');
	tapir_json__open(j, tapir_mime__text(r->mime), '{');
	tapir_json__close(j, '}');
	tapir_json__close(j, '}');
	tapir_json__close(j, '}');
	tapir_json__open(j, "default", '{');
	tapir_json__str(j, "description", "An object with the member 'error', a sentence.");
	tapir_json__close(j, '}');
	tapir_json__close(j, '}');
}

static void add_operation(struct tapir_json *j, const struct tapir_route *r)
{
	char method[8];
	size_t len = strlen(r->method);

	for (size_t i = 0; i <= len && i < sizeof(method); i++)
		method[i] = (char)tolower((unsigned char)r->method[i]);
	tapir_json__open(j, method, '{');
	tapir_json__str(j, "summary", r->description);
	tapir_json__str(j, "x-tapir-role",
			r->role ? tapir_role__name((unsigned)r->role - 1) : "none");
	tapir_json__open(j, "parameters", '[');
	add_path_params(j, r->path);
	for (size_t t = 0; t < TAPIR_ROUTE_MAX_TABLES && r->params[t]; t++)
		for (const struct tapir_param *p = r->params[t]; p->name; p++)
			add_param(j, p);
	tapir_json__close(j, ']');
	if (r->has_body)
		add_body(j, r);
	add_answers(j, r);
	tapir_json__close(j, '}');
}

static bool is_first_of_path(size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(tapir_routes[k].path, tapir_routes[i].path))
			return false;
	return true;
}

static void add_paths(struct tapir_json *j)
{
	tapir_json__open(j, "paths", '{');
	for (size_t i = 0; i < TAPIR_ROUTE_CNT; i++) {
		if (!is_first_of_path(i))
			continue;
		tapir_json__open(j, tapir_routes[i].path, '{');
		for (size_t k = i; k < TAPIR_ROUTE_CNT; k++)
			if (!strcmp(tapir_routes[k].path, tapir_routes[i].path))
				add_operation(j, &tapir_routes[k]);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, '}');
}

static void add_security(struct tapir_json *j)
{
	static const char *const schemes[] = {"bearer", "basic"};

	tapir_json__open(j, "components", '{');
	tapir_json__open(j, "securitySchemes", '{');
	for (size_t i = 0; i < 2; i++) {
		tapir_json__open(j, schemes[i], '{');
		tapir_json__str(j, "type", "http");
		tapir_json__str(j, "scheme", schemes[i]);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, '}');
	tapir_json__close(j, '}');
	tapir_json__open(j, "security", '[');
	for (size_t i = 0; i < 2; i++) {
		tapir_json__open(j, NULL, '{');
		tapir_json__open(j, schemes[i], '[');
		tapir_json__close(j, ']');
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

void tapir_openapi__write(struct tapir_str *out)
{
	struct tapir_json j = tapir_json__to(out);

	tapir_json__open(&j, NULL, '{');
	tapir_json__str(&j, "openapi", "3.0.3");
	tapir_json__open(&j, "info", '{');
	tapir_json__str(&j, "title", "tapir");
	tapir_json__str(&j, "version", TAPIR_VERSION);
	tapir_json__close(&j, '}');
	add_paths(&j);
	add_security(&j);
	tapir_json__close(&j, '}');
	tapir_str__addc(out, '\n');
}
