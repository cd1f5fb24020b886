/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view.h - a question to a recording: what it listens to on the timeline, and the result it makes
 * of it. One file each, view_*.c; a view prints nothing. One thread.
 */
#ifndef TAPIR_USER_VIEW_H
#define TAPIR_USER_VIEW_H

#include "analyze/view_result.h"
#include "analyze/timeline.h"
#include "spec/runtime_db/lore.h"
#include "trace/family.h"

/* The first member of each view's context. */
struct tapir_view_args {
	struct tapir_timeline *tl;
	const char *arg; /* borrowed; "": nothing */
	uint64_t top;	 /* how many of what it lists */
	bool failed;	 /* the view lacked memory: it has no result */
};

struct tapir_view_event {
	const char *provider, *event;
};

/*
 * The records that a view is made of, and how they are recorded: a result without anything says
 * that. They are events that it names, counts (counts), or whose pairs have a cause; and those of a
 * family, or of that alone.
 */
struct tapir_view_source {
	const char *description; /* "block requests"; NULL: ask not */
	/* The answer to "how": "`tapir record --io`", or a profile that is not the default, or
	 * SPECs. */
	const char *how;
	enum tapir_profile_id profile;
	const char *const *specs;
	const struct tapir_view_event *events; /* up to one without a name; NULL: none */
	enum tapir_cause cause;
	enum tapir_event_counts_id counts;
	enum tapir_family_id family; /* EVENT: none */
	bool is_alone;
};

/* A number of the context: a uint64_t, or a percentile of a struct tapir_histogram. */
struct tapir_view_fact {
	struct tapir_column column; /* a key of NULL ends the list */
	size_t off;
	double percent;	  /* 0: a uint64_t */
	size_t if_off;	  /* of a uint64_t: where that is 0, it is in no text; 0: it always is */
	bool is_optional; /* it is in no JSON, either */
};
/* The offset of a uint64_t. */
#define TAPIR_VIEW_NUMBER(type, member)                                                            \
	(offsetof(type, member) +                                                                  \
	 0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((type *)0)->member), uint64_t)   \
				 ? 1                                                               \
				 : -1]))

#define TAPIR_VIEW_FACT(of, member, key, title, type)                                              \
	.column = {key, title, TAPIR_CELL_##type}, .off = TAPIR_VIEW_NUMBER(of, member)
#define TAPIR_VIEW_PERCENTILE(of, member, key, title, nth)                                         \
	.column = {key, title, TAPIR_CELL_NS}, .off = offsetof(of, member), .percent = nth

/* The offset and size of the rows of a struct tapir_keyed. */
#define TAPIR_VIEW_ROWS(type, member) offsetof(type, member), sizeof(*((type *)0)->member.data)

/* Rows of the context, a struct tapir_keyed, of which those that come first by compare are shown.
 */
struct tapir_view_table {
	const char *key, *title; /* NULL ends the list; no title: it is the only one */
	const struct tapir_column *columns;
	size_t rows_off, row_bytes;
	int (*compare)(const void *, const void *);
	/* Adds the cells of a row to t. which: the table's index. */
	void (*write)(void *ctx, struct tapir_view_result *result, size_t t, unsigned which,
		      const void *row);
};

struct tapir_view {
	const char *name;
	const char *other_name; /* by which it is found, too; NULL: none */
	const char *summary;	/* half a line, for help */
	const char *arg;	/* "EVENT": it wants "name=EVENT"; NULL: none */
	bool is_of_traces;	/* it can be asked about one trace: not what is the process's */
	bool is_by_trace;	/* it is about traces in any case */
	struct tapir_timeline_fns fns;
	size_t ctx_bytes;	  /* struct tapir_view_args, and what follows it: zero at first */
	uint64_t default_top;	  /* if the user gives no number */
	void (*begin)(void *ctx); /* NULL: there is nothing more to set */
	const char *nothing;	  /* its headline where it found nothing; NULL: it has its own */
	size_t found_off; /* of a uint64_t: it found nothing where that is 0; 0: it says it */
	struct tapir_view_source source;
	const struct tapir_view_fact *facts;   /* NULL: none, or it adds its own */
	bool has_facts_of_nothing;	       /* zeros, where it found nothing */
	const struct tapir_view_table *tables; /* NULL: it writes its own */
	const char *unit;		       /* of what its tables had no row for: "signals" */
	/* After the timeline is finished. 0, or -errno with a diagnostic. */
	int (*finish)(void *ctx, struct tapir_view_result *result);
	void (*fini)(void *ctx); /* NULL: it holds nothing */
};

/* All views, in the order in which help and errors list them: analyze/view_NAME.c. */
#define TAPIR_VIEWS(X)                                                                             \
	X(cpu)                                                                                     \
	X(gc)                                                                                      \
	X(jit)                                                                                     \
	X(exceptions)                                                                              \
	X(contention)                                                                              \
	X(offcpu)                                                                                  \
	X(stacks)                                                                                  \
	X(stacks_end)                                                                              \
	X(threadpool)                                                                              \
	X(allocations)                                                                             \
	X(memory)                                                                                  \
	X(counters)                                                                                \
	X(requests)                                                                                \
	X(slow)                                                                                    \
	X(awaits)                                                                                  \
	X(io)                                                                                      \
	X(processes)                                                                               \
	X(net)                                                                                     \
	X(syscalls)                                                                                \
	X(tree)                                                                                    \
	X(signals)                                                                                 \
	X(kernel)                                                                                  \
	X(native_memory)                                                                           \
	/* A view is a row above this line. */

#define TAPIR_X(name) extern const struct tapir_view tapir_view_##name;
TAPIR_VIEWS(TAPIR_X)
#undef TAPIR_X
extern const struct tapir_view tapir_view_stacks_each; /* of 'tapir stacks' alone */

/*
 * The view's context, which listens with view->fns. top: 0 the view's own. arg: borrowed. NULL: no
 * memory.
 */
void *tapir_view__start(const struct tapir_view *view, struct tapir_timeline *tl, const char *arg,
			uint64_t top);
/*
 * Writes the result, with tables and facts of the view's descriptor. 0, or -errno with a
 * diagnostic.
 */
int tapir_view__finish(const struct tapir_view *view, void *ctx, struct tapir_view_result *result);
/*
 * Adds the note, to a view of waits or of what intervals are made of, that short waits are in sums
 * alone, if they are: after the view's finish.
 */
void tapir_view__note_sums(const struct tapir_view *view, const struct tapir_timeline *tl,
			   struct tapir_view_result *result);
void tapir_view__free(const struct tapir_view *view, void *ctx); /* accepts NULL */

/* ---- for views ------------------------------------------------------------------------------ */

#define TAPIR_COMM_TEXT_BYTES 16
void tapir_comm__copy(char out[TAPIR_COMM_TEXT_BYTES], struct tapir_sv comm); /* cut, terminated */

/*
 * Copies arguments, which NULs separate, as a command line of one line: blanks for NULs, none at
 * the end. Returns its length, at most size; it has no NUL at its end.
 */
size_t tapir_command_text__copy(char *out, size_t size, struct tapir_sv args);

/* "query select 1": what a thread was in. Yours to free; NULL: nothing, or out of memory. */
char *tapir_tl_thread__within(struct tapir_timeline *tl, const struct tapir_tl_thread *thread,
			      uint64_t at_ns);

/* "12.3 ms" */
#define TAPIR_NS_TEXT_BYTES 24
/* Writes a time as people read it, and returns text. */
const char *tapir_ns__text(uint64_t ns, char text[TAPIR_NS_TEXT_BYTES]);

#endif
