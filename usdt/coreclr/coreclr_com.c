/* SPDX-License-Identifier: MIT */
/*
 * coreclr_com.c - the interface to the runtime: the exported DllGetClassObject, a class factory,
 * and the callback object, one of each. It registers as a notification profiler, so that it
 * coexists with others. Attached to a running process it gets its lane's key by client data;
 * started with the process, by its environment.
 *
 * A session left by another profiler may deliver events before Initialize: the gate of
 * coreclr_memory.c is closed then.
 */
#include <stdlib.h>
#include <string.h>

#include "../ring/ring_writer.h"
#include "coreclr_impl.h"

#define ATTACH_OPEN_NS 10000000000ull
#define START_OPEN_NS  60000000000ull
#define START_AWAIT_NS 1000000000ull /* the program waits for it, if no tracer comes */

static const struct coreclr_guid clsid = {
	0x2f8d5b1a, 0x7c46, 0x4e03, {0x9a, 0x57, 0x74, 0x61, 0x70, 0x69, 0x72, 0xc1}};
static const struct coreclr_guid iid_unknown = {0x00000000, 0, 0, {0xc0, 0, 0, 0, 0, 0, 0, 0x46}};
static const struct coreclr_guid iid_class_factory = {
	0x00000001, 0, 0, {0xc0, 0, 0, 0, 0, 0, 0, 0x46}};
static const struct coreclr_guid iid_info12 = {
	0x27b24ccd, 0x1cb1, 0x47c5, {0x96, 0xee, 0x98, 0x19, 0x0d, 0xc3, 0x09, 0x59}};
/* ICorProfilerCallback, 2 ... 11 */
static const struct coreclr_guid iid_callbacks[] = {
	{0x176fbed1, 0xa55c, 0x4796, {0x98, 0xca, 0xa9, 0xda, 0x0e, 0xf8, 0x83, 0xe7}},
	{0x8a8cc829, 0xccf2, 0x49fe, {0xbb, 0xae, 0x0f, 0x02, 0x22, 0x28, 0x07, 0x1a}},
	{0x4fd2ed52, 0x7731, 0x4b8d, {0x94, 0x69, 0x03, 0xd2, 0xcc, 0x30, 0x86, 0xc5}},
	{0x7b63b2e3, 0x107d, 0x4d48, {0xb2, 0xf6, 0xf6, 0x1e, 0x22, 0x94, 0x70, 0xd2}},
	{0x8dfba405, 0x8c9f, 0x45f8, {0xbf, 0xfa, 0x83, 0xb1, 0x4c, 0xef, 0x78, 0xb5}},
	{0xfc13df4b, 0x4448, 0x4f4f, {0x95, 0x0c, 0xba, 0x8d, 0x19, 0xd0, 0x0c, 0x36}},
	{0xf76a2dba, 0x1d52, 0x4539, {0x86, 0x6c, 0x2a, 0xa5, 0x18, 0xf9, 0xef, 0xc3}},
	{0x5bed9b15, 0xc079, 0x4d47, {0xbf, 0xe2, 0x21, 0x5a, 0x14, 0x0c, 0x07, 0xe0}},
	{0x27583ec3, 0xc8f5, 0x482f, {0x80, 0x52, 0x19, 0x4b, 0x8c, 0xe4, 0x70, 0x5a}},
	{0xcec5b60e, 0xc69c, 0x495f, {0x87, 0xf6, 0x84, 0xd2, 0x8e, 0xe1, 0x6f, 0xfb}},
	{0x42350846, 0xaaed, 0x47f7, {0xb1, 0x28, 0xfd, 0x0c, 0x98, 0x88, 0x1c, 0xde}},
};

static int is_guid(const struct coreclr_guid *a, const struct coreclr_guid *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* ---- IUnknown: the objects are static ---------------------------------------------------------- */

static uint32_t count_nothing(void *self)
{
	(void)self;
	return 1;
}

static int32_t query_callback(void *self, const struct coreclr_guid *iid, void **out)
{
	int is_known = is_guid(iid, &iid_unknown);

	if (!out)
		return CORECLR_NULL_POINTER;
	for (size_t i = 0; i < sizeof(iid_callbacks) / sizeof(iid_callbacks[0]); i++)
		is_known |= is_guid(iid, &iid_callbacks[i]);
	*out = is_known ? self : NULL;
	return is_known ? CORECLR_OK : CORECLR_NO_INTERFACE;
}

/* ---- ICorProfilerCallback11 --------------------------------------------------------------------- */

static int32_t ignore(void *self)
{
	(void)self;
	return CORECLR_OK;
}

static int32_t begin_session(struct coreclr_object *unknown, uint64_t key, uint64_t open_within_ns,
			     uint64_t await_ns)
{
	static uint32_t is_used;
	struct coreclr_object *info = NULL;

	/* This copy of the library is one tracer's, once. */
	if (__atomic_exchange_n(&is_used, 1, __ATOMIC_ACQ_REL))
		return CORECLR_FAIL;
	if (!unknown || coreclr_query(unknown, &iid_info12, &info) < 0 || !info)
		return CORECLR_NO_INTERFACE;
	coreclr.info = info;
	coreclr.key = key;
	if (coreclr_memory__init() || coreclr_providers__init() || coreclr_kinds__init() ||
	    tapir_ring__init_private(key) || coreclr_repair__start() ||
	    coreclr_info__set_event_mask(info, 0, CORECLR_HIGH_EVENT_PIPE) < 0 ||
	    coreclr_control__start(open_within_ns, await_ns)) {
		coreclr_repair__stop();
		tapir_ring__fini();
		coreclr_memory__fini();
		return CORECLR_FAIL;
	}
	return CORECLR_OK;
}

/* 0: no key. */
static uint64_t coreclr_env_key(const char *text)
{
	uint64_t key = 0;

	for (; text && *text; text++) {
		uint32_t c = (uint8_t)*text, low = c | 0x20;

		if (c >= '0' && c <= '9')
			key = key << 4 | (c - '0');
		else if (low >= 'a' && low <= 'f')
			key = key << 4 | (low - 'a' + 10);
		else
			return 0;
	}
	return key;
}

static int32_t initialize(void *self, struct coreclr_object *unknown)
{
	uint64_t key = coreclr_env_key(getenv(TAPIR_CORECLR_KEY_ENV));

	(void)self;
	return key ? begin_session(unknown, key, START_OPEN_NS, START_AWAIT_NS)
		   : CORECLR_INVALID_ARGUMENT;
}

static int32_t initialize_for_attach(void *self, struct coreclr_object *unknown, const void *data,
				     uint32_t len)
{
	struct tapir_coreclr_client client;

	(void)self;
	if (!data || len < sizeof(client))
		return CORECLR_INVALID_ARGUMENT;
	memcpy(&client, data, sizeof(client));
	if (client.magic != TAPIR_CORECLR_MAGIC || client.version != TAPIR_CORECLR_VERSION ||
	    !client.key)
		return CORECLR_INVALID_ARGUMENT;
	return begin_session(unknown, client.key, ATTACH_OPEN_NS, 0);
}

static int32_t shut_down(void *self)
{
	(void)self;
	coreclr_store_release(&coreclr.is_shut_down, 1);
	coreclr_wakeup();
	return CORECLR_OK;
}

/* The runtime unloads the library when this returns: the control thread must be out of it. */
static int32_t detach_succeeded(void *self)
{
	(void)self;
	coreclr_control__join();
	return CORECLR_OK;
}

static int32_t provider_created(void *self, uintptr_t provider)
{
	(void)self;
	/*
	 * The thread may sleep in the runtime, which proves nothing to coreclr_quiescence.c: so it
	 * is counted.
	 */
	__atomic_fetch_add(&coreclr.inside_cnt, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(coreclr.gate, __ATOMIC_SEQ_CST))
		coreclr_kinds__provider_created(provider);
	__atomic_fetch_sub(&coreclr.inside_cnt, 1, __ATOMIC_RELEASE);
	return CORECLR_OK;
}

static int32_t load_as_notification_only(void *self, int32_t *is_notification_only)
{
	(void)self;
	*is_notification_only = 1;
	return CORECLR_OK;
}

/* Filled when first requested: static tables of functions of different types. */
static void *callback_slots[CALLBACK_SLOT_CNT];
static struct coreclr_object callback = {callback_slots};

static void fill_callback(void)
{
	for (size_t i = 0; i < CALLBACK_SLOT_CNT; i++)
		callback_slots[i] = (void *)ignore;
	callback_slots[SLOT_QUERY_INTERFACE] = (void *)query_callback;
	callback_slots[SLOT_ADD_REF] = (void *)count_nothing;
	callback_slots[SLOT_RELEASE] = (void *)count_nothing;
	callback_slots[SLOT_INITIALIZE] = (void *)initialize;
	callback_slots[SLOT_SHUTDOWN] = (void *)shut_down;
	callback_slots[SLOT_INITIALIZE_FOR_ATTACH] = (void *)initialize_for_attach;
	callback_slots[SLOT_DETACH_SUCCEEDED] = (void *)detach_succeeded;
	callback_slots[SLOT_EVENT_DELIVERED] = (void *)coreclr_event__deliver;
	callback_slots[SLOT_PROVIDER_CREATED] = (void *)provider_created;
	callback_slots[SLOT_LOAD_AS_NOTIFICATION_ONLY] = (void *)load_as_notification_only;
}

/* ---- IClassFactory ---------------------------------------------------------------------------- */

static int32_t query_factory(void *self, const struct coreclr_guid *iid, void **out)
{
	int is_known = is_guid(iid, &iid_unknown) || is_guid(iid, &iid_class_factory);

	if (!out)
		return CORECLR_NULL_POINTER;
	*out = is_known ? self : NULL;
	return is_known ? CORECLR_OK : CORECLR_NO_INTERFACE;
}

static int32_t create_instance(void *self, void *outer, const struct coreclr_guid *iid, void **out)
{
	(void)self;
	if (!out)
		return CORECLR_NULL_POINTER;
	*out = NULL;
	if (outer)
		return CORECLR_NO_AGGREGATION;
	fill_callback();
	return query_callback(&callback, iid, out);
}

static int32_t lock_server(void *self, int32_t is_locked)
{
	(void)self;
	(void)is_locked;
	return CORECLR_OK;
}

static void *const factory_slots[] = {
	(void *)query_factory,	 (void *)count_nothing, (void *)count_nothing,
	(void *)create_instance, (void *)lock_server,
};
static struct coreclr_object factory = {factory_slots};

__attribute__((visibility("default"))) int32_t
DllGetClassObject(const struct coreclr_guid *class_id, const struct coreclr_guid *iid, void **out);

int32_t DllGetClassObject(const struct coreclr_guid *class_id, const struct coreclr_guid *iid,
			  void **out)
{
	if (!out || !class_id || !iid)
		return CORECLR_NULL_POINTER;
	*out = NULL;
	if (!is_guid(class_id, &clsid))
		return CORECLR_NO_CLASS;
	return query_factory(&factory, iid, out);
}
