GO ?= go
LINT = $(GO) -C tools tool golangci-lint

.PHONY: check build test race fuzz lint gen gen-check golden bench bench-peers bench-start bench-go examples peers browser oidc deploy slow
.PHONY: large sound sound-mutants faults power syscalls full-disk corruption kill revisions crash triggers schedules backups soak sim sim-driver replay timers tokens evil canary growth swaps cgroup shutdown hostile row-mutants mutants walks
.PHONY: licences vulnerabilities release release-check image image-check reproduce

check: build lint gen-check test examples ## everything that a change must pass

build: ## all packages, and the binary into bin/
	$(GO) build ./...
	$(GO) -C sdk build ./...
	$(GO) build -o bin/flowrun ./cmd/flowrun

test: ## the tests of the README, with all of each suite that a change must pass
	FLOWRUN_SUITES=all $(GO) test ./...
	$(GO) -C sdk test ./...

race: ## the tests under the race detector
	FLOWRUN_SUITES=all $(GO) test -race ./...
	$(GO) -C sdk test -race ./...

FUZZTIME ?= 200s
fuzz: ## every fuzz target for FUZZTIME: almost three hours
	GO=$(GO) FUZZTIME=$(FUZZTIME) ./scripts/fuzz

lint: ## golangci-lint, pinned in tools/go.mod
	cd tools && $(GO) build -o ../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	bin/golangci-lint run ./...
	cd sdk && ../bin/golangci-lint run ./...

gen: ## generated code: protocol
	$(GO) -C tools run ./genproto

gen-check: ## fails when generated code is stale
	./scripts/gen-check

golden: ## rewrite golden files from what the code prints now
	UPDATE=1 $(GO) test ./...
	UPDATE=1 $(GO) -C sdk test ./...

bench: ## flowrun beside the floor and its peers, in one go: docs/performance.md and its picture; some 12 minutes on two quiet cores
	mkdir -p bin/bench
	$(GO) build -o bin/bench/scenarios ./bench/scenarios
	bin/bench/scenarios -repeat $(or $(REPEAT),5) -o bin/bench/flowrun.jsonl
	GO=$(GO) ./scripts/bench-peers bin/bench/peers.jsonl
	rm -rf bin/bench/profiles
	bin/bench/scenarios -repeat 2 -profiles bin/bench/profiles -o bin/bench/profiles.jsonl
	$(GO) run ./bench/page bin/bench/flowrun.jsonl bin/bench/peers.jsonl
	$(GO) -C bench/profiles run . -doc ../../docs/performance.md ../../bin/bench/profiles.jsonl

bench-peers: ## what other engines do with the same work: each is said and left out where it does not build
	mkdir -p bin/bench
	GO=$(GO) ./scripts/bench-peers bin/bench/peers.jsonl

bench-start: ## how soon `version`, `validate` and completion answer, beside Terraform and gh where they are installed: docs/performance.md
	$(GO) run ./bench/start -doc docs/performance.md

bench-go: ## the Go benchmarks of bench/
	$(GO) test -run '^$$' -bench . ./bench/...

browser: ## the page in Chromium (scripts/install-chromium)
	$(GO) -C test/browser test -count=1 -timeout 15m -v ./...

oidc: ## logins at a certified OpenID server that others wrote (needs Node.js and npm)
	npm ci --prefix test/oidc
	$(GO) -C test/oidc test -count=1 -timeout 15m -v ./...

deploy: ## the files of contrib/ against the readers of systemd, Compose, Kubernetes, nginx, Caddy and GitHub Actions; its first build takes minutes
	$(GO) -C test/deploy vet ./...
	$(GO) -C test/deploy test -count=1 -timeout 15m -v ./...

peers: ## what other libraries do with the same schedules
	$(GO) -C bench/peers test -v ./...

licences: ## the licence of every module in the program is among those allowed
	$(GO) -C tools run ./supply licences

vulnerabilities: ## known faults in what flowrun calls; said and skipped where Go's data base can't be reached
	GO=$(GO) ./scripts/vulnerabilities

release: ## dist/: archives, images, what is in them as CycloneDX, SHA256SUMS, signed with KEY=FILE, of ONLY=linux_amd64,..; the same bytes for the same commit
	$(GO) -C tools run ./supply release $(if $(KEY),--key $(abspath $(KEY))) $(if $(ONLY),--only $(ONLY))

release-check: ## the release in dist is whole, signed by PUBLIC=FILE, and does its first steps in an empty folder
	$(GO) -C tools run ./supply check $(if $(PUBLIC),--public $(abspath $(PUBLIC)))

image: ## dist/flowrun-VERSION-linux-ARCH.oci.tar, without Docker
	$(GO) -C tools run ./supply image

image-check: ## the newest image of dist, and the unit of the newest Debian package, as the first process of namespaces of their own: they serve, start a run by the clock, drain (Linux, root)
	FLOWRUN_DEB=$$(ls -t $(CURDIR)/dist/*_$$($(GO) env GOARCH).deb 2>/dev/null | head -1) FLOWRUN_IMAGE=$$(ls -t $(CURDIR)/dist/*-linux-$$($(GO) env GOARCH).oci.tar | head -1) $(GO) -C tools test -count=1 -v -run 'TheImageServes|TheUnitFires' ./supply

reproduce: ## the release of this machine's system twice, in two folders: the same bytes
	$(GO) -C tools run ./supply reproduce

examples: ## the plugins of third parties build and pass, in the tree and outside of it
	./scripts/examples

# The fault suites at their full size; .ci/run and `make test` run each of them shortened, `go test ./...` a part of that. FLOWRUN_SEED=n repeats one.
FAULT = FLOWRUN_SUITES=all $(GO) test -count=1 -v

faults: power syscalls full-disk corruption kill revisions crash triggers schedules backups sim replay timers tokens evil swaps shutdown hostile ## all but the soak: some hours

large: ## issue 16: a large value of 1 GiB in bounded memory, kills in the middle of one, damage
	FLOWRUN_BLOB_BYTES=$(or $(BYTES),1073741824) $(GO) test -count=1 -v -timeout 30m ./test/blobs

walks: ## how many packages a run, an answer, a fire and a webhook enter, as ARCHITECTURE.md says
	$(GO) build -cover -covermode=atomic -coverpkg=./engine/...,./internal/...,github.com/flowrun/flowrun/sdk/...,./test/walks -o bin/walks ./test/walks
	GOCOVERDIR=$$(mktemp -d) bin/walks

sound: ## what --strict accepts fails by no type, null or missing field: expressions, workflows, mutants of the rules
	FLOWRUN_SOUND_PROGRAMS=$(or $(PROGRAMS),1000000) FLOWRUN_SOUND_WORKFLOWS=$(or $(WORKFLOWS),100000) $(FAULT) -timeout 6h -run 'TestSoundExpressions|TestSoundWorkflows' ./test/sound
	$(MAKE) sound-mutants

sound-mutants: ## rules of the checker, broken one at a time: each is noticed within a minute
	FLOWRUN_SOUND_MUTANTS=1 $(FAULT) -timeout 3h -run TestSoundMutants ./test/sound

power: ## P1, P4, P10, P15, P19: images of what a power loss leaves
	FLOWRUN_POWER_IMAGES=$(or $(IMAGES),100000) $(FAULT) -timeout 90m -run 'P1_|P4_|P10_|P15_|P19_' ./test/storefaults

syscalls: ## P13: failing writes and syncs
	FLOWRUN_SYSCALL_MAX=$(or $(MAX),500) $(FAULT) -timeout 60m -run P13_ ./test/storefaults

full-disk: ## P12: disks and quotas of many sizes
	FLOWRUN_FULL_DISKS=$(or $(SIZES),200) $(FAULT) -timeout 30m -run P12_ ./test/storefaults

corruption: ## P14: damaged store files
	FLOWRUN_CORRUPTION=$(or $(FILES),10000) $(FAULT) -timeout 30m -run P14_ ./test/storefaults

kill: ## P1 to P7: the whole engine under kill -9
	FLOWRUN_KILL_CYCLES=$(or $(CYCLES),2000) $(FAULT) -timeout 60m -run 'TestP1Nothing|TestP4ControlEffects' ./test/killloop

revisions: ## issue 15: plugins rebuilt under a server that is killed
	FLOWRUN_REVISION_KILLS=$(or $(KILLS),300) $(FAULT) -timeout 60m -run Issue15_RevisionsUnderRandomKills ./cmd/flowrun

crash: ## a kill before and after each commit
	FLOWRUN_EXACT_FLOWS=$(or $(FLOWS),50) FLOWRUN_EXACT_PAIRS=all $(FAULT) -timeout 90m -run 'TestP1Crashes|TestP4ControlExact' ./test/killloop

triggers: ## P10: webhooks, polls and ended runs under kill -9, at random and at each commit
	FLOWRUN_TRIGGER_STAGES=all FLOWRUN_TRIGGER_KILLS=$(or $(KILLS),500) $(FAULT) -timeout 60m ./test/triggers

schedules: ## P10: schedules under kill -9 and jumps of the clock, a restored store
	FLOWRUN_SCHEDULE_FIRES=$(or $(FIRES),10000) $(FAULT) -timeout 30m ./test/schedules

backups: ## P15: backups under load
	FLOWRUN_BACKUPS=$(or $(BACKUPS),100) $(FAULT) -timeout 20m -run TestP15 ./test/killloop

soak: ## half an hour of runs on a quiet machine
	FLOWRUN_SOAK=$(or $(FOR),30m) $(FAULT) -timeout 90m -run TestSoak ./test/killloop

sim: ## P8: simulated runs against a model
	FLOWRUN_SIM_SEEDS=$(or $(SEEDS),100000) $(FAULT) -timeout 60m -run 'TestP8Simulated|TestControl' ./test/simulation

sim-driver: ## the same through the embedded driver
	FLOWRUN_SIM_SEEDS=$(or $(SEEDS),20000) $(FAULT) -timeout 60m -run TestP8TheDriver ./test/simulation

replay: ## P8: random journals and the golden ones
	FLOWRUN_SIM_SEEDS=$(or $(SEEDS),10000) $(FAULT) -timeout 30m -run 'TestP8Random|TestP8TheGolden|TestRegressions' ./test/simulation

timers: ## P9: durable timers under jumps of the clock
	FLOWRUN_SIM_TIMERS=$(or $(TIMERS),100000) $(FAULT) -timeout 30m -run 'TestP9|TestControlTheTimers' ./test/simulation

tokens: ## P11: token rotation under kill -9
	FLOWRUN_TOKEN_KILLS=$(or $(KILLS),1000) $(FAULT) -timeout 30m ./test/tokens

canary: ## a raw plugin that tells its secret in each field, and the control without the gate
	FLOWRUN_CANARY=all $(FAULT) -timeout 1h ./test/canary

evil: ## P18: plugins that misbehave
	FLOWRUN_EVIL_ROUNDS=$(or $(ROUNDS),10) $(FAULT) -timeout 3h ./test/evilplugins

swaps: ## the private copy of a plugin, exchanged while it is started
	FLOWRUN_SWAPS=$(or $(SWAPS),10000) $(FAULT) -timeout 1h -run Issue13_03 ./engine/pluginhost

cgroup: ## control groups of plugins, in a virtual machine: qemu and a kernel of Debian are fetched; said and skipped where that can't be
	FLOWRUN_CGROUP=vm $(FAULT) -timeout 30m ./test/cgroup

growth: ## P20: a plugin that lets one part of its answers grow for ever, with the usual limits; what taking up large runs takes
	FLOWRUN_GROWTH=full $(FAULT) -timeout 1h ./test/growth
	FLOWRUN_GROWTH=full $(FAULT) -timeout 1h -run TakingUp ./engine/local

shutdown: ## P16, P17: SIGTERM under load, racing owners
	FLOWRUN_SHUTDOWN_CYCLES=$(or $(CYCLES),1000) FLOWRUN_OWNER_STARTS=$(or $(STARTS),1000) $(FAULT) -timeout 3h ./test/shutdown

hostile: ## the server: hostile names at every route
	FLOWRUN_HOSTILE_NAMES=$(or $(NAMES),10000) $(FAULT) -timeout 60m ./test/serve

slow: ## how old a live page is over a line of 50 KB/s and 200 ms, for two minutes a page
	FLOWRUN_SLOW=2m $(GO) -C test/browser test -run SlowLine -v -timeout 15m .

row-mutants: ## test/rows: ten faults in each plugin's decoders, one after the other; some minutes
	FLOWRUN_ROW_MUTANTS=$(or $(PLUGIN),all) $(FAULT) -timeout 60m -run TestMutants ./test/rows

mutants: ## test/mutants: faults in all parts of the product, one after the other, each against the tests of its package; an hour
	FLOWRUN_MUTANTS=$(or $(WHICH),all) $(FAULT) -timeout 4h -run TestMutants ./test/mutants
