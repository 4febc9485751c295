//! The tensor cores' matrix product, from the lanes' fragments; `crate::mma` has their layout.
//!
//! Rows of A and columns of B are gathered from the fragments first. Sums are then over consecutive elements, which the compiler turns into vector
//! instructions: kernels on the tensor cores do little else, and so the emulator spends much of its time here.

/// A lane's operands: A, B and C, in this order.
pub(super) type Fragments = [u32; 10];

/// The result's words for each lane.
pub(super) fn multiply_add_u8(lanes: &[Fragments; 32]) -> [[u32; 4]; 32] {
    // 16 bits an element: products of two and their sums are instructions of their own.
    let (mut a, mut b) = ([[0i16; 32]; 16], [[0i16; 32]; 8]);
    let spread = |to: &mut [i16; 32], k: usize, word: u32| {
        for (to, byte) in to[k..k + 4].iter_mut().zip(word.to_le_bytes()) {
            *to = i16::from(byte);
        }
    };
    for (lane, words) in lanes.iter().enumerate() {
        for half in 0..2 {
            let (row, k) = (lane / 4, 16 * half + 4 * (lane % 4));
            spread(&mut a[row], k, words[2 * half]);
            spread(&mut a[row + 8], k, words[2 * half + 1]);
            spread(&mut b[row], k, words[4 + half]);
        }
    }
    let product = |row: usize, col: usize| {
        let products = a[row].iter().zip(&b[col]).map(|(&x, &y)| i32::from(x).wrapping_mul(i32::from(y)));
        products.fold(0i32, i32::wrapping_add).cast_unsigned()
    };
    accumulated(lanes, product)
}

/// The same of bits.
pub(super) fn multiply_add_b1(lanes: &[Fragments; 32]) -> [[u32; 4]; 32] {
    // 256 bits of each row and column, two words together.
    let (mut a, mut b) = ([[0u64; 4]; 16], [[0u64; 4]; 8]);
    for (lane, words) in lanes.iter().enumerate() {
        for half in 0..2 {
            let (row, pair, shift) = (lane / 4, 2 * half + lane % 4 / 2, 32 * (lane % 2));
            a[row][pair] |= u64::from(words[2 * half]) << shift;
            a[row + 8][pair] |= u64::from(words[2 * half + 1]) << shift;
            b[row][pair] |= u64::from(words[4 + half]) << shift;
        }
    }
    let common = |row: usize, col: usize| {
        let counts = a[row].iter().zip(&b[col]).map(|(x, y)| (x & y).count_ones());
        counts.fold(0, u32::wrapping_add)
    };
    accumulated(lanes, common)
}

/// The elements of C with those of the product: each lane holds two columns of two rows.
fn accumulated(lanes: &[Fragments; 32], product: impl Fn(usize, usize) -> u32) -> [[u32; 4]; 32] {
    std::array::from_fn(|lane| {
        std::array::from_fn(|i| {
            let (row, col) = (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2);
            lanes[lane][6 + i].wrapping_add(product(row, col))
        })
    })
}
