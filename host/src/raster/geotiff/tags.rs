//! The tags that make a TIFF a GeoTIFF, and those that GDAL has added.
//!
//! The georeference goes from file to file as it is, tag by tag: what a coordinate system means is for programs that draw maps. It holds
//! the raster's kind too (GTRasterTypeGeoKey: whether a cell is an area or a point, GDAL's `AREA_OR_POINT`). A text with bytes that
//! are not UTF-8, as Latin-1 names have, gets a question mark for each such byte: the key directory counts bytes of the text, so
//! its length must stay.

use tiff_core::{Tag, TagValue};
use tiff_reader::Ifd;

use crate::io::Nodata;
use crate::raster::Georeference;

const PIXEL_SCALE: u16 = 33550;
const TIEPOINTS: u16 = 33922;
const TRANSFORMATION: u16 = 34264;
const KEY_DIRECTORY: u16 = 34735;
const KEY_DOUBLES: u16 = 34736;
const KEY_TEXT: u16 = 34737;
/// Of rational polynomials.
const RPC: u16 = 50844;
/// XML with items of the image and of its bands.
pub(super) const GDAL_METADATA: u16 = 42112;
/// A number as text.
const GDAL_NODATA: u16 = 42113;

/// What the file says of its place.
pub(super) fn georeference(ifd: &Ifd) -> Option<Georeference> {
    let doubles = |code| ifd.tag(code).and_then(|tag| tag.value.as_f64_vec());
    let found = Georeference {
        pixel_scale: doubles(PIXEL_SCALE),
        tiepoints: doubles(TIEPOINTS),
        transformation: doubles(TRANSFORMATION),
        key_directory: ifd.tag(KEY_DIRECTORY).and_then(|tag| tag.value.as_u16_slice()).map(<[u16]>::to_vec),
        key_doubles: doubles(KEY_DOUBLES),
        key_text: ifd.tag(KEY_TEXT).and_then(|tag| Some(tag.value.as_str()?.replace('\u{fffd}', "?"))),
        rpc: doubles(RPC),
    };
    (!found.is_empty()).then_some(found)
}

/// What GDAL's metadata say of the whole image, and of one of its bands.
#[derive(Debug, Default)]
pub(super) struct GdalMetadata {
    /// Names and values.
    pub items: Vec<(String, String)>,
    /// Of the band, where it is said.
    pub scale: Option<Scale>,
}

/// What the numbers of a band are multiplied by, and what is added then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    pub scale: f64,
    pub offset: f64,
}

/// GDAL's metadata of the whole image and of a band, counted from 0.
pub(super) fn metadata(ifd: &Ifd, band: usize, name: &str) -> GdalMetadata {
    let Some(text) = ifd.tag(GDAL_METADATA).and_then(|tag| tag.value.as_str()) else { return GdalMetadata::default() };
    let document = match roxmltree::Document::parse(text) {
        Ok(document) => document,
        Err(error) => {
            tracing::warn!("{name}: the tag GDAL_METADATA holds no XML ({error}); it does not count");
            return GdalMetadata::default();
        }
    };
    let mut found = GdalMetadata::default();
    let (mut scale, mut offset) = (None, None);
    for item in document.root_element().children().filter(|item| item.has_tag_name("Item")) {
        let value = item.text().unwrap_or_default();
        if ["sample", "domain", "role"].iter().all(|attribute| !item.has_attribute(*attribute)) {
            found.items.extend(item.attribute("name").map(|name| (name.to_owned(), unescaped(value))));
        } else if item.attribute("sample").and_then(|sample| sample.parse().ok()) == Some(band) {
            let place = match item.attribute("role") {
                Some("scale") => &mut scale,
                Some("offset") => &mut offset,
                _ => continue,
            };
            *place = value.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            if place.is_none() {
                tracing::warn!("{name}: a scale or an offset of band {} is {value:?}; it does not count", band + 1);
            }
        }
    }
    if scale.is_some() || offset.is_some() {
        found.scale = Some(Scale { scale: scale.unwrap_or(1.0), offset: offset.unwrap_or(0.0) });
    }
    found
}

/// What GDAL has escaped twice, of which the parser of XML has taken one back.
fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// The tags that say it again.
pub(super) fn of_georeference(georeference: &Georeference) -> Vec<Tag> {
    let Georeference { pixel_scale, tiepoints, transformation, key_directory, key_doubles, key_text, rpc } =
        georeference;
    let doubles = |code, values: &Option<Vec<f64>>| {
        values.as_ref().filter(|v| !v.is_empty()).map(|values| Tag::new(code, TagValue::Double(values.clone())))
    };
    let tags = [
        doubles(PIXEL_SCALE, pixel_scale),
        doubles(TIEPOINTS, tiepoints),
        doubles(TRANSFORMATION, transformation),
        key_directory.as_ref().map(|keys| Tag::new(KEY_DIRECTORY, TagValue::Short(keys.clone()))),
        doubles(KEY_DOUBLES, key_doubles),
        key_text.as_ref().map(|text| Tag::new(KEY_TEXT, TagValue::Ascii(text.clone()))),
        doubles(RPC, rpc),
    ];
    tags.into_iter().flatten().collect()
}

/// The value that means "no data", if the file names one that is a number.
pub(super) fn nodata(ifd: &Ifd, name: &str) -> Option<Nodata> {
    let text = ifd.tag(GDAL_NODATA)?.value.as_str()?.trim();
    let nodata = Nodata::as_gdal_writes(text);
    if nodata.is_none() && !text.is_empty() {
        tracing::warn!("{name}: the tag GDAL_NODATA holds {text:?}, which is not a number; it does not count");
    }
    nodata
}

/// The tag that names it.
pub(super) fn of_nodata(text: &str) -> Tag {
    Tag::new(GDAL_NODATA, TagValue::Ascii(text.to_owned()))
}

/// A place for a raster that has none: cells of 30 m around the middle of Europe's equal-area system (EPSG:3035), for grids that are
/// made up and should still open somewhere.
pub(super) fn made_up(rows: usize, cols: usize) -> Georeference {
    const CELL: f64 = 30.0;
    // The system's false easting and northing are its middle.
    let (left, top) = (4_321_000.0 - CELL * (cols / 2) as f64, 3_210_000.0 + CELL * (rows / 2) as f64);
    Georeference {
        pixel_scale: Some(vec![CELL, CELL, 0.0]),
        tiepoints: Some(vec![0.0, 0.0, 0.0, left, top, 0.0]),
        key_directory: Some(
            [
                [1, 1, 0, 4],
                // The model is projected, a cell is an area, the system is EPSG:3035, its unit is the metre.
                [1024, 0, 1, 1],
                [1025, 0, 1, 1],
                [3072, 0, 1, 3035],
                [3076, 0, 1, 9001],
            ]
            .concat(),
        ),
        ..Georeference::default()
    }
}
