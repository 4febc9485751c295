//! Results a clock and multiprocessor, as NVIDIA publishes them: CUDA C++ Programming Guide, "Arithmetic Instructions", the table
//! "Throughput of Native Arithmetic Instructions"; of barriers the section on synchronisation; of shared memory, that each of the 32
//! banks gives a word of 4 bytes in a clock.
//!
//! For compute capabilities 7.5, 8.0, 8.6, 8.9 and 9.0.

/// The line of the table that an instruction is in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Published {
    /// In none.
    Nowhere,
    /// Addition, multiplication and multiply-add in f16, two of which are one instruction.
    F16,
    /// The same in f32.
    F32,
    /// The same in f64.
    F64,
    /// Addition, multiplication, shift, comparison and logic of words; votes.
    Word,
    /// The lesser of a sum and a number, an instruction since 9.0.
    AddMin,
    /// Reciprocal, its square root, logarithm, exponential, sine; counting ones.
    Special,
    /// Conversions from and to types of 64 bits.
    Conversion64,
    /// Shuffles.
    Shuffle,
    /// Barriers.
    Barrier,
    /// Loads from shared memory, in which so many lanes want different words of one bank.
    Shared(u32),
}

impl Published {
    pub(super) fn per_clock(self, arch: u32) -> Option<f64> {
        let one_of = |figures: [f64; 5]| {
            let at = [75, 80, 86, 89, 90].iter().position(|&known| known == arch)?;
            Some(figures[at])
        };
        match self {
            Self::Nowhere => None,
            Self::F16 => one_of([128.0, 256.0, 128.0, 128.0, 256.0]),
            Self::F32 => one_of([64.0, 64.0, 128.0, 128.0, 128.0]),
            Self::F64 => one_of([2.0, 32.0, 2.0, 2.0, 64.0]),
            Self::Word => one_of([64.0; 5]),
            Self::AddMin => (arch == 90).then_some(64.0),
            Self::Special => one_of([16.0; 5]),
            Self::Conversion64 => one_of([2.0, 16.0, 2.0, 2.0, 16.0]),
            Self::Shuffle => one_of([32.0; 5]),
            Self::Barrier => one_of([16.0; 5]).filter(|_| arch < 90),
            Self::Shared(ways) => one_of([32.0 / f64::from(ways); 5]),
        }
    }
}
