// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A queue for each target, of which the first is sent, one at a time. A server that refuses an item
 * will refuse it again, so it is dropped; one that does not answer is tried again, later and later.
 * What waits is bounded over all queues, and the oldest goes first.
 */
#include "agent/push/push.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/fd_message.h"
#include "base/file.h"
#include "base/libcurl.h"
#include "base/log.h"
#include "base/str.h"
#include "base/vec.h"
#include "agent/push/push_http.h"
#include "output/render/messages.h"
#include "output/render/otlp_metrics.h"
#include "output/render/parca.h"

#define FIRST_WAIT_NS	  (1 * TAPIR_NS_PER_SEC)
#define MAX_WAIT_NS	  (60 * TAPIR_NS_PER_SEC)
#define REFUSAL_WAIT_NS	  (30 * TAPIR_NS_PER_SEC)   /* the server must be configured first */
#define MAX_REFUSAL_NS	  (3600 * TAPIR_NS_PER_SEC) /* also of what a server asks for */
#define MAX_METRICS_BYTES (4u << 20)
#define LOOK_MS		  60000

struct item {
	struct tapir_push_message message;
	int fd;
	uint64_t bytes;
	uint64_t number; /* the oldest has the least */
};

struct queue {
	const struct tapir_push_target *target;
	const struct tapir_push_files *files;
	char ca_path[32]; /* "": the system's */
	struct tapir_push_metrics *metrics;
	struct tapir_vec(struct item) items; /* the oldest first */
	struct tapir_push_transfer transfer; /* of the first */
	bool is_sending;
	char *url;
	uint64_t not_before_ns, wait_ns; /* wait_ns: of the last failure; 0: it succeeded */
};

struct pusher {
	struct queue queues[TAPIR_PUSH_MAX_TARGETS];
	unsigned cnt;
	int fd;
	struct tapir_push_http *http;
	uint64_t next_number;
};

/* ---- what the agent asks --------------------------------------------------------------------- */

const char *tapir_push_kind__name(unsigned i)
{
	static const char *const names[] = {"pprof", "parca", "otlp-profiles", "otlp-metrics",
					    "put"};

	return i < sizeof(names) / sizeof(names[0]) ? names[i] : NULL;
}

struct tapir_push_shm *tapir_push_shm__new(void)
{
	void *page = mmap(NULL, sizeof(struct tapir_push_shm), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return page == MAP_FAILED ? NULL : page;
}

void tapir_push_shm__free(struct tapir_push_shm *page)
{
	if (page)
		munmap(page, sizeof(*page));
}

int tapir_push__check(void)
{
	struct tapir_libcurl curl;

	return tapir_libcurl__load(&curl, "push");
}

const char *tapir_push__check_url(const char *url)
{
	const char *host = !strncmp(url, "http://", 7)	  ? url + 7
			   : !strncmp(url, "https://", 8) ? url + 8
							  : NULL;

	if (!host || !*host || *host == '/')
		return "an http:// or https:// address";
	if (memchr(host, '@', strcspn(host, "/?")))
		return "an address without a user: put Authorization into headers_file";
	for (const char *c = url; *c; c++)
		if (*c <= ' ' || *c == 0x7f || *c == '#')
			return "an address without spaces and '#'";
	return NULL;
}

/* ---- queues ---------------------------------------------------------------------------------- */

/* Tasks of the agent count there, too. */
static void count_drop(struct queue *q)
{
	__atomic_fetch_add(&q->metrics->dropped_cnt, 1, __ATOMIC_RELAXED);
}

static void remove_item(struct queue *q, size_t at)
{
	struct item *item = &q->items.data[at];

	q->metrics->waiting_cnt--;
	q->metrics->waiting_bytes -= item->bytes;
	close(item->fd);
	memmove(item, item + 1, (q->items.cnt - at - 1) * sizeof(*item));
	q->items.cnt--;
}

/* The oldest of all that is not being sent; false: there is none. */
static bool drop_oldest(struct pusher *p)
{
	struct queue *from = NULL;

	for (unsigned i = 0; i < p->cnt; i++) {
		struct queue *q = &p->queues[i];
		size_t first = q->is_sending;

		if (first < q->items.cnt &&
		    (!from ||
		     q->items.data[first].number < from->items.data[from->is_sending].number))
			from = q;
	}
	if (!from)
		return false;
	count_drop(from);
	remove_item(from, from->is_sending);
	return true;
}

static bool is_full(const struct pusher *p)
{
	uint64_t bytes = 0, cnt = 0;

	for (unsigned i = 0; i < p->cnt; i++) {
		bytes += p->queues[i].metrics->waiting_bytes;
		cnt += p->queues[i].items.cnt;
	}
	return bytes > TAPIR_PUSH_SPOOL_BYTES && cnt > 1;
}

/* Figures as they are sent. A descriptor, or -1; fd is closed. */
static int convert_metrics(const struct tapir_push_message *message, int fd)
{
	struct tapir_otlp_metrics_opts opts = {.utc_ns = message->until_utc_ns};
	struct tapir_str plain = {}, body = {};
	char host[64] = "", *text = NULL;
	int out = memfd_create("tapir-push", MFD_CLOEXEC), err = out < 0 ? -errno : 0;
	uint64_t malformed_cnt;
	size_t len;

	(void)gethostname(host, sizeof(host) - 1);
	opts.host = host;
	/* The process that wrote the text shares this descriptor's position: it is at the end. */
	if (!err && lseek(fd, 0, SEEK_SET) < 0)
		err = -errno;
	if (!err)
		err = tapir_file__read_fd(fd, MAX_METRICS_BYTES, &text, &len);
	if (!err)
		err = tapir_otlp_metrics__write(text, &opts, &plain, &malformed_cnt);
	if (!err && malformed_cnt)
		tapir_warn("push: %" PRIu64 " lines of figures are not understood", malformed_cnt);
	if (!err)
		err = tapir_messages__gzip(plain.data ? plain.data : "", plain.len, &body);
	if (!err)
		err = tapir_file__write_all(out, body.data, body.len);
	tapir_str__fini(&plain);
	tapir_str__fini(&body);
	free(text);
	close(fd);
	if (err)
		tapir_guard__fd(&out);
	return out;
}

static void add_item(struct pusher *p, const struct tapir_push_message *message, int fd)
{
	struct queue *q = &p->queues[message->target];
	struct item item = {.message = *message, .fd = fd, .number = p->next_number++};
	struct stat st;

	if (q->target->kind == TAPIR_PUSH_OTLP_METRICS)
		fd = item.fd = convert_metrics(message, fd);
	item.message.name[sizeof(item.message.name) - 1] = '\0';
	item.bytes = !fstat(fd, &st) && st.st_size > 0 ? (uint64_t)st.st_size : 0;
	if (fd < 0 || !item.bytes || !tapir_vec__push(&q->items, item)) {
		count_drop(q);
		tapir_guard__fd(&fd);
		return;
	}
	q->metrics->waiting_cnt++;
	q->metrics->waiting_bytes += item.bytes;
	while (is_full(p) && drop_oldest(p))
		;
}

/* ---- sending --------------------------------------------------------------------------------- */

static void add_escaped(struct tapir_str *out, const char *text)
{
	static const char digits[] = "0123456789ABCDEF";

	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if ((*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') ||
		    (*c >= 'a' && *c <= 'z') || strchr("-._~", *c)) {
			tapir_str__addc(out, (char)*c);
			continue;
		}
		tapir_str__addc(out, '%');
		tapir_str__addc(out, digits[*c >> 4]);
		tapir_str__addc(out, digits[*c & 15]);
	}
}

/* NULL: out of memory. */
static char *url_of(const struct tapir_push_target *target, const struct item *item)
{
	struct tapir_str url = {};

	tapir_str__adds(&url, target->url);
	if (target->kind == TAPIR_PUSH_PPROF) {
		tapir_str__adds(&url, strchr(target->url, '?') ? "&name=" : "?name=");
		add_escaped(&url, target->name ? target->name : "tapir");
		tapir_str__addf(&url, "&from=%" PRIu64 "&until=%" PRIu64 "&format=pprof",
				(uint64_t)(item->message.from_utc_ns / TAPIR_NS_PER_SEC),
				(uint64_t)(item->message.until_utc_ns / TAPIR_NS_PER_SEC));
	} else if (target->kind == TAPIR_PUSH_PARCA) {
		if (url.data && url.data[url.len - 1] == '/')
			url.len--;
		tapir_str__adds(&url, TAPIR_PARCA_METHOD);
	} else if (target->kind == TAPIR_PUSH_PUT) {
		if (url.data && url.data[url.len - 1] != '/')
			tapir_str__addc(&url, '/');
		add_escaped(&url, item->message.name);
	}
	if (!url.failed)
		return url.data;
	tapir_str__fini(&url);
	return NULL;
}

static const char *push_content_type(enum tapir_push_kind kind)
{
	switch (kind) {
	case TAPIR_PUSH_OTLP_PROFILES:
	case TAPIR_PUSH_OTLP_METRICS:
		return "application/x-protobuf";
	case TAPIR_PUSH_PARCA:
		return "application/grpc-web+proto";
	default:
		return "application/octet-stream";
	}
}

/* Sends the oldest item. The others wait behind it, so that the target receives them in order. */
static void send_first(struct pusher *p, struct queue *q)
{
	const struct item *item = &q->items.data[0];
	bool is_otlp = q->target->kind == TAPIR_PUSH_OTLP_PROFILES ||
		       q->target->kind == TAPIR_PUSH_OTLP_METRICS;

	free(q->url);
	q->url = url_of(q->target, item);
	q->transfer = (struct tapir_push_transfer){
		.method = q->target->kind == TAPIR_PUSH_PUT ? "PUT" : "POST",
		.url = q->url,
		.headers = q->files->headers,
		.ca_path = *q->ca_path ? q->ca_path : NULL,
		.type = push_content_type(q->target->kind),
		.is_gzip = is_otlp,
		.is_grpc = q->target->kind == TAPIR_PUSH_PARCA,
		.fd = item->fd,
		.bytes = item->bytes,
		.timeout_s = q->target->timeout,
	};
	q->is_sending = q->url && !tapir_push_http__start(p->http, &q->transfer);
	if (!q->is_sending)
		q->not_before_ns = tapir_clock__now_ns() + MAX_WAIT_NS;
	q->metrics->failed_cnt += !q->is_sending;
}

/* One line when it begins to fail, and when it continues. */
static void report_state(struct queue *q, const char *error)
{
	bool had_error = *q->metrics->error;

	snprintf(q->metrics->error, sizeof(q->metrics->error), "%s", error);
	if (*error && !had_error)
		tapir_warn("push to %s: %s", q->target->url, error);
	else if (!*error && had_error)
		tapir_warn("push to %s: it succeeds again", q->target->url);
}

static void wait_after(struct queue *q, uint64_t first_ns, uint64_t max_ns)
{
	uint64_t retry_after_ns = q->transfer.retry_after_s * TAPIR_NS_PER_SEC;

	q->wait_ns = q->wait_ns * 2 > first_ns ? q->wait_ns * 2 : first_ns;
	if (q->wait_ns > max_ns)
		q->wait_ns = max_ns;
	if (q->transfer.retry_after_s > MAX_REFUSAL_NS / TAPIR_NS_PER_SEC)
		retry_after_ns = MAX_REFUSAL_NS;
	q->not_before_ns =
		tapir_clock__now_ns() + (retry_after_ns > q->wait_ns ? retry_after_ns : q->wait_ns);
	q->metrics->failed_cnt++;
}

/* The address or the form is not what the server knows: nothing will be taken for a while. */
static bool is_of_target(long status)
{
	return (status >= 300 && status < 400) || status == 401 || status == 403 || status == 404 ||
	       status == 405 || status == 415;
}

static bool is_for_later(long status)
{
	return !status || status == 408 || status == 425 || status == 429 || status >= 500;
}

/* A call of gRPC is answered by HTTP's 200, whatever came of it. */
static long status_of(const struct tapir_push_transfer *t)
{
	if (!t->is_grpc || t->status != 200)
		return t->status;
	switch (t->grpc.status) {
	case 0:
		return 200;
	case 3: /* INVALID_ARGUMENT */
		return 400;
	case 16: /* UNAUTHENTICATED */
		return 401;
	case 7: /* PERMISSION_DENIED */
		return 403;
	case TAPIR_GRPC_NO_STATUS: /* it is no such server */
	case 12:		   /* UNIMPLEMENTED */
		return 404;
	default:
		return 503;
	}
}

static void describe_end(const struct tapir_push_transfer *t, char *out, size_t size)
{
	if (*t->why)
		snprintf(out, size, "%s", t->why);
	else if (t->is_grpc && t->status == 200 && t->grpc.status < 0)
		snprintf(out, size, "the answer has no gRPC status");
	else if (t->is_grpc && t->status == 200)
		snprintf(out, size, "gRPC status %d", t->grpc.status);
	else
		snprintf(out, size, "HTTP status %ld%s", t->status,
			 t->status >= 300 && t->status < 400 ? ": no redirect is followed" : "");
}

/*
 * An item stays first in its queue until the target has it, or refuses this item alone. When all
 * would be refused (is_of_target), only the administrator can mend it: the pauses are longer.
 */
static void take_end(struct queue *q)
{
	const struct tapir_push_transfer *t = &q->transfer;
	long status = status_of(t);
	char error[160];

	q->is_sending = false;
	describe_end(t, error, sizeof(error));
	if (!*t->why && status >= 200 && status < 300) {
		q->metrics->sent_cnt++;
		q->metrics->sent_bytes += t->bytes;
		q->wait_ns = q->not_before_ns = 0;
		remove_item(q, 0);
		report_state(q, "");
		return;
	}
	if (is_of_target(status)) {
		wait_after(q, REFUSAL_WAIT_NS, MAX_REFUSAL_NS);
	} else if (*t->why || is_for_later(status)) {
		wait_after(q, FIRST_WAIT_NS, MAX_WAIT_NS);
	} else {
		q->metrics->refused_cnt++;
		remove_item(q, 0);
	}
	report_state(q, error);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Returns true if there are more; false: the agent has gone, too, which *has_ended says. */
static bool take_message(struct pusher *p, bool *has_ended)
{
	struct tapir_push_message message;
	int fd;
	ssize_t n = tapir_fd_message__recv(p->fd, &message, sizeof(message), &fd, 1, MSG_DONTWAIT,
					   NULL);

	*has_ended = !n;
	if (n == sizeof(message) && fd >= 0 && message.target < p->cnt)
		add_item(p, &message, fd);
	else if (fd >= 0)
		close(fd);
	return n > 0;
}

static int next_wait_ms(struct pusher *p)
{
	uint64_t now_ns = tapir_clock__now_ns(), least_ns = LOOK_MS * TAPIR_NS_PER_MS;

	for (unsigned i = 0; i < p->cnt; i++) {
		struct queue *q = &p->queues[i];

		if (q->is_sending || !q->items.cnt)
			continue;
		if (q->not_before_ns <= now_ns)
			send_first(p, q);
		else if (q->not_before_ns - now_ns < least_ns)
			least_ns = q->not_before_ns - now_ns;
	}
	return (int)(least_ns / TAPIR_NS_PER_MS) + 1;
}

static int loop(struct pusher *p)
{
	struct tapir_push_transfer *t;
	bool has_ended = false, is_readable;
	int err = 0;

	while (!err && !has_ended) {
		int wait_ms = next_wait_ms(p);

		err = tapir_push_http__wait(p->http, p->fd, wait_ms, &is_readable);
		while (is_readable && take_message(p, &has_ended))
			;
		while (!err && (t = tapir_push_http__next(p->http)))
			for (unsigned i = 0; i < p->cnt; i++)
				if (t == &p->queues[i].transfer)
					take_end(&p->queues[i]);
	}
	return err ? tapir_diag__fail(err, "cannot push: libcurl failed") : 0;
}

int tapir_push__run(const struct tapir_push_target *targets, unsigned cnt,
		    const struct tapir_push_files *files, int fd, struct tapir_push_shm *page)
{
	struct pusher p = {.cnt = cnt, .fd = fd};
	int err = tapir_push_http__new(&p.http);

	for (unsigned i = 0; i < cnt; i++) {
		p.queues[i] = (struct queue){
			.target = &targets[i], .files = &files[i], .metrics = &page->of[i]};
		if (files[i].ca_fd >= 0)
			snprintf(p.queues[i].ca_path, sizeof(p.queues[i].ca_path),
				 "/proc/self/fd/%d", files[i].ca_fd);
		/* These were waiting in a process before this one, and are lost with it. */
		__atomic_fetch_add(&page->of[i].dropped_cnt, page->of[i].waiting_cnt,
				   __ATOMIC_RELAXED);
		page->of[i].waiting_cnt = page->of[i].waiting_bytes = 0;
	}
	if (!err)
		err = loop(&p);
	for (unsigned i = 0; i < cnt; i++) {
		while (p.queues[i].items.cnt)
			remove_item(&p.queues[i], 0);
		tapir_vec__fini(&p.queues[i].items);
		free(p.queues[i].url);
	}
	tapir_push_http__free(p.http);
	return err;
}
