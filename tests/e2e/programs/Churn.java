// SPDX-License-Identifier: GPL-2.0-or-later
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;

/**
 * Churn DIRECTORY PERIODS MS: in each period a class of DIRECTORY (Work0, Work1, Work2 in turn) is
 * loaded by a loader of its own, burns MS milliseconds in its burn(int), and is thrown away with its
 * code. One line a period: class, from and until in CLOCK_MONOTONIC ns.
 */
public class Churn {
    static long run(String dir, String name, long ns) throws Exception {
        URL[] urls = {Path.of(dir).toUri().toURL()};
        try (URLClassLoader loader = new URLClassLoader(urls, null)) {
            Method spin = loader.loadClass(name).getMethod("spin", long.class);
            return (long) spin.invoke(null, ns);
        }
    }

    public static void main(String[] args) throws Exception {
        int periods = Integer.parseInt(args[1]);
        long ns = Long.parseLong(args[2]) * 1_000_000;
        System.out.println("pid " + ProcessHandle.current().pid());
        for (int i = 0; i < periods; i++) {
            String name = "Work" + i % 3;
            long from = System.nanoTime();
            run(args[0], name, ns);
            System.out.println("period " + name + " " + from + " " + System.nanoTime());
            for (int k = 0; k < 3; k++) {
                System.gc();
                Thread.sleep(20);
            }
        }
    }
}
