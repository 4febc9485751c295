//! What a record can be written as, behind one trait.

mod csv;
pub mod html;
mod json;
pub mod markdown;
#[cfg(test)]
pub mod sample;

use std::io::Write;

use halotile_lab::bench::Record;

pub use csv::Csv;
pub use html::Html;
pub use json::Json;
pub use markdown::Markdown;

/// A format for records.
pub trait Exporter {
    /// Writes the whole record.
    fn write(&self, record: &Record, out: &mut dyn Write) -> anyhow::Result<()>;
}

#[cfg(test)]
pub fn written(exporter: &dyn Exporter, record: &Record) -> String {
    let mut bytes = Vec::new();
    exporter.write(record, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}
