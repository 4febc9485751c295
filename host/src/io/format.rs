//! The names of the formats, and which file name ending stands for which.
//!
//! Input: seed-text (`.txt`), seed-binary (`.bin`), NPY, PNG, PGM, GeoTIFF (`.tif`, `.tiff`). Output: text (`.txt`), seed-lines, NPY,
//! GeoTIFF. A GeoTIFF is no stream: it is read and written by [`raster::geotiff`](crate::raster::geotiff), which seeks in its
//! file; the readers and writers of this module report that.
//!
//! The readers and writers of some formats take crates of their own, and a build may be without them: [`OPTIONAL`] lists those formats and the
//! cargo features that they need. Their names stay known, so that a file of such a format is an error that names the feature.
//!
//! Endings are compared without regard to case. Nothing is guessed from a file's content: a pipe has
//! to be told its format anyway, and a guess that is wrong once in a while is worse than a question.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::error::Problem;

/// A format that needs a cargo feature.
pub(crate) struct Optional {
    format: &'static str,
    feature: &'static str,
    included: bool,
}

/// GeoTIFF, by the crates that read and write TIFF and by those of its codecs.
pub(crate) const GEOTIFF: Optional =
    Optional { format: "geotiff", feature: "geotiff", included: cfg!(feature = "geotiff") };

/// PNG, by the crate `png`.
pub(crate) const PNG: Optional = Optional { format: "png", feature: "png", included: cfg!(feature = "png") };

/// All of them.
const OPTIONAL: [Optional; 2] = [GEOTIFF, PNG];

impl Optional {
    /// The entry of a format that this build was compiled without.
    fn missing(format: &str) -> Option<&'static Self> {
        OPTIONAL.iter().find(|optional| optional.format == format && !optional.included)
    }

    /// What is wrong with a file of this format, if this build was compiled without it.
    pub(crate) fn problem(&self) -> Option<Problem> {
        let Self { format, feature, included } = self;
        (!included).then(|| {
            let what = format!("halotile was compiled without the format {format}");
            Problem::new(what, format!("compile it with the cargo feature {feature}"))
        })
    }
}

/// Why a GeoTIFF is not written from beginning to end: its tags come last and are pointed to from its first bytes.
pub(crate) fn no_geotiff_stream() -> String {
    GEOTIFF.problem().map_or_else(|| "a GeoTIFF cannot be written to a pipe".to_owned(), |problem| problem.to_string())
}

/// A format of cells: text and NPY have numbers of any type, pictures 0..=65,535, seed-binary 0..=255.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InputFormat {
    /// `rows columns`, then the rows as lines of numbers.
    SeedText,
    /// 32-bit width and height, then bytes; any number of samples.
    SeedBinary,
    /// NumPy's array file.
    Npy,
    /// A grey PNG picture of 8 or 16 bits.
    Png,
    /// A grey Netpbm picture (P2 or P5).
    Pgm,
    /// A TIFF with a place on the earth.
    GeoTiff,
}

/// A format of results (floating-point numbers).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputFormat {
    /// Lines of numbers, 12 characters wide with 5 decimals.
    Text,
    /// `width,height,v,v,...,`: one line a sample.
    SeedLines,
    /// NumPy's array file.
    Npy,
    /// A TIFF with a place on the earth.
    GeoTiff,
}

impl InputFormat {
    /// Every format, in the order messages list them, whether this build has it or not.
    pub const ALL: &'static [InputFormat] =
        &[Self::SeedText, Self::SeedBinary, Self::Npy, Self::Png, Self::Pgm, Self::GeoTiff];

    /// Those that are read and written from beginning to end, as through a pipe, as far as this build has them.
    pub fn streams() -> impl Iterator<Item = Self> + Clone {
        let all = Self::ALL.iter().copied().filter(|&format| format != Self::GeoTiff);
        all.filter(|format| Optional::missing(format.name()).is_none())
    }

    /// The format's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::SeedText => "seed-text",
            Self::SeedBinary => "seed-binary",
            Self::Npy => "npy",
            Self::Png => "png",
            Self::Pgm => "pgm",
            Self::GeoTiff => "geotiff",
        }
    }

    fn endings(self) -> &'static [&'static str] {
        match self {
            Self::SeedText => &["txt"],
            Self::SeedBinary => &["bin"],
            Self::Npy => &["npy"],
            Self::Png => &["png"],
            Self::Pgm => &["pgm"],
            Self::GeoTiff => &["tif", "tiff"],
        }
    }

    /// The format that the ending of `path` stands for.
    ///
    /// ```
    /// use halotile::io::InputFormat;
    /// assert_eq!(InputFormat::detect("map.NPY".as_ref()), Ok(InputFormat::Npy));
    /// assert_eq!(
    ///     InputFormat::detect("map.dat".as_ref()).unwrap_err().to_string(),
    ///     "map.dat: the ending does not say the format; end the name in one of \
    ///      .txt (seed-text), .bin (seed-binary), .npy (npy), .png (png), .pgm (pgm), .tif (geotiff), .tiff (geotiff), or name the format"
    /// );
    /// ```
    ///
    /// A format that GDAL reads and this library does not is [`UnknownFormat::Foreign`], one that this build was compiled without
    /// [`UnknownFormat::Excluded`].
    ///
    /// # Errors
    /// [`UnknownFormat`] for an ending that no format has.
    pub fn detect(path: &Path) -> Result<Self, UnknownFormat> {
        // GDAL's mosaics of GeoTIFFs.
        if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("vrt")) {
            let shown = || super::error::one_line(&path.display().to_string());
            return included(&shown, Self::GeoTiff.name(), Self::GeoTiff);
        }
        Self::detect_written(path).map_err(|error| foreign(path).unwrap_or(error))
    }

    /// The same for a file that is to be written: there is no file of another program's to convert.
    ///
    /// # Errors
    /// [`UnknownFormat`] for an ending that no format has.
    pub fn detect_written(path: &Path) -> Result<Self, UnknownFormat> {
        let known = Self::ALL.iter().flat_map(|&f| f.endings().iter().map(move |&e| (e, f.name(), f)));
        detect(path, &known.collect::<Vec<_>>())
    }
}

/// Endings of rasters that GDAL reads: what names one of them is no grid under an unusual name, and naming a format for it would lead nowhere.
const FOREIGN: [&str; 49] = [
    "img", "asc", "grd", "bil", "bip", "bsq", "flt", "hdf", "hdf4", "hdf5", "h4", "h5", "he5", "nc", "nc4", "cdf",
    "jp2", "j2k", "jpg", "jpeg", "ecw", "sid", "adf", "gpkg", "zarr", "rst", "sdat", "sgrd", "mbtiles", "kea", "dem",
    "ddf", "dt0", "dt1", "dt2", "hgt", "bmp", "gif", "webp", "ntf", "nitf", "ers", "map", "mrf", "xyz", "e00", "grib",
    "grb", "grib2",
];

/// The error for a raster of another program's.
fn foreign(path: &Path) -> Option<UnknownFormat> {
    let ending = path.extension()?;
    FOREIGN.iter().any(|known| ending.eq_ignore_ascii_case(known)).then(|| {
        let shown = |path: &Path| super::error::one_line(&path.display().to_string());
        UnknownFormat::Foreign { path: shown(path), converted: shown(&path.with_extension("tif")) }
    })
}

impl OutputFormat {
    /// Every format, in the order messages list them, whether this build has it or not.
    pub const ALL: &'static [OutputFormat] = &[Self::Text, Self::SeedLines, Self::Npy, Self::GeoTiff];

    /// Those that are written from beginning to end, as through a pipe.
    pub const STREAMS: &'static [OutputFormat] = &[Self::Text, Self::SeedLines, Self::Npy];

    /// The format's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::SeedLines => "seed-lines",
            Self::Npy => "npy",
            Self::GeoTiff => "geotiff",
        }
    }

    /// The format that the ending of `path` stands for (seed-lines has none: name it).
    ///
    /// # Errors
    /// [`UnknownFormat`] for an ending that no format has.
    pub fn detect(path: &Path) -> Result<Self, UnknownFormat> {
        let tiff = |ending| (ending, "geotiff", Self::GeoTiff);
        detect(path, &[("txt", "text", Self::Text), ("npy", "npy", Self::Npy), tiff("tif"), tiff("tiff")])
    }
}

pub(crate) fn detect<F: Copy>(path: &Path, known: &[(&'static str, &'static str, F)]) -> Result<F, UnknownFormat> {
    let ending = path.extension().unwrap_or_default();
    let shown = || super::error::one_line(&path.display().to_string());
    match known.iter().find(|(e, ..)| ending.eq_ignore_ascii_case(e)) {
        Some(&(_, name, format)) => included(&shown, name, format),
        None => {
            let there = known.iter().filter(|(_, name, _)| Optional::missing(name).is_none());
            let list: Vec<String> = there.map(|(e, name, _)| format!(".{e} ({name})")).collect();
            Err(UnknownFormat::Ending { path: shown(), known: list.join(", ") })
        }
    }
}

/// The format, unless this build was compiled without it; `shown` is what the error is about.
fn included<F>(shown: &dyn Fn() -> String, name: &'static str, format: F) -> Result<F, UnknownFormat> {
    match Optional::missing(name) {
        None => Ok(format),
        Some(&Optional { format, feature, .. }) => Err(UnknownFormat::Excluded { shown: shown(), format, feature }),
    }
}

/// A format that cannot be told, or that is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownFormat {
    /// A file name whose ending stands for no format.
    #[error("{path}: the ending does not say the format; end the name in one of {known}, or name the format")]
    Ending {
        /// The file.
        path: String,
        /// The endings there are.
        known: String,
    },
    /// A raster of a format that GDAL reads and this library does not.
    #[error("{path}: this format is read by GDAL, not here; convert it: gdal_translate {path} {converted}")]
    Foreign {
        /// The file.
        path: String,
        /// The same as a GeoTIFF.
        converted: String,
    },
    /// A format that this build was compiled without.
    #[error("{shown}: halotile was compiled without the format {format}; compile it with the cargo feature {feature}")]
    Excluded {
        /// The file, or the name given.
        shown: String,
        /// The format.
        format: &'static str,
        /// The feature that it needs.
        feature: &'static str,
    },
    /// A name that no format has.
    #[error("no format is called {name:?}; the formats are {known}")]
    Name {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
}

pub(crate) fn by_name<F: Copy>(name: &str, all: &[F], name_of: fn(F) -> &'static str) -> Result<F, UnknownFormat> {
    match all.iter().copied().find(|&f| name_of(f).eq_ignore_ascii_case(name)) {
        Some(format) => included(&|| name.to_owned(), name_of(format), format),
        None => {
            let known = all.iter().map(|&f| name_of(f)).filter(|name| Optional::missing(name).is_none());
            Err(UnknownFormat::Name { name: name.to_owned(), known: known.collect::<Vec<_>>().join(", ") })
        }
    }
}

impl FromStr for InputFormat {
    type Err = UnknownFormat;
    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        by_name(name, Self::ALL, Self::name)
    }
}

impl FromStr for OutputFormat {
    type Err = UnknownFormat;
    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        by_name(name, Self::ALL, Self::name)
    }
}

impl fmt::Display for InputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for OutputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_endings_lead_back_to_their_format() {
        for &format in InputFormat::ALL {
            let of = |shown: &str| included(&|| shown.to_owned(), format.name(), format);
            assert_eq!(format.to_string().parse(), of(format.name()));
            for ending in format.endings() {
                let path = format!("dir.x/a.b.{ending}");
                assert_eq!(InputFormat::detect(path.as_ref()), of(&path));
            }
        }
        for &format in OutputFormat::ALL {
            assert_eq!(format.to_string().parse(), included(&|| format.to_string(), format.name(), format));
        }
        assert_eq!(OutputFormat::detect("a.txt".as_ref()), Ok(OutputFormat::Text));
        let tiff = included(&|| "a.TIF".to_owned(), "geotiff", OutputFormat::GeoTiff);
        assert_eq!(OutputFormat::detect("a.TIF".as_ref()), tiff);
    }

    #[test]
    fn a_format_that_was_left_out_names_its_feature() {
        assert_eq!((GEOTIFF.included, PNG.included), (cfg!(feature = "geotiff"), cfg!(feature = "png")));
        for Optional { format, feature, included } in OPTIONAL {
            assert!(InputFormat::ALL.iter().any(|f| f.name() == format), "{format}");
            let excluded = Optional { format, feature, included: false }.problem().unwrap().to_string();
            assert_eq!(
                excluded,
                format!(
                    "halotile was compiled without the format {format}; compile it with the cargo feature {feature}"
                )
            );
            match format.parse::<InputFormat>() {
                Ok(found) => assert!(included && found.name() == format),
                Err(error) => assert!(!included && error.to_string() == format!("{format}: {excluded}"), "{error}"),
            }
        }
        let formats = InputFormat::streams().map(InputFormat::name);
        assert_eq!(formats.collect::<Vec<_>>().contains(&"png"), cfg!(feature = "png"));
    }

    #[test]
    fn what_gdal_reads_is_to_be_converted() {
        for name in ["d.x/land.IMG", "dem.asc", "a.img", "hdr.adf", "t.jpg", "t.nc"] {
            let error = InputFormat::detect(name.as_ref()).unwrap_err();
            assert!(matches!(error, UnknownFormat::Foreign { .. }), "{error}");
        }
        let vrt = InputFormat::detect("land.VRT".as_ref());
        assert!(vrt == Ok(InputFormat::GeoTiff) || !cfg!(feature = "geotiff"), "{vrt:?}");
        assert!(matches!(InputFormat::detect_written("land.vrt".as_ref()), Err(UnknownFormat::Ending { .. })));
        let error = InputFormat::detect("d.x/land.img".as_ref()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "d.x/land.img: this format is read by GDAL, not here; convert it: gdal_translate d.x/land.img d.x/land.tif"
        );
        // Results are written under no such name, whatever writes it.
        assert!(matches!(OutputFormat::detect("h.asc".as_ref()), Err(UnknownFormat::Ending { .. })));
    }

    #[cfg(all(feature = "geotiff", feature = "png"))]
    #[test]
    fn what_is_unknown_lists_what_is_known() {
        let e = "tiff".parse::<InputFormat>().unwrap_err();
        assert_eq!(
            e.to_string(),
            "no format is called \"tiff\"; the formats are seed-text, seed-binary, npy, png, pgm, geotiff"
        );
        let e = OutputFormat::detect("out".as_ref()).unwrap_err();
        assert_eq!(
            e.to_string(),
            "out: the ending does not say the format; end the name in one of .txt (text), .npy (npy), .tif (geotiff), .tiff (geotiff), \
             or name the format"
        );
    }
}
