//! `--type`: how a GeoTIFF stores each measure.

use anyhow::{Result, anyhow};
use halotile::measure::Measure;
use halotile::raster::geotiff::{Stored, StoredType};

use super::bound;
use super::summary::Summary;
use crate::args::EntropyArgs;
use crate::console::Console;

/// How each measure is stored in numbers of type `of`: up to the largest value that it has in windows of `cells` cells and so many `levels`.
pub fn stored(args: &EntropyArgs, of: StoredType, levels: usize, cells: usize) -> Result<Vec<Stored>> {
    let each = |&measure: &Measure| {
        if measure != Measure::Richness {
            return Ok(Stored::up_to(of, bound(args, measure, levels, cells)));
        }
        let (of_name, most) = (of.name(), levels.min(cells));
        Stored::counts(of, most).ok_or_else(|| {
            anyhow!(
                "--type {of_name}: there may be {most} classes in a window, which {of_name} has no number for; choose u16 or f32"
            )
        })
    };
    args.measures.iter().map(each).collect()
}

/// Tells what storing costs.
pub fn tell(stored: &[Stored], args: &EntropyArgs, summary: &mut Summary, console: &Console) {
    summary.stored = stored.first().map(|band| band.stored_type().name());
    summary.scales = Some(stored.iter().map(|band| band.scale()).collect());
    for (band, measure) in stored.iter().zip(&args.measures).filter(|(band, _)| !band.stored_type().is_real()) {
        let (of, scale) = (band.stored_type().name(), band.scale());
        let steps = match measure {
            Measure::Richness => "1".to_owned(),
            _ => format!("{scale:.3e}, at most {:.1e} off", scale / 2.0),
        };
        console.note(&format!("{}: {measure} is stored as {of} in steps of {steps}", summary.output));
    }
}
