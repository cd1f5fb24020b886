/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dlopener [--wait] ROUNDS COUNT [PATH...] - fires dlopener:before(round), then opens the shared
 * object `plug` that lies beside it, lets it fire plug:hit COUNT times at once, and closes it;
 * ROUNDS times. With PATHs it opens these copies of `plug` instead, one a round.
 */
// build: -ldl
#include <dlfcn.h>

#include "target.h"

static const char *plug_path(void)
{
	static char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - sizeof("plug"));
	char *slash;

	if (len <= 0)
		target__die("/proc/self/exe");
	path[len] = 0;
	slash = strrchr(path, '/');
	strcpy(slash + 1, "plug");
	return path;
}

int main(int argc, char **argv)
{
	long rounds, hits;

	target__start(&argc, argv);
	rounds = target__number(argc, argv, 1, 1);
	hits = target__number(argc, argv, 2, 1);
	for (long round = 0; round < rounds; round++) {
		void (*fire)(long);
		void *plug;

		TAPIR_PROBE(dlopener, before, round);
		plug = dlopen(argc > 3 ? argv[3 + round % (argc - 3)] : plug_path(), RTLD_NOW);
		if (!plug || !(*(void **)&fire = dlsym(plug, "plug_fire"))) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		fire(hits);
		dlclose(plug);
	}
	printf("{\"before\": %ld, \"plug_fired\": %ld}\n", rounds, rounds * hits);
	return 0;
}
