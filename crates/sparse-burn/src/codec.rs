//! Arguments and results of kernels as lists of numbers, for a backend that sends them to another process.
//!
//! An encoder has the plain values in the order of their declaration, and the choices: which variant, whether there is
//! an option, how many elements a list has. Tensors travel beside it, in the same order.

use crate::options::{ConcatAxis, MergeRule, PutTarget};
use burn::tensor::DType;
use burn_ir::ScalarIr;
use sparse_core::{
    Activation, AdamStep, BinaryOp, ColumnPass, ColumnStep, Dropout, Extremum, Incomplete, ProductPlan, Reduce,
    ShiftedRows, Term, Triangle, TrianglePlan,
};

/// What is known of a tensor without its elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Shape.
    pub dims: Vec<usize>,
    /// Element type.
    pub dtype: DType,
}

impl Meta {
    /// The same dtype with another shape.
    pub(crate) fn sized(&self, dims: impl Into<Vec<usize>>) -> Self {
        Self { dims: dims.into(), dtype: self.dtype }
    }
}

/// Values as numbers.
#[derive(Debug, Default)]
pub struct Encoder {
    pub(crate) numbers: Vec<ScalarIr>,
    /// Whether it is an error that was encoded. Errors themselves are not sent.
    pub(crate) failed: bool,
}

/// Reads what an encoder wrote, with the tensors that came with it.
#[derive(Debug)]
pub struct Decoder<T> {
    numbers: std::vec::IntoIter<ScalarIr>,
    tensors: std::vec::IntoIter<T>,
}

impl<T> Decoder<T> {
    pub(crate) fn new(numbers: Vec<ScalarIr>, tensors: Vec<T>) -> Self {
        Self { numbers: numbers.into_iter(), tensors: tensors.into_iter() }
    }

    /// The next value.
    ///
    /// # Panics
    ///
    /// If the sender encoded something else: it has other kernels.
    pub(crate) fn plain<P: Plain>(&mut self) -> P {
        P::take(&mut || self.numbers.next().expect(BROKEN))
    }

    /// The next tensor.
    pub(crate) fn tensor(&mut self) -> T {
        self.tensors.next().expect(BROKEN)
    }

    /// The number of elements of a list, each of which takes a number or a tensor.
    pub(crate) fn length(&mut self) -> usize {
        let length = self.plain();
        assert!(length <= self.numbers.len() + self.tensors.len(), "{BROKEN}");
        length
    }

    /// Fails if something is left.
    pub(crate) fn close(self) {
        assert!(self.numbers.len() == 0 && self.tensors.len() == 0, "{BROKEN}");
    }
}

const BROKEN: &str = "remote: client and server must have the same kernels, got arguments of another form";

/// A value without tensors.
pub(crate) trait Plain: Sized {
    /// Whether it can be sent. If not, an option of it is sent as `None`.
    const TRAVELS: bool = true;

    fn put(&self, numbers: &mut Vec<ScalarIr>);

    fn take(next: &mut impl FnMut() -> ScalarIr) -> Self;
}

impl Plain for () {
    fn put(&self, _: &mut Vec<ScalarIr>) {}
    fn take(_: &mut impl FnMut() -> ScalarIr) {}
}

impl Plain for u64 {
    fn put(&self, numbers: &mut Vec<ScalarIr>) {
        numbers.push(ScalarIr::UInt(*self));
    }
    fn take(next: &mut impl FnMut() -> ScalarIr) -> Self {
        let ScalarIr::UInt(value) = next() else { panic!("{BROKEN}") };
        value
    }
}

impl Plain for usize {
    fn put(&self, numbers: &mut Vec<ScalarIr>) {
        (*self as u64).put(numbers);
    }
    fn take(next: &mut impl FnMut() -> ScalarIr) -> Self {
        u64::take(next).try_into().expect("remote: a size must fit the machine of the server")
    }
}

impl Plain for bool {
    fn put(&self, numbers: &mut Vec<ScalarIr>) {
        u64::from(*self).put(numbers);
    }
    fn take(next: &mut impl FnMut() -> ScalarIr) -> Self {
        u64::take(next) != 0
    }
}

/// As its bits.
impl Plain for f64 {
    fn put(&self, numbers: &mut Vec<ScalarIr>) {
        self.to_bits().put(numbers);
    }
    fn take(next: &mut impl FnMut() -> ScalarIr) -> Self {
        Self::from_bits(u64::take(next))
    }
}

/// The name of the operation that an error names. The error is made where the name is.
impl Plain for &'static str {
    fn put(&self, _: &mut Vec<ScalarIr>) {}
    fn take(_: &mut impl FnMut() -> ScalarIr) -> Self {
        "remote"
    }
}

/// Made for the CPU where they are used.
macro_rules! plans {
    ($($Plan:ident)*) => {$(
        impl Plain for $Plan {
            const TRAVELS: bool = false;
            fn put(&self, _: &mut Vec<ScalarIr>) {
                unreachable!("an option of it is none")
            }
            fn take(_: &mut impl FnMut() -> ScalarIr) -> Self {
                panic!("{BROKEN}")
            }
        }
    )*};
}

plans!(ProductPlan ShiftedRows TrianglePlan);

impl Plain for Triangle {
    fn put(&self, numbers: &mut Vec<ScalarIr>) {
        self.upper.put(numbers);
        self.unit.put(numbers);
    }
    fn take(next: &mut impl FnMut() -> ScalarIr) -> Self {
        Self { upper: bool::take(next), unit: bool::take(next) }
    }
}

/// As the place of the choice, and two numbers.
impl Plain for Incomplete {
    fn put(&self, numbers: &mut Vec<ScalarIr>) {
        let (choice, size, number) = match *self {
            Self::Cholesky { shift } => (0, 0, shift),
            Self::Lu => (1, 0, 0.0),
            Self::Threshold { fill, drop } => (2, fill, drop),
            Self::Blocks { size } => (3, size, 0.0),
        };
        usize::put(&choice, numbers);
        size.put(numbers);
        number.put(numbers);
    }
    fn take(next: &mut impl FnMut() -> ScalarIr) -> Self {
        let (choice, size, number) = (usize::take(next), usize::take(next), f64::take(next));
        match choice {
            0 => Self::Cholesky { shift: number },
            1 => Self::Lu,
            2 => Self::Threshold { fill: size, drop: number },
            3 => Self::Blocks { size },
            _ => panic!("{BROKEN}"),
        }
    }
}

/// Steps as four numbers: the choice, and its places; 0 is none.
impl Plain for ColumnPass {
    fn put(&self, numbers: &mut Vec<ScalarIr>) {
        let steps = self.steps.iter().flat_map(|step| match *step {
            ColumnStep::Add { x, scale, y } => [0, x.map_or(0, |x| x + 1), y, scale],
            ColumnStep::Times { x, y } => [1, x, y, 0],
        });
        steps.collect::<Vec<usize>>().put(numbers);
        self.kept.put(numbers);
        self.dots.concat().put(numbers);
    }
    fn take(next: &mut impl FnMut() -> ScalarIr) -> Self {
        let step = |step: &[usize; 4]| match *step {
            [0, x, y, scale] => ColumnStep::Add { x: x.checked_sub(1), scale, y },
            [1, x, y, 0] => ColumnStep::Times { x, y },
            _ => panic!("{BROKEN}"),
        };
        let (steps, kept, dots): (Vec<usize>, _, Vec<usize>) = (Vec::take(next), Vec::take(next), Vec::take(next));
        let ((steps, []), (dots, [])) = (steps.as_chunks(), dots.as_chunks()) else { panic!("{BROKEN}") };
        Self { steps: steps.iter().map(step).collect(), kept, dots: dots.to_vec() }
    }
}

/// As their place in a list of all.
macro_rules! choices {
    ($($Choice:ident: [$($variant:ident),*];)*) => {$(
        impl Plain for $Choice {
            fn put(&self, numbers: &mut Vec<ScalarIr>) {
                // A new variant must come into the list.
                match self { $(Self::$variant => {})* }
                let place = [$(Self::$variant),*].iter().position(|choice| choice == self);
                place.expect("a variant of the list").put(numbers);
            }
            fn take(next: &mut impl FnMut() -> ScalarIr) -> Self {
                *[$(Self::$variant),*].get(usize::take(next)).expect(BROKEN)
            }
        }
    )*};
}

choices! {
    BinaryOp: [Add, Sub, Mul, Div];
    Extremum: [Max, Min];
    Term: [Product, Sum];
    MergeRule: [Union, Intersection];
    Reduce: [Assign, Add, Mul, Mean, Amax, Amin];
}

/// Those of integers.
impl Plain for DType {
    fn put(&self, numbers: &mut Vec<ScalarIr>) {
        INTEGERS.iter().position(|dtype| dtype == self).expect("a dtype of integers").put(numbers);
    }
    fn take(next: &mut impl FnMut() -> ScalarIr) -> Self {
        *INTEGERS.get(usize::take(next)).expect(BROKEN)
    }
}

const INTEGERS: [DType; 8] =
    [DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16, DType::U32, DType::U64];

impl Plain for Vec<usize> {
    fn put(&self, numbers: &mut Vec<ScalarIr>) {
        self.len().put(numbers);
        self.iter().for_each(|size| size.put(numbers));
    }
    fn take(next: &mut impl FnMut() -> ScalarIr) -> Self {
        // Grows with what arrives, and not to the length that was sent.
        let length = usize::take(next);
        let mut list = vec![];
        while list.len() < length {
            list.push(usize::take(next));
        }
        list
    }
}

impl Plain for ConcatAxis {
    fn put(&self, numbers: &mut Vec<ScalarIr>) {
        match self {
            Self::Coo { axis, offsets, merge } => {
                0u64.put(numbers);
                axis.put(numbers);
                offsets.put(numbers);
                merge.put(numbers);
            }
            Self::CsrRows => 1u64.put(numbers),
            Self::CsrBatchRows { batch, rows } => {
                2u64.put(numbers);
                batch.put(numbers);
                rows.put(numbers);
            }
            Self::CsrCols { offsets } => {
                3u64.put(numbers);
                offsets.put(numbers);
            }
        }
    }
    fn take(next: &mut impl FnMut() -> ScalarIr) -> Self {
        match u64::take(next) {
            0 => Self::Coo { axis: Plain::take(next), offsets: Plain::take(next), merge: Plain::take(next) },
            1 => Self::CsrRows,
            2 => Self::CsrBatchRows { batch: Plain::take(next), rows: Plain::take(next) },
            3 => Self::CsrCols { offsets: Plain::take(next) },
            _ => panic!("{BROKEN}"),
        }
    }
}

impl Plain for Activation {
    fn put(&self, numbers: &mut Vec<ScalarIr>) {
        let (place, number) = match self {
            Self::Elu { alpha } => (0u64, alpha),
            Self::LeakyRelu { slope } => (1, slope),
        };
        place.put(numbers);
        number.put(numbers);
    }
    fn take(next: &mut impl FnMut() -> ScalarIr) -> Self {
        match u64::take(next) {
            0 => Self::Elu { alpha: f64::take(next) },
            1 => Self::LeakyRelu { slope: f64::take(next) },
            _ => panic!("{BROKEN}"),
        }
    }
}

impl Plain for AdamStep {
    fn put(&self, numbers: &mut Vec<ScalarIr>) {
        let Self { kept, added, correction, epsilon, decay, rate } = self;
        kept.iter().chain(added).chain([correction, epsilon, decay, rate]).for_each(|number| number.put(numbers));
    }
    fn take(next: &mut impl FnMut() -> ScalarIr) -> Self {
        let mut number = || f64::take(next);
        let (kept, added) = ([number(), number()], [number(), number()]);
        Self { kept, added, correction: number(), epsilon: number(), decay: number(), rate: number() }
    }
}

impl Plain for Dropout {
    fn put(&self, numbers: &mut Vec<ScalarIr>) {
        self.p.put(numbers);
        self.seed.put(numbers);
    }
    fn take(next: &mut impl FnMut() -> ScalarIr) -> Self {
        Self { p: f64::take(next), seed: u64::take(next) }
    }
}

impl Plain for PutTarget {
    fn put(&self, numbers: &mut Vec<ScalarIr>) {
        let Self { outer, len, inner, count, along_axis } = self;
        [outer, len, inner, count].into_iter().for_each(|size| size.put(numbers));
        along_axis.put(numbers);
    }
    fn take(next: &mut impl FnMut() -> ScalarIr) -> Self {
        let [outer, len, inner, count] = std::array::from_fn(|_| usize::take(next));
        Self { outer, len, inner, count, along_axis: bool::take(next) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Debug;

    fn returns<P: Plain + PartialEq + Debug>(value: P) {
        let mut numbers = vec![];
        value.put(&mut numbers);
        let mut decoder = Decoder::<()>::new(numbers, vec![]);
        assert_eq!(decoder.plain::<P>(), value);
        decoder.close();
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        returns(());
        [false, true].into_iter().for_each(returns);
        [0, 1, usize::MAX].into_iter().for_each(returns);
        [-0.5, f64::MIN_POSITIVE, f64::INFINITY].into_iter().for_each(returns);
        returns(vec![3usize, 0, 7]);
        [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div].into_iter().for_each(returns);
        [Extremum::Max, Extremum::Min].into_iter().for_each(returns);
        [Term::Product, Term::Sum].into_iter().for_each(returns);
        [MergeRule::Union, MergeRule::Intersection].into_iter().for_each(returns);
        Reduce::ALL.into_iter().for_each(returns);
        INTEGERS.into_iter().for_each(returns);
        returns(ConcatAxis::Coo { axis: 2, offsets: vec![0, 4], merge: true });
        returns(ConcatAxis::CsrRows);
        returns(ConcatAxis::CsrBatchRows { batch: 3, rows: vec![1, 2] });
        returns(ConcatAxis::CsrCols { offsets: vec![5] });
        returns(Activation::Elu { alpha: 0.3 });
        returns(Activation::LeakyRelu { slope: -0.1 });
        let (kept, added) = ([0.9, 0.99], [0.1, 0.01]);
        returns(AdamStep { kept, added, correction: 0.5, epsilon: 1e-8, decay: 0.3, rate: 0.2 });
        returns(Dropout { p: 0.5, seed: u64::MAX });
        let add = |x| ColumnStep::Add { x, scale: 2, y: 1 };
        let steps = vec![add(None), ColumnStep::Times { x: 0, y: 3 }, add(Some(0))];
        returns(ColumnPass { steps, kept: vec![0, 2], dots: vec![[1, 4]] });
        returns(PutTarget { outer: 1, len: 2, inner: 3, count: 4, along_axis: true });
    }

    /// A length says nothing about memory before the elements are there.
    #[test]
    fn what_a_stranger_sends_is_a_panic() {
        let numbers = |list: &[u64]| list.iter().map(|&number| ScalarIr::UInt(number)).collect::<Vec<_>>();
        let panics = |numbers: Vec<ScalarIr>, take: fn(&mut Decoder<()>)| {
            let mut decoder = Decoder::<()>::new(numbers, vec![]);
            let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| take(&mut decoder))).unwrap_err();
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string())).unwrap();
            assert!(text.starts_with("remote: "), "{text}");
        };
        panics(vec![], |decoder| _ = decoder.plain::<bool>());
        panics(vec![ScalarIr::Float(1.0)], |decoder| _ = decoder.plain::<usize>());
        panics(numbers(&[u64::MAX]), |decoder| _ = decoder.plain::<Vec<usize>>());
        panics(numbers(&[u64::MAX]), |decoder| _ = decoder.length());
        panics(numbers(&[9]), |decoder| _ = decoder.plain::<Reduce>());
        panics(numbers(&[9]), |decoder| _ = decoder.plain::<ConcatAxis>());
        panics(numbers(&[9]), |decoder| _ = decoder.plain::<Activation>());
        panics(vec![], |decoder| decoder.tensor());
    }
}
