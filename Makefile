# Everything from a fresh clone: `make demo` sets up and runs the main job, `make test` sets up and runs the tests.
# Needs python3 (3.11 or newer), its headers and venv module, and g++; all else comes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
SOURCES := $(shell find src -type f -not -name '*.pyc' -not -name '_native.pyi') pyproject.toml CMakeLists.txt

.PHONY: demo dev test test-neural test-engines lint types python-tests cpp-tests docs coverage fuzz bench-peers bench-quality \
	instructions clean

demo: $(VENV)/.pippin
	@$(BIN)/pippin demo

# What looks at one file after the other on one processor goes beside what is compiled; then the Python tests, alone.
test: $(VENV)/.test
	@$(MAKE) --no-print-directory --jobs 3 lint types cpp-tests
	@$(MAKE) --no-print-directory python-tests

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	find src tests benchmarks -name '*.[ch]pp' -exec $(BIN)/clang-format --dry-run -Werror {} +

types: $(VENV)/.test src/pippin/_native.pyi
	$(BIN)/mypy

# In three processes, as many tests wait for others; a file in one of them: what its tests share is made once.
python-tests: $(VENV)/.test
	$(BIN)/python -m pytest --numprocesses 3 --dist loadfile --durations 25 --durations-min 5 --ignore=tests/engines

# Exported models in search engines: Solr with its LTR module, started here, and the scoring classes of Vespa,
# Elasticsearch and RankLib, all from Maven Central. PIPPIN_TEST_SOLR is the address of a core of another Solr,
# PIPPIN_TEST_OPENSEARCH and PIPPIN_TEST_ELASTICSEARCH those of engines with the learning-to-rank plugin.
ENGINES := $(addprefix build/engines/,solr vespa elasticsearch ranklib)
test-engines: $(VENV)/.test
	@if command -v mvn >/dev/null && command -v java >/dev/null; then \
		$(MAKE) --no-print-directory --keep-going $(ENGINES) || echo "pippin: Maven did not fetch all engines; tests of the others are skipped"; \
		else echo "pippin: Maven or Java is missing; the tests of engines are skipped"; fi
	$(BIN)/python -m pytest tests/engines

$(ENGINES): build/engines/%: tests/engines/pom.xml
	@rm -rf $@ $@.partial
	@timeout 900 mvn -B -q -f $< -P $* dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/$@.partial
	@mv $@.partial $@ && touch $@

# An editable install: pytest and pippin run the source tree, and an import rebuilds the kernels that were changed.
dev: $(VENV)/.base
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) --no-build-isolation --config-settings=editable.mode=redirect \
		--config-settings=editable.rebuild=true --config-settings=build-dir=build/editable --editable ".[test]"
	@touch $(VENV)/.pippin $(VENV)/.test
	@echo "pippin: try $(BIN)/pytest tests/evaluation/test_evaluate.py"

# The tests that need PyTorch, in an environment of their own; elsewhere they are skipped.
test-neural: .venv-neural/.installed
	.venv-neural/bin/python -m pytest tests/collections/test_dense.py tests/rankers/test_multivariate.py \
		tests/rankers/test_networks.py

.venv-neural/.installed: $(VENV)/.base $(SOURCES)
	@$(PYTHON) -m venv .venv-neural
	@.venv-neural/bin/pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		scikit-build-core nanobind cmake ninja vl-convert-python
	@PATH="$(CURDIR)/.venv-neural/bin:$$PATH" .venv-neural/bin/pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --no-build-isolation ".[test,dense]"
	@touch $@

# The kernels by themselves, under AddressSanitizer and UBSan.
cpp-tests: $(VENV)/.test
	@PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S . -B build/cpp -G Ninja -DPIPPIN_TESTS=ON -DCMAKE_BUILD_TYPE=Debug >/dev/null
	@PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build build/cpp --parallel 2 >build/cpp/build.log || { cat build/cpp/build.log; exit 1; }
	@cd build/cpp && PATH="$(CURDIR)/$(BIN):$$PATH" ctest --parallel 2 --output-on-failure

# The site of the documentation, in build/site; tutorials are run for it, and a link that leads nowhere is an error.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# What the tests run, in Python and in C++: docs/notes/coverage.md. Takes about three times as long as the tests.
coverage: $(VENV)/.test
	$(BIN)/python -m tests.measure_coverage --anew

# Damaged files of every format against the whole program, with the extension and its bindings under AddressSanitizer
# and UBSan: a million mutations, or FUZZ_COUNT of them, or for FUZZ_SECONDS.
FUZZED := build/fuzz/site
fuzz: $(VENV)/.test
	@PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S . -B build/fuzz -G Ninja -DPIPPIN_SANITIZE=ON -DCMAKE_BUILD_TYPE=Debug \
		-DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" >/dev/null
	@PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build build/fuzz --target _native --parallel 2 >build/fuzz/build.log || { cat build/fuzz/build.log; exit 1; }
	@rm -rf $(FUZZED) && mkdir -p $(FUZZED) && cp -r src/pippin $(FUZZED)/ && rm -f $(FUZZED)/pippin/_native*.so
	@cp build/fuzz/_native*.so $(FUZZED)/pippin/
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" \
		ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
		ARROW_DEFAULT_MEMORY_POOL=system PYTHONPATH="$(CURDIR)/$(FUZZED):$(CURDIR)" \
		$(BIN)/python -m tests.fuzz

# Pippin and its peers side by side (benchmarks/README.md); BENCH holds options, such as BENCH="--quick --only trec".
# TREC_EVAL names the binary of trec_eval, where it is to take part.
BENCH ?= --limits --growth --docs
bench-peers: $(VENV)/.test .venv-peers/.installed
	$(BIN)/python benchmarks/side_by_side --peers .venv-peers/bin/python $(BENCH)

# The tables of docs/reproduction.md and docs/notes/rankers-measured.md, in build/quality: all rankers with their grids on
# the folds of LETOR, and the defaults beside those of LightGBM, XGBoost and CatBoost. DATA is a folder with OHSUMED,
# MQ2008, cran, cacm and text. One to two hours on one core; what is done is kept, and a second run continues.
DATA ?= $(PIPPIN_DATA)
QUALITY := build/quality
QUALITY_RANKERS ?= adarank,approxndcg,best-feature,coordinate-ascent,frank,lambdamart,lambdarank,listmle,listnet,mart,rankboost,ranknet,ranksvm,regression,svmmap,xendcg
QUALITY_TRY ?= auto lambdamart xendcg mart ranksvm best-feature
QUALITY_MADE ?= letor-like heavy few-long many-short many-features
QUALITY_BUILT ?= cran cacm text/npl text/med
bench-quality: $(VENV)/.test
	@test -d "$(DATA)/MQ2008" -a -d "$(DATA)/OHSUMED" || { echo "pippin: no MQ2008 and OHSUMED in DATA=$(DATA); name their folder with make bench-quality DATA=…" >&2; exit 1; }
	@$(PIP) xgboost catboost || echo "pippin: XGBoost or CatBoost does not install here, and takes no part"
	@mkdir -p $(QUALITY)
	$(BIN)/pippin bench $(DATA)/OHSUMED/QueryLevelNorm -r $(QUALITY_RANKERS) --convention letor3 -o $(QUALITY)/letor3
	$(BIN)/pippin leaderboard $(QUALITY)/letor3 -t letor3 --convention letor3 --format markdown >$(QUALITY)/ohsumed.md
	$(BIN)/pippin bench $(DATA)/MQ2008 -r $(QUALITY_RANKERS) -o $(QUALITY)/letor4
	$(BIN)/pippin leaderboard $(QUALITY)/letor4 -t letor4 --format markdown >$(QUALITY)/mq2008.md
	@for name in $(QUALITY_BUILT); do \
		test -d $(QUALITY)/$${name##*/} || $(BIN)/pippin build $(DATA)/$$name -o $(QUALITY)/$${name##*/} --sample 100 --seed 1 || exit 1; done
	$(BIN)/python benchmarks/defaults.py test OHSUMED=$(DATA)/OHSUMED/QueryLevelNorm MQ2008=$(DATA)/MQ2008 \
		$(foreach name,$(notdir $(QUALITY_BUILT)),$(name)=$(QUALITY)/$(name)/QueryLevelNorm) $(QUALITY_MADE) \
		$(foreach name,$(QUALITY_TRY),--try $(name)) --peers --keep $(QUALITY)/defaults.jsonl >$(QUALITY)/defaults.md

# The instructions of the main kernels, which no noise disturbs, against the accepted ones (docs/performance.md).
instructions: $(VENV)/.base
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python benchmarks/instructions/count.py $(ACCEPT)

# One by one: a peer that has no wheel here is named, and does not stop the others.
.venv-peers/.installed: benchmarks/requirements.txt
	@$(PYTHON) -m venv .venv-peers
	@sed -e '/^#/d' -e '/^$$/d' $< | while read -r peer; do \
		.venv-peers/bin/pip install --quiet --disable-pip-version-check "$$peer" >/dev/null 2>&1 \
		|| echo "pippin: $$peer does not install here, and takes no part"; done
	@touch $@

src/pippin/_native.pyi: $(VENV)/.test
	@$(BIN)/python -m nanobind.stubgen -q -m pippin._native -o $@

$(VENV)/.base: constraints.txt
	@command -v g++ >/dev/null || { echo "pippin: no C++ compiler; install g++ (Debian: apt-get install g++)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "pippin: Python 3.11 or newer is needed, $$($(PYTHON) --version) is here; say which with make PYTHON=…" >&2; exit 1; }
	@$(PYTHON) -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' || { echo "pippin: $(PYTHON) has no headers here; install them (Debian: apt-get install python3-dev)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "pippin: $(PYTHON) cannot make a virtual environment (Debian: apt-get install python3-venv)" >&2; exit 1; }
	@echo "pippin: installing into $(VENV) …"
	@$(PIP) scikit-build-core nanobind cmake ninja vl-convert-python
	@touch $@

# Not editable: what runs is what a user gets.
$(VENV)/.pippin: $(VENV)/.base $(SOURCES)
	@echo "pippin: building the kernels …"
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) --no-build-isolation .
	@touch $@

$(VENV)/.test: $(VENV)/.pippin
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) --no-build-isolation ".[test]"
	@touch $@

$(VENV)/.docs: $(VENV)/.test
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) --no-build-isolation ".[docs]"
	@touch $@

clean:
	rm -rf $(VENV) .venv-peers .venv-neural build .pytest_cache .mypy_cache .ruff_cache src/pippin/_native.pyi
