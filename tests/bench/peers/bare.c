/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bare - attaches one program of bare.bpf.c or live.bpf.c to one site, and a second one to another,
 * by uprobe_multi links, and writes what comes out of its ring to a file, as it is. No layouts, no
 * names, no filters: the least that a recorder can be.
 *
 *	bare OBJECT PROGRAM TARGET FILE-OFFSET OUTPUT [PROGRAM FILE-OFFSET]
 *
 * Ends on SIGINT and prints JSON: captured, lost, and the frames of the last stack.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI, 6.6: newer than bookworm's headers */
#define DRAIN_US     10000

static volatile sig_atomic_t has_ended;

struct sink {
	FILE *file;
	uint64_t captured_cnt;
	int64_t stack_bytes;
};

static void on_interrupt(int number)
{
	(void)number;
	has_ended = 1;
}

static int write_event(void *ctx, void *data, size_t size)
{
	struct sink *sink = ctx;

	sink->captured_cnt++;
	if (size > 64)
		memcpy(&sink->stack_bytes, (char *)data + 56, sizeof(sink->stack_bytes));
	return fwrite(data, 1, size, sink->file) == size ? 0 : -EIO;
}

/* The kernel's struct bpf_attr for BPF_LINK_CREATE as of commit 89ae89f53d20 (6.6). */
static int attach(int prog_fd, const char *path, uint64_t offset)
{
	struct {
		uint32_t prog_fd, target_fd, attach_type, flags;
		uint64_t path, offsets, ref_ctr_offsets, cookies;
		uint32_t cnt, multi_flags, pid, pad0;
	} attr = {.prog_fd = (uint32_t)prog_fd,
		  .attach_type = UPROBE_MULTI,
		  .path = (uint64_t)(uintptr_t)path,
		  .offsets = (uint64_t)(uintptr_t)&offset,
		  .cnt = 1};

	return (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
}

static bool is_wanted(const struct bpf_program *prog, const char *const wanted[2])
{
	const char *name = bpf_program__name(prog);

	return !strcmp(name, wanted[0]) || (wanted[1] && !strcmp(name, wanted[1]));
}

static struct bpf_object *load(const char *path, const char *const wanted[2], int prog_fds[2])
{
	struct bpf_object *obj = bpf_object__open_file(path, NULL);
	struct bpf_program *prog;

	if (!obj)
		return NULL;
	bpf_object__for_each_program(prog, obj)
		bpf_program__set_autoload(prog, is_wanted(prog, wanted));
	bpf_object__for_each_program(prog, obj) if (bpf_program__autoload(prog))
		bpf_program__set_expected_attach_type(prog, (enum bpf_attach_type)UPROBE_MULTI);
	if (bpf_object__load(obj)) {
		bpf_object__close(obj);
		return NULL;
	}
	for (int i = 0; i < 2 && wanted[i]; i++) {
		prog = bpf_object__find_program_by_name(obj, wanted[i]);
		prog_fds[i] = prog ? bpf_program__fd(prog) : -1;
	}
	return obj;
}

static uint64_t count_lost(struct bpf_object *obj)
{
	int cpu_cnt = libbpf_num_possible_cpus(), fd = bpf_object__find_map_fd_by_name(obj, "lost");
	uint64_t *cnt = calloc(cpu_cnt > 0 ? (size_t)cpu_cnt : 1, sizeof(*cnt)), sum = 0;
	uint32_t zero = 0;

	if (cnt && !bpf_map_lookup_elem(fd, &zero, cnt))
		for (int i = 0; i < cpu_cnt; i++)
			sum += cnt[i];
	free(cnt);
	return sum;
}

static int record(struct bpf_object *obj, const int link_fds[2], struct sink *sink)
{
	int ring_fd = bpf_object__find_map_fd_by_name(obj, "ring"), err = 0;
	struct ring_buffer *ring = ring_buffer__new(ring_fd, write_event, sink, NULL);

	if (!ring)
		return -errno;
	while (!has_ended && err >= 0) {
		usleep(DRAIN_US);
		err = ring_buffer__consume(ring);
	}
	close(link_fds[0]);
	close(link_fds[1]);
	if (err >= 0)
		err = ring_buffer__consume(ring);
	ring_buffer__free(ring);
	return err < 0 ? err : 0;
}

int main(int argc, char **argv)
{
	struct bpf_object *obj;
	struct sink sink = {0};
	int prog_fds[2] = {-1, -1}, link_fds[2] = {-1, -1}, err;
	const char *programs[2] = {NULL, NULL}, *offsets[2];

	if (argc != 6 && argc != 8)
		return 2;
	programs[0] = argv[2];
	programs[1] = argc == 8 ? argv[6] : NULL;
	offsets[0] = argv[4];
	offsets[1] = argc == 8 ? argv[7] : NULL;
	signal(SIGINT, on_interrupt);
	sink.file = fopen(argv[5], "wb");
	obj = load(argv[1], programs, prog_fds);
	if (!sink.file || !obj) {
		fprintf(stderr, "bare: cannot open %s or load %s\n", argv[5], argv[1]);
		return 1;
	}
	for (int i = 0; i < 2 && programs[i]; i++) {
		link_fds[i] = attach(prog_fds[i], argv[3], strtoull(offsets[i], NULL, 0));
		if (link_fds[i] < 0) {
			fprintf(stderr, "bare: cannot attach: %s\n", strerror(errno));
			return errno == EINVAL ? 3 : 1;
		}
	}
	err = record(obj, link_fds, &sink);
	printf("{\"captured\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"frames\": %" PRId64 "}\n",
	       sink.captured_cnt, count_lost(obj), sink.stack_bytes / 8);
	bpf_object__close(obj);
	return fclose(sink.file) || err ? 1 : 0;
}
