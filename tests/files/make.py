#!/usr/bin/env python3
"""Makes the files of this folder with NumPy, SciPy and PyG, which are the reference for the readers.

Needs numpy, scipy, torch and torch_geometric. Run it in this folder. The answers are in `expected.json`.
"""
import collections, gzip, io, json, pathlib, pickle, shutil

import numpy as np
import scipy.io, scipy.sparse as sp
import torch
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.io import read_planetoid_data

HERE = pathlib.Path(__file__).resolve().parent
DENSE = np.array([[0, 1.5, 0, -2], [0, 0, 0, 0], [3, 0, 0.25, 0]])
INTS = np.array([[0, 1, 0, -2], [0, 0, 0, 0], [3, 0, 7, 0]])


def fresh(name):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def numbers(array):
    return [float(value) for value in np.asarray(array).ravel()]


def npz():
    """Sparse matrices of every format, and archives that NumPy wrote by hand."""
    folder, expected = fresh("npz"), {}

    def save(name, matrix, compressed=False, dense=None):
        sp.save_npz(folder / name, matrix, compressed=compressed)
        note(name, matrix.toarray() if dense is None else dense, matrix.nnz)

    def note(name, dense, nnz):
        expected[name] = {"shape": dense.shape, "dtype": str(dense.dtype), "dense": numbers(dense), "nnz": int(nnz)}

    def by_hand(name, dense, **arrays):
        np.savez(folder / name, **arrays)
        note(name, dense, len(arrays["data"]))

    f32 = DENSE.astype(np.float32)
    save("csr", sp.csr_matrix(f32))
    save("csr_array", sp.csr_array(f32))
    save("csr_compressed", sp.csr_matrix(DENSE), compressed=True)
    save("csc", sp.csc_matrix(f32))
    save("coo", sp.coo_matrix(f32))
    save("bsr", sp.bsr_matrix(np.kron(np.array([[0, 1], [1, 0]]), np.arange(6).reshape(2, 3)), blocksize=(2, 3)))
    save("bool", sp.csr_matrix(DENSE != 0))
    save("ints", sp.csr_matrix(INTS), compressed=True)
    save("bytes", sp.csr_matrix(np.abs(INTS).astype(np.uint8)))
    save("nothing", sp.csr_matrix((0, 3), dtype=np.float32))
    save("dia", sp.dia_matrix(f32))
    twice = sp.coo_matrix((np.array([1, 2, 4], np.float32), ([1, 0, 1], [2, 1, 2])), (2, 3))
    save("coo_twice", twice)
    # Columns in any order, and one twice.
    loose = sp.csr_matrix((np.array([1, 2, 4, 8], np.float32), [2, 0, 2, 1], [0, 3, 4]), (2, 3))
    save("csr_unsorted", loose, dense=np.array([[2, 0, 5], [0, 8, 0]], np.float32))
    a = sp.csr_matrix(f32)
    wide = {"indices": a.indices.astype(np.int64), "indptr": a.indptr.astype(np.int64)}
    by_hand("wide", f32, format=b"csr", shape=(3, 4), data=a.data, **wide)
    big = {"indices": a.indices.astype(">i4"), "indptr": a.indptr.astype(">i8"), "data": a.data.astype(">f4")}
    by_hand("big_endian", f32, format=np.array("csr"), shape=(3, 4), **big)
    by_hand("half", DENSE.astype(np.float16), format=b"csr", shape=(3, 4), data=a.data.astype(np.float16),
            indices=a.indices, indptr=a.indptr)
    # More room than elements, as SciPy allows.
    by_hand("spare", f32, format=b"csr", shape=(3, 4), data=np.append(a.data, [9, 9]).astype(np.float32),
            indices=np.append(a.indices, [0, 0]).astype(np.int32), indptr=a.indptr)
    expected["spare"]["nnz"] -= 2
    coo = a.tocoo()
    by_hand("coords", f32, format=b"coo", shape=(3, 4), data=coo.data, coords=np.array([coo.row, coo.col]))
    pairs = np.asfortranarray(np.array([coo.row, coo.col]))
    by_hand("coords_fortran", f32, format=b"coo", shape=(3, 4), data=coo.data, coords=pairs)
    np.savez(folder / "dense.npz", x=DENSE, y=np.arange(3))
    return expected


def npy():
    """Dense arrays: name, bytes of the file as hex, and what they are."""
    cases = []

    def case(array, name):
        out = io.BytesIO()
        np.save(out, array)
        cases.append({"name": name, "hex": out.getvalue().hex(), "shape": array.shape, "values": numbers(array)})

    for dtype in ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]:
        for order in "<>":
            values = (np.arange(6) * 5 % 7 - (2 if dtype[0] in "fi" else 0)).astype(order + dtype)
            case(values, f"{order}{dtype}")
            case(values.reshape(2, 3), f"{order}{dtype} C")
            case(np.asfortranarray(values.reshape(2, 3)), f"{order}{dtype} F")
    case(np.asfortranarray(np.arange(24, dtype=np.float32).reshape(2, 3, 4)), "three")
    case(np.array(2.5), "scalar")
    case(np.zeros((0, 3), np.float32), "empty")
    with open(HERE / "npy.jsonl", "w") as out:
        out.writelines(json.dumps(case) + "\n" for case in cases)


class Python2(pickle._Pickler):
    """Writes as Python 2 did: strings of bytes, and the names of its modules."""
    dispatch = dict(pickle._Pickler.dispatch)

    def save_bytes(self, given):
        text = given.encode("latin1") if isinstance(given, str) else given
        if self.bin and len(text) < 256:
            self.write(b"U" + bytes([len(text)]) + text)
        elif self.bin:
            self.write(b"T" + len(text).to_bytes(4, "little") + text)
        else:
            self.write(b"S" + repr(text)[1:].encode() + b"\n")
        self.memoize(given)

    dispatch[bytes] = dispatch[str] = save_bytes


def dumped(thing, style):
    if style == "python3":
        return pickle.dumps(thing, protocol=4)
    out = io.BytesIO()
    Python2(out, protocol={"python2": 2, "text": 0}[style]).dump(thing)
    return out.getvalue().replace(b"numpy._core.multiarray", b"numpy.core.multiarray").replace(
        b"scipy.sparse._csr\n", b"scipy.sparse.csr\n")


def raw_graph(folder, name, style, seed, counts):
    """The eight files of a graph. Test ids are shuffled, and one in their range is missing."""
    labelled, known, test, features, classes = counts
    draw = np.random.default_rng(seed)
    nodes = known + test + 1
    ids = np.delete(np.arange(known, nodes), 1)
    draw.shuffle(ids)
    allx = sp.random(known, features, 0.2, "csr", np.float32, draw)
    tx = sp.random(test, features, 0.2, "csr", np.float32, draw)
    one_hot = np.eye(classes, dtype=np.int32)
    ally, ty = one_hot[draw.integers(classes, size=known)], one_hot[draw.integers(classes, size=test)]
    graph = collections.defaultdict(list)
    for node in range(nodes):
        graph[node] = []
    for a, b in draw.integers(nodes, size=(nodes, 2)).tolist():
        if known + 1 in (a, b):
            continue
        graph[a].append(b)
        graph[b].append(a)
    parts = {"x": allx[:labelled], "y": ally[:labelled], "allx": allx, "ally": ally, "tx": tx, "ty": ty, "graph": graph}
    for part, thing in parts.items():
        (folder / f"ind.{name}.{part}").write_bytes(dumped(thing, style))
    (folder / f"ind.{name}.test.index").write_text("".join(f"{node}\n" for node in ids))


def planetoid():
    """PyG reads what is written as the originals were; the other styles hold a smaller graph."""
    folder = fresh("planetoid")
    raw_graph(folder, "citeseer", "python2", 1, (6, 510, 8, 5, 3))
    data = read_planetoid_data(str(folder), "citeseer")
    row, col = data.edge_index.tolist()
    places = data.x.nonzero().tolist()
    expected = {
        "edges": sorted([a, b] for a, b in zip(row, col) if a < b),
        "features": [[a, b, float(data.x[a, b])] for a, b in places],
        "shape": list(data.x.shape),
        "labels": data.y.tolist(),
        "train": data.train_mask.nonzero().flatten().tolist(),
        "val": data.val_mask.nonzero().flatten().tolist(),
        "test": data.test_mask.nonzero().flatten().tolist(),
    }
    for style in ["python2", "python3", "text"]:
        raw_graph(folder, style, style, 2, (2, 6, 3, 4, 2))
    return expected


def text():
    folder = fresh("text")

    def packed(path, content):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content.encode(), mtime=0))

    packed(folder / "edges.csv.gz", "# a comment\nfrom,to,weight\n0,1,0.5\n1,2,2\n2,0,-1e2\n")
    out = io.BytesIO()
    scipy.io.mmwrite(out, sp.coo_matrix(DENSE))
    (folder / "matrix.mtx.gz").write_bytes(gzip.compress(out.getvalue(), mtime=0))
    ogb = folder / "ogbn_tiny"
    packed(ogb / "raw/num-node-list.csv.gz", "4\n")
    packed(ogb / "raw/num-edge-list.csv.gz", "4\n")
    packed(ogb / "raw/edge.csv.gz", "0,1\n1,2\n2,1\n3,3\n")
    packed(ogb / "raw/node-feat.csv.gz", "0.5,0\n-1,2\n0,0\n1e-3,4.0\n")
    packed(ogb / "raw/node-label.csv.gz", "1\n0\nnan\n2.0\n")
    for name, nodes in {"train": "0\n3\n", "valid": "1\n", "test": ""}.items():
        packed(ogb / f"split/time/{name}.csv.gz", nodes)


def small_graphs():
    """Rings with features; an edge of two of them is listed twice, and one has a self loop."""
    rng = np.random.default_rng(7)
    graphs = []
    for nodes in [3, 1, 5]:
        ends = np.array([[n, (n + 1) % nodes] for n in range(nodes)] + [[0, nodes - 1]], np.int64).T
        floats = lambda *shape: torch.from_numpy(rng.integers(-8, 8, shape).astype(np.float32) / 4)
        graphs.append(Data(
            x=floats(nodes, 2), edge_index=torch.from_numpy(ends), edge_attr=floats(ends.shape[1], 3),
            y=torch.tensor([[float(nodes), 0.5]]), pos=floats(nodes, 3).double(), z=torch.arange(nodes),
            face=torch.zeros(3, 2, dtype=torch.int64), mask=torch.arange(nodes) % 2 == 0, name=f"ring {nodes}"))
    return graphs


def pyg():
    """What PyG and PyTorch save."""
    folder = fresh("pyg")
    graphs = small_graphs()
    data, slices = InMemoryDataset.collate(graphs)
    torch.save((data.to_dict(), slices, Data), folder / "joined.pt")
    torch.save((graphs[2].to_dict(), None, Data), folder / "one.pt")
    torch.save(graphs[0], folder / "data.pt")
    torch.save(graphs, folder / "list.pt")
    torch.save([[graph.to_dict() for graph in graphs[:2]], [graphs[2].to_dict()]], folder / "dicts.pt")
    # Without features the number of nodes is that of the graph.
    bare = [Data(edge_index=torch.tensor([[0], [1]]), num_nodes=n) for n in [2, 4]]
    data, slices = InMemoryDataset.collate(bare)
    torch.save((data.to_dict(), slices, Data), folder / "bare.pt")
    turned = torch.arange(6, dtype=torch.int64).reshape(3, 2) % 3
    torch.save(Data(edge_index=turned.T, x=torch.arange(12.0).reshape(4, 3)[1:, ::2]), folder / "strided.pt")
    kinds = [torch.float16, torch.bfloat16, torch.int16, torch.int8, torch.uint8, torch.int32, torch.float64]
    arrays = {str(kind).split(".")[1]: torch.arange(3).to(kind) for kind in kinds}
    torch.save(Data(edge_index=torch.zeros(2, 0, dtype=torch.int64), **arrays), folder / "kinds.pt")
    hostile(folder)
    flat = lambda array: array.double().flatten().tolist()
    return [{"nodes": graph.num_nodes, "edges": graph.edge_index.T.tolist(), "x": flat(graph.x),
             "edge_attr": flat(graph.edge_attr), "y": flat(graph.y), "pos": flat(graph.pos), "z": graph.z.tolist(),
             "mask": flat(graph.mask)} for graph in graphs]


def hostile(folder):
    """What the reader must refuse, under the name of what is wrong."""
    edges = torch.tensor([[0, 1], [1, 2]])
    data, slices = InMemoryDataset.collate(small_graphs())
    joined = lambda **other: (data.to_dict(), slices | other, Data)
    files = {
        "no_edges": Data(x=torch.zeros(2, 1)),
        "edges_of_three": Data(edge_index=torch.zeros(3, 2, dtype=torch.int64)),
        "node_outside": Data(edge_index=edges, x=torch.zeros(2, 1)),
        "rows_of_x": Data(edge_index=edges, x=torch.zeros(2, 1), num_nodes=3),
        "rows_of_edges": Data(edge_index=edges, edge_attr=torch.zeros(3, 1)),
        "cubes": Data(edge_index=edges, x=torch.zeros(3, 1, 1)),
        "billions": Data(edge_index=edges, num_nodes=1 << 36),
        "expanded": Data(edge_index=edges, y=torch.zeros(1).expand(1 << 40)),
        "complex": Data(edge_index=edges, y=torch.zeros(2, dtype=torch.complex64)),
        "slices_descend": joined(x=torch.tensor([0, 4, 3, 9])),
        "slices_end": joined(x=torch.tensor([0, 3, 4, 8])),
        "slices_begin": joined(pos=torch.tensor([1, 3, 4, 9])),
        "slices_count": joined(y=torch.tensor([0, 1, 3])),
        "slices_matrix": joined(y=torch.zeros(2, 2, dtype=torch.int64)),
        "words": ["words"],
        "text": "text",
    }
    for name, value in files.items():
        torch.save(value, folder / f"not_{name}.pt")


def links():
    """Splits of edges as OGB saves them: with PyTorch of today and of before 1.6, and with arrays of NumPy."""
    folder = fresh("ogbl")
    old = {"_use_new_zipfile_serialization": False}
    train = {"edge": torch.tensor([[0, 1], [2, 3]]), "weight": torch.tensor([2, 1]), "year": np.array([2001, 2002])}
    torch.save(train, folder / "train.pt")
    both = torch.tensor([[0, 2], [3, 0], [1, 1], [2, 2]])
    torch.save({"edge": both[:1], "edge_neg": both[1:]}, folder / "valid.pt", **old)
    ends = np.array([[3, 0], [1, 2]], np.int32)
    test = {"source_node": ends[0], "target_node": ends[1], "target_node_neg": np.arange(6).reshape(2, 3)}
    torch.save(test, folder / "test.pt", **old)
    hostile = {"outside": {"edge": torch.tensor([[0, 4]])}, "shape": {"edge": torch.zeros(2, 3)},
               "ends": {"source_node": ends[0], "target_node": ends[1, :1]}, "list": [1],
               "fortran": {"year": np.asfortranarray(np.zeros((2, 2)))}}
    for name, value in hostile.items():
        torch.save(value, folder / f"not_{name}.pt")


def acm():
    """A small graph in the form of ACM3025.pkl, with matrices of each kind."""
    folder = fresh("acm")
    ring = np.eye(4) + np.eye(4, k=1)
    data = {
        "feature": sp.csc_matrix(np.array([[0, 1.5, 0], [2, 0, 0], [0, 0, 0], [0, 0, 3]])),
        "label": sp.coo_matrix(np.array([[1, 0], [0, 1], [1, 0], [0, 0]])),
        "PAP": sp.csr_matrix(ring),
        "PLP": sp.coo_matrix(ring.T),
        "train_idx": np.array([[0]]),
        "val_idx": np.array([[1]], np.uint16),
        "test_idx": np.array([[2]], np.int32),
    }
    for protocol in [2, 4]:
        (folder / f"protocol{protocol}.pkl").write_bytes(pickle.dumps(data, protocol))
    outside = sp.coo_matrix(ring)
    outside.row[-1], outside.col[-1] = 4, 0
    hostile = {
        "dict": [1],
        "plp": {key: value for key, value in data.items() if key != "PLP"},
        "square": data | {"PAP": sp.csr_matrix(ring[:, :3])},
        "label": data | {"label": sp.csr_matrix(np.eye(3, 2))},
        "split": data | {"test_idx": np.array([4])},
        "known": data | {"val_idx": np.array([3])},
        "inside": data | {"PLP": outside},
    }
    for name, value in hostile.items():
        (folder / f"not_{name}.pkl").write_bytes(pickle.dumps(value, 4))


if __name__ == "__main__":
    npy()
    text()
    acm()
    links()
    answers = {"npz": npz(), "planetoid": planetoid(), "pyg": pyg()}
    (HERE / "expected.json").write_text(json.dumps(answers) + "\n")
