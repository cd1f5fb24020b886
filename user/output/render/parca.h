/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parca.h - a profile of pprof as a request to Parca's profile store: the message of the method
 * WriteRaw, with its head as gRPC-Web has it, which goes over HTTP/1.1. One thread. Sources:
 * parca's profilestore.proto (v1alpha1); PROTOCOL-WEB.md of gRPC for the head: one byte of flags,
 * four of length.
 */
#ifndef TAPIR_USER_PARCA_H
#define TAPIR_USER_PARCA_H

#include <stddef.h>

#include "base/str.h"

/* Below the server's address. */
#define TAPIR_PARCA_METHOD "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"

/* NULL, or what is wrong with a name; NULL as a name is right. */
const char *tapir_parca__check_name(const char *name);

/*
 * name: "shop{node=node1,zone=b}": the label job and others; NULL: "tapir". Parca's __name__, the
 * kind of profile, is process_cpu. Adds to out; 0, -EINVAL or -ENOMEM.
 */
int tapir_parca__write(const char *name, const void *pprof, size_t len, struct tapir_str *out);

#endif
