//! `halotile entropy` with random options, and what has to come of it.

mod draw;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use self::draw::{Classing, classify, list, mask, measures, nodata, window};
use super::map::Map;
use super::oracle::Query;
use super::run::{Ran, Runner, Setting};
use super::{Ended, Random, files};

/// A command line and the numbers that it has to write.
pub struct Case {
    pub args: Vec<String>,
    /// The input's name.
    pub input: String,
    /// A file for each measure, or one for all; none where the output is standard output.
    pub outputs: Vec<String>,
    /// `npy`, `geotiff`, `text` or `seed-lines`.
    pub format: &'static str,
    measures: Vec<String>,
    /// Decimals of text.
    decimals: Option<i32>,
    within: f64,
    /// The largest result that each measure can have.
    bounds: Vec<f64>,
    /// The largest number of the type that results are stored in, where that has whole numbers.
    most: Option<f64>,
    expected: Vec<Vec<f64>>,
}

impl Case {
    /// Draws one and writes its files. `to_stdout`: the output is standard output.
    pub fn draw(random: &mut Random, place: &Path, to_stdout: bool) -> Result<Self> {
        let kind = random.one(&files::TYPES);
        let levels = random.once_in(4).then(|| random.number(1, 200));
        let bins = (levels.is_none() && random.once_in(4)).then(|| random.number(1, 30));
        let map = Map::draw(random, kind, levels, bins.is_some());
        let (input, declares) = files::write(random, &map, place, "map")?;
        let mut args = vec!["entropy".to_owned(), input.clone()];
        let declared = map.declared.filter(|_| declares);
        let nodata = nodata(random, &map, declared, levels, &mut args);
        let hidden = mask(random, &map, place, &mut args)?;
        let is_valid = |i: usize| {
            let value = map.values[i];
            !hidden[i] && !value.is_nan() && Some(value) != nodata
        };
        let valid: Vec<bool> = (0..map.values.len()).map(is_valid).collect();
        let classing = match (levels, bins) {
            (Some(levels), _) => Classing::Levels(levels),
            (_, Some(bins)) => Classing::Bins(bins),
            _ if random.once_in(4) => list(random, &map, nodata, place)?,
            _ => Classing::Survey,
        };
        let (classes, count) = classify(&map, &valid, &classing, &mut args);
        let window = window(random, place, &mut args)?;
        let measures = measures(random);
        args.extend(["--measure".into(), measures.join(",")]);
        let normalize = count.is_some() && measures.iter().any(|name| name == "shannon") && random.flip();
        if normalize {
            args.push("--normalize".into());
        }
        let edge = random.one(&["shrink", "shrink", "nodata", "symmetric", "reflect", "replicate"]);
        let (base, log_base) =
            random.one(&[("e", 1.0), ("2", std::f64::consts::LN_2), ("10", std::f64::consts::LN_10)]);
        let share = if random.flip() { "0".to_owned() } else { format!("{:.2}", random.below(21) as f64 / 20.0) };
        let fill = random.once_in(3);
        args.extend(["--edge", edge, "--base", base, "--min-valid", &share].map(str::to_owned));
        if fill {
            args.push("--fill-nodata".into());
        }
        let asked = Query {
            rows: map.rows,
            cols: map.cols,
            classes,
            window,
            edge,
            min_valid: share.parse().expect("we wrote it"),
            fill,
            log_base,
            log_levels: count.filter(|_| normalize).map(|levels| (levels.max(2) as f64).ln()),
        };
        let expected = asked.answer(&measures);
        let classes = asked.window.len().min(count.unwrap_or(usize::MAX)).max(1) as f64;
        let bound = |name: &String| match name.split(':').next() {
            Some("shannon") => classes.ln() / asked.log_levels.unwrap_or(log_base),
            Some("renyi") => classes.ln() / log_base,
            Some("hill" | "richness") => classes,
            _ => 1.0,
        };
        let bounds = measures.iter().map(bound).collect();
        let mut case = Self {
            args,
            input,
            outputs: Vec::new(),
            format: "npy",
            measures,
            decimals: None,
            within: 0.0,
            bounds,
            most: None,
            expected,
        };
        case.output(random, to_stdout);
        case.machine(random);
        Ok(case)
    }

    /// The output's name, format and precision.
    fn output(&mut self, random: &mut Random, to_stdout: bool) {
        let several = self.measures.len() > 1;
        let formats: &[&str] = match (to_stdout, several) {
            (true, true) | (false, _) => &["npy", "geotiff", "text", "seed-lines"],
            (true, false) => &["npy", "text", "seed-lines"],
        };
        self.format = *random.one(&formats.iter().collect::<Vec<_>>());
        if to_stdout && several {
            // One measure goes to standard output.
            self.measures.truncate(1);
            self.expected.truncate(1);
            let at = self.args.iter().position(|arg| arg == "--measure").expect("it was given");
            self.args[at + 1] = self.measures[0].clone();
            if self.measures[0] != "shannon" {
                self.args.retain(|arg| arg != "--normalize");
            }
            self.format = "npy";
        }
        let ending = match self.format {
            "npy" => "npy",
            "geotiff" => "tif",
            _ => "txt",
        };
        let name = match several && self.format != "geotiff" && !to_stdout {
            true => {
                self.outputs =
                    self.measures.iter().map(|name| format!("h-{}.{ending}", name.replace(':', "-"))).collect();
                format!("h-{{measure}}.{ending}")
            }
            false if to_stdout => "-".to_owned(),
            false => {
                self.outputs = vec![format!("h.{ending}")];
                format!("h.{ending}")
            }
        };
        self.args.insert(2, name);
        self.args.extend(["--of".into(), self.format.into()]);
        if self.format == "geotiff" && random.flip() {
            self.args.extend(files::creation(random).into_iter().flat_map(|word| ["--co".into(), word]));
        }
        let text = matches!(self.format, "text" | "seed-lines");
        let (mut double, mut single) = (text, false);
        if self.format == "geotiff" && random.flip() {
            let types =
                [("f32", None), ("f64", None), ("u16", Some(65_534.0)), ("i16", Some(32_767.0)), ("u8", Some(254.0))];
            let (name, most) = random.one(&types);
            let fits = |(measure, bound)| measure != "richness" || most.is_none_or(|most: f64| bound <= most);
            if self.measures.iter().map(String::as_str).zip(self.bounds.iter().copied()).all(fits) {
                self.args.extend(["--type".into(), name.into()]);
                (self.most, double, single) = (most, name == "f64", name == "f32");
            }
        }
        let double = match random.below(3) {
            0 => {
                self.args.extend(["--precision".into(), "f32".into()]);
                false
            }
            1 => {
                self.args.extend(["--precision".into(), "f64".into()]);
                true
            }
            _ => double,
        };
        self.within = if double && !single { 1e-9 } else { 2e-6 };
        if text {
            let decimals = random.number(0, 17);
            self.args.extend(["--decimals".into(), decimals.to_string()]);
            self.decimals = Some(decimals as i32);
        }
    }

    /// Options that change no number.
    fn machine(&mut self, random: &mut Random) {
        if random.flip() {
            self.args.extend(["--threads".into(), random.number(0, 4).to_string()]);
        }
        if random.flip() {
            let memory = random.one(&["128MiB", "150M", "512MiB", "1.5G", "2GB"]);
            self.args.extend(["--memory".into(), memory.into()]);
        }
        match random.below(4) {
            0 => self.args.push("-q".into()),
            1 => self.args.push("-v".into()),
            2 if !self.outputs.is_empty() => self.args.push("--json".into()),
            _ => {}
        }
    }

    /// Whether the content of an output is right; `band` counts from 0.
    fn is_right(&self, path: &Path, content: &[u8], output: usize) -> Result<u64> {
        let bands = if self.outputs.len() == self.measures.len() { output..output + 1 } else { 0..self.measures.len() };
        let first = bands.start;
        for m in bands {
            let got = files::read(path, content, self.format, m - first + 1)?;
            let expected = &self.expected[m];
            ensure!(got.len() == expected.len(), "{} numbers, not {}", got.len(), expected.len());
            let half_step = match self.most {
                // Whole numbers are stored as they are.
                Some(most) if self.measures[m] != "richness" => self.bounds[m] / most * 0.500_001,
                _ => 0.0,
            };
            for (i, (&got, &expected)) in got.iter().zip(expected).enumerate() {
                let scale = if self.measures[m].starts_with("hill") { expected.abs() } else { 1.0 };
                let rounded = self.decimals.map_or(0.0, |decimals| 0.500_001 * 10f64.powi(-decimals));
                let near = (got - expected).abs() <= self.within * scale + rounded + half_step;
                let fine = if expected.is_nan() {
                    got.is_nan()
                } else if expected == 0.0 {
                    got == 0.0
                } else {
                    near
                };
                ensure!(fine, "{}, number {i}: {got}, not {expected}", self.measures[m]);
            }
        }
        Ok(self.expected[0].len() as u64)
    }

    /// All outputs are there, and right. Returns the cells.
    pub fn check(&self, runner: &Runner, ran: &Ran) -> Result<u64> {
        if self.outputs.is_empty() {
            return self.is_right(Path::new("-"), &ran.out, 0);
        }
        let mut cells = 0;
        for (i, name) in self.outputs.iter().enumerate() {
            let path = runner.file(name);
            let content = fs::read(&path).with_context(|| format!("no {name}"))?;
            cells += self.is_right(&path, &content, i).with_context(|| name.clone())?;
        }
        Ok(cells)
    }

    /// Each output is absent, or as `before` says, or whole and right.
    pub fn is_all_or_nothing(&self, runner: &Runner, before: Option<&[u8]>) -> Result<()> {
        for (i, name) in self.outputs.iter().enumerate() {
            let path = runner.file(name);
            match fs::read(&path) {
                Ok(content) if Some(content.as_slice()) == before => {}
                Ok(content) => {
                    self.is_right(&path, &content, i).with_context(|| format!("{name} is neither old nor new"))?;
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    ensure!(before.is_none(), "{name} was there and is gone");
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// A run that nothing disturbs.
pub fn plain(random: &mut Random, runner: &Runner) -> Result<Ended> {
    let to_stdout = random.once_in(6);
    let case = Case::draw(random, &runner.place, to_stdout)?;
    let ran = runner.run(&case.args)?;
    ran.is_done()?;
    runner.is_clean(&runner.place)?;
    case.check(runner, &ran).map(Ended::Right)
}

/// A few million cells, twice, with different threads and memory: the same bytes.
pub fn large(random: &mut Random, runner: &Runner) -> Result<Ended> {
    let (rows, cols) = (random.number(700, 1800), random.number(700, 1800));
    let classes = random.number(2, 60);
    let patch = random.number(1, 40);
    let mut file = files::npy_header("|u1", false, rows, cols);
    file.extend((0..rows * cols).map(|i| {
        let patched = (i / cols / patch * 31 + i % cols / patch * 17) % classes;
        if random.once_in(16) { random.below(classes) as u8 } else { patched as u8 }
    }));
    fs::write(runner.file("map.npy"), file)?;
    let (ending, format) = random.one(&[("npy", "npy"), ("tif", "geotiff"), ("tif", "cog")]);
    let size = (2 * random.number(0, 10) + 1).to_string();
    let measure = random.one(&["shannon", "shannon", "simpson", "hill:2"]);
    let shape = random.one(&["square", "square", "disk"]);
    let nodata = random.one(&["none", "0"]);
    for (name, threads, memory) in [("a", "1", "128MiB"), ("b", "3", "2GiB")] {
        let words = [
            "entropy",
            "map.npy",
            &format!("{name}.{ending}"),
            "--of",
            format,
            "-q",
            "--size",
            &size,
            "--measure",
            measure,
        ];
        let more = ["--shape", shape, "--nodata", nodata, "--threads", threads, "--memory", memory];
        let args: Vec<String> = words.into_iter().chain(more).map(str::to_owned).collect();
        runner.run(&args)?.is_done()?;
    }
    runner.is_clean(&runner.place)?;
    let [a, b] = ["a", "b"].map(|name| fs::read(runner.file(&format!("{name}.{ending}"))));
    ensure!(a? == b?, "threads and memory change results");
    Ok(Ended::Right((rows * cols) as u64))
}

/// Command lines that must not work.
pub fn refused(random: &mut Random, runner: &Runner) -> Result<Ended> {
    let case = Case::draw(random, &runner.place, false)?;
    let mut args = case.args.clone();
    let codes: &[i32] = match random.below(9) {
        0 => {
            args.extend(["--size".into(), random.one(&["0", "4", "4097", "-1", "x"]).into()]);
            &[2]
        }
        1 => {
            args[1] = "nowhere.tif".into();
            &[1]
        }
        2 => {
            args.push(random.one(&["--frobnicate", "--levels=0", "--bins=65537", "--min-valid=2", "--co=X"]).into());
            &[2]
        }
        3 => {
            fs::remove_file(runner.file(&case.input))?;
            fs::create_dir(runner.file(&case.input))?;
            &[1]
        }
        4 => {
            let path = runner.file(&case.input);
            let content = fs::read(&path)?;
            let end = random.below(content.len());
            fs::write(&path, &content[..end])?;
            // A text that is cut within its last number, or a picture within what no decoder needs, may still be one.
            &[0, 1]
        }
        5 => {
            let garbage: Vec<u8> = (0..random.below(300)).map(|_| random.below(256) as u8).collect();
            fs::write(runner.file(&case.input), garbage)?;
            &[1]
        }
        6 => {
            args[2] = format!("no/such/folder/{}", args[2]);
            &[1]
        }
        7 => {
            fs::write(runner.file("mask-of-two.txt"), "1 2\n1 1\n")?;
            args.retain(|arg| arg != "--mask" && !arg.starts_with("mask."));
            args.extend(["--mask".into(), "mask-of-two.txt".into()]);
            // A map may have this shape.
            &[0, 1]
        }
        _ => {
            for name in &case.outputs {
                fs::write(runner.file(name), "old")?;
            }
            let ran = runner.run(&args)?;
            ran.is_refused(&[1])?;
            runner.is_clean(&runner.place)?;
            case.is_all_or_nothing(runner, Some(b"old"))?;
            return Ok(Ended::Refused);
        }
    };
    let ran = runner.start(&args, &Setting::default())?.wait()?;
    runner.is_clean(&runner.place)?;
    if codes.contains(&0) && ran.code() == Some(0) {
        ran.is_done()?;
        return Ok(Ended::Right(0));
    }
    ran.is_refused(codes)?;
    for name in &case.outputs {
        ensure!(!runner.file(name).exists(), "{name} is there though the run was refused");
    }
    Ok(Ended::Refused)
}
