// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See heap_async_types.h. Names were seen in the heaps of .NET 8 to 11.
 */
#include "heap/heap_async_types.h"

#include <ctype.h>
#include <string.h>

#include "symbol/dotnet_name.h"

static const struct tapir_heap_async_type types[] = {
	{"*StateMachineBox<*", TAPIR_HEAP_ASYNC_METHOD, NULL},
	{"<*>d__*", TAPIR_HEAP_ASYNC_STEP, NULL},
	{"<<*>*>d", TAPIR_HEAP_ASYNC_STEP, NULL},
	{"<<*>*>d<*", TAPIR_HEAP_ASYNC_STEP, NULL},
	{"TaskNode", TAPIR_HEAP_ASYNC_TASK, "a semaphore"},
	{"DelayPromise*", TAPIR_HEAP_ASYNC_TASK, "a delay"},
	{"System.Threading.Channels.*AsyncOperation*", TAPIR_HEAP_ASYNC_TASK, "a channel"},
	{"AwaitableSocketAsyncEventArgs", TAPIR_HEAP_ASYNC_TASK, "a socket"},
	{"*.SocketReceiver", TAPIR_HEAP_ASYNC_TASK, "a socket"},
	{"*.SocketSender", TAPIR_HEAP_ASYNC_TASK, "a socket"},
	{"DefaultPipe*er", TAPIR_HEAP_ASYNC_TASK, "a pipe"},
	{"WhenAllPromise*", TAPIR_HEAP_ASYNC_COMBINED, "Task.WhenAll"},
	{"*WhenAnyPromise*", TAPIR_HEAP_ASYNC_COMBINED, "Task.WhenAny"},
	{"CompleteOnInvokePromise*", TAPIR_HEAP_ASYNC_COMBINED, "Task.WhenAny"},
	{"UnwrapPromise<*", TAPIR_HEAP_ASYNC_COMBINED, "Task.Run"},
	{"CancellationPromise<*", TAPIR_HEAP_ASYNC_COMBINED, "Task.WaitAsync"},
	{"System.Threading.Tasks.Task", TAPIR_HEAP_ASYNC_TASK, "a task"},
	{"System.Threading.Tasks.Task<*", TAPIR_HEAP_ASYNC_TASK, "a task"},
	{"*HttpConnectionWaiter<*", TAPIR_HEAP_ASYNC_SOURCE, "a free connection"},
	{"System.Threading.Tasks.TaskCompletionSource*", TAPIR_HEAP_ASYNC_SOURCE,
	 "a TaskCompletionSource"},
	{"System.Threading.SemaphoreSlim", TAPIR_HEAP_ASYNC_SEMAPHORE, "a semaphore"},
	{"System.Collections.Generic.List<System.Object>", TAPIR_HEAP_ASYNC_LINK, NULL},
	{"System.Object\\[\\]", TAPIR_HEAP_ASYNC_LINK, NULL},
	{"*TaskContinuation", TAPIR_HEAP_ASYNC_LINK, NULL},
	{"System.Action", TAPIR_HEAP_ASYNC_LINK, NULL},
	{"System.IO.Pipelines.Pipe", TAPIR_HEAP_ASYNC_LINK, NULL},
};
static const struct tapir_heap_async_type other = {"*", TAPIR_HEAP_ASYNC_OTHER, NULL};

const struct tapir_heap_async_type *tapir_heap_async_type__of(const char *name)
{
	for (size_t i = 0; name && i < sizeof(types) / sizeof(types[0]); i++)
		if (tapir_glob__match(types[i].pattern, name))
			return &types[i];
	return &other;
}

/* ---- names ------------------------------------------------------------------------------------ */

/*
 * The last type argument of "AsyncStateMachineBox<System.String, Shop+<Pay>d__3>": its state
 * machine.
 */
static struct tapir_sv step_of(const char *box)
{
	const char *open = strchr(box, '<'), *from = open ? open + 1 : NULL;
	size_t depth = 0, len = strlen(box);
	struct tapir_sv none = {};

	if (!open || box[len - 1] != '>')
		return none;
	for (const char *at = from; at < box + len - 1; at++) {
		depth += *at == '<';
		depth -= *at == '>' && depth;
		if (*at == ',' && !depth)
			from = at + 1 + (at[1] == ' ');
	}
	return (struct tapir_sv){from, (size_t)(box + len - 1 - from)};
}

/* Leaves out the type arguments of "Shop+<Pay>d__3<System.Int32>". */
static size_t without_args(struct tapir_sv step)
{
	for (size_t at = 0; at + 2 < step.len; at++) {
		size_t end = at + 2;

		if (step.data[at] != '>' || step.data[at + 1] != 'd')
			continue;
		while (end < step.len &&
		       (step.data[end] == '_' || isdigit((unsigned char)step.data[end])))
			end++;
		if (end < step.len && step.data[end] == '<')
			return end;
	}
	return step.len;
}

void tapir_heap_async_type__add_method(struct tapir_str *out, const char *name)
{
	static const char as_written[] = " (async)";
	struct tapir_sv step = step_of(name), tier;
	size_t before = out->len, len = sizeof(as_written) - 1;
	struct tapir_str raw = {};
	bool is_named = false;

	if (step.len) {
		tapir_str__adds(&raw, "instance void ");
		tapir_str__add(&raw, step.data, without_args(step));
		tapir_str__adds(&raw, "::MoveNext()[Any]");
		is_named = !raw.failed &&
			   tapir_dotnet_name__add(out, (struct tapir_sv){raw.data, raw.len}, &tier);
	}
	if (is_named && !out->failed &&
	    (out->len < before + len || strcmp(out->data + out->len - len, as_written))) {
		out->len = before;
		is_named = false;
	}
	if (!is_named)
		tapir_str__adds(out, name);
	out->failed |= raw.failed;
	tapir_str__fini(&raw);
}

bool tapir_heap_async_type__is_step_of(const char *step, const char *box)
{
	struct tapir_sv of = step_of(box);
	size_t len = strlen(step);

	return len && of.len > len && of.data[of.len - len - 1] == '+' &&
	       !memcmp(of.data + of.len - len, step, len);
}
