/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probe_name.h - events that a process knows by number alone (CoreCLR's own) get their names: in a
 * lane before they are compared with a SPEC, in a file before any caller of the reader gets them.
 * One thread for each buffer.
 */
#ifndef TAPIR_USER_PROBE_NAME_H
#define TAPIR_USER_PROBE_NAME_H

#include "trace/recbuf.h"

/*
 * A well-formed PROBE record -> the same with an event name (dotnet_tables.h; "EventID(7)" where
 * they have none; a name recorded in that form is looked up again). The result is the record itself
 * if nothing was missing, else one in buf (until its next use). NULL: out of memory.
 */
const struct tapir_rec *tapir_probe_name__complete(struct tapir_recbuf *buf,
						   const struct tapir_rec *probe);

#endif
