/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf_ring.h - reading a BPF ring buffer (BPF_MAP_TYPE_RINGBUF) record by record, without a
 * callback per record.
 *
 * Layout (kernel/bpf/ringbuf.c, Linux 5.8): page 0 holds the consumer position, which only the
 * reader writes; page 1 the producer position; then the data pages, mapped twice in a row so
 * that a record never wraps. Each record has an 8-byte header: u32 length with two flag bits
 * (bit 31 busy, bit 30 discarded), u32 page offset. Positions only grow.
 */
#ifndef TAPIR_USER_BPF_RING_H
#define TAPIR_USER_BPF_RING_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_bpf_ring {
	int fd; /* borrowed */
	size_t bytes;
	uint64_t *consumer_pos;
	const uint64_t *producer_pos;
	const char *data;
	uint64_t pos; /* after the record that was returned last */
};

/*
 * Creates a ring of this size, a power of two and a multiple of the page. Returns its map's fd, the
 * caller's; or -errno, with a line.
 */
int tapir_bpf_ring__new(size_t bytes);
/* Puts the ring fd into an array of rings. 0, or -errno with a line. */
int tapir_bpf_ring__put(int array_fd, unsigned idx, int fd);

/*
 * An array of rings, made by a thread: each update of an array of maps waits for an RCU grace
 * period, tens of milliseconds.
 */
struct tapir_bpf_ring_maker {
	int *fds; /* cnt; those that were made are yours */
	unsigned cnt;
	size_t bytes; /* of each */
	/* The rest is the maker's. */
	int array_fd, err;
	pthread_t thread;
	struct tapir_diag *diag;
};

/* The array's map fd, yours; or -errno, without a line. */
int tapir_bpf_ring_maker__start(struct tapir_bpf_ring_maker *maker);
/* Waits for it. 0, or -errno with a line. */
int tapir_bpf_ring_maker__finish(struct tapir_bpf_ring_maker *maker);

/* Maps the ring of map fd, whose size the kernel reports. */
int tapir_bpf_ring__open(int map_fd, struct tapir_bpf_ring *out);
/*
 * Unmaps the ring; the map's fd is the caller's. What was not released is lost to other readers as
 * well.
 */
void tapir_bpf_ring__close(struct tapir_bpf_ring *ring);

/*
 * The next complete record, borrowed until the next __release; NULL: none is ready. Discarded ones
 * are skipped.
 */
const void *tapir_bpf_ring__next(struct tapir_bpf_ring *ring, uint32_t *len);

/* Gives the space of all records handed out so far back to the writers. */
void tapir_bpf_ring__release(struct tapir_bpf_ring *ring);

/*
 * Returns the bytes that were written and not yet released: an upper bound, since it includes
 * records that are being written.
 */
size_t tapir_bpf_ring__used_bytes(const struct tapir_bpf_ring *ring);

#endif
