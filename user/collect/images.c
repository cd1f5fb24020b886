// SPDX-License-Identifier: GPL-2.0-or-later
/* A table of files, and the probes in them. */
#include "collect/images.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/links.h"
#include "attach/undisturbed.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "collect/plan.h"
#include "elf/image.h"
#include "elf/notes.h"
#include "foreign/foreign_file.h"
#include "tapir/coreclr.h"
#include "tapir/ring.h"
#include "trace/recbuf.h"
#include "unwind/cfi.h"

#define IMAGE_MAX 65536 /* files; a process may make and map them as fast as it likes */

struct tapir_images {
	struct tapir_images_opts opts;
	struct tapir_vec(struct tapir_image *) all;
	struct tapir_map by_file;     /* see file_key -> index in all + 1 */
	struct tapir_map by_inode;    /* device and inode -> index in all + 1 of the latest */
	struct tapir_map by_build_id; /* a hash of it -> index in all + 1 */
	struct tapir_recbuf recbuf;
	uint32_t next_probe_id;
	size_t for_names_cnt; /* sites nobody asked for */
	size_t attached_cnt;
	struct tapir_seen_names seen;
	bool *spec_matched;	 /* for each of opts.specs */
	struct tapir_image none; /* stands for every file beyond IMAGE_MAX */
	bool is_full;
};

int tapir_images__new(const struct tapir_images_opts *opts, struct tapir_images **out)
{
	struct tapir_images *images = calloc(1, sizeof(*images));

	if (!images)
		return -ENOMEM;
	images->opts = *opts;
	images->none.fd = -1;
	images->next_probe_id = 1; /* 0 means none */
	images->spec_matched = calloc(opts->specs->cnt + 1, sizeof(bool));
	if (!images->spec_matched) {
		free(images);
		return -ENOMEM;
	}
	*out = images;
	return 0;
}

static void drop_links(struct tapir_image *image, size_t keep_cnt)
{
	if (image->link_fds.cnt <= keep_cnt)
		return;
	tapir_undisturbed__close(image->link_fds.data + keep_cnt, image->link_fds.cnt - keep_cnt);
	image->link_fds.cnt = keep_cnt;
}

static void free_image(struct tapir_image *image)
{
	drop_links(image, 0);
	tapir_vec__fini(&image->link_fds);
	tapir_vec__fini(&image->on_tgids);
	if (image->fd >= 0)
		close(image->fd);
	free(image->path);
	free(image->site_offs);
	free(image->semaphore_offs);
	free(image->cookies);
	free(image->cover_keys);
	free(image);
}

/* Without uprobe_multi a link is a site, and each takes its time; else all go in one. */
static void detach(struct tapir_images *images, struct tapir_image *image,
		   tapir_detach_fn on_progress, void *ctx)
{
	while (image->link_fds.cnt) {
		size_t keep_cnt = images->opts.use_multi ? 0 : image->link_fds.cnt - 1;

		drop_links(image, keep_cnt);
		images->attached_cnt -= images->opts.use_multi ? image->counted_cnt : 1;
		image->counted_cnt -= images->opts.use_multi ? image->counted_cnt : 1;
		if (on_progress)
			on_progress(ctx, images->attached_cnt);
	}
}

void tapir_images__free(struct tapir_images *images, tapir_detach_fn on_progress, void *ctx)
{
	if (!images)
		return;
	for (size_t i = 0; i < images->all.cnt; i++) {
		detach(images, images->all.data[i], on_progress, ctx);
		free_image(images->all.data[i]);
	}
	tapir_seen_names__fini(&images->seen);
	free(images->spec_matched);
	tapir_vec__fini(&images->all);
	tapir_map__fini(&images->by_file);
	tapir_map__fini(&images->by_inode);
	tapir_map__fini(&images->by_build_id);
	tapir_recbuf__fini(&images->recbuf);
	free(images);
}

/* ---- sites of a file -------------------------------------------------------------------- */

/* The first SPEC that matches says what is captured. */
static const struct tapir_spec *matching_spec(const struct tapir_images *images,
					      const struct tapir_image *image,
					      const struct tapir_usdt_note *note)
{
	const struct tapir_spec *first = NULL;

	for (size_t i = 0; i < images->opts.specs->cnt; i++) {
		const struct tapir_spec *spec = images->opts.specs->data[i];

		if (!tapir_spec__matches(spec, image->path, note->provider, note->name))
			continue;
		images->spec_matched[i] = true;
		first = first ? first : spec;
	}
	return first;
}

static int announce(struct tapir_images *images, const struct tapir_image *image,
		    const struct tapir_usdt_note *note, const struct tapir_plan *plan,
		    bool for_names)
{
	struct tapir_rec_probe fixed = {
		.probe_id = plan->site.probe_id,
		.site_off = note->site_off,
		.semaphore_off = note->semaphore_off,
		.encoding = TAPIR_ENCODING_SLOTS,
		.lane = TAPIR_LANE_PROBE,
		.flags = for_names ? TAPIR_PROBE_FOR_NAMES : 0,
	};
	const struct tapir_rec *rec;

	tapir_rec__init(&fixed.h, TAPIR_REC_PROBE, sizeof(fixed), tapir_clock__now_ns());
	rec = tapir_recbuf__probe(
		&images->recbuf, &fixed, tapir_sv__of(note->provider), tapir_sv__of(note->name),
		tapir_sv__of(image->path),
		(struct tapir_sv){(const char *)image->build_id, image->build_id_bytes},
		plan->fields, plan->names, note->arg_cnt);
	return rec ? tapir_queue__post(images->opts.queue, rec, -1) : -ENOMEM;
}

/* A file whose probes are being planned. */
struct reading {
	struct tapir_images *images;
	struct tapir_image *image;
	struct tapir_elf *elf;
	struct tapir_cfi *cfi; /* NULL: not asked for, or the file has none */
};

static void load_cfi(struct reading *r)
{
	if (r->images->opts.with_stack && !r->cfi && !r->image->site_cnt)
		(void)tapir_cfi__load(r->elf, &r->cfi); /* without it, stacks miss a caller */
}

static int add_site(struct reading *r, const struct tapir_usdt_note *note,
		    const struct tapir_spec *spec, bool for_names)
{
	struct tapir_images *images = r->images;
	struct tapir_image *image = r->image;
	struct tapir_cfi_row row;
	struct tapir_plan plan;
	uint64_t site_va;
	int err = tapir_plan__make(note, spec, images->opts.with_stack && !for_names, &plan);

	if (err)
		return err;
	load_cfi(r);
	if (r->cfi && tapir_elf__off_to_va(r->elf, note->site_off, &site_va) &&
	    tapir_cfi__row_at(r->cfi, site_va, &row))
		tapir_plan__set_caller(&plan, &row);
	if (images->next_probe_id > tapir_programs__site_cap(images->opts.programs))
		return tapir_diag__fail(-E2BIG,
					"more than %u probe sites match: select fewer events",
					tapir_programs__site_cap(images->opts.programs));
	plan.site.probe_id = images->next_probe_id;
	err = tapir_programs__set_site(images->opts.programs, plan.site.probe_id, &plan.site);
	if (!err)
		err = announce(images, image, note, &plan, for_names);
	if (err)
		return err;
	image->site_offs[image->site_cnt] = note->site_off;
	image->semaphore_offs[image->site_cnt] = note->semaphore_off;
	image->cookies[image->site_cnt] = plan.site.probe_id;
	if (!for_names)
		image->cover_keys[image->site_cnt] = tapir_lane_cover__key(
			tapir_sv__of(note->provider), tapir_sv__of(note->name));
	image->site_cnt++;
	images->next_probe_id++;
	images->for_names_cnt += for_names;
	return 0;
}

static int add_sites(struct reading *r, const struct tapir_usdt_notes *notes)
{
	struct tapir_image *image = r->image;
	const struct tapir_spec *name_spec = r->images->opts.name_spec;
	const struct tapir_usdt_note *note;

	image->site_offs = calloc(notes->cnt, sizeof(uint64_t));
	image->semaphore_offs = calloc(notes->cnt, sizeof(uint64_t));
	image->cookies = calloc(notes->cnt, sizeof(uint64_t));
	image->cover_keys = calloc(notes->cnt, sizeof(uint64_t));
	if (!image->site_offs || !image->semaphore_offs || !image->cookies || !image->cover_keys)
		return -ENOMEM;
	tapir_vec_for_each (note, notes) {
		const struct tapir_spec *spec = matching_spec(r->images, image, note);
		bool for_names = !spec;
		int err = 0;

		tapir_seen_names__add(&r->images->seen, tapir_sv__of(note->provider),
				      tapir_sv__of(note->name));
		if (for_names && name_spec &&
		    tapir_spec__matches(name_spec, NULL, note->provider, note->name))
			spec = name_spec;
		if (spec)
			err = add_site(r, note, spec, for_names);
		if (err)
			return err;
	}
	return 0;
}

/* Of a library of ours in a process: its sites are for other tools, its events come by rings. */
static bool is_published(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (!strncmp(name, "memfd:", strlen("memfd:")))
		name += strlen("memfd:");
	return !strncmp(name, TAPIR_RING_PROBES_NAME, strlen(TAPIR_RING_PROBES_NAME)) ||
	       !strncmp(name, TAPIR_CORECLR_FILE_NAME, strlen(TAPIR_CORECLR_FILE_NAME));
}

#define VADDR_PAGE 4096

static int32_t vaddr_pages(const struct tapir_elf *elf)
{
	const Elf64_Phdr *ph = tapir_elf__first_executable(elf);
	int64_t bias = ph ? (int64_t)(ph->p_vaddr - ph->p_offset) : 0;

	if (bias % VADDR_PAGE || bias / VADDR_PAGE != (int32_t)(bias / VADDR_PAGE))
		return 0;
	return (int32_t)(bias / VADDR_PAGE);
}

static void fill_names(struct tapir_image *image, const struct tapir_elf *elf)
{
	size_t bytes = 0;
	const uint8_t *build_id = tapir_elf__build_id(elf, &bytes);

	image->file_id = tapir_elf__file_id(elf);
	image->vaddr_pages = vaddr_pages(elf);
	if (build_id && bytes <= sizeof(image->build_id)) {
		memcpy(image->build_id, build_id, bytes);
		image->build_id_bytes = (uint8_t)bytes;
	}
}

/* What a file is called, without looking for its probes. */
static void name_content(struct tapir_image *image, int fd)
{
	int mark = tapir_diag__cnt();
	struct tapir_elf *elf;

	if (!tapir_elf__open_fd(fd, &elf)) {
		fill_names(image, elf);
		tapir_elf__free(elf);
	}
	tapir_diag__rewind(mark);
}

/* A traced file may be anything: what is no readable ELF has no probes, and that is all. */
static int read_image(struct tapir_images *images, struct tapir_image *image, int fd)
{
	struct tapir_usdt_notes notes = {};
	struct tapir_elf *elf;
	int diag_cnt = tapir_diag__cnt(), err = 0;

	if (is_published(image->path) && !images->opts.with_published)
		return 0;
	err = tapir_elf__open_fd(fd, &elf);
	image->is_unread = err == -ETIMEDOUT || err == -EFBIG || err == -EIO || err == -ECANCELED;
	if (err == -ENOEXEC || image->is_unread)
		tapir_diag__rewind(diag_cnt);
	if (err)
		return err == -ENOEXEC || image->is_unread ? 0 : err;
	fill_names(image, elf);
	if (tapir_usdt_notes__read(elf, &notes) >= 0) {
		struct reading r = {.images = images, .image = image, .elf = elf};

		err = add_sites(&r, &notes);
		tapir_cfi__free(r.cfi);
		tapir_usdt_notes__fini(&notes);
	}
	if (!err)
		tapir_diag__rewind(diag_cnt);
	tapir_elf__free(elf);
	if (err || !image->site_cnt)
		return err;
	image->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return image->fd >= 0
		       ? 0
		       : tapir_diag__fail(
				 -errno, "cannot keep %s open for its probes: %s (raise ulimit -n)",
				 image->path, tapir_errno__text(errno));
}

/*
 * The same file, overwritten: what the probes of its old content stand on is something else now,
 * and the kernel puts them there in whoever maps it.
 */
static void give_up_old_content(struct tapir_images *images, struct tapir_image *old)
{
	if (!old->link_fds.cnt)
		return;
	tapir_debug("%s was overwritten: its old probes are detached", old->path);
	images->attached_cnt -= old->counted_cnt;
	old->counted_cnt = 0;
	drop_links(old, 0);
	old->is_on_everywhere = false;
	old->on_tgids.cnt = 0;
	old->on_ns = 0;
}

/* Other names, links or rights change a file's key and nothing in it. */
static bool is_same_content(const struct tapir_image *image, const struct tapir_image *old)
{
	return image->size == old->size && image->file_id == old->file_id && image->build_id_bytes;
}

static struct tapir_image *new_image(struct tapir_images *images, const struct stat *st,
				     const char *path)
{
	struct tapir_image *image = calloc(1, sizeof(*image));

	if (!image)
		return NULL;
	image->dev = st->st_dev;
	image->inode = st->st_ino;
	image->size = (uint64_t)st->st_size;
	image->fd = -1;
	image->path = strdup(path);
	if (image->path && tapir_vec__push(&images->all, image))
		return image;
	free(image->path);
	free(image);
	return NULL;
}

/* One that was there under another key if nothing in it has changed. */
static struct tapir_image *find_same(struct tapir_images *images, int fd, const struct stat *st,
				     uint64_t *latest)
{
	struct tapir_image *old = *latest ? images->all.data[*latest - 1] : NULL;
	struct tapir_image probe = {.size = (uint64_t)st->st_size};

	if (!old)
		return NULL;
	name_content(&probe, fd);
	if (is_same_content(&probe, old))
		return old;
	give_up_old_content(images, old);
	return NULL;
}

/* The place of a new key is filled. *out stays NULL: nothing stood for the file yet. */
static int find_or_add(struct tapir_images *images, int fd, const struct stat *st, const char *path,
		       uint64_t *idx, struct tapir_image **added)
{
	uint64_t *latest =
		tapir_map__put(&images->by_inode,
			       tapir_hash__mix(tapir_hash__mix(1, st->st_dev), st->st_ino), NULL);

	if (!latest)
		return -ENOMEM;
	if (find_same(images, fd, st, latest)) {
		*idx = *latest;
		return 0;
	}
	*added = new_image(images, st, path);
	if (!*added)
		return -ENOMEM;
	*latest = *idx = images->all.cnt;
	return 0;
}

static int no_room(struct tapir_images *images, struct tapir_image **out)
{
	if (!images->is_full)
		tapir_warn("%u files were mapped: probes in later ones are not found", IMAGE_MAX);
	images->is_full = true;
	*out = &images->none;
	return 0;
}

static void index_build_id(struct tapir_images *images, const struct tapir_image *image,
			   uint64_t nth)
{
	uint64_t *idx;

	if (!image->build_id_bytes)
		return;
	idx = tapir_map__put(&images->by_build_id,
			     tapir_hash__bytes(0, image->build_id, image->build_id_bytes), NULL);
	if (idx)
		*idx = nth;
}

int tapir_images__look(struct tapir_images *images, int fd, const char *path,
		       struct tapir_image **out)
{
	struct tapir_image *added = NULL;
	struct stat st;
	uint64_t key, *idx;
	int err = tapir_foreign__stat(fd, &st);

	if (err)
		return err;
	key = tapir_file__key_of_fd(fd, &st);
	idx = tapir_map__get(&images->by_file, key);
	if (!idx && images->all.cnt == IMAGE_MAX)
		return no_room(images, out);
	if (!idx)
		idx = tapir_map__put(&images->by_file, key, NULL);
	if (!idx)
		return -ENOMEM;
	if (*idx && images->all.data[*idx - 1]->is_unread)
		added = images->all.data[*idx - 1]; /* it may be readable by now */
	err = *idx ? 0 : find_or_add(images, fd, &st, path, idx, &added);
	if (!err && added)
		err = read_image(images, added, fd);
	if (err && added)
		added->site_cnt = 0; /* said once; whoever maps it next has a file without probes */
	if (err)
		return err;
	if (added)
		index_build_id(images, added, *idx);
	*out = images->all.data[*idx - 1];
	return 0;
}

const struct tapir_image *tapir_images__of_build_id(const struct tapir_images *images,
						    const uint8_t *build_id, size_t bytes)
{
	const uint64_t *idx =
		bytes ? tapir_map__get(&images->by_build_id, tapir_hash__bytes(0, build_id, bytes))
		      : NULL;
	const struct tapir_image *image = idx && *idx ? images->all.data[*idx - 1] : NULL;

	return image && !image->site_cnt && image->build_id_bytes == bytes &&
			       !memcmp(image->build_id, build_id, bytes)
		       ? image
		       : NULL;
}

/* ---- putting probes on ------------------------------------------------------------------ */

static int keep_link(struct tapir_image *image, int fd)
{
	if (tapir_vec__push(&image->link_fds, fd))
		return 0;
	close(fd);
	return -ENOMEM;
}

static int put_on_by_perf(struct tapir_images *images, struct tapir_image *image,
			  const struct tapir_link_sites *sites, size_t idx, uint32_t tgid)
{
	int fd = tapir_programs__usdt_fd(images->opts.programs);

	if (fd >= 0)
		fd = tapir_link__perf(fd, sites, idx, tgid);
	return fd < 0 ? fd : keep_link(image, fd);
}

static int attach_by_perf(struct tapir_images *images, struct tapir_image *image,
			  const struct tapir_link_sites *sites, uint32_t tgid)
{
	size_t had_cnt = image->link_fds.cnt;
	int err = 0;

	if (images->opts.perf_limit && images->attached_cnt + sites->cnt > images->opts.perf_limit)
		return tapir_diag__fail(
			-E2BIG,
			"%zu probes match, and this kernel (no uprobe_multi, Linux 6.6) takes 0.1 s per probe to detach: select at most %u, or use --force",
			sites->cnt, images->opts.perf_limit);
	for (size_t i = 0; i < sites->cnt && !err; i++)
		err = put_on_by_perf(images, image, sites, i, tgid);
	if (err)
		drop_links(image, had_cnt); /* or the next attempt puts the first ones on twice */
	return err;
}

static bool is_on(const struct tapir_image *image, uint32_t tgid)
{
	const uint32_t *on;

	if (image->is_on_everywhere)
		return true;
	tapir_vec_for_each (on, &image->on_tgids)
		if (*on == tgid)
			return true;
	return false;
}

static bool is_covered(const struct tapir_images *images, const struct tapir_image *image,
		       size_t idx, uint32_t tgid)
{
	return tgid && image->cover_keys[idx] &&
	       tapir_lane_cover__has(images->opts.cover, tgid, image->cover_keys[idx],
				     TAPIR_LANE_COVER_NOW);
}

/* All sites but those that a process's ring makes needless; *offs: the three arrays, to free. */
static int choose_sites(const struct tapir_images *images, const struct tapir_image *image,
			uint32_t tgid, struct tapir_link_sites *out, uint64_t **offs)
{
	size_t cnt = 0, all = image->site_cnt;
	uint64_t *a = calloc(3 * all, sizeof(*a));

	if (!a)
		return -ENOMEM;
	for (size_t i = 0; i < all; i++) {
		if (is_covered(images, image, i, tgid))
			continue;
		a[cnt] = image->site_offs[i];
		a[all + cnt] = image->semaphore_offs[i];
		a[2 * all + cnt++] = image->cookies[i];
	}
	*out = (struct tapir_link_sites){
		.file_fd = image->fd,
		.cnt = cnt,
		.offs = a,
		.semaphore_offs = a + all,
		.cookies = a + 2 * all,
	};
	*offs = a;
	return 0;
}

static int put_on(struct tapir_images *images, struct tapir_image *image,
		  const struct tapir_link_sites *sites, uint32_t tgid)
{
	int fd;

	if (!images->opts.use_multi)
		return attach_by_perf(images, image, sites, tgid);
	fd = tapir_programs__usdt_fd(images->opts.programs);
	if (fd >= 0)
		fd = tapir_link__multi(fd, sites, tgid);
	return fd < 0 ? fd : keep_link(image, fd);
}

int tapir_images__attach(struct tapir_images *images, struct tapir_image *image, uint32_t tgid)
{
	bool is_first = !image->is_on_everywhere && !image->on_tgids.cnt;
	struct tapir_link_sites sites;
	tapir_autofree uint64_t *offs = NULL;
	int err;

	if (!image->site_cnt || is_on(image, tgid))
		return 0;
	err = choose_sites(images, image, tgid, &sites, &offs);
	if (err || !sites.cnt)
		return err;
	err = put_on(images, image, &sites, tgid);
	if (err)
		return err;
	if (tgid && !tapir_vec__push(&image->on_tgids, tgid))
		return -ENOMEM;
	image->is_on_everywhere |= !tgid;
	image->on_ns = tapir_clock__now_ns();
	image->counted_cnt += is_first ? sites.cnt : 0;
	images->attached_cnt += is_first ? sites.cnt : 0;
	tapir_debug("%zu probes on: %s%s", sites.cnt, image->path,
		    tgid ? "" : " (in every process that maps it)");
	return 1;
}

size_t tapir_images__site_cnt(const struct tapir_images *images)
{
	return images->next_probe_id - 1 - images->for_names_cnt;
}

size_t tapir_images__attached_cnt(const struct tapir_images *images)
{
	return images->attached_cnt;
}

const struct tapir_seen_names *tapir_images__seen(const struct tapir_images *images)
{
	return &images->seen;
}

bool tapir_images__spec_matched(const struct tapir_images *images, size_t spec_idx)
{
	return images->spec_matched[spec_idx];
}
