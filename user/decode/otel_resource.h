/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * otel_resource.h - what a process says that it is: the payload of OpenTelemetry's process context
 * (tapir/otel_context.h, RESOURCE records), a protobuf message of unknown content. Strings are
 * borrowed from it and may be any bytes. Pure.
 */
#ifndef TAPIR_USER_OTEL_RESOURCE_H
#define TAPIR_USER_OTEL_RESOURCE_H

#include "base/json.h"
#include "trace/record.h"

struct tapir_otel_attribute {
	struct tapir_sv key;
	struct tapir_sv value;	 /* the message AnyValue; empty: no value */
	struct tapir_sv message; /* KeyValue, with both */
};

#define TAPIR_OTEL_ATTRIBUTES_MAX 256 /* of a resource; further ones are skipped */

typedef void (*tapir_otel_attribute_fn)(void *ctx, const struct tapir_otel_attribute *attribute);

/*
 * Each attribute of the resource that has a key, as published; a key that occurs twice is handed
 * out twice. False: the payload is no such message to its end, or has more of them.
 */
bool tapir_otel_resource__each(struct tapir_sv payload, tapir_otel_attribute_fn fn, void *ctx);

/* The text of the first attribute of that key which has one; empty: none. */
struct tapir_sv tapir_otel_resource__text(struct tapir_sv payload, const char *key);

/* Reads a value that is a text; false: it is not one. */
bool tapir_otel_value__text(struct tapir_sv value, struct tapir_sv *out);
/* A value as JSON has it; lists within lists beyond 4 are null, and so is what is no value. */
void tapir_otel_value__add_json(struct tapir_json *j, const char *key, struct tapir_sv value);

/* The resource as an object, "resource"; of a key that occurs twice, the first. */
void tapir_otel_resource__add_json(struct tapir_json *j, struct tapir_sv payload);

#endif
