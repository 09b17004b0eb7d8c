//! A pass over columns, cut into launches that bind no more buffers than a device allows.

use super::kernels::{Plan, Step};
use core::ops::Range;
use sparse_core::{ColumnPass, ColumnStep};

/// A launch of a pass. Vectors have the numbers that they have there: those given, then the results of the steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The vectors and the scales that it reads.
    pub reads: Vec<usize>,
    pub scales: Vec<usize>,
    /// The steps whose results it writes.
    pub kept: Vec<usize>,
    /// The dot products that it adds up.
    pub dots: Range<usize>,
    pub plan: Plan,
}

impl Part {
    /// The steps of a pass over `given` vectors, and then its dot products, of these numbers.
    fn of(pass: &ColumnPass, given: usize, own: Range<usize>) -> Self {
        let all = pass.steps.len();
        let steps = own.start.min(all)..own.end.min(all);
        let dots = own.start.max(all) - all..own.end.max(all) - all;
        let needs = |item: usize| match item.checked_sub(all) {
            Some(dot) => pass.dots[dot].to_vec(),
            None => match pass.steps[item] {
                ColumnStep::Add { x, y, .. } => x.into_iter().chain([y]).collect(),
                ColumnStep::Times { x, y } => vec![x, y],
            },
        };
        let made = |number: usize| number.checked_sub(given).filter(|step| steps.contains(step));
        let mut reads: Vec<usize> = own.clone().flat_map(needs).filter(|&number| made(number).is_none()).collect();
        let scale = |step: &ColumnStep| if let ColumnStep::Add { scale, .. } = step { Some(*scale) } else { None };
        let mut scales: Vec<usize> = pass.steps[steps.clone()].iter().filter_map(scale).collect();
        for list in [&mut reads, &mut scales] {
            list.sort_unstable();
            list.dedup();
        }
        let later: Vec<usize> = (own.end..all + pass.dots.len()).flat_map(needs).collect();
        let is_kept = |step: &usize| pass.kept.contains(step) || later.contains(&(given + step));
        let kept: Vec<usize> = steps.clone().filter(is_kept).collect();
        let find = |list: &[usize], number: usize| list.binary_search(&number).expect("it is among them");
        let place = |number: usize| match made(number) {
            Some(step) => reads.len() + step - steps.start,
            None => find(&reads, number),
        };
        let step = |step: &ColumnStep| match *step {
            ColumnStep::Add { x: Some(x), scale, y } => Step::Add(place(x), find(&scales, scale), place(y)),
            ColumnStep::Add { x: None, scale, y } => Step::Scale(find(&scales, scale), place(y)),
            ColumnStep::Times { x, y } => Step::Times(place(x), place(y)),
        };
        let plan = Plan {
            vectors: reads.len(),
            scales: scales.len(),
            steps: pass.steps[steps.clone()].iter().map(step).collect(),
            kept: kept.iter().map(|step| place(given + step)).collect(),
            dots: pass.dots[dots.clone()].iter().map(|pair| pair.map(place)).collect(),
        };
        Self { reads, scales, kept, dots, plan }
    }

    /// Buffers that its launches bind at most.
    fn buffers(&self) -> usize {
        let steps = self.reads.len() + self.scales.len() + self.kept.len() + usize::from(!self.dots.is_empty());
        steps.max(1 + self.dots.len())
    }
}

/// As few launches as one after the other can be, each with as much as fits in `most` buffers.
pub(super) fn parts(pass: &ColumnPass, given: usize, most: usize) -> Vec<Part> {
    let (all, mut start, mut parts) = (pass.steps.len() + pass.dots.len(), 0, vec![]);
    while start < all {
        let fitting = (start + 1..=all).rev().map(|end| (end, Part::of(pass, given, start..end)));
        let (end, part) =
            fitting.into_iter().find(|(end, part)| *end == start + 1 || part.buffers() <= most).expect("one of them");
        parts.push(part);
        start = end;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(x: usize, scale: usize, y: usize) -> ColumnStep {
        ColumnStep::Add { x: Some(x), scale, y }
    }

    /// Conjugate gradients need one launch where as many buffers are bound as on every device, but for a point and a
    /// direction with Jacobi's preconditioner, which takes one more.
    #[test]
    fn a_pass_is_one_launch_where_its_buffers_fit() {
        // Residual, image, scaling.
        let steps = vec![add(0, 0, 1), ColumnStep::Times { x: 2, y: 3 }];
        let pass = ColumnPass { steps, kept: vec![0], dots: vec![[3, 3], [3, 4]] };
        let own = parts(&pass, 3, 7);
        assert_eq!(own.len(), 1);
        assert_eq!((&own[0].reads, &own[0].kept, &own[0].dots), (&vec![0, 1, 2], &vec![0], &(0..2)));
        // Point, direction, scaling, residual.
        let steps = vec![add(0, 0, 1), ColumnStep::Times { x: 2, y: 3 }, add(5, 1, 1)];
        let pass = ColumnPass { steps, kept: vec![0, 2], dots: vec![] };
        assert_eq!(parts(&pass, 4, 8).len(), 1);
        let cut = parts(&pass, 4, 7);
        assert_eq!(cut.iter().map(|part| part.kept.clone()).collect::<Vec<_>>(), [vec![0, 1], vec![2]]);
    }

    #[test]
    fn a_part_writes_what_later_ones_read() {
        let steps = vec![add(0, 0, 1), ColumnStep::Times { x: 2, y: 0 }, add(3, 1, 2)];
        let pass = ColumnPass { steps, kept: vec![2], dots: vec![[2, 4], [0, 4]] };
        let cut = parts(&pass, 2, 4);
        assert!(cut.len() > 1 && cut.iter().all(|part| part.buffers() <= 4), "{cut:?}");
        let mut known = vec![0, 1];
        for part in &cut {
            assert!(part.reads.iter().all(|number| known.contains(number)), "{cut:?}");
            known.extend(part.kept.iter().map(|step| 2 + step));
        }
        assert!(known.contains(&4) && cut.iter().map(|part| part.dots.len()).sum::<usize>() == 2);
    }
}
