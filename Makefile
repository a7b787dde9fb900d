# `make` alone lists the targets. Everything is installed into .venv; nothing is needed before `make setup`
# but make and Python 3.11 or newer.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
PYTHON := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed
AZURITE := $(VENV)/azurite/.installed
CHROMIUM := $(VENV)/chromium/.installed
JAR := src/indextables/spark/jvm/indextables-spark.jar
JAVA_SOURCES := $(shell find src/indextables/spark/jvm -type f ! -name '*.jar' ! -name '*.partial')

# Recipes that start Spark run with the Java that set-up chose, with this Python in Spark's workers too, and
# without the settings of another Spark that may be around.
WITH_JAVA := env -u SPARK_HOME -u SPARK_CONF_DIR -u PYSPARK_SUBMIT_ARGS JAVA_HOME="$$(cat $(VENV)/java-home)" \
	PYSPARK_PYTHON="$(CURDIR)/$(PYTHON)" PYSPARK_DRIVER_PYTHON="$(CURDIR)/$(PYTHON)"

.PHONY: help setup demo test lint format bench soak docs jar pictures wheel clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(INSTALLED) $(JAR) ## Create .venv, install everything, build the Spark jar (does nothing when up to date)

demo: setup ## Index half a million log rows with Spark and search them (ROWS=n for another size)
	@$(WITH_JAVA) $(PYTHON) examples/demo.py $(if $(ROWS),--rows $(ROWS))

test: lint $(AZURITE) $(CHROMIUM) ## Lint, check types, then run all tests, two files at a time: the fast ones first, Spark's last
	@$(WITH_JAVA) $(PYTHON) -m pytest --numprocesses $(or $(WORKERS),2) --dist loadfile --no-loadscope-reorder $(ARGS)

lint: setup ## Check style, format, prose and types
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) tools/prose.py
	@$(PYTHON) -m mypy

format: setup ## Format the code and apply the linter's fixes
	@$(PYTHON) -m ruff format .
	@$(PYTHON) -m ruff check --fix .

bench: setup ## Measure against Parquet, deltalake and others (ROWS=n; FILES=n,m; PARTS="tables commits"; STRICT=1 fails on a missed goal)
	@$(WITH_JAVA) $(PYTHON) -m bench $(PARTS) $(if $(ROWS),--rows $(ROWS)) $(if $(FILES),--files $(FILES)) $(if $(STRICT),--strict)

soak: setup $(AZURITE) $(CHROMIUM) ## The long checks, then killed and racing writers over and over (ROUNDS=n; 10 by default)
	@INDEXTABLES_SOAK=1 $(WITH_JAVA) $(PYTHON) -m pytest -m soak $(ARGS)
	@for round in $$(seq $(or $(ROUNDS),10)); do echo "round $$round"; \
		$(WITH_JAVA) $(PYTHON) -m pytest -m "slow and not spark and not soak" $(ARGS); done

docs: setup ## Write the generated pages of docs/ and the outputs of the notebooks, then build the site from it into site/, offline
	@$(PYTHON) tools/config_page.py
	@$(PYTHON) tools/api_page.py
	@$(PYTHON) tools/notebook_outputs.py
	@$(VENV)/bin/zensical build --strict --clean

pictures: setup $(CHROMIUM) ## Take the pictures of the web UI in docs/images again (needs Chromium)
	@INDEXTABLES_PICTURES=1 $(WITH_JAVA) $(PYTHON) -m pytest tests/ui/test_browser.py -k screenshots -q

jar: $(JAR) ## Compile the Java part into the package

wheel: setup ## Build dist/*.whl, with the jar inside
	@$(PYTHON) -m build --wheel --no-isolation --outdir dist .

clean: ## Remove what make has created: .venv, the jar, caches, demo and bench data
	@rm -rf $(VENV) build dist site demo-data bench-data src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@rm -rf spark-warehouse artifacts metastore_db derby.log $(JAR)
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml constraints.txt tools/setup_venv.sh
	@tools/setup_venv.sh $(VENV)
	@touch $@

$(AZURITE): $(INSTALLED) tests/azurite/package-lock.json tools/setup_azurite.sh
	@tools/setup_azurite.sh $(VENV)/azurite
	@mkdir -p $(@D) && touch $@

$(CHROMIUM): $(INSTALLED) tests/ui/package.json tools/setup_chromium.sh
	@tools/setup_chromium.sh $(VENV)/chromium
	@mkdir -p $(@D) && touch $@

$(VENV)/java-home: $(INSTALLED) tools/setup_java.py
	@$(PYTHON) tools/setup_java.py $@

$(JAR): $(JAVA_SOURCES) tools/build_jar.py src/indextables/spark/jar.py $(VENV)/java-home
	@echo "compiling the Java part"
	@$(WITH_JAVA) $(PYTHON) tools/build_jar.py --force
	@touch $@
