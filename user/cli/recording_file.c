// SPDX-License-Identifier: GPL-2.0-or-later
/* A file is read as far as it goes; then its damage is an error. */
#include "cli/recording_file.h"

#include <errno.h>
#include <inttypes.h>

#include "base/diag.h"
#include "base/log.h"
#include "base/str.h"

bool tapir_recording_file__is_damaged(const struct tapir_reader_stats *stats)
{
	return stats->bad_chunks || stats->bytes_skipped || stats->malformed_records ||
	       stats->missing_chunks;
}

/* "3 chunks, 48 bytes": what there is none of is not spoken of. */
static void add_missing(struct tapir_str *out, uint64_t cnt, const char *what)
{
	if (cnt)
		tapir_str__addf(out, "%s%" PRIu64 " %s%s", out->len ? ", " : "", cnt, what,
				cnt == 1 ? "" : "s");
}

static int damage(const char *path, const struct tapir_reader_stats *stats)
{
	struct tapir_str missing = {};
	int err;

	add_missing(&missing, stats->bad_chunks + stats->missing_chunks, "chunk");
	add_missing(&missing, stats->bytes_skipped, "byte");
	add_missing(&missing, stats->malformed_records, "record");
	err = tapir_diag__fail(-EBADMSG, "%s is damaged: what could be read is above; it lacks %s",
			       path, missing.data ? missing.data : "something");
	tapir_str__fini(&missing);
	return err;
}

static int check_damage(const char *path, const struct tapir_reader_stats *stats)
{
	if (tapir_recording_file__is_damaged(stats))
		return damage(path, stats);
	if (stats->cut)
		tapir_warn("%s has no end: it was cut short, tapir was killed, or it is still "
			   "being written; all that is there was read",
			   path);
	return 0;
}

int tapir_recording_file__read(struct tapir_cli *cli,
			       int (*work)(struct tapir_reader *reader, struct tapir_cli *cli))
{
	const char *path = cli->words.data[0];
	struct tapir_reader *reader;
	int err = tapir_reader__open(path, &reader);

	if (err)
		return err;
	err = work(reader, cli);
	if (!err)
		err = check_damage(path, tapir_reader__stats(reader));
	tapir_reader__close(reader);
	return err;
}
