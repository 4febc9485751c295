//! World files: six numbers that place the middle of the first cell, a line each.
//!
//! ```text
//! A    x of a step to the next column          C    x of the first cell's middle
//! D    y of a step to the next column          F    y of the first cell's middle
//! B    x of a step to the next row
//! E    y of a step to the next row             in the order A D B E C F
//! ```
//!
//! There is no signature: the name alone says that it is one. `map.tif` has `map.tfw` (first and last letter of the ending, and a
//! w), `map.tifw` or `map.wld`.

use std::path::{Path, PathBuf};

/// A text that is no world file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum WorldError {
    #[error("line {0} of the world file is not a number")]
    Number(usize),
    #[error("a world file has six numbers, and this one has {0}")]
    Count(usize),
    #[error("the world file's numbers place no cells: a step to the next column or row has no length")]
    Flat,
}

/// The names that a raster's world file may have, the likeliest first.
pub(super) fn names(path: &Path) -> Vec<PathBuf> {
    let mut endings = Vec::new();
    if let Some(ending) = path.extension().and_then(|ending| ending.to_str()) {
        let mut letters = ending.chars();
        if let (Some(first), Some(last)) = (letters.next(), letters.next_back()) {
            endings.push(format!("{first}{last}w"));
        }
        endings.push(format!("{ending}w"));
    }
    endings.push("wld".to_owned());
    let cases = endings.into_iter().flat_map(|ending| [ending.to_lowercase(), ending.to_uppercase()]);
    cases.map(|ending| path.with_extension(ending)).collect()
}

/// The transformation from (column, row) to (x, y), from the first cell's outer corner, in GDAL's order.
pub(super) fn parse(text: &str) -> Result<[f64; 6], WorldError> {
    let mut numbers = [0.0; 6];
    let mut lines = text.split_whitespace();
    for (i, number) in numbers.iter_mut().enumerate() {
        let line = lines.next().ok_or(WorldError::Count(i))?;
        // Programs in languages that write a decimal comma have made world files with it.
        let value: Option<f64> = line.parse().or_else(|_| line.replace(',', ".").parse()).ok();
        *number = value.filter(|value| value.is_finite()).ok_or(WorldError::Number(i + 1))?;
    }
    let [a, d, b, e, c, f] = numbers;
    if a * e - b * d == 0.0 {
        return Err(WorldError::Flat);
    }
    Ok([c - 0.5 * (a + b), a, b, f - 0.5 * (d + e), d, e])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_the_ending() {
        let of = |name: &str| -> Vec<String> {
            names(Path::new(name)).iter().map(|path| path.display().to_string()).collect()
        };
        assert_eq!(of("a/m.tif"), ["a/m.tfw", "a/m.TFW", "a/m.tifw", "a/m.TIFW", "a/m.wld", "a/m.WLD"]);
        assert_eq!(of("m.TIFF")[..3], ["m.tfw", "m.TFW", "m.tiffw"]);
        assert_eq!(of("map"), ["map.wld", "map.WLD"]);
        // An ending of one letter has no last one beside the first.
        assert_eq!(of("m.t")[0], "m.tw");
    }

    #[test]
    fn the_middle_of_the_first_cell_is_half_a_cell_from_its_corner() {
        assert_eq!(parse("30\n0\n0\n-30\n15\n85\n"), Ok([0.0, 30.0, 0.0, 100.0, 0.0, -30.0]));
        assert_eq!(parse("2,5 0 1 -2 10 20 and more"), Ok([8.25, 2.5, 1.0, 21.0, 0.0, -2.0]));
        assert_eq!(parse("30\n0\nx\n"), Err(WorldError::Number(3)));
        assert_eq!(parse("30 0 0 inf 0 0"), Err(WorldError::Number(4)));
        assert_eq!(parse("30 0 0"), Err(WorldError::Count(3)));
        assert_eq!(parse("0 0 0 -30 1 1"), Err(WorldError::Flat));
    }
}
