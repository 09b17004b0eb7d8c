"""Writes what PyTorch computes with an index smaller than the array: scatter_reduce.jsonl, one case a line.

    python tests/cases/scatter_reduce.py

Beside it two kinds of cases that need exact reading: integers that no f64 holds, and blocks without elements. Needs
torch; tests/conformance reads the file.
"""
import json, pathlib
import torch

NAMES = {"add": "sum", "mul": "prod", "mean": "mean", "amax": "amax", "amin": "amin"}
CASES = []


def dense(tensor):
    dtype = {torch.float64: "f64", torch.int64: "i64"}[tensor.dtype]
    return {"layout": "dense", "dtype": dtype, "shape": list(tensor.shape), "data": tensor.detach().flatten().tolist()}


def case(op, **parts):
    CASES.append({"id": f"{op}/own-{len(CASES)}", "op": op, "key": op, "attrs": {}, **parts})


def scattered(x, axis, index, src, reduce, include_self):
    if reduce != "assign":
        return x.scatter_reduce(axis, index, src, NAMES[reduce], include_self=include_self)
    # PyTorch does not say which of several values wins: the last one, one after the other.
    for place in torch.cartesian_prod(*[torch.arange(size) for size in index.shape]).reshape(-1, index.dim()):
        at = tuple(slice(int(k), int(k) + 1) for k in place)
        window = tuple(slice(None) if dim == axis % x.dim() else one for dim, one in enumerate(at))
        x = x.clone()
        x[window] = x[window].scatter(axis, index[at], src[at])
    return x


def floats(generator):
    for shape, axis, given in [((5,), 0, (7,)), ((4, 3), 0, (6, 2)), ((3, 5), -1, (1, 4)), ((3, 4, 2), 1, (2, 5, 1)),
                               ((2, 3), 1, (2, 3)), ((3, 3), 0, (2, 0))]:
        for reduce in ["assign", *NAMES]:
            for include_self in [True, False]:
                # Quarters, so that extremes tie and some are zero. PyTorch's gradient counts a tie of an `x` that
                # takes no part, so there is none.
                draw = lambda size: (torch.randint(-8, 9, size, generator=generator) / 4).double()
                x, src = draw(shape), draw(given).requires_grad_()
                x = (x if include_self else x + 0.125).requires_grad_()
                index = torch.randint(0, shape[axis], given, generator=generator)
                out = scattered(x, axis, index, src, reduce, include_self)
                cotangent = torch.randn(out.shape, generator=generator, dtype=torch.float64)
                grads = torch.autograd.grad((out * cotangent).sum(), [x, src], allow_unused=True)
                grads = [torch.zeros_like(of) if grad is None else grad for of, grad in zip([x, src], grads)]
                signed = index - shape[axis] * torch.randint(0, 2, given, generator=generator)
                case("scatter_reduce", attrs={"axis": axis, "reduce": reduce, "include_self": include_self},
                     inputs={"x": dense(x), "index": dense(signed), "src": dense(src)}, outputs=[dense(out)],
                     source="torch.scatter_reduce", cotangent=cotangent.flatten().tolist(),
                     grads={"x": grads[0].flatten().tolist(), "src": grads[1].flatten().tolist()})


def integers():
    x = torch.tensor([[2**62 + 1, -(2**53) - 1, 3], [2**53 + 1, 5, -(2**62) - 3]])
    index, src = torch.tensor([[0, 2, 0]]), torch.tensor([[2, 2**60 + 1, -(2**61) - 7]])
    for reduce in ["add", "amax", "amin"]:
        out = scattered(x, 1, index, src, reduce, True)
        case("scatter_reduce", attrs={"axis": 1, "reduce": reduce, "include_self": True},
             inputs={"x": dense(x), "index": dense(index), "src": dense(src)}, outputs=[dense(out)],
             source="torch.scatter_reduce")
    values, fill = [2**53 + 1, -(2**62) - 1], 2**55 + 3
    case("to_dense", source="written out", outputs=[dense(torch.tensor([values[0], fill, values[1]]))],
         inputs={"a": {"layout": "coo", "dtype": "i64", "shape": [3], "dense_dims": 0, "indices": [[0, 2]],
                       "values": values, "coalesced": True, "fill": fill}})


def blocks_of_nothing():
    for shape in [[3, 0], [3, 0, 2]]:
        own = {"dtype": "f64", "shape": shape, "dense_dims": len(shape) - 1, "values": [], "fill": 0}
        case("coalesce", source="written out",
             inputs={"a": {"layout": "coo", "indices": [[2, 0, 2]], "coalesced": False, **own}},
             outputs=[{"layout": "coo", "indices": [[0, 2]], "coalesced": True, **own}])


floats(torch.Generator().manual_seed(1))
integers()
blocks_of_nothing()
path = pathlib.Path(__file__).with_suffix(".jsonl")
path.write_text("".join(json.dumps(one) + "\n" for one in CASES))
