// SPDX-License-Identifier: GPL-2.0-or-later
// A shop of four workers that is no faster than one: each order is booked under a lock, and so is the
// line in the audit log, which takes 5 ms. ORDERS [fixed]: the line is written behind the lock.
// Prints one line of JSON: how many orders in how many ms.
public class Convoy {
    static final int WORKERS = 4;
    static boolean fixed;

    static class Inventory {
        long booked;

        synchronized void book(int order) throws Exception {
            booked += order;
            if (!fixed)
                Audit.append(order);
        }
    }

    static class Audit {
        static void append(int order) throws Exception {
            Thread.sleep(5); // a slow disk
        }
    }

    static final Inventory inventory = new Inventory();

    static void price(int order) {
        long end = System.nanoTime() + 1_000_000;
        while (System.nanoTime() < end)
            ;
    }

    static void place(int order) throws Exception {
        price(order);
        inventory.book(order);
        if (fixed)
            Audit.append(order);
    }

    static void work(int orders) {
        try {
            for (int i = 0; i < orders; i++)
                place(i);
        } catch (Exception e) {
            throw new RuntimeException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        int orders = Integer.parseInt(args[0]);
        fixed = args.length > 1;
        long start = System.nanoTime();
        Thread[] workers = new Thread[WORKERS];
        for (int i = 0; i < WORKERS; i++) {
            workers[i] = new Thread(() -> work(orders / WORKERS), "worker-" + (i + 1));
            workers[i].start();
        }
        for (Thread worker : workers)
            worker.join();
        System.out.println("{\"orders\": " + orders + ", \"ms\": " + (System.nanoTime() - start) / 1000000 + "}");
    }
}
