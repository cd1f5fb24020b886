// SPDX-License-Identifier: GPL-2.0-or-later
/** Graph SECONDS: main calls middle calls leaf, which burns and sleeps; a thread waits for a monitor. */
public class Graph {
    static volatile long sink;
    static final Object monitor = new Object();

    static long leaf(int n) {
        long sum = n;
        for (int i = 0; i < 20_000; i++) {
            sum = sum * 31 + (sum >>> 7) + String.valueOf(i & 15).hashCode();
        }
        return sum;
    }

    static long middle(int n) {
        return leaf(n) + 1;
    }

    static void waiter(long end) {
        try {
            while (System.nanoTime() < end) {
                synchronized (monitor) {
                    monitor.wait(2);
                }
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        long end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9);
        Thread thread = new Thread(() -> waiter(end), "waiter");

        System.out.println("pid " + ProcessHandle.current().pid());
        thread.start();
        for (int n = 0; System.nanoTime() < end; n++) {
            sink += middle(n);
            if (n % 4 == 0) {
                Thread.sleep(1);
            }
        }
        thread.join();
    }
}
