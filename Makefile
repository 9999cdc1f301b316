# Every target is one line: the work is in `python3 -m sandbox`, which runs under any Python 3.11 or later.
# PYTHON=python3.12 chooses an interpreter; ARGS="..." is passed on, for example make test ARGS="-k webhooks".
PYTHON ?= python3
ARGS ?=
.DEFAULT_GOAL := help
.PHONY: help up down status shell test slices nightly lint bench tools

help: ## This list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

up: ## Two clusters (ARGS="--clusters 4": four) and a mesh that serves traffic, with proof; what is done is skipped
	@$(PYTHON) -m sandbox up $(ARGS)

down: ## Remove everything that `make up` made, except the tool cache
	@$(PYTHON) -m sandbox down $(ARGS)

status: ## Say what runs (ARGS=--json for machines)
	@$(PYTHON) -m sandbox status $(ARGS)

shell: ## A shell with kubectl, pulumi and istioctl ready (ARGS='-c "kubectl get pods -A"' for one command)
	@$(PYTHON) -m sandbox shell $(ARGS)

test: ## Lint, unit, engine, live and one nightly slice (SLICE=n chooses it, ARGS=--all runs all nightly tests)
	@$(PYTHON) -m sandbox test $(ARGS)

slices: ## Write tests/nightly.json, the seconds by which nightly tests are cut into slices, from the last runs
	@$(PYTHON) -m sandbox slices $(ARGS)

nightly: ## Judge the policies by 100,000 generated programs (hours); prints its seed, keeps what it finds as cases
	@HOSTED_MESH_PROGRAMS=100000 HOSTED_MESH_EXAMPLES=100000 HOSTED_MESH_SEED=$$(date +%s) $(PYTHON) -m sandbox test \
		tests/unit/analysis/prove/test_judge.py tests/unit/policies/detect/test_wrapping_property.py --timeout=0 -s $(ARGS)

lint: ## ruff, mypy, import walls and the habits of prose
	@$(PYTHON) -m sandbox lint $(ARGS)

bench: ## Measure all (ARGS=mesh, policies, clusters, federation, dns, intents, diff, tenants, controller or observability for one)
	@$(PYTHON) -m bench $(ARGS)

tools: ## Build or download the tools, and say which are used
	@$(PYTHON) -m sandbox tools $(ARGS)
