// SPDX-License-Identifier: GPL-2.0-or-later

/**
 * Virtual: virtual threads that compute. One never leaves its carrier, and all of its callers are on the stack. The other ones
 * sleep below 200 calls, and compute when they are back and between their returns: HotSpot puts callers on the stack again only
 * as far as they are returned to.
 */
public class Virtual {
    static volatile long sink;

    static void burn() {
        for (long end = System.nanoTime() + 300_000; System.nanoTime() < end;) {
            sink++;
        }
    }

    static void down(int depth) throws InterruptedException {
        if (depth == 0) {
            Thread.sleep(1);
        } else {
            down(depth - 1);
        }
        if (depth % 20 == 0) {
            burn();
        }
    }

    static void leaving() {
        try {
            while (true) {
                down(200);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void staying() {
        while (true) {
            burn();
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 3; i++) {
            Thread.ofVirtual().start(Virtual::leaving);
        }
        Thread.sleep(2000); // compiled by then; the last one begins when each of these has left its carrier
        Thread.ofVirtual().start(Virtual::staying);
        System.out.println("ready");
        Thread.sleep(Long.MAX_VALUE);
    }
}
