//! How a raster's numbers become classes: what the options say, and what is told of it.

use anyhow::anyhow;
use halotile::classes::{BinRule, Class, Classes, ClassesError, Members, Survey};
use halotile::raster::{MaskedRaster, Raster};
use serde::Serialize;

use super::input::InputRaster;
use crate::args::EntropyArgs;
use crate::console::Console;

/// Classes and where they come from.
pub struct Classing {
    pub classes: Classes,
    survey: Option<Survey>,
    from: &'static str,
}

/// What `--json` says of classes.
#[derive(Debug, Serialize)]
pub struct ClassReport {
    from: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodata_cells: Option<u64>,
    table: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    class: Class,
    #[serde(skip_serializing_if = "Option::is_none")]
    cells: Option<u64>,
}

/// Reads the list of classes, if there is one.
pub fn list(args: &EntropyArgs) -> anyhow::Result<Option<Classes>> {
    Ok(args.classes.as_deref().map(|path| Classes::from_file(path, None)).transpose()?)
}

/// Classes that `-v` names.
const SHOWN: usize = 20;

/// A class as `-v` names it.
fn in_words(class: &Class) -> String {
    let list = |values: &[i128]| values.iter().map(i128::to_string).collect::<Vec<_>>().join(" ");
    match (&class.name, &class.members) {
        (Some(name), _) => name.clone(),
        (None, Members::Values(values)) => list(values),
        (None, Members::OthersAnd(values)) => format!("{} and all others", list(values)),
        (None, Members::Between(from, to)) => format!("{from} to {to}"),
    }
}

impl Classing {
    /// The classes of a raster; scans all of it where nothing else says what they are.
    pub fn of(
        input: &InputRaster,
        mask: Option<&dyn Raster>,
        args: &EntropyArgs,
        list: Option<&Classes>,
        console: &Console,
    ) -> anyhow::Result<Self> {
        let (raster, nodata): (&dyn Raster, _) = (input.raster.as_ref(), input.nodata);
        // What the mask hides is no class and stretches no bin. A mask of another shape is refused where it is applied.
        let masked_raster = mask.and_then(|mask| MaskedRaster::new(raster, mask));
        let raster = masked_raster.as_ref().map_or(raster, |masked_raster| masked_raster);
        let cells = raster.rows() as u64 * raster.cols() as u64;
        let mut survey = None;
        let (classes, from) = match (list, args.bins, args.levels) {
            (Some(list), ..) => (list.clone().with_nodata(nodata), "list"),
            (_, Some(bins), _) => {
                let rule = args.binning.unwrap_or(BinRule::EqualWidth);
                console.cells("laying out bins", cells * rule.passes(raster.value_type(), bins) as u64);
                (Classes::bins(raster, bins, rule, nodata, console), "bins")
            }
            (.., Some(levels)) => (Classes::identity(levels, nodata), "levels"),
            _ => {
                console.cells("looking for classes", cells);
                let surveyed = Classes::survey(raster, nodata, console);
                let classes = surveyed.map(|(classes, seen)| {
                    survey = Some(seen);
                    classes
                });
                (classes, "survey")
            }
        };
        Ok(Self { classes: classes.map_err(|error| explain(error, raster.name()))?, survey, from })
    }

    /// The number of classes where the options settle it, which is what `--normalize` divides by the logarithm of: as many as
    /// `--levels` says or the list has, and the bins that were made, which are fewer than `--bins` asks for where values repeat.
    pub fn levels(&self, args: &EntropyArgs) -> Option<usize> {
        args.levels.or((self.from != "survey").then(|| self.classes.levels()))
    }

    /// Cells that have a value, if values were counted, each as a class of its own.
    pub fn cells_of(&self, value: u8) -> Option<u64> {
        let survey = self.survey.as_ref().filter(|_| self.from == "survey")?;
        let is = |class: &Class| matches!(&class.members, Members::Values(values) if **values == [i128::from(value)]);
        let class = self.classes.describe().into_iter().find(is)?;
        survey.cells.get(usize::from(class.code)).copied()
    }

    /// Tells under `-v` what the classes are.
    pub fn tell(&self, name: &str) {
        let classes = self.classes.describe();
        let found = match self.from {
            "survey" => "the values that occur",
            "levels" => "by --levels",
            "bins" => "by --bins",
            _ => "by --classes",
        };
        let shown = classes.iter().take(SHOWN).map(in_words).collect::<Vec<_>>().join(", ");
        let more =
            classes.len().checked_sub(SHOWN + 1).map(|more| format!(" and {} more", more + 1)).unwrap_or_default();
        let nodata = self.survey.as_ref().map(|survey| format!("; cells without data: {}", survey.nodata));
        tracing::info!("{name}: {} classes, {found}: {shown}{more}{}", classes.len(), nodata.unwrap_or_default());
    }

    /// For `--json`.
    pub fn report(&self) -> ClassReport {
        let survey = self.survey.as_ref();
        let cells = |class: &Class| Some(*survey?.cells.get(usize::from(class.code))?);
        let row = |class| Row { cells: cells(&class), class };
        ClassReport {
            from: self.from,
            nodata_cells: survey.map(|survey| survey.nodata),
            table: self.classes.describe().into_iter().map(row).collect(),
        }
    }
}

/// Says which options help, in place of the library's advice, which knows none.
pub fn explain(error: ClassesError, name: &str) -> anyhow::Error {
    let advice = match &error {
        ClassesError::TooMany { .. } => "merge some with --classes FILE, or sort them with --bins N",
        ClassesError::Fraction { .. } => "give --bins N, or --nodata if this is it",
        ClassesError::NoRoom => return anyhow!("{name}: {error}"),
        _ => return error.into(),
    };
    let text = error.to_string();
    let fault = text.rsplit_once("; ").map_or(text.as_str(), |(fault, _)| fault);
    anyhow!("{fault}; {advice}")
}
