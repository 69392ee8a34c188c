package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each file that is right is broken in one place at a time; the checks must name what is wrong there.

// broken writes a copy of a file in which old, which must be there, stands as changed, and returns its name.
func broken(t *testing.T, name, old, changed string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), old) {
		t.Fatalf("%s has no %q", name, old)
	}
	copied := filepath.Join(t.TempDir(), filepath.Base(name))
	if err := os.WriteFile(copied, []byte(strings.ReplaceAll(string(content), old, changed)), 0o600); err != nil {
		t.Fatal(err)
	}
	return copied
}

func expect(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("right, but: %v", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("got %v, want an error with %q", err, want)
	}
}

func TestManifests(t *testing.T) {
	const plain = "../kubernetes/psi.yaml"
	for _, test := range []struct{ old, changed, want string }{
		{"kind: Service", "kind: Service", ""},
		{"replicas: 2", "replica: 2", `unknown field "spec.replica"`},
		{"replicas: 2", "replicas: two", "cannot unmarshal string"},
		{"replicas: 2", "replicas: -2", "must be greater than or equal to 0"},
		{"kind: PodDisruptionBudget", "kind: PodBudget", "is unknown"},
		{"{name: tmp, mountPath: /tmp}", "{name: temp, mountPath: /tmp}", `Not found: "temp"`},
		{"readOnlyRootFilesystem: true", "readOnlyRootFilesystem: 1", "cannot unmarshal number"},
		{"capabilities: {drop: [ALL]}", "capabilities: {drop: [CHOWN]}", "unrestricted capabilities"},
		{"runAsNonRoot: true", "runAsNonRoot: false", "runAsNonRoot"},
		{"allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true", "allowPrivilegeEscalation"},
		{"targetPort: http", "targetPort: web", "no container listens at web"},
		{"{port: metrics}", "{port: meters}", "no container listens at meters"},
		{"defaultMode: 0440", "defaultMode: 0444", "open to others"},
		{"terminationGracePeriodSeconds: 35", "terminationGracePeriodSeconds: 25", "is killed after 25s"},
		{"- \"--token-file=/etc/psi/tokens/tokens\"", "- --ui", "serves without authentication"},
		{"- \"--token-file=/etc/psi/tokens/tokens\"", "- --insecure", "--insecure is true"},
		{"memory: 2Gi", "memory: 2GiB", "quantities must match"},
		{"memory: 512Mi", "memory: 512Gi", "must be less than or equal to memory limit"},
	} {
		name := broken(t, plain, test.old, test.changed)
		t.Run(test.changed, func(t *testing.T) { expect(t, manifests([]string{name}, t.Output()), test.want) })
	}
}

func TestSelectorsSelect(t *testing.T) {
	name := broken(t, "../kubernetes/psi.yaml", "  selector:\n    app.kubernetes.io/name: psi", "  selector:\n    app.kubernetes.io/name: phi")
	expect(t, manifests([]string{name}, t.Output()), "Service psi selects no pod")
}

func TestCustomResources(t *testing.T) {
	crds := os.Getenv("KSERVE_CRDS") // set by .ci/deploy, which fetches them
	if crds == "" {
		t.Skip("KSERVE_CRDS names no directory")
	}
	for _, test := range []struct{ file, old, changed, want string }{
		{"runtime.yaml", "kind: ServingRuntime", "kind: ServingRuntime", ""},
		{"runtime.yaml", "protocolVersions:", "protocols:", "unknown field spec.protocols"},
		{"runtime.yaml", "autoSelect: true", "autoSelect: yes please", "must be of type boolean"},
		{"runtime.yaml", "  containers:", "  container:", "spec.containers: Required value"},
		{"inferenceservice.yaml", "kind: InferenceService", "kind: InferenceService", ""},
		{"inferenceservice.yaml", "modelFormat: {name: psi", "modelFormat: {nam: psi", "modelFormat.name: Required value"},
		{"inferenceservice.yaml", "scaleMetric: cpu", "scaleMetric: rows", "Unsupported value"},
		{"inferenceservice.yaml", "    timeout: 30", "    timeout: 30\n    timeout: 40", "already set in map"},
		{"inferenceservice.yaml", "v1beta1", "v1beta9", "is unknown"},
	} {
		name := broken(t, "../kserve/"+test.file, test.old, test.changed)
		t.Run(test.changed, func(t *testing.T) { expect(t, manifests([]string{"-crds", crds, name}, t.Output()), test.want) })
	}
}

func TestBatchManifests(t *testing.T) {
	rendered, crds, keda := os.Getenv("RENDERED"), os.Getenv("OPERATOR_CRDS"), os.Getenv("KEDA") // set by .ci/deploy
	if rendered == "" || crds == "" || keda == "" {
		t.Skip("RENDERED, OPERATOR_CRDS or KEDA names no directory")
	}
	for _, test := range []struct{ file, old, changed, want string }{
		{"keda", "kind: ScaledObject", "kind: ScaledObject", ""},
		{"keda", "pollingInterval: 15", "pollInterval: 15", "unknown field spec.pollInterval"},
		{"keda", "minReplicaCount: 0", "minReplicaCount: 500", "less than or equal to maxReplicaCount"},
		{"keda", "scaleTargetRef: {name: psi-workers}", "scaleTargetRef: {name: workers}", "scales workers, which is not there"},
		{"keda", "type: nats-jetstream", "type: nats", "want nats-jetstream"},
		{"keda", "lagThreshold: ", "lagTreshold: ", "has the setting lagTreshold, which it does not know"},
		{"keda", `lagThreshold: "4"`, "lagThreshold: four", "invalid syntax"},
		{"keda", `lagThreshold: "4"`, "lagThreshold: 4", "must be of type string"},
		{"keda", `natsServerMonitoringEndpoint: "nats-headless.nats.svc.cluster.local:8222"`, `accountID: "x"`, "lacks the setting natsServerMonitoringEndpoint"},
		{"keda", "consumer: workers", "consumer: worker", "want workers"},
		{"keda", "stream: PSI_WORK", "stream: PSI", "want PSI_WORK"},
		{"keda", "  strategy:", "  replicas: 3\n  strategy:", "an autoscaler changes them"},
		{"keda", "terminationGracePeriodSeconds: 65", "terminationGracePeriodSeconds: 55", "is killed after 55s"},
		{"keda", "- port: metrics", "- port: meters", "PodMonitor psi: no container listens at meters"},
		{"keda", "secretKeyRef:", "configMapKeyRef:", "PSI_QUEUE comes from no Secret"},
		{"keda", "- --metrics=0.0.0.0:8082", "- --queue=nats://worker:secret@nats", "everybody can read arguments"},
		{"keda", "- --metrics=0.0.0.0:8082", "- --quiet", "not asked at /healthz"},
		{"keda", "defaultMode: 0440", "defaultMode: 0444", "open to others"},
		{"job", "kind: Job", "kind: Job", ""},
		{"job", "parallelism: 20", "parallelism: -1", "must be greater than or equal to 0"},
		{"job", "restartPolicy: Never", "restartPolicy: Always", "restartPolicy"},
		{"job", "action: Ignore", "action: Forget", "Unsupported value"},
		{"job", "runAsNonRoot: true", "runAsNonRoot: false", "runAsNonRoot"},
		{"submit", "backoffLimit: 6", "backofLimit: 6", `unknown field "spec.backofLimit"`},
		{"submit", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: 1", "cannot unmarshal number"},
		{"volumes", "kind: PodMonitor", "kind: PodMonitor", ""},
	} {
		name := broken(t, filepath.Join(rendered, "batch-"+test.file+".yaml"), test.old, test.changed)
		t.Run(test.file+" "+test.changed, func(t *testing.T) {
			args := []string{"-crds", crds, "-crds", filepath.Join(keda, "config", "crd", "bases"), "-keda", filepath.Join(keda, "pkg", "scalers"), name}
			expect(t, manifests(args, t.Output()), test.want)
		})
	}
}

func TestDockerfile(t *testing.T) {
	for _, test := range []struct{ old, changed, want string }{
		{"USER 65532:65532", "USER 65532:65532", ""},
		{"USER 65532:65532", "USER root", "runs as"},
		{"COPY --from=build ", "COPY --from=built ", "a stage that is not there"},
		{"\nCOPY . .", "\nCOPPY . .", "unknown instruction: COPPY"},
		{`ENTRYPOINT ["/opt/psi/psi"]`, "ENTRYPOINT /opt/psi/psi", "JSONArgsRecommended"},
		{`"--token-file", "/run/secrets/psi/tokens"`, `"--insecure"`, "want a server that asks for tokens"},
		{"image.revision", "image.commit", "no label org.opencontainers.image.revision"},
		{" AS psi", " as psi", "FromAsCasing"},
		{"/out/psi /opt/psi/psi", "/out/psi", "COPY requires at least two arguments"},
	} {
		name := broken(t, "../container/Dockerfile", test.old, test.changed)
		t.Run(test.changed, func(t *testing.T) { expect(t, dockerfile([]string{name, "psi"}, t.Output()), test.want) })
	}
}

func TestStage(t *testing.T) {
	var out strings.Builder
	if err := stage([]string{"../container/Dockerfile", "build"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"export GOTOOLCHAIN=local\n", "\nCGO_ENABLED=0 ", "-o /out/psi ./cmd/psi\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "mod download") {
		t.Errorf("commands of another stage are in\n%s", out.String())
	}
}

func TestDashboard(t *testing.T) {
	for _, test := range []struct{ old, changed, want string }{
		{`"title": "psi"`, `"title": "psi"`, ""},
		{`"title": "psi"`, `"titel": "psi"`, "titel"},
		{`"id": 2,`, `"id": 3,`, "has the id 3 of another"},
		{`"y": 1
`, `"y": 0
`, "lies on"},
		{`$model`, `$modle`, "is not known"},
		{`"refId": "A"`, `"refID": "A"`, "refID"},
	} {
		name := broken(t, "../grafana/psi.json", test.old, test.changed)
		t.Run(test.changed, func(t *testing.T) { expect(t, dashboards([]string{name}, t.Output()), test.want) })
	}
}

func TestMetrics(t *testing.T) {
	const names = "# TYPE psi_requests_total counter\n# TYPE psi_pass_rows histogram\n# TYPE go_threads gauge\n"
	for _, test := range []struct{ rules, want string }{
		{"rate(psi_requests_total[5m]) > 0 and psi_pass_rows_bucket", ""},
		{"psi_requests_total and psi_pass_rows_max", "names psi_pass_rows_max"},
		{"psi_requests_total_bucket and psi_pass_rows_sum", "names psi_requests_total_bucket"},
		{"psi_requests_total", "nothing looks at psi_pass_rows"},
		{"psi_requests_total psi_pass_rows_count request_explain_seconds_sum", "names request_explain_seconds_sum"},
	} {
		dir := t.TempDir()
		scrape, rules := filepath.Join(dir, "scrape"), filepath.Join(dir, "rules")
		for name, content := range map[string]string{scrape: names, rules: test.rules} {
			if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(test.rules, func(t *testing.T) { expect(t, metrics([]string{"-names", scrape, rules}, t.Output()), test.want) })
	}
}
