// SPDX-License-Identifier: GPL-2.0-or-later
// A JVM service with planted defects, one for each MODE: `java JvmDefects MODE`. It prints "pid N", and for each line of input
// what it counted since the line before, as JSON. The report's first line is compared with that.
import java.io.*;
import java.lang.management.*;
import java.net.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Pattern;

public class JvmDefects {
    static final AtomicLong count = new AtomicLong(), waitedNs = new AtomicLong();
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
        thread.start();
    }

    static void sleep(long ms) {
        try { Thread.sleep(ms); } catch (InterruptedException e) { throw new RuntimeException(e); }
    }

    // ---- locks ----------------------------------------------------------------------------------

    static void reserve() {
        long from = System.nanoTime();
        synchronized (shelf) {
            waitedNs.addAndGet(System.nanoTime() - from);
            count.incrementAndGet();
            sleep(2);
        }
    }

    static final int WARM = 30000; // then its code is compiled: interpreted methods have no names

    static volatile int paid; // under the lock

    static void pay() {
        long from = System.nanoTime();
        till.lock();
        try {
            waitedNs.addAndGet(System.nanoTime() - from);
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
        count.addAndGet(4 << 20);
        sleep(4);
    }

    static void remember() {
        byte[] page = new byte[64 << 10];
        synchronized (kept) { kept.add(page); }
        count.addAndGet(page.length);
        sink = new byte[100 << 10];
        sleep(1);
    }

    static void cleanUp() {
        System.gc();
        count.incrementAndGet();
        sleep(100);
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
        socket.getInputStream().read();
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

    static void start(String mode, String[] args) throws Exception {
        switch (mode) {
        case "convoy": for (int i = 0; i < 6; i++) forever("clerk-" + i, JvmDefects::reserve); break;
        case "lock":
            for (int i = 0; i < 6; i++) forever("cashier-" + i, JvmDefects::pay);
            while (paid <= WARM) sleep(5);
            break;
        case "deadlock": deadlock(); break;
        case "starved": starve(); break;
        case "humongous": forever("painter", JvmDefects::drawPicture); break;
        case "leak": forever("cache", JvmDefects::remember); break;
        case "systemgc": forever("janitor", JvmDefects::cleanUp); break;
        case "metaspace":
            try (InputStream in = JvmDefects.class.getResourceAsStream("JvmDefects$Plugin.class")) { code = in.readAllBytes(); }
            forever("plugins", JvmDefects::loadPlugin);
            break;
        case "exceptions": forever("importer", () -> deep(40, "12,50 EUR")); break;
        case "regex": forever("mailer", JvmDefects::checkMail); break;
        case "slow": slow(args[1]); break;
        case "idle": break;
        default: throw new IllegalArgumentException(mode);
        }
    }

    // ---- what it counts -------------------------------------------------------------------------

    static double cpuSeconds() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime() / 1e9;
    }

    static String told(long sinceNs, double[] before) {
        long gcs = 0, gcMs = 0;
        for (GarbageCollectorMXBean gc : ManagementFactory.getGarbageCollectorMXBeans()) {
            gcs += gc.getCollectionCount();
            gcMs += gc.getCollectionTime();
        }
        double[] now = {gcs, gcMs, cpuSeconds()};
        String text = String.format(Locale.ROOT,
            "{\"seconds\": %.3f, \"count\": %d, \"waited_s\": %.3f, \"gcs\": %.0f, \"gc_ms\": %.0f, \"cpu_s\": %.3f, \"classes\": %d}",
            (System.nanoTime() - sinceNs) / 1e9, count.getAndSet(0), waitedNs.getAndSet(0) / 1e9, now[0] - before[0], now[1] - before[1],
            now[2] - before[2], ManagementFactory.getClassLoadingMXBean().getLoadedClassCount());
        System.arraycopy(now, 0, before, 0, now.length);
        return text;
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("database")) {
            ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
            System.out.println("port " + server.getLocalPort());
            serve(server);
        }
        start(args[0], args);
        System.out.println("pid " + ProcessHandle.current().pid());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        double[] before = new double[3];
        long since = System.nanoTime();
        while (in.readLine() != null) {
            String text = told(since, before);
            since = System.nanoTime();
            System.out.println(text);
        }
    }
}
