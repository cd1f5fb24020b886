// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * EVENT records: which kind, described once, and the payload. A runtime's events keep their own
 * numbers, by which readers know them; those of other probes get tapir's.
 */
#include <stdlib.h>
#include <string.h>

#include "output/export/nettrace_impl.h"

#define EVENT_ID_MAX	   65535u
#define METADATA_EVENTPIPE 1u /* tapir_rec_metadata.format */

/*
 * A hash of the parts of a probe's descriptions, without their times, which may differ when they
 * are repeated.
 */
static uint64_t description_hash(const struct tapir_rec_probe *probe,
				 const struct tapir_rec_metadata *metadata)
{
	uint64_t hash = tapir_hash__bytes(1, &probe->h + 1, probe->h.size - sizeof(probe->h));

	return metadata ? tapir_hash__bytes(hash, &metadata->h + 1,
					    metadata->h.size - sizeof(metadata->h))
			: hash;
}

/* A runtime's events have their own numbers; readers distinguish the others by tapir's. */
static uint32_t event_id(struct tapir_nettrace *n, const struct tapir_rec_probe *probe)
{
	uint32_t id = n->next_event_id;

	if (probe->encoding == TAPIR_ENCODING_PACKED)
		return probe->event_id;
	n->next_event_id = id == EVENT_ID_MAX ? 1 : id + 1;
	return id;
}

static void describe_kind(struct tapir_nettrace *n, struct tapir_nettrace_event_kind *kind,
			  const struct tapir_rec_metadata *metadata)
{
	struct tapir_nettrace_fields fields = {.opcode = -1};
	struct tapir_metadata_view blob;

	if (kind->rec->encoding == TAPIR_ENCODING_SLOTS) {
		tapir_nettrace_fields__of_probe(&fields, &kind->view);
	} else if (metadata && metadata->format == METADATA_EVENTPIPE) {
		tapir_metadata_view__of(&metadata->h, &blob);
		tapir_nettrace_fields__of_blob(&fields, blob.blob);
	}
	n->failed |= fields.bytes.failed;
	kind->metadata_id = n->next_metadata_id++;
	tapir_nettrace__put_metadata(
		&n->metadata, &(struct tapir_nettrace_metadata){.id = kind->metadata_id,
								.provider = kind->view.provider,
								.event = kind->view.event,
								.event_id = event_id(n, kind->rec),
								.keywords = kind->rec->keywords,
								.level = kind->rec->level,
								.version = kind->rec->version,
								.fields = &fields});
	tapir_str__fini(&fields.bytes);
}

static void renew_kind(struct tapir_nettrace *n, struct tapir_nettrace_event_kind *kind,
		       const struct tapir_rec_probe *probe)
{
	const struct tapir_rec_metadata *metadata =
		tapir_catalog__metadata(n->catalog, probe->probe_id);
	uint64_t hash = description_hash(probe, metadata);
	struct tapir_rec_probe *copy;

	kind->version = tapir_catalog__version(n->catalog);
	if (kind->rec && kind->hash == hash)
		return;
	copy = malloc(probe->h.size);
	if (!copy || !tapir_values__reserve(&n->values, &n->value_cap, probe->field_cnt + 1u)) {
		free(copy);
		n->failed = true;
		return;
	}
	memcpy(copy, probe, probe->h.size);
	free(kind->rec);
	kind->rec = copy;
	kind->hash = hash;
	tapir_probe_view__of(&copy->h, &kind->view);
	describe_kind(n, kind, metadata);
}

/* NULL: the probe is not described, or out of memory. */
static const struct tapir_nettrace_event_kind *nettrace_kind_of_probe(struct tapir_nettrace *n,
								      uint32_t probe_id)
{
	bool is_new = false;
	bool is_full = n->kinds.cnt >= TAPIR_NETTRACE_KINDS_MAX;
	uint64_t *idx = is_full ? tapir_map__get(&n->kind_by_probe, probe_id)
				: tapir_map__put(&n->kind_by_probe, probe_id, &is_new);
	const struct tapir_rec_probe *probe;
	struct tapir_nettrace_event_kind *kind;

	n->failed |= !idx && !is_full;
	if (!idx)
		return NULL;
	if (is_new) {
		*idx = n->kinds.cnt;
		n->failed |= !tapir_vec__add(&n->kinds);
	}
	if (n->failed)
		return NULL;
	kind = &n->kinds.data[*idx];
	if (kind->rec && kind->version == tapir_catalog__version(n->catalog))
		return kind;
	probe = tapir_catalog__probe(n->catalog, probe_id);
	if (probe)
		renew_kind(n, kind, probe);
	return kind->rec && !n->failed ? kind : NULL;
}

void tapir_nettrace__add_event(struct tapir_nettrace *n, const struct tapir_rec_event *ev)
{
	const struct tapir_nettrace_event_kind *kind = nettrace_kind_of_probe(n, ev->probe_id);
	struct tapir_nettrace_subject subject = {
		.tgid = ev->tgid, .tid = ev->tid, .cpu = ev->h.cpu};
	struct tapir_event_view view;

	tapir_event_view__of(&ev->h, &view);
	if (!kind || view.payload_bytes > TAPIR_NETTRACE_PAYLOAD_MAX_BYTES) {
		n->stats.too_long += kind != NULL;
		n->stats.undescribed += kind == NULL;
		n->sequence++; /* readers count it as lost */
		return;
	}
	subject.metadata_id = kind->metadata_id;
	subject.label_id = tapir_nettrace__label(n, &view);
	subject.stack_id =
		tapir_nettrace__stack(n, &(struct tapir_stack_ref){.tgid = ev->tgid,
								   .time_ns = ev->h.time_ns,
								   .stack_id = ev->stack_id,
								   .kstack_id = view.kstack_id});
	if (kind->rec->encoding == TAPIR_ENCODING_SLOTS) {
		unsigned cnt = tapir_fields__decode(&kind->view, &view, n->values, n->value_cap);

		tapir_nettrace__put_values(&n->payload, &kind->view, n->values, cnt);
	} else {
		tapir_nettrace__put(&n->payload, view.payload, view.payload_bytes);
	}
	tapir_nettrace__emit(n, &subject);
	n->stats.events++;
}
