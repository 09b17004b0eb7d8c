//! Pictures: known answers in text, well-formed and small SVG, whole PNG, hostile input.

use burn::tensor::{Device, Tensor, TensorData};
use sparse_tensor::plot::{
    Plot, curves, embedding, grid, heatmap, histogram, pca, runs, spy, spy_by_class, try_attention, try_embedding,
    try_spy, try_spy_by_class,
};
use sparse_tensor::{CooTensor, CsrTensor};
use std::io::Read;

fn device() -> Device {
    Device::flex()
}

fn coo(rows: &[usize], cols: &[usize], shape: [usize; 2]) -> CooTensor<2> {
    CooTensor::from_triplets(rows, cols, &vec![1.0f32; rows.len()], shape, &device()).unwrap()
}

fn csr(rows: &[usize], cols: &[usize], shape: [usize; 2]) -> CsrTensor<2> {
    coo(rows, cols, shape).to_csr()
}

fn points(values: &[f32], dims: usize) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values.to_vec(), [values.len() / dims.max(1), dims]), &device())
}

/// Checks all forms, and gives the SVG.
fn whole(plot: &Plot) -> String {
    for (columns, rows) in [(0, 0), (20, 8), (57, 19), (80, 24), (300, 100)] {
        let text = plot.text(columns, rows);
        assert_eq!(text.lines().count(), rows.max(8));
        assert!(text.lines().all(|line| line.chars().count() <= columns.max(20)), "{text}");
        assert!(!text.contains(|letter: char| letter.is_control() && letter != '\n'));
    }
    let svg = plot.to_svg().unwrap();
    well_formed(&svg);
    // Few pixels: they take the most time.
    let png = plot.clone().with_size(160, 120).to_png().unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    svg
}

/// Every tag is closed, in the right order, and no character needs an escape.
fn well_formed(svg: &str) {
    let mut open = vec![];
    let mut rest = svg;
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        assert!(!text.contains('>') && !text.contains(|c: char| c.is_control() && !c.is_whitespace()), "{text:?}");
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        assert!(!tag.contains("NaN") && !tag.contains("inf"), "{tag}");
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name)),
            None if tag.ends_with('/') => {}
            None => open.push(tag.split_whitespace().next().unwrap()),
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty() && svg.starts_with("<svg"), "{open:?}");
}

/// The letters and dots of a text inside the axes.
fn chart(text: &str) -> Vec<String> {
    let inside = |line: &str| line.split_once('│').map(|(_, chart)| chart.to_string());
    text.lines().filter_map(inside).collect()
}

#[test]
fn a_diagonal_is_a_diagonal() {
    let ids: Vec<usize> = (0..8).collect();
    for plot in [spy(&coo(&ids, &ids, [8, 8])), spy(&csr(&ids, &ids, [8, 8]))] {
        // 40 x 12 letters leave 8 lines and 16 columns of a square chart: 4 x 4 dots, one line, an element.
        let lines = chart(&plot.with_axes("", "").text(40, 12));
        let expected: Vec<String> = (0..8).map(|at| format!("{}⣿⣿", "  ".repeat(at))).collect();
        assert_eq!(lines, expected);
    }
}

#[test]
fn classes_are_sorted_and_parted() {
    // Two pairs, 0-2 and 1-3: sorted, the elements stand beside the diagonal.
    let graph = csr(&[0, 1, 2, 3], &[2, 3, 0, 1], [4, 4]);
    let lines = chart(&spy_by_class(&graph, &[7, 9, 7, 9]).text(60, 30));
    let letter = |row: usize, column: usize| lines[row].chars().nth(column).unwrap_or(' ');
    let (height, width) = (lines.len() / 4, lines.len() / 2);
    for row in 0..4 {
        for column in 0..4 {
            let expected = if [(0, 1), (1, 0), (2, 3), (3, 2)].contains(&(row, column)) { '⣿' } else { ' ' };
            let got = letter(row * height + height / 2, column * width + width / 2);
            assert_eq!(got, expected, "{row} {column} {lines:#?}");
        }
    }
    // The line between the classes.
    assert!(letter(1, 2 * width - 1) != ' ' && letter(1, 3 * width) == ' ', "{lines:#?}");
}

#[test]
fn many_elements_are_few_shapes() {
    // 200 000 elements in the upper left quarter and one in the last corner.
    let (mut rows, mut cols): (Vec<usize>, Vec<usize>) = (0..200_000).map(|at| (at % 500, at / 500)).unzip();
    rows.push(999);
    cols.push(999);
    let plot = spy(&coo(&rows, &cols, [1000, 1000]));
    let svg = whole(&plot);
    assert!(svg.matches("<rect").count() < 64 * 64 / 4, "{}", svg.matches("<rect").count());
    assert!(plot.text(100, 30).contains("200001 elements of 1000 x 1000; darkest: 256 in a cell of 16 x 16"));
    let lines = chart(&plot.text(100, 40));
    assert!(lines[0].contains('⣿') && lines.last().unwrap().trim_start().chars().count() == 1, "{lines:#?}");
}

#[test]
fn bars_are_as_high_as_counts() {
    let lines = chart(&histogram(&[4, 0, 2]).with_axes("", "").text(60, 30));
    let height = |column: usize| lines.iter().filter(|line| line.chars().nth(column) == Some('⣿')).count();
    let heights: Vec<usize> = (0..56).map(height).collect();
    let (left, right) = (heights[4], heights[50]);
    assert!(left > 20 && (2 * right).abs_diff(left) <= 2, "{heights:?}");
    assert!(heights[28] == 0 && heights.contains(&0));
    // Many numbers share bars, and no count is lost.
    assert!(whole(&histogram(&vec![1; 10_000])).matches("<rect").count() <= 62);
    assert!(histogram(&vec![1; 120]).text(60, 20).contains("number, 2 to a bar"));
}

#[test]
fn curves_go_where_the_numbers_are() {
    let text = curves(&[("first", [0.0, 1.0]), ("second", [1.0, 0.0])]).text(60, 20);
    let lines = chart(&text);
    assert!(lines[1].starts_with('x') && lines.last().unwrap().trim_end().ends_with('x'), "{text}");
    assert!(!lines.last().unwrap().starts_with([' ', 'x']), "{text}");
    assert!(text.contains("⠒⠒ first") && text.contains("xx second"));
    // A gap where a number is missing, and a long curve in few points.
    let broken = whole(&curves(&[("a", [1.0, 2.0, f64::NAN, 3.0, 4.0])]));
    assert_eq!(broken.matches("stroke-width=\"2\"").count(), 2, "{broken}");
    let long: Vec<f32> = (0..1_000_000).map(|at| (at % 97) as f32).collect();
    assert!(whole(&curves(&[("long", &long)])).len() < 20_000);
    let many: Vec<Vec<f32>> = vec![vec![1.0, 2.0]; 1000];
    let text = runs(&many).text(60, 20);
    assert!(text.contains("mean of 1000 runs") && text.contains("first 20 runs"));
}

#[test]
fn the_mean_of_runs_is_that_of_finite_numbers() {
    let plot = runs(&[vec![0.0, 1.0, f64::NAN], vec![1.0, 1.0, 1.0]]).with_axes("", "");
    // The mean goes from 0.5 to 1: on its way it is at no height below the middle.
    let lines = chart(&plot.text(60, 24));
    let row = |letter: char| lines.iter().rposition(|line| line.contains(letter)).unwrap();
    assert!(row('x') <= lines.len() / 2 + 1 && lines[0..4].iter().any(|line| line.contains('x')), "{lines:#?}");
}

#[test]
fn classes_have_letters_and_rings_capitals() {
    let plot = embedding(points(&[0.0, 0.0, 1.0, 1.0, 2.0, 0.0], 2), &[0, 1, -1]);
    let text = plot.with_rings(&[1, 77], "chosen").with_names(&["a", "b"]).text(60, 20);
    let lines = chart(&text);
    let found = |letter: char| lines.iter().position(|line| line.contains(letter));
    assert!(found('X') < found('o') && found('o') == found('.'), "{text}");
    assert!(text.contains("o  a") || text.contains("o a"), "{text}");
    assert!(text.contains("class not known") && text.contains("chosen") && !text.contains("class 0"));
}

#[test]
fn components_are_those_of_a_known_ellipse() {
    // Axes (0.6, 0.8, 0) with lengths 10 and (0, 0, 1) with lengths 2, around (5, 5, 5).
    let corners = [(10.0, 0.0), (-10.0, 0.0), (0.0, 2.0), (0.0, -2.0)];
    let rows: Vec<f32> = corners.iter().flat_map(|&(a, b)| [5.0 + 0.6 * a, 5.0 + 0.8 * a, 5.0 + b]).collect();
    let plane: Vec<f32> = pca(points(&rows, 3)).into_data().iter().collect();
    let expected = corners.iter().flat_map(|&(a, b)| [a, b]);
    assert!(plane.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-4), "{plane:?}");
    // A row that is not finite does not count.
    let mut spoilt = rows.clone();
    spoilt.extend([f32::NAN, 0.0, f32::INFINITY]);
    let also: Vec<f32> = pca(points(&spoilt, 3)).into_data().iter().collect();
    assert!(also[..8] == plane[..] && also[8].is_nan() && also[9].is_nan());
}

#[test]
fn components_of_little_or_nothing() {
    for (values, dims, expected) in [
        (vec![], 3, vec![]),
        (vec![1.0, 2.0, 3.0], 3, vec![0.0, 0.0]),
        (vec![1.0, 3.0], 1, vec![-1.0, 0.0, 1.0, 0.0]),
        (vec![4.0; 6], 2, vec![0.0; 6]),
        (vec![-1e30, 0.0, 1e30, 0.0], 2, vec![-1e30, 0.0, 1e30, 0.0]),
    ] {
        let got: Vec<f32> = pca(points(&values, dims)).into_data().iter().collect();
        assert_eq!(got, expected);
    }
    assert_eq!(pca(Tensor::<2>::zeros([3, 0], &device())).dims(), [3, 2]);
}

#[test]
fn strange_input_gives_a_picture() {
    let none: [f64; 0] = [];
    let strange = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 5e-324, 0.0];
    let hostile = "a <b> & \"c\" \u{1b}[31m \0 ]]> \n 日本 ".repeat(20);
    let plots = [
        spy(&coo(&[], &[], [0, 0])),
        spy(&csr(&[], &[], [0, 5])),
        spy(&coo(&[0], &[0], [1, 1])),
        spy(&coo(&[999_999_999, 0], &[0, 4_000_000_000], [1_000_000_000, 5_000_000_000])),
        spy(&coo(&vec![0; 4000], &(0..4000).collect::<Vec<_>>(), [1, 4000])),
        spy_by_class(&csr(&[], &[], [0, 0]), &[]),
        histogram(&[]),
        histogram(&[0, 0]),
        histogram(&[usize::MAX; 70]),
        curves(&[("none", none)]),
        curves::<f64, [f64; 0]>(&[]),
        curves(&[("one", [1.0])]),
        curves(&[("strange", strange)]),
        curves(&[("nothing finite", [f64::NAN; 3])]),
        curves(&[("flat", [7.0; 3])]),
        runs::<f64, Vec<f64>>(&[]),
        runs(&[vec![], vec![f64::NAN]]),
        embedding(points(&[], 2), &[]),
        embedding(points(&[1.0, 1.0], 2), &[i64::MAX]),
        embedding(points(&[f32::NAN, 1.0, 2.0, f32::INFINITY, f32::MAX, f32::MIN], 2), &[0, i64::MIN, 1]),
        embedding(points(&[0.5; 200], 2), &(0..100).collect::<Vec<_>>()),
        try_attention(&csr(&[], &[], [0, 0]), &[]).unwrap(),
        try_attention(&csr(&[0], &[0], [1, 1]), &[3]).unwrap(),
        try_attention(&csr(&[0, 1], &[1, 0], [2, 2]).mul_scalar(f32::NAN), &[]).unwrap(),
        grid(&[], 0),
        grid(&[histogram(&[1]), curves(&[("a", [1.0])]), spy(&coo(&[], &[], [2, 2]))], 2),
    ];
    for plot in plots {
        whole(&plot);
        let svg = whole(&plot.with_title(&hostile).with_axes(&hostile, &hostile).with_rings(&[0], &hostile));
        assert!(!svg.contains("<b>") && !svg.contains('\u{1b}'));
    }
}

#[test]
fn attention_draws_what_is_heard() {
    // 0 listens to 1 alone; 1 listens to nobody.
    let device = device();
    let graph = CsrTensor::<2>::from_triplets(&[0, 1], &[1, 0], &[1.0f32, 0.0], [2, 2], &device).unwrap();
    let svg = whole(&try_attention(&graph, &[0, 1]).unwrap());
    let widths = |width: &str| svg.matches(&format!("stroke-width=\"{width}\" x1")).count();
    assert_eq!((widths("6"), widths("1")), (1, 1), "{svg}");
    // Heads are averaged: here to equal weights.
    let heads = Tensor::<2>::from_floats([[1.0, 0.0], [0.0, 1.0]], &device);
    let graph = CsrTensor::<3>::from_pattern(graph.pattern().clone(), heads).unwrap();
    let svg = whole(&try_attention(&graph, &[0, 1]).unwrap());
    assert_eq!(svg.matches("stroke-width=\"6\" x1").count(), 2, "{svg}");
}

#[test]
fn wrong_input_is_an_error() {
    let wide = csr(&[0], &[2], [2, 3]);
    let kinds = [
        (try_spy_by_class(&wide, &[0, 0]), "shape_mismatch"),
        (try_spy_by_class(&csr(&[], &[], [2, 2]), &[0]), "length_mismatch"),
        (try_spy(&CooTensor::<2>::from_dense(Tensor::ones([2, 2], &device()), 1)), "shape_mismatch"),
        (try_attention(&wide, &[]), "shape_mismatch"),
        (try_attention(&csr(&[], &[], [2, 2]), &[0]), "length_mismatch"),
        (try_attention(&csr(&[], &[], [501, 501]), &[]), "overflow"),
        (try_embedding(points(&[1.0; 3], 3), &[]), "shape_mismatch"),
        (try_embedding(points(&[1.0; 4], 2), &[0]), "length_mismatch"),
    ];
    for (got, kind) in kinds {
        assert_eq!(got.unwrap_err().kind(), kind);
    }
    let plot = histogram(&[1, 2]);
    for (width, height) in [(0, 0), (99, 500), (500, 9000), (usize::MAX, 500)] {
        let sized = plot.clone().with_size(width, height);
        assert_eq!(sized.to_svg().unwrap_err().kind(), "invalid");
        assert_eq!(sized.to_png().unwrap_err().kind(), "invalid");
    }
    let page = grid(&vec![plot.clone(); 100], 1);
    assert!(page.to_svg().unwrap_err().to_string().contains("got 560 x 48000"));
    let folder = tempfile::tempdir().unwrap();
    let message = plot.svg(folder.path()).unwrap_err().to_string();
    assert!(message.starts_with("Plot::svg: ") && message.contains("cannot be written"), "{message}");
}

#[test]
fn files_are_written_into_new_folders() {
    let folder = tempfile::tempdir().unwrap();
    let (svg, png) = (folder.path().join("a/b/plot.svg"), folder.path().join("c/plot.png"));
    let plot = histogram(&[1, 2]).with_size(300, 200);
    plot.svg(&svg).unwrap();
    plot.png(&png).unwrap();
    assert_eq!(std::fs::read_to_string(svg).unwrap(), plot.to_svg().unwrap());
    assert_eq!(std::fs::read(png).unwrap(), plot.to_png().unwrap());
}

/// Reads the file by the rules of PNG, apart from its checksums.
#[test]
fn png_holds_the_picture() {
    let file = histogram(&[1]).with_size(150, 100).to_png().unwrap();
    let number = |at: usize| u32::from_be_bytes(file[at..at + 4].try_into().unwrap());
    assert_eq!((number(8), &file[12..16], number(16), number(20)), (13, &b"IHDR"[..], 300, 200));
    assert_eq!(file[24..29], [8, 2, 0, 0, 0]);
    let length = number(33) as usize;
    assert_eq!(&file[37..41], b"IDAT");
    assert_eq!(number(41 + length + 4), 0);
    assert_eq!(&file[41 + length + 8..][..4], b"IEND");
    let mut rows = vec![];
    flate2::read::ZlibDecoder::new(&file[41..41 + length]).read_to_end(&mut rows).unwrap();
    assert_eq!(rows.len(), 200 * 901);
    let mut above = vec![0u8; 900];
    let mut blue = 0;
    for row in rows.chunks(901) {
        assert_eq!(row[0], 2, "each row is a difference");
        above.iter_mut().zip(&row[1..]).for_each(|(pixel, change)| *pixel = pixel.wrapping_add(*change));
        blue += above.chunks(3).filter(|pixel| pixel[2] > pixel[0].saturating_add(60)).count();
    }
    // The one bar is blue, and the last row is white.
    assert!(blue > 2000 && above.iter().all(|&byte| byte == 255), "{blue}");
}

#[test]
fn a_field_has_its_colours() {
    let colours = |svg: &str| -> Vec<String> {
        let cells = svg.split("<rect").skip(2).map(|rest| &rest[rest.find("fill=").expect("a colour") + 6..][..7]);
        cells.map(str::to_string).collect()
    };
    // Neighbours of one colour are one cell, and what is not finite is none. The legend has five colours.
    let field = points(&[0.0, 0.0, 4.0, f32::NAN, 2.0, 9.0], 3);
    let svg = whole(&heatmap(field, Some((0.0, 4.0))));
    let found = colours(&svg);
    let (low, high) = ("#440154", "#FDE725");
    assert_eq!(found.len(), 5 + 4, "{found:?}");
    assert_eq!(found[5..], [low, high, &found[2], high]);
    // The range is that of the numbers.
    let text = heatmap(points(&[-3.0, 1.0, 5.0, 5.0], 2), None).text(60, 20);
    assert!(["-3.0", "-1.0", "1.0", "3.0", "5.0"].iter().all(|name| text.contains(name)), "{text}");
    // No field is too strange, and none is too large.
    for list in [&[][..], &[f32::NAN], &[7.0], &[f32::MAX, f32::MIN], &[1e-30, 2e-30], &[0.0, f32::INFINITY]] {
        whole(&heatmap(points(list, list.len()), None));
        whole(&heatmap(points(list, list.len()), Some((f64::NAN, 1.0))));
        whole(&heatmap(points(list, list.len()), Some((3.0, 3.0))));
    }
    whole(&heatmap(Tensor::zeros([0, 4], &device()), None));
    let stripes: Vec<f32> = (0..1000 * 300).map(|at| (at / 2 % 2) as f32).collect();
    assert!(whole(&heatmap(points(&stripes, 300), None)).matches("<rect").count() <= 256 * 256 + 8);
}
