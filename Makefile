# make           bin/psi, one static program; bin/psi-static is another name of it
# make psi-onnx  bin/psi-onnx, with ONNX Runtime's backend, and the library that it needs, which is fetched
# make psi-cloud bin/psi-cloud, which also opens gs:// and azblob://
# make docs      the command reference in docs/cli.md, man pages in bin/man
# make install   the program, its manual pages and completions, below PREFIX (/usr/local), itself below DESTDIR if that is set
# make wheel     python/dist/psishap-*.whl for this machine, with the program inside
# make release   dist/, all that people install for Linux, macOS and Windows on x86-64 and ARM, signed with KEY
# make notices   THIRD_PARTY_NOTICES.txt, the licences of what is inside the program; .ci/notices checks them
# make web       the viewer of reports, from web/ into report/viewer
# make check     all that CI runs
# make test      the tests alone
# make lint fmt  the linters; the formatter
# make bench-check  which figures of the benchmark were made by older training code; status 1 if a table shows one

# Paths of this machine are not in what is built: the same source gives the same bytes.
export GOFLAGS := $(strip $(shell go env GOFLAGS) -trimpath)
# gRPC's pages of traces, which psi does not serve, make the linker keep every method of every type: a sixth of the program.
TAGS := grpcnotrace
BUILD = go build -tags $(TAGS) -ldflags '-s -w'
TOOL := go tool -modfile=tools/go.mod

.PHONY: build docs install wheel release notices web check test lint fmt clean bench-check psi-onnx psi-cloud bin/psi

build: bin/psi bin/psi-static

# go knows what is stale and make does not, so this always runs.
bin/psi:
	CGO_ENABLED=0 $(BUILD) -o $@ ./cmd/psi

bin/psi-static: bin/psi
	ln -sf psi $@

psi-onnx: TAGS := grpcnotrace,onnx
psi-onnx:
	CGO_ENABLED=1 $(BUILD) -o bin/psi-onnx ./cmd/psi
	scripts/fetch-onnxruntime

psi-cloud: TAGS := grpcnotrace,cloud
psi-cloud:
	CGO_ENABLED=0 $(BUILD) -o bin/psi-cloud ./cmd/psi

# The command reference, from the command tree; man pages beside the programs.
docs: bin/psi
	bin/psi docs markdown docs/cli.md
	bin/psi docs man bin/man

PREFIX ?= /usr/local
ROOT = $(DESTDIR)$(PREFIX)

install: bin/psi
	install -d $(ROOT)/bin $(ROOT)/share/man/man1 $(ROOT)/share/bash-completion/completions $(ROOT)/share/zsh/site-functions $(ROOT)/share/fish/vendor_completions.d
	install -m 755 bin/psi $(ROOT)/bin/psi
	bin/psi docs man $(ROOT)/share/man/man1
	bin/psi completion bash >$(ROOT)/share/bash-completion/completions/psi
	bin/psi completion zsh >$(ROOT)/share/zsh/site-functions/_psi
	bin/psi completion fish >$(ROOT)/share/fish/vendor_completions.d/psi.fish

wheel:
	CGO_ENABLED=0 $(BUILD) -o python/src/psishap/bin/psi ./cmd/psi
	rm -rf python/dist
	python3 -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir python/dist ./python

release:
	scripts/release/run $(KEY)

notices:
	cd web && npm install --no-save
	python3 scripts/notices/write.py >THIRD_PARTY_NOTICES.txt

web:
	cd web && npm install --no-save && npm run build

check:
	.ci/run

test:
	CGO_ENABLED=0 go test -tags $(TAGS) ./...

lint:
	$(TOOL) golangci-lint run
	$(TOOL) golangci-lint run --build-tags onnx,xla,cloud

fmt:
	$(TOOL) gofumpt -w .

bench-check:
	bench/run --check

clean:
	rm -rf bin python/dist python/src/psishap/bin
