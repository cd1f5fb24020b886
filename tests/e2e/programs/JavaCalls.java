// SPDX-License-Identifier: GPL-2.0-or-later
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.LongUnaryOperator;

/**
 * JavaCalls SECONDS: methods of all kinds that compute, for so long by the clock of their thread, and
 * a thread that waits. Prints "pid N", and in the end the share of that time that each kind had. Each
 * has one caller: light is called by turn, heavy by a lambda, called by reflection, compare by
 * Arrays.sort; deep calls itself. All compute in burn.
 */
public class JavaCalls {
    static final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    static final long[] spentNs = new long[5];
    static volatile long sink;

    static long burn(int n) {
        long sum = n;
        for (int i = 0; i < 2000; i++) {
            sum = sum * 31 + (sum >>> 7) + i;
        }
        return sum;
    }

    static long cpuNs() {
        return threads.getCurrentThreadCpuTime();
    }

    static long light(long ns) {
        long end = cpuNs() + ns, sum = 0;
        while (cpuNs() < end) {
            sum += burn(1);
        }
        return sum;
    }

    static long heavy(long ns) {
        long end = cpuNs() + ns, sum = 0;
        while (cpuNs() < end) {
            sum += burn(2);
        }
        return sum;
    }

    public static long called(long ns) {
        long end = cpuNs() + ns, sum = 0;
        while (cpuNs() < end) {
            sum += burn(3);
        }
        return sum;
    }

    static int compare(Integer one, Integer other) {
        sink += burn(one);
        return Integer.compare(one, other);
    }

    static long deep(int n) {
        return n > 0 ? deep(n - 1) : burn(n);
    }

    /** Adds what it took since from to a kind's time, and returns the time now. */
    static long spent(int kind, long from) {
        long now = cpuNs();
        spentNs[kind] += now - from;
        return now;
    }

    static double share(int kind, double all) {
        return spentNs[kind] / all;
    }

    static void waits() {
        while (true) {
            try {
                Thread.sleep(20);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    static void turn(LongUnaryOperator operator, Method method) throws Exception {
        long from = cpuNs();
        sink += light(5_000_000);
        from = spent(0, from);
        sink += operator.applyAsLong(15_000_000);
        from = spent(1, from);
        sink += (long) method.invoke(null, 5_000_000L);
        from = spent(2, from);
        Integer[] numbers = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
        Arrays.sort(numbers, JavaCalls::compare);
        from = spent(3, from);
        for (int i = 0; i < 20; i++) {
            sink += deep(30);
        }
        spent(4, from);
    }

    public static void main(String[] args) throws Exception {
        long end = (long) (Double.parseDouble(args[0]) * 1e9), all = 0;
        Method method = JavaCalls.class.getMethod("called", long.class);
        LongUnaryOperator operator = ns -> heavy(ns);
        Thread waiter = new Thread(JavaCalls::waits, "waiter");
        waiter.setDaemon(true);
        waiter.start();
        System.out.println("pid " + ProcessHandle.current().pid());
        while (all < end) {
            turn(operator, method);
            all = Arrays.stream(spentNs).sum();
        }
        System.out.printf(Locale.ROOT, "{\"light\": %f, \"heavy\": %f, \"called\": %f, \"compare\": %f, \"deep\": %f}%n",
            share(0, all), share(1, all), share(2, all), share(3, all), share(4, all));
    }
}
