# Every target is one line: the work is in `python3 -m sandbox`, which runs under any Python 3.11 or later.
# PYTHON=python3.12 chooses an interpreter; ARGS="..." is passed on, for example make test ARGS="-k webhooks".
PYTHON ?= python3
ARGS ?=
.DEFAULT_GOAL := help
.PHONY: help up down status shell test nightly lint bench tools

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

test: ## Lint, then all tests: unit, engine, live
	@$(PYTHON) -m sandbox test $(ARGS)

nightly: ## Judge the policies by a million made-up programs (hours); prints its seed, keeps what it finds as cases
	@HOSTED_MESH_PROGRAMS=1000000 HOSTED_MESH_EXAMPLES=100000 HOSTED_MESH_SEED=$$(date +%s) $(PYTHON) -m sandbox test \
		tests/unit/policies/prove/test_judge.py tests/unit/policies/detect/test_wrapping_property.py --timeout=0 -s $(ARGS)

lint: ## ruff and mypy
	@$(PYTHON) -m sandbox lint $(ARGS)

bench: ## Measure all (ARGS=mesh, policies, clusters, federation or dns for one of them)
	@$(PYTHON) -m bench $(ARGS)

tools: ## Build or download the tools, and say which are used
	@$(PYTHON) -m sandbox tools $(ARGS)
