// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * BPF ring buffers: made, and read. The producer position is read with acquire and the consumer
 * position written with release order, as kernel/bpf/ringbuf.c pairs them; a record whose busy bit
 * is set ends the walk, even if later ones are complete.
 */
#include "attach/bpf_ring.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/diag.h"

int tapir_bpf_ring__new(size_t bytes)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "tapir_ring", 0, 0, (uint32_t)bytes, NULL);

	return fd >= 0 ? fd
		       : tapir_diag__fail(fd, "cannot create a ring buffer of %zu bytes: %s", bytes,
					  tapir_errno__text(fd));
}

static int new_array(unsigned cnt)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	int fd, template_fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "tapir_ring", 0, 0, 4096, NULL);

	if (template_fd < 0)
		return template_fd;
	opts.inner_map_fd = (uint32_t)template_fd;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "rings", sizeof(uint32_t), sizeof(uint32_t),
			    cnt, &opts);
	close(template_fd);
	return fd;
}

int tapir_bpf_ring__put(int array_fd, unsigned idx, int fd)
{
	uint32_t key = idx;

	if (!bpf_map_update_elem(array_fd, &key, &fd, BPF_ANY))
		return 0;
	return tapir_diag__fail(-errno, "cannot use a ring buffer: %s", tapir_errno__text(errno));
}

static int make_ring(struct tapir_bpf_ring_maker *maker, unsigned idx)
{
	int fd = tapir_bpf_ring__new(maker->bytes), err;

	if (fd < 0)
		return fd;
	err = tapir_bpf_ring__put(maker->array_fd, idx, fd);
	if (err)
		close(fd);
	else
		maker->fds[idx] = fd;
	return err;
}

static void *make_rings(void *arg)
{
	struct tapir_bpf_ring_maker *maker = arg;

	for (unsigned i = 0; i < maker->cnt && !maker->err; i++)
		maker->err = make_ring(maker, i);
	maker->diag = tapir_diag__take();
	return NULL;
}

int tapir_bpf_ring_maker__start(struct tapir_bpf_ring_maker *maker)
{
	maker->array_fd = new_array(maker->cnt);
	if (maker->array_fd < 0)
		return maker->array_fd;
	if (!pthread_create(&maker->thread, NULL, make_rings, maker))
		return maker->array_fd;
	close(maker->array_fd);
	return -EAGAIN;
}

int tapir_bpf_ring_maker__finish(struct tapir_bpf_ring_maker *maker)
{
	pthread_join(maker->thread, NULL);
	tapir_diag__give(maker->diag);
	return maker->err;
}

int tapir_bpf_ring__open(int map_fd, struct tapir_bpf_ring *out)
{
	struct bpf_map_info info = {};
	uint32_t info_len = sizeof(info);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *consumer, *producer;

	if (bpf_obj_get_info_by_fd(map_fd, &info, &info_len))
		return tapir_diag__fail(-errno, "cannot inspect a ring buffer: %s",
					tapir_errno__text(errno));
	consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (consumer == MAP_FAILED)
		return tapir_diag__fail(-errno, "cannot map a ring buffer: %s",
					tapir_errno__text(errno));
	/* The kernel maps the data twice in a row, so a record that wraps is read in one piece. */
	producer = mmap(NULL, page + 2 * (size_t)info.max_entries, PROT_READ, MAP_SHARED, map_fd,
			(off_t)page);
	if (producer == MAP_FAILED) {
		int err = -errno;

		munmap(consumer, page);
		return tapir_diag__fail(err, "cannot map a ring buffer: %s",
					tapir_errno__text(err));
	}
	*out = (struct tapir_bpf_ring){
		.fd = map_fd,
		.bytes = info.max_entries,
		.consumer_pos = consumer,
		.producer_pos = producer,
		.data = (const char *)producer + page,
	};
	out->pos = *out->consumer_pos;
	return 0;
}

void tapir_bpf_ring__close(struct tapir_bpf_ring *ring)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (!ring->data)
		return;
	munmap((void *)ring->producer_pos, page + 2 * ring->bytes);
	munmap(ring->consumer_pos, page);
	*ring = (struct tapir_bpf_ring){};
}

const void *tapir_bpf_ring__next(struct tapir_bpf_ring *ring, uint32_t *len)
{
	uint64_t written = __atomic_load_n(ring->producer_pos, __ATOMIC_ACQUIRE);

	while (ring->pos < written) {
		const char *at = ring->data + (ring->pos & (ring->bytes - 1));
		uint32_t head = __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
		uint32_t bytes = head & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		/* A program still writes it. Later records wait: space is released in order. */
		if (head & BPF_RINGBUF_BUSY_BIT)
			return NULL;
		ring->pos += BPF_RINGBUF_HDR_SZ + ((bytes + 7) & ~7u);
		if (head & BPF_RINGBUF_DISCARD_BIT)
			continue;
		*len = bytes;
		return at + BPF_RINGBUF_HDR_SZ;
	}
	return NULL;
}

void tapir_bpf_ring__release(struct tapir_bpf_ring *ring)
{
	/* After this store the kernel may overwrite what __next returned. */
	__atomic_store_n(ring->consumer_pos, ring->pos, __ATOMIC_RELEASE);
}

size_t tapir_bpf_ring__used_bytes(const struct tapir_bpf_ring *ring)
{
	return __atomic_load_n(ring->producer_pos, __ATOMIC_ACQUIRE) - *ring->consumer_pos;
}
