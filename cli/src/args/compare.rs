//! `halotile compare`.

use std::path::PathBuf;

use clap::ValueHint;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use halotile::io::reals::RealFormat;

pub(super) const COMPARE_HELP: &str = "\
Any format of cells or of results can be compared with any other. NaN equals NaN and nothing else. Where a \
GeoTIFF has a scale, its numbers are taken by it, and its value for no data as NaN.

--json prints one object: a, b, cells, tolerance, above, unpaired_nan and largest (null when the \
files are equal, otherwise sample, row, col, a, b and difference; what is not finite is null).

Example:
  halotile compare cpu.npy gpu.npy --tolerance 1e-5";

#[derive(Debug, clap::Args)]
pub struct CompareArgs {
    /// The first file; - is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub a: PathBuf,
    /// The second file; - is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub b: PathBuf,
    /// Largest absolute difference that is none
    #[arg(long, value_name = "X", default_value = "1e-5", allow_hyphen_values = true, value_parser = tolerance)]
    pub tolerance: f64,
    /// Format of both files; given twice: of A, then of B [default: by their names' endings]
    #[arg(long = "if", value_name = "FORMAT", value_parser = real_formats())]
    pub formats: Vec<RealFormat>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

pub(super) fn real_formats() -> impl TypedValueParser<Value = RealFormat> {
    let names = ["text", "seed-lines", "npy", "geotiff", "seed-text", "seed-binary", "png", "pgm"];
    PossibleValuesParser::new(names).try_map(|name| name.parse::<RealFormat>())
}

pub(super) fn tolerance(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|&t| t >= 0.0).ok_or_else(|| "a tolerance is a number that is not negative".to_owned())
}
