//! Records of earlier schemas, read as records of this one.
//!
//! Until schema 3 each benchmark had a record of its own: schema 2 of entropy, 1 of shortest paths, of the primer and of sweeps. One struct
//! has the fields that any of them had ([`OldRow`]); what a row is of follows from those that are there. Figures are copied, not computed
//! anew: they stay what was written then.

use serde::Deserialize;
use serde_json::Value;

use super::fields::Fields;
use super::machine::Head;
use super::record::{Ceilings, Options, Outcome, Record, Row, SCHEMA, Timing, Unit, Usage};
use super::sweep::Cliff;
use super::times::Times;
use super::{AUTO, CPU_ENGINE, Effort};
use crate::primer::{Counted, Reading};

/// Why a text is no record.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is no JSON, or lacks fields.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// It says that it is something else.
    #[error(
        "schema {schema} of {what:?} is none that is known: entropy, apsp, primer and sweep are, up to schema {SCHEMA}"
    )]
    Unknown {
        /// The version.
        schema: u32,
        /// What is measured.
        what: String,
    },
}

/// What tells the schema.
#[derive(Deserialize)]
struct Kind {
    schema: u32,
    what: String,
}

impl Record {
    /// The record that a JSON text is, of this schema or of an earlier one.
    pub fn read(json: &[u8]) -> Result<Self, ReadError> {
        let Kind { schema, what } = serde_json::from_slice(json)?;
        match (schema, what.as_str()) {
            (SCHEMA, _) => Ok(serde_json::from_slice(json)?),
            (2, "entropy") | (1, "apsp" | "primer" | "sweep") => Ok(serde_json::from_slice::<Old>(json)?.upgrade()),
            _ => Err(ReadError::Unknown { schema, what }),
        }
    }
}

/// A record of an earlier schema.
#[derive(Deserialize)]
struct Old {
    #[serde(flatten)]
    head: Head,
    options: OldOptions,
    ceilings: OldCeilings,
    results: Vec<OldRow>,
    #[serde(default)]
    cliffs: Vec<Cliff>,
}

#[derive(Deserialize)]
struct OldOptions {
    seed: u64,
    effort: Effort,
    #[serde(flatten)]
    work: Fields,
}

#[derive(Deserialize)]
struct OldCeilings {
    /// Of entropy and sweeps.
    device_copy: Option<f64>,
    cpu_copy: Option<f64>,
    /// Of paths.
    device: Option<f64>,
    cpu: Option<f64>,
    /// Of the primer.
    bytes: Option<f64>,
    flops: Option<f64>,
    accesses: Option<f64>,
    clocks: Option<f64>,
    transferred: Option<f64>,
    how: String,
}

/// What any row had.
#[derive(Deserialize)]
struct OldRow {
    kernel: Option<String>,
    place: Option<String>,
    before: Option<String>,
    idea: Option<String>,
    // What it is of.
    rows: Option<usize>,
    cols: Option<usize>,
    vertices: Option<usize>,
    topic: Option<String>,
    /// Extents of the primer, the window's side of a sweep.
    size: Option<Value>,
    elements: Option<String>,
    #[serde(default)]
    parameters: Vec<Parameter>,
    levels: Option<usize>,
    nodata: Option<bool>,
    measure: Option<String>,
    shape: Option<String>,
    precision: Option<String>,
    // What came of it.
    status: String,
    reason: Option<String>,
    time: Option<Times>,
    host_to_host: Option<Times>,
    copies: Option<Copies>,
    copies_bytes: Option<usize>,
    unit: Option<Unit>,
    amount: Option<f64>,
    #[serde(alias = "cells_per_second", alias = "relaxations_per_second")]
    per_second: Option<f64>,
    #[serde(alias = "share_of_copy")]
    share_of_ceiling: Option<f64>,
    speedup: Option<f64>,
    occupancy: Option<f64>,
    usage: Option<Usage>,
    counted: Option<Counted>,
    #[serde(default)]
    readings: Vec<Reading>,
    verified: Option<String>,
    largest_difference: Option<f64>,
}

/// How many, or, of paths, what they took.
#[derive(Deserialize)]
#[serde(untagged)]
enum Copies {
    Count(usize),
    Took(Times),
}

#[derive(Deserialize)]
struct Parameter {
    name: String,
    value: String,
}

impl Old {
    fn upgrade(self) -> Record {
        let Self { head, options: OldOptions { seed, effort, work }, ceilings, results, cliffs } = self;
        let sweep = (head.what == "sweep").then(|| {
            let cells = (work.number("rows") * work.number("cols")) as f64;
            let place = if head.devices.is_empty() { "cpu" } else { "device" };
            (cells, place)
        });
        Record {
            head: Head { schema: SCHEMA, ..head },
            options: Options { work, seed, effort },
            ceilings: ceilings.upgrade(),
            results: results.into_iter().map(|row| row.upgrade(sweep)).collect(),
            cliffs,
        }
    }
}

impl OldCeilings {
    fn upgrade(self) -> Ceilings {
        let limits = [
            ("device", Unit::Bytes, self.device_copy.or(self.bytes)),
            ("cpu", Unit::Bytes, self.cpu_copy),
            ("device", Unit::Relaxations, self.device),
            ("cpu", Unit::Relaxations, self.cpu),
            ("device", Unit::Flops, self.flops),
            ("device", Unit::Accesses, self.accesses),
            ("device", Unit::Clocks, self.clocks),
            ("device", Unit::Transferred, self.transferred),
        ];
        Ceilings::new(&self.how, limits)
    }
}

impl OldRow {
    /// `sweep`: of a sweep the cells of its grid, and where it was done.
    fn upgrade(self, sweep: Option<(f64, &str)>) -> Row {
        let text = |text: &Option<String>| Value::from(text.clone().unwrap_or_default());
        let of = |names: &[(&str, Value)]| names.iter().cloned().collect::<Fields>();
        let mut parameters: Fields = self.parameters.iter().map(|p| (p.name.as_str(), p.value.as_str())).collect();
        let (unit, amount, table) = if let (Some(rows), Some(cols)) = (self.rows, self.cols) {
            (Unit::Cells, (rows * cols) as f64, of(&[("rows", rows.into()), ("cols", cols.into())]))
        } else if let Some(vertices) = self.vertices {
            (Unit::Relaxations, (vertices as f64).powi(3), of(&[("vertices", vertices.into())]))
        } else if let Some((cells, _)) = sweep {
            parameters = of(&[("size", self.size.unwrap_or_default())]);
            let setting = [
                ("levels", self.levels.into()),
                ("nodata", self.nodata.into()),
                ("measure", text(&self.measure)),
                ("shape", text(&self.shape)),
                ("precision", text(&self.precision)),
            ];
            (Unit::Cells, cells, of(&setting))
        } else {
            let size = self.size.unwrap_or_default();
            let table = of(&[("topic", text(&self.topic)), ("size", size), ("elements", text(&self.elements))]);
            (self.unit.unwrap_or(Unit::Bytes), self.amount.unwrap_or(f64::NAN), table)
        };
        let place = self.place.unwrap_or_else(|| sweep.map_or("device", |(_, place)| place).to_owned());
        let named = self.kernel.clone().unwrap_or_default();
        let kernel = match sweep {
            Some((_, "cpu")) => CPU_ENGINE.to_owned(),
            Some(_) => AUTO.to_owned(),
            None => named,
        };
        let reason = self.reason.unwrap_or_default();
        let outcome = match (self.status.as_str(), self.time) {
            ("timed", Some(time)) => {
                let (copies, transfers) = match self.copies {
                    Some(Copies::Count(count)) => (Some(count), None),
                    Some(Copies::Took(times)) => (None, Some(times)),
                    None => (None, None),
                };
                Outcome::Timed(Box::new(Timing {
                    per_second: self.per_second.unwrap_or(amount / time.median),
                    time,
                    host_to_host: self.host_to_host,
                    transfers,
                    unit,
                    amount,
                    share_of_ceiling: self.share_of_ceiling,
                    speedup: self.speedup,
                    occupancy: self.occupancy,
                    usage: self.usage,
                    copies,
                    copies_bytes: self.copies_bytes,
                    chosen: sweep.and(self.kernel),
                    counted: self.counted,
                    readings: self.readings,
                    verified: self.verified.unwrap_or_default(),
                    largest_difference: self.largest_difference,
                }))
            }
            ("wrong", _) => Outcome::Wrong { reason },
            _ => Outcome::Skipped { reason },
        };
        Row { of: table, kernel, place, parameters, before: self.before, idea: self.idea, outcome }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_record_says_why() {
        let read = |text: &str| Record::read(text.as_bytes()).unwrap_err().to_string();
        assert!(read("{").starts_with("EOF while parsing"), "{}", read("{"));
        let unknown = "schema 4 of \"apsp\" is none that is known: entropy, apsp, primer and sweep are, up to schema 3";
        assert_eq!(read(r#"{"schema": 4, "what": "apsp"}"#), unknown);
        assert!(read(r#"{"schema": 1, "what": "entropy kernels alone"}"#).starts_with("schema 1 of \"entropy"));
        assert!(read(r#"{"schema": 1, "what": "primer"}"#).starts_with("missing field"));
    }
}
