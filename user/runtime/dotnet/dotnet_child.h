/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dotnet_child.h - what the helper process does for a .NET runtime (runtime/peer/peer_helper.h). */
#ifndef TAPIR_USER_DOTNET_CHILD_H
#define TAPIR_USER_DOTNET_CHILD_H

#include "runtime/peer/peer_helper.h"

/* Connects to the runtime's socket; places the library where the runtime loads it. */
int tapir_dotnet_child__connect(const struct tapir_peer_helper *job,
				struct tapir_peer_answer *answer);
int tapir_dotnet_child__install(const struct tapir_peer_helper *job,
				struct tapir_peer_answer *answer);
/* Ends the jitdump that the runtime writes for tapir, and removes it. */
void tapir_dotnet_child__end_dump(const struct tapir_peer_helper *job,
				  const struct tapir_peer_answer *answer, int fd);

#endif
