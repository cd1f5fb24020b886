<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// hot.php SECONDS: main calls middle calls leaf, which burns.

function leaf(int $n): int
{
    $sum = $n;
    for ($i = 0; $i < 20000; $i++) {
        $sum = ($sum * 31 + ($sum >> 7) + $i) & 0xffffff;
    }
    return $sum;
}

function middle(int $n): int
{
    return leaf($n) + 1;
}

echo 'pid ', getmypid(), "\n";
$end = microtime(true) + (float) $argv[1];
for ($n = 0, $sink = 0; microtime(true) < $end; $n++) {
    $sink ^= middle($n);
}
