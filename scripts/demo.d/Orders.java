// SPDX-License-Identifier: GPL-2.0-or-later
import java.util.ArrayList;
import java.util.List;

/** Serves orders in four threads and keeps some of them for too long. */
public class Orders {
    static final List<byte[]> kept = new ArrayList<>();

    static synchronized void keep(byte[] order) {
        kept.add(order);
        if (kept.size() > 2000)
            kept.subList(0, 1000).clear();
    }

    static void serve() {
        for (int i = 0; ; i++) {
            byte[] order = new byte[20_000 + i % 1000];
            if (i % 20 == 0)
                keep(order);
            if (i % 10 == 0)
                Thread.yield();
        }
    }

    public static void main(String[] args) {
        for (int t = 0; t < 4; t++)
            new Thread(Orders::serve, "server-" + t).start();
        System.out.println("serving");
    }
}
