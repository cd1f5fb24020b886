// SPDX-License-Identifier: GPL-2.0-or-later
// Prices orders, and waits for the store that keeps them.
class Order {
    constructor(number) {
        this.items = Array.from({length: 300}, (_, i) => number * i % 997);
    }

    price() {
        return this.items.sort((a, b) => a - b).reduce((sum, item) => sum + discounted(item), 0);
    }
}

function discounted(item) {
    return item > 500 ? Math.floor(item * 9 / 10) : item;
}

function save(price) {
    return new Promise(resolve => setTimeout(resolve, 1, price));
}

async function serve() {
    for (let number = 0; ; number += 20) {
        let price = 0;
        for (let i = 0; i < 20; i++)
            price += new Order(number + i).price();
        await save(price);
    }
}

console.log('serving');
serve();
