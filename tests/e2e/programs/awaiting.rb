# SPDX-License-Identifier: GPL-2.0-or-later
# awaiting.rb MODE QUICK SLOW: a client of slow_peer.py, at these ports. "slow": six threads ask the slow one, 80 ms each; "chatty": three make
# many calls of 8 ms, one after the other; "one-slow": four ask both in parallel, of which one takes 120 ms and the others 4. Prints "pid N",
# and for each line of input from when until when it awaited the slow one, as JSON: in ns of CLOCK_MONOTONIC.
require "json"
require "socket"

MODE, QUICK, SLOW = ARGV
WAITS = []
BEGUN = {}

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

def connect(port)
  TCPSocket.new("127.0.0.1", port)
end

def call(peer, ms)
  peer.write("#{ms}\n")
  peer.gets
end

def ask_rates(peer, ms)
  who = Object.new
  BEGUN[who] = now
  call(peer, ms)
  WAITS << [BEGUN.delete(who), now]
end

def work(ms)
  peer = connect(SLOW)
  loop { ask_rates(peer, ms) }
end

def basket
  peers = Array.new(4) { connect(QUICK) }
  rates = connect(SLOW)
  loop do
    all = peers.map { |peer| Thread.new { call(peer, 4) } }
    all << Thread.new { ask_rates(rates, 120) }
    all.each(&:join)
  end
end

case MODE
when "slow" then 6.times { Thread.new { work(80) } }
when "chatty" then 3.times { Thread.new { work(8) } }
else 4.times { Thread.new { basket } }
end
$stdout.sync = true
puts "pid #{Process.pid}"
while $stdin.gets
  at = now
  puts JSON.generate({ waits: WAITS + BEGUN.values.map { |from| [from, at] } })
end
