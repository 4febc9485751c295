//! `halotile generate grid`.

use std::path::PathBuf;

use clap::ValueHint;
use halotile::io::InputFormat;
use halotile_lab::generate::Pattern;

use super::{Loudness, levels_of_bytes, named, one_of};

pub(super) const GRID_HELP: &str = "\
Examples:
  halotile generate grid --rows 1000 --cols 1000 --pattern clustered --seed 42 map.png
  halotile generate grid --rows 4 --cols 4 - | halotile entropy - -
  halotile generate grid --rows 100000 --cols 100000 --co COMPRESS=ZSTD map.tif";

#[derive(Debug, clap::Args)]
pub struct GridArgs {
    /// The file to make; - is standard output
    #[arg(value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// Rows, at least 1
    #[arg(long, value_name = "N", value_parser = side)]
    pub rows: usize,
    /// Columns, at least 1
    #[arg(long, value_name = "N", value_parser = side)]
    pub cols: usize,
    /// Number of classes, 1 to 256
    #[arg(long, value_name = "N", default_value = "16", value_parser = levels_of_bytes)]
    pub levels: usize,
    /// What the grid depends on, 0 to 2^64 - 1
    #[arg(long, value_name = "N", default_value = "0")]
    pub seed: u64,
    /// random: independent cells; clustered: like a land-cover map; constant: one class
    #[arg(long, default_value = "random", value_parser = named(&Pattern::ALL.map(|p| (p.name(), p))))]
    pub pattern: Pattern,
    /// Format of OUTPUT [default: by its name's ending; seed-text for -]
    #[arg(long = "of", value_name = "FORMAT", value_parser = one_of(InputFormat::ALL, InputFormat::name))]
    pub output_format: Option<InputFormat>,
    /// How a GeoTIFF is written, in GDAL's words: COMPRESS=DEFLATE|LZW|ZSTD|NONE, ZLEVEL=1..12, ZSTD_LEVEL=1..22, PREDICTOR=1|2,
    /// TILED=YES|NO, BLOCKXSIZE=N, BLOCKYSIZE=N, BIGTIFF=YES|NO|IF_NEEDED|IF_SAFER, SPARSE_OK=YES|NO, LAYOUT=COG, OVERVIEWS=AUTO|NONE; once for each
    #[arg(long = "co", value_name = "KEY=VALUE")]
    pub creation_options: Vec<String>,
    /// Replace OUTPUT if it exists
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub loudness: Loudness,
}

pub(super) fn side(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or_else(|| "it is not a whole number of at least 1".to_owned())
}
