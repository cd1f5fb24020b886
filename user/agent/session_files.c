// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A session in the state directory: ID.tapir, its trace, and ID.json, what is known of it; and the
 * room that all of them have there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <jansson.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/child/capabilities.h"
#include "agent/sessions_impl.h"
#include "trace/reader.h"

#define MAX_JSON_BYTES 65536
#define NAME_BYTES     (TAPIR_SESSION_ID_DIGITS + 16)

static const char *state_name(enum tapir_session_state state)
{
	static const char *const names[] = {"recording", "stopping", "finished", "failed", "cut"};

	return names[state];
}

struct tapir_session_shm *tapir_session_shm__new(void)
{
	struct tapir_session_shm *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
					      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return page == MAP_FAILED ? NULL : page;
}

uint64_t tapir_session__bytes(const struct tapir_session_entry *s)
{
	struct stat st;

	return s->fd >= 0 && !fstat(s->fd, &st) ? (uint64_t)st.st_size : 0;
}

void tapir_session__write_json(const struct tapir_session_entry *s, struct tapir_json *j,
			       const char *key)
{
	const struct tapir_session_shm *p = s->page;

	tapir_json__open(j, key, '{');
	tapir_json__str(j, "id", s->id);
	tapir_json__str(j, "owner", s->owner);
	tapir_json__str(j, "target", s->target);
	tapir_json__u64(j, "pid", s->target_pid);
	tapir_json__str(j, "name", *s->name ? s->name : NULL);
	tapir_json__u64(j, "started", s->started);
	tapir_json__str(j, "created", s->utc);
	tapir_json__str(j, "state", state_name(s->state));
	tapir_json__str(j, "error", *p->error ? p->error : NULL);
	tapir_json__f64(j, "seconds", (double)p->elapsed_ns / 1e9);
	if (!tapir_session__is_frozen(
		    s)) { /* a part of a recording: its own counts are not known */
		tapir_json__u64(j, "events", p->event_cnt);
		tapir_json__u64(j, "samples", p->sample_cnt);
		tapir_json__u64(j, "switches", p->switch_cnt);
		tapir_json__u64(j, "lost", p->lost_cnt);
		tapir_json__u64(j, "left_out", p->skipped_cnt);
	}
	tapir_json__u64(j, "bytes", p->file_bytes);
	tapir_json__close(j, '}');
}

static void name_file(const struct tapir_session_entry *s, const char *suffix, char *out)
{
	snprintf(out, NAME_BYTES, "%s.%s", s->id, suffix);
}

int tapir_session__create_file(const struct tapir_agent *agent, struct tapir_session_entry *s)
{
	char name[NAME_BYTES];

	name_file(s, "tapir", name);
	s->fd = agent->state_fd >= 0
			? openat(agent->state_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
			: memfd_create("tapir-trace", MFD_CLOEXEC);
	return s->fd >= 0 ? 0
			  : tapir_diag__fail(-errno, "cannot create a file for the recording: %s",
					     tapir_errno__text(errno));
}

int tapir_session__name_file(const struct tapir_agent *agent, const struct tapir_session_entry *s)
{
	char name[NAME_BYTES], path[32];

	if (agent->state_fd < 0)
		return 0;
	name_file(s, "tapir", name);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd);
	return linkat(AT_FDCWD, path, agent->state_fd, name, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

bool tapir_session__is_frozen(const struct tapir_session_entry *s)
{
	return !strncmp(s->target, TAPIR_SESSION_FROZEN, strlen(TAPIR_SESSION_FROZEN));
}

/* Replaced as a whole: an agent that is killed leaves the one or the other. */
void tapir_session__save(const struct tapir_agent *agent, const struct tapir_session_entry *s)
{
	struct tapir_str text = {};
	struct tapir_json j = tapir_json__to(&text);
	char name[NAME_BYTES], fresh[NAME_BYTES];
	int fd, err;

	if (agent->state_fd < 0)
		return;
	name_file(s, "json", name);
	name_file(s, "json.new", fresh);
	tapir_session__write_json(s, &j, NULL);
	fd = openat(agent->state_fd, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	err = fd < 0 ? -errno : tapir_file__write_all(fd, text.data, text.len);
	if (fd >= 0)
		close(fd);
	if (!err && renameat(agent->state_fd, fresh, agent->state_fd, name))
		err = -errno;
	if (err)
		unlinkat(agent->state_fd, fresh, 0);
	if (err)
		tapir_warn("cannot write %s in the agent's state: %s", name,
			   tapir_errno__text(err));
	tapir_str__fini(&text);
}

void tapir_session__remove_files(const struct tapir_agent *agent,
				 const struct tapir_session_entry *s)
{
	char name[NAME_BYTES];

	if (agent->state_fd < 0 || !*s->id)
		return;
	name_file(s, "tapir", name);
	unlinkat(agent->state_fd, name, 0);
	name_file(s, "json", name);
	unlinkat(agent->state_fd, name, 0);
}

void tapir_session__release(struct tapir_session_entry *s)
{
	if (s->page)
		munmap(s->page, sizeof(*s->page));
	if (s->fd >= 0)
		close(s->fd);
	if (s->waiter_fd >= 0)
		close(s->waiter_fd);
}

void tapir_sessions__forget(struct tapir_agent *agent, size_t at)
{
	struct tapir_sessions *all = agent->sessions;

	tapir_session__remove_files(agent, &all->all.data[at]);
	tapir_session__release(&all->all.data[at]);
	memmove(&all->all.data[at], &all->all.data[at + 1],
		(all->all.cnt - at - 1) * sizeof(*all->all.data));
	all->all.cnt--;
}

/* ---- room ----------------------------------------------------------------------------------- */

/*
 * A client that needs room for one more trace loses traces it keeps, the oldest first; those of
 * other clients stay until these or an administrator delete them. Nothing is deleted for a trace
 * that would not fit even then. A running recording counts with the size at which it would end.
 */
struct room {
	uint64_t bytes, cnt;
};

static struct room used_by(const struct tapir_agent *agent, const struct tapir_session_entry *s)
{
	return (struct room){
		s->pid ? agent->config->limits.trace_mb << 20 : tapir_session__bytes(s), 1};
}

static bool is_dispensable(const struct tapir_session_entry *s, const char *owner)
{
	return !s->pid && !strcmp(s->owner, owner);
}

static bool fits_state_limits(const struct tapir_agent *agent, const struct room *sum)
{
	const struct tapir_serve_limits *limits = &agent->config->limits;

	return sum->bytes <= limits->state_mb << 20 && sum->cnt <= limits->traces;
}

/* Deletes a trace, with the line of the log that a DELETE has: the client and its request. */
static void delete_for_room(struct tapir_agent *agent, size_t at, const struct tapir_caller *caller,
			    const struct tapir_route *route)
{
	const struct tapir_session_entry *s = &agent->sessions->all.data[at];
	char label[192];

	snprintf(label, sizeof(label), "%s %s", s->id, s->target);
	tapir_agent__audit(agent, caller, route, label, "deletes");
	agent->given_up_cnt++;
	tapir_sessions__forget(agent, at);
}

int tapir_session__make_room(struct tapir_agent *agent, const struct tapir_caller *caller,
			     const struct tapir_route *route, uint64_t bytes)
{
	struct tapir_sessions *sessions = agent->sessions;
	struct room sum = {bytes, 1}, least = sum;
	const struct tapir_session_entry *s;

	tapir_vec_for_each (s, &sessions->all) {
		struct room used = used_by(agent, s);

		sum = (struct room){sum.bytes + used.bytes, sum.cnt + used.cnt};
		if (!is_dispensable(s, caller->name))
			least = (struct room){least.bytes + used.bytes, least.cnt + used.cnt};
	}
	if (!fits_state_limits(agent, &least))
		return -ENOSPC;
	for (size_t at = 0; !fits_state_limits(agent, &sum);) {
		struct room used = used_by(agent, &sessions->all.data[at]);

		if (!is_dispensable(&sessions->all.data[at], caller->name)) {
			at++;
			continue;
		}
		sum = (struct room){sum.bytes - used.bytes, sum.cnt - used.cnt};
		delete_for_room(agent, at, caller, route);
	}
	return 0;
}

void tapir_session__limit_frozen(struct tapir_agent *agent, const struct tapir_caller *caller,
				 size_t max_cnt)
{
	struct tapir_sessions *sessions = agent->sessions;
	size_t cnt = 0;

	for (size_t i = sessions->all.cnt; i-- > 0;) {
		const struct tapir_session_entry *s = &sessions->all.data[i];

		if (tapir_session__is_frozen(s) && is_dispensable(s, caller->name) &&
		    ++cnt > max_cnt)
			delete_for_room(agent, i, caller, &tapir_routes[TAPIR_ROUTE_FREEZE]);
	}
}

/* ---- counts ---------------------------------------------------------------------------------- */

/* Counts losses as the session that records does: a record that lacks a part is not lost. */
static void count_loss(const struct tapir_rec_loss *loss, struct tapir_session_shm *page)
{
	if (tapir_loss__is_complete(loss->cause))
		page->lost_cnt += loss->count;
	else if (loss->cause == TAPIR_LOSS_NOT_WHERE)
		page->skipped_cnt += loss->count;
}

static void count(struct tapir_reader *reader, struct tapir_session_shm *page)
{
	const struct tapir_reader_stats *stats = tapir_reader__stats(reader);
	const struct tapir_rec *rec;

	page->lost_cnt = page->skipped_cnt = 0;
	while (tapir_reader__next(reader, &rec) > 0)
		if (rec->type == TAPIR_REC_LOSS)
			count_loss((const void *)rec, page);
	page->event_cnt = stats->captured[TAPIR_FAMILY_EVENT];
	page->sample_cnt = stats->captured[TAPIR_FAMILY_SAMPLE];
	page->switch_cnt = stats->captured[TAPIR_FAMILY_SWITCH];
	if (stats->last_ns > stats->created_ns)
		page->elapsed_ns = stats->last_ns - stats->created_ns;
}

int tapir_session__count(void *ctx, int client_fd)
{
	const struct tapir_task *task = ctx;
	struct tapir_reader *reader;
	int err = tapir_capabilities__drop();

	(void)client_fd;
	if (!err)
		err = tapir_reader__open_fd(task->trace_fd, "the trace", &reader);
	if (err)
		return err;
	count(reader, task->page);
	tapir_reader__close(reader);
	return 0;
}

/* ---- an earlier agent's --------------------------------------------------------------------- */

static void copy_text(const json_t *root, const char *key, char *out, size_t size)
{
	const char *text = json_string_value(json_object_get(root, key));

	snprintf(out, size, "%s", text ? text : "");
}

static uint64_t figure(const json_t *root, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(root, key));

	return value > 0 ? (uint64_t)value : 0;
}

static void read_counts(const json_t *root, struct tapir_session_shm *page)
{
	double seconds = json_number_value(json_object_get(root, "seconds"));

	page->elapsed_ns = seconds > 0 && seconds < 1e9 ? (uint64_t)llround(seconds * 1e9) : 0;
	page->event_cnt = figure(root, "events");
	page->sample_cnt = figure(root, "samples");
	page->switch_cnt = figure(root, "switches");
	page->lost_cnt = figure(root, "lost");
	page->skipped_cnt = figure(root, "left_out");
}

/* Reads the session's description, as far as there is one: the disk may have been full. */
static void read_description(const struct tapir_agent *agent, struct tapir_session_entry *s)
{
	tapir_autofree char *text = NULL;
	char name[NAME_BYTES];
	const char *state;
	size_t len = 0;
	json_t *root = NULL;
	int fd;

	name_file(s, "json", name);
	fd = openat(agent->state_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && !tapir_file__read_fd(fd, MAX_JSON_BYTES, &text, &len))
		root = json_loadb(text, len, 0, NULL);
	tapir_guard__fd(&fd);
	copy_text(root, "owner", s->owner, sizeof(s->owner));
	copy_text(root, "target", s->target, sizeof(s->target));
	copy_text(root, "name", s->name, sizeof(s->name));
	copy_text(root, "created", s->utc, sizeof(s->utc));
	s->target_pid = (uint32_t)figure(root, "pid");
	s->started = figure(root, "started");
	read_counts(root, s->page);
	state = json_string_value(json_object_get(root, "state"));
	s->state = state && !strcmp(state, "finished") ? TAPIR_SESSION_FINISHED
						       : TAPIR_SESSION_TRUNCATED;
	s->is_uncounted = s->state == TAPIR_SESSION_TRUNCATED && state && strcmp(state, "cut") != 0;
	json_decref(root);
}

/* "ID.tapir", "ID.json", "ID.json.new": the suffix; NULL: another file. */
static const char *suffix_of(const char *name)
{
	return strspn(name, "0123456789abcdef") == TAPIR_SESSION_ID_DIGITS &&
			       name[TAPIR_SESSION_ID_DIGITS] == '.'
		       ? name + TAPIR_SESSION_ID_DIGITS + 1
		       : NULL;
}

static int load_session(const struct tapir_agent *agent, struct tapir_sessions *sessions,
			const char *name)
{
	struct tapir_session_entry s = {.fd = -1, .waiter_fd = -1};
	const char *suffix = suffix_of(name);
	char trace[NAME_BYTES];

	if (!suffix)
		return 0;
	snprintf(s.id, sizeof(s.id), "%.*s", TAPIR_SESSION_ID_DIGITS, name);
	name_file(&s, "tapir", trace);
	if (strcmp(suffix, "tapir") != 0) { /* of a trace that is gone, or half a description */
		if (!strcmp(suffix, "json.new") || faccessat(agent->state_fd, trace, F_OK, 0))
			unlinkat(agent->state_fd, name, 0);
		return 0;
	}
	s.fd = openat(agent->state_fd, trace, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (s.fd < 0)
		return 0;
	s.page = tapir_session_shm__new();
	if (s.page) {
		read_description(agent, &s);
		if (tapir_vec__push(&sessions->all, s))
			return 0;
		munmap(s.page, sizeof(*s.page));
	}
	close(s.fd);
	return -ENOMEM;
}

static int compare_session_times(const void *a, const void *b)
{
	return strcmp(((const struct tapir_session_entry *)a)->utc,
		      ((const struct tapir_session_entry *)b)->utc);
}

int tapir_session__load_all(const struct tapir_agent *agent, struct tapir_sessions *sessions)
{
	DIR *dir = tapir_file__open_dir(agent->state_fd, ".", O_RDONLY);
	struct dirent *e;
	int err = 0;

	if (!dir)
		return -errno;
	while (!err && (e = readdir(dir)))
		err = load_session(agent, sessions, e->d_name);
	closedir(dir);
	if (sessions->all.cnt)
		qsort(sessions->all.data, sessions->all.cnt, sizeof(*sessions->all.data),
		      compare_session_times);
	return err;
}
