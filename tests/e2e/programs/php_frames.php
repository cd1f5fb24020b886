<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// php_frames.php: computes in functions, of a class, that its own function calls and that usort and array_map call. Prints "pid N".
class Shop {
    function weigh($rounds) {
        $total = 0;
        for ($i = 0; $i < $rounds; $i++)
            $total += $i * $i % 7;
        return $total;
    }
    static function compare($a, $b) {
        (new Shop)->weigh(60);
        return $a <=> $b;
    }
}
function sort_parcels() {
    $parcels = range(1, 40);
    usort($parcels, ['Shop', 'compare']);
}
function count_letters() {
    array_map('strlen', array_fill(0, 3000, 'parcel'));
}
function work() {
    (new Shop)->weigh(2000);
    sort_parcels();
    count_letters();
}
echo 'pid ', getmypid(), "\n";
while (true)
    work();
