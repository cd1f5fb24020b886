/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_feeder.h - BPF ring buffers for tests: one of plain memory, whose headers and positions
 * a test writes itself, and a real one into which a small BPF program puts a record each time
 * it is run. The real one needs root.
 */
#ifndef TAPIR_TESTS_RING_FEEDER_H
#define TAPIR_TESTS_RING_FEEDER_H

#include <assert.h>
#include <bpf/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/bpf_insn.h"
#include "attach/bpf_ring.h"

/* Two control words and the data mapped twice in a row, as the kernel does it. */
struct fake_ring {
	uint64_t consumer_pos, producer_pos;
	char *data;
	struct tapir_bpf_ring ring; /* what is under test reads this; never __close it */
};

/* bytes: a power of two of pages; pos: where both sides stand. */
static inline void fake_ring__init(struct fake_ring *f, size_t bytes, uint64_t pos)
{
	int fd = memfd_create("fake_ring", MFD_CLOEXEC);

	assert(fd >= 0 && !ftruncate(fd, (off_t)bytes));
	f->data = mmap(NULL, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert(f->data != MAP_FAILED);
	for (int half = 0; half < 2; half++)
		assert(mmap(f->data + (size_t)half * bytes, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED);
	close(fd);
	f->consumer_pos = f->producer_pos = pos;
	f->ring = (struct tapir_bpf_ring){.fd = -1,
					  .bytes = bytes,
					  .consumer_pos = &f->consumer_pos,
					  .producer_pos = &f->producer_pos,
					  .data = f->data,
					  .pos = pos};
}

static inline void fake_ring__fini(struct fake_ring *f)
{
	munmap(f->data, 2 * f->ring.bytes);
}

/* Returns where its header stands, so that a flag can be taken away later. */
static inline uint32_t *fake_ring__put(struct fake_ring *f, const void *rec, uint32_t len,
				       uint32_t flags)
{
	char *at = f->data + (f->producer_pos & (f->ring.bytes - 1));
	uint32_t head = len | flags;

	memcpy(at, &head, sizeof(head));
	memcpy(at + BPF_RINGBUF_HDR_SZ, rec, len);
	f->producer_pos += BPF_RINGBUF_HDR_SZ + ((len + 7) & ~7u);
	return (uint32_t *)(void *)at;
}

/* A program that sends what stands in a one-element array, and the array. */
struct ring_feeder {
	int prog_fd, data_fd;
};

static inline int ring_feeder__load(const struct bpf_insn *code, size_t cnt)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .prog_flags = BPF_F_SLEEPABLE);

	return bpf_prog_load(BPF_PROG_TYPE_SYSCALL, "ring_feeder", "GPL", code, cnt, &opts);
}

/* Each run sends len bytes to the ring of map ring_fd. False: not permitted. */
static inline bool ring_feeder__open(struct ring_feeder *f, int ring_fd, uint32_t len)
{
	f->data_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ring_feed", 4, len, 1, NULL);
	const struct bpf_insn code[] = {
		TAPIR_INSN_MAP(BPF_REG_1, ring_fd),
		TAPIR_INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_2, BPF_PSEUDO_MAP_VALUE, 0,
			   f->data_fd),
		TAPIR_INSN(0, 0, 0, 0, 0),
		TAPIR_INSN_MOV(BPF_REG_3, (int32_t)len),
		TAPIR_INSN_MOV(BPF_REG_4, 0),
		TAPIR_INSN_CALL(BPF_FUNC_ringbuf_output),
		TAPIR_INSN_EXIT(),
	};

	f->prog_fd = ring_feeder__load(code, sizeof(code) / sizeof(code[0]));
	return f->data_fd >= 0 && f->prog_fd >= 0;
}

static inline void ring_feeder__close(struct ring_feeder *f)
{
	if (f->data_fd > 0)
		close(f->data_fd);
	if (f->prog_fd > 0)
		close(f->prog_fd);
	*f = (struct ring_feeder){};
}

/* Sends rec, as long as the feeder was opened for. What the helper returned. */
static inline int ring_feeder__send(const struct ring_feeder *f, const void *rec)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	uint32_t zero = 0;
	int err = bpf_map_update_elem(f->data_fd, &zero, rec, BPF_ANY);

	if (!err)
		err = bpf_prog_test_run_opts(f->prog_fd, &opts);
	return err ? err : (int)opts.retval;
}

/* Reserves 64 bytes and discards them. */
static inline int ring_feeder__discard(int ring_fd)
{
	const struct bpf_insn code[] = {
		TAPIR_INSN_MAP(BPF_REG_1, ring_fd),
		TAPIR_INSN_MOV(BPF_REG_2, 64),
		TAPIR_INSN_MOV(BPF_REG_3, 0),
		TAPIR_INSN_CALL(BPF_FUNC_ringbuf_reserve),
		TAPIR_INSN(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 3, 0),
		TAPIR_INSN_MOV_REG(BPF_REG_1, BPF_REG_0),
		TAPIR_INSN_MOV(BPF_REG_2, 0),
		TAPIR_INSN_CALL(BPF_FUNC_ringbuf_discard),
		TAPIR_INSN_MOV(BPF_REG_0, 0),
		TAPIR_INSN_EXIT(),
	};
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int fd = ring_feeder__load(code, sizeof(code) / sizeof(code[0]));
	int err = fd < 0 ? fd : bpf_prog_test_run_opts(fd, &opts);

	if (fd >= 0)
		close(fd);
	return err;
}

static inline int real_ring__open(uint32_t bytes)
{
	return bpf_map_create(BPF_MAP_TYPE_RINGBUF, "test_ring", 0, 0, bytes, NULL);
}

#endif
