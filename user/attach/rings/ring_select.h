/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_select.h - what SPECs request of a ring lane: the selections a process reads (tapir/ring.h),
 * and the decision about one event, by its PROBE record. Selections may let through more than was
 * requested, since a process knows fewer patterns than a SPEC: the reader decides again.
 *
 * Pure.
 */
#ifndef TAPIR_USER_RING_SELECT_H
#define TAPIR_USER_RING_SELECT_H

#include "spec/spec.h"
#include "attach/rings/ring_request.h"
#include "trace/record.h"

/*
 * Fills out with selections, after clearing it. Where there are more items than slots in it, a
 * provider has one for all that is requested of it. Returns true if every SPEC had its slot; else
 * only the reader (__classify) selects events of the providers that have none. Costs a pass over
 * specs for each.
 */
bool tapir_ring_select__fill(const struct tapir_spec_list *specs, struct tapir_ring_request *out);

/*
 * Returns true if a SPEC requests the event. matched has specs->cnt members, of which those of
 * SPECs that do are set and others are left as they are; or it is NULL. probe is borrowed for the
 * call; of its names 255 bytes count, of its file 4,095.
 */
bool tapir_ring_select__classify(const struct tapir_spec_list *specs, enum tapir_spec_zero zero,
				 const struct tapir_probe_view *probe, bool *matched);

#endif
