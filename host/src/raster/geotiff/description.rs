//! What a GeoTIFF of results says of them: of each band its name, its unit and how its numbers are stored, and of the whole what was computed, of what, by
//! which software.
//!
//! It is GDAL's metadata: XML in a tag of its own, and the tag Software, as `gdalinfo` shows them.

use std::fmt::Write as _;

use tiff_core::{Tag, TagValue};

use super::statistics::Statistics;
use super::stored::Stored;
use super::tags::GDAL_METADATA;

/// The program that made the file.
const SOFTWARE: u16 = 305;

/// Names and units of bands, how their numbers are stored, and items of metadata.
///
/// ```
/// use halotile::raster::geotiff::Description;
/// let described = Description::of(&["shannon", "richness"]).unit(0, "nats").item("HALOTILE_EDGE", "shrink");
/// assert_eq!(described.bands(), 2);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Description {
    bands: Vec<Band>,
    items: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
struct Band {
    name: String,
    unit: Option<String>,
    stored: Option<Stored>,
}

impl Description {
    /// Bands of these names, without units.
    pub fn of<S: AsRef<str>>(names: &[S]) -> Self {
        let band = |name: &S| Band { name: name.as_ref().to_owned(), unit: None, stored: None };
        Self { bands: names.iter().map(band).collect(), items: Vec::new() }
    }

    /// The unit of the numbers of `band`, from 0. A band that is not there has none.
    #[must_use]
    pub fn unit(mut self, band: usize, unit: &str) -> Self {
        if let Some(band) = self.bands.get_mut(band) {
            band.unit = Some(unit.to_owned());
        }
        self
    }

    /// How the results of each band are stored, in numbers of one type: as they come where this is not said.
    ///
    /// Panics unless there is one for each band, all of one type and with one number for no data.
    #[must_use]
    pub fn stored(mut self, stored: &[Stored]) -> Self {
        assert_eq!(self.bands.len(), stored.len(), "one for each band");
        let of = |stored: &Stored| (stored.stored_type(), stored.nodata());
        assert!(
            stored.windows(2).all(|pair| of(&pair[0]) == of(&pair[1])),
            "bands of a TIFF have one type and one no data"
        );
        for (band, stored) in self.bands.iter_mut().zip(stored) {
            band.stored = Some(*stored);
        }
        self
    }

    /// An item of metadata of the whole file.
    #[must_use]
    pub fn item(mut self, name: &str, value: &str) -> Self {
        self.items.push((name.to_owned(), value.to_owned()));
        self
    }

    /// How many bands there are.
    pub fn bands(&self) -> usize {
        self.bands.len()
    }

    /// How bands are stored, if that was said.
    pub(super) fn all_stored(&self) -> Option<Vec<Stored>> {
        self.bands.iter().map(|band| band.stored).collect()
    }

    /// The tags; with what numbers of bands are alike, where that was asked for.
    pub(super) fn tags(&self, statistics: &[Statistics]) -> [Tag; 2] {
        let software = concat!("halotile ", env!("CARGO_PKG_VERSION")).to_owned();
        [Tag::new(SOFTWARE, TagValue::Ascii(software)), Tag::new(GDAL_METADATA, TagValue::Ascii(self.xml(statistics)))]
    }

    fn xml(&self, statistics: &[Statistics]) -> String {
        let mut xml = "<GDALMetadata>\n".to_owned();
        let mut item = |attributes: &str, value: &str| {
            // Twice, because GDAL does so, and takes it back twice. Writing to a string does not fail.
            let _ = writeln!(xml, "  <Item {attributes}>{}</Item>", escaped(&escaped(value)));
        };
        for (name, value) in &self.items {
            item(&format!("name=\"{}\"", escaped(name)), value);
        }
        for (sample, Band { name, unit, stored }) in self.bands.iter().enumerate() {
            item(&format!("name=\"DESCRIPTION\" sample=\"{sample}\" role=\"description\""), name);
            if let Some(unit) = unit {
                item(&format!("name=\"UNITTYPE\" sample=\"{sample}\" role=\"unittype\""), unit);
            }
            if let Some(stored) = stored.filter(|stored| !stored.stored_type().is_real()) {
                item(&format!("name=\"OFFSET\" sample=\"{sample}\" role=\"offset\""), "0");
                item(&format!("name=\"SCALE\" sample=\"{sample}\" role=\"scale\""), &stored.scale().to_string());
            }
            for (name, value) in statistics.get(sample).map(Statistics::items).unwrap_or_default() {
                item(&format!("name=\"{name}\" sample=\"{sample}\""), &value);
            }
        }
        xml.push_str("</GDALMetadata>\n");
        xml
    }
}

fn escaped(text: &str) -> String {
    let mut xml = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            // XML has no way to say most of them.
            c if c.is_control() => xml.push(' '),
            c => xml.push(c),
        }
    }
    xml
}
