//! A list of classes as text; see [`Classes::from_file`](super::Classes::from_file) for what may stand in it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::Path;

use super::Others;
use crate::io::{FormatError, Place, Problem, Value, quote};

/// The longest list, in bytes: what is longer is another file.
const LONGEST: u64 = 1 << 22;

/// The most values of a list, ranges written out.
const MOST: usize = 1 << 16;

/// The name that marks no data, in any case of letters.
const NODATA: &str = "nodata";

/// A list as it was understood.
#[derive(Debug)]
pub(super) struct List {
    pub codes: BTreeMap<i128, Option<u16>>,
    pub others: Others,
    pub names: Vec<String>,
    /// The code of each name.
    known: HashMap<String, u16>,
}

/// The text of a file.
pub(super) fn read(path: &Path, name: &str) -> Result<String, FormatError> {
    let mut bytes = Vec::new();
    crate::io::open(path)?
        .take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| FormatError::from_io(name, "reading failed", e, "check the disk"))?;
    let wrong = |what: &str| Err(Problem::new(what, "give a text of lines VALUE,CLASS").at(name, Place::FILE));
    if bytes.len() as u64 > LONGEST {
        return wrong("the list is longer than 4 MiB");
    }
    String::from_utf8(bytes).or_else(|_| wrong("the list is not UTF-8 text"))
}

/// The classes that a text lists.
pub(super) fn parse(text: &str, name: &str) -> Result<List, FormatError> {
    let mut list = List { codes: BTreeMap::new(), others: Others::Error, names: Vec::new(), known: HashMap::new() };
    // The lines that the values come from.
    let mut lines: BTreeMap<i128, u64> = BTreeMap::new();
    let mut others_line = None;
    for (line, text) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let at = |problem: Problem| problem.at(name, Place::line(line));
        let text = text.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            continue;
        }
        let (values, class) = match text.split_once(',') {
            Some((values, class)) => (values.trim(), class.trim()),
            None => (text, text),
        };
        if class.is_empty() {
            return Err(at(Problem::new("there is no class behind the comma", "name it, or leave out the comma")));
        }
        let range = if values == "*" { None } else { Some(range(values, class == text).map_err(at)?) };
        if range.is_none() && class == text {
            return Err(at(Problem::new("there is no class for all other values", "write *,nodata or *,CLASS")));
        }
        // One value without a name is called by the number itself: 11, 11.0 and 011 are one class.
        let class = match &range {
            Some(range) if class == text => range.start().to_string(),
            _ => class.to_owned(),
        };
        let code = list.code(&class).map_err(at)?;
        let Some(range) = range else {
            if let Some(before) = others_line.replace(line) {
                return Err(at(Problem::new(format!("* was there before, in line {before}"), "leave one of them")));
            }
            list.others = code.map_or(Others::Nodata, Others::Class);
            continue;
        };
        if range.end().saturating_sub(*range.start()) >= (MOST - list.codes.len()) as i128 {
            return Err(at(Problem::new(
                format!("there are more than {MOST} values"),
                "list fewer, or sort the values into bins",
            )));
        }
        for value in range {
            match lines.entry(value) {
                Entry::Occupied(before) => {
                    let what = format!("the value {value} was there before, in line {}", before.get());
                    return Err(at(Problem::new(what, "leave one of them")));
                }
                Entry::Vacant(entry) => entry.insert(line),
            };
            list.codes.insert(value, code);
        }
    }
    if list.names.is_empty() {
        return Err(
            Problem::new("there is no class in the list", "give lines VALUE or VALUE,CLASS").at(name, Place::FILE)
        );
    }
    Ok(list)
}

impl List {
    /// The code of a class, a new one if it has none yet; `None` is no data.
    fn code(&mut self, class: &str) -> Result<Option<u16>, Problem> {
        if class.eq_ignore_ascii_case(NODATA) {
            return Ok(None);
        }
        if let Some(&code) = self.known.get(class) {
            return Ok(Some(code));
        }
        let Ok(code) = u16::try_from(self.names.len()) else {
            return Err(Problem::new("there are more than 65536 classes", "give several values the same class"));
        };
        self.names.push(class.to_owned());
        self.known.insert(class.to_owned(), code);
        Ok(Some(code))
    }
}

/// A value, or two with `..` between them.
fn range(text: &str, alone: bool) -> Result<std::ops::RangeInclusive<i128>, Problem> {
    let whole = |text: &str| match Value::parse(text.trim().as_bytes()).ok().and_then(Value::whole) {
        Some(whole) => Ok(whole),
        None => Err(Problem::new(
            format!("{} is not a whole number", quote(text.as_bytes())),
            "begin the line with a whole number, two as in 41..43, or *; put # before what is a comment",
        )),
    };
    let Some((low, high)) = text.split_once("..") else {
        return whole(text).map(|value| value..=value);
    };
    let (low, high) = (whole(low)?, whole(high)?);
    if low > high {
        return Err(Problem::new(format!("{low} is larger than {high}"), "write the smaller number first"));
    }
    if alone {
        return Err(Problem::new("there is no class for the range", "name it, as in 41..43,forest"));
    }
    Ok(low..=high)
}
