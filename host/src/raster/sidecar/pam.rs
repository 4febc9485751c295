//! GDAL's `.aux.xml`: what its users have said of a raster that its file does not hold.
//!
//! ```xml
//! <PAMDataset>
//!   <SRS dataAxisToSRSAxisMapping="1,2">PROJCS["ETRS89 / LAEA Europe", ..., AUTHORITY["EPSG","3035"]]</SRS>
//!   <GeoTransform> 4321000, 30, 0, 3210000, 0, -30</GeoTransform>
//!   <PAMRasterBand band="1"><NoDataValue le_hex_equiv="0000000000E06F40">255</NoDataValue></PAMRasterBand>
//! </PAMDataset>
//! ```
//!
//! Four things of it are read, metadata of the whole raster among them. A coordinate reference system is text in WKT there and keys in a
//! GeoTIFF; one that names its code in the EPSG registry goes over, any other would need a library of projections. The attribute
//! `le_hex_equiv` has the bytes of the number, little endian, where decimals might round.

use crate::io::Nodata;
use crate::raster::georeference::CrsKind;

/// Why an `.aux.xml` is not understood.
#[derive(Debug, thiserror::Error)]
pub(super) enum PamError {
    #[error("this is not XML ({0})")]
    Xml(#[from] roxmltree::Error),
    #[error("its element {0} holds no numbers that make sense")]
    Numbers(&'static str),
}

/// What an `.aux.xml` says.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Pam {
    pub srs: Option<String>,
    pub geotransform: Option<[f64; 6]>,
    nodata: Vec<(usize, Nodata)>,
    /// Metadata of the whole raster, in no domain: names and values.
    pub items: Vec<(String, String)>,
}

impl Pam {
    /// `None` for XML of another kind, as ArcGIS leaves beside rasters under the same name.
    pub fn parse(text: &str) -> Result<Option<Self>, PamError> {
        let document = roxmltree::Document::parse(text.trim_start())?;
        let root = document.root_element();
        if !root.has_tag_name("PAMDataset") {
            return Ok(None);
        }
        let mut pam = Self::default();
        for element in root.children() {
            let text = element.text().map(str::trim).filter(|text| !text.is_empty());
            match (element.tag_name().name(), text) {
                ("SRS", Some(text)) => pam.srs = Some(text.to_owned()),
                ("GeoTransform", Some(text)) => {
                    pam.geotransform = Some(transformation(text).ok_or(PamError::Numbers("GeoTransform"))?);
                }
                ("Metadata", _) if element.attribute("domain").is_none_or(str::is_empty) => {
                    let items = element.children().filter(|child| child.has_tag_name("MDI"));
                    let item = |item: roxmltree::Node<'_, '_>| {
                        Some((item.attribute("key")?.to_owned(), item.text().unwrap_or_default().to_owned()))
                    };
                    pam.items.extend(items.filter_map(item));
                }
                ("PAMRasterBand", _) => {
                    let band = element.attribute("band").map_or(Some(1), |band| band.trim().parse().ok());
                    let value = element.children().find(|child| child.has_tag_name("NoDataValue"));
                    if let (Some(band), Some(value)) = (band, value) {
                        let exact = value.attribute("le_hex_equiv").and_then(exactly);
                        let text = || value.text().and_then(Nodata::as_gdal_writes);
                        pam.nodata.push((band, exact.or_else(text).ok_or(PamError::Numbers("NoDataValue"))?));
                    }
                }
                _ => {}
            }
        }
        Ok(Some(pam))
    }

    /// The value for no data of a band, counted from 1.
    pub fn nodata(&self, band: usize) -> Option<Nodata> {
        self.nodata.iter().find(|(of, _)| *of == band).map(|&(_, nodata)| nodata)
    }
}

/// Six numbers between commas that are a transformation.
pub(super) fn transformation(text: &str) -> Option<[f64; 6]> {
    let numbers: Vec<f64> = text.split(',').map(|number| number.trim().parse().ok()).collect::<Option<_>>()?;
    let t: [f64; 6] = numbers.try_into().ok()?;
    (t.iter().all(|v| v.is_finite()) && t[1] * t[5] - t[2] * t[4] != 0.0).then_some(t)
}

/// A number from the sixteen hexadecimal digits of its bytes, the lowest byte first.
fn exactly(digits: &str) -> Option<Nodata> {
    (digits.len() == 16).then_some(())?;
    Some(Nodata::from(f64::from_bits(u64::from_str_radix(digits, 16).ok()?.swap_bytes())))
}

/// The kind of a coordinate reference system and its code in the EPSG registry, from WKT (of 1 or 2) or `EPSG:code`.
///
/// The code is in an `AUTHORITY` or `ID` of the outermost object, not in those of its parts: a system that is spelled out may be built on
/// one that has a code. A compound system has the code of its horizontal part, the first.
pub(super) fn epsg(srs: &str) -> Option<(CrsKind, u16)> {
    // Systems bound to others, and compound ones, lie three deep at most. What is nested deeper is no system.
    epsg_within(srs, 3)
}

fn epsg_within(srs: &str, deeper: usize) -> Option<(CrsKind, u16)> {
    if let Some(code) = srs.strip_prefix("EPSG:") {
        let code: u16 = code.parse().ok()?;
        // The registry keeps 4000 to 4999 for geographic and geodetic systems, with few exceptions.
        let kind = if (4000..5000).contains(&code) { CrsKind::Geographic } else { CrsKind::Projected };
        return Some((kind, code));
    }
    let outer = object(srs)?;
    let keyword = outer.keyword.to_ascii_uppercase();
    let kind = match keyword.as_str() {
        "PROJCS" | "PROJCRS" | "PROJECTEDCRS" => CrsKind::Projected,
        "GEOGCS" | "GEOGCRS" | "GEOGRAPHICCRS" | "GEODCRS" | "GEODETICCRS" => CrsKind::Geographic,
        "COMPD_CS" | "COMPOUNDCRS" | "BOUNDCRS" | "SOURCECRS" => {
            let deeper = deeper.checked_sub(1)?;
            return outer.parts.iter().find_map(|part| epsg_within(part, deeper));
        }
        _ => return None,
    };
    outer.parts.iter().filter_map(|part| object(part)).find_map(|part| {
        let is_name = ["AUTHORITY", "ID"].iter().any(|keyword| part.keyword.eq_ignore_ascii_case(keyword));
        let [registry, code, ..] = part.parts[..] else { return None };
        let plain = |text: &str| text.trim().trim_matches('"').to_owned();
        (is_name && plain(registry).eq_ignore_ascii_case("EPSG")).then_some((kind, plain(code).parse().ok()?))
    })
}

/// An object of WKT: `KEYWORD[part, part, ...]`, parts as they are written.
struct Object<'a> {
    keyword: &'a str,
    parts: Vec<&'a str>,
}

fn object(wkt: &str) -> Option<Object<'_>> {
    let wkt = wkt.trim();
    let open = wkt.find(['[', '('])?;
    let keyword = wkt[..open].trim();
    if keyword.is_empty() || !keyword.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return None;
    }
    let inside = wkt[open + 1..].strip_suffix([']', ')'])?;
    let (mut parts, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0usize, false);
    for (i, b) in inside.bytes().enumerate() {
        match b {
            b'"' => quoted = !quoted,
            b'[' | b'(' if !quoted => depth += 1,
            b']' | b')' if !quoted => depth = depth.checked_sub(1)?,
            b',' if !quoted && depth == 0 => {
                parts.push(&inside[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[start..]);
    (depth == 0 && !quoted).then_some(Object { keyword, parts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_for_no_data_are_of_their_bands_and_exact() {
        let xml = r#"
<PAMDataset>
  <PAMRasterBand band="2"><NoDataValue le_hex_equiv="000000E0FFFFEFC7">-3.40282e+38</NoDataValue></PAMRasterBand>
  <PAMRasterBand band="1"><Description>x</Description><NoDataValue>nan</NoDataValue></PAMRasterBand>
  <PAMRasterBand band="3"/>
  <PAMRasterBand band="4"><NoDataValue> 9223372036854775807 </NoDataValue></PAMRasterBand>
  <PAMRasterBand band="5"><NoDataValue>-1.#INF</NoDataValue></PAMRasterBand>
</PAMDataset>"#;
        let pam = Pam::parse(xml).unwrap().unwrap();
        assert_eq!((pam.geotransform, &pam.srs), (None, &None));
        let lowest = Some(Nodata::from(f64::from(f32::MIN)));
        let bands = [1, 2, 3, 4, 5].map(|band| pam.nodata(band));
        let largest = Some(Nodata::Whole(i64::MAX.into()));
        assert_eq!(bands, [Some(Nodata::Nan), lowest, None, largest, Some(Nodata::Fraction(f64::NEG_INFINITY))]);
    }

    #[test]
    fn what_is_not_understood_is_an_error_and_what_is_another_files_is_not() {
        assert!(matches!(Pam::parse("<metadata><esri/></metadata>"), Ok(None)));
        assert!(matches!(Pam::parse("no xml"), Err(PamError::Xml(_))));
        for inside in ["<GeoTransform>1,2,3</GeoTransform>", "<GeoTransform>0,0,0,0,0,0</GeoTransform>"] {
            let parsed = Pam::parse(&format!("<PAMDataset>{inside}</PAMDataset>"));
            assert!(matches!(parsed, Err(PamError::Numbers("GeoTransform"))));
        }
        let parsed = Pam::parse("<PAMDataset><PAMRasterBand><NoDataValue>x</NoDataValue></PAMRasterBand></PAMDataset>");
        assert!(matches!(parsed, Err(PamError::Numbers("NoDataValue"))));
    }

    #[test]
    fn codes_are_the_outermost_objects() {
        use CrsKind::{Geographic, Projected};
        let base = r#"GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.25]],AUTHORITY["EPSG","4326"]]"#;
        for (wkt, expected) in [
            (base.to_owned(), Some((Geographic, 4326))),
            (format!(r#"PROJCS["a, [b]",{base},UNIT["metre",1],AUTHORITY["EPSG","32633"]]"#), Some((Projected, 32633))),
            (format!(r#"PROJCS["spelled out",{base},UNIT["metre",1]]"#), None),
            (
                format!(r#"COMPD_CS["both",{base},VERT_CS["height",AUTHORITY["EPSG","5703"]]]"#),
                Some((Geographic, 4326)),
            ),
            (
                r#"PROJCRS["x", BASEGEOGCRS["y", ID["EPSG", 4258]], ID["EPSG", 3035]]"#.to_owned(),
                Some((Projected, 3035)),
            ),
            (r#"GEODCRS["x",ID["IAU","49900"]]"#.to_owned(), None),
            (r#"LOCAL_CS["x",AUTHORITY["EPSG","1"]]"#.to_owned(), None),
            ("EPSG:3857".to_owned(), Some((Projected, 3857))),
            ("EPSG:4326".to_owned(), Some((Geographic, 4326))),
            (
                format!(r#"BOUNDCRS[SOURCECRS[{base}],TARGETCRS[GEOGCRS["z",ID["EPSG",4979]]]]"#),
                Some((Geographic, 4326)),
            ),
            ("COMPD_CS[".repeat(100_000), None),
            (format!("{}{}", "COMPD_CS[".repeat(10_000), "]".repeat(10_000)), None),
            ("PROJCS[".to_owned(), None),
            ("PROJCS[\"x]".to_owned(), None),
            ("[][]".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(epsg(&wkt), expected, "{wkt}");
        }
    }
}
