// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads a file of a traced process: its names and build ID, and which of its probes were requested.
 */
#include "record/images/images_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "base/str.h"
#include "record/images/site_layout.h"
#include "elf/function.h"
#include "elf/go_table.h"
#include "elf/image.h"
#include "elf/notes.h"
#include "elf/returns.h"
#include "decode/note_select.h"
#include "spec/runtime_db/lore.h"
#include "runtime/started_with.h"
#include "tapir/coreclr.h"
#include "tapir/otel_context.h"
#include "tapir/ring.h"
#include "attach/unwind/cfi.h"

#define RETURN_BYTES 8 /* of the stack, which a return pops */

/* The first SPEC that matches decides what is captured. */
static const struct tapir_spec *matching_spec(const struct tapir_images *images,
					      const struct tapir_image *image,
					      const struct tapir_usdt_note *note)
{
	const struct tapir_spec *first = NULL;

	for (size_t i = 0; i < images->opts.specs->cnt; i++) {
		const struct tapir_spec *spec = images->opts.specs->data[i];

		if (!tapir_usdt_note__is_selected(note, spec, image->path))
			continue;
		images->spec_matched[i] = true;
		first = first ? first : spec;
	}
	return first;
}

static void keep_condition(struct tapir_images *images, const struct tapir_image *image,
			   const struct tapir_usdt_note *note)
{
	const struct tapir_lore_condition *condition =
		tapir_lore__condition(note->provider, note->name);
	struct tapir_image_condition *c = images->conditions;
	const struct tapir_image_condition *end = c + TAPIR_IMAGE_CONDITIONS;

	while (c < end && c->condition && (c->condition != condition || c->image != image))
		c++;
	if (!condition || c == end || c->condition)
		return;
	*c = (struct tapir_image_condition){.condition = condition, .image = image};
	snprintf(c->event, sizeof(c->event), "%s", note->name);
}

/* Once for each condition, in whichever file. */
static bool is_reported(const struct tapir_images *images,
			const struct tapir_lore_condition *condition)
{
	for (size_t i = 0; i < TAPIR_IMAGE_CONDITIONS; i++)
		if (images->conditions[i].condition == condition &&
		    images->conditions[i].is_reported)
			return true;
	return false;
}

void tapir_image__report_conditions(struct tapir_images *images, const struct tapir_image *image,
				    uint32_t tgid)
{
	struct tapir_image_condition *c = images->conditions;
	const struct tapir_image_condition *end = c + TAPIR_IMAGE_CONDITIONS;

	for (; c < end && c->condition; c++) {
		if (c->image != image || is_reported(images, c->condition) ||
		    tapir_started_with(tgid, c->condition))
			continue;
		c->is_reported = true;
		tapir_info("%s:%s fires only %s", c->condition->provider, c->event,
			   c->condition->needs);
	}
}

static int announce_site(struct tapir_images *images, const struct tapir_image *image,
			 const struct tapir_usdt_note *note, const struct tapir_site_layout *plan,
			 bool for_names)
{
	struct tapir_rec_probe fixed = {
		.probe_id = plan->site.probe_id,
		.event_id = note->event_id,
		.version = note->version,
		.level = note->level,
		.keywords = note->keywords,
		.site_off = note->site_off,
		.semaphore_off = note->semaphore_off,
		.encoding = TAPIR_ENCODING_SLOTS,
		.lane = TAPIR_LANE_PROBE,
		.flags = (for_names ? TAPIR_PROBE_FOR_NAMES : 0) |
			 (plan->site.flags & TAPIR_SITE_TELLS_TAKEN ? TAPIR_PROBE_TELLS_TAKEN : 0),
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
	struct tapir_cfi *cfi; /* NULL: not requested, or the file has none */
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
	struct tapir_site_layout plan;
	uint64_t site_va;
	int err = tapir_site_layout__make(note, spec, images->opts.with_stack && !for_names, &plan);

	if (err)
		return err;
	load_cfi(r);
	/*
	 * The table of the file says where the caller is at this very address. By frame pointers it
	 * would be missing where the function keeps none.
	 */
	if (r->cfi && tapir_elf__off_to_va(r->elf, note->site_off, &site_va) &&
	    tapir_cfi__row_at(r->cfi, site_va, &row))
		tapir_site_layout__set_caller(&plan, &row);
	if (images->next_probe_id > tapir_programs__site_cap(images->opts.programs))
		return tapir_diag__fail(-E2BIG,
					"more than %u probe sites match: select fewer events",
					tapir_programs__site_cap(images->opts.programs));
	plan.site.probe_id = images->next_probe_id;
	/*
	 * The kernel has the site, and the file its description, before any link: a hit finds both.
	 */
	err = tapir_programs__set_site(images->opts.programs, plan.site.probe_id, &plan.site);
	if (!err)
		err = announce_site(images, image, note, &plan, for_names);
	if (err)
		return err;
	image->site_offs[image->site_cnt] = note->site_off;
	image->semaphore_offs[image->site_cnt] = note->semaphore_off;
	image->cookies[image->site_cnt] = plan.site.probe_id;
	if (!for_names) {
		uint64_t key = tapir_lane_coverage__key(tapir_sv__of(note->provider),
							tapir_sv__of(note->name));

		image->cover_keys[image->site_cnt] = key;
		tapir_image__note_event(images, image, key);
		keep_condition(images, image, note);
	}
	image->tells_taken |= (plan.site.flags & TAPIR_SITE_TELLS_TAKEN) != 0;
	image->site_cnt++;
	images->next_probe_id++;
	images->for_names_cnt += for_names;
	return 0;
}

static int make_sites_room(struct tapir_image *image, size_t cnt)
{
	image->site_offs = calloc(cnt, sizeof(uint64_t));
	image->semaphore_offs = calloc(cnt, sizeof(uint64_t));
	image->cookies = calloc(cnt, sizeof(uint64_t));
	image->cover_keys = calloc(cnt, sizeof(uint64_t));
	image->returns = calloc(cnt, sizeof(bool));
	return image->site_offs && image->semaphore_offs && image->cookies && image->cover_keys &&
			       image->returns
		       ? 0
		       : -ENOMEM;
}

static bool is_in_ring_specs(const struct reading *r, const struct tapir_usdt_note *note)
{
	const struct tapir_spec_list *specs = r->images->opts.ring_specs;

	for (size_t i = 0; specs && note->has_about && i < specs->cnt; i++)
		if (tapir_usdt_note__is_selected(note, specs->data[i], r->image->path))
			return true;
	return false;
}

/* An event of libtapir's, which the process's ring alone can have. */
static int add_ring_key(struct reading *r, const struct tapir_usdt_note *note)
{
	uint64_t key =
		tapir_lane_coverage__key(tapir_sv__of(note->provider), tapir_sv__of(note->name));

	if (!r->image->ring_provider)
		r->image->ring_provider = strdup(note->provider);
	return r->image->ring_provider && tapir_vec__push(&r->image->ring_keys, key) ? 0 : -ENOMEM;
}

static int add_sites(struct reading *r, const struct tapir_usdt_notes *notes, size_t from)
{
	struct tapir_image *image = r->image;
	const struct tapir_spec *name_spec = r->images->opts.name_spec;

	for (size_t i = from; i < notes->cnt; i++) {
		const struct tapir_usdt_note *note = &notes->data[i];
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
		if (!err && is_in_ring_specs(r, note))
			err = add_ring_key(r, note);
		if (err)
			return err;
	}
	return 0;
}

/* ---- functions ---------------------------------------------------------------------------- */

/*
 * Code that looks for return addresses on its own stack, to collect garbage, to unwind or to grow
 * it, would find the kernel's there: a program that does so ends.
 */
static const char *why_no_returns(const struct reading *r)
{
	static const struct {
		const char *start, *description;
	} names[] = {{"libcoreclr", ".NET's runtime"},
		     {"libclr", ".NET's runtime"},
		     {"libjvm", "a JVM"},
		     {"libnode", "V8"},
		     {"node", "V8"},
		     {"libv8", "V8"},
		     {"libmonosgen", "Mono"}};
	const char *slash = strrchr(r->image->path, '/');
	const char *name = slash ? slash + 1 : r->image->path;

	if (tapir_go_table__is_in(r->elf))
		return "Go";
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(name, names[i].start, strlen(names[i].start)))
			return names[i].description;
	return NULL;
}

static struct tapir_operand operand_of(uint8_t reg, bool is_signed)
{
	return (struct tapir_operand){.kind = TAPIR_OPERAND_REG,
				      .reg = reg,
				      .index_reg = TAPIR_REG_NONE,
				      .size = sizeof(uint64_t),
				      .is_signed = is_signed};
}

/* Sets arguments by the calling convention, whether the function takes that many or not. */
static void fill_function(struct tapir_usdt_note *note, bool is_return)
{
	static const uint8_t regs[] = {TAPIR_REG_DI, TAPIR_REG_SI, TAPIR_REG_DX,
				       TAPIR_REG_CX, TAPIR_REG_R8, TAPIR_REG_R9};

	note->arg_cnt = is_return ? 1 : sizeof(regs);
	for (unsigned i = 0; i < note->arg_cnt; i++)
		note->args[i] = operand_of(is_return ? TAPIR_REG_AX : regs[i], is_return);
	note->arg_names[0] = is_return ? "ret" : NULL;
}

/*
 * Adds the place of the call's return address on the stack, by which begin and return find each
 * other: also after calls that an exception or longjmp(3) has ended. popped: bytes by which the
 * stack pointer is above it already.
 */
static void add_frame(struct tapir_usdt_note *note, int popped)
{
	unsigned i = note->arg_cnt++;

	note->args[i] = operand_of(TAPIR_REG_SP, false);
	note->args[i].value = -popped;
	note->arg_names[i] = TAPIR_UFUNC_FRAME;
}

/* like: those that differ in their parameters; "": none. */
static int fail_function(const struct reading *r, const struct tapir_machine_source *source,
			 const char *like, int err)
{
	if (err == -ENOENT)
		return tapir_diag__fail(err, "%s: %s has no function of that name%s%s",
					source->text, r->image->path, *like ? ": it has " : "",
					like);
	if (err == -EEXIST)
		return tapir_diag__fail(err, "%s: %s has several functions of that name%s%s",
					source->text, r->image->path, *like ? ": " : "", like);
	return tapir_diag__fail(err,
				"%s: which code that is in %s is chosen when a program starts "
				"(IFUNC): it cannot be probed by that name",
				source->text, r->image->path);
}

static int add_event_site(struct reading *r, const struct tapir_usdt_note *note, bool is_return)
{
	static const struct tapir_spec no_args = {.level = -1};

	r->image->returns[r->image->site_cnt] = is_return;
	r->image->has_returns |= is_return;
	return add_site(r, note, &no_args, false);
}

/*
 * A uretprobe puts an address of the kernel's in place of the return address. Runtimes that
 * read their own stacks (Go, for one) end when they find it.
 */
static int fail_return(const struct reading *r, const struct tapir_machine_source *source,
		       const char *why)
{
	return tapir_diag__fail(-EOPNOTSUPP,
				"%s: %s, to which %s belongs, reads return addresses on its "
				"stack, which uretprobe replaces: only uprobe is possible",
				source->text, why, r->image->path);
}

/* Each instruction by which it returns: the return address stays as it is. */
static int add_return_instructions(struct reading *r, const struct tapir_machine_source *source,
				   struct tapir_usdt_note *note, const char *reader)
{
	struct tapir_returns returns;
	const char *why = tapir_returns__find(r->elf, note->site_off, &returns);
	int err = 0;

	if (why)
		return tapir_diag__fail(
			-EOPNOTSUPP,
			"%s: %s, to which %s belongs, reads return addresses on its stack, and "
			"the function %s: only uprobe is possible",
			source->text, reader, r->image->path, why);
	add_frame(note, 0);
	for (unsigned i = 0; !err && i < returns.cnt; i++) {
		note->site_off = returns.offs[i];
		err = add_event_site(r, note, false);
	}
	return err;
}

/* Both ends of a call. */
static int add_call_sites(struct reading *r, const struct tapir_machine_source *source,
			  struct tapir_usdt_note *note, const char *reader)
{
	struct tapir_str name = {};
	int err;

	fill_function(note, false);
	add_frame(note, 0);
	err = add_event_site(r, note, false);
	if (err)
		return err;
	tapir_str__addf(&name, "%s%s", source->names, TAPIR_UFUNC_RETURN);
	if (!name.data)
		return -ENOMEM;
	note->name = name.data;
	memset(note->arg_names, 0, sizeof(note->arg_names));
	fill_function(note, true);
	if (!reader && tapir_returns__may_throw(r->elf))
		reader = "code with exceptions";
	if (reader) {
		err = add_return_instructions(r, source, note, reader);
	} else {
		add_frame(note, RETURN_BYTES);
		err = add_event_site(r, note, true);
	}
	tapir_str__fini(&name);
	return err;
}

static int add_function_site(struct reading *r, const struct tapir_machine_source *source)
{
	bool is_return = source->kind == TAPIR_MACHINE_URETPROBE;
	const char *reader = why_no_returns(r);
	struct tapir_usdt_note note = {.name = source->names};
	char provider[TAPIR_FUNCTION_PROVIDER_BYTES];
	struct tapir_str like = {};
	int err = tapir_elf_function__find(r->elf, source->names, &note.site_off, &like);

	if (err)
		err = fail_function(r, source, like.data ? like.data : "", err);
	tapir_str__fini(&like);
	if (err)
		return err;
	if (is_return && reader)
		return fail_return(r, source, reader);
	tapir_machine_source__provider(source, provider, sizeof(provider));
	note.provider = provider;
	if (source->kind == TAPIR_MACHINE_UFUNC)
		return add_call_sites(r, source, &note, reader);
	fill_function(&note, is_return);
	return add_event_site(r, &note, is_return);
}

static bool is_in_file(const struct tapir_images *images, size_t idx, const char *path)
{
	return tapir_machine_source__is_of_file(images->opts.functions->data[idx], path);
}

static size_t count_functions(const struct tapir_images *images, const char *path)
{
	size_t cnt = 0;

	for (size_t i = 0; images->opts.functions && i < images->opts.functions->cnt; i++)
		if (is_in_file(images, i, path))
			cnt += images->opts.functions->data[i]->kind == TAPIR_MACHINE_UFUNC
				       ? 1 + TAPIR_MAX_RETURNS
				       : 1;
	return cnt;
}

static int add_function_sites(struct reading *r)
{
	struct tapir_images *images = r->images;
	int err = 0;

	for (size_t i = 0; !err && images->opts.functions && i < images->opts.functions->cnt; i++) {
		if (!is_in_file(images, i, r->image->path))
			continue;
		err = add_function_site(r, images->opts.functions->data[i]);
		if (images->functions_seen[i] != TAPIR_FUNCTION_FOUND)
			images->functions_seen[i] =
				err ? TAPIR_FUNCTION_NOT_ADDED : TAPIR_FUNCTION_FOUND;
	}
	return err;
}

/*
 * Returns true for tapir's library in a process: its sites are for other tools, its events arrive
 * by rings.
 */
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

/* The name of a file, without a search for its probes. */
void tapir_image__name(struct tapir_image *image, int fd)
{
	int mark = tapir_diag__cnt();
	struct tapir_elf *elf;

	if (!tapir_elf__open_fd(fd, &elf)) {
		fill_names(image, elf);
		tapir_elf__free(elf);
	}
	tapir_diag__rewind(mark);
}

static int read_sites(struct reading *r, size_t from_note)
{
	struct tapir_images *images = r->images;
	struct tapir_image *image = r->image;
	struct tapir_usdt_notes notes = {};
	bool has_notes = tapir_usdt_notes__read(r->elf, &notes) >= 0;
	int err;

	image->note_cnt = has_notes ? notes.cnt : 0;
	err = make_sites_room(image, image->note_cnt + count_functions(images, image->path));
	if (!err && has_notes)
		err = add_sites(r, &notes, from_note);
	if (!err && !from_note)
		err = add_function_sites(r);
	if (!err && !from_note && images->opts.with_native)
		tapir_image__find_native(image, r->elf);
	tapir_cfi__free(r->cfi);
	if (has_notes)
		tapir_usdt_notes__fini(&notes);
	return err;
}

/* A traced file may be anything: what is no readable ELF has no probes, and that is all. */
int tapir_image__read(struct tapir_images *images, struct tapir_image *image, int fd,
		      size_t from_note)
{
	struct reading r = {.images = images, .image = image};
	struct tapir_elf *elf;
	int diag_cnt = tapir_diag__cnt(), err = 0;

	if (is_published(image->path) && !images->opts.with_published) {
		tapir_image__name(image, fd);
		return 0;
	}
	err = tapir_elf__open_fd(fd, &elf);
	/*
	 * These are failures of the file system, and may pass: the file is tried again when another
	 * process maps it.
	 */
	image->is_unread = err == -ETIMEDOUT || err == -EFBIG || err == -EIO || err == -ECANCELED;
	if (err == -ENOEXEC || image->is_unread)
		tapir_diag__rewind(diag_cnt);
	if (err)
		return err == -ENOEXEC || image->is_unread ? 0 : err;
	fill_names(image, elf);
	r.elf = elf;
	image->trace_symbol = tapir_tls_symbol__find(elf, TAPIR_OTEL_THREAD_SYMBOL);
	err = read_sites(&r, from_note);
	if (!err)
		tapir_diag__rewind(diag_cnt);
	tapir_elf__free(elf);
	if (err || !tapir_image__has_probes(image))
		return err;
	/* Links are made by this descriptor: the path may name another file by then. */
	image->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return image->fd >= 0
		       ? 0
		       : tapir_diag__fail(
				 -errno, "cannot keep %s open for its probes: %s (raise ulimit -n)",
				 image->path, tapir_errno__text(errno));
}
