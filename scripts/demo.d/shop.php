<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// Prices orders, and waits for the store that keeps them.
class Order {
    private array $items;

    function __construct(int $number) {
        $this->items = array_map(fn($i) => $number * $i % 997, range(0, 299));
    }

    function price(): int {
        usort($this->items, fn($a, $b) => $a <=> $b);
        return array_sum(array_map([$this, 'discounted'], $this->items));
    }

    function discounted(int $item): int {
        return $item > 500 ? intdiv($item * 9, 10) : $item;
    }
}

function save(int $price): void {
    usleep(1000);
}

function serve(): void {
    for ($number = 0;; $number++) {
        $price = (new Order($number))->price();
        if ($number % 20 == 0)
            save($price);
    }
}

echo "serving\n";
serve();
