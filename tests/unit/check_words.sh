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

# A name that eight files have is one too many; seven may.
for i in 1 2 3 4 5 6 7 8; do
	printf 'static int\njudge(int a)\n{\n\treturn a;\n}\n' >"$dir/same$i.c"
done
if "${PYTHON:-python3}" scripts/check-words "$dir"/same?.c >"$dir/out" || ! grep -q '^8 files .*"judge"' "$dir/out"; then
	echo 'eight static functions of one name are accepted:'
	cat "$dir/out"
	exit 1
fi
"${PYTHON:-python3}" scripts/check-words "$dir"/same[1-7].c || exit 1
