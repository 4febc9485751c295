//! The tensor cores' matrix product, from the lanes' fragments; `crate::mma` has their layout.

/// A lane's operands: A, B and C, in this order.
pub(super) type Fragments = [u32; 10];

/// Byte `i` of consecutive bytes in words.
fn byte(word: u32, i: usize) -> u32 {
    word >> (8 * i) & 0xFF
}

/// The result's words for each lane.
pub(super) fn multiply_add_u8(lanes: &[Fragments; 32]) -> [[u32; 4]; 32] {
    // Element k of row `row` of A is in lane 4·(row % 8) + k / 4 % 4.
    let a = |row: usize, k: usize| byte(lanes[4 * (row % 8) + k / 4 % 4][row / 8 + 2 * (k / 16)], k % 4);
    let b = |k: usize, col: usize| byte(lanes[4 * col + k / 4 % 4][4 + k / 16], k % 4);
    std::array::from_fn(|lane| {
        std::array::from_fn(|i| {
            let (row, col) = (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2);
            (0..32).fold(lanes[lane][6 + i], |sum, k| sum.wrapping_add(a(row, k) * b(k, col)))
        })
    })
}

/// The same of bits.
pub(super) fn multiply_add_b1(lanes: &[Fragments; 32]) -> [[u32; 4]; 32] {
    // A row of A and a column of B are eight words: four in each half.
    let a = |row: usize, word: usize| lanes[4 * (row % 8) + word % 4][row / 8 + 2 * (word / 4)];
    let b = |col: usize, word: usize| lanes[4 * col + word % 4][4 + word / 4];
    std::array::from_fn(|lane| {
        std::array::from_fn(|i| {
            let (row, col) = (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2);
            let common = |word: usize| (a(row, word) & b(col, word)).count_ones();
            lanes[lane][6 + i].wrapping_add((0..8).map(common).sum())
        })
    })
}
