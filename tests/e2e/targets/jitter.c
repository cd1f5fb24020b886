/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jitter [--wait] map|dump|none MS NAME@SLOT ... - a small JIT: for each NAME it writes a function
 * to place SLOT of one page of code, says so in its perf map (map) or jitdump (dump), and burns
 * MS milliseconds in it. The witness has each period: name, address, from and until when it ran.
 */
// build: -fno-omit-frame-pointer -fno-optimize-sibling-calls
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "target.h"

#define SLOT_BYTES 64
#define CODE_BYTES 4096

/* push %rbp; mov %rsp,%rbp; 1: cmpb $0,(%rdi); je 1b; pop %rbp; ret */
static const unsigned char spin[] = {0x55, 0x48, 0x89, 0xe5, 0x80, 0x3f,
				     0x00, 0x74, 0xfb, 0x5d, 0xc3};

static unsigned char *code;
static FILE *file; /* NULL: nobody is told */
static char path[64];
static uint64_t period_ns;
static volatile unsigned char has_ended;

/* The layouts of tools/perf/Documentation/jitdump-specification.txt. */
struct dump_header {
	uint32_t magic, version, total_size, elf_mach, pad1, pid;
	uint64_t timestamp, flags;
};

struct dump_load {
	uint32_t id, total_size;
	uint64_t timestamp;
	uint32_t pid, tid;
	uint64_t vma, code_addr, code_size, code_index;
};

static void open_dump(void)
{
	struct dump_header header = {.magic = 0x4a695444,
				     .version = 1,
				     .total_size = sizeof(header),
				     .elf_mach = EM_X86_64,
				     .pid = (uint32_t)getpid(),
				     .timestamp = target__now_ns()};

	fwrite(&header, sizeof(header), 1, file);
	fflush(file);
	/* How perf, too, learns of the file. */
	if (mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(file), 0) ==
	    MAP_FAILED)
		target__die("mmap of the dump");
}

static void open_file(bool is_dump)
{
	snprintf(path, sizeof(path), is_dump ? "/tmp/jit-%d.dump" : "/tmp/perf-%d.map",
		 (int)getpid());
	file = fopen(path, "w+e");
	if (!file)
		target__die(path);
	if (is_dump)
		open_dump();
}

static void tell(bool is_dump, const char *name, const unsigned char *at)
{
	static uint64_t index;
	struct dump_load load = {.total_size =
					 (uint32_t)(sizeof(load) + strlen(name) + 1 + sizeof(spin)),
				 .timestamp = target__now_ns(),
				 .pid = (uint32_t)getpid(),
				 .tid = (uint32_t)syscall(SYS_gettid),
				 .vma = (uint64_t)at,
				 .code_addr = (uint64_t)at,
				 .code_size = sizeof(spin),
				 .code_index = index++};

	if (!file)
		return;
	if (is_dump) {
		fwrite(&load, sizeof(load), 1, file);
		fwrite(name, strlen(name) + 1, 1, file);
		fwrite(spin, sizeof(spin), 1, file);
	} else {
		fprintf(file, "%lx %zx %s\n", (unsigned long)at, sizeof(spin), name);
	}
	fflush(file);
}

/* On a busy machine a period lasts longer: a quarter of it is spent on a CPU, or there are no
 * samples. */
static void *end_period(void *runner_clock)
{
	clockid_t clock = *(clockid_t *)runner_clock;
	struct timespec from, now;

	clock_gettime(clock, &from);
	do {
		target__sleep_ns(period_ns);
		clock_gettime(clock, &now);
	} while ((uint64_t)((now.tv_sec - from.tv_sec) * 1000000000l + now.tv_nsec - from.tv_nsec) <
		 period_ns / 4);
	has_ended = 1;
	return NULL;
}

static __attribute__((noipa)) void run(unsigned char *at)
{
	((void (*)(volatile unsigned char *))(uintptr_t)at)(&has_ended);
}

static void play(bool is_dump, char *argument, bool is_first)
{
	char *slot = strchr(argument, '@');
	unsigned char *at = code + SLOT_BYTES * strtoul(slot ? slot + 1 : "0", NULL, 10);
	uint64_t from_ns, from_cpu_ns;
	clockid_t clock;
	pthread_t timer;

	if (slot)
		*slot = 0;
	memset(at, 0xcc, SLOT_BYTES);
	memcpy(at, spin, sizeof(spin));
	tell(is_dump, argument, at);
	has_ended = 0;
	from_ns = target__now_ns();
	from_cpu_ns = target__cpu_ns();
	pthread_getcpuclockid(pthread_self(), &clock);
	pthread_create(&timer, NULL, end_period, &clock);
	run(at);
	printf("%s{\"name\":", is_first ? "" : ",");
	target__print_json(argument);
	printf(",\"va\":%" PRIu64 ",\"from_ns\":%" PRIu64 ",\"until_ns\":%" PRIu64
	       ",\"cpu_ns\":%" PRIu64 "}",
	       (uint64_t)(uintptr_t)at, from_ns, target__now_ns(), target__cpu_ns() - from_cpu_ns);
	pthread_join(timer, NULL);
}

int main(int argc, char **argv)
{
	bool is_dump;

	target__start(&argc, argv);
	if (argc < 4)
		return 2;
	is_dump = !strcmp(argv[1], "dump");
	period_ns = strtoull(argv[2], NULL, 10) * 1000000u;
	code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		target__die("mmap");
	if (strcmp(argv[1], "none"))
		open_file(is_dump);
	printf("{\"periods\":[");
	for (int i = 3; i < argc; i++)
		play(is_dump, argv[i], i == 3);
	printf("]}\n");
	if (file)
		unlink(path);
	return 0;
}
