/* SPDX-License-Identifier: MIT */
/*
 * coreclr_abi.h - the runtime's profiling interface as far as it is used here: interface ids,
 * places in the tables of functions, and the structures that cross. Seen on .NET 8, 9 and 10;
 * Linux, 64 bit: every function is an ordinary C one whose first argument is the object.
 */
#ifndef TAPIR_CORECLR_ABI_H
#define TAPIR_CORECLR_ABI_H

#include <stdint.h>

#define CORECLR_OK		 0
#define CORECLR_FAIL		 ((int32_t)0x80004005u)
#define CORECLR_NO_INTERFACE	 ((int32_t)0x80004002u)
#define CORECLR_NULL_POINTER	 ((int32_t)0x80004003u)
#define CORECLR_INVALID_ARGUMENT ((int32_t)0x80070057u)
#define CORECLR_NO_AGGREGATION	 ((int32_t)0x80040110u)
#define CORECLR_NO_CLASS	 ((int32_t)0x80040111u)

struct coreclr_guid {
	uint32_t a;
	uint16_t b, c;
	uint8_t d[8];
};

/* Objects of the runtime: a pointer to a table of functions. */
struct coreclr_object {
	void *const *slots;
};

enum coreclr_slot {
	SLOT_QUERY_INTERFACE = 0,
	SLOT_ADD_REF = 1,
	SLOT_RELEASE = 2,
	/* ICorProfilerCallback to ICorProfilerCallback11 */
	SLOT_INITIALIZE = 3,
	SLOT_SHUTDOWN = 4,
	SLOT_INITIALIZE_FOR_ATTACH = 80,
	SLOT_DETACH_SUCCEEDED = 82,
	SLOT_EVENT_DELIVERED = 95,
	SLOT_PROVIDER_CREATED = 96,
	SLOT_LOAD_AS_NOTIFICATION_ONLY = 97,
	CALLBACK_SLOT_CNT = 98,
	/* ICorProfilerInfo to ICorProfilerInfo12 */
	SLOT_INFO_REQUEST_DETACH = 58,
	SLOT_INFO_SET_EVENT_MASK2 = 82,
	SLOT_INFO_START_SESSION = 101,
	SLOT_INFO_STOP_SESSION = 103,
	SLOT_INFO_PROVIDER_INFO = 105,
};

/* COR_PRF_HIGH_MONITOR_EVENT_PIPE */
#define CORECLR_HIGH_EVENT_PIPE 0x80u

/* COR_PRF_EVENTPIPE_PROVIDER_CONFIG; text is UTF-16 with its NUL. */
struct coreclr_provider_config {
	const uint16_t *name;
	uint64_t keywords;
	uint32_t level;
	uint32_t pad0;
	const uint16_t *filter; /* NULL: none */
};
_Static_assert(sizeof(struct coreclr_provider_config) == 32, "coreclr_provider_config");

#define CORECLR_CALL(object, slot, type, ...) ((type)(object)->slots[slot])(object, __VA_ARGS__)

static inline int32_t coreclr_query(struct coreclr_object *object, const struct coreclr_guid *iid,
				    void *out)
{
	typedef int32_t (*query)(void *, const void *, void *);

	return CORECLR_CALL(object, SLOT_QUERY_INTERFACE, query, iid, out);
}

static inline int32_t coreclr_info__set_event_mask(struct coreclr_object *info, uint32_t low,
						   uint32_t high)
{
	typedef int32_t (*set)(void *, uint32_t, uint32_t);

	return CORECLR_CALL(info, SLOT_INFO_SET_EVENT_MASK2, set, low, high);
}

static inline int32_t coreclr_info__start_session(struct coreclr_object *info, uint32_t cnt,
						  const struct coreclr_provider_config *configs,
						  uint64_t *session)
{
	typedef int32_t (*start)(void *, uint32_t, const void *, int32_t, uint64_t *);

	return CORECLR_CALL(info, SLOT_INFO_START_SESSION, start, cnt, configs, 0, session);
}

static inline int32_t coreclr_info__stop_session(struct coreclr_object *info, uint64_t session)
{
	typedef int32_t (*stop)(void *, uint64_t);

	return CORECLR_CALL(info, SLOT_INFO_STOP_SESSION, stop, session);
}

/* room and *cnt in units, the NUL among them. */
static inline int32_t coreclr_info__provider_name(struct coreclr_object *info, uintptr_t provider,
						  uint32_t room, uint32_t *cnt, uint16_t *name)
{
	typedef int32_t (*get)(void *, uintptr_t, uint32_t, uint32_t *, uint16_t *);

	return CORECLR_CALL(info, SLOT_INFO_PROVIDER_INFO, get, provider, room, cnt, name);
}

static inline int32_t coreclr_info__request_detach(struct coreclr_object *info, uint32_t ms)
{
	typedef int32_t (*request)(void *, uint32_t);

	return CORECLR_CALL(info, SLOT_INFO_REQUEST_DETACH, request, ms);
}

#endif
