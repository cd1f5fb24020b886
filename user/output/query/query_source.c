// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Readers, memory and time of a statement. A statement that joins a table with itself reads the
 * file several times, so the recording is opened again for each pass.
 */
#include "output/query/query_source.h"

#include "base/clock.h"

void tapir_query_source__init(struct tapir_query_source *s, struct tapir_reader *first,
			      const struct tapir_query_opts *opts)
{
	*s = (struct tapir_query_source){.opts = *opts,
					 .first = first,
					 .start_ns = tapir_reader__stats(first)->created_ns,
					 .arena = {.max_bytes = TAPIR_QUERY_MAX_BYTES}};
	s->lists = (struct tapir_lists){
		.arena = &s->arena, .has_ended = tapir_query_source__has_ended, .ctx = s};
}

void tapir_query_source__fini(struct tapir_query_source *s)
{
	tapir_lists__fini(&s->lists);
	tapir_arena__fini(&s->arena);
}

int tapir_query_source__open(struct tapir_query_source *s, struct tapir_reader **out)
{
	if (s->is_first_used)
		return s->opts.open_again(s->opts.ctx, out);
	s->is_first_used = true;
	*out = s->first;
	return 0;
}

void tapir_query_source__close(struct tapir_query_source *s, struct tapir_reader *reader,
			       bool has_ended)
{
	if (reader == s->first)
		s->has_first_ended = has_ended;
	else
		tapir_reader__close(reader);
}

bool tapir_query_source__has_ended(void *ctx)
{
	struct tapir_query_source *s = ctx;

	return s->deadline_ns && tapir_clock__now_ns() > s->deadline_ns;
}

const struct tapir_list *tapir_query_source__list(struct tapir_query_source *s,
						  enum tapir_list_id id)
{
	struct tapir_reader *reader;

	if (s->lists.all[id].is_made)
		return &s->lists.all[id];
	s->err = tapir_query_source__open(s, &reader);
	if (s->err)
		return NULL;
	s->err = tapir_lists__make(&s->lists, id, reader);
	tapir_query_source__close(s, reader, !s->err);
	return s->err ? NULL : &s->lists.all[id];
}
