#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# scripts/check-words accepts what uses the terms of the house, and fails for a name, a file and a comment that do not.
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

expect() { # STATUS FILE TEXT
	printf '%s\n' "$3" >"$dir/$2"
	"${PYTHON:-python3}" scripts/check-words "$dir/$2" >"$dir/out" 2>&1
	status=$?
	[ $status = "$1" ] && return
	printf 'exit %s, not %s, of a file %s with "%s":\n' $status "$1" "$2" "$3"
	cat "$dir/out"
	exit 1
}

expect 0 good.c '/* The fork server. */ static int fork_server_sock; static const char *s = "nursery_sock";'
expect 1 name.c 'static int nursery_sock;'
expect 1 upper.c '#define NURSERY_MS 5'
expect 1 nursery.c 'static int sock;'
expect 1 comment.c '/* Once all
 * have been seen, it ends. */'
expect 0 part.c 'static int nurserys;'
