//! Values that several commands take, checked one by one; what a value has to fit besides is for the commands to say.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use halotile::choice::{Devices, UnknownDevices};
use halotile::classes::BinRule;
use halotile::entropy::{BYTE_LEVELS, Entropy, MAX_LEVELS};
use halotile::measure::Measure;

/// A parser of one of a few names, which messages and completions list.
pub(super) fn named<T: Copy + Send + Sync + 'static>(
    values: &[(&'static str, T)],
) -> impl TypedValueParser<Value = T> + use<T> {
    let values = values.to_vec();
    let names = PossibleValuesParser::new(values.iter().map(|&(name, _)| name).collect::<Vec<_>>());
    names.try_map(move |given| {
        let found = values.iter().find(|(name, _)| name.eq_ignore_ascii_case(&given));
        found.map(|&(_, value)| value).ok_or("there is no such value")
    })
}

/// A parser of one of these by its name.
pub(super) fn one_of<T: Copy + Send + Sync + 'static>(
    values: &[T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> + use<T> {
    named(&values.iter().map(|&value| (name(value), value)).collect::<Vec<_>>())
}

/// A number, checked by the library's own rules for an [`Entropy`].
pub(super) fn checked(text: &str, set: impl Fn(Entropy, usize) -> Entropy) -> Result<usize, String> {
    let number = text.parse().map_err(|_| "it is not a whole number".to_owned())?;
    set(Entropy::new(), number).validate().map_err(|error| error.to_string())?;
    Ok(number)
}

pub(super) fn size(text: &str) -> Result<usize, String> {
    checked(text, Entropy::size)
}

pub(super) fn levels(text: &str) -> Result<usize, String> {
    checked(text, |entropy, number| entropy.levels(number))
}

/// For generators and benchmarks, whose cells are bytes.
pub(super) fn levels_of_bytes(text: &str) -> Result<usize, String> {
    match levels(text)? {
        levels @ ..=BYTE_LEVELS => Ok(levels),
        levels => Err(format!("the number of levels is from 1 to {}, not {levels}", BYTE_LEVELS)),
    }
}

pub(super) fn bins(text: &str) -> Result<usize, String> {
    let bins = text.parse().ok().filter(|n| (1..=MAX_LEVELS).contains(n));
    bins.ok_or_else(|| "the number of bins is from 1 to 65536".to_owned())
}

pub(super) fn binning() -> impl TypedValueParser<Value = BinRule> {
    named(&[("equal", BinRule::EqualWidth), ("quantile", BinRule::Quantile)])
}

pub(super) fn measure(text: &str) -> Result<Measure, String> {
    text.parse().map_err(|error: halotile::measure::UnknownMeasure| error.to_string())
}

pub(super) fn fraction(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|f| (0.0..=1.0).contains(f)).ok_or_else(|| "the fraction is from 0 to 1".to_owned())
}

/// Bytes: a number, and a unit if it is not bytes.
pub(super) fn memory(text: &str) -> Result<usize, String> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = text[..text.len() - unit.len()].parse::<f64>().ok();
    let unit = unit.trim().to_ascii_lowercase();
    let power = |letter: &str| ["", "k", "m", "g", "t"].iter().position(|known| *known == letter);
    let factor = match unit.as_str() {
        "" | "b" => Some(1.0),
        unit => match (unit.strip_suffix("ib"), unit.strip_suffix('b')) {
            (Some(letter), _) => power(letter).map(|power| 1024f64.powi(power as i32)),
            (_, Some(letter)) => power(letter).map(|power| 1000f64.powi(power as i32)),
            _ => power(unit).map(|power| 1024f64.powi(power as i32)),
        },
    };
    let bytes = number.zip(factor).map(|(number, factor)| number * factor);
    let bytes = bytes.filter(|bytes| (1.0..9e18).contains(bytes) && *bytes <= usize::MAX as f64);
    bytes.map(|bytes| bytes as usize).ok_or_else(|| "it is no size such as 512MiB, 1.5G or 2000000000".to_owned())
}

/// More threads than any machine has cores would only keep each other waiting.
pub(super) fn threads(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n <= 1024).ok_or_else(|| "the number of threads is from 0 to 1024".to_owned())
}

pub(super) fn device(text: &str) -> Result<Devices, String> {
    text.parse().map_err(|error: UnknownDevices| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_memory_have_units() {
        for (text, bytes) in [
            ("1000", 1000),
            ("512MiB", 512 << 20),
            ("1.5G", 3 << 29),
            ("2GB", 2_000_000_000),
            ("64 k", 65536),
            ("1TiB", 1 << 40),
            ("7b", 7),
        ] {
            assert_eq!(memory(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "G", "-1", "1.2.3", "5X", "5kB2", "0", "99999999999T", "nan", "inf", "1e9", "iB"] {
            assert!(memory(wrong).is_err(), "{wrong}");
        }
    }
}
