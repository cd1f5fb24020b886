/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pulse [--wait] LOG PERIOD_US COUNT ALARM JOB_MS - fires pulse:beat(n) COUNT times, one a period,
 * and pulse:alarm(n) after the beat ALARM. Around that beat a second thread has a job,
 * pulse:job__start(n) and pulse:job__done(n), of JOB_MS; the others last a tenth of a millisecond.
 *
 * The witness is LOG, mapped: the time just before each beat, 8 bytes each, 0 for those that did
 * not come. It is there also if the program is killed.
 */
// build: -fno-optimize-sibling-calls
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "target.h"

static long count, alarm_at, job_ms, period_us;
static atomic_long beat_cnt;

static void *run_jobs(void *unused)
{
	for (long n = 0; atomic_load(&beat_cnt) < count; n++) {
		bool is_long = job_ms && atomic_load(&beat_cnt) >= alarm_at;

		TAPIR_PROBE(pulse, job__start, n);
		target__sleep_ns(is_long ? (uint64_t)job_ms * 1000000u : 100000u);
		TAPIR_PROBE(pulse, job__done, n);
		if (is_long)
			job_ms = 0;
		target__sleep_ns(1000000);
	}
	return unused;
}

static void beat(uint64_t *log)
{
	uint64_t start_ns = target__now_ns();

	for (long n = 0; n < count; n++) {
		uint64_t due_ns = start_ns + (uint64_t)(n * period_us) * 1000u;
		uint64_t now_ns = target__now_ns();

		if (due_ns > now_ns)
			target__sleep_ns(due_ns - now_ns);
		log[n] = target__now_ns();
		TAPIR_PROBE(pulse, beat, n);
		atomic_store(&beat_cnt, n + 1);
		if (n == alarm_at)
			TAPIR_PROBE(pulse, alarm, n);
	}
}

int main(int argc, char **argv)
{
	pthread_t jobs;
	uint64_t *log;
	int fd;

	target__start(&argc, argv);
	if (argc != 6)
		return 2;
	period_us = target__number(argc, argv, 2, 1000);
	count = target__number(argc, argv, 3, 1000);
	alarm_at = target__number(argc, argv, 4, -1);
	job_ms = target__number(argc, argv, 5, 0);
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, count * 8))
		target__die(argv[1]);
	log = mmap(NULL, (size_t)count * 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (log == MAP_FAILED || pthread_create(&jobs, NULL, run_jobs, NULL))
		target__die("start");
	beat(log);
	pthread_join(jobs, NULL);
	printf("{\"beats\": %ld}\n", count);
	return 0;
}
