// SPDX-License-Identifier: GPL-2.0-or-later
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

/** JvmAwaiting MODE QUICK SLOW: a client of slow_peer.py, at these ports, whose virtual threads await. "slow": six ask the slow one, 80 ms
 * each; "chatty": three make many calls of 8 ms, one after the other; "one-slow": four ask both in parallel, of which one takes 120 ms and the
 * others 4. Prints "pid N", and for each line of input from when until when it awaited the slow one, as JSON: in ns of CLOCK_MONOTONIC. */
public class JvmAwaiting {
	static final ConcurrentLinkedQueue<long[]> waits = new ConcurrentLinkedQueue<>();
	static final Set<long[]> begun = ConcurrentHashMap.newKeySet();
	static int quick, slow;

	static class Peer {
		final Socket socket;
		final byte[] answer = new byte[64];

		Peer(int port) throws Exception {
			socket = new Socket("127.0.0.1", port);
			socket.setTcpNoDelay(true);
		}

		void call(int ms) throws Exception {
			socket.getOutputStream().write((ms + "\n").getBytes());
			socket.getInputStream().read(answer);
		}
	}

	static void askRates(Peer peer, int ms) throws Exception {
		long[] wait = {System.nanoTime(), 0};
		begun.add(wait);
		peer.call(ms);
		wait[1] = System.nanoTime();
		begun.remove(wait);
		waits.add(wait);
	}

	interface Task {
		void run() throws Exception;
	}

	static Thread spawn(Task task) {
		return Thread.startVirtualThread(() -> {
			try {
				task.run();
			} catch (Exception e) {
				e.printStackTrace();
				System.exit(1);
			}
		});
	}

	static void work(int ms) throws Exception {
		Peer peer = new Peer(slow);
		while (true)
			askRates(peer, ms);
	}

	static void basket() throws Exception {
		Peer[] peers = {new Peer(quick), new Peer(quick), new Peer(quick), new Peer(quick)};
		Peer rates = new Peer(slow);
		while (true) {
			var all = new ArrayList<Thread>();
			for (Peer peer : peers)
				all.add(spawn(() -> peer.call(4)));
			all.add(spawn(() -> askRates(rates, 120)));
			for (Thread one : all)
				one.join();
		}
	}

	static void report() {
		long now = System.nanoTime();
		var text = new StringBuilder();
		for (long[] wait : waits)
			text.append(text.length() > 0 ? "," : "").append("[" + wait[0] + "," + wait[1] + "]");
		for (long[] wait : begun)
			text.append(text.length() > 0 ? "," : "").append("[" + wait[0] + "," + now + "]");
		System.out.println("{\"waits\": [" + text + "]}");
	}

	public static void main(String[] args) throws Exception {
		quick = Integer.parseInt(args[1]);
		slow = Integer.parseInt(args[2]);
		boolean isSlow = args[0].equals("slow"), isChatty = args[0].equals("chatty");
		for (int i = 0; i < (isSlow ? 6 : isChatty ? 3 : 4); i++)
			spawn(isSlow ? () -> work(80) : isChatty ? () -> work(8) : JvmAwaiting::basket);
		System.out.println("pid " + ProcessHandle.current().pid());
		var in = new BufferedReader(new InputStreamReader(System.in));
		while (in.readLine() != null)
			report();
	}
}
