// SPDX-License-Identifier: GPL-2.0-or-later
import java.lang.reflect.Field;
import sun.misc.Unsafe;

/** Allocates 64 KB outside the heap every 2 ms, and says how many blocks it has. */
public class NativeLeak {
    static Unsafe unsafe;

    static long keepOne() {
        return unsafe.allocateMemory(65536);
    }

    public static void main(String[] args) throws Exception {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        unsafe = (Unsafe) field.get(null);
        for (int i = 1; ; i++) {
            if (keepOne() == 0) return;
            System.out.println("kept " + i);
            Thread.sleep(2);
        }
    }
}
