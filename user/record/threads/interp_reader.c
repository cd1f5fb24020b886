// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See interp_reader.h. The states of all threads are read once per copy of a process; a thread is
 * found by the id that it has in its own namespace.
 */
#include "record/threads/interp_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct tapir_interp_reader {
	const struct tapir_process_copy *of;
	struct tapir_process_memory memory;
	struct tapir_map state_by_tid; /* empty where it has no interpreter */
};

struct tapir_interp_reader *tapir_interp_reader__new(const struct tapir_process_copy *p)
{
	struct tapir_interp_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	reader->of = p;
	reader->memory = (struct tapir_process_memory){tapir_process_memory__read_fn,
						       (void *)(uintptr_t)&p->tgid};
	if (p->interpreter)
		p->interpreter->threads(p->interpreter_state, &reader->memory,
					&reader->state_by_tid);
	return reader;
}

void tapir_interp_reader__free(struct tapir_interp_reader *reader)
{
	if (!reader)
		return;
	tapir_map__fini(&reader->state_by_tid);
	free(reader);
}

int tapir_interp_reader__read(const struct tapir_interp_reader *reader,
			      struct tapir_thread_copy *copy)
{
	const struct tapir_rec_thread *thread = &copy->seen.thread;
	struct tapir_interp_function frames[TAPIR_MAX_FRAMES];
	const uint64_t *state_va = tapir_map__get(
		&reader->state_by_tid, tapir_number_of_thread(thread->tid, thread->ns_tid));
	const struct tapir_process_copy *p = reader->of;
	size_t cnt = state_va ? p->interpreter->functions(p->interpreter_state, &reader->memory,
							  *state_va, frames, TAPIR_MAX_FRAMES)
			      : 0;

	if (!cnt)
		return 0;
	copy->functions = malloc(cnt * sizeof(*frames));
	if (!copy->functions)
		return -ENOMEM;
	memcpy(copy->functions, frames, cnt * sizeof(*frames));
	copy->function_cnt = cnt;
	return 0;
}
