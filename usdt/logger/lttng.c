/* SPDX-License-Identifier: MIT */
/*
 * lttng.c - loads a provider's LTTng-UST events. What `tapir-manifest --lttng` writes exports two
 * names, so that nothing here depends on lttng-ust:
 *
 *	const char tapir_lttng_provider[]	the provider whose events it knows
 *	void tapir_lttng_log(record, ctx)	a logger's function; ctx: struct tapir_lttng_tools
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "../provider/provider_impl.h"
#include "tapir/logger.h"

#define LIBRARY "libtapir-lttng-"

static void *load_module(const char *provider, const char *path)
{
	size_t bytes = sizeof(LIBRARY ".so") + strlen(provider);
	char *name = malloc(bytes);
	void *library = NULL;

	if (!name)
		return NULL;
	strcpy(stpcpy(stpcpy(name, LIBRARY), provider), ".so");
	/* The library registers tracepoints and has threads: it stays loaded. */
	library = dlopen(path ? path : name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	free(name);
	return library;
}

static int open_library(void *library, const char *provider, struct tapir_logger **out)
{
	static const struct tapir_lttng_tools tools = {sizeof(tools), tapir_payload__locate};
	const struct tapir_selection all = {provider, NULL, NULL, 0, 0, {0}};
	const char *of = dlsym(library, "tapir_lttng_provider");
	tapir_logger_fn fn = (tapir_logger_fn)dlsym(library, "tapir_lttng_log"); // NOLINT

	if (!of || !fn || strcmp(of, provider) != 0)
		return -EINVAL;
	return tapir_logger__open(&all, 1, fn, (void *)(uintptr_t)&tools, NULL, out);
}

int tapir_lttng__open(const char *provider, const char *path, struct tapir_logger **out)
{
	int saved = errno, err = -EINVAL;
	void *library;

	if (provider && *provider && !strpbrk(provider, "/*?") && out) {
		library = load_module(provider, path);
		err = library ? open_library(library, provider, out) : -ENOENT;
		if (library)
			dlclose(library);
	}
	errno = saved;
	return err;
}
