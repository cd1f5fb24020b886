# SPDX-License-Identifier: GPL-2.0-or-later
# Prices orders, and waits for the store that keeps them.
class Order
  def initialize(number)
    @items = Array.new(300) { |i| number * i % 997 }
  end

  def price
    @items.sort_by { |item| -item }.sum { |item| discounted(item) }
  end

  def discounted(item)
    item > 500 ? item * 9 / 10 : item
  end
end

def save(price)
  sleep 0.001
  price
end

def serve
  (0..).each_slice(20) { |numbers| save(numbers.sum { |number| Order.new(number).price }) }
end

$stdout.sync = true
puts "serving"
serve
