// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files by their id; a queue of those to build; a thread that takes from it. Tables are large and
 * their number in the kernel is limited: one that is idle for long is removed, and built again when
 * its file is walked.
 *
 * The lock is not held while a table is built or put: both take tens of milliseconds.
 */
#include "record/unwind_tables.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <time.h>

#include "attach/unwind_maps.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "record/unwind_source.h"
#include "trace/record.h"
#include "attach/unwind/unwind_cache.h"
#include "attach/unwind/unwind_table.h"

/* A table that was in use this many polls (seconds) ago may be removed; wanted, it is back as late.
 */
#define IDLE_POLLS  10u
#define CROWDED	    (TAPIR_UNWIND_FILES / 4 * 3)

#define CHECK_NS    1000000000u /* between two checks of the files whose tables are in use */
#define MAX_WATCHED 1024u	/* files that are kept open for it */

struct file {
	struct tapir_unwind_source source; /* without a path: the place is free */
	int fd;				   /* until it was read; -1: none */
	bool was_read;			   /* with an fd, whatever the result */
	bool is_queued;
	int watched_fd; /* of the file that the table is of; -1: it is not checked */
	struct tapir_unwind_key seen;
	uint64_t blocks_hash;
	bool is_void;	 /* the file was rewritten: it gets no table again */
	bool is_changed; /* ... and take_changed did not give it out yet */
	size_t bytes;	 /* of its table; 0: it has none */
	uint32_t used_poll;
	uint64_t file_id;
	uint32_t unmapped_cnt; /* calls of __keep in a row in which no process mapped it */
};

struct tapir_unwind_tables {
	struct tapir_unwind_maps *maps;
	struct tapir_unwind_cache *cache; /* of the thread; NULL: there is none */
	size_t max_bytes;
	pthread_t thread;
	bool has_thread;

	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t changed;
	bool stops;
	struct tapir_map idx_by_file_id;
	struct file *files; /* TAPIR_UNWIND_FILES; the first file_cnt are in use, or free again */
	uint32_t file_cnt;
	uint32_t free_idxs[TAPIR_UNWIND_FILES];
	uint32_t free_cnt;
	/* Tables that were made and wait to be put in place together. */
	uint32_t made_idxs[TAPIR_UNWIND_MAX_BATCH];
	int made_fds[TAPIR_UNWIND_MAX_BATCH];
	uint32_t made_cnt;
	uint32_t queue[TAPIR_UNWIND_FILES]; /* a ring: each file is in it at most once */
	uint32_t queue_at, queue_cnt;
	bool is_serving; /* the one that was taken from it last */
	uint32_t poll_cnt;
	uint32_t watched_cnt;
	uint64_t check_ns; /* of CLOCK_REALTIME, as pthread_cond_timedwait has it */
	struct tapir_unwind_stats stats;
};

static void set_state(struct tapir_unwind_tables *t, uint32_t idx, enum tapir_unwind_state state)
{
	volatile struct tapir_unwind_file *file = tapir_unwind_maps__file(t->maps, idx);

	__atomic_store_n(&file->state, state, __ATOMIC_RELEASE);
}

static void enqueue(struct tapir_unwind_tables *t, uint32_t idx)
{
	if (t->files[idx].is_queued)
		return;
	t->files[idx].is_queued = true;
	t->queue[(t->queue_at + t->queue_cnt++) % TAPIR_UNWIND_FILES] = idx;
	pthread_cond_signal(&t->changed);
}

/* ---- room: with the lock held ----------------------------------------------------------------- */

/* The file whose table is idle for longest; NULL: none is. */
static struct file *find_idle(struct tapir_unwind_tables *t)
{
	struct file *found = NULL;

	for (uint32_t i = 0; i < t->file_cnt; i++) {
		struct file *file = &t->files[i];

		if (file->bytes && t->poll_cnt - file->used_poll >= IDLE_POLLS &&
		    (!found || file->used_poll < found->used_poll))
			found = file;
	}
	return found;
}

static void evict(struct tapir_unwind_tables *t, struct file *file)
{
	uint32_t idx = (uint32_t)(file - t->files);

	set_state(t, idx, TAPIR_UNWIND_EVICTED);
	t->stats.bytes -= file->bytes;
	file->bytes = 0;
	file->used_poll = t->poll_cnt;
	t->stats.table_cnt--;
	t->stats.evicted_cnt++;
	tapir_debug("unwind table of %s removed to make room", file->source.path);
	pthread_mutex_unlock(&t->lock);
	tapir_unwind_maps__del_table(t->maps, idx); /* waits */
	pthread_mutex_lock(&t->lock);
}

static bool evict_idle_tables(struct tapir_unwind_tables *t, size_t bytes)
{
	struct file *idle;

	while (bytes <= t->max_bytes && t->stats.bytes + bytes > t->max_bytes) {
		idle = find_idle(t);
		if (!idle)
			break;
		evict(t, idle);
	}
	return t->stats.bytes + bytes <= t->max_bytes;
}

/* ---- the thread ------------------------------------------------------------------------------- */

static void count_table(struct tapir_unwind_tables *t, struct file *file,
			const struct tapir_unwind_table *table, bool is_cached)
{
	file->bytes = tapir_unwind_table__bytes(&table->shape);
	file->used_poll = t->poll_cnt;
	t->stats.bytes += file->bytes;
	t->stats.table_cnt++;
	t->stats.cached_cnt += is_cached;
	t->stats.unsupported_cnt += table->shape.unsupported_cnt;
	tapir_debug("unwind table of %s: %u rows, %zu KB%s, %u rows not supported, %u functions "
		    "malformed",
		    file->source.path, table->shape.row_cnt, file->bytes / 1024,
		    is_cached ? " from the cache" : "", table->shape.unsupported_cnt,
		    table->shape.broken_cnt);
}

static void lose_table(struct tapir_unwind_tables *t, uint32_t idx)
{
	t->stats.bytes -= t->files[idx].bytes;
	t->stats.table_cnt--;
	t->files[idx].bytes = 0;
	set_state(t, idx, TAPIR_UNWIND_NO_TABLE);
}

/* All tables made since: walks use them from here on. With the lock held, which it releases in
 * between. */
static void put_made(struct tapir_unwind_tables *t)
{
	int err;

	if (!t->made_cnt)
		return;
	pthread_mutex_unlock(&t->lock);
	err = tapir_unwind_maps__put_tables(t->maps, t->made_idxs, t->made_fds, t->made_cnt);
	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; i < t->made_cnt; i++) {
		close(t->made_fds[i]);
		if (err)
			lose_table(t, t->made_idxs[i]);
		else
			set_state(t, t->made_idxs[i], TAPIR_UNWIND_READY);
	}
	if (err)
		tapir_debug("cannot use unwind tables: %s", tapir_errno__text(err));
	t->made_cnt = 0;
}

/* A map of the table, if there is room. With the lock held, which it may release. */
static int add_made(struct tapir_unwind_tables *t, uint32_t idx,
		    const struct tapir_unwind_table *table, bool is_cached)
{
	volatile struct tapir_unwind_file *shared = tapir_unwind_maps__file(t->maps, idx);
	int fd;

	if (!evict_idle_tables(t, tapir_unwind_table__bytes(&table->shape))) {
		t->stats.refused_cnt++;
		return -ENOSPC;
	}
	fd = tapir_unwind_maps__make_table(table->blocks, table->shape.block_cnt);
	if (fd < 0)
		return fd;
	shared->first_pc = table->shape.first_pc;
	shared->granule_cnt = table->shape.granule_cnt;
	shared->segments_end = table->shape.segments_end;
	shared->used = shared->wanted = 0;
	t->made_idxs[t->made_cnt] = idx;
	t->made_fds[t->made_cnt++] = fd;
	count_table(t, &t->files[idx], table, is_cached);
	return 0;
}

/* Takes *fd, of the file as it was read, if it can be checked. */
static void watch(struct tapir_unwind_tables *t, struct file *file, int *fd,
		  const struct tapir_unwind_key *seen, const struct tapir_unwind_table *table)
{
	if (*fd < 0 || file->watched_fd >= 0 || t->watched_cnt == MAX_WATCHED)
		return;
	file->watched_fd = *fd;
	file->seen = *seen;
	file->blocks_hash = tapir_unwind_source__hash(table);
	t->watched_cnt++;
	*fd = -1;
}

static void unwatch(struct tapir_unwind_tables *t, struct file *file)
{
	t->watched_cnt -= file->watched_fd >= 0;
	tapir_guard__fd(&file->watched_fd);
}

/* With the lock held, which it releases in between. */
static void build_queued_table(struct tapir_unwind_tables *t, uint32_t idx)
{
	struct file *file = &t->files[idx];
	struct tapir_unwind_table *table = NULL;
	uint64_t began_ns = tapir_clock__now_ns();
	struct tapir_unwind_key seen = {};
	bool is_cached;
	int fd = file->fd, err;

	file->fd = -1;
	if (file->is_void) {
		file->is_queued = false;
		tapir_guard__fd(&fd);
		return;
	}
	/*
	 * Reading a large file takes a while, in which the session looks up others. The file cannot
	 * be built twice: it is still queued.
	 */
	pthread_mutex_unlock(&t->lock);
	err = tapir_unwind_source__read(&file->source, t->cache, fd, &seen, &table, &is_cached);
	/*
	 * The first try was from the cache alone: only without an entry there is the file opened.
	 */
	if (err && fd < 0) {
		fd = tapir_unwind_source__open(&file->source);
		err = fd < 0 ? err
			     : tapir_unwind_source__read(&file->source, t->cache, fd, &seen, &table,
							 &is_cached);
	}
	pthread_mutex_lock(&t->lock);
	file->was_read |= fd >= 0;
	file->is_queued = false;
	if (!err)
		err = add_made(t, idx, table, is_cached);
	if (!err)
		watch(t, file, &fd, &seen, table);
	tapir_guard__fd(&fd);
	tapir_unwind_table__free(table);
	if (err == -ENOSPC) {
		set_state(t, idx, TAPIR_UNWIND_EVICTED);
	} else if (err) {
		set_state(t, idx, TAPIR_UNWIND_NO_TABLE);
		t->stats.without_cnt++;
		tapir_debug("%s has no unwind table: %s", file->source.path,
			    tapir_errno__text(err));
	}
	t->stats.build_ns += tapir_clock__now_ns() - began_ns;
}

/* ---- files that are rewritten ----------------------------------------------------------------- */

static void drop_changed(struct tapir_unwind_tables *t, uint32_t idx)
{
	struct file *file = &t->files[idx];

	unwatch(t, file);
	tapir_debug("%s was rewritten while it is mapped: its unwind table is void",
		    file->source.path);
	if (file->bytes)
		lose_table(t, idx);
	else
		set_state(t, idx, TAPIR_UNWIND_NO_TABLE); /* it was removed to make room */
	file->is_void = file->is_changed = true;
	t->stats.changed_cnt++;
	pthread_mutex_unlock(&t->lock);
	tapir_unwind_maps__del_table(t->maps, idx); /* waits */
	pthread_mutex_lock(&t->lock);
}

/* With the lock held, which it releases in between. Files are not removed, nor is what they watch
 * by another thread. */
static void check_files(struct tapir_unwind_tables *t)
{
	for (uint32_t i = 0; i < t->file_cnt && !t->stops; i++) {
		struct file *file = &t->files[i];
		struct tapir_unwind_key seen = file->seen;
		bool is_rewritten_now;

		if (file->watched_fd < 0)
			continue;
		pthread_mutex_unlock(&t->lock);
		is_rewritten_now = tapir_unwind_source__is_rewritten(file->watched_fd, &seen,
								     file->blocks_hash);
		pthread_mutex_lock(&t->lock);
		file->seen = seen;
		if (is_rewritten_now)
			drop_changed(t, i);
	}
}

/* ---- files that no process maps ------------------------------------------------------ */

/* With the lock held, which it releases in between. */
static void drop_table(struct tapir_unwind_tables *t, uint32_t idx)
{
	struct file *file = &t->files[idx];
	bool has_table = file->bytes;

	tapir_map__del(&t->idx_by_file_id, file->file_id);
	unwatch(t, file);
	tapir_guard__fd(&file->fd);
	if (has_table)
		lose_table(t, idx);
	set_state(t, idx, TAPIR_UNWIND_NONE);
	free(file->source.path);
	*file = (struct file){.fd = -1, .watched_fd = -1};
	if (has_table) {
		pthread_mutex_unlock(&t->lock);
		tapir_unwind_maps__del_table(t->maps, idx); /* waits */
		pthread_mutex_lock(&t->lock);
	}
	t->free_idxs[t->free_cnt++] = idx;
}

/* On the thread, which alone holds on to a file while the lock is released. */
static void forget_unmapped(struct tapir_unwind_tables *t)
{
	for (uint32_t i = 0; i < t->file_cnt && !t->stops; i++)
		if (t->files[i].unmapped_cnt >= IDLE_POLLS && !t->files[i].is_queued)
			drop_table(t, i);
}

static uint64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * TAPIR_NS_PER_SEC + (uint64_t)now.tv_nsec;
}

/* Until a file is to be read, or those in use are to be checked. With the lock held. */
static void wait_for_work(struct tapir_unwind_tables *t)
{
	const struct timespec until = tapir_clock__timespec(t->check_ns);

	if (real_ns() < t->check_ns && t->check_ns - real_ns() <= CHECK_NS) {
		pthread_cond_timedwait(&t->changed, &t->lock, &until);
		return;
	}
	check_files(t);
	forget_unmapped(t);
	t->check_ns = real_ns() + CHECK_NS;
}

static void *run_unwind_tables(void *ctx)
{
	struct tapir_unwind_tables *t = ctx;

	pthread_setname_np(pthread_self(), "tapir-unwind");
	pthread_mutex_lock(&t->lock);
	while (!t->stops) {
		uint32_t idx;

		if (!t->queue_cnt || t->made_cnt == TAPIR_UNWIND_MAX_BATCH) {
			if (!t->made_cnt)
				wait_for_work(t);
			put_made(t);
			continue;
		}
		idx = t->queue[t->queue_at];
		t->queue_at = (t->queue_at + 1) % TAPIR_UNWIND_FILES;
		t->queue_cnt--;
		t->is_serving = true;
		build_queued_table(t, idx);
		t->is_serving = false;
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* ---- what the session thread sees ---------------------------------------------------------------- */

static uint32_t add_file(struct tapir_unwind_tables *t, const struct tapir_rec_mapping *mapping,
			 uint64_t file_id)
{
	struct tapir_mapping_view view;
	struct file *file;
	uint64_t *idx;

	if (t->file_cnt == TAPIR_UNWIND_FILES && !t->free_cnt) {
		t->stats.refused_cnt++;
		return TAPIR_UNWIND_NO_FILE;
	}
	idx = tapir_map__put(&t->idx_by_file_id, file_id, NULL);
	file = &t->files[t->free_cnt ? t->free_idxs[t->free_cnt - 1] : t->file_cnt];
	tapir_mapping_view__of(&mapping->h, &view);
	file->source.path = idx ? strndup(view.path.data, view.path.len) : NULL;
	if (!file->source.path) {
		tapir_map__del(&t->idx_by_file_id, file_id);
		return TAPIR_UNWIND_NO_FILE;
	}
	file->fd = file->watched_fd = -1;
	file->file_id = file_id;
	*idx = t->free_cnt ? t->free_idxs[--t->free_cnt] : t->file_cnt++;
	return (uint32_t)*idx;
}

/* A file that could not be opened may be where another process maps it. */
static void queue_with(struct tapir_unwind_tables *t, uint32_t idx,
		       const struct tapir_rec_mapping *mapping, int fd)
{
	struct file *file = &t->files[idx];

	if (fd >= 0)
		file->fd = tapir_file__keep_unless_scarce(fcntl(fd, F_DUPFD_CLOEXEC, 3));
	tapir_unwind_source__set_mapping(&file->source, mapping);
	set_state(t, idx, TAPIR_UNWIND_NOT_YET);
	enqueue(t, idx);
}

uint32_t tapir_unwind_tables__see(struct tapir_unwind_tables *t,
				  const struct tapir_rec_mapping *mapping, uint64_t file_id, int fd)
{
	const uint64_t *known;
	uint32_t idx;

	pthread_mutex_lock(&t->lock);
	known = tapir_map__get(&t->idx_by_file_id, file_id);
	idx = known ? (uint32_t)*known : add_file(t, mapping, file_id);
	if (known)
		t->files[idx].unmapped_cnt = 0;
	if (idx != TAPIR_UNWIND_NO_FILE && !t->files[idx].was_read && !t->files[idx].is_queued)
		queue_with(t, idx, mapping, fd);
	pthread_mutex_unlock(&t->lock);
	return idx;
}

bool tapir_unwind_tables__are_complete(struct tapir_unwind_tables *t)
{
	bool are_complete;

	pthread_mutex_lock(&t->lock);
	are_complete = !t->queue_cnt && !t->is_serving && !t->made_cnt;
	pthread_mutex_unlock(&t->lock);
	return are_complete;
}

static void poll_file(struct tapir_unwind_tables *t, uint32_t idx)
{
	volatile struct tapir_unwind_file *shared = tapir_unwind_maps__file(t->maps, idx);
	struct file *file = &t->files[idx];

	if (file->bytes && shared->used) {
		shared->used = 0;
		file->used_poll = t->poll_cnt;
	}
	if (shared->state == TAPIR_UNWIND_EVICTED && shared->wanted &&
	    t->poll_cnt - file->used_poll >= IDLE_POLLS) {
		shared->wanted = 0;
		file->used_poll = t->poll_cnt;
		enqueue(t, idx);
	}
}

void tapir_unwind_tables__poll(struct tapir_unwind_tables *t)
{
	pthread_mutex_lock(&t->lock);
	t->poll_cnt++;
	for (uint32_t i = 0; i < t->file_cnt; i++)
		poll_file(t, i);
	pthread_mutex_unlock(&t->lock);
}

bool tapir_unwind_tables__are_crowded(struct tapir_unwind_tables *t)
{
	bool are_crowded;

	pthread_mutex_lock(&t->lock);
	are_crowded = t->file_cnt - t->free_cnt > CROWDED;
	pthread_mutex_unlock(&t->lock);
	return are_crowded;
}

void tapir_unwind_tables__keep(struct tapir_unwind_tables *t, const uint64_t *mapped)
{
	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; i < t->file_cnt; i++) {
		struct file *file = &t->files[i];

		if (!file->source.path || mapped[i / 64] >> (i % 64) & 1)
			file->unmapped_cnt = 0;
		else if (!file->bytes || t->poll_cnt - file->used_poll >= IDLE_POLLS)
			file->unmapped_cnt++;
	}
	pthread_mutex_unlock(&t->lock);
}

bool tapir_unwind_tables__take_changed(struct tapir_unwind_tables *t, uint32_t *file_idx)
{
	bool found = false;

	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; t->stats.changed_cnt && i < t->file_cnt && !found; i++) {
		found = t->files[i].is_changed;
		t->files[i].is_changed = false;
		if (found)
			*file_idx = i;
	}
	pthread_mutex_unlock(&t->lock);
	return found;
}

void tapir_unwind_tables__stats(struct tapir_unwind_tables *t, struct tapir_unwind_stats *out)
{
	pthread_mutex_lock(&t->lock);
	*out = t->stats;
	pthread_mutex_unlock(&t->lock);
}

/* ---- lifecycle ------------------------------------------------------------------------------------ */

int tapir_unwind_tables__new(struct tapir_unwind_maps *maps, size_t max_bytes,
			     struct tapir_unwind_tables **out)
{
	struct tapir_unwind_tables *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->maps = maps;
	t->max_bytes = max_bytes ? max_bytes : TAPIR_UNWIND_TABLE_BYTES;
	t->files = calloc(TAPIR_UNWIND_FILES, sizeof(*t->files));
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	t->cache = tapir_unwind_cache__new();
	err = t->files ? -pthread_create(&t->thread, NULL, run_unwind_tables, t) : -ENOMEM;
	t->has_thread = !err;
	if (err) {
		tapir_unwind_tables__free(t);
		return err;
	}
	*out = t;
	return 0;
}

void tapir_unwind_tables__free(struct tapir_unwind_tables *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->stops = true;
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
	if (t->has_thread)
		pthread_join(t->thread, NULL);
	for (uint32_t i = 0; i < t->made_cnt; i++)
		close(t->made_fds[i]);
	for (uint32_t i = 0; i < t->file_cnt; i++) {
		tapir_guard__fd(&t->files[i].fd);
		tapir_guard__fd(&t->files[i].watched_fd);
		free(t->files[i].source.path);
	}
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	tapir_map__fini(&t->idx_by_file_id);
	tapir_unwind_cache__free(t->cache);
	free(t->files);
	free(t);
}
