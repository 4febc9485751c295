//! Divergence (`divergence`): branches that take the lanes of a warp up to 32 ways, and the same branches taking whole warps.
//!
//! The oracle: what each thread's path makes of its number, in integers.

use std::sync::Arc;

use halotile_lab_kernels::primer::divergence::{
    DIVERGENCE_PATHS, DIVERGENCE_ROUND, DIVERGENCE_THREADS, primer_divergence, step_of,
};
use simt::launch::{KernelEntry, LaunchConfig};

use super::data::{Elements, random};
use super::{Ask, Case, Run, Topic, Work};
use halotile::exec::{Buffer, Device, DeviceError, Limits};

/// Branches by the number of ways that are taken.
pub const DIVERGENCE: Topic = Topic {
    name: "divergence",
    title: "branches: work a second against the ways that a warp's lanes go, and that warps go",
    size: "ROUNDS",
    // Twenty steps of two operations each.
    sizes: [&[[1 << 10, 0, 0]], &[[3, 0, 0]]],
    elements: &[Elements::U32],
    rungs: || vec!["divergence"],
    cases: |ask| branchings(ask).map(|branching| Box::new(branching) as Box<dyn Case>).collect(),
};

/// Paths that are taken.
const PATHS: [u32; 6] = [1, 2, 4, 8, 16, DIVERGENCE_PATHS];

/// Who goes a way.
#[derive(Debug, Clone, Copy, PartialEq)]
enum By {
    Lane,
    Warp,
}

fn branchings(ask: &Ask) -> impl Iterator<Item = Branching> + use<> {
    let (rounds, seed) = (ask.size[0] as u32, ask.seed);
    [By::Lane, By::Warp]
        .into_iter()
        .flat_map(move |by| PATHS.into_iter().map(move |paths| Branching { by, paths, rounds, seed }))
}

/// A number of paths, and who takes them.
#[derive(Debug)]
struct Branching {
    by: By,
    paths: u32,
    rounds: u32,
    seed: u64,
}

impl Branching {
    /// Threads that share a path's choice.
    fn share(&self) -> u32 {
        if self.by == By::Lane { 1 } else { 32 }
    }

    fn input(&self) -> Vec<u32> {
        (0..DIVERGENCE_THREADS as usize).map(|at| random(self.seed, at) as u32).collect()
    }

    /// What the threads of a block make of their numbers.
    fn output(&self) -> Vec<u32> {
        let through = |(thread, x)| {
            let (other, factor) = step_of(thread / self.share() % self.paths);
            (0..self.rounds * DIVERGENCE_ROUND).fold(x, |x: u32, _| (x ^ other).wrapping_mul(factor))
        };
        (0..).zip(self.input()).map(through).collect()
    }
}

impl Case for Branching {
    fn name(&self) -> &'static str {
        "divergence"
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let by = if self.by == By::Lane { "of lanes" } else { "of warps" };
        vec![("paths", self.paths.to_string()), ("by", by.to_owned())]
    }

    fn idea(&self) -> &'static str {
        match self.by {
            By::Lane => "lanes of a warp that go different ways are served one way after the other",
            By::Warp => "a warp whose lanes go the same way loses nothing",
        }
    }

    fn kernel(&self) -> Option<&'static KernelEntry> {
        Some(&primer_divergence::ENTRY)
    }

    fn work(&self, limits: &Limits) -> Work {
        let threads = f64::from(limits.multiprocessors * DIVERGENCE_THREADS);
        Work::Operations(threads * f64::from(self.rounds * DIVERGENCE_ROUND) * 2.0)
    }

    /// For any GPU there is.
    fn bytes(&self, copies: usize) -> usize {
        const MULTIPROCESSORS: usize = 256;
        copies * (MULTIPROCESSORS + 1) * DIVERGENCE_THREADS as usize * size_of::<u32>()
    }

    fn start<'a>(&'a self, device: &Arc<dyn Device>, _: usize) -> Result<Box<dyn Run + 'a>, DeviceError> {
        let blocks = device.limits().multiprocessors;
        let input = Buffer::from_slice(device, &self.input())?;
        let out = Buffer::new(device, (blocks * DIVERGENCE_THREADS) as usize * size_of::<u32>())?;
        device.fill(&out, 0xFF)?;
        Ok(Box::new(Started { case: self, device: Arc::clone(device), blocks, input, out }))
    }
}

/// One set of buffers, however many are asked for: nearly all of the time goes by without memory.
struct Started<'a> {
    case: &'a Branching,
    device: Arc<dyn Device>,
    blocks: u32,
    input: Buffer,
    out: Buffer,
}

impl Run for Started<'_> {
    fn run(&mut self) -> Result<f64, DeviceError> {
        let config = LaunchConfig::linear(self.blocks, DIVERGENCE_THREADS);
        let (input, out) = (self.input.input::<u32>(), self.out.output::<u32>());
        let args = [input, out, self.case.share().into(), self.case.paths.into(), self.case.rounds.into()];
        // SAFETY: the buffers have a block's and a launch's numbers; paths are a power of two up to 32.
        unsafe { self.device.launch(&primer_divergence::ENTRY, &config, &args) }
    }

    fn check(&mut self) -> Result<Result<String, String>, DeviceError> {
        let (got, expected) = (self.out.to_vec::<u32>()?, self.case.output());
        let wrong = (0..got.len()).find(|&thread| got[thread] != expected[thread % expected.len()]);
        Ok(match wrong {
            None => Ok("every thread's number, to the bit".to_owned()),
            Some(at) => Err(format!("thread {at} has {:#x}, not {:#x}", got[at], expected[at % expected.len()])),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halotile::exec::emulator::EmulatedDevice;

    fn all(rounds: usize) -> Vec<Branching> {
        branchings(&Ask { size: [rounds, 0, 0], elements: Elements::U32, seed: 3 }).collect()
    }

    #[test]
    fn every_thread_goes_its_own_way() {
        let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
        for rounds in [1, 2, 5] {
            for case in all(rounds) {
                let mut run = case.start(&device, 2).unwrap();
                run.run().unwrap();
                assert_eq!(run.check().unwrap(), Ok("every thread's number, to the bit".to_owned()), "{case:?}");
                assert_eq!(case.work(&device.limits()), Work::Operations((2 * 1024 * 20 * 2 * rounds) as f64));
            }
        }
    }

    #[test]
    fn paths_are_different_and_those_of_warps_are_of_whole_warps() {
        let cases = all(1);
        assert_eq!(cases.len(), 12);
        let ways: std::collections::HashSet<_> = (0..DIVERGENCE_PATHS).map(step_of).collect();
        assert_eq!(ways.len(), 32);
        // An even factor would lose bits until nothing but 0 is left.
        assert!(ways.iter().all(|(_, factor)| factor % 2 == 1));
        let [lanes, warps] = [&cases[5], &cases[11]].map(|case| {
            let same = Branching { by: case.by, paths: case.paths, rounds: 1, seed: 3 };
            (0..64).map(|thread| thread / same.share() % same.paths).collect::<Vec<_>>()
        });
        assert_eq!((lanes[..4].to_vec(), lanes[33]), (vec![0, 1, 2, 3], 1));
        assert_eq!((warps[0], warps[31], warps[32], warps[63]), (0, 0, 1, 1));
    }

    #[test]
    fn a_wrong_number_is_told() {
        let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
        let case = &all(1)[3];
        let mut run = case.start(&device, 1).unwrap();
        // Nothing has run yet.
        assert!(run.check().unwrap().unwrap_err().starts_with("thread 0 has 0xffffffff, not "));
    }
}
