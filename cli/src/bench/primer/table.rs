//! The columns of all tables, and the table on the terminal.

use halotile_lab::bench::primer::{Parameter, Record, Row, Timing, Unit};
use halotile_lab::primer::Reading;

use crate::bench::figures::{ms, or_none, percent, significant};
use crate::bench::table::{columns_of, line_of, machine};

/// The columns after the kernel's name, as headings.
pub const HEADINGS: [&str; 8] =
    ["median ms", "min .. max", "rate", "of ceiling", "faster", "wavefronts", "sectors", "also"];
/// Their widths.
const WIDTHS: [usize; 8] = [10, 18, 12, 10, 7, 10, 10, 5];
/// Room for the kernel's name and its parameters.
const LABEL: usize = 26;

/// An amount a second.
pub fn rate(unit: Unit, per_second: f64) -> String {
    match unit {
        Unit::Bytes => format!("{} GB/s", significant(per_second / 1e9)),
        Unit::Flops => format!("{} Gflop/s", significant(per_second / 1e9)),
        Unit::Accesses => format!("{} Gacc/s", significant(per_second / 1e9)),
        Unit::Transferred => format!("{} GB/s", significant(per_second / 1e9)),
        Unit::Operations => format!("{} Gop/s", significant(per_second / 1e9)),
        Unit::Launches => format!("{} k/s", significant(per_second / 1e3)),
    }
}

/// The columns of a row that was timed, in the order of [`HEADINGS`].
pub fn columns(timing: &Timing) -> [String; 8] {
    // Of loads, and of stores.
    let both = |loads: Option<f64>, stores: Option<f64>| match (loads, stores) {
        (None, None) => or_none(None),
        _ => format!("{}/{}", or_none(loads.map(significant)), or_none(stores.map(significant))),
    };
    let counted = timing.counted.unwrap_or_default();
    let reading = |reading: &Reading| format!("{} {} {}", reading.name, significant(reading.value), reading.unit);
    let readings: Vec<String> = timing.readings.iter().map(reading).collect();
    let [from_shared, to_shared] = [counted.shared_loads, counted.shared_stores].map(|of| Some(of?.per_access));
    let [from_global, to_global] = [counted.global_loads, counted.global_stores].map(|of| Some(of?.per_access));
    [
        ms(timing.time.median),
        format!("{} .. {}", ms(timing.time.min), ms(timing.time.max)),
        rate(timing.unit, timing.per_second),
        or_none(timing.share_of_ceiling.map(percent)),
        or_none(timing.speedup.map(|times| format!("{}x", significant(times)))),
        both(from_shared, to_shared),
        both(from_global, to_global),
        if readings.is_empty() { or_none(None) } else { readings.join(", ") },
    ]
}

/// A kernel and its parameters, in few letters: "reduce6 min", "offset 3", "u8 x5", "tile x32 +1".
pub fn label(row: &Row) -> String {
    // A topic of one kernel says its name in the heading.
    let kernel = (row.kernel != row.topic || row.parameters.len() == 1).then(|| row.kernel.clone());
    let of = |parameter: &Parameter| match (parameter.name.as_str(), parameter.value.as_str()) {
        (name, value) if name == row.kernel => Some(value.to_owned()),
        // One after another is all that it can be, but for one that is to be compared with more.
        ("streams", "1") => None,
        ("stride", value) => Some(format!("x{value}")),
        ("padding", "0") => None,
        ("padding", value) => Some(format!("+{value}")),
        (_, value) => Some(value.to_owned()),
    };
    kernel.into_iter().chain(row.parameters.iter().filter_map(of)).collect::<Vec<_>>().join(" ")
}

/// What all rows of a table have: "reduce, 1048576, f32".
pub fn title(row: &Row) -> String {
    let size: Vec<String> = row.size.iter().map(usize::to_string).collect();
    format!("{}, {}, {}", row.topic, size.join(" x "), row.elements)
}

/// The ceilings that are known.
pub fn ceilings(record: &Record) -> Vec<String> {
    let of = |unit| {
        let rate = rate(unit, record.ceilings.of(unit)?);
        Some(if unit == Unit::Transferred { format!("{rate} over the bus") } else { rate })
    };
    [Unit::Bytes, Unit::Flops, Unit::Accesses, Unit::Transferred].into_iter().filter_map(of).collect()
}

/// What is known before the first row.
pub fn head(record: &Record) -> String {
    let ceilings = ceilings(record);
    let device = (!ceilings.is_empty()).then(|| format!("at most {}", ceilings.join(", ")));
    machine(&record.head, (device, format!("seed {}", record.options.seed)))
}

/// The heading of a table.
pub fn heading(title: &str) -> String {
    let kernel = format!("{:LABEL$}", "kernel");
    format!("\n{title}\n{}", columns_of(&kernel, &HEADINGS.map(str::to_owned), &WIDTHS))
}

/// The line of a row.
pub fn line(row: &Row) -> String {
    line_of(&format!("{:LABEL$}", label(row)), &row.outcome, columns, &WIDTHS)
}
