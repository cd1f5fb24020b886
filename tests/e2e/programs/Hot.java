// SPDX-License-Identifier: GPL-2.0-or-later
import sun.misc.Signal;

/**
 * Hot SECONDS: main calls middle calls leaf, which burns. From SIGUSR1 on other methods do, which
 * nothing has compiled before: lateMiddle and lateLeaf.
 */
public class Hot {
    static volatile long sink;
    static volatile boolean isLate;

    static long leaf(int n) {
        long sum = n;
        for (int i = 0; i < 200_000; i++) {
            sum = sum * 31 + (sum >>> 7) + i;
        }
        return sum;
    }

    static long middle(int n) {
        return leaf(n) + 1;
    }

    static long lateLeaf(int n) {
        long sum = n;
        for (int i = 0; i < 200_000; i++) {
            sum = sum * 33 + (sum >>> 5) + i;
        }
        return sum;
    }

    static long lateMiddle(int n) {
        return lateLeaf(n) + 1;
    }

    public static void main(String[] args) {
        long end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9);
        Signal.handle(new Signal("USR1"), signal -> isLate = true);
        System.out.println("pid " + ProcessHandle.current().pid());
        int n = 0;
        while (System.nanoTime() < end && !isLate) {
            sink += middle(n++);
        }
        while (System.nanoTime() < end) {
            sink += lateMiddle(n++);
        }
    }
}
