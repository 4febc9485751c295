//! What a record can be written as, behind one trait.

mod csv;
mod html;
mod json;
mod markdown;
#[cfg(test)]
pub mod sample;

use std::io::Write;

use halotile::bench::Record;

pub use csv::Csv;
pub use html::Html;
pub use json::Json;
pub use markdown::Markdown;

/// A format.
pub trait Exporter {
    /// Writes the whole record.
    fn write(&self, record: &Record, out: &mut dyn Write) -> anyhow::Result<()>;
}
