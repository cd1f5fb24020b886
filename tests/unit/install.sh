#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What `make install` puts below DESTDIR is enough to build a program that writes ring events, and
# `make uninstall` removes all of it.
set -eu
cd "$(dirname "$0")/../.."
dest=$(mktemp -d)
trap 'rm -rf "$dest"' EXIT
make --no-print-directory BUILD="${BUILD:-build}" DESTDIR="$dest/root" PREFIX=/usr install >/dev/null
cat >"$dest/fires.c" <<'C'
#include <tapir/ring_writer.h>
#include <tapir/usdt.h>

static struct tapir_ring_event event;
static const struct tapir_ring_about about = {.provider = "installed", .event = "hit"};

int main(void)
{
	struct tapir_ring_write write;

	if (tapir_ring__init() || tapir_ring__register(&event, &about))
		return 1;
	if (tapir_ring__wanted(&event) && tapir_ring__begin(&write, &event, 0))
		tapir_ring__commit(&write);
	TAPIR_PROBE(installed, probe);
	return 0;
}
C
gcc -std=gnu11 -Wall -Wextra -Werror -I"$dest/root/usr/include" "$dest/fires.c" -L"$dest/root/usr/lib" -ltapir \
	-pthread -o "$dest/fires"
"$dest/fires"
"$dest/root/usr/bin/tapir" --version
make --no-print-directory BUILD="${BUILD:-build}" DESTDIR="$dest/root" PREFIX=/usr uninstall >/dev/null
left=$(find "$dest/root" ! -type d)
[ -z "$left" ] || { echo "left behind: $left" && exit 1; }
