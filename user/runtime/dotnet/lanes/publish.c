// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A table of images by process and mapping, and what was printed of each. An image is the memory in
 * which a process's library writes notes; it grows, so it is read again while something comes, and
 * rarely after that.
 */
#include "runtime/dotnet/lanes/publish.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "runtime/peer/probe_links.h"
#include "base/str.h"
#include "elf/image.h"
#include "elf/notes.h"
#include "tapir/coreclr.h"

#define BUSY_NS	       (100 * TAPIR_NS_PER_MS) /* between looks while something comes */
#define IDLE_NS	       (500 * TAPIR_NS_PER_MS)
#define BUSY_FOR_NS    (3 * TAPIR_NS_PER_SEC)
/* A process may create any number; the library creates at most 64, with 1.5 MB of notes each. */
#define IMAGE_MAX      4096 /* in all processes */
#define PROCESS_MAX    68   /* in one */
#define NOTE_MAX_BYTES (2u << 20)
#define REPORTED_MAX   12 /* events of a process, one line each */
#define LIBRARY	       "tapir_coreclr"
#define NAMESAKE       LIBRARY "_source" /* the link of an EventSource of that name */

struct image {
	uint32_t tgid;
	uint64_t start_va;
	uint64_t note_bytes; /* of .note.stapsdt, when it was last read */
	size_t event_cnt, bad_probe_cnt;
	bool is_library, is_there;
	char name[TAPIR_PROBE_LINK_BYTES]; /* "": it has no link */
};

struct process {
	uint32_t tgid;
	size_t reported_cnt;
	bool is_there, was_warned;
};

struct tapir_publish {
	struct tapir_publish_opts opts;
	int dir_fd;
	struct tapir_peer_guard guard;
	char image_prefix[48], library_part[48]; /* in the names of mapped files */
	struct tapir_vec(struct image) images;
	struct tapir_vec(struct process) processes;
	uint64_t next_ns, busy_until_ns;
	bool was_shown;	  /* a line to paste */
	bool has_started; /* a process took the library */
	bool was_polled;  /* while it was recorded: there is a sum to report */
	size_t event_cnt, provider_cnt;
	size_t truncated_cnt; /* events, of which the name is */
	size_t bad_probe_cnt; /* by another program: the library makes none */
};

/* ---- output ------------------------------------------------------------------------------- */

static struct process *process_of(struct tapir_publish *p, uint32_t tgid)
{
	const struct process fresh = {.tgid = tgid, .is_there = true};
	struct process *process;

	tapir_vec_for_each (process, &p->processes)
		if (process->tgid == tgid)
			return process;
	return tapir_vec__push(&p->processes, fresh) ? &p->processes.data[p->processes.cnt - 1]
						     : NULL;
}

static const char *kind_text(char kind, int size)
{
	switch (kind) {
	case 's':
		return "str";
	case 'b':
		return "bool";
	case 'p':
		return "ptr";
	case 'f':
		return size == 4 ? "f32 bits" : "f64 bits";
	default:
		return size == 1   ? (kind == 'i' ? "i8" : "u8")
		       : size == 2 ? (kind == 'i' ? "i16" : "u16")
		       : size == 4 ? (kind == 'i' ? "i32" : "u32")
				   : (kind == 'i' ? "i64" : "u64");
	}
}

static void add_arguments(struct tapir_str *out, const struct tapir_usdt_note *note)
{
	for (unsigned i = 0; i < note->arg_cnt; i++) {
		const char *name = note->arg_names[i];

		tapir_str__addf(out, "%s%s", i ? ", " : "",
				kind_text(note->kinds[i], note->args[i].size));
		if (name)
			tapir_str__addc(out, ' ');
		if (name)
			tapir_str__adds(out, name); /* the printer of the line escapes it */
	}
}

/* The name is to be pasted into a shell: tapir's library makes no names with a quote. */
static bool may_be_pasted(const char *name)
{
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("-_.", *name))
			return false;
	return true;
}

/* Adds the arguments that bpftrace can read: six at most. */
static void add_paste(struct tapir_str *out, const struct image *image,
		      const struct tapir_usdt_note *note)
{
	unsigned cnt = note->arg_cnt < 6 ? note->arg_cnt : 6;

	tapir_str__addf(out, "bpftrace -e 'usdt:" TAPIR_PROBE_LINKS_DIR "/%u/%s:%s:%s { ",
			image->tgid, image->name, note->provider, note->name);
	tapir_str__adds(out, cnt > 1 ? "print((" : cnt ? "print(" : "@ = count(); }'");
	for (unsigned i = 0; i < cnt; i++)
		tapir_str__addf(out,
				note->kinds[i] == 's'	? "%sstr(arg%u)"
				: note->kinds[i] == 'i' ? "%s(int64)arg%u"
							: "%sarg%u",
				i ? ", " : "", i);
	if (cnt)
		tapir_str__adds(out, cnt > 1 ? ")); }'" : "); }'");
}

static void report_probe(struct tapir_publish *p, const struct image *image,
			 const struct tapir_usdt_note *note)
{
	struct process *process = process_of(p, image->tgid);
	struct tapir_str line = {};

	if (!process || process->reported_cnt++ > REPORTED_MAX)
		return;
	if (process->reported_cnt > REPORTED_MAX) {
		tapir_info("process %u: more events are probes: 'tapir list -p %u' lists them all",
			   image->tgid, image->tgid);
		return;
	}
	tapir_str__addf(&line, "process %u: probe %s:%s(", image->tgid, note->provider, note->name);
	add_arguments(&line, note);
	tapir_str__addc(&line, ')');
	if (line.data)
		tapir_info("%s", line.data);
	tapir_str__clear(&line);
	if (!p->was_shown && *image->name && may_be_pasted(note->provider) &&
	    may_be_pasted(note->name)) {
		add_paste(&line, image, note);
		if (line.data)
			tapir_info("%s", line.data);
		p->was_shown = true;
	}
	tapir_str__fini(&line);
}

/* A version or a number may follow it. */
static bool is_truncated(const char *name)
{
	size_t truncated_bytes = strlen(TAPIR_CORECLR_CUT);

	return strlen(name) >= TAPIR_CORECLR_EVENT_NAME_MAX &&
	       !strncmp(name + TAPIR_CORECLR_EVENT_NAME_MAX - truncated_bytes, TAPIR_CORECLR_CUT,
			truncated_bytes);
}

/* ---- images --------------------------------------------------------------------------------------- */

static void read_notes(struct tapir_publish *p, struct image *image, struct tapir_elf *elf)
{
	struct tapir_usdt_notes notes = {};

	if (tapir_usdt_notes__read(elf, &notes) < 0)
		return;
	for (size_t i = image->event_cnt; i < notes.cnt; i++) {
		report_probe(p, image, &notes.data[i]);
		p->truncated_cnt += is_truncated(notes.data[i].name);
	}
	if (notes.bad_probe_cnt > image->bad_probe_cnt) {
		p->bad_probe_cnt += notes.bad_probe_cnt - image->bad_probe_cnt;
		image->bad_probe_cnt = notes.bad_probe_cnt;
	}
	if (notes.cnt > image->event_cnt) {
		p->provider_cnt += !image->event_cnt;
		p->event_cnt += notes.cnt - image->event_cnt;
		image->event_cnt = notes.cnt;
	}
	tapir_usdt_notes__fini(&notes);
}

/* true: there is something new in it. */
static bool inspect_image(struct tapir_publish *p, struct image *image,
			  const struct tapir_mapping_line *m)
{
	tapir_autofd int fd = tapir_proc__open_mapped(image->tgid, m, NULL);
	struct tapir_elf *elf = NULL;
	const Elf64_Shdr *section;
	bool is_new = false;

	if (fd < 0 || tapir_elf__open_fd(fd, &elf))
		return false;
	section = tapir_elf__section(elf, ".note.stapsdt");
	if (section && section->sh_size != image->note_bytes &&
	    section->sh_size <= NOTE_MAX_BYTES) {
		image->note_bytes = section->sh_size;
		read_notes(p, image, elf);
		is_new = true;
	}
	tapir_elf__free(elf);
	return is_new;
}

static struct image *find_image(struct tapir_publish *p, uint32_t tgid, uint64_t start_va)
{
	struct image *image;

	tapir_vec_for_each (image, &p->images)
		if (image->tgid == tgid && image->start_va == start_va)
			return image;
	return NULL;
}

static size_t count_images(const struct tapir_publish *p, uint32_t tgid)
{
	const struct image *image;
	size_t cnt = 0;

	tapir_vec_for_each (image, &p->images)
		cnt += image->tgid == tgid;
	return cnt;
}

/* The image mapped at an address, if it is tapir's. */
struct image_content {
	char name[TAPIR_PROBE_LINK_BYTES];
	bool is_library;
};

/* The library's link is found by its name: a source may not take it. */
static const char *link_name(const struct image *image, const char *name)
{
	char plain[TAPIR_PROBE_LINK_BYTES];

	tapir_probe_links__plain(name, plain);
	if (image->is_library || strcmp(plain, LIBRARY))
		return name;
	tapir_info(
		"process %u: an EventSource has the same name as tapir's library: its probes are at " TAPIR_PROBE_LINKS_DIR
		"/%u/" NAMESAKE,
		image->tgid, image->tgid);
	return NAMESAKE;
}

static struct image *add_image(struct tapir_publish *p, uint32_t tgid,
			       const struct tapir_mapping_line *m,
			       const struct image_content *image_content)
{
	struct image image = {
		.tgid = tgid, .start_va = m->start_va, .is_library = image_content->is_library};
	int mark = tapir_diag__cnt();
	const char *name;

	if (p->images.cnt == IMAGE_MAX || count_images(p, tgid) == PROCESS_MAX)
		return NULL;
	name = link_name(&image, image_content->name);
	if (tapir_probe_links__add(p->dir_fd, tgid, m->start_va, m->end_va, name, image.name)) {
		image.name[0] = '\0';
		tapir_warn("%s; %s is at /proc/%u/map_files/%" PRIx64 "-%" PRIx64,
			   tapir_diag__line(mark), name, tgid, m->start_va, m->end_va);
		tapir_diag__rewind(mark);
	}
	return tapir_vec__push(&p->images, image) ? &p->images.data[p->images.cnt - 1] : NULL;
}

/* false: not tapir's. */
static bool understand(const struct tapir_publish *p, const struct tapir_mapping_line *m,
		       struct image_content *out)
{
	size_t prefix = strlen(p->image_prefix);
	const char *end;

	if (!m->is_executable || !tapir_mapping_line__is_file(m))
		return false;
	out->is_library = strstr(m->path, p->library_part) != NULL;
	if (out->is_library) {
		snprintf(out->name, sizeof(out->name), "%s", LIBRARY);
		return true;
	}
	if (strncmp(m->path, p->image_prefix, prefix))
		return false;
	end = strstr(m->path + prefix, " (deleted)");
	snprintf(out->name, sizeof(out->name), "%.*s", end ? (int)(end - m->path - prefix) : -1,
		 m->path + prefix);
	return true;
}

struct walk {
	struct tapir_publish *publish;
	uint32_t tgid;
	bool is_new;
};

static int link_mapping(const struct tapir_mapping_line *m, void *ctx)
{
	struct walk *w = ctx;
	struct image_content image_content;
	struct image *image;

	if (!understand(w->publish, m, &image_content))
		return 0;
	image = find_image(w->publish, w->tgid, m->start_va);
	if (!image) {
		image = add_image(w->publish, w->tgid, m, &image_content);
		w->is_new = true;
	}
	if (!image)
		return 0;
	image->is_there = true;
	if (!image->is_library)
		w->is_new |= inspect_image(w->publish, image, m);
	return 0;
}

/* ---- processes ------------------------------------------------------------------------------------- */

static void warn_of_failures(struct tapir_publish *p, uint32_t tgid)
{
	struct process *process = process_of(p, tgid);
	struct tapir_ring_published published = {};

	if (!process || process->was_warned ||
	    !tapir_ring_reader__published(p->opts.rings, tgid, p->opts.key, &published) ||
	    !published.err)
		return;
	process->was_warned = true;
	tapir_warn("process %u: %s a probe of its own (the JSON probes of " LIBRARY " remain): %s",
		   tgid, published.cnt ? "not every event has" : "no event has",
		   published.err == EACCES || published.err == EPERM
			   ? "it may not create executable memory (vm.memfd_noexec, SELinux)"
		   : published.err == ENOSPC
			   ? "the limit of 64 providers or 4,096 events of each is reached"
			   : tapir_errno__text((int)published.err));
}

static void forget_gone(struct tapir_publish *p)
{
	for (size_t i = 0; i < p->images.cnt; i++) {
		struct image *image = &p->images.data[i];

		if (image->is_there)
			continue;
		if (*image->name)
			tapir_probe_links__remove(p->dir_fd, image->tgid, image->name);
		*image = p->images.data[--p->images.cnt];
		i--;
	}
}

static bool scan_publishers(struct tapir_publish *p)
{
	struct tapir_dotnet_tgids tgids = {};
	struct image *image;
	bool is_new = false;
	int mark = tapir_diag__cnt();

	tapir_dotnet_lanes__add_attached(p->opts.lanes, &tgids);
	tapir_vec_for_each (image, &p->images)
		image->is_there = false;
	for (size_t i = 0; i < tgids.cnt; i++) {
		struct walk w = {.publish = p, .tgid = tgids.data[i]};

		p->has_started = true;
		(void)tapir_proc__each_mapping(w.tgid, link_mapping, &w);
		warn_of_failures(p, w.tgid);
		is_new |= w.is_new;
	}
	forget_gone(p);
	tapir_vec__fini(&tgids);
	tapir_diag__rewind(mark);
	return is_new;
}

void tapir_publish__poll(struct tapir_publish *p, uint64_t now_ns)
{
	if (!p || !p->opts.lanes || now_ns < p->next_ns)
		return;
	p->was_polled = true;
	if (scan_publishers(p))
		p->busy_until_ns = now_ns + BUSY_FOR_NS;
	p->next_ns = now_ns + (now_ns < p->busy_until_ns ? BUSY_NS : IDLE_NS);
}

uint64_t tapir_publish__next_ns(const struct tapir_publish *p)
{
	return p && p->opts.lanes ? p->next_ns : UINT64_MAX;
}

/* ---- lifecycle ------------------------------------------------------------------------------------- */

int tapir_publish__open(struct tapir_publish **out)
{
	struct tapir_publish *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->guard = TAPIR_PEER_NO_GUARD;
	p->dir_fd = tapir_probe_links__open();
	if (p->dir_fd < 0) {
		int err = p->dir_fd;

		free(p);
		return err;
	}
	tapir_probe_links__guard(p->dir_fd, &p->guard);
	*out = p;
	return 0;
}

void tapir_publish__start(struct tapir_publish *p, const struct tapir_publish_opts *opts)
{
	if (!p)
		return;
	p->opts = *opts;
	snprintf(p->image_prefix, sizeof(p->image_prefix),
		 "/memfd:" TAPIR_RING_PROBES_NAME "%016" PRIx64 ":", opts->key);
	snprintf(p->library_part, sizeof(p->library_part), TAPIR_CORECLR_FILE_NAME "%016" PRIx64,
		 opts->key);
	p->busy_until_ns = tapir_clock__now_ns() + BUSY_FOR_NS;
}

static void report_sum(const struct tapir_publish *p)
{
	struct tapir_str line = {};

	tapir_str__addf(&line, "published: %zu event%s of %zu provider%s as probes", p->event_cnt,
			p->event_cnt == 1 ? "" : "s", p->provider_cnt,
			p->provider_cnt == 1 ? "" : "s");
	if (p->truncated_cnt)
		tapir_str__addf(&line, "; %zu names were cut and end in _cut", p->truncated_cnt);
	if (p->bad_probe_cnt)
		tapir_str__addf(&line, "; %zu left out: no printable name, or no address",
				p->bad_probe_cnt);
	if (line.data)
		tapir_info("%s", line.data);
	tapir_str__fini(&line);
}

void tapir_publish__stop(struct tapir_publish *p)
{
	struct image *image;

	if (!p || !p->opts.lanes)
		return;
	(void)scan_publishers(p);
	if (p->has_started && p->was_polled)
		report_sum(p);
	tapir_vec_for_each (image, &p->images)
		image->is_there = false;
	forget_gone(p);
	p->opts.lanes = NULL;
}

void tapir_publish__free(struct tapir_publish *p)
{
	if (!p)
		return;
	tapir_publish__stop(p);
	tapir_peer_guard__dismiss(&p->guard);
	tapir_guard__fd(&p->dir_fd);
	tapir_vec__fini(&p->images);
	tapir_vec__fini(&p->processes);
	free(p);
}
