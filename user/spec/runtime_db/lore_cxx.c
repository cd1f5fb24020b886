// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The exceptions of the C++ runtime. Sources of the facts: the manuals of libstdc++ and libgcc.
 */
#include "spec/runtime_db/hint_table.h"

#define PTR TAPIR_HINT_PTR
#define CXX_EXCEPTION(event)                                                                       \
	TAPIR_HINT("libstdcxx", event, PTR("object"), TAPIR_HINT_CXX_TYPE("type"))

static const struct tapir_hint hints[] = {
	CXX_EXCEPTION("throw"),
	CXX_EXCEPTION("rethrow"),
	CXX_EXCEPTION("catch"),
	TAPIR_HINT("libgcc", "unwind", PTR("cfa"), PTR("handler")),
};

static const struct tapir_counted_event exceptions[] = {{"libstdcxx", "throw", "type", NULL, NULL},
							{}};

const struct tapir_lore tapir_lore_cxx = {
	.name = "C++",
	.providers = TAPIR_LIST_OF("libstdcxx", "libgcc"),
	.is_library = true,
	.native_library_code = TAPIR_LIST_OF("std::", "__gnu_cxx::", "__cxxabiv1::", "boost::",
					     "operator new", "operator delete", "void std::"),
	.hints = {&(const struct tapir_hint_table)TAPIR_TABLE(hints)},
	.counted = {[TAPIR_COUNTS_EXCEPTIONS] = exceptions},
	.specs =
		{
			[TAPIR_PROFILE_ID_EXCEPTIONS] =
				TAPIR_LIST_OF("libstdcxx:throw,catch,rethrow"),
		},
};
