PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest

.DEFAULT_GOAL := help
# Attacks, each a target of its own: make torture-input
TORTURE := kill signals input models numbers memory concurrency spark
.PHONY: help setup demo docs dist test test-lowest lint format bench bench-smoke paper torture $(TORTURE:%=torture-%) clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

NEW_ENOUGH = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
  { echo "apnc needs Python >= 3.11; set PYTHON=/path/to/python3.11 (found $$($(PYTHON) --version))"; exit 2; }

$(BIN)/python:
	@$(NEW_ENOUGH)
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[plot,cli,report]"
	@touch $@

$(VENV)/.all: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[plot,test,lint,bench]"
	@touch $@ $(VENV)/.demo

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	@touch $@

# Made anew whenever pyproject.toml changes: uv keeps installed versions that a lower bound still allows.
$(LOWEST)/.all: pyproject.toml
	@$(NEW_ENOUGH)
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv packaging
	$(LOWEST)/bin/python -m tests.lowest build > $(LOWEST)/build.txt
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --build-constraints $(LOWEST)/build.txt \
	  --resolution lowest-direct -e ".[plot,test,lint,bench]"
	@touch $@

setup: $(VENV)/.all ## Create .venv with everything the repository needs

demo: $(VENV)/.demo ## Cluster 200,000 rows that plain k-means cannot separate, and plot the result
	$(BIN)/python examples/demo.py write
	$(BIN)/apnc plan demo/moons.parquet --method spectral --n-clusters 2 --exclude key
	$(BIN)/apnc fit demo/moons.parquet --method spectral --n-clusters 2 --id-columns key --model demo/moons.apnc --labels demo/labels.parquet
	$(BIN)/apnc inspect demo/moons.apnc
	$(BIN)/apnc evaluate demo/labels.parquet demo/truth.parquet
	$(BIN)/python examples/demo.py draw
	$(BIN)/apnc report demo/moons.apnc demo/moons.parquet --out demo/report.html

# GALLERY=small runs the scripts of the gallery on as few rows as the tests do.
docs: $(VENV)/.docs ## Build the site in docs/_build/html; GALLERY=small for a quick one
	APNC_GALLERY=$(GALLERY) MPLBACKEND=agg $(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

dist: | $(BIN)/python ## Build wheel and sdist, and try each in clean environments with and without extras (a quarter of an hour)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build twine uv
	$(BIN)/python -m tests.dist

test: $(VENV)/.all ## Run all tests; Spark tests on local threads, a cluster of two workers, and Connect; Dask on two processes
	@.ci/java
	$(BIN)/python -m pytest --ignore tests/spark --ignore tests/dask -n 2
	$(BIN)/python -m pytest tests/dask
	APNC_SPARK=local $(BIN)/python -m pytest tests/spark -n 2 --dist loadfile
	APNC_SPARK=cluster $(BIN)/python -m pytest tests/spark/test_engine.py tests/spark/test_failures.py
	APNC_SPARK=connect $(BIN)/python -m pytest tests/spark/test_engine.py tests/spark/test_fit.py -k "test_engine or same or vectors"

test-lowest: $(LOWEST)/.all ## Run the unit tests with the lowest version that pyproject.toml allows of each dependency
	@.ci/java
	$(LOWEST)/bin/python -m tests.lowest
	$(LOWEST)/bin/python -m pytest tests/unit tests/properties tests/contract tests/architecture tests/guard -n 2
	APNC_SPARK=local $(LOWEST)/bin/python -m pytest tests/spark/test_engine.py
	$(LOWEST)/bin/python -m pytest tests/dask/test_engine.py tests/dask/test_messages.py

lint: $(VENV)/.all ## Check formatting, style and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.all ## Format the sources
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.all ## Compare with other libraries (about an hour); writes benchmarks/results and docs/results/benchmarks.md
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.render

bench-smoke: $(VENV)/.all ## Run the benchmarks on tiny data, to see that they still work
	$(BIN)/python -m benchmarks.run --smoke --out $(VENV)/bench-smoke.jsonl
	$(BIN)/python -m benchmarks.render --rows $(VENV)/bench-smoke.jsonl --page $(VENV)/bench-smoke.md

paper: $(VENV)/.all ## Measure what is missing of the paper's tables (hours; data in APNC_DATA) and render the pages
	$(BIN)/python -m benchmarks.paper all
	$(BIN)/python -m benchmarks.paper render

torture: $(VENV)/.all ## Try to break it: what is missing of all attacks (hours); make torture-input for one of them
	$(BIN)/python -m tests.torture all; status=$$?; $(BIN)/python -m tests.torture render && exit $$status

$(TORTURE:%=torture-%): torture-%: $(VENV)/.all
	$(BIN)/python -m tests.torture $*; status=$$?; $(BIN)/python -m tests.torture render && exit $$status

clean: ## Remove .venv and everything generated
	rm -rf $(VENV) $(LOWEST) demo build dist docs/_build docs/gallery docs/reference/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
