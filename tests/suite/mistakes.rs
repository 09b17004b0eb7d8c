//! Mistakes that are easy to make, and what they are told: by the compiler, by this library, and by Burn. What Burn
//! says is in a table of the book, so a release of Burn that says something else fails here.

use burn::nn::LinearConfig;
use burn::tensor::{Device, Int, Tensor};
use sparse_tensor::data::{Graph, Labels, karate, try_roc_auc};
use sparse_tensor::io::edge_list::{self, Options};
use sparse_tensor::nn::{NodePairs, try_sparse_input_linear};
use sparse_tensor::pattern::CsrPattern;
use sparse_tensor::{CooTensor, CsrTensor, Fill};
use std::fs::{read_dir, read_to_string, write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;

/// What the compiler says about each expression of a sparse `a`, a dense `x` and a `vector`. `None` if it is right.
fn compiler_on(expressions: &[String]) -> Vec<Option<String>> {
    let built = std::env::current_exe().expect("a path").parent().expect("a folder").to_path_buf();
    let libraries = read_dir(&built).expect("the folder of this test").map(|entry| entry.expect("an entry"));
    let libraries = libraries.filter(|entry| {
        let name = entry.file_name().into_string().unwrap_or_default();
        name.starts_with("libsparse_tensor-") && name.ends_with(".rlib")
    });
    // Builds with other features may lie in the same folder. Any of them has what is tested here.
    let library = libraries.max_by_key(|entry| entry.metadata().and_then(|data| data.modified()).expect("a time"));
    let library = library.expect("the library that this test is linked with").path();

    let line = |(at, expression): (usize, &String)| {
        format!(
            "pub fn f{at}(a: sparse_tensor::CsrTensor<2>) {{ let (x, vector) = (a.to_dense(), a.row_sums()); \
             let _ = (&x, &vector); let _ = {expression}; }}\n"
        )
    };
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path().join("mistake.rs"), expressions.iter().enumerate().map(line).collect::<String>())
        .expect("a file");
    let compiler = Path::new(env!("CARGO")).with_file_name("rustc");
    let told = Command::new(compiler)
        .current_dir(folder.path())
        .args(["--edition", "2024", "--crate-type", "lib", "--emit", "metadata", "--error-format", "short"])
        .args(["--extern", &format!("sparse_tensor={}", library.display())])
        .args(["-L", &format!("dependency={}", built.display()), "mistake.rs"])
        .output()
        .expect("the compiler");
    let told = String::from_utf8(told.stderr).expect("text");
    let on = |at: usize| told.lines().find(|line| line.starts_with(&format!("mistake.rs:{}:", at + 1)));
    let on = (0..expressions.len()).map(|at| Some(on(at)?.split_once(": ")?.1.to_string())).collect::<Vec<_>>();
    let others = told.lines().filter(|line| line.contains("error") && !line.starts_with("mistake.rs:"));
    let others = others.filter(|line| !line.starts_with("error: aborting")).collect::<Vec<_>>();
    assert!(others.is_empty(), "{others:?}");
    on
}

/// The message of a panic.
fn panic_of<T>(f: impl FnOnce() -> T) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).err().expect("a panic");
    match payload.downcast_ref::<String>() {
        Some(text) => text.clone(),
        None => payload.downcast_ref::<&str>().expect("a message").to_string(),
    }
}

fn page() -> String {
    read_to_string(sparse_dev::path("docs/book/errors.md")).expect("a page")
}

fn ints(list: &[i32]) -> Tensor<1, Int> {
    Tensor::from_data(list, &Device::flex())
}

#[test]
fn an_operator_between_dense_and_sparse_names_the_method() {
    let right = ["&a + &a", "&a * 2.0", "a + 1.0", "x.clone() + a.to_dense()", "a.mul_dense(x)", "&a - a.clone()"];
    let mut expressions = right.map(String::from).to_vec();
    for operator in ["+", "-", "*", "/"] {
        for (left, right) in [("x", "a"), ("x", "&a"), ("a", "x"), ("&a", "x"), ("&a", "vector")] {
            expressions.push(format!("{left} {operator} {right}"));
        }
    }
    let told = "error[E0277]: no operator takes a dense and a sparse tensor: `a.add_dense(x)`, `sub_dense`, \
                `mul_dense` and `div_dense` work at the stored elements of `a`, and `a.to_dense() + x` at all";
    for (at, (expression, said)) in expressions.iter().zip(compiler_on(&expressions)).enumerate() {
        match said {
            None => assert!(at < right.len(), "{expression} is no mistake"),
            Some(said) => assert!(at >= right.len() && said.starts_with(told), "{expression}: {said}"),
        }
    }
    assert!(page().contains("| `no operator takes a dense and a sparse tensor` |"));
}

/// SciPy's `csr_matrix((data, indices, indptr))` of [[0, 0, 5], [6, 0, 7]].
#[test]
fn scipys_order_is_told() {
    let (data, indices, indptr) = (ints(&[5, 6, 7]), ints(&[2, 0, 2]), ints(&[0, 1, 3]));
    let floats = |list: &Tensor<1, Int>| list.clone().float();
    let order = "the first argument (SciPy's order is data, indices, indptr), must have length";
    let first = "row_ptr must be the first argument and col_idx the second (SciPy's order is data, indices, indptr)";
    let told = |row_ptr: &Tensor<1, Int>, col_idx: &Tensor<1, Int>, values, shape| {
        CsrTensor::<2>::new(row_ptr.clone(), col_idx.clone(), values, shape).unwrap_err().to_string()
    };
    // As many elements as pointers: only the numbers in the lists tell.
    let swapped = told(&indices, &indptr, floats(&data), [2, 3]);
    assert_eq!(swapped, format!("CsrTensor::new: {first}, got 2 at position 0"));
    // Other lengths: four elements of three rows, so that three values are too few for the three pointers.
    let (more, columns) = (ints(&[5, 6, 7, 8]), ints(&[2, 0, 1, 2]));
    let pointers = ints(&[0, 1, 4]);
    let swapped = told(&columns, &pointers, floats(&more), [2, 3]);
    assert_eq!(swapped, format!("CsrTensor::new: row_ptr, {order} 3, got 4"));
    // Integers, which the compiler takes in SciPy's order.
    let whole = CsrTensor::<2, Int>::new(more.clone(), columns.clone(), pointers.clone(), [2, 3]).unwrap_err();
    assert_eq!(whole.to_string(), format!("CsrTensor::new: row_ptr, {order} 3, got 4"));
    assert_eq!(whole.kind(), "length_mismatch");

    let pattern = CsrPattern::new(indices.clone(), indptr.clone(), &[2, 3]).unwrap_err();
    assert_eq!(pattern.to_string(), format!("CsrPattern::new: {first}, got 2 at position 0"));
    assert_eq!(pattern.kind(), "invalid_row_ptr");
    let csc = CsrTensor::<2>::from_csc_parts(columns.clone(), pointers, floats(&more), [3, 2]).unwrap_err();
    assert_eq!(csc.to_string(), format!("from_csc_parts (by rows of the transpose): row_ptr, {order} 3, got 4"));

    // Other mistakes are told as they were.
    assert_eq!(told(&indptr, &indices, floats(&more), [2, 3]), "CsrTensor::new: values must have length 3, got 4");
    assert_eq!(
        told(&ints(&[0, 3]), &indices, floats(&data), [3, 3]),
        "CsrTensor::new: row_ptr must have length 4, got 2"
    );
    let descends = told(&ints(&[0, 2, 1, 3]), &indices, floats(&data), [3, 3]);
    assert_eq!(descends, "CsrTensor::new: row_ptr must never descend, got 1 at position 2");
    let page = page();
    for row in ["row_ptr, the first argument (SciPy's order is data, indices, indptr), must have length", first] {
        assert!(page.contains(&format!("| `{row}")), "{row}");
    }
}

#[test]
fn a_detached_leaf_of_burn_is_a_leaf_and_a_sparse_one_a_constant() {
    let device = Device::flex().autodiff();
    let leaf = Tensor::<1>::from_floats([1.0, 2.0], &device).require_grad();
    assert!(leaf.clone().detach().is_require_grad());
    assert!(!(leaf.clone() * 2.0).detach().is_tracked());
    for constant in [leaf.clone().set_require_grad(false), Tensor::from_inner(leaf.clone().inner())] {
        assert!(!constant.is_tracked());
        let once = constant * 3.0;
        (once.clone() * leaf.clone()).sum().backward();
        (once * leaf.clone()).sum().backward();
    }

    let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0], [2.0, 3.0]], &device));
    let fill = Tensor::<1>::from_floats([0.5], &device).require_grad();
    let a = a.require_grad();
    let filled = || a.clone().with_fill(Fill::tensor(fill.clone()));
    let constant = filled().detach();
    assert!(!constant.is_tracked() && constant.device() == a.device());
    let once = constant.mul_scalar(2.0);
    for _ in 0..2 {
        let grads = (&once * &filled()).sum().backward();
        let grad = a.grad(&grads).expect("a leaf").values::<1>().into_data();
        assert_eq!(grad.iter::<f32>().collect::<Vec<_>>(), [2.0, 4.0, 6.0]);
        assert_eq!(fill.grad(&grads).expect("a leaf").into_scalar::<f32>(), 1.0); // one element is not stored
        assert!(constant.grad(&grads).is_none());
    }
}

/// Each panic as the table in the book has it.
#[test]
fn panics_of_burn_are_those_in_the_book() {
    let device = Device::flex().autodiff();
    let leaf = || Tensor::<1>::from_floats([1.0, 2.0], &device).require_grad();
    let twice = |once: Tensor<1>| {
        let x = leaf();
        (once.clone() * x.clone()).sum().backward();
        (once * x).sum().backward()
    };
    let loss = (leaf() * 2.0).sum();
    loss.backward();
    let consumed = "Cannot run backward: graph tape has already been consumed";
    let untracked = "Tensor::backward requires a tracked autodiff tensor";
    let checkpointed = Device::flex().autodiff().gradient_checkpointing();
    let panics = [
        (consumed, panic_of(|| loss.backward())),
        (consumed, panic_of(|| twice(leaf().detach() * 3.0))),
        (untracked, panic_of(|| Tensor::<1>::ones([2], &device).sum().backward())),
        (untracked, panic_of(|| CsrTensor::<2>::eye(2, &device).sum().backward())),
        (untracked, panic_of(|| Tensor::<1>::ones([2], &Device::flex()).sum().backward())),
        ("Tensor::require_grad requires autodiff", panic_of(|| CsrTensor::<2>::eye(2, &Device::flex()).require_grad())),
        ("Can't convert a non leaf tensor into a tracked tensor", panic_of(|| (leaf() * 2.0).require_grad())),
        (
            "Gradient checkpointing strategy mismatch",
            panic_of(|| leaf() + Tensor::<1>::ones([2], &checkpointed).require_grad()),
        ),
    ];
    let page = page();
    let (_, table) = page.split_once("## Panics of Burn").expect("a chapter");
    for (message, panic) in &panics {
        assert!(panic.contains(message), "{message}: {panic}");
        assert!(table.contains(&format!("| `{message}` |")), "{message}");
    }
    // The table has no other.
    let rows = table.lines().filter(|line| line.starts_with("| `")).count();
    let messages: std::collections::BTreeSet<_> = panics.iter().map(|(message, _)| message).collect();
    assert_eq!(rows, messages.len());
}

/// Each call with what it is told.
#[test]
fn arguments_that_are_easily_mixed_up_are_told() {
    let device = Device::flex();
    let graph = karate(&device);
    let scores = || Tensor::<1>::from_floats([0.5, 0.25, 0.75], &device);
    let coo =
        CooTensor::<2>::new(Tensor::from_ints([[2, 0], [0, 1]], &device), scores().narrow(0, 0, 2), [3, 3]).unwrap();
    let linear = LinearConfig::new(4, 2).init(&device);
    let unknown = Labels::from_list(&[0, -1, 1], 2, &device).unwrap();
    let graph = Graph { labels: unknown, ..graph };
    for (told, trouble) in [
        // Scores of the positive and of the negative examples are no labels: the compiler says so. Their classes are.
        ("roc_auc: a label must be 0 or 1, got 5 at position 1", try_roc_auc(ints(&[0, 5, 1]), scores()).err()),
        (
            "roc_auc: a label must be 0 or 1: leave out what has none, got -1 at 2",
            try_roc_auc(ints(&[1, 0, -1]), scores()).err(),
        ),
        ("LabelledNodes::new: a label must be in [0, 2), got -1 for node 1", graph.labelled(&[0, 1]).err()),
        ("select: index along dim 0 must be in [0, 3), got 3 at position 1", coo.try_select(0, [0, 3]).err()),
        (
            "NodePairs::from_lists: cols must have length 2, got 1",
            NodePairs::from_lists(&[0, 1], &[2], [3, 3], &device).err(),
        ),
        (
            "edge_list: line 1: a line must end with \\n or \\r\\n, got \\r alone",
            edge_list::parse(&b"0 1\r1 2\r"[..], &Options::new()).err(),
        ),
    ] {
        let trouble = trouble.expect(told);
        // `fn main() -> Result<(), SparseError>` prints the second.
        assert_eq!([trouble.to_string(), format!("{trouble:?}")], [told, told]);
    }
    let told = try_sparse_input_linear(&coo.to_csr(), &linear).unwrap_err().to_string();
    assert!(told.starts_with("sparse_input_linear: ") && told.contains("[3, 3]"), "{told}");
}
