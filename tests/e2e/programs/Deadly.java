// SPDX-License-Identifier: GPL-2.0-or-later
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;

/** Two threads take two locks in opposite orders, a monitor and one of java.util.concurrent; a third waits for the second lock. */
public class Deadly {
    static final Object monitor = new Object();
    static final ReentrantLock lock = new ReentrantLock();
    static final CountDownLatch both = new CountDownLatch(2);

    static void arrive() {
        both.countDown();
        try {
            both.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void left() {
        synchronized (monitor) {
            arrive();
            lock.lock();
        }
    }

    static void right() {
        lock.lock();
        arrive();
        synchronized (monitor) {
            System.out.println("never");
        }
    }

    public static void main(String[] args) throws Exception {
        Thread left = new Thread(Deadly::left, "left"), right = new Thread(Deadly::right, "right");
        left.start();
        right.start();
        both.await();
        Thread third = new Thread(Deadly::left, "third");
        third.start();
        while (left.getState() != Thread.State.WAITING || right.getState() != Thread.State.BLOCKED
                || third.getState() != Thread.State.BLOCKED)
            Thread.sleep(1);
        System.out.println("ready");
        third.join();
    }
}
