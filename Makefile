# Everything a developer types. `make help` lists it; docs/development.md says more.

SHELL := /bin/sh
GO ?= go
FUZZTIME ?= 30s
# Flags of test/bench, such as -runs 1 -rows 100000 -list 50000 for a first impression.
BENCH ?=
# Which tests of test/chaos: a pattern of their names, such as TestKill/sqlite.
CHAOS ?=
# Which clients `make interop` runs, or `make clients` and `make test-clients`: folders of test/interop or clients; none: all.
CLIENTS ?=
# How many scripts `make walls` plays on each database.
SCRIPTS ?= 500
# What `tocsin version` says. Git refuses a checkout that another user owns, hence no -buildvcs.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo development)

# Programs that make uses are built here; the product itself goes to ./bin.
TOOLS := .bin
# Without cgo the SQLite driver compiles and then refuses to open anything.
export CGO_ENABLED := 1

.DEFAULT_GOAL := help
.PHONY: help acme alerts build chart clients image interop litestream profile release run lint migrations vulncheck verify generate test test-all fuzz walls bench chaos screenshots clean test-clients test-tools test-browser

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build ./bin/tocsin
	$(GO) build -trimpath -buildvcs=false -pgo wiring/tocsin/release.pgo -ldflags "-X main.version=$(VERSION)" -o bin/tocsin ./wiring/tocsin

image: $(TOOLS)/release ## build an image of the program alone into ./bin/image, and start it
	.ci/release/build "$(VERSION)" "linux/$$($(GO) env GOARCH)" bin/static/tocsin
	$(TOOLS)/release image -version "$(VERSION)" -out bin/image "linux/$$($(GO) env GOARCH)=bin/static/tocsin"
	@.ci/release/try "bin/image/tocsin-linux-$$($(GO) env GOARCH).tar"
	$(TOOLS)/release sbom bin/static/tocsin > bin/image/tocsin.cdx.json

# What is built between releases comes before them all.
PACKAGE_VERSION = $(shell echo "$(VERSION)" | sed -E 's/^v([0-9])/\1/; /^[0-9]+\.[0-9]+\.[0-9]+/!s/^/0.0.0-g/')
# For `make release`; darwin/amd64 can be built, too.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/arm64

release: $(TOOLS)/release $(TOOLS)/nfpm ## build archives, deb, rpm, SBOM and checksums for PLATFORMS into ./bin/release
	.ci/release/all "$(VERSION)" "$(PACKAGE_VERSION)" $(PLATFORMS)
	@.ci/release/look bin/release

run: build ## start the demo on SQLite below ./data and print the console's password, a key and requests to try
	@deploy/demo.sh

lint: $(TOOLS)/golangci-lint ## check the code with golangci-lint, as .golangci.yml says
	$(TOOLS)/golangci-lint run ./...
	for module in clients/go .ci/acme .ci/chart .ci/release; do (cd "$$module" && $(CURDIR)/$(TOOLS)/golangci-lint run ./...) || exit 1; done

migrations: ## lint the migrations of Postgres with squawk, which npm installs
	@.ci/migrations $(TOOLS)/squawk

vulncheck: $(TOOLS)/govulncheck ## check for known vulnerabilities, where their database can be reached
	@.ci/vulnerabilities $(TOOLS)/govulncheck

verify: ## check that generated files, go.mod and formatting are as they should be, and vet
	@.ci/verify

generate: ## regenerate what is generated
	$(GO) generate ./...

# `make verify` vets, once and not per package. These programs are not debugged, and link faster without
# what a debugger reads. Tests live shortly: collecting their garbage less often saves a seventh of the
# processor's time for twice the memory. Some packages wait more than they work, hence one more at a time
# than there are processors. Those that run whole programs and browsers come afterwards, one by one: beside
# others everything that they do takes several times as long. A program with the race detector waits a
# second before it ends, so that what still runs could be caught; hundreds of programs are started here.
# The race detector also checks conversions of unsafe pointers (checkptr), for a tenth of the time. No
# package here has any: only libraries are not checked.
GO_TEST := $(GO) test -race -gcflags=all=-d=checkptr=0 -vet=off -ldflags=-s -timeout 40m -json
GO_TEST_PARALLEL := $(GO_TEST) -p $$(($$(getconf _NPROCESSORS_ONLN) + 1))
WHOLE := chaos|browser|bench
# Packages are tested in this order: the slow ones begin first, so that none of them runs alone at the end.
PACKAGES := ./adapters/console ./adapters/gormstore ./app/importer ./wiring ./app/delivery ./...
# Suites go through the whole contract, every promise of the store, every route for another tenant, or
# every route of the console for every role.
SUITES := contract|conformance|walls
SUITES_IN_PACKAGES := ^(TestAccessRules|TestRouteRights)$$

test test-all: export GOGC := 300
test test-all: export GORACE := atexit_sleep_ms=0
test: export TOCSIN_TEST_DATABASES := one
test: test-tools ## test every package but the suites and whole programs: in minutes, on SQLite and on a real PostgreSQL
	$(TOOLS)/withpostgres sh -c 'packages=$$($(GO) list $(PACKAGES) | grep -vE "/test/($(WHOLE)|$(SUITES))\$$") || exit; \
		$(GO_TEST_PARALLEL) -skip "$(SUITES_IN_PACKAGES)" $$packages' | $(TOOLS)/tally -want sqlite,postgres

test-all: test-tools test-browser ## test everything, with the suites, whole programs and the browser
	$(TOOLS)/withpostgres sh -c 'packages=$$($(GO) list ./test/conformance ./test/contract ./test/walls $(PACKAGES) | grep -vE "/test/($(WHOLE))\$$") || exit; \
		whole=$$($(GO) list ./test/... | grep -E "/test/($(WHOLE))\$$"); \
		$(GO_TEST_PARALLEL) $$packages; $(GO_TEST) -p 1 $$whole' | $(TOOLS)/tally -want sqlite,postgres

fuzz: ## fuzz every fuzz target for FUZZTIME each (30s)
	@grep -rsoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' adapters app configs domain ports test wiring | \
	sed -E 's|^(.*)/[^/]*:func (.*)$$|\1 \2|' | sort | while read -r folder target; do \
		echo "$$folder $$target"; \
		$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5x "./$$folder" </dev/null || exit 1; \
	done

acme: build ## try ACME with an authority, where Pebble can be built
	@.ci/acme/try $(TOOLS)/acme bin/tocsin

litestream: build ## try Litestream beside a server that is killed, where it can be built
	@.ci/litestream/try $(TOOLS)/litestream bin/tocsin

alerts: ## test the alerts for Prometheus, where promtool can be built
	@.ci/alerts $(TOOLS)/promtool

chart: $(TOOLS)/chart ## lint the Helm chart, and read what it makes of files of values as Kubernetes would
	$(TOOLS)/chart deploy/chart deploy/chart/ci/*-values.yaml

walls: test-tools ## play SCRIPTS random scripts (500) to find what one organization sees of another
	$(TOOLS)/withpostgres $(GO) test -count 1 -timeout 0 -run TestNonInterference ./test/walls -rapid.checks=$(SCRIPTS)

chaos: test-tools ## kill programs, databases and mail servers at full size, and count what arrives (some minutes)
	TOCSIN_TEST_CHAOS=full $(TOOLS)/withpostgres $(GO) test -count 1 -timeout 30m -v -run "$(CHAOS)" ./test/chaos

screenshots: test-browser ## take the pictures of the console that the documentation shows
	TOCSIN_TEST_SCREENSHOTS=$(CURDIR)/docs/images $(GO) test -count 1 -v -run TestPictures ./test/browser

interop: build ## run clients of others against the service (CLIENTS="bitcaster ..." for some of them)
	test/interop/run $(CLIENTS)

clients: build ## generate our own clients from the OpenAPI document anew (CLIENTS="go ..." for some of them)
	test/interop/run -i clients -p generate $(CLIENTS)

test-clients: build ## check that our own clients are generated from the document as it is, and test them against the service
	test/interop/run -i clients -p test $(CLIENTS)

bench: build test-tools ## measure speed and memory on SQLite and on a PostgreSQL that waits for the disk (BENCH=FLAGS)
	@$(GO) build -buildvcs=false -o $(TOOLS)/ ./test/bench
	$(TOOLS)/withpostgres -durable $(TOOLS)/bench -tocsin bin/tocsin $(BENCH)

profile: test-tools ## profile the program while it is measured, for the compiler to read in every build (some minutes)
	@$(GO) build -buildvcs=false -o $(TOOLS)/ ./test/bench
	rm -rf $(TOOLS)/profiles
	$(TOOLS)/withpostgres -durable $(TOOLS)/bench -profiles $(TOOLS)/profiles -measure api,import,send -runs 1 \
		-rows 200000 -list 50000 -messages 20000 -length 6s
	$(GO) tool pprof -proto -output wiring/tocsin/release.pgo $(TOOLS)/bench $(TOOLS)/profiles/*.pprof

clean: ## remove what was built; the demo's ./data stays
	rm -rf bin $(TOOLS)

test-tools:
	@$(GO) build -buildvcs=false -o $(TOOLS)/ ./test/tally ./test/pgtest/withpostgres
	@test/pgtest/install.sh $(TOOLS)/withpostgres

test-browser:
	@test/browser/install.sh

# A module of its own: its hundreds of dependencies stay out of the product's go.mod. The first build
# takes some minutes.
$(TOOLS)/golangci-lint: .ci/tools/go.mod .ci/tools/go.sum
	$(GO) build -C .ci/tools -buildvcs=false -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(TOOLS)/govulncheck: .ci/tools/go.mod .ci/tools/go.sum
	$(GO) build -C .ci/tools -buildvcs=false -o $(CURDIR)/$@ golang.org/x/vuln/cmd/govulncheck

$(TOOLS)/release: .ci/release/go.mod .ci/release/go.sum $(wildcard .ci/release/*.go)
	$(GO) build -C .ci/release -buildvcs=false -o $(CURDIR)/$@ .

$(TOOLS)/nfpm: .ci/nfpm/go.mod .ci/nfpm/go.sum
	$(GO) build -C .ci/nfpm -buildvcs=false -o $(CURDIR)/$@ github.com/goreleaser/nfpm/v2/cmd/nfpm

$(TOOLS)/chart: .ci/chart/go.mod .ci/chart/go.sum $(wildcard .ci/chart/*.go)
	$(GO) build -C .ci/chart -buildvcs=false -o $(CURDIR)/$@ .

$(TOOLS)/acme: .ci/acme/go.mod .ci/acme/go.sum $(wildcard .ci/acme/*.go)
	$(GO) build -C .ci/acme -buildvcs=false -o $(CURDIR)/$@ .

$(TOOLS)/promtool: .ci/promtool/go.mod .ci/promtool/go.sum
	$(GO) build -C .ci/promtool -buildvcs=false -tags remove_all_sd -o $(CURDIR)/$@ github.com/prometheus/prometheus/cmd/promtool

$(TOOLS)/litestream: .ci/litestream/go.mod .ci/litestream/go.sum
	$(GO) build -C .ci/litestream -buildvcs=false -o $(CURDIR)/$@ github.com/benbjohnson/litestream/cmd/litestream
