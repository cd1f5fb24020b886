/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cxx_type.h - names of C++ types as people write them: "St13runtime_error", which std::type_info
 * has, is std::runtime_error. Each name is made once and stays until the program ends; names come
 * from traced programs, so their number is limited. Thread-safe.
 */
#ifndef TAPIR_USER_CXX_TYPE_H
#define TAPIR_USER_CXX_TYPE_H

#include "trace/record.h"

/*
 * Returns the readable name, or the mangled one where it cannot be demangled or the limit is
 * reached. Valid until the program ends.
 */
struct tapir_sv tapir_cxx_type__name(struct tapir_sv mangled);

#endif
