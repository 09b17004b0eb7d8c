//! Sampled products, and moves and sums of rows: odd widths, heads, rows that are apart in memory, wide addresses.

use crate::common::{Data, TURN, assert_close, floats, gpu, ints, list};
use burn::tensor::{DType, Device, Int, Tensor};
use sparse_burn::BinaryOp;
use sparse_burn::forced::{Forced, forced, launches};
use sparse_burn::kernel::{move_rows, sddmm, zip_rows};
use std::io::Write;

fn bits(list: &[f32]) -> Vec<u32> {
    list.iter().map(|x| x.to_bits()).collect()
}

/// With 32- and with 64-bit addresses.
fn addresses() -> [Forced; 2] {
    [false, true].map(|wide| Forced { wide, ..Forced::default() })
}

/// Elements, and the rows that they multiply.
struct Case {
    rows: Vec<i32>,
    cols: Vec<i32>,
    x: Vec<f32>,
    y: Vec<f32>,
    heads: usize,
    width: usize,
}

/// Rows of `x` and of `y`.
const SIZES: [usize; 2] = [11, 13];

impl Case {
    fn new(nnz: usize, heads: usize, width: usize, seed: u64) -> Self {
        let mut data = Data::new(seed);
        let [rows, cols] = SIZES.map(|size| data.ints(nnz, size as i32));
        let [x, y] = SIZES.map(|size| data.floats(size * heads * width));
        Self { rows, cols, x, y, heads, width }
    }

    fn by_loops(&self) -> Vec<f32> {
        let Self { rows, cols, x, y, heads, width } = self;
        let part = |list: &[f32], row: i32, head: usize| {
            let start = (row as usize * heads + head) * width;
            list[start..start + width].to_vec()
        };
        let mut out = vec![];
        for (&row, &col) in rows.iter().zip(cols) {
            for head in 0..*heads {
                let (x, y) = (part(x, row, head), part(y, col, head));
                let terms = x.iter().zip(&y).map(|(&x, &y)| f64::from(x) * f64::from(y));
                out.push(terms.sum::<f64>() as f32);
            }
        }
        out
    }

    fn operands(&self, device: &Device) -> [Tensor<2>; 2] {
        let width = self.heads * self.width;
        [floats(&self.x, [SIZES[0], width], device), floats(&self.y, [SIZES[1], width], device)]
    }

    fn elements(&self, device: &Device) -> [Tensor<1, Int>; 2] {
        [&self.rows, &self.cols].map(|list| ints(list, [list.len()], device))
    }

    fn of(&self, [x, y]: [Tensor<2>; 2], device: &Device) -> Vec<f32> {
        let [rows, cols] = self.elements(device);
        list(sddmm(&rows, &cols, x, y, self.heads))
    }

    fn on(&self, device: &Device) -> Vec<f32> {
        self.of(self.operands(device), device)
    }
}

#[test]
fn sampled_products_of_every_width() {
    let _turn = TURN.lock();
    let gpu = gpu();
    for width in [1, 2, 4, 7, 8, 16, 40, 47, 100, 128, 172, 300, 500, 602] {
        for (nnz, heads) in [(1, 1), (50, 1), (33, 3), (5, 8)] {
            let case = Case::new(nnz, heads, width, width as u64);
            let name = format!("{nnz} x {heads} x {width}");
            let want = [case.by_loops()];
            assert_close(&name, &[case.on(&Device::flex())], &want, 1e-5);
            let mut first = None;
            for force in addresses() {
                let (got, launched) = forced(force, || (case.on(&gpu), launches())).0;
                assert_eq!(launched, 1, "{name}");
                assert_close(&name, std::slice::from_ref(&got), &want, 1e-5);
                assert_eq!(first.get_or_insert_with(|| bits(&got)), &bits(&got), "{name}");
            }
        }
    }
    for (nnz, heads, width) in [(0, 2, 5), (4, 2, 0)] {
        let case = Case::new(nnz, heads, width, 1);
        assert_eq!(case.on(&gpu), vec![0.0; nnz * heads]);
    }
}

/// The bits of a number follow from its two rows, not from the elements beside it.
#[test]
fn bits_do_not_depend_on_other_elements() {
    let _turn = TURN.lock();
    let gpu = gpu();
    for width in [3, 47, 128, 602] {
        let case = Case::new(70, 2, width, 2);
        let all = case.on(&gpu);
        for k in [0, 1, 34, 69] {
            let (rows, cols) = (vec![case.rows[k]], vec![case.cols[k]]);
            let one = Case { rows, cols, x: case.x.clone(), y: case.y.clone(), ..case };
            assert_eq!(bits(&one.on(&gpu)), bits(&all[2 * k..2 * k + 2]), "element {k}, width {width}");
        }
    }
}

/// Integers, and 16-bit and 64-bit floats where the device has them.
#[test]
fn sampled_products_of_every_type() {
    let _turn = TURN.lock();
    let gpu = gpu();
    let case = Case::new(40, 2, 12, 3);
    for (dtype, tolerance) in [(DType::F16, 2e-2), (DType::BF16, 1e-1), (DType::F64, 1e-12)] {
        if !gpu.supports_dtype(dtype) {
            // Not captured, unlike what a passing test prints.
            let _ = writeln!(std::io::stderr(), "skipped: the device has no {dtype:?}");
            continue;
        }
        let on = |device: &Device| case.of(case.operands(device).map(|x| x.cast(dtype)), device);
        assert_close(&format!("{dtype:?}"), &[on(&gpu)], &[on(&Device::flex())], tolerance);
    }
    let on = |device: &Device| -> Vec<i64> {
        let [rows, cols] = case.elements(device);
        let [x, y] = case.operands(device).map(|x| (x * 50.0).int());
        sddmm(&rows, &cols, x, y, 2).into_data().iter::<i64>().collect()
    };
    assert_eq!(on(&gpu), on(&Device::flex()));
}

/// Part of the columns of a matrix, and one row many times, are read where they are. Columns that are apart are copied.
#[test]
fn views_are_not_copied() {
    let _turn = TURN.lock();
    let gpu = gpu();
    let case = Case::new(60, 2, 16, 4);
    let part = |x: Tensor<2>| x.narrow(1, 0, 16);
    let same = |x: Tensor<2>| {
        let rows = x.dims()[0];
        x.narrow(0, 3, 1).expand([rows, 32])
    };
    let transposed = |x: Tensor<2>| {
        let [rows, columns] = x.dims();
        floats(&list(x.transpose()), [columns, rows], &gpu).transpose()
    };
    type View<'a> = &'a dyn Fn(Tensor<2>) -> Tensor<2>;
    for (name, view, copies) in
        [("part", &part as View, false), ("same", &same as View, false), ("transposed", &transposed as View, true)]
    {
        let operands = || case.operands(&gpu).map(view);
        let copied = operands().map(|x| {
            let dims = x.dims();
            floats(&list(x), dims, &gpu)
        });
        let (got, launched) = forced(Forced::default(), || case.of(operands(), &gpu));
        assert_eq!(launched.contains("a contiguous copy"), copies, "{name}");
        assert_eq!(bits(&got), bits(&case.of(copied, &gpu)), "{name}");
    }
}

/// Rows moved by a map, and two operands combined by maps: some rows are missing, and operands are views.
#[test]
fn rows_by_a_map() {
    let _turn = TURN.lock();
    let gpu = gpu();
    let ops = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div];
    for width in [1, 3, 4, 7, 16] {
        let (mut data, old) = (Data::new(5), 9);
        let maps = [0, 1].map(|_| data.ints(70, old as i32 + 1));
        let values = [0, 1].map(|_| data.floats(old * 2 * width));
        let fills = [0, 1].map(|_| data.floats(width).into_iter().map(|x| x + 2.0).collect::<Vec<_>>());
        // The first columns of matrices that are twice as wide, as they are or alone.
        let run = |device: &Device, views: bool| {
            let values = [0, 1].map(|k| {
                let part = floats(&values[k], [old, 2 * width], device).narrow(1, 0, width);
                if views { part } else { floats(&list(part), [old, width], device) }
            });
            let fills = [0, 1].map(|k| floats(&fills[k], [1, width], device));
            let maps = [0, 1].map(|k| ints(&maps[k], [70], device));
            let mut parts = vec![list(move_rows(&values[0], &fills[0], &maps[0]))];
            let [a, b] = values;
            for op in ops {
                for mapped in [[true, true], [false, false]] {
                    let chosen = [0, 1].map(|k| mapped[k].then_some(&maps[k]));
                    parts.push(list(zip_rows(op, [a.clone(), b.clone()], fills.clone(), chosen)));
                }
                let picked = maps[0].clone().narrow(0, 0, old);
                parts.push(list(zip_rows(op, [a.clone(), b.clone()], fills.clone(), [None, Some(&picked)])));
            }
            parts
        };
        let want = run(&Device::flex(), false);
        for force in addresses() {
            for views in [false, true] {
                let (got, launched) = forced(force, || run(&gpu, views));
                assert_close(&format!("width {width}, views {views}"), &got, &want, 1e-6);
                assert!(!launched.contains("a contiguous copy"), "width {width}: {launched:?}");
            }
        }
    }
}
