/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostile_ring [--wait] SECONDS [SEED] - fires hostile:tick from two threads through the ring lane
 * while a third one rewrites all that a tracer reads or writes: heads, caps, counts of slots and
 * arenas, owners, entries, descriptions, losses, records in the rings, and in ctl tails, states,
 * words and selections (where SEED is odd: it soon ends the session); random words, and such as
 * hurt. A fourth makes and removes arenas and
 * lanes that are none. Headers' constants stay, or nobody would look at the rest.
 */
// build: -I.
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "target.h"
#include "usdt/ring/ring_writer.h"

#define RINGS 4

static const struct tapir_ring_about about = {.provider = "hostile", .event = "tick"};
static struct tapir_ring_event event;
static atomic_bool has_ended;
static _Atomic uint64_t fired_cnt;

struct area {
	uint64_t off, bytes;
};

static char *data, *ctl;
static bool with_ctl;
static struct area areas[12];
static unsigned area_cnt, seed = 1;

static uint64_t random_word(void)
{
	static const uint64_t nasty[] = {0,	     1,	   7,	  8,	   UINT64_MAX, 1ull << 63,
					 UINT32_MAX, 4096, 65536, 4194304, 1ull << 32, 0xfffffff8};
	uint64_t r = (uint64_t)rand_r(&seed) << 33 ^ (uint64_t)rand_r(&seed);

	return rand_r(&seed) % 3 ? r >> rand_r(&seed) % 60 : nasty[(unsigned)rand_r(&seed) % 12];
}

/* The library opens the memory of a ring when a thread gets it, which may be later. */
static void add_area(uint64_t off, uint64_t bytes)
{
	uint64_t start = off & ~4095ull;

	if (mprotect(data + start, off + bytes - start, PROT_READ | PROT_WRITE))
		target__die("mprotect");
	areas[area_cnt++] = (struct area){off, bytes};
}

/* The first mapping of a file of that name. */
static char *find_mapping(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long long start = 0;
	char line[512];

	while (maps && !start && fgets(line, sizeof(line), maps))
		if (strstr(line, name) && strstr(line, "rw-s"))
			start = strtoull(line, NULL, 16);
	if (maps)
		fclose(maps);
	return (char *)(uintptr_t)start; // NOLINT
}

static void find_areas(void)
{
	struct tapir_ring_data h;

	data = find_mapping("memfd:" TAPIR_RING_DATA_NAME "0");
	ctl = find_mapping("memfd:" TAPIR_RING_CTL_NAME);
	if (!data || !ctl)
		target__die("no mapping");
	memcpy(&h, data, sizeof(h));
	add_area(offsetof(struct tapir_ring_data, arena_cnt),
		 sizeof(struct tapir_ring_data) - offsetof(struct tapir_ring_data, arena_cnt));
	add_area(h.slots_off, RINGS * sizeof(struct tapir_ring_slot));
	add_area(h.slots_off, h.slot_cnt * sizeof(struct tapir_ring_slot));
	add_area(h.entries_off, 4096);
	add_area(h.losses_off, 4096);
	add_area(h.catalog_off, 4096);
	for (unsigned i = 0; i < RINGS; i++)
		add_area(h.rings_off + i * h.ring_bytes, 65536);
}

/* With a rest now and then, so that some is read as it was written. */
static void *rewrite(void *arg)
{
	uint64_t n;

	for (n = 0; !atomic_load(&has_ended); n++) {
		const struct area *a = &areas[(unsigned)rand_r(&seed) % area_cnt];
		uint64_t off = a->off + ((uint64_t)rand_r(&seed) % a->bytes & ~7ull);
		uint64_t ctl_off = offsetof(struct tapir_ring_ctl, epoch) & ~7ull;

		__atomic_store_n((uint64_t *)(data + off), random_word(), __ATOMIC_RELAXED);
		ctl_off += (uint64_t)rand_r(&seed) % (sizeof(struct tapir_ring_ctl) - ctl_off);
		if (with_ctl && n % 4 == 0)
			__atomic_store_n((uint64_t *)(ctl + (ctl_off & ~7ull)), random_word(),
					 __ATOMIC_RELAXED);
		if (n % 65536 == 0)
			target__sleep_ns(3000000);
	}
	*(uint64_t *)arg = n;
	return NULL;
}

/* Files called as a lane's, which are none, or like it and of this very key. */
static void *make_files(void *arg)
{
	struct tapir_ring_data h;
	char name[32];

	memcpy(&h, data, sizeof(h));
	for (unsigned i = 1; !atomic_load(&has_ended); i++) {
		int fd;

		snprintf(name, sizeof(name),
			 i % 5 ? TAPIR_RING_DATA_NAME "%u" : TAPIR_RING_CTL_NAME, i % 20);
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
		h.arena_idx = i % 20;
		if (fd < 0 || ftruncate(fd, i % 3 ? (off_t)h.file_bytes : 100) ||
		    write(fd, &h, sizeof(h)) < 0)
			target__die("memfd");
		fcntl(fd, F_ADD_SEALS, i % 2 ? TAPIR_RING_DATA_SEALS : TAPIR_RING_CTL_SEALS);
		target__sleep_ns(5000000);
		close(fd);
	}
	return arg;
}

static void *fire(void *arg)
{
	struct tapir_ring_write write;

	while (!atomic_load(&has_ended)) {
		for (unsigned i = 0; i < 1000; i++)
			if (tapir_ring__begin(&write, &event, 64)) {
				memset(write.payload, 0x55, 64);
				tapir_ring__commit(&write);
				fired_cnt++;
			}
		target__sleep_ns(1000000);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];
	uint64_t rewritten = 0;
	long seconds;

	if (tapir_ring__init() || tapir_ring__register(&event, &about))
		target__die("ring lane");
	find_areas();
	target__start(&argc, argv);
	seconds = target__number(argc, argv, 1, 1);
	seed = (unsigned)target__number(argc, argv, 2, 1);
	with_ctl = seed % 2;
	pthread_create(&threads[0], NULL, fire, NULL);
	pthread_create(&threads[1], NULL, fire, NULL);
	pthread_create(&threads[2], NULL, rewrite, &rewritten);
	pthread_create(&threads[3], NULL, make_files, NULL);
	target__sleep_ns((uint64_t)seconds * 1000000000u);
	atomic_store(&has_ended, true);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("{\"fired\": %" PRIu64 ", \"rewritten\": %" PRIu64 "}\n", fired_cnt, rewritten);
	return 0;
}
