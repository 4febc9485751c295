//! The stages on a device, put together.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use halotile_lab_kernels::primer::overlap::{OVERLAP_C, OVERLAP_STEPS, OVERLAP_THREADS, primer_overlap};
use rayon::prelude::*;
use simt::launch::LaunchConfig;

use super::{CHUNKS, Data, Overlap, Rung};
use crate::bench::median;
use crate::primer::data::random;
use crate::primer::{Reading, Run};
use halotile::exec::queue::{Readable, Source, Target, Writable, scope};
use halotile::exec::{Buffer, Device, DeviceError, HostMemory};

/// Bytes of a number.
const NUMBER: usize = size_of::<f32>();
/// Chunks are whole lines, so that no two of them share one.
const LINE: usize = 64;
/// Different numbers among the input: as many as the oracle works on.
const VALUES: usize = 4096;
/// How often a stage is timed for what is told beside.
const TIMES: usize = 5;
/// Streams of the pipeline that the kernel is to be in balance with.
const STREAMS: usize = 8;
/// Rounds of two launches whose difference tells what a round takes.
const TRIALS: [u32; 2] = [64, 128];
/// More than it takes to balance any bus; a few numbers, which take no time, would have more.
const MOST_ROUNDS: f64 = 16384.0;

/// A stage of a chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    In,
    Run,
    Out,
}

impl Stage {
    const ALL: [Self; 3] = [Self::In, Self::Run, Self::Out];
}

/// The numbers on the host and on the device, before and after.
pub(super) struct Ends {
    device: Arc<dyn Device>,
    count: usize,
    input: HostMemory,
    output: HostMemory,
    on_device: Buffer,
    results: Buffer,
}

/// One set of buffers, however many are asked for: what is in flight is larger than any cache.
pub(super) struct Started<'a> {
    case: &'a Overlap,
    ends: Ends,
    rounds: u32,
    times: Vec<f64>,
}

impl Data {
    /// The values that occur in the input.
    fn values(&self) -> Vec<f32> {
        let value = |at| (random(self.seed, at) >> 40) as f32 / (1u32 << 24) as f32;
        (0..VALUES).map(|at| (2.0 * value(at) - 1.0) * OVERLAP_C.abs()).collect()
    }

    /// Which of them is number `at`.
    fn choice(&self, at: usize) -> usize {
        (random(self.seed, VALUES + at) % VALUES as u64) as usize
    }

    /// How many rounds the kernel has to work to take as long as a copy.
    fn rounds(&self, ends: &mut Ends) -> Result<u32, DeviceError> {
        let mut balance = self.balance.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((device, rounds)) = &*balance
            && Arc::ptr_eq(device, &ends.device)
        {
            return Ok(*rounds);
        }
        let rounds = ends.balance()?;
        *balance = Some((Arc::clone(&ends.device), rounds));
        Ok(rounds)
    }
}

impl<'a> Started<'a> {
    pub(super) fn new(case: &'a Overlap, device: &Arc<dyn Device>) -> Result<Self, DeviceError> {
        let (data, bytes) = (&*case.data, case.data.count * NUMBER);
        let mut ends = Ends {
            device: Arc::clone(device),
            count: data.count,
            input: device.host_memory(bytes)?,
            output: device.host_memory(bytes)?,
            on_device: Buffer::new(device, bytes)?,
            results: Buffer::new(device, bytes)?,
        };
        let values = data.values();
        let numbers = ends.input.as_mut_slice::<f32>().par_iter_mut().with_min_len(1 << 12).enumerate();
        numbers.for_each(|(at, number)| *number = values[data.choice(at)]);
        // The results are copied before any are made.
        device.fill(&ends.results, 0xFF)?;
        let rounds = data.rounds(&mut ends)?;
        // What a rung does not do itself is done already; where it is to put its results lies something else.
        device.fill(&ends.on_device, 0xFF)?;
        device.fill(&ends.results, 0xFF)?;
        match case.rung {
            Rung::Run => ends.flow(1, 1, rounds, &[Stage::In]).map(drop)?,
            Rung::Out => ends.flow(1, 1, rounds, &[Stage::In, Stage::Run]).map(drop)?,
            _ => {}
        }
        ends.output.fill(0xFF);
        Ok(Self { case, ends, rounds, times: Vec::new() })
    }

    fn once(&mut self) -> Result<f64, DeviceError> {
        let (case, rounds, ends) = (self.case, self.rounds, &mut self.ends);
        match case.rung {
            Rung::In => ends.flow(1, 1, rounds, &[Stage::In]),
            Rung::Run => ends.flow(1, 1, rounds, &[Stage::Run]),
            Rung::Out => ends.flow(1, 1, rounds, &[Stage::Out]),
            Rung::Serial => Stage::ALL.iter().map(|&stage| ends.flow(1, 1, rounds, &[stage])).sum(),
            Rung::Streams | Rung::Pipeline => ends.flow(case.streams, case.chunks(), rounds, &Stage::ALL),
        }
    }
}

impl Ends {
    /// Has the numbers, cut in so many chunks, go through these stages on so many streams. Returns how long it took. The streams are there
    /// when the clock starts.
    fn flow(&mut self, streams: usize, chunks: usize, rounds: u32, stages: &[Stage]) -> Result<f64, DeviceError> {
        let Self { device, count, input, output, on_device, results } = self;
        let size = count.div_ceil(chunks).next_multiple_of(LINE) * NUMBER;
        let input: &[u8] = input;
        scope(device, 0, streams, |queues| {
            let start = Instant::now();
            for (i, (from, to)) in input.chunks(size).zip(output.chunks_mut(size)).enumerate() {
                let queue = &mut queues[i % streams];
                let (first, width) = (i * size, from.len());
                if stages.contains(&Stage::In) {
                    let memory = Readable::Borrowed(from);
                    queue.upload(on_device, first, width, Source { memory, pitch: width, width, rows: 1 })?;
                }
                if stages.contains(&Stage::Run) {
                    let (first, count) = ((first / NUMBER) as u64, width / NUMBER);
                    let config = LaunchConfig::linear(count.div_ceil(OVERLAP_THREADS as usize) as u32, OVERLAP_THREADS);
                    let (input, out) = (on_device.input::<f32>(), results.output::<f32>());
                    let args = [input, out, first.into(), (count as u64).into(), rounds.into()];
                    // SAFETY: the chunk is within both buffers, nothing on another queue touches it, and there is a thread for
                    // each number.
                    unsafe { queue.launch(&primer_overlap::ENTRY, &config, &args) }?;
                }
                if stages.contains(&Stage::Out) {
                    let memory = Writable::Borrowed(to);
                    queue.download(results, first, width, Target { memory, pitch: width, width, rows: 1 })?;
                }
            }
            queues.iter_mut().try_for_each(|queue| queue.wait().result)?;
            Ok(start.elapsed().as_secs_f64())
        })?
    }

    /// How many rounds the kernel has to work to take as long as the copies of the pipeline, which go both ways at once and take longer than
    /// a copy alone. At least one: in the emulator, where copies take no time, always that.
    fn balance(&mut self) -> Result<u32, DeviceError> {
        let mut typical = |streams, chunks, rounds, stages: &[Stage]| {
            let times: Vec<f64> =
                (0..TIMES).map(|_| self.flow(streams, chunks, rounds, stages)).collect::<Result<_, _>>()?;
            Ok::<f64, DeviceError>(median(&times))
        };
        let copy = typical(STREAMS, STREAMS * CHUNKS, 0, &[Stage::In, Stage::Out])?;
        let mut run = |rounds| typical(1, 1, rounds, &[Stage::Run]);
        if run(1)? >= copy {
            return Ok(1);
        }
        let [short, long] = TRIALS;
        let (first, second) = (run(short)?, run(long)?);
        let round = (second - first) / f64::from(long - short);
        let rounds = f64::from(short) + (copy - first) / round;
        tracing::debug!(copy, round, rounds, "balanced");
        // What takes no time by this clock cannot be balanced.
        Ok(if round > 0.0 { rounds.round().clamp(1.0, MOST_ROUNDS) as u32 } else { 1 })
    }
}

impl Run for Started<'_> {
    fn run(&mut self) -> Result<f64, DeviceError> {
        let seconds = self.once()?;
        self.times.push(seconds);
        Ok(seconds)
    }

    fn check(&mut self) -> Result<Result<String, String>, DeviceError> {
        let data = &self.case.data;
        let mut expected = data.values();
        if self.case.rung != Rung::In {
            let steps = self.rounds * OVERLAP_STEPS;
            expected.par_iter_mut().for_each(|x| *x = (0..steps).fold(*x, |x, _| x.mul_add(x, OVERLAP_C)));
        }
        let got: Vec<f32> = match self.case.rung {
            Rung::In => self.ends.on_device.to_vec()?,
            Rung::Run => self.ends.results.to_vec()?,
            _ => self.ends.output.as_slice().to_vec(),
        };
        let expected = |at| expected[data.choice(at)];
        let wrong = got.par_iter().enumerate().position_first(|(at, got)| got.to_bits() != expected(at).to_bits());
        Ok(match wrong {
            None => Ok("every number, to the bit".to_owned()),
            Some(at) => Err(format!("number {at} is {}, not {}", got[at], expected(at))),
        })
    }

    fn readings(&mut self) -> Result<Vec<Reading>, DeviceError> {
        let reading = |name: &str, value, unit: &str| Reading { name: name.to_owned(), value, unit: unit.to_owned() };
        if self.case.rung == Rung::Run {
            let steps = self.rounds * OVERLAP_STEPS;
            return Ok(vec![reading("multiply-adds", f64::from(steps), "a number")]);
        }
        if matches!(self.case.rung, Rung::In | Rung::Out) {
            return Ok(Vec::new());
        }
        let mut longest = 0f64;
        for stage in Stage::ALL {
            let times: Vec<f64> =
                (0..TIMES).map(|_| self.ends.flow(1, 1, self.rounds, &[stage])).collect::<Result<_, _>>()?;
            longest = longest.max(median(&times));
        }
        let own = median(&std::mem::take(&mut self.times));
        Ok(vec![reading("longest stage", longest * 1e3, "ms"), reading("over it", own / longest, "x")])
    }
}

#[cfg(test)]
mod tests {
    use super::super::{OVERLAP, overlaps};
    use super::*;
    use crate::primer::{Ask, Case, Elements, Work};
    use halotile::exec::emulator::EmulatedDevice;

    fn all(count: usize) -> impl Iterator<Item = Overlap> {
        overlaps(&Ask { size: [count, 0, 0], elements: Elements::F32, seed: 9 })
    }

    fn emulator() -> Arc<dyn Device> {
        Arc::new(EmulatedDevice::new(0, None))
    }

    #[test]
    fn every_rung_and_number_of_streams_gives_what_the_cpu_does() {
        let device = emulator();
        for count in [1, 63, 64, 65, 257, 1025, 4099] {
            for case in all(count) {
                let mut run = Started::new(&case, &device).unwrap();
                for _ in 0..2 {
                    assert!(run.run().unwrap() > 0.0, "{case:?}");
                    assert_eq!(run.check().unwrap(), Ok("every number, to the bit".to_owned()), "{case:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_missing_or_wrong_is_told() {
        let device = emulator();
        for case in all(700) {
            let mut started = Started::new(&case, &device).unwrap();
            let told = started.check().unwrap().unwrap_err();
            assert!(told.starts_with("number 0 is NaN, not "), "{case:?}: {told}");
            started.run().unwrap();
            // The last bit of number 699, wherever the rung puts it.
            let flip = |bytes: &mut [u8]| bytes[699 * NUMBER] ^= 1;
            flip(&mut started.ends.output);
            for buffer in [&started.ends.on_device, &started.ends.results] {
                let mut bytes: Vec<u8> = buffer.to_vec().unwrap();
                flip(&mut bytes);
                buffer.write(0, &bytes).unwrap();
            }
            assert!(started.check().unwrap().unwrap_err().starts_with("number 699 is "), "{case:?}");
        }
    }

    #[test]
    fn one_step_more_or_less_shows() {
        let device = emulator();
        let case = all(300).last().unwrap();
        let mut started = Started::new(&case, &device).unwrap();
        started.run().unwrap();
        started.rounds += 1;
        assert!(started.check().unwrap().is_err());
    }

    #[test]
    fn the_cases_of_a_table_work_as_long_as_each_other() {
        let device = emulator();
        let cases: Vec<Overlap> = all(200).collect();
        let rounds: Vec<u32> = cases.iter().map(|case| Started::new(case, &device).unwrap().rounds).collect();
        // Copies take an emulator no time beside its kernels.
        assert_eq!(rounds, vec![1; cases.len()]);
        *cases[0].data.balance.lock().unwrap() = Some((Arc::clone(&device), 3));
        assert!(cases.iter().all(|case| Started::new(case, &device).unwrap().rounds == 3));
        // Another device is another balance.
        assert_eq!(Started::new(&cases[1], &emulator()).unwrap().rounds, 1);
    }

    #[test]
    fn ways_to_put_stages_together_tell_how_far_they_are_from_the_longest() {
        let device = emulator();
        for case in all(300) {
            let mut started = Started::new(&case, &device).unwrap();
            started.run().unwrap();
            let readings = started.readings().unwrap();
            let names: Vec<&str> = readings.iter().map(|reading| reading.name.as_str()).collect();
            let expected: &[&str] = match case.rung {
                Rung::In | Rung::Out => &[],
                Rung::Run => &["multiply-adds"],
                _ => &["longest stage", "over it"],
            };
            assert_eq!(names, expected, "{case:?}");
            assert!(readings.iter().all(|reading| reading.value > 0.0));
        }
    }

    #[test]
    fn chunks_are_as_many_as_streams_or_four_times_so_many() {
        let label = |case: &Overlap| (case.name(), case.streams, case.chunks());
        let ways: Vec<_> = all(1).filter(|case| case.chunks() > 1).map(|case| label(&case)).collect();
        assert_eq!(ways[..4], [("streams", 2, 2), ("streams", 4, 4), ("streams", 8, 8), ("streams", 16, 16)]);
        assert_eq!(ways[4..], [("pipeline", 2, 8), ("pipeline", 4, 16), ("pipeline", 8, 32), ("pipeline", 16, 64)]);
        let limits = emulator().limits();
        let moved: Vec<Work> = all(10).map(|case| case.work(&limits)).take(4).collect();
        let transferred = Work::Transferred;
        assert_eq!(moved, [transferred(40.0), Work::Bytes(80.0), transferred(40.0), transferred(80.0)]);
        assert!((OVERLAP.rungs)().iter().all(|rung| all(1).any(|case| case.name() == *rung)));
    }
}
