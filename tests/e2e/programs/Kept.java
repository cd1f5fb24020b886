// SPDX-License-Identifier: GPL-2.0-or-later
import java.util.ArrayList;
import java.util.List;

/** Kept COUNT: holds COUNT orders in a static list, and waits. */
public class Kept {
    static final class Order {
        long id, cents;
    }

    static final List<Order> ORDERS = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            ORDERS.add(new Order());
        }
        System.out.println("ready");
        Thread.sleep(Long.MAX_VALUE);
    }
}
