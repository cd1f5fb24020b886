// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of .NET methods as TraceEvent takes them apart: "void [App] Ns.Type::Method(int32)[Tier]"
 * is method Ns.Type::Method(int32) of module App. The runtime's load events lack the module:
 * without one, readers would show the whole text as a function of "unknown".
 */
#include <string.h>

#include "output/export/nettrace_impl.h"

static const char no_module[] = "[jit] ";

/* The last of what that begins before end; NULL: none. */
static const char *last_before(struct tapir_sv name, const char *end, const char *part)
{
	size_t len = strlen(part);

	for (const char *at = end - len; at >= name.data; at--)
		if (!memcmp(at, part, len))
			return at;
	return NULL;
}

/* The start of "Ns.Type::Method(" in the name; NULL: it is not of that form. */
static const char *method_start(struct tapir_sv name)
{
	const char *arguments = name.len ? memchr(name.data, '(', name.len) : NULL;
	const char *colons, *at;
	int depth = 0; /* of brackets: generic arguments have spaces, too */

	if (!arguments || name.data[name.len - 1] != ']')
		return NULL;
	colons = last_before(name, arguments, "::");
	if (!colons)
		return NULL;
	for (at = colons; at > name.data && (depth || at[-1] != ' '); at--)
		depth += at[-1] == ']' ? 1 : at[-1] == '[' ? -1 : 0;
	return at;
}

/* "... [App] ": a bracket with a space before and after it. "int32[] " is a type. */
static bool has_module(struct tapir_sv name, const char *method)
{
	const char *bracket;

	if (method - name.data < 3 || method[-2] != ']')
		return false;
	bracket = last_before(name, method, " [");
	return bracket && bracket + 2 < method - 2 &&
	       !memchr(bracket + 2, ' ', (size_t)(method - 1 - bracket - 2));
}

void tapir_nettrace__add_method(struct tapir_str *out, struct tapir_sv name)
{
	const char *method = method_start(name);
	size_t before = method ? (size_t)(method - name.data) : 0;

	if (!method || has_module(name, method)) {
		tapir_str__add(out, name.data, name.len);
		return;
	}
	if (before)
		tapir_str__add(out, name.data, before);
	else
		tapir_str__adds(out, "? "); /* what it returns */
	tapir_str__adds(out, no_module);
	tapir_str__add(out, method, name.len - before);
}
