// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dpkg's database: NAME.list, or NAME:ARCH.list, has a line for each file of package NAME. The
 * files are read themselves: dpkg(1) may be missing, as in a container.
 */
#include "symbol/symbol_package.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define DATABASE       "/var/lib/dpkg/info"
#define MAX_LIST_BYTES (16u << 20)

static const char *without_usr(struct tapir_sv path)
{
	return tapir_sv__starts_with(path, "/usr/") ? path.data + 4 : NULL;
}

static bool has_line(const char *text, size_t bytes, const char *line, size_t len)
{
	for (const char *at = text; (at = memmem(at, bytes - (size_t)(at - text), line, len)); at++)
		if ((at == text || at[-1] == '\n') &&
		    ((size_t)(at - text) + len == bytes || at[len] == '\n'))
			return true;
	return false;
}

/* Packages may have been made before /lib was a link to /usr/lib. */
static bool has_file(const char *list, size_t bytes, struct tapir_sv path)
{
	const char *old = without_usr(path);

	return has_line(list, bytes, path.data, path.len) ||
	       (old && has_line(list, bytes, old, path.len - 4));
}

static size_t name_len(const char *list_name)
{
	size_t len = strlen(list_name), colon = strcspn(list_name, ":");

	if (len < 5 || strcmp(list_name + len - 5, ".list") != 0)
		return 0;
	return colon < len - 5 ? colon : len - 5;
}

/* Debian makes NAME-dbgsym of each package, but of libc and CPython, which have their own. */
static void add_symbols_of(struct tapir_str *out, const char *name, size_t len)
{
	static const char *const pythons[] = {"python3.", "libpython3."};
	struct tapir_sv package = {name, len};

	for (size_t i = 0; i < sizeof(pythons) / sizeof(pythons[0]); i++)
		if (tapir_sv__starts_with(package, pythons[i])) {
			const char *version = name + strlen(pythons[i]);

			tapir_str__addf(out, "python3.%.*s-dbg", (int)strspn(version, "0123456789"),
					version);
			return;
		}
	tapir_str__add(out, name, len);
	tapir_str__adds(out, len == 5 && !memcmp(name, "libc6", 5) ? "-dbg" : "-dbgsym");
}

bool tapir_symbol_package__add(struct tapir_str *out, struct tapir_sv path, const char *database)
{
	const char *home = database ? database : DATABASE;
	bool is_line = path.len && !memchr(path.data, '\n', path.len);
	DIR *dir = is_line ? opendir(home) : NULL;
	struct dirent *entry;
	bool is_found = false;

	while (dir && !is_found && (entry = readdir(dir))) {
		size_t len = name_len(entry->d_name), bytes = 0;
		char list[4096], *text = NULL;

		if (!len ||
		    snprintf(list, sizeof(list), "%s/%s", home, entry->d_name) >= (int)sizeof(list))
			continue;
		is_found = !tapir_file__read(list, MAX_LIST_BYTES, &text, &bytes) &&
			   has_file(text, bytes, path);
		if (is_found)
			add_symbols_of(out, entry->d_name, len);
		free(text);
	}
	if (dir)
		closedir(dir);
	return is_found;
}
