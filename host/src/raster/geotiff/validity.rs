//! What in a GeoTIFF, or beside it, says that cells have no data whatever their values: masks and alpha bands, as GDAL reads them.
//!
//! ```text
//! the first of these that is there counts, beside a value for no data:
//! map.tif.msk         a TIFF whose metadata INTERNAL_MASK_FLAGS_n name it the mask of band n: its band 1 for all (flag 2), or its band n
//! a mask image        a further image of the file, NewSubfileType with bit 2 and not bit 0: its band 1, or its band n if it has several
//! an alpha band       ExtraSamples 1 or 2 for the last band, where there are 2 or 4 and the numbers are u8 or u16
//! ```
//!
//! A cell is masked where it is 0 there. GDAL takes a mask instead of a declared value; here either of them suffices, so that a fill value under a
//! mask that was drawn for another purpose does not become a class.

use std::path::{Path, PathBuf};

use tiff_reader::{Ifd, TiffFile};

use super::tags;
use crate::numbers::ValueType;
use crate::raster::sidecar::with_suffix;

/// NewSubfileType: bit 0 is an overview, bit 2 a mask.
const NEW_SUBFILE_TYPE: u16 = 254;
const OVERVIEW: u32 = 1;
const MASK: u32 = 4;
/// What the samples beyond those of the colour mean.
const EXTRA_SAMPLES: u16 = 338;
const ASSOCIATED_ALPHA: u64 = 1;
const UNASSOCIATED_ALPHA: u64 = 2;
/// GDAL's flag of a mask that serves all bands.
const PER_DATASET: u32 = 2;

/// Where a band's mask is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// Image and band (counted from 1) of the file itself.
    Inside { image: usize, band: usize },
    /// The band (counted from 1) of the same image that is its alpha.
    Alpha(usize),
}

/// The mask of a band (counted from 1 of `bands`) in the file itself.
pub(super) fn inside(file: &TiffFile, name: &str, band: usize, bands: usize, kind: ValueType) -> Option<Found> {
    let main = file.ifd(0).ok()?;
    let mask = file.ifds().iter().enumerate().skip(1).find(|(_, ifd)| {
        let kind = subfile_type(ifd);
        kind & MASK != 0 && kind & OVERVIEW == 0
    });
    if let Some((image, mask)) = mask {
        if (mask.width(), mask.height()) != (main.width(), main.height()) {
            tracing::warn!(
                "{name}: its mask has {} rows and {} columns, and the image {} and {}; the mask does not count",
                mask.height(),
                mask.width(),
                main.height(),
                main.width()
            );
            return None;
        }
        let samples = usize::from(mask.samples_per_pixel());
        let band = if samples == 1 { 1 } else { band };
        return (band <= samples).then_some(Found::Inside { image, band });
    }
    let fits = matches!(bands, 2 | 4) && band < bands && matches!(kind, ValueType::U8 | ValueType::U16);
    (has_alpha(main) && fits).then_some(Found::Alpha(bands))
}

/// True when the last band says how opaque the others are.
pub(super) fn has_alpha(ifd: &Ifd) -> bool {
    let last = ifd.tag(EXTRA_SAMPLES).and_then(|tag| tag.value.as_u64_vec()?.last().copied());
    matches!(last, Some(ASSOCIATED_ALPHA | UNASSOCIATED_ALPHA))
}

/// The file with masks beside a file, if there is one.
pub(super) fn beside(path: &Path) -> Option<PathBuf> {
    let mask = with_suffix(path, ".msk");
    std::fs::metadata(&mask).is_ok_and(|metadata| metadata.is_file()).then_some(mask)
}

/// Which band of a file `map.tif.msk` is the mask of a band of `map.tif`, both counted from 1; `None` where its metadata do not say.
pub(super) fn band_beside(mask: &TiffFile, name: &str, band: usize) -> Option<usize> {
    let flags_of = format!("INTERNAL_MASK_FLAGS_{band}");
    let (_, flags) =
        tags::metadata(mask.ifd(0).ok()?, 0, name).items.into_iter().find(|(item, _)| *item == flags_of)?;
    let flags: u32 = flags.trim().parse().ok()?;
    Some(if flags & PER_DATASET != 0 { 1 } else { band })
}

fn subfile_type(ifd: &Ifd) -> u32 {
    ifd.tag(NEW_SUBFILE_TYPE).and_then(|tag| tag.value.as_u32()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::sync::Arc;

    use tiff_core::{ExtraSample, Tag, TagValue};
    use tiff_reader::source::BytesSource;
    use tiff_writer::{ImageBuilder, TiffWriter, WriteOptions};

    use crate::io::{FormatError, Nodata};
    use crate::raster::Raster;
    use crate::raster::geotiff::GeoTiff;

    const ROWS: usize = 3;
    const COLS: usize = 4;

    /// An image of 3 × 4 cells in one strip, samples side by side.
    struct Image<'a> {
        samples: &'a [u8],
        extra: Vec<ExtraSample>,
        tags: Vec<Tag>,
        /// Its NewSubfileType.
        kind: u32,
    }

    fn image(samples: &[u8]) -> Image<'_> {
        Image { samples, extra: Vec::new(), tags: Vec::new(), kind: 0 }
    }

    fn file(images: &[Image<'_>]) -> Vec<u8> {
        let mut writer = TiffWriter::new(Cursor::new(Vec::new()), WriteOptions::default()).unwrap();
        for Image { samples, extra, tags, kind } in images {
            let bands = samples.len() / ROWS / COLS;
            let mut builder = ImageBuilder::new(COLS as u32, ROWS as u32)
                .sample_type::<u8>()
                .samples_per_pixel(bands as u16)
                .extra_samples(extra.clone())
                .strips(ROWS as u32);
            builder = tags.iter().cloned().fold(builder, ImageBuilder::tag);
            if *kind > 0 {
                builder = builder.overview();
            }
            let image = writer.add_image(builder).unwrap();
            writer.write_block(&image, 0, samples).unwrap();
        }
        let mut bytes = writer.finish().unwrap().into_inner();
        // The builder knows overviews only: their tag becomes the one that is wanted, image by image.
        const OF_OVERVIEW: [u8; 12] = [254, 0, 4, 0, 1, 0, 0, 0, 1, 0, 0, 0];
        for kind in images.iter().map(|image| image.kind).filter(|&kind| kind > 0) {
            let at = bytes.windows(12).position(|entry| entry == OF_OVERVIEW).expect("the tag of an overview");
            bytes[at + 8..at + 12].copy_from_slice(&kind.to_le_bytes());
        }
        bytes
    }

    fn mask(samples: &[u8], kind: u32) -> Image<'_> {
        Image { kind, ..image(samples) }
    }

    fn open(bytes: Vec<u8>, band: usize) -> Result<GeoTiff, FormatError> {
        GeoTiff::from_source(Arc::new(BytesSource::new(bytes)), "f.tif".to_owned(), band)
    }

    fn masked(tiff: &GeoTiff) -> Vec<usize> {
        let masked = tiff.masked(0..ROWS, 0..COLS).unwrap().unwrap_or_default();
        (0..masked.len()).filter(|&i| masked[i]).collect()
    }

    const CELLS: [u8; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
    const SHOWN: [u8; 12] = [1, 0, 255, 255, 255, 255, 0, 255, 255, 255, 255, 0];
    const MASKED: [usize; 3] = [1, 6, 11];

    #[test]
    fn a_mask_image_hides_cells() {
        let tiff = open(file(&[image(&CELLS), mask(&SHOWN, 4)]), 1).unwrap();
        assert_eq!((masked(&tiff), tiff.has_mask()), (MASKED.to_vec(), true));
        assert_eq!(tiff.origins().mask.as_deref(), Some("a mask in the file"));
        // Only part of it.
        assert_eq!(tiff.masked(1..3, 2..4).unwrap(), Some(vec![true, false, false, true]));
        let tiff = tiff.without_masks();
        assert_eq!((masked(&tiff), tiff.has_mask(), tiff.origins().mask), (vec![], false, None));
        // An overview, the mask of an overview, a page.
        for kind in [1, 5, 0, 2] {
            let tiff = open(file(&[image(&CELLS), mask(&SHOWN, kind)]), 1).unwrap();
            assert!(!tiff.has_mask(), "{kind}");
        }
    }

    #[test]
    fn alpha_hides_cells_of_bands_before_it() {
        let pairs = |extra: ExtraSample| {
            let samples: Vec<u8> = CELLS.iter().zip(SHOWN).flat_map(|(&cell, shown)| [cell, shown]).collect();
            file(&[Image { extra: vec![extra], ..image(&samples) }])
        };
        for extra in [ExtraSample::AssociatedAlpha, ExtraSample::UnassociatedAlpha] {
            let tiff = open(pairs(extra), 1).unwrap();
            assert_eq!((masked(&tiff), tiff.has_alpha()), (MASKED.to_vec(), true));
            assert_eq!(tiff.origins().mask.as_deref(), Some("alpha, band 2"));
            // Who asks for alpha gets it, all of it.
            assert!(!open(pairs(extra), 2).unwrap().has_mask());
        }
        let plain = open(pairs(ExtraSample::Unspecified), 1).unwrap();
        assert!(!plain.has_mask() && !plain.has_alpha());
    }

    #[test]
    fn a_file_beside_hides_cells_if_its_metadata_say_so() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("map.tif");
        std::fs::write(&path, file(&[image(&CELLS)])).unwrap();
        let flags = |text: &str| vec![Tag::new(42112, TagValue::Ascii(text.to_owned()))];
        let item = |band: usize, flag: u32| {
            format!("<GDALMetadata><Item name=\"INTERNAL_MASK_FLAGS_{band}\">{flag}</Item></GDALMetadata>")
        };
        for (xml, hides) in [(item(1, 2), true), (item(1, 0), true), (item(2, 2), false), ("<x".to_owned(), false)] {
            let beside = file(&[Image { tags: flags(&xml), ..image(&SHOWN) }]);
            std::fs::write(dir.path().join("map.tif.msk"), beside).unwrap();
            let tiff = GeoTiff::open(&path, 1).unwrap();
            assert_eq!(masked(&tiff), if hides { MASKED.to_vec() } else { vec![] }, "{xml}");
            assert_eq!(tiff.origins().mask.is_some_and(|origin| origin.ends_with("map.tif.msk")), hides);
        }
        // What is no TIFF is no mask either, and says so.
        std::fs::write(dir.path().join("map.tif.msk"), "x").unwrap();
        let error = GeoTiff::open(&path, 1).unwrap_err();
        assert!(error.file().ends_with("map.tif.msk"), "{error}");
    }

    #[test]
    fn the_value_for_no_data_may_be_microsofts() {
        for (text, nodata) in [
            ("-1.#INF", Some(Nodata::Fraction(f64::NEG_INFINITY))),
            ("1.#INF", Some(Nodata::Fraction(f64::INFINITY))),
            ("1.#INF000e+000", Some(Nodata::Fraction(f64::INFINITY))),
            ("-1.#IND", Some(Nodata::Nan)),
            ("1.#QNAN", Some(Nodata::Nan)),
            ("-1.#SNAN", Some(Nodata::Nan)),
            ("1.#OTHER", None),
            ("2.#INF", None),
            ("-9999", Some(Nodata::Whole(-9999))),
        ] {
            let tags = vec![Tag::new(42113, TagValue::Ascii(text.to_owned()))];
            let tiff = open(file(&[Image { tags, ..image(&CELLS) }]), 1).unwrap();
            assert_eq!(tiff.nodata(), nodata, "{text}");
        }
    }
}
