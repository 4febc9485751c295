//! The parts of a command line drawn at random, each with what it has to mean: nodata, a mask, classes, the window, measures.

use super::*;

/// How numbers become classes.
pub enum Classing {
    Survey,
    Levels(usize),
    /// The class of each value, and of all others, and how many classes there are.
    List(BTreeMap<i64, Option<u32>>, Option<u32>, usize),
    Bins(usize),
}

/// What counts as no data, and the option that says so.
pub fn nodata(
    random: &mut Random,
    map: &Map,
    declared: Option<f64>,
    levels: Option<usize>,
    args: &mut Vec<String>,
) -> Option<f64> {
    // What the file declares is in its cells, and may be no class below `--levels`.
    let needed = levels.is_some() && map.declared.is_some();
    match (declared, map.declared) {
        (Some(declared), _) if needed || random.flip() => Some(declared),
        (Some(_), _) if random.flip() => {
            args.extend(["--nodata".into(), "none".into()]);
            None
        }
        (None, Some(value)) if needed || random.flip() => {
            let text = if value.is_nan() { "nan".to_owned() } else { value.to_string() };
            args.extend(["--nodata".into(), text]);
            Some(value)
        }
        (None, None) if random.flip() => None,
        (declared, _) if needed => declared,
        _ => {
            let value = map.values[random.below(map.values.len())];
            let value = if value.is_nan() { 7.0 } else { value };
            args.extend(["--nodata".into(), value.to_string()]);
            Some(value)
        }
    }
}

/// A mask, or none: true where cells are hidden.
pub fn mask(random: &mut Random, map: &Map, place: &Path, args: &mut Vec<String>) -> Result<Vec<bool>> {
    let count = map.values.len();
    if !random.once_in(3) {
        return Ok(vec![false; count]);
    }
    let kind = random.one(&["u1", "u1", "i2", "f4"]);
    let values: Vec<f64> = (0..count).map(|_| random.below(4) as f64).collect();
    let declared = random.once_in(3).then_some(3.0);
    let mask = Map { rows: map.rows, cols: map.cols, values, declared, kind };
    let (name, declares) = files::write(random, &mask, place, "mask")?;
    args.extend(["--mask".into(), name]);
    Ok(mask.values.iter().map(|&value| value == 0.0 || (declares && value == 3.0)).collect())
}

/// A list of classes of the map's values.
pub fn list(random: &mut Random, map: &Map, nodata: Option<f64>, place: &Path) -> Result<Classing> {
    let mut values: Vec<i64> =
        map.values.iter().filter(|v| !v.is_nan() && Some(**v) != nodata).map(|&v| v as i64).collect();
    values.sort_unstable();
    values.dedup();
    let others = random.flip();
    if others {
        values.retain(|_| random.below(4) > 0);
    }
    let names = random.number(1, 6);
    let (mut text, mut codes, mut seen) = ("# soak\n".to_owned(), BTreeMap::new(), Vec::<usize>::new());
    let mut class = |name: usize| match seen.iter().position(|&other| other == name) {
        Some(at) => at as u32,
        None => {
            seen.push(name);
            (seen.len() - 1) as u32
        }
    };
    // Without a class there would be no list.
    text += "123456789, class 0\n";
    class(0);
    for &value in &values {
        if random.once_in(8) {
            text += &format!("{value}, nodata\n");
            codes.insert(value, None);
        } else {
            let name = random.below(names);
            text += &format!("{value}, class {name} # {value}\n");
            codes.insert(value, Some(class(name)));
        }
    }
    let rest = others.then(|| {
        let name = random.below(names);
        text += &format!("*, class {name}\n");
        class(name)
    });
    fs::write(place.join("classes.csv"), text)?;
    Ok(Classing::List(codes, rest, seen.len()))
}

/// The class of every cell, and how many classes there are where the options say it.
pub fn classify(
    map: &Map,
    valid: &[bool],
    classing: &Classing,
    args: &mut Vec<String>,
) -> (Vec<Option<u32>>, Option<usize>) {
    let cells = map.values.iter().zip(valid);
    match classing {
        Classing::Survey => {
            let mut found: Vec<f64> = cells.clone().filter(|cell| *cell.1).map(|cell| *cell.0).collect();
            found.sort_by(f64::total_cmp);
            found.dedup();
            let class = |value: f64| found.iter().position(|&other| other == value).map(|at| at as u32);
            (cells.map(|(&value, &valid)| class(value).filter(|_| valid)).collect(), None)
        }
        Classing::Levels(levels) => {
            args.extend(["--levels".into(), levels.to_string()]);
            (cells.map(|(&value, &valid)| valid.then_some(value as u32)).collect(), Some(*levels))
        }
        Classing::List(codes, rest, count) => {
            args.extend(["--classes".into(), "classes.csv".into()]);
            let class = |value: f64| codes.get(&(value as i64)).copied().unwrap_or(*rest);
            (cells.map(|(&value, &valid)| class(value).filter(|_| valid)).collect(), Some(*count))
        }
        Classing::Bins(bins) => {
            args.extend(["--bins".into(), bins.to_string()]);
            let seen = || cells.clone().filter(|cell| *cell.1).map(|cell| *cell.0);
            let (low, high) = (seen().fold(f64::INFINITY, f64::min), seen().fold(f64::NEG_INFINITY, f64::max));
            let edge = |k: usize| low + (high - low) * k as f64 / *bins as f64;
            let edges: Vec<f64> = (1..*bins).map(edge).filter(|&edge| edge > low).collect();
            let class = |value: f64| edges.iter().filter(|&&edge| edge <= value).count() as u32;
            let classes = cells.clone().map(|(&value, &valid)| valid.then(|| class(value))).collect();
            // Where all values are one there are fewer bins than asked for.
            (classes, (edges.len() + 1 == *bins && low < high).then_some(*bins))
        }
    }
}

/// The window's offsets.
pub fn window(random: &mut Random, place: &Path, args: &mut Vec<String>) -> Result<Vec<(isize, isize)>> {
    let side = if random.once_in(8) { 2 * random.number(8, 30) + 1 } else { 2 * random.number(0, 7) + 1 };
    let all = |rows: isize, cols: isize| (0..rows * cols).map(move |i| (i / cols - rows / 2, i % cols - cols / 2));
    let (side_, radius) = (side as isize, side as isize / 2);
    match random.below(4) {
        0 => {
            args.extend(["--shape", "disk", "--size", &side.to_string()].map(str::to_owned));
            Ok(all(side_, side_).filter(|&(y, x)| y * y + x * x <= radius * radius).collect())
        }
        1 => {
            let (rows, cols) = (2 * random.below(5) as isize + 1, 2 * random.below(5) as isize + 1);
            let mut cells: Vec<bool> = (0..rows * cols).map(|_| random.flip()).collect();
            let at = random.below(cells.len());
            cells[at] = true;
            let row = |row: &[bool]| row.iter().map(|&cell| if cell { "1 " } else { "0 " }).collect::<String>();
            let text: Vec<_> = cells.chunks(cols as usize).map(row).collect();
            fs::write(place.join("window.txt"), format!("# soak\n{}\n", text.join("\n")))?;
            args.extend(["--shape".into(), "window.txt".into()]);
            Ok(all(rows, cols).zip(cells).filter(|cell| cell.1).map(|cell| cell.0).collect())
        }
        _ => {
            args.extend(["--size".into(), side.to_string()]);
            Ok(all(side_, side_).collect())
        }
    }
}

/// Measures, each once.
pub fn measures(random: &mut Random) -> Vec<String> {
    const ALL: [&str; 13] = [
        "shannon",
        "simpson",
        "richness",
        "evenness",
        "renyi:2",
        "renyi:0.5",
        "renyi:0",
        "renyi:1",
        "renyi:1.01",
        "hill:1.5",
        "hill:0",
        "hill:1",
        "hill:inf",
    ];
    let count = if random.flip() { 1 } else { random.number(1, 4) };
    let mut measures = Vec::new();
    for _ in 0..count {
        let name = if random.flip() { "shannon" } else { random.one(&ALL) }.to_owned();
        if !measures.contains(&name) {
            measures.push(name);
        }
    }
    measures
}
