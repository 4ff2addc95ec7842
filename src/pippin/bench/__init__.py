"""The benchmark: data sets × folds × rankers × training conventions × seeds, computed once and kept.

`pippin.bench(data, output)` runs it; `help(pippin.bench.benchmark.bench)` explains every argument.
"""

from pippin.shelf import make_verb

make_verb(__name__, "pippin.bench.benchmark", "bench")
