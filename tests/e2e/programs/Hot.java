// SPDX-License-Identifier: GPL-2.0-or-later
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Hot SECONDS [LATE]: main calls middle calls leaf, which burns. With LATE, after half of the time
 * other methods do, which nothing has compiled before: lateMiddle and lateLeaf.
 */
public class Hot {
    static volatile long sink;

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
        long begin = System.nanoTime();
        long end = begin + (long) (Double.parseDouble(args[0]) * 1e9);
        long switchAt = args.length > 1 ? (begin + end) / 2 : Long.MAX_VALUE;
        System.out.println("pid " + ProcessHandle.current().pid());
        int n = 0;
        while (System.nanoTime() < Math.min(end, switchAt)) {
            sink += middle(n++);
        }
        while (System.nanoTime() < end) {
            sink += lateMiddle(n++);
        }
    }
}
