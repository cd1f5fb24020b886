/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * java_name.h - a Java method's name, spelled as the JVM's perf map spells it, so that a method has
 * one name whichever way it came:
 *
 *  class Hot, method b, signature ([Ljava/lang/String;IJ)V
 *  void Hot.b(java.lang.String[], int, long)
 *
 * That is Method::external_name of src/hotspot/share/oops/method.cpp. Pure and thread-safe; names
 * may be hostile.
 */
#ifndef TAPIR_USER_JAVA_NAME_H
#define TAPIR_USER_JAVA_NAME_H

#include <stdbool.h>

#include "base/str.h"
#include "trace/record.h"

/* HotSpot's perf map has no longer names: it cuts a line, with two numbers of 18, at 1,998 bytes.
 */
#define TAPIR_JAVA_NAME_MAX_BYTES 1960u

/*
 * Adds the name, cut at TAPIR_JAVA_NAME_MAX_BYTES. false: the signature is malformed, and "Hot.b"
 * was added. Names are the JVM's internal ones: slashes, and "+0x..." after a hidden class.
 */
bool tapir_java_name__add(struct tapir_str *out, struct tapir_sv class_name, struct tapir_sv method,
			  struct tapir_sv signature);

#endif
