"""Probes what PyTorch does for each operation of the coverage table on sparse COO and CSR, forward and gradient.

    python docs/coverage/pytorch.py            writes docs/coverage/pytorch.json

An operation counts as forward where it runs on a sparse input and agrees with the same on a dense one; as gradient
where backward() then gives the stored values the dense gradient. What needs more than one plain expression in PyTorch,
or has no counterpart there at all, is absent. Nothing here is filled in by hand.
"""
import json, math, os, warnings
import torch

warnings.filterwarnings("ignore")
M = torch.tensor([[0.0, 1.5, 0.0, 2.5], [0.75, 0.0, 0.0, 0.5], [0.0, 0.0, 1.25, 0.0]], dtype=torch.float64)
N = torch.tensor([[0.5, 0.0, 0.0, 2.0], [0.0, 1.75, 0.0, 0.25], [0.0, 0.0, 1.5, 0.0]], dtype=torch.float64)
S = torch.tensor([[0.5, 0.0, 1.0], [0.0, 0.25, 0.0], [2.0, 0.0, 0.0]], dtype=torch.float64)
X = torch.arange(1.0, 9.0, dtype=torch.float64).reshape(4, 2) / 4
Y = torch.arange(1.0, 7.0, dtype=torch.float64).reshape(2, 3) / 4
ABSENT = "absent"

# Each takes the sparse (or dense) input and a function that turns another dense matrix into the same layout, and is
# written as a user of PyTorch would write it.
one = lambda f: lambda a, like: f(a)
OPERATIONS = {
    "add": lambda a, like: a + like(N), "sub": lambda a, like: a - like(N), "mul": lambda a, like: a * like(N),
    "div": lambda a, like: a / like(N),
    "add_scalar": one(lambda a: a + 2.0), "sub_scalar": one(lambda a: a - 2.0), "mul_scalar": one(lambda a: a * 2.0),
    "div_scalar": one(lambda a: a / 2.0),
    "add_dense (broadcast)": ABSENT, "sub_dense (broadcast)": ABSENT, "add_dense": ABSENT, "sub_dense": ABSENT,
    "remainder_scalar": one(lambda a: torch.remainder(a, 0.7)), "fmod_scalar": one(lambda a: torch.fmod(a, 0.7)),
    "remainder": lambda a, like: torch.remainder(a, like(N)), "fmod": lambda a, like: torch.fmod(a, like(N)),
    "mul_dense (broadcast)": one(lambda a: a * torch.tensor([[2.0], [3.0], [4.0]], dtype=a.dtype)),
    "div_dense (broadcast)": one(lambda a: a / torch.tensor([[2.0], [3.0], [4.0]], dtype=a.dtype)),
    "mul_dense": one(lambda a: a * (N + 1)), "div_dense": one(lambda a: a / (N + 1)),
    "matmul": one(lambda a: a @ X), "rmatmul": one(lambda a: Y @ a), "matmul (vector)": one(lambda a: a @ X[:, 0]),
    "masked_matmul": lambda a, like: torch.sparse.sampled_addmm(a, (M @ X).detach(), X.T.contiguous(), beta=0.0)
        if a.layout != torch.strided else (a != 0) * ((M @ X) @ X.T),
    "matmul (sparse)": lambda a, like: a @ like(N.T.contiguous()),
    "matmul (sparse, transposed)": lambda a, like: a @ like(N).t(), "product_pattern": ABSENT,
    "matmul_reduce": lambda a, like: torch.sparse.mm(a, X, "mean") if a.layout != torch.strided
        else (a @ X) / (a != 0).sum(1, keepdim=True),
    "matmul (heads)": ABSENT, "matmul_reduce (heads)": ABSENT, "head_sddmm": ABSENT, "attention": ABSENT,
    "matmul_then": ABSENT,
    "addmm": one(lambda a: torch.addmm(torch.ones(3, 2, dtype=a.dtype), a, X, beta=0.5, alpha=2.0)),
    "to_dense": one(lambda a: a.to_dense()),
    "coalesce": one(lambda a: a.coalesce() if a.layout != torch.strided else a),
    "to_csr": one(lambda a: a.to_sparse_csr()), "to_coo": one(lambda a: a.to_sparse_coo()),
    "cast": one(lambda a: a.to(torch.float32)), "int": one(lambda a: a.to(torch.int64)),
    "cast (int)": one(lambda a: a.to(torch.int64).to(torch.int32)),
    "int (bool)": one(lambda a: a.to(torch.bool).to(torch.int64)),
    "float (int)": one(lambda a: a.to(torch.int64).to(torch.float64)),
    "float (bool)": one(lambda a: a.to(torch.bool).to(torch.float64)),
    "bool (int)": one(lambda a: a.to(torch.int64).to(torch.bool)),
    "to_dense_within": ABSENT, "to_dense_or": ABSENT, "with_values": ABSENT, "with_fill": ABSENT,
    "from_dense": lambda a, like: like(M.to(a.dtype)),
    "values": one(lambda a: a.values() if a.layout != torch.strided else a[a != 0]),
    "swap_dims": one(lambda a: a.transpose(0, 1)),
    "permute": one(lambda a: a.permute(1, 0)), "transpose": one(lambda a: a.t()),
    "concat": lambda a, like: torch.cat([a, like(N)], 1),
    "to_csc_parts": one(lambda a: a.to_sparse_csc() if a.layout != torch.strided else a), "compact_columns": ABSENT,
    "map": ABSENT, "zip_with": ABSENT, "deg2rad": one(torch.deg2rad), "rad2deg": one(torch.rad2deg),
    "atan2": lambda a, like: torch.atan2(a, like(N)), "hypot": lambda a, like: torch.hypot(a, like(N)),
    "abs": one(torch.abs), "neg": one(torch.neg), "sin": one(torch.sin), "cos": one(torch.cos), "tan": one(torch.tan),
    "logaddexp": lambda a, like: torch.logaddexp(a, like(N)), "is_close": lambda a, like: torch.isclose(a, like(N)),
    "powi": lambda a, like: torch.pow(a, like(N.to(torch.int64))),
    "asin": one(lambda a: torch.asin(a / 4)), "acos": one(lambda a: torch.acos(a / 4)), "atan": one(torch.atan),
    "sinh": one(torch.sinh), "cosh": one(torch.cosh), "tanh": one(torch.tanh), "asinh": one(torch.asinh),
    "acosh": one(torch.acosh), "atanh": one(lambda a: torch.atanh(a / 4)), "exp": one(torch.exp),
    "expm1": one(torch.expm1), "log": one(torch.log), "log1p": one(torch.log1p), "sqrt": one(torch.sqrt),
    "recip": one(torch.reciprocal), "square": one(torch.square), "relu": one(torch.relu), "sigmoid": one(torch.sigmoid),
    "erf": one(torch.erf), "sign": one(torch.sign), "floor": one(torch.floor), "ceil": one(torch.ceil),
    "round": one(torch.round), "trunc": one(torch.trunc), "powf_scalar": one(lambda a: a ** 1.5),
    "powi_scalar": one(lambda a: a ** 3), "clamp": one(lambda a: torch.clamp(a, -1.0, 1.0)),
    "clamp_min": one(lambda a: torch.clamp_min(a, -1.0)), "clamp_max": one(lambda a: torch.clamp_max(a, 1.0)),
    "is_nan": one(torch.isnan), "is_inf": one(torch.isinf), "is_finite": one(torch.isfinite),
    "equal_elem": one(lambda a: a == 1.0), "not_equal_elem": one(lambda a: a != 1.0),
    "greater_elem": one(lambda a: a > 1.0), "greater_equal_elem": one(lambda a: a >= 1.0),
    "lower_elem": one(lambda a: a < 1.0), "lower_equal_elem": one(lambda a: a <= 1.0),
    "min_pair": lambda a, like: torch.minimum(a, like(N)), "max_pair": lambda a, like: torch.maximum(a, like(N)),
    "powf": lambda a, like: torch.pow(a, like(N)), "equal": lambda a, like: a == like(N),
    "not_equal": lambda a, like: a != like(N), "greater": lambda a, like: a > like(N),
    "greater_equal": lambda a, like: a >= like(N), "lower": lambda a, like: a < like(N),
    "lower_equal": lambda a, like: a <= like(N),
    "mask_where": lambda a, like: torch.where(M > 1.0, a, like(N)),
    "mask_fill": one(lambda a: a.masked_fill(M > 1.0, 2.0)),
    "sum_dim": one(lambda a: torch.sum(a, 1, keepdim=True)), "mean_dim": one(lambda a: torch.mean(a, 1, keepdim=True)),
    "prod_dim": one(lambda a: torch.prod(a, 1, keepdim=True)),
    "max_dim": one(lambda a: torch.amax(a, 1, keepdim=True)),
    "min_dim": one(lambda a: torch.amin(a, 1, keepdim=True)),
    "sum_dims": one(lambda a: torch.sum(a, (0, 1), keepdim=True)),
    "mean_dims": one(lambda a: torch.mean(a, (0, 1), keepdim=True)), "prod_dims": ABSENT,
    "max_dims": one(lambda a: torch.amax(a, (0, 1), keepdim=True)),
    "min_dims": one(lambda a: torch.amin(a, (0, 1), keepdim=True)),
    "sum": one(torch.sum), "mean": one(torch.mean), "prod": one(torch.prod), "max": one(torch.amax),
    "min": one(torch.amin), "any": one(torch.any), "all": one(torch.all),
    "any_dim": one(lambda a: torch.any(a, 1, keepdim=True)), "all_dim": one(lambda a: torch.all(a, 1, keepdim=True)),
    "any_dims": one(lambda a: torch.any(a, (0, 1), keepdim=True)),
    "all_dims": one(lambda a: torch.all(a, (0, 1), keepdim=True)),
    "bool_and": lambda a, like: torch.logical_and(a.to(torch.bool), like(N.to(torch.bool))),
    "bool_or": lambda a, like: torch.logical_or(a.to(torch.bool), like(N.to(torch.bool))),
    "bool_xor": lambda a, like: torch.logical_xor(a.to(torch.bool), like(N.to(torch.bool))),
    "bool_not": one(lambda a: torch.logical_not(a.to(torch.bool))),
    "norm_dims": one(lambda a: torch.norm(a, dim=(0, 1), keepdim=True)),
    "norm": one(torch.norm), "norm_dim": one(lambda a: torch.norm(a, dim=1, keepdim=True)),
    "argmax": one(lambda a: torch.argmax(a, 1, keepdim=True)),
    "argmin": one(lambda a: torch.argmin(a, 1, keepdim=True)),
    "Stored::count": one(lambda a: torch.tensor(a._nnz() if a.layout != torch.strided else int((a != 0).sum()))),
    "row_counts": ABSENT, "col_counts": ABSENT, "count_nonzero": one(torch.count_nonzero),
    **{f"Stored::{fold}{over}": ABSENT
       for fold in ("sum", "mean", "prod", "max", "min") for over in ("_dim", "_dims", "")},
    **{f"Stored::{name}": ABSENT for name in ("map", "zip", "mul", "div", "cumsum", "count_dims")},
    "softmax": lambda a, like: torch.sparse.softmax(a, 1) if a.layout != torch.strided
        else torch.softmax(a.masked_fill(a == 0, -math.inf), 1),
    "log_softmax": lambda a, like: torch.sparse.log_softmax(a, 1) if a.layout != torch.strided
        else torch.log_softmax(a.masked_fill(a == 0, -math.inf), 1).masked_fill(a == 0, 0.0),
    "reshape": one(lambda a: a.reshape(4, 3)), "flatten": one(lambda a: a.flatten()),
    "squeeze_dim": one(lambda a: a.unsqueeze(0).squeeze(0)), "unsqueeze_dim": one(lambda a: a.unsqueeze(0)),
    "expand": one(lambda a: a.unsqueeze(0).expand(2, 3, 4)), "repeat_dim": one(lambda a: a.repeat(2, 1)),
    "flip": one(lambda a: a.flip(0)), "narrow": one(lambda a: a.narrow(1, 1, 2)), "slice": one(lambda a: a[1:3, 0:2]),
    "roll": one(lambda a: torch.roll(a, (1, -1), (0, 1))), "roll_dim": one(lambda a: torch.roll(a, 1, 0)),
    "slice_dim": one(lambda a: a[:, ::2]),
    "IndexPlan::select_sparse": ABSENT,
    "select": one(lambda a: a.index_select(1, torch.tensor([2, 0, 2]))), "select_dim": one(lambda a: a.select(0, 1)),
    "get": one(lambda a: a[0, 1]), "mask_select": one(lambda a: a.masked_select(M > 1.0)),
    "split": one(lambda a: torch.split(a, 2, 1)[0]), "chunk": one(lambda a: torch.chunk(a, 2, 1)[0]),
    "stack": lambda a, like: torch.stack([a, like(N)]), "block_diag": lambda a, like: torch.block_diag(a, like(N)),
    "eye": lambda a, like: torch.eye(3, dtype=a.dtype, layout=a.layout),
    "from_diagonal": lambda a, like: diagonal(torch.tensor([1.0, 2.0]).to(a.dtype), a.layout),
    "diagonal": one(torch.diagonal), "trace": one(torch.trace), "tril": one(torch.tril), "triu": one(torch.triu),
    "sparse_mask": lambda a, like: (X @ Y)[:3, :].repeat(1, 2)[:, :4].sparse_mask(a) if a.layout != torch.strided
        else (X @ Y)[:3, :].repeat(1, 2)[:, :4] * (a != 0),
    "intersect_with": lambda a, like: a.sparse_mask(like(N)) if a.layout != torch.strided else a * (N != 0),
    "union_with": ABSENT, "difference": ABSENT, "prune": ABSENT, "top_k_rows": ABSENT,
    "add_self_loops": ABSENT, "remove_self_loops": ABSENT,
    "row_sums": one(lambda a: torch.sum(a, 1)), "col_sums": one(lambda a: torch.sum(a, 0)),
    "kron": lambda a, like: torch.kron(a, like(N)),
}
OPERATIONS |= {
    name: lambda a, like, f=f: f(a.to(torch.int64), like(N.to(torch.int64)))
    for name, f in {
        "bitwise_and": torch.bitwise_and, "bitwise_or": torch.bitwise_or, "bitwise_xor": torch.bitwise_xor,
        "bitwise_left_shift": torch.bitwise_left_shift, "bitwise_right_shift": torch.bitwise_right_shift,
        "bitwise_and_scalar": lambda a, b: torch.bitwise_and(a, 6),
        "bitwise_or_scalar": lambda a, b: torch.bitwise_or(a, 5),
        "bitwise_xor_scalar": lambda a, b: torch.bitwise_xor(a, 3),
        "bitwise_not": lambda a, b: torch.bitwise_not(a),
        "bitwise_left_shift_scalar": lambda a, b: torch.bitwise_left_shift(a, 2),
        "bitwise_right_shift_scalar": lambda a, b: torch.bitwise_right_shift(a, 1),
    }.items()
}
# The same on integers and on truths.
INTEGERS = """
    add sub mul add_scalar sub_scalar mul_scalar add_dense sub_dense mul_dense
    zip_with abs neg sign square powi_scalar clamp clamp_min clamp_max equal_elem not_equal_elem greater_elem
    greater_equal_elem lower_elem lower_equal_elem min_pair max_pair equal not_equal greater greater_equal lower
    lower_equal mask_where mask_fill sum_dim sum_dims sum prod_dim prod_dims prod max_dim max_dims max min_dim
    min_dims min argmax argmin row_counts col_counts count_nonzero matmul rmatmul masked_matmul
    matmul_reduce addmm to_dense to_dense_within to_dense_or from_dense values with_values with_fill coalesce to_csr
    to_coo permute swap_dims transpose concat reshape flatten squeeze_dim unsqueeze_dim expand repeat_dim flip
    roll roll_dim narrow slice slice_dim select select_dim get mask_select split chunk stack block_diag eye
    from_diagonal diagonal trace tril triu sparse_mask union_with intersect_with difference prune top_k_rows
    add_self_loops remove_self_loops row_sums col_sums kron div div_scalar div_dense remainder_scalar remainder
    powi to_csc_parts compact_columns
""".split() + [f"{name}_dense (broadcast)" for name in ("add", "sub", "mul", "div")] + [
    "matmul (vector)", "matmul (sparse)", "matmul (sparse, transposed)", "matmul (heads)", "matmul_reduce (heads)",
    "head_sddmm", "Stored::count", "Stored::count_dims", "Stored::cumsum",
] + [f"Stored::{name}" for name in ("map", "zip", "mul", "div")] + [
    f"Stored::{fold}{over}" for fold in ("sum", "prod", "max", "min") for over in ("_dim", "_dims", "")
]
TRUTHS = """
    mask_where mask_fill count_nonzero to_dense to_dense_within to_dense_or from_dense values with_values with_fill
    coalesce to_csr to_coo permute swap_dims transpose concat reshape flatten squeeze_dim unsqueeze_dim expand
    repeat_dim flip roll roll_dim narrow slice slice_dim select select_dim get mask_select split chunk stack
    block_diag eye from_diagonal diagonal tril triu sparse_mask union_with intersect_with difference remove_self_loops
    to_csc_parts compact_columns
""".split()


def of_dtype(run, dtype):
    def typed(a, like):
        global M, N, X, Y
        saved = M, N, X, Y
        M, N, X, Y = (tensor.to(dtype) for tensor in saved)
        try:
            return run(a.to(dtype), lambda tensor: like(tensor.to(dtype)))
        finally:
            M, N, X, Y = saved
    return ABSENT if run == ABSENT else typed


for names, kind, dtype in ((INTEGERS, "int", torch.int64), (TRUTHS, "bool", torch.bool)):
    OPERATIONS |= {f"{name} ({kind})": of_dtype(OPERATIONS[name], dtype) for name in names}
NO_GRADIENT = {
    name for name in OPERATIONS
    if name.endswith(("(int)", "(bool)", "_elem"))
    or name.startswith(("is_", "count_", "Stored::count", "arg", "any", "all", "bool_", "bitwise_"))
} | {"int", "eye", "equal", "not_equal", "greater", "greater_equal", "lower", "lower_equal"}
# The operand whose gradient counts is the dense one, or the diagonal: `a` is only a pattern there.
OTHER_OPERAND = {"masked_matmul", "sparse_mask", "from_diagonal", "from_dense"}
SQUARE = {"trace", "trace (int)"}


def diagonal(values, layout):
    if layout == torch.strided:
        return torch.diag(values)
    return torch.sparse.spdiags(values, torch.tensor([0]), (len(values), len(values)), layout=layout)


def to_sparse(tensor, layout):
    return tensor.to_sparse_csr() if layout == torch.sparse_csr else tensor.to_sparse_coo()


def dense(tensor):
    return tensor.to_dense() if tensor.layout != torch.strided else tensor


def loss(out):
    """A sum that no symmetry of the output cancels (that of a softmax would be constant)."""
    out = dense(out)
    return (out * torch.arange(1.0, out.numel() + 1, dtype=out.dtype).reshape(out.shape)).sum()


def agrees(got, want):
    got, want = dense(got), dense(want)
    return got.shape == want.shape and torch.allclose(got.to(torch.float64), want.to(torch.float64), equal_nan=True)


def probe(name, run, layout):
    """(forward, gradient) of one operation: "yes", or what PyTorch said."""
    source = S if name in SQUARE else M
    to = lambda tensor: tensor.to_sparse_coo().coalesce() if layout == "coo" else tensor.to_sparse_csr()
    try:
        want = run(source.clone(), lambda tensor: tensor)
        forward = "yes" if agrees(run(to(source), to), want) else "another answer"
    except Exception as trouble:
        return short(trouble), None if name in NO_GRADIENT else "no forward"
    if name in NO_GRADIENT:
        return forward, None
    if forward != "yes":
        return forward, "no forward"
    if name in OTHER_OPERAND:
        return forward, other_operand(name, run, to, source)
    try:
        leaf, copy = to(source).requires_grad_(), source.clone().requires_grad_()
        loss(run(leaf, to)).backward()
        loss(run(copy, lambda tensor: tensor)).backward()
        # A gradient on the pattern says all that is asked for.
        stored = source != 0
        if leaf.grad is None:
            return forward, "no gradient"
        same = torch.allclose(dense(leaf.grad)[stored], copy.grad[stored])
        return forward, "yes" if same else "another answer"
    except Exception as trouble:
        return forward, short(trouble)


def other_operand(name, run, to, source):
    try:
        if name == "masked_matmul":
            x = (M @ X).detach().requires_grad_()
            out = torch.sparse.sampled_addmm(to(source), x, X.T.contiguous(), beta=0.0)
            want = (source != 0).to(x.dtype) @ X
        elif name == "sparse_mask":
            x = torch.ones_like(source).requires_grad_()
            out, want = x.sparse_mask(to(source)), (source != 0).to(x.dtype)
        elif name == "from_dense":
            # What is zero is not stored: no gradient is asked for there.
            x = source.clone().requires_grad_()
            dense(to_sparse(x, to(source).layout)).sum().backward()
            return "yes" if x.grad is not None and bool((x.grad[source != 0] == 1).all()) else "another answer"
        else:
            x = torch.tensor([1.0, 2.0]).requires_grad_()
            out, want = diagonal(x, to(source).layout), torch.ones(2)
        dense(out).sum().backward()
        return "yes" if x.grad is not None and torch.allclose(x.grad.to(want.dtype), want) else "another answer"
    except Exception as trouble:
        return short(trouble)


def short(trouble):
    text = (str(trouble).strip().splitlines() or [type(trouble).__name__])[0]
    return "error: " + (text if len(text) <= 100 else text[:97] + "...")


def main():
    table = {}
    for name, run in OPERATIONS.items():
        if run == ABSENT:
            table[name] = ABSENT
            continue
        row = {}
        for layout in ("coo", "csr"):
            forward, gradient = probe(name, run, layout)
            row[layout] = {"forward": forward, "gradient": gradient}
        table[name] = row
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pytorch.json")
    with open(path, "w") as file:
        json.dump({"version": torch.__version__.split("+")[0], "operations": table}, file, indent=1)
        file.write("\n")
    count = lambda layout, what: sum(1 for row in table.values() if row != ABSENT and row[layout][what] == "yes")
    totals = ", ".join(f"{l} {count(l, 'forward')} and {count(l, 'gradient')}" for l in ("coo", "csr"))
    print(f"{len(table)} operations; forward and gradient: {totals}; written to {path}")


main()
