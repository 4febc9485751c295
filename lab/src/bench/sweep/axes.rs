//! The axes of a sweep, the settings that they make, and which two of those are neighbours.
//!
//! All settings together would be thousands, most of which say what others have said. So there is a base, made of the first entry of each
//! axis; classes and nodata are combined, because kernels are chosen by both; everything else is one axis away from the base, and one from the base with the
//! second number of classes: kernels end where 16 classes do, each for its own measures, shapes and precisions. Every row of settings is taken at every size.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::bench::{Fields, Outcome, Record, Row};
use halotile::measure::Measure;

/// The shape of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// All cells of the square.
    Square,
    /// The disk in the square, as [`Footprint::disk`](halotile::measure::Footprint::disk) has it.
    Disk,
}

impl Shape {
    /// All of them.
    pub const ALL: [Shape; 2] = [Self::Square, Self::Disk];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Square => "square",
            Self::Disk => "disk",
        }
    }
}

/// The type of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl Precision {
    /// Both.
    pub const ALL: [Precision; 2] = [Self::F32, Self::F64];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// Bytes of a result.
    pub fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// One cell of the table: what a call is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The window's side, in cells: odd, 1 to 255.
    pub size: usize,
    /// The number of classes, 1 to 256.
    pub levels: usize,
    /// Whether there are cells without data: 5 in 100, at random.
    pub nodata: bool,
    /// What is measured.
    #[serde(with = "by_name")]
    pub measure: Measure,
    /// The window's shape.
    pub shape: Shape,
    /// The type of the results.
    pub precision: Precision,
}

impl Setting {
    /// The row of what does it, with nothing that came of it yet.
    pub fn row(&self, kernel: &str, place: &str) -> Row {
        let Self { size, levels, nodata, measure, shape, precision } = *self;
        let of = Fields::default().with("levels", levels).with("nodata", nodata).with("measure", measure.to_string());
        Row {
            of: of.with("shape", shape.name()).with("precision", precision.name()),
            kernel: kernel.to_owned(),
            place: place.to_owned(),
            parameters: Fields::default().with("size", size),
            before: None,
            idea: None,
            outcome: Outcome::nothing(),
        }
    }
}

/// The setting that a row of a sweep is of.
pub fn setting(row: &Row) -> Option<Setting> {
    let fields = row.of.iter().chain(row.parameters.iter());
    let fields: Map<String, Value> = fields.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    serde_json::from_value(fields.into()).ok()
}

/// "5 x 5, 16 classes, shannon, square, f32, no nodata".
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { size, levels, nodata, measure, shape, precision } = self;
        let nodata = if *nodata { "nodata" } else { "no nodata" };
        write!(f, "{size} x {size}, {levels} classes, {measure}, {}, {}, {nodata}", shape.name(), precision.name())
    }
}

/// What two neighbours differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Axis {
    /// The window's side: one entry of the list and the next.
    Size,
    /// The number of classes: one entry of the list and the next.
    Levels,
    /// With nodata and without.
    Nodata,
    /// The base's measure and another.
    Measure,
    /// The base's shape and the other.
    Shape,
    /// The base's precision and the other.
    Precision,
}

impl Axis {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Levels => "classes",
            Self::Nodata => "nodata",
            Self::Measure => "measure",
            Self::Shape => "shape",
            Self::Precision => "precision",
        }
    }
}

/// The lists that settings are taken from; the first of each makes the base. An entry that comes twice counts once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axes {
    /// Sides of the windows, in cells: odd, 1 to 255. The columns of the table.
    pub sizes: Vec<usize>,
    /// Numbers of classes, 1 to 256.
    pub levels: Vec<usize>,
    /// Without nodata, with it.
    pub nodata: Vec<bool>,
    /// What is measured.
    #[serde(with = "by_names")]
    pub measures: Vec<Measure>,
    /// Shapes of the windows.
    pub shapes: Vec<Shape>,
    /// Types of the results.
    pub precisions: Vec<Precision>,
}

impl Default for Axes {
    fn default() -> Self {
        use Measure::{Evenness, Hill, Richness, Shannon, Simpson};
        Self {
            sizes: vec![3, 5, 9, 21, 31, 51, 101, 255],
            levels: vec![16, 17, 44, 96, 256],
            nodata: vec![false, true],
            measures: vec![Shannon, Simpson, Richness, Hill(2.0), Evenness],
            shapes: Shape::ALL.to_vec(),
            precisions: Precision::ALL.to_vec(),
        }
    }
}

impl From<&Axes> for Value {
    fn from(axes: &Axes) -> Self {
        // Lists of numbers and names are always JSON.
        serde_json::to_value(axes).unwrap_or_default()
    }
}

impl Axes {
    /// The axes that a record names.
    pub fn of(record: &Record) -> Option<Self> {
        Self::deserialize(record.options.work.get("axes")?).ok()
    }

    /// The settings, row after row of the table, in a row by size. None where a list is empty.
    pub fn settings(&self) -> Vec<Setting> {
        let Some(rows) = self.rows() else { return Vec::new() };
        let sizes = self.columns();
        rows.iter().flat_map(|&row| sizes.iter().map(move |&size| Setting { size, ..row })).collect()
    }

    /// The sizes, each once: the columns of the table.
    pub fn columns(&self) -> Vec<usize> {
        unique(&self.sizes)
    }

    /// The settings of the first column.
    fn rows(&self) -> Option<Vec<Setting>> {
        let base = Setting {
            size: *self.sizes.first()?,
            levels: *self.levels.first()?,
            nodata: *self.nodata.first()?,
            measure: *self.measures.first()?,
            shape: *self.shapes.first()?,
            precision: *self.precisions.first()?,
        };
        let levels = unique(&self.levels);
        let classes = unique(&self.nodata)
            .into_iter()
            .flat_map(|nodata| levels.iter().map(move |&levels| Setting { levels, nodata, ..base }));
        let mut rows: Vec<_> = classes.collect();
        for &levels in levels.iter().take(2) {
            let base = Setting { levels, ..base };
            rows.extend(self.measures.iter().map(|&measure| Setting { measure, ..base }));
            rows.extend(self.shapes.iter().map(|&shape| Setting { shape, ..base }));
            rows.extend(self.precisions.iter().map(|&precision| Setting { precision, ..base }));
        }
        // The bases are in all of them, and come once.
        Some(unique(&rows))
    }

    /// The axis along which two settings are one step apart; `None` where they are not neighbours.
    ///
    /// ```
    /// use halotile_lab::bench::sweep::{Axes, Axis, Setting};
    /// let axes = Axes { sizes: vec![3, 5, 9], ..Axes::default() };
    /// let base = axes.settings()[0];
    /// assert_eq!(axes.step(&base, &Setting { size: 5, ..base }), Some(Axis::Size));
    /// // There is one in between.
    /// assert_eq!(axes.step(&base, &Setting { size: 9, ..base }), None);
    /// ```
    pub fn step(&self, a: &Setting, b: &Setting) -> Option<Axis> {
        let apart = [
            (Axis::Size, a.size != b.size),
            (Axis::Levels, a.levels != b.levels),
            (Axis::Nodata, a.nodata != b.nodata),
            (Axis::Measure, a.measure != b.measure),
            (Axis::Shape, a.shape != b.shape),
            (Axis::Precision, a.precision != b.precision),
        ];
        let mut axes = apart.into_iter().filter(|(_, differ)| *differ).map(|(axis, _)| axis);
        let (Some(axis), None) = (axes.next(), axes.next()) else { return None };
        let one_step = match axis {
            Axis::Size => adjacent(&self.sizes, a.size, b.size),
            Axis::Levels => adjacent(&self.levels, a.levels, b.levels),
            Axis::Nodata => true,
            Axis::Measure => has_first(&self.measures, a.measure, b.measure),
            Axis::Shape => has_first(&self.shapes, a.shape, b.shape),
            Axis::Precision => has_first(&self.precisions, a.precision, b.precision),
        };
        one_step.then_some(axis)
    }
}

/// The entries of a list in their order, each once.
fn unique<T: Copy + PartialEq>(list: &[T]) -> Vec<T> {
    let mut once = Vec::with_capacity(list.len());
    for &entry in list {
        if !once.contains(&entry) {
            once.push(entry);
        }
    }
    once
}

/// True when no other entry of the list is between the two.
fn adjacent(list: &[usize], a: usize, b: usize) -> bool {
    let list = unique(list);
    let at = |entry| list.iter().position(|&other| other == entry);
    at(a).zip(at(b)).is_some_and(|(a, b)| a.abs_diff(b) == 1)
}

/// True when one of the two is the list's first.
fn has_first<T: Copy + PartialEq>(list: &[T], a: T, b: T) -> bool {
    list.first().is_some_and(|&first| first == a || first == b)
}

/// A measure in a file is its name.
mod by_name {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use halotile::measure::Measure;

    pub fn serialize<S: Serializer>(measure: &Measure, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(measure)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Measure, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// A list of measures is a list of names.
mod by_names {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use halotile::measure::Measure;

    pub fn serialize<S: Serializer>(measures: &[Measure], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(measures.iter().map(Measure::to_string))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Measure>, D::Error> {
        let names = Vec::<String>::deserialize(from)?;
        names.iter().map(|name| name.parse().map_err(D::Error::custom)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_classes_with_and_without_nodata_and_then_one_axis_from_two_bases() {
        let axes = Axes { sizes: vec![3, 5, 3], levels: vec![16, 17, 16], ..Axes::default() };
        let settings = axes.settings();
        let names: Vec<String> = settings.iter().step_by(2).map(Setting::to_string).collect();
        assert_eq!(
            names,
            [
                "3 x 3, 16 classes, shannon, square, f32, no nodata",
                "3 x 3, 17 classes, shannon, square, f32, no nodata",
                "3 x 3, 16 classes, shannon, square, f32, nodata",
                "3 x 3, 17 classes, shannon, square, f32, nodata",
                "3 x 3, 16 classes, simpson, square, f32, no nodata",
                "3 x 3, 16 classes, richness, square, f32, no nodata",
                "3 x 3, 16 classes, hill:2, square, f32, no nodata",
                "3 x 3, 16 classes, evenness, square, f32, no nodata",
                "3 x 3, 16 classes, shannon, disk, f32, no nodata",
                "3 x 3, 16 classes, shannon, square, f64, no nodata",
                "3 x 3, 17 classes, simpson, square, f32, no nodata",
                "3 x 3, 17 classes, richness, square, f32, no nodata",
                "3 x 3, 17 classes, hill:2, square, f32, no nodata",
                "3 x 3, 17 classes, evenness, square, f32, no nodata",
                "3 x 3, 17 classes, shannon, disk, f32, no nodata",
                "3 x 3, 17 classes, shannon, square, f64, no nodata",
            ]
        );
        assert!(settings.iter().skip(1).step_by(2).all(|setting| setting.size == 5));
        // 5 numbers of classes with and without nodata; 4 measures, a shape, a precision of two of them; at 8 sizes.
        assert_eq!(Axes::default().settings().len(), (5 * 2 + 2 * (4 + 1 + 1)) * 8);
        assert!(Axes { shapes: Vec::new(), ..axes }.settings().is_empty());
    }

    #[test]
    fn neighbours_are_one_step_along_one_axis_apart() {
        let axes = Axes { sizes: vec![3, 5, 9], levels: vec![16, 17, 44], ..Axes::default() };
        let base = axes.settings()[0];
        let of = |measure| Setting { measure, ..base };
        let (simpson, disk) = (of(Measure::Simpson), Setting { shape: Shape::Disk, ..base });
        for (a, b, axis) in [
            (base, Setting { size: 5, ..base }, Some(Axis::Size)),
            (base, Setting { size: 9, ..base }, None),
            (simpson, Setting { size: 5, ..simpson }, Some(Axis::Size)),
            (base, Setting { levels: 17, ..base }, Some(Axis::Levels)),
            (base, Setting { levels: 44, ..base }, None),
            (base, Setting { levels: 5, ..base }, None),
            (base, Setting { nodata: true, ..base }, Some(Axis::Nodata)),
            (base, simpson, Some(Axis::Measure)),
            (simpson, of(Measure::Richness), None),
            (simpson, Setting { levels: 17, ..simpson }, Some(Axis::Levels)),
            (base, disk, Some(Axis::Shape)),
            (base, Setting { precision: Precision::F64, ..base }, Some(Axis::Precision)),
            // Two axes, or none.
            (base, Setting { size: 5, levels: 17, ..base }, None),
            (disk, simpson, None),
            (base, base, None),
        ] {
            assert_eq!((axes.step(&a, &b), axes.step(&b, &a)), (axis, axis), "{a} and {b}");
        }
    }

    #[test]
    fn axes_come_back_from_json() {
        let axes = Axes::default();
        let json = serde_json::to_value(&axes).unwrap();
        assert_eq!(json["measures"][3], "hill:2");
        assert_eq!(serde_json::from_value::<Axes>(json).unwrap(), axes);
        let setting = axes.settings()[30];
        assert_eq!(serde_json::from_value::<Setting>(serde_json::to_value(setting).unwrap()).unwrap(), setting);
    }
}
