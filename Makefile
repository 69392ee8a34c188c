# make           bin/psi and bin/psi-static, and the ONNX Runtime library beside them
# make docs      the command reference in docs/cli, man pages in bin/man
# make wheel     python/dist/psishap-*.whl, with the program inside
# make web       the viewer of reports, from web/ into report/viewer
# make check     all that CI runs
# make test      the tests alone
# make lint fmt  the linters; the formatter

export GOEXPERIMENT := simd
TOOL := go tool -modfile=tools/go.mod

.PHONY: build docs wheel web check test lint fmt clean onnxruntime bin/psi bin/psi-static

build: bin/psi bin/psi-static onnxruntime

# go knows what is stale and make does not, so these two always run.
bin/psi:
	CGO_ENABLED=1 go build -tags onnx -o $@ ./cmd/psi

bin/psi-static:
	CGO_ENABLED=0 go build -o $@ ./cmd/psi

onnxruntime:
	scripts/fetch-onnxruntime

# The command reference, from the command tree; man pages beside the programs.
docs: bin/psi-static
	bin/psi-static docs markdown docs/cli
	bin/psi-static docs man bin/man

# The program brings its backend's code; the library comes with the package onnxruntime.
wheel:
	CGO_ENABLED=1 go build -tags onnx -ldflags '-s -w' -o python/src/psishap/bin/psi ./cmd/psi
	rm -rf python/dist
	python3 -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir python/dist ./python

web:
	cd web && npm install --no-save && npm run build

check:
	.ci/run

test: export GOMLX_NO_AUTO_INSTALL := 1
test:
	library=$$(scripts/fetch-onnxruntime) && \
	ONNXRUNTIME_SHARED_LIBRARY_PATH=$$library CGO_ENABLED=1 go test -tags onnx ./...

lint:
	$(TOOL) golangci-lint run
	$(TOOL) golangci-lint run --build-tags onnx,xla

fmt:
	$(TOOL) gofumpt -w .

clean:
	rm -rf bin python/dist python/src/psishap/bin
