#!/usr/bin/env python3
"""SciPy reads what the library writes. Run it anywhere; needs numpy, scipy and cargo.

The test `io::npz::written_files` reads files of this folder and writes them again; SciPy must find the same matrices.
"""
import json, os, pathlib, subprocess, tempfile

import numpy as np
import scipy.sparse as sp

HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = json.loads((HERE / "expected.json").read_text())["npz"]

with tempfile.TemporaryDirectory() as folder:
    command = ["cargo", "test", "--workspace", "--test", "suite", "io::npz::written_files"]
    subprocess.run(command, cwd=HERE.parent.parent, env={**os.environ, "SPARSE_FILES_OUT": folder}, check=True)
    files = sorted(pathlib.Path(folder).glob("*.npz"))
    assert len(files) == 13, files
    for file in files:
        case = EXPECTED[file.stem.removesuffix("_packed")]
        raw = np.load(file)
        assert raw["data"].dtype == case["dtype"], (file, raw["data"].dtype)
        matrix = sp.load_npz(file)
        assert matrix.format == ("coo" if file.stem.startswith("coo") else "csr"), (file, matrix.format)
        assert matrix.shape == tuple(case["shape"]) and matrix.nnz == case["nnz"], (file, matrix)
        if matrix.dtype == np.float16:  # SciPy stores these, but does not compute with them.
            matrix = matrix.astype(np.float32)
        assert matrix.toarray().ravel().tolist() == case["dense"], (file, matrix.toarray())
        print(f"{file.name}: {matrix!r}")
print("SciPy reads all of them")
