# Everything a person types. `make` alone lists it.
PYTHON ?= python3
PORT ?= 8000
DATA ?=
PEERS ?=
VENV := .venv
BIN := $(VENV)/bin
PEER_VENV := .venv-peers
RELEASE_VENV := .venv-release
release-check: FROM ?= dist
# One BLAS thread per process: two processes with two threads each are many times slower on two cores.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1
# Images often set it. Then every process of the tests, and there are hundreds, compiles and rewrites all its modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: backup restore check screenshots help demo install test test-together test-alone test-large test-search test-slow test-services services-named services-together services-alone test-failed lint lock messages bench bench-check peers load faults fuzz audit release release-check clean

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 18

# An environment that is there is kept: several checkouts may share one by a link, which venv would refuse.
$(BIN)/uv: requirements-bootstrap.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Crowdrank needs Python 3.11 or newer; set PYTHON=python3.12, say." >&2; exit 1; }
	@echo "Installing what Crowdrank needs into $(VENV); the first time takes ten seconds to a minute."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "Making a virtual environment failed. On Debian: apt-get install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-bootstrap.lock
	@touch $@

$(VENV)/runtime: $(BIN)/uv requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@touch $@

$(VENV)/dev: $(BIN)/uv requirements-dev.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements-dev.lock
	@touch $@ $(VENV)/runtime

demo: $(VENV)/runtime  ## install, fill a demo project, start the site on PORT with its engine and a simulated crowd (DATA=folder: on real data)
	@exec $(BIN)/python manage.py demo --port $(PORT) $(if $(DATA),--data $(DATA))

install: $(VENV)/runtime  ## what running the site needs, into .venv

# One after the other even under make -j: what runs alone asserts how long something takes.
.NOTPARALLEL:
EMBEDDED := env -u DATABASE_URL -u REDIS_URL $(BIN)/python -m pytest
SERVICES := $(BIN)/python -m pytest
# Each process begins with neighbouring tests, so that what a module or a browser is made ready for is made once.
TOGETHER := -n auto --maxprocesses 4 --dist worksteal
# Tests that start nothing wait for nothing either: one process a core, each of which collects all tests first.
CHECKED := -n $$(getconf _NPROCESSORS_ONLN) --dist worksteal
# Only the files that hold tests with this mark: collecting everything for some takes longer than most of them.
marked = -m $(1) $$(grep -rl --include='*.py' 'mark\.$(1)\b' $(2))

test: test-together test-alone  ## every test on SQLite, without any service (LARGE=1: the larger versions, too)
test-together: $(VENV)/dev
	$(EMBEDDED) $(TOGETHER) -m "not alone $(if $(LARGE),,and not large)"
test-alone: $(VENV)/dev
	$(EMBEDDED) $(call marked,alone,tests)

test-large: $(VENV)/dev  ## the larger versions of tests
	$(EMBEDDED) $(TOGETHER) $(call marked,large,tests)

test-search: $(VENV)/dev  ## property tests with other examples each time, and twenty times as many
	HYPOTHESIS_PROFILE=search $(EMBEDDED) $(TOGETHER) -m hypothesis
test-slow: test-search  ## the same

# Of the browser tests only the whole path: what pages look like doesn't depend on the database.
test-services: services-together services-alone  ## the site's tests and the attacks on the PostgreSQL and Redis named by DATABASE_URL and REDIS_URL
services-named:
	@test -n "$$DATABASE_URL" || { echo "DATABASE_URL is not set; for example postgres://postgres@127.0.0.1:5432/postgres" >&2; exit 1; }
services-together: services-named $(VENV)/dev
	$(SERVICES) $(TOGETHER) -m "not alone and not embedded and not large" tests/site tests/attack
services-alone: services-named $(VENV)/dev
	$(SERVICES) $(call marked,alone,tests/site tests/attack tests/browser)

test-failed: $(VENV)/dev  ## what failed last, once more and with nothing beside it, on DATABASE_URL if that is set
	$(SERVICES) --last-failed --last-failed-no-failures none

LANGUAGES := --locale de --locale es --locale fr

# Translations: xgettext and msgfmt (on Debian: apt-get install gettext) collect the strings and compile what is translated.
messages: $(VENV)/runtime  ## collect the strings to translate into annotate/locale, compile the translations
	env DEBUG=true $(BIN)/python manage.py makemessages $(LANGUAGES) --no-wrap --no-obsolete --add-location never --ignore .venv --ignore tests
	env DEBUG=true $(BIN)/python manage.py compilemessages $(LANGUAGES) --ignore .venv

lint: $(VENV)/dev  ## style, types and import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	env DEBUG=true $(BIN)/mypy annotate models_engine
	$(BIN)/lint-imports

# Lint and tests beside each other: most of lint is one process, and tests wait now and then.
check: $(VENV)/dev  ## before every commit: lint, and every test that needs neither browser nor process nor more than a quarter of a second
	@told=$$(mktemp); $(MAKE) --no-print-directory lint >"$$told" 2>&1 & lint=$$!; \
	$(EMBEDDED) $(CHECKED) -m "not browser and not process and not slow and not alone"; tests=$$?; \
	wait $$lint; linted=$$?; cat "$$told"; rm -f "$$told"; test $$tests = 0 -a $$linted = 0

COMPILE := uv pip compile --universal --generate-hashes --no-emit-index-url --no-header --no-annotate --python-version 3.11 --quiet

lock: $(BIN)/uv  ## resolve the dependencies of pyproject.toml anew
	echo uv | $(BIN)/$(COMPILE) --upgrade - -o requirements-bootstrap.lock
	$(BIN)/$(COMPILE) --upgrade --extra site pyproject.toml -o requirements.lock
	$(BIN)/$(COMPILE) --upgrade --extra site pyproject.toml --group dev -c requirements.lock -o requirements-dev.lock

bench: $(VENV)/dev $(if $(PEERS),peers)  ## measure the engine and print a table (PEERS=1: beside other libraries; DATA=folder: on a real crowd)
	$(BIN)/python -m models_engine.benchmarks $(if $(PEERS),peers --python $(PEER_VENV)/bin/python $(if $(DATA),--data $(DATA)),speed)

bench-check: $(VENV)/dev  ## compare a few figures, as ratios to a fixed computation, with those kept (UPDATE=1: keep these)
	@$(BIN)/python -m tests.load.figures $(if $(UPDATE),--update)

# One by one, so that what can't be installed leaves only its own rows out. botorch brings gpytorch and PyTorch (gigabytes).
peers: $(BIN)/uv
	@test -x $(PEER_VENV)/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python $(PEER_VENV)
	@for package in $(if $(filter 1,$(PEERS)),choix crowd-kit evalica botorch,$(PEERS)); do \
		echo "Installing $$package into $(PEER_VENV)." >&2; \
		$(BIN)/uv pip install --quiet --python $(PEER_VENV)/bin/python $$package || echo "$$package could not be installed: its rows are left out." >&2; \
	done

# pip-audit and cyclonedx-bom, apart from what the site runs with.
$(RELEASE_VENV)/made: $(BIN)/uv pyproject.toml
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(RELEASE_VENV)
	@$(BIN)/uv pip install --quiet --python $(RELEASE_VENV)/bin/python --group release
	@touch $@

audit: $(RELEASE_VENV)/made  ## look every locked package up among known vulnerabilities
	@$(RELEASE_VENV)/bin/python .ci/audit.py requirements-bootstrap.lock requirements.lock requirements-dev.lock

release: $(RELEASE_VENV)/made  ## into dist/: wheel, source archive, software bill of materials, hashes (KEY=file: signed with this ssh key)
	rm -rf dist
	$(BIN)/uv build --quiet --python $(BIN)/python --out-dir dist
	$(RELEASE_VENV)/bin/python -W ignore -m cyclonedx_py requirements requirements.lock --pyproject pyproject.toml --output-reproducible --of JSON -o dist/crowdrank.cdx.json
	cd dist && sha256sum -- *.whl *.tar.gz *.cdx.json > SHA256SUMS
	$(if $(KEY),ssh-keygen -q -Y sign -f $(KEY) -n crowdrank-release dist/SHA256SUMS)

release-check: $(BIN)/uv  ## check the files of a release in FROM (dist): hashes, a wheel built anew (SIGNERS=file: the signature too)
	$(if $(SIGNERS),ssh-keygen -Y verify -f $(SIGNERS) -I release -n crowdrank-release -s $(FROM)/SHA256SUMS.sig < $(FROM)/SHA256SUMS)
	cd $(FROM) && sha256sum --strict --check SHA256SUMS
	@rm -rf build/again && $(BIN)/uv build --quiet --python $(BIN)/python --wheel --out-dir build/again
	@cmp build/again/*.whl $(FROM)/*.whl && echo "The wheel is the one that this checkout makes."

backup: $(VENV)/runtime  ## one archive of database and files into TO (backups), while the site is running
	@$(BIN)/python manage.py backup $(or $(TO),backups)

restore: $(VENV)/runtime  ## put a backup in place of the data: FROM=file (FORCE=1: also where there are some)
	@test -n "$(FROM)" || { echo "FROM is not set; for example make restore FROM=backups/crowdrank-20261120T031500Z.tar.gz" >&2; exit 1; }
	@$(BIN)/python manage.py restore $(FROM) $(if $(FORCE),--force)

load: $(VENV)/dev  ## submit-and-next under 200 annotators, 10,000 items and 100,000 labels
	$(BIN)/python -m tests.load

faults: $(VENV)/dev  ## kill, fill, cut off and confuse a served site on both databases; as root it tries the most
	$(BIN)/python -m tests.faults

fuzz: $(VENV)/dev  ## ask a served site's whole API what its description allows and forbids (SEED=2: other requests, SECONDS=600: for longer)
	$(BIN)/python -m tests.fuzz $(if $(SEED),--seed $(SEED)) $(if $(SECONDS),--seconds $(SECONDS))

screenshots: $(VENV)/dev  ## take the pictures of the documentation (docs/images) from a demo
	$(BIN)/python -m tests.screenshots

clean:  ## remove the environments, the demo's files and what building the package left
	rm -rf $(VENV) $(PEER_VENV) $(RELEASE_VENV) .demo build dist
