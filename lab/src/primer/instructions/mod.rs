//! Instructions (`instructions`): how many operations a multiprocessor does in a clock, and how many clocks one takes.
//!
//! A case is an instruction. A run is of the kernel for the rate, which fills every multiprocessor; what the clocks say stands beside its time:
//!
//! * `per clock`: the operations of a block over the clocks from its first warp's start to its last warp's end, the median of all
//!   blocks. It does not depend on how fast the clock runs.
//! * `latency`: the clocks from the start to the end of one warp over the instructions of its one chain, the least of three runs. Nothing is
//!   subtracted: the loop's own instructions wait beside the chain, and reading the clock twice is some 0.1 % of what is read.
//!
//! The oracle: where every chain of every thread ends, computed on the host by the definition; exactly, and for the special-function
//! unit, whose results are only near, within 2^-20 of it. Chains of those contract, so that their errors do not add up.
//!
//! | file | what |
//! |---|---|
//! | `table` | the instructions: kernels, numbers, oracles |
//! | `published` | the figures of NVIDIA's programming guide |

use std::sync::Arc;

use halotile_lab_kernels::primer::instructions::{OPS_CHAINS, OPS_ROUND, OPS_THREADS};
use rayon::prelude::*;
use simt::launch::{KernelEntry, LaunchConfig};

use super::data::Elements;
use super::{Ask, Case, Reading, Run, Topic, Work};
use crate::bench::median;
use halotile::exec::{Buffer, Device, DeviceError, Limits};

mod published;
mod table;

use table::{Instruction, Oracle, TABLE};

/// Rates and latencies of instructions.
pub const INSTRUCTIONS: Topic = Topic {
    name: "instructions",
    title: "instructions: operations a clock, and clocks until a result can be used",
    size: "ROUNDS",
    // Sixteen instructions of a chain each.
    sizes: [&[[1 << 11, 0, 0]], &[[1, 0, 0]]],
    elements: &[Elements::U32],
    rungs: || vec!["instructions"],
    cases: |ask| probes(ask).map(|probe| Box::new(probe) as Box<dyn Case>).collect(),
};

/// Threads of the warp whose latency is measured.
const WARP: u32 = 32;
/// How far from its oracle a result of the special-function unit may lie, relatively.
const NEAR: f64 = 1.0 / (1 << 20) as f64;

fn probes(ask: &Ask) -> impl Iterator<Item = Probe> + use<> {
    let (rounds, seed) = (ask.size[0] as u32, ask.seed);
    TABLE.iter().map(move |of| Probe { of, rounds: (rounds / of.slow).max(1), seed })
}

/// An instruction to measure.
#[derive(Debug)]
struct Probe {
    of: &'static Instruction,
    rounds: u32,
    seed: u64,
}

/// x and y of a warp.
type Warp = [[u64; 2]; 32];

impl Probe {
    /// Instructions of a chain.
    fn steps(&self) -> u32 {
        self.rounds * OPS_ROUND
    }

    /// Operations of `threads` threads with all chains.
    fn operations(&self, threads: u32) -> f64 {
        f64::from(threads) * OPS_CHAINS as f64 * f64::from(self.steps()) * self.of.operations
    }

    /// What the lanes of a chain begin with.
    fn starts(&self, chain: usize) -> Warp {
        std::array::from_fn(|lane| self.of.starts.of(self.seed, chain, lane))
    }

    /// Where the lanes of a chain end.
    fn ends(&self, chain: usize) -> Ends {
        let (mut warp, [a, b, c, d]) = (self.starts(chain), self.of.operands);
        let pairs = (0..self.steps() / 2).map(|i| if i % 2 == 0 { [a, b] } else { [c, d] });
        match self.of.oracle {
            Oracle::Words(step) => pairs.for_each(|[a, b]| {
                for state in &mut warp {
                    *state = step(state.map(|word| word as u32), [a as u32, b as u32]).map(u64::from);
                }
            }),
            Oracle::Wide(step) => pairs.for_each(|operands| {
                for state in &mut warp {
                    *state = step(*state, operands);
                }
            }),
            Oracle::Warp(step) => pairs.for_each(|operands| step(&mut warp, operands)),
            Oracle::Near(function) => {
                let number = |bits: u64| f64::from(f32::from_bits(bits as u32));
                let mut ends = warp.map(|[x, _]| number(x));
                pairs.for_each(|operands| {
                    let [a, b] = operands.map(number);
                    ends = ends.map(|x| function(function(x) * a + b) * a + b);
                });
                return Ends::Near(ends.to_vec());
            }
        }
        Ends::Exact(warp.to_vec())
    }
}

/// Where the lanes of a chain end.
enum Ends {
    Exact(Vec<[u64; 2]>),
    Near(Vec<f64>),
}

impl Ends {
    /// What is wrong with a lane's x and y, if anything is.
    fn refuse(&self, lane: usize, [x, y]: [u64; 2]) -> Option<String> {
        match self {
            Self::Exact(warp) => ([x, y] != warp[lane])
                .then(|| format!("{x:#x} and {y:#x}, not {:#x} and {:#x}", warp[lane][0], warp[lane][1])),
            Self::Near(warp) => {
                let (got, expected) = (f64::from(f32::from_bits(x as u32)), warp[lane]);
                let near = (got - expected).abs() <= NEAR * expected.abs();
                (!near).then(|| format!("{got}, not {expected} or within 2^-20 of it"))
            }
        }
    }
}

impl Case for Probe {
    fn name(&self) -> &'static str {
        "instructions"
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("instruction", self.of.name.to_owned()), ("of", self.of.of.to_owned())]
    }

    fn idea(&self) -> &'static str {
        self.of.idea
    }

    fn kernel(&self) -> Option<&'static KernelEntry> {
        Some(self.of.rate)
    }

    fn work(&self, limits: &Limits) -> Work {
        Work::Operations(self.operations(limits.multiprocessors * OPS_THREADS))
    }

    fn per_clock(&self, arch: u32) -> Option<f64> {
        self.of.published.per_clock(arch)
    }

    /// For any GPU there is.
    fn bytes(&self, copies: usize) -> usize {
        const MULTIPROCESSORS: usize = 256;
        copies * MULTIPROCESSORS * OPS_THREADS as usize * OPS_CHAINS * (2 * size_of::<u64>() + size_of::<u32>())
    }

    fn start<'a>(&'a self, device: &Arc<dyn Device>, _: usize) -> Result<Box<dyn Run + 'a>, DeviceError> {
        let starts: Vec<u64> = (0..OPS_CHAINS)
            .flat_map(|chain| {
                let warp = self.starts(chain);
                [0, 1].map(|of| warp.map(|state| state[of]))
            })
            .flatten()
            .collect();
        let [starts, operands] = [&starts[..], &self.of.operands].map(|words| self.of.upload(device, words));
        let blocks = device.limits().multiprocessors;
        Ok(Box::new(Started {
            case: self,
            starts: starts?,
            operands: operands?,
            rate: Launch::new(device, self.of, self.of.rate, [blocks, OPS_THREADS], OPS_CHAINS)?,
            latency: Launch::new(device, self.of, self.of.latency, [1, WARP], 1)?,
        }))
    }
}

/// A kernel, and what it writes.
struct Launch {
    device: Arc<dyn Device>,
    kernel: &'static KernelEntry,
    blocks: u32,
    threads: u32,
    chains: usize,
    ends: Buffer,
    clocks: Buffer,
    /// What it adds to in global memory, if it does.
    words: Option<Buffer>,
}

impl Launch {
    fn new(
        device: &Arc<dyn Device>,
        of: &Instruction,
        kernel: &'static KernelEntry,
        [blocks, threads]: [u32; 2],
        chains: usize,
    ) -> Result<Self, DeviceError> {
        let all = (blocks * threads) as usize;
        let ends = Buffer::new(device, 2 * all * chains * of.bytes())?;
        device.fill(&ends, 0xFF)?;
        let clocks = Buffer::new(device, 2 * all / WARP as usize * size_of::<u64>())?;
        let words = kernel.params.len() == 6;
        let words = words.then(|| Buffer::new(device, all * chains * size_of::<u32>())).transpose()?;
        Ok(Self { device: Arc::clone(device), kernel, blocks, threads, chains, ends, clocks, words })
    }

    /// Returns the seconds that it took.
    fn run(&self, case: &Probe, starts: &Buffer, operands: &Buffer) -> Result<f64, DeviceError> {
        let buffers = if case.of.wide {
            [starts.input::<u64>(), operands.input::<u64>(), self.ends.output::<u64>()]
        } else {
            [starts.input::<u32>(), operands.input::<u32>(), self.ends.output::<u32>()]
        };
        let mut args = buffers.to_vec();
        args.extend([self.clocks.output::<u64>(), case.rounds.into()]);
        if let Some(words) = &self.words {
            self.device.fill(words, 0)?;
            args.push(words.output::<u32>());
        }
        let config = LaunchConfig::linear(self.blocks, self.threads);
        // SAFETY: `starts` and `operands` are those of the instruction, as its kernel wants them; ends, clocks and words are as many as there are
        // threads and warps; blocks have the threads that the kernel is for.
        unsafe { self.device.launch(self.kernel, &config, &args) }
    }

    /// What is wrong with the last run, if anything is.
    fn check(&self, case: &Probe) -> Result<Option<String>, DeviceError> {
        let expected: Vec<Ends> = (0..self.chains).map(|chain| case.ends(chain)).collect();
        let (got, threads) = (case.of.download(&self.ends)?, (self.blocks * self.threads) as usize);
        let wrong = (0..threads * self.chains).into_par_iter().find_map_first(|at| {
            let (chain, thread) = (at / threads, at % threads);
            let state = [0, 1].map(|of| got[(2 * chain + of) * threads + thread]);
            let what = expected[chain].refuse(thread % WARP as usize, state)?;
            Some(format!("{}: chain {chain} of thread {thread} ends with {what}", self.kernel.name))
        });
        if wrong.is_some() || !case.of.common {
            return Ok(wrong);
        }
        // What all have added to the one word, modulo 2^32: each chain two operands in turn.
        let words = self.words.as_ref().map(Buffer::to_vec::<u32>).transpose()?.unwrap_or_default();
        let [a, _, c, _] = case.of.operands;
        let sum = (threads * self.chains) as u64 * u64::from(case.steps() / 2) * (a + c);
        let (got, sum) = (words.first().copied().unwrap_or_default(), sum as u32);
        Ok((got != sum).then(|| format!("{}: the word is {got:#x} in the end, not {sum:#x}", self.kernel.name)))
    }

    /// Clocks from the first warp's start to the last one's end, of each block.
    fn spans(&self) -> Result<Vec<u64>, DeviceError> {
        let clocks: Vec<u64> = self.clocks.to_vec()?;
        let span = |block: &[u64]| {
            let first = block.iter().step_by(2).min().copied().unwrap_or_default();
            let last = block.iter().skip(1).step_by(2).max().copied().unwrap_or_default();
            last.saturating_sub(first)
        };
        Ok(clocks.chunks(2 * (self.threads / WARP) as usize).map(span).collect())
    }
}

struct Started<'a> {
    case: &'a Probe,
    starts: Buffer,
    operands: Buffer,
    rate: Launch,
    latency: Launch,
}

impl Started<'_> {
    fn run_for_latency(&self) -> Result<f64, DeviceError> {
        self.latency.run(self.case, &self.starts, &self.operands)
    }
}

impl Run for Started<'_> {
    fn run(&mut self) -> Result<f64, DeviceError> {
        self.rate.run(self.case, &self.starts, &self.operands)
    }

    fn check(&mut self) -> Result<Result<String, String>, DeviceError> {
        self.run_for_latency()?;
        let wrong = match self.rate.check(self.case)? {
            None => self.latency.check(self.case)?,
            wrong => wrong,
        };
        Ok(match (wrong, &self.case.of.oracle) {
            (Some(wrong), _) => Err(wrong),
            (None, Oracle::Near(_)) => Ok("where every chain ends, within 2^-20".to_owned()),
            (None, _) => Ok("where every chain ends, to the bit".to_owned()),
        })
    }

    fn readings(&mut self) -> Result<Vec<Reading>, DeviceError> {
        let reading = |name: &str, value, unit: &str| Reading { name: name.to_owned(), value, unit: unit.to_owned() };
        let mut readings = Vec::new();
        let spans: Vec<f64> = self.rate.spans()?.into_iter().map(|span| span as f64).collect();
        let span = median(&spans);
        // The emulator's clock does not advance while a lane only computes.
        if span > 0.0 {
            readings.push(reading("per clock", self.case.operations(OPS_THREADS) / span, "/clk/SM"));
        }
        let mut least = u64::MAX;
        for _ in 0..3 {
            self.run_for_latency()?;
            least = least.min(self.latency.spans()?[0]);
        }
        if least > 0 {
            readings.push(reading("latency", least as f64 / f64::from(self.case.steps()), "clocks"));
        }
        Ok(readings)
    }
}

#[cfg(test)]
mod tests;
