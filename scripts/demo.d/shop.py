# SPDX-License-Identifier: GPL-2.0-or-later
"""Prices orders, and waits for the store that keeps them."""
import time


class Order:
    def __init__(self, number):
        self.items = [number * i % 997 for i in range(300)]

    def price(self):
        return sum(discounted(item) for item in sorted(self.items))


def discounted(item):
    return item * 9 // 10 if item > 500 else item


def save(price):
    time.sleep(0.001)
    return price


def serve():
    number = 0
    while True:
        for number in range(number, number + 20):
            order = Order(number)
            price = order.price()
        save(price)


print("serving", flush=True)
serve()
