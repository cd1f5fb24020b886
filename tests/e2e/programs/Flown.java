// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For a flight recording: computes in leaf(), while two threads hold one monitor in turn, 30 ms each
 * time; collections and exceptions on the way.
 */
import java.util.ArrayList;
import java.util.List;

public class Flown {
    private static final Object LOCK = new Object();

    static double leaf(int cnt) {
        double sum = 0;

        for (int i = 0; i < cnt; i++)
            sum += Math.sqrt(i);
        return sum;
    }

    static void hold() {
        synchronized (LOCK) {
            try {
                Thread.sleep(30);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + 3_000_000_000L;
        List<byte[]> kept = new ArrayList<>();
        double sum = 0;
        Thread holder = new Thread(() -> {
            while (System.nanoTime() < end)
                hold();
        }, "holder");

        holder.start();
        for (int turn = 0; System.nanoTime() < end; turn++) {
            sum += leaf(200_000);
            kept.add(new byte[100_000]);
            if (kept.size() > 300)
                kept.clear();
            if (turn % 50 == 0)
                hold();
        }
        holder.join();
        System.out.println(sum);
    }
}
