//! `--type`: how a GeoTIFF stores each measure.
//!
//! Without it numbers are stored as they are computed, but those of a file that has nothing but numbers of classes: they are whole, and 0 is not
//! among them, so that it is no data.

use anyhow::{Result, anyhow};
use halotile::measure::Measure;
use halotile::raster::geotiff::{Stored, StoredType};

use super::bound;
use super::summary::Summary;
use crate::args::EntropyArgs;
use crate::console::Console;

/// How each measure is stored where that is not as it comes: up to the largest value that it has in windows of `cells` cells and so many `levels`.
/// Measures share a file, or have files of their own and are `apart`. What is said of the file may not `fit` whole numbers, which are then not
/// what is chosen by default.
pub fn stored(
    args: &EntropyArgs,
    (apart, fit): (bool, bool),
    (levels, cells): (usize, usize),
) -> Result<Vec<Option<Stored>>> {
    let most = levels.min(cells);
    let alone = apart || args.measures.iter().all(|&measure| measure == Measure::Richness);
    let counts = |of| if alone { Stored::from_one(of, most) } else { Stored::counts(of, most) };
    let each = |&measure: &Measure| match (args.stored, measure) {
        (None, Measure::Richness) if alone && fit => {
            Ok([StoredType::U8, StoredType::U16].into_iter().find_map(|of| Stored::from_one(of, most)))
        }
        (None, _) => Ok(None),
        (Some(of), Measure::Richness) => counts(of).map(Some).ok_or_else(|| {
            let larger = if counts(StoredType::U16).is_some() { "u16 or f32" } else { "f32" };
            let of = of.name();
            anyhow!(
                "--type {of}: there may be {most} classes in a window, which {of} has no number for; choose {larger}"
            )
        }),
        (Some(of), _) => Ok(Some(Stored::up_to(of, bound(args, measure, levels, cells)))),
    };
    args.measures.iter().map(each).collect()
}

/// Tells what storing costs.
pub fn tell(stored: &[Option<Stored>], args: &EntropyArgs, summary: &mut Summary, console: &Console) {
    if stored.iter().any(Option::is_some) {
        let of = |band: &Option<Stored>| band.map(|band| band.stored_type().name());
        summary.types = Some(stored.iter().map(of).collect());
        summary.scales = Some(stored.iter().map(|band| band.map(Stored::scale)).collect());
    }
    for (at, (band, measure)) in stored.iter().zip(&args.measures).enumerate() {
        let Some(band) = band.filter(|band| !band.stored_type().is_real()) else { continue };
        let (of, scale) = (band.stored_type().name(), band.scale());
        let steps = match (measure, args.stored) {
            (Measure::Richness, None) => "1, 0 where there is no data; --type f32 stores NaN there".to_owned(),
            (Measure::Richness, Some(_)) => "1".to_owned(),
            _ => format!("{scale:.3e}, at most {:.1e} off", scale / 2.0),
        };
        let file = summary.outputs.get(at).unwrap_or(&summary.output);
        console.note(&format!("{file}: {measure} is stored as {of} in steps of {steps}"));
    }
}
