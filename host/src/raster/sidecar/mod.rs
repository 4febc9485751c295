//! Files beside a raster that say more of it, as GDAL reads them.
//!
//! ```text
//! map.tif.aux.xml            pam     values for no data, the coordinate reference system, the transformation, items of metadata: before
//!                                    the file's own
//! map.tfw, .tifw, .wld       world   the transformation, where neither the .aux.xml nor the file has one
//! ```
//!
//! GDAL writes an `.aux.xml` when a file cannot be changed or its format has no place for what is to be kept (its Persistent
//! Auxiliary Metadata, PAM), so what stands there is newer than what stands in the file. A file that cannot be read or
//! understood does not count, with a warning: the raster itself is whole.

mod pam;
mod world;

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::io::Nodata;
use crate::raster::georeference::CrsKind;
use crate::raster::{Georeference, Origins};

/// No honest sidecar is longer: statistics and histograms of hundreds of bands take some 100 KiB.
const LONGEST: u64 = 16 << 20;

/// The kind of a coordinate reference system and its code in the EPSG registry, if it names one.
pub(super) fn epsg(srs: &str) -> Option<(CrsKind, u16)> {
    pam::epsg(srs)
}

/// Six numbers between commas, in GDAL's order, that are a transformation.
pub(super) fn transformation(text: &str) -> Option<[f64; 6]> {
    pam::transformation(text)
}

/// What a raster's tags say, and after [`apply`] what holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Metadata {
    pub nodata: Option<Nodata>,
    pub georeference: Option<Georeference>,
    /// Names and values.
    pub items: Vec<(String, String)>,
    pub origins: Origins,
}

/// Puts in what files beside `path` say of a band (counted from 1), where they come first.
pub(super) fn apply(metadata: &mut Metadata, path: &Path, band: usize) {
    let beside = with_suffix(path, ".aux.xml");
    let pam = text(&beside).and_then(|text| {
        let pam = pam::Pam::parse(&text);
        pam.inspect_err(|error| warn(&beside, &error.to_string())).ok().flatten()
    });
    let mut has_transformation = metadata.georeference.as_ref().is_some_and(Georeference::is_placed);
    if let Some(pam) = pam {
        let name = beside.display().to_string();
        if let Some(nodata) = pam.nodata(band) {
            metadata.nodata = Some(nodata);
            metadata.origins.nodata = Some(name.clone());
        }
        metadata.items.extend(pam.items);
        metadata.items = last_of_each_name(std::mem::take(&mut metadata.items));
        let mut place = metadata.georeference.clone().unwrap_or_default();
        if let Some(srs) = &pam.srs {
            match pam::epsg(srs) {
                Some((_, code)) if place.epsg() == Some(code) => {}
                Some((kind, code)) => place.set_epsg(kind, code),
                None => {
                    warn(&beside, "its coordinate reference system has no code of the EPSG registry, and is not kept")
                }
            }
        }
        if let Some(transformation) = pam.geotransform {
            place.set_geotransform(transformation);
            has_transformation = true;
        }
        if !place.is_empty() && metadata.georeference.as_ref() != Some(&place) {
            metadata.georeference = Some(place);
            metadata.origins.georeference = Some(name);
        }
    }
    if has_transformation {
        return;
    }
    let found = world::names(path).into_iter().find_map(|beside| Some((text(&beside)?, beside)));
    if let Some((text, beside)) = found {
        match world::parse(&text) {
            Ok(transformation) => {
                metadata.georeference.get_or_insert_default().set_geotransform(transformation);
                let also =
                    metadata.origins.georeference.take().map(|origin| format!("{origin} and ")).unwrap_or_default();
                metadata.origins.georeference = Some(format!("{also}{}", beside.display()));
            }
            Err(error) => warn(&beside, &error.to_string()),
        }
    }
}

/// Items without those that a later one of the same name replaces.
fn last_of_each_name(mut items: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut seen = HashSet::new();
    let mut is_last: Vec<bool> = items.iter().rev().map(|(name, _)| seen.insert(name)).collect();
    items.retain(|_| is_last.pop().expect("one for each item"));
    items
}

/// `map.tif.msk` of `map.tif`.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn warn(path: &Path, what: &str) {
    tracing::warn!("{}: {what}; the file does not count", path.display());
}

/// The text of a regular file, if it is there.
fn text(path: &Path) -> Option<String> {
    // Anything else might block, and is no sidecar.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    match std::fs::File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes)) {
        Ok(_) if bytes.len() as u64 > LONGEST => {
            warn(path, "it is longer than 16 MiB");
            None
        }
        Ok(_) => {
            let start = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
            Some(String::from_utf8_lossy(&bytes[start..]).into_owned())
        }
        Err(error) => {
            warn(path, &format!("it cannot be read ({error})"));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const PAM: &str = r#"<PAMDataset>
  <SRS dataAxisToSRSAxisMapping="1,2">PROJCS["WGS 84 / UTM zone 33N",GEOGCS["WGS 84",AUTHORITY["EPSG","4326"]],AUTHORITY["EPSG","32633"]]</SRS>
  <GeoTransform>  5.0e+05,  3.0e+01, 0.0, 4.0e+06, 0.0, -3.0e+01</GeoTransform>
  <PAMRasterBand band="1"><NoDataValue>255</NoDataValue><Metadata><MDI key="STATISTICS_MEAN">3</MDI></Metadata></PAMRasterBand>
  <Metadata><MDI key="YEAR">2024</MDI><MDI key="OF">a &amp; b</MDI></Metadata>
  <Metadata domain="IMAGE_STRUCTURE"><MDI key="COMPRESSION">LZW</MDI></Metadata>
</PAMDataset>"#;

    fn tagged() -> Metadata {
        let mut place = Georeference::default();
        place.set_geotransform([1.0, 2.0, 0.0, 3.0, 0.0, -4.0]);
        let origins = Origins { nodata: Some("a tag".into()), georeference: Some("tags".into()), mask: None };
        let items = vec![("SCENE".to_owned(), "7".to_owned()), ("YEAR".to_owned(), "2023".to_owned())];
        Metadata { nodata: Some(Nodata::Whole(7)), georeference: Some(place), items, origins }
    }

    fn applied(mut metadata: Metadata, path: &Path, band: usize) -> Metadata {
        apply(&mut metadata, path, band);
        metadata
    }

    #[test]
    fn an_aux_xml_comes_before_the_tags_and_a_world_file_after_both() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("map.tif");
        assert_eq!(applied(tagged(), &path, 1), tagged());
        fs::write(dir.path().join("map.tfw"), "10\n0\n0\n-10\n105\n195\n").unwrap();
        assert_eq!(applied(tagged(), &path, 1), tagged());
        let alone = applied(Metadata::default(), &path, 1);
        let place = alone.georeference.clone().unwrap();
        assert_eq!(place.geotransform(), Some([100.0, 10.0, 0.0, 200.0, 0.0, -10.0]));
        assert!(alone.origins.georeference.unwrap().ends_with("map.tfw") && alone.nodata.is_none());

        fs::write(dir.path().join("map.tif.aux.xml"), PAM).unwrap();
        for before in [tagged(), Metadata::default()] {
            let metadata = applied(before.clone(), &path, 1);
            let place = metadata.georeference.unwrap();
            assert_eq!(place.geotransform(), Some([5e5, 30.0, 0.0, 4e6, 0.0, -30.0]));
            assert_eq!((place.epsg(), metadata.nodata), (Some(32633), Some(Nodata::Whole(255))));
            assert!(
                [metadata.origins.nodata, metadata.origins.georeference]
                    .iter()
                    .flatten()
                    .all(|o| o.ends_with(".aux.xml"))
            );
            let named = |name: &str| {
                metadata.items.iter().filter(|item| item.0 == name).map(|item| &*item.1).collect::<Vec<_>>()
            };
            assert_eq!((named("YEAR"), named("OF"), named("COMPRESSION").len()), (vec!["2024"], vec!["a & b"], 0));
            assert_eq!(metadata.items.len(), 2 + before.items.len().saturating_sub(1));
            // It says nothing of band 2's nodata.
            assert_eq!(applied(before.clone(), &path, 2).nodata, before.nodata);
        }
        // A CRS alone, and the place from the world file.
        fs::write(dir.path().join("map.tif.aux.xml"), "<PAMDataset><SRS>EPSG:3035</SRS></PAMDataset>").unwrap();
        let metadata = applied(Metadata::default(), &path, 1);
        let place = metadata.georeference.unwrap();
        assert_eq!((place.epsg(), place.geotransform().map(|t| t[0])), (Some(3035), Some(100.0)));
        let origin = metadata.origins.georeference.unwrap();
        assert!(origin.contains("map.tif.aux.xml and ") && origin.ends_with("map.tfw"), "{origin}");
    }

    #[test]
    fn the_last_item_of_a_name_counts_also_among_very_many() {
        let dir = tempfile::tempdir().unwrap();
        // Some 6 MB: a time that grows with the square of it would be minutes.
        let mut text = String::from("<PAMDataset><Metadata>");
        for at in 0..200_000 {
            text += &format!("<MDI key=\"K{}\">{at}</MDI>", at % 150_000);
        }
        fs::write(dir.path().join("map.tif.aux.xml"), text + "</Metadata></PAMDataset>").unwrap();
        let items = applied(tagged(), &dir.path().join("map.tif"), 1).items;
        let item = |name: &str, value: usize| (name.to_owned(), value.to_string());
        assert_eq!((items.len(), &items[0]), (150_002, &item("SCENE", 7)));
        assert_eq!((&items[2], items.last()), (&item("K50000", 50_000), Some(&item("K49999", 199_999))));
    }

    #[test]
    fn what_is_no_sidecar_does_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("map.tif");
        for xml in [
            "",
            "<PAMDataset>",
            "<html/>",
            "\u{feff}<PAMDataset/>",
            "<PAMDataset><SRS>LOCAL_CS[\"x\"]</SRS></PAMDataset>",
        ] {
            fs::write(dir.path().join("map.tif.aux.xml"), xml).unwrap();
            assert_eq!(applied(tagged(), &path, 1), tagged(), "{xml}");
        }
        fs::create_dir(dir.path().join("map.tfw")).unwrap();
        fs::write(dir.path().join("map.wld"), "1 2 3").unwrap();
        assert_eq!(applied(Metadata::default(), &path, 1), Metadata::default());
    }
}
