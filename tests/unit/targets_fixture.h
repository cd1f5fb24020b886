/* SPDX-License-Identifier: GPL-2.0-or-later */
/* targets_fixture.h - targets with loaded BPF programs, for the unit tests of record/targets.h. */
#ifndef TAPIR_TESTS_TARGETS_FIXTURE_H
#define TAPIR_TESTS_TARGETS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/diag.h"
#include "record/targets.h"
#include "may_trace.h"

static struct tapir_target_rules rules;
static struct tapir_programs *programs;
static struct tapir_queue *queue;
static struct tapir_images *images;
static struct tapir_targets *targets;
static struct tapir_spec_list specs;
static pid_t children[2];
static uint32_t process_cap;

static int setup(void **state)
{
	(void)state;
	tapir_diag__clear();
	rules = (struct tapir_target_rules){};
	return 0;
}

static void end(pid_t *pid)
{
	if (*pid > 0) {
		kill(*pid, SIGKILL);
		waitpid(*pid, NULL, 0);
	}
	*pid = 0;
}

static void stop(void)
{
	tapir_targets__free(targets);
	tapir_images__free(images, NULL, NULL);
	tapir_queue__free(queue);
	tapir_programs__free(programs);
	targets = NULL;
	images = NULL;
	queue = NULL;
	programs = NULL;
}

static int teardown(void **state)
{
	(void)state;
	stop();
	tapir_vec__fini(&rules.pids);
	tapir_vec__fini(&rules.comms);
	tapir_vec__fini(&rules.cgroups);
	end(&children[0]);
	end(&children[1]);
	return 0;
}

static void start(void)
{
	struct tapir_programs_opts programs_opts = {.sz = sizeof(programs_opts),
						    .site_cap = 4,
						    .ring_bytes = 4096,
						    .process_cap = process_cap};
	struct tapir_images_opts images_opts = {
		.sz = sizeof(images_opts), .specs = &specs, .use_multi = true};
	struct tapir_targets_opts opts = {.sz = sizeof(opts), .rules = &rules};

	if (!may_trace()) {
		print_message("skipped: loading BPF programs needs root\n");
		skip();
	}
	assert_int_equal(tapir_target_rules__filter(&rules, &programs_opts.filter), 0);
	assert_int_equal(tapir_programs__load(&programs_opts, &programs), 0);
	assert_int_equal(tapir_queue__new(1, &queue), 0);
	images_opts.programs = opts.programs = programs;
	images_opts.queue = opts.queue = queue;
	assert_int_equal(tapir_images__new(&images_opts, &images), 0);
	opts.images = images;
	assert_int_equal(tapir_targets__new(&opts, &targets), 0);
}

#endif
