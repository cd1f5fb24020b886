<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// awaiting.php MODE QUICK SLOW: a client of slow_peer.py, at these ports, which has no threads. "slow": it asks the slow one, 80 ms each;
// "chatty": it makes many calls of 8 ms, one after the other; "one-slow": it asks both in parallel, of which one takes 120 ms and the others 4.
// Prints "pid N", and for each line of input from when until when it awaited the slow one, as JSON: in ns of CLOCK_MONOTONIC.
[, $mode, $quick, $slow] = $argv;
$waits = [];

function connect(string $port)
{
	return stream_socket_client("tcp://127.0.0.1:$port");
}

/** Between two calls: an answer takes no longer than a call. */
function report(): void
{
	global $waits;
	$read = [STDIN];
	$none = null;
	if (!stream_select($read, $none, $none, 0))
		return;
	if (fgets(STDIN) === false)
		exit(0);
	echo json_encode(["waits" => $waits]), "\n";
}

function ask_rates($peer, int $ms): void
{
	global $waits;
	$from = hrtime(true);
	fwrite($peer, "$ms\n");
	fgets($peer);
	$waits[] = [$from, hrtime(true)];
	report();
}

function basket(array $peers, $rates): void
{
	global $waits;
	$from = hrtime(true);
	fwrite($rates, "120\n");
	foreach ($peers as $peer)
		fwrite($peer, "4\n");
	for ($open = [...$peers, $rates]; $open; ) {
		$read = $open;
		$none = null;
		stream_select($read, $none, $none, 5);
		foreach ($read as $peer) {
			fgets($peer);
			unset($open[array_search($peer, $open, true)]);
		}
	}
	$waits[] = [$from, hrtime(true)];
	report();
}

echo "pid ", getmypid(), "\n";
$rates = connect($slow);
if ($mode === "one-slow")
	for ($peers = array_map(fn() => connect($quick), range(1, 4)); ; )
		basket($peers, $rates);
while (true)
	ask_rates($rates, $mode === "slow" ? 80 : 8);
