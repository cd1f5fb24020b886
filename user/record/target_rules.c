// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Target rules as the BPF filter understands them: exact pids, names by a table, cgroups by their
 * ids. A cgroup of version 1 has no id a program could compare, so its processes are listed one by
 * one.
 */
#include <errno.h>
#include <unistd.h>

#include "base/diag.h"
#include "record/comm_glob.h"
#include "record/targets.h"

static int add_comms(const struct tapir_words *comms, struct tapir_filter *out)
{
	if (comms->cnt > TAPIR_FILTER_MAX_COMMS)
		return tapir_diag__fail(-E2BIG, "more than %d --comm options: use a wider glob",
					TAPIR_FILTER_MAX_COMMS);
	for (size_t i = 0; i < comms->cnt; i++)
		if (tapir_comm_glob__compile(comms->data[i], &out->comms[i]))
			return tapir_diag__fail(
				-EINVAL,
				"--comm %s: longer than %d characters; the kernel keeps "
				"only 15 of a name",
				comms->data[i], TAPIR_COMM_GLOB_MAX);
	out->comm_cnt = (uint32_t)comms->cnt;
	return 0;
}

/* A v1 cgroup has no id a program could ask for: its processes are listed one by one. */
static int add_cgroups(const struct tapir_words *paths, struct tapir_filter *out)
{
	const char **path;

	tapir_vec_for_each (path, paths) {
		struct tapir_cgroup cgroup;
		int err = tapir_cgroup__find(*path, &cgroup);

		if (err)
			return err;
		if (!cgroup.is_v2) {
			out->use_tgids = out->follow_fork = 1;
			continue;
		}
		if (out->cgroup_cnt == TAPIR_FILTER_MAX_CGROUPS)
			return tapir_diag__fail(-E2BIG,
						"more than %d --cgroup options: use their parent",
						TAPIR_FILTER_MAX_CGROUPS);
		out->cgroup_ids[out->cgroup_cnt] = cgroup.id;
		out->cgroup_levels[out->cgroup_cnt++] = cgroup.level;
	}
	return 0;
}

bool tapir_target_rules__are_named(const struct tapir_target_rules *rules)
{
	return !rules->all && !rules->comms.cnt && !rules->cgroups.cnt;
}

int tapir_target_rules__filter(const struct tapir_target_rules *rules, struct tapir_filter *out)
{
	struct tapir_filter filter = {
		.use_tgids = tapir_target_rules__are_named(rules),
		.follow_fork = rules->children,
		.self_tgid = (uint32_t)getpid(),
	};
	int err = add_comms(&rules->comms, &filter);

	if (!err)
		err = add_cgroups(&rules->cgroups, &filter);
	if (!err)
		*out = filter;
	return err;
}
