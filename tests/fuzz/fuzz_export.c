// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any well-formed records, written to a file and exported: blocks of NetTrace follow each other
 * up to the end, a speedscope document is closed, what is OpenTelemetry's can be read again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "each_record.h"
#include "output/export/nettrace.h"
#include "output/export/perf_script.h"
#include "output/export/speedscope.h"
#include "otlp.pb-c.h"
#include "output/render/otlp_profiles.h"
#include "trace/reader.h"
#include "trace/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void put(void *ctx, const struct tapir_rec *rec)
{
	tapir_writer__put(ctx, rec);
}

static void write_file(const char *path, const uint8_t *input, size_t len)
{
	struct tapir_writer_opts opts = {
		.sz = sizeof(opts), .path = path, .force = true, .plain = true};
	struct tapir_catalog *catalog = tapir_catalog__new(TAPIR_CATALOG_READ, NULL);
	struct tapir_writer *writer;

	if (tapir_writer__open(&opts, &writer))
		abort();
	each_record(input, len, catalog, put, writer);
	tapir_writer__close(writer);
	tapir_writer__free(writer);
	tapir_catalog__free(catalog);
}

static void check_blocks(const struct tapir_str *out)
{
	size_t at = 20; /* magic and version */
	uint32_t head = 1;

	while (at + sizeof(head) <= out->len) {
		memcpy(&head, out->data + at, sizeof(head));
		at += sizeof(head) + (head & 0xffffff);
	}
	if (at != out->len || head)
		abort();
}

static void export_nettrace(struct tapir_reader *reader)
{
	struct tapir_nettrace *n = tapir_nettrace__new(reader, "a\nb");
	const struct tapir_rec *rec;
	struct tapir_str out = {};

	while (tapir_reader__next(reader, &rec) > 0)
		if (tapir_nettrace__add(n, rec, &out))
			abort();
	if (tapir_nettrace__finish(n, &out))
		abort();
	check_blocks(&out);
	tapir_nettrace__free(n);
	tapir_str__fini(&out);
}

static void export_text(struct tapir_reader *reader)
{
	struct tapir_perf_script script = {.catalog = tapir_reader__catalog(reader)};
	struct tapir_speedscope *s = tapir_speedscope__new(tapir_reader__catalog(reader),
							   tapir_reader__stats(reader)->created_ns);
	struct tapir_str out = {}, lines = {};
	const struct tapir_rec *rec;

	while (tapir_reader__next(reader, &rec) > 0) {
		tapir_perf_script__add(&script, rec, &lines);
		if (tapir_speedscope__add(s, rec))
			abort();
	}
	while (tapir_speedscope__next_part(s, "fuzz", &out))
		;
	if (out.len < 3 || memcmp(out.data + out.len - 3, "]}\n", 3))
		abort();
	tapir_perf_script__fini(&script);
	tapir_speedscope__free(s);
	tapir_str__fini(&lines);
	tapir_str__fini(&out);
}

static void export_otlp(struct tapir_reader *reader)
{
	const struct tapir_reader_stats *stats = tapir_reader__stats(reader);
	const struct tapir_otlp_opts opts = {};
	struct tapir_otlp_samples samples;
	Tapir__Otlp__ProfilesData *message;
	const struct tapir_rec *rec;
	struct tapir_str out = {};

	if (tapir_otlp_samples__init(&samples, tapir_reader__catalog(reader), stats->created_ns,
				     stats->created_utc_ns))
		abort();
	while (tapir_reader__next(reader, &rec) > 0)
		if (tapir_otlp_samples__add(&samples, rec))
			abort();
	if (tapir_otlp_samples__finish(&samples) ||
	    tapir_otlp_profiles__write(&samples, &opts, &out))
		abort();
	message = tapir__otlp__profiles_data__unpack(NULL, out.len, (const uint8_t *)out.data);
	if (!message || !message->dictionary || !message->dictionary->n_stack_table)
		abort();
	tapir__otlp__profiles_data__free_unpacked(message, NULL);
	tapir_otlp_samples__fini(&samples);
	tapir_str__fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	static char path[64];
	struct tapir_reader *reader;

	if (!*path)
		snprintf(path, sizeof(path), "/tmp/tapir-fuzz-export-%d.tapir", (int)getpid());
	write_file(path, input, len);
	for (int i = 0; i < 3; i++) {
		if (tapir_reader__open(path, &reader))
			abort();
		if (i == 2)
			export_otlp(reader);
		else if (i)
			export_text(reader);
		else
			export_nettrace(reader);
		tapir_reader__close(reader);
	}
	unlink(path);
	return 0;
}
