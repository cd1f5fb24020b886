// SPDX-License-Identifier: GPL-2.0-or-later
import java.util.ArrayList;
import java.util.List;

/** Leak: keeps orders in a static list, 40,000 a second at most, and throws ten times as many arrays away. */
public class Leak {
    static final class Order {
        byte[] blob = new byte[200];
    }

    static final List<Order> KEPT = new ArrayList<>();
    static long sum;

    static void placeOrders(int count) {
        for (int i = 0; i < count; i++) {
            KEPT.add(new Order());
        }
    }

    static void forget(int count) {
        for (int i = 0; i < count; i++) {
            sum += new char[100].length;
        }
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        while (true) {
            placeOrders(KEPT.size() < 1500000 ? 2000 : 0);
            forget(20000);
            Thread.sleep(50);
        }
    }
}
