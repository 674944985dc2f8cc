# Two targets do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: demo test check format bench clean

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[learn,dev]'
	@touch $@

demo: $(STAMP)  ## build the demo world and answer questions on it
	$(BIN)/python -m tflex.cli demo --out scratch/demo

test: $(STAMP)  ## every test
	$(BIN)/python -m pytest -n 2 tests

check: $(STAMP)  ## format, lint, types, import order
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)  ## the benchmarks that finish in minutes
	$(BIN)/python benchmarks/exact.py
	$(BIN)/python benchmarks/sampling.py
	$(BIN)/python benchmarks/evaluation.py
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/predictors.py
	$(BIN)/python benchmarks/fuzzy.py

clean:
	rm -rf .venv scratch .pytest_cache .mypy_cache .ruff_cache
