package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// batches checks containers that run psi batch: whence they know their queue, and that workers are asked how they are and may
// end their unit.
func batches(spec *corev1.PodSpec) []error {
	var problems []error
	for _, c := range spec.Containers {
		if len(c.Args) < 2 || c.Args[0] != "batch" {
			continue
		}
		bad := func(format string, args ...any) {
			problems = append(problems, fmt.Errorf("container "+c.Name+": "+format, args...))
		}
		if hasFlag(c.Args, "queue") {
			bad("--queue may hold a password, and everybody can read arguments: use PSI_QUEUE")
		}
		i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "PSI_QUEUE" })
		if i < 0 || c.Env[i].ValueFrom == nil || c.Env[i].ValueFrom.SecretKeyRef == nil {
			bad("PSI_QUEUE comes from no Secret")
		}
		if c.Args[1] != "worker" {
			continue
		}
		problems = append(problems, drains(spec, &c)...)
		for what, probe := range map[string]*corev1.Probe{"liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
			if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != "/healthz" || !hasFlag(c.Args, "metrics") {
				bad("its %s is not asked at /healthz of --metrics", what)
			}
		}
	}
	return problems
}

// scaled checks KEDA's ScaledObjects: what they scale, and what their triggers are metadata, which the schema leaves open. The
// names that a trigger knows are read from the source of KEDA itself.
func scaled(objects []runtime.Object, scalers string) []error {
	var problems []error
	for _, o := range of[*unstructured.Unstructured](objects) {
		if o.GetKind() != "ScaledObject" {
			continue
		}
		what := "ScaledObject " + o.GetName()
		target, _, _ := unstructured.NestedString(o.Object, "spec", "scaleTargetRef", "name")
		if err := workloads(objects).scalable(what, target); err != nil {
			problems = append(problems, err)
		}
		triggers, _, _ := unstructured.NestedSlice(o.Object, "spec", "triggers")
		for _, t := range triggers {
			trigger, _ := t.(map[string]any)
			metadata, _, _ := unstructured.NestedStringMap(trigger, "metadata")
			for _, err := range triggered(trigger["type"], metadata, scalers) {
				problems = append(problems, fmt.Errorf("%s: %w", what, err))
			}
		}
	}
	return problems
}

// queueOf is what batch/internal/queue calls its stream and consumer.
var queueOf = map[string]string{"stream": "PSI_WORK", "consumer": "workers"}

func triggered(kind any, metadata map[string]string, scalers string) []error {
	if kind != "nats-jetstream" {
		return []error{fmt.Errorf("a trigger of type %v; want nats-jetstream", kind)}
	}
	if scalers == "" {
		return []error{errors.New("its triggers cannot be checked: give the directory of KEDA's scalers with -keda")}
	}
	known, err := parameters(filepath.Join(scalers, "nats_jetstream_scaler.go"), "natsJetStreamMetadata")
	if err != nil {
		return []error{err}
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		value := metadata[name]
		p, is := known[name]
		switch {
		case !is:
			problems = append(problems, fmt.Errorf("the trigger has the setting %s, which it does not know", name))
			continue
		case p.kind == "int64":
			_, err = strconv.ParseInt(value, 10, 64)
		case p.kind == "bool":
			_, err = strconv.ParseBool(value)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s of the trigger: %w", name, err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if known[name].needed && metadata[name] == "" {
			problems = append(problems, fmt.Errorf("the trigger lacks the setting %s", name))
		}
	}
	for name, want := range queueOf {
		if metadata[name] != want {
			problems = append(problems, fmt.Errorf("%s of the trigger is %q; want %s", name, metadata[name], want))
		}
	}
	return problems
}

// parameter is a field of a trigger's metadata.
type parameter struct {
	kind   string
	needed bool
}

var parameterName = regexp.MustCompile(`(?:^|,)\s*name=([A-Za-z]+)`)

// parameters are the fields of a structure in KEDA's source that bear a tag keda:"name=…".
func parameters(file, structure string) (map[string]parameter, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		return nil, err
	}
	found := map[string]parameter{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		declared, is := n.(*ast.TypeSpec)
		if !is || declared.Name.Name != structure {
			return true
		}
		fields, is := declared.Type.(*ast.StructType)
		if !is {
			return false
		}
		for _, f := range fields.Fields.List {
			if f.Tag == nil {
				continue
			}
			text, err := strconv.Unquote(f.Tag.Value)
			if err != nil {
				continue
			}
			tag := reflect.StructTag(text).Get("keda")
			if name := parameterName.FindStringSubmatch(tag); name != nil {
				kind, _ := f.Type.(*ast.Ident)
				found[name[1]] = parameter{kind.String(), !strings.Contains(tag, "optional") && !strings.Contains(tag, "default=")}
			}
		}
		return false
	})
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no %s with fields for KEDA", file, structure)
	}
	return found, nil
}

// monitor is what a PodMonitor looks at.
type monitor struct {
	name     string
	selector metav1.LabelSelector
	ports    []intstr.IntOrString
}

func monitors(objects []runtime.Object) []monitor {
	var all []monitor
	for _, o := range of[*unstructured.Unstructured](objects) {
		if o.GetKind() != "PodMonitor" {
			continue
		}
		m := monitor{name: o.GetName()}
		m.selector.MatchLabels, _, _ = unstructured.NestedStringMap(o.Object, "spec", "selector", "matchLabels")
		ends, _, _ := unstructured.NestedSlice(o.Object, "spec", "podMetricsEndpoints")
		for _, e := range ends {
			end, _ := e.(map[string]any)
			port, _, _ := unstructured.NestedString(end, "port")
			m.ports = append(m.ports, intstr.FromString(port))
		}
		all = append(all, m)
	}
	return all
}
