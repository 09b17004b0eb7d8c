//! The picture: loss curve, embedding, adjacency.

use crate::pca;
use crate::train::{Run, Task};
use plotters::coord::Shift;
use plotters::prelude::*;
use sparse_tensor::data::Graph;
use std::error::Error;
use std::path::Path;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn Error>>;

/// Points of a panel: a sample past that, so that the picture of a large graph stays small.
const POINTS: usize = 3000;
/// Points of a curve and curves of a panel.
const CURVE: usize = 250;
const CURVES: usize = 20;
/// Height of the legend's lines, and entries in one.
const LINE: i32 = 22;
const ENTRIES: usize = 4;

/// Okabe and Ito's colours, which the colour-blind can tell apart.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(213, 94, 0),
    RGBColor(86, 180, 233),
    RGBColor(150, 140, 20),
    RGBColor(60, 60, 60),
];
const GREY: RGBColor = RGBColor(110, 110, 110);

/// The colour of a class; grey for one that is not known.
fn colour(class: i64) -> RGBColor {
    let Ok(class) = usize::try_from(class) else { return GREY };
    if class < COLOURS.len() {
        return COLOURS[class];
    }
    let (r, g, b) = Palette99::COLORS[class % Palette99::COLORS.len()];
    RGBColor(r, g, b)
}

/// Draws the three panels; the embedding is that of the first seed.
pub(crate) fn draw(path: &Path, karate: bool, graph: &Graph, task: &Task, runs: &[Run]) -> Drawn {
    let names: Vec<String> = match karate {
        true => vec!["Mr. Hi's side".into(), "the officers' side".into()],
        false => (0..task.classes).map(|class| format!("class {class}")).collect(),
    };
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (1560, 560)).into_drawing_area();
        root.fill(&WHITE)?;
        let panels = root.margin(12, 12, 12, 12).split_evenly((1, 3));
        loss(&panels[0], runs)?;
        embedding(&panels[1], &names, karate, task, &runs[0])?;
        spy(&panels[2], graph, task)?;
        root.present()?;
    }
    std::fs::write(path, text)?;
    Ok(())
}

/// Every seed's loss, thin, and their mean.
fn loss(area: &Area, runs: &[Run]) -> Drawn {
    let (area, legend) = with_legend(area, 1);
    let epochs = runs[0].losses.len();
    let step = epochs.div_ceil(CURVE);
    let finite = |value: &f64| value.is_finite();
    let curve = |run: &Run| -> Vec<(f64, f64)> {
        let points = run.losses.iter().enumerate().step_by(step);
        points.map(|(at, &loss)| ((at + 1) as f64, f64::from(loss))).filter(|(_, loss)| finite(loss)).collect()
    };
    let mean: Vec<(f64, f64)> = (0..epochs)
        .step_by(step)
        .map(|at| ((at + 1) as f64, runs.iter().map(|run| f64::from(run.losses[at])).sum::<f64>() / runs.len() as f64))
        .filter(|(_, loss)| finite(loss))
        .collect();
    let top = runs.iter().flat_map(|run| &run.losses).map(|&loss| f64::from(loss)).filter(finite).fold(1e-6, f64::max);
    let mut chart =
        frame(&area, "Training loss", 64)?.build_cartesian_2d(1.0..(epochs as f64).max(2.0), 0.0..top * 1.05)?;
    chart
        .configure_mesh()
        .label_style(("sans-serif", 13))
        .axis_desc_style(("sans-serif", 15))
        .light_line_style(TRANSPARENT)
        .bold_line_style(GREY.mix(0.25))
        .x_desc("epoch")
        .y_desc("cross-entropy")
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.2}"))
        .draw()?;
    for run in runs.iter().take(CURVES) {
        chart.draw_series(LineSeries::new(curve(run), COLOURS[5].mix(0.45).stroke_width(1)))?;
    }
    chart.draw_series(LineSeries::new(mean, COLOURS[0].stroke_width(3)))?;
    let seeds = if runs.len() > CURVES { format!("first {CURVES} seeds") } else { "each seed".into() };
    let entries = [(COLOURS[0], format!("mean of {} seeds", runs.len())), (COLOURS[5], seeds)];
    entries_in(&legend, &entries.map(|(colour, name)| (colour.to_rgba(), name)))
}

/// Every node in the plane, coloured by class; training nodes are ringed.
fn embedding(area: &Area, names: &[String], karate: bool, task: &Task, run: &Run) -> Drawn {
    let (area, legend) = with_legend(area, (names.len() + 1).div_ceil(ENTRIES));
    let hidden = run.embedding.shape()[1];
    let values: Vec<f64> = run.embedding.iter::<f64>().collect();
    let points = pca::to_plane(&values, hidden);
    let (x, y) = (range(points.iter().map(|point| point.0)), range(points.iter().map(|point| point.1)));
    let shown = |&(at_x, at_y): &(f64, f64)| x.contains(&at_x) && y.contains(&at_y);
    let title = if karate { "Learned embedding, by faction" } else { "Learned embedding, by class" };
    let (x_name, y_name) =
        if hidden > 2 { ("first principal component", "second principal component") } else { ("hidden 1", "hidden 2") };
    let mut chart = frame(&area, title, 64)?.build_cartesian_2d(x.clone(), y.clone())?;
    chart
        .configure_mesh()
        .label_style(("sans-serif", 13))
        .axis_desc_style(("sans-serif", 15))
        .disable_mesh()
        .x_desc(x_name)
        .y_desc(y_name)
        .x_label_formatter(&tenths)
        .y_label_formatter(&tenths)
        .draw()?;
    let (size, ring, alpha) = if points.len() > 200 { (2, 1, 0.65) } else { (6, 2, 0.8) };
    let step = points.len().div_ceil(POINTS).max(1);
    let dots = points.iter().zip(&task.labels).step_by(step).filter(|(at, _)| shown(at));
    chart.draw_series(dots.map(|(&at, &class)| Circle::new(at, size, colour(class).mix(alpha).filled())))?;
    // Drawn whether the sample has them or not.
    let train = task.splits.train.iter().take(POINTS / 10).map(|&node| (points[node], colour(task.labels[node])));
    for (at, colour) in train.filter(|(at, _)| shown(at)) {
        chart.draw_series(
            [size, size + 2]
                .into_iter()
                .zip([colour.filled(), BLACK.stroke_width(ring)])
                .map(|(size, style)| Circle::new(at, size, style)),
        )?;
    }
    let mut entries: Vec<(RGBAColor, String)> = Vec::new();
    entries.extend(names.iter().enumerate().map(|(class, name)| (colour(class as i64).to_rgba(), name.clone())));
    entries.push((TRANSPARENT, "training node".into()));
    entries_in(&legend, &entries)
}

/// Where the adjacency is not zero, nodes sorted by class.
fn spy(area: &Area, graph: &Graph, task: &Task) -> Drawn {
    let (area, legend) = with_legend(area, 1);
    let nodes = task.labels.len();
    let mut order: Vec<usize> = (0..nodes).collect();
    order.sort_by_key(|&node| task.labels[node]);
    let mut place = vec![0.0; nodes];
    order.iter().enumerate().for_each(|(at, &node)| place[node] = at as f64 + 0.5);
    let read = |tensor: burn::tensor::Tensor<1, burn::tensor::Int>| -> Vec<i64> {
        tensor.into_data().convert::<i64>().iter().collect()
    };
    let (ptr, cols) = (read(graph.adjacency.row_ptr()), read(graph.adjacency.col_idx()));
    let end = nodes.max(1) as f64;
    let mut chart = frame(&area, "Adjacency, nodes sorted by class", 64)?.build_cartesian_2d(0.0..end, end..0.0)?;
    chart
        .configure_mesh()
        .label_style(("sans-serif", 13))
        .axis_desc_style(("sans-serif", 15))
        .disable_mesh()
        .x_desc("column")
        .y_desc("row")
        .x_labels(6)
        .y_labels(6)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.0}"))
        .draw()?;
    let mut edge = task.labels.iter().filter(|&&label| label < 0).count() as f64;
    for class in 0..task.classes.saturating_sub(1) {
        edge += task.labels.iter().filter(|&&label| label == class as i64).count() as f64;
        for line in [[(edge, 0.0), (edge, end)], [(0.0, edge), (end, edge)]] {
            chart.draw_series(LineSeries::new(line, GREY.mix(0.5).stroke_width(1)))?;
        }
    }
    let step = cols.len().div_ceil(2 * POINTS).max(1);
    let side = (330.0 / end / 2.0).clamp(1.0, 5.0) as i32;
    let rows = (0..nodes).flat_map(|row| (ptr[row]..ptr[row + 1]).map(move |at| (row, at as usize)));
    chart.draw_series(rows.step_by(step).map(|(row, at)| {
        let dot = Rectangle::new([(-side, -side), (side, side)], COLOURS[0].mix(0.8).filled());
        EmptyElement::at((place[cols[at] as usize], place[row])) + dot
    }))?;
    let shown = if step > 1 { format!(", one in {step} shown") } else { String::new() };
    entries_in(&legend, &[(COLOURS[0].to_rgba(), format!("{} entries of {nodes} x {nodes}{shown}", cols.len()))])
}

/// A chart with a title and room for axes of `left` pixels.
fn frame<'a, 'b>(
    area: &'a Area<'b>,
    title: &str,
    left: i32,
) -> Result<ChartBuilder<'a, 'b, SVGBackend<'b>>, Box<dyn Error>> {
    let mut builder = ChartBuilder::on(area);
    builder.caption(title, ("sans-serif", 20)).margin_right(14).x_label_area_size(50).y_label_area_size(left);
    Ok(builder)
}

/// The area above a legend of `lines` lines, and the legend's.
fn with_legend<'a>(area: &Area<'a>, lines: usize) -> (Area<'a>, Area<'a>) {
    let height = area.dim_in_pixel().1 as i32;
    area.split_vertically(height - LINE * 2.max(lines as i32) - 4)
}

fn entries_in(area: &Area, entries: &[(RGBAColor, String)]) -> Drawn {
    let width = (area.dim_in_pixel().0 as i32 - 64) / ENTRIES.min(entries.len().max(2)) as i32;
    let style = ("sans-serif", 14).into_font().color(&BLACK);
    for (at, (colour, name)) in entries.iter().enumerate() {
        let (x, y) = (64 + width * (at % ENTRIES) as i32, LINE * (at / ENTRIES) as i32 + 12);
        if *colour == TRANSPARENT {
            area.draw(&Circle::new((x, y), 6, BLACK.stroke_width(2)))?;
        } else {
            area.draw(&Circle::new((x, y), 6, colour.filled()))?;
        }
        area.draw(&Text::new(name.as_str(), (x + 12, y - 7), style.clone()))?;
    }
    Ok(())
}

/// The range of the finite values, with a margin. If there are many, the outermost half a percent on each side is left
/// out, because it would press the rest together.
fn range(values: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
    let mut finite: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    finite.sort_by(f64::total_cmp);
    let cut = finite.len() / 200;
    let (Some(&low), Some(&high)) = (finite.get(cut), finite.iter().nth_back(cut)) else { return 0.0..1.0 };
    let room = ((high - low) * 0.06).max(1e-3);
    low - room..high + room
}

/// One decimal, and no sign before a zero.
fn tenths(value: &f64) -> String {
    let text = format!("{value:.1}");
    if text == "-0.0" { "0.0".into() } else { text }
}
