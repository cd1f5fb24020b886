/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * function_name.h - a function's name as a sentence has it: what a compiler, an engine or a perf
 * map adds to it is left out. Names come from other processes: what is added is printable.
 */
#ifndef TAPIR_USER_FUNCTION_NAME_H
#define TAPIR_USER_FUNCTION_NAME_H

#include "base/str.h"

/*
 * "draw shop.js:12:3" of V8's "JS:*draw /srv/shop/shop.js:12:3", "Shop.draw shop.py" of CPython's
 * "py::Shop.draw:/srv/shop/shop.py", "Shop#draw shop.rb:12" of Ruby's
 * "rb::Shop#draw:/srv/shop/shop.rb:12", "Shop.draw()" of a JVM's "void Shop.draw()",
 * "std::sort<...>" of a C++ template, "main::{lambda()#2}" of a thread of C++ that runs it.
 */
void tapir_function_name__add(const char *name, struct tapir_str *out);

#endif
