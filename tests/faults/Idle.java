// SPDX-License-Identifier: GPL-2.0-or-later
/** Idle: allocates a little and sleeps, until the file it is given exists. */
public class Idle {
    static byte[] kept;

    public static void main(String[] args) throws InterruptedException {
        System.out.println("pid " + ProcessHandle.current().pid());
        while (!new java.io.File(args[0]).exists()) {
            kept = new byte[100_000];
            Thread.sleep(5);
        }
        System.out.println("{\"wrong\": 0}");
    }
}
