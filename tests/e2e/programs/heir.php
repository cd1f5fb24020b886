<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// heir.php SECONDS: main calls burn calls leaf, which burns, in a child that has its parent's code when that has ended.

function leaf(int $n): int
{
    $sum = $n;
    for ($i = 0; $i < 20000; $i++) {
        $sum = ($sum * 31 + ($sum >> 7) + $i) & 0xffffff;
    }
    return $sum;
}

function burn(float $seconds): int
{
    $end = microtime(true) + $seconds;
    for ($n = 0, $sink = 0; microtime(true) < $end; $n++) {
        $sink ^= leaf($n);
    }
    return $sink;
}

burn(0.1);
$child = pcntl_fork();
if ($child) {
    echo "child $child of ", getmypid(), "\n";
    exit(0);
}
burn((float) $argv[1]);
