// SPDX-License-Identifier: GPL-2.0-or-later
// A JVM service with planted defects, one for each MODE: `java JvmDefects MODE...`. It prints "pid N", and for each line of input
// what it has counted, as JSON: every 50 ms, by the clock of recordings (System.nanoTime() is CLOCK_MONOTONIC). The report's first
// line is compared with that.
import java.io.*;
import java.lang.management.*;
import java.net.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Pattern;

public class JvmDefects {
    static final AtomicLong count = new AtomicLong(), bytes = new AtomicLong();
    static final Object shelf = new Object(), first = new Object(), second = new Object();
    static final ReentrantLock till = new ReentrantLock();
    static final List<byte[]> kept = new ArrayList<>();
    static volatile Object sink;

    interface Work { void run() throws Exception; }

    static void forever(String name, Work work) {
        Thread thread = new Thread(() -> {
            try {
                for (;;) work.run();
            } catch (EOFException e) {
                return; // its peer has ended
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        }, name);
        thread.setDaemon(true);
        if (worker == null) worker = thread;
        thread.start();
    }

    static void sleep(long ms) {
        try { Thread.sleep(ms); } catch (InterruptedException e) { throw new RuntimeException(e); }
    }

    // ---- how long threads wait ------------------------------------------------------------------

    // What a thread has waited, with a wait that still lasts.
    static final class Waits {
        static final Queue<Waits> all = new ConcurrentLinkedQueue<>();
        static final ThreadLocal<Waits> mine = ThreadLocal.withInitial(() -> {
            Waits waits = new Waits();
            all.add(waits);
            return waits;
        });
        volatile long[] state = {0, 0}; // done, and since when: 0, it does not

        static void begin() {
            Waits my = mine.get();
            my.state = new long[] {my.state[0], System.nanoTime()};
        }

        static void end() {
            Waits my = mine.get();
            my.state = new long[] {my.state[0] + System.nanoTime() - my.state[1], 0};
        }

        static long sum(long now) {
            long sum = 0;
            for (Waits waits : all) {
                long[] state = waits.state;
                sum += state[0] + (state[1] == 0 ? 0 : Math.max(0, now - state[1]));
            }
            return sum;
        }
    }

    // ---- locks ----------------------------------------------------------------------------------

    static void reserve() {
        Waits.begin();
        synchronized (shelf) {
            Waits.end();
            count.incrementAndGet();
            sleep(2);
        }
    }

    static final int WARM = 30000; // then its code is compiled: where some is interpreted stacks leave out methods

    static volatile int paid; // under the lock

    static void pay() {
        Waits.begin();
        till.lock();
        try {
            Waits.end();
            count.incrementAndGet();
            if (paid++ > WARM) sleep(2);
            else Thread.yield();
        } finally {
            till.unlock();
        }
    }

    static void transfer(Object from, Object to) {
        synchronized (from) {
            sleep(100);
            synchronized (to) { count.incrementAndGet(); }
        }
    }

    static void deadlock() {
        forever("transfer-1", () -> transfer(first, second));
        forever("transfer-2", () -> transfer(second, first));
        forever("ticker", () -> sleep(50));
    }

    // ---- the executor ---------------------------------------------------------------------------

    static String lookUp() {
        sleep(200);
        return "found";
    }

    // Each task waits for a task that needs a thread of the same pool.
    static void starve() {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        forever("clients", () -> {
            pool.submit(() -> {
                count.incrementAndGet();
                return pool.submit(JvmDefects::lookUp).get();
            });
            sleep(20);
        });
    }

    // ---- memory ---------------------------------------------------------------------------------

    static void drawPicture() {
        sink = new byte[4 << 20];
        sleep(2);
    }

    static void remember() {
        byte[] page = new byte[64 << 10];
        synchronized (kept) { kept.add(page); }
        bytes.addAndGet(page.length);
        sink = new byte[100 << 10];
        sleep(1);
    }

    // Handles that take a millisecond to close: there are more of them than its thread can close.
    static class Handle {
        byte[] buffer = new byte[4000];

        @Override
        @SuppressWarnings({"deprecation", "removal"})
        protected void finalize() {
            sleep(1);
            bytes.incrementAndGet();
        }
    }

    static void makeHandles() {
        for (int i = 0; i < 20; i++) {
            sink = new Handle();
            count.incrementAndGet();
        }
        sleep(2);
    }

    static void cleanUp() {
        System.gc();
        sleep(40);
    }

    static byte[] code;

    static class Loader extends ClassLoader {
        Class<?> define() { return defineClass("JvmDefects$Plugin", code, 0, code.length); }
    }

    public static class Plugin { public int run() { return 1; } }

    static final List<Object> plugins = new ArrayList<>();

    static void loadPlugin() throws Exception {
        plugins.add(new Loader().define().getDeclaredConstructor().newInstance());
        if (count.incrementAndGet() % 8 == 0) sleep(1);
    }

    // ---- the CPU --------------------------------------------------------------------------------

    static int parsePrice(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            count.incrementAndGet();
            return 0;
        }
    }

    static int deep(int depth, String text) { return depth == 0 ? parsePrice(text) : deep(depth - 1, text); }

    static final Pattern mail = Pattern.compile("^(([a-z])+.)+[A-Z]([a-z])+$");

    static void checkMail() {
        mail.matcher("aaaaaaaaaaaaaaaaaaaaaaaaaa").matches();
        count.incrementAndGet();
    }

    // ---- others ---------------------------------------------------------------------------------

    static void serve(ServerSocket server) throws Exception {
        for (;;) {
            Socket socket = server.accept();
            forever("database", () -> {
                int ch = socket.getInputStream().read();
                if (ch < 0) throw new EOFException();
                sleep(150);
                socket.getOutputStream().write(ch);
            });
        }
    }

    static void askDatabase(Socket socket) throws Exception {
        socket.getOutputStream().write('?');
        Waits.begin();
        socket.getInputStream().read();
        Waits.end();
        count.incrementAndGet();
    }

    // The dependency is a process of its own.
    static void slow(String port) throws Exception {
        for (int i = 0; i < 4; i++) {
            Socket socket = new Socket(InetAddress.getLoopbackAddress(), Integer.parseInt(port));
            socket.setTcpNoDelay(true);
            forever("client-" + i, () -> askDatabase(socket));
        }
    }

    // ---- a log whose writer is slow -------------------------------------------------------------

    static final ArrayBlockingQueue<Object> lines = new ArrayBlockingQueue<>(64);
    static volatile int written;

    static void log(Object line) throws InterruptedException {
        Waits.begin();
        lines.put(line);
        Waits.end();
        count.incrementAndGet();
    }

    static void logALot() throws InterruptedException {
        for (int i = 0; i < 1000; i++) log("order");
    }

    // Fast until the compiler has inlined what logs.
    static void writeLine() throws InterruptedException {
        lines.take();
        if (written > 300_000) Thread.sleep(2);
        else written++;
    }

    // ---- threads that do not end ----------------------------------------------------------------

    static void watch() {
        sleep(100_000_000);
    }

    static void addWatcher() {
        forever("watcher", JvmDefects::watch);
        count.incrementAndGet();
        sleep(20);
    }

    // ---- nothing is wrong -----------------------------------------------------------------------

    static void answer() {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        forever("clients", () -> {
            pool.submit(() -> {
                count.incrementAndGet();
                sleep(2);
            });
            sleep(10);
        });
    }

    static void compute() {
        long sum = 0;
        for (int i = 0; i < 1_000_000; i++) sum = sum * 31 + i;
        bytes.set(sum);
        count.incrementAndGet();
    }

    static void start(String mode) throws Exception {
        switch (mode) {
        case "convoy": for (int i = 0; i < 6; i++) forever("clerk-" + i, JvmDefects::reserve); break;
        case "lock":
            for (int i = 0; i < 6; i++) forever("cashier-" + i, JvmDefects::pay);
            while (paid <= WARM) sleep(5);
            break;
        case "deadlock": deadlock(); break;
        case "starved": starve(); break;
        case "appender":
            forever("writer", JvmDefects::writeLine);
            for (int i = 0; i < 6; i++) forever("app-" + i, JvmDefects::logALot);
            while (written <= 300_000) sleep(5);
            break;
        case "watchers": forever("adder", JvmDefects::addWatcher); break;
        case "humongous": forever("painter", JvmDefects::drawPicture); break;
        case "leak": forever("cache", JvmDefects::remember); break;
        case "finalizer": forever("maker", JvmDefects::makeHandles); break;
        case "systemgc": forever("janitor", JvmDefects::cleanUp); break;
        case "metaspace":
            try (InputStream in = JvmDefects.class.getResourceAsStream("JvmDefects$Plugin.class")) { code = in.readAllBytes(); }
            forever("plugins", JvmDefects::loadPlugin);
            break;
        case "exceptions": forever("importer", () -> deep(40, "12,50 EUR")); break;
        case "regex": forever("mailer", JvmDefects::checkMail); break;
        case "balanced": answer(); break;
        case "computing": forever("worker", JvmDefects::compute); break;
        case "idle": break;
        default:
            if (!mode.startsWith("slow:")) throw new IllegalArgumentException(mode);
            slow(mode.substring(5));
        }
    }

    // ---- what it counts -------------------------------------------------------------------------

    static final String[] names = {"at_ns", "count", "bytes", "waited_ns", "gcs", "classes", "cpu_ns", "work_ns"};
    static final List<long[]> sums = new ArrayList<>();

    static volatile Thread worker; // whose CPU time is told

    static long workNs() {
        return worker == null ? 0 : ManagementFactory.getThreadMXBean().getThreadCpuTime(worker.getId());
    }

    static void count() {
        long gcs = 0;
        for (GarbageCollectorMXBean gc : ManagementFactory.getGarbageCollectorMXBeans()) gcs += gc.getCollectionCount();
        long classes = ManagementFactory.getClassLoadingMXBean().getTotalLoadedClassCount();
        long cpu = ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
        long now = System.nanoTime();
        synchronized (sums) { sums.add(new long[] {now, count.get(), bytes.get(), Waits.sum(now), gcs, classes, cpu, workNs()}); }
    }

    static void keepCounting() {
        sleep(50);
        count();
    }

    static String told() {
        StringJoiner columns = new StringJoiner(", ", "{\"sums\": {", "}}");
        synchronized (sums) {
            for (int i = 0; i < names.length; i++) {
                StringJoiner column = new StringJoiner(", ", "\"" + names[i] + "\": [", "]");
                for (long[] row : sums) column.add(Long.toString(row[i]));
                columns.add(column.toString());
            }
            if (sums.size() > 1) sums.subList(0, sums.size() - 1).clear(); // from the last one on
        }
        return columns.toString();
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("database")) {
            ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
            System.out.println("port " + server.getLocalPort());
            serve(server);
        }
        for (String mode : args) start(mode);
        if (!args[0].equals("idle")) {
            count();
            forever("counter", JvmDefects::keepCounting);
        }
        System.out.println("pid " + ProcessHandle.current().pid());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        while (in.readLine() != null) System.out.println(told());
    }
}
