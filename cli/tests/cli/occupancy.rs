//! `halotile occupancy`: its tables, its chart, and what it refuses.

use halotile::entropy::Kernel;
use halotile::occupancy::Architecture;
use halotile_lab::resources;
use serde_json::Value;

use crate::place::Place;

fn json(place: &Place, args: &str) -> Value {
    serde_json::from_str(&place.run(&format!("occupancy --json {args}")).quietly()).expect("JSON")
}

// Blocks of 256 threads and more than 80 registers are given more than a third of 65,536 registers: two blocks for every compiler that uses more, and
// keeps to the kernel's launch bounds of two.
#[test]
fn it_tells_what_is_the_limit() {
    let place = Place::new();
    let used = resources::kernel("entropy_columns", "sm_90").expect("it is reported");
    let (threads, dynamic) = Kernel::Columns.block_of(227 * 1024).expect("a kernel of a device");
    let text = place.run("occupancy columns").quietly();
    let head = format!(
        "entropy_columns on sm_90: blocks of {threads} threads, {} registers a thread, {} + {dynamic} bytes of shared memory \
         (static + dynamic)\n",
        used.registers, used.shared_bytes
    );
    assert!(text.starts_with(&head), "{text}");
    assert!(text.ends_with("2 blocks active, 16 of 64 warps: occupancy 25.0 %, limited by registers\n"), "{text}");
    assert!(text.contains("2  the limit\n") && text.matches("the limit").count() == 1, "{text}");
    let other = place.run("occupancy entropy_columns --arch sm_90 --block 32,8").quietly();
    assert_eq!(other, text.replace("blocks of 256 threads", "blocks of 32 x 8 threads"));
    // A report of another architecture is said to be one.
    let text = place.run("occupancy columns --arch sm_87").quietly();
    assert!(text.contains("\nregisters and static shared memory as reported for sm_86\n"), "{text}");
    // What does not fit has no blocks and a reason, and is an answer.
    let text = place.run("occupancy columns --shared 4294967295").quietly();
    let why = "\n0 blocks: a block needs 4294967295 bytes of shared memory, and sm_90 gives it 232448 at most\n";
    assert!(text.ends_with(why), "{text}");
}

#[test]
fn every_kernel_on_every_architecture_has_an_answer() {
    let place = Place::new();
    for &arch in Architecture::ALL {
        let name = arch.name;
        let found = json(&place, &format!("tiled --arch {name} --block 64 --shared 1000"));
        assert_eq!((&found["arch"], &found["kernel"]), (&name.into(), &"entropy_tiled".into()));
        let (blocks, warps) =
            (found["blocks"].as_u64().expect("blocks"), found["active_warps"].as_u64().expect("warps"));
        assert!(blocks >= 1 && warps == 2 * blocks, "{found}");
        assert_eq!(found["occupancy"].as_f64(), Some(warps as f64 / f64::from(arch.warps)), "{found}");
    }
    let devices = halotile_lab::entropy::kernels().filter(|kernel| kernel.entry().is_some()).map(Kernel::name);
    for kernel in devices.chain(resources::kernels()) {
        let found = json(&place, kernel);
        assert!(found["blocks"].as_u64() > Some(0) && found["misfit"].is_null(), "{kernel}: {found}");
        assert_eq!(found["all_blocks"], Value::Null);
    }
}

#[test]
fn all_sizes_of_blocks_in_text_and_json() {
    let place = Place::new();
    let found = json(&place, "naive --all-blocks --shared 20000");
    let all = found["all_blocks"].as_array().expect("a list");
    let most = found["max_threads"].as_u64().expect("a number");
    assert_eq!(all.len() as u64, most / 32);
    let text = place.run("occupancy naive --all-blocks --shared 20000").quietly();
    let lines: Vec<_> = text.lines().collect();
    let chart = &lines[lines.len() - all.len()..];
    for (one, line) in all.iter().zip(chart) {
        let words: Vec<_> = line.split_whitespace().collect();
        assert_eq!((words[0], words[1]), (&*one["threads"].to_string(), &*one["blocks"].to_string()), "{line}");
        if one["threads"] == found["threads"] {
            assert_eq!((&one["blocks"], &one["limits"]), (&found["blocks"], &found["limits"]));
            assert!(line.ends_with(" <"), "{line}");
        }
    }
    // 11 blocks of 20,000 bytes and 1 KiB each, whatever their size, as long as nothing else runs out.
    assert_eq!(
        (&all[0]["limits"]["shared_memory"], &all[0]["limited_by"]),
        (&11.into(), &serde_json::json!(["shared memory"]))
    );
}

#[test]
fn the_chart_is_one_svg_file() {
    let place = Place::new();
    place.run("occupancy naive --svg o.svg").quietly();
    let svg = place.text("o.svg");
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && svg.ends_with("</svg>\n"), "{svg}");
    for part in [
        "<title id=\"title\">Occupancy of entropy_naive on sm_90</title>",
        "<desc id=\"desc\">",
        "prefers-color-scheme: dark",
    ] {
        assert!(svg.contains(part), "{part}");
    }
    // Nothing comes from elsewhere; a bar for each size says what it is.
    assert!(!svg.contains("href") && !svg.contains("url(") && !svg.contains("<script"), "{svg}");
    let used = resources::kernel("entropy_naive", "sm_90").expect("it is reported");
    assert_eq!(svg.matches("<g><title>").count() as u32, used.max_threads / 32);
    for tag in ["g", "title", "text", "desc", "style", "svg"] {
        let opened = svg.matches(&format!("<{tag}>")).count() + svg.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, svg.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    let ran = place.run("occupancy naive --svg o.svg");
    let exists = "halotile: o.svg: the file exists already; choose another name or give --overwrite\n";
    assert_eq!((ran.code, ran.err.as_str(), ran.out.as_slice()), (1, exists, &b""[..]));
    place.run("occupancy naive --svg o.svg --overwrite").quietly();
    assert_eq!(place.run("occupancy naive --svg -").quietly(), svg);
}
