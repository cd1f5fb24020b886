// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chooses how each runtime is queried. A recording that is not kept is neither compressed nor read
 * while it arrives, because the process waits for its reader.
 */
#include "heap/heap.h"

#include <errno.h>
#include <string.h>

#include "base/diag.h"
#include "base/file.h"
#include "decode/probe_name.h"
#include "heap/heap_ops.h"
#include "spec/runtime_db/lore.h"
#include "runtime/recognize.h"

#define NAME "the snapshot" /* in messages */

const char *tapir_heap__induced(const struct tapir_heap_snapshot *s)
{
	return s->gc_ns ? "tapir made the process collect all generations to list its objects"
			: "tapir made the process collect its heap to count its objects";
}

int tapir_heap__open(const char *path, struct tapir_heap_snapshot *out)
{
	struct tapir_reader *reader;
	int err = tapir_reader__open(path, &reader);

	if (err)
		return err;
	tapir_reader__complete_probes(reader, tapir_probe_name__complete);
	err = tapir_heap_snapshot__read(out, reader, path);
	tapir_reader__close(reader);
	return err;
}

/* ---- runtimes that list objects --------------------------------------------------------------------------------------- */

/*
 * A recording that is not kept is neither compressed nor read while it arrives: the process waits.
 */
static int take_by_events(const struct tapir_heap_request *request, struct tapir_heap_snapshot *out)
{
	struct tapir_heap_reading reading = {.tgid = request->tgid, .is_spooled = true};
	struct tapir_heap_record_opts opts = {
		.tgid = request->tgid,
		.max_pause_ns = request->max_pause_ns,
		.file = request->file,
		.on_record = request->file ? NULL : tapir_heap_reading__add,
		.ctx = &reading,
	};
	uint64_t lost_cnt = 0;
	int err = tapir_heap__record(&opts, &lost_cnt);

	if (err) {
		tapir_heap_reading__fini(&reading);
		return err;
	}
	if (request->file)
		return tapir_heap__open(request->file->path, out);
	if (reading.lost_cnt < lost_cnt)
		reading.lost_cnt = lost_cnt;
	return tapir_heap_snapshot__make(out, &reading, NAME);
}

/* ---- runtimes that are asked -------------------------------------------------------------------- */

static int fail_to_ask(uint32_t tgid)
{
	return tapir_diag__fail(-ESRCH, "process %u has ended, or runs something else now", tgid);
}

int tapir_heap__begin_live(uint32_t tgid, const char **note)
{
	const struct tapir_heap_ops *heap;
	int is_one = tapir_heap_ops__find(tgid, &heap);

	if (is_one <= 0)
		return is_one ? is_one : fail_to_ask(tgid);
	*note = heap->live_note;
	return heap->begin_live(tgid);
}

int tapir_heap__end_live(uint32_t tgid, struct tapir_heap_live *out)
{
	const struct tapir_heap_ops *heap;
	int is_one = tapir_heap_ops__find(tgid, &heap);

	if (is_one <= 0)
		return is_one ? is_one : fail_to_ask(tgid);
	return heap->end_live(tgid, out);
}

int tapir_heap__show_suspended(uint32_t tgid, uint64_t top, struct tapir_view_result *out)
{
	const struct tapir_heap_ops *heap;
	int is_one = tapir_heap_ops__find(tgid, &heap);

	if (is_one <= 0)
		return is_one ? is_one : fail_to_ask(tgid);
	return heap->suspended(tgid, top, out);
}

/* ---- all ---------------------------------------------------------------------------------------- */

/* what: "list the heap"; where its runtime has that instead is said, too. */
static int refuse(uint32_t tgid, const char *what, bool is_live)
{
	struct tapir_runtime_info info = {};
	int err = tapir_runtime__recognize(tgid, &info);
	const struct tapir_lore *lore = err ? NULL : tapir_lore__named(info.name);
	const char *from = !lore ? NULL : is_live ? lore->live_from : lore->heap_from;

	if (err)
		return err;
	return tapir_diag__fail(
		-EOPNOTSUPP, "cannot %s of process %u%s: it runs %s%s%s%s", what, tgid,
		is_live ? " are still alive" : "", info.name[0] ? info.name : "no known runtime",
		is_live ? "" : ", not .NET or a JVM", from ? "; " : "", from ? from : "");
}

enum tapir_heap_live_way tapir_heap__live_way(uint32_t tgid)
{
	enum tapir_heap_live_way way = TAPIR_HEAP_LIVE_NONE;
	const struct tapir_heap_ops *heap;
	int mark = tapir_diag__cnt();

	if (tapir_heap_ops__find(tgid, &heap) == 1)
		way = !heap->collect		? TAPIR_HEAP_LIVE_ASKED
		      : !heap->check_kind(tgid) ? TAPIR_HEAP_LIVE_DOTNET
						: TAPIR_HEAP_LIVE_NONE;
	tapir_diag__rewind(mark);
	return way;
}

int tapir_heap__refuse_live(uint32_t tgid)
{
	return refuse(tgid, "tell which sampled objects", true);
}

int tapir_heap__take(const struct tapir_heap_request *request, struct tapir_heap_snapshot *out)
{
	const struct tapir_heap_ops *heap;
	int is_one = tapir_heap_ops__find(request->tgid, &heap), err;

	if (is_one <= 0)
		return is_one ? is_one : refuse(request->tgid, "list the heap", false);
	if (!heap->collect)
		return heap->take(request, out);
	err = heap->check_kind(request->tgid);
	if (!err)
		err = heap->check_runs(request->tgid);
	return err ? err : take_by_events(request, out);
}
