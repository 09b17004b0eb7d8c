"""The peers in Python of `benches/peers`: PyTorch, SciPy, MKL, librsb and PyTorch Geometric on the same inputs.

Reads one request a line:
- `name|peers`: answers with the libraries that have this work;
- `name|peer|first`: seconds of the plan, and of the first call;
- `name|peer|check`: the sums that the results of the last call must share;
- `name|peer|time`: seconds of a call, and bytes of memory that it needed at most beyond those before;
- `name|peer|warm`: the same after a call that is not timed.
"""
import ctypes, ctypes.util, glob, os, sys, time
import numpy as np
import scipy.sparse as sp
import torch

folder, threads = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(threads)
raw = lambda name, dtype: np.fromfile(os.path.join(folder, name), dtype=dtype)
address = lambda array: array.ctypes.data_as(ctypes.c_void_p)


def put_inputs():
    values = torch.from_numpy(raw("put.values", np.float32)).reshape(-1, 64)
    index = torch.from_numpy(raw("put.index", np.int64)).reshape(-1, 64)
    arr = torch.from_numpy(raw("put.arr", np.float32)).reshape(-1, 64)
    return arr, index, values


def put(reduce):
    arr, index, values = put_inputs()
    ones = torch.ones_like(arr)

    def run():
        a, v = arr.detach().requires_grad_(), values.requires_grad_()
        v.grad = None
        out = a.scatter_reduce(0, index, v, reduce)
        out.backward(ones)
        return [out.detach(), v.grad]
    return run


def index_add():
    arr, _, values = put_inputs()
    rows = torch.from_numpy(raw("put.rows", np.int64))
    return lambda: [torch.index_add(arr, 0, rows, values)]


def csr(name):
    values, col, ptr = raw(name + ".values", np.float32), raw(name + ".col", np.int32), raw(name + ".ptr", np.int32)
    return sp.csr_matrix((values, col, ptr), shape=tuple(raw(name + ".shape", np.int64)))


def torch_csr(name, grad=False):
    m = csr(name)
    parts = [torch.from_numpy(x) for x in (m.indptr, m.indices, m.data)]
    return torch.sparse_csr_tensor(*parts, m.shape, check_invariants=False).requires_grad_(grad)


def dense(name, width):
    return torch.from_numpy(raw(name, np.float32)).reshape(-1, width)


def with_planning(run, seconds):
    run.planning = seconds
    return run


parts = lambda: [csr(f"part{k}") for k in range(4)]


def vstack():
    p = parts()
    return lambda: [sp.vstack(p, format="csr").data]


def hstack():
    p = parts()
    return lambda: [sp.hstack(p, format="csr").data]


def coo_cat():
    p = [sp.coo_matrix(x) for x in parts()]
    t = [torch.sparse_coo_tensor(np.stack([x.row, x.col]), x.data, x.shape, is_coalesced=True) for x in p]
    return lambda: [torch.cat(t, 1).coalesce().values()]


def scipy_add():
    p = parts()
    return lambda: [(p[0] + p[1]).data]


def select_rows():
    p, rows = sp.vstack([csr(f"part{k}") for k in range(2)], format="csr"), raw("selected", np.int64)
    return lambda: [p[rows].data]


def scipy_mul():
    p = parts()
    return lambda: [p[0].multiply(p[1]).data]


def loose():
    rows, cols = raw("loose.ids", np.int64).reshape(2, -1)
    return rows, cols, raw("loose.values", np.float32)


def torch_coalesce():
    rows, cols, values = loose()
    ids, values = torch.from_numpy(np.stack([rows, cols])), torch.from_numpy(values)
    return lambda: [torch.sparse_coo_tensor(ids, values, (1_000_000, 4), check_invariants=False).coalesce().values()]


def scipy_to_csr():
    rows, cols, values = loose()
    return lambda: [sp.coo_matrix((values, (rows, cols)), shape=(1_000_000, 4)).tocsr().data]


def scipy_transpose():
    x = sp.vstack(parts()[:2], format="csr")
    return lambda: [x.tocsc().data]


def spmm(name, x, width, backward=False, reduce=None):
    """Without `reduce` MKL's kernel forward; with one PyTorch's own."""
    d = dense(x, width)
    a = torch_csr(name, backward)
    if not backward:
        return lambda: [torch.sparse.mm(a, d, reduce) if reduce else a @ d]
    ones = torch.ones(a.shape[0], width)

    def both():
        a.grad = None
        x = d.detach().requires_grad_()
        # `a @ x` would form the dense gradient of `a`: 115 GB here.
        out = torch.sparse.mm(a, x, reduce) if reduce else torch.sparse.mm(a, x)
        out.backward(ones)
        return [out.detach(), x.grad]
    return both


def spmm_scipy(name, x, width):
    a, d = csr(name), dense(x, width).numpy()
    return lambda: [a @ d]


def batch():
    a, d = torch_csr("small"), dense("small.batch", 16).reshape(4, 100_000, 16)
    # PyTorch has no product of one CSR and a batch: the batch stands side by side.
    return lambda: [(a @ d.permute(1, 0, 2).reshape(100_000, 64)).reshape(100_000, 4, 16).permute(1, 0, 2)
                    .contiguous()]


def sddmm():
    a, d = torch_csr("graph"), dense("graph.dense", 128)
    return lambda: [torch.sparse.sampled_addmm(a, d, d.T, beta=0.0).values()]


def spmv():
    a, d = torch_csr("long"), dense("long.dense", 1)[:, 0]
    return lambda: [a @ d]


def spmv_scipy():
    a, d = csr("long"), dense("long.dense", 1)[:, 0].numpy()
    return lambda: [a @ d]


class Mkl:
    """MKL's inspector-executor, from the wheel `mkl`: a matrix whose product was planned ahead."""
    library = next(iter(glob.glob(os.path.join(sys.prefix, "lib", "libmkl_rt.so*"))), None)

    def __init__(self, name, width):
        self.lib = ctypes.CDLL(self.library)
        self.lib.MKL_Set_Num_Threads(threads)
        self.matrix, self.handle, self.width = csr(name), ctypes.c_void_p(), width
        m, start = self.matrix, time.perf_counter()
        self.check(self.lib.mkl_sparse_s_create_csr(
            ctypes.byref(self.handle), 0, *m.shape, address(m.indptr), address(m.indptr[1:]), address(m.indices),
            address(m.data)))
        if width == 1:
            self.check(self.lib.mkl_sparse_set_mv_hint(self.handle, 10, self.passed(), 1000))
        else:
            self.check(self.lib.mkl_sparse_set_mm_hint(self.handle, 10, self.passed(), 101, width, 1000))
        self.check(self.lib.mkl_sparse_optimize(self.handle))
        self.planning = time.perf_counter() - start

    def passed(self):
        class Descr(ctypes.Structure):
            _fields_ = [("type", ctypes.c_int), ("mode", ctypes.c_int), ("diag", ctypes.c_int)]
        return Descr(20, 0, 0)

    def check(self, status):
        assert status == 0, f"MKL answers {status}"

    def run(self, x):
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        if self.width == 1:
            out = np.empty(self.matrix.shape[0], np.float32)
            self.check(self.lib.mkl_sparse_s_mv(10, one, self.handle, self.passed(), address(x), zero, address(out)))
        else:
            out = np.empty((self.matrix.shape[0], self.width), np.float32)
            self.check(self.lib.mkl_sparse_s_mm(
                10, one, self.handle, self.passed(), 101, address(x), self.width, self.width, zero, address(out),
                self.width))
        return [out]


def mkl(name, x, width):
    plan, x = Mkl(name, width), raw(x, np.float32)
    return with_planning(lambda: plan.run(x), plan.planning)


class Rsb:
    """A matrix of librsb, in blocks that it chooses."""
    library = ctypes.util.find_library("rsb")
    lib, one, zero = None, ctypes.byref(ctypes.c_float(1)), ctypes.byref(ctypes.c_float(0))

    @classmethod
    def start(cls):
        # Read at the start; the option that means the same leaves some work to more threads.
        os.environ["RSB_NUM_THREADS"] = str(threads)
        cls.lib = ctypes.CDLL(cls.library)
        for function in (cls.lib.rsb_mtx_alloc_from_csr_const, cls.lib.rsb_spmsp, cls.lib.rsb_mtx_free):
            function.restype = ctypes.c_void_p
        cls.check(cls.lib.rsb_lib_init(None))

    def __init__(self, function, *arguments):
        """The matrix that a function makes."""
        error = ctypes.c_int()
        self.handle = ctypes.c_void_p(function(*arguments, ctypes.byref(error)))
        self.check(error.value)

    def __del__(self):
        self.lib.rsb_mtx_free(self.handle)

    def __array__(self, dtype=None, copy=None):
        """The values."""
        nnz = ctypes.c_int()
        self.check(self.lib.rsb_mtx_get_info(self.handle, 0x10, ctypes.byref(nnz)))  # RSB_MIF_MATRIX_NNZ
        values, rows, cols = (np.empty(nnz.value, kind) for kind in (np.float32, np.int32, np.int32))
        self.check(self.lib.rsb_mtx_get_coo(self.handle, address(values), address(rows), address(cols), 0))
        return values.astype(dtype)

    @staticmethod
    def check(status):
        assert status == 0, f"librsb answers {status}"

    @classmethod
    def csr(cls, name):
        if cls.lib is None:
            cls.start()
        m, flags = csr(name), 0x6102  # RSB_FLAG_DEFAULT_RSB_MATRIX_FLAGS
        return cls(cls.lib.rsb_mtx_alloc_from_csr_const, address(m.data), address(m.indptr), address(m.indices), m.nnz,
                   ord("S"), *m.shape, 1, 1, flags)

    def plan(self, x, width):
        """Other blocks, if they make this product faster."""
        self.check(self.lib.rsb_tune_spmm(
            ctypes.byref(self.handle), None, None, 0, ctypes.c_double(0), ord("N"), self.one, None, width, 0,
            address(x), width, self.zero, None, width))

    def dense(self, x, width):
        out = np.empty((len(x) // width, width), np.float32)
        # By rows. The matrix is square.
        self.check(self.lib.rsb_spmm(
            ord("N"), self.one, self.handle, width, 0, address(x), width, self.zero, address(out), width))
        return [out]

    def vector(self, x):
        out = np.empty(len(x), np.float32)
        self.check(self.lib.rsb_spmv(ord("N"), self.one, self.handle, address(x), 1, self.zero, address(out), 1))
        return [out]


def rsb(name, x, width):
    x, start = raw(x, np.float32), time.perf_counter()
    a = Rsb.csr(name)
    a.plan(x, width)
    return with_planning(lambda: a.vector(x) if width == 1 else a.dense(x, width), time.perf_counter() - start)


def rsb_spgemm():
    a = Rsb.csr("small")
    return lambda: [Rsb(a.lib.rsb_spmsp, ord("S"), ord("N"), a.one, a.handle, ord("N"), a.one, a.handle)]


def spgemm():
    a = csr("small")
    return lambda: [(a @ a).data]


def torch_spgemm():
    a = torch_csr("small")
    return lambda: [(a @ a).values()]


def softmax():
    x = sp.coo_matrix(csr("part0"))
    i = torch.from_numpy(np.stack([x.row, x.col]).astype(np.int64))
    weights = torch.full((x.nnz,), 0.75)

    def run():
        v = torch.from_numpy(x.data).requires_grad_()
        v.grad = None
        a = torch.sparse_coo_tensor(i, v, x.shape, is_coalesced=True, check_invariants=False)
        out = torch.sparse.softmax(a, 1).coalesce().values()
        out.backward(weights)
        return [out.detach(), v.grad]
    return run


def row_sum():
    x = csr("part0")
    return lambda: [np.asarray(x.sum(axis=1))]


def gat_step():
    from torch.nn import functional as F
    from torch_geometric.nn import GATConv
    n, width, classes = (int(size) for size in raw("cora.dims", np.int64))
    ids = lambda name: torch.from_numpy(raw("cora." + name, np.int64))
    # PyG sends along (source, target): the columns and the rows of the adjacency.
    edges = torch.stack([ids("cols"), ids("rows")])
    x = torch.zeros(n, width)
    x[ids("nodes"), ids("words")] = 1
    x /= x.sum(1, keepdim=True).clamp(min=1)
    train, labels = ids("train"), ids("labels")
    first, second = GATConv(width, 8, 8, dropout=0.6), GATConv(64, classes, 1, concat=False, dropout=0.6)
    weights = [*first.parameters(), *second.parameters()]
    adam = torch.optim.Adam(weights, lr=0.005, weight_decay=5e-4, fused=True)

    def run():
        adam.zero_grad()
        hidden = F.elu(first(F.dropout(x, 0.6), edges))
        logits = second(F.dropout(hidden, 0.6), edges)
        loss = F.cross_entropy(logits[train], labels[train])
        loss.backward()
        adam.step()
        return [loss.detach()]
    return run


def training(layers, x, adjacency, train, labels, rate, decay, drop_input, activation, epoch):
    """A step of Adam, and an evaluation if it is an epoch."""
    from torch.nn import functional as F
    first, second = layers
    adam = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=rate, weight_decay=decay, fused=True)

    def forward(training):
        inputs = F.dropout(x, drop_input, training) if drop_input else x
        hidden = activation(first(inputs, adjacency))
        return second(F.dropout(hidden, 0.5, training), adjacency)

    def run():
        adam.zero_grad()
        loss = F.cross_entropy(forward(True)[train], labels[train])
        loss.backward()
        adam.step()
        if epoch:
            with torch.no_grad():
                forward(False)
        return [loss.detach()]
    return run


def edges_of(rows, cols, n, form):
    """PyG sends along (source, target): the columns and the rows of the adjacency. Or it takes a CSR."""
    if form == "edges":
        return torch.stack([cols, rows])
    return torch.sparse_coo_tensor(torch.stack([rows, cols]), torch.ones(len(rows)), (n, n)).to_sparse_csr()


def gcn_epoch(form):
    from torch.nn import functional as F
    from torch_geometric.nn import GCNConv
    n, width, classes = (int(size) for size in raw("cora.dims", np.int64))
    ids = lambda name: torch.from_numpy(raw("cora." + name, np.int64))
    x = torch.zeros(n, width)
    x[ids("nodes"), ids("words")] = 1
    x /= x.sum(1, keepdim=True).clamp(min=1)
    layers = GCNConv(width, 16, cached=True), GCNConv(16, classes, cached=True)
    adjacency = edges_of(ids("rows"), ids("cols"), n, form)
    return training(layers, x, adjacency, ids("train"), ids("labels"), 0.01, 5e-4, 0.5, F.relu, True)


def large(layers, form, rate, activation, epoch):
    a = csr("graph").tocoo()
    n = a.shape[0]
    adjacency = edges_of(torch.from_numpy(a.row).long(), torch.from_numpy(a.col).long(), n, form)
    nodes = torch.arange(n)
    x = dense("graph.dense", 128)
    return training(layers, x, adjacency, nodes[::2], nodes * 7919 % 40, rate, 0.0, 0.0, activation, epoch)


def large_gcn(form):
    from torch.nn import functional as F
    from torch_geometric.nn import GCNConv
    return large((GCNConv(128, 256, cached=True), GCNConv(256, 40, cached=True)), form, 0.01, F.relu, True)


def large_gat():
    from torch.nn import functional as F
    from torch_geometric.nn import GATConv
    layers = GATConv(128, 16, 8), GATConv(128, 40, 1, concat=False)
    return large(layers, "edges", 0.005, F.elu, False)


def large_sage():
    from torch.nn import functional as F
    from torch_geometric.nn import SAGEConv
    return large((SAGEConv(128, 256), SAGEConv(256, 40)), "csr", 0.01, F.relu, False)


def large_gin():
    from torch.nn import Linear, ReLU, Sequential, functional as F
    from torch_geometric.nn import GINConv
    layers = (GINConv(Sequential(Linear(128, 128), ReLU(), Linear(128, width))) for width in (128, 40))
    return large(tuple(layers), "csr", 0.01, F.relu, False)


def batches(loader, of):
    return lambda: [torch.tensor([float(of(batch)) for batch in loader])]


def loader_options(workers):
    return dict(num_workers=workers, persistent_workers=workers > 0)


def graph_data():
    from torch_geometric.data import Data
    a = csr("graph").tocoo()
    edges = edges_of(torch.from_numpy(a.row).long(), torch.from_numpy(a.col).long(), a.shape[0], "edges")
    return Data(x=dense("graph.dense", 128), edge_index=edges), torch.from_numpy(raw("loader.seeds", np.int64))


def neighbor_loader(workers):
    from torch_geometric.loader import NeighborLoader
    data, seeds = graph_data()
    options = loader_options(workers)
    loader = NeighborLoader(data, [15, 10], input_nodes=seeds, batch_size=1024, shuffle=True, **options)
    return batches(loader, lambda batch: batch.x.shape[0])


def link_loader(workers):
    from torch_geometric.loader import LinkNeighborLoader
    data, seeds = graph_data()
    data.x = None
    loader = LinkNeighborLoader(
        data, [15, 10], edge_label_index=data.edge_index[:, seeds], neg_sampling="binary", batch_size=1024,
        shuffle=True, **loader_options(workers))
    return batches(loader, lambda batch: batch.num_nodes)


def saint_loader(workers):
    from torch_geometric.loader import GraphSAINTRandomWalkSampler
    data, _ = graph_data()
    data.x, data.num_nodes = None, data.x.shape[0]
    options = loader_options(workers)
    loader = GraphSAINTRandomWalkSampler(data, batch_size=4096, walk_length=2, num_steps=8, **options)
    return batches(loader, lambda batch: batch.num_nodes)


def shadow_loader(workers):
    from torch_geometric.loader import ShaDowKHopSampler
    data, seeds = graph_data()
    data.x, data.num_nodes = None, data.x.shape[0]
    options = loader_options(workers)
    loader = ShaDowKHopSampler(data, depth=2, num_neighbors=5, node_idx=seeds, batch_size=1024, shuffle=True, **options)
    return batches(loader, lambda batch: batch.num_nodes)


def graph_loader(workers):
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader

    def ring(n):
        nodes = torch.arange(n)
        edges = torch.stack([nodes.repeat(2), torch.cat([(nodes + 1) % n, (nodes - 1) % n])])
        return Data(x=torch.ones(n, 64), edge_index=edges)
    graphs = [ring(n) for n in raw("loader.sizes", np.int64).tolist()]
    loader = DataLoader(graphs, batch_size=256, shuffle=True, **loader_options(workers))
    return batches(loader, lambda batch: batch.x.shape[0])


def typed_loader(workers):
    from torch_geometric.data import HeteroData
    from torch_geometric.loader import NeighborLoader
    data = HeteroData()
    for name in ("item", "shop", "tag", "user"):
        data[name].x = dense("typed." + name, 64)
    data["item"].y = torch.arange(data["item"].num_nodes) * 7919 % 16
    for ends in (("user", "buys", "item"), ("item", "has", "tag"), ("shop", "sells", "item")):
        for way, kind in enumerate((ends, (ends[2], "rev_" + ends[1], ends[0]))):
            a = csr(f"typed.{ends[1]}{way}").tocoo()
            data[kind].edge_index = torch.from_numpy(np.stack([a.col, a.row]).astype(np.int64))
    return data.edge_types, NeighborLoader(
        data, [10, 5], input_nodes=("item", torch.from_numpy(raw("typed.seeds", np.int64))), batch_size=1024,
        shuffle=True, **loader_options(workers))


def typed_batches(workers):
    return batches(typed_loader(workers)[1], lambda batch: batch["item"].x.shape[0])


def typed_step(workers):
    from torch.nn import functional as F
    from torch_geometric.nn import HeteroConv, SAGEConv
    kinds, loader = typed_loader(workers)
    layers = torch.nn.ModuleList([HeteroConv({kind: SAGEConv(64, out) for kind in kinds}, "sum") for out in (64, 16)])
    adam = torch.optim.Adam(layers.parameters(), lr=0.01, fused=True)

    def run():
        for batch in loader:
            adam.zero_grad()
            hidden = {name: x.relu() for name, x in layers[0](batch.x_dict, batch.edge_index_dict).items()}
            logits = layers[1](hidden, batch.edge_index_dict)["item"][:batch["item"].batch_size]
            loss = F.cross_entropy(logits, batch["item"].y[:batch["item"].batch_size])
            loss.backward()
            adam.step()
        return [loss.detach()]
    return run


def has(module):
    import importlib.util
    return importlib.util.find_spec(module) is not None


def planned(name, x, width):
    peers = {"MKL planned": lambda: mkl(name, x, width)} if Mkl.library else {}
    return peers | ({"librsb planned": lambda: rsb(name, x, width)} if Rsb.library else {})


def put_rows_both():
    arr, _, values = put_inputs()
    rows = torch.from_numpy(raw("put.rows", np.int64))
    ones = torch.ones_like(arr)

    def run():
        a, v = arr.detach().requires_grad_(), values.requires_grad_()
        v.grad = None
        out = torch.index_add(a, 0, rows, v)
        out.backward(ones)
        return [out.detach(), v.grad]
    return run


GRAPH, SMALL = ("graph", "graph.dense", 128), lambda width: ("small", f"small.dense{width}", width)
WORK = {
    "put add f+b": {"PyTorch": lambda: put("sum")}, "put mul f+b": {"PyTorch": lambda: put("prod")},
    "put mean f+b": {"PyTorch": lambda: put("mean")}, "put amax f+b": {"PyTorch": lambda: put("amax")},
    "put rows add": {"PyTorch": index_add}, "put rows add f+b": {"PyTorch": put_rows_both},
    "concat axis 0": {"SciPy": vstack}, "concat axis 1": {"SciPy": hstack}, "coo concat axis 1": {"PyTorch": coo_cat},
    "add": {"SciPy": scipy_add}, "mul": {"SciPy": scipy_mul}, "select 512 rows": {"SciPy": select_rows},
    "softmax f+b": {"PyTorch": softmax}, "row sum": {"SciPy": row_sum},
    "coalesce": {"PyTorch": torch_coalesce}, "coo to csr": {"SciPy": scipy_to_csr},
    "csr transpose": {"SciPy": scipy_transpose},
    "spmm": {
        "PyTorch": lambda: spmm(*GRAPH), "PyTorch sum": lambda: spmm(*GRAPH, reduce="sum"),
        "SciPy": lambda: spmm_scipy(*GRAPH), **planned(*GRAPH)},
    "spmm f+b": {"PyTorch": lambda: spmm(*GRAPH, True), "PyTorch sum": lambda: spmm(*GRAPH, True, "sum")},
    "spmm amax f+b": {"PyTorch": lambda: spmm(*GRAPH, True, "amax")},
    "spmm power-law": {
        "PyTorch": lambda: spmm("skewed", "graph.dense", 128), **planned("skewed", "graph.dense", 128)},
    "spmm power-law f+b": {"PyTorch": lambda: spmm("skewed", "graph.dense", 128, True)},
    "spmm small F=64": {"PyTorch": lambda: spmm(*SMALL(64)), **planned(*SMALL(64))},
    "spmm small F=16": {"PyTorch": lambda: spmm(*SMALL(16)), **planned(*SMALL(16))},
    "spmm small batch of 4": {"PyTorch": batch}, "sddmm": {"PyTorch": sddmm},
    "spmv": {"PyTorch": spmv, "SciPy": spmv_scipy, **planned("long", "long.dense", 1)},
    "spgemm": {"SciPy": spgemm, "PyTorch": torch_spgemm, **({"librsb": rsb_spgemm} if Rsb.library else {})},
}
if has("torch_geometric"):
    WORK |= {
        "gat step": {"PyG": gat_step}, "gat step, large": {"PyG": large_gat},
        "sage step, large": {"PyG CSR": large_sage}, "gin step, large": {"PyG CSR": large_gin},
        "gcn epoch": {"PyG edges": lambda: gcn_epoch("edges"), "PyG CSR": lambda: gcn_epoch("csr")},
        "gcn epoch, large": {"PyG edges": lambda: large_gcn("edges"), "PyG CSR": lambda: large_gcn("csr")},
    }

if has("torch_geometric") and (has("torch_sparse") or has("pyg_lib")):
    # Batches are drawn by the process itself, or by two workers.
    both = lambda work: {"PyG": lambda: work(0), "PyG 2 workers": lambda: work(2)}
    WORK |= {
        "neighbor loader": both(neighbor_loader), "link loader": both(link_loader),
        "saint loader": both(saint_loader), "shadow loader": both(shadow_loader), "graph loader": both(graph_loader),
        "typed loader": both(typed_batches), "typed step": both(typed_step),
    }


def resident(field):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))


current, runs = None, {}
for line in sys.stdin:
    name, *rest = line.strip().split("|")
    if rest == ["peers"]:
        print("|".join(WORK.get(name, {})), flush=True)
        continue
    peer, what = rest
    if current != name:
        # What the last call left goes with the inputs.
        current, runs, results = name, {}, None
    if peer not in runs:
        # All peers of a work keep their inputs until the next one.
        runs[peer] = WORK[name][peer]()
    run = runs[peer]
    if what == "check":
        print(" ".join(repr(float(np.asarray(r, dtype=np.float64).sum())) for r in results), flush=True)
        continue
    if what == "warm":
        run()
    results = None  # What the last call left is not freed inside the timing.
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = resident("VmRSS")
    start = time.perf_counter()
    results = run()
    seconds = time.perf_counter() - start
    if what == "first":
        print(getattr(run, "planning", 0), seconds, flush=True)
    else:
        print(seconds, max(0, resident("VmHWM") - before), flush=True)
