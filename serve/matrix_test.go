package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/psi-shapley/psi/serve/internal/auth"
	"github.com/psi-shapley/psi/serve/internal/oip/inference"
)

// Every route and every call, by every kind of caller: who is not known is refused with 401, who may not with 403, and nobody
// else with either.
func TestAuthorisationMatrix(t *testing.T) {
	tokens := map[string]string{"nobody": "", "a stranger": "psi_0123456789012345678901234567890123456789012"}
	allowed := map[string]auth.Permission{"nobody": auth.Public | auth.Health, "a stranger": auth.Public | auth.Health}
	var lines []string
	for _, list := range []string{"infer", "admin", "metrics", "infer,admin,metrics"} {
		secret, line, err := NewToken("who-"+strings.ReplaceAll(list, ",", "-"), list)
		check(t, err)
		permission, err := auth.ParsePermission(list)
		check(t, err)
		tokens[list], allowed[list], lines = secret, permission|auth.Public|auth.Health, append(lines, line)
	}
	file := filepath.Join(t.TempDir(), "tokens")
	check(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	r := start(t, func(c *Config) { c.TokenFile, c.UI = file, true })
	_, _, metrics := r.Addresses()
	count := 0
	matrix := func(base string, routes []*route) {
		for _, route := range routes {
			path := strings.NewReplacer("{model}", "none", "{version}", "1", "{profile}", "goroutine").Replace(route.path)
			if strings.HasSuffix(path, "/profile") || strings.HasSuffix(path, "/trace") {
				path += "?seconds=1"
			}
			for who, token := range tokens {
				request, err := http.NewRequestWithContext(t.Context(), route.method, base+path, nil)
				check(t, err)
				if token != "" {
					request.Header.Set("Authorization", "Bearer "+token)
				}
				if strings.Contains(path, "?seconds") && allowed[who].Has(route.permission) {
					continue // it takes its time
				}
				response, err := http.DefaultClient.Do(request)
				check(t, err)
				check(t, response.Body.Close())
				known := who != "nobody" && who != "a stranger"
				want := 0
				switch {
				case allowed[who].Has(route.permission):
				case known:
					want = http.StatusForbidden
				default:
					want = http.StatusUnauthorized
				}
				got := response.StatusCode
				refused := got == http.StatusForbidden || got == http.StatusUnauthorized || got == http.StatusTooManyRequests
				if want == 0 && refused || want != 0 && got != want && !(want == http.StatusUnauthorized && got == http.StatusTooManyRequests) {
					t.Errorf("%s %s by %s: %d, want %d", route.method, path, who, got, want)
				}
				count++
			}
		}
	}
	matrix(r.url, r.routes())
	matrix("http://"+metrics, r.adminRoutes())
	for _, method := range inference.GRPCInferenceService_ServiceDesc.Methods {
		for who, token := range tokens {
			ctx := t.Context()
			if token != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
			}
			got := called(ctx, r, method.MethodName)
			needed := grpcPermission("/inference.GRPCInferenceService/" + method.MethodName)
			known := who != "nobody" && who != "a stranger"
			want := codes.OK
			switch {
			case allowed[who].Has(needed):
			case known:
				want = codes.PermissionDenied
			default:
				want = codes.Unauthenticated
			}
			refused := got == codes.PermissionDenied || got == codes.Unauthenticated
			if want == codes.OK && refused || want != codes.OK && got != want && got != codes.ResourceExhausted {
				t.Errorf("%s by %s: %v, want %v", method.MethodName, who, got, want)
			}
			count++
		}
	}
	t.Logf("%d cases", count)
}

// Triton's calls that psi does not have are refused as such, and do no harm.
func TestCallsThatTritonHasAlone(t *testing.T) {
	r := start(t, nil)
	for _, method := range []string{"SystemSharedMemoryStatus", "CudaSharedMemoryRegister", "TraceSetting", "LogSettings"} {
		err := r.dialled.Invoke(t.Context(), "/inference.GRPCInferenceService/"+method, &inference.ServerLiveRequest{}, &inference.ServerLiveResponse{})
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: %v", method, err)
		}
	}
	if got := called(t.Context(), r, "ServerLive"); got != codes.OK {
		t.Errorf("after them: %v", got)
	}
}

// A token that is taken out of the file in the middle of a stream lets no further message in.
func TestRevokedInTheMiddleOfAStream(t *testing.T) {
	secret, line, err := NewToken("caller", "infer")
	check(t, err)
	file := filepath.Join(t.TempDir(), "tokens")
	check(t, os.WriteFile(file, []byte(line+"\n"), 0o600))
	r := start(t, func(c *Config) { c.TokenFile = file })
	stream, err := r.calls.ModelStreamInfer(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+secret))
	check(t, err)
	inputs, raw := tensors(people(1, 1))
	request := &inference.ModelInferRequest{ModelName: "shop", Inputs: inputs, RawInputContents: raw}
	check(t, stream.Send(request))
	_, err = stream.Recv()
	check(t, err)
	check(t, os.WriteFile(file, []byte("# nobody any more\n"), 0o600))
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err = stream.Send(request); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if _, err = stream.Recv(); err != nil {
			break
		}
	}
	if status.Code(err) != codes.Unauthenticated {
		t.Errorf("%v", err)
	}
}

// called is the code that a call ends in.
func called(ctx context.Context, r *running, method string) codes.Code {
	var err error
	switch c := r.calls; method {
	case "ServerLive":
		_, err = c.ServerLive(ctx, &inference.ServerLiveRequest{})
	case "ServerReady":
		_, err = c.ServerReady(ctx, &inference.ServerReadyRequest{})
	case "ServerMetadata":
		_, err = c.ServerMetadata(ctx, &inference.ServerMetadataRequest{})
	case "ModelReady":
		_, err = c.ModelReady(ctx, &inference.ModelReadyRequest{Name: "none"})
	case "ModelMetadata":
		_, err = c.ModelMetadata(ctx, &inference.ModelMetadataRequest{Name: "none"})
	case "ModelInfer":
		_, err = c.ModelInfer(ctx, &inference.ModelInferRequest{ModelName: "none"})
	case "ModelConfig":
		_, err = c.ModelConfig(ctx, &inference.ModelConfigRequest{Name: "none"})
	case "ModelStatistics":
		_, err = c.ModelStatistics(ctx, &inference.ModelStatisticsRequest{})
	case "RepositoryIndex":
		_, err = c.RepositoryIndex(ctx, &inference.RepositoryIndexRequest{})
	case "RepositoryModelLoad":
		_, err = c.RepositoryModelLoad(ctx, &inference.RepositoryModelLoadRequest{ModelName: "none"})
	case "RepositoryModelUnload":
		_, err = c.RepositoryModelUnload(ctx, &inference.RepositoryModelUnloadRequest{ModelName: "none"})
	default:
		return codes.Internal // a new call, that nobody listed here
	}
	return status.Code(err)
}
