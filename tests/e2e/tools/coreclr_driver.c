// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * coreclr_driver.c - the smallest tracer of .NET there can be: attaches libtapir-coreclr.so, opens
 * a session in its lane, counts what comes, closes; again and again. A witness of usdt/coreclr that
 * shares no code with user/record's reader. It trusts its target.
 *
 *	coreclr_driver PID [OPTION=VALUE]... PROVIDER[:KEYWORDS[:LEVEL[:ARGS]]]...
 *
 * Options: cycles, ms, stack=0|1, change, rate, quiet=1, detach=0. key: the process was started
 * with the library. event: a glob for all selections. so: this file (one cycle then).
 *
 * A cycle attaches, is open for ms, changes what is on `change` times meanwhile, closes, and waits
 * until nothing of tapir is mapped. One line of JSON at the end. SIGTERM ends a cycle early.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attach/ring_find.h"
#include "base/diag.h"
#include "coreclr_driver.h"
#include "attach/rings/ring_session.h"
#include "raise_semaphores.h"
#include "runtime/dotnet/dotnet_client.h"
#include "runtime/dotnet/dotnet_profiler.h"
#include "tapir/coreclr.h"

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000;
}

static int fail(const char *what, int err)
{
	fprintf(stderr, "coreclr_driver: %s: %s\n", what, strerror(err < 0 ? -err : err));
	return -1;
}

/* ---- attach ----------------------------------------------------------------------------- */

static int place(char outside[256])
{
	size_t len;
	const void *image = tapir_dotnet_profiler__image(&len);
	unsigned random;
	int fd;

	if (d.is_given)
		return 0;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -1;
	snprintf(d.so, sizeof(d.so), "/dev/shm/tapir-driver-%08x.so", random);
	snprintf(outside, 256, "/proc/%d/root%s", d.pid, d.so);
	fd = open(outside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (fd < 0)
		return -1;
	if (write(fd, image, len) != (ssize_t)len || fchmod(fd, 0755)) {
		close(fd);
		return -1;
	}
	return close(fd);
}

static int attach(uint64_t key, uint32_t *hresult)
{
	struct tapir_coreclr_client client = {TAPIR_CORECLR_MAGIC, TAPIR_CORECLR_VERSION, key};
	const uint8_t clsid[16] = TAPIR_CORECLR_CLSID_BYTES;
	struct tapir_dotnet_opts opts = {
		.tgid = (uint32_t)d.pid, .cancel_fd = -1, .timeout_ns = 60000000000ull};
	struct tapir_str request = {};
	char outside[256] = "";
	uint64_t since = now_us();
	int err;

	if (place(outside))
		return fail("place", errno);
	err = tapir_dotnet__put_attach_profiler(&request, 10000, clsid, d.so, &client,
						sizeof(client));
	if (!err)
		err = tapir_dotnet__command(&opts, &request, hresult);
	if (outside[0] && unlink(outside) && errno == ENOENT)
		unlink(d.so); /* the process has gone, and its root with it; it was ours */
	tapir_str__fini(&request);
	since = now_us() - since;
	d.attach_us += since;
	d.attach_max_us = since > d.attach_max_us ? since : d.attach_max_us;
	return err;
}

static int find_lane(uint64_t key)
{
	struct tapir_ring_lanes lanes;
	int err = tapir_ring_lanes__find((uint32_t)d.pid, &lanes);

	if (err)
		return err;
	err = -ENOENT;
	for (size_t i = 0; i < lanes.all.cnt && err; i++)
		if (lanes.all.data[i].key == key) {
			d.lane = lanes.all.data[i];
			lanes.all.data[i] = lanes.all.data[--lanes.all.cnt];
			err = 0;
		}
	tapir_ring_lanes__fini(&lanes);
	return err;
}

static int wait_for_lane(uint64_t key)
{
	int err = -ENOENT;

	for (int i = 0; i < 10000 && err; i++) {
		err = find_lane(key);
		if (err)
			usleep(1000);
	}
	return err;
}

/* ---- the catalog --------------------------------------------------------------------------- */

static void read_at(unsigned arena, uint64_t off, void *out, size_t len)
{
	if (pread(d.lane.data_fds[arena], out, len, (off_t)off) != (ssize_t)len)
		d.bad++;
}

static void read_name(uint32_t idx)
{
	const struct tapir_ring_data *h = &d.lane.data[0];
	struct tapir_ring_entry entry = {};
	struct tapir_rec_probe *probe;
	char *text;

	read_at(0, h->entries_off + idx * sizeof(entry), &entry, sizeof(entry));
	if (entry.bytes < sizeof(*probe) || entry.bytes > sizeof(d.bytes))
		return;
	probe = (void *)d.bytes;
	read_at(0, h->catalog_off + entry.catalog_off, d.bytes, entry.bytes);
	text = (char *)(probe + 1) + probe->field_cnt * sizeof(struct tapir_field);
	if (probe->event_len)
		snprintf(d.events[idx].name, sizeof(d.events[idx].name), "%.*s/%.*s",
			 probe->provider_len, text, probe->event_len, text + probe->provider_len);
	else
		snprintf(d.events[idx].name, sizeof(d.events[idx].name), "%.*s/%u",
			 probe->provider_len, text, probe->event_id);
}

static void read_catalog(void)
{
	struct tapir_ring_data h;

	read_at(0, 0, &h, sizeof(h));
	for (uint32_t i = 0; i < h.event_cnt && i < TAPIR_RING_EVENTS; i++)
		if (!d.events[i].name[0])
			read_name(i);
	d.event_cnt = h.event_cnt;
}

static void read_losses(void)
{
	read_catalog();
	for (uint32_t e = 0; e < d.event_cnt; e++) {
		struct tapir_ring_losses losses = {};

		read_at(0, d.lane.data[0].losses_off + e * sizeof(losses), &losses, sizeof(losses));
		d.lost += losses.cnt[d.control.session][TAPIR_RING_NO_SPACE] +
			  losses.cnt[d.control.session][TAPIR_RING_NO_SLOT];
		d.nested += losses.cnt[d.control.session][TAPIR_RING_NESTED];
	}
}

/* ---- records -------------------------------------------------------------------------------- */

static void read_starts(void)
{
	char path[64], line[600];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", d.pid);
	maps = fopen(path, "re");
	d.start_cnt = 0;
	while (maps && fgets(line, sizeof(line), maps)) {
		uint64_t lo, hi;
		char perms[8], name[500] = "";

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %499s", &lo, &hi, perms,
			   name) < 4 ||
		    perms[2] != 'x' || d.start_cnt == 64)
			continue;
		if (!strstr(name, "/libc.so") && !strstr(name, "/libc-") && strstr(name, ".so"))
			continue;
		d.start_lo[d.start_cnt] = lo;
		d.start_hi[d.start_cnt++] = hi;
	}
	if (maps)
		fclose(maps);
}

static int is_start(uint64_t ip)
{
	for (unsigned i = 0; i < d.start_cnt; i++)
		if (ip >= d.start_lo[i] && ip < d.start_hi[i])
			return 1;
	return 0;
}

static void on_stack(const struct tapir_rec_stack *stack)
{
	const uint64_t *frames = (const void *)(stack + 1);

	d.stacks[stack->stack_id % STACK_CNT] =
		stack->stack_id << 1 | (uint64_t)is_start(frames[stack->frame_cnt - 1]);
}

/* The numbers a thread of Storm writes rise by one. */
static void on_storm(const struct tapir_rec_event *e, const uint8_t *payload)
{
	struct number *n = &d.numbers[(e->tid * 31 + e->probe_id) % TID_CNT];
	int64_t value;

	if (e->payload_bytes < 16)
		return;
	memcpy(&value, payload + 8, sizeof(value));
	if (n->tid == e->tid && n->event == e->probe_id) {
		d.repeated += value == n->last;
		d.gaps += value != n->last && value != n->last + 1;
	}
	*n = (struct number){e->tid, e->probe_id, value};
}

static void on_event(const struct tapir_rec_event *e)
{
	const uint8_t *payload = (const uint8_t *)(e + 1) + tapir_event__optional_bytes(e->flags);
	uint32_t idx = TAPIR_RING_ID_IDX(e->probe_id);

	if (!(e->pad0 & (1u << d.control.session)) || idx >= TAPIR_RING_EVENTS)
		return;
	if (!d.first_us)
		d.first_us = now_us();
	d.total++;
	d.events[idx].cnt++;
	if (!d.events[idx].name[0])
		read_catalog();
	if (d.with_stack) {
		uint64_t seen = d.stacks[e->stack_id % STACK_CNT];

		d.wanted_stack++;
		d.with_whole_stack +=
			e->stack_id && seen >> 1 == (e->stack_id & ~0ull >> 1) && (seen & 1);
	}
	if (strstr(d.events[idx].name, "Tapir-Storm/Tick") ||
	    strstr(d.events[idx].name, "Tapir-Storm/Quick"))
		on_storm(e, payload);
}

static void take(uint8_t *bytes, uint64_t len)
{
	uint64_t at = 0;

	while (len - at >= sizeof(struct tapir_rec)) {
		const struct tapir_rec *h = (const void *)(bytes + at);

		if (h->size < sizeof(*h) || (h->size & 7) || h->size > len - at) {
			d.bad++;
			return;
		}
		if (h->type == TAPIR_REC_STACK)
			on_stack((const void *)h);
		else if (h->type == TAPIR_REC_EVENT)
			on_event((const void *)h);
		at += h->size;
	}
}

static void drain_slot(unsigned arena, unsigned i)
{
	static uint8_t bytes[TAPIR_RING_MAX_BYTES];
	const struct tapir_ring_data *h = &d.lane.data[arena];
	struct tapir_ring_slot slot = {};
	unsigned idx = arena * TAPIR_RING_ARENA_SLOTS + i;
	uint64_t head = 0;

	read_at(arena, h->slots_off + i * sizeof(slot), &head, sizeof(head));
	read_at(arena, h->slots_off + i * sizeof(slot), &slot, sizeof(slot));
	if (head < d.tails[idx] || head - d.tails[idx] > slot.cap_bytes) {
		d.bad++;
		d.tails[idx] = head;
	}
	while (d.tails[idx] < head) {
		uint64_t off = d.tails[idx] % slot.cap_bytes, len = slot.cap_bytes - off;

		len = len < head - d.tails[idx] ? len : head - d.tails[idx];
		read_at(arena, h->rings_off + i * h->ring_bytes + off, bytes, len);
		take(bytes, len);
		d.tails[idx] += len;
	}
	tapir_ring_control__set_tail(&d.control, idx, d.tails[idx]);
}

static void each_slot(void (*visit)(unsigned arena, unsigned slot))
{
	for (unsigned a = 0; a < TAPIR_RING_ARENAS; a++) {
		struct tapir_ring_data h;

		if (d.lane.data_fds[a] < 0 &&
		    (!a || tapir_ring_lane__find_arenas((uint32_t)d.pid, &d.lane) <= 0))
			return;
		if (d.lane.data_fds[a] < 0)
			return;
		read_at(a, 0, &h, sizeof(h));
		for (unsigned i = 0; i < h.slots_used && i < TAPIR_RING_ARENA_SLOTS; i++)
			visit(a, i);
		if (!a && h.arena_cnt < 2)
			return;
	}
}

static void skip_slot(unsigned arena, unsigned i)
{
	unsigned idx = arena * TAPIR_RING_ARENA_SLOTS + i;

	read_at(arena, d.lane.data[arena].slots_off + i * sizeof(struct tapir_ring_slot),
		&d.tails[idx], 8);
	tapir_ring_control__set_tail(&d.control, idx, d.tails[idx]);
}

static void skip_all(void *ctx)
{
	(void)ctx;
	each_slot(skip_slot);
}

/* ---- a cycle ---------------------------------------------------------------------------------- */

/* Every other time the last selection is off; level 5 and 4 take turns besides. */
static void change(int n)
{
	struct tapir_ring_selection *s = d.control.map->selections[d.control.session];
	unsigned last = d.selection_cnt - 1;

	if (last)
		s[last].used = n & 1;
	s[0].level = (uint8_t)(n & 1 ? d.ask.all[0].level : 4);
	tapir_ring_control__announce(&d.control);
	if (d.probes)
		d.raised += raise_semaphores(d.pid, d.lane.key);
}

static void hold(void)
{
	uint64_t since = now_us(), until = since + (uint64_t)d.ms * 1000;
	int changed = 0;

	while (!d.has_ended && now_us() < until) {
		if (changed < d.change && now_us() - since > (uint64_t)(changed + 1) *
								     (uint64_t)d.ms * 1000 /
								     (uint64_t)(d.change + 1))
			change(changed++);
		each_slot(drain_slot);
		tapir_ring_control__beat(&d.control);
		usleep(1000);
	}
}

/* Bits: our library 1, anybody's lane 2. */
static int is_mapped(void)
{
	char path[64], line[600];
	int found = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", d.pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps))
		found |= (strstr(line, d.so) ? 1 : 0) | (strstr(line, "/memfd:tapir-") ? 2 : 0);
	if (maps)
		fclose(maps);
	return found;
}

static int wait_detached(void)
{
	uint64_t since = now_us(), lane_ms = 0;
	int mapped;

	while ((mapped = is_mapped()) & 1) {
		if (!(mapped & 2) && !lane_ms)
			lane_ms = (now_us() - since) / 1000;
		if (now_us() - since > 30000000)
			return fail("the library is still mapped after 30 s", EBUSY);
		usleep(5000);
	}
	d.detach_ms += (now_us() - since) / 1000;
	if (getenv("DRIVER_TIMES"))
		fprintf(stderr, "lane gone after %" PRIu64 " ms, library after %" PRIu64 " ms\n",
			lane_ms, (now_us() - since) / 1000);
	return 0;
}

static void add_sums(void)
{
	read_catalog();
	for (uint32_t e = 0; e < d.event_cnt; e++) {
		struct event *sum = d.sums;

		if (!d.events[e].cnt)
			continue;
		while (sum < d.sums + 255 && sum->name[0] && strcmp(sum->name, d.events[e].name))
			sum++;
		memcpy(sum->name, d.events[e].name, sizeof(sum->name));
		sum->cnt += d.events[e].cnt;
	}
}

static void forget_cycle(void)
{
	memset(d.tails, 0, sizeof(d.tails));
	memset(d.events, 0, sizeof(d.events));
	memset(d.stacks, 0, sizeof(d.stacks));
	memset(d.numbers, 0, sizeof(d.numbers));
	d.event_cnt = 0;
}

static int cycle(void)
{
	struct tapir_ring_session_opts opts = {
		.sz = sizeof(opts),
		.request = &d.ask,
		.rate_hz = (uint32_t)d.rate,
		.with_stack = d.with_stack != 0,
		.with_probes = d.probes != 0,
	};
	uint64_t key = 0, opened_us;
	uint32_t hresult = 0;
	int err = -EIO;

	forget_cycle();
	if (d.key) { /* it was started with the library in it */
		key = d.key;
		err = wait_for_lane(key);
	} else if (getrandom(&key, sizeof(key), 0) == sizeof(key)) {
		key |= 1;
		err = attach(key, &hresult);
	}
	if (err) {
		fprintf(stderr, "coreclr_driver: attach: %d, hresult %08x\n", err, hresult);
		return err;
	}
	err = d.key ? 0 : find_lane(key);
	if (!err)
		err = tapir_ring_control__take(&d.control, d.lane.ctl_fd, &opts);
	if (err)
		return fail("lane", err);
	tapir_ring_control__open(&d.control, skip_all, NULL);
	opened_us = now_us();
	d.first_us = 0;
	tapir_ring_control__announce(&d.control);
	read_starts();
	if (!d.quiet) {
		printf("open\n");
		fflush(stdout);
	}
	hold();
	if (tapir_ring_control__is_ended(&d.control))
		d.bad++;
	tapir_ring_control__want_nothing(&d.control);
	usleep(5000);
	each_slot(drain_slot);
	read_losses();
	add_sums();
	tapir_ring_control__close(&d.control);
	tapir_ring_lane__close(&d.lane);
	d.late_ms += d.first_us ? (d.first_us - opened_us) / 1000 : 0;
	return d.no_detach || kill(d.pid, 0) ? 0 : wait_detached();
}

/* ---- the program -------------------------------------------------------------------------------- */

static void on_term(int sig)
{
	(void)sig;
	d.has_ended = 1;
}

static void add_args(struct tapir_ring_selection *sel, const char *text)
{
	size_t bytes = strlen(text);

	if (bytes >= TAPIR_RING_ARGS_BYTES || bytes > TAPIR_RING_TEXT_BYTES - d.ask.text_bytes)
		return;
	sel->args_off = d.ask.text_bytes;
	sel->args_bytes = (uint32_t)bytes;
	memcpy(d.ask.text + d.ask.text_bytes, text, bytes);
	d.ask.text_bytes += (uint32_t)bytes;
}

static void add_spec(char *text)
{
	struct tapir_ring_selection *sel = &d.ask.all[d.selection_cnt++];
	char *name = strsep(&text, ":"), *keywords = strsep(&text, ":"),
	     *level = strsep(&text, ":");

	sel->used = 1;
	snprintf(sel->event, sizeof(sel->event), "%s", d.event);
	snprintf(sel->provider, sizeof(sel->provider), "%s", name);
	sel->keywords = keywords ? strtoull(keywords, NULL, 0) : 0;
	sel->level = level ? (uint8_t)atoi(level) : 0;
	if (text)
		add_args(sel, text);
}

static void print_json(int done)
{
	printf("{\"cycles\": %d, \"total\": %" PRIu64 ", \"lost\": %" PRIu64
	       ", \"nested\": %" PRIu64 ", \"bad\": %" PRIu64 ", \"repeated\": %" PRIu64
	       ", \"gaps\": %" PRIu64 ", \"wanted_stack\": %" PRIu64 ", \"whole_stack\": %" PRIu64
	       ", \"raised\": %u",
	       done, d.total, d.lost, d.nested, d.bad, d.repeated, d.gaps, d.wanted_stack,
	       d.with_whole_stack, d.raised);
	if (done)
		printf(", \"attach_us\": %" PRIu64 ", \"attach_max_us\": %" PRIu64
		       ", \"first_ms\": %" PRIu64 ", \"detach_ms\": %" PRIu64,
		       d.attach_us / (unsigned)done, d.attach_max_us, d.late_ms / (unsigned)done,
		       d.detach_ms / (unsigned)done);
	printf(", \"events\": {");
	for (struct event *e = d.sums; e < d.sums + 255 && e->name[0]; e++)
		printf("%s\"%s\": %" PRIu64, e == d.sums ? "" : ", ", e->name, e->cnt);
	printf("}}\n");
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_term};
	int done = 0, err = 0;

	if (argc < 3)
		return 2;
	d.pid = atoi(argv[1]), d.cycles = 1, d.ms = 100, d.with_stack = 1;
	for (int i = 2; i < argc; i++)
		if (sscanf(argv[i], "cycles=%d", &d.cycles) == 1 ||
		    sscanf(argv[i], "ms=%d", &d.ms) == 1 ||
		    sscanf(argv[i], "stack=%d", &d.with_stack) == 1 ||
		    sscanf(argv[i], "change=%d", &d.change) == 1 ||
		    sscanf(argv[i], "rate=%d", &d.rate) == 1 ||
		    sscanf(argv[i], "quiet=%d", &d.quiet) == 1 ||
		    sscanf(argv[i], "probes=%d", &d.probes) == 1 ||
		    sscanf(argv[i], "key=%" SCNx64, &d.key) == 1 ||
		    sscanf(argv[i], "event=%95s", d.event) == 1)
			;
		else if (sscanf(argv[i], "so=%199s", d.so) == 1)
			d.is_given = 1;
		else if (!strcmp(argv[i], "detach=0"))
			d.no_detach = 1;
		else if (d.selection_cnt < MAX_SPECS)
			add_spec(argv[i]);
	sigaction(SIGTERM, &action, NULL);
	while (done < d.cycles && !err && !d.has_ended) {
		err = cycle();
		done += !err;
	}
	print_json(done);
	return err != 0;
}
