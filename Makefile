# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo stories test test-slow test-hard check format bench ui clean

setup: .venv/.ready

.venv/.ready: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: setup
	$(BIN)/somelab demo

# The model of `somelab play`: train it on DATA, for MINUTES in all, and pack it into the package. After
# Ctrl-C or a crash the same command continues.
DATA ?= tinystories
MINUTES ?= 240
stories: setup
	if test -d runs/stories; then $(BIN)/somelab resume runs/stories || true; else $(BIN)/somelab train \
		--config examples/stories.yaml --data $(DATA) --minutes $(MINUTES) --out runs/stories; fi
	$(BIN)/somelab pack runs/stories --out src/somelab/shipped/stories --replace

test: setup
	$(BIN)/python -m pytest -m 'not slow and not hard' -n 2

test-slow: setup
	$(BIN)/python -m pytest -m slow

test-hard: setup
	$(BIN)/python -m pytest -m hard

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/python ui/schema.py --check
	$(BIN)/python ui/check.py --rebuild

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	$(BIN)/somelab bench all --out benchmarks/RESULTS.md

# The page of report and serve. Its build is committed: only those who change it need Node.
ui: setup
	$(BIN)/python ui/schema.py
	cd ui && npm ci --no-audit --no-fund && npm run build

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis
