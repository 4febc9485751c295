//! The cost of a warp's access: wavefronts of shared memory (passes over its banks), sectors of global memory.
//!
//! Shared memory has 32 banks of 4 bytes, and word `w` lies in bank `w % 32`. A pass gives every bank one word, which any number of
//! lanes may read. 32 lanes of 8 bytes need 64 words: they are served a half-warp at a time, lanes of 16 bytes a quarter-warp at a
//! time. So an access takes, for each group of lanes that is served together, as many wavefronts as the bank that most of its words lie in
//! has of them; and at best one a group.
//!
//! Global memory is read and written in sectors of 32 bytes.
//!
//! Sources: CUDA C++ Programming Guide, "Shared Memory" of compute capability 5.x and after; Nsight Compute, `l1tex__data_bank_conflicts_pipe_lsu_mem_shared`:
//! the wavefronts beyond the least.

/// Banks of shared memory.
const BANKS: usize = 32;
/// Bytes of a bank's word.
const WORD: u64 = 4;
/// Bytes of a sector of global memory.
const SECTOR: u64 = 32;

/// One access of a warp: the addresses of the lanes that take part.
#[derive(Clone, Copy)]
pub(super) struct WarpAccess {
    /// The lanes that take part, as bits.
    pub lanes: u32,
    /// Their addresses in bytes.
    pub addresses: [u64; 32],
}

impl WarpAccess {
    /// No lane yet.
    pub const NONE: Self = Self { lanes: 0, addresses: [0; 32] };

    fn of(&self, lanes: std::ops::Range<usize>) -> impl Iterator<Item = u64> {
        lanes.filter(|lane| self.lanes >> lane & 1 != 0).map(|lane| self.addresses[lane])
    }

    /// Its wavefronts in shared memory, and the fewest possible for lanes of `bytes` bytes (1 to 16, a power of two).
    pub fn wavefronts(&self, bytes: u32) -> (u32, u32) {
        let words_of_lane = u64::from(bytes).div_ceil(WORD);
        let together = BANKS / words_of_lane as usize;
        let (mut wavefronts, mut ideal) = (0, 0);
        for first in (0..32).step_by(together) {
            let words = self.of(first..first + together).flat_map(|address| {
                let word = address / WORD;
                word..word + words_of_lane
            });
            let mut of_bank = [0; BANKS];
            distinct(words, |word| of_bank[word as usize % BANKS] += 1);
            let most = of_bank.into_iter().max().unwrap_or(0);
            wavefronts += most;
            ideal += most.min(1);
        }
        (wavefronts, ideal)
    }

    /// The sectors of global memory that it touches. Lanes are aligned to their size, so that each is in one.
    pub fn sectors(&self) -> u32 {
        let mut sectors = 0;
        distinct(self.of(0..32).map(|address| address / SECTOR), |_| sectors += 1);
        sectors
    }
}

/// Calls `each` with every value that occurs among these (at most 32), once.
fn distinct(values: impl Iterator<Item = u64>, each: impl FnMut(u64)) {
    let mut list = [u64::MAX; 32];
    let mut len = 0;
    for value in values {
        list[len] = value;
        len += 1;
    }
    let list = &mut list[..len];
    list.sort_unstable();
    list.chunk_by(|a, b| a == b).map(|same| same[0]).for_each(each);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(address: impl Fn(u64) -> u64) -> WarpAccess {
        WarpAccess { lanes: u32::MAX, addresses: std::array::from_fn(|lane| address(lane as u64)) }
    }

    fn gcd(a: u32, b: u32) -> u32 {
        if b == 0 { a } else { gcd(b, a % b) }
    }

    #[test]
    fn words_a_stride_apart_take_as_many_wavefronts_as_stride_and_banks_have_in_common() {
        for stride in 1..=64u32 {
            let words = access(|lane| 4 * u64::from(stride) * lane);
            assert_eq!(words.wavefronts(4), (gcd(stride, 32), 1), "stride {stride}");
        }
    }

    #[test]
    fn wide_lanes_are_served_in_groups() {
        for stride in 1..=64u32 {
            let (doubles, fours) =
                (access(|lane| 8 * u64::from(stride) * lane), access(|lane| 16 * u64::from(stride) * lane));
            assert_eq!(doubles.wavefronts(8), (2 * gcd(stride, 16), 2), "8 bytes, stride {stride}");
            assert_eq!(fours.wavefronts(16), (4 * gcd(stride, 8), 4), "16 bytes, stride {stride}");
        }
    }

    #[test]
    fn a_word_is_read_once_for_all_who_want_it() {
        assert_eq!(access(|_| 68).wavefronts(4), (1, 1));
        // Four bytes of a word, then one byte of each word, then of every second.
        assert_eq!(access(|lane| lane).wavefronts(1), (1, 1));
        assert_eq!(access(|lane| 4 * lane).wavefronts(1), (1, 1));
        assert_eq!(access(|lane| 8 * lane).wavefronts(1), (2, 1));
        assert_eq!(access(|lane| 2 * lane).wavefronts(2), (1, 1));
        // Both words of a bank, of two banks.
        assert_eq!(access(|lane| 128 * (lane % 2)).wavefronts(4), (2, 1));
    }

    #[test]
    fn lanes_that_stay_away_want_nothing() {
        let column = |lanes| WarpAccess { lanes, ..access(|lane| 128 * lane) };
        assert_eq!(column(0b1011).wavefronts(4), (3, 1));
        assert_eq!(column(0b1011).sectors(), 3);
        // The second half-warp is inactive, so nothing is served for it.
        assert_eq!(column(0xFFFF).wavefronts(8), (16, 1));
    }

    #[test]
    fn sectors_have_32_bytes() {
        assert_eq!(access(|lane| 4 * lane).sectors(), 4);
        assert_eq!(access(|lane| 4 * lane + 4).sectors(), 5);
        assert_eq!(access(|lane| 8 * lane).sectors(), 8);
        assert_eq!(access(|lane| 16 * lane).sectors(), 16);
        assert_eq!(access(|lane| 32 * lane).sectors(), 32);
        assert_eq!(access(|_| 1000).sectors(), 1);
    }
}
