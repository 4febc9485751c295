//! The choice of a kernel: the cheapest of those that can do the work on a device, by what their descriptors say.

use std::sync::Arc;

use super::kernel::{Kernel, Own};
use super::kernels::{Candidate, Sides, Work};
use super::{BYTE_LEVELS, Error};
use crate::exec::{Device, Limits};

/// The kernel asked for, if it fits, or the best one.
pub(super) fn pick(asked: Option<Kernel>, work: &Work, device: &Arc<dyn Device>) -> Result<Own, Error> {
    let limits = device.limits();
    let Some(kernel) = asked else {
        return best(work, &limits).map_err(|reason| Error::NoKernel { device: device.name(), reason });
    };
    let misfit = |reason| Error::KernelMisfit { kernel: kernel.name(), reason };
    let own = kernel.own().ok_or_else(|| misfit("it comes from outside the library".to_owned()))?;
    self::misfit(own, work, &limits).map_or(Ok(own), |reason| Err(misfit(reason)))
}

/// The fastest kernel that fits.
fn best(work: &Work, limits: &Limits) -> Result<Own, String> {
    // The reason of the kernel that takes the largest windows is the one reported.
    let (mut best, mut why) = (None, (0, String::new()));
    for own in Kernel::ALL.iter().filter_map(|kernel| kernel.own()).filter(|own| is_candidate(*own, work)) {
        let longest = own.facts().sides.longest();
        match misfit(own, work, limits) {
            None => {
                let cost = own.cost(work);
                if best.is_none_or(|(least, _)| cost < least) {
                    best = Some((cost, own));
                }
            }
            Some(reason) if longest >= why.0 => why = (longest, reason),
            Some(_) => {}
        }
    }
    best.map(|(_, own)| own).ok_or(why.1)
}

/// What kernels do that compute measures by one sum.
const ONE_SUM: &str = "it measures Shannon's entropy, richness, Simpson's diversity, Hill's numbers 1 and 2, and evenness (with \
                       nodata in windows of up to 13 x 13, of more than 16 classes 5 x 5), of any number of valid cells around one, \
                       and nothing else";

/// Whether a kernel is chosen for such work without being asked for.
fn is_candidate(own: Own, work: &Work) -> bool {
    let asked = if work.runs.is_some() { Candidate::Windows } else { Candidate::Squares };
    let facts = own.facts();
    facts.f64 == work.f64 && (facts.candidate == asked || facts.candidate == Candidate::Both)
}

/// Why a kernel cannot do this work on such a device; `None` when it can.
pub(super) fn misfit(own: Own, work: &Work, limits: &Limits) -> Option<String> {
    let (facts, Work { size, levels, .. }) = (own.facts(), *work);
    if work.f64 != facts.f64 {
        return Some(if work.f64 { "it computes in f32" } else { "it computes in f64" }.into());
    }
    if work.words.is_some() && !facts.words {
        return Some(format!("it counts up to {BYTE_LEVELS} codes, and there are more"));
    }
    if let Some(reason) = limits.lacks_arch(facts.entry.arch) {
        return Some(reason);
    }
    match (work.runs.is_some() && !facts.measures, facts.one_sum, work.one_sum) {
        (true, false, _) => return Some("it measures Shannon's entropy in squares, and nothing else".into()),
        (true, true, None) => return Some(ONE_SUM.into()),
        _ => {}
    }
    match facts.sides {
        Sides::UpTo(most) if size > most => {
            return Some(format!("it takes windows of up to {most} x {most}, not {size} x {size}"));
        }
        Sides::Any(sides) if !sides.contains(&size) => {
            let sides: Vec<_> = sides.iter().map(|side| format!("{side} x {side}")).collect();
            return Some(format!("it takes windows of {}, not {size} x {size}", sides.join(" or ")));
        }
        _ => {}
    }
    if !work.square && !facts.shapes {
        return Some("it takes windows that are squares".into());
    }
    if levels > facts.levels {
        return Some(format!("it takes up to {} levels, and there are {levels}", facts.levels));
    }
    if work.nodata && !facts.nodata {
        return Some("it counts every cell, and there are nodata cells".into());
    }
    own.misfit(work, limits).or_else(|| limits.lacks_shared(own.shared_needed(work)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_kernel_that_fits_is_chosen() {
        let hopper = Limits {
            multiprocessors: 132,
            shared_per_block: 232_448,
            arch: 90,
            memory: 1 << 37,
            launch_cells: 1 << 27,
        };
        let turing = Limits { shared_per_block: 65_536, arch: 75, ..hopper.clone() };
        let work = |size, levels, nodata, f64| Work {
            rows: 999,
            cols: 999,
            levels,
            nodata,
            ..Work::of_sixteen_levels(size, f64)
        };
        let best = |work: &Work, limits: &Limits| super::best(work, limits).map(|own| own.kernel);
        assert_eq!(best(&work(5, 16, false, false), &hopper), Ok(Kernel::Tensor));
        assert_eq!(best(&work(5, 16, true, false), &hopper), Ok(Kernel::TensorCounted));
        assert_eq!(best(&work(3, 16, false, false), &hopper), Ok(Kernel::Tensor));
        assert_eq!(best(&work(3, 16, true, false), &hopper), Ok(Kernel::TensorCounted));
        assert_eq!(best(&work(3, 16, false, false), &turing), Ok(Kernel::Histogram));
        let flat = Work { rows: 10, cols: 1_000_000, ..work(5, 16, false, false) };
        assert_eq!(best(&flat, &hopper), Ok(Kernel::Sliding));
        assert_eq!(best(&work(5, 16, true, false), &turing), Ok(Kernel::SlidingNarrow));
        assert_eq!(best(&work(21, 16, true, false), &hopper), Ok(Kernel::BandCounted));
        assert_eq!(best(&work(31, 16, false, false), &hopper), Ok(Kernel::Band));
        assert_eq!(best(&work(33, 16, false, false), &hopper), Ok(Kernel::Columns));
        assert_eq!(best(&work(21, 16, true, false), &turing), Ok(Kernel::Columns));
        assert_eq!(best(&work(101, 16, true, false), &hopper), Ok(Kernel::Columns));
        // More than 16 classes: it depends on the map, unless that is small or the window so small that little could be gained.
        assert_eq!(best(&work(21, 17, true, false), &hopper), Ok(Kernel::BandCounted));
        assert_eq!(best(&work(13, 17, false, false), &hopper), Ok(Kernel::Adaptive));
        assert_eq!(best(&work(15, 17, false, false), &hopper), Ok(Kernel::Band));
        assert_eq!(best(&work(25, 48, false, false), &hopper), Ok(Kernel::Band));
        assert_eq!(best(&work(21, 49, true, false), &hopper), Ok(Kernel::Adaptive));
        let small = Work { rows: 99, ..work(21, 49, true, false) };
        assert_eq!(best(&small, &hopper), Ok(Kernel::Histogram));
        assert_eq!(best(&work(9, 40, false, false), &hopper), Ok(Kernel::Histogram));
        assert_eq!(best(&work(51, 17, true, false), &hopper), Ok(Kernel::Columns));
        assert_eq!(best(&work(21, 256, false, false), &hopper), Ok(Kernel::Adaptive));
        assert_eq!(best(&work(101, 16, false, false), &hopper), Ok(Kernel::Columns));
        assert_eq!(best(&work(5, 17, false, false), &hopper), Ok(Kernel::Tensor));
        assert_eq!(best(&work(3, 32, true, false), &hopper), Ok(Kernel::TensorCounted));
        assert_eq!(best(&work(5, 33, false, false), &hopper), Ok(Kernel::Histogram));
        assert_eq!(best(&work(5, 16, false, true), &hopper), Ok(Kernel::TensorF64));
        assert_eq!(best(&work(3, 16, true, true), &hopper), Ok(Kernel::TensorF64));
        assert_eq!(best(&work(7, 16, false, true), &hopper), Ok(Kernel::BandF64));
        assert_eq!(best(&work(21, 16, true, true), &hopper), Ok(Kernel::BandF64));
        assert_eq!(best(&work(255, 256, false, false), &turing), Ok(Kernel::Columns));
        let window = |f64| Work { runs: Some(5), one_sum: None, ..work(5, 16, false, f64) };
        let simpson = |size, nodata| Work { runs: Some(size), ..work(size, 16, nodata, false) };
        assert_eq!(best(&simpson(5, true), &hopper), Ok(Kernel::TensorCounted));
        assert_eq!(best(&simpson(21, false), &hopper), Ok(Kernel::Band));
        assert_eq!(best(&simpson(33, false), &hopper), Ok(Kernel::ColumnsMeasures));
        let many = |size, levels, f64| Work { levels, ..Work { f64, ..simpson(size, false) } };
        assert_eq!(best(&many(5, 17, false), &hopper), Ok(Kernel::Tensor));
        assert_eq!(best(&many(21, 48, false), &hopper), Ok(Kernel::Band));
        assert_eq!(best(&many(51, 17, false), &hopper), Ok(Kernel::ColumnsSums));
        assert_eq!(best(&many(101, 96, false), &hopper), Ok(Kernel::ColumnsSums));
        assert_eq!(best(&many(255, 256, true), &hopper), Ok(Kernel::ColumnsSumsF64));
        assert_eq!(best(&many(21, 96, false), &hopper), Ok(Kernel::Measures));
        let neither = Work { sums: false, one_sum: None, ..many(51, 17, false) };
        assert_eq!(best(&neither, &hopper), Ok(Kernel::Measures));
        assert_eq!(best(&work(21, 17, false, true), &hopper), Ok(Kernel::BandF64));
        assert_eq!(best(&work(101, 17, true, true), &hopper), Ok(Kernel::ColumnsSumsF64));
        assert_eq!(best(&work(33, 48, true, false), &hopper), Ok(Kernel::Columns));
        // One launch for each measure, or one for all.
        assert_eq!(best(&Work { one_sum: Some(3), ..simpson(21, false) }, &hopper), Ok(Kernel::Band));
        assert_eq!(best(&Work { one_sum: Some(6), ..simpson(21, false) }, &hopper), Ok(Kernel::ColumnsMeasures));
        assert_eq!(best(&window(false), &hopper), Ok(Kernel::Measures));
        // Shapes: on tensor cores that count bits, for measures from one sum.
        let disk = |size, levels| Work { square: false, levels, runs: Some(size), ..work(size, 16, true, false) };
        assert_eq!(best(&disk(5, 16), &hopper), Ok(Kernel::Footprint));
        assert_eq!(best(&disk(25, 48), &hopper), Ok(Kernel::Footprint));
        assert_eq!(best(&disk(25, 49), &hopper), Ok(Kernel::Measures));
        assert_eq!(best(&disk(51, 17), &hopper), Ok(Kernel::Footprint));
        assert_eq!(best(&Work { logs: false, ..disk(13, 17) }, &hopper), Ok(Kernel::Measures));
        assert_eq!(best(&disk(101, 16), &hopper), Ok(Kernel::Footprint));
        assert_eq!(best(&disk(195, 16), &hopper), Ok(Kernel::Measures));
        assert_eq!(best(&Work { one_sum: None, ..disk(21, 16) }, &hopper), Ok(Kernel::Measures));
        let blackwell = Limits { arch: 100, ..hopper.clone() };
        assert_eq!(best(&disk(21, 16), &blackwell), Ok(Kernel::Measures));
        assert_eq!(best(&simpson(21, false), &blackwell), Ok(Kernel::Band));
        assert_eq!(best(&window(true), &turing), Ok(Kernel::MeasuresF64));
        let only = Some("it measures Shannon's entropy in squares, and nothing else".to_owned());
        let of_squares = |own: &Own| !own.facts().measures && !own.facts().one_sum && !own.facts().f64;
        for own in Kernel::ALL.iter().filter_map(|kernel| kernel.own()).filter(of_squares) {
            assert_eq!(misfit(own, &window(false), &hopper), only, "{}", own.kernel);
        }
        let band = Kernel::Band.own().unwrap();
        assert_eq!(misfit(band, &simpson(21, false), &hopper), None);
        let why = misfit(band, &Work { one_sum: None, ..simpson(21, false) }, &hopper).unwrap();
        assert!(why.starts_with("it measures Shannon's entropy, richness, Simpson's"), "{why}");
    }
}
