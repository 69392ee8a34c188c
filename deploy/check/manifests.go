package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"sigs.k8s.io/yaml"
)

// manifests checks each object of some files by itself, and then whether they fit together.
func manifests(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("manifests", flag.ContinueOnError)
	var places repeated
	flags.Var(&places, "crds", "`directory` with definitions of custom resources; may be given again")
	keda := flags.String("keda", "", "`directory` with the source of KEDA's scalers, to hold triggers to")
	insecure := flags.Bool("insecure", false, "let servers start that ask nobody who they are")
	if err := flags.Parse(args); err != nil {
		return err
	}
	customs, err := readCustoms(places)
	if err != nil {
		return err
	}
	var problems []error
	for _, name := range flags.Args() {
		docs, err := readDocuments(name)
		if err != nil {
			return err
		}
		if len(docs) == 0 {
			problems = append(problems, fmt.Errorf("%s: no objects", name))
		}
		var objects []runtime.Object
		for _, doc := range docs {
			obj, kind, err := admit(doc, customs)
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: %s: %w", name, kind, err))
				continue
			}
			if _, err := fmt.Fprintf(out, "%s: %s ok\n", name, kind); err != nil {
				return err
			}
			objects = append(objects, obj)
		}
		for _, err := range append(fit(objects, *insecure), scaled(objects, *keda)...) {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(problems...)
}

// repeated is a flag that may be given several times.
type repeated []string

func (r *repeated) String() string { return strings.Join(*r, ",") }

func (r *repeated) Set(value string) error {
	*r = append(*r, value)
	return nil
}

// readDocuments splits a file, or stdin for "-", into its YAML documents; empty ones are left out.
func readDocuments(name string) ([][]byte, error) {
	file, err := os.ReadFile(name)
	if name == "-" {
		file, err = io.ReadAll(os.Stdin)
	}
	if err != nil {
		return nil, err
	}
	var docs [][]byte
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(file)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var content map[string]any
		if err := yaml.Unmarshal(doc, &content); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if len(content) > 0 {
			docs = append(docs, doc)
		}
	}
}

// admit does with a document what the API server does with a new object.
func admit(doc []byte, customs customs) (obj runtime.Object, kind string, err error) {
	var head struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
	}
	if err := yaml.Unmarshal(doc, &head); err != nil {
		return nil, "?", err
	}
	kind = head.Kind + " " + head.Name
	gvk := schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)
	if !legacyscheme.Scheme.Recognizes(gvk) {
		obj, err := customs.admit(gvk, doc)
		return obj, kind, err
	}
	versioned, internal, err := decodeNative(doc)
	if err != nil {
		return nil, kind, err
	}
	invalid, err := validate(internal)
	if err != nil {
		return nil, kind, err
	}
	for _, w := range workloads([]runtime.Object{versioned}) {
		err = restricted(&w.template.ObjectMeta, &w.template.Spec)
	}
	return versioned, kind, errors.Join(invalid.ToAggregate(), err)
}
