//! The chapter's example of a kernel that times itself: each block finds the least of 512 numbers, and stores the clocks at its start
//! and end.
//!
//! ```text
//! block             median of end - start over blocks, in cycles of its multiprocessor
//! span              max(end) - min(start) over blocks, by the clock of nanoseconds
//! span by cycles    the same by cycles, as in the chapter, if it can be
//! ```
//!
//! The chapter subtracts cycles of one multiprocessor from those of another. Nothing promises that they began to count together: where they did
//! not, the difference is anything. So it is told only where it agrees with the other clock.
//!
//! In the chapter all blocks read the same 512 numbers. Here each has its own, so that a block that takes another's is found out; all of them
//! fit in the second-level cache.

use std::sync::Arc;

use halotile_lab_kernels::primer::clock::{CLOCK_NUMBERS, CLOCK_READINGS, CLOCK_THREADS, primer_clock_minima};
use rayon::prelude::*;
use simt::launch::{KernelEntry, LaunchConfig};

use super::Samples;
use super::spin::Rate;
use crate::bench::median;
use crate::primer::data::random;
use crate::primer::{Case, Reading, Run, Work};
use halotile::exec::{Buffer, Device, DeviceError, Limits};

/// The chapter's numbers of blocks, and those that fill a device.
pub(super) fn cases(seed: u64) -> impl Iterator<Item = Minima> {
    let chapter = [1, 8, 16, 32, 64].map(Blocks::All);
    let full = [1, 2, 4, 8, 16, 32].map(Blocks::Each);
    chapter.into_iter().chain(full).map(move |blocks| Minima { blocks, seed })
}

/// How many blocks there are.
#[derive(Debug, Clone, Copy)]
enum Blocks {
    /// So many.
    All(u32),
    /// So many for each multiprocessor.
    Each(u32),
}

/// The least numbers of blocks.
#[derive(Debug)]
pub(super) struct Minima {
    blocks: Blocks,
    seed: u64,
}

/// Blocks for each multiprocessor in the largest case.
const MOST: u32 = 32;
/// For the time that a rate is measured over: far more than any clock's step.
const NANOSECONDS: u64 = 100_000;

impl Minima {
    fn blocks(&self, limits: &Limits) -> u32 {
        match self.blocks {
            Blocks::All(blocks) => blocks,
            Blocks::Each(blocks) => blocks * limits.multiprocessors,
        }
    }

    fn number(&self, at: usize) -> f32 {
        (random(self.seed, at) >> 40) as f32
    }

    fn minimum(&self, block: usize) -> f32 {
        let first = block * CLOCK_NUMBERS as usize;
        (first..first + CLOCK_NUMBERS as usize).map(|at| self.number(at)).fold(f32::INFINITY, f32::min)
    }
}

impl Case for Minima {
    fn name(&self) -> &'static str {
        "minima"
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let blocks = match self.blocks {
            Blocks::All(1) => "1 block".to_owned(),
            Blocks::All(blocks) => format!("{blocks} blocks"),
            Blocks::Each(blocks) => format!("{blocks} an SM"),
        };
        vec![("of", blocks)]
    }

    fn idea(&self) -> &'static str {
        match self.blocks {
            Blocks::All(_) => {
                "the chapter's numbers of blocks: on fewer than there are multiprocessors (SMs), all end together"
            }
            Blocks::Each(_) => {
                "blocks share a multiprocessor: each takes longer, and from 9 on some wait for others to end"
            }
        }
    }

    fn kernel(&self) -> Option<&'static KernelEntry> {
        Some(&primer_clock_minima::ENTRY)
    }

    fn work(&self, _: &Limits) -> Work {
        Work::Launches(1.0)
    }

    /// For any GPU there is.
    fn bytes(&self, copies: usize) -> usize {
        const MULTIPROCESSORS: u32 = 256;
        let blocks = (MOST * MULTIPROCESSORS) as usize;
        copies * blocks * ((CLOCK_NUMBERS as usize + 1) * size_of::<f32>() + CLOCK_READINGS * size_of::<u64>())
    }

    fn start<'a>(&'a self, device: &Arc<dyn Device>, _: usize) -> Result<Box<dyn Run + 'a>, DeviceError> {
        let blocks = self.blocks(&device.limits());
        let numbers: Vec<f32> =
            (0..(blocks * CLOCK_NUMBERS) as usize).into_par_iter().map(|at| self.number(at)).collect();
        let input = Buffer::from_slice(device, &numbers)?;
        let minima = Buffer::new(device, blocks as usize * size_of::<f32>())?;
        let clocks = Buffer::new(device, blocks as usize * CLOCK_READINGS * size_of::<u64>())?;
        device.fill(&minima, 0xFF)?;
        device.fill(&clocks, 0xFF)?;
        let rate = Rate::measure(device, NANOSECONDS)?;
        let samples = Samples::default();
        Ok(Box::new(Started { case: self, device: Arc::clone(device), blocks, input, minima, clocks, rate, samples }))
    }
}

/// One set of buffers, however many are asked for: it is about what runs beside what, not about memory.
struct Started<'a> {
    case: &'a Minima,
    device: Arc<dyn Device>,
    blocks: u32,
    input: Buffer,
    minima: Buffer,
    clocks: Buffer,
    rate: Rate,
    samples: Samples,
}

impl Started<'_> {
    /// The clocks of each block.
    fn clocks(&self) -> Result<Vec<Readings>, DeviceError> {
        Ok(self.clocks.to_vec::<u64>()?.as_chunks().0.iter().copied().map(Readings).collect())
    }
}

impl Run for Started<'_> {
    fn run(&mut self) -> Result<f64, DeviceError> {
        let config = LaunchConfig::linear(self.blocks, CLOCK_THREADS);
        let args = [self.input.input::<f32>(), self.minima.output::<f32>(), self.clocks.output::<u64>()];
        // SAFETY: the buffers were made for that many blocks.
        let seconds = unsafe { self.device.launch(&primer_clock_minima::ENTRY, &config, &args) }?;
        let clocks = self.clocks()?;
        let cycles: Vec<f64> = clocks.iter().map(|block| block.cycles() as f64).collect();
        self.samples.note("grid", f64::from(self.blocks), "blocks");
        self.samples.note("block", median(&cycles), "cycles");
        let span = span(&clocks, Readings::nanoseconds_at);
        self.samples.note("span", span as f64, "ns");
        if let Some(cycles) = plausible(&clocks, span, &self.rate) {
            self.samples.note("span by cycles", cycles as f64, "cycles");
        }
        Ok(seconds)
    }

    fn check(&mut self) -> Result<Result<String, String>, DeviceError> {
        let (minima, clocks): (Vec<f32>, _) = (self.minima.to_vec()?, self.clocks()?);
        let wrong = (0..minima.len()).find(|&block| minima[block] != self.case.minimum(block));
        Ok(match (wrong, clocks.iter().position(|clocks| !clocks.in_order())) {
            (None, None) => Ok("every block's minimum, exactly; that it ended after it began".to_owned()),
            (Some(block), _) => {
                let expected = self.case.minimum(block);
                Err(format!("the minimum of block {block} is {}, not {expected}", minima[block]))
            }
            (None, Some(block)) => Err(format!("block {block} did not end after it began: {:?}", clocks[block].0)),
        })
    }

    fn readings(&mut self) -> Result<Vec<Reading>, DeviceError> {
        Ok(self.samples.medians())
    }
}

/// What a block stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Readings(pub(super) [u64; CLOCK_READINGS]);

impl Readings {
    /// Start and end, in cycles.
    fn cycles_at(&self) -> (u64, u64) {
        (self.0[0], self.0[1])
    }

    /// Start and end, in nanoseconds.
    fn nanoseconds_at(&self) -> (u64, u64) {
        (self.0[2], self.0[3])
    }

    /// Cycles between.
    pub(super) fn cycles(&self) -> u64 {
        let (start, end) = self.cycles_at();
        end.wrapping_sub(start)
    }

    /// Nanoseconds between.
    pub(super) fn nanoseconds(&self) -> u64 {
        let (start, end) = self.nanoseconds_at();
        end.wrapping_sub(start)
    }

    /// Whether it ended after it began: by the finer clock at least a cycle.
    pub(super) fn in_order(&self) -> bool {
        self.0[1] > self.0[0] && self.0[3] >= self.0[2]
    }
}

/// From the first start to the last end of blocks, of which there is one at least.
fn span(blocks: &[Readings], at: impl Fn(&Readings) -> (u64, u64)) -> u64 {
    let first = blocks.iter().map(|block| at(block).0).min().unwrap_or(0);
    let last = blocks.iter().map(|block| at(block).1).max().unwrap_or(0);
    last.wrapping_sub(first)
}

/// The span in cycles, unless the multiprocessors' counts began at different times: if it agrees with the one in nanoseconds, up to two
/// steps of that clock (one at each end) and a tenth.
fn plausible(blocks: &[Readings], nanoseconds: u64, rate: &Rate) -> Option<u64> {
    let cycles = span(blocks, Readings::cycles_at);
    let nanoseconds = nanoseconds as f64;
    let apart = (rate.nanoseconds(cycles) - nanoseconds).abs();
    (apart <= 2.0 * rate.step + 0.1 * nanoseconds).then_some(cycles)
}

#[cfg(test)]
mod tests {
    use super::*;
    use halotile::exec::emulator::EmulatedDevice;

    const RATE: Rate = Rate { cycles_per_nanosecond: 2.0, step: 32.0 };

    #[test]
    fn minima_are_those_of_each_block_and_clocks_go_on() {
        let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
        let mut blocks_before = Vec::new();
        for case in cases(9) {
            let mut run = case.start(&device, 1).unwrap();
            run.run().unwrap();
            assert_eq!(
                run.check().unwrap(),
                Ok("every block's minimum, exactly; that it ended after it began".to_owned())
            );
            let readings = run.readings().unwrap();
            assert_eq!(readings[0].value, f64::from(case.blocks(&device.limits())));
            // In the emulator a block makes the same number of operations, whatever the others do.
            blocks_before.push(readings[1].value);
            assert!(readings[2].value >= 1.0, "{readings:?}");
        }
        assert!(blocks_before.iter().all(|&cycles| cycles == blocks_before[0]), "{blocks_before:?}");
    }

    #[test]
    fn a_wrong_minimum_and_a_wrong_clock_are_told() {
        let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
        let case = Minima { blocks: Blocks::All(8), seed: 4 };
        let started = |minima: &[f32], clocks: &[u64]| {
            let [input, minima] = [&[0.0][..], minima].map(|numbers| Buffer::from_slice(&device, numbers).unwrap());
            let clocks = Buffer::from_slice(&device, clocks).unwrap();
            let (device, samples) = (Arc::clone(&device), Samples::default());
            Started { case: &case, device, blocks: 8, input, minima, clocks, rate: RATE, samples }
        };
        let minima: Vec<f32> = (0..8).map(|block| case.minimum(block)).collect();
        let clocks = [5, 6, 7, 7].repeat(8);
        assert!(started(&minima, &clocks).check().unwrap().is_ok());

        let mut wrong = minima.clone();
        wrong[3] = -1.0;
        let told = started(&wrong, &clocks).check().unwrap().unwrap_err();
        assert_eq!(told, format!("the minimum of block 3 is -1, not {}", minima[3]));

        for (at, value) in [(4 * 2 + 1, 5), (4 * 2 + 3, 6), (4 * 2, u64::MAX)] {
            let mut wrong = clocks.clone();
            wrong[at] = value;
            let told = started(&minima, &wrong).check().unwrap().unwrap_err();
            assert!(told.starts_with("block 2 did not end after it began: ["), "{told}");
        }
    }

    #[test]
    fn cycles_of_several_multiprocessors_are_told_where_they_agree_with_the_shared_clock() {
        // 2000 cycles are 1000 ns.
        let together = [[100, 1600, 7000, 7700], [600, 2100, 7300, 8000]].map(Readings);
        assert_eq!(span(&together, Readings::nanoseconds_at), 1000);
        assert_eq!(plausible(&together, 1000, &RATE), Some(2000));
        // The second one began to count much earlier, or a little later.
        for began in [1_000_000, 700] {
            let mut apart = together;
            apart[1].0[0] += began;
            apart[1].0[1] += began;
            assert_eq!(plausible(&apart, 1000, &RATE), None);
        }
        // Steps of a microsecond hide that.
        let coarse = Rate { step: 1000.0, ..RATE };
        assert_eq!(plausible(&together, 0, &coarse), Some(2000));
    }
}
