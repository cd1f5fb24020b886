// SPDX-License-Identifier: GPL-2.0-or-later
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Parked: virtual threads of which 40 wait for a queue, 25 sleep, 3 wait for a lock that main has, and
 * one computes. Prints "pid N" once each is where it says, by its own state.
 */
public class Parked {
    static final LinkedBlockingQueue<String> queue = new LinkedBlockingQueue<>();
    static final ReentrantLock lock = new ReentrantLock();
    static volatile long sink;

    static void takes() {
        try {
            queue.take();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void naps() {
        try {
            Thread.sleep(Long.MAX_VALUE);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void locks() {
        lock.lock();
    }

    static void computes() {
        while (true) {
            sink++;
        }
    }

    static void start(List<Thread> threads, int cnt, Runnable runnable) {
        for (int i = 0; i < cnt; i++) {
            threads.add(Thread.ofVirtual().name("worker \" virtual-" + i).start(runnable));
        }
    }

    static boolean isParked(Thread thread) {
        return thread.getState() == Thread.State.WAITING || thread.getState() == Thread.State.TIMED_WAITING;
    }

    public static void main(String[] args) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        lock.lock();
        start(threads, 40, Parked::takes);
        start(threads, 25, Parked::naps);
        start(threads, 3, Parked::locks);
        while (!threads.stream().allMatch(Parked::isParked)) {
            Thread.sleep(10);
        }
        Thread.ofVirtual().start(Parked::computes);
        System.out.println("pid " + ProcessHandle.current().pid());
        Thread.sleep(Long.MAX_VALUE);
    }
}
