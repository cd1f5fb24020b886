# SPDX-License-Identifier: GPL-2.0-or-later
# ruby_frames.rb: computes in methods, of a class, a module and an object, that blocks call which functions of C call. A thread sleeps in a method.
# Prints "pid N".
class Shop
  def weigh(rounds)
    total = 0
    i = 0
    while i < rounds
      total += i * i % 7
      i += 1
    end
    total
  end

  def self.compare(a, b)
    new.weigh(60)
    a <=> b
  end

  def sort_parcels
    (1..40).to_a.sort { |a, b| Shop.compare(a, b) }
  end

  def each_parcel
    yield 60
    yield 70
  end

  define_method(:pack) { |rounds| weigh(rounds) }
end

module Counting
  def count_letters
    Array.new(40, "parcel").map { |word| word.each_char { |c| c.ord } }
  end
end

class Office
  include Counting
end

def in_fiber
  fiber = Fiber.new { Shop.new.weigh(800) }
  fiber.resume
end

def rescued
  raise "lost"
rescue RuntimeError
  Shop.new.weigh(400)
end

def evaluated
  eval("Shop.new.weigh(400)", binding, "ruby_frames.rb", 1)
end

def descend(depth)
  depth.zero? ? Shop.new.weigh(400) : descend(depth - 1)
end

def work
  shop = Shop.new
  shop.weigh(2000)
  shop.sort_parcels
  shop.each_parcel { |rounds| shop.weigh(rounds) }
  shop.pack(400)
  Office.new.count_letters
  in_fiber
  rescued
  evaluated
  descend(20)
end

def sleep_in_thread
  loop { sleep 0.005 }
end

Thread.new { sleep_in_thread }
$stdout.puts "pid #{Process.pid}"
$stdout.flush
work while true
