/* SPDX-License-Identifier: MIT */
/*
 * process_context.c - what the process is, for readers outside it (tapir/activity.h):
 * OpenTelemetry's process context, OTEP 4719. A header in a mapping named OTEL_CTX leads to a
 * message of the protobuf encoding, which is written here by hand: it is small, and a program that
 * is traced links no library for it.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "../provider/provider_impl.h"
#include "../ring/ring_sys.h"
#include "tapir/activity.h"

#define NAME	     "OTEL_CTX"
#define VERSION	     2u
#define SCHEMA	     "tlsdesc_v1_dev"
#define KEY_MAX	     256u
#define TEXT_MAX     65535u
#define MAPPED_BYTES 4096u
#define MFD_NOEXEC   8u /* MFD_NOEXEC_SEAL, Linux 6.3 */

#ifndef PR_SET_VMA
#define PR_SET_VMA	     0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

struct header {
	char signature[8];
	uint32_t version;
	uint32_t payload_bytes;
	uint64_t published_at_ns;
	uint64_t payload;
};
_Static_assert(sizeof(struct header) == 32, "header");

static struct {
	struct header *header; /* NULL: none */
	void *payload;
	pid_t pid; /* whose it is: a child has no mapping */
} context;

/* ---- protobuf ----------------------------------------------------------------------------- */

/* Into NULL it only counts. */
struct output {
	uint8_t *at;
	size_t bytes;
};

static void append_protobuf_bytes(struct output *out, const void *bytes, size_t len)
{
	if (out->at && len)
		memcpy(out->at + out->bytes, bytes, len);
	out->bytes += len;
}

static void put_varint(struct output *out, size_t value)
{
	uint8_t byte;

	do {
		byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		append_protobuf_bytes(out, &byte, 1);
		value >>= 7;
	} while (value);
}

static void put_tag(struct output *out, unsigned field, size_t len)
{
	put_varint(out, field << 3 | 2);
	put_varint(out, len);
}

static void append_protobuf_text(struct output *out, unsigned field, const char *text)
{
	put_tag(out, field, strlen(text));
	append_protobuf_bytes(out, text, strlen(text));
}

typedef void (*write_fn)(struct output *out, const void *data);

/* A message within another one: its length goes before it. */
static void put_message(struct output *out, unsigned field, write_fn write, const void *data)
{
	struct output counted = {NULL, 0};

	write(&counted, data);
	put_tag(out, field, counted.bytes);
	write(out, data);
}

/* AnyValue { string_value = 1; array_value = 5 }, KeyValue { key = 1; value = 2 } */
static void write_string_value(struct output *out, const void *text)
{
	append_protobuf_text(out, 1, text);
}

static void write_attribute(struct output *out, const void *data)
{
	const struct tapir_attribute *a = data;

	append_protobuf_text(out, 1, a->key);
	put_message(out, 2, write_string_value, a->value);
}

struct all {
	const struct tapir_attribute *resource;
	const char *const *keys;
	uint32_t resource_cnt, key_cnt;
};

static void write_resource(struct output *out, const void *data)
{
	const struct all *all = data;

	for (uint32_t i = 0; i < all->resource_cnt; i++)
		put_message(out, 1, write_attribute, &all->resource[i]);
}

static void write_key_array(struct output *out, const void *data)
{
	const struct all *all = data;

	for (uint32_t i = 0; i < all->key_cnt; i++)
		put_message(out, 1, write_string_value, all->keys[i]);
}

static void write_keys_value(struct output *out, const void *data)
{
	put_message(out, 5, write_key_array, data);
}

static void write_keys(struct output *out, const void *data)
{
	append_protobuf_text(out, 1, "threadlocal.attribute_key_map");
	put_message(out, 2, write_keys_value, data);
}

static void write_context(struct output *out, const struct all *all)
{
	static const struct tapir_attribute schema = {"threadlocal.schema_version", SCHEMA};

	put_message(out, 1, write_resource, all);
	put_message(out, 2, write_attribute, &schema);
	put_message(out, 2, write_keys, all);
}

/* ---- the mapping -------------------------------------------------------------------------- */

static uint64_t boot_ns(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static int open_memfd(void)
{
	long fd =
		ring_sys3(SYS_memfd_create, NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC, 0);

	if (fd == -EINVAL)
		fd = ring_sys3(SYS_memfd_create, NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING, 0);
	return (int)fd;
}

static int name_it(const struct header *header)
{
	return (int)ring_sys6(SYS_prctl, PR_SET_VMA, PR_SET_VMA_ANON_NAME, (long)header,
			      MAPPED_BYTES, (long)NAME, 0);
}

static struct header *map_header(int *is_memfd)
{
	int fd = ring_sys_file_may_have(MAPPED_BYTES) ? open_memfd() : -EFBIG;
	void *at = MAP_FAILED;

	*is_memfd = fd >= 0;
	if (fd >= 0 && !ring_sys3(SYS_ftruncate, fd, MAPPED_BYTES, 0))
		at = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (fd < 0)
		at = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

static int make_context(void)
{
	int is_memfd, err = -ENOMEM;
	struct header *header = map_header(&is_memfd);

	if (!header)
		return err;
	if (!madvise(header, MAPPED_BYTES, MADV_DONTFORK))
		err = name_it(header) && !is_memfd ? -EACCES : 0;
	if (err) {
		munmap(header, MAPPED_BYTES);
		return err;
	}
	context.header = header;
	context.pid = getpid();
	return 0;
}

/* The words in the order that readers rely on; the old payload may go when they are written. */
static void fill_context(uint8_t *payload, size_t bytes)
{
	struct header *header = context.header;

	__atomic_store_n(&header->published_at_ns, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&header->version, VERSION, __ATOMIC_SEQ_CST);
	__atomic_store_n(&header->payload_bytes, (uint32_t)bytes, __ATOMIC_SEQ_CST);
	__atomic_store_n(&header->payload, (uint64_t)(uintptr_t)payload, __ATOMIC_SEQ_CST);
	__atomic_store_n(&header->published_at_ns, boot_ns(), __ATOMIC_SEQ_CST);
	memcpy(header->signature, NAME, sizeof(header->signature));
	name_it(header);
}

static int is_short_text(const char *text)
{
	return text && strnlen(text, TEXT_MAX + 1) <= TEXT_MAX;
}

static int is_valid(const struct all *all)
{
	if ((all->resource_cnt && !all->resource) || (all->key_cnt && !all->keys) ||
	    all->key_cnt > KEY_MAX || all->resource_cnt > KEY_MAX)
		return 0;
	for (uint32_t i = 0; i < all->resource_cnt; i++)
		if (!is_short_text(all->resource[i].key) || !is_short_text(all->resource[i].value))
			return 0;
	for (uint32_t i = 0; i < all->key_cnt; i++)
		if (!is_short_text(all->keys[i]))
			return 0;
	return 1;
}

/* Under the lock. */
static int publish_context(const struct all *all)
{
	struct output counted = {NULL, 0}, written = {NULL, 0};
	void *old;
	int err = 0;

	write_context(&counted, all);
	written.at = malloc(counted.bytes);
	if (!written.at)
		return -ENOMEM;
	write_context(&written, all);
	if (context.header && context.pid != getpid()) {
		context.header = NULL; /* not mapped in a child */
		free(context.payload);
		context.payload = NULL;
	}
	if (!context.header)
		err = make_context();
	if (err) {
		free(written.at);
		return err;
	}
	old = context.payload;
	fill_context(written.at, written.bytes);
	context.payload = written.at;
	free(old);
	return 0;
}

int tapir_process_context__publish(const struct tapir_attribute *resource, uint32_t resource_cnt,
				   const char *const *keys, uint32_t key_cnt)
{
	const struct all all = {resource, keys, resource_cnt, key_cnt};
	int saved = errno, err;

	if (!is_valid(&all))
		return -EINVAL;
	provider_lock();
	err = publish_context(&all);
	provider_unlock();
	errno = saved;
	return err;
}

void tapir_process_context__withdraw(void)
{
	provider_lock();
	if (context.header && context.pid == getpid())
		munmap(context.header, MAPPED_BYTES);
	free(context.payload);
	context.header = NULL;
	context.payload = NULL;
	provider_unlock();
}
