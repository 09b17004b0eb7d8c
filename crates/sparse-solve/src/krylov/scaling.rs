//! A preconditioner that is a diagonal.

use super::pass::{Node, Pass};
use super::vectors::{Numbers, Vectors};
use burn::tensor::{DType, Element};
use sparse_ops::extend::{is_local, read_data};

/// What a residual is multiplied by. It needs no pass of its own.
pub enum Scaling {
    /// One number for all rows of a system, as of the matrix of a grid: no pass reads a vector of them.
    Even(Numbers),
    Each(Vectors),
}

impl Scaling {
    pub fn new(each: Vectors) -> Self {
        let first = |rows: usize| each.clone().narrow(1, 0, rows);
        let rows = each.dims()[1];
        // A few rows tell it of most matrices. On other devices a read would cost more.
        let even = is_local(&each.device()) && is_even(first(rows.min(64))) && is_even(each.clone());
        if even { Self::Even(first(1)) } else { Self::Each(each) }
    }

    pub fn of(&self, x: Vectors) -> Vectors {
        let mut pass = Pass::default();
        let own = pass.vector(x);
        let near = self.times(&mut pass, own);
        let ([near], []) = pass.run([near], []);
        near
    }

    pub fn times(&self, pass: &mut Pass, x: Node) -> Node {
        match self {
            Self::Even(number) => pass.add(None, number.clone(), x),
            Self::Each(numbers) => {
                let numbers = pass.vector(numbers.clone());
                pass.times(numbers, x)
            }
        }
    }
}

/// Whether each system has one number.
fn is_even(x: Vectors) -> bool {
    fn all_equal<T: Element + PartialEq>(list: &[T], rows: usize) -> bool {
        list.chunks(rows).all(|system| system.iter().all(|number| *number == system[0]))
    }
    let (rows, dtype) = (x.dims()[1], x.dtype());
    let data = read_data(x);
    match dtype {
        DType::F64 => data.as_slice::<f64>().is_ok_and(|list| all_equal(list, rows)),
        DType::F32 => data.as_slice::<f32>().is_ok_and(|list| all_equal(list, rows)),
        _ => false,
    }
}
