//! The kernel `selftest` in the emulator: it runs without a fault and writes everything.

use std::sync::Arc;

use halotile::exec::{Device, emulator::EmulatedDevice};

#[test]
fn every_operation_runs_in_the_emulator() {
    let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
    let (output, counters) = halotile_tests::selftest::run(&device).unwrap();
    assert!(output.iter().all(|&word| word != 0xDEAD_BEEF));
    // Thread 1 of block 2: its indices, and the clocks that did not run backwards.
    let row = &output[(2 * 96 + 1) * halotile_kernels::selftest::WORDS..];
    assert_eq!((row[0], row[1], row[2], row[33]), (2 << 16 | 1, 96 << 16 | 3, 1, 3));
    // Matrix 1, row 1 of it: row 0 of the data; its element 1. The second array lies 24 bytes before the first.
    assert_eq!((row[37], row[38], row[39]), (0x0101_4259, (-24i32).cast_unsigned(), 7));
    assert_eq!((counters[2], counters[3]), (7, 9));
    assert_eq!(counters[4..], [0x89AB_CDEF, 0x0123_4567]);
}
