/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The input as registers, memory and links of a process, then as what /proc has of threads and
 * sockets. */
#include <stdlib.h>
#include <string.h>

#include "attach/thread_list.h"
#include "record/threads/sockets.h"
#include "record/threads/system_call.h"

struct input {
	const uint8_t *data;
	size_t size;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t read_memory(void *ctx, uint64_t va, void *out, size_t bytes)
{
	const struct input *in = ctx;
	size_t off = in->size ? va % in->size : 0;

	bytes = bytes < in->size - off ? bytes : in->size - off;
	if (bytes)
		memcpy(out, in->data + off, bytes);
	return bytes;
}

static size_t read_link(void *ctx, int fd, char *out, size_t bytes)
{
	return read_memory(ctx, (uint64_t)fd, out, bytes);
}

static void parse_proc(const uint8_t *data, size_t size)
{
	struct tapir_thread_seen seen = {};
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	(void)tapir_thread_seen__parse_syscall(&seen, text);
	(void)tapir_thread_seen__parse_status(&seen, text);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	const struct tapir_call_source source = {read_memory, read_link, &in, 0};
	struct tapir_thread_seen seen = {};
	struct tapir_sockets sockets = {.are_read = true};
	struct tapir_call call = {};
	struct tapir_str out = {};
	uint16_t nr = 0;

	parse_proc(data, size);
	memcpy(&nr, data, size < sizeof(nr) ? size : sizeof(nr));
	memcpy(seen.args, data, size < sizeof(seen.args) ? size : sizeof(seen.args));
	for (seen.syscall = nr % 512; seen.syscall < 512; seen.syscall += 101)
		tapir_call__read(&source, &seen, &call);
	for (int list = 0; list < TAPIR_SOCKETS_CNT; list++)
		tapir_sockets__parse(&sockets, list, (const char *)data, size);
	if (call.text.data && !memchr(call.text.data, 0, call.text.len))
		tapir_sockets__explain(&sockets, 1, call.text.data, &out);
	tapir_call__fini(&call);
	tapir_str__fini(&out);
	tapir_sockets__fini(&sockets);
	return 0;
}
