// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of formats: each has a row, with the bytes with which its files begin and the function
 * that reads them. Names and endings of files are not asked.
 */
#include "output/import/import.h"

#include <errno.h>
#include <string.h>

#include "base/diag.h"
#include "base/str.h"
#include "decode/perf_data.h"
#include "output/import/import_cpuprofile.h"
#include "output/import/import_jfr.h"
#include "output/import/import_nettrace.h"
#include "output/import/import_perf.h"

#define MAGIC_MAX 16u

static const struct {
	const char *name, *magic; /* names that are the same stand together */
	int (*import)(const struct tapir_import_input *input, const struct tapir_import_opts *opts,
		      struct tapir_import_result *out);
} formats[] = {
	{"perf.data", TAPIR_PERF_MAGIC, tapir_import_perf},
	{"perf.data", "2ELIFREP", tapir_import_perf}, /* of the other byte order: it says so */
	{"nettrace", "Nettrace", tapir_import_nettrace},
	{"jfr", "FLR", tapir_import_jfr},
	{"cpuprofile", "{\"nodes\":", tapir_import_cpuprofile},
};

static int fail_unknown(const struct tapir_import_input *input)
{
	struct tapir_str names = {};

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!i || strcmp(formats[i].name, formats[i - 1].name) != 0)
			tapir_str__addf(&names, "%s%s", i ? ", " : "", formats[i].name);
	tapir_diag__fail(-EOPNOTSUPP, "%s has no format that can be imported (%s)", input->name,
			 names.data ? names.data : "");
	tapir_str__fini(&names);
	return -EOPNOTSUPP;
}

int tapir_import__file(const struct tapir_import_input *input, const struct tapir_import_opts *opts,
		       struct tapir_import_result *out)
{
	char head[MAGIC_MAX];
	int64_t got = tapir_import_input__read((void *)input, head, sizeof(head), 0);

	*out = (struct tapir_import_result){};
	if (got < 0)
		return tapir_import__fail(input, (int)got, "", "");
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		size_t len = strlen(formats[i].magic);

		out->format = formats[i].name;
		if ((size_t)got >= len && !memcmp(head, formats[i].magic, len))
			return formats[i].import(input, opts, out);
	}
	return fail_unknown(input);
}
