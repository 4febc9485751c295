//! Copies at an offset (`copy`) and with a stride (`stride`): bandwidth against alignment and against gaps.
//!
//! The oracle: what was to be copied is, to the bit; what lies beside it and between is as it was.

use std::sync::Arc;

use rayon::prelude::*;

use halotile_lab_kernels::primer::copy::{COPY_THREADS, primer_copy_offset, primer_copy_stride};
use simt::launch::{KernelEntry, LaunchConfig};

use super::data::{Elements, Turns, random};
use super::{Ask, Case, Run, Topic, Work};
use halotile::exec::{Buffer, Device, DeviceError, Limits};

/// Copies of numbers that begin somewhere.
pub const COPY: Topic = Topic {
    name: "copy",
    title: "copies that begin at an offset: bandwidth against alignment",
    size: "N",
    sizes: [&[[1 << 26, 0, 0]], &[[1024, 0, 0]]],
    elements: &[Elements::F32],
    rungs: || vec!["offset"],
    cases: |ask| (0..=32).map(|offset| Copy::case(ask, Kind::Offset, offset)).collect(),
};

/// Copies of numbers that lie apart.
pub const STRIDE: Topic = Topic {
    name: "stride",
    title: "copies with gaps: bandwidth against stride",
    size: "N",
    sizes: [&[[1 << 23, 0, 0]], &[[256, 0, 0]]],
    elements: &[Elements::F32],
    rungs: || vec!["stride"],
    cases: |ask| (1..=32).map(|stride| Copy::case(ask, Kind::Stride, stride)).collect(),
};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Offset,
    Stride,
}

/// A copy of `count` numbers.
#[derive(Debug)]
struct Copy {
    kind: Kind,
    by: u32,
    count: usize,
    seed: u64,
}

impl Copy {
    fn case(ask: &Ask, kind: Kind, by: u32) -> Box<dyn Case> {
        Box::new(Self { kind, by, count: ask.size[0], seed: ask.seed })
    }

    /// Whether the number at this place is copied.
    fn copied(&self, at: usize) -> bool {
        match self.kind {
            Kind::Offset => at >= self.by as usize,
            Kind::Stride => at.is_multiple_of(self.by as usize),
        }
    }

    /// Numbers of a buffer.
    fn numbers(&self) -> usize {
        match self.kind {
            Kind::Offset => self.count + self.by as usize,
            Kind::Stride => self.count * self.by as usize,
        }
    }

    fn entry(&self) -> &'static KernelEntry {
        if self.kind == Kind::Offset { &primer_copy_offset::ENTRY } else { &primer_copy_stride::ENTRY }
    }

    fn number(&self, at: usize) -> f32 {
        (random(self.seed, at) >> 40) as f32
    }
}

impl Case for Copy {
    fn name(&self) -> &'static str {
        if self.kind == Kind::Offset { "offset" } else { "stride" }
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![(self.name(), self.by.to_string())]
    }

    fn idea(&self) -> &'static str {
        match self.kind {
            Kind::Offset => "a warp's access that does not begin a line takes a sector more",
            Kind::Stride => "what lies in the gaps is moved too",
        }
    }

    fn kernel(&self) -> Option<&'static KernelEntry> {
        Some(self.entry())
    }

    fn work(&self, _: &Limits) -> Work {
        Work::Bytes(self.count as f64 * 8.0)
    }

    fn bytes(&self, copies: usize) -> usize {
        copies * 2 * self.numbers() * size_of::<f32>()
    }

    fn start<'a>(&'a self, device: &Arc<dyn Device>, copies: usize) -> Result<Box<dyn Run + 'a>, DeviceError> {
        let numbers: Vec<f32> = (0..self.numbers()).into_par_iter().map(|at| self.number(at)).collect();
        let pair = |_| {
            let (input, out) = (Buffer::from_slice(device, &numbers)?, Buffer::new(device, self.numbers() * 4)?);
            device.fill(&out, 0xFF)?;
            Ok((input, out))
        };
        let buffers = Turns::new((0..copies).map(pair).collect::<Result<_, DeviceError>>()?);
        Ok(Box::new(Started { case: self, device: Arc::clone(device), buffers }))
    }
}

struct Started<'a> {
    case: &'a Copy,
    device: Arc<dyn Device>,
    buffers: Turns<(Buffer, Buffer)>,
}

impl Run for Started<'_> {
    fn run(&mut self) -> Result<f64, DeviceError> {
        let (input, out) = self.buffers.next();
        let count = self.case.count as u32;
        let config = LaunchConfig::linear(count.div_ceil(COPY_THREADS), COPY_THREADS);
        let args = [input.input::<f32>(), out.output::<f32>(), count.into(), self.case.by.into()];
        // SAFETY: buffers are as long as the last number's place, and there is a thread for each.
        unsafe { self.device.launch(self.case.entry(), &config, &args) }
    }

    fn check(&mut self) -> Result<Result<String, String>, DeviceError> {
        let case = self.case;
        let got: Vec<u32> = self.buffers.current().1.to_vec()?;
        let expected = |at: usize| if case.copied(at) { case.number(at).to_bits() } else { u32::MAX };
        Ok(match got.par_iter().enumerate().position_first(|(at, &got)| got != expected(at)) {
            None => Ok("every element and every gap, to the bit".to_owned()),
            Some(at) => Err(format!("element {at} is {:#x}, not {:#x}", got[at], expected(at))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halotile::exec::emulator::EmulatedDevice;

    #[test]
    fn copies_are_what_they_should_be_and_touch_nothing_else() {
        let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
        for topic in [COPY, STRIDE] {
            for count in [1, 31, 256, 257] {
                for case in (topic.cases)(&Ask { size: [count, 0, 0], elements: Elements::F32, seed: 5 }) {
                    let mut run = case.start(&device, 2).unwrap();
                    for _ in 0..2 {
                        run.run().unwrap();
                        assert!(run.check().unwrap().is_ok(), "{case:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_wrong_number_is_found() {
        let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
        let copy = Copy { kind: Kind::Stride, by: 3, count: 40, seed: 1 };
        let mut run = copy.start(&device, 1).unwrap();
        // Nothing was copied yet.
        assert!(run.check().unwrap().unwrap_err().starts_with("element 0 is 0xffffffff, not "));
    }
}
