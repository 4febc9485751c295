//! `--type`: how a GeoTIFF stores each measure.
//!
//! Without it numbers are stored as they are computed, but those of a file that has nothing but numbers of classes: they are whole, and 0 is not
//! among them, so that it is no data.

use anyhow::{Result, anyhow};
use halotile::measure::Measure;
use halotile::raster::geotiff::{CreationOptions, Stored, StoredType};

use super::bound;
use super::summary::Summary;
use crate::args::EntropyArgs;
use crate::console::Console;

/// How each measure is stored where that is not as it comes: up to the largest value that it has in windows of `cells` cells and so many `levels`.
/// Measures share a file, or have files of their own and are `apart`.
pub fn stored(
    args: &EntropyArgs,
    apart: bool,
    (levels, cells): (usize, usize),
    creation: &CreationOptions,
) -> Result<Vec<Option<Stored>>> {
    let most = levels.min(cells);
    let counts = |measure: Measure| measure == Measure::Richness;
    let all_counts = args.measures.iter().all(|&measure| counts(measure));
    let each = |&measure: &Measure| {
        let from_one = counts(measure) && (apart || all_counts);
        let Some(of) = args.stored else {
            let types =
                [StoredType::U8, StoredType::U16].into_iter().filter(|_| from_one && creation.take_whole_numbers());
            return Ok(types.filter_map(|of| Stored::from_one(of, most)).next());
        };
        let stored = match (counts(measure), from_one) {
            (true, true) => Stored::from_one(of, most),
            (true, false) => Stored::counts(of, most),
            (false, _) => Some(Stored::up_to(of, bound(args, measure, levels, cells))),
        };
        stored.map(Some).ok_or_else(|| {
            let of = of.name();
            anyhow!(
                "--type {of}: there may be {most} classes in a window, which {of} has no number for; choose u16 or f32"
            )
        })
    };
    args.measures.iter().map(each).collect()
}

/// Tells what storing costs.
pub fn tell(stored: &[Option<Stored>], args: &EntropyArgs, summary: &mut Summary, console: &Console) {
    let all: Option<Vec<Stored>> = stored.iter().copied().collect();
    if let Some(all) = &all {
        summary.stored = all.first().map(|band| band.stored_type().name());
        summary.scales = Some(all.iter().map(|band| band.scale()).collect());
    }
    for (band, measure) in stored.iter().zip(&args.measures) {
        let Some(band) = band.filter(|band| !band.stored_type().is_real()) else { continue };
        let (of, scale) = (band.stored_type().name(), band.scale());
        let steps = match (measure, args.stored) {
            (Measure::Richness, None) => "1; --type f32 would be floating point".to_owned(),
            (Measure::Richness, Some(_)) => "1".to_owned(),
            _ => format!("{scale:.3e}, at most {:.1e} off", scale / 2.0),
        };
        console.note(&format!("{}: {measure} is stored as {of} in steps of {steps}", summary.output));
    }
}
