// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The records of a file as people read them, from the table: members that several types share are
 * described once.
 */
#include <string.h>

#include "output/render/help_text.h"
#include "output/render/record_page.h"
#include "trace/schema.h"

#define TYPE_COLUMN 6
#define NAME_COLUMN 12
#define TEXT_COLUMN 29

static void add_type(struct tapir_str *out, const struct tapir_member *m)
{
	if (m->type == TAPIR_MEMBER_REAL)
		tapir_str__adds(out, "f64");
	else if (m->bytes > sizeof(uint64_t))
		tapir_str__addf(out, "u8*%u", m->bytes);
	else
		tapir_str__addf(out, "%c%u", m->type == TAPIR_MEMBER_INT ? 'i' : 'u', 8 * m->bytes);
}

/* Returns true if another row has described the same member. */
static bool is_known(const struct tapir_schema *s, const struct tapir_member *member)
{
	for (const struct tapir_member *m = s->members; m < member; m++)
		if (m->name && m->description && m->offset == member->offset)
			return true;
	return false;
}

/* NULL: there is none at this offset or further. */
static const struct tapir_member *first_from(const struct tapir_schema *s, unsigned offset)
{
	const struct tapir_member *first = NULL;

	for (const struct tapir_member *m = s->members; !tapir_member__ends(m); m++)
		if (m->name && m->description && m->offset >= offset && !is_known(s, m) &&
		    (!first || m->offset < first->offset))
			first = m;
	return first;
}

static void add_record(const struct tapir_schema *s, unsigned type, struct tapir_str *out)
{
	size_t from;

	tapir_str__addf(out, "\n%s (%u): %s, %u bytes.\n\n", s->name, type, s->description,
			s->bytes);
	for (unsigned at = 0;;) {
		const struct tapir_member *m = first_from(s, at);

		if (!m)
			break;
		from = out->len;
		tapir_str__addf(out, "%4u", m->offset);
		tapir_str__pad(out, from, TYPE_COLUMN);
		add_type(out, m);
		tapir_str__pad(out, from, NAME_COLUMN);
		tapir_str__adds(out, m->name);
		tapir_str__pad(out, from, TEXT_COLUMN);
		if (m->type == TAPIR_MEMBER_TEXT || m->type == TAPIR_MEMBER_LIST ||
		    m->type == TAPIR_MEMBER_RESOURCE)
			tapir_str__adds(out, "bytes of: ");
		tapir_text__add_wrapped(out, from, tapir_text__sv(m->description), TEXT_COLUMN);
		at = m->offset + 1u;
	}
	if (!s->after)
		return;
	from = out->len;
	tapir_str__adds(out, "  then");
	tapir_str__pad(out, from, NAME_COLUMN);
	tapir_text__add_wrapped(out, from, tapir_text__sv(s->after), NAME_COLUMN);
}

void tapir_record_page__add(struct tapir_str *out)
{
	for (unsigned type = 1; type < TAPIR_REC_TYPE_CNT; type++)
		add_record(&tapir_schemas[type], type, out);
}
