//! `--type`: how a GeoTIFF stores each measure.

use anyhow::{Result, anyhow};
use halotile::measure::Measure;
use halotile::raster::geotiff::{Stored, StoredType};

use super::summary::Summary;
use crate::args::EntropyArgs;
use crate::console::Console;

/// How each measure is stored in numbers of type `of`: up to the largest value that it has in windows of `cells` cells and so many `levels`.
pub fn stored(args: &EntropyArgs, of: StoredType, levels: usize, cells: usize) -> Result<Vec<Stored>> {
    let classes = levels.min(cells);
    let each = |&measure: &Measure| {
        let bound = measure.bound(classes);
        match measure {
            Measure::Richness => Stored::counts(of, classes).ok_or_else(|| {
                let (of, most) = (of.name(), cells.min(levels));
                anyhow!("--type {of}: there may be {most} classes in a window, which {of} has no number for; choose u16 or f32")
            }),
            Measure::Shannon if args.normalize => Ok(Stored::up_to(of, bound / (levels.max(2) as f64).ln())),
            Measure::Shannon | Measure::Renyi(_) => Ok(Stored::up_to(of, bound / args.base.ln())),
            _ => Ok(Stored::up_to(of, bound)),
        }
    };
    args.measures.iter().map(each).collect()
}

/// Tells what storing costs, once.
pub fn tell(stored: &[Stored], args: &EntropyArgs, summary: &mut Summary, console: &Console) {
    if summary.scales.is_some() {
        return;
    }
    let whole = |of: StoredType| !matches!(of, StoredType::F32 | StoredType::F64);
    summary.stored = stored.first().map(|band| band.stored_type().name());
    summary.scales = Some(stored.iter().map(|band| band.scale()).collect());
    for (band, measure) in stored.iter().zip(&args.measures).filter(|(band, _)| whole(band.stored_type())) {
        let (of, scale) = (band.stored_type().name(), band.scale());
        let steps = match measure {
            Measure::Richness => "1".to_owned(),
            _ => format!("{scale:.3e}, at most {:.1e} off", scale / 2.0),
        };
        console.note(&format!("{}: {measure} is stored as {of} in steps of {steps}", summary.output));
    }
}
