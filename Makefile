GO ?= go
LINT = $(GO) -C tools tool golangci-lint

.PHONY: check build test race fuzz lint gen gen-check golden bench examples

check: build lint gen-check test examples ## everything that a change must pass

build: ## all packages, and the binary into bin/
	$(GO) build ./...
	$(GO) build -o bin/flowrun ./cmd/flowrun

test: ## the tests of the README
	$(GO) test ./...

race: ## the tests under the race detector
	$(GO) test -race ./...

FUZZTIME ?= 200s
fuzz: ## every fuzz target for FUZZTIME: about an hour
	GO=$(GO) FUZZTIME=$(FUZZTIME) ./scripts/fuzz

lint: ## golangci-lint, pinned in tools/go.mod
	cd tools && $(GO) build -o ../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	bin/golangci-lint run ./...

gen: ## generated code: protocol
	$(GO) -C tools run ./genproto

gen-check: ## fails when generated code is stale
	./scripts/gen-check

golden: ## rewrite golden files from what the code prints now
	UPDATE=1 $(GO) test ./...

bench: ## the benchmarks of bench/
	$(GO) test -run '^$$' -bench . ./bench/...

examples: ## the plugins of third parties build and pass
	./scripts/examples
