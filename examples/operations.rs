//! A tour of the operations on tensors small enough to read, each with its gradient.
//!
//! `cargo run --release --example operations`
//!
//! The picture, target/operations/operations.svg and .png, shows where some operations put elements.

use burn::tensor::{Device, Gradients, Int, Tensor};
use sparse_tensor::ops::{
    IndexPlan, Reduce, block_diag, concat, gather, gather_nd, put_along_axis, scatter, scatter_nd,
};
use sparse_tensor::plot::{grid, try_spy};
use sparse_tensor::{CooTensor, CsrTensor, Fill, Kind, Result, SparseTensor, pattern::Pattern};

fn main() -> Result<()> {
    let device = Device::flex().autodiff();
    building(&device)?;
    fills(&device)?;
    products(&device)?;
    concatenation(&device)?;
    arithmetic(&device)?;
    along_an_axis(&device)?;
    plans(&device)?;
    functions(&device)?;
    sparse_products(&device)?;
    reductions(&device)?;
    selections(&device)?;
    pictures(&device)
}

fn title(number: usize, text: &str) {
    println!("\n{number}. {text}\n{}", "-".repeat(text.len() + 3));
}

/// Rows of a dense tensor on one line.
fn dense<const D: usize, K: Kind>(tensor: &Tensor<D, K>) -> String {
    let data = tensor.clone().inner().into_data();
    let values: Vec<f64> = data.iter::<f64>().collect();
    let width = tensor.dims()[D - 1].max(1);
    let row =
        |row: &[f64]| row.iter().map(|value| format!("{}", (value * 1e4).round() / 1e4)).collect::<Vec<_>>().join(" ");
    values.chunks(width).map(row).map(|row| format!("[{row}]")).collect::<Vec<_>>().join(" ")
}

fn gradient<P: Pattern, const D: usize>(name: &str, leaf: &SparseTensor<P, D>, grads: &Gradients) {
    let grad = leaf.grad(grads).expect("a leaf that the loss depends on");
    println!("gradient of {name}: {} (on its own {} elements)", dense(&grad.values::<1>()), grad.nnz());
}

/// The leaf that every part starts from: [[1, 0, 2], [0, 0, 3]].
fn example(device: &Device) -> Result<CooTensor<2>> {
    let indices = Tensor::<2, Int>::from_ints([[0, 0, 1], [0, 2, 2]], device);
    let values = Tensor::<1>::from_floats([1.0, 2.0, 3.0], device);
    Ok(CooTensor::new(indices, values, [2, 3])?.require_grad())
}

fn building(device: &Device) -> Result<()> {
    title(1, "A sparse tensor");
    let a = example(device)?;
    println!("{a}");
    println!("dense: {}", dense(&a.to_dense()));
    println!("\nThe same by rows:\n{}", a.to_csr());

    let twice = Tensor::<2, Int>::from_ints([[1, 0, 1], [1, 0, 1]], device);
    let twice = CooTensor::<2>::new(twice, Tensor::<1>::from_floats([1.0, 5.0, 2.0], device), [2, 2])?;
    println!("\nDuplicates mean their sum:\n{twice}\n{}", twice.coalesce());

    let wrong = Tensor::<2, Int>::from_ints([[7], [0]], device);
    let wrong = CooTensor::<2>::new(wrong, Tensor::<1>::ones([1], device), [2, 2]);
    println!("\nWrong coordinates are an error: {}", wrong.expect_err("row 7 of 2"));
    Ok(())
}

fn fills(device: &Device) -> Result<()> {
    title(2, "The elements that are not stored");
    let a = example(device)?;
    let tracked = Tensor::<1>::from_floats([9.0], device).require_grad();
    let filled = a.clone().with_fill(Fill::tensor(tracked.clone()));
    println!("fill 9: {}", dense(&filled.to_dense()));
    let grads = filled.to_dense().sum().backward();
    println!("gradient of the fill (three elements have it): {}", dense(&tracked.grad(&grads).expect("tracked")));
    let missing = a.with_fill(Fill::Undefined);
    println!("undefined: {}", missing.try_to_dense().expect_err("there is no dense equivalent"));
    println!("unless a value is given: {}", dense(&missing.to_dense_or(-1)));
    Ok(())
}

fn products(device: &Device) -> Result<()> {
    title(3, "Sparse x dense");
    let a = example(device)?;
    let x = Tensor::<2>::from_floats([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]], device).require_grad();
    let y = a.matmul(x.clone());
    println!("a x x = {}", dense(&y));
    let grads = y.sum().backward();
    gradient("a", &a, &grads);
    println!("gradient of x: {}", dense(&x.grad(&grads).expect("a leaf")));
    Ok(())
}

fn concatenation(device: &Device) -> Result<()> {
    title(4, "concat");
    let (a, b) = (example(device)?, example(device)?);
    for axis in [0, 1] {
        let joined = concat(&[a.to_csr(), b.to_csr()], axis);
        println!("along axis {axis}: {:?}, {}", joined.dims(), dense(&joined.to_dense()));
    }
    let joined = concat(&[a.clone(), b.clone()], 0);
    let weights = Tensor::<2>::from_floats([[1.0; 3], [1.0; 3], [2.0; 3], [2.0; 3]], device);
    let grads = (joined.to_dense() * weights).sum().backward();
    gradient("the first part", &a, &grads);
    gradient("the second part", &b, &grads);
    Ok(())
}

fn arithmetic(device: &Device) -> Result<()> {
    title(5, "+ - * / of sparse tensors");
    let a = example(device)?;
    let indices = Tensor::<2, Int>::from_ints([[0, 1], [0, 1]], device);
    let b = CooTensor::<2>::new(indices, Tensor::<1>::from_floats([4.0, 5.0], device), [2, 3])?.require_grad();
    println!("a = {}", dense(&a.to_dense()));
    println!("b = {}", dense(&b.to_dense()));
    println!("a + b = {}", dense(&(&a + &b).to_dense()));
    println!("a - b = {}", dense(&(&a - &b).to_dense()));
    println!("a * b = {}", dense(&(&a * &b).to_dense()));
    let quotient = &a / &b;
    println!("a / b = {} (stored: {}, fill {})", dense(&quotient.to_dense()), quotient.nnz(), quotient.fill());
    let known = b.clone().with_fill(Fill::scalar(2.0));
    let quotient = &a / &known;
    println!("a / (b, 2 where nothing is stored) = {}", dense(&quotient.to_dense()));
    let grads = quotient.to_dense().sum().backward();
    gradient("a", &a, &grads);
    gradient("b", &b, &grads);

    let factor = Tensor::<1>::from_floats([10.0], device).require_grad();
    let scaled = a.mul_scalar(factor.clone()) + 1.0;
    println!("\na * 10 + 1 = {} (fill {})", dense(&scaled.to_dense()), scaled.fill());
    let grads = scaled.to_dense().sum().backward();
    println!("gradient of the 10, the sum of a: {}", dense(&factor.grad(&grads).expect("a leaf")));

    let csr: CsrTensor<2> = a.to_csr();
    let sums = Tensor::<1>::from_floats([3.0, 3.0], device).require_grad();
    let normal = csr.div_dense(sums.clone().unsqueeze_dim(1));
    println!("\nrows of a by their sums: {}", dense(&normal.to_dense()));
    let grads = normal.to_dense().sum().backward();
    gradient("a", &a, &grads);
    println!("gradient of the sums: {}", dense(&sums.grad(&grads).expect("a leaf")));
    Ok(())
}

fn along_an_axis(device: &Device) -> Result<()> {
    title(6, "put_along_axis, gather and scatter");
    let index = Tensor::<2, Int>::from_ints([[0], [2], [0]], device);
    println!("Three rows of values go to rows 0, 2 and 0 of three rows of 5:");
    for reduce in Reduce::ALL {
        let arr = Tensor::<2>::full([3, 2], 5.0, device).require_grad();
        let values = Tensor::<2>::from_floats([[1.0, 0.0], [2.0, 8.0], [3.0, 7.0]], device).require_grad();
        let out = put_along_axis(arr.clone(), index.clone(), values.clone(), 0, reduce, true);
        let grads = out.clone().sum().backward();
        println!(
            "{:>6}: {}   gradients: arr {}, values {}",
            reduce.name(),
            dense(&out),
            dense(&arr.grad(&grads).expect("a leaf")),
            dense(&values.grad(&grads).expect("a leaf")),
        );
    }
    let leaf = || Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 4.0]], device).require_grad();
    let x = leaf();
    let at = Tensor::<2, Int>::from_ints([[1, -1], [1, 0]], device);
    let read = gather(x.clone(), 0, at.clone());
    println!("\ngather of [1 2] [3 4] at [1 -1] [1 0]: {}", dense(&read));
    println!("gradient of x, how often each was read: {}", dense(&x.grad(&read.sum().backward()).expect("a leaf")));

    let (x, src) = (leaf(), Tensor::<2>::from_floats([[10.0, 20.0], [30.0, 40.0]], device).require_grad());
    let out = scatter(x.clone(), 0, at, src.clone());
    println!("scatter of [10 20] [30 40] there: {}", dense(&out));
    let grads = out.sum().backward();
    let (to_x, to_src) = (x.grad(&grads).expect("a leaf"), src.grad(&grads).expect("a leaf"));
    println!("gradients: x {}, src {} (the last write wins)", dense(&to_x), dense(&to_src));

    let cells = Tensor::<3, Int>::from_ints([[[0, 1], [1, 0]]], device);
    let x = leaf();
    let read = gather_nd(x.clone(), cells.clone(), None);
    println!("\ngather_nd at (0, 1) and (1, 0): {}", dense(&read));
    println!("gradient of x: {}", dense(&x.grad(&read.sum().backward()).expect("a leaf")));
    let src = Tensor::<2>::from_floats([[-1.0, -2.0]], device).require_grad();
    let out = scatter_nd(leaf(), cells, src.clone(), None);
    println!("scatter_nd of [-1 -2] there: {}", dense(&out));
    println!("gradient of src: {}", dense(&src.grad(&out.sum().backward()).expect("a leaf")));
    Ok(())
}

fn plans(device: &Device) -> Result<()> {
    title(7, "A plan for an index that stays");
    println!("Messages along the edges 0->1, 2->1, 1->0, checked and sorted once:");
    let source = IndexPlan::new(Tensor::from_ints([0, 2, 1], device), 3)?;
    let target = IndexPlan::new(Tensor::from_ints([1, 1, 0], device), 3)?;
    let nodes = Tensor::<2>::from_floats([[1.0], [10.0], [100.0]], device).require_grad();
    let messages = source.select(nodes.clone(), 0);
    let received = target.put(Tensor::zeros([3, 1], device), 0, messages, Reduce::Add, true);
    println!("received: {}", dense(&received));
    let grads = received.sum().backward();
    println!("gradient of the nodes: {}", dense(&nodes.grad(&grads).expect("a leaf")));
    Ok(())
}

fn functions(device: &Device) -> Result<()> {
    title(8, "Functions of every element, the fill included");
    let a = example(device)?;
    let e = a.exp();
    println!("exp a = {} (stored: {}, fill {})", dense(&e.to_dense()), e.nnz(), e.fill());
    println!("a > 1: {}", dense(&a.greater_elem(1.0).to_dense().int()));
    let squares = a.clone().map(|rows| rows.clone() * rows);
    let grads = squares.to_dense().sum().backward();
    println!("any function: a -> a * a gives {}", dense(&squares.to_dense()));
    gradient("a", &a, &grads);
    Ok(())
}

fn sparse_products(device: &Device) -> Result<()> {
    title(9, "Sparse x sparse");
    let a = example(device)?;
    let b = CooTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0], [5.0, 0.0], [0.0, 2.0]], device), 0);
    let b = b.require_grad();
    let product = a.matmul(&b);
    println!("a x b = {} (stored: {})", dense(&product.to_dense()), product.nnz());
    let grads = product.to_dense().sum().backward();
    gradient("a", &a, &grads);
    gradient("b", &b, &grads);
    Ok(())
}

fn reductions(device: &Device) -> Result<()> {
    title(10, "Reductions and softmax");
    let a = example(device)?;
    println!("sum of rows: {}", dense(&a.sum_dim(1).to_dense()));
    println!("mean of columns: {}", dense(&a.mean_dim(0).to_dense()));
    println!("largest of rows, zeros counted: {}", dense(&a.neg().max_dim(1).to_dense()));
    println!("largest of rows, stored ones only: {}", dense(&a.neg().stored().max_dim(1).to_dense_or(0)));
    let attention = a.clone().with_fill(Fill::Undefined).softmax(1);
    println!("softmax over the stored elements of each row: {}", dense(&attention.values::<1>()));
    let weights = Tensor::<1>::from_floats([1.0, 0.0, 0.0], device);
    let grads = (attention.values::<1>() * weights).sum().backward();
    gradient("a", &a, &grads);
    println!("over zeros as well every row has a fill of its own: {}", a.try_softmax(1).expect_err("would densify"));
    Ok(())
}

fn selections(device: &Device) -> Result<()> {
    title(11, "Shape and selection");
    let a = example(device)?;
    println!("columns 2 and 0: {}", dense(&a.select(1, Tensor::from_ints([2, 0], device)).to_dense()));
    println!("the last two columns: {}", dense(&a.narrow(1, 1, 2).to_dense()));
    println!("as [3, 2]: {}", dense(&a.reshape([3, 2]).to_dense()));
    println!("at or above the diagonal: {}", dense(&a.triu(0).to_dense()));
    println!("the largest of each row: {}", dense(&a.top_k_rows(1).to_dense()));
    let grads = a.flip([1]).narrow(1, 0, 1).to_dense().sum().backward();
    println!("gradient of the sum of the last column:");
    gradient("a", &a, &grads);
    Ok(())
}

fn pictures(device: &Device) -> Result<()> {
    title(12, "Where the elements are");
    // Each node of a ring has an edge to the next one, and node 0 one to every third.
    let ring = (0..12).map(|node| (node, (node + 1) % 12));
    let edges: Vec<(usize, usize)> = ring.chain([(0, 3), (0, 6), (0, 9)]).collect();
    let a: CsrTensor<2> = CsrTensor::from_edges(&edges, Tensor::<1>::ones([edges.len()], device), 12)?;
    let b = a.add(&a.transpose());
    let plots = [
        try_spy(&a)?.with_title("a"),
        try_spy(&b)?.with_title("b = a + its transpose"),
        try_spy(&b.matmul(&b))?.with_title("b x b: two steps away"),
        try_spy(&b.triu(0))?.with_title("triu of b"),
        try_spy(&a.flip([1]))?.with_title("a, its columns flipped"),
        try_spy(&block_diag(&[a, b]))?.with_title("block_diag of a and b"),
    ];
    let page = grid(&plots, 3).with_size(400, 400);
    page.svg("target/operations/operations.svg")?;
    page.png("target/operations/operations.png")?;
    println!("picture: target/operations/operations.svg (and as .png)");
    Ok(())
}
