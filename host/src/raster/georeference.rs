//! Where a raster lies: the tags of the GeoTIFF standard, and what can be computed from them.
//!
//! The tags go from file to file as they are, because what a coordinate reference system (CRS) means is the business of programs that
//! draw maps. Two questions have to be answered here nevertheless: where the corners of a raster are, and whether two rasters name
//! the same CRS. The first is an affine transformation (GDAL's six numbers), made of ModelPixelScale and ModelTiepoint or of
//! ModelTransformation; ground control points give none. The second is a code of the EPSG registry; a CRS that is spelled out
//! parameter by parameter has none, and is compared with nothing.

/// Where a raster lies on the earth, as its file says it: kept as it is and written to results of the same shape.
///
/// The fields are the TIFF tags of the GeoTIFF standard (OGC 19-008r4, section 7) and that of rational polynomials, so that nothing is lost in
/// translation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Georeference {
    /// ModelPixelScaleTag, 33550: the size of a cell in x, y and z.
    pub pixel_scale: Option<Vec<f64>>,
    /// ModelTiepointTag, 33922: six numbers for each point of the raster whose place is known.
    pub tiepoints: Option<Vec<f64>>,
    /// ModelTransformationTag, 34264: a 4 × 4 matrix from cells to places.
    pub transformation: Option<Vec<f64>>,
    /// GeoKeyDirectoryTag, 34735.
    pub key_directory: Option<Vec<u16>>,
    /// GeoDoubleParamsTag, 34736.
    pub key_doubles: Option<Vec<f64>>,
    /// GeoAsciiParamsTag, 34737.
    pub key_text: Option<String>,
    /// RPCCoefficientTag, 50844: 92 numbers of the rational polynomials (RPC) from places to cells of an image as the sensor saw it.
    pub rpc: Option<Vec<f64>>,
}

/// GTModelTypeGeoKey: 1 is projected, 2 geographic.
const MODEL_TYPE: u16 = 1024;
/// GTRasterTypeGeoKey: 1 is an area, 2 a point.
const RASTER_TYPE: u16 = 1025;
/// GeographicTypeGeoKey, in GeoTIFF 1.1 GeodeticCRSGeoKey.
const GEOGRAPHIC: u16 = 2048;
/// ProjectedCSTypeGeoKey, in GeoTIFF 1.1 ProjectedCRSGeoKey.
const PROJECTED: u16 = 3072;
/// The code of a CRS that is spelled out.
const USER_DEFINED: u16 = 32767;

/// The kinds of coordinate reference systems that a raster is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CrsKind {
    Projected,
    Geographic,
}

impl Georeference {
    /// True when the file says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// True when tags say where cells are, be it by points that give no transformation.
    pub(crate) fn is_placed(&self) -> bool {
        self.pixel_scale.is_some() || self.tiepoints.is_some() || self.transformation.is_some()
    }

    /// The affine transformation from (column, row) to (x, y), counted from the outer corner of the first cell, in GDAL's order:
    /// `x = t[0] + column · t[1] + row · t[2]`, `y = t[3] + column · t[4] + row · t[5]`. `None` where the tags give none.
    ///
    /// ```
    /// use halotile::raster::Georeference;
    /// let place = Georeference {
    ///     pixel_scale: Some(vec![30.0, 30.0, 0.0]),
    ///     tiepoints: Some(vec![0.0, 0.0, 0.0, 500_000.0, 4_000_000.0, 0.0]),
    ///     ..Georeference::default()
    /// };
    /// assert_eq!(place.geotransform(), Some([500_000.0, 30.0, 0.0, 4_000_000.0, 0.0, -30.0]));
    /// ```
    pub fn geotransform(&self) -> Option<[f64; 6]> {
        let mut t = match (self.transformation.as_deref(), self.pixel_scale.as_deref(), self.tiepoints.as_deref()) {
            // As in GDAL: the scale counts before the matrix, and the first of several tie points; without a scale they are ground control points.
            (_, Some(&[width, height, ..]), Some(&[column, row, _, x, y, _, ..])) if width != 0.0 && height != 0.0 => {
                // A negative height is a grid whose rows go north, in files that take the scale for a step.
                [x - column * width, width, 0.0, y + row * height.abs(), 0.0, -height.abs()]
            }
            (Some(&[a, b, _, d, e, f, _, h, ..]), ..) => [d, a, b, h, e, f],
            _ => return None,
        };
        if self.is_point() {
            t[0] -= 0.5 * (t[1] + t[2]);
            t[3] -= 0.5 * (t[4] + t[5]);
        }
        (t.iter().all(|v| v.is_finite()) && t[1] * t[5] - t[2] * t[4] != 0.0).then_some(t)
    }

    /// The code that the EPSG registry has for the coordinate reference system, where the file names one.
    pub fn epsg(&self) -> Option<u16> {
        let code = match (self.key(PROJECTED), self.key(GEOGRAPHIC)) {
            (Some(projected), _) => projected,
            // A projection without a name still names the system beneath it.
            (None, Some(_)) if self.key(MODEL_TYPE) == Some(1) => return None,
            (None, geographic) => geographic?,
        };
        (code != 0 && code != USER_DEFINED).then_some(code)
    }

    /// The value of a GeoKey that lies in the directory itself.
    fn key(&self, key: u16) -> Option<u16> {
        let entries = self.key_directory.as_deref()?.get(4..)?;
        entries.chunks_exact(4).find(|entry| entry[0] == key && entry[1] == 0).map(|entry| entry[3])
    }

    /// A cell's coordinates are those of its middle.
    fn is_point(&self) -> bool {
        self.key(RASTER_TYPE) == Some(2)
    }

    /// Puts the raster elsewhere: `t` as [`geotransform`](Self::geotransform) has it.
    pub(crate) fn set_geotransform(&mut self, t: [f64; 6]) {
        let (mut x, mut y) = (t[0], t[3]);
        if self.is_point() {
            x += 0.5 * (t[1] + t[2]);
            y += 0.5 * (t[4] + t[5]);
        }
        (self.pixel_scale, self.tiepoints, self.transformation) = (None, None, None);
        if t[2] == 0.0 && t[4] == 0.0 && t[1] > 0.0 && t[5] < 0.0 {
            self.pixel_scale = Some(vec![t[1], -t[5], 0.0]);
            self.tiepoints = Some(vec![0.0, 0.0, 0.0, x, y, 0.0]);
        } else {
            let rows = [[t[1], t[2], 0.0, x], [t[4], t[5], 0.0, y], [0.0; 4], [0.0, 0.0, 0.0, 1.0]];
            self.transformation = Some(rows.concat());
        }
    }

    /// Gives the raster a coordinate reference system of the EPSG registry, in place of the one that it had. Its kind (area or point) stays.
    pub(crate) fn set_epsg(&mut self, kind: CrsKind, code: u16) {
        let raster_type = if self.is_point() { 2 } else { 1 };
        let (model, key) = match kind {
            CrsKind::Projected => (1, PROJECTED),
            CrsKind::Geographic => (2, GEOGRAPHIC),
        };
        let keys = [[1, 1, 0, 3], [MODEL_TYPE, 0, 1, model], [RASTER_TYPE, 0, 1, raster_type], [key, 0, 1, code]];
        self.key_directory = Some(keys.concat());
        (self.key_doubles, self.key_text) = (None, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyed(keys: &[[u16; 4]]) -> Georeference {
        let directory = [[1, 1, 0, keys.len() as u16]].iter().chain(keys).flatten().copied().collect();
        Georeference { key_directory: Some(directory), ..Georeference::default() }
    }

    #[test]
    fn transformations_come_from_scales_and_matrices_and_go_back() {
        let north_up = [440_720.0, 60.0, 0.0, 3_751_320.0, 0.0, -60.0];
        for t in [north_up, [1.5, 2.0, 0.25, 7.0, -0.5, -3.0], [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]] {
            for raster_type in [1, 2] {
                let mut place = keyed(&[[RASTER_TYPE, 0, 1, raster_type]]);
                assert_eq!(place.geotransform(), None);
                place.set_geotransform(t);
                assert_eq!(place.geotransform(), Some(t), "raster type {raster_type}");
                assert_eq!(place.transformation.is_none(), t == north_up);
            }
        }
        // The point that is known need not be the first cell's corner.
        let tie = |column: f64, row: f64| Georeference {
            pixel_scale: Some(vec![10.0, 5.0, 0.0]),
            tiepoints: Some(vec![column, row, 0.0, 100.0, 200.0, 0.0]),
            ..Georeference::default()
        };
        assert_eq!(tie(2.0, 4.0).geotransform(), Some([80.0, 10.0, 0.0, 220.0, 0.0, -5.0]));
        // Ground control points, a cell without width, numbers that are none.
        let points = Georeference { pixel_scale: None, tiepoints: Some(vec![0.0; 24]), ..tie(0.0, 0.0) };
        let flat = Georeference { pixel_scale: Some(vec![0.0, 1.0, 0.0]), ..tie(0.0, 0.0) };
        let lost = tie(f64::NAN, 0.0);
        assert_eq!([points, flat, lost].map(|place| place.geotransform()), [None; 3]);
    }

    #[test]
    fn codes_of_systems_are_found_where_there_are_any() {
        for (keys, code) in [
            (vec![[MODEL_TYPE, 0, 1, 1], [PROJECTED, 0, 1, 32633]], Some(32633)),
            (vec![[MODEL_TYPE, 0, 1, 2], [GEOGRAPHIC, 0, 1, 4326]], Some(4326)),
            (vec![[MODEL_TYPE, 0, 1, 1], [GEOGRAPHIC, 0, 1, 4326], [PROJECTED, 0, 1, 3035]], Some(3035)),
            (vec![[MODEL_TYPE, 0, 1, 1], [GEOGRAPHIC, 0, 1, 4326], [PROJECTED, 0, 1, USER_DEFINED]], None),
            (vec![[MODEL_TYPE, 0, 1, 1], [GEOGRAPHIC, 0, 1, 4326]], None),
            (vec![[PROJECTED, 34736, 1, 7]], None),
            (vec![], None),
        ] {
            assert_eq!(keyed(&keys).epsg(), code, "{keys:?}");
        }
        assert_eq!(Georeference::default().epsg(), None);
        assert_eq!(Georeference { key_directory: Some(vec![1, 1]), ..Georeference::default() }.epsg(), None);
        let mut place = keyed(&[[RASTER_TYPE, 0, 1, 2], [PROJECTED, 0, 1, 3035]]);
        place.set_epsg(CrsKind::Geographic, 4326);
        assert!(place.epsg() == Some(4326) && place.is_point());
    }
}
