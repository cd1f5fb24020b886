/* SPDX-License-Identifier: MIT */
/*
 * publisher [--wait] MODE - publishes an OpenTelemetry process context (OTEP 4719), and burns CPU
 * for a second. MODE:
 *
 * It publishes before it says its pid.
 *
 *	service		by libtapir: service.name "checkout" and more; a third of a second after the
 *			test says go, service.name "checkout-2"
 *	exec		as "service", then executes itself as "nothing"
 *	nothing		publishes nothing
 *	unmapped kernel	the payload is at an address that nobody may read
 *	huge		the payload has 4 GB
 *	changing	the header is always being changed
 *	flapping	another payload each microsecond
 *	garbage		the payload is random bytes
 *	nested		lists in lists in lists
 *	many		1,000 mappings of the name; none is a header
 *	stuck		the payload's page never answers (userfaultfd)
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tapir/activity.h"
#include "tapir/otel_context.h"
#include "target.h"

#define PAGE_BYTES 4096ul

static struct tapir_otel_process_header *header;
static volatile uint64_t sink;

static struct tapir_otel_process_header *map_header(void)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	void *at;

	if (fd < 0 || ftruncate(fd, PAGE_BYTES) != 0)
		target__die("memfd");
	at = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		target__die("mmap");
	return at;
}

static void publish_raw(uint64_t payload_va, uint32_t bytes, uint64_t published_ns)
{
	header = map_header();
	memcpy(header->signature, TAPIR_OTEL_PROCESS_SIGNATURE, sizeof(header->signature));
	header->version = TAPIR_OTEL_PROCESS_VERSION;
	header->payload_va = payload_va;
	header->payload_bytes = bytes;
	header->published_at_ns = published_ns;
}

static void publish_service(const char *name)
{
	const struct tapir_attribute resource[] = {{"service.name", name},
						   {"service.version", "1.2.3"},
						   {"telemetry.sdk.language", "c"}};

	if (tapir_process_context__publish(resource, 3, NULL, 0) != 0)
		target__die("publish");
}

static void *flap(void *unused)
{
	static char payloads[2][16];

	(void)unused;
	for (uint64_t i = 1;; i++) {
		header->payload_va = (uint64_t)(uintptr_t)payloads[i & 1];
		header->payload_bytes = (uint32_t)(i & 15);
		header->published_at_ns = i;
	}
	return NULL;
}

static void publish_flapping(void)
{
	pthread_t thread;

	publish_raw(0, 0, 0);
	if (pthread_create(&thread, NULL, flap, NULL) != 0)
		target__die("pthread_create");
}

static void publish_garbage(void)
{
	static uint8_t bytes[20000];

	srand(4719);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)rand();
	publish_raw((uint64_t)(uintptr_t)bytes, sizeof(bytes), 1);
}

/* Messages of field `number`, each the whole content of the one before. */
static void publish_nested(void)
{
	static uint8_t bytes[16000];
	size_t at = sizeof(bytes);

	while (at > 8) {
		size_t len = sizeof(bytes) - at;

		bytes[--at] = (uint8_t)(len >> 14 & 0x7f);
		bytes[--at] = (uint8_t)((len >> 7 & 0x7f) | 0x80);
		bytes[--at] = (uint8_t)((len & 0x7f) | 0x80);
		bytes[--at] = 1 << 3 | 2;
	}
	publish_raw((uint64_t)(uintptr_t)(bytes + at), (uint32_t)(sizeof(bytes) - at), 1);
}

static void publish_many(void)
{
	for (int i = 0; i < 1000; i++)
		memset(map_header(), 'x', 64);
}

static void publish_stuck(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	void *page =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0 || page == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) != 0)
		target__die("userfaultfd");
	range.range.start = (uint64_t)(uintptr_t)page;
	range.range.len = PAGE_BYTES;
	if (ioctl(fd, UFFDIO_REGISTER, &range) != 0)
		target__die("UFFDIO_REGISTER");
	publish_raw(range.range.start, 100, 1);
}

static void publish(const char *mode)
{
	if (!strcmp(mode, "service") || !strcmp(mode, "exec"))
		publish_service("checkout");
	else if (!strcmp(mode, "unmapped"))
		publish_raw(0x10000, 100, 1);
	else if (!strcmp(mode, "kernel"))
		publish_raw(0xffffffff81000000ull, 100, 1);
	else if (!strcmp(mode, "huge"))
		publish_raw((uint64_t)(uintptr_t)&header, UINT32_MAX, 1);
	else if (!strcmp(mode, "changing"))
		publish_raw((uint64_t)(uintptr_t)&header, 8, 0);
	else if (!strcmp(mode, "flapping"))
		publish_flapping();
	else if (!strcmp(mode, "garbage"))
		publish_garbage();
	else if (!strcmp(mode, "nested"))
		publish_nested();
	else if (!strcmp(mode, "many"))
		publish_many();
	else if (!strcmp(mode, "stuck"))
		publish_stuck();
}

static void burn(uint64_t ns)
{
	uint64_t until = target__now_ns() + ns;

	while (target__now_ns() < until)
		for (int i = 0; i < 1000; i++)
			sink += (uint64_t)i;
}

int main(int argc, char **argv)
{
	const char *mode = argv[argc - 1];

	publish(mode);
	target__start(&argc, argv);
	burn(333000000);
	if (!strcmp(mode, "service"))
		publish_service("checkout-2");
	burn(667000000);
	if (!strcmp(mode, "exec"))
		execl("/proc/self/exe", argv[0], "nothing", (char *)NULL);
	return 0;
}
