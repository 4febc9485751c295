//! Numbers as people read them, in tables and charts.

use halotile_lab::bench::{Times, Unit};

/// Stands where there is no number.
const NONE: &str = "-";

/// What stands in a column that may have no number.
pub fn or_none(text: Option<String>) -> String {
    text.unwrap_or_else(|| NONE.to_owned())
}

/// Seconds as milliseconds.
pub fn ms(seconds: f64) -> String {
    significant(seconds * 1e3)
}

/// A share as a percentage: "43 %", "2.1 %".
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        // 0.0 % would say that it is none.
        p if p > 0.0 && p < 0.1 => format!("{} %", significant(p)),
        p if p < 10.0 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

/// Three significant digits or, of large numbers, all before the point.
pub fn significant(value: f64) -> String {
    let digits = if value > 0.0 { (2 - value.log10().floor() as i32).clamp(0, 9) as usize } else { 0 };
    format!("{value:.digits$}")
}

/// An amount a second.
pub fn rate(unit: Unit, per_second: f64) -> String {
    let (scale, name) = match unit {
        Unit::Cells => (1e9, "Gcell/s"),
        Unit::Relaxations => (1e9, "Grelax/s"),
        Unit::Bytes | Unit::Transferred => (1e9, "GB/s"),
        Unit::Flops => (1e9, "Gflop/s"),
        Unit::Accesses => (1e9, "Gacc/s"),
        Unit::Operations => (1e9, "Gop/s"),
        Unit::Launches => (1e3, "k/s"),
        Unit::Clocks => (1e9, "GHz"),
    };
    format!("{} {name}", significant(per_second / scale))
}

/// From the shortest to the longest, in ms.
pub fn range(times: &Times) -> String {
    format!("{} .. {}", ms(times.min), ms(times.max))
}

/// The median in ms, where there are times.
pub fn median_ms(times: Option<&Times>) -> String {
    or_none(times.map(|times| ms(times.median)))
}

/// "1.23x", where it is known.
pub fn times_as_fast(speedup: Option<f64>) -> String {
    or_none(speedup.map(|times| format!("{}x", significant(times))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_significant_digits() {
        for (value, text) in [
            (0.2875, "0.287"),
            (365.2, "365"),
            (12.34, "12.3"),
            (1.0, "1.00"),
            (54321.6, "54322"),
            (0.000123, "0.000123"),
            (0.0, "0"),
        ] {
            assert_eq!(significant(value), text);
        }
        assert_eq!(
            (percent(0.4329).as_str(), percent(0.021).as_str(), percent(1.2).as_str()),
            ("43 %", "2.1 %", "120 %")
        );
        assert_eq!(percent(0.000123), "0.0123 %");
        assert_eq!(ms(0.00028), "0.280");
    }
}
