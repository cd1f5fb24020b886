// SPDX-License-Identifier: GPL-2.0-or-later
/** Idle: allocates a little and sleeps, until the file it is given exists; another thread waits all the time. */
public class Idle {
    static byte[] kept;

    static void waits() {
        try {
            Thread.sleep(Long.MAX_VALUE);
        } catch (InterruptedException ended) {
            return;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread waiting = new Thread(Idle::waits);

        waiting.setDaemon(true);
        waiting.start();
        System.out.println("pid " + ProcessHandle.current().pid());
        while (!new java.io.File(args[0]).exists()) {
            kept = new byte[100_000];
            Thread.sleep(5);
        }
        System.out.println("{\"wrong\": 0}");
    }
}
