/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * images.h - the files that traced processes execute: each is opened and read once, however many
 * processes map it; its build ID, which of its probes were requested, and where they are attached.
 *
 * An image of libtapir's (include/tapir/dynamic.h) gets more probes while it is mapped, which no
 * record of the kernel's announces: __grow reads such a file again.
 *
 * One thread. Probes that are on stay on until __free.
 */
#ifndef TAPIR_USER_IMAGES_H
#define TAPIR_USER_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/programs.h"
#include "base/map.h"
#include "spec/machine_source.h"
#include "spec/spec.h"
#include "base/vec.h"
#include "elf/tls_symbol.h"
#include "attach/flow/lane_coverage.h"
#include "attach/flow/queue.h"
#include "attach/flow/seen_names.h"

#define TAPIR_IMAGE_NATIVE_SITES 48u

/* The descriptors of links: closing one detaches what it attached. */
struct tapir_image_links {
	struct tapir_vec(int) fds;
};

struct tapir_image {
	uint64_t inode; /* two paths to one file, or two overlay mounts of it, are one image */
	uint64_t size;
	uint64_t file_id; /* see tapir_rec_mapping; 0: not an ELF file */
	uint8_t build_id[TAPIR_BUILD_ID_BYTES];
	uint8_t build_id_bytes;
	int32_t vaddr_pages;		      /* see tapir_rec_mapping */
	struct tapir_tls_symbol trace_symbol; /* where it publishes trace ids */
	int fd;				      /* kept open while it has sites; -1 */
	int unposted_fd;		      /* tapir_image__keep; -1 */
	char *path;
	size_t site_cnt;
	uint64_t *site_offs, *semaphore_offs, *cookies; /* site_cnt each, like */
	bool *returns;					/* the site is of a function that returns */
	bool has_returns;
	uint64_t *cover_keys; /* lane_coverage.h: of their names; 0: on in any case */
	size_t counted_cnt;   /* sites that count as attached */
	bool is_on_everywhere;
	bool tells_taken;     /* some site is of TAPIR_SITE_TELLS_TAKEN */
	bool is_unread;	      /* its file system does not answer, or it is too large: tried again */
	bool is_growing;      /* it may get more probes: __grow */
	size_t note_cnt;      /* probes that it had when it was read */
	uint64_t attached_ns; /* when its probes were last attached; 0: none are */
	bool stays_on;	      /* __hand_over leaves it alone */
	bool is_handed_over;  /* off: its events arrive by rings */
	/* Events of libtapir that were requested and that no probe has: lane_coverage.h. */
	struct tapir_vec(uint64_t) ring_keys;
	char *ring_provider; /* of the first of them */
	struct tapir_vec(uint32_t) attached_tgids;
	struct tapir_image_links links;
	/* The functions that allocate and free; cookies: enum tapir_native_function. */
	struct {
		size_t cnt;
		uint64_t offs[TAPIR_IMAGE_NATIVE_SITES], cookies[TAPIR_IMAGE_NATIVE_SITES];
		struct tapir_image_links links;
	} native;
};

struct tapir_images_opts {
	size_t sz;
	struct tapir_programs *programs;		   /* borrowed until __free, all of these */
	struct tapir_queue *queue;			   /* takes the PROBE records */
	const struct tapir_spec_list *specs;		   /* what was requested */
	const struct tapir_machine_source_list *functions; /* by symbol, among others; NULL: none */
	/* Rings alone have what these match: ring_keys; NULL: nothing. */
	const struct tapir_spec_list *ring_specs;
	/* Events that name generated code: attached without being requested; NULL: none. */
	const struct tapir_spec *name_spec;
	struct tapir_lane_coverage *cover; /* events that need no site; NULL: all do */
	uint32_t first_probe_id;	   /* of theirs; 0: 1 */
	bool with_stack;
	bool with_published; /* files of TAPIR_RING_WANTS_PROBES: their events otherwise arrive by
				rings */
	bool with_native;    /* functions that allocate are probed, too */
	bool use_sessions;   /* those, by links with which an entry asks for its return */
	bool use_multi;	     /* uprobe_multi links; else perf events */
	unsigned perf_limit; /* without uprobe_multi: sites at most, 0 any */
};

struct tapir_images;

/* left_cnt: probes that are still attached. */
typedef void (*tapir_detach_fn)(void *ctx, size_t left_cnt);

/*
 * Options are copied, what they point to is borrowed until __free. 0 or -ENOMEM; no file is read
 * yet.
 */
int tapir_images__new(const struct tapir_images_opts *opts, struct tapir_images **out);
/* Detaches the probes, which is slow without uprobe_multi. on_progress: may be NULL. */
void tapir_images__free(struct tapir_images *images, tapir_detach_fn on_progress, void *ctx);

/*
 * Returns in *image the image of the file fd (borrowed; path is for messages), read at the first
 * call for its file; borrowed until the next call. A file that is not ELF, or whose notes cannot be
 * read, gives an image without sites. Negative: out of memory, sites or an ARG that no site has.
 */
int tapir_images__inspect(struct tapir_images *images, int fd, const char *path,
			  struct tapir_image **image);

/*
 * A file that no process has mapped yet: it is kept open (a copy of fd) for the first mapping that
 * is posted, whose process may have ended by then. __take: the caller's from then on; -1: none.
 */
void tapir_image__keep(struct tapir_image *image, int fd);
int tapir_image__take(struct tapir_image *image);

/*
 * Attaches the image's probes, in one process or everywhere (tgid 0). 1: newly attached; 0: they
 * were attached, or all of them are events that arrive by the process's ring. is_late: mapped after
 * the process's lanes were scanned: it may have its own copy of libtapir, and its own lane.
 */
int tapir_images__attach(struct tapir_images *images, struct tapir_image *image, uint32_t tgid,
			 bool is_late);

/* Returns true if it has functions that are probed, once it is attached. */
static inline bool tapir_image__has_probes(const struct tapir_image *image)
{
	return image->site_cnt || image->native.cnt;
}

/* Returns true if functions that allocate were found and probed, of any image. */
bool tapir_images__has_native(const struct tapir_images *images);
/* Takes those probes away, and adds no more. */
void tapir_images__detach_native(struct tapir_images *images);

/* Returns true if its probes are attached in that process, or everywhere. */
bool tapir_image__is_on(const struct tapir_image *image, uint32_t tgid);

/*
 * Notes that a process maps the image, which may be growing, and have probes that do not fire
 * there.
 */
void tapir_image__mapped_in(struct tapir_images *images, const struct tapir_image *image,
			    uint32_t tgid);

/*
 * Images that are on everywhere, and whose events each process of live (by tgid) that maps the
 * image has in a ring. __may_hand_over returns true if there are some; __hand_over detaches their
 * probes and returns how many images there were. Both read mappings of these processes.
 */
bool tapir_images__may_hand_over(const struct tapir_images *images, const struct tapir_map *live);
size_t tapir_images__hand_over(struct tapir_images *images, const struct tapir_map *live);
/* Returns an image that was handed over and has an event that the process no longer has in a ring.
 */
const struct tapir_image *tapir_images__find_uncarried(const struct tapir_images *images,
						       uint32_t tgid);
/* Attaches again what was handed over; 0 or -errno with a line. */
int tapir_images__take_back(struct tapir_images *images);

/*
 * Probes of a growing image were attached, or could not be (err), in a process that maps it;
 * since_ns: they were not there then.
 */
typedef void (*tapir_grown_fn)(void *ctx, uint32_t tgid, const struct tapir_image *image,
			       uint64_t since_ns, int err);

/*
 * Searches for more probes in growing images, where that is due, and attaches them: by_pid in the
 * processes that map the image, else everywhere.
 */
void tapir_images__grow(struct tapir_images *images, bool by_pid, tapir_grown_fn fn, void *ctx);
/* Returns when to call it next; UINT64_MAX: no image is growing. */
uint64_t tapir_images__next_grow_ns(const struct tapir_images *images);

size_t tapir_images__site_cnt(const struct tapir_images *images);     /* that match a SPEC */
size_t tapir_images__attached_cnt(const struct tapir_images *images); /* of them, on somewhere */

/* Returns true if a probe of some file matched that SPEC, by its index in the list. */
bool tapir_images__spec_matched(const struct tapir_images *images, size_t spec_idx);

enum tapir_function_seen { TAPIR_FUNCTION_UNSEEN, TAPIR_FUNCTION_NOT_ADDED, TAPIR_FUNCTION_FOUND };

/*
 * Returns the first function that was requested and has no site, and whether its file was mapped;
 * NULL: there is none.
 */
const struct tapir_machine_source *tapir_images__missing_function(const struct tapir_images *images,
								  enum tapir_function_seen *seen);

/* Returns everything that was seen, matching or not, for near misses. Borrowed. */
const struct tapir_seen_names *tapir_images__seen(const struct tapir_images *images);

#endif
