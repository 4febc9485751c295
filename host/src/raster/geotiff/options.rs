//! How a GeoTIFF is written: the creation options of GDAL's GTiff driver that make sense for results and classes, by the same names.
//!
//! Defaults differ from GDAL's where those are there for the sake of old programs: tiles in place of strips, 512 × 512 in place of
//! 256 × 256, Deflate in place of no compression, and for floating point the predictor made for it, unless the windows are
//! small ([`for_windows`](CreationOptions::for_windows)).
//!
//! Why 512: a raster of 10^11 cells has 381,000 such tiles (6 MB of tables, 24 MB with half the side), one of f32 is 1 MiB, enough work for a thread to
//! be worth the handing over and little enough that a row of tiles fits in memory; and Cloud Optimized GeoTIFFs have the same.
//!
//! `LAYOUT=COG` makes one of those, and with it GDAL's COG driver's names of options are known too: `BLOCKSIZE`, `LEVEL`, words for predictors.

use std::path::{Path, PathBuf};

use tiff_core::{Compression, Predictor};

/// Rows and columns of a tile, unless the grid is smaller.
pub(super) const TILE: usize = 512;
/// Cells of a window up to which results are compressed better as they are.
const SMALL_WINDOW: usize = 19 * 19;
/// The longest side of a tile that can be asked for.
const LONGEST_TILE: usize = 1 << 14;

/// What can be asked for, as messages list it.
#[cfg(not(feature = "native-codecs"))]
const KNOWN: &str = "COMPRESS=DEFLATE|LZW|ZSTD|NONE, ZLEVEL=1..9, PREDICTOR=1|2|3, TILED=YES|NO, BLOCKXSIZE=N, BLOCKYSIZE=N, \
                     BIGTIFF=YES|NO|IF_NEEDED|IF_SAFER, SPARSE_OK=YES|NO, LAYOUT=GTIFF|COG, OVERVIEWS=AUTO|NONE, \
                     OVERVIEW_RESAMPLING=AVERAGE|NEAREST, STATISTICS=YES|NO, BLOCKSIZE=N, LEVEL=N";
#[cfg(feature = "native-codecs")]
const KNOWN: &str = "COMPRESS=DEFLATE|LZW|ZSTD|NONE, ZLEVEL=1..12, ZSTD_LEVEL=1..22, PREDICTOR=1|2|3, TILED=YES|NO, BLOCKXSIZE=N, BLOCKYSIZE=N, \
                     BIGTIFF=YES|NO|IF_NEEDED|IF_SAFER, SPARSE_OK=YES|NO, LAYOUT=GTIFF|COG, OVERVIEWS=AUTO|NONE, \
                     OVERVIEW_RESAMPLING=AVERAGE|NEAREST, STATISTICS=YES|NO, BLOCKSIZE=N, LEVEL=N";

/// The highest level of Deflate, and what messages say.
const LEVELS: (usize, &str) =
    if cfg!(feature = "native-codecs") { (12, "1 (fast) to 12 (small)") } else { (9, "1 (fast) to 9 (small)") };
/// The same of Zstandard.
const ZSTD_LEVELS: (usize, &str) = if cfg!(feature = "native-codecs") {
    (22, "1 (fast) to 22 (small)")
} else {
    (1, "1, as this program was built without the feature native-codecs")
};

/// When a file is a BigTIFF, which may be longer than 4 GiB and which old programs do not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BigTiff {
    /// Always.
    Yes,
    /// Never; a file that would be longer is an error.
    No,
    /// When the finished file is longer than 4 GiB.
    #[default]
    IfNeeded,
    /// When the cells are more than 2 GB before compression.
    IfSafer,
}

/// What was asked for as the predictor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prediction {
    /// The one that goes with the type of the cells.
    ByType,
    Of(Predictor),
}

/// How cells of an overview are made of those of the level below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resampling {
    Average,
    Nearest,
}

/// Creation options; see [`parse`](Self::parse) for their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreationOptions {
    pub(super) compression: Compression,
    pub(super) zlevel: Option<u32>,
    pub(super) zstd_level: Option<u32>,
    /// As given: the default depends on the type of the cells.
    pub(super) predictor: Option<Prediction>,
    pub(super) tiled: bool,
    pub(super) block_rows: Option<usize>,
    pub(super) block_cols: Option<usize>,
    pub(super) bigtiff: BigTiff,
    pub(super) sparse: bool,
    /// The level of whichever codec.
    level: Option<u32>,
    pub(super) cog: bool,
    overviews: Option<bool>,
    /// As given: the default depends on what cells are.
    pub(super) resampling: Option<Resampling>,
    pub(super) statistics: bool,
    scratch: Option<PathBuf>,
}

impl Default for CreationOptions {
    fn default() -> Self {
        Self {
            compression: Compression::Deflate,
            zlevel: None,
            zstd_level: None,
            predictor: None,
            tiled: true,
            block_rows: None,
            block_cols: None,
            bigtiff: BigTiff::default(),
            sparse: false,
            level: None,
            cog: false,
            overviews: None,
            resampling: None,
            statistics: true,
            scratch: None,
        }
    }
}

/// A creation option that cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    /// Not `KEY=VALUE`.
    #[error("the creation option {0:?} is not of the form KEY=VALUE; the options are {KNOWN}")]
    Form(String),
    /// A key that is not known.
    #[error("there is no creation option {0}; the options are {KNOWN}")]
    Key(String),
    /// A value that the key does not take.
    #[error("the creation option {key} is {value:?}; it takes {takes}")]
    Value {
        /// The key.
        key: &'static str,
        /// The value given.
        value: String,
        /// What it takes.
        takes: &'static str,
    },
    /// Options that do not go together, or not with the type of the cells.
    #[error("{0}")]
    Together(&'static str),
}

impl CreationOptions {
    /// Reads options as `KEY=VALUE`; case does not count, and of two with one key the later one does.
    ///
    /// | key | values | default |
    /// |---|---|---|
    /// | `COMPRESS` | `DEFLATE`, `LZW`, `ZSTD`, `NONE` | `DEFLATE` |
    /// | `ZLEVEL` | 1 to 12, with `DEFLATE` | 4, and 1 with a predictor |
    /// | `ZSTD_LEVEL` | 1 to 22, with `ZSTD` | 9 |
    /// | `PREDICTOR` | 1 or `NO`, 2 or `STANDARD` (differences, whole numbers only), 3 or `FLOATING_POINT`, `YES` for the one of these that goes with the type | 3 for results, 2 where they are stored as whole numbers, 1 for classes |
    /// | `TILED` | `YES`, or `NO` for strips | `YES` |
    /// | `BLOCKXSIZE` | columns of a tile, a multiple of 16 | 512 |
    /// | `BLOCKYSIZE` | rows of a tile, a multiple of 16, or of a strip, any number | 512, about 1 MiB |
    /// | `BIGTIFF` | `YES`, `NO`, `IF_NEEDED`, `IF_SAFER` | `IF_NEEDED` |
    /// | `SPARSE_OK` | `YES` to leave out blocks without data, `NO` | `NO` |
    /// | `LAYOUT` | `COG` for a Cloud Optimized GeoTIFF: tiles, directories first, overviews, `GTIFF` | `GTIFF` |
    /// | `OVERVIEWS` | `AUTO`: a half, a quarter, ... of rows and columns until both are 512 or fewer, `NONE` | `AUTO` in a COG, else `NONE` |
    /// | `OVERVIEW_RESAMPLING` | `AVERAGE` of the cells that have data, `NEAREST`: the first of four | `AVERAGE` for results, `NEAREST` for classes |
    /// | `STATISTICS` | `YES`: the least and the largest number of each band, mean and standard deviation, `NO` | `YES` for results |
    /// | `BLOCKSIZE` | `BLOCKXSIZE` and `BLOCKYSIZE` in one | 512 |
    /// | `LEVEL` | `ZLEVEL` or `ZSTD_LEVEL`, as the codec is | |
    ///
    /// Blocks of a COG wait in a file without a name until all have come, which takes as much room again as the file: [`scratch_in`](Self::scratch_in).
    ///
    /// Without the feature `native-codecs` `ZLEVEL` is 1 to 9, 6 by default, and Zstandard has level 1 alone.
    ///
    /// ```
    /// use halotile::raster::geotiff::CreationOptions;
    /// assert!(CreationOptions::parse(&["COMPRESS=ZSTD", "blockxsize=256"]).is_ok());
    /// let e = CreationOptions::parse(&["TILED=maybe"]).unwrap_err();
    /// assert_eq!(e.to_string(), "the creation option TILED is \"maybe\"; it takes YES or NO");
    /// ```
    ///
    /// # Errors
    /// Keys and values that are not in the table, and options that do not go together.
    pub fn parse<S: AsRef<str>>(options: &[S]) -> Result<Self, OptionError> {
        let mut made = Self::default();
        for option in options {
            let option = option.as_ref();
            let (key, value) = option.split_once('=').ok_or_else(|| OptionError::Form(option.to_owned()))?;
            made.take(key, value)?;
        }
        made.check()?;
        Ok(made)
    }

    fn take(&mut self, key: &str, value: &str) -> Result<(), OptionError> {
        let upper = value.to_ascii_uppercase();
        let wrong = |key, takes| OptionError::Value { key, value: value.to_owned(), takes };
        let number = |range: std::ops::RangeInclusive<usize>| value.parse().ok().filter(|n| range.contains(n));
        match key.to_ascii_uppercase().as_str() {
            "COMPRESS" => {
                self.compression = match upper.as_str() {
                    "DEFLATE" => Compression::Deflate,
                    "LZW" => Compression::Lzw,
                    "ZSTD" => Compression::Zstd,
                    "NONE" => Compression::None,
                    _ => return Err(wrong("COMPRESS", "DEFLATE, LZW, ZSTD or NONE")),
                }
            }
            // Numbers of two digits at most.
            "ZLEVEL" => match number(1..=LEVELS.0) {
                Some(level) => self.zlevel = Some(level as u32),
                None => return Err(wrong("ZLEVEL", LEVELS.1)),
            },
            "ZSTD_LEVEL" => match number(1..=ZSTD_LEVELS.0) {
                Some(level) => self.zstd_level = Some(level as u32),
                None => return Err(wrong("ZSTD_LEVEL", ZSTD_LEVELS.1)),
            },
            "PREDICTOR" => {
                self.predictor = Some(match upper.as_str() {
                    "1" | "NO" => Prediction::Of(Predictor::None),
                    "2" | "STANDARD" => Prediction::Of(Predictor::Horizontal),
                    "3" | "FLOATING_POINT" => Prediction::Of(Predictor::FloatingPoint),
                    "YES" => Prediction::ByType,
                    _ => return Err(wrong("PREDICTOR", "1 (none), 2 (for whole numbers) or 3 (for floating point)")),
                });
            }
            "TILED" => self.tiled = truth(&upper).ok_or_else(|| wrong("TILED", "YES or NO"))?,
            "SPARSE_OK" => self.sparse = truth(&upper).ok_or_else(|| wrong("SPARSE_OK", "YES or NO"))?,
            "LAYOUT" => {
                self.cog = match upper.as_str() {
                    "COG" => true,
                    "GTIFF" => false,
                    _ => return Err(wrong("LAYOUT", "GTIFF or COG")),
                }
            }
            "OVERVIEWS" => {
                self.overviews = Some(match upper.as_str() {
                    "AUTO" => true,
                    "NONE" => false,
                    _ => return Err(wrong("OVERVIEWS", "AUTO or NONE")),
                })
            }
            "OVERVIEW_RESAMPLING" => {
                self.resampling = Some(match upper.as_str() {
                    "AVERAGE" => Resampling::Average,
                    "NEAREST" => Resampling::Nearest,
                    _ => return Err(wrong("OVERVIEW_RESAMPLING", "AVERAGE or NEAREST")),
                })
            }
            "STATISTICS" => self.statistics = truth(&upper).ok_or_else(|| wrong("STATISTICS", "YES or NO"))?,
            "LEVEL" => {
                // The codec may be named later.
                let level = number(1..=99);
                self.level =
                    Some(level.ok_or_else(|| wrong("LEVEL", "a level of the codec, from 1 (fast) up"))? as u32);
            }
            "BLOCKSIZE" | "BLOCKXSIZE" => {
                let key = if key.len() == "BLOCKSIZE".len() { "BLOCKSIZE" } else { "BLOCKXSIZE" };
                let side = number(16..=LONGEST_TILE).filter(|n| n % 16 == 0);
                self.block_cols = Some(side.ok_or_else(|| wrong(key, "a multiple of 16 up to 16384"))?);
                if key == "BLOCKSIZE" {
                    self.block_rows = self.block_cols;
                }
            }
            "BLOCKYSIZE" => {
                let rows = number(1..=LONGEST_TILE);
                self.block_rows = Some(rows.ok_or_else(|| {
                    wrong("BLOCKYSIZE", "a multiple of 16 up to 16384, and with TILED=NO any number up to that")
                })?);
            }
            "BIGTIFF" => {
                self.bigtiff = match upper.as_str() {
                    "YES" => BigTiff::Yes,
                    "NO" => BigTiff::No,
                    "IF_NEEDED" => BigTiff::IfNeeded,
                    "IF_SAFER" => BigTiff::IfSafer,
                    _ => return Err(wrong("BIGTIFF", "YES, NO, IF_NEEDED or IF_SAFER")),
                }
            }
            // It is shown as it is, so that nothing in it may change the terminal.
            _ => return Err(OptionError::Key(key.escape_debug().to_string())),
        }
        Ok(())
    }

    fn check(&self) -> Result<(), OptionError> {
        let together = |what| Err(OptionError::Together(what));
        if self.zlevel.is_some() && self.compression != Compression::Deflate {
            return together(
                "ZLEVEL is the level of COMPRESS=DEFLATE, and another codec was asked for; leave one of them out",
            );
        }
        if self.zstd_level.is_some() && self.compression != Compression::Zstd {
            return together(
                "ZSTD_LEVEL is the level of COMPRESS=ZSTD, and another codec was asked for; leave one of them out",
            );
        }
        let most = match self.compression {
            Compression::Deflate => LEVELS,
            Compression::Zstd => ZSTD_LEVELS,
            _ => (0, "none, as the codec has no levels"),
        };
        if let Some(level) = self.level.filter(|&level| level as usize > most.0) {
            return Err(OptionError::Value { key: "LEVEL", value: level.to_string(), takes: most.1 });
        }
        if !self.tiled && (self.cog || self.overviews == Some(true)) {
            return together("a COG and overviews have tiles, and TILED=NO was asked for; leave one of them out");
        }
        if self.compression == Compression::None && self.predictor.is_some_and(|p| p != Prediction::Of(Predictor::None))
        {
            return together(
                "a PREDICTOR prepares for compression, and COMPRESS=NONE was asked for; leave one of them out",
            );
        }
        if !self.tiled && self.block_cols.is_some() {
            return together(
                "BLOCKXSIZE is the width of tiles, and strips are as wide as the grid; leave out TILED=NO or BLOCKXSIZE",
            );
        }
        if self.tiled && self.block_rows.is_some_and(|rows| rows % 16 != 0) {
            return together("BLOCKYSIZE is no multiple of 16, as tiles need; choose one, or strips with TILED=NO");
        }
        Ok(())
    }

    /// The level of the codec, if one was asked for.
    pub(super) fn level(&self) -> Option<u32> {
        self.zlevel.or(self.zstd_level).or(self.level)
    }

    /// The same with the blocks of a COG waiting in a file in this directory; by default it is the system's for temporary files.
    #[must_use]
    pub fn scratch_in(mut self, directory: &Path) -> Self {
        self.scratch = Some(directory.to_owned());
        self
    }

    /// The file in which blocks wait, where they have to. It has no name.
    pub(super) fn scratch(&self) -> std::io::Result<Option<std::fs::File>> {
        match &self.scratch {
            _ if !self.cog => Ok(None),
            Some(directory) => tempfile::tempfile_in(directory).map(Some),
            None => tempfile::tempfile().map(Some),
        }
    }

    /// Whether the file has overviews.
    pub(super) fn has_overviews(&self) -> bool {
        self.overviews.unwrap_or(self.cog)
    }

    /// The same for results of windows of so many cells: where no predictor was named, small windows get none.
    ///
    /// Few cells have few ways to be shared out among classes, so that the same few results come again and again, bit for bit,
    /// which Deflate finds and a predictor hides. Of 5 × 5 cells of a land-cover map results take 3.3 bits a cell without one and 8.2
    /// with it, and less time; of 15 × 15 15 and 20; of 21 × 21 as much either way; of 101 × 101 27 without and 19 with it.
    pub fn for_windows(mut self, cells: usize) -> Self {
        if cells <= SMALL_WINDOW && self.compression != Compression::None {
            self.predictor = self.predictor.or(Some(Prediction::Of(Predictor::None)));
        }
        self
    }

    /// The same for results that are stored as whole numbers: neighbours are alike, so that differences are the default.
    pub(super) fn for_whole_results(mut self) -> Self {
        if self.compression != Compression::None {
            self.predictor = self.predictor.or(Some(Prediction::Of(Predictor::Horizontal)));
        }
        self
    }

    /// Whether whole numbers can be written so: not with a predictor for floating point.
    pub fn fits_whole_numbers(&self) -> bool {
        self.predictor_for(false).is_ok()
    }

    /// The predictor for cells that are real numbers, or whole ones.
    pub(super) fn predictor_for(&self, real: bool) -> Result<Predictor, OptionError> {
        match (self.predictor, real) {
            (Some(Prediction::Of(Predictor::Horizontal)), true) => Err(OptionError::Together(
                "PREDICTOR=2 is for whole numbers, and what is written is floating point; choose 1 or 3",
            )),
            (Some(Prediction::Of(Predictor::FloatingPoint)), false) => Err(OptionError::Together(
                "PREDICTOR=3 is for floating point, and what is written are whole numbers; choose 1 or 2",
            )),
            (Some(Prediction::Of(predictor)), _) => Ok(predictor),
            (Some(Prediction::ByType), true) => Ok(Predictor::FloatingPoint),
            (Some(Prediction::ByType), false) => Ok(Predictor::Horizontal),
            (None, true) if self.compression != Compression::None => Ok(Predictor::FloatingPoint),
            (None, _) => Ok(Predictor::None),
        }
    }
}

/// GDAL's words for true and false.
fn truth(upper: &str) -> Option<bool> {
    match upper {
        "YES" | "TRUE" | "ON" | "1" => Some(true),
        "NO" | "FALSE" | "OFF" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_taken_in_any_case() {
        let all = ["compress=zstd", "Predictor=3", "TILED=no", "BLOCKYSIZE=7", "bigtiff=if_safer", "SPARSE_OK=true"];
        assert_eq!(
            CreationOptions::parse(&all).unwrap(),
            CreationOptions {
                compression: Compression::Zstd,
                zlevel: None,
                zstd_level: None,
                predictor: Some(Prediction::Of(Predictor::FloatingPoint)),
                tiled: false,
                block_rows: Some(7),
                block_cols: None,
                bigtiff: BigTiff::IfSafer,
                sparse: true,
                ..CreationOptions::default()
            }
        );
        let more = CreationOptions::parse(&["ZLEVEL=9", "BLOCKXSIZE=64", "BLOCKXSIZE=32", "BIGTIFF=YES"]).unwrap();
        assert_eq!((more.level(), more.block_cols, more.bigtiff), (Some(9), Some(32), BigTiff::Yes));
        assert_eq!(CreationOptions::parse::<&str>(&[]), Ok(CreationOptions::default()));
    }

    #[test]
    fn a_cog_takes_the_words_of_gdals_driver() {
        let cog = CreationOptions::parse(&["LAYOUT=COG", "BLOCKSIZE=256", "LEVEL=9", "PREDICTOR=YES"]).unwrap();
        assert!(cog.cog && cog.has_overviews() && cog.statistics && cog.scratch().unwrap().is_some());
        assert_eq!((cog.block_rows, cog.block_cols, cog.level()), (Some(256), Some(256), Some(9)));
        assert_eq!(
            (cog.predictor_for(true), cog.predictor_for(false)),
            (Ok(Predictor::FloatingPoint), Ok(Predictor::Horizontal))
        );
        let predictor = |word: &str| CreationOptions::parse(&[format!("PREDICTOR={word}")]).unwrap().predictor;
        assert_eq!(predictor("standard"), Some(Prediction::Of(Predictor::Horizontal)));
        assert_eq!(predictor("NO"), Some(Prediction::Of(Predictor::None)));
        let options = ["LAYOUT=COG", "OVERVIEWS=NONE", "OVERVIEW_RESAMPLING=NEAREST", "STATISTICS=NO"];
        let plain = CreationOptions::parse(&options).unwrap();
        assert!(!plain.has_overviews() && !plain.statistics && plain.resampling == Some(Resampling::Nearest));
        let none = CreationOptions::default();
        assert!(!none.has_overviews() && none.scratch().unwrap().is_none());
        assert!(CreationOptions::parse(&["OVERVIEWS=AUTO"]).unwrap().has_overviews());
    }

    #[test]
    fn predictors_go_with_their_type() {
        let predictor = |options: &[&str], real| CreationOptions::parse(options).unwrap().predictor_for(real);
        assert_eq!(predictor(&[], true), Ok(Predictor::FloatingPoint));
        assert_eq!(predictor(&[], false), Ok(Predictor::None));
        assert_eq!(predictor(&["COMPRESS=NONE"], true), Ok(Predictor::None));
        assert_eq!(predictor(&["PREDICTOR=1"], true), Ok(Predictor::None));
        let windows =
            |options: &[&str], cells| CreationOptions::parse(options).unwrap().for_windows(cells).predictor_for(true);
        assert_eq!(windows(&[], 25), Ok(Predictor::None));
        assert_eq!(windows(&[], 101 * 101), Ok(Predictor::FloatingPoint));
        assert_eq!(windows(&["PREDICTOR=3"], 25), Ok(Predictor::FloatingPoint));
        let whole = |options: &[&str], cells| {
            let options = CreationOptions::parse(options).unwrap().for_windows(cells);
            options.for_whole_results().predictor_for(false)
        };
        assert_eq!((whole(&[], 25), whole(&[], 441)), (Ok(Predictor::None), Ok(Predictor::Horizontal)));
        assert_eq!(whole(&["COMPRESS=NONE"], 441), Ok(Predictor::None));
        assert_eq!(predictor(&["PREDICTOR=2"], false), Ok(Predictor::Horizontal));
        assert!(predictor(&["PREDICTOR=2"], true).unwrap_err().to_string().contains("choose 1 or 3"));
        assert!(predictor(&["PREDICTOR=3"], false).unwrap_err().to_string().contains("choose 1 or 2"));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_is_right() {
        let error = |options: &[&str]| CreationOptions::parse(options).unwrap_err().to_string();
        assert!(
            error(&["COMPRESS"]).starts_with(
                "the creation option \"COMPRESS\" is not of the form KEY=VALUE; the options are COMPRESS="
            )
        );
        assert!(
            error(&["NUM_THREADS=4"]).starts_with("there is no creation option NUM_THREADS; the options are COMPRESS=")
        );
        assert!(error(&["A\u{1b}[31m=1"]).starts_with("there is no creation option A\\u{1b}[31m; the options are "));
        assert_eq!(
            error(&["COMPRESS=JPEG"]),
            "the creation option COMPRESS is \"JPEG\"; it takes DEFLATE, LZW, ZSTD or NONE"
        );
        for (options, part) in [
            (&["ZLEVEL=13"][..], LEVELS.1),
            (&["ZLEVEL=-1"], LEVELS.1),
            (&["COMPRESS=ZSTD", "ZSTD_LEVEL=23"], ZSTD_LEVELS.1),
            (&["ZSTD_LEVEL=1"], "ZSTD_LEVEL is the level of COMPRESS=ZSTD"),
            (&["BLOCKXSIZE=100"], "a multiple of 16 up to 16384"),
            (&["BLOCKXSIZE=16400"], "a multiple of 16 up to 16384"),
            (&["BLOCKYSIZE=0"], "a multiple of 16 up to 16384"),
            (&["BLOCKYSIZE=100"], "BLOCKYSIZE is no multiple of 16"),
            (&["PREDICTOR=4"], "2 (for whole numbers) or 3"),
            (&["BIGTIFF=MAYBE"], "YES, NO, IF_NEEDED or IF_SAFER"),
            (&["SPARSE_OK=2"], "YES or NO"),
            (&["ZLEVEL=3", "COMPRESS=LZW"], "another codec was asked for"),
            (&["PREDICTOR=3", "COMPRESS=NONE"], "COMPRESS=NONE was asked for"),
            (&["TILED=NO", "BLOCKXSIZE=32"], "strips are as wide as the grid"),
            (&["TILED=NO", "LAYOUT=COG"], "a COG and overviews have tiles"),
            (&["TILED=NO", "OVERVIEWS=AUTO"], "a COG and overviews have tiles"),
            (&["LAYOUT=PNG"], "GTIFF or COG"),
            (&["OVERVIEWS=2,4"], "AUTO or NONE"),
            (&["OVERVIEW_RESAMPLING=CUBIC"], "AVERAGE or NEAREST"),
            (&["STATISTICS=APPROX"], "YES or NO"),
            (&["BLOCKSIZE=100"], "BLOCKSIZE is \"100\"; it takes a multiple of 16"),
            (&["LEVEL=0"], "LEVEL is \"0\""),
            (&["LEVEL=13"], LEVELS.1),
            (&["LEVEL=3", "COMPRESS=LZW"], "the codec has no levels"),
        ] {
            let error = error(options);
            assert!(error.contains(part), "{options:?}: {error}");
        }
    }
}
