/* SPDX-License-Identifier: MIT */
/*
 * ring_arena.c - the memfds: made, mapped, sealed, and their pages made present. A page is made
 * present by madvise before its first use: where memory has run out, that is an error here; the
 * use itself would be a SIGBUS. Raw system calls: arenas are made on an event's way, too.
 *
 * A program that keeps its memory resident (mlockall) would be given all of an arena, 1 GB. So
 * whatever is larger than it will be used is mapped without access, which the kernel cannot make
 * present, is taken out of what is locked, and then opened: the header and the catalog at once,
 * rings RING_OPENED_CNT at a time when a thread asks for the first of them.
 */
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "ring_impl.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 16
#endif
#define CATALOG_BYTES (32ull << 20)

_Static_assert((F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW) == TAPIR_RING_CTL_SEALS, "seals");
_Static_assert((TAPIR_RING_CTL_SEALS | F_SEAL_FUTURE_WRITE) == TAPIR_RING_DATA_SEALS, "seals");

static uint64_t round_page(uint64_t bytes)
{
	return (bytes + RING_PAGE_BYTES - 1) & ~(RING_PAGE_BYTES - 1);
}

/* The page size of the machine: on arm64 the kernel decides. */
static uint64_t real_page_bytes(void)
{
#ifdef __aarch64__
	uint64_t bytes = getauxval(AT_PAGESZ);

	return bytes > RING_PAGE_BYTES ? bytes : RING_PAGE_BYTES;
#else
	return RING_PAGE_BYTES;
#endif
}

int ring_populate(const void *at, uint64_t bytes)
{
	uint64_t mask = real_page_bytes() - 1, start = (uint64_t)(uintptr_t)at & ~mask;
	uint64_t end = ((uint64_t)(uintptr_t)at + bytes + mask) & ~mask;
	long ret = ring_sys3(SYS_madvise, start, end - start, MADV_POPULATE_WRITE);

	return ret == -EINVAL ? 0 : (int)ret; /* before 5.14 */
}

static int new_memfd(const char *name, uint64_t bytes)
{
	const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	long fd = -EFBIG;

	if (ring_sys_file_may_have(bytes))
		fd = ring_sys3(SYS_memfd_create, name, flags | MFD_NOEXEC_SEAL, 0);
	if (fd == -EINVAL) /* before 6.3 */
		fd = ring_sys3(SYS_memfd_create, name, flags, 0);
	if (fd >= 0 && ring_sys3(SYS_ftruncate, fd, bytes, 0) < 0) {
		ring_sys3(SYS_close, fd, 0, 0);
		return -ENOMEM;
	}
	return (int)fd;
}

static void *map_arena(void *at, uint64_t bytes, int flags, int fd)
{
	return (void *)ring_sys6(SYS_mmap, (long)at, (long)bytes, PROT_READ | PROT_WRITE,
				 flags | MAP_NORESERVE | (at ? MAP_FIXED : 0), fd, 0);
}

/* Without access, and not locked; -errno, as mmap has it. */
static void *map_shut(uint64_t bytes, int flags, int fd)
{
	void *at = (void *)ring_sys6(SYS_mmap, 0, (long)bytes, PROT_NONE, flags | MAP_NORESERVE, fd,
				     0);

	if (!ring_sys_failed((long)at))
		ring_sys3(SYS_munlock, at, bytes, 0);
	return at;
}

int ring_memory__open(const void *at, uint64_t bytes)
{
	uint64_t mask = real_page_bytes() - 1, start = (uint64_t)(uintptr_t)at & ~mask;

	bytes += (uint64_t)(uintptr_t)at - start;
	return (int)ring_sys3(SYS_mprotect, start, bytes, PROT_READ | PROT_WRITE);
}

int ring_file__is(int fd, uint64_t inode)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && st.st_ino == inode && st.st_dev == ring_process.dev;
}

/* A program may have closed the lane's descriptor and opened its own file with that number. */
void ring_file__close(int fd, uint64_t inode)
{
	if (ring_file__is(fd, inode))
		ring_sys3(SYS_close, fd, 0, 0);
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return 0;
	if (ring_process.dev != st.st_dev) /* the first: all memfds are of one */
		ring_process.dev = st.st_dev;
	return st.st_ino;
}

static void unmap(const void *at, uint64_t bytes)
{
	ring_sys3(SYS_munmap, at, bytes, 0);
}

/* A sealed mapping of a new memfd, its first open_bytes open, its first page present; the
   descriptor, or -errno. */
static int map_sealed(const char *name, uint64_t bytes, uint64_t open_bytes, unsigned seals,
		      void **mapped)
{
	int fd = new_memfd(name, bytes);
	long ret;
	void *va;

	if (fd < 0)
		return fd;
	va = map_shut(bytes, MAP_SHARED, fd);
	if (ring_sys_failed((long)va)) {
		ret = (long)va;
	} else {
		ring_sys3(SYS_madvise, va, bytes, MADV_DONTDUMP);
		ret = ring_memory__open(va, open_bytes);
		if (!ret)
			ret = ring_populate(va, RING_PAGE_BYTES);
		if (!ret)
			ret = ring_sys3(SYS_fcntl, fd, F_ADD_SEALS, seals);
		if (!ret) {
			*mapped = va;
			return fd;
		}
		unmap(va, bytes);
	}
	ring_sys3(SYS_close, fd, 0, 0);
	return (int)ret;
}

int ring_ctl__map(struct tapir_ring_ctl **out)
{
	struct ring_process *p = &ring_process;
	struct tapir_ring_ctl *ctl;
	void *mapped;
	int fd = map_sealed(TAPIR_RING_CTL_NAME, sizeof(*ctl), sizeof(*ctl), TAPIR_RING_CTL_SEALS,
			    &mapped);

	if (fd < 0)
		return fd;
	ctl = mapped;
	ctl->version = TAPIR_RING_VERSION;
	ctl->header_bytes = offsetof(struct tapir_ring_ctl, sessions);
	ctl->key = p->key;
	ctl->file_bytes = sizeof(*ctl);
	ctl->owner_tgid = p->tgid;
	ctl->slot_cnt = TAPIR_RING_SLOTS;
	ctl->session_cnt = TAPIR_RING_SESSIONS;
	ctl->event_max = TAPIR_RING_EVENTS;
	ctl->flags = p->ctl_flags;
	p->ctl_inode = inode_of(fd);
	*out = ctl;
	return fd;
}

/* The page stays mapped: threads may read it at any time. */
int ring_gate__map(void)
{
	struct ring_process *p = &ring_process;
	uint32_t *page;

	if (p->gate != &ring_closed_gate)
		return 0;
	page = map_arena(NULL, RING_PAGE_BYTES, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (ring_sys_failed((long)page))
		return -ENOMEM;
	if (ring_sys3(SYS_madvise, page, RING_PAGE_BYTES, MADV_WIPEONFORK)) {
		unmap(page, RING_PAGE_BYTES);
		return -ENOMEM;
	}
	*page = RING_SHUT;
	ring_store_release(&p->gate, page);
	return 0;
}

void ring_gate__unmap(void)
{
	uint32_t *page = ring_process.gate;

	if (page == &ring_closed_gate)
		return;
	ring_store_release(&ring_process.gate, &ring_closed_gate);
	unmap(page, RING_PAGE_BYTES);
}

static void lay_out_arena(struct tapir_ring_data *data, uint32_t arena_idx, uint64_t ring_bytes)
{
	uint64_t at = RING_PAGE_BYTES;

	data->slots_off = at;
	at += round_page(TAPIR_RING_ARENA_SLOTS * sizeof(struct tapir_ring_slot));
	data->entries_off = data->losses_off = data->catalog_off = data->catalog_bytes = 0;
	if (!arena_idx) {
		data->entries_off = at;
		at += round_page(TAPIR_RING_EVENTS * sizeof(struct tapir_ring_entry));
		data->losses_off = at;
		at += round_page((TAPIR_RING_EVENTS + 1) * sizeof(struct tapir_ring_losses));
		data->catalog_off = at;
		data->catalog_bytes = CATALOG_BYTES;
		at += CATALOG_BYTES;
	}
	data->rings_off = at;
	data->ring_bytes = ring_bytes;
	data->file_bytes = at + TAPIR_RING_ARENA_SLOTS * ring_bytes;
}

static void publish_arena(struct tapir_ring_data *data, const struct tapir_ring_data *plan)
{
	struct ring_process *p = &ring_process;

	*data = *plan;
	data->version = TAPIR_RING_VERSION;
	data->header_bytes = sizeof(*data);
	data->key = p->key;
	data->owner_tgid = p->tgid;
	data->slot_cnt = TAPIR_RING_ARENA_SLOTS;
	data->slot_bytes = sizeof(struct tapir_ring_slot);
	data->event_max = TAPIR_RING_EVENTS;
	data->made_ns = ring_now_ns();
	ring_store_release(&data->magic, TAPIR_RING_DATA_MAGIC);
}

static void *map_writers(struct ring_writers *old)
{
	void *va;

	if (old)
		return old;
	va = map_shut(sizeof(struct ring_writers), MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (ring_sys_failed((long)va))
		return NULL;
	if (!ring_memory__open(va, sizeof(struct ring_writers)))
		return va;
	unmap(va, sizeof(struct ring_writers));
	return NULL;
}

/*
 * Returns true for errors against which smaller rings may help: address space, locked memory, the
 * size of a file.
 */
static int is_too_large(int err)
{
	return err == -ENOMEM || err == -EAGAIN || err == -EFBIG;
}

/*
 * The arena's two mappings. Under RLIMIT_AS and the like rings are made smaller: by those of arena
 * 0 all others go. Writers of a lane that was taken down are used again: all zero.
 */
int ring_arena__open(uint32_t arena_idx)
{
	struct ring_process *p = &ring_process;
	struct ring_arena *arena = &p->arenas[arena_idx];
	struct tapir_ring_data plan = {.arena_idx = arena_idx};
	char name[] = TAPIR_RING_DATA_NAME "00";
	size_t end = sizeof(name) - 3;
	struct ring_writers *writers;
	void *data;
	int fd;

	if (arena_idx > 9)
		name[end++] = (char)('0' + arena_idx / 10);
	name[end++] = (char)('0' + arena_idx % 10);
	name[end] = 0;
	/*
	 * Writers are this process's alone: what a tracer, or another process with the memory file,
	 * writes into the shared part cannot lead a thread astray.
	 */
	writers = map_writers(arena->writers);
	if (!writers)
		return -ENOMEM;
	do {
		lay_out_arena(&plan, arena_idx, p->ring_bytes);
		fd = map_sealed(name, plan.file_bytes, plan.rings_off, TAPIR_RING_DATA_SEALS,
				&data);
		/* A quarter each time, until a ring holds one chunk. */
		if (!is_too_large(fd) || arena_idx || p->ring_bytes <= TAPIR_RING_CHUNK_BYTES)
			break;
		p->ring_bytes /= 4;
	} while (1);
	if (fd < 0) {
		if (!arena->writers)
			unmap(writers, sizeof(*writers));
		return fd;
	}
	/*
	 * The row of losses after the last event counts what has no entry; it is written where
	 * memory is short, and so has to be there already.
	 */
	publish_arena(data, &plan);
	if (!arena_idx)
		ring_populate((uint8_t *)data + plan.losses_off +
				      TAPIR_RING_EVENTS * sizeof(struct tapir_ring_losses),
			      sizeof(struct tapir_ring_losses));
	arena->writers = writers;
	arena->opened = 0;
	arena->bytes = plan.file_bytes;
	arena->inode = inode_of(fd);
	arena->fd = fd;
	/* Threads look for free slots once they see this pointer: all else is in place. */
	ring_store_release(&arena->data, data);
	return 0;
}

/* The writers stay, all zero: a thread that lives on finds its own of no lane. */
void ring_arena__close(struct ring_arena *arena)
{
	if (arena->data)
		unmap(arena->data, arena->bytes);
	/* refused where the program has locked what it had mapped */
	if (arena->writers &&
	    ring_sys3(SYS_madvise, arena->writers, sizeof(*arena->writers), MADV_DONTNEED))
		memset(arena->writers, 0, sizeof(*arena->writers));
	ring_file__close(arena->fd, arena->inode);
	arena->data = NULL;
	arena->fd = -1;
}

/*
 * In a child, private memory replaces the parent's ring: an event that was being written when a
 * handler forked is written there. If that fails it is written to the parent's, past its head.
 */
void ring_arena__cover(const struct ring_arena *arena)
{
	if (arena->data)
		map_arena(arena->data, arena->bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

/* The library is unloaded: no thread will ever look again. */
void ring_arena__free(struct ring_arena *arena)
{
	if (arena->writers)
		unmap(arena->writers, sizeof(*arena->writers));
	arena->writers = NULL;
}
