//! GDAL's virtual rasters (VRT), as far as they lay files side by side: what `gdalbuildvrt` makes, and `gdal_translate` of a part.
//!
//! ```xml
//! <VRTDataset rasterXSize="4096" rasterYSize="4096">
//!   <SRS>PROJCS["ETRS89 / LAEA Europe", ..., AUTHORITY["EPSG","3035"]]</SRS>
//!   <GeoTransform> 4321000, 30, 0, 3210000, 0, -30</GeoTransform>
//!   <VRTRasterBand dataType="Byte" band="1">
//!     <NoDataValue>255</NoDataValue>
//!     <ComplexSource>
//!       <SourceFilename relativeToVRT="1">tiles/a.tif</SourceFilename>
//!       <SourceBand>1</SourceBand>
//!       <SrcRect xOff="0" yOff="0" xSize="1024" ySize="1024" />
//!       <DstRect xOff="2048" yOff="0" xSize="1024" ySize="1024" />
//!       <NODATA>255</NODATA>
//!     </ComplexSource>
//!   </VRTRasterBand>
//! </VRTDataset>
//! ```
//!
//! What computes (scales, tables, functions, warping, other sizes of cells) is refused by the name of its element: a file that `gdal_translate` makes has it
//! done.

use std::path::{Path, PathBuf};

use roxmltree::Node;

use crate::io::{Nodata, Problem};
use crate::numbers::ValueType;
use crate::raster::sidecar;

/// A rectangle of whole cells: its first row and column, its rows and columns.
pub(super) type Rect = [usize; 4];

/// A file, or a part of one, and where its cells come to lie.
#[derive(Debug, PartialEq)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) band: usize,
    /// All of the file, and all of the raster, without them.
    pub(super) from: Option<Rect>,
    pub(super) to: Option<Rect>,
    /// Cells that have this value show what lies below, and those that the file's mask hides.
    pub(super) transparent: Option<Nodata>,
    pub(super) by_mask: bool,
}

/// A band of a virtual raster.
#[derive(Debug)]
pub(super) struct Vrt {
    pub(super) shape: (usize, usize),
    pub(super) bands: usize,
    pub(super) srs: Option<String>,
    pub(super) geotransform: Option<[f64; 6]>,
    pub(super) items: Vec<(String, String)>,
    pub(super) value_type: ValueType,
    pub(super) nodata: Option<Nodata>,
    /// From the lowest to the topmost.
    pub(super) sources: Vec<Source>,
    /// Masks of the files count.
    pub(super) masked: bool,
}

fn refused(what: impl AsRef<str>) -> Problem {
    Problem::new(what, "make a file of it: gdal_translate FILE.vrt FILE.tif")
}

fn malformed(what: impl AsRef<str>) -> Problem {
    Problem::new(what, "make the file again, as with gdalbuildvrt")
}

impl Vrt {
    /// Reads a band, counted from 1; names of files that are relative are so to `folder`.
    pub(super) fn parse(text: &str, band: usize, folder: &Path) -> Result<Self, Problem> {
        let document =
            roxmltree::Document::parse(text.trim_start()).map_err(|e| malformed(format!("this is not XML ({e})")))?;
        let root = document.root_element();
        if !root.has_tag_name("VRTDataset") {
            return Err(Problem::new("this is not a VRT: there is no VRTDataset", "name a GeoTIFF, or a VRT"));
        }
        if let Some(class) = root.attribute("subClass") {
            return Err(refused(format!("this VRT is a {class}, which computes its cells")));
        }
        let size = |name| {
            let number = root.attribute(name).and_then(|text| text.trim().parse::<usize>().ok());
            number
                .filter(|number| (1..=i32::MAX as usize).contains(number))
                .ok_or_else(|| malformed(format!("{name} is no size")))
        };
        let shape = (size("rasterYSize")?, size("rasterXSize")?);
        let bands: Vec<Node<'_, '_>> = root.children().filter(|child| child.has_tag_name("VRTRasterBand")).collect();
        let Some(&chosen) = band.checked_sub(1).and_then(|index| bands.get(index)) else {
            let there = if bands.len() == 1 { "1 band".to_owned() } else { format!("{} bands", bands.len()) };
            return Err(Problem::new(format!("there is no band {band}: the file has {there}"), "choose another band"));
        };
        let text = |name: &str| {
            let child = root.children().find(|child| child.has_tag_name(name));
            child.and_then(|child| child.text()).map(str::trim).filter(|text| !text.is_empty())
        };
        let geotransform = text("GeoTransform").map(|text| {
            sidecar::transformation(text)
                .ok_or_else(|| malformed("its GeoTransform is not six numbers that make sense"))
        });
        let metadata = root
            .children()
            .filter(|child| child.has_tag_name("Metadata") && child.attribute("domain").is_none_or(str::is_empty));
        let items = metadata
            .flat_map(|metadata| metadata.children().filter(|item| item.has_tag_name("MDI")))
            .filter_map(|item| Some((item.attribute("key")?.to_owned(), item.text().unwrap_or_default().to_owned())));
        let (value_type, nodata, sources) = sources(chosen, folder)?;
        Ok(Self {
            shape,
            bands: bands.len(),
            srs: text("SRS").map(str::to_owned),
            geotransform: geotransform.transpose()?,
            items: items.collect(),
            value_type,
            nodata,
            sources,
            masked: masked(root)?,
        })
    }
}

/// Whether there is a mask band, which has to be made of the masks of files.
fn masked(root: Node<'_, '_>) -> Result<bool, Problem> {
    let Some(mask) = root.children().find(|child| child.has_tag_name("MaskBand")) else { return Ok(false) };
    let mut of = mask.descendants().filter(|node| node.has_tag_name("SourceBand"));
    if of.any(|band| !band.text().is_some_and(|text| text.trim().starts_with("mask"))) {
        return Err(refused("its mask band is not made of masks of its files"));
    }
    Ok(true)
}

fn sources(band: Node<'_, '_>, folder: &Path) -> Result<(ValueType, Option<Nodata>, Vec<Source>), Problem> {
    if let Some(class) = band.attribute("subClass").filter(|&class| class != "VRTSourcedRasterBand") {
        return Err(refused(format!("its band is a {class}, which computes its cells")));
    }
    let value_type = match band.attribute("dataType").unwrap_or("Byte") {
        "Byte" => ValueType::U8,
        "Int8" => ValueType::I8,
        "UInt16" => ValueType::U16,
        "Int16" => ValueType::I16,
        "UInt32" => ValueType::U32,
        "Int32" => ValueType::I32,
        "UInt64" => ValueType::U64,
        "Int64" => ValueType::I64,
        "Float32" => ValueType::F32,
        "Float64" => ValueType::F64,
        other => return Err(refused(format!("its numbers are of the type {other}"))),
    };
    let (mut nodata, mut sources) = (None, Vec::new());
    for child in band.children().filter(Node::is_element) {
        match child.tag_name().name() {
            "NoDataValue" => nodata = Some(value(child)?),
            "SimpleSource" | "ComplexSource" => sources.push(source(child, folder)?),
            name if name.ends_with("Source") || name == "PixelFunctionType" => {
                return Err(refused(format!("its element {name} computes cells")));
            }
            _ => {}
        }
    }
    Ok((value_type, nodata, sources))
}

/// A value for no data.
fn value(node: Node<'_, '_>) -> Result<Nodata, Problem> {
    let value = node.text().map(str::trim).and_then(Nodata::as_gdal_writes);
    value.ok_or_else(|| malformed(format!("its {} is no number", node.tag_name().name())))
}

fn source(node: Node<'_, '_>, folder: &Path) -> Result<Source, Problem> {
    let mut source = Source { path: PathBuf::new(), band: 1, from: None, to: None, transparent: None, by_mask: false };
    for child in node.children().filter(Node::is_element) {
        let text = child.text().map(str::trim).unwrap_or_default();
        let is = |plain: f64| text.parse::<f64>().is_ok_and(|number| number == plain);
        match child.tag_name().name() {
            "SourceFilename" => {
                if text.starts_with("/vsi") || text.contains("://") {
                    let advice = "fetch it, and make the VRT of files";
                    return Err(Problem::new(format!("its source {text} is not a file of this machine"), advice));
                }
                let relative = child.attribute("relativeToVRT").is_some_and(|is| is.trim() == "1");
                source.path = if relative { folder.join(text) } else { PathBuf::from(text) };
            }
            "SourceBand" => {
                let band = text.parse().ok().filter(|&band| band > 0);
                source.band = band.ok_or_else(|| refused(format!("its source is the band {text:?} of a file")))?;
            }
            "SrcRect" => source.from = Some(rect(child)?),
            "DstRect" => source.to = Some(rect(child)?),
            "NODATA" if node.has_tag_name("ComplexSource") => source.transparent = Some(value(child)?),
            "UseMaskBand" => source.by_mask = matches!(text, "true" | "1"),
            "SourceProperties" | "OpenOptions" | "NODATA" => {}
            "ScaleOffset" if is(0.0) => {}
            "ScaleRatio" if is(1.0) => {}
            name => return Err(refused(format!("its element {name} of a source computes cells"))),
        }
    }
    if source.path.as_os_str().is_empty() {
        return Err(malformed("a source has no SourceFilename"));
    }
    Ok(source)
}

/// A rectangle of whole cells.
fn rect(node: Node<'_, '_>) -> Result<Rect, Problem> {
    let name = node.tag_name().name();
    let number = |attribute| {
        let number = node.attribute(attribute).and_then(|text| text.trim().parse::<f64>().ok());
        let number = number.filter(|number| (0.0..f64::from(i32::MAX)).contains(number));
        let number = number.ok_or_else(|| refused(format!("the {attribute} of a {name} is no place in a raster")))?;
        // Programs compute them from coordinates.
        let whole = number.round();
        if (number - whole).abs() > 0.01 {
            let what =
                format!("the {attribute} of a {name} is {number}: cells of a source lie between those of the raster");
            return Err(Problem::new(what, "bring sources to one grid, as with gdalwarp -tap"));
        }
        Ok(whole as usize)
    };
    Ok([number("yOff")?, number("xOff")?, number("ySize")?, number("xSize")?])
}
