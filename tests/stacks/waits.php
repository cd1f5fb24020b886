<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// waits.php SECONDS: middle calls leaf, which burns; then it sleeps.

function leaf(int $n): int
{
    $words = [];
    for ($i = 0; $i < $n; $i++) {
        $words[] = strrev((string) $i);
    }
    sort($words);
    return count($words);
}

function middle(int $n): int
{
    return leaf($n) + 1;
}

echo 'pid ', getmypid(), "\n";
$end = microtime(true) + (float) $argv[1];
while (microtime(true) < $end) {
    middle(1000);
    usleep(1000);
}
