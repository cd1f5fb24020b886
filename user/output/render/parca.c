// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One series of one sample; labels are "NAME=VALUE" as Prometheus has them, and are checked before
 * anything is sent, since the server refuses a whole request for one of them.
 */
#include "output/render/parca.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parca.pb-c.h"
#include "output/render/messages.h"

#define MAX_LABELS 34 /* with __name__ and job */
#define HEAD_BYTES 5

struct labels {
	Tapir__Parca__Label rows[MAX_LABELS];
	Tapir__Parca__Label *pointers[MAX_LABELS];
	size_t cnt;
};

static bool is_label_name(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	size_t first = strspn(text, letters);

	/* Digits follow the first letter. */
	return first && first + strspn(text + first, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRS"
						     "TUVWXYZ_0123456789") ==
				strlen(text);
}

static bool is_utf8(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t left = strlen(text), len;

	for (; left; p += len, left -= len) {
		len = tapir_utf8__len(p, left);
		if (!len || tapir_utf8__misleads(p, len))
			return false;
	}
	return true;
}

static bool add_parca_label(struct labels *labels, char *name, char *value)
{
	Tapir__Parca__Label *row = &labels->rows[labels->cnt];

	if (labels->cnt == MAX_LABELS)
		return false;
	for (size_t i = 0; i < labels->cnt; i++)
		if (!strcmp(labels->rows[i].name, name))
			return false;
	tapir__parca__label__init(row);
	row->name = name;
	row->value = value;
	labels->pointers[labels->cnt++] = row;
	return true;
}

/* text is cut to pieces, which labels borrow. */
static bool parse_labels(char *text, struct labels *labels)
{
	char *rest = strchr(text, '{'), *pair, *value;
	size_t len = strlen(text);

	if (rest && text[len - 1] != '}')
		return false;
	if (rest) {
		text[len - 1] = '\0';
		*rest++ = '\0';
	}
	if (!*text || !is_utf8(text) || !add_parca_label(labels, "__name__", "process_cpu") ||
	    !add_parca_label(labels, "job", text))
		return false;
	while (rest && (pair = strsep(&rest, ","))) {
		value = strchr(pair, '=');
		if (!value)
			return false;
		*value++ = '\0';
		if (!is_label_name(pair) || !*value || !is_utf8(value) ||
		    !add_parca_label(labels, pair, value))
			return false;
	}
	return true;
}

const char *tapir_parca__check_name(const char *name)
{
	struct labels labels = {};
	char *text = name ? strdup(name) : NULL;
	bool is_right = !text || parse_labels(text, &labels);

	free(text);
	return is_right ? NULL : "NAME or NAME{LABEL=VALUE,...}";
}

static int add_request(const struct labels *labels, const void *pprof, size_t len,
		       struct tapir_str *out)
{
	Tapir__Parca__LabelSet set = TAPIR__PARCA__LABEL_SET__INIT;
	Tapir__Parca__RawSample sample = TAPIR__PARCA__RAW_SAMPLE__INIT, *samples[] = {&sample};
	Tapir__Parca__RawProfileSeries one = TAPIR__PARCA__RAW_PROFILE_SERIES__INIT,
				       *all[] = {&one};
	Tapir__Parca__WriteRawRequest request = TAPIR__PARCA__WRITE_RAW_REQUEST__INIT;

	set.n_labels = labels->cnt;
	set.labels = (Tapir__Parca__Label **)labels->pointers;
	sample.raw_profile.data = (uint8_t *)pprof;
	sample.raw_profile.len = len;
	one.labels = &set;
	one.n_samples = 1;
	one.samples = samples;
	request.n_series = 1;
	request.series = all;
	return tapir_messages__pack(&request.base, out);
}

int tapir_parca__write(const char *name, const void *pprof, size_t len, struct tapir_str *out)
{
	struct labels labels = {};
	char *text = strdup(name ? name : "tapir");
	size_t at = out->len;
	int err = text ? parse_labels(text, &labels) ? 0 : -EINVAL : -ENOMEM;

	if (!err) {
		tapir_str__add(out, "\0\0\0\0", HEAD_BYTES); /* flags: a message, as it is */
		err = add_request(&labels, pprof, len, out);
	}
	if (!err && out->failed)
		err = -ENOMEM;
	for (unsigned i = 0; !err && i < 4; i++)
		out->data[at + 1 + i] = (char)((out->len - at - HEAD_BYTES) >> (24 - 8 * i));
	free(text);
	return err;
}
