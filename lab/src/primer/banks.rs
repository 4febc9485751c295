//! Banks of shared memory (`banks`): loads whose lanes lie a stride apart, of bytes, words, eight bytes, structures of two and three
//! words; and the columns of a tile, whose rows are padded or not.
//!
//! The oracle: every thread's sum of what its loads were to find, in integers.

use std::sync::Arc;

use halotile_lab_kernels::primer::banks::{
    BANKS_MASK, BANKS_ROUND, BANKS_STEPS, BANKS_THREADS, BANKS_WORDS, primer_banks_f64, primer_banks_pair,
    primer_banks_triple, primer_banks_u8, primer_banks_u32,
};
use simt::launch::{KernelEntry, LaunchConfig};

use super::data::{Elements, random};
use super::{Ask, Case, Run, Topic, Work};
use halotile::exec::{Buffer, Device, DeviceError, Limits};

/// Loads from shared memory, all 32 lanes of a warp a stride apart.
pub const BANKS: Topic = Topic {
    name: "banks",
    title: "loads from shared memory with a stride: accesses against bank conflicts",
    size: "ROUNDS",
    // Eight loads of a warp each.
    sizes: [&[[1 << 11, 0, 0]], &[[5, 0, 0]]],
    elements: &[Elements::U32],
    rungs: || vec!["banks"],
    cases: |ask| probes(ask).map(|probe| Box::new(probe) as Box<dyn Case>).collect(),
};

/// Blocks for each multiprocessor: enough to keep its shared memory busy, whether all run at once or not.
const BLOCKS: u32 = 8;

/// Blocks that fill a device.
fn blocks(limits: &Limits) -> u32 {
    limits.multiprocessors * BLOCKS
}

/// Every type with every stride, and the tile.
fn probes(ask: &Ask) -> impl Iterator<Item = Probe> + use<> {
    let (rounds, seed) = (ask.size[0] as u32, ask.seed);
    let strided = Type::STRIDED.into_iter().flat_map(|of| (1..=32).map(move |stride| (of, stride, 0)));
    let tiles = [(Type::Tile, 32, 0), (Type::Tile, 32, 1)];
    strided.chain(tiles).map(move |(of, stride, padding)| Probe { of, stride, padding, rounds, seed })
}

/// What a lane loads.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Type {
    Byte,
    Word,
    Double,
    Pair,
    Triple,
    /// Words, down the columns of a tile.
    Tile,
}

impl Type {
    const STRIDED: [Self; 5] = [Self::Byte, Self::Word, Self::Double, Self::Pair, Self::Triple];

    fn name(self) -> &'static str {
        match self {
            Self::Byte => "u8",
            Self::Word => "u32",
            Self::Double => "f64",
            Self::Pair => "2 words",
            Self::Triple => "3 words",
            Self::Tile => "tile",
        }
    }

    fn idea(self) -> &'static str {
        match self {
            Self::Byte => "lanes that read bytes of one word are served together",
            Self::Word => "as many passes as stride and 32 have common factors: an odd stride has no conflicts",
            Self::Double => "half-warps are served one after the other: two passes at best",
            Self::Pair => "two loads, each of every second bank: two-way conflicts at best",
            Self::Triple => "three loads, and 3 is odd: no conflicts",
            Self::Tile => "a column lies in one bank, unless a word of padding shifts each row by a bank",
        }
    }

    fn kernel(self) -> &'static KernelEntry {
        match self {
            Self::Byte => &primer_banks_u8::ENTRY,
            Self::Word | Self::Tile => &primer_banks_u32::ENTRY,
            Self::Double => &primer_banks_f64::ENTRY,
            Self::Pair => &primer_banks_pair::ENTRY,
            Self::Triple => &primer_banks_triple::ENTRY,
        }
    }

    /// Words of an element, which is also its loads but for [`Double`](Self::Double).
    fn words(self) -> usize {
        match self {
            Self::Byte | Self::Word | Self::Tile => 1,
            Self::Double | Self::Pair => 2,
            Self::Triple => 3,
        }
    }

    fn loads(self) -> usize {
        if self == Self::Double { 1 } else { self.words() }
    }

    /// What the kernel adds to its sum for element `at`.
    fn sum(self, words: &[u32], at: usize) -> u32 {
        match self {
            Self::Byte => u32::from(words[at / 4].to_le_bytes()[at % 4]),
            _ => words[at * self.words()..][..self.words()].iter().fold(0, |sum, &word| sum.wrapping_add(word)),
        }
    }
}

/// A stride, and a type.
#[derive(Debug)]
struct Probe {
    of: Type,
    stride: u32,
    padding: u32,
    rounds: u32,
    seed: u64,
}

impl Probe {
    /// Elements from lane to lane.
    fn elements(&self) -> u32 {
        self.stride + self.padding
    }

    /// Loads of a lane.
    fn loads(&self) -> usize {
        self.rounds as usize * BANKS_ROUND as usize
    }

    fn words(&self) -> Vec<u32> {
        (0..BANKS_WORDS as usize).map(|at| random(self.seed, at) as u32).collect()
    }

    /// The sum of every lane of a warp.
    fn sums(&self) -> [u32; 32] {
        let (words, steps) = (self.words(), BANKS_STEPS as usize);
        // Words by which the lanes move on from load to load; a byte's lane goes on to the same byte of the next word.
        let step = if self.of == Type::Byte { 4 } else { 1 };
        std::array::from_fn(|lane| {
            let load = |i| self.of.sum(&words, self.elements() as usize * lane + i % steps * step);
            (0..self.loads()).map(load).fold(0, u32::wrapping_add)
        })
    }
}

impl Case for Probe {
    fn name(&self) -> &'static str {
        "banks"
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let Self { of, stride, padding, .. } = self;
        vec![("type", of.name().to_owned()), ("stride", stride.to_string()), ("padding", padding.to_string())]
    }

    fn idea(&self) -> &'static str {
        self.of.idea()
    }

    fn kernel(&self) -> Option<&'static KernelEntry> {
        Some(self.of.kernel())
    }

    fn work(&self, limits: &Limits) -> Work {
        let warps = f64::from(blocks(limits) * BANKS_THREADS / 32);
        Work::Accesses(warps * (self.loads() * self.of.loads()) as f64)
    }

    /// For any GPU there is.
    fn bytes(&self, copies: usize) -> usize {
        const MULTIPROCESSORS: u32 = 256;
        copies * ((BANKS_WORDS + MULTIPROCESSORS * BLOCKS * BANKS_THREADS) as usize) * size_of::<u32>()
    }

    fn start<'a>(&'a self, device: &Arc<dyn Device>, _: usize) -> Result<Box<dyn Run + 'a>, DeviceError> {
        let threads = (blocks(&device.limits()) * BANKS_THREADS) as usize;
        let words = Buffer::from_slice(device, &self.words())?;
        let sums = Buffer::new(device, threads * size_of::<u32>())?;
        device.fill(&sums, 0xFF)?;
        Ok(Box::new(Started { case: self, device: Arc::clone(device), words, sums, threads }))
    }
}

/// One set of buffers, however many are asked for: nearly all loads are from shared memory.
struct Started<'a> {
    case: &'a Probe,
    device: Arc<dyn Device>,
    words: Buffer,
    sums: Buffer,
    threads: usize,
}

impl Run for Started<'_> {
    fn run(&mut self) -> Result<f64, DeviceError> {
        let config = LaunchConfig::linear(self.threads as u32 / BANKS_THREADS, BANKS_THREADS);
        // In what the kernel loads: words of structures.
        let pitch = self.case.elements() * self.case.of.loads() as u32;
        let args = [
            self.words.input::<u32>(),
            self.sums.output::<u32>(),
            pitch.into(),
            self.case.rounds.into(),
            BANKS_MASK.into(),
        ];
        // SAFETY: `words` has BANKS_WORDS words and `sums` one for each thread; strides are at most 32 and padding, 33.
        unsafe { self.device.launch(self.case.of.kernel(), &config, &args) }
    }

    fn check(&mut self) -> Result<Result<String, String>, DeviceError> {
        let expected = self.case.sums();
        let got: Vec<u32> = self.sums.to_vec()?;
        let wrong = (0..got.len()).find(|&thread| got[thread] != expected[thread % 32]);
        Ok(match wrong {
            None => Ok("every thread's sum, to the bit".to_owned()),
            Some(at) => Err(format!("the sum of thread {at} is {:#x}, not {:#x}", got[at], expected[at % 32])),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primer::{Wavefronts, predict};
    use halotile::exec::emulator::EmulatedDevice;

    fn gcd(a: u32, b: u32) -> u32 {
        if b == 0 { a } else { gcd(b, a % b) }
    }

    fn all(rounds: usize) -> impl Iterator<Item = Probe> {
        probes(&Ask { size: [rounds, 0, 0], elements: Elements::U32, seed: 7 })
    }

    /// The passes that bytes `step` apart take, by the definition.
    fn defined(step: u32) -> u32 {
        let words: std::collections::HashSet<u32> = (0..32).map(|lane| lane * step / 4).collect();
        (0..32).map(|bank| words.iter().filter(|&word| word % 32 == bank).count() as u32).max().unwrap()
    }

    #[test]
    fn sums_are_those_of_the_elements() {
        let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
        for rounds in [0, 1, 3, 4, 9] {
            for case in all(rounds).filter(|case| [1, 2, 7, 32].contains(&case.stride)) {
                let mut run = case.start(&device, 3).unwrap();
                run.run().unwrap();
                assert_eq!(run.check().unwrap(), Ok("every thread's sum, to the bit".to_owned()), "{case:?}");
                let warps = 2 * 8 * 8;
                assert_eq!(
                    case.work(&device.limits()),
                    Work::Accesses((warps * 8 * rounds * case.of.loads()) as f64),
                    "{case:?}"
                );
            }
        }
    }

    #[test]
    fn a_wrong_sum_is_told() {
        let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
        let one = all(9).next().unwrap();
        // Every thread has the sum of a warp's first.
        let [words, sums] = [0; 2].map(|_| Buffer::from_slice(&device, &[one.sums()[0]; 256]).unwrap());
        let mut wrong = Started { case: &one, device, words, sums, threads: 256 };
        let told = wrong.check().unwrap().unwrap_err();
        assert!(told.starts_with("the sum of thread 1 is "), "{told}");
    }

    #[test]
    fn the_emulator_predicts_the_conflicts_that_arithmetic_does() {
        let limits = EmulatedDevice::new(0, None).limits();
        for case in all(BANKS.sizes[1][0][0]) {
            let stride = case.elements();
            let (passes, least) = match case.of {
                Type::Byte => (defined(stride), 1),
                Type::Word | Type::Tile => (gcd(stride, 32), 1),
                Type::Double => (2 * gcd(stride, 16), 2),
                Type::Pair => (gcd(2 * stride, 32), 1),
                Type::Triple => (gcd(3 * stride, 32), 1),
            };
            let counted = predict(&case).unwrap();
            let Wavefronts { per_access, conflicts_per_access, most, accesses } = counted.shared_loads.unwrap();
            assert_eq!(most, passes, "{case:?}");
            assert_eq!(per_access, f64::from(passes), "{case:?}");
            assert_eq!(conflicts_per_access, f64::from(passes - least), "{case:?}");
            assert_eq!(Work::Accesses(accesses as f64), case.work(&limits), "{case:?}");
            assert_eq!(counted.shared_stores.unwrap().conflicts_per_access, 0.0, "{case:?}");
        }
    }

    #[test]
    fn cases_are_told_apart() {
        let mut seen: Vec<_> = all(1).map(|case| case.parameters()).collect();
        assert_eq!(seen.len(), 5 * 32 + 2);
        assert_eq!(seen[161].iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>(), ["tile", "32", "1"]);
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 5 * 32 + 2);
    }
}
