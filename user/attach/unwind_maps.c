// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each table is a BPF map of its own size. It is filled through a mapping, without a system call
 * for each block, and put into the map of maps when it is whole: programs find all of a table or
 * nothing.
 */
#include "attach/unwind_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "attach/programs.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/exhaustion.h"
#include "base/vec.h"

#define FILES_BYTES (TAPIR_UNWIND_FILES * sizeof(struct tapir_unwind_file))
#define KEEP_NS	    (5 * TAPIR_NS_PER_SEC)

/*
 * A table that was removed. Before 6.8 (CVE-2023-52447) the kernel freed such a map without waiting
 * for sleepable programs; as long as an fd is open it does not.
 */
struct removed {
	int fd;
	uint64_t at_ns;
};

struct tapir_unwind_maps {
	struct tapir_unwind_fds fds;
	volatile struct tapir_unwind_file *files;
	struct tapir_vec(struct removed) removed;
};

int tapir_unwind_maps__new(struct tapir_programs *programs, struct tapir_unwind_maps **out)
{
	struct tapir_unwind_fds fds = tapir_programs__unwind_fds(programs);
	struct tapir_unwind_maps *m;
	void *files;

	if (fds.files < 0)
		return -ENODATA;
	files = mmap(NULL, FILES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fds.files, 0);
	if (files == MAP_FAILED)
		return -errno;
	m = calloc(1, sizeof(*m));
	if (!m) {
		munmap(files, FILES_BYTES);
		return -ENOMEM;
	}
	m->fds = fds;
	m->files = files;
	*out = m;
	return 0;
}

static void close_removed(struct tapir_unwind_maps *m, uint64_t before_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->removed.cnt; i++) {
		if (m->removed.data[i].at_ns < before_ns)
			close(m->removed.data[i].fd);
		else
			m->removed.data[kept++] = m->removed.data[i];
	}
	m->removed.cnt = kept;
}

void tapir_unwind_maps__free(struct tapir_unwind_maps *m)
{
	if (!m)
		return;
	close_removed(m, UINT64_MAX);
	tapir_vec__fini(&m->removed);
	munmap((void *)m->files, FILES_BYTES);
	free(m);
}

volatile struct tapir_unwind_file *tapir_unwind_maps__file(const struct tapir_unwind_maps *m,
							   uint32_t file_idx)
{
	return &m->files[file_idx];
}

/* ---- tables --------------------------------------------------------------------------------- */

static int fill_table_map(int fd, const struct tapir_unwind_block *blocks, size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	memcpy(at, blocks, bytes);
	munmap(at, bytes);
	return 0;
}

int tapir_unwind_maps__make_table(const struct tapir_unwind_block *blocks, uint32_t block_cnt)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_table", sizeof(uint32_t),
				sizeof(*blocks), block_cnt, &opts);
	int err = fd < 0 ? fd : fill_table_map(fd, blocks, block_cnt * sizeof(*blocks));

	if (!err)
		return fd;
	tapir_exhaustion__note(err); /* else the file would be said to have no table */
	if (fd >= 0)
		close(fd);
	return err;
}

/* Batches of maps of maps: since 5.17 (354e8f1970f8); each update waits for its own grace period.
 */
int tapir_unwind_maps__put_tables(struct tapir_unwind_maps *m, const uint32_t *file_idxs,
				  const int *fds, uint32_t cnt)
{
	uint32_t done = cnt;
	int err = 0;

	if (!bpf_map_update_batch(m->fds.tables, file_idxs, fds, &done, NULL))
		return 0;
	for (uint32_t i = 0; i < cnt && !err; i++)
		if (bpf_map_update_elem(m->fds.tables, &file_idxs[i], &fds[i], BPF_ANY))
			err = -errno;
	tapir_exhaustion__note(err);
	for (uint32_t i = 0; err && i < cnt; i++)
		bpf_map_delete_elem(m->fds.tables, &file_idxs[i]);
	return err;
}

void tapir_unwind_maps__del_table(struct tapir_unwind_maps *m, uint32_t file_idx)
{
	struct removed removed = {.fd = -1, .at_ns = tapir_clock__now_ns()};
	uint32_t id;

	close_removed(m, removed.at_ns - KEEP_NS);
	/* Without CAP_SYS_ADMIN it cannot be kept. */
	if (!bpf_map_lookup_elem(m->fds.tables, &file_idx, &id))
		removed.fd = bpf_map_get_fd_by_id(id);
	bpf_map_delete_elem(m->fds.tables, &file_idx);
	if (removed.fd >= 0 && !tapir_vec__push(&m->removed, removed))
		close(removed.fd);
}

/* ---- processes ------------------------------------------------------------------------------ */

int tapir_unwind_maps__set_space(struct tapir_unwind_maps *m, uint32_t tgid, uint32_t block,
				 const struct tapir_unwind_space *space)
{
	struct tapir_unwind_space_key key = {.tgid = tgid, .block = block};

	return bpf_map_update_elem(m->fds.spaces, &key, space, BPF_ANY) ? -errno : 0;
}

void tapir_unwind_maps__del_space(struct tapir_unwind_maps *m, uint32_t tgid, uint32_t block)
{
	struct tapir_unwind_space_key key = {.tgid = tgid, .block = block};

	bpf_map_delete_elem(m->fds.spaces, &key);
}
