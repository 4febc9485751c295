//! Numbers as people read them: the columns that the table on the terminal, Markdown and HTML have in common.

use halotile_lab::bench::{Row, Timing};

/// The columns after the kernel's name, as headings.
pub const HEADINGS: [&str; 9] =
    ["median ms", "min .. max", "Gcell/s", "of copy", "regs", "spill B", "occupancy", "faster", "host ms"];

/// Stands where there is no number.
const NONE: &str = "-";

/// The columns of a row that was timed, in the order of [`HEADINGS`].
pub fn columns(timing: &Timing) -> [String; 9] {
    [
        ms(timing.time.median),
        format!("{} .. {}", ms(timing.time.min), ms(timing.time.max)),
        significant(timing.cells_per_second / 1e9),
        or_none(timing.share_of_copy.map(percent)),
        or_none(timing.usage.map(|usage| usage.registers.to_string())),
        or_none(timing.usage.map(|usage| usage.spill_bytes.to_string())),
        or_none(timing.occupancy.map(percent)),
        or_none(timing.speedup.map(|times| format!("{}x", significant(times)))),
        or_none(timing.host_to_host.as_ref().map(|times| ms(times.median))),
    ]
}

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

/// "400 x 300".
pub fn shape(row: &Row) -> String {
    format!("{} x {}", row.rows, row.cols)
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
