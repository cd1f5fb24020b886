// SPDX-License-Identifier: GPL-2.0-or-later
/* What other programs let tapir read of themselves in /proc, and what container runtimes wrote. */
#include <stdlib.h>
#include <string.h>

#include "base/proc_text.h"
#include "runtime/dotnet/dotnet_facts.h"
#include "agent/containers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
	if (!holds)
		abort();
}

static void parse_stat(const char *text)
{
	struct tapir_proc_stat stat;
	const char *value = tapir_proc_status__value(text, "NSpid");
	uint32_t number;

	if (!tapir_proc_stat__parse(text, &stat))
		expect(!stat.comm[TAPIR_COMM_BYTES - 1]);
	expect(!value || (value > text && value <= text + strlen(text)));
	if (tapir_proc_status__number(text, "NSpid", TAPIR_PROC_LAST_WORD, &number))
		expect(value);
	(void)tapir_proc_status__number(text, "Uid", 1, &number);
}

static void parse_cgroup(const char *text)
{
	struct tapir_container_path path;
	char id[TAPIR_CONTAINER_ID_BYTES];

	tapir_container_path__of(text, &path);
	tapir_container__id(text, id);
	expect(path.end <= strlen(text) && path.pod_end <= strlen(text));
	expect(!strncmp(path.id, id, strlen(id)) && strlen(id) < sizeof(id));
	expect(memchr(path.pod_uid, 0, sizeof(path.pod_uid)));
}

static void parse_environ(const char *text, size_t len)
{
	struct tapir_dotnet_facts facts = {};

	tapir_dotnet_facts__read_environ(&facts, text, len);
	expect(*facts.tmp_dir == '/' && memchr(facts.tmp_dir, 0, sizeof(facts.tmp_dir)));
	expect(*facts.dump_dir == '/' && memchr(facts.dump_dir, 0, sizeof(facts.dump_dir)));
}

static void parse_state(const char *text, size_t len)
{
	struct tapir_container c = {};

	tapir_container__take_state(text, len, &c);
	expect(memchr(c.name, 0, sizeof(c.name)) && memchr(c.pod, 0, sizeof(c.pod)));
	expect(memchr(c.space, 0, sizeof(c.space)) && memchr(c.pod_uid, 0, sizeof(c.pod_uid)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	parse_stat(text);
	parse_cgroup(text);
	parse_environ(text, size);
	parse_state(text, size);
	free(text);
	return 0;
}
