//! How records of a kind are told: the columns of their tables, what rows and tables are called, what CSV and pages have. One [`Layout`]
//! for each kind; table, exporters and driver know nothing else of what was measured.

use std::io::Write;

use halotile_lab::bench::{Outcome, Record, Row, Timing};
use serde::Serialize;

use super::export::html::Page;
use super::export::markdown;
use super::{apsp, entropy, primer, sweep, table};

/// How records of a kind are told.
pub trait Layout: Sync {
    /// The columns after the name.
    fn columns(&self) -> &'static [Column];

    /// Room for the name on the terminal: the longest of kernels have 14 letters.
    fn room(&self) -> usize {
        15
    }

    /// What a row is called in its table.
    fn label(&self, row: &Row) -> String {
        row.kernel.clone()
    }

    /// What all rows of a table have: "400 x 300 cells".
    fn title(&self, row: &Row) -> String;

    /// What a row is called where it stands alone.
    fn name(&self, row: &Row) -> String {
        format!("{}, {}", self.label(row), self.title(row))
    }

    /// What is said of a row that is wrong, before the reason.
    fn wrong(&self, row: &Row) -> String;

    /// The lines about the machine and the work.
    fn facts(&self, record: &Record) -> String;

    /// The fields of CSV: those before what came of a row, and those after its times.
    fn csv(&self) -> [&'static [Field]; 2];

    /// What a page has, where there is one.
    fn page(&self) -> Option<&'static Page>;

    /// What is printed before the first row.
    fn head(&self, record: &Record) -> String {
        self.facts(record)
    }

    /// What is printed when the last of these rows is done.
    fn step(&self, record: &Record, rows: &[Row]) -> String {
        let _ = record;
        let Some((row, before)) = rows.split_last() else { return String::new() };
        let new = before.last().is_none_or(|before| before.of != row.of);
        let heading = if new { table::heading(self.columns(), self.room(), &self.title(row)) } else { String::new() };
        heading + &table::line(self.columns(), self.room(), &self.label(row), &row.outcome)
    }

    /// What is printed when all is done.
    fn end(&self, record: &Record) -> String {
        let _ = record;
        String::new()
    }

    /// What Markdown has below the facts: a table for each size.
    fn markdown(&self, record: &Record, out: &mut dyn Write) -> anyhow::Result<()> {
        for rows in record.tables() {
            let lines = rows.iter().map(|row| (self.label(row), &row.outcome));
            markdown::section(out, &self.title(&rows[0]), self.columns(), lines)?;
        }
        Ok(())
    }
}

/// The layout of a record.
pub fn of(record: &Record) -> &'static dyn Layout {
    match record.head.what.as_str() {
        "apsp" => &apsp::Layout,
        "primer" => &primer::Layout,
        "sweep" => &sweep::Layout,
        _ => &entropy::Layout,
    }
}

/// A column of the tables.
pub struct Column {
    pub heading: &'static str,
    /// On the terminal.
    pub width: usize,
    /// What stands in it for a row that was timed.
    pub text: fn(&Timing) -> String,
}

/// A column of this heading and width.
pub const fn column(heading: &'static str, width: usize, text: fn(&Timing) -> String) -> Column {
    Column { heading, width, text }
}

/// The figures of what was timed, a text for each column.
pub fn figures(columns: &[Column], timing: &Timing) -> Vec<String> {
    columns.iter().map(|column| (column.text)(timing)).collect()
}

/// A field of CSV: its name, and what it has of a row.
pub type Field = (&'static str, fn(&Row) -> Cell);

/// A value of CSV; what is not known is empty.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Cell {
    Text(String),
    Number(f64),
    Count(usize),
    Flag(bool),
    Nothing,
}

impl Cell {
    /// Of a row that was timed; of others nothing.
    pub fn timed<T: Into<Cell>>(row: &Row, of: impl Fn(&Timing) -> T) -> Self {
        row.timing().map_or(Self::Nothing, |timing| of(timing).into())
    }

    /// One of what a table's rows have.
    pub fn text(row: &Row, name: &str) -> Self {
        row.of.text(name).to_owned().into()
    }

    /// The same, a whole number.
    pub fn count(row: &Row, name: &str) -> Self {
        row.of.number(name).into()
    }
}

/// What came of a row, and its times: fields that all kinds have.
pub const TIMES: &[Field] = &[
    ("status", |row| {
        let status = match row.outcome {
            Outcome::Timed(_) => "timed",
            Outcome::Wrong { .. } => "wrong",
            Outcome::Skipped { .. } => "skipped",
        };
        status.to_owned().into()
    }),
    ("reason", |row| match &row.outcome {
        Outcome::Timed(_) => Cell::Nothing,
        Outcome::Wrong { reason } | Outcome::Skipped { reason } => reason.clone().into(),
    }),
    ("median_seconds", |row| Cell::timed(row, |t| t.time.median)),
    ("min_seconds", |row| Cell::timed(row, |t| t.time.min)),
    ("max_seconds", |row| Cell::timed(row, |t| t.time.max)),
    ("runs", |row| Cell::timed(row, |t| t.time.raw.len())),
];

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Self::Count(count)
    }
}

impl From<u32> for Cell {
    fn from(count: u32) -> Self {
        Self::Count(count as usize)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Nothing, Into::into)
    }
}
