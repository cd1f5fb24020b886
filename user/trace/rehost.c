// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every id is moved by the same distance, so that two records that name one process do so
 * afterwards, too, and moving back is exact. 0 is no process and stays, but where it is the kernel.
 */
#include "trace/rehost.h"

#include <stddef.h>
#include <string.h>

#include "trace/record.h"
#include "trace/schema.h"

enum member_kind {
	MEMBER_END,
	MEMBER_ID,     /* of a process or thread */
	MEMBER_OWNER,  /* the same; 0 is the kernel, or the machine */
	MEMBER_TIME,   /* 0 and UINT64_MAX stay */
	MEMBER_PROBE,  /* 0: of no probe */
	MEMBER_FILE,   /* moved if it is a kernel's: two hosts have theirs at different addresses */
	MEMBER_COOKIE, /* of a socket */
	MEMBER_NETNS
};

struct moved_member {
	uint16_t offset;
	uint8_t kind; /* enum place_kind */
};

#define MEMBERS_MAX 8

static struct moved_member moved_members[TAPIR_REC_TYPE_CNT][MEMBERS_MAX + 1];

/* Members that last, where others whose names end so are moments. */
static const char *const durations[] = {"interval_ns", "queue_ns", "device_ns",
					"sum_ns",      "max_ns",   "run_ns"};

static bool ends_with(const char *text, const char *end)
{
	return tapir_sv__ends_with(tapir_sv__of(text), end);
}

static bool is_moment(const char *name)
{
	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++)
		if (!strcmp(name, durations[i]))
			return false;
	return ends_with(name, "_ns");
}

/* Returns true if tgid 0 is the kernel, or the machine. */
static bool is_owned(unsigned type)
{
	return type == TAPIR_REC_MAPPING || type == TAPIR_REC_JIT || type == TAPIR_REC_INLINED ||
	       type == TAPIR_REC_COUNTER || type == TAPIR_REC_GAP;
}

/* abi.h names ids and times of all records alike. */
static uint8_t rehosted_member_kind(unsigned type, const char *name)
{
	if (!strncmp(name, "ns_", 3)) /* in the process's own pid namespace */
		return MEMBER_END;
	if (!strcmp(name, "tgid") && is_owned(type))
		return MEMBER_OWNER;
	if (ends_with(name, "tgid") || ends_with(name, "tid"))
		return MEMBER_ID;
	if (is_moment(name))
		return MEMBER_TIME;
	return !strcmp(name, "probe_id")     ? MEMBER_PROBE
	       : !strcmp(name, "file_id")    ? MEMBER_FILE
	       : !strcmp(name, "connection") ? MEMBER_COOKIE
	       : !strcmp(name, "netns")	     ? MEMBER_NETNS
					     : MEMBER_END;
}

static void add_moved_member(unsigned type, const struct tapir_member *member)
{
	uint8_t kind = rehosted_member_kind(type, member->name);
	struct moved_member *at = moved_members[type];

	while (at->kind && at->offset != member->offset)
		at++;
	if (kind && !at->kind && at < moved_members[type] + MEMBERS_MAX)
		*at = (struct moved_member){member->offset, kind};
}

/* Made before main, so that no caller needs a lock. What only a merged recording has stays. */
__attribute__((constructor)) static void list_moved_members(void)
{
	for (unsigned type = 1; type < TAPIR_REC_TYPE_CNT; type++) {
		const struct tapir_member *m = tapir_schemas[type].members;

		for (; type != TAPIR_REC_CLOCK && type != TAPIR_REC_HOST && !tapir_member__ends(m);
		     m++)
			if (m->name)
				add_moved_member(type, m);
	}
}

static const struct moved_member *moved_members_of(unsigned type)
{
	return moved_members[type < TAPIR_REC_TYPE_CNT ? type : TAPIR_REC_NONE];
}

/* In the upper bits, which the kernel's counters and hashes' marks do not reach. */
static uint64_t cookie_bits(uint32_t host)
{
	return (uint64_t)host << 56;
}

static uint32_t get_id(const struct tapir_rec *rec, unsigned offset)
{
	uint32_t id;

	memcpy(&id, (const char *)rec + offset, sizeof(id));
	return id;
}

static bool has_sound_ids(const struct tapir_rehost *rehost, const struct tapir_rec *rec)
{
	for (const struct moved_member *p = moved_members_of(rec->type); p->kind; p++) {
		bool is_id = p->kind == MEMBER_ID || p->kind == MEMBER_OWNER;

		if (rehost->host && is_id && get_id(rec, p->offset) >= TAPIR_HOST_PIDS)
			return false;
		if (p->kind == MEMBER_PROBE &&
		    get_id(rec, p->offset) >= TAPIR_HOST_PIDS - rehost->first_probe)
			return false;
	}
	return true;
}

static void move_id(const struct tapir_rehost *rehost, uint8_t kind, void *at, bool is_back)
{
	uint32_t id, by = rehost->host * TAPIR_HOST_PIDS;

	memcpy(&id, at, sizeof(id));
	if (kind == MEMBER_PROBE)
		by += rehost->first_probe;
	if (kind == MEMBER_NETNS)
		id ^= rehost->host << 20;
	else if (id || kind == MEMBER_OWNER)
		id = is_back ? id - by : id + by;
	memcpy(at, &id, sizeof(id));
}

static uint64_t moved_ns(const struct tapir_rehost *rehost, uint64_t ns, bool is_back)
{
	if (!ns || ns == UINT64_MAX)
		return ns;
	return is_back ? ns - rehost->shift_ns : ns + rehost->shift_ns;
}

static void move_u64(const struct tapir_rehost *rehost, uint8_t kind, void *at, bool is_back)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	if (kind == MEMBER_TIME)
		value = moved_ns(rehost, value, is_back);
	else if (kind == MEMBER_COOKIE)
		value ^= cookie_bits(rehost->host);
	else if (rehost->kernel_files && tapir_map__get(rehost->kernel_files, value))
		value ^= cookie_bits(rehost->host);
	memcpy(at, &value, sizeof(value));
}

/* When a whole wait began is behind the fixed part. */
static void move_wait(const struct tapir_rehost *rehost, struct tapir_rec_switch *rec, bool is_back)
{
	struct tapir_switch_wait *wait = (void *)(rec + 1);

	if (rec->flags & TAPIR_SWITCH_WAITED && rec->h.size >= sizeof(*rec) + sizeof(*wait))
		move_u64(rehost, MEMBER_TIME, &wait->since_ns, is_back);
}

static void move(const struct tapir_rehost *rehost, struct tapir_rec *rec, bool is_back)
{
	uint16_t by = (uint16_t)(rehost->host * TAPIR_HOST_CPUS);

	if (rec->type == TAPIR_REC_SWITCH)
		move_wait(rehost, (void *)rec, is_back);
	rec->time_ns = moved_ns(rehost, rec->time_ns, is_back);
	if (is_back)
		rec->cpu = rec->cpu == TAPIR_CPU_UNKNOWN ? rec->cpu : (uint16_t)(rec->cpu - by);
	else if (by)
		rec->cpu =
			rec->cpu < TAPIR_HOST_CPUS ? (uint16_t)(rec->cpu + by) : TAPIR_CPU_UNKNOWN;
	for (const struct moved_member *p = moved_members_of(rec->type); p->kind; p++) {
		bool is_u64 = p->kind == MEMBER_TIME || p->kind == MEMBER_FILE ||
			      p->kind == MEMBER_COOKIE;

		(is_u64 ? move_u64 : move_id)(rehost, p->kind, (char *)rec + p->offset, is_back);
	}
}

bool tapir_rehost__apply(const struct tapir_rehost *rehost, struct tapir_rec *rec)
{
	if (!has_sound_ids(rehost, rec))
		return false;
	move(rehost, rec, false);
	return true;
}

void tapir_rehost__undo(const struct tapir_rehost *rehost, struct tapir_rec *rec)
{
	move(rehost, rec, true);
}

static uint32_t host_of_ids(const struct tapir_rec *rec)
{
	for (const struct moved_member *p = moved_members_of(rec->type); p->kind; p++) {
		bool is_id = p->kind <= MEMBER_OWNER || p->kind == MEMBER_PROBE;
		uint32_t id = is_id ? get_id(rec, p->offset) : 0;

		if (tapir_host__of(id))
			return tapir_host__of(id);
	}
	return 0;
}

uint32_t tapir_rehost__host_of(const struct tapir_rec *rec)
{
	const struct tapir_rec_host *host = (const void *)rec;
	const struct tapir_rec_of_host *of_host = (const void *)rec;
	const struct tapir_rec_loss *loss = (const void *)rec;
	uint32_t number;

	if (rec->type == TAPIR_REC_HOST)
		return host->host;
	if (rec->type == TAPIR_REC_OF_HOST)
		return of_host->host;
	if (rec->type == TAPIR_REC_LOSS)
		return rec->size < sizeof(*loss) + sizeof(struct tapir_loss_host)
			       ? 0
			       : ((const struct tapir_loss_host *)(loss + 1))->host;
	number = host_of_ids(rec);
	if (!number && rec->cpu != TAPIR_CPU_UNKNOWN)
		number = rec->cpu / TAPIR_HOST_CPUS;
	return number;
}

bool tapir_rehost__moves(unsigned type, unsigned offset)
{
	for (const struct moved_member *p = moved_members_of(type); p->kind; p++)
		if (p->offset == offset)
			return true;
	return false;
}
