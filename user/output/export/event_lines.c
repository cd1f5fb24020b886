// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The part that both forms share: probes with their prefixes, names of processes and frames. What a
 * line repeats is made once per probe, since `tapir events` prints millions of lines.
 */
#include "output/export/event_lines.h"

#include <stdlib.h>
#include <string.h>

#include "output/export/event_lines_impl.h"

/* A program without many probes; a hostile file may hold millions. */
#define PROBE_CNT_MAX 16384

static void add_mismatches(struct tapir_layout_mismatches *sum,
			   const struct tapir_line_probe *probe)
{
	const struct tapir_layout_mismatches *mismatches =
		probe->layout ? tapir_event_layout__mismatches(probe->layout)
			      : &(const struct tapir_layout_mismatches){};

	sum->short_cnt += mismatches->short_cnt;
	sum->long_cnt += mismatches->long_cnt;
	sum->unknown_cnt += mismatches->unknown_cnt;
}

static void free_probe(struct tapir_event_lines *l, struct tapir_line_probe *probe)
{
	if (!probe)
		return;
	add_mismatches(&l->mismatches, probe);
	tapir_str__fini(&probe->head);
	tapir_str__fini(&probe->keys);
	tapir_event_layout__free(probe->layout);
	free(probe->key_ends);
	free(probe->rec);
	free(probe);
}

static void forget_probes(struct tapir_event_lines *l)
{
	for (size_t i = 0; i < l->probes.cap; i++)
		if (l->probes.slots[i].used)
			free_probe(l, (void *)(uintptr_t)l->probes.slots[i].value);
	tapir_map__clear(&l->probes);
}

struct tapir_event_lines *tapir_event_lines__new(enum tapir_event_format format,
						 const struct tapir_catalog *catalog,
						 uint64_t start_ns)
{
	struct tapir_event_lines *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->format = format;
	l->catalog = catalog;
	l->start_ns = start_ns;
	l->utc_sec = UINT64_MAX;
	return l;
}

void tapir_event_lines__free(struct tapir_event_lines *lines)
{
	if (!lines)
		return;
	forget_probes(lines);
	tapir_map__fini(&lines->probes);
	tapir_str__fini(&lines->room);
	free(lines->values);
	free(lines);
}

struct tapir_layout_mismatches tapir_event_lines__mismatches(const struct tapir_event_lines *l)
{
	struct tapir_layout_mismatches sum = l->mismatches;

	for (size_t i = 0; i < l->probes.cap; i++)
		if (l->probes.slots[i].used && l->probes.slots[i].value)
			add_mismatches(&sum, (void *)(uintptr_t)l->probes.slots[i].value);
	return sum;
}

/* ---- probes ---------------------------------------------------------------------------------- */

static bool add_layout(struct tapir_event_lines *l, struct tapir_line_probe *probe)
{
	const struct tapir_rec_metadata *metadata;

	if (probe->rec->encoding != TAPIR_ENCODING_PACKED) {
		probe->key_cnt = probe->rec->field_cnt;
		return tapir_values__reserve(&l->values, &l->value_cap, probe->key_cnt + 1u);
	}
	metadata = tapir_catalog__metadata(l->catalog, probe->rec->probe_id);
	probe->has_metadata = metadata;
	if (tapir_event_layout__new(&probe->view, metadata, &probe->layout))
		return false;
	probe->key_cnt = tapir_event_layout__max(probe->layout) - 1;
	return tapir_values__reserve(&l->values, &l->value_cap, probe->key_cnt + 1u);
}

static struct tapir_line_probe *new_probe(struct tapir_event_lines *l,
					  const struct tapir_rec_probe *rec)
{
	struct tapir_line_probe *probe = calloc(1, sizeof(*probe));

	if (!probe)
		return NULL;
	probe->rec = malloc(rec->h.size);
	if (!probe->rec) {
		free_probe(l, probe);
		return NULL;
	}
	memcpy(probe->rec, rec, rec->h.size);
	tapir_probe_view__of(&probe->rec->h, &probe->view);
	if (add_layout(l, probe))
		probe->key_ends = calloc(probe->key_cnt + 1u, sizeof(*probe->key_ends));
	if (!probe->key_ends) {
		free_probe(l, probe);
		return NULL;
	}
	/*
	 * The parts that are the same in every line of this event are written once, and copied for
	 * each.
	 */
	if (l->format == TAPIR_EVENT_JSON)
		tapir_event_json__prepare(probe);
	else
		tapir_event_text__prepare(probe);
	if (probe->head.failed || probe->keys.failed) {
		free_probe(l, probe);
		return NULL;
	}
	return probe;
}

/* Repeated in another segment, a description has another time and is the same. */
static bool is_same_probe(const struct tapir_rec_probe *a, const struct tapir_rec_probe *b)
{
	return a->h.size == b->h.size &&
	       !memcmp(&a->probe_id, &b->probe_id, a->h.size - sizeof(a->h));
}

/* NULL: the probe is not described, or out of memory. */
static const struct tapir_line_probe *probe_of(struct tapir_event_lines *l, uint32_t probe_id)
{
	const struct tapir_rec_probe *rec = tapir_catalog__probe(l->catalog, probe_id);
	struct tapir_line_probe *probe;
	bool is_new = false;
	uint64_t *slot;

	if (!rec)
		return NULL;
	slot = tapir_map__get(&l->probes, probe_id);
	probe = slot ? (void *)(uintptr_t)*slot : NULL;
	if (probe && is_same_probe(probe->rec, rec) &&
	    (!probe->layout || probe->has_metadata ||
	     !tapir_catalog__metadata(l->catalog, probe_id)))
		return probe;
	if (l->probes.cnt >= PROBE_CNT_MAX)
		forget_probes(l);
	slot = tapir_map__put(&l->probes, probe_id, &is_new);
	if (!slot)
		return NULL;
	free_probe(l, (void *)(uintptr_t)*slot);
	probe = new_probe(l, rec);
	*slot = (uint64_t)(uintptr_t)probe;
	return probe;
}

/* ---- a line --------------------------------------------------------------------------------- */

void tapir_event_lines__add(struct tapir_event_lines *lines, const struct tapir_rec *rec,
			    struct tapir_str *out)
{
	if (!lines->start_ns)
		lines->start_ns = rec->time_ns;
	if (rec->type == TAPIR_REC_EVENT)
		lines->probe = probe_of(lines, ((const struct tapir_rec_event *)rec)->probe_id);
	else if (rec->type == TAPIR_REC_LOSS && ((const struct tapir_rec_loss *)rec)->probe_id)
		lines->probe = probe_of(lines, ((const struct tapir_rec_loss *)rec)->probe_id);
	else
		lines->probe = NULL;
	if (lines->format == TAPIR_EVENT_JSON)
		tapir_event_json__add(lines, rec, out);
	else
		tapir_event_text__add(lines, rec, out);
}

const struct tapir_value *tapir_event_lines__values(struct tapir_event_lines *lines,
						    const struct tapir_rec *rec, unsigned *cnt)
{
	const struct tapir_line_probe *probe =
		probe_of(lines, ((const struct tapir_rec_event *)rec)->probe_id);
	struct tapir_event_view view;

	if (!probe)
		return NULL;
	tapir_event_view__of(rec, &view);
	*cnt = tapir_line__decode(lines, probe, &view);
	return lines->values;
}

void tapir_event_lines__add_args(struct tapir_event_lines *lines, const struct tapir_rec *rec,
				 struct tapir_str *out)
{
	struct tapir_event_view view;

	lines->probe = probe_of(lines, ((const struct tapir_rec_event *)rec)->probe_id);
	if (!lines->probe) {
		tapir_str__adds(out, "{}");
		return;
	}
	tapir_event_view__of(rec, &view);
	tapir_event_json__add_args(lines, &view, out);
}
