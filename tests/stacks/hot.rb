# SPDX-License-Identifier: GPL-2.0-or-later
# hot.rb SECONDS: main calls middle calls leaf, which burns; a thread sleeps.
$stdout.sync = true
END_S = Process.clock_gettime(Process::CLOCK_MONOTONIC) + ARGV[0].to_f

def over?
  Process.clock_gettime(Process::CLOCK_MONOTONIC) >= END_S
end

def leaf(n)
  (1..n).map { |i| i.to_s.reverse }.join(",").split(",").sort.length
end

def middle(n)
  leaf(n) + 1
end

puts "pid #{Process.pid}"
sleeper = Thread.new { sleep 0.002 until over? }
until over?
  middle(1000)
  sleep 0.001
end
sleeper.join
