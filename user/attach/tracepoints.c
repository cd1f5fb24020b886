// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Directories of tracefs, and the table of system calls with which tapir was built, since tracefs
 * is often not mounted or not readable.
 */
#include "attach/tracepoints.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "attach/kernel_functions.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/str.h"
#include "trace/record.h"
#include "trace/system_calls.h"

#define EVENTS		      "/sys/kernel/tracing/events"
#define EVENTS_BYTES	      64u /* of the path of that directory, wherever it is read */
#define DESCRIPTION_MAX_BYTES (256u << 10)

/*
 * Many machines mount tracefs only when a tool wants it. A mount that is attached nowhere is seen
 * by no process but the one that has its descriptor, and goes with it.
 */
static int open_detached_events(void)
{
	int fs = fsopen("tracefs", FSOPEN_CLOEXEC), mnt = -1, dir = -1;

	if (fs >= 0 && !fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		mnt = fsmount(fs, FSMOUNT_CLOEXEC,
			      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
				      MOUNT_ATTR_NOEXEC);
	if (mnt >= 0)
		dir = openat(mnt, "events", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (mnt >= 0)
		close(mnt);
	if (fs >= 0)
		close(fs);
	return dir;
}

static char events_path[EVENTS_BYTES] = EVENTS;

static void find_events(void)
{
	int dir;

	if (!access(EVENTS, F_OK) || errno != ENOENT)
		return;
	dir = open_detached_events();
	if (dir >= 0)
		snprintf(events_path, sizeof(events_path), "/proc/self/fd/%d", dir);
}

/* The directory of all tracepoints: found once, since a detached mount stays open. */
static const char *events(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_events);
	return events_path;
}

const char *tapir_tracepoints__where(void)
{
	return strcmp(events(), EVENTS) ? "not mounted: tapir has a mount of its own"
					: "/sys/kernel/tracing";
}

int tapir_tracepoints__check(void)
{
	DIR *dir = tapir_file__open_dir(AT_FDCWD, events(), 0);
	int err = dir ? 0 : -errno;

	if (dir)
		closedir(dir);
	return err;
}

static int fail_to_read(int err, const char *label)
{
	if (err == -EACCES || err == -EPERM)
		return tapir_diag__fail(err, "cannot read %s: tracepoints require root", label);
	if (err == -ENOENT && tapir_tracepoints__check() == -ENOENT)
		return tapir_diag__fail(err,
					"no tracefs in /sys/kernel/tracing: mount it with 'mount "
					"-t tracefs tracefs /sys/kernel/tracing'");
	return tapir_diag__fail(err, "cannot read %s: %s", label, tapir_errno__text(err));
}

static int add_tracepoint(struct tapir_tracepoint_list *out, const char *category, const char *name,
			  unsigned nr)
{
	struct tapir_tracepoint t = {
		.category = category ? strdup(category) : NULL, .name = strdup(name), .nr = nr};

	if (t.name && (!category || t.category) && tapir_vec__push(out, t))
		return 0;
	free(t.category);
	free(t.name);
	return -ENOMEM;
}

static int compare_tracepoints(const void *a, const void *b)
{
	const struct tapir_tracepoint *x = a, *y = b;
	int order = x->category && y->category ? strcmp(x->category, y->category) : 0;

	return order ? order : strcmp(x->name, y->name);
}

/* Every entry of a directory that is a directory itself, and no link. */
typedef int (*entry_fn)(void *ctx, const char *name);

static int each_entry(const char *path, entry_fn fn, void *ctx)
{
	DIR *dir = tapir_file__open_dir(AT_FDCWD, path, 0);
	const struct dirent *entry;
	int err = 0;

	if (!dir)
		return fail_to_read(-errno, path);
	while (!err && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			err = fn(ctx, entry->d_name);
	closedir(dir);
	return err;
}

struct search {
	const struct tapir_machine_source *source;
	struct tapir_tracepoint_list *out;
	const char *category;
};

static int take_name(void *ctx, const char *name)
{
	struct search *s = ctx;

	return tapir_machine_source__has_name(s->source, name)
		       ? add_tracepoint(s->out, s->category, name, 0)
		       : 0;
}

static int take_category(void *ctx, const char *name)
{
	struct search *s = ctx;
	char path[EVENTS_BYTES + NAME_MAX + 2];

	if (!tapir_glob__match(s->source->category, name))
		return 0;
	snprintf(path, sizeof(path), "%s/%s", events(), name);
	s->category = name;
	return each_entry(path, take_name, s);
}

/* ---- functions of the kernel ---------------------------------------------------------------- */

#define FUNCTIONS_MAX_BYTES (32u << 20)

static int add_function_end(const char *word, const char *name, struct tapir_tracepoint_list *out)
{
	int err = add_tracepoint(out, word, name, 0);

	if (!err)
		out->data[out->cnt - 1].is_function = true;
	return err;
}

static int add_kernel_function(const struct tapir_machine_source *source, const char *name,
			       struct tapir_tracepoint_list *out)
{
	int err = 0;

	if (source->kind != TAPIR_MACHINE_KRETPROBE)
		err = add_function_end(TAPIR_KPROBE_WORD, name, out);
	if (!err && source->kind != TAPIR_MACHINE_KPROBE)
		err = add_function_end(TAPIR_KRETPROBE_WORD, name, out);
	return err;
}

/* Lines "name" or "name [module]". */
static int find_in_text(const struct tapir_machine_source *source, char *text,
			struct tapir_tracepoint_list *out)
{
	char *line, *rest = text;
	int err = 0;

	while (!err && (line = strsep(&rest, "\n"))) {
		line[strcspn(line, " \t")] = '\0';
		if (*line && tapir_machine_source__has_name(source, line))
			err = add_kernel_function(source, line, out);
	}
	return err;
}

/* A name that is no glob need not be listed: attaching it shows that it is there. */
static int find_functions(const struct tapir_machine_source *source,
			  struct tapir_tracepoint_list *out)
{
	tapir_autofree char *text = NULL;
	char path[EVENTS_BYTES + 64];
	int err;

	if (tapir_glob__is_plain(source->names) && !strchr(source->names, ','))
		return add_kernel_function(source, source->names, out);
	snprintf(path, sizeof(path), "%s/../available_filter_functions", events());
	err = tapir_file__read(path, FUNCTIONS_MAX_BYTES, &text, NULL);
	return err ? fail_to_read(err, path) : find_in_text(source, text, out);
}

/* ---- counters ------------------------------------------------------------------------------- */

#define DEFAULT_PERIOD	   1000000u /* of what counts fast: clocks in ns, hardware */
#define LEAST_CLOCK_PERIOD 50000u   /* as often as TAPIR_TIMER_MAX_HZ */
#define LEAST_COUNT_PERIOD 1000u

static bool is_clock(const struct tapir_sample_event *e)
{
	return !strcmp(e->name, "cpu-clock") || !strcmp(e->name, "task-clock");
}

static int add_perf_counter(const struct tapir_machine_source *source,
			    const struct tapir_sample_event *event,
			    struct tapir_tracepoint_list *out)
{
	bool counts_fast = event->is_hardware || is_clock(event);
	uint64_t least = is_clock(event)      ? LEAST_CLOCK_PERIOD
			 : event->is_hardware ? LEAST_COUNT_PERIOD
					      : 1;
	uint64_t period = source->rate ? source->rate : counts_fast ? DEFAULT_PERIOD : 1;
	int err;

	if (period < least)
		return tapir_diag__fail(-EINVAL, "%s: the period of %s must be at least %u",
					source->text, event->name, (unsigned)least);
	err = add_tracepoint(out, NULL, event->name, 0);
	if (!err) {
		out->data[out->cnt - 1].event = event;
		out->data[out->cnt - 1].period = period;
	}
	return err;
}

static int find_counters(const struct tapir_machine_source *source,
			 struct tapir_tracepoint_list *out)
{
	const struct tapir_sample_event *e = tapir_sample_events;
	int err = 0;

	if (source->kind == TAPIR_MACHINE_TIMER) {
		err = add_tracepoint(out, NULL, source->names, 0);
		if (!err) {
			out->data[out->cnt - 1].event = e;
			out->data[out->cnt - 1].rate_hz = (unsigned)source->rate;
		}
		return err;
	}
	for (; e->name && !err; e++)
		if (tapir_machine_source__has_name(source, e->name))
			err = add_perf_counter(source, e, out);
	return err;
}

int tapir_tracepoints__find(const struct tapir_machine_source *source,
			    struct tapir_tracepoint_list *out)
{
	struct search search = {.source = source, .out = out};
	size_t had = out->cnt;
	int err = 0;

	if (source->kind == TAPIR_MACHINE_TRACEPOINT)
		err = each_entry(events(), take_category, &search);
	else if (source->kind == TAPIR_MACHINE_KPROBE || source->kind == TAPIR_MACHINE_KRETPROBE ||
		 source->kind == TAPIR_MACHINE_KFUNC)
		err = find_functions(source, out);
	else if (source->kind != TAPIR_MACHINE_SYSCALL)
		err = find_counters(source, out);
	else
		for (unsigned i = 0; i < TAPIR_SYSTEM_CALL_CNT && !err; i++)
			if (tapir_system_call__name(i) &&
			    tapir_machine_source__has_name(source, tapir_system_call__name(i)))
				err = add_tracepoint(out, NULL, tapir_system_call__name(i), i);
	if (!err && out->cnt > had)
		qsort(out->data + had, out->cnt - had, sizeof(*out->data), compare_tracepoints);
	return err;
}

void tapir_tracepoint_list__fini(struct tapir_tracepoint_list *list)
{
	struct tapir_tracepoint *t;

	tapir_vec_for_each (t, list) {
		free(t->category);
		free(t->name);
	}
	tapir_vec__fini(list);
}

void tapir_tracepoint__provider(const struct tapir_tracepoint *t,
				char out[static TAPIR_TRACEPOINT_PROVIDER_BYTES])
{
	snprintf(out, TAPIR_TRACEPOINT_PROVIDER_BYTES, "%s%s",
		 t->is_function ? ""
		 : t->category	? TAPIR_TRACEPOINT_WORD
		 : !t->event	? TAPIR_SYSCALL_WORD
		 : t->rate_hz	? TAPIR_TIMER_WORD
				: TAPIR_PERF_WORD,
		 t->category ? t->category : "");
}

/* A file that describes a tracepoint, and its path. */
static int read_file(const char *category, const char *prefix, const char *name, const char *file,
		     char **text, char path[static 512])
{
	size_t len = 0;

	snprintf(path, 512, "%s/%.128s/%s%.128s/%s", events(), category, prefix, name, file);
	return tapir_file__read(path, DESCRIPTION_MAX_BYTES, text, &len);
}

int tapir_tracepoint__id(const struct tapir_tracepoint *t, uint64_t *out)
{
	tapir_autofree char *text = NULL;
	char path[512];
	int err = read_file(t->category, "", t->name, "id", &text, path);

	if (err)
		return fail_to_read(err, path);
	*out = strtoull(text, NULL, 10);
	return 0;
}

/* ---- fields --------------------------------------------------------------------------------- */

static int read_format(const char *category, const char *prefix, const char *name,
		       struct tapir_tracepoint_format *out, char path[static 512])
{
	tapir_autofree char *text = NULL;
	int err = read_file(category, prefix, name, "format", &text, path);

	return err ? err : tapir_tracepoint_format__parse(text, out);
}

static void name_by_number(struct tapir_tracepoint_format *out)
{
	*out = (struct tapir_tracepoint_format){.field_cnt = TAPIR_CALL_ARGS};
	for (unsigned i = 0; i < TAPIR_CALL_ARGS; i++) {
		struct tapir_tracepoint_field *f = &out->fields[i];

		snprintf(f->name, sizeof(f->name), "arg%u", i);
		f->machine_field.size = sizeof(uint64_t);
		f->field_type = TAPIR_FIELD_UINT;
	}
}

/* Bytes whose length is in another field are not texts. */
static bool is_tracepoint_text(const struct tapir_tracepoint_field *f)
{
	static const char *const bytes[] = {"buf", "ubuf", "u_buf", "optval", "u_msg_ptr"};

	for (size_t i = 0; i < sizeof(bytes) / sizeof(*bytes); i++)
		if (!strcmp(f->name, bytes[i]))
			return false;
	return !strcmp(f->type, "const char *");
}

/*
 * Arguments are 8 bytes wide in the record of a system call, whatever their types: those that C has
 * with fewer are signed or not by their names.
 */
static void narrow(struct tapir_tracepoint_field *f)
{
	static const struct {
		const char *type;
		uint8_t size;
		bool is_signed;
	} known[] = {{"int", 4, true},		 {"pid_t", 4, true},  {"clockid_t", 4, true},
		     {"unsigned int", 4, false}, {"u32", 4, false},   {"umode_t", 2, false},
		     {"uid_t", 4, false},	 {"gid_t", 4, false}, {"qid_t", 4, false},
		     {"long", 8, true},		 {"off_t", 8, true},  {"loff_t", 8, true},
		     {"key_serial_t", 4, true},	 {"mqd_t", 4, true},  {"timer_t", 4, true},
		     {"unsigned", 4, false},	 {"__u32", 4, false}, {"__s32", 4, true}};

	f->machine_field.size = sizeof(uint64_t);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(f->type, known[i].type)) {
			f->machine_field.size = known[i].size;
			f->machine_field.is_signed = known[i].is_signed;
		}
	if (is_tracepoint_text(f))
		f->field_type = TAPIR_FIELD_STR;
	else if (f->field_type != TAPIR_FIELD_PTR)
		f->field_type = f->machine_field.is_signed ? TAPIR_FIELD_INT : TAPIR_FIELD_UINT;
}

/* Some calls have another name in the kernel than programs call them by. */
static int call_format(const char *name, struct tapir_tracepoint_format *out)
{
	static const char *const prefixes[] = {"sys_enter_", "sys_enter_new"};
	unsigned cnt = 0;
	char path[512];
	int err = -ENOENT;

	for (size_t i = 0; err == -ENOENT && i < sizeof(prefixes) / sizeof(*prefixes); i++)
		err = read_format("syscalls", prefixes[i], name, out, path);
	if (err) {
		name_by_number(out);
		return 0;
	}
	for (unsigned i = 0; i < out->field_cnt && cnt < TAPIR_CALL_ARGS; i++)
		if (strcmp(out->fields[i].name, "__syscall_nr") != 0 &&
		    out->fields[i].machine_field.read == TAPIR_MACHINE_NUMBER) {
			out->fields[cnt] = out->fields[i];
			narrow(&out->fields[cnt++]);
		}
	out->field_cnt = cnt;
	return 0;
}

/* These are the slots that bpf/machine.bpf.c fills: only faults have an address. */
static int counter_format(const struct tapir_sample_event *event,
			  struct tapir_tracepoint_format *out)
{
	static const struct tapir_tracepoint_field fields[] = {{.name = "period",
								.type = "u64",
								.machine_field.size = 8,
								.field_type = TAPIR_FIELD_UINT},
							       {.name = "addr",
								.type = "u64",
								.machine_field.size = 8,
								.field_type = TAPIR_FIELD_PTR}};

	*out = (struct tapir_tracepoint_format){.field_cnt =
							strstr(event->name, "-faults") ? 2 : 1};
	memcpy(out->fields, fields, sizeof(fields));
	return 0;
}

int tapir_tracepoint__format(const struct tapir_tracepoint *t, struct tapir_tracepoint_format *out)
{
	char path[512];
	int err;

	if (t->event)
		return counter_format(t->event, out);
	if (t->is_function) {
		tapir_kernel_function__format(t->name, !strcmp(t->category, TAPIR_KRETPROBE_WORD),
					      out);
		return 0;
	}
	if (!t->category)
		return call_format(t->name, out);
	err = read_format(t->category, "", t->name, out, path);
	return err == -EINVAL ? tapir_diag__fail(err, "%s is no description of a tracepoint", path)
	       : err	      ? fail_to_read(err, path)
			      : 0;
}
