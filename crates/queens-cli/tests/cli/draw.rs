//! Tests of `queens draw`.

use std::fs;

use crate::support::Scratch;
use crate::support::process::{queens, run};

/// The number of shapes of a class in a picture.
fn shapes(svg: &str, class: &str) -> usize {
    let document = roxmltree::Document::parse(svg).expect("an SVG is well-formed");
    assert_eq!(document.root_element().tag_name().name(), "svg");
    document.descendants().filter(|node| node.attribute("class") == Some(class)).count()
}

#[test]
fn a_board_is_drawn_as_text() {
    let wanted = "4 . . Q .\n3 Q . . .\n2 . . . Q\n1 . Q . .\n  a b c d\n";
    for args in [&["a3", "b1", "c4", "d2"][..], &["2", "4", "1", "3"], &["2Q1/Q3/3Q/1Q2"]] {
        assert_eq!(run(queens(&["draw"]).args(args)).success(), wanted);
    }
    let attacked = run(&mut queens(&["draw", "--size", "3", "--attacks", "a1", "a2"])).success();
    assert_eq!(attacked, "3 x x x\n2 ! x x\n1 ! x x\n  a b c\n");
}

#[test]
fn a_picture_has_all_queens_and_is_no_wider_than_a_page() {
    let scratch = Scratch::new();
    let file = scratch.path("board.svg");
    for (n, most) in [("8", 540), ("40", 720)] {
        let placement = run(&mut queens(&["solve", n, "--format", "fen"])).success();
        let drawn = run(queens(&["draw", placement.trim(), "--out"]).arg(&file)).success();
        assert_eq!(drawn, "", "all of it is in the file");
        let svg = fs::read_to_string(&file).expect("it is written");
        assert_eq!((shapes(&svg, "queen").to_string().as_str(), shapes(&svg, "attack")), (n, 0));
        let document = roxmltree::Document::parse(&svg).expect("an SVG is well-formed");
        let width = document.root_element().attribute("width").and_then(|it| it.parse().ok());
        assert!(width.is_some_and(|width| (400..most).contains(&width)), "{n}: {width:?}");
    }
    let eight = ["draw", "--format", "svg", "2", "4", "6", "8", "3", "1", "7", "5"];
    let svg = run(&mut queens(&eight)).success();
    assert_eq!((shapes(&svg, "queen"), shapes(&svg, "dark")), (8, 1));
    assert!(svg.contains("<title>Board of size 8 with queens on "), "{svg}");
}

#[cfg(unix)]
#[test]
fn a_file_is_replaced_in_one_step_and_keeps_its_links_and_its_mode() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let scratch = Scratch::new();
    let [file, link, old, plain] =
        ["file.txt", "link.txt", "old.txt", "plain"].map(|name| scratch.path(name));
    let draw = |queen| run(queens(&["draw", queen, "--size", "2", "--out"]).arg(&link)).success();
    let mode = |path| fs::metadata(path).expect("it is there").permissions().mode();
    symlink("file.txt", &link).expect("links can be made");
    fs::write(&plain, "").expect("it can be written");
    draw("a1");
    assert_eq!(mode(&file), mode(&plain));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o604)).expect("it is ours");
    fs::hard_link(&file, &old).expect("links can be made");
    draw("b2");
    let text = |path| fs::read_to_string(path).expect("it is there");
    assert_eq!(
        (text(&old).as_str(), text(&file).as_str()),
        ("2 . .\n1 Q .\n  a b\n", "2 . Q\n1 . .\n  a b\n")
    );
    assert_eq!((mode(&file) & 0o777, link.is_symlink()), (0o604, true));
    let device = queens(&["draw", "a1", "--format", "text", "--out", "/dev/null"]).status();
    assert!(
        device.expect("it starts").success()
            && !fs::metadata("/dev/null").expect("a device").is_file()
    );
}

#[test]
fn attacks_are_drawn_only_if_asked_for() {
    let args = ["draw", "--size", "8", "--format", "svg", "a1", "h8", "c2"];
    run(&mut queens(&args)).refusal(2, &["a1 and h8 attack each other", "--attacks"]);
    let svg = run(queens(&args).arg("--attacks")).success();
    assert_eq!((shapes(&svg, "queen"), shapes(&svg, "attack"), shapes(&svg, "reach")), (3, 1, 1));
}

#[test]
fn an_invalid_drawing_is_refused() {
    let refusals: [(&[&str], i32, &str); 6] = [
        (&["a1", "b9"], 2, "b9 is off the board of size 2; --size"),
        (&["9", "1"], 2, "9 is no column"),
        (&["a1", "a1"], 2, "a1 is given twice"),
        (&["--board", "/nowhere/board"], 2, "cannot read /nowhere/board"),
        (&["a1", "--out", "board.png"], 2, "give --format"),
        (&["a1", "--out", "/nowhere/board.svg"], 10, "cannot write to /nowhere/board.svg"),
    ];
    for (args, code, reason) in refusals {
        run(queens(&["draw"]).args(args)).refusal(code, &[reason]);
    }
}
