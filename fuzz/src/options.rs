//! Text of options, as far as the library parses it. What has a name is parsed from that name again.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use halotile::apsp::Weight;
use halotile::apsp::files::distances::DistanceFormat;
use halotile::apsp::files::graph::GraphFormat;
use halotile::choice::Devices;
use halotile::io::reals::RealFormat;
use halotile::io::{InputFormat, Nodata, OutputFormat};
use halotile::measure::{Edge, Measure};
use halotile::raster::geotiff::CreationOptions;
use halotile_lab::generate::Pattern;

use crate::check::{one_line, value};

/// Options, a line an option.
pub fn options(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let lines: Vec<&str> = text.split('\n').take(64).collect();
    value(CreationOptions::parse(&lines));
    for line in lines {
        again::<Measure>(line);
        again::<Devices>(line);
        again::<halotile_lab::apsp::Kernel>(line);
        value(line.parse::<Nodata>());
        value(line.parse::<Edge>());
        value(line.parse::<Pattern>());
        value(line.parse::<Weight>());
        value(line.parse::<InputFormat>());
        value(line.parse::<OutputFormat>());
        value(line.parse::<RealFormat>());
        value(line.parse::<GraphFormat>());
        value(line.parse::<DistanceFormat>());
        value(CreationOptions::parse(&[line]));
        if let Some(kernel) = halotile_lab::entropy::kernel(line) {
            assert_eq!(kernel.name(), line);
        }
        let path = std::path::Path::new(line);
        let found =
            [InputFormat::detect(path).err(), OutputFormat::detect(path).err(), GraphFormat::detect(path).err()];
        found.iter().flatten().for_each(|error| one_line(error));
    }
}

/// Parses a text; what it means is shown as a text that means the same.
fn again<T: FromStr<Err: Display> + Display + PartialEq + Debug>(text: &str) {
    if let Some(meant) = value(text.parse::<T>()) {
        let shown = meant.to_string();
        assert_eq!(value(shown.parse::<T>()).as_ref(), Some(&meant), "{text:?} is shown as {shown:?}");
    }
}
