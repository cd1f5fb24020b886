// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of tapir's own events, with names and fields. Names and ids of Universal.* are given.
 */
#include "output/export/nettrace_impl.h"

#define FIELDS_MAX 7

/* "Name:type", type by letter; see types_of. */
struct own {
	const char *provider, *event;
	uint32_t event_id;
	struct {
		const char *name;
		char type;
	} fields[FIELDS_MAX];
};

static const char universal_system[] = "Universal.System", universal_events[] = "Universal.Events",
		  tapir[] = "Tapir";

static const struct own owns[TAPIR_NETTRACE_OWN_END] = {
	[TAPIR_NETTRACE_CPU] = {universal_events, "cpu", 1, {{"Value", 'v'}}},
	[TAPIR_NETTRACE_CSWITCH] = {universal_events, "cswitch", 2, {{"Value", 'v'}}},
	[TAPIR_NETTRACE_EXISTING_PROCESS] = {universal_system,
					     "ExistingProcess",
					     0,
					     {{"NamespaceId", 'v'},
					      {"Name", 't'},
					      {"NamespaceName", 't'}}},
	[TAPIR_NETTRACE_PROCESS_CREATE] = {universal_system,
					   "ProcessCreate",
					   1,
					   {{"NamespaceId", 'v'},
					    {"Name", 't'},
					    {"NamespaceName", 't'}}},
	[TAPIR_NETTRACE_PROCESS_EXIT] = {universal_system, "ProcessExit", 2, {}},
	[TAPIR_NETTRACE_PROCESS_MAPPING] = {universal_system,
					    "ProcessMapping",
					    3,
					    {{"Id", 'v'},
					     {"StartAddress", 'v'},
					     {"EndAddress", 'v'},
					     {"FileOffset", 'v'},
					     {"FileName", 't'},
					     {"MetadataId", 'v'}}},
	[TAPIR_NETTRACE_PROCESS_SYMBOL] = {universal_system,
					   "ProcessSymbol",
					   4,
					   {{"Id", 'v'},
					    {"MappingId", 'v'},
					    {"StartAddress", 'v'},
					    {"EndAddress", 'v'},
					    {"Name", 't'}}},
	[TAPIR_NETTRACE_MAPPING_METADATA] = {universal_system,
					     "ProcessMappingMetadata",
					     5,
					     {{"Id", 'v'},
					      {"SymbolMetadata", 't'},
					      {"VersionMetadata", 't'}}},
	[TAPIR_NETTRACE_LOSS] = {tapir,
				 "Loss",
				 1,
				 {{"Count", 'u'},
				  {"Cause", 's'},
				  {"Kind", 's'},
				  {"Provider", 's'},
				  {"Event", 's'},
				  {"FromNs", 'u'},
				  {"UntilNs", 'u'}}},
	[TAPIR_NETTRACE_GAP] =
		{tapir,
		 "Gap",
		 2,
		 {{"Reason", 's'}, {"Path", 's'}, {"FromNs", 'u'}, {"UntilNs", 'u'}}},
	[TAPIR_NETTRACE_COUNTER] =
		{tapir,
		 "Counter",
		 3,
		 {{"Provider", 's'}, {"Name", 's'}, {"Value", 'f'}, {"Unit", 's'}, {"Tags", 's'}}},
	[TAPIR_NETTRACE_FINDING] = {tapir, "Finding", 4, {{"Text", 's'}}},
};

static const uint8_t *types_of(char letter)
{
	static const uint8_t number[] = {TAPIR_NETTRACE_VARUINT, 0},
			     text[] = {TAPIR_NETTRACE_ARRAY, TAPIR_NETTRACE_UTF8_UNIT, 0},
			     u64[] = {TAPIR_NETTRACE_U64, 0}, f64[] = {TAPIR_NETTRACE_F64, 0},
			     utf16[] = {TAPIR_NETTRACE_UTF16, 0};

	return letter == 'v'   ? number
	       : letter == 't' ? text
	       : letter == 'u' ? u64
	       : letter == 'f' ? f64
			       : utf16;
}

void tapir_nettrace__put_own_metadata(struct tapir_str *out)
{
	for (uint32_t id = 1; id < TAPIR_NETTRACE_OWN_END; id++) {
		const struct own *own = &owns[id];
		struct tapir_nettrace_fields fields = {.opcode = 0};
		struct tapir_nettrace_metadata m = {.id = id,
						    .provider = tapir_sv__of(own->provider),
						    .event = tapir_sv__of(own->event),
						    .event_id = own->event_id,
						    .level = 4,
						    .fields = &fields};

		for (unsigned i = 0; i < FIELDS_MAX && own->fields[i].name; i++)
			tapir_nettrace_fields__add(&fields, tapir_sv__of(own->fields[i].name),
						   types_of(own->fields[i].type));
		out->failed |= fields.bytes.failed;
		tapir_nettrace__put_metadata(out, &m);
		tapir_str__fini(&fields.bytes);
	}
}
