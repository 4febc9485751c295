//! What a record can be written as, behind one trait.

mod csv;
pub mod html;
mod json;
pub mod markdown;
#[cfg(test)]
pub mod sample;

use std::io::Write;

pub use csv::Csv;
pub use html::Html;
pub use json::Json;
pub use markdown::Markdown;

/// A format for records of a kind.
pub trait Exporter<R> {
    /// Writes the whole record.
    fn write(&self, record: &R, out: &mut dyn Write) -> anyhow::Result<()>;
}
