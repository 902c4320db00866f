# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo stories test test-slow test-hard check format bench site dist test-interop ui clean

setup: .venv/.ready

.venv/.ready: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: setup
	$(BIN)/somelab demo

# The model of `somelab play`: train it on DATA, and pack it into the package. After Ctrl-C or a crash the
# same command continues.
DATA ?= tinystories
stories: setup
	if test -d runs/stories; then $(BIN)/somelab resume runs/stories || true; else $(BIN)/somelab train \
		--config examples/stories.yaml --data $(DATA) --out runs/stories; fi
	$(BIN)/somelab pack runs/stories --out src/somelab/shipped/stories --replace

# Three workers on two cores: tests often wait for a process of their own.
test: setup
	$(BIN)/python -m pytest -m 'not slow and not hard' -n 3

test-slow: setup
	$(BIN)/python -m pytest -m slow

# All of it takes 1,000 kills, 10,000 damages and 30,000 inputs; SOMELAB_HARD=0.02 tries a fiftieth.
test-hard: setup
	$(BIN)/python -m pytest tests/hard -m hard -n 2 --dist worksteal

# Every integration with its real package: larger installs than `make test` needs.
test-interop: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[interop-test]'
	$(BIN)/python -m pytest tests/interop tests/docs/test_site.py

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

# The documentation as a site, in build/site. `python -m http.server -d build/site` shows it, with search.
site: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# What a release publishes: wheel, sdist, the tested versions, a bill of materials, and the sums of all.
dist: setup
	rm -rf dist && mkdir dist
	$(BIN)/python -m hatchling build -d dist
	cp constraints.txt dist/
	$(BIN)/python .ci/sbom.py > dist/sbom.json
	cd dist && sha256sum * > SHA256SUMS

# The page of report and serve. Its build is committed: only those who change it need Node.
ui: setup
	$(BIN)/python ui/schema.py
	cd ui && npm install --no-audit --no-fund && npm run build

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis
