//! A stream that rasters come from, as standard input: opened, its format settled, then read raster by raster.

use std::io::{BufReader, Read};
use std::path::Path;

use anyhow::Context;
use halotile::io::{self, InputFormat, UnknownFormat};
use halotile::raster::Rasters;

use crate::console::Console;
use crate::outcome::Usage;

/// A file that is open to be read.
pub struct Source {
    /// Its name for messages.
    pub name: String,
    pub format: InputFormat,
    reader: Box<dyn Read + Send>,
}

/// True for the name that stands for standard input or output.
pub fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A path as messages show it.
pub fn name_of(path: &Path) -> String {
    if is_dash(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Says which option names the format that the ending does not tell.
pub fn name_the_format(error: UnknownFormat, option: &str) -> Usage {
    match error {
        UnknownFormat::Ending { .. } => Usage(format!("{error} with {option}")),
        _ => Usage(error.to_string()),
    }
}

impl Source {
    /// Opens `path`; its format is the one given, or the one of its ending, or, on standard input, of its first bytes.
    pub fn open(path: &Path, given: Option<InputFormat>) -> anyhow::Result<Self> {
        let mut reader = io::open(path)?;
        let name = name_of(path);
        let format = match given {
            Some(format) => format,
            None if is_dash(path) => {
                let mut head = Vec::new();
                let first = crate::interrupt::waiting(|| reader.by_ref().take(8).read_to_end(&mut head));
                first.with_context(|| format!("{name}: reading failed"))?;
                let format = look_at(&head).ok_or_else(|| {
                    Usage(format!("{name}: its first bytes do not say the format; name it with --if"))
                })?;
                reader = Box::new(std::io::Cursor::new(head).chain(reader));
                format
            }
            None => InputFormat::detect(path).map_err(|error| name_the_format(error, "--if"))?,
        };
        Ok(Self { name, format, reader })
    }

    /// The rasters, each read when it is asked for.
    pub fn rasters(self, console: &Console) -> Rasters<'_> {
        let Self { name, format, reader } = self;
        Rasters::from_reader(BufReader::with_capacity(1 << 18, console.count(reader)), format, &name)
    }
}

/// The format that a stream with these first bytes has, if they say so. seed-binary has no signature.
fn look_at(head: &[u8]) -> Option<InputFormat> {
    // A byte order mark begins text, in UTF-16 too: the reader of text says what to do about that.
    let is_text = |b: &u8| b.is_ascii_graphic() || b.is_ascii_whitespace();
    match head {
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Some(InputFormat::Npy),
        [0x89, b'P', b'N', b'G', ..] => Some(InputFormat::Png),
        [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..] => Some(InputFormat::GeoTiff),
        [b'P', b'1'..=b'7', ..] => Some(InputFormat::Pgm),
        [0xef, 0xbb, 0xbf, ..] | [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some(InputFormat::SeedText),
        text if text.iter().all(is_text) => Some(InputFormat::SeedText),
        _ => None,
    }
}
