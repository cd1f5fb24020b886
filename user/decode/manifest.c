// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The providers of a manifest, with their keywords and events. Elements refer to each other by name
 * and may come in any order, so a provider's parts are read in the order in which they need each
 * other: names first, then maps, templates and events.
 */
#include "decode/manifest.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/str.h"
#include "decode/manifest_impl.h"

#define next_of		tapir_manifest_xml__next
#define attr_of		tapir_manifest_xml__attr
#define fail_at		tapir_manifest_xml__fail
#define fail_attr	tapir_manifest_xml__fail_attr

#define ARENA_MAX_BYTES (64u << 20)
#define PROVIDER_MAX	256

struct tapir_manifest {
	struct tapir_arena arena;
	struct tapir_vec(struct tapir_layout_provider) providers;
	struct tapir_vec(struct tapir_manifest_extra) extras; /* one for each provider */
};

/* ---- keywords -------------------------------------------------------------------------------- */

static int add_keywords(struct manifest_reader *r, const xmlNode *keywords)
{
	for (const xmlNode *n = next_of(keywords->children, "keyword"); n;
	     n = next_of(n->next, "keyword")) {
		const char *mask = attr_of(n, "mask");
		struct tapir_layout_keyword k = {};

		if (!mask || !tapir_str__to_u64(mask, 0, UINT64_MAX, &k.mask))
			return fail_attr(r, n, "mask", "a 64-bit number");
		k.name = tapir_manifest__text(r, n, attr_of(n, "name"));
		if (!k.name)
			return -EINVAL;
		if (r->keywords.cnt >= TAPIR_MANIFEST_MAX_CNT || !tapir_vec__push(&r->keywords, k))
			return fail_at(r, n, "too many keywords", "");
	}
	return 0;
}

/* "GC Loader" as a mask. */
static int keyword_mask(const struct manifest_reader *r, const xmlNode *event, uint64_t *out)
{
	const char *names = attr_of(event, "keywords");
	size_t len;

	for (names = names ? names : ""; *names; names += len) {
		const struct tapir_layout_keyword *k, *found = NULL;

		names += strspn(names, " \t\r\n");
		len = strcspn(names, " \t\r\n");
		tapir_vec_for_each (k, &r->keywords)
			if (strlen(k->name) == len && !memcmp(k->name, names, len))
				found = k;
		if (!found && len)
			return fail_attr(r, event, "keywords",
					 "names of <keyword> elements, separated by spaces");
		*out |= found ? found->mask : 0;
	}
	return 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

static const char *without_win(const char *text)
{
	if (!text)
		return "";
	return strncmp(text, "win:", 4) ? text : text + 4;
}

/* The symbol without _Vn; without a symbol, task and opcode. */
static const char *public_name(struct manifest_reader *r, const xmlNode *node,
			       const struct tapir_layout_event *ev)
{
	size_t len = strlen(ev->symbol), digits = 0;
	bool has_op = strcmp(ev->opcode, "") && strcmp(ev->opcode, "Info");
	char name[2 * TAPIR_MANIFEST_NAME_MAX + 32];

	while (digits < len && isdigit((unsigned char)ev->symbol[len - 1 - digits]))
		digits++;
	if (digits && len > digits + 2 && !memcmp(ev->symbol + len - digits - 2, "_V", 2))
		len -= digits + 2;
	if (len)
		snprintf(name, sizeof(name), "%.*s", (int)len, ev->symbol);
	else if (*ev->task)
		snprintf(name, sizeof(name), "%s%s", ev->task, has_op ? ev->opcode : "");
	else
		snprintf(name, sizeof(name), "EventID(%u)", ev->id);
	name[TAPIR_MANIFEST_NAME_MAX] = '\0';
	return tapir_manifest__text(r, node, name);
}

static const char *text_or_empty(struct manifest_reader *r, const xmlNode *node, const char *text)
{
	return text && *text ? tapir_manifest__text(r, node, text) : "";
}

static int set_fields(const struct manifest_reader *r, const xmlNode *node,
		      struct tapir_layout_event *ev)
{
	const char *tid = attr_of(node, "template");
	const struct manifest_template *t = tid ? tapir_manifest__template(r, tid) : NULL;

	if (tid && !t)
		return fail_attr(r, node, "template", "the tid of a <template>");
	ev->fields = t ? t->fields : NULL;
	ev->field_cnt = t ? t->field_cnt : 0;
	return 0;
}

static int read_numbers(struct manifest_reader *r, const xmlNode *node, struct manifest_event *e)
{
	const char *id = attr_of(node, "value"), *version = attr_of(node, "version");
	int level = tapir_manifest__level(r, attr_of(node, "level"));
	int task = tapir_manifest__task(r, attr_of(node, "task"));
	int opcode = tapir_manifest__opcode(r, attr_of(node, "opcode"));
	uint64_t u64;

	if (!id || !tapir_str__to_u64(id, 0, UINT16_MAX, &u64))
		return fail_attr(r, node, "value", "a number from 0 to 65535");
	e->layout.id = (uint16_t)u64;
	if (version && !tapir_str__to_u64(version, 0, UINT8_MAX, &u64))
		return fail_attr(r, node, "version", "a number from 0 to 255");
	e->layout.version = version ? (uint8_t)u64 : 0;
	if (level < 0)
		return fail_attr(r, node, "level",
				 "win:LogAlways, win:Critical, win:Error, win:Warning, "
				 "win:Informational, win:Verbose, the name of a <level> or a "
				 "number from 0 to 255");
	e->layout.level = (uint8_t)level;
	e->more.task = task < 0 ? 0 : (uint32_t)task;
	e->more.opcode = opcode < 0 ? 0 : (uint8_t)opcode;
	return 0;
}

static int read_event(struct manifest_reader *r, const xmlNode *node, struct manifest_event *e)
{
	struct tapir_layout_event *ev = &e->layout;
	int err = read_numbers(r, node, e);

	if (err)
		return err;
	e->node = node;
	ev->symbol = text_or_empty(r, node, attr_of(node, "symbol"));
	ev->task = text_or_empty(r, node, attr_of(node, "task"));
	ev->opcode = text_or_empty(r, node, without_win(attr_of(node, "opcode")));
	e->more.message = tapir_manifest__message(r, node);
	if (!ev->symbol || !ev->task || !ev->opcode || !e->more.message)
		return -EINVAL;
	ev->name = public_name(r, node, ev);
	err = ev->name ? keyword_mask(r, node, &ev->keywords) : -EINVAL;
	return err ? err : set_fields(r, node, ev);
}

static int add_events(struct manifest_reader *r, const xmlNode *events)
{
	int err = 0;

	for (const xmlNode *n = next_of(events->children, "event"); n && !err;
	     n = next_of(n->next, "event")) {
		struct manifest_event e = {};

		err = read_event(r, n, &e);
		if (!err &&
		    (r->events.cnt >= TAPIR_MANIFEST_MAX_CNT || !tapir_vec__push(&r->events, e)))
			err = fail_at(r, n, "too many events", "");
	}
	return err;
}

static int by_id(const void *a, const void *b)
{
	const struct tapir_layout_event *x = &((const struct manifest_event *)a)->layout;
	const struct tapir_layout_event *y = &((const struct manifest_event *)b)->layout;

	return x->id != y->id ? x->id - y->id : x->version - y->version;
}

/* Two events with one id and version are refused: a payload could not be decoded. */
static int sort_events(struct manifest_reader *r)
{
	if (r->events.cnt)
		qsort(r->events.data, r->events.cnt, sizeof(*r->events.data), by_id);
	for (size_t i = 1; i < r->events.cnt; i++)
		if (!by_id(&r->events.data[i - 1], &r->events.data[i]))
			return fail_attr(r, r->events.data[i].node, "value",
					 "a value and version that no other <event> has");
	return 0;
}

/* ---- providers ------------------------------------------------------------------------------- */

/* {e13c0d23-ccbc-4e12-931b-d9cc2eee27e4}: three little-endian numbers, then bytes. */
static bool read_guid(const char *text, uint8_t out[16])
{
	static const uint8_t byte_order[16] = {3, 2, 1,	 0,  5,	 4,  7,	 6,
					       8, 9, 10, 11, 12, 13, 14, 15};
	unsigned cnt = 0;

	for (text += *text == '{'; *text && *text != '}'; text++) {
		int digit;

		if (*text == '-')
			continue;
		if (!isxdigit((unsigned char)*text) || cnt >= 32)
			return false;
		digit = *text <= '9' ? *text - '0' : (*text | 0x20) - 'a' + 10;
		out[byte_order[cnt / 2]] = (uint8_t)(out[byte_order[cnt / 2]] << 4 | digit);
		cnt++;
	}
	return cnt == 32;
}

/* In the order in which they need each other, whatever order the manifest has. */
static int read_parts(struct manifest_reader *r, const xmlNode *provider)
{
	static const struct {
		const char *name;
		int (*read)(struct manifest_reader *, const xmlNode *);
	} parts[] = {{"keywords", add_keywords},
		     {"levels", tapir_manifest__add_levels},
		     {"tasks", tapir_manifest__add_tasks},
		     {"opcodes", tapir_manifest__add_opcodes},
		     {"maps", tapir_manifest__add_maps},
		     {"templates", tapir_manifest__add_templates},
		     {"events", add_events}};
	int err = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		for (const xmlNode *n = next_of(provider->children, parts[i].name); n && !err;
		     n = next_of(n->next, parts[i].name))
			err = parts[i].read(r, n);
	return err;
}

static void *copy_of(struct manifest_reader *r, const struct manifest_names *names, unsigned *cnt)
{
	*cnt = (unsigned)names->cnt;
	return tapir_arena__copy(r->arena, names->data, names->cnt, sizeof(*names->data));
}

static int keep_extra(struct manifest_reader *r, const xmlNode *node,
		      struct tapir_manifest_extra *x)
{
	struct tapir_manifest_event *events =
		tapir_arena__alloc(r->arena, r->events.cnt * sizeof(*events) + 1);

	for (size_t i = 0; events && i < r->events.cnt; i++)
		events[i] = r->events.data[i].more;
	x->events = events;
	x->symbol = text_or_empty(r, node, attr_of(node, "symbol"));
	x->levels = copy_of(r, &r->levels, &x->level_cnt);
	x->tasks = copy_of(r, &r->tasks, &x->task_cnt);
	x->opcodes = copy_of(r, &r->opcodes, &x->opcode_cnt);
	x->map_cnt = (unsigned)r->maps.cnt;
	x->maps = tapir_arena__copy(r->arena, r->maps.data, r->maps.cnt, sizeof(*r->maps.data));
	return events && x->symbol && x->levels && x->tasks && x->opcodes && x->maps ? 0 : -ENOMEM;
}

static int keep_provider(struct manifest_reader *r, struct tapir_layout_provider *p)
{
	struct tapir_layout_event *events =
		tapir_arena__alloc(r->arena, r->events.cnt * sizeof(*events) + 1);

	for (size_t i = 0; events && i < r->events.cnt; i++)
		events[i] = r->events.data[i].layout;
	p->events = events;
	p->keywords = tapir_arena__copy(r->arena, r->keywords.data, r->keywords.cnt,
					sizeof(*r->keywords.data));
	p->keyword_cnt = (uint16_t)r->keywords.cnt;
	p->event_cnt = (uint16_t)r->events.cnt;
	return p->keywords && p->events ? 0 : -ENOMEM;
}

static void fini_reader(struct manifest_reader *r)
{
	tapir_vec__fini(&r->maps);
	tapir_vec__fini(&r->templates);
	tapir_vec__fini(&r->keywords);
	tapir_vec__fini(&r->levels);
	tapir_vec__fini(&r->tasks);
	tapir_vec__fini(&r->opcodes);
	tapir_vec__fini(&r->events);
}

static int read_provider(struct tapir_manifest *m, struct manifest_reader *r, const xmlNode *node)
{
	const char *guid = attr_of(node, "guid");
	struct tapir_layout_provider p = {};
	struct tapir_manifest_extra x = {};
	int err;

	p.name = tapir_manifest__text(r, node, attr_of(node, "name"));
	if (!p.name)
		return -EINVAL;
	if (guid && !read_guid(guid, p.guid))
		return fail_attr(r, node, "guid", "{xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx}");
	err = read_parts(r, node);
	if (!err)
		err = sort_events(r);
	if (!err)
		err = keep_provider(r, &p);
	if (!err)
		err = keep_extra(r, node, &x);
	if (!err && (m->providers.cnt >= PROVIDER_MAX || !tapir_vec__push(&m->providers, p) ||
		     !tapir_vec__push(&m->extras, x)))
		err = fail_at(r, node, "too many providers", "");
	return err;
}

/* instrumentationManifest > instrumentation > events > provider */
static int read_tree(struct tapir_manifest *m, struct manifest_reader *r, const xmlNode *root)
{
	static const char *const way[] = {"instrumentationManifest", "instrumentation", "events"};
	const xmlNode *node = root;
	int err = 0;

	for (size_t i = 0; i < sizeof(way) / sizeof(way[0]); i++) {
		const xmlNode *found = tapir_manifest_xml__next(node, way[i]);

		if (!found)
			return fail_at(r, node ? node : root, "no manifest: it lacks", way[i]);
		node = found->children;
	}
	err = tapir_manifest__add_strings(r, tapir_manifest_xml__next(root, way[0]));
	for (node = next_of(node, "provider"); node && !err;
	     node = next_of(node->next, "provider")) {
		struct manifest_reader own = *r;

		err = read_provider(m, &own, node);
		fini_reader(&own);
	}
	if (!err && !m->providers.cnt)
		err = fail_at(r, root, "no manifest: it lacks", "provider");
	return err;
}

static const xmlNode *root_of(const xmlDoc *doc)
{
	return tapir_manifest_xml__next(doc->children, NULL);
}

static int read_doc(struct tapir_manifest *m, const struct manifest_source *source,
		    const xmlDoc *doc)
{
	const xmlNode *root = root_of(doc);
	struct manifest_strings strings = {};
	struct manifest_reader r = {.source = source, .arena = &m->arena, .strings = &strings};
	int err;

	if (!root)
		return tapir_diag__fail(-EINVAL, "%s is not a manifest: it is empty", source->path);
	m->arena.max_bytes = ARENA_MAX_BYTES;
	err = read_tree(m, &r, root);
	if (!err)
		tapir_manifest__check_attrs(source, root);
	tapir_vec__fini(&strings);
	return err;
}

int tapir_manifest__parse(const char *path, const void *bytes, size_t len,
			  struct tapir_manifest **out)
{
	const struct manifest_source source = {path, bytes, len};
	struct tapir_manifest *m = calloc(1, sizeof(*m));
	xmlDocPtr doc = NULL;
	int err = m ? tapir_manifest_xml__open(path, bytes, len, &doc) : -ENOMEM;

	if (!err) {
		err = read_doc(m, &source, doc);
		tapir_manifest_xml__close(doc);
	}
	if (err) {
		tapir_manifest__free(m);
		return err;
	}
	*out = m;
	return 0;
}

int tapir_manifest__read(const char *path, struct tapir_manifest **out)
{
	tapir_autofree char *bytes = NULL;
	size_t len;
	int err = tapir_file__read(path, TAPIR_MANIFEST_MAX_BYTES, &bytes, &len);

	if (err)
		return tapir_diag__fail(err, "cannot read manifest %s: %s", path,
					tapir_errno__text(err));
	return tapir_manifest__parse(path, bytes, len, out);
}

void tapir_manifest__free(struct tapir_manifest *m)
{
	if (!m)
		return;
	tapir_vec__fini(&m->providers);
	tapir_vec__fini(&m->extras);
	tapir_arena__fini(&m->arena);
	free(m);
}

unsigned tapir_manifest__provider_cnt(const struct tapir_manifest *m)
{
	return (unsigned)m->providers.cnt;
}

const struct tapir_layout_provider *tapir_manifest__provider(const struct tapir_manifest *m,
							     unsigned idx)
{
	return &m->providers.data[idx];
}

const struct tapir_manifest_extra *tapir_manifest__extra(const struct tapir_manifest *m,
							 unsigned idx)
{
	return &m->extras.data[idx];
}
