/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dotnet_config.h - what a .NET program's runtimeconfig.json switches off. Any thread. */
#ifndef TAPIR_USER_DOTNET_CONFIG_H
#define TAPIR_USER_DOTNET_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAPIR_DOTNET_EVENT_SOURCES "System.Diagnostics.Tracing.EventSource.IsSupported"

/*
 * Returns true if the file of one of the program's assemblies switches EventSources off: then none
 * of them sends an event, only the runtime does. No line.
 */
bool tapir_dotnet_config__has_no_event_sources(uint32_t tgid);

/* The same of the file's text. Pure. */
bool tapir_dotnet_config__switches_off(const char *text, size_t len);

#endif
