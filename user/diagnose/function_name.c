// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parses names by the form that each runtime gives them: V8's "JS:*draw /srv/shop/shop.js:12:3",
 * CPython's "py::Shop.draw:/srv/shop/shop.py". A sentence needs the function alone, not its
 * arguments or its file.
 */
#include "diagnose/function_name.h"

#include <string.h>

#include "analyze/app_code.h"

/* A mark states how V8 runs it. Names that are read from the process (runtime/v8) may lack it. */
static size_t mark_len(const char *name)
{
	if (*name && strchr("~^+*", *name))
		return 1;
	return 0;
}

/* V8's "JS:*draw /srv/shop/shop.js:12:3"; name: after "JS:*". */
static void add_script_name(const char *name, struct tapir_str *out)
{
	const char *path = strrchr(name, '/');
	size_t len = strcspn(name, " ");

	tapir_str__add_printable(out, len ? name : "a function", len ? len : 10);
	if (name[len] && path)
		tapir_str__addf(out, " ");
	if (name[len])
		tapir_str__add_printable(out, path ? path + 1 : name + len,
					 strlen(path ? path + 1 : name + len));
}

/* CPython's "py::Shop.draw:/srv/shop/shop.py"; name: after "py::". */
static void add_python_name(const char *name, struct tapir_str *out)
{
	const char *path = strchr(name, ':'), *slash;

	tapir_str__add_printable(out, name, path ? (size_t)(path - name) : strlen(name));
	if (!path)
		return;
	slash = strrchr(path, '/');
	path = slash ? slash + 1 : path + 1;
	tapir_str__addc(out, ' ');
	tapir_str__add_printable(out, path, strlen(path));
}

/* PHP's "php::Shop::draw:/srv/shop/shop.php"; name: after "php::". */
static void add_php_name(const char *name, struct tapir_str *out)
{
	const char *path = strrchr(name, ':'), *slash = strrchr(name, '/');
	size_t len = path && path > name && path[-1] != ':' ? (size_t)(path - name) : strlen(name);

	tapir_str__add_printable(out, name, len);
	if (!name[len])
		return;
	path = slash && slash > path ? slash + 1 : path + 1;
	tapir_str__addc(out, ' ');
	tapir_str__add_printable(out, path, strlen(path));
}

/* Ruby's "rb::block in Shop#draw:/srv/shop/shop.rb:12"; name: after "rb::". */
static void add_ruby_name(const char *name, struct tapir_str *out)
{
	size_t len = strlen(name), at = len, path;

	while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	if (at == len || !at || name[--at] != ':')
		at = len; /* there is no line */
	while (at && name[at - 1] != ':')
		at--;
	if (!at) {
		tapir_str__add_printable(out, name, len);
		return;
	}
	tapir_str__add_printable(out, name, at - 1);
	for (path = len; path > at && name[path - 1] != '/'; path--)
		;
	tapir_str__addc(out, ' ');
	tapir_str__add_printable(out, name + path, len - path);
}

/* A hidden class of a JVM has an address in its name: "Shop$$Lambda$3/0x00007f2224002c00.call()".
 */
static void add_qualified_method(const char *name, struct tapir_str *out)
{
	const char *address = strstr(name, "/0x");
	size_t len = address ? (size_t)(address - name) : strlen(name);

	tapir_str__add_printable(out, name, len);
	if (!address)
		return;
	address += 3 + strspn(address + 3, "0123456789abcdef");
	tapir_str__add_printable(out, address, strlen(address));
}

/* The length of the text as far as the '>' that closes it; all of it if none does. */
static size_t arguments_len(const char *text)
{
	size_t depth = 0, i;

	for (i = 0; text[i]; i++) {
		if (text[i] == '<')
			depth++;
		else if (text[i] == '>' && text[i - (i > 0)] != '-' && !depth--)
			break;
	}
	return i;
}

/*
 * The function that a thread of C++ runs, from the name of the library's function. NULL: it is not
 * one of those.
 */
static const char *function_of_thread(const char *name, size_t *len)
{
	static const char thread[] = "std::thread::_State_impl<", tuple[] = "std::tuple<";
	const char *begin;

	if (strncmp(name, thread, sizeof(thread) - 1) != 0)
		return NULL;
	begin = strstr(name, tuple);
	if (!begin)
		return NULL;
	begin += sizeof(tuple) - 1;
	*len = arguments_len(begin);
	while (*len && begin[*len - 1] == ' ')
		--*len;
	return begin;
}

static bool is_operator(const char *name, const char *at)
{
	while (at > name && (at[-1] == '<' || at[-1] == '='))
		at--;
	return at - name >= 8 && !memcmp(at - 8, "operator", 8);
}

/* "std::map<...>::insert<...>" */
static void add_template(const char *name, struct tapir_str *out)
{
	const char *at = name, *next;

	/* Rust's begin with one: "<shop::Cart as core::ops::Drop>::drop". */
	while ((next = strchr(at + (at == name), '<')) != NULL) {
		tapir_str__add_printable(out, at, (size_t)(next - at));
		at = next + 1;
		if (is_operator(name, next)) {
			tapir_str__addc(out, '<');
			continue;
		}
		tapir_str__adds(out, "<...");
		at += arguments_len(at);
	}
	tapir_str__add_printable(out, at, strlen(at));
}

static void add_native(const char *name, struct tapir_str *out)
{
	size_t len = 0;
	const char *run = function_of_thread(name, &len);

	if (len)
		tapir_str__add_printable(out, run, len);
	else
		add_template(name, out);
}

void tapir_function_name__add(const char *name, struct tapir_str *out)
{
	static const char *const marks[] = {"JS:", "LazyCompile:", "Function:"};
	const char *text = tapir_app_code__without_type(name);

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		size_t len = strlen(marks[i]);

		if (strncmp(text, marks[i], len) != 0 || !text[len] || text[len] == ':' ||
		    (i && !mark_len(text + len)))
			continue;
		add_script_name(text + len + mark_len(text + len), out);
		return;
	}
	if (!strncmp(text, "py::", 4))
		add_python_name(text + 4, out);
	else if (!strncmp(text, "php::", 5))
		add_php_name(text + 5, out);
	else if (!strncmp(text, "rb::", 4))
		add_ruby_name(text + 4, out);
	else if (strstr(text, "::"))
		add_native(text, out);
	else
		add_qualified_method(text, out);
}
