//! Axes: their ranges, where their ticks stand and what these say.

/// A name and a range. `from` is at the left or at the bottom; it may be the larger end.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) name: String,
    pub(super) from: f64,
    pub(super) to: f64,
    /// Whether only whole numbers are ticks.
    pub(super) whole: bool,
}

/// Beyond this, differences of numbers could overflow.
const LARGEST: f64 = 1e300;

impl Axis {
    /// An axis of this range. Two ends that are one number are moved apart.
    pub(super) fn new(name: &str, from: f64, to: f64, whole: bool) -> Self {
        let (from, mut to) = (from.clamp(-LARGEST, LARGEST), to.clamp(-LARGEST, LARGEST));
        let least = (from.abs().max(to.abs()) * 1e-9).max(1e-290);
        if (to - from).abs() < least {
            to = from + least.max(if from == 0.0 { 1.0 } else { from.abs() * 0.1 });
        }
        Self { name: name.into(), from, to, whole }
    }

    /// Where a number is: 0 at `from`, 1 at `to`.
    pub(super) fn share(&self, value: f64) -> f64 {
        (value - self.from) / (self.to - self.from)
    }

    /// At most about `count` round numbers in the range, and what they are called.
    pub(super) fn ticks(&self, count: usize) -> Vec<(f64, String)> {
        let (low, high) = (self.from.min(self.to), self.from.max(self.to));
        let rough = (high - low) / count.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|part| part * power).find(|&step| step >= rough * 0.999);
        let mut step = step.unwrap_or(10.0 * power);
        if self.whole {
            step = step.max(1.0);
        }
        let first = (low / step - 1e-9).ceil();
        let ticks = (0..=2 * count.max(1) + 2).map(|at| (first + at as f64) * step);
        ticks.take_while(|&tick| tick <= high + step * 1e-9).map(|tick| (tick, label(tick, step))).collect()
    }
}

/// A tick as text, with the decimals that a step needs.
fn label(tick: f64, step: f64) -> String {
    if tick.abs() < step * 1e-6 {
        return "0".into();
    }
    if tick.abs() >= 1e6 || step < 1e-4 {
        return format!("{tick:.1e}");
    }
    let decimals = (-step.log10() - 1e-9).ceil().clamp(0.0, 5.0) as usize;
    format!("{tick:.decimals$}")
}

/// The range of the finite values with a margin. Where there are many, the outermost half a percent on each side does
/// not count: it would press the rest together.
pub(super) fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let mut finite: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    finite.sort_by(f64::total_cmp);
    let cut = finite.len() / 200;
    let (Some(&low), Some(&high)) = (finite.get(cut), finite.iter().nth_back(cut)) else { return (0.0, 1.0) };
    let room = (high / 2.0 - low / 2.0) * 0.12;
    let room = if room > 0.0 { room } else { high.abs().max(1.0) * 0.05 };
    (low - room, high + room)
}

#[cfg(test)]
mod tests {
    use super::{Axis, range};

    fn labels(from: f64, to: f64, whole: bool, count: usize) -> Vec<String> {
        Axis::new("", from, to, whole).ticks(count).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(
            labels(0.0, 1.0, false, 5),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"].map(|l| l.replace("0.0", "0"))
        );
        assert_eq!(labels(0.0, 3.0, true, 10), ["0", "1", "2", "3"]);
        assert_eq!(labels(34.0, 0.0, true, 4), ["0", "10", "20", "30"]);
        assert_eq!(labels(-0.5, 0.5, false, 2), ["-0.5", "0", "0.5"]);
        assert_eq!(labels(0.0, 3e7, true, 3), ["0", "1.0e7", "2.0e7", "3.0e7"]);
    }

    #[test]
    fn no_range_is_too_strange() {
        let ends = [0.0, -0.0, 1.0, -7.0, 1e-320, 1e-12, 1e20, f64::MAX, f64::MIN, f64::INFINITY, f64::NEG_INFINITY];
        for from in ends {
            for to in ends {
                for whole in [false, true] {
                    let axis = Axis::new("", from, to, whole);
                    assert!(axis.ticks(5).len() <= 13, "{from} {to}");
                    assert!(axis.share(axis.from) == 0.0 && axis.share(axis.to) == 1.0, "{from} {to}");
                }
            }
        }
    }

    #[test]
    fn a_range_has_the_finite_values_but_few_outliers() {
        assert_eq!(range([].into_iter()), (0.0, 1.0));
        assert_eq!(range([f64::NAN, f64::INFINITY].into_iter()), (0.0, 1.0));
        let (low, high) = range([3.0].into_iter());
        assert!(low < 3.0 && 3.0 < high);
        let (low, high) = range([1.0, f64::NAN, 3.0].into_iter());
        assert!((low - 0.88).abs() < 1e-12 && (high - 3.12).abs() < 1e-12);
        assert!(range((0..1000).map(f64::from).chain([1e9])).1 < 1100.0);
    }
}
