<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// php_shares.php CPU_SECONDS: three functions compute for different times, which the program counts by the CPU time that the kernel has for it.
// Prints {"weigh": share, ...}.
function cpu() {
    $used = getrusage();
    return $used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec'] + ($used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec']) / 1e6;
}
function weigh() {
    for ($i = 0, $total = 0; $i < 20000; $i++)
        $total += $i * $i % 7;
}
function pack_parcel() {
    for ($i = 0, $total = 0; $i < 60000; $i++)
        $total += $i * $i % 5;
}
function label() {
    for ($i = 0, $total = 0; $i < 120000; $i++)
        $total += $i * $i % 3;
}
$used = ['weigh' => 0, 'pack_parcel' => 0, 'label' => 0];
while (array_sum($used) < (float)$argv[1])
    foreach ($used as $name => $so_far) {
        $before = cpu();
        $name();
        $used[$name] += cpu() - $before;
    }
echo json_encode(array_map(fn($seconds) => $seconds / array_sum($used), $used)), "\n";
