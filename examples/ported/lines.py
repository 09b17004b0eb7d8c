"""Counts lines of code, without blank lines, comments and documentation, of each program and its original.

python lines.py FOLDER_OF_PYG FOLDER_OF_DGL
"""

import io
import sys
import tokenize
from pathlib import Path

SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


def python_lines(text):
    lines, start = set(), True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in SKIPPED or token.type == tokenize.ENDMARKER:
            start |= token.type in {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
            continue
        if not (start and token.type == tokenize.STRING):  # not a docstring
            lines.update(range(token.start[0], token.end[0] + 1))
        start = False
    return len(lines)


def rust_lines(text):
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("//"))


def original(name, pyg, dgl):
    if name.startswith("dgl_"):
        return dgl / "examples/sparse" / f"{name[4:]}.py"
    return pyg / "examples" / ("jit/gin.py" if name == "jit_gin" else f"{name}.py")


pyg, dgl = (Path(folder) for folder in sys.argv[1:3])
for program in sorted(Path(__file__).parent.glob("src/bin/*.rs")):
    theirs = python_lines(original(program.stem, pyg, dgl).read_text())
    ours = rust_lines(program.read_text())
    print(f"{program.stem:22} {theirs:4} {ours:4} {ours / theirs:.2f}{'  too long' if ours > 1.2 * theirs else ''}")
