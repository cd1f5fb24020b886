// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir serve, in a tapir that has no agent: the process becomes tapir-agent. Its id, parent,
 * group, session, user and descriptors stay, so that a service manager or a shell sees one program
 * that ends with the agent's status.
 */
#include "cli/serve.h"

#include <errno.h>
#include <unistd.h>

#include "base/child/sibling.h"
#include "base/diag.h"
#include "base/file.h"

int tapir_serve__run(struct tapir_cli *cli)
{
	int fd, err = tapir_sibling__open("tapir-agent", &fd);

	if (err)
		return err;
	tapir_file__restore_limit(); /* as this was started: the agent raises it again */
	fexecve(fd, cli->argv, environ);
	err = -errno;
	close(fd);
	return tapir_diag__fail(err, "cannot execute tapir-agent: %s", tapir_errno__text(err));
}
